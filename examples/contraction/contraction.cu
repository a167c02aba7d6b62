// The contraction of two tensors of rank 3 over any pair of dimensions, and its gradient with respect to both.
//
// A program as it is found: a kernel with a device function, a host function that allocates, copies, launches and frees.
// The only lines about derivatives are the include and the request in `main`.
#include <cotangent/cotangent.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    cudaError_t error = (call);                                            \
    if (error != cudaSuccess) {                                            \
      std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(error));   \
      std::exit(1);                                                        \
    }                                                                      \
  } while (0)

// The sizes of a tensor; the last index runs fastest.
struct Shape {
  int n0, n1, n2;
};

// The elements along one dimension: where the first is, and how far it is from one to the next.
struct Line {
  int start, step;
};

__host__ __device__ int size_of(Shape shape) { return shape.n0 * shape.n1 * shape.n2; }

__host__ __device__ int size_along(Shape shape, int dimension) {
  return dimension == 0 ? shape.n0 : dimension == 1 ? shape.n1 : shape.n2;
}

// The line along a dimension; `rest` counts the pairs of the other two indices.
__device__ Line line_along(Shape shape, int dimension, int rest) {
  Line line;
  if (dimension == 0) {
    line.start = rest;
    line.step = shape.n1 * shape.n2;
  } else if (dimension == 1) {
    line.start = rest / shape.n2 * shape.n1 * shape.n2 + rest % shape.n2;
    line.step = shape.n2;
  } else {
    line.start = rest * shape.n2;
    line.step = 1;
  }
  return line;
}

// C has the two remaining dimensions of A, then those of B. One thread computes one element.
__global__ void contract_kernel(const float* __restrict__ A, Shape a, int along_a, const float* __restrict__ B, Shape b,
                                int along_b, float* __restrict__ C) {
  int count = size_along(a, along_a);
  int rest_a = size_of(a) / count;
  int rest_b = size_of(b) / count;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rest_a * rest_b) return;

  Line line_a = line_along(a, along_a, i / rest_b);
  Line line_b = line_along(b, along_b, i % rest_b);
  float sum = 0;
  for (int k = 0; k < count; ++k) {
    sum += A[line_a.start + k * line_a.step] * B[line_b.start + k * line_b.step];
  }
  C[i] = sum;
}

int size_of_contraction(Shape a, int along_a, Shape b, int along_b) {
  return size_of(a) / size_along(a, along_a) * (size_of(b) / size_along(b, along_b));
}

// Contracts tensors of the host.
void contract(const float* A, Shape a, int along_a, const float* B, Shape b, int along_b, float* C) {
  int size_a = size_of(a), size_b = size_of(b), size_c = size_of_contraction(a, along_a, b, along_b);
  float *device_A, *device_B, *device_C;
  CHECK(cudaMalloc(&device_A, size_a * sizeof(float)));
  CHECK(cudaMalloc(&device_B, size_b * sizeof(float)));
  CHECK(cudaMalloc(&device_C, size_c * sizeof(float)));
  CHECK(cudaMemcpy(device_A, A, size_a * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_B, B, size_b * sizeof(float), cudaMemcpyHostToDevice));

  contract_kernel<<<(size_c + 127) / 128, 128>>>(device_A, a, along_a, device_B, b, along_b, device_C);
  CHECK(cudaGetLastError());

  CHECK(cudaMemcpy(C, device_C, size_c * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_A));
  CHECK(cudaFree(device_B));
  CHECK(cudaFree(device_C));
}

using Tensor = std::vector<float>;

// Numbers between -1 and 1, the same on every machine.
Tensor random_tensor(int size, unsigned seed) {
  Tensor tensor(size);
  for (float& x : tensor) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) / (1 << 23) - 1;
  }
  return tensor;
}

double dot(const Tensor& x, const Tensor& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(x[i]) * y[i];
  return sum;
}

void write(std::FILE* file, const Tensor& tensor) {
  for (float x : tensor) std::fprintf(file, "%.9g ", x);
  std::fputc('\n', file);
}

// For every pair of dimensions: the gradient along random directions against the contraction of these directions, which is
// the same number, because a contraction is linear in either tensor. With a file's name, all tensors are written to it.
int main(int count, char** words) {
  auto gradient = cotangent::gradient(contract, "A, B, C");
  std::FILE* file = count > 1 ? std::fopen(words[1], "w") : nullptr;
  const int sizes[3] = {3, 4, 5};
  double worst = 0;
  for (int along_a = 0; along_a < 3; ++along_a) {
    for (int along_b = 0; along_b < 3; ++along_b) {
      Shape a = {sizes[0], sizes[1], sizes[2]};
      // As long as A along the dimensions that are contracted, and of other sizes elsewhere.
      int n[3] = {2, 6, 7};
      n[along_b] = sizes[along_a];
      Shape b = {n[0], n[1], n[2]};
      int size_c = size_of_contraction(a, along_a, b, along_b);

      Tensor A = random_tensor(size_of(a), 1), B = random_tensor(size_of(b), 2), C(size_c);
      // The gradient of the sum of all elements of C, each with a weight. The adjoint of C is used up, as C is overwritten.
      Tensor d_A(A.size()), d_B(B.size()), weights = random_tensor(size_c, 3), d_C = weights;
      gradient.execute(A.data(), a, along_a, B.data(), b, along_b, C.data(), d_A.data(), d_B.data(), d_C.data());

      Tensor direction_A = random_tensor(size_of(a), 4), direction_B = random_tensor(size_of(b), 5), change(size_c);
      contract(direction_A.data(), a, along_a, B.data(), b, along_b, change.data());
      worst = std::fmax(worst, std::fabs(dot(d_A, direction_A) - dot(weights, change)));
      contract(A.data(), a, along_a, direction_B.data(), b, along_b, change.data());
      worst = std::fmax(worst, std::fabs(dot(d_B, direction_B) - dot(weights, change)));

      if (file != nullptr) {
        std::fprintf(file, "%d %d %d %d %d %d %d %d\n", along_a, a.n0, a.n1, a.n2, along_b, b.n0, b.n1, b.n2);
        for (const Tensor* tensor : {&A, &B, &C, &weights, &d_A, &d_B}) write(file, *tensor);
      }
    }
  }
  if (file != nullptr) std::fclose(file);
  bool is_right = worst < 1e-4;
  std::printf("gradients of 9 contractions: %s\n", is_right ? "right" : "WRONG");
  if (!is_right) std::printf("largest error along a direction: %g\n", worst);
  return is_right ? 0 : 1;
}
