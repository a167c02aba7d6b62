//! CUDA's error codes: number, name and text, as a table.

use std::cell::Cell;
use std::error::Error;
use std::ffi::{CStr, c_char};
use std::fmt;
use std::sync::atomic::{AtomicI32, Ordering};

/// A `cudaError_t`, of which only those that this runtime returns have names here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaError(pub i32);

impl CudaError {
    pub const SUCCESS: CudaError = CudaError(0);
    pub const INVALID_VALUE: CudaError = CudaError(1);
    pub const MEMORY_ALLOCATION: CudaError = CudaError(2);
    pub const INVALID_CONFIGURATION: CudaError = CudaError(9);
    pub const INVALID_PITCH: CudaError = CudaError(12);
    pub const INVALID_MEMCPY_DIRECTION: CudaError = CudaError(21);
    pub const INVALID_DEVICE: CudaError = CudaError(101);
    pub const INVALID_RESOURCE_HANDLE: CudaError = CudaError(400);
    pub const NOT_READY: CudaError = CudaError(600);
    pub const ILLEGAL_ADDRESS: CudaError = CudaError(700);
    pub const ASSERT: CudaError = CudaError(710);
    pub const HOST_MEMORY_ALREADY_REGISTERED: CudaError = CudaError(712);
    pub const HOST_MEMORY_NOT_REGISTERED: CudaError = CudaError(713);
    pub const ILLEGAL_INSTRUCTION: CudaError = CudaError(715);
    pub const MISALIGNED_ADDRESS: CudaError = CudaError(716);
    pub const LAUNCH_FAILURE: CudaError = CudaError(719);
    pub const NOT_PERMITTED: CudaError = CudaError(800);
    pub const NOT_SUPPORTED: CudaError = CudaError(801);

    /// `Ok` for success, so that callers can use `?`.
    pub(crate) fn result(self) -> Result<(), CudaError> {
        if self == CudaError::SUCCESS { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&describe_error(self.0))
    }
}

impl Error for CudaError {}

/// Number, name, text: those of CUDA's `cudaError_t`, as `driver_types.h` declares them.
#[rustfmt::skip]
const ERRORS: &[(i32, &CStr, &CStr)] = &[
    (0, c"cudaSuccess", c"no error"),
    (1, c"cudaErrorInvalidValue", c"invalid argument"),
    (2, c"cudaErrorMemoryAllocation", c"out of memory"),
    (3, c"cudaErrorInitializationError", c"initialization error"),
    (4, c"cudaErrorCudartUnloading", c"driver shutting down"),
    (5, c"cudaErrorProfilerDisabled", c"profiler disabled while using external profiling tool"),
    (6, c"cudaErrorProfilerNotInitialized", c"profiler not initialized: call cudaProfilerInitialize()"),
    (7, c"cudaErrorProfilerAlreadyStarted", c"profiler already started"),
    (8, c"cudaErrorProfilerAlreadyStopped", c"profiler already stopped"),
    (9, c"cudaErrorInvalidConfiguration", c"invalid configuration argument"),
    (12, c"cudaErrorInvalidPitchValue", c"invalid pitch argument"),
    (13, c"cudaErrorInvalidSymbol", c"invalid device symbol"),
    (16, c"cudaErrorInvalidHostPointer", c"invalid host pointer"),
    (17, c"cudaErrorInvalidDevicePointer", c"invalid device pointer"),
    (18, c"cudaErrorInvalidTexture", c"invalid texture reference"),
    (19, c"cudaErrorInvalidTextureBinding", c"texture is not bound to a pointer"),
    (20, c"cudaErrorInvalidChannelDescriptor", c"invalid channel descriptor"),
    (21, c"cudaErrorInvalidMemcpyDirection", c"invalid copy direction for memcpy"),
    (22, c"cudaErrorAddressOfConstant", c"__global__ function taking address of constant memory"),
    (23, c"cudaErrorTextureFetchFailed", c"fetch from texture failed"),
    (24, c"cudaErrorTextureNotBound", c"cannot fetch from a texture that is not bound"),
    (25, c"cudaErrorSynchronizationError", c"incorrect use of __syncthreads()"),
    (26, c"cudaErrorInvalidFilterSetting", c"linear filtering not supported for non-float type"),
    (27, c"cudaErrorInvalidNormSetting", c"read as normalized float not supported for 32-bit non float type"),
    (28, c"cudaErrorMixedDeviceExecution", c"device emulation mode and device execution mode cannot be mixed"),
    (31, c"cudaErrorNotYetImplemented", c"feature not yet implemented"),
    (32, c"cudaErrorMemoryValueTooLarge", c"memory size or pointer value too large to fit in 32 bit"),
    (34, c"cudaErrorStubLibrary", c"CUDA driver is a stub library"),
    (35, c"cudaErrorInsufficientDriver", c"CUDA driver version is insufficient for CUDA runtime version"),
    (36, c"cudaErrorCallRequiresNewerDriver", c"API call is not supported in the installed CUDA driver"),
    (37, c"cudaErrorInvalidSurface", c"invalid surface reference"),
    (43, c"cudaErrorDuplicateVariableName", c"duplicate global variable looked up by string name"),
    (44, c"cudaErrorDuplicateTextureName", c"duplicate texture looked up by string name"),
    (45, c"cudaErrorDuplicateSurfaceName", c"duplicate surface looked up by string name"),
    (46, c"cudaErrorDevicesUnavailable", c"CUDA-capable device(s) is/are busy or unavailable"),
    (49, c"cudaErrorIncompatibleDriverContext", c"incompatible driver context"),
    (52, c"cudaErrorMissingConfiguration", c"__global__ function call is not configured"),
    (53, c"cudaErrorPriorLaunchFailure", c"unspecified launch failure in prior launch"),
    (65, c"cudaErrorLaunchMaxDepthExceeded", c"launch would exceed maximum depth of nested launches"),
    (66, c"cudaErrorLaunchFileScopedTex", c"launch failed because kernel uses unsupported, file-scoped textures (texture objects are supported)"),
    (67, c"cudaErrorLaunchFileScopedSurf", c"launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are supported)"),
    (68, c"cudaErrorSyncDepthExceeded", c"cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth"),
    (69, c"cudaErrorLaunchPendingCountExceeded", c"launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"),
    (98, c"cudaErrorInvalidDeviceFunction", c"invalid device function"),
    (100, c"cudaErrorNoDevice", c"no CUDA-capable device is detected"),
    (101, c"cudaErrorInvalidDevice", c"invalid device ordinal"),
    (102, c"cudaErrorDeviceNotLicensed", c"device doesn't have valid Grid license"),
    (103, c"cudaErrorSoftwareValidityNotEstablished", c"integrity checks failed"),
    (127, c"cudaErrorStartupFailure", c"startup failure in cuda runtime"),
    (200, c"cudaErrorInvalidKernelImage", c"device kernel image is invalid"),
    (201, c"cudaErrorDeviceUninitialized", c"invalid device context"),
    (205, c"cudaErrorMapBufferObjectFailed", c"mapping of buffer object failed"),
    (206, c"cudaErrorUnmapBufferObjectFailed", c"unmapping of buffer object failed"),
    (207, c"cudaErrorArrayIsMapped", c"array is mapped"),
    (208, c"cudaErrorAlreadyMapped", c"resource already mapped"),
    (209, c"cudaErrorNoKernelImageForDevice", c"no kernel image is available for execution on the device"),
    (210, c"cudaErrorAlreadyAcquired", c"resource already acquired"),
    (211, c"cudaErrorNotMapped", c"resource not mapped"),
    (212, c"cudaErrorNotMappedAsArray", c"resource not mapped as array"),
    (213, c"cudaErrorNotMappedAsPointer", c"resource not mapped as pointer"),
    (214, c"cudaErrorECCUncorrectable", c"uncorrectable ECC error encountered"),
    (215, c"cudaErrorUnsupportedLimit", c"limit is not supported on this architecture"),
    (216, c"cudaErrorDeviceAlreadyInUse", c"exclusive-thread device already in use by a different thread"),
    (217, c"cudaErrorPeerAccessUnsupported", c"peer access is not supported between these two devices"),
    (218, c"cudaErrorInvalidPtx", c"a PTX JIT compilation failed"),
    (219, c"cudaErrorInvalidGraphicsContext", c"invalid OpenGL or DirectX context"),
    (220, c"cudaErrorNvlinkUncorrectable", c"uncorrectable NVLink error detected during the execution"),
    (221, c"cudaErrorJitCompilerNotFound", c"PTX JIT compiler library not found"),
    (222, c"cudaErrorUnsupportedPtxVersion", c"the provided PTX was compiled with an unsupported toolchain."),
    (223, c"cudaErrorJitCompilationDisabled", c"PTX JIT compilation was disabled"),
    (224, c"cudaErrorUnsupportedExecAffinity", c"the provided execution affinity is not supported"),
    (225, c"cudaErrorUnsupportedDevSideSync", c"the provided PTX contains unsupported call to cudaDeviceSynchronize"),
    (300, c"cudaErrorInvalidSource", c"device kernel image is invalid"),
    (301, c"cudaErrorFileNotFound", c"file not found"),
    (302, c"cudaErrorSharedObjectSymbolNotFound", c"shared object symbol not found"),
    (303, c"cudaErrorSharedObjectInitFailed", c"shared object initialization failed"),
    (304, c"cudaErrorOperatingSystem", c"OS call failed or operation not supported on this OS"),
    (400, c"cudaErrorInvalidResourceHandle", c"invalid resource handle"),
    (401, c"cudaErrorIllegalState", c"the operation cannot be performed in the present state"),
    (402, c"cudaErrorLossyQuery", c"attempted introspection would be semantically lossy"),
    (500, c"cudaErrorSymbolNotFound", c"named symbol not found"),
    (600, c"cudaErrorNotReady", c"device not ready"),
    (700, c"cudaErrorIllegalAddress", c"an illegal memory access was encountered"),
    (701, c"cudaErrorLaunchOutOfResources", c"too many resources requested for launch"),
    (702, c"cudaErrorLaunchTimeout", c"the launch timed out and was terminated"),
    (703, c"cudaErrorLaunchIncompatibleTexturing", c"launch uses incompatible texturing mode"),
    (704, c"cudaErrorPeerAccessAlreadyEnabled", c"peer access is already enabled"),
    (705, c"cudaErrorPeerAccessNotEnabled", c"peer access has not been enabled"),
    (708, c"cudaErrorSetOnActiveProcess", c"cannot set while device is active in this process"),
    (709, c"cudaErrorContextIsDestroyed", c"context is destroyed"),
    (710, c"cudaErrorAssert", c"device-side assert triggered"),
    (711, c"cudaErrorTooManyPeers", c"peer mapping resources exhausted"),
    (712, c"cudaErrorHostMemoryAlreadyRegistered", c"part or all of the requested memory range is already mapped"),
    (713, c"cudaErrorHostMemoryNotRegistered", c"pointer does not correspond to a registered memory region"),
    (714, c"cudaErrorHardwareStackError", c"hardware stack error"),
    (715, c"cudaErrorIllegalInstruction", c"an illegal instruction was encountered"),
    (716, c"cudaErrorMisalignedAddress", c"misaligned address"),
    (717, c"cudaErrorInvalidAddressSpace", c"operation not supported on global/shared address space"),
    (718, c"cudaErrorInvalidPc", c"invalid program counter"),
    (719, c"cudaErrorLaunchFailure", c"unspecified launch failure"),
    (720, c"cudaErrorCooperativeLaunchTooLarge", c"too many blocks in cooperative launch"),
    (800, c"cudaErrorNotPermitted", c"operation not permitted"),
    (801, c"cudaErrorNotSupported", c"operation not supported"),
    (802, c"cudaErrorSystemNotReady", c"system not yet initialized"),
    (803, c"cudaErrorSystemDriverMismatch", c"system has unsupported display driver / cuda driver combination"),
    (804, c"cudaErrorCompatNotSupportedOnDevice", c"forward compatibility was attempted on non supported HW"),
    (900, c"cudaErrorStreamCaptureUnsupported", c"operation not permitted when stream is capturing"),
    (901, c"cudaErrorStreamCaptureInvalidated", c"operation failed due to a previous error during capture"),
    (902, c"cudaErrorStreamCaptureMerge", c"operation would result in a merge of separate capture sequences"),
    (903, c"cudaErrorStreamCaptureUnmatched", c"capture was not ended in the same stream as it began"),
    (904, c"cudaErrorStreamCaptureUnjoined", c"capturing stream has unjoined work"),
    (905, c"cudaErrorStreamCaptureIsolation", c"dependency created on uncaptured work in another stream"),
    (906, c"cudaErrorStreamCaptureImplicit", c"operation would make the legacy stream depend on a capturing blocking stream"),
    (907, c"cudaErrorCapturedEvent", c"operation not permitted on an event last recorded in a capturing stream"),
    (908, c"cudaErrorStreamCaptureWrongThread", c"attempt to terminate a thread-local capture sequence from another thread"),
    (909, c"cudaErrorTimeout", c"wait operation timed out"),
    (910, c"cudaErrorGraphExecUpdateFailure", c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"),
    (911, c"cudaErrorExternalDevice", c"an asynchronous error happened outside of CUDA"),
    (912, c"cudaErrorInvalidClusterSize", c"a kernel launch error has occurred due to cluster misconfiguration"),
    (999, c"cudaErrorUnknown", c"unknown error"),
];

/// Set by the first launch that ended in a fault: CUDA's context is then lost, and every later
/// call returns this error.
static STICKY: AtomicI32 = AtomicI32::new(0);

thread_local! {
    static LAST: Cell<i32> = const { Cell::new(0) };
    /// Whether a function runs on this thread that a stream has called.
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function that a stream calls, and that may not call the runtime.
pub(crate) fn without_runtime(body: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    body();
    IN_HOST_FUNCTION.set(false);
}

/// Remembers `error` as the calling thread's last one, and returns what the API call returns.
pub(crate) fn record(error: CudaError) -> i32 {
    if error != CudaError::SUCCESS {
        LAST.set(error.0);
    }
    error.0
}

/// Marks the context as lost.
pub(crate) fn set_sticky(error: CudaError) {
    let _ = STICKY.compare_exchange(0, error.0, Ordering::Relaxed, Ordering::Relaxed);
}

/// The sticky error, which every call that touches the device returns before doing anything.
pub(crate) fn sticky() -> CudaError {
    CudaError(STICKY.load(Ordering::Relaxed))
}

/// Runs the body of an API call unless the context is lost, and records its error.
pub(crate) fn guarded(body: impl FnOnce() -> Result<(), CudaError>) -> i32 {
    if IN_HOST_FUNCTION.get() {
        return record(CudaError::NOT_PERMITTED);
    }
    record(sticky().result().and_then(|()| body()).err().unwrap_or(CudaError::SUCCESS))
}

pub(crate) extern "C" fn peek_error() -> i32 {
    match sticky() {
        CudaError::SUCCESS => LAST.get(),
        error => error.0,
    }
}

pub(crate) extern "C" fn take_error() -> i32 {
    let error = peek_error();
    LAST.set(0);
    error
}

pub(crate) extern "C" fn set_error(error: i32) -> i32 {
    record(CudaError(error))
}

pub(crate) extern "C" fn error_name(error: i32) -> *const c_char {
    find(error).map_or(c"unrecognized error code", |entry| entry.1).as_ptr()
}

pub(crate) extern "C" fn error_text(error: i32) -> *const c_char {
    find(error).map_or(c"unrecognized error code", |entry| entry.2).as_ptr()
}

fn find(error: i32) -> Option<&'static (i32, &'static CStr, &'static CStr)> {
    ERRORS.iter().find(|entry| entry.0 == error)
}

/// The name of an error and its sentence: `cudaErrorInvalidValue (invalid argument)`.
pub fn describe_error(error: i32) -> String {
    match find(error) {
        Some((_, name, text)) => format!("{} ({})", name.to_string_lossy(), text.to_string_lossy()),
        None => format!("error {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_error_has_its_name_and_a_text() {
        let header = include_str!("../../../include/common/driver_types.h");
        let of_line = |line: &str| {
            let (name, number) = line.trim().strip_suffix(',')?.split_once(" = ")?;
            let is_error = name.starts_with("cudaError") || name == "cudaSuccess";
            is_error.then(|| Some((name.to_owned(), number.parse::<i32>().ok()?))).flatten()
        };
        let declared: Vec<(String, i32)> = header.lines().filter_map(of_line).collect();
        let known: Vec<(String, i32)> =
            ERRORS.iter().map(|(number, name, _)| (name.to_string_lossy().into_owned(), *number)).collect();
        assert!(declared.len() > 100);
        assert_eq!(declared, known);
        assert_eq!(describe_error(1), "cudaErrorInvalidValue (invalid argument)");
    }
}
