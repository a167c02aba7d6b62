//! From the user's file to Clang's trees: has Clang parse both passes, and reads its dumps.

use std::path::Path;
use std::{fs, io};

use cotangent::clang::{self, Ast, Node, ReadError, STACK_BYTES};
use cotangent::diagnostic::{Diagnostic, Refusal};
use cotangent::lower;
use cotangent::source::{FileId, Sources, Span};

use crate::brackets::joined;
use crate::error::{Blame, DriverError};
use crate::flags::ParseFlags;
use crate::parse::{ParseRequest, Pass, as_argument};
use crate::precompiled::dump_of;
use crate::source_text::source_text;
use crate::together::{check_others, text_with_others};
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

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// Clang's dump was not what we can read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Diagnostics about the user's program.
    #[error("{0}")]
    Diagnostics(Refusal),
}

impl Failure {
    /// What was found in a program, of which these are the texts.
    pub fn refused(found: &[Diagnostic], sources: &Sources, colour: bool) -> Failure {
        Failure::Diagnostics(Refusal::of(found, sources, colour))
    }

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

/// As [`read_host`], with this text in place of the file's own.
pub(crate) fn read_host_instead(tools: &Tools, input: &Input<'_>, instead: Option<&str>) -> Result<Ast, Failure> {
    read_pass(tools, input, Pass::Host, Text { instead, ..Text::OWN })
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

/// As [`read`], with this text in place of the file's own.
pub(crate) fn read_instead(tools: &Tools, input: &Input<'_>, instead: &str) -> Result<Passes, Failure> {
    read_text(tools, input, Text { instead: Some(instead), ..Text::OWN })
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
            Err(Failure::refused(&found, &passes.device.sources, input.colour))
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
    let passes = match device? {
        Ok(device) => Passes::of(host, device?),
        Err(panic) => std::panic::resume_unwind(panic),
    };
    check_others(tools, input, &passes)?;
    Ok(passes)
}

/// One pass of a file without the program's others.
pub(crate) fn read_pass_alone(tools: &Tools, input: &Input<'_>, pass: Pass) -> Result<Ast, Failure> {
    read_pass(tools, input, pass, Text::OWN)
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

fn read_pass(tools: &Tools, input: &Input<'_>, pass: Pass, text: Text<'_>) -> Result<Ast, Failure> {
    let Input { file, flags, cuda_path, colour } = *input;
    let Text { instead, appended } = text;
    let whole = if instead.is_none() { text_with_others(file, flags)? } else { None };
    let instead = instead.or(whole.as_deref());
    let request = ParseRequest { cuda_path, instead, appended, colour, ..ParseRequest::new(file, pass, flags) };
    let dump = dump_of(tools, &request)?;
    let mut ast = clang::read(&dump.bytes)?;
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
    if dump.is_joined {
        clang::resolve(&mut ast);
    }
    Ok(ast)
}

/// A better message than Clang's, and before Clang is started.
pub(crate) fn check_readable(file: &Path) -> Result<(), DriverError> {
    let folder = || io::Error::other("it is a folder; name a CUDA file in it");
    let opened = fs::File::open(file).and_then(|_| if file.is_dir() { Err(folder()) } else { Ok(()) });
    opened.map_err(DriverError::file("read", file))
}
