// Runs saxpy and its gradients.
int main(int count, char** words) {
  const int n = 20000;
  const float a = 0.7f;
  Arrays arrays;
  float *x = arrays.random(n), *y = arrays.random(n), *da = arrays.zero(1), *dx = arrays.zero(n), *dy = arrays.random(n);
  Trial trial(arrays, count, words);
  const auto grid = [&](int threads) { return (n + threads - 1) / threads; };
  trial.primal = [&](int threads) { saxpy<<<grid(threads), threads>>>(n, a, x, y); };
  trial.ours = [&](int threads) { launch_gradient(grid(threads), threads, n, a, x, y, da, dx, dy); };
  trial.bytes = [&](int threads) { return recorded_bytes(grid(threads), threads, n, a, x, y); };
  trial.by_hand = [&](int threads) { saxpy_by_hand<<<grid(threads), threads>>>(n, a, x, y, da, dx, dy); };
  return trial.run({1, 33, 48, 1024}, {1, 33, 48, 1024}, 128);
}
