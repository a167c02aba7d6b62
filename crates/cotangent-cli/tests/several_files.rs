//! Programs of several files: what other files define is found, and a file that means something else beside another is
//! refused. They are run, and kept as programs and libraries.

use std::process::Command;

const SOLVE: &str = "#include \"grid.h\"\n#define SCALE 2.0\n\
    __global__ void scale(const double* x, double* y, int n) {\n  int i = threadIdx.x;\n  \
    if (i < n) y[i] = SCALE * x[i];\n}\n\
    void solve(const double* x, double* y, int n) {\n  double* a = allocate(n);\n  double* b = allocate(n);\n  \
    cudaMemcpy(a, x, n * sizeof(double), cudaMemcpyHostToDevice);\n  scale<<<1, 32>>>(a, b, n);\n  square(b, a, n);\n  \
    cudaMemcpy(y, a, n * sizeof(double), cudaMemcpyDeviceToHost);\n  cudaFree(a);\n  cudaFree(b);\n}\n";

const HEADER: &str = "#pragma once\ndouble* allocate(int n);\nvoid square(const double* x, double* y, int n);\ndouble mean(double, double);\n";

/// A type without a name is spelt by the path of its file, which differs between the first file and others.
const UNNAMED: &str = "enum { FAILED = -1 };\ninline int failed() { return FAILED; }\n";

const GRID: &str = "double* allocate(int n) {\n  double* p;\n  cudaMalloc(&p, n * sizeof(double));\n  return p;\n}\n\
    __global__ void square_kernel(const double* x, double* y, int n) {\n  int i = threadIdx.x;\n  \
    if (i < n) y[i] = SCALE * x[i] * x[i];\n}\n\
    void square(const double* x, double* y, int n) {\n  square_kernel<<<1, 32>>>(x, y, n);\n}\n";

/// Writes the files, the second with these first lines, and runs the command on both.
fn said(first_lines: &str, words: &[&str]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let grid = format!("#include \"grid.h\"\n{first_lines}\n{GRID}");
    for (name, text) in [("solve.cu", SOLVE), ("grid.h", &format!("{HEADER}{UNNAMED}")), ("grid.cu", &grid)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    said_in(folder.path(), COMMAND, words)
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

/// Nothing else says what its value is: a variable of the derivative's own would be zero.
#[test]
fn a_variable_of_another_file_has_its_value() {
    let folder = tempfile::tempdir().unwrap();
    let first = "extern double rate;\nvoid f(const double* x, double* y) { y[0] = rate * x[0]; }\n";
    std::fs::write(folder.path().join("first.cu"), first).unwrap();
    std::fs::write(folder.path().join("second.cu"), "double rate = 0.3;\n").unwrap();
    let words = ["check", "first.cu", "second.cu", "--fn", "f", "--args", "in<double>(1), out<double>(1)"];
    let (text, code) = said_in(folder.path(), COMMAND, &words);
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("nothing was proved"), "{text}");
    let (text, _) = said_in(folder.path(), COMMAND, &["grad", "first.cu", "--fn", "f"]);
    assert!(text.contains("extern double rate;"), "without it the program's is meant: {text}");
}

/// What writes messages keeps the name of a file, and asks what time it is. What changes unseen is not read, but passed through
/// where it stands.
#[test]
fn a_function_of_any_number_of_arguments_passes_through() {
    let folder = tempfile::tempdir().unwrap();
    let log = "#include <cstdarg>\n#include <cstdio>\n#include <functional>\n/// Where it goes.\nchar* path = nullptr;\n\
        int say(const char* format, ...) {\n  static int times = 0;\n  if (!path) path = new char[4]{'l', 'o', 'g', 0};\n  \
        va_list list;\n  va_start(list, format);\n  vprintf(format, list);\n  va_end(list);\n  return ++times;\n}\n\
        double since() {\n  static double last = 0;\n  last += 0.5;\n  return last;\n}\n\
        double* room() {\n  static double* kept = nullptr;\n  if (!kept) kept = new double[2];\n  return kept;\n}\n\
        template <class T>\nunsigned long bytes(const T* from, int n) { return sizeof(*from) * n; }\n";
    std::fs::write(folder.path().join("log.cu"), log).unwrap();
    let check = ["check", "first.cu", "log.cu", "--fn", "f", "--args", "in<double>(1), out<double>(1)"];
    let told = |condition: &str| {
        let first = format!(
            "struct Pair {{ double a; }};\nPair operator*(Pair, int);\nextern char* path;\nconst char* names[] = {{\"f\", \"g\"}};\n\
             int say(const char*, ...);\ndouble since();\ndouble* room();\n\
             void f(const double* x, double* y) {{\n  double begun = since();\n  say(\"%d of %s\\n\", 3, names[1]);\n  \
             {condition}y[0] = x[0] * x[0];\n  if (since() - begun < 0.25) y[0] = 0;\n}}\n"
        );
        std::fs::write(folder.path().join("first.cu"), first).unwrap();
        said_in(folder.path(), COMMAND, &check)
    };
    let (text, code) = told("");
    assert_eq!(code, Some(0), "{text}");
    let (text, code) = told("if (path[0] == 'l') ");
    assert_eq!(code, Some(0), "evaluated where it stands: {text}");
    let (text, code) = told("char first = path[0];\n  say(\"again\");\n  if (first == 'l') ");
    assert_eq!(code, Some(0), "{text}");
    // Twice the same memory, which an unread function would be trusted to have made anew.
    let (text, code) = told("double* a = room();\n  double* b = room();\n  a[0] = x[0];\n  b[0] = 2 * a[0];\n  ");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("the static variable `kept`"), "{text}");
}

/// A shell tells Clang the folder's name by which it came there; texts that take the place of files are known by the real one.
#[test]
fn a_folder_may_be_reached_by_a_symbolic_link() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let square = "__global__ void square(const double* x, double* y) { y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x]; }\n\
        void f(const double* x, double* y) {\n  square<<<1, 4>>>(x, y);\n}\n";
    std::fs::write(real.join("square.cu"), square).unwrap();
    let mut command = Command::new(COMMAND);
    command.args(["check", "square.cu", "--fn", "f", "--args", "in<double>(4), out<double>(4)"]);
    let output = command.current_dir(&link).env("PWD", &link).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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

const MAIN: &str = "#include <cstdio>\nvoid square(const double* x, double* y, int n);\n\
    __global__ void fill(double* x, int n) {\n  int i = threadIdx.x;\n  if (i < n) x[i] = FACTOR * i;\n}\n\
    int main(int count, char**) {\n  double *a, *b, h[4];\n  cudaMalloc(&a, sizeof h);\n  cudaMalloc(&b, sizeof h);\n  \
    fill<<<1, 32>>>(a, 4);\n  square(a, b, 4);\n  cudaMemcpy(h, b, sizeof h, cudaMemcpyDeviceToHost);\n  \
    std::printf(\"%d: %g\\n\", count, h[3]);\n  return count;\n}\n";

/// It has a kernel of the same name and a variable of the device: each file is compiled by itself.
const SQUARE: &str = "static __device__ double power = 1;\n\
    static __global__ void fill(const double* x, double* y, int n) {\n  int i = threadIdx.x;\n  \
    if (i < n) y[i] = power * x[i] * x[i];\n}\n\
    void square(const double* x, double* y, int n) { fill<<<1, 32>>>(x, y, n); }\n\
    extern \"C\" int squared_on_device(int n) {\n  double h = n, *a, *b;\n  cudaMalloc(&a, sizeof h);\n  \
    cudaMalloc(&b, sizeof h);\n  cudaMemcpy(a, &h, sizeof h, cudaMemcpyHostToDevice);\n  square(a, b, 1);\n  \
    cudaMemcpy(&h, b, sizeof h, cudaMemcpyDeviceToHost);\n  return (int)h;\n}\n";

fn folder_of_program() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.cu"), MAIN).unwrap();
    std::fs::write(folder.path().join("square.cu"), SQUARE).unwrap();
    folder
}

/// What a command says in a folder, and its exit code.
fn said_in(folder: &std::path::Path, program: &str, words: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(program);
    let output = command.current_dir(folder).args(words).env_remove("CLICOLOR_FORCE").output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (text.concat(), output.status.code())
}

const COMMAND: &str = env!("CARGO_BIN_EXE_cotangent");

#[test]
fn a_program_of_several_files_runs() {
    let folder = folder_of_program();
    for check in [&["run", "main.cu", "square.cu"][..], &["run", "main.cu", "square.cu", "--check"]] {
        let words = [check, &["--args", "x", "--", "-DFACTOR=2"]].concat();
        let (text, code) = said_in(folder.path(), COMMAND, &words);
        assert!(text.contains("2: 36") && code == Some(2), "{text}");
    }
    let (text, code) = said_in(folder.path(), COMMAND, &["run", "main.cu", "--", "-DFACTOR=2"]);
    assert!(text.contains("square") && code != Some(0), "without the other file: {text}");
}

#[test]
fn a_program_that_is_built_runs_by_itself() {
    let folder = folder_of_program();
    let words = ["build", "main.cu", "square.cu", "-o", "program", "--", "-DFACTOR=2"];
    let (text, code) = said_in(folder.path(), COMMAND, &words);
    assert_eq!(code, Some(0), "{text}");
    let (text, code) = said_in(folder.path(), "./program", &["x", "y"]);
    assert_eq!((text.as_str(), code), ("3: 36\n", Some(3)));
    let debug = std::fs::read(folder.path().join("program")).unwrap();
    assert!(debug.windows(11).any(|bytes| bytes == b".debug_info"), "it has debug information");
}

#[test]
fn a_library_that_is_built_is_loaded_by_other_programs() {
    let folder = folder_of_program();
    let (text, code) = said_in(folder.path(), COMMAND, &["build", "square.cu", "-o", "libsquare.so", "--shared"]);
    assert_eq!(code, Some(0), "{text}");
    let script = "import ctypes; print(ctypes.CDLL('./libsquare.so').squared_on_device(7))";
    let (text, _) = said_in(folder.path(), "python3", &["-c", script]);
    assert_eq!(text, "49\n");
}

/// A database as CMake writes it: two targets, flags with paths from the build folder, and one flag that differs.
fn with_database(factor_of_square: &str) -> tempfile::TempDir {
    let folder = folder_of_program();
    let build = folder.path().join("build");
    std::fs::create_dir(&build).unwrap();
    std::fs::write(folder.path().join("other.cu"), "int main() { return 9; }\n").unwrap();
    std::fs::write(build.join("factor.rsp"), "-DFACTOR=2").unwrap();
    let entry = |file: &str, target: &str, flags: &str| {
        let (build, file) = (build.display(), folder.path().join(file).display().to_string());
        let output = format!("CMakeFiles/{target}.dir/{}.o", file.rsplit('/').next().unwrap_or_default());
        let command =
            format!("nvcc -forward-unknown-to-host-compiler {flags} -I../headers -x cu -c {file} -o {output}");
        format!(
            "{{\"directory\": \"{build}\", \"command\": \"{command}\", \"file\": \"{file}\", \"output\": \"{output}\"}}"
        )
    };
    let entries = [
        entry("main.cu", "program", "--options-file factor.rsp"),
        entry("square.cu", "program", factor_of_square),
        entry("other.cu", "another", ""),
    ];
    std::fs::write(build.join("compile_commands.json"), format!("[{}]", entries.join(",\n"))).unwrap();
    folder
}

#[test]
fn flags_and_files_come_from_a_compilation_database() {
    let folder = with_database("");
    for database in ["build", "build/compile_commands.json"] {
        let (text, code) = said_in(folder.path(), COMMAND, &["run", "main.cu", "-p", database]);
        assert!(text.contains("1: 36") && code == Some(1), "{text}");
    }
    let (text, code) = said_in(folder.path(), COMMAND, &["run", "absent.cu", "-p", "build"]);
    assert!(text.contains("absent.cu") && code != Some(0), "{text}");
    std::fs::write(folder.path().join("new.cu"), MAIN).unwrap();
    let (text, code) = said_in(folder.path(), COMMAND, &["run", "new.cu", "--database", "build"]);
    assert!(text.contains("new.cu is not in build/compile_commands.json") && code == Some(2), "{text}");
}

/// Files that are read as one text must be compiled by the same flags.
#[test]
fn flags_that_differ_between_files_are_noticed() {
    let words = ["grad", "square.cu", "--fn", "square", "--wrt", "x,y", "-p", "build"];
    let folder = with_database("-DFACTOR=3");
    let (text, code) = said_in(folder.path(), COMMAND, &[&words[..], &["main.cu"]].concat());
    assert!(text.contains("main.cu is compiled with other flags than square.cu") && code == Some(2), "{text}");
    let (text, code) = said_in(folder.path(), COMMAND, &words);
    assert!(text.contains("main.cu is left out") && text.contains("square_grad") && code == Some(0), "{text}");
    let main = ["grad", "main.cu", "--fn", "main", "--wrt", "a@10", "--of", "b", "-p", "build"];
    let (text, code) = said_in(folder.path(), COMMAND, &main);
    assert!(text.contains("C0204") && code == Some(1), "what is needed of it is missed: {text}");
    let (text, code) = said_in(with_database("-DFACTOR=2").path(), COMMAND, &main);
    assert!(text.contains("main_program_grad") && code == Some(0), "{text}");
}

/// Two files use a template of a header in another order, and not the same of it.
#[test]
fn templates_that_files_use_in_another_order_mean_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let header = "#pragma once\ntemplate <typename T>\nstruct Pair {\n  T x, y;\n  __host__ __device__ T sum() const { return x + y; }\n  \
        __host__ __device__ T product() const { return x * y; }\n};\n";
    let first = "#include \"pair.h\"\ndouble scaled(Pair<double> p);\n\
        void f(const double* x, double* y) { Pair<float> q = {1.0f, 2.0f}; Pair<double> p = {x[0], x[1]}; y[0] = scaled(p) * q.sum(); }\n";
    let second = "#include \"pair.h\"\n\
        double scaled(Pair<double> p) { Pair<float> q = {3.0f, 2.0f}; return p.product() * q.product() + p.sum(); }\n";
    for (name, text) in [("pair.h", header), ("first.cu", first), ("second.cu", second)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    let arguments = ["check", "first.cu", "second.cu", "--fn", "f", "--args", "in<double>(2), out<double>(1)"];
    let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
