// The pointer that was allocated stays, another moves.
__global__ void fill(float* values) { values[threadIdx.x] = 1.0f; }

int main() {
  const int n = 128;
  float* values;
  cudaMalloc(&values, n * sizeof(float));
  for (int done = 0; done < n; done += 32) fill<<<1, 32>>>(values + done);
  cudaFree(values);
}
