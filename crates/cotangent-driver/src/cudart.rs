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
use crate::program::Failure;

/// The library as cargo names it.
const LIBRARY: &str = "libcotangent_cudart.so";

/// The names under which linkers and programs look for NVIDIA's.
const NAMES: [&str; 3] = ["libcudart.so", "libcudart.so.13", "libcudart.so.12"];

/// What is compiled for unless the user says: PTX that every architecture since Turing understands, and no machine code.
const ARCHITECTURE: [&str; 2] = ["-gencode", "arch=compute_75,code=compute_75"];

/// Flags that name architectures.
const NAMES_ARCHITECTURE: [&str; 4] = ["-arch", "--gpu-architecture", "-gencode", "--generate-code"];

/// A folder in which the library has NVIDIA's names, for `-L` and `LD_LIBRARY_PATH`. `command` is this command's own file:
/// the library is installed beside it.
pub fn folder(environment: &Environment, command: &Path) -> Result<PathBuf, DriverError> {
    let library =
        library_beside(command).ok_or_else(|| DriverError::CudartMissing { command: command.to_path_buf() })?;
    let mut hasher = DefaultHasher::new();
    library.hash(&mut hasher);
    let cache = environment.cache()?;
    let folder = cache.join(format!("cudart-{:016x}", hasher.finish()));
    fs::create_dir_all(&folder).map_err(DriverError::file("make", &folder))?;
    for name in NAMES {
        let link = folder.join(name);
        match symlink(&library, &link) {
            // The folder's name is made of the library's path: the link is the same.
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(DriverError::file("make", &link)(error));
            }
            _ => {}
        }
    }
    Ok(folder)
}

/// Where the library is installed, or where cargo builds it; the newest if there are several.
fn library_beside(command: &Path) -> Option<PathBuf> {
    let beside = command.canonicalize().ok()?.parent()?.to_path_buf();
    let places = [beside.clone(), beside.join("deps"), beside.join("../lib")];
    let found = places.into_iter().filter_map(|place| place.join(LIBRARY).canonicalize().ok());
    found.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
}

/// Has nvcc compile and link a file against the library in `folder`. The requests for gradients in it are answered, and
/// what nvcc says goes to this process's own output.
pub fn link(
    environment: &Environment,
    folder: &Path,
    file: &Path,
    flags: &[String],
    output: &Path,
    colour: bool,
) -> Result<Linked, Failure> {
    let mut words: Vec<OsString> = ["-cudart", "shared", "-L"].map(OsString::from).to_vec();
    words.push(folder.into());
    link_with(environment, words, &ARCHITECTURE, file, flags, output, colour)
}

/// The same against NVIDIA's own runtime, for the GPUs of this machine.
pub fn link_for_gpu(
    environment: &Environment,
    file: &Path,
    flags: &[String],
    output: &Path,
    colour: bool,
) -> Result<Linked, Failure> {
    link_with(environment, Vec::new(), &["-arch=native"], file, flags, output, colour)
}

/// `runtime` are the words that choose the runtime, `architecture` those for a user who names none.
fn link_with(
    environment: &Environment,
    runtime: Vec<OsString>,
    architecture: &[&str],
    file: &Path,
    flags: &[String],
    output: &Path,
    colour: bool,
) -> Result<Linked, Failure> {
    let mut words: Vec<OsString> = ["nvcc", "--generate-line-info"].map(OsString::from).to_vec();
    words.extend(runtime);
    let names_architecture = |flag: &String| NAMES_ARCHITECTURE.iter().any(|name| flag.starts_with(name));
    if !flags.iter().any(names_architecture) {
        words.extend(architecture.iter().map(OsString::from));
    }
    words.extend(flags.iter().map(OsString::from));
    words.extend([file.into(), OsString::from("-o"), output.into()]);
    let words = with_compiler(environment, &words)?;
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
