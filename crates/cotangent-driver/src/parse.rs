//! Has Clang parse a CUDA file and streams its dump of the program. One call is one pass: CUDA's host and device
//! passes are different programs, and Clang prints each on its own.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::advice::with_advice;
use crate::brackets::overlays;
use crate::compile::{Overlay, write_overlay};
use crate::error::DriverError;
use crate::flags::{Arch, ParseFlags};
use crate::headers::Headers;
use crate::process::ends_with_us;
use crate::source_text::source_text;
use crate::tools::{Tools, major, toolkit_headers, toolkit_version};

/// Which of CUDA's two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    Host,
    Device,
}

/// What to parse.
#[derive(Debug, Clone)]
pub struct ParseRequest<'a> {
    pub file: &'a Path,
    pub pass: Pass,
    pub flags: &'a ParseFlags,
    /// A toolkit whose own headers are read instead of ours.
    pub cuda_path: Option<&'a Path>,
    /// Whether our headers include what nvcc's do of the standard library. A program that needs none of it beyond
    /// what it includes itself reads the same without, at a fraction of the cost.
    pub whole_library: bool,
    /// What Clang reads in place of the file's own text.
    pub instead: Option<&'a str>,
    /// What Clang reads after the end of the file.
    pub appended: &'a str,
    /// Headers that were read before, as `precompile` wrote them for the same pass and flags. They are not in the dump.
    pub precompiled: Option<&'a Path>,
    /// Headers of ours with templates that stand for those of the precompiled ones.
    pub stand_ins: Vec<&'static str>,
    /// Where Clang lists the files that it has read.
    pub read_files: Option<&'a Path>,
    /// Whether Clang's messages are in colour.
    pub colour: bool,
}

impl<'a> ParseRequest<'a> {
    /// One pass of a file as it is, with our own headers and no more of the standard library than it includes.
    pub fn new(file: &'a Path, pass: Pass, flags: &'a ParseFlags) -> ParseRequest<'a> {
        ParseRequest {
            file,
            pass,
            flags,
            cuda_path: None,
            whole_library: false,
            instead: None,
            appended: "",
            precompiled: None,
            stand_ins: Vec::new(),
            read_files: None,
            colour: false,
        }
    }
}

/// The newest architecture that Clang 19 knows. A newer one is parsed as this, with its own `__CUDA_ARCH__`.
const NEWEST_ARCH: Arch = Arch { number: 90, suffix: Some('a') };

/// Parses, and gives the dump to `sink` piece by piece as Clang writes it: it may be hundreds of megabytes. If
/// Clang finds an error in the text, that is the result, whatever the sink has seen.
pub fn dump(tools: &Tools, request: &ParseRequest<'_>, sink: &mut dyn FnMut(&[u8])) -> Result<(), DriverError> {
    let mut command = dump_command(tools, request)?;
    let scratch = tempfile::tempdir().map_err(DriverError::file("make a folder in", &std::env::temp_dir()))?;
    let texts = texts(request);
    if !texts.is_empty() {
        command.arg("-ivfsoverlay").arg(write_overlay(scratch.path(), &texts)?);
    }
    run(tools, request, command, sink)
}

/// Reads headers once for many dumps: writes what Clang has made of `header`, a file of directives, to `to`.
pub(crate) fn precompile(
    tools: &Tools,
    request: &ParseRequest<'_>,
    header: &Path,
    to: &Path,
) -> Result<(), DriverError> {
    let mut command = tools.clang.command();
    command.args(arguments(tools, &ParseRequest { file: header, ..request.clone() })?);
    command.args(FOR_PRECOMPILED).args(["-Xclang", "-emit-pch", "-Xclang", "-o", "-Xclang"]).arg(to);
    run(tools, request, command, &mut |_| {})
}

/// The texts that take the place of files while Clang parses.
pub(crate) fn texts(request: &ParseRequest<'_>) -> Vec<Overlay> {
    let mut texts = overlays(request.file, request.flags);
    if let Some(text) = request.instead {
        texts.retain(|overlay| overlay.path != request.file);
        texts.push(Overlay { path: request.file.to_path_buf(), text: text.to_owned() });
    }
    append(&mut texts, request);
    texts
}

fn run(
    tools: &Tools,
    request: &ParseRequest<'_>,
    mut command: Command,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), DriverError> {
    let spawn_error = DriverError::spawn(&tools.clang.path);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = ends_with_us(&mut command).spawn().map_err(spawn_error)?;
    let mut stdout = child.stdout.take().expect("it is piped");
    let mut stderr = child.stderr.take().expect("it is piped");
    let (streamed, message) = std::thread::scope(|scope| {
        // Both pipes must be emptied, or Clang waits for ever.
        let messages = scope.spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let streamed = stream(&mut stdout, sink);
        if streamed.is_err() {
            let _ = child.kill();
        }
        (streamed, messages.join().unwrap_or_default())
    });
    let status = child.wait().map_err(DriverError::spawn(&tools.clang.path))?;
    streamed.map_err(DriverError::file("read the dump of", request.file))?;
    if status.success() {
        return Ok(());
    }
    if status.code() == Some(1) {
        return Err(DriverError::Rejected { message: with_advice(message) });
    }
    Err(DriverError::ToolFailed { tool: tools.clang.path.clone(), status: status.to_string(), message })
}

fn append(texts: &mut Vec<Overlay>, request: &ParseRequest<'_>) {
    if request.appended.is_empty() {
        return;
    }
    let mut text = match texts.iter().position(|overlay| overlay.path == request.file) {
        Some(own) => texts.swap_remove(own).text,
        // What cannot be read is Clang's to complain about.
        None => match source_text(request.file) {
            Ok(source) => source.text,
            Err(_) => return,
        },
    };
    text.push('\n');
    text.push_str(request.appended);
    texts.push(Overlay { path: request.file.to_path_buf(), text });
}

/// The call of Clang that writes the dump to its standard output.
pub fn dump_command(tools: &Tools, request: &ParseRequest<'_>) -> Result<Command, DriverError> {
    let mut command = tools.clang.command();
    command.args(arguments(tools, request)?).args(["-Xclang", "-ast-dump=json"]);
    Ok(command)
}

/// Whether Clang accepts this C++ text: a question about the machine, for `doctor`.
pub fn can_compile(tools: &Tools, text: &str) -> Result<(), DriverError> {
    let mut child = tools
        .clang
        .command()
        .args(["-x", "c++", "-fsyntax-only", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(DriverError::spawn(&tools.clang.path))?;
    let mut stdin = child.stdin.take().expect("it is piped");
    // If Clang does not read it, its status tells.
    let _ = stdin.write_all(text.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().map_err(DriverError::spawn(&tools.clang.path))?;
    if output.status.success() {
        return Ok(());
    }
    Err(DriverError::Rejected { message: String::from_utf8_lossy(&output.stderr).into_owned() })
}

fn stream(from: &mut impl Read, sink: &mut dyn FnMut(&[u8])) -> std::io::Result<()> {
    let mut buffer = vec![0; 1 << 18];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => sink(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Clang's arguments, up to what it is to do with the parsed program.
pub(crate) fn arguments(tools: &Tools, request: &ParseRequest<'_>) -> Result<Vec<String>, DriverError> {
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["-x", "cuda", "-fsyntax-only", "-nocudalib", "-std=gnu++17"]);
    // Warnings are for the compiler that builds the program, not for the one that reads it.
    add(&["-w", if request.colour { "-fcolor-diagnostics" } else { "-fno-color-diagnostics" }]);
    // Programs may ask for derivatives that are yet to be written.
    add(&["-DCOTANGENT_READING"]);
    // How Clang lowers a launch depends on the toolkit's version, which it does not find out without its headers.
    add(&["-Xclang", "-target-sdk-version=12.3"]);
    let arch = request.flags.arch();
    match request.pass {
        Pass::Host => add(&["--cuda-host-only"]),
        Pass::Device if arch.number <= NEWEST_ARCH.number => {
            add(&["--cuda-device-only", &format!("--cuda-gpu-arch={arch}")]);
        }
        Pass::Device => {
            add(&["--cuda-device-only", &format!("--cuda-gpu-arch={NEWEST_ARCH}")]);
            add(&["-U__CUDA_ARCH__", &format!("-D__CUDA_ARCH__={}0", arch.number)]);
        }
    }
    match request.cuda_path {
        Some(toolkit) => {
            check_toolkit(toolkit)?;
            add(&["-Wno-unknown-cuda-version", &format!("--cuda-path={}", toolkit.display())]);
            let own = Headers::materialise(&tools.environment)?;
            add(&["-I", &own.root().display().to_string()]);
        }
        None => {
            let folders = Headers::materialise(&tools.environment)?.for_parsing();
            add(&["-nocudainc"]);
            folders.iter().for_each(|folder| add(&["-I", &folder.display().to_string()]));
            add(&["-include", "cuda_runtime.h"]);
            if request.whole_library {
                add(&["-DCOTANGENT_WHOLE_LIBRARY"]);
            }
            if let Some(folder) = toolkit_headers(&tools.environment) {
                add(&["-idirafter", &folder.display().to_string()]);
            }
        }
    }
    arguments.extend(request.flags.clang_args.iter().cloned());
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    if let Some(precompiled) = request.precompiled {
        add(&["-Xclang", "-include-pch", "-Xclang", &precompiled.display().to_string()]);
        add(FOR_PRECOMPILED);
        request.stand_ins.iter().for_each(|header| add(&["-include", header]));
    }
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    if let Some(list) = request.read_files {
        add(&["-MD", "-MF", &list.display().to_string()]);
    }
    arguments.push(as_argument(request.file));
    Ok(arguments)
}

/// What precompiled headers need, where they are made and where they are used: with modules on, as in C++20, Clang takes
/// the host's and the device's overload of a function for one.
const FOR_PRECOMPILED: &[&str] = &["-Xclang", "-fno-cxx-modules"];

/// Clang 19 reads the headers of CUDA 12 and older.
fn check_toolkit(path: &Path) -> Result<(), DriverError> {
    let version = toolkit_version(path)?;
    if major(&version).is_some_and(|major| major > 12) {
        return Err(DriverError::ToolkitTooNew { path: path.to_path_buf(), version });
    }
    Ok(())
}

/// A path as a word that cannot be taken for a flag.
pub(crate) fn as_argument(path: &Path) -> String {
    let path = if path.to_string_lossy().starts_with('-') { PathBuf::from(".").join(path) } else { path.to_path_buf() };
    path.display().to_string()
}
