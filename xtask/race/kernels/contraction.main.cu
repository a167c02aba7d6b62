// Runs the contraction and its gradients.
int main(int count, char** words) {
  const int n = 10, slice = n * n * n, all = slice * n;
  Arrays arrays;
  float *a = arrays.random(slice), *b = arrays.random(slice), *c = arrays.zero(all);
  float *da = arrays.zero(slice), *db = arrays.zero(slice), *dc = arrays.random(all);
  Trial trial(arrays, count, words);
  const auto grid = [&](int threads) { return (all + threads - 1) / threads; };
  trial.primal = [&](int threads) { contraction<<<grid(threads), threads>>>(a, b, c, n); };
  trial.ours = [&](int threads) { launch_gradient(grid(threads), threads, a, b, c, n, da, db, dc); };
  trial.bytes = [&](int threads) { return recorded_bytes(grid(threads), threads, a, b, c, n); };
  trial.by_hand = [&](int threads) {
    const int blocks = (slice + threads - 1) / threads;
    contraction<<<grid(threads), threads>>>(a, b, c, n);
    contraction_by_hand_of_a<<<blocks, threads>>>(b, dc, da, n);
    contraction_by_hand_of_b<<<blocks, threads>>>(a, dc, db, n);
    cudaMemset(dc, 0, all * sizeof(float));
  };
  return trial.run({1, 33, 48, 1024}, {1, 33, 48, 1024}, 128);
}
