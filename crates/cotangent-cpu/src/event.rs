//! Streams and events.
//!
//! A stream is a name that has to be valid; what it does and when is in `queue`. An event is the time at which its stream
//! came to it.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use crate::check::{DEFAULT_STREAM, StreamId};
use crate::checks;
use crate::error::{self, CudaError};
use crate::queue::{self, Seen, Ticket};

/// What a handle stands for.
enum Handle {
    Stream,
    /// None until the program asks to record the event.
    Event(Option<Record>),
}

/// A record of an event that was asked for.
#[derive(Clone)]
struct Record {
    ticket: Ticket,
    /// Set when the stream has come to it.
    time: Arc<OnceLock<Instant>>,
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

/// The last record of an event, if there is one.
fn last_record(event: *mut c_void) -> Result<Option<Record>, CudaError> {
    with_handles(|all| match all.get(&(event as usize)) {
        Some(Handle::Event(record)) => Ok(record.clone()),
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
        queue::non_blocking_stream_created(id);
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
        queue::wait_for_stream(id)
    })
}

/// What comes next in the stream waits for the event.
pub(crate) unsafe extern "C" fn stream_wait(stream: *mut c_void, event: *mut c_void) -> i32 {
    error::guarded(|| {
        let id = stream_id(stream)?;
        let record = last_record(event)?;
        checks::with(|checks| checks.order().stream_waits(id, event as usize));
        if let Some(record) = record {
            queue::stream_waits(id, record.ticket);
        }
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
        let data = data as usize;
        queue::submit(id, Seen::OnHost, move || {
            checks::with(|checks| checks.order().begin_host_function(id));
            error::without_runtime(|| {
                // SAFETY: the user's own function and its argument.
                unsafe { function(data as *mut c_void) };
            });
            checks::with(|checks| checks.order().end_host_function());
            Ok(())
        })
        .map(drop)
    })
}

pub(crate) unsafe extern "C" fn event_create(event: *mut *mut c_void) -> i32 {
    create(event, Handle::Event(None))
}

pub(crate) unsafe extern "C" fn event_destroy(event: *mut c_void) -> i32 {
    error::guarded(|| {
        last_record(event)?;
        with_handles(|all| all.remove(&(event as usize)));
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn event_record(event: *mut c_void, stream: *mut c_void) -> i32 {
    error::guarded(|| {
        last_record(event)?;
        let id = stream_id(stream)?;
        let time = Arc::new(OnceLock::new());
        let reached = Arc::clone(&time);
        let ticket = queue::submit(id, Seen::OnDevice, move || {
            reached.get_or_init(Instant::now);
            Ok(())
        })?;
        with_handles(|all| all.insert(event as usize, Handle::Event(Some(Record { ticket, time }))));
        checks::with(|checks| checks.order().event_recorded(event as usize, id));
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn event_synchronize(event: *mut c_void) -> i32 {
    error::guarded(|| {
        let record = last_record(event)?;
        checks::with(|checks| checks.order().event_synchronized(event as usize));
        record.map_or(Ok(()), |record| queue::wait_for(record.ticket))
    })
}

pub(crate) unsafe extern "C" fn event_elapsed(milliseconds: *mut f32, start: *mut c_void, stop: *mut c_void) -> i32 {
    error::guarded(|| {
        let (Some(start), Some(stop)) = (last_record(start)?, last_record(stop)?) else {
            return Err(CudaError::INVALID_RESOURCE_HANDLE);
        };
        let (Some(start), Some(stop)) = (start.time.get(), stop.time.get()) else {
            return Err(CudaError::NOT_READY);
        };
        // SAFETY: the caller's own variable.
        unsafe { *milliseconds = stop.duration_since(*start).as_secs_f32() * 1e3 };
        Ok(())
    })
}

pub(crate) extern "C" fn device_synchronize() -> i32 {
    error::guarded(|| {
        checks::with(|checks| checks.order().device_synchronized());
        queue::wait_for_all()
    })
}
