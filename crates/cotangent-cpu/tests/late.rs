//! Late streams, through the table that programs use: what the host has not waited for has not happened.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use cotangent_cpu::abi::{Api, Dim, Memory, Request, Site};
use cotangent_cpu::check::Checker;
use cotangent_cpu::kernel::{self, Failure, Kernel, Shape};
use cotangent_cpu::{Config, start};

const TO_DEVICE: u32 = 1;
const TO_HOST: u32 = 2;
const ON_DEVICE: u32 = 3;
const NON_BLOCKING: u32 = 1;

/// The runtime of the process, for one test at a time.
struct Session {
    api: &'static Api,
    _alone: MutexGuard<'static, ()>,
}

fn session() -> Session {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    Session { api: start(Config { late: true, threads: 2, ..Config::default() }), _alone: alone }
}

fn request(stream: *mut c_void, asynchronous: bool) -> Request {
    Request { stream, asynchronous: u32::from(asynchronous), site: Site::UNKNOWN }
}

// SAFETY: all calls of the table below are as CUDA wants them: handles and memory that were just made.
impl Session {
    fn allocate(&self, memory: Memory) -> *mut u32 {
        let mut pointer = null_mut();
        let code = unsafe { (self.api.allocate)(&mut pointer, 4, memory as u32, request(null_mut(), false)) };
        assert_eq!(code, 0);
        pointer.cast()
    }

    fn stream(&self, flags: u32) -> *mut c_void {
        let mut stream = null_mut();
        assert_eq!(unsafe { (self.api.stream_create)(&mut stream, flags) }, 0);
        stream
    }

    fn event(&self) -> *mut c_void {
        let mut event = null_mut();
        assert_eq!(unsafe { (self.api.event_create)(&mut event) }, 0);
        event
    }

    fn copy(&self, to: *mut u32, from: *const u32, kind: u32, stream: *mut c_void, asynchronous: bool) {
        let request = request(stream, asynchronous);
        assert_eq!(unsafe { (self.api.copy)(to.cast(), 4, from.cast(), 4, 4, 1, kind, request) }, 0);
    }

    fn fill(&self, to: *mut u32, value: i32, stream: *mut c_void, asynchronous: bool) {
        assert_eq!(unsafe { (self.api.fill)(to.cast(), 4, value, 4, 1, request(stream, asynchronous)) }, 0);
    }

    fn record(&self, event: *mut c_void, stream: *mut c_void) {
        assert_eq!(unsafe { (self.api.event_record)(event, stream) }, 0);
    }

    fn wait_in(&self, stream: *mut c_void, event: *mut c_void) {
        assert_eq!(unsafe { (self.api.stream_wait)(stream, event) }, 0);
    }

    fn synchronize(&self, stream: *mut c_void) {
        assert_eq!(unsafe { (self.api.stream_synchronize)(stream) }, 0);
    }

    /// What lies in device memory now, without waiting for anything.
    fn peek(&self, pointer: *const u32) -> u32 {
        unsafe { pointer.read_volatile() }
    }
}

/// Counts its blocks.
struct Counting(Arc<AtomicU32>);

impl Kernel for Counting {
    fn name(&self) -> &str {
        "counting"
    }

    fn static_shared(&self) -> usize {
        1024
    }

    fn run_block(&self, _: &Shape, _: Dim, _: u64, _: Option<&mut Checker>) -> Result<(), Box<Failure>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn launch(blocks: u32, shared_bytes: u64, stream: *mut c_void) -> (i32, Arc<AtomicU32>) {
    let count = Arc::new(AtomicU32::new(0));
    let shape = Shape { grid: Dim { x: blocks, y: 1, z: 1 }, block: Dim { x: 32, y: 1, z: 1 }, shared_bytes };
    let kernel = Arc::new(Counting(Arc::clone(&count)));
    (kernel::launch(kernel, shape, stream, std::ptr::null(), Site::UNKNOWN), count)
}

#[test]
fn a_launch_runs_when_its_stream_is_waited_for() {
    let session = session();
    let (code, count) = launch(100, 0, null_mut());
    assert_eq!((code, count.load(Ordering::Relaxed)), (0, 0));
    session.synchronize(null_mut());
    assert_eq!(count.load(Ordering::Relaxed), 100);
}

#[test]
fn a_wrong_configuration_is_an_error_at_once() {
    let session = session();
    // Static and dynamic shared memory together are more than 48 KB.
    assert_eq!(launch(1, 47 * 1024, null_mut()).0, 0);
    assert_eq!(launch(1, 47 * 1024 + 1, null_mut()).0, 1);
    assert_eq!(launch(0, 0, null_mut()).0, 9);
    assert_eq!((session.api.take_error)(), 9);
    assert_eq!((session.api.device_synchronize)(), 0);
}

#[test]
fn pageable_memory_is_read_at_once_and_pinned_memory_late() {
    let session = session();
    let (first, second) = (session.allocate(Memory::Device), session.allocate(Memory::Device));
    let stream = session.stream(0);
    let pinned = session.allocate(Memory::Pinned);
    let mut pageable = 1u32;
    unsafe { *pinned = 1 };
    session.fill(first, 0, stream, true);
    session.fill(second, 0, stream, true);
    session.synchronize(stream);
    session.copy(first, &raw const pageable, TO_DEVICE, stream, true);
    session.copy(second, pinned, TO_DEVICE, stream, true);
    pageable += 1;
    unsafe { *pinned += 1 };
    assert_eq!((session.peek(first), session.peek(second)), (0, 0));
    session.synchronize(stream);
    assert_eq!((session.peek(first), session.peek(second)), (1, 2));
    assert_eq!(pageable, 2);
}

#[test]
fn more_pageable_memory_than_there_is_room_for_is_waited_for() {
    let session = session();
    let bytes = (1 << 28) + 4;
    let mut pointer = null_mut();
    let request = request(session.stream(0), true);
    // SAFETY: as above.
    unsafe {
        assert_eq!((session.api.allocate)(&mut pointer, bytes, Memory::Device as u32, request), 0);
        let host = vec![1u8; bytes as usize];
        assert_eq!((session.api.copy)(pointer, bytes, host.as_ptr().cast(), bytes, bytes, 1, TO_DEVICE, request), 0);
        assert_eq!(session.peek(pointer.cast()), 0x0101_0101);
        assert_eq!((session.api.release)(pointer, Memory::Device as u32, request), 0);
    }
    session.synchronize(request.stream);
}

#[test]
fn the_host_cannot_run_ahead_for_ever() {
    let session = session();
    let counts: Vec<Arc<AtomicU32>> = (0..70_000).map(|_| launch(1, 0, null_mut()).1).collect();
    let done = counts.iter().filter(|count| count.load(Ordering::Relaxed) == 1).count();
    assert!((1..70_000).contains(&done), "{done}");
    assert_eq!((session.api.device_synchronize)(), 0);
    assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
}

#[test]
fn a_copy_to_the_host_waits_and_one_on_the_device_does_not() {
    let session = session();
    let (first, second) = (session.allocate(Memory::Device), session.allocate(Memory::Device));
    let mut host = 0u32;
    // A fill of device memory is not waited for either.
    session.fill(second, 0, null_mut(), false);
    session.fill(first, 1, null_mut(), false);
    session.copy(second, first, ON_DEVICE, null_mut(), false);
    session.copy(&raw mut host, second, TO_HOST, null_mut(), true);
    assert_eq!(host, 0);
    session.copy(&raw mut host, second, TO_HOST, null_mut(), false);
    assert_eq!(host, 0x0101_0101);
}

#[test]
fn a_copy_in_the_default_stream_waits_for_blocking_streams_only() {
    let session = session();
    let (blocking, other) = (session.stream(0), session.stream(NON_BLOCKING));
    let (of_blocking, of_other) = (session.allocate(Memory::Device), session.allocate(Memory::Device));
    let mut host = 0u32;
    session.fill(of_blocking, 0, blocking, true);
    session.fill(of_other, 0, other, true);
    session.synchronize(blocking);
    session.synchronize(other);
    session.fill(of_blocking, 1, blocking, true);
    session.fill(of_other, 1, other, true);
    session.copy(&raw mut host, of_blocking, TO_HOST, null_mut(), false);
    assert_eq!(host, 0x0101_0101);
    assert_eq!(session.peek(of_other), 0);
    session.synchronize(other);
    assert_eq!(session.peek(of_other), 0x0101_0101);
}

#[test]
fn an_event_orders_two_streams_as_it_was_recorded() {
    let session = session();
    let (left, right) = (session.stream(NON_BLOCKING), session.stream(NON_BLOCKING));
    let (first, second) = (session.allocate(Memory::Device), session.allocate(Memory::Device));
    let event = session.event();
    session.fill(first, 0, left, true);
    session.fill(second, 0, left, true);
    session.synchronize(left);
    session.fill(first, 1, left, true);
    session.record(event, left);
    session.wait_in(right, event);
    session.fill(second, 1, left, true);
    session.record(event, left);
    session.synchronize(right);
    assert_eq!((session.peek(first), session.peek(second)), (0x0101_0101, 0));
    let mut milliseconds = 0.0;
    let elapsed = |milliseconds| unsafe { (session.api.event_elapsed)(milliseconds, event, event) };
    assert_eq!(elapsed(&mut milliseconds), 600);
    assert_eq!((session.api.take_error)(), 600);
    assert_eq!(unsafe { (session.api.event_synchronize)(event) }, 0);
    assert_eq!(elapsed(&mut milliseconds), 0);
    assert_eq!(session.peek(second), 0x0101_0101);
}

#[test]
fn the_default_stream_of_a_thread_has_no_order_with_that_of_another() {
    let session = session();
    let own = 2 as *mut c_void;
    let memory = session.allocate(Memory::Device);
    session.fill(memory, 0, null_mut(), false);
    session.synchronize(null_mut());
    session.fill(memory, 1, own, true);
    std::thread::spawn(|| assert_eq!(unsafe { (start(Config::default()).stream_synchronize)(2 as *mut c_void) }, 0))
        .join()
        .expect("the thread ends well");
    assert_eq!(session.peek(memory), 0);
    session.synchronize(own);
    assert_eq!(session.peek(memory), 0x0101_0101);
}

#[test]
fn a_destroyed_stream_still_does_its_work_and_freed_memory_stays_until_then() {
    let session = session();
    let stream = session.stream(0);
    let (memory, kept) = (session.allocate(Memory::Device), session.allocate(Memory::Device));
    session.fill(kept, 0, stream, true);
    session.synchronize(stream);
    session.fill(memory, 1, stream, true);
    session.copy(kept, memory, ON_DEVICE, stream, true);
    assert_eq!(unsafe { (session.api.release)(memory.cast(), 0, request(stream, true)) }, 0);
    // It is gone for the program.
    assert_eq!(unsafe { (session.api.release)(memory.cast(), 0, request(stream, true)) }, 1);
    assert_eq!((session.api.take_error)(), 1);
    assert!(cotangent_cpu::memory_at(memory as usize).is_some());
    assert_eq!(unsafe { (session.api.stream_destroy)(stream) }, 0);
    assert_eq!(session.peek(kept), 0);
    assert_eq!((session.api.device_synchronize)(), 0);
    assert_eq!(session.peek(kept), 0x0101_0101);
}

#[test]
fn registered_memory_is_pinned_and_a_function_of_the_host_is_called_late() {
    unsafe extern "C" fn increase(number: *mut c_void) {
        // SAFETY: what the test gives it.
        unsafe { *number.cast::<u32>() += 1 };
    }
    let session = session();
    let (memory, stream) = (session.allocate(Memory::Device), session.stream(0));
    let mut number = Box::new(1u32);
    let address = &raw mut *number;
    assert_eq!(cotangent_cpu::register_host_memory(address as usize, 4), 0);
    assert_eq!(cotangent_cpu::register_host_memory(address as usize, 4), 712);
    assert_eq!(unsafe { (session.api.host_function)(stream, increase, address.cast()) }, 0);
    session.copy(memory, address, TO_DEVICE, stream, true);
    assert_eq!(*number, 1);
    assert_eq!(cotangent_cpu::unregister_host_memory(address as usize), 0);
    assert_eq!(cotangent_cpu::unregister_host_memory(address as usize), 713);
    assert_eq!(session.peek(memory), 2);
    assert_eq!((session.api.take_error)(), 713);
}
