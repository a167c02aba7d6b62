//! A device that is simulated in time, as a driver for device lanes: streams, engines that do one thing at a time, and one
//! clock for the device and the host. It says when each kernel and each copy ran, and moves real bytes.
//!
//! A kernel does its work when it begins and a copy when it ends, so a copy that runs beside a kernel which it must not meet
//! leaves a wrong value. The host takes no time, but where it waits and where it is told that it copies. It waits for copies
//! in the order in which `device::Cuda` does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cotangent_tape::device::{Copy, DeviceError, Driver, Memory, Stream, Target};

/// Nanoseconds since the simulation began.
pub(crate) type Time = u64;

/// Each byte stands for so many, so that states of megabytes can be moved for real.
pub(crate) const SCALE: u64 = 64;

/// Bytes a nanosecond, which is GB/s: within the device, over the bus in either direction, and of the host.
pub(crate) const ON_DEVICE: u64 = 1500;
pub(crate) const BUS: u64 = 25;
pub(crate) const HOST: u64 = 10;

/// What took time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Forward,
    /// A step that was run before.
    Again,
    Reverse,
    OnDevice,
    ToHost,
    ToDevice,
    HostCopies,
    HostWaits,
}

/// From when to when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) what: What,
    pub(crate) begin: Time,
    pub(crate) end: Time,
    /// Whether it is a copy to an array of the caller's.
    pub(crate) is_to_array: bool,
}

/// What a kernel does to memory; whether it found there what it should.
type Effect = Box<dyn FnOnce() -> bool + Send>;

/// The device, shared by the driver and the program.
#[derive(Clone)]
pub(crate) struct Device(Arc<Mutex<Simulation>>);

#[derive(Default)]
struct Simulation {
    /// Of the host. The device has done all that it does until then.
    now: Time,
    streams: BTreeMap<usize, Queue>,
    /// Those that have nothing of them before them on their stream, and wait for the engine.
    ready: [VecDeque<(usize, Timed)>; ENGINES],
    running: [Option<Running>; ENGINES],
    /// Those that have come.
    events: BTreeSet<u64>,
    last_event: u64,
    /// Copies in the order in which they were started, and the events of their ends, a queue a stream of the driver's.
    under_way: [VecDeque<(Copy, u64)>; WAYS],
    intervals: Vec<Interval>,
    /// Kernels that found something else than what should be there.
    wrong: usize,
}

/// Kernels, copies within the device, and the bus in two directions.
const ENGINES: usize = 4;

/// Streams of the driver's. When the host waits for any copy, it is for the first of these streams that has one.
const FETCH: usize = 0;
const SPILL: usize = 1;
const ARRAYS: usize = 2;
const WAYS: usize = 3;

/// The numbers of those streams begin here; the caller's are below.
const FIRST_OWN: usize = 1000;

#[derive(Default)]
struct Queue {
    work: VecDeque<Work>,
    /// Whether its first work is with an engine.
    is_busy: bool,
}

enum Work {
    Record(u64),
    Wait(u64),
    Timed(Timed),
}

/// Work that takes an engine's time.
struct Timed {
    what: What,
    takes: Time,
    effect: Option<Effect>,
    moves: Option<Move>,
}

/// What a copy does; the memory lives until it has ended.
#[derive(Clone, Copy)]
struct Move {
    from: *const u8,
    to: *mut u8,
    bytes: usize,
    is_to_array: bool,
}

// SAFETY: the memory is used by whoever holds the simulation's lock.
unsafe impl Send for Move {}

struct Running {
    stream: usize,
    begin: Time,
    what: What,
    end: Time,
    moves: Option<Move>,
}

impl Device {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    fn lock(&self) -> MutexGuard<'_, Simulation> {
        // A test that failed while it had the lock says why itself.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a kernel to a stream.
    pub(crate) fn launch(
        &self,
        stream: Stream,
        what: What,
        takes: Time,
        effect: impl FnOnce() -> bool + Send + 'static,
    ) {
        let timed = Timed { what, takes, effect: Some(Box::new(effect)), moves: None };
        self.lock().submit(stream.0.addr(), Work::Timed(timed));
    }

    /// The host copies so many bytes, of those that each stand for many.
    pub(crate) fn host_copies(&self, bytes: u64) {
        let mut simulation = self.lock();
        let (begin, end) = (simulation.now, simulation.now + bytes * SCALE / HOST);
        simulation.run_to(end);
        simulation.intervals.push(Interval { what: What::HostCopies, begin, end, is_to_array: false });
    }

    /// Does all work. What took when, by its end, and how many kernels found wrong values.
    pub(crate) fn finish(&self) -> (Vec<Interval>, usize) {
        let mut simulation = self.lock();
        while simulation.step() {}
        assert!(simulation.streams.values().all(|queue| queue.work.is_empty()), "streams wait for each other");
        (std::mem::take(&mut simulation.intervals), simulation.wrong)
    }
}

impl Simulation {
    fn submit(&mut self, stream: usize, work: Work) {
        self.streams.entry(stream).or_default().work.push_back(work);
    }

    fn event(&mut self) -> u64 {
        self.last_event += 1;
        self.last_event
    }

    /// `later` waits for what `earlier` was given so far.
    fn order(&mut self, earlier: usize, later: usize) {
        let event = self.event();
        self.submit(earlier, Work::Record(event));
        self.submit(later, Work::Wait(event));
    }

    /// Goes on until the host's clock shows this.
    fn run_to(&mut self, time: Time) {
        self.begin();
        while self.next_end().is_some_and(|end| end <= time) {
            self.step();
        }
        self.now = time;
    }

    /// Goes on until something has ended; false if nothing is running.
    fn step(&mut self) -> bool {
        self.begin();
        let Some(end) = self.next_end() else { return false };
        self.now = end;
        for engine in 0..ENGINES {
            if let Some(running) = self.running[engine].take_if(|running| running.end == end) {
                self.end(running);
            }
        }
        self.begin();
        true
    }

    fn next_end(&self) -> Option<Time> {
        self.running.iter().flatten().map(|running| running.end).min()
    }

    fn end(&mut self, running: Running) {
        let Running { stream, begin, what, end, moves } = running;
        if let Some(Move { from, to, bytes, .. }) = moves {
            // SAFETY: the driver keeps chunks and the program arrays until the copy has ended; they never overlap.
            unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
        }
        self.intervals.push(Interval { what, begin, end, is_to_array: moves.is_some_and(|moves| moves.is_to_array) });
        if let Some(queue) = self.streams.get_mut(&stream) {
            queue.is_busy = false;
        }
    }

    /// Begins all that can.
    fn begin(&mut self) {
        while self.streams.iter_mut().any(|(_, queue)| queue.go_on(&mut self.events)) {}
        for (stream, queue) in &mut self.streams {
            if let Some(timed) = queue.take() {
                self.ready[engine(timed.what)].push_back((*stream, timed));
            }
        }
        for engine in 0..ENGINES {
            if self.running[engine].is_some() {
                continue;
            }
            let Some((stream, timed)) = self.ready[engine].pop_front() else { continue };
            let Timed { what, takes, effect, moves } = timed;
            self.wrong += usize::from(effect.is_some_and(|effect| !effect()));
            self.running[engine] = Some(Running { stream, begin: self.now, what, end: self.now + takes, moves });
        }
    }

    fn has_ended(&self, way: usize) -> bool {
        self.under_way[way].front().is_some_and(|(_, event)| self.events.contains(event))
    }
}

impl Queue {
    /// Does what takes no time; whether there was anything.
    fn go_on(&mut self, events: &mut BTreeSet<u64>) -> bool {
        let can = !self.is_busy
            && match self.work.front() {
                Some(Work::Record(event)) => {
                    events.insert(*event);
                    true
                }
                Some(Work::Wait(event)) => events.contains(event),
                Some(Work::Timed(_)) | None => false,
            };
        if can {
            self.work.pop_front();
        }
        can
    }

    /// Its first work, if that takes an engine.
    fn take(&mut self) -> Option<Timed> {
        if self.is_busy || !matches!(self.work.front(), Some(Work::Timed(_))) {
            return None;
        }
        match self.work.pop_front() {
            Some(Work::Timed(timed)) => {
                self.is_busy = true;
                Some(timed)
            }
            Some(Work::Record(_) | Work::Wait(_)) | None => None,
        }
    }
}

fn engine(what: What) -> usize {
    match what {
        What::Forward | What::Again | What::Reverse => 0,
        What::OnDevice => 1,
        What::ToHost => 2,
        What::ToDevice => 3,
        What::HostCopies | What::HostWaits => unreachable!("the host's"),
    }
}

impl Driver for Device {
    fn allocate(&mut self, _: Memory, bytes: usize) -> Result<NonNull<u8>, DeviceError> {
        let words = vec![0u64; bytes.div_ceil(8)];
        // It is kept until the process ends: it is small, and `free` need not know its size.
        NonNull::new(Vec::leak(words).as_mut_ptr().cast()).ok_or(DeviceError::OUT_OF_MEMORY)
    }

    unsafe fn free(&mut self, _: Memory, _: NonNull<u8>) {}

    fn follow(&mut self, stream: Stream) -> Result<(), DeviceError> {
        self.lock().order(stream.0.addr(), FIRST_OWN + ARRAYS);
        Ok(())
    }

    fn lead(&mut self, stream: Stream) -> Result<(), DeviceError> {
        self.lock().order(FIRST_OWN + ARRAYS, stream.0.addr());
        Ok(())
    }

    unsafe fn start(&mut self, copy: Copy) {
        let ((from, source), (to, target)) = (copy.source(), copy.target());
        let (what, speed) = match (source, target) {
            (Memory::Device, Memory::Device) => (What::OnDevice, ON_DEVICE),
            (Memory::Device, Memory::Pinned) => (What::ToHost, BUS),
            (Memory::Pinned, Memory::Device) => (What::ToDevice, BUS),
            (Memory::Pinned, Memory::Pinned) => unreachable!("the host copies there itself"),
        };
        let way = match (copy.is_of_array(), target) {
            (true, _) => ARRAYS,
            (false, Memory::Device) => FETCH,
            (false, Memory::Pinned) => SPILL,
        };
        let is_to_array = matches!(copy.to, Target::Array(_));
        let moves = Some(Move { from, to, bytes: copy.bytes, is_to_array });
        let takes = copy.bytes as u64 * SCALE / speed;
        let mut simulation = self.lock();
        let event = simulation.event();
        simulation.submit(FIRST_OWN + way, Work::Timed(Timed { what, takes, effect: None, moves }));
        simulation.submit(FIRST_OWN + way, Work::Record(event));
        simulation.under_way[way].push_back((copy, event));
    }

    fn finish(&mut self, wait: bool) -> Option<(Copy, Result<(), DeviceError>)> {
        let mut simulation = self.lock();
        simulation.begin();
        let mut way = (0..WAYS).find(|way| simulation.has_ended(*way));
        if wait && way.is_none() {
            way = (0..WAYS).find(|way| !simulation.under_way[*way].is_empty());
            let begin = simulation.now;
            while way.is_some_and(|way| !simulation.has_ended(way)) {
                assert!(simulation.step(), "the host waits for what does not come");
            }
            let end = simulation.now;
            simulation.intervals.push(Interval { what: What::HostWaits, begin, end, is_to_array: false });
        }
        simulation.under_way[way?].pop_front().map(|(copy, _)| (copy, Ok(())))
    }
}
