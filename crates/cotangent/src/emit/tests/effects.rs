//! Barriers, atomics, exchanges, launches, runtime calls, opaque calls.

use expect_test::expect;

use super::{body, cuda};

#[test]
fn barriers_atomics_and_exchanges() {
    let text = body(
        "device counts: unsigned int[4];
         device f(x: float*, r: float&, i: int, m: unsigned int, p: bool) -> void {
           barrier block;
           barrier warp;
           barrier warp(4294967295u);
           barrier fence;
           barrier fence_block;
           barrier fence_system;
           let n: int;
           n = barrier block_count((p as int));
           n = barrier block_or(((i > 0) as int));
           atomic add(x[i], 1.0f);
           atomic block add(*x, (i as float));
           atomic system max(counts[0], 1u);
           atomic add(*r, x[i]);
           let old: float;
           old = atomic exchange(x[1], 0.0f);
           let seen: unsigned int;
           seen = atomic compare_and_swap(counts[i], 0u, 7u);
           old = collective shuffle[4294967295u](old, 0);
           old = collective shuffle_down[m](old, 16u, 32);
           old = collective shuffle_xor[15u](old, 1);
           m = collective ballot[m](((i > 0) as int));
           m = collective reduce_add[m](m);
           m = collective active_mask();
         }",
    );
    expect![[r#"
        __syncthreads();
        __syncwarp();
        __syncwarp(0xffffffffu);
        __threadfence();
        __threadfence_block();
        __threadfence_system();
        int n = __syncthreads_count(p);
        n = __syncthreads_or(i > 0);
        atomicAdd(&x[i], 1.0f);
        atomicAdd_block(x, (float)i);
        atomicMax_system(&counts[0], 1u);
        atomicAdd(&r, x[i]);
        float old = atomicExch(&x[1], 0.0f);
        unsigned int seen = atomicCAS(&counts[i], 0u, 7u);
        old = __shfl_sync(0xffffffffu, old, 0);
        old = __shfl_down_sync(m, old, 16, 32);
        old = __shfl_xor_sync(15, old, 1);
        m = __ballot_sync(m, i > 0);
        m = __reduce_add_sync(m, m);
        m = __activemask();
    "#]]
    .assert_eq(&text);
}

#[test]
fn opaque_calls() {
    let text = cuda(
        r#"device f(x: float, c: char, d: double) -> void {
             opaque printf("x = %f, \"%c\"\n%% \\ %g", (x as double), (c as int), d);
             opaque __trap();
             let t: long long;
             t = opaque clock64();
           }"#,
    );
    expect![[r##"
        #include <cstdio>

        __device__ void f(float x, char c, double d) {
          printf("x = %f, \"%c\"\n%% \\ %g", x, c, d);
          __trap();
          long long t = clock64();
        }
    "##]]
    .assert_eq(&text);
}

#[test]
fn code_that_is_passed_through_stands_as_it_was() {
    let text = cuda(
        r#"host f(n: int, p: const float*) -> void {
             let t: opaque timeval;
             passed("gettimeofday(&", changed t, ", NULL)");
             let start: opaque `std::clock_t`;
             start = passed("clock()");
             let s: long;
             s = passed(changed t, ".tv_sec - ", -1, " * ", (n + 1));
           }"#,
    );
    expect![[r##"
        void f(int n, const float* p) {
          timeval t;
          gettimeofday(&t, NULL);
          auto start = clock();
          long s = t.tv_sec - (-1) * (n + 1);
        }
    "##]]
    .assert_eq(&text);
}

#[test]
fn launches_and_runtime_calls() {
    let text = cuda(
        "builtin record dim3 { x: unsigned int, y: unsigned int, z: unsigned int }
         constant coeffs: float[16];
         kernel k(n: int, x: const float* restrict, y: float*) { return; }
         host run(n: int, host_data: const float*, stream: opaque cudaStream_t) -> int {
           let p: float*;
           let bytes: unsigned long = ((n as unsigned long) * sizeof(float));
           let error: unsigned int;
           error = runtime cudaMalloc((&p as void**), bytes);
           if (error != 0u) { return 1; }
           runtime cudaMemcpy((p as void*), (host_data as const void*), bytes, 1u);
           runtime cudaMemcpyToSymbol(&const ref coeffs, (host_data as const void*), 64ul, 0ul, 1u);
           runtime cudaMemcpyAsync((p as void*), (host_data as const void*), bytes, error, stream);
           launch k<<<[(((n + 255) / 256) as unsigned int), 1u, 1u], [256u, 1u, 1u]>>>(n, (p as const float* restrict), p);
           launch k<<<[4u, (n as unsigned int), 1u], [8u, 8u, 2u], shared: (n as unsigned long)>>>(n, (p as const float* restrict), p);
           let grid: dim3 = make dim3(2u, 3u, 1u);
           launch k<<<[grid.x, grid.y, grid.z], [32u, 1u, 1u], shared: 1024ul, stream: stream>>>(n, (p as const float* restrict), p);
           launch k<<<[1u, 1u, 1u], [32u, 1u, 1u], stream: stream>>>(n, (p as const float* restrict), p);
           runtime cudaFree((p as void*));
           return 0;
         }",
    );
    expect![[r#"
        __constant__ float coeffs[16];

        __global__ void k(int n, const float* __restrict__ x, float* y) {
          return;
        }

        int run(int n, const float* host_data, cudaStream_t stream) {
          float* p;
          size_t bytes = n * sizeof(float);
          unsigned int error = cudaMalloc(reinterpret_cast<void**>(&p), bytes);
          if (error != 0) return 1;
          cudaMemcpy(p, host_data, bytes, cudaMemcpyHostToDevice);
          cudaMemcpyToSymbol(coeffs, host_data, 64, 0, cudaMemcpyHostToDevice);
          cudaMemcpyAsync(p, host_data, bytes, (cudaMemcpyKind)error, stream);
          k<<<(n + 255) / 256, 256>>>(n, p, p);
          k<<<dim3(4, n), dim3(8, 8, 2), n>>>(n, p, p);
          dim3 grid(2, 3);
          k<<<grid, 32, 1024, stream>>>(n, p, p);
          k<<<1, 32, 0, stream>>>(n, p, p);
          cudaFree(p);
          return 0;
        }
    "#]]
    .assert_eq(&text);
}

#[test]
fn declarations_join_the_call_that_fills_them() {
    let text = body(
        "device g(x: float) -> float { return x; }
         device f(x: float) -> float {
           let a: float;
           a = call g(x);
           let b: float;
           let c: float;
           c = call g(a);
           b = call g(c);
           call g(b);
           return b;
         }",
    );
    expect![[r#"
        float a = g(x);
        float b;
        float c = g(a);
        b = g(c);
        g(b);
        return b;
    "#]]
    .assert_eq(&text);
}

#[test]
fn accumulation_and_records() {
    let text = body(
        "device f(x: float, d: double, p: float*, i: int) -> void {
           p[i] += (x * 2.0f);
           p[i] += (i as float);
           p[i] += (d as float);
           let tape: opaque tape_t;
           push x to tape;
           pop p[i] from tape;
         }",
    );
    expect![[r#"
        p[i] += x * 2.0f;
        p[i] += i;
        p[i] += (float)d;
        tape_t tape;
        tape.push(x);
        p[i] = tape.pop();
    "#]]
    .assert_eq(&text);
}
