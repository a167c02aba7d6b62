// Layer norm of rows with a weight and a bias; a block a row, sums in shared memory.
template <typename scalar_t>
__global__ void layer_norm(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, scalar_t* y, int columns,
                           float eps) {
  __shared__ scalar_t sums[128], squares[128];
  const scalar_t* row = x + blockIdx.x * columns;
  scalar_t sum = 0, square = 0;
  for (int i = threadIdx.x; i < columns; i += 128) {
    sum += row[i];
    square += row[i] * row[i];
  }
  sums[threadIdx.x] = sum;
  squares[threadIdx.x] = square;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      sums[threadIdx.x] += sums[threadIdx.x + half];
      squares[threadIdx.x] += squares[threadIdx.x + half];
    }
    __syncthreads();
  }
  scalar_t mean = sums[0] / columns;
  scalar_t scale = rsqrt(squares[0] / columns - mean * mean + scalar_t(eps));
  for (int i = threadIdx.x; i < columns; i += 128)
    y[blockIdx.x * columns + i] = (row[i] - mean) * scale * weight[i] + bias[i];
}
