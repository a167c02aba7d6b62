// C[i,j,l,m] = sum over k of A[i,j,k] B[k,l,m], an element a thread, and its gradient by hand: two gathers, no atomic.
__global__ void contraction(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n * n * n * n) return;
  int ij = t / (n * n), lm = t % (n * n);
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += a[ij * n + k] * b[k * n * n + lm];
  c[t] = sum;
}

// A thread an element of A.
__global__ void contraction_by_hand_of_a(const float* __restrict__ b, const float* __restrict__ dc,
                                         float* __restrict__ da, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n * n * n) return;
  const int k = t % n, ij = t / n;
  float sum = 0.0f;
  for (int lm = 0; lm < n * n; ++lm) sum += dc[ij * n * n + lm] * b[k * n * n + lm];
  da[t] += sum;
}

// A thread an element of B.
__global__ void contraction_by_hand_of_b(const float* __restrict__ a, const float* __restrict__ dc,
                                         float* __restrict__ db, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n * n * n) return;
  const int k = t / (n * n), lm = t % (n * n);
  float sum = 0.0f;
  for (int ij = 0; ij < n * n; ++ij) sum += a[ij * n + k] * dc[ij * n * n + lm];
  db[t] += sum;
}
