// Runs the stencil and its gradients.
int main(int count, char** words) {
  const int n = 20000;
  const float k = 0.1f;
  Arrays arrays;
  float *in = arrays.random(n), *out = arrays.zero(n), *d_in = arrays.zero(n), *d_out = arrays.random(n);
  float* dk = arrays.zero(1);
  Trial trial(arrays, count, words);
  const auto grid = [&](int threads) { return (n + threads - 1) / threads; };
  trial.primal = [&](int threads) { diffuse<<<grid(threads), threads>>>(in, out, k, n); };
  trial.ours = [&](int threads) { launch_gradient(grid(threads), threads, in, out, k, n, d_in, d_out, dk); };
  trial.bytes = [&](int threads) { return recorded_bytes(grid(threads), threads, in, out, k, n); };
  trial.by_hand = [&](int threads) {
    diffuse_by_hand<<<grid(threads), threads>>>(in, out, k, n, d_in, d_out, dk);
    diffuse_by_hand_clear<<<grid(threads), threads>>>(d_out, n);
  };
  return trial.run({1, 33, 48, 1024}, {1, 33, 48, 1024}, 128);
}
