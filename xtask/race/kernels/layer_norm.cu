// Layer norm over rows, a block a row, with trees in shared memory (so the function wants a power of two of threads), and
// the reverse half by hand for any block, from each row's mean and scale.
#include "block_sum.cuh"

__global__ void layer_norm(float* out, const float* in, const float* weight, const float* bias, int columns) {
  __shared__ float partial[1024];
  const float* row = in + blockIdx.x * columns;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    sum += row[i];
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    if (threadIdx.x < stride) {
      partial[threadIdx.x] += partial[threadIdx.x + stride];
    }
    __syncthreads();
  }
  float mean = partial[0] / columns;
  __syncthreads();
  sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    float difference = row[i] - mean;
    sum += difference * difference;
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    if (threadIdx.x < stride) {
      partial[threadIdx.x] += partial[threadIdx.x + stride];
    }
    __syncthreads();
  }
  float scale = rsqrtf(partial[0] / columns + 1e-5f);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    out[blockIdx.x * columns + i] = (row[i] - mean) * scale * weight[i] + bias[i];
  }
}

__global__ void layer_norm_by_hand(const float* __restrict__ in, const float* __restrict__ weight,
                                   const float* __restrict__ mean, const float* __restrict__ scale,
                                   float* __restrict__ d_out, float* __restrict__ d_in, float* __restrict__ dweight,
                                   float* __restrict__ dbias, int columns) {
  const float* row = in + blockIdx.x * columns;
  float* seed = d_out + blockIdx.x * columns;
  const float middle = mean[blockIdx.x], factor = scale[blockIdx.x];
  float seeds = 0.0f, along = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    const float normal = (row[i] - middle) * factor, weighted = seed[i] * weight[i];
    seeds += weighted;
    along += weighted * normal;
    atomicAdd(&dweight[i], seed[i] * normal);
    atomicAdd(&dbias[i], seed[i]);
  }
  seeds = block_sum(seeds) / columns;
  along = block_sum(along) / columns;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    const float normal = (row[i] - middle) * factor;
    d_in[blockIdx.x * columns + i] += factor * (seed[i] * weight[i] - seeds - normal * along);
    seed[i] = 0.0f;
  }
}
