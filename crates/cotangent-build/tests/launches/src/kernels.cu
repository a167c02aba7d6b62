// What arguments and records there are: in each kernel another.
#include <cuda_fp16.h>

// In place, with a record that a kernel counts.
__global__ void decay(double* v, const double* rate, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = v[i];
  while (x > 0.125) x = x * (1.0 - rate[i] * x);
  v[i] = x;
}

// A record of a size that the arguments tell, and a number with a gradient.
__global__ void powers(const double* x, double* y, double by, int steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double s = x[i];
  for (int t = 0; t < steps; ++t) s = sin(s * by) + 0.25 * s * s;
  y[i] = s;
}

// Dynamic shared memory, of which the gradient has twice as much.
__global__ void smooth(const double* x, double* y) {
  extern __shared__ double tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = x[i] * x[i];
  __syncthreads();
  int left = threadIdx.x == 0 ? blockDim.x - 1 : threadIdx.x - 1;
  y[i] = tile[threadIdx.x] * tile[left];
}

// A cotangent that the gradient changes, so that it gets a copy.
__global__ void pile(const double* x, double* y, int count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double s = 1.0;
  for (int k = 0; k < count; ++k) {
    s *= x[i * count + k];
    y[i] = s;
  }
}

// A template, and names that are words of Rust.
template <class T>
__global__ void twist(const T* in, T* type, int stream) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < stream) type[i] = in[i] * in[i] * in[i];
}

// Vectors, whose addresses are multiples of 32 and 16 bytes.
__global__ void turn(const double4* x, double2* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double4 v = x[i];
  y[i] = make_double2(v.x * v.z - v.y * v.w, v.x * v.w + v.y * v.z);
}

// Whole numbers of all widths.
__global__ void words(const double* x, double* y, const unsigned char* kind, const long long* from, size_t n, bool twice,
                      unsigned short shift) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  double v = x[from[i]] * (kind[i] + shift);
  y[i] = twice ? 2.0 * v * v : v;
}

__global__ void halves(const __half* x, __half* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i];
}

// Structs, in each other and in arrays, with whole numbers among others.
namespace orbit {
struct Point {
  double x, y;
};
}  // namespace orbit

struct alignas(32) Body {
  int kind;
  orbit::Point at[2];
  float weight;
};

__global__ void pull(const Body* body, double* energy, orbit::Point centre, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double sum = 0.0;
  for (int k = 0; k < 2; ++k) {
    double x = body[i].at[k].x - centre.x, y = body[i].at[k].y - centre.y;
    sum += body[i].kind * (x * x + x * y * y);
  }
  energy[i] = sum * body[i].weight;
}

// A pointer to rows, and a vector by value.
__global__ void rows(const double (*x)[2][3], double (*y)[3], double3 w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i][0] = w.x * x[i][0][0] * x[i][1][0];
  y[i][1] = w.y * x[i][0][1] * x[i][1][1];
  y[i][2] = w.z * x[i][0][2] * x[i][1][2];
}

// Names that the module has too.
__global__ void load(const double* clear, double* address, int record) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < record) address[i] = 2.0 * clear[i];
}
