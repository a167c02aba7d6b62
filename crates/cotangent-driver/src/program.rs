//! From the user's file to what a command wants of it: parses with Clang, hands the dumps to the compiler crate, and
//! brings back text or rendered diagnostics.

use std::path::{Path, PathBuf};
use std::{fs, io};

use cotangent::clang::{self, Ast, Node, ReadError, STACK_BYTES, Sieve, is_not_system};
use cotangent::diagnostic::{self, Diagnostic};
use cotangent::direct::{self, Kernels};
use cotangent::emit::{self, Dialect};
use cotangent::source::{FileId, Span};
use cotangent::{ir, lower};

use crate::brackets::joined;
use crate::compile::Overlay;
use crate::derivative::with_compiling;
use crate::error::{Blame, DriverError};
use crate::flags::ParseFlags;
use crate::output::Output;
use crate::parse::{ParseRequest, Pass, as_argument, dump};
use crate::printed_kernels::PrintedKernels;
use crate::requests::answered_of;
use crate::source_text::source_text;
use crate::tools::Tools;

/// The user's program and how to read it.
#[derive(Debug, Clone)]
pub struct Input<'a> {
    pub file: &'a Path,
    pub flags: &'a ParseFlags,
    /// A toolkit whose own headers are read instead of ours.
    pub cuda_path: Option<&'a Path>,
    /// Whether messages are in colour.
    pub colour: bool,
}

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Cuda,
    Cpu,
    /// The text form of the IR.
    Ir,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// Clang's dump was not what we can read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Diagnostics about the user's program, rendered.
    #[error("{0}")]
    Diagnostics(String),
}

impl Failure {
    /// Whose turn it is.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Driver(error) => error.blame(),
            Self::Diagnostics(_) | Self::Read(ReadError::TooDeep) => Blame::Program,
            Self::Read(ReadError::Json(_) | ReadError::Thread(_)) => Blame::Environment,
        }
    }
}

/// A program as both of CUDA's passes see it, with the texts of its files.
pub struct Passes {
    pub host: Ast,
    pub device: Ast,
}

impl Passes {
    /// Makes spans of both passes mean the same files, so that diagnostics of either can be shown together.
    pub fn of(mut host: Ast, mut device: Ast) -> Self {
        share_sources(&mut host, &mut device);
        Self { host, device }
    }

    /// The program's files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.device.sources.files.iter().map(|file| Path::new(&*file.name))
    }

    /// Both, as lowering takes them.
    pub fn both(&self) -> lower::Passes<'_> {
        lower::Passes { device: &self.device, host: Some(&self.host) }
    }
}

/// Has Clang parse the device pass alone, which is all that device code needs; else as [`read`].
pub fn read_device(tools: &Tools, input: &Input<'_>) -> Result<Ast, Failure> {
    read_pass(tools, input, Pass::Device, Text::OWN)
}

/// The same for the host pass.
pub(crate) fn read_host(tools: &Tools, input: &Input<'_>) -> Result<Ast, Failure> {
    read_pass(tools, input, Pass::Host, Text::OWN)
}

/// What Clang reads of a file.
#[derive(Clone, Copy)]
struct Text<'t> {
    /// In place of its own text.
    instead: Option<&'t str>,
    /// Behind the end.
    appended: &'t str,
}

impl Text<'_> {
    /// The file as it is.
    const OWN: Text<'static> = Text { instead: None, appended: "" };
}

/// Has Clang parse both passes, side by side, and reads its dumps.
///
/// The trees are walked and dropped by recursion: call it, and use what it returns, inside [`with_deep_stack`].
pub fn read(tools: &Tools, input: &Input<'_>) -> Result<Passes, Failure> {
    read_text(tools, input, Text::OWN)
}

/// As [`read`], and if the request names an instantiation that the file has not, once more with a use of it.
pub fn read_for(tools: &Tools, input: &Input<'_>, request: &str) -> Result<Passes, Failure> {
    let passes = read(tools, input)?;
    let Some(missing) = lower::missing_instantiation(passes.both(), request) else { return Ok(passes) };
    match read_text(tools, input, Text { appended: &missing.declaration, ..Text::OWN }) {
        // Clang speaks of the variable that we declare, which the user knows nothing of. Errors inside of the template
        // are the user's, and Clang's to tell.
        Err(Failure::Driver(DriverError::Rejected { message })) if message.contains("<overloaded function type>") => {
            let found = [missing.diagnostic];
            Err(Failure::Diagnostics(diagnostic::render(&found, &passes.device.sources, input.colour)))
        }
        result => result,
    }
}

fn read_text(tools: &Tools, input: &Input<'_>, text: Text<'_>) -> Result<Passes, Failure> {
    let (host, device) = std::thread::scope(|scope| {
        let device = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || read_pass(tools, input, Pass::Device, text))
            .map_err(ReadError::Thread);
        let host = read_pass(tools, input, Pass::Host, text);
        (host, device.map(|thread| thread.join()))
    });
    let host = host?;
    match device? {
        Ok(device) => Ok(Passes::of(host, device?)),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn share_sources(host: &mut Ast, device: &mut Ast) {
    fn renumber(nodes: &mut [Node], ids: &[FileId]) {
        let new_id = |span: &mut Span| {
            if let Some(id) = ids.get(span.file.0 as usize) {
                span.file = *id;
            }
        };
        for node in nodes {
            new_id(&mut node.span);
            node.spelling.iter_mut().for_each(|span| new_id(span));
            renumber(&mut node.inner, ids);
        }
    }
    let mut shared = std::mem::take(&mut device.sources);
    let mut ids = Vec::new();
    for source in host.sources.files.iter() {
        let known = shared.files.entries().find(|(_, file)| file.name == source.name).map(|(id, _)| id);
        ids.push(known.unwrap_or_else(|| shared.files.push(source.clone())));
    }
    renumber(&mut host.declarations, &ids);
    host.sources = shared.clone();
    device.sources = shared;
}

/// Runs on a stack that is deep enough for the trees of the largest programs that we accept.
pub fn with_deep_stack<T: Send>(work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        match thread.map_err(ReadError::Thread)?.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
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
        let module = lowered(passes.both(), name)
            .map_err(|found| Failure::Diagnostics(diagnostic::render(&found, &passes.device.sources, input.colour)))?;
        Ok(match form {
            Form::Cuda => with_compiling(emit::emit(&module, Dialect::Cuda)),
            Form::Cpu => emit::emit(&module, Dialect::Cpu),
            Form::Ir => ir::text::print(&module),
        })
    })
}

/// Lowers a function, and checks what came out: a contradiction is reported as our mistake, and nothing is printed.
pub fn lowered(passes: lower::Passes<'_>, name: &str) -> Result<ir::Module, Vec<Diagnostic>> {
    let module = lower::lower(passes, &[name])?;
    match ir::validate(&module) {
        Ok(()) => Ok(module),
        Err(violations) => Err(violations.into_iter().map(Diagnostic::from).collect()),
    }
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
            ast = read_pass(tools, input, Pass::Host, Text { instead, ..Text::OWN })?;
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
            passes = read_text(tools, input, Text { instead: Some(&answered.text), ..Text::OWN })?;
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

fn read_pass(tools: &Tools, input: &Input<'_>, pass: Pass, text: Text<'_>) -> Result<Ast, Failure> {
    let Input { file, flags, cuda_path, colour } = *input;
    let Text { instead, appended } = text;
    let attempt = |whole_library: bool| {
        let request = ParseRequest { file, pass, flags, cuda_path, whole_library, instead, appended, colour };
        let mut sieve = Sieve::new(is_not_system);
        dump(tools, &request, &mut |piece| sieve.push(piece)).map(|()| sieve.finish())
    };
    // Few programs use what they do not include, and it costs more than all the rest: only if need be.
    let sieved = match attempt(false) {
        Err(DriverError::Rejected { .. }) if cuda_path.is_none() => attempt(true),
        first => first,
    };
    let mut ast = clang::read(&sieved?)?;
    let name = as_argument(file);
    for source in ast.sources.files.iter_mut() {
        // A name that is no file, such as `<built-in>`, stays without text.
        let text = match instead.filter(|_| *source.name == *name) {
            Some(text) => Some(text.to_owned()),
            None => source_text(Path::new(&*source.name)).ok().map(|source| source.text),
        };
        // As Clang saw it.
        source.text = text.map(|text| joined(&text).unwrap_or(text).into());
    }
    Ok(ast)
}

/// A better message than Clang's, and before Clang is started.
pub(crate) fn check_readable(file: &Path) -> Result<(), DriverError> {
    let folder = || io::Error::other("it is a folder; name a CUDA file in it");
    let opened = fs::File::open(file).and_then(|_| if file.is_dir() { Err(folder()) } else { Ok(()) });
    opened.map_err(DriverError::file("read", file))
}
