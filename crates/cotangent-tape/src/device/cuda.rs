//! The driver over CUDA's runtime. Its functions come in a table: the program's own, as `<cotangent/tape_device.hpp>` fills
//! it in, or those of a libcudart that is loaded here.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use libloading::Library;

use super::{Copy, DeviceError, Driver, Memory, Stream};
use crate::error::Error;

type Handle = *mut c_void;

/// `cudaStreamNonBlocking`: no order with the default stream but the one that is asked for.
const NON_BLOCKING: u32 = 1;
/// `cudaEventDisableTiming`.
const DISABLE_TIMING: u32 = 2;
/// `cudaMemcpyHostToHost` to `cudaMemcpyDeviceToDevice`: what is added for a device as target, and as source.
const TO_DEVICE: i32 = 1;
const FROM_DEVICE: i32 = 2;
/// `cudaErrorNotReady`.
const NOT_READY: i32 = 600;
/// `cudaErrorSharedObjectInitFailed`, for a libcudart that is not there.
const NO_LIBRARY: i32 = 303;

/// Names of libcudart, newest first.
const LIBRARIES: &[&str] = &["libcudart.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"];

/// The functions of CUDA's runtime that staging calls: `cotangent_cuda_functions` of `<cotangent/tape.h>`. A HIP runtime
/// has the same.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CudaFunctions {
    pub malloc_host: unsafe extern "C" fn(*mut Handle, usize) -> i32,
    pub free_host: unsafe extern "C" fn(Handle) -> i32,
    pub malloc: unsafe extern "C" fn(*mut Handle, usize) -> i32,
    pub free: unsafe extern "C" fn(Handle) -> i32,
    pub get_last_error: unsafe extern "C" fn() -> i32,
    pub stream_create: unsafe extern "C" fn(*mut Handle, u32) -> i32,
    pub stream_destroy: unsafe extern "C" fn(Handle) -> i32,
    pub stream_wait_event: unsafe extern "C" fn(Handle, Handle, u32) -> i32,
    pub event_create: unsafe extern "C" fn(*mut Handle, u32) -> i32,
    pub event_destroy: unsafe extern "C" fn(Handle) -> i32,
    pub event_record: unsafe extern "C" fn(Handle, Handle) -> i32,
    pub event_query: unsafe extern "C" fn(Handle) -> i32,
    pub event_synchronize: unsafe extern "C" fn(Handle) -> i32,
    pub memcpy_async: unsafe extern "C" fn(Handle, *const c_void, usize, i32, Handle) -> i32,
}

impl CudaFunctions {
    /// Those of the first libcudart that the system finds. It stays loaded.
    pub fn load() -> Result<Self, Error> {
        LIBRARIES.iter().find_map(|name| Self::load_from(name)).ok_or(Error::Device { code: NO_LIBRARY })
    }

    /// Those of the library with this name or path, if it has them all.
    pub fn load_from(name: &str) -> Option<Self> {
        // SAFETY: CUDA's library may be loaded at any time, by any thread.
        let library = unsafe { Library::new(name) }.ok()?;
        // Its functions are called until the process ends.
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: the types are those of CUDA's headers, the same since version 11.
        unsafe {
            Some(Self {
                malloc_host: *library.get(b"cudaMallocHost").ok()?,
                free_host: *library.get(b"cudaFreeHost").ok()?,
                malloc: *library.get(b"cudaMalloc").ok()?,
                free: *library.get(b"cudaFree").ok()?,
                get_last_error: *library.get(b"cudaGetLastError").ok()?,
                stream_create: *library.get(b"cudaStreamCreateWithFlags").ok()?,
                stream_destroy: *library.get(b"cudaStreamDestroy").ok()?,
                stream_wait_event: *library.get(b"cudaStreamWaitEvent").ok()?,
                event_create: *library.get(b"cudaEventCreateWithFlags").ok()?,
                event_destroy: *library.get(b"cudaEventDestroy").ok()?,
                event_record: *library.get(b"cudaEventRecord").ok()?,
                event_query: *library.get(b"cudaEventQuery").ok()?,
                event_synchronize: *library.get(b"cudaEventSynchronize").ok()?,
                memcpy_async: *library.get(b"cudaMemcpyAsync").ok()?,
            })
        }
    }
}

/// Copies on streams of their own, on the device that is current when the driver is made.
pub struct Cuda {
    functions: CudaFunctions,
    /// By [`Way`].
    queues: [Queue; WAYS],
    /// Tells one stream where another one is. Recorded anew each time.
    border: Handle,
    /// Events that no copy needs.
    events: Vec<Handle>,
}

/// Which stream a copy runs on. The bus has two directions, and neither waits for the caller's streams. When any copy
/// may be waited for it is the first of these: what was fetched to be popped, then what makes room.
#[derive(Clone, Copy)]
enum Way {
    Fetch,
    Spill,
    Array,
}

const WAYS: usize = 3;

impl Way {
    fn of(copy: &Copy) -> Way {
        match (copy.is_of_array(), copy.target().1) {
            (true, _) => Way::Array,
            (false, Memory::Device) => Way::Fetch,
            (false, Memory::Pinned) => Way::Spill,
        }
    }
}

/// A stream, and the copies on it in the order in which they were started, which is the order in which they end.
struct Queue {
    stream: Handle,
    under_way: VecDeque<(Copy, Result<Handle, DeviceError>)>,
}

// SAFETY: streams and events of CUDA may be used by any thread.
unsafe impl Send for Cuda {}

impl Cuda {
    /// A driver with streams of its own.
    ///
    /// # Safety
    /// The functions do what CUDA's do.
    pub unsafe fn new(functions: CudaFunctions) -> Result<Self, Error> {
        let error = |DeviceError(code)| Error::Device { code };
        let queues = std::array::from_fn(|_| Queue { stream: ptr::null_mut(), under_way: VecDeque::new() });
        let mut cuda = Self { functions, queues, border: ptr::null_mut(), events: Vec::new() };
        for queue in &mut cuda.queues {
            // SAFETY: the place for the result is ours.
            check(unsafe { (functions.stream_create)(&raw mut queue.stream, NON_BLOCKING) }).map_err(error)?;
        }
        cuda.border = cuda.event().map_err(error)?;
        Ok(cuda)
    }

    fn event(&mut self) -> Result<Handle, DeviceError> {
        if let Some(event) = self.events.pop() {
            return Ok(event);
        }
        let mut event = ptr::null_mut();
        // SAFETY: the place for the result is ours.
        check(unsafe { (self.functions.event_create)(&raw mut event, DISABLE_TIMING) })?;
        Ok(event)
    }

    /// The stream of copies of arrays.
    fn arrays(&self) -> Handle {
        self.queues[Way::Array as usize].stream
    }

    /// `later` waits for what `earlier` was given so far.
    fn order(&mut self, earlier: Handle, later: Handle) -> Result<(), DeviceError> {
        // SAFETY: the event is ours, one stream too, the other the caller's.
        unsafe {
            check((self.functions.event_record)(self.border, earlier))?;
            check((self.functions.stream_wait_event)(later, self.border, 0))
        }
    }

    /// Puts a copy on a stream and an event after it.
    unsafe fn submit(&mut self, copy: &Copy, stream: Handle) -> Result<Handle, DeviceError> {
        let event = self.event()?;
        let ((from, source), (to, target)) = (copy.source(), copy.target());
        let kind = if target == Memory::Device { TO_DEVICE } else { 0 }
            + if source == Memory::Device { FROM_DEVICE } else { 0 };
        // SAFETY: the chunks are so long and stay here until the event has come; the caller's array too.
        let result = unsafe {
            check((self.functions.memcpy_async)(to.cast(), from.cast(), copy.bytes, kind, stream))
                .and_then(|()| check((self.functions.event_record)(event, stream)))
        };
        match result {
            Ok(()) => Ok(event),
            Err(error) => {
                self.events.push(event);
                Err(error)
            }
        }
    }

    /// The oldest copy on a stream, if it has ended or is waited for.
    fn first(&mut self, way: usize, wait: bool) -> Option<(Copy, Result<(), DeviceError>)> {
        let event = self.queues[way].under_way.front()?.1;
        let result = match event {
            // SAFETY: the event is ours.
            Ok(event) if wait => check(unsafe { (self.functions.event_synchronize)(event) }),
            // SAFETY: the event is ours.
            Ok(event) => match unsafe { (self.functions.event_query)(event) } {
                NOT_READY => return None,
                code => check(code),
            },
            Err(error) => Err(error),
        };
        self.events.extend(event);
        self.queues[way].under_way.pop_front().map(|(copy, _)| (copy, result))
    }
}

impl Driver for Cuda {
    fn allocate(&mut self, memory: Memory, bytes: usize) -> Result<NonNull<u8>, DeviceError> {
        let allocate = match memory {
            Memory::Device => self.functions.malloc,
            Memory::Pinned => self.functions.malloc_host,
        };
        let mut start = ptr::null_mut();
        // SAFETY: the place for the result is ours.
        let result = check(unsafe { allocate(&raw mut start, bytes) });
        if result == Err(DeviceError::OUT_OF_MEMORY) {
            // Or the program would find it where it looks for errors of its own.
            // SAFETY: it has no arguments.
            let _ = unsafe { (self.functions.get_last_error)() };
        }
        result?;
        let start = NonNull::new(start.cast::<u8>()).ok_or(DeviceError(NO_LIBRARY))?;
        if memory == Memory::Pinned {
            // SAFETY: so many bytes were allocated.
            unsafe { start.write_bytes(0, bytes) };
        }
        Ok(start)
    }

    unsafe fn free(&mut self, memory: Memory, start: NonNull<u8>) {
        let free = match memory {
            Memory::Device => self.functions.free,
            Memory::Pinned => self.functions.free_host,
        };
        // SAFETY: promised by the caller. That it failed matters to nobody any more.
        let _ = unsafe { free(start.as_ptr().cast()) };
    }

    fn follow(&mut self, stream: Stream) -> Result<(), DeviceError> {
        self.order(stream.0, self.arrays())
    }

    fn lead(&mut self, stream: Stream) -> Result<(), DeviceError> {
        self.order(self.arrays(), stream.0)
    }

    unsafe fn start(&mut self, copy: Copy) {
        let way = Way::of(&copy) as usize;
        // SAFETY: passed on.
        let event = unsafe { self.submit(&copy, self.queues[way].stream) };
        self.queues[way].under_way.push_back((copy, event));
    }

    fn finish(&mut self, wait: bool) -> Option<(Copy, Result<(), DeviceError>)> {
        let ended = (0..WAYS).find_map(|way| self.first(way, false));
        ended.or_else(|| (0..WAYS).filter(|_| wait).find_map(|way| self.first(way, true)))
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        let events = self.events.drain(..).chain([self.border]);
        for event in events.filter(|event| !event.is_null()) {
            // SAFETY: ours, and no copy is under way. That it failed matters to nobody any more.
            let _ = unsafe { (self.functions.event_destroy)(event) };
        }
        for stream in self.queues.iter().map(|queue| queue.stream).filter(|stream| !stream.is_null()) {
            // SAFETY: as above.
            let _ = unsafe { (self.functions.stream_destroy)(stream) };
        }
    }
}

fn check(code: i32) -> Result<(), DeviceError> {
    if code == 0 { Ok(()) } else { Err(DeviceError(code)) }
}
