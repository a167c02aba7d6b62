// A row of attention with a softmax that goes along: keys and values come in tiles, each thread has one query.
#define WIDTH 3
#define TILE 4

__global__ void attention(float* out, const float* query, const float* key, const float* value, int queries,
                          int keys) {
  __shared__ float tile_key[TILE][WIDTH];
  __shared__ float tile_value[TILE][WIDTH];
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float q[WIDTH];
  float sum[WIDTH];
  for (int d = 0; d < WIDTH; ++d) {
    q[d] = row < queries ? query[row * WIDTH + d] : 0.0f;
    sum[d] = 0.0f;
  }
  float greatest = -1e30f;
  float total = 0.0f;
  for (int start = 0; start < keys; start += TILE) {
    for (int d = 0; d < WIDTH; ++d) {
      int k = start + threadIdx.x;
      tile_key[threadIdx.x][d] = k < keys ? key[k * WIDTH + d] : 0.0f;
      tile_value[threadIdx.x][d] = k < keys ? value[k * WIDTH + d] : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < TILE && start + k < keys; ++k) {
      float score = 0.0f;
      for (int d = 0; d < WIDTH; ++d) {
        score += q[d] * tile_key[k][d];
      }
      float next = fmaxf(greatest, score);
      float shrink = expf(greatest - next);
      float weight = expf(score - next);
      for (int d = 0; d < WIDTH; ++d) {
        sum[d] = sum[d] * shrink + weight * tile_value[k][d];
      }
      total = total * shrink + weight;
      greatest = next;
    }
    __syncthreads();
  }
  if (row < queries) {
    for (int d = 0; d < WIDTH; ++d) {
      out[row * WIDTH + d] = sum[d] / total;
    }
  }
}
