// A class with a copy constructor of its own, passed by value to a kernel, is no host pointer.
// check
// expect: 6
#include <cuda_runtime.h>

struct Vector {
  float x, y, z;
  __host__ __device__ Vector(float a, float b, float c) : x(a), y(b), z(c) {}
  __host__ __device__ Vector(const Vector& other) : x(other.x), y(other.y), z(other.z) {}
};

__global__ void total(Vector v, float* out) { *out = v.x + v.y + v.z; }

int main() {
  float* out;
  cudaMallocManaged(&out, sizeof(float));
  ::cotangent::launch([&](auto&&... a) { total(a...); }, 1, 1)(Vector(1, 2, 3), out);
  cudaDeviceSynchronize();
  printf("%g\n", *out);
}
