
namespace {

dim3 three(const unsigned (&sizes)[3]) { return dim3(sizes[0], sizes[1], sizes[2]); }

cudaStream_t stream_of(const Launch& launch) { return static_cast<cudaStream_t>(launch.stream); }

int finished(const Launch& launch) {
  cudaError_t launched = cudaGetLastError();
  cudaError_t ended = launch.waits ? cudaDeviceSynchronize() : cudaSuccess;
  return launched == cudaSuccess ? ended : launched;
}

template <class T>
T* as(const void* address) {
  return static_cast<T*>(const_cast<void*>(address));
}

}  // namespace
