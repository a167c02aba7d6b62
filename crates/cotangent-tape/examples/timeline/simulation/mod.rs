//! A time loop and its reverse over a device lane, on a device that is simulated in time. The example draws what comes out,
//! and a test says what must hold of it.

mod device;

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cotangent_tape::device::{DeviceLane, StagingOptions, Stream};
use cotangent_tape::schedule::{Level, Revolve, State, run};
use cotangent_tape::{Error, Mark, Options, Tape};

pub(crate) use device::{BUS, HOST, Interval, ON_DEVICE, SCALE, Time, What};

use device::Device;

/// Bytes of a chunk. They stand for 4 MiB, the default.
pub(crate) const CHUNK: usize = 64 << 10;

/// The program, and the memory that its lane has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) steps: u64,
    /// Arrays of a state, and chunks of an array.
    pub(crate) arrays: usize,
    pub(crate) chunks: usize,
    /// Chunks of the layers.
    pub(crate) on_device: usize,
    pub(crate) pinned: usize,
    /// How long the kernel of a step takes, and that of its reverse.
    pub(crate) forward: Time,
    pub(crate) reverse: Time,
}

/// What came out.
pub(crate) struct Timeline {
    /// By their ends.
    pub(crate) intervals: Vec<Interval>,
    /// When the last kernel ended.
    pub(crate) end: Time,
}

impl Timeline {
    /// How long one kind of thing took in all. Things of a kind never overlap.
    pub(crate) fn total(&self, kinds: &[What]) -> Time {
        let of_kind = self.intervals.iter().filter(|interval| kinds.contains(&interval.what));
        of_kind.map(|interval| interval.end - interval.begin).sum()
    }

    /// In which share of the time a kernel ran.
    pub(crate) fn busy(&self) -> f64 {
        self.total(&[What::Forward, What::Again, What::Reverse]) as f64 / self.end as f64
    }

    /// In which share of the time neither a kernel ran nor a copy within the device, so that the caller's stream waited
    /// for the bus or the host.
    pub(crate) fn held_up(&self) -> f64 {
        // The caller's stream and these copies wait for each other, so none of them overlap.
        1.0 - self.busy() - self.total(&[What::OnDevice]) as f64 / self.end as f64
    }
}

/// All states on the lane: pushed before each step, and popped before its reverse.
pub(crate) fn stack(setup: Setup) -> Result<Timeline, Error> {
    let mut program = Program::new(setup)?;
    for step in 0..setup.steps {
        program.push()?;
        program.forward(step);
    }
    for step in (0..setup.steps).rev() {
        program.pop()?;
        program.backward(step);
    }
    program.end()
}

/// So many states on the lane, and the others computed again.
pub(crate) fn revolve(setup: Setup, slots: NonZeroUsize) -> Result<Timeline, Error> {
    let mut program = Program::new(setup)?;
    run(Revolve::new(setup.steps, slots), &mut program)?;
    program.end()
}

/// A state's array: words, which the host may touch while the device writes them.
type Array = Arc<[AtomicU64]>;

struct Program {
    setup: Setup,
    device: Device,
    lane: DeviceLane,
    state: Vec<Array>,
    /// Below the states on the lane.
    marks: Vec<Mark>,
    /// Steps that were run before.
    most: u64,
    /// Bytes that the clock knows the host has copied.
    copied: Arc<AtomicU64>,
}

/// The program's stream. It has only one.
fn stream() -> Stream {
    Stream(ptr::without_provenance_mut::<c_void>(1))
}

/// A word of an array in the state before a step.
fn word(step: u64, array: usize, index: usize) -> u64 {
    (step << 40 | (array as u64) << 32 | index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Program {
    fn new(setup: Setup) -> Result<Self, Error> {
        let (device, copied) = (Device::new(), Arc::new(AtomicU64::new(0)));
        // What goes down to the lane fills a slab a chunk, so its time is known when it passes; what comes up is charged
        // after the pop.
        let (clock, counted, most) = (device.clone(), Arc::clone(&copied), AtomicU64::new(0));
        let options = Options { slab_bytes: CHUNK, ..Options::default() };
        let tape = Tape::watched(options, move |progress| {
            let before = most.swap(progress.bytes, Ordering::Relaxed);
            if progress.bytes > before {
                counted.fetch_add(progress.bytes - before, Ordering::Relaxed);
                clock.host_copies(progress.bytes - before);
            }
        })?;
        let options = StagingOptions {
            chunk_bytes: CHUNK,
            pinned_bytes: setup.pinned * CHUNK,
            device_bytes: setup.on_device * CHUNK,
        };
        let lane = DeviceLane::new(tape.lane(), Box::new(device.clone()), options)?;
        let words = setup.chunks * CHUNK / 8;
        let array = |array| (0..words).map(|index| AtomicU64::new(word(0, array, index))).collect();
        let state = (0..setup.arrays).map(array).collect();
        Ok(Self { setup, device, lane, state, marks: Vec::new(), most: 0, copied })
    }

    /// The kernel of a step.
    fn forward(&mut self, step: u64) {
        let what = if step < self.most { What::Again } else { What::Forward };
        self.most = self.most.max(step + 1);
        self.launch(what, step, self.setup.forward, step + 1);
    }

    /// The kernel that reverses a step. It leaves no state behind.
    fn backward(&mut self, step: u64) {
        self.launch(What::Reverse, step, self.setup.reverse, u64::MAX >> 40);
    }

    /// A kernel that must find the state before `step`, and leaves that before `next`.
    fn launch(&mut self, what: What, step: u64, takes: Time, next: u64) {
        let state = self.state.clone();
        self.device.launch(stream(), what, takes, move || {
            let mut is_right = true;
            for (array, words) in state.iter().enumerate() {
                for (index, place) in words.iter().enumerate() {
                    is_right &= place.swap(word(next, array, index), Ordering::Relaxed) == word(step, array, index);
                }
            }
            is_right
        });
    }

    fn bytes(&self) -> usize {
        self.setup.chunks * CHUNK
    }

    fn push(&mut self) -> Result<(), Error> {
        let bytes = self.bytes();
        for array in 0..self.setup.arrays {
            // SAFETY: the array lives until the program has ended, and only its stream writes to it.
            unsafe { self.lane.push(start(&self.state[array]), bytes, stream()) }?;
            self.charge();
        }
        Ok(())
    }

    fn pop(&mut self) -> Result<(), Error> {
        let bytes = self.bytes();
        for array in (0..self.setup.arrays).rev() {
            // SAFETY: as for `push`.
            unsafe { self.lane.pop(start(&self.state[array]), bytes, stream()) }?;
            self.charge();
        }
        Ok(())
    }

    /// Tells the clock what the host has copied since it was asked last.
    fn charge(&mut self) {
        let stats = self.lane.stats().memory;
        let all = stats.bytes_written + stats.bytes_read;
        let known = self.copied.fetch_max(all, Ordering::Relaxed);
        if all > known {
            self.device.host_copies(all - known);
        }
    }

    /// What took when. All values must have been right.
    fn end(mut self) -> Result<Timeline, Error> {
        self.lane.finish()?;
        let (intervals, wrong) = self.device.finish();
        assert!(self.lane.is_empty() && wrong == 0, "{wrong} kernels found another state than was pushed");
        let kernels = intervals.iter().filter(|interval| interval.what <= What::Reverse);
        let end = kernels.map(|kernel| kernel.end).max().unwrap_or(0);
        Ok(Timeline { intervals, end })
    }
}

fn start(array: &Array) -> *mut u8 {
    array.as_ptr().cast::<u8>().cast_mut()
}

impl State for Program {
    type Error = Error;

    fn store(&mut self, _: Level, _: usize) -> Result<(), Error> {
        self.marks.push(self.lane.mark());
        self.push()
    }

    fn restore(&mut self, _: Level, _: usize) -> Result<(), Error> {
        let bytes = self.bytes();
        let mut again = self.lane.reread()?;
        for array in (0..self.setup.arrays).rev() {
            // SAFETY: as for `push`.
            unsafe { again.pop(start(&self.state[array]), bytes, stream()) }?;
        }
        drop(again);
        self.charge();
        Ok(())
    }

    fn advance(&mut self, from: u64, to: u64) -> Result<Option<u64>, Error> {
        (from..to).for_each(|step| self.forward(step));
        Ok(None)
    }

    fn reverse(&mut self, step: u64) -> Result<(), Error> {
        self.backward(step);
        Ok(())
    }

    fn free(&mut self, _: Level, _: usize) -> Result<(), Error> {
        let mark = self.marks.pop().ok_or(Error::Mark)?;
        self.lane.rewind(mark)
    }
}
