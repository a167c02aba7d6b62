//! The program that is run: the user's own text, the derivatives that were printed, and the harness around them, as one
//! translation unit in one precision. Compilers are slow to start, so all evaluations are in one program, and a run
//! carries out as many as there are.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cotangent::emit::{Dialect, SharedWith, counting, emit_behind, emit_beside, read_after};
use cotangent::ir::build::FunctionBuilder;
use cotangent::ir::walk;
use cotangent::ir::{
    Builtin, Expr, ExprKind, Function, FunctionId, Global, GlobalStorage, LocalId, Module, Name, Place, Provided,
    Space, StmtKind, Type, Unread,
};
use cotangent::rules::frees;
use cotangent_driver::compile::{CpuRequest, Overlay, compile};
use cotangent_driver::flags::ParseFlags;
use cotangent_driver::own_files::own_files_and_libraries;
use cotangent_driver::program::CpuProgram;
use cotangent_driver::{DriverError, Tools};

use super::layout::Precision;
use super::memory::Memory;
use super::widen;
use crate::arguments::planners;
use crate::exec;
use crate::linked;

/// The file with what stands after the user's text.
const APPENDED: &str = "appended.txt";

/// Only what is reached from `main` or a static constructor stays, with `--gc-sections` when the program is linked.
const UNNEEDED_IS_DROPPED: [&str; 3] = ["-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"];

/// The program's own `main` is not the one that runs.
pub(super) const OTHER_MAIN: &str = "-Dmain=cotangent_check_main_of_the_program";

const HARNESS: &str = include_str!("harness.hpp");

/// What the harness needs besides where nvcc compiles it.
const HARNESS_OF_NVCC: &str = include_str!("harness_of_nvcc.hpp");

/// How many parameters of a function that launches a kernel say how it is launched.
const CONFIGURATION: usize = 4;

/// What can be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// The user's own text.
    Primal,
    Forward,
    Reverse,
    /// Reverse mode without any proof about threads.
    Unproved,
    /// Reverse mode as its launcher chooses, with additions gathered.
    Gathered,
    /// Reverse mode with gradients that are written, and cotangents that stay.
    Framework,
    /// Reverse mode with one of [`planners`] alone, as its launcher chooses.
    Alone(&'static str),
}

/// What stands before the numbers of the variants with one planner alone.
const OTHERS: usize = 6;

/// Blocks, threads of a block, bytes of dynamic shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u64,
}

/// One call: the memory before it, the buffers that are arguments, and those of the variables that are named.
pub(crate) struct Evaluation {
    pub(crate) variant: Variant,
    pub(crate) memory: Memory,
    pub(crate) args: Vec<usize>,
    pub(crate) variables: Vec<usize>,
}

/// The texts of a program.
pub(crate) struct Texts<'a> {
    pub(crate) file: &'a Path,
    /// Its text, if that is not what is on disk.
    pub(crate) own: Option<&'a str>,
    pub(crate) direct: &'a CpuProgram,
    pub(crate) functions: Vec<Differentiated<'a>>,
    /// What the CPU does for a call of each function after these: those that gradients are compared with.
    pub(crate) others: Vec<String>,
}

/// A function of the user's and its derivatives.
pub(crate) struct Differentiated<'a> {
    /// The function as the user's text names it.
    pub(crate) function: &'a str,
    /// Where it runs.
    pub(crate) space: Space,
    /// The variables of the device that are named.
    pub(crate) variables: Vec<String>,
    /// Modules of derivatives; the last function is the entry, a kernel.
    pub(crate) derivatives: Vec<(Variant, &'a Module)>,
    /// What the program has of them. With it nvcc gets reverse mode as programs have it, in terms of the program's own types
    /// and variables; without it, and on the CPU, each derivative stands in a namespace with all that it needs.
    pub(crate) provided: Option<&'a Provided>,
}

/// The number by which the harness knows a variant of a function.
fn case(function: usize, variant: Variant) -> usize {
    let number = match variant {
        Variant::Primal => 0,
        Variant::Forward => 1,
        Variant::Reverse => 2,
        Variant::Unproved => 3,
        Variant::Gathered => 4,
        Variant::Framework => 5,
        Variant::Alone(planner) => OTHERS + planners().position(|known| known == planner).unwrap_or(0),
    };
    (OTHERS + planners().count()) * function + number
}

/// A program that was compiled, and the function in it that is evaluated.
#[derive(Clone)]
pub(crate) struct Program {
    pub(super) function: usize,
    pub(super) made: Made,
    pub(super) folder: PathBuf,
    pub(crate) precision: Precision,
    /// How long a run may take.
    pub(super) seconds: Option<&'static str>,
    /// An error of the CUDA runtime that the function itself leaves behind.
    pub(super) own_error: Option<i32>,
}

/// Who made a program, and where it is.
#[derive(Clone)]
pub(crate) enum Made {
    /// A shared object that the executor loads.
    ByClang(PathBuf),
    /// An executable, and the folder of the CUDA runtime that executes its PTX; without one it runs on a GPU.
    ByNvcc(PathBuf, Option<PathBuf>),
}

/// What the executor's checks found: races of threads, accesses outside of arrays.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Findings(String);

/// How the note on stores of the same value begins.
const SAME_VALUE: &str = "note[X0210]";

/// The program did not come to its end.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Stopped {
    message: String,
    /// It was ended because of its time.
    pub(crate) took_too_long: bool,
    /// The error of the CUDA runtime that it left behind.
    pub(crate) left: Option<i32>,
}

/// Tells the harness that the function leaves an error behind itself.
const OWN_ERROR: &str = "COTANGENT_CHECK_OWN_ERROR";

/// What ends a program whose time is over: `alarm` in the harness.
const SIGALRM: i32 = 14;

/// The files of the program that have no text here yet.
fn other_files(file: &Path, flags: &ParseFlags, known: &[Overlay]) -> Vec<Overlay> {
    let absolute = |path: &Path| std::path::absolute(path).ok();
    let known: BTreeSet<_> = known.iter().map(|overlay| absolute(&overlay.path)).collect();
    let all = own_files_and_libraries(file, flags).into_iter();
    all.filter(|(path, _)| !known.contains(&absolute(path))).map(|(path, text)| Overlay { path, text }).collect()
}

/// Loops that are run again from checkpoints keep few states, if the user does not say how many, so that most of their steps are; and
/// these must begin with the same bits as the first time. To compare them is to read all of the state, also what the program has not
/// written yet, which the checks of accesses would find.
fn checkpoints(configuration: &exec::Configuration) -> Vec<(&'static str, &'static str)> {
    let is_stated = std::env::var_os("COTANGENT_BUDGET").is_some();
    let budget = (!is_stated).then_some(("COTANGENT_BUDGET", "3 states"));
    budget.into_iter().chain((!configuration.check).then_some(("COTANGENT_CHECK_STEPS", "1"))).collect()
}

impl Program {
    /// Compiles the texts. The native program is run with the executor's checks: threads run in turn, so that two of
    /// them that add to one element without an atomic get the right sum, and no number tells.
    pub(crate) fn build(
        tools: &Tools,
        texts: &Texts<'_>,
        flags: &ParseFlags,
        precision: Precision,
        folder: &Path,
    ) -> Result<Program> {
        let name = match precision {
            Precision::Native => "native",
            Precision::Widened => "widened",
        };
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut overlays = texts.direct.texts.clone();
        let position = overlays.iter().position(|text| text.path == texts.file);
        let position = position.map_or_else(
            || -> Result<usize> {
                let read = || std::fs::read_to_string(texts.file);
                let text = texts.own.map_or_else(read, |own| Ok(own.to_owned()));
                let text = text.with_context(|| format!("cannot read {}", texts.file.display()))?;
                overlays.push(Overlay { path: texts.file.to_path_buf(), text });
                Ok(overlays.len() - 1)
            },
            Ok,
        )?;
        let mut flags = flags.clone();
        // What is measured is correctness; the compiler's time is most of the wait.
        flags.cpu_args.extend(["-O0".to_owned(), OTHER_MAIN.to_owned()]);
        // What the function does not need may call other files of the program, which are not here.
        flags.cpu_args.extend(UNNEEDED_IS_DROPPED.map(str::to_owned));
        flags.link_args.push("-Wl,--gc-sections".to_owned());
        let appended = texts.appended(precision, Dialect::Cpu);
        let first = match precision {
            Precision::Native => widen::records(&overlays[position].text) + &widen::libraries(&[&appended]),
            Precision::Widened => {
                overlays.extend(other_files(texts.file, &flags, &overlays));
                let all: Vec<&str> = overlays.iter().map(|overlay| &*overlay.text).chain([&*appended]).collect();
                widen::header(&all)
            }
        };
        let header = folder.join("first.h");
        std::fs::write(&header, first).context("cannot write a header")?;
        flags.cpu_args.extend(["-include".to_owned(), header.display().to_string()]);
        std::fs::write(folder.join(APPENDED), &appended).context("cannot write a text")?;
        overlays[position].text += &appended;
        if precision == Precision::Widened {
            overlays.iter_mut().for_each(|overlay| overlay.text = widen::literals(&overlay.text));
        }
        let shared_object = folder.join("program.so");
        let request = CpuRequest {
            units: &[texts.file.to_path_buf()],
            texts: &overlays,
            flags: &flags,
            check: is_checked(precision),
            colour: false,
            output: &shared_object,
        };
        compile(tools, &request)?;
        Ok(Program {
            function: 0,
            made: Made::ByClang(shared_object),
            folder,
            precision,
            seconds: None,
            own_error: None,
        })
    }

    pub(crate) fn is_of_nvcc(&self) -> bool {
        matches!(self.made, Made::ByNvcc(..))
    }

    pub(crate) fn is_on_gpu(&self) -> bool {
        matches!(self.made, Made::ByNvcc(_, None))
    }

    /// Which of the programs it is, in a message.
    fn by(&self) -> &'static str {
        match &self.made {
            Made::ByClang(_) => "",
            Made::ByNvcc(_, Some(_)) => "that nvcc made ",
            Made::ByNvcc(_, None) => "on the GPU ",
        }
    }

    /// The same program for another of its functions.
    pub(crate) fn of(&self, function: usize) -> Program {
        Program { function, ..self.clone() }
    }

    /// The same program, which is ended after so many seconds.
    pub(crate) fn within(self, seconds: &'static str) -> Program {
        Program { seconds: Some(seconds), ..self }
    }

    /// The same program, in which this error says nothing.
    pub(crate) fn leaving(&self, error: i32) -> Program {
        Program { own_error: Some(error), ..self.clone() }
    }

    /// Carries out evaluations; the memory after each.
    pub(crate) fn run(
        &self,
        module: &Module,
        launch: Launch,
        evaluations: &[Evaluation],
        seed: u64,
    ) -> Result<Vec<Memory>> {
        Ok(self.run_and_listen(module, launch, evaluations, seed)?.0)
    }

    /// The same, and what the checks noted of stores of the same value.
    pub(crate) fn run_and_listen(
        &self,
        module: &Module,
        launch: Launch,
        evaluations: &[Evaluation],
        seed: u64,
    ) -> Result<(Vec<Memory>, Option<Findings>)> {
        let (input, output) = (self.folder.join("in"), self.folder.join("out"));
        std::fs::write(&input, self.input(module, launch, evaluations)).context("cannot write the input")?;
        // One processor: atomics in another order would round differently.
        let configuration = exec::Configuration { check: is_checked(self.precision), seed, threads: 1 };
        let mut command = self.command(&configuration)?;
        let _turn = self.is_on_gpu().then(linked::turn_on_gpu).transpose()?;
        let run = command
            .envs(self.seconds.map(|seconds| ("COTANGENT_CHECK_SECONDS", seconds)))
            .envs(self.own_error.map(|_| (OWN_ERROR, "1")))
            .envs(checkpoints(&configuration))
            .args([&input, &output])
            .output()
            .with_context(|| format!("cannot run {}", command.get_program().display()))?;
        let said = String::from_utf8_lossy(&run.stderr);
        let first = said.lines().take(20).collect::<Vec<&str>>().join("\n");
        if !run.status.success() {
            if run.status.code() == Some(cotangent_cpu::FINDINGS_EXIT_CODE) {
                return Err(Findings(self.with_lines(&first)).into());
            }
            let status = run.status;
            // One that cannot be loaded says so in that way.
            let question = if said.starts_with("error: ") { "" } else { "; are the arrays long enough?" };
            let message = format!("the program {}ended with {status}{question}\n{first}", self.by());
            return Err(Stopped { message, took_too_long: status.signal() == Some(SIGALRM), left: None }.into());
        }
        let memory = self.outputs(module, evaluations, &std::fs::read(&output).context("cannot read the output")?)?;
        Ok((memory, said.contains(SAME_VALUE).then(|| Findings(self.with_lines(&first)))))
    }

    /// What starts the program; its words follow.
    fn command(&self, configuration: &exec::Configuration) -> Result<Command> {
        match &self.made {
            Made::ByClang(shared_object) => {
                let this_command = std::env::current_exe().context("cannot find this command's own file")?;
                let mut command = Command::new(this_command);
                command.arg(exec::NAME).args(configuration.to_words()).arg(shared_object).arg("check");
                Ok(command)
            }
            Made::ByNvcc(program, library) => {
                let mut command = Command::new(program);
                if let Some(library) = library {
                    linked::configure(&mut command, library, configuration);
                }
                cotangent_driver::ends_with_us(&mut command);
                Ok(command)
            }
        }
    }

    /// A report with the lines of ours that it names, which nobody can look up.
    fn with_lines(&self, report: &str) -> String {
        let text = std::fs::read_to_string(self.folder.join(APPENDED)).unwrap_or_default();
        // The text begins with an empty line and the directive that makes the next one the first.
        let lines: Vec<&str> = text.lines().skip(2).collect();
        let with_line = |said: &str| {
            let number = said.trim_start().strip_prefix("--> check:").and_then(|place| place.split(':').next());
            let number = number.and_then(|number| number.parse::<usize>().ok());
            match number.and_then(|number| lines.get(number.checked_sub(1)?)) {
                Some(line) => format!("{said}\n      | {}", line.trim()),
                None => said.to_owned(),
            }
        };
        report.lines().map(with_line).collect::<Vec<String>>().join("\n")
    }

    fn input(&self, module: &Module, launch: Launch, evaluations: &[Evaluation]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let word = |bytes: &mut Vec<u8>, value: usize| bytes.extend((value as u32).to_le_bytes());
        word(&mut bytes, evaluations.len());
        for evaluation in evaluations {
            word(&mut bytes, case(self.function, evaluation.variant));
            launch.grid.iter().chain(&launch.block).for_each(|extent| word(&mut bytes, *extent as usize));
            // Where numbers are wider, so is the shared memory that they are in.
            let widening = if self.precision == Precision::Widened { 2 } else { 1 };
            bytes.extend((launch.shared * widening).to_le_bytes());
            let encoded = evaluation.memory.encode(module, self.precision);
            word(&mut bytes, encoded.bytes.len());
            for buffer in &encoded.bytes {
                bytes.extend((buffer.len() as u64).to_le_bytes());
                bytes.extend(buffer);
            }
            word(&mut bytes, encoded.patches.len());
            for (buffer, offset, target) in &encoded.patches {
                word(&mut bytes, *buffer);
                bytes.extend((*offset as u64).to_le_bytes());
                word(&mut bytes, *target);
            }
            for list in [&evaluation.args, &evaluation.variables] {
                word(&mut bytes, list.len());
                list.iter().for_each(|buffer| word(&mut bytes, *buffer));
            }
        }
        bytes
    }

    fn outputs(&self, module: &Module, evaluations: &[Evaluation], mut bytes: &[u8]) -> Result<Vec<Memory>> {
        let mut results = Vec::new();
        for evaluation in evaluations {
            let (error, rest) = bytes.split_at_checked(4).context("the program wrote too little")?;
            let code = i32::from_le_bytes([error[0], error[1], error[2], error[3]]);
            if code != 0 && Some(code) != self.own_error {
                let error = cotangent_cpu::describe_error(code);
                let by = self.by();
                let message =
                    format!("the launch {by}failed with {error}; is the configuration of `--launch` possible?");
                return Err(Stopped { message, took_too_long: false, left: Some(code) }.into());
            }
            bytes = rest;
            let mut buffers = Vec::new();
            for buffer in evaluation.memory.encode(module, self.precision).bytes {
                let (own, rest) = bytes.split_at_checked(buffer.len()).context("the program wrote too little")?;
                buffers.push(own.to_vec());
                bytes = rest;
            }
            results.push(evaluation.memory.decoded(module, self.precision, &buffers));
        }
        Ok(results)
    }
}

/// Whether accesses are checked in the program of a precision.
fn is_checked(precision: Precision) -> bool {
    match precision {
        Precision::Native => true,
        Precision::Widened => false,
    }
}

/// Whether a compiler rejected a text.
pub(crate) fn is_rejected(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<DriverError>(), Some(DriverError::Rejected { .. }))
}

impl Texts<'_> {
    /// What stands after the user's text.
    pub(super) fn appended(&self, precision: Precision, dialect: Dialect) -> String {
        let before = match dialect {
            Dialect::Cpu | Dialect::CpuPart => "",
            Dialect::Cuda | Dialect::Nvrtc => HARNESS_OF_NVCC,
        };
        let mut text = format!("\n#line 1 \"check\"\n{before}{HARNESS}");
        let mut cases = String::new();
        for (index, function) in self.functions.iter().enumerate() {
            let how = match function.space {
                Space::Kernel => "kernel",
                Space::Device => "device",
                Space::Host => "host",
            };
            let pointer = function_pointer(function.function);
            let number = case(index, Variant::Primal);
            let primal = held(&function.variables, "", |_| true);
            // Only a device knows the addresses of its functions; as arguments of a template they need none.
            let primal_call = match (function.space, dialect) {
                (Space::Device, Dialect::Cuda) => format!("device_of_nvcc<{pointer}>(buffers)"),
                _ => format!("{how}({pointer}, launch, buffers)"),
            };
            cases += &format!("    case {number}: {{ {primal}return {primal_call}; }}\n");
            // Numbers that must agree to ten digits are computed with more.
            let is_wanted = |variant: Variant| match variant {
                Variant::Primal | Variant::Forward | Variant::Reverse => true,
                Variant::Unproved => precision == Precision::Widened,
                Variant::Gathered | Variant::Framework | Variant::Alone(_) => dialect != Dialect::Cuda,
            };
            for (variant, module) in function.derivatives.iter().filter(|(variant, _)| is_wanted(*variant)) {
                let number = case(index, *variant);
                let (module, space, printed) = match function.provided {
                    Some(provided) if dialect == Dialect::Cuda && *variant == Variant::Reverse => {
                        behind_the_program(module, provided)
                    }
                    provided => in_a_namespace(module, provided, dialect, format!("cotangent_derivative_{number}")),
                };
                text += &printed;
                let is_there = |name: &&String| module.globals.iter().any(|global| *global.name == ***name);
                let held = held(&function.variables, &space, is_there);
                cases +=
                    &format!("    case {number}: {{ {held}{} }}\n", call(&module, function.space, &space, dialect));
            }
        }
        // They run on the CPU alone.
        for (index, body) in self.others.iter().enumerate().filter(|_| dialect != Dialect::Cuda) {
            let number = case(self.functions.len() + index, Variant::Primal);
            cases += &format!("    case {number}: {{ {body} }}\n");
        }
        text += "void cotangent_check::evaluate(unsigned variant, const Launch& launch, Buffer* buffers, Buffer* variables) {\n";
        if text.contains("#include <cotangent/runtime.hpp>") {
            text += &format!("  ::cotangent::drops_pending() = getenv(\"{OWN_ERROR}\") != nullptr;\n");
        }
        text + &format!("  switch (variant) {{\n{cases}  }}\n}}\n")
    }
}

/// A derivative as programs have it, under other names: the program may ask for the same one.
fn behind_the_program(module: &Module, provided: &Provided) -> (Module, String, String) {
    let is_programs = |name: &Name| provided.functions.contains(name) || provided.unnamed.contains(name);
    let mut modules = [renamed(module, |name| !is_programs(name))];
    let behind = emit_behind(&mut modules, provided, SharedWith::Nobody);
    let [module] = modules;
    (module, String::new(), behind.text)
}

/// A derivative with all that it needs, apart from the program's own but for variables that code uses which is not read.
fn in_a_namespace(
    module: &Module,
    provided: Option<&Provided>,
    dialect: Dialect,
    space: String,
) -> (Module, String, String) {
    let mut module = renamed(module, |_| true);
    if provided.is_some() {
        // The program declares the functions of other files; in the namespace they would be others.
        module.preamble.retain(|line| line.starts_with(['<', '#']));
    }
    let passes_code = passes_code(&module);
    let is_shared = |global: &Global| {
        let is_named = provided.is_some_and(|provided| provided.globals.contains(&global.name));
        // Structs are the derivative's own.
        passes_code && is_named && global.is_open() && !mentions_record(&global.ty)
    };
    let printed = emit_beside(&module, dialect, is_shared);
    // Headers stand first, some under a condition.
    let is_of_header = |line: &str| line.is_empty() || line.starts_with('#');
    let lines: Vec<&str> = printed.lines().collect();
    let (includes, rest) = lines.split_at(lines.iter().take_while(|line| is_of_header(line)).count());
    let mut text = format!("{}\nnamespace {space} {{\n{}\n}}\n", includes.join("\n"), rest.join("\n"));
    if dialect == Dialect::Cpu {
        text += &symbols(&module, &space);
    }
    (module, space, text)
}

fn passes_code(module: &Module) -> bool {
    let mut is_found = false;
    for function in module.functions.iter() {
        walk::each_stmt(&function.body, &mut |stmt| {
            is_found |= matches!(stmt.kind, StmtKind::Opaque { code: Unread::Passed, .. });
        });
    }
    is_found
}

fn mentions_record(ty: &Type) -> bool {
    match ty {
        Type::Record(_) => true,
        Type::Pointer(pointer) => mentions_record(&pointer.pointee),
        Type::Array(element, _) => mentions_record(element),
        Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_) => false,
    }
}

/// How the harness calls the last function of a derivative of a function `of` a space; in the split form, after the one that fills the record.
fn call(module: &Module, of: Space, space: &str, dialect: Dialect) -> String {
    let launcher = |name: &str| match dialect {
        Dialect::Cpu | Dialect::CpuPart => format!("{space}::{name}_launch"),
        Dialect::Cuda | Dialect::Nvrtc => format!("launcher_of_nvcc<{space}::{name}>"),
    };
    let Some(entry) = module.functions.iter().last() else { return "return;".to_owned() };
    // The framework form of the split form is launched after what fills the record.
    let is_launching = entry.space == Space::Host && of == Space::Kernel;
    if is_launching && augmented_of(module, entry).is_none() {
        return format!("return printed({space}::{}, launch, buffers);", entry.name);
    }
    if entry.space == Space::Host && !is_launching {
        if let Some(augmented) = augmented_of(module, entry) {
            let needed = needed_list(module, augmented);
            let names = [augmented, entry].map(|function| format!("{space}::{}", function.name)).join(", ");
            return format!(
                "{{ static const bool needed[] = {needed}; return split_host({names}, needed, buffers); }}"
            );
        }
        let mut is_freeing = false;
        for function in module.functions.iter().filter(|function| function.space == Space::Host) {
            walk::each_stmt(&function.body, &mut |stmt| {
                if let StmtKind::Runtime { call, .. } = &stmt.kind {
                    is_freeing |= frees(call);
                }
            });
        }
        let how = if is_freeing { "host_without_leaks" } else { "host" };
        return format!("return {how}({space}::{}, launch, buffers);", entry.name);
    }
    // Adjoints lie after the values in dynamic shared memory.
    let mut has_more = false;
    walk::each_expr(&entry.body, &mut |expr| has_more |= expr.kind == ExprKind::Builtin(Builtin::DynamicSharedBytes));
    let launch = if has_more { "twice(launch)" } else { "launch" };
    let augmented = augmented_of(module, entry);
    let filling = augmented.unwrap_or(entry);
    let configured = if is_launching { CONFIGURATION } else { 0 };
    let called = called_by_harness(module).unwrap_or(entry);
    let of_record = called.record_params().len();
    let record = (of_record > 0).then(|| called.params.len() - of_record - configured);
    let guard = match (record, counting(module)) {
        (Some(record), Some(counting)) => {
            let filling = launcher(&filling.name);
            let counting = match counting.space {
                Space::Host => format!("{space}::{}", counting.name),
                Space::Kernel | Space::Device => launcher(&counting.name),
            };
            format!("RecordGuard guard({counting}, {filling}, {record}, launch, buffers); ")
        }
        (Some(record), None) => format!("OwnRecord record(buffers[{record}], uncounted); "),
        (None, _) => String::new(),
    };
    let Some(augmented) = augmented else {
        let call = if of_record == 2 { "limited" } else { "printed" };
        return format!("{{ {guard}return {call}({}, {launch}, buffers); }}", launcher(&entry.name));
    };
    format!(
        "{{ static const bool needed[] = {}; {guard}return split({}, {}, needed, {}, launch, {launch}, buffers); }}",
        needed_list(module, augmented),
        launcher(&augmented.name),
        if is_launching { format!("{space}::{}", entry.name) } else { launcher(&entry.name) },
        own_params(augmented).len()
    )
}

/// The parameters that the primal function has too.
fn own_params(augmented: &Function) -> &[LocalId] {
    let count = augmented.params.len() - augmented.record_params().len();
    match &augmented.params[..count] {
        [own @ .., last] if augmented.local_name(*last) == "_tape" => own,
        own => own,
    }
}

/// For each of them, whether its memory must be unchanged between the two functions of the split form; and one more.
fn needed_list(module: &Module, augmented: &Function) -> String {
    let listed = read_after(module);
    let is_listed = |param: &LocalId| listed.iter().any(|name| name == augmented.local_name(*param));
    let needed: Vec<String> = own_params(augmented).iter().map(|param| is_listed(param).to_string()).collect();
    format!("{{{}, false}}", needed.join(", "))
}

/// Statements that give the variables of the program, or of a namespace in it, what their buffers hold: those that are
/// there, since a derivative may need no value of one.
pub(super) fn held(variables: &[String], space: &str, is_there: impl Fn(&&String) -> bool) -> String {
    let there = variables.iter().enumerate().filter(|(_, name)| is_there(name));
    there.map(|(number, name)| format!("Held held_{number}({space}::{name}, variables[{number}]); ")).collect()
}

/// The kernel that a host function launches, or others in its place.
pub(crate) fn kernel_of(module: &Module, launcher: &Function) -> Option<FunctionId> {
    module.function(launcher.name.strip_suffix("_launch")?).filter(|id| module.functions[*id].space == Space::Kernel)
}

/// The function that fills the record of the split form.
pub(crate) fn augmented_of<'m>(module: &'m Module, reverse: &Function) -> Option<&'m Function> {
    // The primal's own name may have such a word too.
    let places = ["_reverse", "_vjp"].into_iter().flat_map(|word| reverse.name.match_indices(word));
    let names: Vec<String> = places
        .map(|(at, word)| format!("{}_augmented{}", &reverse.name[..at], &reverse.name[at + word.len()..]))
        .collect();
    module.functions.iter().find(|function| names.iter().any(|name| *name == *function.name))
}

/// Makes the device variables of a derivative known to the executor: its own copies, which lie beside the user's.
fn symbols(module: &Module, space: &str) -> String {
    let line = |(number, global): (usize, &Global)| {
        let kind = match global.storage {
            GlobalStorage::Constant => "CONSTANT",
            GlobalStorage::Device => "DEVICE",
            GlobalStorage::Managed => "MANAGED",
            GlobalStorage::Constexpr | GlobalStorage::Host => return None,
        };
        let name = format!("{space}::{}", global.name);
        let arguments = format!("&{name}, sizeof({name}), \"{}\", COTANGENT_SPACE_{kind}", global.name);
        Some(format!("static ::cotangent::Symbol {space}_symbol_{number}({arguments});\n"))
    };
    module.globals.iter().enumerate().filter_map(line).collect()
}

/// The module with other names for some of its functions: a call with an argument of a type that is declared outside would
/// find the user's function too.
fn renamed(module: &Module, is_meant: impl Fn(&Name) -> bool) -> Module {
    let mut module = module.clone();
    for function in module.functions.iter_mut().filter(|function| is_meant(&function.name)) {
        function.name = format!("{}_printed", function.name).into();
    }
    module
}

/// The user's function as an expression, whatever else has its name here. Parameter types choose among overloads of kernels.
pub(super) fn function_pointer(request: &str) -> String {
    let request = request.trim_start_matches("::");
    let depth = |text: &str| text.matches('<').count() == text.matches('>').count();
    match request.find('(').filter(|open| depth(&request[..*open])) {
        Some(open) => format!("static_cast<void (*){}>(::{})", &request[open..], &request[..open]),
        None => format!("::{request}"),
    }
}

/// The derivative itself: the last function, or the one that a kernel after it calls, which takes the result after the parameters.
pub(crate) fn called_by_harness(module: &Module) -> Option<&Function> {
    module.functions.iter().rev().find(|function| !function.name.starts_with(ENTRY))
}

const ENTRY: &str = "cotangent_check_entry";

/// The module with a kernel after it that one thread calls the last function from: all by pointer or value, and the
/// result after the arguments.
pub(crate) fn with_entry(module: &Module, function: FunctionId) -> Module {
    let called = &module.functions[function];
    if called.space == Space::Kernel {
        return module.clone();
    }
    let mut builder = FunctionBuilder::new(module, ENTRY, Space::Kernel, Type::Void);
    let mut args = Vec::new();
    for param in &called.params {
        let local = &called.locals[*param];
        let mut ty = local.ty.clone();
        if let Type::Pointer(pointer) = &mut ty {
            pointer.is_reference = false;
        }
        let value = Expr::load(builder.param(&local.name, ty));
        args.push(match local.ty.is_reference() {
            true => Expr::new(ExprKind::AddressOf(Place::deref(value)), local.ty.clone()),
            false => value,
        });
    }
    let into = (called.result != Type::Void).then(|| {
        let result = builder.param("result", Type::pointer(called.result.clone()));
        Place::deref(Expr::load(result))
    });
    builder.push(StmtKind::Call { into, function, args });
    let entry = builder.finish();
    let mut module = module.clone();
    module.functions.push(entry);
    module
}
