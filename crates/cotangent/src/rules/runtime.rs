//! Functions of the CUDA runtime that host code calls, and those of Cotangent's own that derivatives call: by name, with
//! what each does. The class of a call gives its adjoint.

/// What a call does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuntimeClass {
    /// Stores a pointer to new memory through its first argument; the second is its size. `maker` returns it instead.
    Allocate { maker: &'static str },
    /// Returns new memory of a size. `zeros` returns memory of the same kind that holds zeros; `free` frees it.
    Memory { zeros: &'static str, free: &'static str },
    /// Frees what its first argument points to. `always`: it is one of several calls of which every way takes one, as
    /// the ends of a scope are.
    Free { always: bool },
    /// Copies or fills memory.
    Move(Move),
    /// Copies to or from a variable outside functions.
    Symbol,
    /// Makes a stream or an event.
    Create { destroy: &'static str },
    /// Ends a stream or an event.
    Destroy,
    /// The host waits.
    Synchronize,
    /// An event happens when the stream has come so far.
    Record,
    /// A stream waits for an event.
    WaitFor,
    /// Asks or configures; nothing that carries derivatives is touched.
    Query,
    /// A function of `cotangent/runtime.hpp` that only derivatives call.
    Own,
}

/// A copy or a fill: which argument is what, and what derivatives call instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// Where it goes to: a pointer, or a record whose first field is one.
    pub to: usize,
    /// Where it comes from; none for a fill, after which nothing depends on what was there.
    pub from: Option<Source>,
    /// Sets the derivatives of the target to zero.
    pub clear: Call,
    /// The stream, which the calls below take last where it is given.
    pub stream: Option<usize>,
}

/// Where a copy comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    pub from: usize,
    /// The direction.
    pub kind: usize,
    /// Adds the adjoints of the target to those of the source, and clears them.
    pub add: Call,
    /// The same where several streams add.
    pub add_at_once: &'static str,
}

/// A call by its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    pub name: &'static str,
    pub args: &'static [Arg],
}

/// An argument of a call that derivatives make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg {
    /// A pointer to the derivatives of the target.
    To,
    /// A pointer to the derivatives of the source.
    From,
    /// The same as in the program, by its position there.
    Same(usize),
}

impl RuntimeClass {
    /// The positions of the arguments that a copy goes to and comes from.
    pub fn ends_of_copy(self) -> Option<(usize, usize)> {
        match self.ends()? {
            (to, Some(from)) => Some((to, from)),
            (_, None) => None,
        }
    }

    /// The positions of the arguments that a copy or a fill goes to and comes from.
    pub fn ends(self) -> Option<(usize, Option<usize>)> {
        match self {
            Class::Move(Move { to, from, .. }) => Some((to, from.map(|source| source.from))),
            Class::Symbol => Some((0, Some(1))),
            Class::Allocate { .. }
            | Class::Memory { .. }
            | Class::Free { .. }
            | Class::Create { .. }
            | Class::Destroy
            | Class::Synchronize
            | Class::Record
            | Class::WaitFor
            | Class::Query
            | Class::Own => None,
        }
    }

    /// The position of the stream in which a copy or a fill is done, if one may be given; nothing for other calls.
    pub fn stream_of_move(self) -> Option<Option<usize>> {
        match self {
            Class::Move(Move { stream, .. }) => Some(stream),
            Class::Symbol => Some(Some(5)),
            Class::Allocate { .. }
            | Class::Memory { .. }
            | Class::Free { .. }
            | Class::Create { .. }
            | Class::Destroy
            | Class::Synchronize
            | Class::Record
            | Class::WaitFor
            | Class::Query
            | Class::Own => None,
        }
    }
}

/// `cudaMemcpy(to, from, bytes, kind)`.
const fn copy(stream: Option<usize>) -> RuntimeClass {
    let add = Call { name: "cotangent::add_copied", args: &[Arg::From, Arg::To, Arg::Same(2), Arg::Same(3)] };
    let source = Source { from: 1, kind: 3, add, add_at_once: "cotangent::add_copied_at_once" };
    Class::Move(Move { to: 0, from: Some(source), clear: CLEAR, stream })
}

/// `cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind)`.
const fn copy_rows(stream: Option<usize>) -> RuntimeClass {
    let args = &[Arg::From, Arg::Same(3), Arg::To, Arg::Same(1), Arg::Same(4), Arg::Same(5), Arg::Same(6)];
    let add = Call { name: "cotangent::add_copied_rows", args };
    let source = Source { from: 2, kind: 6, add, add_at_once: "cotangent::add_copied_rows_at_once" };
    let clear = Call { name: "cotangent::clear_rows", args: &[Arg::To, Arg::Same(1), Arg::Same(4), Arg::Same(5)] };
    Class::Move(Move { to: 0, from: Some(source), clear, stream })
}

/// `cudaMemset(to, byte, bytes)`.
const fn fill(stream: Option<usize>) -> RuntimeClass {
    Class::Move(Move { to: 0, from: None, clear: CLEAR, stream })
}

/// `cudaMemset2D(to, pitch, byte, width, height)`.
const fn fill_rows(stream: Option<usize>) -> RuntimeClass {
    let clear = Call { name: "cotangent::clear_rows", args: &[Arg::To, Arg::Same(1), Arg::Same(3), Arg::Same(4)] };
    Class::Move(Move { to: 0, from: None, clear, stream })
}

/// `cudaMemset3D(pitched, byte, extent)`.
const fn fill_box(stream: Option<usize>) -> RuntimeClass {
    let clear = Call { name: "cotangent::clear_box", args: &[Arg::To, Arg::Same(0), Arg::Same(2)] };
    Class::Move(Move { to: 0, from: None, clear, stream })
}

/// Of `cudaMemcpy` and `cudaMemset`, whose third argument is the number of bytes.
const CLEAR: Call = Call { name: "cotangent::clear", args: &[Arg::To, Arg::Same(2)] };

use RuntimeClass as Class;

/// The class of `cotangent/runtime.hpp` in which derivatives of host functions keep values.
pub const TAPE: &str = "cotangent::Tape";

/// A copy of an array, by which its reverse sweep finds it again: the handle that `cotangent::take_snapshot` gives.
pub const SNAPSHOT: &str = "cotangent::Snapshot";

/// What is called before a checked launch: `cotangent::check_block<kernel>(block, shared)`.
pub const CHECK_BLOCK: &str = "cotangent::check_block";

/// By name.
const RUNTIME: &[(&str, RuntimeClass)] = &[
    ("cudaMalloc", Class::Allocate { maker: "cotangent::device_memory" }),
    ("cudaMallocManaged", Class::Allocate { maker: "cotangent::managed_memory" }),
    ("cudaMallocHost", Class::Allocate { maker: "cotangent::pinned_memory" }),
    ("cudaMallocAsync", Class::Allocate { maker: "cotangent::device_memory" }),
    ("cudaHostAlloc", Class::Allocate { maker: "cotangent::pinned_memory" }),
    ("cudaFree", FREE),
    ("cudaFreeHost", FREE),
    ("cudaFreeAsync", FREE),
    ("cudaMemcpy", copy(None)),
    ("cudaMemcpyAsync", copy(Some(4))),
    ("cudaMemcpy2D", copy_rows(None)),
    ("cudaMemcpy2DAsync", copy_rows(Some(7))),
    ("cudaMemset", fill(None)),
    ("cudaMemsetAsync", fill(Some(3))),
    ("cudaMemset2D", fill_rows(None)),
    ("cudaMemset2DAsync", fill_rows(Some(5))),
    ("cudaMemset3D", fill_box(None)),
    ("cudaMemset3DAsync", fill_box(Some(3))),
    ("cudaMemcpyToSymbol", Class::Symbol),
    ("cudaMemcpyFromSymbol", Class::Symbol),
    ("cudaMemcpyToSymbolAsync", Class::Symbol),
    ("cudaMemcpyFromSymbolAsync", Class::Symbol),
    ("cudaStreamCreate", Class::Create { destroy: "cudaStreamDestroy" }),
    ("cudaStreamCreateWithFlags", Class::Create { destroy: "cudaStreamDestroy" }),
    ("cudaStreamCreateWithPriority", Class::Create { destroy: "cudaStreamDestroy" }),
    ("cudaStreamDestroy", Class::Destroy),
    ("cudaStreamSynchronize", Class::Synchronize),
    ("cudaStreamQuery", Class::Query),
    ("cudaStreamWaitEvent", Class::WaitFor),
    ("cudaEventCreate", Class::Create { destroy: "cudaEventDestroy" }),
    ("cudaEventCreateWithFlags", Class::Create { destroy: "cudaEventDestroy" }),
    ("cudaEventDestroy", Class::Destroy),
    ("cudaEventRecord", Class::Record),
    ("cudaEventRecordWithFlags", Class::Record),
    ("cudaEventSynchronize", Class::Synchronize),
    ("cudaEventElapsedTime", Class::Query),
    ("cudaEventQuery", Class::Query),
    ("cudaDeviceSynchronize", Class::Synchronize),
    ("cudaDeviceReset", Class::Query),
    ("cudaGetLastError", Class::Query),
    ("cudaPeekAtLastError", Class::Query),
    ("cudaGetErrorString", Class::Query),
    ("cudaGetErrorName", Class::Query),
    ("cudaGetDeviceCount", Class::Query),
    ("cudaSetDevice", Class::Query),
    ("cudaGetDevice", Class::Query),
    ("cudaGetDeviceProperties", Class::Query),
    ("cudaDeviceGetAttribute", Class::Query),
    ("cudaMemGetInfo", Class::Query),
    ("cudaMemPrefetchAsync", Class::Query),
    ("cudaMemAdvise", Class::Query),
    ("cudaSetDeviceFlags", Class::Query),
    ("cudaDeviceSetLimit", Class::Query),
    ("cudaDeviceGetLimit", Class::Query),
    ("cudaDeviceSetCacheConfig", Class::Query),
    ("cudaDeviceGetCacheConfig", Class::Query),
    ("cudaDeviceSetSharedMemConfig", Class::Query),
    ("cudaDeviceGetStreamPriorityRange", Class::Query),
    ("cudaDeviceCanAccessPeer", Class::Query),
    ("cudaDeviceEnablePeerAccess", Class::Query),
    ("cudaDeviceDisablePeerAccess", Class::Query),
    ("cudaDriverGetVersion", Class::Query),
    ("cudaRuntimeGetVersion", Class::Query),
    ("cudaProfilerStart", Class::Query),
    ("cudaProfilerStop", Class::Query),
    ("malloc", Class::Memory { zeros: "cotangent::host_zeros", free: "cotangent::free_host" }),
    ("free", FREE),
    ("cotangent::device_memory", Class::Memory { zeros: "cotangent::device_zeros", free: "cotangent::free_device" }),
    ("cotangent::managed_memory", Class::Memory { zeros: "cotangent::managed_zeros", free: "cotangent::free_device" }),
    ("cotangent::pinned_memory", Class::Memory { zeros: "cotangent::pinned_zeros", free: "cotangent::free_pinned" }),
    ("cotangent::array_memory", ARRAY),
    ("cotangent::array_zeros", ARRAY),
    ("cotangent::free_array", FREE),
    ("cotangent::vector_memory", VECTOR),
    ("cotangent::vector_zeros", VECTOR),
    ("cotangent::free_vector", Class::Free { always: true }),
    ("cotangent::value_memory", VALUE),
    ("cotangent::value_zeros", VALUE),
    ("cotangent::free_value", FREE),
    ("cotangent::device_zeros", Class::Own),
    ("cotangent::managed_zeros", Class::Own),
    ("cotangent::pinned_zeros", Class::Own),
    ("cotangent::free_device", Class::Own),
    ("cotangent::host_zeros", Class::Own),
    ("cotangent::stream_memory", Class::Own),
    ("cotangent::take_snapshot", Class::Own),
    ("cotangent::restored", Class::Own),
    ("cotangent::drop_snapshot", Class::Own),
    ("cotangent::stream_zeros", Class::Own),
    ("cotangent::uploaded", Class::Own),
    ("cotangent::require_apart", Class::Own),
    ("cotangent::free_host", Class::Own),
    ("cotangent::free_pinned", Class::Own),
    ("cotangent::allocate", Class::Own),
    ("cotangent::allocate_zeros", Class::Own),
    ("cotangent::fetch", Class::Own),
    ("cotangent::release", Class::Own),
    ("cotangent::require_slots", Class::Own),
    ("cotangent::add_copied", Class::Own),
    ("cotangent::add_copied_rows", Class::Own),
    ("cotangent::add_copied_at_once", Class::Own),
    ("cotangent::add_copied_rows_at_once", Class::Own),
    ("cotangent::clear", Class::Own),
    ("cotangent::clear_rows", Class::Own),
    ("cotangent::clear_box", Class::Own),
    ("cotangent::check_launch", Class::Own),
    (CHECK_BLOCK, Class::Own),
    ("cotangent::push", Class::Own),
    ("cotangent::pop", Class::Own),
];

const FREE: RuntimeClass = Class::Free { always: false };

/// Memory of a `std::vector`.
const VECTOR: RuntimeClass = Class::Memory { zeros: "cotangent::vector_zeros", free: "cotangent::free_vector" };

/// Memory that `new T[n]` makes.
const ARRAY: RuntimeClass = Class::Memory { zeros: "cotangent::array_zeros", free: "cotangent::free_array" };

/// Memory that `new T` makes.
const VALUE: RuntimeClass = Class::Memory { zeros: "cotangent::value_zeros", free: "cotangent::free_value" };

/// What a function of the runtime does; none if there is no function of that name that host code may call here.
pub fn runtime_class(name: &str) -> Option<RuntimeClass> {
    RUNTIME.iter().find(|(known, _)| *known == name).map(|(_, class)| *class)
}

/// Whether the CUDA runtime has a function of that name that host code may call here.
pub fn is_runtime(name: &str) -> bool {
    runtime_class(name).is_some()
}

/// Whether a function returns a pointer to what it is asked for: `float* p = cotangent::device_memory<float>(bytes)`.
pub fn returns_pointer_to(name: &str) -> bool {
    ["cotangent::restored", "cotangent::uploaded"].contains(&name)
        || name.starts_with("cotangent::")
            && (name.ends_with("_memory") || name.ends_with("_zeros") && !name.contains("allocate"))
}

/// Whether a function returns what it is asked for: `float v = cotangent::pop<float>(_tape)`.
pub fn returns_value_of(name: &str) -> bool {
    name == "cotangent::pop"
}

/// All names, for tests and the manual.
pub fn runtime_functions() -> impl Iterator<Item = &'static str> {
    RUNTIME.iter().map(|(name, _)| *name)
}
