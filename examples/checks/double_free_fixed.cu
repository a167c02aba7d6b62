// Of two that know the memory, one owns it.
struct Buffer {
  float* data = nullptr;

  void release() {
    cudaFree(data);
    data = nullptr;
  }
};

int main() {
  Buffer first;
  cudaMalloc(&first.data, 256);
  Buffer second = first;
  second.data = nullptr;
  first.release();
  second.release();
}
