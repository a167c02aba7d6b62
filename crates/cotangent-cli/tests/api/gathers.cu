// Additions that are gathered, in launches of many shapes: grids that cover the arrays, some of them, or more, and sizes of which nothing
// can be gathered. The adjoints are compared with sums over the threads of the launch, in the order of the program.
#include <cmath>
#include <cotangent/cotangent.hpp>
#include <cstdio>
#include <functional>
#include <vector>

__global__ void product(const double* a, const double* b, double* c, int m, int n, int depth) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  double sum = 0.0;
  for (int k = 0; k < depth; ++k) sum += a[row * depth + k] * b[k * n + column];
  c[row * n + column] = sum;
}

__global__ void folded(const double* a, const double* b, double* c, int total, int width) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < total) c[t] = a[t / width] * b[t % width];
}

__global__ void stencil(const double* u, double* v, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  int i = y * w + x;
  v[i] = u[i] * u[i - 1] + 3.0 * u[i + 1] * u[i] + u[i - w] * u[i + w];
}

__global__ void filter(const double* x, const double* taps, double* y, int n, int m) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    double sum = 0.0;
    for (int k = m - 1; k >= 0; --k) sum += x[i + k] * taps[k];
    y[i] = sum;
  }
}

int failures = 0, launches = 0;

struct Array {
  double* data;
  int size;
  Array(int size, double scale) : size(size) {
    cudaMallocManaged(&data, (size + 1) * sizeof(double));
    for (int i = 0; i < size; ++i) data[i] = scale * std::sin(1.0 + 0.7 * i);
  }
};

void compare(const char* what, const Array& found, const std::vector<double>& expected, dim3 grid, dim3 block) {
  for (int i = 0; i < found.size; ++i) {
    if (std::fabs(found.data[i] - expected[i]) <= 1e-12 * (1.0 + std::fabs(expected[i]))) continue;
    printf("%s: element %d of %d is %g, not %g; <<<(%u, %u), (%u, %u)>>>\n", what, i, found.size, found.data[i],
           expected[i], grid.x, grid.y, block.x, block.y);
    ++failures;
    return;
  }
}

void products(int m, int n, int depth, dim3 grid, dim3 block) {
  Array a(m * depth, 1.0), b(depth * n, 2.0), c(m * n, 0.0), d_a(a.size, 0.5), d_b(b.size, 0.25), d_c(c.size, 1.5);
  std::vector<double> in_a(d_a.data, d_a.data + a.size), in_b(d_b.data, d_b.data + b.size);
  std::vector<double> in_c(d_c.data, d_c.data + c.size);
  for (unsigned row = 0; row < grid.y * block.y; ++row)
    for (unsigned column = 0; column < grid.x * block.x; ++column) {
      if ((int)row >= m || (int)column >= n) continue;
      double seed = in_c[row * n + column];
      in_c[row * n + column] = 0.0;
      for (int k = 0; k < depth; ++k) {
        in_a[row * depth + k] += seed * b.data[k * n + column];
        in_b[k * n + column] += seed * a.data[row * depth + k];
      }
    }
  auto gradient = cotangent::gradient(product, "a, b, c");
  gradient.execute_kernel(grid, block, a.data, b.data, c.data, m, n, depth, d_a.data, d_b.data, d_c.data);
  cudaDeviceSynchronize();
  compare("a of a product", d_a, in_a, grid, block);
  compare("b of a product", d_b, in_b, grid, block);
  compare("c of a product", d_c, in_c, grid, block);
  ++launches;
}

void folds(int total, int width, dim3 grid, dim3 block) {
  int rows = total / width + 1;
  Array a(rows, 1.0), b(width, 2.0), c(total, 0.0), d_a(a.size, 0.5), d_b(b.size, 0.25), d_c(c.size, 1.5);
  std::vector<double> in_a(d_a.data, d_a.data + a.size), in_b(d_b.data, d_b.data + b.size);
  for (int t = 0; t < total && t < (int)(grid.x * block.x); ++t) {
    in_a[t / width] += d_c.data[t] * b.data[t % width];
    in_b[t % width] += d_c.data[t] * a.data[t / width];
  }
  auto gradient = cotangent::gradient(folded, "a, b, c");
  gradient.execute_kernel(grid, block, a.data, b.data, c.data, total, width, d_a.data, d_b.data, d_c.data);
  cudaDeviceSynchronize();
  compare("a of a folded index", d_a, in_a, grid, block);
  compare("b of a folded index", d_b, in_b, grid, block);
  ++launches;
}

void stencils(int w, int h, dim3 grid, dim3 block) {
  Array u(w * h, 1.0), v(w * h, 0.0), d_u(u.size, 0.5), d_v(v.size, 1.5);
  std::vector<double> in_u(d_u.data, d_u.data + u.size);
  for (unsigned y = 1; y < grid.y * block.y; ++y)
    for (unsigned x = 1; x < grid.x * block.x; ++x) {
      if ((int)x >= w - 1 || (int)y >= h - 1) continue;
      int i = y * w + x;
      double seed = d_v.data[i];
      in_u[i] += seed * (u.data[i - 1] + 3.0 * u.data[i + 1]);
      in_u[i - 1] += seed * u.data[i];
      in_u[i + 1] += seed * 3.0 * u.data[i];
      in_u[i - w] += seed * u.data[i + w];
      in_u[i + w] += seed * u.data[i - w];
    }
  auto gradient = cotangent::gradient(stencil, "u, v");
  gradient.execute_kernel(grid, block, u.data, v.data, w, h, d_u.data, d_v.data);
  cudaDeviceSynchronize();
  compare("u of a stencil", d_u, in_u, grid, block);
  ++launches;
}

void filters(int n, int m, dim3 grid, dim3 block) {
  Array x(n + m, 1.0), taps(m, 2.0), y(n, 0.0), d_x(x.size, 0.5), d_taps(m, 0.25), d_y(n, 1.5);
  std::vector<double> in_x(d_x.data, d_x.data + x.size), in_taps(d_taps.data, d_taps.data + m);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < m; ++k) {
      in_x[i + k] += d_y.data[i] * taps.data[k];
      in_taps[k] += d_y.data[i] * x.data[i + k];
    }
  auto gradient = cotangent::gradient(filter, "x, taps, y");
  gradient.execute_kernel(grid, block, x.data, taps.data, y.data, n, m, d_x.data, d_taps.data, d_y.data);
  cudaDeviceSynchronize();
  compare("x of a filter", d_x, in_x, grid, block);
  compare("taps of a filter", d_taps, in_taps, grid, block);
  ++launches;
}

int main() {
  for (dim3 block : {dim3(1), dim3(33), dim3(48), dim3(16, 3), dim3(8, 8), dim3(32, 32)})
    for (dim3 grid : {dim3(1), dim3(2, 3), dim3(3, 2)}) {
      products(20, 22, 24, grid, block);
      products(3, 2, 300, grid, block);
      products(20, 22, 0, grid, block);
      stencils(19, 23, grid, block);
      stencils(3, 40, grid, block);
      stencils(2, 2, grid, block);
    }
  for (int threads : {1, 33, 48, 1024})
    for (int blocks : {1, 5, 40}) {
      folds(1000, 300, blocks, threads);
      folds(1000, 3, blocks, threads);
      folds(1000, 1, blocks, threads);
      folds(700, 1000, blocks, threads);
      filters(500, 300, blocks, threads);
      filters(500, 4, blocks, threads);
      filters(3, 260, blocks, threads);
    }
  printf("%d launches, %d wrong\n", launches, failures);
  return failures != 0;
}
