//! The CPU dialect: coordinates as a parameter, launchers, dynamic shared memory.

use expect_test::expect;

use super::{cpu, part};

#[test]
fn a_plain_loop() {
    let text = cpu("device index() -> int { return (((blockIdx.x * blockDim.x) + threadIdx.x) as int); }
         device twice(x: float) -> float { return (x + x); }
         kernel scale(n: int, x: float*) bounds 256 {
           let i: int;
           i = call index();
           if (i < n) {
             let t: float;
             t = call twice(x[i]);
             x[i] = t;
             barrier fence;
           }
         }
         host run(n: int, x: float*) -> void {
           launch scale<<<[((n / 256) as unsigned int), 1u, 1u], [256u, 1u, 1u]>>>(n, x);
         }");
    expect![[r#"
        static inline int index(const ::cotangent::Thread& thread) {
          return thread.blockIdx.x * thread.blockDim.x + thread.threadIdx.x;
        }

        static inline float twice(float x) {
          return x + x;
        }

        static inline void scale(const ::cotangent::Thread& thread, int n, float* x) {
          int i = index(thread);
          if (i < n) {
            float t = twice(x[i]);
            x[i] = t;
            __threadfence();
          }
        }

        inline void scale_launch(dim3 grid, dim3 block, size_t shared, cudaStream_t stream, int n,
            float* x) {
          auto run = [](const ::cotangent::Thread& thread, auto... args) { scale(thread, args...); };
          ::cotangent::launch_loop(run, grid, block, shared, stream)(n, x);
        }

        void run(int n, float* x) {
          scale_launch(n / 256, 256, 0, nullptr, n, x);
        }
    "#]]
    .assert_eq(&text);
}

#[test]
fn threads_that_wait_are_coroutines() {
    let text = cpu("device sum(v: float) -> float {
           let w: float;
           w = collective shuffle_down[4294967295u](v, 16u);
           return (v + w);
         }
         kernel geo::k(x: float*, thread: int, stream: int) {
           let dynamic buffer: float[0];
           let shared tile: float[16];
           buffer[threadIdx.x] = x[thread];
           tile[threadIdx.x] = buffer[stream];
           let s: float;
           s = call sum(*x);
           *x = s;
         }
         kernel nothing() { return; }
         host geo::run(x: float*, s: opaque cudaStream_t) -> void {
           launch geo::k<<<[1u, 2u, 1u], [16u, 1u, 1u], shared: 64ul, stream: s>>>(x, 0, 1);
           launch nothing<<<[1u, 1u, 1u], [1u, 1u, 1u]>>>();
         }");
    expect![[r#"
        static inline float sum(float v) {
          float w = __shfl_down_sync(0xffffffffu, v, 16);
          return v + w;
        }

        namespace geo {

        static inline void k(const ::cotangent::Thread& thread_, float* x, int thread, int stream) {
          float (&buffer)[COTANGENT_MAX_DYNAMIC_SHARED / sizeof(float)] =
              *reinterpret_cast<float (*)[COTANGENT_MAX_DYNAMIC_SHARED / sizeof(float)]>(
              ::cotangent::dynamic_shared());
          __shared__ float tile COTANGENT_DECLARED_ALIGNMENT(float)[16];
          buffer[thread_.threadIdx.x] = x[thread];
          tile[thread_.threadIdx.x] = buffer[stream];
          float s = sum(*x);
          *x = s;
        }

        inline void k_launch(dim3 grid, dim3 block, size_t shared, cudaStream_t stream_, float* x,
            int thread, int stream) {
          auto run = [](const ::cotangent::Thread& thread_, auto... args) { k(thread_, args...); };
          ::cotangent::launch_coroutines(run, grid, block, shared, stream_)(x, thread, stream);
        }

        }  // namespace geo

        static inline void nothing() {
          return;
        }

        inline void nothing_launch(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
          auto run = [](const ::cotangent::Thread&, auto... args) { nothing(args...); };
          ::cotangent::launch_loop(run, grid, block, shared, stream)();
        }

        namespace geo {

        void run(float* x, cudaStream_t s) {
          k_launch(dim3(1, 2), 16, 64, s, x, 0, 1);
          nothing_launch(1, 1, 0, nullptr);
        }

        }  // namespace geo
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_part_of_a_program_uses_the_variables_of_the_rest() {
    let text = part(
        "constant geo::table: float[4];
         device counter: int;
         kernel geo::k(x: float*) { *x = geo::table[(counter as long)]; }",
    );
    expect![[r#"
        namespace geo {

        extern float (&table)[4] __asm__("cotangent.geo::table");

        }  // namespace geo

        extern int& counter __asm__("cotangent.counter");

        namespace geo {

        static inline void k(float* x) {
          *x = table[(long)counter];
        }

        inline void k_launch(dim3 grid, dim3 block, size_t shared, cudaStream_t stream, float* x) {
          auto run = [](const ::cotangent::Thread&, auto... args) { k(args...); };
          ::cotangent::launch_loop(run, grid, block, shared, stream)(x);
        }

        }  // namespace geo

        static ::cotangent::PrintedKernel _cotangent_printed_0("geo::k", geo::k_launch);
    "#]]
    .assert_eq(&text);
}
