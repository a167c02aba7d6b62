//! Functions of the CUDA runtime that host code calls.

/// By name.
const RUNTIME: &[&str] = &[
    "cudaMalloc",
    "cudaMallocManaged",
    "cudaMallocHost",
    "cudaMallocAsync",
    "cudaHostAlloc",
    "cudaFree",
    "cudaFreeHost",
    "cudaFreeAsync",
    "cudaMemcpy",
    "cudaMemcpyAsync",
    "cudaMemcpy2D",
    "cudaMemcpy2DAsync",
    "cudaMemset",
    "cudaMemsetAsync",
    "cudaMemcpyToSymbol",
    "cudaMemcpyFromSymbol",
    "cudaMemcpyToSymbolAsync",
    "cudaMemcpyFromSymbolAsync",
    "cudaStreamCreate",
    "cudaStreamCreateWithFlags",
    "cudaStreamDestroy",
    "cudaStreamSynchronize",
    "cudaStreamQuery",
    "cudaStreamWaitEvent",
    "cudaEventCreate",
    "cudaEventCreateWithFlags",
    "cudaEventDestroy",
    "cudaEventRecord",
    "cudaEventSynchronize",
    "cudaEventElapsedTime",
    "cudaEventQuery",
    "cudaDeviceSynchronize",
    "cudaDeviceReset",
    "cudaGetLastError",
    "cudaPeekAtLastError",
    "cudaGetErrorString",
    "cudaGetErrorName",
    "cudaGetDeviceCount",
    "cudaSetDevice",
    "cudaGetDevice",
    "cudaGetDeviceProperties",
    "cudaDeviceGetAttribute",
    "cudaFuncSetAttribute",
    "cudaFuncGetAttributes",
    "cotangent::allocate",
    "cotangent::allocate_zeros",
    "cotangent::fetch",
    "cotangent::release",
    "cotangent::require_slots",
];

/// Whether the CUDA runtime has a function of that name that host code may call here.
pub fn is_runtime(name: &str) -> bool {
    RUNTIME.contains(&name)
}

/// All names, for tests and the manual.
pub fn runtime_functions() -> &'static [&'static str] {
    RUNTIME
}
