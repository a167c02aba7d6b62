//! Reads one pass of a file: what Clang dumps of it, from the cache if nothing has changed, and for large libraries with
//! their headers precompiled.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use cotangent::clang::{self, GENERATION, Sieve, is_not_system};

use crate::error::DriverError;
use crate::headers::Headers;
use crate::kept::{self, Kept, ReadFiles, files_of_rule};
use crate::leading::leading;
use crate::own_files::named_folders;
use crate::parse::{ParseRequest, arguments, dump, precompile, texts};
use crate::source_text::source_text;
use crate::tools::Tools;

/// What took less than this is not kept: asking Clang again costs less than the room.
const WORTH_KEEPING: Duration = Duration::from_secs(1);

/// Headers of PyTorch with templates that kernels use, and ours with the same ones. What a precompiled header defines is in no
/// dump; ours are read with the program.
const STAND_INS: &[(&str, &str)] =
    &[("ATen/core/TensorAccessor.h", "cotangent/accessors.h"), ("ATen/cuda/DeviceUtils.cuh", "cotangent/shuffles.h")];

/// The standard library's header of `std::plus` and its like, which is dumped with those that we ship.
const FUNCTORS: &str = "bits/stl_function.h";

/// The dump of a pass, sieved.
pub(crate) struct Dump {
    pub(crate) bytes: Vec<u8>,
    /// Whether it was joined of two, and what refers from one to the other has to be found by name.
    pub(crate) is_joined: bool,
}

/// What Clang has to say about a pass of a file.
pub(crate) fn dump_of(tools: &Tools, request: &ParseRequest<'_>) -> Result<Dump, DriverError> {
    let head = head(tools, request);
    let is_joined = head.is_some();
    let kept = Kept::new(&tools.environment, question(tools, request, head.as_deref())?);
    if let Some(bytes) = kept.as_ref().and_then(Kept::get) {
        return Ok(Dump { bytes, is_joined });
    }
    let (began, clock) = (SystemTime::now(), Instant::now());
    let (bytes, read) = match head {
        Some(head) => with_precompiled(tools, request, &head)?,
        None => whole(tools, request)?,
    };
    if is_joined || clock.elapsed() >= WORTH_KEEPING {
        kept.and_then(|kept| kept.put(&bytes, &read, began));
    }
    Ok(Dump { bytes, is_joined })
}

/// The directives to precompile, if that is how the file is read.
fn head(tools: &Tools, request: &ParseRequest<'_>) -> Option<String> {
    if request.cuda_path.is_some() {
        return None;
    }
    let own = || source_text(request.file).ok().map(|source| source.text);
    // Headers that we ship stay in the program, where what it instantiates of them is dumped.
    let folders = Headers::materialise(&tools.environment).ok()?.for_parsing();
    let is_shipped = |name: &str| folders.iter().any(|folder| folder.join(name).is_file());
    let text = request.instead.map(str::to_owned).or_else(own)?;
    let head = leading(request.file, &text, &named_folders(&request.flags.clang_args, &["-I"]), is_shipped);
    (head.is_large || tools.environment.precompile_all).then_some(head.text)
}

/// All that the answer depends on but the contents of files.
fn question(tools: &Tools, request: &ParseRequest<'_>, head: Option<&str>) -> Result<String, DriverError> {
    let arguments = arguments(tools, request)?;
    let texts: Vec<_> = texts(request).into_iter().map(|overlay| (overlay.path, overlay.text)).collect();
    let folder = std::env::current_dir().unwrap_or_default();
    let Tools { environment, clang } = tools;
    let version = env!("CARGO_PKG_VERSION");
    // Our own headers are in the arguments, by a name made of their contents.
    Ok(format!(
        "{version} {GENERATION} {clang:?} {folder:?} {:?} {arguments:?} {texts:?} {head:?}",
        environment.include_folders
    ))
}

/// The dump with all headers in it.
fn whole(tools: &Tools, request: &ParseRequest<'_>) -> Result<(Vec<u8>, ReadFiles), DriverError> {
    // Few programs use what they do not include, and it costs more than all the rest: only if need be.
    match sieved(tools, request) {
        Err(DriverError::Rejected { .. }) if request.cuda_path.is_none() => {
            sieved(tools, &ParseRequest { whole_library: true, ..request.clone() })
        }
        first => first,
    }
}

/// One call of Clang.
fn sieved(tools: &Tools, request: &ParseRequest<'_>) -> Result<(Vec<u8>, ReadFiles), DriverError> {
    let scratch = tempfile::tempdir().map_err(DriverError::file("make a folder in", &std::env::temp_dir()))?;
    let list = scratch.path().join("list");
    let mut sieve = Sieve::new(is_not_system);
    let request = ParseRequest { read_files: Some(&list), ..request.clone() };
    dump(tools, &request, &mut |piece| sieve.push(piece))?;
    Ok((sieve.finish(), read_files(tools, &request, &list)?))
}

/// The dump of the program's own declarations, after those of the headers that we ship.
fn with_precompiled(
    tools: &Tools,
    request: &ParseRequest<'_>,
    head: &str,
) -> Result<(Vec<u8>, ReadFiles), DriverError> {
    // Nobody wants to wait twice for a large library, and it includes most of the standard one anyway.
    let request = ParseRequest { whole_library: true, ..request.clone() };
    let head = precompiled(tools, &request, head)?;
    let is_read = |library: &str| head.read.files.iter().any(|file| file.ends_with(library));
    let stand_ins = STAND_INS.iter().filter(|(library, _)| is_read(library)).map(|(_, ours)| *ours).collect();
    let with_head = ParseRequest { precompiled: Some(&head.path), stand_ins, ..request.clone() };
    let (program, mut read) = sieved(tools, &with_head)?;
    let functors = if is_read(FUNCTORS) { functors() } else { String::new() };
    let shipped = shipped_headers(&Headers::materialise(&tools.environment)?, &head.read) + &functors;
    let request = ParseRequest { instead: Some(&shipped), appended: "", whole_library: false, ..request };
    let (headers, _) = sieved(tools, &request)?;
    // The precompiled headers stand for the files that they were made of.
    read.files.retain(|file| *file != head.path);
    read.files.extend(head.read.files.iter().cloned());
    read.files.sort();
    read.files.dedup();
    Ok((clang::after(&headers, &program), read))
}

/// A precompiled head, and what it was made of.
struct Head {
    path: PathBuf,
    read: ReadFiles,
    /// The folder that it is in, if it could not be kept.
    _scratch: Option<tempfile::TempDir>,
}

/// The precompiled head of a program, from the cache or made now.
fn precompiled(tools: &Tools, request: &ParseRequest<'_>, head: &str) -> Result<Head, DriverError> {
    let folder = kept::folder(&tools.environment).ok_or(DriverError::NoCacheFolder)?;
    fs::create_dir_all(&folder).map_err(DriverError::file("make the cache folder", &folder))?;
    let header = folder.join(format!("head-{:016x}.cuh", kept::hash_of(head)));
    write_once(&folder, &header, head).map_err(DriverError::file("write", &header))?;
    let request = ParseRequest { file: &header, instead: None, appended: "", ..request.clone() };
    let kept = Kept::new(&tools.environment, question(tools, &request, None)? + " precompiled");
    let kept = kept.ok_or(DriverError::NoCacheFolder)?;
    if kept.get().is_some()
        && let Some(read) = kept.read_files()
    {
        return Ok(Head { path: kept.payload(), read, _scratch: None });
    }
    let began = SystemTime::now();
    let scratch = tempfile::tempdir_in(&folder).map_err(DriverError::file("make a folder in", &folder))?;
    let (made, list) = (scratch.path().join("made"), scratch.path().join("list"));
    let request = ParseRequest { read_files: Some(&list), ..request };
    precompile(tools, &request, &header, &made)?;
    let read = read_files(tools, &request, &list)?;
    let bytes = fs::read(&made).map_err(DriverError::file("read", &made))?;
    Ok(match kept.put(&bytes, &read, began) {
        Some(()) => Head { path: kept.payload(), read, _scratch: None },
        None => Head { path: made, read, _scratch: Some(scratch) },
    })
}

/// Writes a file that others may write at the same time, and that has one time for ever: Clang looks at it again whenever
/// it uses what it has made of it.
fn write_once(folder: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    let is_there = || fs::read_to_string(path).is_ok_and(|written| written == text);
    if is_there() {
        return Ok(());
    }
    let file = tempfile::NamedTempFile::new_in(folder)?;
    fs::write(file.path(), text)?;
    match file.persist_noclobber(path) {
        Err(_) if !is_there() => fs::write(path, text),
        _ => Ok(()),
    }
}

/// `#include` of each header of ours that the head has read, in the order in which it was.
fn shipped_headers(headers: &Headers, read: &ReadFiles) -> String {
    let folders = headers.for_parsing();
    let is_ours = |path: &&PathBuf| folders.iter().any(|folder| path.parent() == Some(folder));
    let names = read.files.iter().filter(is_ours).filter_map(|path| path.file_name()?.to_str());
    names.map(|name| format!("#include <{name}>\n")).collect()
}

/// The functors that libraries for device code hand around: only what is instantiated is dumped.
fn functors() -> String {
    let names = ["plus", "minus", "multiplies", "divides", "negate"];
    let numbers = ["float", "double", "int"];
    let asked = names.iter().flat_map(|name| numbers.map(|number| format!("template struct {name}<{number}>;\n")));
    format!("#include <{FUNCTORS}>\nnamespace std {{\n{}}}\n", asked.collect::<String>())
}

/// What Clang has read, from its list.
fn read_files(tools: &Tools, request: &ParseRequest<'_>, list: &Path) -> Result<ReadFiles, DriverError> {
    let rule = fs::read_to_string(list).map_err(DriverError::file("read", list))?;
    let words = arguments(tools, request)?;
    let own = request.file.parent().map(Path::to_path_buf);
    let named = named_folders(&words, &["-I", "-isystem", "-iquote"]);
    Ok(ReadFiles { files: files_of_rule(&rule), folders: own.into_iter().chain(named).collect() })
}
