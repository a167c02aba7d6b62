//! Functions under the names that a program calls which is compiled with `--default-stream per-thread`: no stream, or the
//! default stream, is the calling thread's own.

use std::ffi::c_void;

use cotangent_cpu::abi::Dim;

use crate::runtime::{Handle, PER_THREAD, on_stream, own, waited_for};
use crate::types::{Extent, LaunchConfig, MemLocation, Memcpy3DParms, PitchedPtr};
use crate::{launching, memory, streams, symbols, volumes};

type Pointer = *mut c_void;
type Constant = *const c_void;
type HostFunction = unsafe extern "C" fn(Pointer);
type Callback = unsafe extern "C" fn(Handle, i32, Pointer);

macro_rules! per_thread {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) = $target:path[$($value:expr),* $(,)?];)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments, reason = "CUDA's signature")]
            unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                // SAFETY: CUDA's contract is that of the function with another stream.
                #[allow(unused_unsafe, reason = "a few of them touch nothing of the caller's")]
                unsafe { $target($($value),*) }
            }
        )*
    };
}

#[rustfmt::skip]
per_thread! {
    fn cudaMemcpy_ptds(to: Pointer, from: Constant, bytes: usize, kind: u32) = memory::copy[to, from, bytes, kind, waited_for(PER_THREAD)];
    fn cudaMemcpyAsync_ptsz(to: Pointer, from: Constant, bytes: usize, kind: u32, stream: Handle) = memory::cudaMemcpyAsync[to, from, bytes, kind, own(stream)];
    fn cudaMemcpy2D_ptds(to: Pointer, to_pitch: usize, from: Constant, from_pitch: usize, width: usize, height: usize, kind: u32) = memory::copy_rows[to, to_pitch, from, from_pitch, width, height, kind, waited_for(PER_THREAD)];
    fn cudaMemcpy2DAsync_ptsz(to: Pointer, to_pitch: usize, from: Constant, from_pitch: usize, width: usize, height: usize, kind: u32, stream: Handle) = memory::cudaMemcpy2DAsync[to, to_pitch, from, from_pitch, width, height, kind, own(stream)];
    fn cudaMemcpy3D_ptds(parameters: *const Memcpy3DParms) = volumes::copy[parameters, waited_for(PER_THREAD)];
    fn cudaMemcpy3DAsync_ptsz(parameters: *const Memcpy3DParms, stream: Handle) = volumes::copy[parameters, on_stream(own(stream))];
    fn cudaMemcpyToSymbol_ptds(symbol: Constant, from: Constant, bytes: usize, offset: usize, kind: u32) = symbols::copy_to[symbol, from, bytes, offset, kind, waited_for(PER_THREAD)];
    fn cudaMemcpyToSymbolAsync_ptsz(symbol: Constant, from: Constant, bytes: usize, offset: usize, kind: u32, stream: Handle) = symbols::cudaMemcpyToSymbolAsync[symbol, from, bytes, offset, kind, own(stream)];
    fn cudaMemcpyFromSymbol_ptds(to: Pointer, symbol: Constant, bytes: usize, offset: usize, kind: u32) = symbols::copy_from[to, symbol, bytes, offset, kind, waited_for(PER_THREAD)];
    fn cudaMemcpyFromSymbolAsync_ptsz(to: Pointer, symbol: Constant, bytes: usize, offset: usize, kind: u32, stream: Handle) = symbols::cudaMemcpyFromSymbolAsync[to, symbol, bytes, offset, kind, own(stream)];
    fn cudaMemset_ptds(to: Pointer, value: i32, bytes: usize) = memory::fill_rows[to, bytes, value, bytes, 1, waited_for(PER_THREAD)];
    fn cudaMemsetAsync_ptsz(to: Pointer, value: i32, bytes: usize, stream: Handle) = memory::cudaMemsetAsync[to, value, bytes, own(stream)];
    fn cudaMemset2D_ptds(to: Pointer, pitch: usize, value: i32, width: usize, height: usize) = memory::fill_rows[to, pitch, value, width, height, waited_for(PER_THREAD)];
    fn cudaMemset2DAsync_ptsz(to: Pointer, pitch: usize, value: i32, width: usize, height: usize, stream: Handle) = memory::cudaMemset2DAsync[to, pitch, value, width, height, own(stream)];
    fn cudaMemset3D_ptds(to: PitchedPtr, value: i32, extent: Extent) = volumes::fill[to, value, extent, waited_for(PER_THREAD)];
    fn cudaMemset3DAsync_ptsz(to: PitchedPtr, value: i32, extent: Extent, stream: Handle) = volumes::fill[to, value, extent, on_stream(own(stream))];
    fn cudaMemPrefetchAsync_ptsz(pointer: Constant, bytes: usize, location: MemLocation, flags: u32, stream: Handle) = memory::cudaMemPrefetchAsync[pointer, bytes, location, flags, own(stream)];
    fn cudaMallocAsync_ptsz(pointer: *mut Pointer, bytes: usize, stream: Handle) = memory::cudaMallocAsync[pointer, bytes, own(stream)];
    fn cudaMallocFromPoolAsync_ptsz(pointer: *mut Pointer, bytes: usize, pool: Handle, stream: Handle) = memory::cudaMallocFromPoolAsync[pointer, bytes, pool, own(stream)];
    fn cudaFreeAsync_ptsz(pointer: Pointer, stream: Handle) = memory::cudaFreeAsync[pointer, own(stream)];
    fn cudaStreamAttachMemAsync_ptsz(stream: Handle, pointer: Pointer, bytes: usize, flags: u32) = memory::cudaStreamAttachMemAsync[own(stream), pointer, bytes, flags];

    fn cudaLaunchKernel_ptsz(function: Constant, grid: Dim, block: Dim, arguments: *mut Pointer, shared_bytes: usize, stream: Handle) = launching::cudaLaunchKernel[function, grid, block, arguments, shared_bytes, own(stream)];
    fn __cudaLaunchKernel_ptsz(kernel: Handle, grid: Dim, block: Dim, arguments: *mut Pointer, shared_bytes: usize, stream: Handle) = launching::__cudaLaunchKernel[kernel, grid, block, arguments, shared_bytes, own(stream)];
    fn cudaLaunchCooperativeKernel_ptsz(function: Constant, grid: Dim, block: Dim, arguments: *mut Pointer, shared_bytes: usize, stream: Handle) = launching::cudaLaunchCooperativeKernel[function, grid, block, arguments, shared_bytes, own(stream)];
    fn cudaLaunchKernelExC_ptsz(config: *const LaunchConfig, function: Constant, arguments: *mut Pointer) = launching::launch_with[config, function, arguments, own];

    fn cudaStreamSynchronize_ptsz(stream: Handle) = streams::cudaStreamSynchronize[own(stream)];
    fn cudaStreamQuery_ptsz(stream: Handle) = streams::cudaStreamQuery[own(stream)];
    fn cudaStreamWaitEvent_ptsz(stream: Handle, event: Handle, flags: u32) = streams::cudaStreamWaitEvent[own(stream), event, flags];
    fn cudaStreamGetFlags_ptsz(stream: Handle, flags: *mut u32) = streams::cudaStreamGetFlags[own(stream), flags];
    fn cudaStreamGetPriority_ptsz(stream: Handle, priority: *mut i32) = streams::cudaStreamGetPriority[own(stream), priority];
    fn cudaStreamGetId_ptsz(stream: Handle, id: *mut u64) = streams::cudaStreamGetId[own(stream), id];
    fn cudaStreamGetDevice_ptsz(stream: Handle, device: *mut i32) = streams::cudaStreamGetDevice[own(stream), device];
    fn cudaStreamIsCapturing_ptsz(stream: Handle, status: *mut i32) = streams::cudaStreamIsCapturing[own(stream), status];
    fn cudaStreamGetCaptureInfo_ptsz(stream: Handle, status: *mut i32, id: *mut u64, graph: *mut Handle, dependencies: *mut Handle, edges: *mut Handle, count: *mut usize) = streams::cudaStreamGetCaptureInfo[own(stream), status, id, graph, dependencies, edges, count];
    fn cudaLaunchHostFunc_ptsz(stream: Handle, function: HostFunction, data: Pointer) = streams::cudaLaunchHostFunc[own(stream), function, data];
    fn cudaLaunchHostFunc_v2_ptsz(stream: Handle, function: HostFunction, data: Pointer, mode: u32) = streams::cudaLaunchHostFunc_v2[own(stream), function, data, mode];
    fn cudaStreamAddCallback_ptsz(stream: Handle, callback: Callback, data: Pointer, flags: u32) = streams::cudaStreamAddCallback[own(stream), callback, data, flags];
    fn cudaEventRecord_ptsz(event: Handle, stream: Handle) = streams::cudaEventRecord[event, own(stream)];
    fn cudaEventRecordWithFlags_ptsz(event: Handle, stream: Handle, flags: u32) = streams::cudaEventRecordWithFlags[event, own(stream), flags];
}
