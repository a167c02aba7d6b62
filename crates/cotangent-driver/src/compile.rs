//! Compiles C++ for the CPU: the user's file, in our version of its text, and what we add, into a shared object that the
//! runtime loads. Our version lies over the user's file in Clang's view of the file system, under the user's name,
//! so that includes, messages, `__FILE__` and line numbers are those of the user's file.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::alignment;
use crate::error::DriverError;
use crate::flags::ParseFlags;
use crate::headers::Headers;
use crate::parse::as_argument;
use crate::process::ends_with_us;
use crate::tools::{Tools, toolkit_headers};

/// What to compile.
#[derive(Debug, Clone)]
pub struct CpuRequest<'a> {
    /// The files to compile and link. The user's is under the name that the user gave; others may exist as texts only.
    pub units: &'a [PathBuf],
    /// What Clang sees instead of, or beside, files on disk.
    pub texts: &'a [Overlay],
    pub flags: &'a ParseFlags,
    /// Whether every access to memory reports to the runtime.
    pub check: bool,
    /// Whether Clang's messages are in colour.
    pub colour: bool,
    /// The shared object to make.
    pub output: &'a Path,
}

/// A text that takes the place of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    pub path: PathBuf,
    pub text: String,
}

/// For all code. Products and sums are not contracted, so that the direct and the printed form of a program give the
/// same bits whatever the optimizer makes of their shape. CUDA code reads `float` data through `float4` pointers as
/// a matter of course, and nvcc lets it.
/// A program that is run only as an oracle may ask for derivatives that nobody has written.
const ALWAYS: &[&str] =
    &["-std=gnu++17", "-O2", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing", "-pthread", "-DCOTANGENT_READING"];

/// For code whose accesses are checked: the calls that the thread sanitizer inserts, and the alignment sanitizer, which
/// knows the types that the optimizer no longer does. What they call is in `support.cpp`, so the link is an ordinary one,
/// without the sanitizers' runtimes. Line tables turn return addresses into places.
const CHECKED: &[&str] = &[
    "-gline-tables-only",
    "-fsanitize=thread,alignment",
    "-mllvm",
    "-tsan-instrument-func-entry-exit=0",
    "-mllvm",
    "-tsan-instrument-read-before-write=1",
];

/// For checked code, Clang only translates: its text is edited before LLVM optimises it.
const TRANSLATE_ONLY: &[&str] = &["-emit-llvm", "-Xclang", "-disable-llvm-passes"];

/// The runtime's library, by the name that it bears.
const RUNTIME: &str = "libcudart.so.13";

/// What every program reads first, as text.
const AS_TEXT: [&str; 2] = ["-include", "cuda_runtime.h"];

/// What is made of the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product<'a> {
    /// A shared object for `cotangent run`, which brings the runtime.
    Loaded,
    /// A program that runs by itself, with the runtime in this folder ([`crate::cudart::folder`]).
    Executable(&'a Path),
    /// A library with the runtime in this folder.
    Library(&'a Path),
}

/// What gives an executable its runtime: before its own static constructors, as `support.cpp` does elsewhere.
const ATTACH: &str = "#include \"cotangent/cpu.hpp\"\n\
    extern \"C\" const CotangentApi* cotangent_runtime_table();\n\
    extern \"C\" uint32_t cotangent_attach(const CotangentApi*);\n\
    __attribute__((constructor(101))) static void attach() { cotangent_attach(cotangent_runtime_table()); }\n";

/// The same for a library, after a line that defines `RUNTIME`. It asks for the runtime by its path: whoever loads the library may have
/// loaded NVIDIA's runtime, which has the same name.
const ATTACH_LIBRARY: &str = "#include <dlfcn.h>\n\
    #include <cstdio>\n\
    #include <cstdlib>\n\
    #include \"cotangent/cpu.hpp\"\n\
    extern \"C\" uint32_t cotangent_attach(const CotangentApi*);\n\
    __attribute__((constructor(101))) static void attach() {\n\
    \x20 void* runtime = dlopen(RUNTIME, RTLD_NOW | RTLD_LOCAL);\n\
    \x20 void* table = runtime ? dlsym(runtime, \"cotangent_runtime_table\") : nullptr;\n\
    \x20 if (!table) std::fprintf(stderr, \"%s\\n\", dlerror()), std::abort();\n\
    \x20 cotangent_attach(reinterpret_cast<const CotangentApi* (*)()>(table)());\n\
    }\n";

/// Compiles and links. Clang's complaints about the text come back as [`DriverError::Rejected`].
pub fn compile(tools: &Tools, request: &CpuRequest<'_>) -> Result<(), DriverError> {
    compile_together(tools, std::slice::from_ref(request), Product::Loaded)
}

/// Compiles the files of all requests, each with its own flags and texts, and links them to the output of the first.
pub fn compile_together(tools: &Tools, requests: &[CpuRequest<'_>], product: Product<'_>) -> Result<(), DriverError> {
    let Some(first) = requests.first() else { return Ok(()) };
    let headers = Headers::materialise(&tools.environment)?;
    let scratch = tempfile::tempdir().map_err(DriverError::file("make a folder in", &std::env::temp_dir()))?;
    let support = support_object(tools, &headers, first.check)?;
    let mut link = tools.clang.command();
    for (index, request) in requests.iter().enumerate() {
        let folder = scratch.path().join(index.to_string());
        fs::create_dir(&folder).map_err(DriverError::file("make", &folder))?;
        link.args(objects(tools, &headers, request, &folder)?);
    }
    link.args(match product {
        Product::Loaded | Product::Library(_) => ["-shared", "-pthread"],
        Product::Executable(_) => ["-pie", "-pthread"],
    });
    let attached = match product {
        Product::Loaded => None,
        Product::Executable(runtime) => {
            link.arg(format!("-Wl,-rpath,{}", runtime.display())).arg(runtime.join(RUNTIME));
            Some(ATTACH.to_owned())
        }
        Product::Library(runtime) => {
            Some(format!("#define RUNTIME {}\n{ATTACH_LIBRARY}", quoted(&runtime.join(RUNTIME))))
        }
    };
    if let Some(text) = attached {
        let attach = scratch.path().join("attach.cpp");
        let object = attach.with_extension("o");
        fs::write(&attach, text).map_err(DriverError::file("write", &attach))?;
        run(tools, compiler(tools, &headers, false).args(["-c", "-o"]).arg(&object).arg(&attach))?;
        link.arg(&object);
    }
    // Behind the user's files: it ends their shared memory with a guard.
    link.arg(&support).args(requests.iter().flat_map(|request| &request.flags.link_args));
    link.arg("-o").arg(first.output);
    run(tools, &mut link)
}

/// The objects of a request, in a folder of theirs.
fn objects(
    tools: &Tools,
    headers: &Headers,
    request: &CpuRequest<'_>,
    scratch: &Path,
) -> Result<Vec<PathBuf>, DriverError> {
    let precompiled = precompiled_header(tools, headers, request);

    let overlay = write_overlay(scratch, request.texts)?;
    let object_of = |index: usize| scratch.join(format!("{index}.o"));
    let compile_with = |index: usize, unit: &Path, first: [&OsStr; 2]| {
        let mut command = compiler(tools, headers, request.colour);
        if request.check {
            command.args(CHECKED);
        }
        command.arg("-ivfsoverlay").arg(&overlay).args(first);
        command.args(&request.flags.clang_args).args(&request.flags.cpu_args);
        // Warnings are for the compiler that builds the program for the GPU; after the user's flags, to win over them.
        command.arg("-w");
        match request.check {
            true => command.args(TRANSLATE_ONLY).args(["-S", "-o"]).arg(object_of(index).with_extension("ll")),
            false => command.args(["-c", "-o"]).arg(object_of(index)),
        };
        // Clang looks for what it is to compile on disk only, before it looks at texts.
        match request.texts.iter().position(|text| text.path == *unit).filter(|_| !unit.exists()) {
            Some(text) => command.arg(written_text(scratch, text)),
            None => command.arg(as_argument(unit)),
        };
        run(tools, &mut command)
    };
    let compile_unit = |index: usize, unit: &Path| {
        let as_text = || compile_with(index, unit, AS_TEXT.map(OsStr::new));
        match &precompiled {
            // Clang refuses a precompiled header when a header of the system is newer; and messages about the user's
            // text are to be those of an ordinary compilation.
            Some(header) => {
                compile_with(index, unit, ["-include-pch".as_ref(), header.as_ref()]).or_else(|_| as_text())
            }
            None => as_text(),
        }?;
        if request.check { checked_object(tools, request.flags, &object_of(index)) } else { Ok(()) }
    };
    std::thread::scope(|scope| {
        let compile_unit = &compile_unit;
        let start = |(index, unit)| scope.spawn(move || compile_unit(index, unit));
        let running: Vec<_> = request.units.iter().map(PathBuf::as_path).enumerate().map(start).collect();
        running.into_iter().try_for_each(|unit| unit.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    Ok((0..request.units.len()).map(object_of).collect())
}

/// Makes an object file of what Clang has translated, which lies beside it. The user's flags are in the translation but
/// for those of the optimizer and of the assembly; Clang does not look at the others.
fn checked_object(tools: &Tools, flags: &ParseFlags, object: &Path) -> Result<(), DriverError> {
    let [translated, assembly] = ["ll", "s"].map(|extension| object.with_extension(extension));
    edit(&translated, alignment::with_tested_copies)?;
    let mut command = tools.clang.command();
    command.args(["-x", "ir"]).args(ALWAYS).args(CHECKED).args(&flags.cpu_args);
    // For its comment on a basic block without a name, LLVM numbers the whole module again.
    run(tools, command.args(["-w", "-fno-verbose-asm", "-S", "-o"]).arg(&assembly).arg(&translated))?;
    edit(&assembly, alignment::with_variables_apart)?;
    run(tools, tools.clang.command().args(["-c", "-o"]).arg(object).arg(&assembly))
}

fn edit(file: &Path, edited: impl FnOnce(&str) -> String) -> Result<(), DriverError> {
    let text = fs::read_to_string(file).map_err(DriverError::file("read", file))?;
    fs::write(file, edited(&text)).map_err(DriverError::file("write", file))
}

/// Clang with what all our C++ is compiled with.
fn compiler(tools: &Tools, headers: &Headers, colour: bool) -> Command {
    let mut command = tools.clang.command();
    command.args(["-x", "c++"]).args(ALWAYS);
    command.arg(if colour { "-fcolor-diagnostics" } else { "-fno-color-diagnostics" });
    for folder in headers.for_cpu() {
        command.arg("-I").arg(folder);
    }
    if let Some(folder) = toolkit_headers(&tools.environment) {
        command.arg("-idirafter").arg(folder);
    }
    command
}

/// The part of the headers that every program links, `support.cpp`. It depends on nothing of the user's, so it is
/// compiled once and kept with the headers, under a name made of the compiler and its flags.
fn support_object(tools: &Tools, headers: &Headers, check: bool) -> Result<PathBuf, DriverError> {
    // The file turns the insertion of calls off for itself, and defines what they call when it sees the flags.
    let flags = if check { CHECKED } else { &[] };
    let mut hasher = DefaultHasher::new();
    (ALWAYS, flags, &tools.clang.version.to_string()).hash(&mut hasher);
    let object = headers.root().join(format!("support-{:016x}.o", hasher.finish()));
    if object.is_file() {
        return Ok(object);
    }
    let mut command = compiler(tools, headers, false);
    command.args(flags).arg("-c").arg(headers.root().join("cpu/cotangent/support.cpp"));
    make_once(tools, headers, command, &object)?;
    Ok(object)
}

/// `cuda_runtime.h` as Clang reads it fastest, made once for the flags and kept with the headers: reading its text is
/// most of the time that a small program takes to compile. None when the user's flags may change what it says, and
/// for flags that name other files to read first.
fn precompiled_header(tools: &Tools, headers: &Headers, request: &CpuRequest<'_>) -> Option<PathBuf> {
    if !request.flags.clang_args.is_empty() {
        return None;
    }
    // A file that is read after it does not change it.
    let own = &request.flags.cpu_args;
    let own = match own.iter().position(|word| word == "-include") {
        Some(position) if position + 2 == own.len() => &own[..position],
        Some(_) => return None,
        None => own,
    };
    let checked = if request.check { CHECKED } else { &[] };
    let mut hasher = DefaultHasher::new();
    (ALWAYS, checked, own, &tools.clang.version.to_string()).hash(&mut hasher);
    let header = headers.root().join(format!("cuda_runtime-{:016x}.pch", hasher.finish()));
    if header.is_file() {
        return Some(header);
    }
    let mut command = compiler(tools, headers, false);
    command.args(checked).args(own).args(["-w", "-x", "c++-header"]);
    command.arg(headers.root().join("cpu/cuda_runtime.h"));
    // Without it the program compiles as well, later; flags that Clang refuses are refused there.
    make_once(tools, headers, command, &header).ok().map(|()| header)
}

/// Makes a file among the headers. It is renamed when whole: another process may look for it at the same time.
fn make_once(tools: &Tools, headers: &Headers, mut command: Command, file: &Path) -> Result<(), DriverError> {
    let scratch = tempfile::NamedTempFile::new_in(headers.root());
    let scratch = scratch.map_err(DriverError::file("write in", headers.root()))?;
    run(tools, command.arg("-o").arg(scratch.path()))?;
    scratch.persist(file).map_err(|error| DriverError::file("write", file)(error.error))?;
    Ok(())
}

/// Writes the texts to disk and a description of where Clang is to see them; the path of the description.
pub(crate) fn write_overlay(folder: &Path, texts: &[Overlay]) -> Result<PathBuf, DriverError> {
    let mut roots = Vec::new();
    for (index, overlay) in texts.iter().enumerate() {
        let written = written_text(folder, index);
        // A text that is on no disk is compiled from here, and messages are to show its own name.
        let line = if overlay.path.exists() { String::new() } else { format!("#line 1 {}\n", quoted(&overlay.path)) };
        fs::write(&written, line + &overlay.text).map_err(DriverError::file("write", &written))?;
        let seen = std::path::absolute(&overlay.path).map_err(DriverError::file("find", &overlay.path))?;
        roots.push(format!(
            "{{\"name\": {}, \"type\": \"file\", \"external-contents\": {}}}",
            quoted(&seen),
            quoted(&written)
        ));
    }
    let description = format!(
        "{{\"version\": 0, \"case-sensitive\": \"true\", \"use-external-names\": \"false\", \"roots\": [\n{}\n]}}\n",
        roots.join(",\n")
    );
    let path = folder.join("overlay.yaml");
    fs::write(&path, description).map_err(DriverError::file("write", &path))?;
    Ok(path)
}

/// Where a text is written.
fn written_text(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("{index}.cu"))
}

/// A path as a string of YAML or C++.
fn quoted(path: &Path) -> String {
    let escaped = path.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

fn run(tools: &Tools, command: &mut Command) -> Result<(), DriverError> {
    let output = ends_with_us(command).output().map_err(DriverError::spawn(&tools.clang.path))?;
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => Ok(()),
        Some(1) => Err(DriverError::Rejected { message }),
        _ => {
            let status = output.status.to_string();
            Err(DriverError::ToolFailed { tool: tools.clang.path.clone(), status, message })
        }
    }
}
