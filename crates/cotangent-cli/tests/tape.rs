//! The tape library's staging between GPU and host, and the records of host code on it, on the CPU's CUDA and with the real
//! nvcc and libcudart.

use std::path::{Path, PathBuf};
use std::process::Command;

use cotangent_driver::Environment;
use cotangent_driver::tools::find_nvcc;
use cotangent_tape::Error;
use cotangent_tape::device::{Cuda, CudaFunctions};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tape").join(name)
}

/// Cargo builds all kinds of the library beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a file");
    test.with_file_name("libcotangent_tape.a")
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn run(flags: &[&str]) -> String {
    succeeds(&mut running("device.cu", flags))
}

fn running(name: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.arg("run").arg(example(name)).args(flags).arg("--").arg(library());
    command
}

const EXPECTED: &str = "20 steps of 100000 numbers, 16 MB to the host and back\nworst difference: none\n";

#[test]
fn arrays_are_staged_on_the_cpu() {
    assert_eq!(run(&[]), EXPECTED);
}

/// Also through the disk, and with every access and the order of the streams checked.
#[test]
fn staging_keeps_the_order_of_streams() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(&["--check", "--args", folder.path().to_str().unwrap()]), EXPECTED);
}

#[test]
fn staging_builds_with_nvcc() {
    let nvcc = find_nvcc(&Environment::of_process()).expect("run `cargo xtask setup`").path;
    let folder = tempfile::tempdir().unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let mut command = Command::new(nvcc);
    command.args(["-arch=sm_80", "-std=c++17", "-Werror", "all-warnings", "-I"]).arg(include);
    command
        .arg(example("device.cu"))
        .arg(library())
        .args(["-lpthread", "-ldl", "-o"])
        .arg(folder.path().join("device"));
    succeeds(&mut command);
}

/// Four times what may be in memory, through the disk and back.
#[test]
fn records_of_host_code_go_on_to_disk() {
    let folder = tempfile::tempdir().unwrap();
    let said = succeeds(&mut running("records.cu", &["--args", folder.path().to_str().unwrap()]));
    assert_eq!(said, "8 MiB of memory, off by less than 1e-6\n");
}

/// Without a folder there is no room for them: the gradient throws, and gives no number.
#[test]
fn records_of_host_code_that_do_not_fit_are_an_error() {
    let output = running("records.cu", &[]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && said.starts_with("the record of a derivative: "), "{said}");
}

/// The library beside the real nvcc. Without a GPU its calls fail, and say so.
#[test]
fn libcudart_is_loaded() {
    assert!(CudaFunctions::load_from("libno-such-library.so").is_none());
    let nvcc = find_nvcc(&Environment::of_process()).expect("run `cargo xtask setup`").path;
    let toolkit = nvcc.parent().and_then(Path::parent).expect("nvcc is in a toolkit's bin");
    let names = ["lib64/libcudart.so", "lib/libcudart.so.13", "lib/libcudart.so.12"];
    let found =
        names.iter().map(|name| toolkit.join(name)).find(|path| path.exists()).expect("a toolkit has a libcudart");
    let functions = CudaFunctions::load_from(found.to_str().unwrap()).expect("all functions that staging calls");
    // SAFETY: they are CUDA's.
    match unsafe { Cuda::new(functions) } {
        Ok(_) => println!("there is a GPU"),
        Err(error) => assert!(matches!(error, Error::Device { code: 1.. }), "{error:?}"),
    }
}
