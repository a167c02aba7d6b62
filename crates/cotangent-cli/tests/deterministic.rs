//! `--deterministic`: the bits of a derivative do not depend on the order in which blocks, warps and lanes run.

use std::path::Path;
use std::process::{Command, Output};

/// Threads and blocks that share a number, elements, and a place of their block's; what they add is of very different sizes.
const KERNEL: &str = "
#pragma once
__global__ void mix(int n, float a, const float* w, const int* index, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[index[i]] + w[blockIdx.x % 3];
}
";

/// Prints how many different results 20 orders have: it runs itself with each.
const PROGRAM: &str = r#"
#include "mix.cuh"
#include "mix_grad.cuh"
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

int bits() {
  const int n = 600, few = 7;
  int* index;
  float* all[8];
  cudaMallocManaged(&index, n * sizeof(int));
  for (float*& array : all) cudaMallocManaged(&array, n * sizeof(float));
  auto [w, x, y, d_a, d_w, d_x, d_y, none] = all;
  unsigned int state = 1;
  for (int i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    index[i] = (state >> 16) % few;
    x[i] = w[i] = 1.0f + i;
    d_a[i] = d_w[i] = d_x[i] = 0.0f;
    d_y[i] = (state >> 8) * (state % 3 == 0 ? 1e-3f : 1e-9f);
  }
#ifdef DETERMINISTIC
  mix_grad_launch(10, 64, 0, nullptr, n, 0.7f, w, index, x, y, d_a, d_w, d_x, d_y);
#else
  mix_grad<<<10, 64>>>(n, 0.7f, w, index, x, y, d_a, d_w, d_x, d_y);
#endif
  cudaDeviceSynchronize();
  std::printf("%a", d_a[0]);
  for (int i = 0; i < few; ++i) std::printf(" %a %a", d_w[i], d_x[i]);
  return 0;
}

int main(int count, char** words) {
  if (count > 1) return bits();
  std::set<std::string> results;
  for (int seed = 0; seed < 20; ++seed) {
    setenv("COTANGENT_CUDART_SEED", std::to_string(seed).c_str(), 1);
    FILE* pipe = popen(("'" + std::string(words[0]) + "' bits").c_str(), "r");
    char text[4096] = {};
    fread(text, 1, sizeof(text) - 1, pipe);
    if (pclose(pipe) != 0 || text[0] == 0) return 1;
    results.insert(text);
  }
  std::printf("%zu\n", results.size());
}
"#;

fn cotangent(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.current_dir(folder).args(words).output().expect("the command can be started")
}

/// How many different results the derivative has.
fn results(options: &[&str], flags: &[&str]) -> usize {
    let folder = tempfile::tempdir().expect("there is room for a program");
    for (name, text) in [("mix.cuh", KERNEL), ("program.cu", PROGRAM), ("mix.cu", "#include \"mix.cuh\"\n")] {
        std::fs::write(folder.path().join(name), text).expect("it can be written");
    }
    let words = [&["grad", "mix.cu", "--fn", "mix", "-o", "mix_grad.cuh"], options].concat();
    let made = cotangent(folder.path(), &words);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let include = cotangent(folder.path(), &["where", "include"]);
    let include = String::from_utf8_lossy(&include.stdout).trim().to_owned();
    let words = [&["run", "--nvcc", "program.cu", "--", "-std=c++17", "-I", &include], flags].concat();
    let ran = cotangent(folder.path(), &words);
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    said.trim().parse().unwrap_or_else(|_| panic!("{said}"))
}

#[test]
fn every_order_gives_the_same_bits() {
    assert_eq!(results(&["--deterministic"], &["-DDETERMINISTIC"]), 1);
}

#[test]
fn atomics_give_other_bits_in_another_order() {
    assert!(results(&[], &[]) > 1);
}
