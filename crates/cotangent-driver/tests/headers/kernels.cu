// Device code in the style of public programs: a rasteriser, a hydrodynamics
// step, layer normalisation and attention. Each piece is here for what it asks
// of the headers.
#include <cmath>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <math_constants.h>

namespace cg = cooperative_groups;

#define TILE 16
#define FULL_MASK 0xffffffffu

// Small vectors with the operators that programs bring themselves.
inline __host__ __device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
inline __host__ __device__ float3 operator+(float3 a, float3 b) {
  return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}
inline __host__ __device__ float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
inline __host__ __device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline __host__ __device__ float3 normalize(float3 a) { return a * rsqrtf(dot(a, a)); }
__forceinline__ __device__ float clampf(float x, float low, float high) { return fminf(fmaxf(x, low), high); }

// A covariance, projected; spherical harmonics as a table in constant memory.
__constant__ float harmonics[4] = {0.28209479177387814f, 0.4886025119029199f, 1.0925484305920792f, -0.59004358992f};
__device__ const float harmonics_2[] = {1.0925484305920792f, -1.0925484305920792f, 0.31539156525252005f};

__device__ float3 project(const float3& mean, const float* __restrict__ view, float2 focal) {
  float3 t = make_float3(view[0] * mean.x + view[4] * mean.y + view[12], view[1] * mean.x + view[13], 0.f);
  t.z = fmaf(view[2], mean.x, __fmul_rn(view[6], mean.y)) + view[14];
  const float limit = 1.3f;
  t.x = min(limit, max(-limit, t.x / t.z)) * t.z;
  return make_float3(focal.x * __fdividef(t.x, t.z), focal.y * t.y / t.z, harmonics[0] * t.z + harmonics_2[1]);
}

template <unsigned Channels>
__global__ void __launch_bounds__(TILE* TILE)
    render(const uint2* __restrict__ ranges, const unsigned* __restrict__ order, int width, int height,
           const float2* __restrict__ points, const float4* __restrict__ conic_opacity,
           const float* __restrict__ features, float* __restrict__ out) {
  auto block = cg::this_thread_block();
  unsigned blocks_across = (width + TILE - 1) / TILE;
  uint2 pixel = {block.group_index().x * TILE + block.thread_index().x,
                 block.group_index().y * TILE + block.thread_index().y};
  bool inside = pixel.x < static_cast<unsigned>(width) && pixel.y < static_cast<unsigned>(height);
  bool done = !inside;
  uint2 range = ranges[block.group_index().y * blocks_across + block.group_index().x];
  const int rounds = ((range.y - range.x + TILE * TILE - 1) / (TILE * TILE));
  int left = range.y - range.x;
  __shared__ int ids[TILE * TILE];
  __shared__ float2 positions[TILE * TILE];
  __shared__ float4 conics[TILE * TILE];
  float transmittance = 1.0f;
  float color[Channels] = {0};
  for (int i = 0; i < rounds; i++, left -= TILE * TILE) {
    if (__syncthreads_count(done) == TILE * TILE) break;
    int progress = i * TILE * TILE + block.thread_rank();
    if (range.x + progress < range.y) {
      int id = order[range.x + progress];
      ids[block.thread_rank()] = id;
      positions[block.thread_rank()] = points[id];
      conics[block.thread_rank()] = __ldg(conic_opacity + id);
    }
    block.sync();
    for (int j = 0; !done && j < min(TILE * TILE, left); j++) {
      float2 d = {positions[j].x - (float)pixel.x, positions[j].y - (float)pixel.y};
      float4 c = conics[j];
      float power = -0.5f * (c.x * d.x * d.x + c.z * d.y * d.y) - c.y * d.x * d.y;
      if (power > 0.0f) continue;
      float alpha = min(0.99f, c.w * __expf(power));
      if (alpha < 1.0f / 255.0f) continue;
      float next = transmittance * (1 - alpha);
      if (next < 0.0001f) {
        done = true;
        continue;
      }
      for (unsigned ch = 0; ch < Channels; ch++) color[ch] += features[ids[j] * Channels + ch] * alpha * transmittance;
      transmittance = next;
    }
  }
  if (inside) {
    for (unsigned ch = 0; ch < Channels; ch++) out[ch * height * width + width * pixel.y + pixel.x] = color[ch];
  }
}

template __global__ void render<3>(const uint2*, const unsigned*, int, int, const float2*, const float4*, const float*,
                                   float*);

// Hydrodynamics on hexahedra: local arrays, pointers into them, structs of pointers.
typedef double Real_t;
typedef int Index_t;

inline __host__ __device__ float SQRT(float x) { return sqrtf(x); }
inline __host__ __device__ double SQRT(double x) { return sqrt(x); }
inline __host__ __device__ float FMAX(float a, float b) { return fmaxf(a, b); }
inline __host__ __device__ double FMAX(double a, double b) { return fmax(a, b); }

struct Domain {
  Real_t *x, *y, *z, *volume;
  const Index_t* __restrict__ nodelist;
  Index_t num_elements;
};

static __device__ __forceinline__ void sum_face_normal(Real_t* n0, Real_t* n1, const Real_t x0, const Real_t x1,
                                                       const Real_t y0, const Real_t y1) {
  Real_t area = Real_t(0.25) * (x0 * y1 - x1 * y0);
  *n0 += area;
  *n1 -= area;
}

__device__ static inline Real_t element_volume(const Real_t x[8], const Real_t y[8], const Real_t z[8]) {
  Real_t (*rows)[4] = nullptr;
  Real_t local[2][4];
  rows = local;
  for (int i = 0; i < 8; ++i) rows[i / 4][i % 4] = x[i] * y[(i + 1) & 7] - z[i];
  return local[0][0] + rows[1][3];
}

__global__ void volumes(Domain domain, Real_t dt, int* __restrict__ bad) {
  Index_t element = blockDim.x * blockIdx.x + threadIdx.x;
  if (element >= domain.num_elements) return;
  Real_t x[8], y[8], z[8], b[3][8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    Index_t node = domain.nodelist[element + i * domain.num_elements];
    x[i] = domain.x[node];
    y[i] = domain.y[node];
    z[i] = __ldg(&domain.z[node]);
    b[0][i] = b[1][i] = b[2][i] = 0;
  }
  sum_face_normal(&b[0][0], &b[1][0], x[0], x[1], y[0], y[1]);
  Real_t v = element_volume(x, y, z);
  Real_t length = cbrt(v) / (fmax(fabs(v), Real_t(1.e-36)) + SQRT(v));
  if (v <= Real_t(0) || isnan(length)) *bad = element;
  domain.volume[element] = v * dt + FMAX(length, b[0][0]);
}

// Layer normalisation and softmax of a language model, with packed loads.
template <class T>
struct alignas(16) Packed128 {
  static constexpr int size = sizeof(int4) / sizeof(T);
  T payload[size];
  Packed128() = default;
  __device__ explicit Packed128(int4 bits) { memcpy(&payload, &bits, sizeof(bits)); }
  __device__ T& operator[](int i) { return payload[i]; }
  __device__ int4 bits() const {
    int4 result;
    memcpy(&result, &payload, sizeof(result));
    return result;
  }
};

template <class T>
__device__ Packed128<T> load128(const T* address) {
  return Packed128<T>{__ldcs(reinterpret_cast<const int4*>(address))};
}
template <class T>
__device__ void store128(T* address, Packed128<T> value) {
  __stcg(reinterpret_cast<int4*>(address), value.bits());
}

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(FULL_MASK, value, offset);
  return value;
}

using ReduceFunction = float (*)(float);
template <ReduceFunction warp_reduce>
__device__ float block_reduce(float value, float outside) {
  __shared__ float shared[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  value = warp_reduce(value);
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  value = lane < warps ? shared[lane] : outside;
  return warp_reduce(value);
}

__global__ void layernorm(half* __restrict__ out, float* __restrict__ mean, const half* __restrict__ in,
                          const half* __restrict__ weight, int n, int channels) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  if (row >= n) return;
  float sum = 0.0f;
  for (int i = warp.thread_rank() * Packed128<half>::size; i < channels; i += warp.size() * Packed128<half>::size) {
    Packed128<half> pack = load128(in + row * channels + i);
    for (int k = 0; k < pack.size; ++k) sum += (float)pack[k];
  }
  sum = cg::reduce(warp, sum, cg::plus<float>{});
  float m = sum / channels;
  float spread = block_reduce<warp_sum>(m, -INFINITY);
  if (warp.thread_rank() == 0 && mean != nullptr) __stcs(mean + row, m);
  float scale = rsqrtf(spread / channels + 1e-5f);
  for (int c = warp.thread_rank(); c < channels; c += warp.size()) {
    float normed = scale * (__half2float(__ldcs(in + row * channels + c)) - m);
    __stcs(out + row * channels + c, __float2half(normed * __half2float(weight[c])));
  }
}

// The activation of a language model, stochastic rounding by a hash, and an atomic maximum of floats.
#define GELU_SCALE sqrtf(2.0f / CUDART_PI_F)
__device__ unsigned int squirrel(int position, unsigned int seed) {
  unsigned int mangled = static_cast<unsigned int>(position) * 0xB5297A4Du + seed;
  mangled ^= __funnelshift_r(mangled, mangled, 8);
  return __brev(mangled) ^ __umulhi(mangled, 0x68E31DA4u) ^ static_cast<unsigned int>(__popc(mangled));
}
__device__ float atomic_max(float* address, float value) {
  int* place = reinterpret_cast<int*>(address);
  int old = *place, assumed;
  do {
    assumed = old;
    old = atomicCAS(place, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
  } while (assumed != old);
  return __int_as_float(old);
}
__global__ void gelu(float* out, const float* in, float* largest, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    float x = in[i];
    float cube = 0.044715f * x * x * x;
    out[i] = 0.5f * x * (1.0f + tanhf(GELU_SCALE * (x + cube)));
    if (squirrel(i, 1u) & 1u) out[i] = __fadd_ru(out[i], clampf(x, -1.f, 1.f));
    unsigned int active = __ballot_sync(__activemask(), x > 0);
    if (__ffs(static_cast<int>(active)) - 1 == static_cast<int>(threadIdx.x % warpSize)) atomic_max(largest, x);
    __threadfence();
  }
}
