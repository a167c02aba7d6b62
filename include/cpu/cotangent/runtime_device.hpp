// The runtime API's streams, events, errors and questions about the device.
#pragma once

#include "cotangent/runtime_memory.hpp"

// Streams and events.
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return ::cotangent::error(::cotangent::api->stream_create(reinterpret_cast<void**>(stream), flags));
}
inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return ::cotangent::error(::cotangent::api->stream_destroy(stream));
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return ::cotangent::error(::cotangent::api->stream_synchronize(::cotangent::stream_of(stream)));
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }

inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return ::cotangent::error(::cotangent::api->event_create(reinterpret_cast<void**>(event)));
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int) { return cudaEventCreate(event); }
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int) { return cudaEventCreate(event); }
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return ::cotangent::error(::cotangent::api->event_destroy(event));
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0) {
  return ::cotangent::error(::cotangent::api->event_record(event, ::cotangent::stream_of(stream)));
}
inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = 0, unsigned int = 0) {
  return cudaEventRecord(event, stream);
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return ::cotangent::error(::cotangent::api->event_synchronize(event));
}
inline cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return ::cotangent::error(::cotangent::api->event_elapsed(milliseconds, start, end));
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int = 0) {
  return ::cotangent::error(::cotangent::api->stream_wait(::cotangent::stream_of(stream), event));
}
inline cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data) {
  return ::cotangent::error(::cotangent::api->host_function(::cotangent::stream_of(stream), function, user_data));
}
inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* user_data,
                                         unsigned int) {
  struct Call {
    cudaStream_t stream;
    cudaStreamCallback_t callback;
    void* user_data;
  } call{stream, callback, user_data};
  const cudaHostFn_t function = [](void* data) {
    const Call& call = *static_cast<const Call*>(data);
    call.callback(call.stream, cudaSuccess, call.user_data);
  };
  return cudaLaunchHostFunc(stream, function, &call);
}

// Errors.
inline cudaError_t cudaGetLastError() { return ::cotangent::error(::cotangent::api->take_error()); }
inline cudaError_t cudaPeekAtLastError() { return ::cotangent::error(::cotangent::api->peek_error()); }
inline const char* cudaGetErrorName(cudaError_t error) { return ::cotangent::api->error_name(error); }
inline const char* cudaGetErrorString(cudaError_t error) { return ::cotangent::api->error_text(error); }

// The one device. What it says of itself are the limits that launches are checked against.
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : ::cotangent::error(::cotangent::api->set_error(cudaErrorInvalidDevice));
}
inline cudaError_t cudaSetDeviceFlags(unsigned int) { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return ::cotangent::error(::cotangent::api->device_synchronize()); }
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaDeviceReset() {
  cudaDeviceSynchronize();
  return cudaSuccess;
}
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }

inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return ::cotangent::error(::cotangent::api->set_error(cudaErrorInvalidDevice));
  size_t free_bytes = 0;
  *properties = cudaDeviceProp{};
  __builtin_strcpy(properties->name, "Cotangent CPU");
  cudaMemGetInfo(&free_bytes, &properties->totalGlobalMem);
  properties->sharedMemPerBlock = 49152;
  properties->sharedMemPerBlockOptin = COTANGENT_MAX_DYNAMIC_SHARED;
  properties->sharedMemPerMultiprocessor = COTANGENT_MAX_DYNAMIC_SHARED + 1024;
  properties->reservedSharedMemPerBlock = 1024;
  properties->regsPerBlock = 65536;
  properties->regsPerMultiprocessor = 65536;
  properties->warpSize = 32;
  properties->memPitch = 0x7fffffff;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->maxBlocksPerMultiProcessor = 32;
  properties->maxThreadsDim[0] = 1024, properties->maxThreadsDim[1] = 1024, properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 0x7fffffff, properties->maxGridSize[1] = 65535, properties->maxGridSize[2] = 65535;
  properties->clockRate = 1000000;
  properties->memoryClockRate = 1000000;
  properties->memoryBusWidth = 64;
  properties->l2CacheSize = 1 << 20;
  properties->totalConstMem = 65536;
  properties->major = 9;
  properties->multiProcessorCount = 16;
  properties->textureAlignment = 512;
  properties->texturePitchAlignment = 32;
  properties->canMapHostMemory = 1;
  properties->integrated = 1;
  properties->unifiedAddressing = 1;
  properties->managedMemory = 1;
  properties->concurrentManagedAccess = 1;
  properties->pageableMemoryAccess = 0;
  properties->concurrentKernels = 1;
  properties->asyncEngineCount = 1;
  properties->memoryPoolsSupported = 1;
  return cudaSuccess;
}

inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp properties;
  const cudaError_t known = cudaGetDeviceProperties(&properties, device);
  if (known != cudaSuccess) return known;
  const struct {
    cudaDeviceAttr attribute;
    long long value;
  } table[] = {
      {cudaDevAttrMaxThreadsPerBlock, properties.maxThreadsPerBlock},
      {cudaDevAttrMaxBlockDimX, properties.maxThreadsDim[0]},
      {cudaDevAttrMaxBlockDimY, properties.maxThreadsDim[1]},
      {cudaDevAttrMaxBlockDimZ, properties.maxThreadsDim[2]},
      {cudaDevAttrMaxGridDimX, properties.maxGridSize[0]},
      {cudaDevAttrMaxGridDimY, properties.maxGridSize[1]},
      {cudaDevAttrMaxGridDimZ, properties.maxGridSize[2]},
      {cudaDevAttrMaxSharedMemoryPerBlock, (long long)properties.sharedMemPerBlock},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, (long long)properties.sharedMemPerBlockOptin},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (long long)properties.sharedMemPerMultiprocessor},
      {cudaDevAttrReservedSharedMemoryPerBlock, (long long)properties.reservedSharedMemPerBlock},
      {cudaDevAttrTotalConstantMemory, (long long)properties.totalConstMem},
      {cudaDevAttrWarpSize, properties.warpSize},
      {cudaDevAttrMaxPitch, (long long)properties.memPitch},
      {cudaDevAttrMaxRegistersPerBlock, properties.regsPerBlock},
      {cudaDevAttrMaxRegistersPerMultiprocessor, properties.regsPerMultiprocessor},
      {cudaDevAttrClockRate, properties.clockRate},
      {cudaDevAttrMemoryClockRate, properties.memoryClockRate},
      {cudaDevAttrGlobalMemoryBusWidth, properties.memoryBusWidth},
      {cudaDevAttrL2CacheSize, properties.l2CacheSize},
      {cudaDevAttrMultiProcessorCount, properties.multiProcessorCount},
      {cudaDevAttrMaxThreadsPerMultiProcessor, properties.maxThreadsPerMultiProcessor},
      {cudaDevAttrMaxBlocksPerMultiprocessor, properties.maxBlocksPerMultiProcessor},
      {cudaDevAttrComputeCapabilityMajor, properties.major},
      {cudaDevAttrComputeCapabilityMinor, properties.minor},
      {cudaDevAttrIntegrated, properties.integrated},
      {cudaDevAttrCanMapHostMemory, properties.canMapHostMemory},
      {cudaDevAttrConcurrentKernels, properties.concurrentKernels},
      {cudaDevAttrUnifiedAddressing, properties.unifiedAddressing},
      {cudaDevAttrManagedMemory, properties.managedMemory},
      {cudaDevAttrConcurrentManagedAccess, properties.concurrentManagedAccess},
      {cudaDevAttrMemoryPoolsSupported, properties.memoryPoolsSupported},
  };
  *value = 0;
  for (const auto& entry : table) {
    if (entry.attribute == attribute) *value = static_cast<int>(entry.value);
  }
  return cudaSuccess;
}

// Settings that have no meaning here are accepted.
inline cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit) {
  *value = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceCanAccessPeer(int* can_access, int, int) {
  *can_access = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned int) {
  return ::cotangent::error(::cotangent::api->set_error(cudaErrorPeerAccessUnsupported));
}
inline cudaError_t cudaDeviceDisablePeerAccess(int) {
  return ::cotangent::error(::cotangent::api->set_error(cudaErrorPeerAccessNotEnabled));
}
inline cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
