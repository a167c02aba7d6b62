//! What the driver takes from the process's environment, read once: where to look for tools, where the cache is.
//! A value rather than calls to `std::env`, so that tests can describe another machine.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::DriverError;

/// The environment variables that matter, and the fixed places.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// `PATH`.
    pub path: OsString,
    /// `COTANGENT_CLANG`: the clang++ to use.
    pub clang: Option<PathBuf>,
    /// `CUDA_HOME`, else `CUDA_PATH`: a CUDA toolkit.
    pub cuda_home: Option<PathBuf>,
    /// Where toolkits are installed by habit: `/usr/local/cuda`.
    pub usual_toolkit: Option<PathBuf>,
    /// The cache folder: `COTANGENT_CACHE`, else `XDG_CACHE_HOME/cotangent`, else `HOME/.cache/cotangent`.
    pub cache: Option<PathBuf>,
    /// `NVCC_PREPEND_FLAGS` and `NVCC_APPEND_FLAGS`, which nvcc reads besides its command line.
    pub nvcc_flags: [String; 2],
    /// `CPATH` and `CPLUS_INCLUDE_PATH`, folders that Clang searches besides those of its command line.
    pub include_folders: [String; 2],
    /// `COTANGENT_PRECOMPILE`: the headers of every file are precompiled, not only those of large libraries.
    pub precompile_all: bool,
}

impl Environment {
    /// Of this process.
    pub fn of_process() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = variable("COTANGENT_CACHE")
            .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("cotangent")))
            .or_else(|| variable("HOME").map(|folder| folder.join(".cache").join("cotangent")));
        Self {
            path: std::env::var_os("PATH").unwrap_or_default(),
            clang: variable("COTANGENT_CLANG"),
            cuda_home: variable("CUDA_HOME").or_else(|| variable("CUDA_PATH")),
            usual_toolkit: Some(PathBuf::from("/usr/local/cuda")),
            cache,
            nvcc_flags: ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"].map(|name| std::env::var(name).unwrap_or_default()),
            include_folders: ["CPATH", "CPLUS_INCLUDE_PATH"].map(|name| std::env::var(name).unwrap_or_default()),
            precompile_all: variable("COTANGENT_PRECOMPILE").is_some(),
        }
    }

    /// The cache folder. It need not exist yet.
    pub fn cache(&self) -> Result<&Path, DriverError> {
        self.cache.as_deref().ok_or(DriverError::NoCacheFolder)
    }

    /// Where `cargo xtask setup` puts NVIDIA's compiler: a Python virtual environment.
    pub fn cached_compiler(&self) -> Option<PathBuf> {
        self.cache.as_ref().map(|cache| cache.join("cuda"))
    }

    /// Where `cargo xtask setup` lays out a CUDA 12.4 toolkit that Clang 19 can read.
    pub fn cached_toolkit(&self) -> Option<PathBuf> {
        self.cache.as_ref().map(|cache| cache.join("toolkit-12.4"))
    }

    /// The first executable file of this name on `PATH`.
    pub fn find_in_path(&self, name: impl AsRef<OsStr>) -> Option<PathBuf> {
        std::env::split_paths(&self.path)
            .map(|folder| folder.join(name.as_ref()))
            .find(|candidate| is_executable(candidate))
    }
}

/// Whether this is a file that may be executed.
pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
