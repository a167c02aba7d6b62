//! `cotangent check --against`: a backward function that is right, and some that are not.

use std::process::Command;

/// What the command says for a program, on both streams, and its exit code.
fn said(program: &str, words: &[&str]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program.cu"), program).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.current_dir(folder.path()).args(["check", "program.cu"]).args(words).env_remove("CLICOLOR_FORCE");
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (text.concat(), output.status.code())
}

/// Two threads share an element of `b`. `FACTOR` and `ADD` are what the tests spoil.
const BLEND: &str = "#define WIDTH 3.0f\n\
    __global__ void blend(const float* a, const float* b, float* out, int n) {\n  \
    int i = blockIdx.x * blockDim.x + threadIdx.x;\n  \
    if (i < n) out[i] = a[i] * a[i] * b[i / 2] / WIDTH;\n}\n\
    template <class T>\n__global__ void backward(const T* grad, const T* a, const T* b, T* grad_a, T* grad_b, long n) {\n  \
    int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n  \
    grad_a[i] = grad[i] * FACTOR a[i] * b[i / 2] / WIDTH;\n  \
    ADD(grad_b[i / 2], grad[i] * a[i] * a[i] / WIDTH);\n}\n";

const ATOMIC: &str = "#define ADD(x, y) atomicAdd(&(x), y)\n";

const WORDS: [&str; 8] = [
    "--fn",
    "blend",
    "--args",
    "in<float>(64), in<float>(32), out<float>(64), 61",
    "--against",
    "backward<float>",
    "--against-args",
    "d_out, a, b, d_a, d_b, n",
];

#[test]
fn an_equal_backward_is_equal_to_rounding() {
    let (text, code) = said(&format!("{ATOMIC}#define FACTOR 2 *\n{BLEND}"), &WORDS);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("equal to rounding (1e-6)"), "{text}");
    // What is given is no result.
    assert!(text.contains("  d_a ") && text.contains("  d_b ") && !text.contains("  d_out "), "{text}");
}

#[test]
fn a_missing_factor_is_found_where_it_is_missing() {
    let (text, code) = said(&format!("{ATOMIC}#define FACTOR\n{BLEND}"), &WORDS);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("they differ at d_a[") && text.contains("(61 of 64 numbers)"), "{text}");
    assert!(text.contains("central differences agree with ours"), "{text}");
    assert!(!text.contains("they differ at d_b[") && !text.contains("equal to rounding"), "{text}");
}

#[test]
fn a_missing_atomic_is_a_race_of_the_backward() {
    let (text, code) = said(&format!("#define ADD(x, y) x += y\n#define FACTOR 2 *\n{BLEND}"), &WORDS);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("the checks of memory object to backward<float>"), "{text}");
    assert!(text.contains("error[X0203]") && !text.contains("equal to rounding"), "{text}");
}

#[test]
fn the_same_as_json() {
    let words: Vec<&str> = WORDS.into_iter().chain(["--json"]).collect();
    let (text, code) = said(&format!("{ATOMIC}#define FACTOR\n{BLEND}"), &words);
    assert_eq!(code, Some(1), "{text}");
    for part in
        ["\"function\": \"blend\"", "\"ok\": false", "\"at\": \"d_a[", "\"right\": \"ours\"", "\"right\": \"both\""]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// A rule that replaces the derivative of a step is another function than the step: differences tell.
#[test]
fn differences_may_agree_with_the_backward() {
    let program = "#include <cotangent/rules.hpp>\n\
        __device__ float soft(float x) { return x * x; }\n\
        __device__ void soft_pullback(float x, float _d_result, float* _d_x) { *_d_x += _d_result * x; }\n\
        COTANGENT_PULLBACK(soft, soft_pullback);\n\
        __global__ void f(const float* x, float* y) { y[threadIdx.x] = soft(x[threadIdx.x]); }\n\
        __global__ void b(const float* x, const float* d_y, float* d_x) {\n  \
        d_x[threadIdx.x] = 2 * x[threadIdx.x] * d_y[threadIdx.x];\n}\n";
    let words = ["--fn", "f", "--launch", "1x32", "--against", "b", "--against-args", "x, d_y, d_x"];
    let (text, code) = said(program, &words);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("central differences agree with b"), "{text}");
}

#[test]
fn an_array_that_is_changed_in_place_is_compared() {
    let program = "__global__ void wave(float* x) { x[threadIdx.x] = tanhf(x[threadIdx.x]); }\n\
        __global__ void back(float* d_x, const float* x) {\n  \
        d_x[threadIdx.x] *= 1 - x[threadIdx.x] * x[threadIdx.x];\n}\n\
        __global__ void idle(float* d_x) {}\n";
    let words = ["--fn", "wave", "--launch", "1x32", "--against"];
    let (text, code) = said(program, &[&words[..], &["back", "--against-args", "d_x, x"]].concat());
    assert_eq!(code, Some(0), "{text}");
    let (text, code) = said(program, &[&words[..], &["idle", "--against-args", "d_x"]].concat());
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("they differ at d_x["), "{text}");
}

/// Two kernels, each with a launch of its own, and an array that only the second takes; and a host function that
/// launches both.
#[test]
fn several_functions_run_one_after_another() {
    let program = "#include <cuda_runtime.h>\n\
        __global__ void scale(const float* x, float s, float* y) { y[threadIdx.x] = s * x[threadIdx.x]; }\n\
        __global__ void of_x(const float* d_y, float s, float* d_x) { d_x[threadIdx.x] = s * d_y[threadIdx.x]; }\n\
        __global__ void of_s(const float* d_y, const float* x, float* d_s, float* scratch, int n) {\n  \
        scratch[0] = 0;\n  for (int i = 0; i < n; ++i) scratch[0] += x[i] * d_y[i];\n  *d_s += scratch[0];\n}\n\
        void both(const float* d_y, const float* x, float s, float* d_x, float* d_s, float* scratch) {\n  \
        of_x<<<1, 32>>>(d_y, s, d_x);\n  of_s<<<1, 1>>>(d_y, x, d_s, scratch, 32);\n}\n";
    let words = ["--fn", "scale", "--launch", "1x32", "--args", "in<float>(32), 0.7f, out<float>(32)"];
    let apart = [
        ["--against", "of_x", "--against-args", "d_y, s, d_x", "--against-launch", "1x32"],
        ["--against", "of_s", "--against-args", "d_y, x, d_s, out<float>(1), 32", "--against-launch", "1x1"],
    ];
    let together = ["--against", "both", "--against-args", "d_y, x, s, d_x, d_s, out<float>(1)"];
    for against in [&apart.concat()[..], &together] {
        let (text, code) = said(program, &[&words[..], against].concat());
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("  d_s ") && text.contains("equal to rounding"), "{text}");
    }
}

#[test]
fn mistakes_in_the_arguments_are_told() {
    let program = format!("{ATOMIC}#define FACTOR 2 *\n{BLEND}");
    let mistake = |function: &str, arguments: &str| {
        let mut words = WORDS;
        (words[5], words[7]) = (function, arguments);
        said(&program, &[&words[..], &["--wrt", "a,out"]].concat()).0
    };
    let text = mistake("backward<float>", "d_out, a, b, d_a, d_b, n");
    assert!(text.contains("`d_b` is the adjoint of a parameter that --wrt does not name"), "{text}");
    let text = mistake("backwards", "d_out, a, b, d_a, d_b, n");
    assert!(text.contains("there is no function `backwards`"), "{text}");
    let text = mistake("backward<float>", "a, a, b, out<float>(64), out<float>(32), n");
    assert!(text.contains("--against-args names no adjoint"), "{text}");
    let text = mistake("backward<float>", "d_out, a, b, d_a, out<int>(32), n");
    assert!(text.contains("holds other numbers than the function takes"), "{text}");
}
