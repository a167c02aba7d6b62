//! Streams and events.
//!
//! Work is done when it is submitted, so a stream is only a name that has to be valid, and an event
//! is the time at which it was recorded.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::check::{DEFAULT_STREAM, StreamId};
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

/// Names that need not be created: the default stream under two names, and the default stream of each host thread.
const NULL_STREAM: usize = 0;
const LEGACY_STREAM: usize = 1;
const PER_THREAD_STREAM: usize = 2;

/// Ours start above.
const FIRST_HANDLE: usize = 16;

/// The streams of host threads have names from here downwards.
const LAST_PER_THREAD: StreamId = StreamId::MAX - 1;

/// `cudaStreamNonBlocking`.
const NON_BLOCKING: u32 = 1;

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

thread_local! {
    /// The name of this thread's own default stream.
    static PER_THREAD: StreamId = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        LAST_PER_THREAD - THREADS.fetch_add(1, Ordering::Relaxed)
    };
}

/// The one name of a stream that the program may use.
pub(crate) fn stream_id(stream: *mut c_void) -> Result<StreamId, CudaError> {
    match stream as usize {
        NULL_STREAM | LEGACY_STREAM => Ok(DEFAULT_STREAM),
        PER_THREAD_STREAM => Ok(PER_THREAD.with(|name| *name)),
        own if with_handles(|all| matches!(all.get(&own), Some(Handle::Stream))) => Ok(own),
        _ => Err(CudaError::INVALID_RESOURCE_HANDLE),
    }
}

fn event_time(event: *mut c_void) -> Result<Option<Instant>, CudaError> {
    with_handles(|all| match all.get(&(event as usize)) {
        Some(Handle::Event(time)) => Ok(*time),
        Some(Handle::Stream) | None => Err(CudaError::INVALID_RESOURCE_HANDLE),
    })
}

/// # Safety
/// The handles and pointers that functions of this file are given are the user's, and valid as CUDA requires.
pub(crate) unsafe extern "C" fn stream_create(stream: *mut *mut c_void, flags: u32) -> i32 {
    let code = create(stream, Handle::Stream);
    if code == 0 && flags & NON_BLOCKING != 0 {
        // SAFETY: just written.
        let id = unsafe { *stream } as usize;
        checks::with(|checks| checks.order().non_blocking_stream_created(id));
    }
    code
}

pub(crate) unsafe extern "C" fn stream_destroy(stream: *mut c_void) -> i32 {
    error::guarded(|| {
        let id = stream_id(stream)?;
        if (stream as usize) < FIRST_HANDLE {
            return Err(CudaError::INVALID_RESOURCE_HANDLE);
        }
        with_handles(|all| all.remove(&id));
        checks::with(|checks| checks.order().stream_destroyed(id));
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn stream_synchronize(stream: *mut c_void) -> i32 {
    error::guarded(|| {
        let id = stream_id(stream)?;
        checks::with(|checks| checks.order().stream_synchronized(id));
        Ok(())
    })
}

/// What comes next in the stream waits for the event.
pub(crate) unsafe extern "C" fn stream_wait(stream: *mut c_void, event: *mut c_void) -> i32 {
    error::guarded(|| {
        let id = stream_id(stream)?;
        event_time(event)?;
        checks::with(|checks| checks.order().stream_waits(id, event as usize));
        Ok(())
    })
}

/// The stream calls a function of the host's, when all is done that it was asked for before. The function may not call the
/// runtime.
pub(crate) unsafe extern "C" fn host_function(
    stream: *mut c_void,
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
) -> i32 {
    error::guarded(|| {
        let id = stream_id(stream)?;
        checks::with(|checks| checks.order().begin_host_function(id));
        error::without_runtime(|| {
            // SAFETY: the user's own function and its argument.
            unsafe { function(data) };
        });
        checks::with(|checks| checks.order().end_host_function());
        Ok(())
    })
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
        let id = stream_id(stream)?;
        with_handles(|all| all.insert(event as usize, Handle::Event(Some(Instant::now()))));
        checks::with(|checks| checks.order().event_recorded(event as usize, id));
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
