//! What a user is told, and what happens with files.

use std::fs;

use cotangent_build::{Error, Gradient, Kernels, Program};

const STRUCTS: &str = "struct Cell { float a; float* b; };\n\
    __global__ void cells(const Cell* cell, float* y) { y[threadIdx.x] = cell[threadIdx.x].a; }\n\
    __device__ float half_of(float x) { return 0.5f * x; }\n\
    __device__ float scale;\n\
    __global__ void scaled(const float* x, float* y) { y[threadIdx.x] = scale * x[threadIdx.x]; }\n";

fn refused(kernels: impl FnOnce(Kernels) -> Kernels) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let written = kernels(Kernels::of(Program::from_text(STRUCTS))).write_to(folder.path(), "all.rs");
    assert!(!folder.path().join("all.rs").exists());
    written.unwrap_err()
}

#[test]
fn what_cannot_be_launched_is_refused_with_a_way_out() {
    let messages = [
        refused(|all| all.kernel("cells")),
        refused(|all| all.kernel("half_of")),
        refused(|all| all.kernel("scaled")),
        refused(|all| all.gradient(Gradient::of("scaled").wrt("x, y"))),
        refused(|all| all.gradient(Gradient::of("cells").split(""))),
        refused(|all| all.kernel("missing")),
    ];
    for (message, expected) in messages.iter().map(ToString::to_string).zip([
        "`cell` of `cells` is `const Cell*`, which has no type in Rust here\n  Numbers",
        "`half_of` is not a kernel, and nothing else is launched\n  Name a `__global__` function",
        "`scaled` uses variables of the device, and nothing sets them in a Rust program: `scale`\n  Make them parameters.",
        "`scaled` uses variables of the device",
        "the gradient of `cells` is split, and a launch is of one kernel\n  Leave out `split`",
        "error[C0001]",
    ]) {
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn two_gradients_of_one_kernel_need_two_modules() {
    let program =
        Program::from_text("__global__ void k(const float* x, const float* w, float* y) { y[0] = w[0] * x[0]; }");
    let gradient = |wrt| Gradient::of("k").wrt(wrt);
    let folder = tempfile::tempdir().unwrap();
    let both = Kernels::of(program).gradient(gradient("x, y")).gradient(gradient("w, y"));
    let message = both.write_to(folder.path(), "all.rs").unwrap_err().to_string();
    assert_eq!(message, "`k_grad` is wanted twice\n  Write one of them to a module of its own.");
}

#[test]
fn a_refusal_is_data_and_names_the_text() {
    let program = Program::from_text("__global__ void k(float* x) { goto end; end: x[0] = 1; }");
    let error = program.gradient(&"k".into()).unwrap_err();
    let finding = &error.findings()[0];
    assert_eq!((finding.code, finding.file.as_deref(), finding.line), ("C0102", Some("program.cu"), Some(1)));
    assert!(error.to_string().contains("--> program.cu:1:31"), "{error}");
    let error = Program::from_text("int f( {").gradient(&"f".into()).unwrap_err();
    assert!(matches!(&error, Error::Rejected(message) if message.starts_with("program.cu:1:9: error")), "{error}");
}

#[test]
fn options_that_mean_nothing_are_told() {
    let program = Program::from_text("__device__ float f(float x) { return x; }");
    let error = program.gradient(&Gradient::of("f").record_budget("much")).unwrap_err();
    assert!(matches!(error, Error::Request(_)), "{error}");
    let error = program.flags(["-Wl,--nonsense-of-nobody", "--frobnicate"]).gradient(&"f".into()).unwrap_err();
    assert!(matches!(error, Error::Request(_)), "{error}");
    let missing = Program::in_file("there/is/none.cu").gradient(&"f".into()).unwrap_err();
    assert!(missing.to_string().contains("there/is/none.cu"), "{missing}");
}

#[test]
fn the_library_of_ptx_and_of_machine_code_are_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let kernels =
        Kernels::of(Program::from_text("__global__ void k(const float* x, float* y) { y[0] = x[0] * x[0]; }"));
    let kernels = kernels.kernel("k").gradient("k").without_cpu();
    kernels.clone().ptx_for("sm_80").write_to(folder.path(), "text.rs").unwrap();
    kernels.clone().fatbin(["sm_80", "sm_90"]).write_to(folder.path(), "code.rs").unwrap();
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let ptx = String::from_utf8(read("text_k_grad.ptx")).unwrap();
    assert!(ptx.contains(".target sm_80") && ptx.contains(".entry k_grad("), "{ptx}");
    assert!(!read("code_k_grad.fatbin").is_empty());
    let module = String::from_utf8(read("code.rs")).unwrap();
    assert!(module.contains("include_bytes!(\"code_k_grad.fatbin\")") && !module.contains("pub mod cpu"), "{module}");
    let error = kernels.ptx_for("volta").write_to(folder.path(), "text.rs").unwrap_err();
    assert!(error.to_string().starts_with("`volta` is no architecture of GPUs"), "{error}");
}
