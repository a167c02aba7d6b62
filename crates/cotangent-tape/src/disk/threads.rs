//! The engine for systems that allow no io_uring: a few threads, shared by the lanes of a tape, which block in the system
//! on their behalf.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::{Direction, Engine, Transfer, file};
use crate::sanitizer;

/// Enough to keep a disk busy in both directions; they wait most of the time.
const THREADS: usize = 4;

type Ended = (Transfer, io::Result<usize>);

/// The threads of a tape. They start with the first lane that spills, and end with the last user.
pub(crate) struct Workers {
    queue: Arc<Queue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// A forked child has none of the threads.
    process: u32,
}

#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

struct Job {
    transfer: Transfer,
    file: Arc<File>,
    reply: Sender<Ended>,
}

impl Workers {
    pub(crate) fn new() -> Self {
        Self { queue: Arc::default(), threads: Mutex::default(), process: std::process::id() }
    }

    fn start(&self) -> io::Result<()> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        while threads.len() < THREADS {
            let queue = Arc::clone(&self.queue);
            let thread = std::thread::Builder::new().name("cotangent-tape".to_owned()).spawn(move || work(&queue))?;
            threads.push(thread);
        }
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        if self.process != std::process::id() {
            return;
        }
        self.queue.change(|state| state.is_closed = true);
        for thread in threads {
            // A worker catches what it panics with.
            let _ = thread.join();
        }
    }
}

impl Queue {
    fn change(&self, action: impl FnOnce(&mut QueueState)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        sanitizer::received(self);
        action(&mut state);
        sanitizer::given(self);
        self.changed.notify_one();
        if state.is_closed {
            self.changed.notify_all();
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            sanitizer::received(self);
            if let Some(job) = state.jobs.pop_front() {
                sanitizer::given(self);
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn work(queue: &Queue) {
    while let Some(mut job) = queue.next() {
        let result = catch_unwind(AssertUnwindSafe(|| call(&job.file, &mut job.transfer)));
        let result = result.unwrap_or_else(|_| Err(io::Error::from_raw_os_error(libc::EIO)));
        sanitizer::given(job.transfer.slab.lo());
        // The lane waits for its transfers before it goes away.
        let _ = job.reply.send((job.transfer, result));
    }
}

/// One call of the system.
fn call(file: &File, transfer: &mut Transfer) -> io::Result<usize> {
    let (offset, done) = (transfer.offset() as i64, transfer.done);
    let rest = &mut transfer.slab.all_mut()[done..];
    // SAFETY: the slab is borrowed for the whole call, and so long.
    let moved = unsafe {
        match transfer.direction {
            Direction::Write => libc::pwrite(file.as_raw_fd(), rest.as_ptr().cast(), rest.len(), offset),
            Direction::Read => libc::pread(file.as_raw_fd(), rest.as_mut_ptr().cast(), rest.len(), offset),
        }
    };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}

/// The engine of one lane.
pub(crate) struct Threads {
    file: Arc<File>,
    workers: Arc<Workers>,
    reply: Sender<Ended>,
    ended: Receiver<Ended>,
    under_way: usize,
}

impl Threads {
    pub(crate) fn new(file: File, workers: Arc<Workers>) -> io::Result<Self> {
        workers.start()?;
        let (reply, ended) = channel();
        Ok(Self { file: Arc::new(file), workers, reply, ended, under_way: 0 })
    }
}

impl Engine for Threads {
    fn reserve(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        file::reserve(&self.file, offset, bytes)
    }

    fn start(&mut self, transfer: Transfer) {
        self.under_way += 1;
        let job = Job { transfer, file: Arc::clone(&self.file), reply: self.reply.clone() };
        self.workers.queue.change(|state| state.jobs.push_back(job));
    }

    fn finish(&mut self, wait: bool) -> Option<Ended> {
        if self.under_way == 0 {
            return None;
        }
        // The channel cannot close: this end has a sender too.
        let ended = if wait { self.ended.recv().ok()? } else { self.ended.try_recv().ok()? };
        sanitizer::received(ended.0.slab.lo());
        self.under_way -= 1;
        Some(ended)
    }
}
