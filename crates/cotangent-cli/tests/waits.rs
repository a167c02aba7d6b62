//! How often the host waits while the gradient of a time loop runs: the executor counts it.

use std::path::Path;
use std::process::Command;

/// `quiet` reads nothing back; `watched` looks at an element in each step.
const PROGRAM: &str = r#"
#include <cotangent/cotangent.hpp>
#include <cstdlib>
#include <cstring>

__global__ void step(const float* u, float rate, float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = u[i] + rate * u[i] * u[i > 0 ? i - 1 : n - 1];
}

void quiet(const float* from, float* to, float rate, int n, int steps) {
  float *u, *v;
  cudaMalloc(&u, n * sizeof(float));
  cudaMalloc(&v, n * sizeof(float));
  cudaMemcpy(u, from, n * sizeof(float), cudaMemcpyDeviceToDevice);
  for (int t = 0; t < steps; ++t) {
    step<<<(n + 31) / 32, 32>>>(u, rate, v, n);
    step<<<(n + 31) / 32, 32>>>(v, rate, u, n);
  }
  cudaMemcpy(to, u, n * sizeof(float), cudaMemcpyDeviceToDevice);
  cudaFree(u);
  cudaFree(v);
}

void watched(const float* from, float* to, float rate, int n, int steps) {
  float *u, *v;
  cudaMalloc(&u, n * sizeof(float));
  cudaMalloc(&v, n * sizeof(float));
  cudaMemcpy(u, from, n * sizeof(float), cudaMemcpyDeviceToDevice);
  for (int t = 0; t < steps; ++t) {
    float first;
    cudaMemcpy(&first, u, sizeof(float), cudaMemcpyDeviceToHost);
    step<<<(n + 31) / 32, 32>>>(u, rate * first, v, n);
    step<<<(n + 31) / 32, 32>>>(v, rate, u, n);
  }
  cudaMemcpy(to, u, n * sizeof(float), cudaMemcpyDeviceToDevice);
  cudaFree(u);
  cudaFree(v);
}

int main(int argc, char** argv) {
  const int n = 100, steps = std::atoi(argv[2]);
  float *from, *to, *d_from, *d_to, d_rate = 0;
  for (float** array : {&from, &to, &d_from, &d_to}) {
    cudaMalloc(array, n * sizeof(float));
    cudaMemset(*array, 0, n * sizeof(float));
  }
  auto of_quiet = cotangent::gradient(quiet, "from, to, rate");
  auto of_watched = cotangent::gradient(watched, "from, to, rate");
  if (std::strcmp(argv[1], "quiet") == 0) {
    of_quiet.execute(from, to, 0.1f, n, steps, d_from, d_to, &d_rate);
  } else {
    of_watched.execute(from, to, 0.1f, n, steps, d_from, d_to, &d_rate);
  }
  return 0;
}
"#;

/// What is said of the waits of a gradient of so many steps.
fn waits(file: &Path, which: &str, steps: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.arg("run").arg(file).args(["--args", which, steps]).env("COTANGENT_COUNT_WAITS", "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.starts_with("cotangent: the host waited "), "{said}");
    said
}

#[test]
fn a_time_loop_that_reads_nothing_back_waits_as_often_in_ten_steps_as_in_a_hundred() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("loop.cu");
    std::fs::write(&file, PROGRAM).unwrap();
    assert_eq!(waits(&file, "quiet", "10"), waits(&file, "quiet", "100"));
    assert_ne!(waits(&file, "watched", "10"), waits(&file, "watched", "100"));
}
