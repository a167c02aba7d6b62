//! A device in memory, for tests. Its streams do their work late, and in every order that the events allow; copies end out
//! of order; any one call can be made to fail.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Copy, DeviceError, Driver, Memory, Stream};

/// Where the device's memory begins; not where the host has it.
const BASE: usize = 1 << 40;

/// Streams and events of the device's own have numbers from here on.
const FIRST_OWN: usize = 1000;

/// What calls fail with.
pub(super) const FAILURE: i32 = 719;

/// The device, shared by its driver and the test, which is its other user.
#[derive(Clone)]
pub(super) struct Simulated(Arc<Mutex<Device>>);

struct Device {
    memory: Vec<u8>,
    /// Work that was submitted and not done, a queue a stream. Each copy has a stream of its own.
    queues: BTreeMap<usize, VecDeque<Work>>,
    /// Events that have come; a copy that has ended is one too.
    events: HashSet<usize>,
    /// Events that copies of arrays to come wait for.
    followed: Vec<usize>,
    /// The copies of arrays.
    copies: Vec<usize>,
    ended: Vec<(Copy, Result<(), DeviceError>)>,
    numbers: usize,
    random: u64,
    calls: usize,
    failing: Option<usize>,
    /// Numbers of patterns that were not there.
    wrong: Vec<u64>,
    pinned: Option<(NonNull<u8>, usize)>,
    /// Where the layer of chunks begins in the device's memory, and how many bytes it has.
    layer: Option<(usize, usize)>,
    /// Bytes that may be allocated there.
    room: usize,
    /// Whether the bus does nothing.
    is_bus_held: bool,
    /// Most bytes there ever were, pinned and on the device.
    most: (usize, usize),
}

// SAFETY: the pinned memory belongs to the device.
unsafe impl Send for Device {}

enum Work {
    Copy(Copy, usize, Result<(), DeviceError>),
    Record(usize),
    Wait(Vec<usize>),
    /// Writes the test's pattern.
    Fill(usize, usize, u64),
    /// The test's pattern must be there.
    Expect(usize, usize, u64),
}

/// A byte of the pattern with this number.
fn pattern(number: u64, index: usize) -> u8 {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index as u64 * 0x1_0001) >> 23) as u8
}

impl Simulated {
    pub(super) fn new(bytes: usize, seed: u64, failing: Option<usize>) -> Self {
        Self(Arc::new(Mutex::new(Device {
            memory: vec![0; bytes],
            queues: BTreeMap::new(),
            events: HashSet::new(),
            followed: Vec::new(),
            copies: Vec::new(),
            ended: Vec::new(),
            numbers: FIRST_OWN,
            random: seed | 1,
            calls: 0,
            failing,
            wrong: Vec::new(),
            pinned: None,
            layer: None,
            room: usize::MAX,
            is_bus_held: false,
            most: (0, 0),
        })))
    }

    fn device(&self) -> MutexGuard<'_, Device> {
        self.0.lock().unwrap()
    }

    /// The address of a byte of the device's memory.
    pub(super) fn address(at: usize) -> *mut u8 {
        ptr::without_provenance_mut(BASE + at)
    }

    pub(super) fn fill(&self, stream: Stream, at: usize, bytes: usize, number: u64) {
        self.device().submit(stream.0.addr(), Work::Fill(at, bytes, number));
    }

    pub(super) fn expect(&self, stream: Stream, at: usize, bytes: usize, number: u64) {
        self.device().submit(stream.0.addr(), Work::Expect(at, bytes, number));
    }

    /// Does all work, and tells which patterns were not there.
    pub(super) fn synchronize(&self) -> Vec<u64> {
        let mut device = self.device();
        while device.step() {}
        assert!(device.queues.is_empty(), "streams wait for each other");
        device.wrong.clone()
    }

    /// How often the driver was called.
    pub(super) fn calls(&self) -> usize {
        self.device().calls
    }

    /// Leaves so many bytes to be allocated on the device.
    pub(super) fn leave(&self, room: usize) {
        self.device().room = room;
    }

    /// From now on the bus does nothing, or goes on.
    pub(super) fn hold_bus(&self, is_held: bool) {
        self.device().is_bus_held = is_held;
    }

    /// Does all work that can be done; how much is left on the streams of the caller, whose numbers are small.
    pub(super) fn run(&self) -> usize {
        let mut device = self.device();
        while device.step() {}
        device.queues.range(..FIRST_OWN).map(|(_, queue)| queue.len()).sum()
    }

    /// The most pinned bytes there ever were, and those of device memory.
    pub(super) fn most(&self) -> (usize, usize) {
        self.device().most
    }

    pub(super) fn is_all_freed(&self) -> bool {
        let device = self.device();
        device.pinned.is_none() && device.layer.is_none()
    }
}

impl Device {
    fn submit(&mut self, stream: usize, work: Work) {
        self.queues.entry(stream).or_default().push_back(work);
    }

    fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    fn call(&mut self) -> Result<(), DeviceError> {
        self.calls += 1;
        if self.failing == Some(self.calls) { Err(DeviceError(FAILURE)) } else { Ok(()) }
    }

    fn random(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % below
    }

    /// Does a piece of work that can be done; false if there is none.
    fn step(&mut self) -> bool {
        let is_ready = |work: &Work| match work {
            Work::Wait(events) => events.iter().all(|event| self.events.contains(event)),
            Work::Copy(copy, ..) => !self.is_bus_held || !crosses_bus(copy),
            Work::Record(_) | Work::Fill(..) | Work::Expect(..) => true,
        };
        let ready: Vec<usize> =
            self.queues.iter().filter(|(_, queue)| queue.front().is_some_and(is_ready)).map(|(key, _)| *key).collect();
        if ready.is_empty() {
            return false;
        }
        let stream = ready[self.random(ready.len())];
        let queue = self.queues.get_mut(&stream).unwrap();
        let work = queue.pop_front().unwrap();
        if queue.is_empty() {
            self.queues.remove(&stream);
        }
        self.run(work);
        true
    }

    fn run(&mut self, work: Work) {
        match work {
            Work::Wait(_) => {}
            Work::Record(event) => {
                self.events.insert(event);
            }
            Work::Fill(at, bytes, number) => {
                self.memory[at..at + bytes].iter_mut().enumerate().for_each(|(i, byte)| *byte = pattern(number, i));
            }
            Work::Expect(at, bytes, number) => {
                let is_right = |(i, byte): (usize, &u8)| *byte == pattern(number, i);
                if !self.memory[at..at + bytes].iter().enumerate().all(is_right) {
                    self.wrong.push(number);
                }
            }
            Work::Copy(copy, event, result) => {
                let mut bytes = vec![0xee; copy.bytes];
                if result.is_ok() {
                    bytes.copy_from_slice(self.bytes(copy.source(), copy.bytes));
                }
                let (target, memory) = copy.target();
                self.bytes((target.cast_const(), memory), copy.bytes).copy_from_slice(&bytes);
                self.events.insert(event);
                self.ended.push((copy, result));
            }
        }
    }

    /// What lies at either end of a copy.
    fn bytes(&mut self, (start, memory): (*const u8, Memory), bytes: usize) -> &mut [u8] {
        match memory {
            Memory::Device => &mut self.memory[start.addr() - BASE..][..bytes],
            // SAFETY: the copy's chunk is here, is so long, and nobody else touches it meanwhile, or all only read it.
            Memory::Pinned => unsafe { std::slice::from_raw_parts_mut(start.cast_mut(), bytes) },
        }
    }
}

fn crosses_bus(copy: &Copy) -> bool {
    copy.source().1 != copy.target().1
}

impl Driver for Simulated {
    fn allocate(&mut self, memory: Memory, bytes: usize) -> Result<NonNull<u8>, DeviceError> {
        let mut device = self.device();
        device.call()?;
        match memory {
            Memory::Pinned => {
                let start = NonNull::new(Box::into_raw(vec![0xaa; bytes].into_boxed_slice()).cast::<u8>()).unwrap();
                assert!(device.pinned.replace((start, bytes)).is_none(), "allocated twice");
                device.most.0 += bytes;
                Ok(start)
            }
            Memory::Device if bytes > device.room => Err(DeviceError::OUT_OF_MEMORY),
            Memory::Device => {
                let at = device.memory.len();
                assert!(device.layer.replace((at, bytes)).is_none(), "allocated twice");
                device.memory.resize(at + bytes, 0xaa);
                device.most.1 += bytes;
                Ok(NonNull::new(Simulated::address(at)).unwrap())
            }
        }
    }

    unsafe fn free(&mut self, memory: Memory, start: NonNull<u8>) {
        let mut device = self.device();
        let copying = device.queues.values().flatten().any(|work| matches!(work, Work::Copy(..)));
        assert!(!copying && device.ended.is_empty(), "freed while copies are under way");
        match memory {
            Memory::Pinned => {
                let (pinned, bytes) = device.pinned.take().unwrap();
                assert_eq!(pinned, start);
                // SAFETY: `allocate` made exactly this box.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(start.as_ptr(), bytes)) });
            }
            Memory::Device => {
                let (at, _) = device.layer.take().unwrap();
                assert_eq!(Simulated::address(at), start.as_ptr());
            }
        }
    }

    fn follow(&mut self, stream: Stream) -> Result<(), DeviceError> {
        let mut device = self.device();
        device.call()?;
        let event = device.number();
        device.submit(stream.0.addr(), Work::Record(event));
        device.followed.push(event);
        Ok(())
    }

    fn lead(&mut self, stream: Stream) -> Result<(), DeviceError> {
        let mut device = self.device();
        device.call()?;
        let copies = device.copies.clone();
        device.submit(stream.0.addr(), Work::Wait(copies));
        Ok(())
    }

    unsafe fn start(&mut self, copy: Copy) {
        let mut device = self.device();
        let result = device.call();
        let own = device.number();
        if copy.is_of_array() {
            let followed = device.followed.clone();
            device.submit(own, Work::Wait(followed));
            device.copies.push(own);
        }
        device.submit(own, Work::Copy(copy, own, result));
    }

    fn finish(&mut self, wait: bool) -> Option<(Copy, Result<(), DeviceError>)> {
        let mut device = self.device();
        for _ in 0..device.random(4) {
            device.step();
        }
        while wait && device.ended.is_empty() && device.step() {}
        let count = device.ended.len();
        if count == 0 {
            return None;
        }
        let any = device.random(count);
        Some(device.ended.swap_remove(any))
    }
}
