// Runs softmax and its gradients.
int main(int count, char** words) {
  const int rows = 7, columns = 300, all = rows * columns;
  Arrays arrays;
  float *out = arrays.zero(all), *in = arrays.random(all), *d_out = arrays.random(all), *d_in = arrays.zero(all);
  Trial trial(arrays, count, words);
  trial.primal = [&](int threads) { softmax<<<rows, threads>>>(out, in, columns); };
  trial.ours = [&](int threads) { launch_gradient(rows, threads, out, in, columns, d_out, d_in); };
  trial.bytes = [&](int threads) { return recorded_bytes(rows, threads, out, in, columns); };
  trial.by_hand = [&](int threads) {
    softmax<<<rows, 128>>>(out, in, columns);
    softmax_by_hand<<<rows, threads>>>(out, d_out, d_in, columns);
  };
  return trial.run({1, 33, 48, 1024}, {1, 32, 1024}, 128);
}
