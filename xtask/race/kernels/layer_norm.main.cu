// Runs layer norm and its gradients. The mean and the scale of each row, which the half by hand takes, are computed here.
int main(int count, char** words) {
  const int rows = 7, columns = 300, all = rows * columns;
  Arrays arrays;
  float *out = arrays.zero(all), *in = arrays.random(all), *weight = arrays.random(columns);
  float *bias = arrays.random(columns), *d_out = arrays.random(all), *d_in = arrays.zero(all);
  float *dweight = arrays.zero(columns), *dbias = arrays.zero(columns);
  Arrays of_rows;
  float *mean = of_rows.zero(rows), *scale = of_rows.zero(rows);
  for (int row = 0; row < rows; ++row) {
    double sum = 0, squares = 0;
    for (int i = 0; i < columns; ++i) sum += in[row * columns + i];
    for (int i = 0; i < columns; ++i) squares += pow(in[row * columns + i] - sum / columns, 2);
    mean[row] = sum / columns;
    scale[row] = 1 / sqrt(squares / columns + 1e-5);
  }
  Trial trial(arrays, count, words);
  trial.primal = [&](int threads) { layer_norm<<<rows, threads>>>(out, in, weight, bias, columns); };
  trial.ours = [&](int threads) {
    launch_gradient(rows, threads, out, in, weight, bias, columns, d_out, d_in, dweight, dbias);
  };
  trial.bytes = [&](int threads) { return recorded_bytes(rows, threads, out, in, weight, bias, columns); };
  trial.by_hand = [&](int threads) {
    layer_norm<<<rows, 128>>>(out, in, weight, bias, columns);
    layer_norm_by_hand<<<rows, threads>>>(in, weight, mean, scale, d_out, d_in, dweight, dbias, columns);
  };
  return trial.run({1, 33, 48, 1024}, {1, 32, 1024}, 128);
}
