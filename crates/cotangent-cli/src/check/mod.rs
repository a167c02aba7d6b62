//! `cotangent check`: proves a derivative on the CPU.
//!
//! The oracle is the user's own text, compiled directly, never what Cotangent prints. Forward mode is compared with
//! central differences of it, reverse mode with forward mode by `<w, Jv> = <Jᵀw, v>`, all in a build where `float` and
//! half precisions are `double`; then derivatives in native precision, with threads in other orders, and without proofs about threads are
//! compared with these.

mod against;
mod by_nvcc;
pub(crate) mod compare;
pub(crate) mod each_batch;
mod from_outside;
mod half;
mod layout;
mod memory;
mod problem;
pub(crate) mod program;
pub(crate) mod random;
pub(crate) mod random_kernels;
mod report;
mod values;
mod widen;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use cotangent::diagnostic::{self, Diagnostic};
use cotangent::emit::counting;
use cotangent::ir::{FunctionId, Module, Provided, Space, Stmt, StmtKind, Type, order, text};
use cotangent::lower;
use cotangent::source::Span;
use cotangent::transform::{Analyses, Form, Lifted, Request, lift};
use cotangent_driver::derivative::{Mode, Wanted, differentiate, differentiate_noted, lowered_beside, read_wanted};
use cotangent_driver::device_part::device_part;
use cotangent_driver::flags::ParseFlags;
use cotangent_driver::program::{CpuProgram, Failure, Input, direct_of, with_deep_stack};
use cotangent_driver::{Environment, Tools};

use self::against::{Backward, Contest, Stated, backward};
use self::compare::{PrimalFindings, Report, compare};
use self::layout::Precision;
use self::problem::{Gradients, Problem};
use self::program::{
    Differentiated, Findings, Launch, Program, Stopped, Texts, Variant, augmented_of, is_rejected, kernel_of,
    with_entry,
};
use self::random::Random;
use self::values::Spec;
use crate::arguments::{Check, Target, planners};
use crate::exit;
use crate::reading;
use crate::terminal::Terminal;

/// One block, and two: what blocks do to each other is seen only if there are two. A kernel that is meant for one block
/// does not run with two.
const DEFAULT_LAUNCHES: [Launch; 2] =
    [Launch { grid: [2, 1, 1], block: [32, 1, 1], shared: 0 }, Launch { grid: [1; 3], block: [32, 1, 1], shared: 0 }];

const ONE_THREAD: Launch = Launch { grid: [1; 3], block: [1; 3], shared: 0 };

/// What was read, lowered and differentiated.
struct Prepared {
    module: Module,
    /// The function, by its name in the text that was read.
    name: String,
    /// That text, if it is not the user's own.
    text: Option<String>,
    /// The same with the variables that are named as parameters.
    lifted: Lifted,
    request: Request,
    forward: Module,
    gradients: Gradients,
    direct: CpuProgram,
    /// What the program has of the module.
    provided: Provided,
    /// What the user should know about the derivative, as shown.
    notes: String,
    /// The functions that the gradient is compared with.
    backwards: Vec<Backward>,
}

/// How a check ended: its exit code, and what was compared if it came so far.
pub(crate) struct Outcome {
    pub(crate) code: u8,
    pub(crate) report: Option<Report>,
}

impl From<u8> for Outcome {
    fn from(code: u8) -> Outcome {
        Outcome { code, report: None }
    }
}

pub(crate) fn check(options: &Check, terminal: &Terminal) -> Result<u8> {
    Ok(outcome(options, terminal)?.code)
}

/// Checks, prints what was found, and gives it back.
pub(crate) fn outcome(options: &Check, terminal: &Terminal) -> Result<Outcome> {
    let launches = match options.launch.as_deref().map(parse_launch).transpose() {
        Ok(launch) => launch.map_or(DEFAULT_LAUNCHES.to_vec(), |launch| vec![launch]),
        Err(message) => return Ok(terminal.usage(&message).into()),
    };
    let mut flags = reading::together(&options.reading, &options.what.file, &options.what.others, terminal)?;
    let tools = Tools::find(Environment::of_process())?;
    let (file, cuda_path) = (&options.what.file, options.reading.cuda_path.as_deref());
    let input = Input { file, flags: &flags, cuda_path, colour: terminal.colour };
    let step = format!("Reading {}", file.display());
    let Some(parts) = terminal.step(&step, || device_part(&tools, &input))? else {
        return outcome_of(options, &tools, &input, launches, terminal);
    };
    // No large library is made for a compiler to which `float` is `double`.
    terminal.note(
        "checked in a copy of the file in which the library that it includes, and what the host does, are blanks",
    );
    let folder = tempfile::tempdir().context("cannot make a folder for the program")?;
    for part in &parts {
        std::fs::write(folder.path().join(&part.name), &part.text)
            .context("cannot write the program without its library")?;
    }
    let copy = folder.path().join(&parts[0].name);
    let homes: BTreeSet<&Path> = parts.iter().map(|part| part.home.as_path()).collect();
    for home in homes {
        flags.clang_args.insert(0, format!("-I{}", home.display()));
    }
    let input = Input { file: &copy, flags: &flags, cuda_path, colour: terminal.colour };
    outcome_of(options, &tools, &input, launches, terminal)
}

/// The same for a file that may stand for that of the options.
fn outcome_of(
    options: &Check,
    tools: &Tools,
    input: &Input<'_>,
    launches: Vec<Launch>,
    terminal: &Terminal,
) -> Result<Outcome> {
    let Input { file, flags, .. } = *input;
    let names = options.what.names();
    let outputs = options.what.outputs();
    let saved = options.what.saved();
    let rolled_back = options.what.rolled_back();
    let wanted = Wanted {
        function: &options.what.function,
        wrt: names.as_deref(),
        outputs: &outputs,
        split: saved.as_deref(),
        rolled_back: &rolled_back,
        record_slots: options.what.record_slots,
        record_budget: options.what.record_budget,
        is_checkpointed: options.what.checkpoint,
        wide_adjoints: options.what.wide_adjoints,
        is_deterministic: options.what.deterministic,
        is_pure: options.what.pure,
        is_of_device: false,
    };
    let step = format!("Reading {}", file.display());
    let prepared = terminal.step(&step, || prepare(tools, input, &wanted, options))?;
    terminal.rendered(&prepared.notes);

    let function = &prepared.module.functions[prepared.request.function];
    let has_outputs = !wanted.outputs.is_empty();
    if function.result.is_pointer() && !has_outputs {
        let message = "a function that returns a pointer is checked through a function that calls it";
        return Ok(terminal.usage(message).into());
    }
    if matches!(function.result, Type::Float(_)) && from_outside::is_from_outside(function) {
        terminal.note("what the function returns comes from outside, such as the time: it is not compared");
    }
    // A device function is called by one thread.
    let launches = if function.space == Space::Kernel { launches } else { vec![ONE_THREAD] };
    let trials: Result<Vec<Trial<'_>>, String> =
        launches.into_iter().map(|launch| trial(options, &prepared, launch)).collect();
    let trials = match trials {
        Ok(trials) => trials,
        Err(message) => return Ok(terminal.usage(&message).into()),
    };
    let folder = tempfile::tempdir().context("cannot make a folder for the program")?;
    let step = format!("Compiling {} for the CPU", file.display());
    let builder = Builder { tools, texts: texts(file, &prepared), flags, folder: folder.path() };
    let mut target = options.target();
    let mut programs = match terminal.step(&step, || builder.both(&prepared.module, terminal)) {
        Err(error) if has_assembly(&error) => {
            terminal.note("it has assembly of the GPU: checked as nvcc compiles it, in native precision only");
            target = target.or(Some(Target::Cpu));
            Vec::new()
        }
        programs => programs?,
    };
    if let Some(target) = target {
        let step = format!("Compiling {} with nvcc", file.display());
        let flags = &options.reading.flags;
        programs.push(terminal.step(&step, || by_nvcc::build(&builder.texts, flags, folder.path(), target))?);
    }
    checked(options, &prepared, &programs, trials, terminal)
}

/// Compares with the first launch that the function itself can do.
fn checked(
    options: &Check,
    prepared: &Prepared,
    programs: &[Program],
    trials: Vec<Trial<'_>>,
    terminal: &Terminal,
) -> Result<Outcome> {
    let programs = match trials.first() {
        Some(trial) => &with_own_errors(prepared, programs, trial, terminal),
        None => programs,
    };
    // The native program is the one whose accesses are checked.
    let native = programs.iter().rfind(|program| !program.is_of_nvcc()).or(programs.last());
    let native = native.context("there is a program")?;
    let mut fault = None;
    for Trial { launch, problem, mut random, length } in trials {
        let same_value = match compare::primal_is_sound(&problem, native, launch, &problem.point()) {
            Ok(same_value) => same_value,
            Err(error) => {
                fault = Some((error, template(prepared, length)));
                continue;
            }
        };
        if let Some((error, _)) = &fault {
            let reason = first_line(error);
            let reason = reason.trim_start_matches("error").trim_start_matches("note");
            terminal.note(&format!("checked with one block, for the function itself fails with two: {reason}"));
        }
        let compared = compare(&problem, programs, launch, options.samples, &mut random);
        if let Some(same_value) = same_value
            && compared.as_ref().map_or_else(|error| error.is::<Findings>(), Report::has_bad_accesses)
        {
            fault = Some((same_value.into(), template(prepared, length)));
            continue;
        }
        return match compared {
            Ok(report) => {
                let programs = programs.iter().enumerate().filter(|(at, program)| *at == 0 || !program.is_of_nvcc());
                let programs = programs.map(|(_, program)| program).collect();
                let (request, backwards) = (&prepared.request, &prepared.backwards[..]);
                let contest =
                    Contest { problem: &problem, request, backwards, programs, launch, samples: options.samples };
                let comparison = (!backwards.is_empty()).then(|| contest.held(&mut random)).transpose()?;
                let shown = report::Shown::new(prepared, launch, options.samples, &report, comparison.as_ref());
                let code = shown.print(options.json)?;
                Ok(Outcome { code, report: Some(report) })
            }
            Err(error) if error.is::<PrimalFindings>() => Ok(at_fault(terminal, &error).into()),
            Err(error) => Err(error.context(template(prepared, length))),
        };
    }
    let Some((error, template)) = fault else { return Ok(terminal.usage("there is no launch to check").into()) };
    // Nobody said that the default arguments suit the function; but no argument makes it race.
    if options.args.is_none() && !RACES.iter().any(|race| error.to_string().contains(race)) {
        return Ok(terminal.usage(&format!("the default arguments do not suit: {error:#}\n{template}")).into());
    }
    match error.is::<PrimalFindings>() {
        true => Ok(at_fault(terminal, &error).into()),
        false => Err(error.context(template)),
    }
}

/// The programs of a host function that ignores an error of its own, a copy from nowhere for example: its derivatives do as it
/// does. What they do wrong themselves, numbers tell.
fn with_own_errors(prepared: &Prepared, programs: &[Program], trial: &Trial<'_>, terminal: &Terminal) -> Vec<Program> {
    let is_host = prepared.module.functions[prepared.request.function].space == Space::Host;
    let native = programs.iter().rfind(|program| is_host && !program.is_of_nvcc());
    let Trial { launch, problem, .. } = trial;
    let left = native.and_then(|native| {
        let error = compare::primal_is_sound(problem, native, *launch, &problem.point()).err()?;
        error.downcast_ref::<Stopped>()?.left
    });
    let Some(left) = left else { return programs.to_vec() };
    terminal
        .note(&format!("the function itself leaves {} behind, which is ignored", cotangent_cpu::describe_error(left)));
    programs.iter().map(|program| program.leaving(left)).collect()
}

/// How the codes of races begin.
const RACES: [&str; 2] = ["error[X02", "note[X02"];

/// The numbers that are tried, for one launch.
struct Trial<'a> {
    launch: Launch,
    problem: Problem<'a>,
    random: Random,
    /// The length of arrays.
    length: usize,
}

fn trial<'a>(options: &Check, prepared: &'a Prepared, launch: Launch) -> Result<Trial<'a>, String> {
    let function = &prepared.module.functions[prepared.request.function];
    let threads = launch.grid.iter().chain(&launch.block).product::<u32>() as usize;
    let length = threads * 4;
    let specs = match &options.args {
        Some(text) => values::parse(text).map_err(|message| format!("--args: {message}"))?,
        None => function.params.iter().map(|param| default_spec(&function.locals[*param].ty, threads)).collect(),
    };
    let mut random = Random::new(options.seed);
    let problem = Problem::new(&prepared.lifted, &prepared.request, &prepared.forward, &specs, length, &mut random)
        .map_err(|error| format!("{error}; {}", template(prepared, length)))?
        .with_gradients(&prepared.gradients);
    Ok(Trial { launch, problem, random, length })
}

fn at_fault(terminal: &Terminal, error: &anyhow::Error) -> u8 {
    terminal.error(error);
    exit::PROGRAM
}

/// What is wrong, without the places.
fn first_line(error: &anyhow::Error) -> String {
    let text = error.to_string();
    let is_finding = |line: &&str| line.starts_with("error[") || line.starts_with("note[");
    let finding = text.lines().find(is_finding).or_else(|| text.lines().next());
    finding.unwrap_or_default().to_owned()
}

fn prepare(tools: &Tools, input: &Input<'_>, wanted: &Wanted<'_>, options: &Check) -> Result<Prepared, Failure> {
    with_deep_stack(|| {
        let (passes, named) = read_wanted(tools, input, wanted)?;
        let wanted = &named.wanted(wanted);
        let rendered = |found: Vec<Diagnostic>| Failure::refused(&found, &passes.device.sources, input.colour);
        let (module, request, provided) = lowered_beside(passes.both(), wanted).map_err(rendered)?;
        let request = request.with_trust(options.believed.trust());
        let space = module.functions[request.function].space;
        let (forward, notes) = differentiate_noted(&module, &request, Mode::Forward).map_err(rendered)?;
        let forward = entry_of(&forward, space);
        let gradients =
            if options.mode.forward_only() { Ok(Gradients::default()) } else { gradients(&module, &request) };
        let gradients = gradients.map_err(rendered)?;
        let direct = direct_of(&passes, input.file);
        let lifted = lift(&module, &request).map_err(rendered)?;
        let notes = diagnostic::render(&notes, &passes.device.sources, input.colour);
        let name = lower::spelled(passes.both(), wanted.function);
        let backwards = backwards(passes.both(), options, &lifted, &request).map_err(rendered)?;
        Ok(Prepared {
            module,
            name,
            text: named.text.clone(),
            lifted,
            request,
            forward,
            gradients,
            direct,
            provided,
            notes,
            backwards,
        })
    })
}

/// The functions of `--against`, with their arguments and launches.
fn backwards(
    passes: lower::Passes<'_>,
    options: &Check,
    lifted: &Lifted,
    request: &Request,
) -> Result<Vec<Backward>, Vec<Diagnostic>> {
    let said = |message: String| vec![Diagnostic::new(diagnostic::NOT_FOUND, Span::NONE, message, "")];
    let one = |(index, name): (usize, &String)| {
        let space = lower::space_of(passes, name).map_err(|found| vec![found])?;
        let args = options.against_args.get(index).ok_or_else(|| said(format!("`{name}` has no --against-args")))?;
        let launch = options.against_launch.get(index).map(|text| parse_launch(text)).transpose().map_err(said)?;
        backward(&Stated { name, space, args, launch }, lifted, request).map_err(said)
    };
    options.against.iter().enumerate().map(one).collect()
}

/// Reverse mode with its proofs and without them.
fn gradients(module: &Module, request: &Request) -> Result<Gradients, Vec<Diagnostic>> {
    let space = module.functions[request.function].space;
    // What is checked is small.
    let mut request = request.clone();
    request.trust.gathers_few = true;
    let framework = request.is_pure.then(|| differentiate(module, &request, Mode::Reverse)).transpose()?;
    request.is_pure = false;
    let whole = |analyses| differentiate(module, &request.clone().with_analyses(analyses), Mode::Reverse);
    let form = |derivative: &Module| {
        let last_space = derivative.functions.iter().last().map(|last| last.space);
        // What is added by a second launch is checked with the function that makes both.
        let is_launched = request.is_deterministic && request.form == Form::Joint && last_space == Some(Space::Host);
        if is_launched { derivative.clone() } else { entry_of(derivative, space) }
    };
    let gradient = whole(Analyses::On)?;
    let (proved, unproved) = (form(&gradient), form(&whole(Analyses::Off)?));
    let is_different = text::print(&proved) != text::print(&unproved);
    let gathered = (space == Space::Kernel && request.form == Form::Joint && chooses(&gradient)).then_some(gradient);
    let unproved = is_different.then_some(unproved);
    Ok(Gradients { proved: Some(proved), unproved, gathered, framework, alone: Vec::new() })
}

/// Gradients of a kernel with each planner alone too, and with none. A form of which the text is that of one before is left out.
fn with_each_alone(module: &Module, request: &Request, made: Gradients) -> Result<Gradients, Vec<Diagnostic>> {
    let mut request = request.clone();
    request.trust.gathers_few = true;
    let mut known: BTreeSet<String> = made.variants().into_iter().map(|(_, form)| text::print(form)).collect();
    let mut alone = Vec::new();
    for planner in planners() {
        request.trust.only = Some(planner);
        let gradient = differentiate(module, &request, Mode::Reverse)?;
        let form = if chooses(&gradient) { gradient } else { entry_of(&gradient, Space::Kernel) };
        if known.insert(text::print(&form)) {
            alone.push((planner, form));
        }
    }
    Ok(Gradients { alone, ..made })
}

/// Whether a derivative ends with a function that chooses which kernels it launches.
fn chooses(derivative: &Module) -> bool {
    let last = derivative.functions.iter().last();
    last.is_some_and(|last| matches!(last.body.as_slice(), [Stmt { kind: StmtKind::If { .. }, .. }]))
        && last.is_some_and(|last| last.space == Space::Host)
}

/// The derivative and what it needs, without the host function that launches it, and a kernel to call it from.
fn entry_of(derivative: &Module, space: Space) -> Module {
    if space == Space::Host {
        return derivative.clone();
    }
    let on_device = derivative.functions.entries().filter(|(_, function)| function.space != Space::Host);
    let last = on_device.map(|(id, _)| id).last().unwrap_or(FunctionId(0));
    // Other kernels may be launched in its place.
    let launched = derivative.functions.iter().filter(|function| function.space == Space::Host);
    let last = launched.filter_map(|launcher| kernel_of(derivative, launcher)).next_back().unwrap_or(last);
    let filling = augmented_of(derivative, &derivative.functions[last]).and_then(|it| derivative.function(&it.name));
    let counting = counting(derivative).and_then(|it| derivative.function(&it.name));
    let roots: Vec<FunctionId> = counting.into_iter().chain(filling).chain([last]).collect();
    let needed = order::needed_by(derivative, &roots);
    let last = FunctionId(needed.functions.len() as u32 - 1);
    with_entry(&needed, last)
}

fn texts<'a>(file: &'a Path, prepared: &'a Prepared) -> Texts<'a> {
    let mut derivatives = vec![(Variant::Forward, &prepared.forward)];
    derivatives.extend(prepared.gradients.variants());
    Texts {
        file,
        own: prepared.text.as_deref(),
        direct: &prepared.direct,
        functions: vec![Differentiated {
            function: &prepared.name,
            space: prepared.module.functions[prepared.request.function].space,
            variables: names_of_variables(&prepared.lifted),
            derivatives,
            provided: Some(&prepared.provided),
        }],
        others: prepared.backwards.iter().map(|backward| backward.call.clone()).collect(),
    }
}

/// The variables that are named, as the program names them.
fn names_of_variables(lifted: &Lifted) -> Vec<String> {
    lifted.variables.iter().map(|variable| lifted.module.globals[*variable].name.to_string()).collect()
}

/// Compiles the texts in several ways.
struct Builder<'a> {
    tools: &'a Tools,
    texts: Texts<'a>,
    flags: &'a ParseFlags,
    folder: &'a Path,
}

impl Builder<'_> {
    fn build(&self, precision: Precision) -> Result<Program> {
        Program::build(self.tools, &self.texts, self.flags, precision, self.folder)
    }

    /// The widened program and the native one; if the text cannot be widened, the native one alone.
    fn both(&self, module: &Module, terminal: &Terminal) -> Result<Vec<Program>> {
        if let Some(reason) = widen::knows_sizes(module) {
            terminal.note(&format!("{reason}: checked in native precision only"));
            return Ok(vec![self.build(Precision::Native)?]);
        }
        let (widened, native) = std::thread::scope(|scope| {
            let widened = scope.spawn(|| self.build(Precision::Widened));
            let native = self.build(Precision::Native);
            (widened.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), native)
        });
        match (widened, native) {
            (Ok(widened), Ok(native)) => Ok(vec![widened, native]),
            (Err(error), Ok(native)) if is_rejected(&error) => {
                let said = format!("{error:#}");
                let first = said.lines().find(|line| line.contains("error:")).unwrap_or_default();
                terminal.note(&format!(
                    "the text does not compile with `float` as `double`: checked in native precision only\n{first}"
                ));
                Ok(vec![native])
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }
}

/// Whether Clang rejected a text for instructions that the CPU does not have.
fn has_assembly(error: &anyhow::Error) -> bool {
    let said = format!("{error:#}");
    is_rejected(error) && ["in asm", "<inline asm>"].iter().any(|words| said.contains(words))
}

/// What an argument is without `--args`: arrays of four elements a thread, and numbers that stay inside them.
fn default_spec(ty: &Type, threads: usize) -> Spec {
    match ty {
        Type::Pointer(pointer) if matches!(pointer.pointee, Type::Int(_)) => {
            Spec::Integers(threads * 4, threads as i128)
        }
        Type::Pointer(pointer) if matches!(pointer.pointee, Type::Opaque(_)) => Spec::Number(0.0),
        Type::Int(_) => Spec::Number(threads as f64),
        Type::Bool => Spec::Number(1.0),
        Type::Void | Type::Float(_) | Type::Pointer(_) | Type::Array(..) | Type::Record(_) | Type::Opaque(_) => {
            Spec::Random(threads * 4)
        }
    }
}

/// What `--args` would be for the defaults, to be filled in.
fn template(prepared: &Prepared, length: usize) -> String {
    let function = &prepared.module.functions[prepared.request.function];
    let argument = |ty: &Type| match ty {
        Type::Pointer(pointer) => match &pointer.pointee {
            Type::Int(kind) => format!("ints<{}>({length}, {length})", kind.spelling()),
            Type::Float(kind) => format!("in<{}>({length})", kind.spelling()),
            Type::Opaque(_) => "0".to_owned(),
            Type::Void | Type::Bool | Type::Pointer(_) | Type::Array(..) | Type::Record(_) => {
                format!("in<T>({length})")
            }
        },
        Type::Float(_) => "1.0f".to_owned(),
        Type::Record(_) => "T{1.0f, 1}".to_owned(),
        Type::Void | Type::Bool | Type::Int(_) | Type::Array(..) | Type::Opaque(_) => "1".to_owned(),
    };
    let arguments: Vec<String> = function.params.iter().map(|param| argument(&function.locals[*param].ty)).collect();
    format!("arguments of `{}` can be given so: --args '{}'", function.name, arguments.join(", "))
}

/// `2x64`, `2,2x8,8`, `2x64x1024`: blocks, threads, bytes of dynamic shared memory.
fn parse_launch(text: &str) -> Result<Launch, String> {
    let wrong = || format!("--launch {text}: use BLOCKSxTHREADS, such as 2x64 or 2,2x8,8");
    let extents = |text: &str| -> Result<[u32; 3], String> {
        let mut extents = [1; 3];
        for (index, extent) in text.split(',').enumerate() {
            *extents.get_mut(index).ok_or_else(wrong)? = extent.trim().parse().map_err(|_| wrong())?;
        }
        Ok(extents)
    };
    let parts: Vec<&str> = text.split('x').collect();
    match parts.as_slice() {
        [grid, block] => Ok(Launch { grid: extents(grid)?, block: extents(block)?, shared: 0 }),
        [grid, block, shared] => {
            let shared = shared.trim().parse().map_err(|_| wrong())?;
            Ok(Launch { grid: extents(grid)?, block: extents(block)?, shared })
        }
        _ => Err(wrong()),
    }
}
