// Two numbers side by side that the compiler reads and writes as one vector: each of them is aligned.
// check
// expect: cudaSuccess 1.5 -2
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

struct Particle {
  double mass, speed, height;
};

__global__ void push(Particle* particles) {
  Particle& own = particles[threadIdx.x];
  own.speed += 1.5;
  own.height += -2.0;
}

int main() {
  Particle* particles;
  cudaMallocManaged(&particles, 5 * sizeof(Particle));
  cudaMemset(particles, 0, 5 * sizeof(Particle));
  ::cotangent::launch(push, 1, 5)(particles);
  const char* outcome = cudaGetErrorName(cudaDeviceSynchronize());
  printf("%s %g %g\n", outcome, particles[4].speed, particles[4].height);
}
