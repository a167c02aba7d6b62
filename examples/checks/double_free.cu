// Both owners free the same memory.
// expect: X0105 line 6, line 13
struct Buffer {
  float* data = nullptr;

  void release() { cudaFree(data); }
};

int main() {
  Buffer first;
  cudaMalloc(&first.data, 256);
  Buffer second = first;
  cudaFree(second.data);
  first.release();
}
