//! Finds the tools that Cotangent runs: Clang 19, which it cannot do without, and nvcc, ptxas and a GPU, which only
//! some commands want.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment::{Environment, is_executable};
use crate::error::DriverError;

/// The only major version of Clang whose dump we read.
pub const CLANG_MAJOR: u32 = 19;

/// How to get Clang 19, as a command.
pub const INSTALL_CLANG: &str =
    "sudo apt-get install clang-19   (other systems: https://releases.llvm.org, version 19)";

/// How to get nvcc.
pub const INSTALL_NVCC: &str = "Install NVIDIA's CUDA toolkit (https://developer.nvidia.com/cuda-downloads) and put its bin folder on PATH or set CUDA_HOME; in a checkout of Cotangent, `cargo xtask setup` is enough.";

/// A Clang that we can read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clang {
    pub path: PathBuf,
    /// As it says itself, `19.1.7`.
    pub version: String,
}

impl Clang {
    /// A call of it. It knows the folder that it runs in by its real name, as the texts that take the place of files do:
    /// `PWD` may lead there through a symbolic link.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.env_remove("PWD");
        command
    }
}

/// NVIDIA's compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nvcc {
    pub path: PathBuf,
    /// As it says itself, `13.4.92`.
    pub version: String,
    /// The assembler that came with it.
    pub ptxas: Option<PathBuf>,
}

/// A GPU as `nvidia-smi` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    pub name: String,
    pub driver: String,
    pub compute_capability: String,
}

/// What every command needs to work: the environment and a Clang that was checked.
#[derive(Debug, Clone)]
pub struct Tools {
    pub environment: Environment,
    pub clang: Clang,
}

impl Tools {
    /// Finds them, or says what to install.
    pub fn find(environment: Environment) -> Result<Self, DriverError> {
        let clang = find_clang(&environment)?;
        Ok(Self { environment, clang })
    }
}

/// `COTANGENT_CLANG` if it is set, else `clang++-19`, else `clang++`; refused unless it is of version 19.
pub fn find_clang(environment: &Environment) -> Result<Clang, DriverError> {
    let path = match &environment.clang {
        Some(path) => path.clone(),
        None => environment
            .find_in_path("clang++-19")
            .or_else(|| environment.find_in_path("clang++"))
            .ok_or(DriverError::ClangMissing)?,
    };
    let text = first_output(Command::new(&path).arg("--version"))
        .ok_or_else(|| DriverError::ClangVersion { path: path.clone(), found: "not a program that runs".into() })?;
    let first_line = text.lines().next().unwrap_or_default();
    match clang_version(first_line) {
        Some(version) if major(&version) == Some(CLANG_MAJOR) && !first_line.starts_with("Apple") => {
            Ok(Clang { path, version })
        }
        Some(_) => Err(DriverError::ClangVersion { path, found: first_line.trim().to_owned() }),
        None => Err(DriverError::ClangVersion { path, found: "not Clang".into() }),
    }
}

/// Where nvcc is: on `PATH`, in `CUDA_HOME`, in the usual place, or where `cargo xtask setup` puts it.
fn path_of_nvcc(environment: &Environment) -> Option<PathBuf> {
    let toolkits = [&environment.cuda_home, &environment.usual_toolkit];
    let in_toolkits = toolkits.into_iter().flatten().map(|toolkit| toolkit.join("bin/nvcc"));
    let in_cache = environment.cached_compiler().and_then(|venv| nvcc_in_venv(&venv));
    let mut candidates = environment.find_in_path("nvcc").into_iter().chain(in_toolkits).chain(in_cache);
    candidates.find(|candidate| is_executable(candidate))
}

/// The folder with the headers of CUDA's libraries that came with nvcc, to search after all others. Only that of CUDA 13,
/// where Thrust and CUB, which Clang 19 cannot read with our headers, are in a folder of their own.
pub(crate) fn toolkit_headers(environment: &Environment) -> Option<PathBuf> {
    let nvcc = path_of_nvcc(environment)?;
    let nvcc = nvcc.canonicalize().unwrap_or(nvcc);
    let folder = nvcc.parent()?.parent()?.join("include");
    folder.join("cccl").is_dir().then_some(folder)
}

/// nvcc, where it is found first.
pub fn find_nvcc(environment: &Environment) -> Option<Nvcc> {
    let path = path_of_nvcc(environment)?;
    let version = nvcc_version(&first_output(Command::new(&path).arg("--version"))?)?;
    let ptxas = path.parent().map(|bin| bin.join("ptxas")).filter(|candidate| is_executable(candidate));
    Some(Nvcc { path, version, ptxas })
}

/// The nvcc that pip installed into a virtual environment, whatever its Python's version.
pub fn nvcc_in_venv(venv: &Path) -> Option<PathBuf> {
    Some(site_packages(venv)?.join("nvidia/cu13/bin/nvcc"))
}

/// The folder of a virtual environment that holds its packages.
pub fn site_packages(venv: &Path) -> Option<PathBuf> {
    let entries = venv.join("lib").read_dir().ok()?;
    entries.flatten().map(|entry| entry.path().join("site-packages")).find(|folder| folder.is_dir())
}

/// The GPUs of this machine; none if there is no driver.
pub fn find_gpus(environment: &Environment) -> Vec<Gpu> {
    let Some(nvidia_smi) = environment.find_in_path("nvidia-smi") else { return Vec::new() };
    let query = ["--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"];
    let text = first_output(Command::new(nvidia_smi).args(query)).unwrap_or_default();
    text.lines().filter_map(gpu_from_line).collect()
}

/// The version of the toolkit whose headers are in `path`, from `CUDA_VERSION` in `cuda.h`: `12040` is 12.4.
pub fn toolkit_version(path: &Path) -> Result<String, DriverError> {
    let missing = |missing| move |_| DriverError::NotAToolkit { path: path.to_path_buf(), missing };
    std::fs::metadata(path.join("include/cuda_runtime.h")).map_err(missing("include/cuda_runtime.h"))?;
    let text = std::fs::read_to_string(path.join("include/cuda.h")).map_err(missing("include/cuda.h"))?;
    let number = text
        .lines()
        .find_map(|line| line.strip_prefix("#define CUDA_VERSION"))
        .and_then(|rest| rest.trim().parse::<u32>().ok())
        .ok_or(DriverError::NotAToolkit { path: path.to_path_buf(), missing: "CUDA_VERSION in include/cuda.h" })?;
    Ok(format!("{}.{}", number / 1000, number % 1000 / 10))
}

/// The major part of `19.1.7`.
pub(crate) fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

fn clang_version(first_line: &str) -> Option<String> {
    let (_, rest) = first_line.split_once("clang version ")?;
    Some(rest.split_whitespace().next()?.to_owned())
}

fn nvcc_version(text: &str) -> Option<String> {
    let (_, rest) = text.split_once(", V")?;
    Some(rest.split_whitespace().next()?.to_owned())
}

fn gpu_from_line(line: &str) -> Option<Gpu> {
    let mut fields = line.split(',').map(|field| field.trim().to_owned());
    Some(Gpu { name: fields.next()?, driver: fields.next()?, compute_capability: fields.next()? })
}

/// What a program writes to its output, if it starts and succeeds.
fn first_output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A folder with one executable that prints a line, and the environment whose `PATH` is that folder.
    fn machine_with(name: &str, prints: &str) -> (tempfile::TempDir, Environment) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join(name);
        std::fs::write(&program, format!("#!/bin/sh\necho '{prints}'\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let environment = Environment { path: folder.path().into(), ..Environment::default() };
        (folder, environment)
    }

    #[test]
    fn clang_19_is_taken_under_either_name() {
        for name in ["clang++-19", "clang++"] {
            let (folder, environment) = machine_with(name, "Debian clang version 19.1.7 (3~deb12u1)");
            let clang = find_clang(&environment).unwrap();
            assert_eq!(clang, Clang { path: folder.path().join(name), version: "19.1.7".into() });
        }
    }

    #[test]
    fn another_clang_is_refused_with_the_reason() {
        for line in ["clang version 18.1.8", "clang version 20.1.0", "Apple clang version 19.0.0", "gcc 12"] {
            let (_folder, environment) = machine_with("clang++", line);
            let error = find_clang(&environment).unwrap_err();
            assert!(matches!(error, DriverError::ClangVersion { .. }), "{line}: {error}");
            assert!(error.to_string().contains("apt-get install clang-19"), "{error}");
        }
    }

    #[test]
    fn no_clang_says_what_to_install() {
        let error = find_clang(&Environment::default()).unwrap_err();
        assert!(error.to_string().contains("apt-get install clang-19"), "{error}");
    }

    #[test]
    fn a_named_clang_wins_over_the_path() {
        let (_folder, on_path) = machine_with("clang++-19", "clang version 19.1.7");
        let (named, _) = machine_with("my-clang", "clang version 19.9.9");
        let environment = Environment { clang: Some(named.path().join("my-clang")), ..on_path };
        assert_eq!(find_clang(&environment).unwrap().version, "19.9.9");
    }

    #[test]
    fn nvcc_is_found_in_cuda_home() {
        let line = "Cuda compilation tools, release 13.4, V13.4.92";
        let (folder, _) = machine_with("nvcc", line);
        let toolkit = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path(), toolkit.path().join("bin")).unwrap();
        let environment = Environment { cuda_home: Some(toolkit.path().into()), ..Environment::default() };
        let nvcc = find_nvcc(&environment).unwrap();
        assert_eq!((nvcc.version.as_str(), nvcc.ptxas), ("13.4.92", None));
    }

    #[test]
    fn gpus_are_read_from_nvidia_smi() {
        let (_folder, environment) = machine_with("nvidia-smi", "NVIDIA H100, 550.54.15, 9.0");
        let gpus = find_gpus(&environment);
        assert_eq!(gpus.len(), 1);
        assert_eq!((gpus[0].name.as_str(), gpus[0].compute_capability.as_str()), ("NVIDIA H100", "9.0"));
        assert_eq!(find_gpus(&Environment::default()), []);
    }
}
