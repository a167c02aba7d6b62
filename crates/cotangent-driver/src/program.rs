//! From the user's file to what a command wants of it: hands what was read to the compiler crate, and brings back text or
//! rendered diagnostics.

use std::path::{Path, PathBuf};

use cotangent::clang::Ast;
use cotangent::diagnostic::{self, Diagnostic};
use cotangent::direct::{self, Kernels};
use cotangent::emit::{self, Dialect};
use cotangent::source::FileId;
use cotangent::{ir, lower};

use crate::compile::Overlay;
use crate::derivative::{checked, with_compiling};
use crate::output::Output;
use crate::parse::as_argument;
use crate::printed_kernels::PrintedKernels;
use crate::reading::{check_readable, read_host, read_host_instead, read_instead};
use crate::requests::answered_of;
use crate::source_text::source_text;
use crate::tools::Tools;

pub use crate::reading::{Failure, Input, Passes, read, read_device, read_for, with_deep_stack};

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Cuda,
    Cpu,
    /// The text form of the IR.
    Ir,
}

/// A program for the CPU, before it is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuProgram {
    /// The files to compile and link, the user's first.
    pub units: Vec<PathBuf>,
    /// The texts that take the place of files.
    pub texts: Vec<Overlay>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// Notes about the derivatives that the program asks for, as shown.
    pub rendered: String,
}

/// The function `name` and all it needs.
pub fn print(
    tools: &Tools,
    input: &Input<'_>,
    name: &str,
    form: Form,
    output: Option<&Output>,
) -> Result<String, Failure> {
    check_readable(input.file)?;
    with_deep_stack(|| {
        let passes = read_for(tools, input, name)?;
        output.map_or(Ok(()), |output| output.check_apart_from(passes.files()))?;
        let module = lowered_module(passes.both(), name)
            .map_err(|found| Failure::refused(&found, &passes.device.sources, input.colour))?;
        if form != Form::Ir {
            needs_no_program(&module, name)
                .map_err(|found| Failure::refused(&[found], &passes.device.sources, input.colour))?;
        }
        Ok(match form {
            Form::Cuda => with_compiling(emit::emit(&module, Dialect::Cuda)),
            Form::Cpu => emit::emit(&module, Dialect::Cpu),
            Form::Ir => ir::text::print(&module),
        })
    })
}

/// What is printed stands alone, and code that is passed through may name what only the program has.
pub(crate) fn needs_no_program(module: &ir::Module, name: &str) -> Result<(), Diagnostic> {
    if !module.needs_program {
        return Ok(());
    }
    let span = module.function(name).map(|function| module.functions[function].span).unwrap_or_default();
    let message = format!("`{name}` uses classes or functions of the program that are not read");
    let label = "it cannot be printed without the program's own text";
    let help = "its derivatives can: they include the program";
    Err(Diagnostic::new(diagnostic::UNSUPPORTED_EXPRESSION, span, message, label).help(help))
}

/// Lowers a function, and checks what came out: a contradiction is reported as our mistake, and nothing is printed.
pub fn lowered_module(passes: lower::Passes<'_>, name: &str) -> Result<ir::Module, Vec<Diagnostic>> {
    let module = lower::lower(passes, &[name])?;
    checked(&module)?;
    Ok(module)
}

/// The direct path: the user's own text, with launches and dynamic shared memory edited at their offsets.
pub fn direct(tools: &Tools, input: &Input<'_>) -> Result<CpuProgram, Failure> {
    check_readable(input.file)?;
    with_deep_stack(|| {
        let mut ast = read_host(tools, input)?;
        let mut rendered = String::new();
        if cotangent::requests::is_used(&ast) {
            let answered = answered_of(&read(tools, input)?, input)?;
            let instead = answered.as_ref().map(|answered| &*answered.text);
            ast = read_host_instead(tools, input, instead)?;
            rendered = answered.map(|answered| answered.notes).unwrap_or_default();
        }
        Ok(CpuProgram { rendered, ..edited_program(&ast, input.file, Kernels::Direct) })
    })
}

/// The printed path: the user's host code, and what the printer writes for the kernels that it launches.
///
/// A launch whose kernel cannot be printed, or whose place in the text means several kernels, stays as on the direct
/// path, with a note that says why.
pub fn printed(tools: &Tools, input: &Input<'_>) -> Result<CpuProgram, Failure> {
    check_readable(input.file)?;
    with_deep_stack(|| {
        let mut passes = read(tools, input)?;
        let mut rendered = String::new();
        if let Some(answered) = answered_of(&passes, input)? {
            passes = read_instead(tools, input, &answered.text)?;
            rendered = answered.notes;
        }
        let kernels = PrintedKernels::of(&passes);
        let edits = Kernels::Printed { kernels: &kernels.by_linker_name, variable_label: emit::VARIABLE_LABEL };
        let mut program = CpuProgram { rendered, ..edited_program(&passes.host, input.file, edits) };
        if let Some(text) = kernels.text {
            let path = input.file.with_extension("printed.cu");
            program.units.push(path.clone());
            program.texts.push(Overlay { path, text });
        }
        Ok(program)
    })
}

/// The direct path for a program that was read already.
pub fn direct_of(passes: &Passes, file: &Path) -> CpuProgram {
    edited_program(&passes.host, file, Kernels::Direct)
}

/// The user's file, edited, as a program.
fn edited_program(ast: &Ast, file: &Path, kernels: Kernels<'_>) -> CpuProgram {
    let name = as_argument(file);
    let main = ast.sources.files.entries().find(|(_, source)| *source.name == *name).map(|(id, _)| id);
    // A file without a single declaration is not in the dump, and has nothing to edit.
    let edited = main.map(|main| direct::edit(ast, main, kernels)).unwrap_or_default();
    let name_of = |file: FileId| ast.sources.files.get(file).map(|source| &*source.name);
    let texts = edited.files.into_iter().filter_map(|edited| {
        let path = PathBuf::from(name_of(edited.file)?);
        Some(Overlay { path, text: edited.text })
    });
    let texts: Vec<Overlay> = texts.collect();
    let is_replaced = |text: &&Overlay| source_text(&text.path).is_ok_and(|source| source.first_replaced.is_some());
    let replaced = texts.iter().filter(is_replaced).map(|text| {
        format!("{} is not UTF-8; bytes that are not are `?` in the program that runs", text.path.display())
    });
    let notes = edited.kept.iter().map(|launch| {
        let text = ast.sources.files.get(launch.span.file).and_then(|source| source.text.as_deref()).unwrap_or("");
        let before = text.get(..launch.span.start as usize).unwrap_or("");
        let line = before.matches('\n').count() + 1;
        format!("launch at {}:{line} stays direct: {}", name_of(launch.span.file).unwrap_or("?"), launch.reason)
    });
    let notes = notes.chain(replaced).collect();
    CpuProgram { units: vec![file.to_path_buf()], texts, notes, rendered: String::new() }
}
