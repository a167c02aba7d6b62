// A tiled matrix product with ragged edges, and its gradient by hand in the function's own sweep: tiles in shared memory
// are gathered from, so that only the sums over blocks are atomic.
#define TILE 16

__global__ void product(float* c, const float* a, const float* b, int rows, int columns, int depth) {
  __shared__ float tile_a[TILE][TILE];
  __shared__ float tile_b[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y;
  int column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < (depth + TILE - 1) / TILE; ++t) {
    int k_a = t * TILE + threadIdx.x;
    int k_b = t * TILE + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < rows && k_a < depth ? a[row * depth + k_a] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] = column < columns && k_b < depth ? b[k_b * columns + column] : 0.0f;
    __syncthreads();
    for (int k = 0; k < TILE; ++k) {
      sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
    }
    __syncthreads();
  }
  if (row < rows && column < columns) {
    c[row * columns + column] = sum;
  }
}

__global__ void product_by_hand(const float* __restrict__ a, const float* __restrict__ b, int rows, int columns,
                                int depth, float* __restrict__ dc, float* __restrict__ da, float* __restrict__ db) {
  __shared__ float tile_a[TILE][TILE + 1], tile_b[TILE][TILE + 1], seed[TILE][TILE + 1];
  const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  const bool is_inside = row < rows && column < columns;
  seed[threadIdx.y][threadIdx.x] = is_inside ? dc[row * columns + column] : 0.0f;
  if (is_inside) dc[row * columns + column] = 0.0f;
  for (int t = 0; t < (depth + TILE - 1) / TILE; ++t) {
    const int k_a = t * TILE + threadIdx.x, k_b = t * TILE + threadIdx.y;
    __syncthreads();
    tile_a[threadIdx.y][threadIdx.x] = row < rows && k_a < depth ? a[row * depth + k_a] : 0.0f;
    tile_b[threadIdx.y][threadIdx.x] = column < columns && k_b < depth ? b[k_b * columns + column] : 0.0f;
    __syncthreads();
    float of_a = 0.0f, of_b = 0.0f;
    for (int j = 0; j < TILE; ++j) {
      of_a += seed[threadIdx.y][j] * tile_b[threadIdx.x][j];
      of_b += tile_a[j][threadIdx.y] * seed[j][threadIdx.x];
    }
    if (row < rows && k_a < depth) atomicAdd(&da[row * depth + k_a], of_a);
    if (column < columns && k_b < depth) atomicAdd(&db[k_b * columns + column], of_b);
  }
}
