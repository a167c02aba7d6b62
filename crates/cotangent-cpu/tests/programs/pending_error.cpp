// An error of the program's own that nobody has looked at is not the derivative's, and stays; an error of the
// derivative's launch is said with the kernel's name, at the next place where errors are looked at.
// expect: before: an earlier call of CUDA has failed, before the derivative: cudaErrorInvalidConfiguration (invalid configuration argument)
// expect: still there: cudaErrorInvalidConfiguration
// expect: nothing pending: ok
// expect: own: launch of `work`: cudaErrorInvalidConfiguration (invalid configuration argument)
// expect: taken: cudaSuccess
// expect: later: launch of `work` or after it: cudaErrorInvalidValue (invalid argument)
// expect: call: cudaFree(host): cudaErrorInvalidValue (invalid argument)
#include <cotangent/runtime.hpp>

#include <cstdio>

__global__ void work() {}

template <class Body>
void said(const char* when, Body body) {
  try {
    body();
    printf("%s: ok\n", when);
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    printf("%s: %s\n", when, text.substr(0, text.find(". ")).c_str());
  }
}

int main() {
  ::cotangent::launch(work, 1, 4096)();
  said("before", [] { cotangent::check_block<work>(1); });
  printf("still there: %s\n", cudaGetErrorName(cudaGetLastError()));
  said("nothing pending", [] {
    cotangent::check_block<work>(1);
    ::cotangent::launch(work, 1, 1)();
    cotangent::check_launch();
  });
  said("own", [] {
    cotangent::check_block<work>(1);
    ::cotangent::launch(work, 0, 1)();
    cotangent::check_launch();
  });
  printf("taken: %s\n", cudaGetErrorName(cudaPeekAtLastError()));
  said("later", [] {
    cotangent::check_block<work>(1);
    ::cotangent::launch(work, 1, 1, 1 << 30)();
    cotangent::check_block<work>(1);
  });
  cudaGetLastError();
  said("call", [] {
    int* host = reinterpret_cast<int*>(64);
    COTANGENT_CHECK(cudaFree(host));
  });
}
