//! What `cotangent check` says besides right and wrong: about functions that race themselves, derivatives that are zero,
//! code that is not there, and records of any size.

use std::process::{Command, Output};

/// A header beside each program.
const CONSTANTS: &str = "#pragma once\n#include <cmath>\n#define STEP 0.002f\n#define WIDTH 20.0f\n";

fn check(program: &str, words: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program.cu"), program).unwrap();
    std::fs::write(folder.path().join("constants.h"), CONSTANTS).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.current_dir(folder.path()).args(["check", "program.cu"]).args(words).env_remove("CLICOLOR_FORCE");
    command.output().unwrap()
}

/// What it says, on both streams, and its exit code.
fn said(program: &str, words: &[&str]) -> (String, Option<i32>) {
    let output = check(program, words);
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (text.concat(), output.status.code())
}

/// Records a value in every step.
const LOGISTIC: &str = "__device__ float orbit(float x, int steps) {\n  float v = x;\n  \
    for (int s = 0; s < steps; ++s) v = cosf(v) * x;\n  return v;\n}\n\
    __global__ void orbits(const float* x, float* y, int steps) {\n  \
    int i = blockIdx.x * blockDim.x + threadIdx.x;\n  y[i] = orbit(x[i], steps);\n}\n";

#[test]
fn a_record_has_as_many_slots_as_it_needs() {
    let arguments = "in<float>(64), out<float>(64), 1300";
    for words in [&["--fn", "orbits", "--args", arguments][..], &["--fn", "orbit", "--args", "0.7f, 5000"]] {
        let (text, code) = said(LOGISTIC, words);
        assert_eq!(code, Some(0), "{text}");
    }
}

/// A host function that the kernel has nothing to do with needs what other files have: functions and variables.
const ONE_OF_SEVERAL_FILES: &str = "void report();\nextern int verbosity;\nextern float table[];\n\
    __global__ void cube(const float* x, float* y) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  \
    y[i] = x[i] * x[i] * x[i];\n}\n\
    void driver() {\n  if (verbosity > 0) report();\n  void (*later)() = report;\n  later();\n  table[0] = 1;\n}\n";

#[test]
fn code_that_the_function_does_not_need_may_need_other_files() {
    let (text, code) = said(ONE_OF_SEVERAL_FILES, &["--fn", "cube"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("64 threads"), "two blocks: {text}");
}

/// Neighbours are read without a barrier.
const NO_BARRIER: &str = "__global__ void turn(const float* x, float* y) {\n  __shared__ float row[32];\n  \
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n  row[t] = x[i] * x[i];\n  y[i] = row[31 - t];\n}\n";

#[test]
fn a_race_of_the_function_itself_is_not_the_derivatives() {
    for words in [&["--fn", "turn"][..], &["--fn", "turn", "--launch", "1x32"]] {
        let (text, code) = said(NO_BARRIER, words);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("`turn` itself is at fault, not its derivative"), "{text}");
        assert!(text.contains("error[X0202]") && text.contains("program.cu:5"), "{text}");
    }
}

#[test]
fn a_kernel_for_one_block_is_checked_with_one_and_that_is_said() {
    let program = "__global__ void twice(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }\n";
    let (text, code) = said(program, &["--fn", "twice"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("32 threads") && text.contains("checked with one block"), "{text}");
    let (text, code) = said(program, &["--fn", "twice", "--launch", "2x32"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("`twice` itself is at fault") && text.contains("note[X0210]"), "{text}");
}

#[test]
fn a_flag_that_several_threads_raise_does_not_end_the_check() {
    let program = "__global__ void bend(const float* x, float* y, int* is_large) {\n  \
        int i = blockIdx.x * blockDim.x + threadIdx.x;\n  float v = x[i] * x[i];\n  \
        if (v > 1.0f) {\n    *is_large = VALUE;\n    v = 0.5f + 0.5f * v;\n  }\n  y[i] = v;\n}\n";
    let (text, code) = said(&program.replace("VALUE", "1"), &["--fn", "bend"]);
    assert_eq!(code, Some(0), "{text}");
    let (text, code) = said(&program.replace("VALUE", "i"), &["--fn", "bend"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("`bend` itself is at fault") && text.contains("error[X020"), "{text}");
}

#[test]
fn assembly_of_the_gpu_is_checked_as_nvcc_compiles_it() {
    let program = "#include <cotangent/rules.hpp>\n__device__ float root(float x) {\n  float y;\n  \
        asm(\"sqrt.rn.f32 %0, %1;\" : \"=f\"(y) : \"f\"(x));\n  return y;\n}\n\
        __device__ void root_pullback(float x, float seed, float* _d_x) { *_d_x += seed * FACTOR / root(x); }\n\
        COTANGENT_PULLBACK(root, root_pullback);\n__global__ void roots(const float* x, float* y, int n) {\n  \
        int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = root(x[i]);\n}\n";
    let (text, code) = said(&program.replace("FACTOR", "0.5f"), &["--fn", "roots"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("checked as nvcc compiles it"), "{text}");
    let (text, code) = said(&program.replace("FACTOR", "0.25f"), &["--fn", "roots"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("WRONG"), "{text}");
}

#[test]
fn derivatives_that_are_all_zero_prove_nothing() {
    let program = "__global__ void steps(const float* x, float* y) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  \
        y[i] = floorf(x[i]) + 1;\n}\n";
    let (text, code) = said(program, &["--fn", "steps"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("nothing was proved"), "{text}");
    let (text, _) = said(&program.replace("floorf", "sinf"), &["--fn", "steps"]);
    assert!(!text.contains("nothing was proved"), "{text}");
}

#[test]
fn an_impossible_launch_is_said_by_name() {
    let program = "__global__ void half(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] / 2; }\n";
    let (text, _) = said(program, &["--fn", "half", "--launch", "1x4096", "--args", "in<float>(8), out<float>(8)"]);
    assert!(text.contains("cudaErrorInvalidConfiguration (invalid configuration argument)"), "{text}");
}

/// Its constants are those of a header: both are computed with in double precision, or neither.
#[test]
fn constants_of_the_programs_headers_are_widened_too() {
    let program = "#include \"constants.h\"\nvoid scale(const float* x, float* y) {\n  \
        float factor = (STEP * STEP) / (WIDTH * WIDTH);\n  y[0] = factor * sqrtf(x[0]);\n}\n";
    let (text, code) = said(program, &["--fn", "scale", "--args", "in<float>(1), out<float>(1)"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("widened"), "{text}");
}

/// The format says how many bytes are written.
#[test]
fn floats_that_scanf_reads_stay_floats() {
    let program = "#include <cstdio>\nvoid scale(const float* x, float* y) {\n  float factor = 0.0f;\n  \
        sscanf(\"2.5\", \"%f\", &factor);\n  y[0] = factor * x[0];\n}\n";
    let (text, code) = said(program, &["--fn", "scale", "--args", "in<float>(1), out<float>(1)"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("native precision only") && !text.contains("nothing was proved"), "{text}");
}

/// What is named of a program is a change of its own input, which is zero. Near a kink it is moved by less than 1, and not by nothing.
#[test]
fn changes_of_a_programs_input_are_moved_near_a_kink_too() {
    let program = "__global__ void distance(const double* x, double* y) { y[threadIdx.x] = fabs(x[threadIdx.x] - 0.25); }\n\
        int main() {\n  double x[2] = {0.25005, 0.24995};\n  double *d_x, *d_y;\n  cudaMalloc(&d_x, sizeof(x));\n  \
        cudaMalloc(&d_y, sizeof(x));\n  cudaMemcpy(d_x, x, sizeof(x), cudaMemcpyHostToDevice);\n  distance<<<1, 2>>>(d_x, d_y);\n  \
        cudaMemcpy(x, d_y, sizeof(x), cudaMemcpyDeviceToHost);\n  cudaFree(d_x);\n  cudaFree(d_y);\n}\n";
    let words = ["--fn", "main", "--wrt", "d_x", "--of", "d_y", "--args", "out<double>(2), out<double>(2)"];
    let (text, code) = said(program, &words);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("drawn anew") && !text.contains("nothing was proved"), "{text}");
}

/// No two runs take the same time.
#[test]
fn a_time_that_is_returned_is_not_compared() {
    let program = "#include <chrono>\n__global__ void square(const double* x, double* y) { y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x]; }\n\
        double timed(const double* x, double* y) {\n  auto start = std::chrono::steady_clock::now();\n  square<<<1, 8>>>(x, y);\n  \
        double taken = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();\n  \
        return (taken /= 1.0e6);\n}\n";
    let words = ["--fn", "timed", "--args", "in<double>(8), out<double>(8)"];
    let (text, code) = said(program, &words);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("it is not compared") && !text.contains("nothing was proved"), "{text}");
    let (text, _) = said(&program.replace("return (taken /= 1.0e6)", "return 0.0 * taken + x[0]"), &words);
    assert!(!text.contains("it is not compared"), "{text}");
}

/// With `float` as `double`, four bytes are half of a number.
#[test]
fn floats_whose_bytes_the_program_counts_stay_floats() {
    let program = "__global__ void total(const float* x, float* sum) { atomicAdd(sum, x[threadIdx.x] * x[threadIdx.x]); }\n\
        void sums(const float* x, float* sum) {\n  float* partial;\n  cudaMalloc(&partial, sizeof(float));\n  \
        for (int k = 0; k < 2; ++k) {\n    cudaMemset(partial, 0, 4);\n    total<<<1, 8>>>(x, partial);\n  }\n  \
        cudaMemcpy(sum, partial, sizeof(float), cudaMemcpyDeviceToDevice);\n  cudaFree(partial);\n}\n";
    let words = ["--fn", "sums", "--wrt", "x,sum", "--args", "in<float>(8), out<float>(1)"];
    let (text, code) = said(program, &words);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("native precision only") && !text.contains("nothing was proved"), "{text}");
    let (text, _) = said(&program.replace("0, 4", "0, 1 * sizeof(int)"), &words);
    assert!(text.contains("native precision only"), "{text}");
    let (text, code) = said(&program.replace("0, 4", "0, sizeof(float)"), &words);
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("native precision only"), "{text}");
}

/// The headers of the derivative come after the program's text.
#[test]
fn macros_of_the_program_do_not_reach_the_headers_of_its_derivative() {
    let program = "#include <cuda_runtime.h>\n#define max(x, y) ((x) > (y) ? (x) : (y))\n#define ceil(a, b) ((a) / (b))\n\
        void f(const double* x, double* y, int n) {\n  double* d;\n  cudaMalloc(&d, n * sizeof(double));\n  \
        cudaMemcpy(d, x, n * sizeof(double), cudaMemcpyHostToDevice);\n  \
        cudaMemcpy(y, d, max(n, 1) * sizeof(double), cudaMemcpyDeviceToHost);\n  cudaFree(d);\n}\n";
    let (text, code) = said(program, &["--fn", "f", "--args", "in<double>(4), out<double>(4), 4"]);
    assert_eq!(code, Some(0), "{text}");
}

/// Elements one by one, in a range and by a file, and arrays of pointers.
#[test]
fn arrays_are_given_by_their_contents() {
    let program = "void f(double* u[2], const int* order, const double* w, double* y) {\n  \
        for (int i = 0; i < 3; ++i) y[i] = u[1][order[i]] * u[0][i] * w[i];\n}\n";
    let arguments = "[in<double>(3, -1, 1), range<double>(3, 0.5, 0.25)], [2, 0, 1], in<double>(3), out<double>(3)";
    let (text, code) = said(program, &["--fn", "f", "--wrt", "u,w,y", "--args", arguments]);
    assert_eq!(code, Some(0), "{text}");
}

/// CUB asks for a barrier before its storage is used again, and so do our headers.
#[test]
fn storage_of_cub_that_is_used_twice_without_a_barrier_is_a_race() {
    let program = "#include <cub/cub.cuh>\n__global__ void twice(const float* x, float* y) {\n  \
        using BlockReduce = cub::BlockReduce<float, 64>;\n  __shared__ typename BlockReduce::TempStorage storage;\n  \
        float sum = BlockReduce(storage).Sum(x[threadIdx.x]);\n  BARRIER\n  \
        float largest = BlockReduce(storage).Reduce(x[threadIdx.x], cub::Max());\n  \
        if (threadIdx.x == 0) y[0] = sum * largest;\n}\n";
    let words = ["--fn", "twice", "--launch", "1x64", "--args", "in<float>(64), out<float>(1)"];
    let (text, code) = said(&program.replace("BARRIER", ""), &words);
    assert_ne!(code, Some(0), "{text}");
    assert!(text.contains("`twice` itself is at fault") && text.contains("error[X0202]"), "{text}");
    let (text, code) = said(&program.replace("BARRIER", "__syncthreads();"), &words);
    assert_eq!(code, Some(0), "{text}");
}

/// Random numbers of the toolkit's cuRAND.
const RANDOM: &str = "#include <curand_kernel.h>\n\
    __global__ void walk(const float* x, float* y, int n, unsigned long long seed) {\n  \
    int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n  curandStatePhilox4_32_10_t state;\n  \
    curand_init(seed, i, 0, &state);\n  float drift = curand_uniform(&state);\n  \
    y[i] = drift * x[i] * x[i] + curand_normal(&state) * x[i];\n}\n";

#[test]
fn random_numbers_of_the_toolkit_are_constants() {
    let words = ["--fn", "walk", "--nvcc", "--args", "in<float>(64), in<float>(64), 60, 7"];
    let (text, code) = said(RANDOM, &words);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("64 threads") && text.contains("native precision only"), "{text}");
}

/// As wide as two doubles: with `float` as `double`, half of the numbers would be copied.
#[test]
fn floats_that_are_copied_as_integers_stay_floats() {
    let program = "__global__ void copy(const float* x, float* y) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  \
        ((int4*)y)[i] = ((const int4*)x)[i];\n}\n";
    let (text, code) = said(program, &["--fn", "copy", "--args", "in<float>(256), out<float>(256)"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("native precision only") && !text.contains("nothing was proved"), "{text}");
}

/// What stands for PyTorch's accessors where PyTorch is not there.
#[test]
fn accessors_of_tensors_are_structs() {
    let program = "#include <cotangent/tensors.h>\n\
        template <typename T>\n__global__ void blend(const torch::PackedTensorAccessor32<T, 2, torch::RestrictPtrTraits> in,\n  \
        const at::PackedTensorAccessor64<T, 1> w, torch::PackedTensorAccessor32<T, 2, torch::RestrictPtrTraits> out) {\n  \
        const int i = threadIdx.x;\n  if (i >= in.size(0)) return;\n  auto row = in[i];\n  T sum = 0;\n  \
        for (int j = 0; j < in.size(1); j++) sum += w[j] * row[j];\n  \
        for (int j = 0; j < out.size(1); j++) out[i][j] = sum * in[i][j];\n}\n\
        template __global__ void blend<float>(const torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits>,\n  \
        const at::PackedTensorAccessor64<float, 1>, torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits>);\n";
    let arguments = "A{in<float>(12), 3, 4, 4, 1}, A{in<float>(4), 4, 1}, A{out<float>(12), 3, 4, 1, 3}";
    let (text, code) = said(program, &["--fn", "blend<float>", "--launch", "1x8", "--args", arguments]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("widened") && !text.contains("nothing was proved"), "{text}");
}

/// A type that is nothing but sixteen bytes carries four numbers.
#[test]
fn storage_that_is_copied_carries_numbers() {
    let program = "#include <type_traits>\n\
        template <typename T>\n__device__ void load_store(T* to, T* from, int at_to, int at_from) {\n  \
        typedef typename std::aligned_storage<4 * sizeof(T), 4 * alignof(T)>::type Four;\n  \
        ((Four*)to)[at_to] = ((Four*)from)[at_from];\n}\n\
        __global__ void squares(float* out, float* x) {\n  int i = threadIdx.x;\n  float four[4];\n  \
        load_store(four, x, 0, i);\n  for (int j = 0; j < 4; j++) four[j] = four[j] * four[j] + four[0];\n  \
        load_store(out, four, i, 0);\n}\n";
    let arguments = "out<float>(32), in<float>(32)";
    let (text, code) = said(program, &["--fn", "squares", "--launch", "1x8", "--args", arguments]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("native precision only") && !text.contains("nothing was proved"), "{text}");
}

/// What stands for PyTorch's shuffles where PyTorch is not there.
#[test]
fn shuffles_of_pytorch_are_shuffles() {
    let program = "#include <cotangent/shuffles.h>\n\
        template <typename T>\n__global__ void sums(const T* x, T* out) {\n  T sum = x[threadIdx.x] * x[threadIdx.x];\n  \
        for (int by = 16; by > 0; by /= 2) sum += WARP_SHFL_DOWN(sum, by);\n  \
        out[threadIdx.x] = WARP_SHFL(sum, 0) * x[threadIdx.x];\n}\n\
        template __global__ void sums<float>(const float*, float*);\n";
    let arguments = "in<float>(32), out<float>(32)";
    let (text, code) = said(program, &["--fn", "sums<float>", "--launch", "1x32", "--args", arguments]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("widened") && !text.contains("nothing was proved"), "{text}");
}

/// The check's own names are not those of the program's macros.
#[test]
fn macros_of_one_letter_change_nothing() {
    let program = "#define R 4\n#define P 2\n#define T 3\n\
        __global__ void scale(const float* a, float* out) {\n  out[threadIdx.x] = R * P * T * a[threadIdx.x] * a[threadIdx.x];\n}\n";
    let (text, code) = said(program, &["--fn", "scale", "--launch", "1x8", "--args", "in<float>(8), out<float>(8)"]);
    assert_eq!(code, Some(0), "{text}");
}

/// Numbers that are small by nature are moved in proportion, so that something is compared.
#[test]
fn small_numbers_are_compared() {
    let program = "__global__ void logs(const double* a, double* out) { out[threadIdx.x] = log(a[threadIdx.x]); }\n";
    let arguments = "in<double>(8, 0.00001, 0.00002), out<double>(8)";
    let (text, code) = said(program, &["--fn", "logs", "--launch", "1x8", "--args", arguments]);
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("left out"), "{text}");
}

/// A function is found by less than its whole name, and called by the whole.
#[test]
fn names_may_leave_out_what_is_clear() {
    let program = "namespace a {\ntemplate <typename T> __global__ void square(const T* x, T* y) { y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x]; }\n}\n\
        __global__ void twice(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }\n\
        void twice(const float* x, float* y, int block) { twice<<<1, block>>>(x, y); a::square<float><<<1, block>>>(x, y); }\n";
    for function in ["square", "square<float>", "a::square", "twice"] {
        let arguments = "in<float>(4), out<float>(4)";
        let (text, code) = said(program, &["--fn", function, "--launch", "1x4", "--args", arguments]);
        assert_eq!(code, Some(0), "{function}: {text}");
    }
}
