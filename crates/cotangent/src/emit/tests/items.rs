//! Records, variables, functions, namespaces, headers.

use expect_test::expect;

use super::cuda;

#[test]
fn a_kernel() {
    let text = cuda(
        "kernel saxpy(n: int, a: float, x: const float* restrict, y: float* restrict) bounds 256, 2 {
           let i: int = (((blockIdx.x * blockDim.x) + threadIdx.x) as int);
           if (i >= n) { return; }
           y[i] = ((a * x[i]) + y[i]);
         }",
    );
    expect![[r#"
        __global__ void __launch_bounds__(256, 2) saxpy(int n, float a, const float* __restrict__ x,
            float* __restrict__ y) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i >= n) return;
          y[i] = a * x[i] + y[i];
        }
    "#]]
    .assert_eq(&text);
}

#[test]
fn records_and_variables() {
    let text = cuda(
        "builtin record float3 { x: float, y: float, z: float }
         record Tree { root: Branch*, parts: float3[2] }
         record Branch align 16 { tree: Tree*, weights: double[8][3], h: __half }
         constant coeffs: float[4] = make float[4](1.0f, 2.0f);
         device counter: unsigned int = 0u;
         managed total: double;
         constexpr scale: float = 2.5f;
         constexpr table: int[3] = make int[3](1, 2, 3);
         host verbose: bool = false;
         device origin: float3 = make float3(0.0f, 0.0f, 0.0f);",
    );
    expect![[r#"
        #include <cuda_fp16.h>

        struct Branch;

        struct Tree {
          Branch* root;
          float3 parts[2];
        };

        struct __align__(16) Branch {
          Tree* tree;
          double weights[8][3];
          __half h;
        };

        __constant__ float coeffs[4] = {1.0f, 2.0f};
        __device__ unsigned int counter = 0;
        __managed__ double total;
        constexpr float scale = 2.5f;
        constexpr int table[3] = {1, 2, 3};
        bool verbose = false;
        __device__ float3 origin = {0.0f, 0.0f, 0.0f};
    "#]]
    .assert_eq(&text);
}

#[test]
fn namespaces() {
    let text = cuda(
        "record geo::Vec { x: float }
         record geo::Box { low: geo::Vec }
         constant geo::detail::eps: float;
         device geo::length(v: const geo::Vec&) -> float { return (v->x + geo::detail::eps); }
         device geo::detail::shrink(b: geo::Box&) -> float {
           let r: float;
           r = call geo::length(&const ref b->low);
           return r;
         }
         device length(x: float) -> float { return x; }
         device f(b: geo::Box&) -> float {
           let x: float;
           x = call geo::length(&const ref b->low);
           let y: float;
           y = call length(x);
           let shrink: float;
           shrink = call geo::detail::shrink(b);
           return (shrink + y);
         }",
    );
    expect![[r#"
        namespace geo {

        struct Vec {
          float x;
        };

        struct Box {
          Vec low;
        };

        }  // namespace geo

        namespace geo::detail {

        __constant__ float eps;

        }  // namespace geo::detail

        namespace geo {

        __device__ float length(const Vec& v) {
          return v.x + geo::detail::eps;
        }

        }  // namespace geo

        namespace geo::detail {

        __device__ float shrink(Box& b) {
          float r = geo::length(b.low);
          return r;
        }

        }  // namespace geo::detail

        __device__ float length(float x) {
          return x;
        }

        __device__ float f(geo::Box& b) {
          float x = geo::length(b.low);
          float y = ::length(x);
          float shrink = geo::detail::shrink(b);
          return shrink + y;
        }
    "#]]
    .assert_eq(&text);
}

#[test]
fn recursion_is_declared_first() {
    let text = cuda(
        "device even(n: int) -> bool {
           if (n == 0) { return true; }
           let r: bool;
           r = call odd((n - 1));
           return r;
         }
         device odd(n: int) -> bool {
           if (n == 0) { return false; }
           let r: bool;
           r = call even((n - 1));
           return r;
         }",
    );
    expect![[r#"
        __device__ bool odd(int n);

        __device__ bool even(int n) {
          if (n == 0) return true;
          bool r = odd(n - 1);
          return r;
        }

        __device__ bool odd(int n) {
          if (n == 0) return false;
          bool r = even(n - 1);
          return r;
        }
    "#]]
    .assert_eq(&text);
}

#[test]
fn shared_memory() {
    let text = cuda(
        "kernel k(out: float*) bounds 128 {
           let shared tile: float[32][33];
           let shared flag: int;
           let dynamic rest: double[0];
           tile[threadIdx.y][threadIdx.x] = (rest[threadIdx.z] as float);
           *out = tile[0][warpSize];
         }",
    );
    expect![[r#"
        __global__ void __launch_bounds__(128) k(float* out) {
          __shared__ float tile[32][33];
          __shared__ int flag;
          extern __shared__ double rest[];
          tile[threadIdx.y][threadIdx.x] = rest[threadIdx.z];
          *out = tile[0][warpSize];
        }
    "#]]
    .assert_eq(&text);
}
