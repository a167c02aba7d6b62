// Conjugate gradients for a tridiagonal system on the device: the residual is read back, and ends the loop.
__global__ void apply(const float* stiffness, const float* p, float* q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float left = i > 0 ? p[i - 1] : 0.0f;
  float right = i + 1 < n ? p[i + 1] : 0.0f;
  q[i] = (2.0f + stiffness[i]) * p[i] - left - right;
}

// Each block leaves its sum; `total` adds them in their order.
__global__ void products(const float* a, const float* b, float* sums, int n) {
  __shared__ float parts[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  parts[threadIdx.x] = i < n ? a[i] * b[i] : 0.0f;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = parts[0];
}

__global__ void squares(const float* a, float* sums, int n) {
  __shared__ float parts[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  parts[threadIdx.x] = i < n ? a[i] * a[i] : 0.0f;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = parts[0];
}

__global__ void total(const float* sums, float* result, int blocks) {
  float sum = 0.0f;
  for (int i = 0; i < blocks; ++i) sum += sums[i];
  result[0] = sum;
}

__global__ void advance(float* x, float* r, const float* p, const float* q, float alpha, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] += alpha * p[i];
  r[i] -= alpha * q[i];
}

__global__ void turn(float* p, const float* r, float beta, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = r[i] + beta * p[i];
}

void solve(const float* stiffness, const float* load, float* x, int* iterations, float tolerance, int n) {
  size_t bytes = n * sizeof(float);
  int blocks = (n + 127) / 128;
  float *s, *y, *r, *p, *q, *sums, *result;
  cudaMalloc(&s, bytes);
  cudaMalloc(&y, bytes);
  cudaMalloc(&r, bytes);
  cudaMalloc(&p, bytes);
  cudaMalloc(&q, bytes);
  cudaMalloc(&sums, blocks * sizeof(float));
  cudaMalloc(&result, sizeof(float));
  cudaMemcpy(s, stiffness, bytes, cudaMemcpyHostToDevice);
  cudaMemset(y, 0, bytes);
  cudaMemcpy(r, load, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(p, load, bytes, cudaMemcpyHostToDevice);
  float before = 0.0f;
  squares<<<blocks, 128>>>(r, sums, n);
  total<<<1, 1>>>(sums, result, blocks);
  cudaMemcpy(&before, result, sizeof(float), cudaMemcpyDeviceToHost);
  int count = 0;
  while (before > tolerance) {
    float along = 0.0f, now = 0.0f;
    apply<<<blocks, 128>>>(s, p, q, n);
    products<<<blocks, 128>>>(p, q, sums, n);
    total<<<1, 1>>>(sums, result, blocks);
    cudaMemcpy(&along, result, sizeof(float), cudaMemcpyDeviceToHost);
    advance<<<blocks, 128>>>(y, r, p, q, before / along, n);
    squares<<<blocks, 128>>>(r, sums, n);
    total<<<1, 1>>>(sums, result, blocks);
    cudaMemcpy(&now, result, sizeof(float), cudaMemcpyDeviceToHost);
    turn<<<blocks, 128>>>(p, r, now / before, n);
    before = now;
    ++count;
  }
  *iterations = count;
  cudaMemcpy(x, y, bytes, cudaMemcpyDeviceToHost);
  cudaFree(s);
  cudaFree(y);
  cudaFree(r);
  cudaFree(p);
  cudaFree(q);
  cudaFree(sums);
  cudaFree(result);
}
