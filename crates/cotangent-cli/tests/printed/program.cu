// Kernels of most kinds that can be printed: in a namespace, from templates, with structs by value, with constant,
// managed and device variables, with static and dynamic shared memory.
#include <cstdio>
#include <vector>

namespace geo {
struct Params { float scale; int n; double offset; };
__constant__ float coefficients[4];
__device__ int counter;
__managed__ int limit = 3;

__global__ void affine(Params p, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.n) {
    y[i] = p.scale * x[i] + coefficients[i % 4] + (float)p.offset;
    if (i < limit) atomicAdd(&counter, 1);
  }
}
template <class T, int N>
struct Tuple { T v[N]; };
template <class T, int N>
__global__ void sum_tuples(const Tuple<T, N>* tuples, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    T sum = 0;
    for (int k = 0; k < N; k++) sum += tuples[i].v[k];
    out[i] = sum;
  }
}
}  // namespace geo

template <class T>
__global__ void reduce(const T* in, T* out, int n) {
  extern __shared__ double raw[];
  T* part = reinterpret_cast<T*>(raw);
  int t = threadIdx.x;
  part[t] = t < n ? in[t] : T(0);
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) *out = part[0];
}
template <class F>
__global__ void apply(F f, float* x) { x[threadIdx.x] = f(x[threadIdx.x]); }

__global__ void rotate(int* x) {
  __shared__ int tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[(threadIdx.x + 1) % 32];
}

struct Doubler { __device__ float operator()(float v) const { return v + v; } };

template <class T>
T total(const std::vector<T>& values) {
  T *in, *out, result;
  cudaMalloc(&in, values.size() * sizeof(T));
  cudaMalloc(&out, sizeof(T));
  cudaMemcpy(in, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  reduce<T><<<1, 64, 64 * sizeof(double)>>>(in, out, (int)values.size());
  cudaMemcpy(&result, out, sizeof(T), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  return result;
}

template <class T>
void only_once(T* x) {
  apply<<<1, 8>>>(Doubler(), x);
}

int main() {
  float *x, *y;
  const int n = 50;
  cudaMallocManaged(&x, n * sizeof(float));
  cudaMallocManaged(&y, n * sizeof(float));
  for (int i = 0; i < n; i++) x[i] = i;
  float host[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(geo::coefficients, host, sizeof(host));
  geo::Params p{2, n, 0.5};
  geo::affine<<<(n + 31) / 32, 32>>>(p, x, y);
  cudaDeviceSynchronize();
  int count = 0;
  cudaMemcpyFromSymbol(&count, geo::counter, sizeof(count));
  std::printf("%g %g %g %d\n", y[0], y[17], y[49], count);

  geo::Tuple<float, 3>* tuples;
  cudaMallocManaged(&tuples, 4 * sizeof(*tuples));
  for (int i = 0; i < 4; i++) tuples[i] = {{(float)i, 1, 2}};
  geo::sum_tuples<float, 3><<<1, 4>>>(tuples, y, 4);
  geo::sum_tuples<float, 3><<<1, 4>>>(tuples, y + 4, 4);
  cudaDeviceSynchronize();
  std::printf("%g %g\n", y[3], y[7]);

  std::printf("%g\n", total(std::vector<float>{1, 2, 3.5f}));
  only_once(y);
  cudaDeviceSynchronize();
  std::printf("%g\n", y[3]);
  int* ring;
  cudaMallocManaged(&ring, 32 * sizeof(int));
  for (int i = 0; i < 32; i++) ring[i] = i;
  rotate<<<1, 32>>>(ring);
  cudaDeviceSynchronize();
  std::printf("%d %d %s\n", ring[0], ring[31], cudaGetErrorString(cudaGetLastError()));
}
