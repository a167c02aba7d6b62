// The pointer has moved on since it was allocated.
// expect: X0106 line 13
__global__ void fill(float* values) { values[threadIdx.x] = 1.0f; }

int main() {
  const int n = 128;
  float* values;
  cudaMalloc(&values, n * sizeof(float));
  for (int done = 0; done < n; done += 32) {
    fill<<<1, 32>>>(values);
    values += 32;
  }
  cudaFree(values - 32);
}
