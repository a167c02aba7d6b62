// Copies of arrays go to pinned memory when device memory for them is used up, come back from there, and leave nothing.
// expect: device memory: 1, host: 0
// expect: device memory: 0, host: 1
// expect: device memory: 1, host: 0
// expect: 0 1 2 3; 10 11 12 13; 10 11 12 13
// expect: nothing is left
#include <cotangent/runtime.hpp>

#include <cstdio>

int main() {
  setenv("COTANGENT_SNAPSHOT_BYTES", "40", 1);
  constexpr std::size_t bytes = 4 * sizeof(int);
  std::size_t before, after, total;
  cudaMemGetInfo(&before, &total);
  int* array;
  cudaMalloc(&array, bytes);
  auto fill = [&](int first, std::size_t count) {
    int values[4];
    for (int i = 0; i < 4; ++i) values[i] = first + i;
    cudaMemcpy(array, values, count * sizeof(int), cudaMemcpyHostToDevice);
  };
  fill(0, 4);
  cotangent::Snapshot* kept[3];
  kept[0] = cotangent::take_snapshot(array, bytes, nullptr);
  fill(10, 4);
  // The first 16 of 40 bytes are used; 32 more are too many, and 16 more are not.
  int* longer;
  cudaMalloc(&longer, 2 * bytes);
  cudaMemcpy(longer, array, bytes, cudaMemcpyDeviceToDevice);
  cudaMemcpy(longer + 4, array, bytes, cudaMemcpyDeviceToDevice);
  kept[1] = cotangent::take_snapshot(longer, 2 * bytes, nullptr);
  kept[2] = cotangent::take_snapshot(array, bytes, nullptr);
  fill(20, 4);
  cudaMemset(longer, 0, 2 * bytes);
  for (cotangent::Snapshot* one : kept) {
    std::printf("device memory: %d, host: %d\n", one->on_device != nullptr, one->on_host != nullptr);
  }
  for (cotangent::Snapshot* one : kept) {
    int values[4];
    cudaMemcpy(values, cotangent::restored<int>(one, nullptr), bytes, cudaMemcpyDeviceToHost);
    std::printf("%d %d %d %d%s", values[0], values[1], values[2], values[3], one == kept[2] ? "\n" : "; ");
    cotangent::drop_snapshot(one, nullptr);
  }
  cudaFree(array);
  cudaFree(longer);
  cudaMemGetInfo(&after, &total);
  std::printf("%s\n", before == after && cotangent::snapshot_bytes() == 0 ? "nothing is left" : "something is left");
}
