// Random numbers in kernels are not supported yet.
#error "Cotangent has no curand_kernel.h yet: pass random numbers to the kernel in an array, or parse with a CUDA toolkit's headers (--cuda-path)"
