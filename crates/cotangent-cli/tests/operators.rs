//! `cotangent torch` and `cotangent jax` write projects whose kernels compile, for the CPU and with nvcc. What the frameworks make of them is
//! for `cargo xtask torch` and `cargo xtask jax`.

use std::path::Path;
use std::process::{Command, Output};

use cotangent_driver::Environment;
use cotangent_driver::tools::find_nvcc;
use tempfile::TempDir;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/operators");

fn torch(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.current_dir(folder).arg("torch").args(words).output().unwrap()
}

fn jax(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.current_dir(folder).arg("jax").args(words).output().unwrap()
}

/// What is stated of the example with splats.
const SPLATS: [&str; 20] = [
    "--fn",
    "composite<scalar_t>",
    "--name",
    "tests::composite",
    "--size",
    "centers=S, 2",
    "--size",
    "scales=S",
    "--size",
    "opacities=S",
    "--size",
    "colours=S, 3",
    "--size",
    "image=height, width, 3",
    "--value",
    "splats=S",
    "--grid",
    "(width + 7) / 8, (height + 7) / 8",
    "--block",
    "8, 8",
];

#[test]
fn kernels_of_an_operator_compile_for_the_cpu_and_with_nvcc() {
    let folder = tempfile::tempdir().unwrap();
    let source = format!("{EXAMPLES}/splats.cu");
    let words: Vec<&str> = [source.as_str(), "-o", "made"].into_iter().chain(SPLATS).collect();
    let output = torch(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let made = folder.path().join("made");
    let kernels = ["forward.cu", "backward.cu", "backward_backward.cu"];
    let mut build = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    build.current_dir(&made).arg("build").args(kernels).args(["--shared", "-o", "kernels.so", "--"]);
    let output = build.arg("-DKERNELS=tests_composite_cpu").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let nvcc = find_nvcc(&Environment::of_process()).expect("`cargo xtask setup` installs nvcc");
    let include = Command::new(env!("CARGO_BIN_EXE_cotangent")).args(["where", "include"]).output().unwrap();
    let include = String::from_utf8(include.stdout).unwrap();
    for kernel in kernels {
        let mut compile = Command::new(&nvcc.path);
        compile.current_dir(&made).args(["-arch=sm_80", "-std=c++17", "-DKERNELS=tests_composite_cuda", "-I"]);
        let output = compile.arg(include.trim()).args(["-c", kernel, "-o", "kernel.o"]).output().unwrap();
        assert!(output.status.success(), "{kernel}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn kernels_for_jax_are_those_for_pytorch() {
    let folder = tempfile::tempdir().unwrap();
    let source = format!("{EXAMPLES}/splats.cu");
    for (name, made) in [("torch", torch as fn(&Path, &[&str]) -> Output), ("jax", jax)] {
        let words: Vec<&str> = [source.as_str(), "-o", name].into_iter().chain(SPLATS).collect();
        let output = made(folder.path(), &words);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let text = |file: &str| std::fs::read_to_string(folder.path().join(file)).unwrap();
    for kernel in ["kernels.h", "forward.cu", "backward.cu", "backward_backward.cu"] {
        assert_eq!(text(&format!("torch/{kernel}")), text(&format!("jax/{kernel}")), "{kernel}");
    }
    let module = text("jax/__init__.py");
    let launch = "launch=[(width + 7) // 8, (height + 7) // 8, 1, 8, 8, 1, 0],";
    assert!(module.contains(launch) && module.contains("_forward.defvjp(_forward_kept, _forward_pulled)"), "{module}");
    assert!(text("jax/handlers.cpp").contains("CUDA_HANDLER(composite_backward_backward_double_cuda, "));
}

#[test]
fn what_makes_no_operator_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = "__global__ void k(const float* x, float* y, int n) { y[threadIdx.x] = x[threadIdx.x]; }\n";
    std::fs::write(folder.path().join("k.cu"), kernel).unwrap();
    let said = |words: &[&str]| {
        let function = if words.contains(&"int") { "k<scalar_t>" } else { "k" };
        let fixed = ["k.cu", "--fn", function, "--grid", "1", "-o", "made"];
        let all: Vec<&str> = fixed.iter().chain(words).copied().collect();
        let output = torch(folder.path(), &all);
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!folder.path().join("made").exists(), "nothing is written");
        String::from_utf8(output.stderr).unwrap()
    };
    let sizes = ["--size", "x=N", "--size", "y=N"];
    let with = |words: &[&str]| said(&[&["--name", "a::b", "--block", "N"][..], &sizes, words].concat());
    assert!(said(&["--name", "b", "--block", "32"]).contains("`b` is no name of an operator"));
    assert!(said(&["--name", "a::b", "--block", "32"]).contains("the sizes of `x` are missing"));
    assert!(with(&["--value", "n=M"]).contains("`M` in the value of `n` is known from no array"));
    assert!(with(&["--value", "m=N"]).contains("`m` is stated, and the kernel has no such number"));
    assert!(with(&["--size", "z=N"]).contains("`z` is stated, and the kernel has no such array"));
    assert!(with(&["--value", "n=N;exit(1)"]).contains("is no expression of sizes"));
    assert!(
        with(&["--types", "float"]).contains("--types states what `scalar_t` stands for, and `k` has no `scalar_t`")
    );
    assert!(with(&["--types", "int"]).contains("`int` is no type of data"));
}

/// A project of a kernel with the arrays `x`, `w` and `y`.
fn project(kernel: &str, function: &str) -> (TempDir, Output) {
    stated(kernel, function, &["--grid", "1", "--block", "N"])
}

fn stated(kernel: &str, function: &str, words: &[&str]) -> (TempDir, Output) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.cu"), kernel).unwrap();
    let mut words = [&["k.cu", "--fn", function, "--name", "a::b", "-o", "made"], words].concat();
    let sizes = ["x=N", "w=N", "y=N"].into_iter().filter(|size| kernel.contains(&format!("{}[", &size[..1])));
    words.extend(sizes.flat_map(|size| ["--size", size]));
    let output = torch(folder.path(), &words);
    (folder, output)
}

#[test]
fn arrays_of_one_type_in_all_versions_take_no_other() {
    let body = "(const T* x, const float* w, T* y) { y[threadIdx.x] = w[threadIdx.x] * x[threadIdx.x]; }";
    let (folder, output) = project(&format!("template <class T> __global__ void k{body}"), "k<scalar_t>");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made = std::fs::read_to_string(folder.path().join("made/operator.cpp")).unwrap();
    assert!(made.contains("check_like(w, \"w\", at::kFloat, x);"), "{made}");
    assert!(made.contains("check_like(x, \"x\", x.scalar_type(), x);"), "{made}");
}

#[test]
fn a_kernel_of_its_own_type_takes_tensors_of_that() {
    let body = "(const double* x, double* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }";
    let (folder, output) = project(&format!("__global__ void k{body}"), "k");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made = std::fs::read_to_string(folder.path().join("made/operator.cpp")).unwrap();
    assert!(made.contains("case at::kDouble: ") && !made.contains("case at::kFloat: "), "{made}");
}

#[test]
fn no_tensor_chooses_a_version_and_no_variable_is_left_unset() {
    let refused = |kernel: &str, function: &str| {
        let (_folder, output) = project(kernel, function);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused("template <class T> __global__ void k(const float* x, T* y) { y[0] = x[0]; }", "k<scalar_t>");
    assert!(said.contains("no array that it takes has elements of that type"), "{said}");
    let body = "__global__ void k(const float* x, float* y) { y[threadIdx.x] = weights[1] * x[threadIdx.x]; }";
    let said = refused(&format!("__constant__ float weights[3];\n{body}"), "k");
    assert!(said.contains("nothing sets them in an operator: `weights`"), "{said}");
    let (_folder, output) = project(&format!("__constant__ float weights[3] = {{1, 2, 3}};\n{body}"), "k");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn functions_of_the_host_launch_by_themselves() {
    let kernel = "__global__ void k(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }";
    let host = "void f(const float* x, float* y, cudaStream_t s) { k<<<1, 32, 0, s>>>(x, y); }";
    let program = format!("{kernel}\n{host}");
    let (folder, output) = stated(&program, "f", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made = std::fs::read_to_string(folder.path().join("made/forward.cu")).unwrap();
    let call = "forward_of_float::f(as<float>(x), as<float>(y), stream_of(launch));\n  return finished(launch);";
    assert!(made.contains(call), "{made}");
    let (folder, output) = stated(&program.replace(", cudaStream_t s", "").replace(", 0, s", ""), "f", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made = std::fs::read_to_string(folder.path().join("made/backward.cu")).unwrap();
    assert!(
        made.contains("  if (!launch.waits) cudaStreamSynchronize(nullptr);\n  return finished(launch);"),
        "{made}"
    );
    let said = |function: &str, words: &[&str]| {
        let (_folder, output) = stated(&program, function, words);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(said("f", &["--grid", "1", "--block", "32"]).contains("which launches by itself"));
    assert!(said("k", &[]).contains("the launch of the kernel is missing"));
}

#[test]
fn vectors_are_a_last_size() {
    let kernel = "__global__ void k(const float3* x, float* y) { y[threadIdx.x] = x[threadIdx.x].z; }";
    let (_folder, output) = project(kernel, "k");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("`x` is an array of `float3`, so the last of its sizes is 3"), "{said}");
}

#[test]
fn what_is_refused_is_told_as_json_too() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.cu"), "__global__ void k(float* x) { goto end; end: x[0] = 1; }").unwrap();
    let words = ["k.cu", "--fn", "k", "--name", "a::b", "--grid", "1", "--block", "1", "-o", "made", "--json"];
    let output = torch(folder.path(), &words);
    assert_eq!(output.status.code(), Some(1));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told["ok"], &told["refused"][0]["code"]), (&false.into(), &"C0102".into()), "{told}");
}
