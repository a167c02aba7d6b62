//! Programs that nvcc links against Cotangent's CUDA runtime, which executes their PTX: where that library is, and the
//! command line that links against it.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::cc::{Plan, plan, with_compiler};
use crate::environment::Environment;
use crate::error::DriverError;
use crate::process::ends_with_us;
use crate::reading::Failure;

/// The library as cargo names it.
const LIBRARY: &str = "libcotangent_cudart.so";

/// The names under which linkers and programs look for NVIDIA's.
const NAMES: [&str; 3] = ["libcudart.so", "libcudart.so.13", "libcudart.so.12"];

/// The driver, for programs that load their PTX themselves. It is no part of what nvcc links.
const DRIVER: &str = "libcotangent_libcuda.so";

/// The names under which programs look for NVIDIA's.
const DRIVER_NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// What is compiled for unless the user says: PTX that every architecture since Turing understands, and no machine code.
const ARCHITECTURE: [&str; 2] = ["-gencode", "arch=compute_75,code=compute_75"];

/// Flags that name architectures.
const NAMES_ARCHITECTURE: [&str; 4] = ["-arch", "--gpu-architecture", "-gencode", "--generate-code"];

/// For programs whose host code is checked: the calls that the thread sanitizer inserts, which our library answers, line
/// tables for the places of accesses and calls, and real calls of the functions that copy.
const COMPILE_CHECKED: &[&str] = &[
    "-c",
    "-Xcompiler",
    "-fsanitize=thread",
    "-Xcompiler",
    "-Wno-tsan,-g1,-fno-builtin-memcpy,-fno-builtin-memmove,-fno-builtin-memset",
];

/// These calls come to our library too.
const LINK_CHECKED: &[&str] = &["-Xlinker", "--wrap=memcpy,--wrap=memmove,--wrap=memset"];

/// A folder in which the library has NVIDIA's names, for `-L` and `LD_LIBRARY_PATH`, and the driver too if it is installed. `command` is this
/// command's own file: the libraries are installed beside it.
pub fn folder(environment: &Environment, command: &Path) -> Result<PathBuf, DriverError> {
    let library =
        beside(command, LIBRARY).ok_or_else(|| DriverError::CudartMissing { command: command.to_path_buf() })?;
    let driver = beside(command, DRIVER);
    let mut hasher = DefaultHasher::new();
    (&library, &driver).hash(&mut hasher);
    let cache = environment.cache()?;
    let folder = cache.join(format!("cudart-{:016x}", hasher.finish()));
    fs::create_dir_all(&folder).map_err(DriverError::file("make", &folder))?;
    let names = NAMES.iter().map(|name| (&library, name));
    let driver_names = driver.iter().flat_map(|driver| DRIVER_NAMES.iter().map(move |name| (driver, name)));
    for (library, name) in names.chain(driver_names) {
        let link = folder.join(name);
        match symlink(library, &link) {
            // The folder's name is made of the libraries' paths: the link is the same.
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(DriverError::file("make", &link)(error));
            }
            _ => {}
        }
    }
    Ok(folder)
}

/// Where a library is installed, or where cargo builds it; the newest if there are several.
pub(crate) fn beside(command: &Path, library: &str) -> Option<PathBuf> {
    let folder = command.canonicalize().ok()?.parent()?.to_path_buf();
    let places = [folder.clone(), folder.join("deps"), folder.join("../lib")];
    let found = places.into_iter().filter_map(|place| place.join(library).canonicalize().ok());
    found.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
}

/// The CUDA runtime that a program is linked against.
#[derive(Debug, Clone, Copy)]
pub enum Runtime<'a> {
    /// Cotangent's, which executes PTX, in the folder that [`folder`] has made.
    OfCpu(&'a Path),
    /// NVIDIA's own, for the GPUs of this machine.
    OfGpu,
}

impl Runtime<'_> {
    /// The words that choose it.
    fn words(self) -> Vec<OsString> {
        match self {
            Runtime::OfCpu(folder) => {
                ["-cudart", "shared", "-L"].map(OsString::from).into_iter().chain([folder.into()]).collect()
            }
            Runtime::OfGpu => Vec::new(),
        }
    }

    /// The words for a user who names no architecture.
    fn architecture(self) -> &'static [&'static str] {
        match self {
            Runtime::OfCpu(_) => &ARCHITECTURE,
            Runtime::OfGpu => &["-arch=native"],
        }
    }
}

/// What is linked.
#[derive(Debug, Clone, Copy)]
pub struct LinkRequest<'a> {
    pub runtime: Runtime<'a>,
    pub file: &'a Path,
    /// The program's other files.
    pub others: &'a [PathBuf],
    /// nvcc's.
    pub flags: &'a [String],
    /// Whether the host's accesses to memory report to the library.
    pub check: bool,
    pub output: &'a Path,
    pub colour: bool,
}

/// Has nvcc compile and link a file. The requests for gradients in it are answered, and what nvcc says goes to this
/// process's own output.
pub fn link(environment: &Environment, request: &LinkRequest<'_>) -> Result<Linked, Failure> {
    let mut words: Vec<OsString> = ["nvcc", "--generate-line-info"].map(OsString::from).to_vec();
    words.extend(request.runtime.words());
    let names_architecture = |flag: &String| NAMES_ARCHITECTURE.iter().any(|name| flag.starts_with(name));
    if !request.flags.iter().any(names_architecture) {
        words.extend(request.runtime.architecture().iter().map(OsString::from));
    }
    words.extend(request.flags.iter().map(OsString::from));
    let step = |more: &[&str], inputs: &[&Path], output: &Path| {
        let inputs = inputs.iter().map(OsString::from);
        let more = more.iter().map(OsString::from).chain(inputs).chain([OsString::from("-o"), output.into()]);
        let words: Vec<OsString> = words.iter().cloned().chain(more).collect();
        call(environment, &words, request.colour)
    };
    let files: Vec<&Path> = [request.file].into_iter().chain(request.others.iter().map(PathBuf::as_path)).collect();
    if !request.check {
        return step(&[], &files, request.output);
    }
    // Linked with the flag, the program would get the sanitizer's own runtime.
    let mut objects = Vec::new();
    let mut notes = String::new();
    for (index, file) in files.iter().enumerate() {
        let object = request.output.with_extension(format!("{index}.o"));
        let compiled = step(COMPILE_CHECKED, &[file], &object)?;
        notes += &compiled.notes;
        if !compiled.status.success() {
            return Ok(Linked { status: compiled.status, notes });
        }
        objects.push(object);
    }
    let objects: Vec<&Path> = objects.iter().map(PathBuf::as_path).collect();
    Ok(Linked { status: step(LINK_CHECKED, &objects, request.output)?.status, notes })
}

fn call(environment: &Environment, words: &[OsString], colour: bool) -> Result<Linked, Failure> {
    let words = with_compiler(environment, words)?;
    let (status, notes) = match plan(environment, &words, colour)? {
        Plan::Changed(changed) => {
            let notes = changed.notes.clone();
            (changed.run()?, notes)
        }
        Plan::Untouched => {
            let compiler = PathBuf::from(&words[0]);
            let mut command = Command::new(&compiler);
            let status = ends_with_us(command.args(&words[1..])).status().map_err(DriverError::spawn(&compiler))?;
            (status, String::new())
        }
    };
    Ok(Linked { status, notes })
}

/// What came of linking.
#[derive(Debug)]
pub struct Linked {
    /// nvcc's.
    pub status: ExitStatus,
    /// What the user should know about the derivatives, as shown.
    pub notes: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_has_nvidias_names_and_is_missed_with_advice() {
        let place = tempfile::tempdir().unwrap();
        let environment = Environment { cache: Some(place.path().join("cache")), ..Environment::default() };
        let command = place.path().join("cotangent");
        fs::write(&command, "").unwrap();
        let missing = folder(&environment, &command).unwrap_err();
        assert!(missing.to_string().contains("cargo build -p cotangent-cudart"), "{missing}");

        fs::write(place.path().join(LIBRARY), "a library").unwrap();
        // Twice: the second finds what the first has made.
        for _ in 0..2 {
            let folder = folder(&environment, &command).unwrap();
            for name in NAMES {
                assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), "a library");
            }
        }
    }
}
