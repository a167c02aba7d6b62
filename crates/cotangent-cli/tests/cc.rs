//! `cotangent cc` in front of real compilers, as people write it into their build files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cotangent_driver::Environment;
use cotangent_driver::tools::find_nvcc;

const COMMAND: &str = env!("CARGO_BIN_EXE_cotangent");

/// Asks for a gradient of a kernel in a header beside it.
const MAIN: &str = "#include <cotangent/cotangent.hpp>
#include \"square.cuh\"
void ask(float* x, float* d_x) { cotangent::gradient(square).execute_kernel(1, 32, x, d_x); }
int main() { return 0; }
";

const HEADER: &str = "__global__ void square(float* x) { x[threadIdx.x] *= x[threadIdx.x]; }\n";

/// A folder with `source/main.cu` and its header.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("source")).unwrap();
    std::fs::write(folder.path().join("source/main.cu"), MAIN).unwrap();
    std::fs::write(folder.path().join("source/square.cuh"), HEADER).unwrap();
    folder
}

fn nvcc() -> PathBuf {
    find_nvcc(&Environment::of_process()).expect("run `cargo xtask setup`").path
}

fn cc(folder: &Path, compiler: &Path, words: &[&str]) -> Output {
    Command::new(COMMAND).current_dir(folder).arg("cc").arg(compiler).args(words).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn assert_quiet_success(output: &Output) {
    assert_eq!((output.status.code(), said(output)), (Some(0), String::new()));
}

/// The program of the API's own tests: kernels, host functions, templates.
#[test]
fn a_program_with_requests_is_linked() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/program.cu");
    let source = source.display().to_string();
    assert_quiet_success(&cc(folder.path(), &nvcc(), &["-arch=sm_80", &source, "-o", "program"]));
    assert!(folder.path().join("program").is_file());
}

#[test]
fn make_builds_what_changed() {
    let folder = project();
    let makefile = "
main: main.o
\t$(NVCC) -arch=sm_80 $< -o $@
main.o: source/main.cu
\t$(NVCC) -arch=sm_80 -MMD -MP -MF main.d -c $< -o $@
-include main.d
";
    std::fs::write(folder.path().join("Makefile"), makefile).unwrap();
    let make = || {
        let nvcc = format!("NVCC={COMMAND} cc {}", nvcc().display());
        let output = Command::new("make").current_dir(folder.path()).arg(nvcc).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        String::from_utf8_lossy(&output.stdout).matches(" cc ").count()
    };
    assert_eq!(make(), 2);
    assert_eq!(make(), 0, "nothing has changed");
    std::fs::write(folder.path().join("source/square.cuh"), format!("{HEADER}\n")).unwrap();
    assert_eq!(make(), 2, "the header has changed");
}

#[test]
fn words_may_come_from_a_file() {
    let folder = project();
    std::fs::write(folder.path().join("words"), "-DUNUSED=\"1 2\" -c\nsource/main.cu").unwrap();
    assert_quiet_success(&cc(folder.path(), &nvcc(), &["--options-file", "words", "-arch=sm_80", "-o", "main.o"]));
    assert!(folder.path().join("main.o").is_file());
}

#[test]
fn clang_compiles_it_too() {
    let toolkit = Environment::of_process().cached_toolkit().unwrap();
    assert!(toolkit.is_dir(), "run `cargo xtask setup`");
    let folder = project();
    let toolkit = format!("--cuda-path={}", toolkit.display());
    // Device code as far as assembly: Debian has nothing that makes an object for the GPU of it.
    let words = ["--cuda-gpu-arch=sm_80", &toolkit, "-Wno-unknown-cuda-version", "--cuda-device-only", "-S"];
    let words = [&words[..], &["-MD", "-MF", "main.d", "source/main.cu", "-o", "main.s"]].concat();
    assert_quiet_success(&cc(folder.path(), Path::new("clang++-19"), &words));
    let assembly = std::fs::read_to_string(folder.path().join("main.s")).unwrap();
    assert!(assembly.contains("square_grad"), "{assembly}");
    let dependencies = std::fs::read_to_string(folder.path().join("main.d")).unwrap();
    assert!(
        dependencies.contains("main.s: source/main.cu") && !dependencies.contains("cotangent-cc-"),
        "{dependencies}"
    );
}

#[test]
fn a_request_without_an_answer_is_a_diagnostic_before_the_compiler_is_called() {
    let folder = project();
    let text = MAIN.replace("gradient(square)", "gradient(square, \"y\")");
    std::fs::write(folder.path().join("source/main.cu"), text).unwrap();
    let output = cc(folder.path(), Path::new("no-such-compiler"), &["-c", "source/main.cu"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("error[C0201]: `square` has no parameter `y`"), "{}", said(&output));
    assert!(said(&output).contains("--> source/"), "{}", said(&output));
}

/// As `doctor` finds it: not on `PATH`.
#[test]
fn a_plain_nvcc_is_the_one_that_doctor_finds() {
    let folder = project();
    let path = tempfile::tempdir().unwrap();
    for program in ["clang++-19", "gcc", "g++", "cc", "ld", "as", "sh"] {
        let found = Environment::of_process().find_in_path(program).unwrap();
        std::os::unix::fs::symlink(found, path.path().join(program)).unwrap();
    }
    let cc = |words: &[&str]| {
        Command::new(COMMAND)
            .current_dir(folder.path())
            .env("PATH", path.path())
            .arg("cc")
            .args(words)
            .output()
            .unwrap()
    };
    assert_quiet_success(&cc(&["nvcc", "-arch=sm_80", "-c", "source/main.cu", "-o", "main.o"]));
    assert!(folder.path().join("main.o").is_file());
    // Also where the line is handed on as it is.
    let version = cc(&["nvcc", "--version"]);
    assert!(version.status.success() && said(&version).contains("release"), "{}", said(&version));
}

#[test]
fn without_any_nvcc_it_is_said_where_it_is_looked_for() {
    let nothing = tempfile::tempdir().unwrap();
    let mut command = Command::new(COMMAND);
    command.env_clear().env("PATH", nothing.path()).env("COTANGENT_CACHE", nothing.path());
    let output = command.args(["cc", "nvcc", "-c", "x.cu"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("nvcc was not found") && said(&output).contains("CUDA_HOME"), "{}", said(&output));
}

#[test]
fn an_output_that_is_the_input_is_refused() {
    let folder = project();
    std::fs::hard_link(folder.path().join("source/main.cu"), folder.path().join("second.cu")).unwrap();
    for words in [
        &["-c", "source/main.cu", "-o", "source/../source/main.cu"][..],
        &["-c", "source/main.cu", "-o", "second.cu"],
        &["-c", "source/main.cu", "-MD", "-MF", "source/main.cu", "-o", "main.o"],
    ] {
        let output = cc(folder.path(), &nvcc(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(said(&output).contains("Nothing was written"), "{words:?}: {}", said(&output));
        assert_eq!(std::fs::read_to_string(folder.path().join("source/main.cu")).unwrap(), MAIN, "{words:?}");
    }
}
