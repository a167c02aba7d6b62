//! `cotangent run --nvcc`: programs that the real nvcc compiled and linked, run without a GPU.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path)
}

fn run(file: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.args(["run", "--nvcc"]).arg(file).args(words).output().expect("the command can be started")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs a program of this text.
fn run_text(text: &str, words: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("there is room for a program");
    let file = folder.path().join("program.cu");
    std::fs::write(&file, text).expect("it can be written");
    run(&file, words)
}

#[test]
fn examples_run_as_nvcc_compiled_them() {
    for (file, expected) in [
        ("black_scholes/black_scholes.cu", "as the closed form"),
        ("contraction/contraction.cu", "right"),
        ("time_loop/time_loop.cu", "difference"),
        ("tour.cu", "all is well"),
    ] {
        let output = run(&example(file), &[]);
        assert!(output.status.success() && said(&output).contains(expected), "{file}: {}", said(&output));
    }
}

/// Fifteen threads write 16 bytes each, at an address that a GPU refuses.
const MISALIGNED: &str = "
__global__ void k(float* a) { reinterpret_cast<float4*>(a + 1)[threadIdx.x] = float4{1, 2, 3, 4}; }
int main() {
  float* a;
  cudaMalloc(&a, 1024);
  k<<<1, 15>>>(a);
  return cudaDeviceSynchronize();
}
";

#[test]
fn what_a_gpu_would_refuse_is_refused() {
    let output = run_text(MISALIGNED, &[]);
    assert_eq!(output.status.code(), Some(716 % 256), "{}", said(&output));
    assert!(said(&output).contains("program.cu:2"), "{}", said(&output));
    let output = run_text(MISALIGNED, &["--check"]);
    assert!(said(&output).contains("error[X0107]"), "{}", said(&output));
}

/// The host does not wait for the kernel before it reads.
const UNSYNCHRONISED: &str = "
#include <cstdio>
__global__ void k(int* a) { *a = 7; }
int main() {
  int* a;
  cudaMallocManaged(&a, sizeof(int));
  *a = 1;
  k<<<1, 1>>>(a);
#ifdef CORRECTED
  cudaDeviceSynchronize();
#endif
  std::printf(\"%d\\n\", *a);
}
";

#[test]
fn work_is_done_as_late_as_it_may_be() {
    assert_eq!(said(&run_text(UNSYNCHRONISED, &[])), "1\n");
    assert_eq!(said(&run_text(UNSYNCHRONISED, &["--", "-DCORRECTED"])), "7\n");
}

#[test]
fn what_the_host_touches_is_checked() {
    for (name, code) in [("host_race", "X0207"), ("managed_race", "X0207"), ("device_pointer", "X0104")] {
        let output = run(&example(&format!("checks/{name}.cu")), &["--check"]);
        let expected = format!("error[{code}]");
        assert!(!output.status.success() && said(&output).contains(&expected), "{name}: {}", said(&output));
        let output = run(&example(&format!("checks/{name}_fixed.cu")), &["--check"]);
        assert!(output.status.success() && !said(&output).contains("check:"), "{name}: {}", said(&output));
    }
}

#[test]
fn threads_that_returned_before_a_barrier_are_noted() {
    let output = run(&example("checks/returned_threads.cu"), &["--check"]);
    let said_of = said(&output);
    let is_noted = ["note[X0303]", "returned_threads.cu:10", "14 threads"].iter().all(|part| said_of.contains(part));
    assert!(output.status.success() && is_noted, "{said_of}");
    let output = run(&example("checks/returned_threads_fixed.cu"), &["--check"]);
    assert!(output.status.success() && !said(&output).contains("note["), "{}", said(&output));
}

/// The host touches memory in other ways than by single accesses, while a stream may still work on it.
const PENDING: &str = "
#include <cstring>
__global__ void k(int* a) { a[threadIdx.x] += 1; }
int main() {
  int *a, b[8];
  cudaMallocManaged(&a, sizeof b);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaEvent_t event;
  cudaEventCreate(&event);
  k<<<1, 8, 0, stream>>>(a);
  cudaEventRecord(event, stream);
#ifdef WAITS
  cudaEventSynchronize(event);
#endif
  TOUCHED
  cudaDeviceSynchronize();
  return 0;
}
";

#[test]
fn copies_fills_and_atomics_of_the_host_are_checked() {
    for touched in
        ["std::memcpy(b, a, sizeof b);", "std::memset(a, 0, sizeof b);", "__atomic_fetch_add(a, 1, __ATOMIC_SEQ_CST);"]
    {
        let text = PENDING.replace("TOUCHED", touched);
        let said_of = |flags: &[&str]| said(&run_text(&text, &[&["--check", "--", "-O2"], flags].concat()));
        let found = said_of(&[]);
        assert!(found.contains("error[X0207]") && found.contains("program.cu:16  "), "{touched}: {found}");
        assert_eq!(said_of(&["-DWAITS"]), "", "{touched}");
    }
}

#[test]
fn the_library_is_found_for_programs_that_are_built_elsewhere() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    let output = command.args(["where", "cudart"]).output().expect("the command can be started");
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    assert!(folder.join("libcudart.so.13").canonicalize().is_ok_and(|library| library.is_file()), "{}", said(&output));
}

#[test]
fn what_nvcc_refuses_is_a_fault_of_the_program() {
    let output = run_text("int main() { return undeclared; }", &[]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("undeclared"));
}

/// The program asks for the same derivative itself.
const WITH_REQUEST: &str = "
#include <cotangent/cotangent.hpp>
struct Particle { float x, v; };
__global__ void push(Particle* p, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i].x += dt * p[i].v * p[i].v;
}
int main() {
  auto derivative = cotangent::gradient(push, \"p, dt\");
  (void)derivative;
}
";

#[test]
fn derivatives_are_checked_as_nvcc_compiled_them() {
    let folder = tempfile::tempdir().expect("there is room for a program");
    let file = folder.path().join("program.cu");
    std::fs::write(&file, WITH_REQUEST).expect("it can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.arg("check").arg(file).args(["--fn", "push", "--wrt", "p, dt", "--nvcc"]);
    command.args(["--launch", "2x16", "--args", "in<Particle>(30), 0.1f, 30"]);
    let output = command.output().expect("the command can be started");
    let said = said(&output);
    let row = said.lines().find(|line| line.contains("as nvcc compiled them")).unwrap_or_default();
    assert!(output.status.success() && row.ends_with("ok"), "{said}");
}

/// Returns 0 if vectors are made of the words that ours have: something, the first element, how many have room, how many are.
const VECTORS: &str = "
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <cstring>
template <class Vector>
bool lies_as_ours(const Vector& vector) {
  std::size_t words[4];
  static_assert(sizeof(Vector) == sizeof words);
  std::memcpy(words, &vector, sizeof words);
  return words[1] == (std::size_t)thrust::raw_pointer_cast(vector.data()) && words[2] == vector.capacity() &&
         words[3] == vector.size();
}
int main() {
  thrust::device_vector<double> device(5);
  thrust::host_vector<double> host(5);
  device.resize(3);
  host.resize(3);
  return lies_as_ours(device) && lies_as_ours(host) ? 0 : 3;
}
";

#[test]
fn vectors_of_thrust_lie_in_memory_as_those_that_derivatives_read() {
    let output = run_text(VECTORS, &[]);
    assert!(output.status.success(), "NVIDIA's: {}", said(&output));
    let folder = tempfile::tempdir().expect("there is room for a program");
    let file = folder.path().join("program.cu");
    std::fs::write(&file, VECTORS).expect("it can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    let output = command.arg("run").arg(file).output().expect("the command can be started");
    assert!(output.status.success(), "ours: {}", said(&output));
}

/// The second pointer promises that nobody writes what it points to; it points to what the first one writes.
const READ_ONLY_CACHE: &str = "
__global__ void k(float* a, const float* __restrict__ b) {
  const float first = b[threadIdx.x];
  __syncthreads();
  a[(threadIdx.x + 1) % 32] = first;
}
int main() {
  float *a, *b;
  cudaMalloc(&a, 128);
  cudaMalloc(&b, 128);
  cudaMemset(a, 0, 128);
  cudaMemset(b, 0, 128);
  k<<<1, 32>>>(a, SECOND);
  return cudaDeviceSynchronize();
}
";

#[test]
fn memory_that_a_launch_writes_is_not_read_through_the_read_only_cache() {
    let faulty = run_text(&READ_ONLY_CACHE.replace("SECOND", "a"), &["--check"]);
    assert!(said(&faulty).contains("error[X0209]"), "{}", said(&faulty));
    assert!(said(&faulty).contains("program.cu:3") && said(&faulty).contains("program.cu:5"), "{}", said(&faulty));
    let right = run_text(&READ_ONLY_CACHE.replace("SECOND", "b"), &["--check"]);
    assert!(right.status.success() && !said(&right).contains("X0209"), "{}", said(&right));
}

/// The adjoint of a device function's pointer in a thread's own memory, for which there are no atomics, in shared memory
/// and in global memory. The two threads share the last two.
const ADJOINTS_ANYWHERE: &str = "
#include <cotangent/cotangent.hpp>
__device__ double norm2(const double* a, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += a[i] * a[i];
  return s;
}
__global__ void k(double* own, double* of_block, double* of_all) {
  __shared__ double shared[3];
  double a[3] = {1, 2, 3}, da[3] = {};
  if (threadIdx.x == 0) for (double& v : shared) v = 0;
  __syncthreads();
  auto g = cotangent::gradient(norm2, \"a\");
  g.execute(a, 3, da);
  g.execute(a, 3, shared);
  g.execute(a, 3, of_all);
  __syncthreads();
  for (int i = 0; i < 3; i++) {
    own[3 * threadIdx.x + i] = da[i];
    if (threadIdx.x == 0) of_block[i] = shared[i];
  }
}
int main() {
  double* r;
  cudaMallocManaged(&r, 12 * sizeof(double));
  for (int i = 0; i < 12; i++) r[i] = 0;
  k<<<1, 2>>>(r, r + 6, r + 9);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < 6; i++) if (r[i] != 2.0 * (i % 3 + 1)) return 2;
  for (int i = 6; i < 12; i++) if (r[i] != 4.0 * (i % 3 + 1)) return 3;
}
";

#[test]
fn adjoints_of_device_functions_may_be_in_any_memory() {
    let output = run_text(ADJOINTS_ANYWHERE, &["--", "-Werror", "all-warnings"]);
    assert!(output.status.success() && said(&output).is_empty(), "{:?}: {}", output.status, said(&output));
}
