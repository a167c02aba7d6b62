// A tour of what CUDA programs do, in one program: heat in a plate, particles, options, histograms and sums. Each stop
// computes something on the device, verifies it on the host, and prints a line.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

namespace cg = cooperative_groups;

#define CHECK(call)                                                                          \
  do {                                                                                       \
    cudaError_t status = (call);                                                             \
    if (status != cudaSuccess) {                                                             \
      std::cerr << __FILE__ << ":" << __LINE__ << ": " << cudaGetErrorString(status) << "\n"; \
      std::exit(EXIT_FAILURE);                                                               \
    }                                                                                        \
  } while (0)

#define LAUNCH(kernel, grid, block, ...)     \
  do {                                       \
    kernel<<<(grid), (block)>>>(__VA_ARGS__); \
    CHECK(cudaGetLastError());               \
  } while (0)

static int failures = 0;

static void report(const std::string& stop, bool correct, const std::string& result) {
  if (!correct) failures++;
  std::cout << std::left << std::setw(12) << stop << (correct ? "ok    " : "WRONG ") << result << std::endl;
}

static std::string number(double value, int digits = 4) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

// A reproducible sequence of numbers in [0, 1).
class Random {
 public:
  explicit Random(unsigned seed) : state(seed) {}
  double next() {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) / 16777216.0;
  }

 private:
  unsigned state;
};

// Device memory that frees itself.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count(count) { CHECK(cudaMalloc(&data, count * sizeof(T))); }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    CHECK(cudaMemcpy(data, values.data(), count * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Buffer() { cudaFree(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void clear() { CHECK(cudaMemset(data, 0, count * sizeof(T))); }
  std::vector<T> values() const {
    std::vector<T> result(count);
    CHECK(cudaMemcpy(result.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
    return result;
  }
  operator T*() const { return data; }

 private:
  size_t count;
  T* data = nullptr;
};

// The plate: a tile in static shared memory, constant coefficients, pitched rows.

struct Diffusion {
  float centre;
  float side;
};

__constant__ Diffusion diffusion;

constexpr int kTile = 16;

__global__ void diffuse(const float* from, float* to, size_t pitch, int width, int height) {
  __shared__ float tile[kTile + 2][kTile + 2];
  auto at = [=](int x, int y) {
    int row = min(max(y, 0), height - 1), column = min(max(x, 0), width - 1);
    return reinterpret_cast<const float*>(reinterpret_cast<const char*>(from) + row * pitch)[column];
  };
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  int i = threadIdx.x + 1, j = threadIdx.y + 1;
  tile[j][i] = at(x, y);
  if (threadIdx.x == 0) {
    tile[j][0] = at(x - 1, y);
    tile[j][kTile + 1] = at(x + kTile, y);
  }
  if (threadIdx.y == 0) {
    tile[0][i] = at(x, y - 1);
    tile[kTile + 1][i] = at(x, y + kTile);
  }
  __syncthreads();
  if (x >= width || y >= height) return;
  float sides = tile[j][i - 1] + tile[j][i + 1] + tile[j - 1][i] + tile[j + 1][i];
  float* row = reinterpret_cast<float*>(reinterpret_cast<char*>(to) + y * pitch);
  row[x] = diffusion.centre * tile[j][i] + diffusion.side * sides;
}

static void plate() {
  const int width = 50, height = 37, steps = 12;
  const Diffusion coefficients = {0.5f, 0.125f};
  CHECK(cudaMemcpyToSymbol(diffusion, &coefficients, sizeof(coefficients)));

  std::vector<float> now(width * height, 0.0f), next(now);
  now[18 * width + 25] = 1000.0f;
  float *from, *to;
  size_t pitch, same;
  CHECK(cudaMallocPitch(&from, &pitch, width * sizeof(float), height));
  CHECK(cudaMallocPitch(&to, &same, width * sizeof(float), height));
  CHECK(cudaMemcpy2D(from, pitch, now.data(), width * sizeof(float), width * sizeof(float), height,
                     cudaMemcpyHostToDevice));
  dim3 block(kTile, kTile), grid((width + kTile - 1) / kTile, (height + kTile - 1) / kTile);
  for (int step = 0; step < steps; step++) {
    diffuse<<<grid, block>>>(from, to, pitch, width, height);
    std::swap(from, to);
  }
  std::vector<float> result(width * height);
  CHECK(cudaMemcpy2D(result.data(), width * sizeof(float), from, pitch, width * sizeof(float), height,
                     cudaMemcpyDeviceToHost));

  auto cell = [&](int x, int y) {
    return now[std::clamp(y, 0, height - 1) * width + std::clamp(x, 0, width - 1)];
  };
  for (int step = 0; step < steps; step++) {
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        float sides = cell(x - 1, y) + cell(x + 1, y) + cell(x, y - 1) + cell(x, y + 1);
        next[y * width + x] = coefficients.centre * cell(x, y) + coefficients.side * sides;
      }
    }
    now.swap(next);
  }
  float worst = 0;
  for (size_t i = 0; i < now.size(); i++) worst = std::max(worst, std::fabs(now[i] - result[i]));
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  float hottest = *std::max_element(result.begin(), result.end());
  report("plate", worst < 1e-3f, "hottest " + number(hottest) + ", sum " +
                                     number(std::accumulate(result.begin(), result.end(), 0.0), 2));
}

// Sums: templates, dynamic shared memory, shuffles, atomics.

struct Plus {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const { return a + b; }
};

struct Larger {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

template <class T, class Operation>
__device__ T across_warp(T value, Operation combine) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) {
    value = combine(value, __shfl_down_sync(0xffffffffu, value, offset));
  }
  return value;
}

template <class T, class Operation, int Threads>
__global__ void reduce(const T* values, int n, T* results, Operation combine, T neutral) {
  extern __shared__ unsigned char raw[];
  T* warps = reinterpret_cast<T*>(raw);
  T mine = neutral;
  for (int i = blockIdx.x * Threads + threadIdx.x; i < n; i += gridDim.x * Threads) mine = combine(mine, values[i]);
  mine = across_warp(mine, combine);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) warps[warp] = mine;
  __syncthreads();
  if (warp == 0) {
    mine = lane < Threads / 32 ? warps[lane] : neutral;
    mine = across_warp(mine, combine);
    if (lane == 0) results[blockIdx.x] = mine;
  }
}

template <class T, class Operation>
T reduced(const std::vector<T>& values, Operation combine, T neutral) {
  constexpr int threads = 128, blocks = 6;
  Buffer<T> device(values), results(blocks);
  reduce<T, Operation, threads>
      <<<blocks, threads, threads / 32 * sizeof(T)>>>(device, static_cast<int>(values.size()), results, combine, neutral);
  CHECK(cudaGetLastError());
  std::vector<T> parts = results.values();
  return std::accumulate(parts.begin(), parts.end(), neutral, combine);
}

static void sums() {
  Random random(1);
  std::vector<int> whole(10007);
  std::vector<double> real(5003);
  std::generate(whole.begin(), whole.end(), [&] { return static_cast<int>(random.next() * 1000) - 500; });
  std::generate(real.begin(), real.end(), [&] { return random.next(); });
  int sum = reduced(whole, Plus(), 0);
  int largest = reduced(whole, Larger(), -1000);
  double total = reduced(real, Plus(), 0.0);
  bool correct = sum == std::accumulate(whole.begin(), whole.end(), 0) &&
                 largest == *std::max_element(whole.begin(), whole.end()) &&
                 std::fabs(total - std::accumulate(real.begin(), real.end(), 0.0)) < 1e-9;
  report("sums", correct, std::to_string(sum) + ", " + std::to_string(largest) + ", " + number(total, 6));
}

// Counting: atomics on all types, counting barriers, votes.

struct Counters {
  int smallest, largest;
  unsigned words, ring;
  unsigned long long product;
  float weight;
  double weight2;
  int owner;
};

__global__ void count(const int* values, int n, unsigned* bins, Counters* counters, int* blocks) {
  __shared__ unsigned local[16];
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool valid = i < n;
  int value = valid ? values[i] : 0;
  if (valid) {
    atomicAdd(&local[value & 15], 1u);
    atomicMin(&counters->smallest, value);
    atomicMax(&counters->largest, value);
    atomicOr(&counters->words, 1u << (value & 31));
    atomicInc(&counters->ring, 99u);
    atomicAdd(&counters->product, static_cast<unsigned long long>(value) * value);
    atomicAdd(&counters->weight, 0.5f);
    atomicAdd(&counters->weight2, 0.25);
    atomicCAS(&counters->owner, -1, 42);
  }
  int odd = __syncthreads_count(valid && (value & 1));
  int all = __syncthreads_and(value >= 0);
  int any = __syncthreads_or(value == 7);
  if (threadIdx.x == 0) blocks[blockIdx.x] = odd * 4 + (all ? 2 : 0) + (any ? 1 : 0);
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

static void counting() {
  const int n = 1000, threads = 96, grid = (n + threads - 1) / threads;
  Random random(2);
  std::vector<int> values(n);
  for (int& value : values) value = static_cast<int>(random.next() * 256);
  Buffer<int> device(values), blocks(grid);
  Buffer<unsigned> bins(16);
  bins.clear();
  Counters* counters;
  CHECK(cudaMallocManaged(&counters, sizeof(Counters)));
  *counters = {1000, -1000, 0, 0, 0, 0, 0, -1};
  LAUNCH(count, grid, threads, device, n, bins, counters, blocks);
  CHECK(cudaDeviceSynchronize());

  std::vector<unsigned> expected(16, 0);
  unsigned long long product = 0;
  unsigned words = 0;
  for (int value : values) {
    expected[value & 15]++;
    product += static_cast<unsigned long long>(value) * value;
    words |= 1u << (value & 31);
  }
  bool correct = bins.values() == expected && counters->product == product && counters->words == words;
  correct = correct && counters->smallest == *std::min_element(values.begin(), values.end());
  correct = correct && counters->largest == *std::max_element(values.begin(), values.end());
  correct = correct && counters->ring == n % 100 && counters->weight == n * 0.5f && counters->weight2 == n * 0.25;
  correct = correct && counters->owner == 42;
  std::vector<int> found = blocks.values();
  for (int b = 0; b < grid; b++) {
    auto first = values.begin() + b * threads, last = values.begin() + std::min(n, (b + 1) * threads);
    int odd = static_cast<int>(std::count_if(first, last, [](int value) { return value % 2 == 1; }));
    correct = correct && found[b] == odd * 4 + 2 + (std::count(first, last, 7) > 0 ? 1 : 0);
  }
  report("counting", correct, "product " + std::to_string(counters->product) + ", weight " + number(counters->weight, 1));
  CHECK(cudaFree(counters));
}

// Warps: the four shuffles, votes, __syncwarp.

__global__ void warps(const int* values, int4* shuffled, unsigned* votes, int* sorted) {
  const unsigned all = 0xffffffffu;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int value = values[threadIdx.x];
  int4 result;
  result.x = __shfl_sync(all, value, 5);
  result.y = __shfl_up_sync(all, value, 3);
  result.z = __shfl_down_sync(all, value, 2, 8);
  result.w = __shfl_xor_sync(all, value, 16);
  shuffled[threadIdx.x] = result;
  unsigned ballot = __ballot_sync(all, value % 3 == 0);
  int every = __all_sync(all, value < 64), some = __any_sync(all, value == 63);
  if (lane == 0) votes[warp] = __popc(ballot) * 4 + (every ? 2 : 0) + (some ? 1 : 0);

  __shared__ int ranks[64];
  ranks[threadIdx.x] = value;
  __syncwarp();
  int rank = 0;
  for (int other = 0; other < 32; other++) {
    int theirs = ranks[warp * 32 + other];
    if (theirs < value || (theirs == value && other < lane)) rank++;
  }
  sorted[warp * 32 + rank] = value;
}

static void shuffles() {
  std::vector<int> values(64);
  for (int i = 0; i < 64; i++) values[i] = i * 37 % 64;
  Buffer<int> device(values), sorted(64);
  Buffer<int4> shuffled(64);
  Buffer<unsigned> votes(2);
  warps<<<1, 64>>>(device, shuffled, votes, sorted);
  CHECK(cudaGetLastError());
  bool correct = true;
  std::vector<int4> moved = shuffled.values();
  for (int i = 0; i < 64; i++) {
    int base = i / 32 * 32, lane = i % 32;
    correct = correct && moved[i].x == values[base + 5] && moved[i].w == values[base + (lane ^ 16)];
    correct = correct && moved[i].y == values[lane < 3 ? i : i - 3];
    correct = correct && moved[i].z == values[lane % 8 < 6 ? i + 2 : i];
  }
  for (int warp = 0; warp < 2; warp++) std::sort(values.begin() + warp * 32, values.begin() + warp * 32 + 32);
  correct = correct && sorted.values() == values;
  std::vector<unsigned> found = votes.values();
  report("shuffles", correct, "votes " + std::to_string(found[0]) + " and " + std::to_string(found[1]));
}

// Cooperative groups: a block and tiles of it.

template <unsigned Size>
__global__ void tiles(const float* values, float* sums, int* ranks) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<Size> tile = cg::tiled_partition<Size>(block);
  float value = values[block.thread_rank()];
  for (unsigned offset = tile.size() / 2; offset > 0; offset /= 2) value += tile.shfl_xor(value, offset);
  if (tile.thread_rank() == 0) sums[tile.meta_group_rank()] = value;
  unsigned above = tile.ballot(values[block.thread_rank()] > 0.5f);
  block.sync();
  ranks[block.thread_rank()] = __popc(above & ((1u << tile.thread_rank()) - 1));
}

template <unsigned Size>
bool tiles_are_right(const std::vector<float>& values) {
  const int n = static_cast<int>(values.size());
  Buffer<float> device(values), sums(n / Size);
  Buffer<int> ranks(n);
  tiles<Size><<<1, n>>>(device, sums, ranks);
  CHECK(cudaGetLastError());
  std::vector<float> found = sums.values();
  std::vector<int> positions = ranks.values();
  bool correct = true;
  for (int i = 0; i < n; i++) {
    auto start = values.begin() + i / Size * Size;
    float expected = std::accumulate(start, start + Size, 0.0f);
    correct = correct && std::fabs(found[i / Size] - expected) < 1e-4f;
    auto above = std::count_if(start, values.begin() + i, [](float value) { return value > 0.5f; });
    correct = correct && positions[i] == above;
  }
  return correct;
}

static void groups() {
  Random random(3);
  std::vector<float> values(128);
  for (float& value : values) value = static_cast<float>(random.next());
  bool correct = tiles_are_right<32>(values) && tiles_are_right<16>(values) && tiles_are_right<4>(values);
  report("groups", correct, "tiles of 32, 16 and 4");
}

// Particles: a struct of pointers by value, a device variable, streams and events, asynchronous memory.

struct Particles {
  float3* position;
  float3* velocity;
  int count;

  __device__ void move(int i, float time) {
    float3 p = position[i], v = velocity[i];
    position[i] = make_float3(p.x + time * v.x, p.y + time * v.y, p.z + time * v.z);
    velocity[i].z = v.z - 9.81f * time;
  }
};

__device__ unsigned long long moves = 0;

__global__ void step(Particles particles, float time) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < particles.count; i += blockDim.x * gridDim.x) {
    particles.move(i, time);
    assert(isfinite(particles.position[i].z));
    atomicAdd(&moves, 1ull);
  }
}

static void particles() {
  const int n = 300, steps = 10;
  const size_t bytes = n * sizeof(float3);
  cudaStream_t stream;
  cudaEvent_t start, stop;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  float3* host;
  CHECK(cudaMallocHost(&host, bytes));
  for (int i = 0; i < n; i++) host[i] = make_float3(i * 0.1f, 0.0f, 100.0f);
  Particles all = {nullptr, nullptr, n};
  CHECK(cudaMallocAsync(reinterpret_cast<void**>(&all.position), bytes, stream));
  CHECK(cudaMallocAsync(reinterpret_cast<void**>(&all.velocity), bytes, stream));
  CHECK(cudaMemsetAsync(all.velocity, 0, bytes, stream));
  CHECK(cudaMemcpyAsync(all.position, host, bytes, cudaMemcpyHostToDevice, stream));
  CHECK(cudaEventRecord(start, stream));
  for (int i = 0; i < steps; i++) step<<<2, 64, 0, stream>>>(all, 0.01f);
  CHECK(cudaEventRecord(stop, stream));
  CHECK(cudaMemcpyAsync(host, all.position, bytes, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaFreeAsync(all.position, stream));
  CHECK(cudaFreeAsync(all.velocity, stream));
  CHECK(cudaStreamSynchronize(stream));
  float milliseconds = -1, height = 100, fall = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  for (int i = 0; i < steps; i++) {
    height += 0.01f * fall;
    fall -= 9.81f * 0.01f;
  }
  unsigned long long counted = 0;
  CHECK(cudaMemcpyFromSymbol(&counted, moves, sizeof(counted)));
  bool correct = milliseconds >= 0 && counted == static_cast<unsigned long long>(n) * steps;
  for (int i = 0; i < n; i++) correct = correct && std::fabs(host[i].z - height) < 1e-3f;
  report("particles", correct, "height " + number(host[0].z) + " after " + std::to_string(counted) + " moves");
  CHECK(cudaFreeHost(host));
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  CHECK(cudaStreamDestroy(stream));
}

// Options: mathematics, a kernel of a template with a functor, a copy on the device.

struct Option {
  double spot, strike, years;
};

struct Call {
  double rate, volatility;

  __host__ __device__ double operator()(const Option& o) const {
    double spread = volatility * sqrt(o.years);
    double d = (log(o.spot / o.strike) + (rate + 0.5 * volatility * volatility) * o.years) / spread;
    auto normal = [](double x) { return 0.5 * erfc(-x / sqrt(2.0)); };
    return o.spot * normal(d) - o.strike * exp(-rate * o.years) * normal(d - spread);
  }
};

template <class From, class To, class Function>
__global__ void transform(const From* from, To* to, int n, Function function) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = function(from[i]);
}

static void options() {
  const int n = 200;
  Random random(4);
  std::vector<Option> book(n);
  for (Option& o : book) o = {80 + 40 * random.next(), 100, 0.1 + 2 * random.next()};
  Buffer<Option> device(book);
  Buffer<double> prices(n), copy(n);
  Call call = {0.03, 0.2};
  transform<<<(n + 63) / 64, 64>>>(static_cast<const Option*>(device), static_cast<double*>(prices), n, call);
  CHECK(cudaMemcpy(copy, prices, n * sizeof(double), cudaMemcpyDeviceToDevice));
  std::vector<double> found = copy.values();
  double worst = 0, total = 0;
  for (int i = 0; i < n; i++) {
    worst = std::max(worst, std::fabs(found[i] - call(book[i])));
    total += found[i];
  }
  report("options", worst < 1e-9, "total " + number(total));
}

// The device itself: properties, errors, printing.

__global__ void hello(int number) {
  if (threadIdx.x == blockDim.x - 1) printf("hello %d from thread %u of %u\n", number, threadIdx.x, blockDim.x);
}

static void device() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  hello<<<1, 48>>>(2026);
  CHECK(cudaDeviceSynchronize());
  hello<<<1, properties.maxThreadsPerBlock + 1>>>(0);
  cudaError_t peeked = cudaPeekAtLastError(), last = cudaGetLastError(), now = cudaGetLastError();
  bool correct = devices >= 1 && properties.warpSize == 32 && peeked == last && now == cudaSuccess;
  report("device", correct, cudaGetErrorName(last));
}

int main() {
  plate();
  sums();
  counting();
  shuffles();
  groups();
  particles();
  options();
  device();
  std::cout << (failures == 0 ? "all is well" : "something is wrong") << std::endl;
  return failures;
}
