// Softmax over rows, a block a row, with trees in shared memory (so the function wants a power of two of threads), and the
// reverse half by hand for any block: it needs the result and nothing recorded.
#include "block_sum.cuh"

__global__ void softmax(float* out, const float* in, int columns) {
  __shared__ float partial[1024];
  const float* row = in + blockIdx.x * columns;
  float greatest = -1e30f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    greatest = fmaxf(greatest, row[i]);
  }
  partial[threadIdx.x] = greatest;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    if (threadIdx.x < stride) {
      partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + stride]);
    }
    __syncthreads();
  }
  greatest = partial[0];
  __syncthreads();
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    sum += expf(row[i] - greatest);
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    if (threadIdx.x < stride) {
      partial[threadIdx.x] += partial[threadIdx.x + stride];
    }
    __syncthreads();
  }
  sum = partial[0];
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    out[blockIdx.x * columns + i] = expf(row[i] - greatest) / sum;
  }
}

__global__ void softmax_by_hand(const float* __restrict__ out, float* __restrict__ d_out, float* __restrict__ d_in,
                                int columns) {
  const float* result = out + blockIdx.x * columns;
  float* seed = d_out + blockIdx.x * columns;
  float share = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) share += result[i] * seed[i];
  const float sum = block_sum(share);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    d_in[blockIdx.x * columns + i] += result[i] * (seed[i] - sum);
    seed[i] = 0.0f;
  }
}
