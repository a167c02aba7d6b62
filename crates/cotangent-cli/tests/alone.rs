//! Printed derivatives, compiled by nvcc and Clang as by a user who has nothing but the printed file: a text compiles by
//! itself, or its first line says what to add.

use std::path::Path;
use std::process::{Command, Output};

use cotangent_driver::Environment;
use cotangent_driver::tools::find_nvcc;

/// A kernel that records, one that does not, and a host function that keeps values and copies arrays.
const PROGRAM: &str = "__global__ void grow(float* x, const float* rate, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < i % 7; k++) v += rate[i] * v * v;
  x[i] = v;
}
__global__ void scale(float* x, float by) { x[threadIdx.x] *= by; }
void both(float* x, const float* rate, int n) {
  float* copy;
  cudaMalloc(&copy, n * sizeof(float));
  for (int t = 0; t < n; t++) {
    cudaMemcpy(copy, x, n * sizeof(float), cudaMemcpyDeviceToDevice);
    grow<<<(n + 31) / 32, 32>>>(copy, rate, n);
    cudaMemcpy(x, copy, n * sizeof(float), cudaMemcpyDeviceToDevice);
  }
  cudaFree(copy);
}
";

/// What is asked for, and the file that it is written to, or nothing for standard output.
const PRINTED: &[(&[&str], &str)] = &[
    (&["--fn", "scale"], ""),
    (&["--fn", "grow"], ""),
    (&["--fn", "grow", "--split"], "split.cu"),
    (&["--fn", "grow"], "grow.cuh"),
    (&["--fn", "grow", "--standalone"], "whole.cuh"),
    (&["--fn", "both"], ""),
    (&["--fn", "both"], "both.cuh"),
];

fn cotangent(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    let output = command.current_dir(folder).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The printed text in a file of a folder of its own.
fn print(folder: &Path, options: &[&str], output: &str) -> String {
    let words = [&["grad", "program.cu"][..], options].concat();
    if output.is_empty() {
        let text = cotangent(folder, &words).stdout;
        std::fs::write(folder.join("printed.cu"), &text).unwrap();
        return String::from_utf8(text).unwrap();
    }
    cotangent(folder, &[&words[..], &["-o", output]].concat());
    let text = std::fs::read_to_string(folder.join(output)).unwrap();
    // A header is included where its first line says, or alone.
    let behind = if text.contains("To be included behind") { "#include \"program.cu\"\n" } else { "" };
    std::fs::write(folder.join("printed.cu"), format!("{behind}#include \"{output}\"\n")).unwrap();
    text
}

/// The flags that the first line names, as a shell reads them.
fn named_flags(text: &str) -> &str {
    let first = text.lines().next().unwrap_or_default();
    first.split_once("Compile with ").map_or("", |(_, flags)| flags.trim_end_matches('.'))
}

#[test]
fn what_is_printed_compiles_with_what_its_first_line_says() {
    let environment = Environment::of_process();
    let nvcc = find_nvcc(&environment).expect("run `cargo xtask setup`").path;
    let toolkit = environment.cached_toolkit().expect("run `cargo xtask setup`");
    let own = Path::new(env!("CARGO_BIN_EXE_cotangent")).parent().unwrap();
    let path = format!("{}:{}", own.display(), environment.path.display());
    let compilers = [
        format!("{} -arch=sm_80 -Werror all-warnings -c -o printed.o", nvcc.display()),
        format!(
            "clang++-19 -x cuda --cuda-path={} --cuda-gpu-arch=sm_80 -Wno-unknown-cuda-version -Werror -fsyntax-only",
            toolkit.display()
        ),
    ];
    for (options, output) in PRINTED {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("program.cu"), PROGRAM).unwrap();
        let text = print(folder.path(), options, output);
        for compiler in &compilers {
            let line = format!("{compiler} {} printed.cu", named_flags(&text));
            let mut shell = Command::new("bash");
            let done = shell.current_dir(folder.path()).env("PATH", &path).args(["-c", &line]).output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{options:?} {output}: {line}\n{said}\n{text}");
        }
    }
}
