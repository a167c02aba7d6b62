// One function for each fact that reverse mode rests on: wrong, if the fact is denied.
// Linear: nothing is recorded, and the iterations do not commute.
__global__ void order(float* y, const float* x) {
  float s = 0.0f;
  for (int k = 0; k < 5; k++) s = 0.5f * s + x[k];
  y[threadIdx.x] = s;
}
__global__ void standing(float* y, const float* x) {
  float t = x[threadIdx.x];
  float u = t * t;
  t = sinf(t) + 3.0f;
  y[threadIdx.x] = u * t;
}
__global__ void memory(float* y) {
  y[threadIdx.x] = y[threadIdx.x] * y[threadIdx.x];
}
__global__ void repetition(float* y, int n) {
  for (int k = 0; k < n; k++) {
    float v = y[threadIdx.x];
    y[threadIdx.x] = 0.25f * v * v + 0.5f;
  }
}
__global__ void reload(float* y, const float* x, int n) {
  __shared__ float tile[64];
  float s = 0.0f;
  tile[threadIdx.x + 32] = 1.0f;
  for (int k = 0; k < n; k++) {
    tile[threadIdx.x + 32 * (k & 1)] = x[threadIdx.x + k];
    __syncthreads();
    s += tile[threadIdx.x] * tile[threadIdx.x + 32];
    __syncthreads();
  }
  y[threadIdx.x] = s;
}
__global__ void iterations(float* y, const float* x, int n) {
  int m = n;
  float s = x[threadIdx.x];
  for (int k = 0; k < m; k++) {
    s = s * 0.5f + x[threadIdx.x];
    if (k == 2) m = 5;
  }
  y[threadIdx.x] = s;
}
__global__ void entries(float* y, const float* x, int n) {
  float s = x[threadIdx.x];
  for (int k = 0; k < n; k++) s = 0.25f * s * s + 0.5f;
  y[threadIdx.x] = s;
}
__global__ void only_value(float* y, const float* x) {
  float t = x[threadIdx.x] * 2.0f;
  float u = t * t;
  t = x[threadIdx.x] * 3.0f;
  y[threadIdx.x] = u + t * t;
}
__global__ void scale(float* to, const float* from, int n) {
  if (threadIdx.x < n) to[threadIdx.x] = from[threadIdx.x] * from[threadIdx.x];
}
void size(float* out, int n) {
  float *u, *v;
  cudaMalloc(&u, n * sizeof(float));
  cudaMalloc(&v, n * sizeof(float));
  cudaMemcpy(u, out, n * sizeof(float), cudaMemcpyHostToDevice);
  for (int k = 0; k < 2; k++) {
    const float* half = u + n / 2;
    scale<<<1, 32>>>(v, half, n / 2);
    cudaMemcpy(u + n / 2, v, (n / 2) * sizeof(float), cudaMemcpyDeviceToDevice);
  }
  cudaMemcpy(out, u, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(u);
  cudaFree(v);
}
__global__ void alone(float* y, const float* x) {
  y[blockIdx.x * blockDim.x + threadIdx.x] = x[0] * x[0];
}
__global__ void activity(float* y, const float* x) {
  float t = x[threadIdx.x] * 2.0f;
  y[threadIdx.x] = t * t;
}
__global__ void together(float* y, const float* x) {
  y[threadIdx.x] = x[threadIdx.x / 2] * x[threadIdx.x / 2];
}
__global__ void shift(float* y, const float* x) {
  float m = x[0] * x[1];
  y[threadIdx.x] = expf(x[threadIdx.x] - m);
}
__global__ void once(float* y, const float* x) {
  y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x];
  if (x[threadIdx.x] > 1.0f) y[threadIdx.x] = 3.0f * x[threadIdx.x];
}
