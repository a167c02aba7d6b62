// Runs Black-Scholes and its gradient, which is compared with differences along one direction.
int main(int count, char** words) {
  const int n = 5000;
  const float rate = 0.02f, volatility = 0.3f;
  Arrays arrays;
  float *call = arrays.zero(n), *put = arrays.zero(n), *stock = arrays.random(n), *strike = arrays.random(n);
  float *years = arrays.random(n), *dcall = arrays.random(n), *dput = arrays.random(n), *dstock = arrays.zero(n);
  float *dstrike = arrays.zero(n), *dyears = arrays.zero(n), *drate = arrays.zero(1), *dvolatility = arrays.zero(1);
  const auto grid = [&](int threads) { return (n + threads - 1) / threads; };
  Trial trial(arrays, count, words);
  trial.primal = [&](int threads) {
    black_scholes<<<grid(threads), threads>>>(call, put, stock, strike, years, rate, volatility, n);
  };
  trial.ours = [&](int threads) {
    launch_gradient(grid(threads), threads, call, put, stock, strike, years, rate, volatility, n, dcall, dput, dstock,
                    dstrike, dyears, drate, dvolatility);
  };
  trial.bytes = [&](int threads) {
    return recorded_bytes(grid(threads), threads, call, put, stock, strike, years, rate, volatility, n);
  };
  trial.outputs = {{call, dcall, n}, {put, dput, n}};
  trial.inputs = {{stock, dstock, n}, {strike, dstrike, n}, {years, dyears, n}};
  return trial.run({}, {33, 1024}, 128);
}
