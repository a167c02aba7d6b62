//! A CMake project with the real nvcc, up to a linked program, with nothing but the launcher set and by the package:
//! gradients of one header's kernels in two files do not clash, and only what changed is built again.

use std::path::Path;
use std::process::{Command, Output};

use cotangent_driver::Environment;
use cotangent_driver::tools::find_nvcc;

const COMMAND: &str = env!("CARGO_BIN_EXE_cotangent");

/// The project in a folder of its own.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmake");
    for entry in source.read_dir().unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

fn cmake(project: &Path, words: &[String]) -> Output {
    let mut command = Command::new("cmake");
    let output = command.current_dir(project).args(words).output().expect("run `cargo xtask setup` for cmake");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("warning"), "{text}");
    output
}

fn configure(project: &Path, words: &[String]) {
    let nvcc = find_nvcc(&Environment::of_process()).expect("run `cargo xtask setup`").path;
    let mut all: Vec<String> = ["-S", ".", "-B", "build", "-DCMAKE_CUDA_ARCHITECTURES=80"].map(str::to_owned).to_vec();
    all.push(format!("-DCMAKE_CUDA_COMPILER={}", nvcc.display()));
    all.extend_from_slice(words);
    cmake(project, &all);
}

/// Builds, and says which files were compiled.
fn built(project: &Path) -> Vec<String> {
    let output = cmake(project, &["--build", "build", "--parallel", "2"].map(str::to_owned));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let object = |line: &str| Some(line.split_once("Building CUDA object ")?.1.rsplit('/').next()?.replace(".o", ""));
    let mut files: Vec<String> = text.lines().filter_map(object).collect();
    files.sort();
    files
}

fn append(project: &Path, name: &str, text: &str) {
    let path = project.join(name);
    let whole = std::fs::read_to_string(&path).unwrap() + text;
    std::fs::write(path, whole).unwrap();
}

#[test]
fn a_project_builds_with_nothing_but_the_launcher_and_only_what_changed_again() {
    let folder = project();
    let project = folder.path();
    configure(project, &[format!("-DCMAKE_CUDA_COMPILER_LAUNCHER={COMMAND};cc")]);
    assert_eq!(built(project), ["fit.cu", "forces.cu", "main.cu"]);
    assert!(project.join("build/springs").is_file(), "it is linked");
    assert_eq!(built(project), [""; 0], "nothing has changed");
    append(project, "forces.cu", "\n// changed\n");
    assert_eq!(built(project), ["forces.cu"]);
    append(project, "springs.cuh", "\n// changed\n");
    assert_eq!(built(project), ["fit.cu", "forces.cu", "main.cu"]);
    assert_eq!(built(project), [""; 0], "nothing has changed");
}

#[test]
fn the_package_sets_a_target_up() {
    let folder = project();
    let project = folder.path();
    let package = Command::new(COMMAND).args(["where", "cmake"]).output().unwrap();
    let package = String::from_utf8(package.stdout).unwrap();
    let words = [
        "-DWITH_PACKAGE=ON".to_owned(),
        format!("-DCotangent_DIR={}", package.trim()),
        format!("-DCOTANGENT_COMMAND={COMMAND}"),
    ];
    configure(project, &words);
    assert_eq!(built(project), ["fit.cu", "forces.cu", "main.cu"]);
    assert!(project.join("build/springs").is_file(), "it is linked");
}
