//! Programs of several files: what other files define is found, and a file that means something else beside another is
//! refused.

use std::process::Command;

const SOLVE: &str = "#include \"grid.h\"\n#define SCALE 2.0\n\
    __global__ void scale(const double* x, double* y, int n) {\n  int i = threadIdx.x;\n  \
    if (i < n) y[i] = SCALE * x[i];\n}\n\
    void solve(const double* x, double* y, int n) {\n  double* a = allocate(n);\n  double* b = allocate(n);\n  \
    cudaMemcpy(a, x, n * sizeof(double), cudaMemcpyHostToDevice);\n  scale<<<1, 32>>>(a, b, n);\n  square(b, a, n);\n  \
    cudaMemcpy(y, a, n * sizeof(double), cudaMemcpyDeviceToHost);\n  cudaFree(a);\n  cudaFree(b);\n}\n";

const HEADER: &str = "#pragma once\ndouble* allocate(int n);\nvoid square(const double* x, double* y, int n);\ndouble mean(double, double);\n";

const GRID: &str = "double* allocate(int n) {\n  double* p;\n  cudaMalloc(&p, n * sizeof(double));\n  return p;\n}\n\
    __global__ void square_kernel(const double* x, double* y, int n) {\n  int i = threadIdx.x;\n  \
    if (i < n) y[i] = SCALE * x[i] * x[i];\n}\n\
    void square(const double* x, double* y, int n) {\n  square_kernel<<<1, 32>>>(x, y, n);\n}\n";

/// Writes the files, the second with these first lines, and runs the command on both.
fn said(first_lines: &str, words: &[&str]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let grid = format!("#include \"grid.h\"\n{first_lines}\n{GRID}");
    for (name, text) in [("solve.cu", SOLVE), ("grid.h", HEADER), ("grid.cu", &grid)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    let output = command.current_dir(folder.path()).args(words).env_remove("CLICOLOR_FORCE").output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (text.concat(), output.status.code())
}

const CHECK: [&str; 9] =
    ["check", "solve.cu", "grid.cu", "--fn", "solve", "--wrt", "x,y", "--args", "in<double>(8), out<double>(8), 8"];

#[test]
fn bodies_and_kernels_of_other_files_are_found() {
    let own = "#undef SCALE\n#define SCALE 3.0";
    let (text, code) = said(own, &CHECK);
    assert_eq!(code, Some(0), "{text}");
    let (text, code) = said(own, &["grad", "solve.cu", "--fn", "solve"]);
    assert_eq!(code, Some(1), "without it they are not there: {text}");
    assert!(text.contains("C0105"), "{text}");
}

#[test]
fn a_macro_of_another_file_is_noticed() {
    let (text, code) = said("#ifndef SCALE\n#define SCALE 3.0\n#endif", &CHECK);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("C0109") && text.contains("square_kernel"), "{text}");
}

/// `half` is a function of each file there, or one of the first where both are read.
#[test]
fn an_overload_of_another_file_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let first = "double half(int x) { return x / 2; }\ndouble third(double x);\nvoid f(const double* x, double* y) { y[0] = third(x[0]); }\n";
    let second = "double half(double x) { return x / 2; }\ndouble third(double x) { return half(1) * x; }\n";
    std::fs::write(folder.path().join("first.cu"), first).unwrap();
    std::fs::write(folder.path().join("second.cu"), second).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    let output =
        command.current_dir(folder.path()).args(["grad", "first.cu", "second.cu", "--fn", "f"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("C0109") && text.contains("third"), "{text}");
}
