//! Streams and events.
//!
//! Work is done when it is submitted, so a stream is only a name that has to be valid, and an event
//! is the time at which it was recorded.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Mutex;
use std::time::Instant;

use crate::checks;
use crate::error::{self, CudaError};

/// What a handle stands for.
enum Handle {
    Stream,
    /// None until the event is recorded.
    Event(Option<Instant>),
}

/// The streams and events that exist.
struct Handles {
    next: usize,
    all: Option<HashMap<usize, Handle>>,
}

/// Handles 0, 1 and 2 are the default, legacy and per-thread streams; ours start above.
const FIRST_HANDLE: usize = 16;

static HANDLES: Mutex<Handles> = Mutex::new(Handles { next: FIRST_HANDLE, all: None });

fn with_handles<T>(body: impl FnOnce(&mut HashMap<usize, Handle>) -> T) -> T {
    let mut handles = HANDLES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    body(handles.all.get_or_insert_default())
}

fn create(result: *mut *mut c_void, handle: Handle) -> i32 {
    error::guarded(|| {
        if result.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let mut handles = HANDLES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        handles.next += 1;
        let id = handles.next;
        handles.all.get_or_insert_default().insert(id, handle);
        // SAFETY: the caller's own variable, not null.
        unsafe { *result = id as *mut c_void };
        Ok(())
    })
}

/// Whether the program may use this stream.
pub(crate) fn stream_exists(stream: *mut c_void) -> Result<(), CudaError> {
    let known = (stream as usize) < FIRST_HANDLE
        || with_handles(|all| matches!(all.get(&(stream as usize)), Some(Handle::Stream)));
    if known { Ok(()) } else { Err(CudaError::INVALID_RESOURCE_HANDLE) }
}

fn event_time(event: *mut c_void) -> Result<Option<Instant>, CudaError> {
    with_handles(|all| match all.get(&(event as usize)) {
        Some(Handle::Event(time)) => Ok(*time),
        Some(Handle::Stream) | None => Err(CudaError::INVALID_RESOURCE_HANDLE),
    })
}

pub(crate) unsafe extern "C" fn stream_create(stream: *mut *mut c_void) -> i32 {
    checks::with(|checks| checks.order().stream_created());
    create(stream, Handle::Stream)
}

pub(crate) unsafe extern "C" fn stream_destroy(stream: *mut c_void) -> i32 {
    error::guarded(|| {
        stream_exists(stream)?;
        with_handles(|all| all.remove(&(stream as usize)));
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn stream_synchronize(stream: *mut c_void) -> i32 {
    error::guarded(|| {
        stream_exists(stream)?;
        checks::with(|checks| checks.order().stream_synchronized(stream as usize));
        Ok(())
    })
}

/// What comes next in the stream waits for the event.
pub(crate) unsafe extern "C" fn stream_wait(stream: *mut c_void, event: *mut c_void) -> i32 {
    error::guarded(|| {
        stream_exists(stream)?;
        event_time(event)?;
        checks::with(|checks| checks.order().stream_waits(stream as usize, event as usize));
        Ok(())
    })
}

thread_local! {
    /// The stream of the next copy or fill, if it is an asynchronous one.
    static NEXT_STREAM: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The next copy or fill is asked for in this stream, and the host does not wait for it.
pub(crate) extern "C" fn on_stream(stream: *mut c_void) {
    NEXT_STREAM.set(Some(stream as usize));
}

/// The stream of the copy or fill that begins, and whether the host waits for it.
pub(crate) fn take_stream() -> (usize, bool) {
    match NEXT_STREAM.take() {
        Some(stream) => (stream, false),
        None => (0, true),
    }
}

pub(crate) unsafe extern "C" fn event_create(event: *mut *mut c_void) -> i32 {
    create(event, Handle::Event(None))
}

pub(crate) unsafe extern "C" fn event_destroy(event: *mut c_void) -> i32 {
    error::guarded(|| {
        event_time(event)?;
        with_handles(|all| all.remove(&(event as usize)));
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn event_record(event: *mut c_void, stream: *mut c_void) -> i32 {
    error::guarded(|| {
        event_time(event)?;
        stream_exists(stream)?;
        with_handles(|all| all.insert(event as usize, Handle::Event(Some(Instant::now()))));
        checks::with(|checks| checks.order().event_recorded(event as usize, stream as usize));
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn event_synchronize(event: *mut c_void) -> i32 {
    error::guarded(|| {
        event_time(event)?;
        checks::with(|checks| checks.order().event_synchronized(event as usize));
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn event_elapsed(milliseconds: *mut f32, start: *mut c_void, stop: *mut c_void) -> i32 {
    error::guarded(|| {
        let (Some(start), Some(stop)) = (event_time(start)?, event_time(stop)?) else {
            return Err(CudaError::INVALID_RESOURCE_HANDLE);
        };
        // SAFETY: the caller's own variable.
        unsafe { *milliseconds = stop.duration_since(start).as_secs_f32() * 1e3 };
        Ok(())
    })
}

pub(crate) extern "C" fn device_synchronize() -> i32 {
    error::guarded(|| {
        checks::with(|checks| checks.order().device_synchronized());
        Ok(())
    })
}
