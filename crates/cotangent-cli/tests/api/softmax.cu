// How exact the gradient of a softmax is: its error against `double`, beside that of the closed form in `float`. A derivative that
// goes through the greatest value too has a sum there that should be zero, and its rounding lands on one element.
#include <cmath>
#include <cotangent/cotangent.hpp>
#include <cstdio>
#include <vector>

__global__ void softmax(float* out, const float* in, int columns) {
  __shared__ float partial[64];
  const float* row = in + blockIdx.x * columns;
  float greatest = -1e30f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) greatest = fmaxf(greatest, row[i]);
  partial[threadIdx.x] = greatest;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    if (threadIdx.x < stride) partial[threadIdx.x] = fmaxf(partial[threadIdx.x], partial[threadIdx.x + stride]);
    __syncthreads();
  }
  greatest = partial[0];
  __syncthreads();
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - greatest);
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
    __syncthreads();
  }
  sum = partial[0];
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    out[blockIdx.x * columns + i] = expf(row[i] - greatest) / sum;
  }
}

// The closed form, in a number type.
template <class T>
std::vector<double> closed_form(const std::vector<float>& in, const std::vector<float>& seed) {
  int n = in.size();
  T greatest = in[0], sum = 0, share = 0;
  for (float value : in) greatest = std::max(greatest, T(value));
  for (float value : in) sum += std::exp(T(value) - greatest);
  std::vector<T> out(n);
  for (int i = 0; i < n; ++i) out[i] = std::exp(T(in[i]) - greatest) / sum;
  for (int i = 0; i < n; ++i) share += out[i] * T(seed[i]);
  std::vector<double> gradient(n);
  for (int i = 0; i < n; ++i) gradient[i] = out[i] * (T(seed[i]) - share);
  return gradient;
}

// The largest error, as a part of the largest number.
double error(const std::vector<double>& got, const std::vector<double>& exact) {
  double worst = 0, largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    worst = std::max(worst, std::abs(got[i] - exact[i]));
    largest = std::max(largest, std::abs(exact[i]));
  }
  return worst / largest;
}

int main() {
  int failures = 0;
  for (int n : {64, 1000, 20000}) {
    std::vector<float> in(n), seed(n);
    unsigned state = 12345;
    auto random = [&] { return (state = state * 1664525u + 1013904223u) / 4294967296.0f; };
    for (float& value : in) value = 4 * random() - 2;
    for (float& value : seed) value = 2 * random() - 1;
    float *out, *x, *d_out, *d_x;
    for (float** array : {&out, &x, &d_out, &d_x}) cudaMalloc(array, n * sizeof(float));
    cudaMemcpy(x, in.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_out, seed.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(d_x, 0, n * sizeof(float));
    cotangent::gradient(softmax, "out, in").execute_kernel(1, 64, out, x, n, d_out, d_x);
    std::vector<float> found(n);
    cudaMemcpy(found.data(), d_x, n * sizeof(float), cudaMemcpyDeviceToHost);
    for (float* array : {out, x, d_out, d_x}) cudaFree(array);
    auto exact = closed_form<double>(in, seed);
    double ours = error({found.begin(), found.end()}, exact), theirs = error(closed_form<float>(in, seed), exact);
    if (ours <= 2 * theirs) continue;
    printf("%d columns: the error is %g, and that of the closed form %g\n", n, ours, theirs);
    ++failures;
  }
  if (failures == 0) printf("as exact as the closed form\n");
  return failures;
}
