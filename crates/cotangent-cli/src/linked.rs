//! What programs that nvcc linked need to run: the runtime library and its configuration, or a turn on the GPU.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cotangent_driver::{Environment, cudart, tape};

use crate::exec::Configuration;

/// Waits until no other program of this command's is on the GPU, and keeps others away until the result is dropped: each
/// needs hundreds of megabytes there, and some machines let in one process at a time.
pub(crate) fn turn_on_gpu() -> Result<File> {
    let environment = Environment::of_process();
    let cache = environment.cache()?;
    std::fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let path = cache.join("gpu.lock");
    cotangent_driver::turn(&path).with_context(|| format!("cannot lock {}", path.display()))
}

/// The folder of the CUDA runtime that is installed beside this command.
pub(crate) fn library(environment: &Environment) -> Result<PathBuf> {
    let this_command = std::env::current_exe().context("cannot find this command's own file")?;
    Ok(cudart::folder(environment, &this_command)?)
}

/// The folder of the tape library that is installed beside this command.
pub(crate) fn tape(environment: &Environment) -> Result<PathBuf> {
    let this_command = std::env::current_exe().context("cannot find this command's own file")?;
    Ok(tape::folder(environment, &this_command)?)
}

/// What links a program with the tape library if it uses it. Where the library is not installed the linker says what it misses.
pub(crate) fn tape_words() -> Vec<String> {
    tape(&Environment::of_process()).map_or_else(|_| Vec::new(), |folder| tape::link_words(&folder))
}

/// Has a program that nvcc linked run with the library in this folder, which takes its configuration from the environment.
pub(crate) fn configure(command: &mut Command, library: &Path, configuration: &Configuration) {
    command
        .env("LD_LIBRARY_PATH", search_path(library))
        .env("COTANGENT_CUDART_SEED", configuration.seed.to_string())
        .env("COTANGENT_CUDART_THREADS", configuration.threads.to_string())
        .env("COTANGENT_CUDART_CHECK", u8::from(configuration.check).to_string());
}

/// The folder before all others that libraries are looked for in.
fn search_path(folder: &Path) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
        path.push(":");
        path.push(others);
    }
    path
}
