//! The table: a row for each function of the CUDA runtime, of C and of Cotangent's own that host code may call.

use super::enumerations::{self, BANKS, CACHE, DEVICE_ATTRIBUTE, ERROR, Enumeration, LIMIT, MEMORY_ADVICE};
use super::{Arg, Call, Move, Returns, RuntimeClass as Class, Source, Symbol};

pub use enumerations::COPY_KIND;

/// A function.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) class: Class,
    pub(super) returns: Returns,
    /// The enumeration that it takes, and at which position.
    pub(super) takes: Option<(usize, &'static Enumeration)>,
    /// What programs write where this is called.
    pub(super) written: &'static str,
}

impl Row {
    const fn returning(self, returns: Returns) -> Row {
        Row { returns, ..self }
    }

    const fn taking(self, position: usize, enumeration: &'static Enumeration) -> Row {
        Row { takes: Some((position, enumeration)), ..self }
    }

    const fn written(self, written: &'static str) -> Row {
        Row { written, ..self }
    }
}

const fn row(name: &'static str, class: Class) -> Row {
    Row { name, class, returns: Returns::Declared, takes: None, written: name }
}

/// The class of `cotangent/runtime.hpp` in which derivatives of host functions keep values.
pub const TAPE: &str = "cotangent::Tape";

/// Memory of the tape as an array.
pub const RESERVE: &str = "cotangent::reserve";

/// Keeps a value on the tape.
pub const PUSH: &str = "cotangent::push";

/// The class of `cotangent/runtime.hpp` that keeps memory until a derivative ends.
pub const FREES: &str = "cotangent::Frees";

/// A copy of an array, by which its reverse sweep finds it again: the handle that `cotangent::take_snapshot` gives.
pub const SNAPSHOT: &str = "cotangent::Snapshot";

/// States what a step of a loop begins with.
pub const CHECKPOINT: &str = "cotangent::checkpoint";

/// The class of `cotangent/steps.hpp` that keeps states of a loop.
pub const STEPS: &str = "cotangent::Steps";

/// Makes memory of the device.
pub const ALLOCATE: &str = "cudaMalloc";

/// Makes memory for rows at a distance that the runtime chooses. It has no row: reading it makes it an [`ALLOCATE`].
pub const PITCHED_MEMORY: &str = "cudaMallocPitch";

/// What prepares the device for a kernel, and changes nothing that it computes. A launch asks for its shared memory itself.
pub const PREPARATIONS: &[&str] = &["cudaFuncSetAttribute", "cudaFuncSetCacheConfig", "cudaFuncSetSharedMemConfig"];

/// Copies memory; the direction between arrays of the host, by its number in [`COPY_KIND`].
pub const COPY: &str = "cudaMemcpy";
pub const HOST_TO_HOST: i64 = 0;
pub const DEVICE_TO_HOST: i64 = 2;

/// Memory of the host that holds zeros.
pub const HOST_ZEROS: &str = "cotangent::host_zeros";

/// Memory of the host that begins at a multiple of a number.
pub const ALIGNED_MEMORY: &str = "cotangent::aligned_memory";

/// What is called before a checked launch: `cotangent::check_block<kernel>(block, shared)`.
pub const CHECK_BLOCK: &str = "cotangent::check_block";

/// The host waits for everything.
pub const WAIT_FOR_DEVICE: &str = "cudaDeviceSynchronize";

/// The host waits for a stream.
pub const WAIT_FOR_STREAM: &str = "cudaStreamSynchronize";

/// A stream waits for an event.
pub const STREAM_WAITS: &str = "cudaStreamWaitEvent";

/// An event happens when a stream has come so far.
pub const SET_EVENT: &str = "cudaEventRecord";

/// What went wrong last.
pub const LAST_ERROR: &str = "cudaPeekAtLastError";

/// By the header that must be included for them.
pub(super) const TABLE: &[(Option<&str>, &[Row])] = &[
    (None, CUDA),
    (Some("<cstdlib>"), C),
    (Some("<cotangent/runtime.hpp>"), OWN),
    (Some("<cotangent/steps.hpp>"), OF_STEPS),
    (Some("<cotangent/checkpoint.hpp>"), &[row(CHECKPOINT, Class::Query)]),
];

const CUDA: &[Row] = &[
    row(ALLOCATE, Class::Allocate { maker: "cotangent::device_memory" }),
    row("cudaMallocManaged", Class::Allocate { maker: "cotangent::managed_memory" }),
    row("cudaMallocHost", Class::Allocate { maker: "cotangent::pinned_memory" }),
    row("cudaMallocAsync", Class::Allocate { maker: "cotangent::device_memory" }),
    row("cudaHostAlloc", Class::Allocate { maker: "cotangent::pinned_memory" }),
    row("cudaFree", free("cotangent::free_device_later")),
    row("cudaFreeHost", free("cotangent::free_pinned_later")),
    row("cudaFreeAsync", free("cotangent::free_device_later")),
    row(COPY, copy(None)).taking(3, &COPY_KIND),
    row("cudaMemcpyAsync", copy(Some(4))).taking(3, &COPY_KIND),
    row("cudaMemcpy2D", copy_rows(None)).taking(6, &COPY_KIND),
    row("cudaMemcpy2DAsync", copy_rows(Some(7))).taking(6, &COPY_KIND),
    row("cudaMemset", fill(None)),
    row("cudaMemsetAsync", fill(Some(3))),
    row("cudaMemset2D", fill_rows(None)),
    row("cudaMemset2DAsync", fill_rows(Some(5))),
    row("cudaMemset3D", fill_box(None)),
    row("cudaMemset3DAsync", fill_box(Some(3))),
    row("cudaMemcpyToSymbol", to_symbol()).taking(4, &COPY_KIND),
    row("cudaMemcpyFromSymbol", from_symbol()).taking(4, &COPY_KIND),
    row("cudaMemcpyToSymbolAsync", to_symbol()).taking(4, &COPY_KIND),
    row("cudaMemcpyFromSymbolAsync", from_symbol()).taking(4, &COPY_KIND),
    row("cudaStreamCreate", STREAM),
    row("cudaStreamCreateWithFlags", STREAM),
    row("cudaStreamCreateWithPriority", STREAM),
    row("cudaStreamDestroy", Class::Destroy),
    row(WAIT_FOR_STREAM, Class::Synchronize),
    row("cudaStreamQuery", Class::Query),
    row(STREAM_WAITS, Class::WaitFor),
    row("cudaEventCreate", EVENT),
    row("cudaEventCreateWithFlags", EVENT),
    row("cudaEventDestroy", Class::Destroy),
    row(SET_EVENT, Class::Record),
    row("cudaEventRecordWithFlags", Class::Record),
    row("cudaEventSynchronize", Class::Synchronize),
    row("cudaEventElapsedTime", Class::Query),
    row("cudaEventQuery", Class::Query),
    row(WAIT_FOR_DEVICE, Class::Synchronize),
    row("cudaDeviceReset", Class::Query),
    row("cudaGetLastError", Class::Query),
    row(LAST_ERROR, Class::Query),
    row("cudaGetErrorString", Class::Query).taking(0, &ERROR),
    row("cudaGetErrorName", Class::Query).taking(0, &ERROR),
    row("cudaGetDeviceCount", Class::Query),
    row("cudaSetDevice", Class::Query),
    row("cudaGetDevice", Class::Query),
    row("cudaGetDeviceProperties", Class::Query),
    row("cudaDeviceGetAttribute", Class::Query).taking(1, &DEVICE_ATTRIBUTE),
    row("cudaMemGetInfo", Class::Query),
    row("cudaMemPrefetchAsync", Class::Query),
    row("cudaMemAdvise", Class::Query).taking(2, &MEMORY_ADVICE),
    row("cudaSetDeviceFlags", Class::Query),
    row("cudaDeviceSetLimit", Class::Query).taking(0, &LIMIT),
    row("cudaDeviceGetLimit", Class::Query).taking(1, &LIMIT),
    row("cudaDeviceSetCacheConfig", Class::Query).taking(0, &CACHE),
    row("cudaDeviceGetCacheConfig", Class::Query),
    row("cudaDeviceSetSharedMemConfig", Class::Query).taking(0, &BANKS),
    row("cudaDeviceGetStreamPriorityRange", Class::Query),
    row("cudaDeviceCanAccessPeer", Class::Query),
    row("cudaDeviceEnablePeerAccess", Class::Query),
    row("cudaDeviceDisablePeerAccess", Class::Query),
    row("cudaDriverGetVersion", Class::Query),
    row("cudaRuntimeGetVersion", Class::Query),
    row("cudaProfilerStart", Class::Query),
    row("cudaProfilerStop", Class::Query),
];

const C: &[Row] = &[row("malloc", HOST), row("free", free("cotangent::free_host_later"))];

/// Memory of the host.
const HOST: Class = Class::Memory { zeros: HOST_ZEROS, free: "cotangent::free_host" };
const ALIGNED: Class = Class::Memory { zeros: "cotangent::aligned_zeros", free: "cotangent::free_host" };

const OWN: &[Row] = &[
    row("cotangent::device_memory", Class::Memory { zeros: "cotangent::device_zeros", free: "cotangent::free_device" })
        .returning(Returns::PointerToAsked),
    row(
        "cotangent::managed_memory",
        Class::Memory { zeros: "cotangent::managed_zeros", free: "cotangent::free_device" },
    )
    .returning(Returns::PointerToAsked),
    row("cotangent::pinned_memory", Class::Memory { zeros: "cotangent::pinned_zeros", free: "cotangent::free_pinned" })
        .returning(Returns::PointerToAsked),
    row("cotangent::array_memory", ARRAY).returning(Returns::PointerToAsked).written("new T[n]"),
    row("cotangent::array_zeros", ARRAY).returning(Returns::PointerToAsked).written("new T[n]{…}"),
    row("cotangent::free_array", free("cotangent::free_array_later")).written("delete[] p"),
    row("cotangent::vector_memory", VECTOR).returning(Returns::PointerToAsked).written("std::vector<T> v{…}"),
    row("cotangent::vector_zeros", VECTOR).returning(Returns::PointerToAsked).written("std::vector<T> v(n)"),
    row("cotangent::free_vector", Class::Free { later: None }).written("the end of a vector"),
    row("cotangent::value_memory", VALUE).returning(Returns::PointerToAsked).written("new T"),
    row("cotangent::value_zeros", VALUE).returning(Returns::PointerToAsked).written("new T()"),
    row("cotangent::free_value", free("cotangent::free_value_later")).written("delete p"),
    row("cotangent::device_zeros", Class::Own).returning(Returns::PointerToAsked),
    row("cotangent::managed_zeros", Class::Own).returning(Returns::PointerToAsked),
    row("cotangent::pinned_zeros", Class::Own).returning(Returns::PointerToAsked),
    row("cotangent::free_device", Class::Own),
    row(HOST_ZEROS, HOST).returning(Returns::PointerToAsked).written("calloc(n, size)"),
    row(ALIGNED_MEMORY, ALIGNED).returning(Returns::PointerToAsked).written("aligned_alloc(a, size)"),
    row("cotangent::aligned_zeros", Class::Own).returning(Returns::PointerToAsked),
    row("cotangent::stream_memory", Class::Own).returning(Returns::PointerToAsked),
    row("cotangent::take_snapshot", Class::Own),
    row("cotangent::restored", Class::Own).returning(Returns::PointerToAsked),
    row("cotangent::drop_snapshot", Class::Own),
    row("cotangent::stream_zeros", Class::Own).returning(Returns::PointerToAsked),
    row("cotangent::uploaded", Class::Own).returning(Returns::PointerToAsked),
    row("cotangent::require_apart", Class::Own),
    row("cotangent::free_host", Class::Own),
    row("cotangent::free_pinned", Class::Own),
    row("cotangent::free_device_later", Class::Own),
    row("cotangent::free_pinned_later", Class::Own),
    row("cotangent::free_host_later", Class::Own),
    row("cotangent::free_array_later", Class::Own),
    row("cotangent::free_value_later", Class::Own),
    row("cotangent::allocate", Class::Own),
    row("cotangent::allocate_zeros", Class::Own),
    row("cotangent::fetch", Class::Own),
    row("cotangent::release", Class::Own),
    row("cotangent::copy", Class::Own),
    row("cotangent::copied", Class::Own).returning(Returns::PointerToAsked),
    row("cotangent::release_copied", Class::Own),
    row("cotangent::require_slots", Class::Own),
    row("cotangent::add_copied", Class::Own).taking(3, &COPY_KIND),
    row("cotangent::add_copied_rows", Class::Own).taking(6, &COPY_KIND),
    row("cotangent::add_copied_at_once", Class::Own).taking(3, &COPY_KIND),
    row("cotangent::add_copied_rows_at_once", Class::Own).taking(6, &COPY_KIND),
    row("cotangent::clear", Class::Own),
    row("cotangent::clear_rows", Class::Own),
    row("cotangent::clear_box", Class::Own),
    row("cotangent::check_launch", Class::Own),
    row(CHECK_BLOCK, Class::Own),
    row(PUSH, Class::Own),
    row("cotangent::pop", Class::Own).returning(Returns::Asked),
    row(RESERVE, Class::Own).returning(Returns::PointerToAsked),
];

/// Loops that are run again from checkpoints.
const OF_STEPS: &[Row] = &[
    row("cotangent::keep_array", Class::Own),
    row("cotangent::keep_stated", Class::Own),
    row("cotangent::keep_allocation", Class::Own),
    row("cotangent::keep_value", Class::Own),
    row("cotangent::begin_steps", Class::Own),
    row("cotangent::begin_step", Class::Own),
    row("cotangent::note", Class::Own),
    row("cotangent::recall", Class::Own),
    row("cotangent::end_steps", Class::Own),
    row("cotangent::restore_step", Class::Own),
    row("cotangent::finish_steps", Class::Own),
];

/// `cudaMemcpy(to, from, bytes, kind)`.
const fn copy(stream: Option<usize>) -> Class {
    let add = Call { name: ADD, args: &[Arg::From, Arg::To, Arg::Same(2), Arg::Same(3)] };
    let source = Source { from: 1, kind: 3, add, add_at_once: ADD_AT_ONCE };
    Class::Move(Move { to: 0, from: Some(source), clear: CLEAR, stream })
}

/// `cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind)`.
const fn copy_rows(stream: Option<usize>) -> Class {
    let args = &[Arg::From, Arg::Same(3), Arg::To, Arg::Same(1), Arg::Same(4), Arg::Same(5), Arg::Same(6)];
    let add = Call { name: "cotangent::add_copied_rows", args };
    let source = Source { from: 2, kind: 6, add, add_at_once: "cotangent::add_copied_rows_at_once" };
    let clear = Call { name: "cotangent::clear_rows", args: &[Arg::To, Arg::Same(1), Arg::Same(4), Arg::Same(5)] };
    Class::Move(Move { to: 0, from: Some(source), clear, stream })
}

/// `cudaMemset(to, byte, bytes)`.
const fn fill(stream: Option<usize>) -> Class {
    Class::Move(Move { to: 0, from: None, clear: CLEAR, stream })
}

/// `cudaMemset2D(to, pitch, byte, width, height)`.
const fn fill_rows(stream: Option<usize>) -> Class {
    let clear = Call { name: "cotangent::clear_rows", args: &[Arg::To, Arg::Same(1), Arg::Same(3), Arg::Same(4)] };
    Class::Move(Move { to: 0, from: None, clear, stream })
}

/// `cudaMemset3D(pitched, byte, extent)`.
const fn fill_box(stream: Option<usize>) -> Class {
    let clear = Call { name: "cotangent::clear_box", args: &[Arg::To, Arg::Same(0), Arg::Same(2)] };
    Class::Move(Move { to: 0, from: None, clear, stream })
}

/// Of `cudaMemcpy` and `cudaMemset`, whose third argument is the number of bytes.
const CLEAR: Call = Call { name: "cotangent::clear", args: &[Arg::To, Arg::Same(2)] };

const ADD: &str = "cotangent::add_copied";
const ADD_AT_ONCE: &str = "cotangent::add_copied_at_once";

/// `cudaMemcpyToSymbol(symbol, from, bytes, offset, kind, stream)`, from the host unless it says otherwise.
const fn to_symbol() -> Class {
    symbol(false, 1)
}

/// `cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind, stream)`, to the host unless it says otherwise.
const fn from_symbol() -> Class {
    symbol(true, 2)
}

const fn symbol(is_from: bool, usual_kind: i64) -> Class {
    let add = Call { name: ADD, args: &[Arg::From, Arg::To, Arg::Same(2), Arg::Same(4)] };
    let source = Source { from: 1, kind: 4, add, add_at_once: ADD_AT_ONCE };
    let copy = Call { name: "cudaMemcpy", args: &[Arg::To, Arg::From, Arg::Same(2), Arg::Same(4)] };
    let copy_async = "cudaMemcpyAsync";
    Class::Symbol(Symbol { to: 0, source, clear: CLEAR, stream: 5, is_from, offset: 3, usual_kind, copy, copy_async })
}

const fn free(later: &'static str) -> Class {
    Class::Free { later: Some(later) }
}

const STREAM: Class = Class::Create { wait: Some(WAIT_FOR_STREAM), destroy: "cudaStreamDestroy" };

const EVENT: Class = Class::Create { wait: None, destroy: "cudaEventDestroy" };

/// Memory of a `std::vector`.
const VECTOR: Class = Class::Memory { zeros: "cotangent::vector_zeros", free: "cotangent::free_vector" };

/// Memory that `new T[n]` makes.
const ARRAY: Class = Class::Memory { zeros: "cotangent::array_zeros", free: "cotangent::free_array" };

/// Memory that `new T` makes.
const VALUE: Class = Class::Memory { zeros: "cotangent::value_zeros", free: "cotangent::free_value" };
