// Bilinear sampling at learned offsets, as deformable convolutions and spatial transformers do it.
template <typename scalar_t>
__device__ scalar_t pixel(const scalar_t* image, int height, int width, int y, int x) {
  return y < 0 || y >= height || x < 0 || x >= width ? scalar_t(0) : image[y * width + x];
}

template <typename scalar_t>
__global__ void sample(const scalar_t* __restrict__ image, const scalar_t* __restrict__ offset,
                       scalar_t* __restrict__ out, int batch, int channels, int height, int width) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= batch * channels * height * width) return;
  int x = index % width, y = index / width % height;
  int c = index / (width * height) % channels, b = index / (width * height * channels);
  const scalar_t* shift = offset + b * 2 * height * width + y * width + x;
  scalar_t at_y = y + shift[0], at_x = x + shift[height * width];
  int top = floor(at_y), left = floor(at_x);
  scalar_t down = at_y - top, right = at_x - left;
  const scalar_t* plane = image + (b * channels + c) * height * width;
  out[index] = (1 - down) * (1 - right) * pixel(plane, height, width, top, left) +
               (1 - down) * right * pixel(plane, height, width, top, left + 1) +
               down * (1 - right) * pixel(plane, height, width, top + 1, left) +
               down * right * pixel(plane, height, width, top + 1, left + 1);
}
