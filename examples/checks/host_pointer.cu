// The kernel is given the vector's own memory, which a GPU cannot reach.
// expect: X0103 line 7
#include <cstdio>
#include <vector>

__global__ void negate(float* values, int n) {
  if (threadIdx.x < n) values[threadIdx.x] = -values[threadIdx.x];
}

int main() {
  std::vector<float> values(50, 1.0f);
  negate<<<1, 64>>>(values.data(), 50);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
