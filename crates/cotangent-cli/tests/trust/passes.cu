// One function for each pass of the normal form, with what the pass is for.
__global__ void twice(float* to, const float* from, int n) {
  if (threadIdx.x < n) to[threadIdx.x] = from[threadIdx.x] * from[threadIdx.x];
}
void results_of_runtime(float* out, int n) {
  float *u, *v;
  cudaMalloc(&u, n * sizeof(float));
  cudaMalloc(&v, n * sizeof(float));
  cudaMemcpy(u, out, n * sizeof(float), cudaMemcpyHostToDevice);
  twice<<<1, 32>>>(v, u, n);
  cudaMemcpy(out, v, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(u);
  cudaFree(v);
}
__global__ void remove_jumps(float* y, const float* x, int n) {
  if (threadIdx.x >= n) return;
  switch (threadIdx.x % 3) {
    case 0: y[threadIdx.x] = x[threadIdx.x] * 2.0f; break;
    case 1: y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x]; break;
    default: y[threadIdx.x] = sinf(x[threadIdx.x]);
  }
}
__global__ void loops_without_numbers(float* y, const float* x) {
  float s = x[threadIdx.x];
  for (float t = 0.0f; t < 1.0f; t += 0.25f) s = s * (t + 0.5f) + x[threadIdx.x];
  y[threadIdx.x] = s;
}
__device__ void store(float* to, float value) { *to = value * value; }
__global__ void inline_calls(float* y, const float* x) { store(y + threadIdx.x, x[threadIdx.x] + 1.0f); }
__global__ void name_pointers(float* y, const float* x, const float* z) {
  const float* from = threadIdx.x % 2 ? x : z;
  y[threadIdx.x] = (threadIdx.x < 16 ? from : x)[threadIdx.x] * from[threadIdx.x];
}
__global__ void masks_of_those_present(float* y, const float* x, int n) {
  if (threadIdx.x >= n) return;
  float v = x[threadIdx.x] * x[threadIdx.x];
  y[threadIdx.x] = __shfl_down_sync(__activemask(), v, 1) * v;
}
struct View { float* values; float factor; };
__global__ void split_records(float* y, const float* x, int n) {
  View view{y, 2.0f};
  for (int k = 0; k < n; k++) { view.factor = view.factor * 0.5f + x[threadIdx.x]; }
  view.values[threadIdx.x] = view.factor * x[threadIdx.x];
}
__global__ void pointers_to_indices(float* y, const float* x, int n) {
  float own[4] = {1.0f, 2.0f, 3.0f, 4.0f};
  float* p = own;
  for (int k = 0; k < 4; k++) { *p = *p * x[threadIdx.x]; p++; }
  y[threadIdx.x] = own[0] * own[1] + own[2] * own[3];
}
__global__ void counted_loops(float* y, const float* x, int n) {
  float s = 0.0f;
  int k = 0;
  while (k < n) { s = 0.5f * s + x[k] * x[k]; k++; }
  y[threadIdx.x] = s;
}
__global__ void winners(float* y, const float* x) {
  float m = x[0];
  for (int k = 1; k < 32; k++) m = fmaxf(m, x[(k + threadIdx.x) % 32]);
  y[threadIdx.x] = m * m;
}
__global__ void stores_of_warps(float* y, const float* x) {
  __shared__ float sums[32];
  float s = x[threadIdx.x] * x[threadIdx.x];
  for (int k = 16; k > 0; k /= 2) s += __shfl_xor_sync(0xffffffff, s, k);
  sums[threadIdx.x / 32] = s;
  __syncthreads();
  y[threadIdx.x] = sums[0] * x[threadIdx.x];
}
// And one for each pass after reverse mode.
__global__ void references_to_pointers(float* y, const float* x, int n) {
  float own[2] = {0.0f, 0.0f};
  for (int k = 0; k < n; k++) {
    float& chosen = own[k % 2];
    chosen = 0.5f * chosen * chosen + x[threadIdx.x];
  }
  y[threadIdx.x] = own[0] * own[1];
}
__global__ void simplify(float* y, const float* x) {
  float v = x[threadIdx.x];
  float w = v;
  y[threadIdx.x] = v * w + v;
}
__global__ void merge(float* y, const float* x) {
  y[threadIdx.x] = x[threadIdx.x] * x[31 - threadIdx.x] + sinf(x[threadIdx.x]);
}
__global__ void accumulate(float* y, const float* x) { y[threadIdx.x] = x[0] * x[threadIdx.x]; }
__global__ void together(float* y, const float* x) { y[threadIdx.x] = x[0] * x[threadIdx.x]; }
__global__ void gather(float* y, const float* x) {
  __shared__ float tile[36];
  tile[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x < 4) tile[threadIdx.x + 32] = x[threadIdx.x];
  __syncthreads();
  float s = 0.0f;
  for (int k = 0; k < 5; k++) s += tile[threadIdx.x + k];
  y[threadIdx.x] = s * s;
}
__global__ void privatize(float* y, const float* x, int n) {
  float s = 0.0f;
  for (int k = 0; k < n; k++) s += x[0] * x[k];
  y[threadIdx.x] = s;
}
__global__ void declared_only(float* y, const float* x) {
  float v = x[threadIdx.x] * x[threadIdx.x];
  y[threadIdx.x] = v * v;
}
__global__ void grow(float* u, float rate, int n) {
  if (threadIdx.x < n) u[threadIdx.x] += rate * u[threadIdx.x];
}
void on_device(float* u, float rate, int n) {
  for (int k = 0; k < 3; k++) grow<<<1, 32>>>(u, rate, n);
}
