//! Where NVIDIA's toolkit and our library are.

use std::path::PathBuf;

use cotangent_driver::environment::Environment;
use cotangent_driver::tools::nvcc_in_venv;

/// The compiler that `cargo xtask setup` installs, which is that of CUDA 13.
pub(crate) fn nvcc() -> PathBuf {
    let venv = Environment::of_process().cached_compiler();
    let nvcc = venv.and_then(|venv| nvcc_in_venv(&venv)).filter(|path| path.is_file());
    nvcc.expect("nvcc of CUDA 13 is installed (cargo xtask setup)")
}

/// A file or folder of the toolkit.
pub(crate) fn toolkit(path: &str) -> PathBuf {
    nvcc().ancestors().nth(2).expect("bin/nvcc is in the toolkit").join(path)
}

/// Our library. Cargo puts it beside the tests.
pub(crate) fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test");
    let library = test.with_file_name("libcotangent_cudart.so");
    assert!(library.is_file(), "{} is built with the tests", library.display());
    library
}
