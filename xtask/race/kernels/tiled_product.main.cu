// Runs the tiled product and its gradients. Its blocks are of one shape.
int main(int count, char** words) {
  const int rows = 61, columns = 53, depth = 45;
  Arrays arrays;
  float *c = arrays.zero(rows * columns), *a = arrays.random(rows * depth), *b = arrays.random(depth * columns);
  float *dc = arrays.random(rows * columns), *da = arrays.zero(rows * depth), *db = arrays.zero(depth * columns);
  const dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE), block(TILE, TILE);
  Trial trial(arrays, count, words);
  trial.primal = [&](int) { product<<<grid, block>>>(c, a, b, rows, columns, depth); };
  trial.ours = [&](int) { launch_gradient(grid, block, c, a, b, rows, columns, depth, dc, da, db); };
  trial.bytes = [&](int) { return recorded_bytes(grid, block, c, a, b, rows, columns, depth); };
  trial.by_hand = [&](int) {
    product<<<grid, block>>>(c, a, b, rows, columns, depth);
    product_by_hand<<<grid, block>>>(a, b, rows, columns, depth, dc, da, db);
  };
  return trial.run({256}, {256}, 256);
}
