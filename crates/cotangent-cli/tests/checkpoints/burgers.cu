// Burgers' equation on the device, upwind, in two arrays that change places: `loss` is where it ends, squared.
__global__ void upwind(const float* u, float* next, float step, float viscosity, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float left = u[i > 0 ? i - 1 : n - 1];
  float right = u[i + 1 < n ? i + 1 : 0];
  next[i] = u[i] - step * u[i] * (u[i] - left) + viscosity * (right - 2.0f * u[i] + left);
}

void burgers(const float* start, float* end, float step, float viscosity, int n, int steps) {
  size_t bytes = n * sizeof(float);
  float *now, *next;
  cudaMalloc(&now, bytes);
  cudaMalloc(&next, bytes);
  cudaMemcpy(now, start, bytes, cudaMemcpyHostToDevice);
  int blocks = (n + 127) / 128;
  for (int t = 0; t < steps; ++t) {
    upwind<<<blocks, 128>>>(now, next, step, viscosity, n);
    float* other = now;
    now = next;
    next = other;
  }
  cudaMemcpy(end, now, bytes, cudaMemcpyDeviceToHost);
  cudaFree(now);
  cudaFree(next);
}
