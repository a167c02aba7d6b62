// Three neighbours and a scalar that all threads share, and its gradient by hand: each element gathers from the updates
// that have read it. That reads adjoints of other blocks, so these are cleared by a launch of its own.
#include "block_sum.cuh"

__global__ void diffuse(const float* in, float* out, float k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= 0 || i >= n - 1) return;
  out[i] = in[i] + k * (in[i - 1] - 2.0f * in[i] + in[i + 1]) * in[i];
}

__global__ void diffuse_by_hand(const float* __restrict__ in, float* __restrict__ out, float k, int n,
                                float* __restrict__ d_in, const float* __restrict__ d_out, float* __restrict__ dk) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float share = 0.0f;
  if (i < n) {
    const float here = in[i];
    float gathered = 0.0f;
    if (i > 0 && i < n - 1) {
      const float bend = in[i - 1] - 2.0f * here + in[i + 1], seed = d_out[i];
      out[i] = here + k * bend * here;
      gathered += seed * (1.0f + k * bend - 2.0f * k * here);
      share = seed * here * bend;
    }
    if (i > 1) gathered += d_out[i - 1] * in[i - 1] * k;
    if (i < n - 2) gathered += d_out[i + 1] * in[i + 1] * k;
    d_in[i] += gathered;
  }
  const float sum = block_sum_for_first(share);
  if (thread_of_block() == 0) atomicAdd(dk, sum);
}

__global__ void diffuse_by_hand_clear(float* d_out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) d_out[i] = 0.0f;
}
