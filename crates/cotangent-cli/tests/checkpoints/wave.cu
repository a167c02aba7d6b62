// A wave on a string of varying stiffness: two kernels a step, each of which changes its array in place.
__global__ void move(float* place, const float* speed, float step, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) place[i] += step * speed[i];
}

__global__ void bend(float* speed, const float* place, const float* stiffness, float step, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float left = place[i > 0 ? i - 1 : n - 1];
  float right = place[i + 1 < n ? i + 1 : 0];
  float bent = right - 2.0f * place[i] + left;
  speed[i] += step * (stiffness[i] * bent - 0.01f * place[i] * place[i] * place[i]);
}

void wave(const float* start, const float* stiffness, float* end, float step, int n, int steps) {
  size_t bytes = n * sizeof(float);
  float *place, *speed, *strength;
  cudaMalloc(&place, bytes);
  cudaMalloc(&speed, bytes);
  cudaMalloc(&strength, bytes);
  cudaMemcpy(place, start, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(strength, stiffness, bytes, cudaMemcpyHostToDevice);
  cudaMemset(speed, 0, bytes);
  int blocks = (n + 127) / 128;
  for (int t = 0; t < steps; ++t) {
    move<<<blocks, 128>>>(place, speed, step, n);
    bend<<<blocks, 128>>>(speed, place, strength, step, n);
  }
  cudaMemcpy(end, place, bytes, cudaMemcpyDeviceToHost);
  cudaFree(place);
  cudaFree(speed);
  cudaFree(strength);
}
