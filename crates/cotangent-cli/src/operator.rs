//! `cotangent torch` and `cotangent jax`: a kernel as an operator of a framework, as the sources of a small project.

use std::path::Path;

use anyhow::{Context, Result, bail};
use cotangent::emit::{Adjoint, Metadata};
use cotangent_driver::derivative::{Extent, Mode, Wanted, print_derivative};
use cotangent_driver::flags::ParseFlags;
use cotangent_driver::program::{Failure, Form, Input, print};
use cotangent_driver::{Environment, Tools};
use cotangent_operator::{
    Expression, Framework, Launch, Level, SCALARS, Scalar, Statement, Version, names_of_second, project,
};

use crate::arguments::Operator;
use crate::terminal::Terminal;
use crate::{exit, reading};

/// What stands for the type of data in the name of a template.
const PLACE: &str = "scalar_t";

pub(crate) fn operator(framework: Framework, options: &Operator, terminal: &Terminal) -> Result<u8> {
    let statement = match statement(options) {
        Ok(statement) => statement,
        Err(error) => return Ok(terminal.usage(&format!("{error:#}"))),
    };
    let scalars = match scalars(options) {
        Ok(scalars) => scalars,
        Err(error) => return Ok(terminal.usage(&format!("{error:#}"))),
    };
    let flags = reading::alone(&options.reading, &options.file, terminal)?;
    let tools = Tools::find(Environment::of_process())?;
    let cuda_path = options.reading.cuda_path.as_deref();
    let input = Input { file: &options.file, flags: &flags, cuda_path, colour: terminal.colour };
    let mut versions: Vec<Version> = Vec::new();
    for scalar in scalars {
        let function = scalar.map_or(options.function.clone(), |scalar| options.function.replace(PLACE, scalar.cuda));
        let wrt = versions.first().map_or(options.names(), |first| Some(differentiated(&first.backward.metadata)));
        let step = format!("Differentiating {function}");
        versions.push(terminal.step(&step, || version(&tools, &input, &function, scalar, wrt, terminal))?);
    }
    if versions.iter().any(|version| version.twice.is_none()) {
        versions.iter_mut().for_each(|version| version.twice = None);
    }
    let source = options.file.file_name().unwrap_or_default().to_string_lossy();
    let files = match project(framework, &statement, &versions, &source) {
        Ok(files) => files,
        Err(wrong) => return Ok(terminal.usage(&wrong.to_string())),
    };
    std::fs::create_dir_all(&options.output).with_context(|| format!("cannot make {}", options.output.display()))?;
    for file in files {
        let path = options.output.join(&file.name);
        std::fs::write(&path, file.text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(exit::SUCCESS)
}

/// The types of data that the kernel's name is completed with; none for a kernel that has its own.
fn scalars(options: &Operator) -> Result<Vec<Option<Scalar>>> {
    match (options.function.contains(PLACE), options.types.as_slice()) {
        (false, []) => Ok(vec![None]),
        (false, _) => bail!("--types states what `{PLACE}` stands for, and `{}` has no `{PLACE}`", options.function),
        (true, []) => Ok(SCALARS.into_iter().take(2).map(Some).collect()),
        (true, names) => names.iter().map(|name| scalar(name).map(Some)).collect(),
    }
}

fn scalar(name: &str) -> Result<Scalar> {
    let known = SCALARS.map(|scalar| scalar.name).join(", ");
    let found = SCALARS.into_iter().find(|scalar| scalar.name == name);
    found.with_context(|| format!("`{name}` is no type of data\n  There are {known}."))
}

/// The type of data of a kernel that has its own: that of the first array that has a gradient.
fn scalar_of(metadata: &Metadata) -> Scalar {
    let inputs = metadata.adjoints.iter().filter(|adjoint| matches!(adjoint.before, "zero" | "gradient"));
    let known = |adjoint: &Adjoint| {
        SCALARS.into_iter().find(|scalar| scalar.cuda == cotangent_operator::scalar_of(&adjoint.element).0)
    };
    inputs.filter_map(known).next().unwrap_or(SCALARS[0])
}

/// What the user has stated.
fn statement(options: &Operator) -> Result<Statement> {
    let Some((space, name)) = options.name.split_once("::") else {
        bail!(
            "`{}` is no name of an operator\n  It is a library's and the operator's own: mine::sample.",
            options.name
        );
    };
    let is_name = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if !is_name(space) || !is_name(name) {
        bail!("`{}` is no name of an operator: letters, digits and _ are allowed", options.name);
    }
    let launch = |(grid, block): (&String, &String)| -> Result<Launch> {
        let (grid, block) = (three(grid, "--grid")?, three(block, "--block")?);
        Ok(Launch { grid, block, shared: options.shared.parse()? })
    };
    let stated = |text: &String| -> Result<(String, String)> {
        let (name, value) =
            text.split_once('=').with_context(|| format!("`{text}` states nothing: NAME=… is wanted"))?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    let sizes = options.sizes.iter().map(|text| {
        let (name, sizes) = stated(text)?;
        Ok((name, listed(&sizes)?))
    });
    let values = options.values.iter().map(|text| {
        let (name, value) = stated(text)?;
        Ok((name, value.parse::<Expression>()?))
    });
    Ok(Statement {
        space: space.to_owned(),
        name: name.to_owned(),
        sizes: sizes.collect::<Result<_>>()?,
        values: values.collect::<Result<_>>()?,
        outputs: options.outputs.iter().map(|name| name.trim().to_owned()).collect(),
        launch: options.grid.as_ref().zip(options.block.as_ref()).map(launch).transpose()?,
    })
}

/// Expressions with commas between them.
fn listed(text: &str) -> Result<Vec<Expression>> {
    Ok(text.split(',').map(str::parse).collect::<Result<_, _>>()?)
}

fn three(text: &str, flag: &str) -> Result<Vec<Expression>> {
    let sizes = listed(text)?;
    if sizes.len() > 3 {
        bail!("{flag} has one to three sizes, and not {}", sizes.len());
    }
    Ok(sizes)
}

/// The arrays among what a gradient is made with respect to. Numbers are no tensors, and have no gradient in frameworks.
fn differentiated(metadata: &Metadata) -> Vec<String> {
    let vjp = metadata.function_that("vjp");
    let is_array = |name: &str| {
        vjp.is_some_and(|vjp| vjp.parameters.iter().any(|param| param.name == name && param.ty.contains('*')))
    };
    metadata.adjoints.iter().map(|adjoint| adjoint.of.clone()).filter(|name| is_array(name)).collect()
}

fn version(
    tools: &Tools,
    input: &Input<'_>,
    function: &str,
    scalar: Option<Scalar>,
    wrt: Option<Vec<String>>,
    terminal: &Terminal,
) -> Result<Version> {
    let forward = print(tools, input, function, Form::Cuda, None)?;
    let (mut backward, mut notes) = level(tools, input, function, wrt.as_deref())?;
    let arrays = differentiated(&backward.metadata);
    if arrays.len() < backward.metadata.adjoints.len() {
        (backward, notes) = level(tools, input, function, Some(&arrays))?;
    }
    terminal.rendered(&notes);
    let twice = second(tools, &backward, terminal)?;
    let scalar = scalar.unwrap_or_else(|| scalar_of(&backward.metadata));
    Ok(Version { scalar, forward, backward, twice })
}

/// A gradient, and notes about it.
fn level(tools: &Tools, input: &Input<'_>, function: &str, wrt: Option<&[String]>) -> Result<(Level, String), Failure> {
    let wanted = Wanted { is_pure: true, ..Wanted::new(function, wrt) };
    let printed = print_derivative(tools, input, &wanted, Mode::Reverse, Extent::Standalone, None)?;
    let metadata = printed.metadata.expect("one function was asked for");
    Ok((Level { text: printed.text, metadata }, printed.notes))
}

/// The gradient of a gradient. What is refused there leaves the operator with one derivative, and a note.
fn second(tools: &Tools, first: &Level, terminal: &Terminal) -> Result<Option<Level>> {
    let Some(kernel) = first.metadata.function_that("gradient") else { return Ok(None) };
    let folder = tempfile::tempdir().context("cannot make a folder for the gradient")?;
    let file = folder.path().join("backward.cu");
    std::fs::write(&file, &first.text).context("cannot write the gradient")?;
    match of_gradient(tools, &file, &kernel.name, &names_of_second(&first.metadata)) {
        Ok((level, _)) => Ok(Some(level)),
        Err(Failure::Diagnostics(refusal)) => {
            let why = refusal.found.first().map(|found| format!("{}: {}", found.code, found.message));
            terminal.note(&format!("the operator has no second derivative ({})", why.unwrap_or_default()));
            Ok(None)
        }
        Err(failure) => Err(failure.into()),
    }
}

fn of_gradient(tools: &Tools, file: &Path, kernel: &str, wrt: &[String]) -> Result<(Level, String), Failure> {
    let flags = ParseFlags::default();
    let input = Input { file, flags: &flags, cuda_path: None, colour: false };
    level(tools, &input, kernel, Some(wrt))
}
