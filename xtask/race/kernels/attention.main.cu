// Runs attention and its gradients. Its blocks are as large as its tiles. Nobody has written this one by hand: it is compared
// with differences along one direction instead.
int main(int count, char** words) {
  const int queries = 40, keys = 48;
  Arrays arrays;
  float *out = arrays.zero(queries * WIDTH), *query = arrays.random(queries * WIDTH), *key = arrays.random(keys * WIDTH);
  float *value = arrays.random(keys * WIDTH), *d_out = arrays.random(queries * WIDTH), *dquery = arrays.zero(queries * WIDTH);
  float *dkey = arrays.zero(keys * WIDTH), *dvalue = arrays.zero(keys * WIDTH);
  const int blocks = (queries + TILE - 1) / TILE;
  Trial trial(arrays, count, words);
  trial.primal = [&](int) { attention<<<blocks, TILE>>>(out, query, key, value, queries, keys); };
  trial.ours = [&](int) {
    launch_gradient(blocks, TILE, out, query, key, value, queries, keys, d_out, dquery, dkey, dvalue);
  };
  trial.bytes = [&](int) { return recorded_bytes(blocks, TILE, out, query, key, value, queries, keys); };
  trial.outputs = {{out, d_out, queries * WIDTH}};
  trial.inputs = {{query, dquery, queries * WIDTH}, {key, dkey, keys * WIDTH}, {value, dvalue, keys * WIDTH}};
  return trial.run({}, {TILE}, TILE);
}
