// half and bfloat16 in the ways that programs use them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <class T>
__global__ void scalars(T* p, const float* f) {
  __shared__ T tile[32];
  tile[0] = p[1];
  T a = p[0], b = f[0];
  T c = a + b * a - b / a;
  c += a;
  float x = a;
  int i = c;
  double d = a;
  p[0] = c;
  p[1] = i;
  p[2] = 1.0f;
  p[3] = 2;
  p[4] = x;
  p[5] = __hfma(a, b, c);
  p[6] = hexp(a);
  if (a < b && a == c) p[7] = -a;
  p[8] = (T)0.f;
  p[9] = static_cast<T>(x * 2.0);
  p[10] = d;
  p[11] = __shfl_down_sync(~0u, a, 1);
  p[12] = __hadd(a, b);
  p[13] = __hmax(a, b);
  p[14] = __ldg(p);
  atomicAdd(p, a);
  x = (float)a + float(b) * static_cast<float>(c);
  p[15] = T(x);
}

__global__ void pairs(half2* p, __nv_bfloat162* q) {
  half2 a = p[0];
  a = __hadd2(a, a);
  a = a * a + a;
  p[1] = __hfma2(a, a, a);
  float2 f = __half22float2(a);
  p[2] = __float22half2_rn(f);
  p[3] = __floats2half2_rn(1.f, 2.f);
  p[4] = half2(a.x, a.y);
  p[5] = make_half2(a.x, a.y);
  q[0] = __floats2bfloat162_rn(1.f, 2.f);
  q[1] = __hmul2(q[0], q[0]);
  q[2].x = __low2float(q[0]) + __low2float(a) + __bfloat162float(q[0].x);
  half h = __hadd(a.x, a.y);
  h = static_cast<half>(q[0].x);
  q[3].y = __nv_bfloat16(h);
  h = __ushort_as_half(__half_as_ushort(h));
  p[5].x = __int2half_rn(__half2int_rn(h));
  p[6] = __half2half2(h);
  if (__hgt(h, a.x) || __hbeq2(a, a)) p[7] = __halves2half2(h, h);
}

int main() {
  half* p;
  cudaMalloc(&p, 64);
  float* f = nullptr;
  scalars<<<1, 2>>>(p, f);
  __nv_bfloat16* q = nullptr;
  scalars<<<1, 2>>>(q, f);
  pairs<<<1, 1>>>(reinterpret_cast<half2*>(p), reinterpret_cast<__nv_bfloat162*>(q));
  half h = 1.f;
  float g = h;
  h = g * 2;
  h += half(1);
  h = __float2half(g);
  return (int)(float)h;
}
