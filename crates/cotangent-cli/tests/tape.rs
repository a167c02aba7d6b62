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
    command.arg("run").arg(example(name)).args(flags);
    command
}

/// The folder of the library that is installed with the command.
fn installed() -> PathBuf {
    let said = succeeds(Command::new(env!("CARGO_BIN_EXE_cotangent")).args(["where", "tape"]));
    PathBuf::from(said.trim())
}

/// The words that pkg-config gives for a package.
fn words_of(package: &str) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", installed()).args(["--cflags", "--libs", package]);
    succeeds(&mut command).split_whitespace().map(str::to_owned).collect()
}

/// Whether a program asks for the shared library when it is loaded.
fn is_shared(program: &Path) -> bool {
    let bytes = std::fs::read(program).unwrap();
    let name = b"libcotangent_tape.so\0";
    bytes.windows(name.len()).any(|window| window == name)
}

const EXPECTED: &str = "20 steps of 100000 numbers, 16 MB kept\nworst difference: none\n";

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

/// With little and with much memory in each layer, also through the disk, and with the order of the streams checked.
#[test]
fn states_of_a_gpu_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tape/again.cu");
    for flags in [&[][..], &["--check"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
        command.arg("run").arg(&program).args(flags).arg("--args").arg(folder.path());
        assert_eq!(succeeds(&mut command), "0 of the numbers differ\n");
    }
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
        .arg(installed().join("libcotangent_tape.a"))
        .args(["-lpthread", "-ldl", "-o"])
        .arg(folder.path().join("device"));
    succeeds(&mut command);
}

#[test]
fn programs_of_nvccs_link_the_library_themselves() {
    assert_eq!(run(&["--nvcc", "--", "-std=c++17"]), EXPECTED);
}

#[test]
fn derivatives_with_records_on_the_library_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("grow.cu");
    let text = "#include <cotangent/records.hpp>\n\
        #include <cotangent/cotangent.hpp>\n\
        double grow(double rate, double size) {\n\
        \x20 for (double time = 0.0; time < 1.0; time += 0.125) size += 0.125 * rate * size * (1.0 - size);\n\
        \x20 return size;\n\
        }\n";
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    let said = succeeds(command.arg("check").arg(&file).args(["--fn", "grow"]));
    assert!(said.contains("reverse mode against forward mode, widened"), "{said}");
}

#[test]
fn a_program_that_stays_finds_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let build = |source: &Path, program: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
        succeeds(command.arg("build").arg(source).arg("-o").arg(program));
    };
    let program = folder.path().join("device");
    build(&example("device.cu"), &program);
    assert_eq!(succeeds(&mut Command::new(&program)), EXPECTED);
    assert!(is_shared(&program));
    // Who does not use it does without.
    let source = folder.path().join("without.cu");
    std::fs::write(&source, "int main() { return 0; }\n").unwrap();
    build(&source, &program);
    assert!(!is_shared(&program));
}

#[test]
fn pkg_config_finds_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let languages = [("clang-19", "sweep.c", "-std=c11"), ("clang++-19", "sweep.cpp", "-std=c++17")];
    for (compiler, source, standard) in languages {
        for (package, shared) in [("cotangent-tape", true), ("cotangent-tape-static", false)] {
            let program = folder.path().join("sweep");
            let mut compile = Command::new(compiler);
            compile.args([standard, "-Wall", "-Werror"]).arg(example(source)).args(words_of(package));
            // The program itself calls `sin`.
            succeeds(compile.args(["-lm", "-o"]).arg(&program));
            succeeds(&mut Command::new(&program));
            assert_eq!(is_shared(&program), shared, "{package}");
        }
    }
}

#[test]
fn cmake_finds_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "cmake_minimum_required(VERSION 3.25)\n\
         project(sweeps CXX)\n\
         find_package(Cotangent REQUIRED)\n\
         foreach(kind tape tape_static)\n\
           add_executable(with_${{kind}} {})\n\
           target_compile_features(with_${{kind}} PRIVATE cxx_std_17)\n\
           target_link_libraries(with_${{kind}} PRIVATE cotangent::${{kind}})\n\
         endforeach()\n",
        example("sweep.cpp").display()
    );
    std::fs::write(folder.path().join("CMakeLists.txt"), text).unwrap();
    let command = env!("CARGO_BIN_EXE_cotangent");
    let package = succeeds(Command::new(command).args(["where", "cmake"]));
    let cmake = |words: &[String]| succeeds(Command::new("cmake").current_dir(folder.path()).args(words));
    let mut words = ["-S", ".", "-B", "build", "-DCMAKE_CXX_COMPILER=clang++-19"].map(str::to_owned).to_vec();
    words.extend([format!("-DCotangent_DIR={}", package.trim()), format!("-DCOTANGENT_COMMAND={command}")]);
    cmake(&words);
    cmake(&["--build", "build"].map(str::to_owned));
    for (name, shared) in [("with_tape", true), ("with_tape_static", false)] {
        let program = folder.path().join("build").join(name);
        succeeds(&mut Command::new(&program));
        assert_eq!(is_shared(&program), shared, "{name}");
    }
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
