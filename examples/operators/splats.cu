// Alpha compositing of splats, front to back, as 3D Gaussian splatting does it; a thread a pixel.
template <typename scalar_t>
__global__ void composite(const scalar_t* __restrict__ centers, const scalar_t* __restrict__ scales,
                          const scalar_t* __restrict__ opacities, const scalar_t* __restrict__ colours,
                          scalar_t* __restrict__ image, int splats, int height, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  scalar_t left = 1, red = 0, green = 0, blue = 0;
  for (int s = 0; s < splats; s++) {
    scalar_t dx = centers[2 * s] - x, dy = centers[2 * s + 1] - y;
    scalar_t power = -scalar_t(0.5) * scales[s] * (dx * dx + dy * dy);
    if (power < -8) continue;
    scalar_t alpha = opacities[s] * exp(power);
    red += left * alpha * colours[3 * s];
    green += left * alpha * colours[3 * s + 1];
    blue += left * alpha * colours[3 * s + 2];
    left *= 1 - alpha;
    if (left < scalar_t(0.0001)) break;
  }
  scalar_t* pixel = image + 3 * (y * width + x);
  pixel[0] = red, pixel[1] = green, pixel[2] = blue;
}
