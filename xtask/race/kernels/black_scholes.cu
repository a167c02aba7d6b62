// Prices of calls and puts by Black and Scholes, an option a thread, with CUDA's fast intrinsics.
__device__ inline float cnd(float d) {
  const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f, A5 = 1.330274429f;
  const float RSQRT2PI = 0.39894228040143267793994605993438f;
  float K = __fdividef(1.0f, (1.0f + 0.2316419f * fabsf(d)));
  float c = RSQRT2PI * __expf(-0.5f * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));
  if (d > 0) c = 1.0f - c;
  return c;
}

__device__ inline void body(float& call, float& put, float S, float X, float T, float R, float V) {
  float sqrtT = __fdividef(1.0F, rsqrtf(T));
  float d1 = __fdividef(__logf(S / X) + (R + 0.5f * V * V) * T, V * sqrtT);
  float d2 = d1 - V * sqrtT;
  float CNDD1 = cnd(d1), CNDD2 = cnd(d2);
  float expRT = __expf(-R * T);
  call = S * CNDD1 - X * expRT * CNDD2;
  put = X * expRT * (1.0f - CNDD2) - S * (1.0f - CNDD1);
}

__global__ void black_scholes(float* __restrict__ call, float* __restrict__ put, const float* __restrict__ stock,
                              const float* __restrict__ strike, const float* __restrict__ years, float riskfree,
                              float volatility, int n) {
  const int opt = blockIdx.x * blockDim.x + threadIdx.x;
  if (opt < n) {
    float c, p;
    body(c, p, stock[opt], strike[opt], years[opt], riskfree, volatility);
    call[opt] = c;
    put[opt] = p;
  }
}
