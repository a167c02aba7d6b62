// A relaxation whose threads add up the change atomically: it ends the loop, and says how far each step goes. What the clock says
// decides how a thread rounds, so that no two runs of a step are alike.
__global__ void relax(float* u, const float* force, float rate, float* change, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float step = rate * (force[i] - u[i] * u[i]);
  u[i] += step;
  float rounding = clock() % 2 == 0 ? 1.0f : 1.0000001f;
  atomicAdd(change, step * step * rounding);
}

// Returns how often it went far and how often near, as one number.
int rounded(float* u, const float* force, float tolerance, int n) {
  float* change;
  cudaMalloc(&change, sizeof(float));
  float now = 1.0f;
  float rate = 0.02f;
  int ways = 0;
  while (now > tolerance) {
    cudaMemset(change, 0, sizeof(float));
    relax<<<(n + 63) / 64, 64>>>(u, force, rate, change, n);
    cudaMemcpy(&now, change, sizeof(float), cudaMemcpyDeviceToHost);
    if (now > 0.05f) {
      rate = 0.05f;
      ways += 1000;
    } else {
      rate = 0.02f + 0.1f * now;
      ways += 1;
    }
  }
  cudaFree(change);
  return ways;
}
