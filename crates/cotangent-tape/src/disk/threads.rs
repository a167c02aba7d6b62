//! The engine that lanes have unless told otherwise: a few threads, shared by the lanes of a tape, which block in the system on their
//! behalf, and compute the checksums.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::queue::Queue;
use super::{Direction, Engine, Transfer, file};

/// Enough to keep a disk busy in both directions while some compute checksums; they wait most of the time.
const THREADS: usize = 6;

type Ended = (Transfer, io::Result<usize>);

/// The threads of a tape. They start with the first lane that spills, and end with the last user.
pub(crate) struct Workers {
    queue: Arc<Queue<Job>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// A forked child has none of the threads.
    process: u32,
}

struct Job {
    transfer: Transfer,
    file: Arc<File>,
    reply: Arc<Queue<Ended>>,
}

impl Workers {
    pub(crate) fn new() -> Self {
        Self { queue: Arc::new(Queue::new()), threads: Mutex::default(), process: std::process::id() }
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
        self.queue.close();
        for thread in threads {
            // A worker catches what it panics with.
            let _ = thread.join();
        }
    }
}

fn work(queue: &Queue<Job>) {
    while let Some(Job { mut transfer, file, reply }) = queue.next() {
        let result = catch_unwind(AssertUnwindSafe(|| call(&file, &mut transfer)));
        let result = result.unwrap_or_else(|_| Err(io::Error::from_raw_os_error(libc::EIO)));
        // The lane waits for its transfers before it goes away, and then closes the file.
        drop(file);
        reply.push((transfer, result));
    }
}

/// The calls of the system for a transfer: one, as a rule.
fn call(file: &File, transfer: &mut Transfer) -> io::Result<usize> {
    let direction = transfer.direction;
    transfer.run(true, |start, bytes, offset| {
        let (file, offset) = (file.as_raw_fd(), offset as i64);
        // SAFETY: the slab, or the buffer of what was compressed, is borrowed for the whole call, and so long.
        let moved = unsafe {
            match direction {
                Direction::Write => libc::pwrite(file, start.cast(), bytes, offset),
                Direction::Read => libc::pread(file, start.cast(), bytes, offset),
            }
        };
        usize::try_from(moved).map_err(|_| io::Error::last_os_error())
    })
}

/// The engine of one lane.
pub(crate) struct Threads {
    file: Arc<File>,
    workers: Arc<Workers>,
    ended: Arc<Queue<Ended>>,
    under_way: usize,
}

impl Threads {
    pub(crate) fn new(file: File, workers: Arc<Workers>) -> io::Result<Self> {
        workers.start()?;
        Ok(Self { file: Arc::new(file), workers, ended: Arc::new(Queue::new()), under_way: 0 })
    }
}

impl Engine for Threads {
    fn reserve(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        file::reserve(&self.file, offset, bytes)
    }

    fn start(&mut self, transfer: Transfer) {
        self.under_way += 1;
        let job = Job { transfer, file: Arc::clone(&self.file), reply: Arc::clone(&self.ended) };
        self.workers.queue.push(job);
    }

    fn finish(&mut self, wait: bool) -> Option<Ended> {
        if self.under_way == 0 {
            return None;
        }
        let ended = if wait { self.ended.next() } else { self.ended.try_next() }?;
        self.under_way -= 1;
        Some(ended)
    }
}
