//! A block: its warps take turns, and meet at barriers.

use std::cell::RefCell;

use cotangent_cpu::Random;
use cotangent_cpu::check::{Checker, Code, Event, SharedMemory, Site};

use super::collective::{Operands, evaluate};
use super::lanes::{LANES, Lanes, Mask, lanes_of};
use super::memory::{SHARED_BYTES, Windows};
use super::warp::Warp;
use super::{Reason, Stop};
use crate::layout::SharedLayout;
use crate::program::{BarrierResult, Collective, Instruction, Op, Place, Position, Program};

/// What an uninitialised byte looks like in a checked run: no number, or minus one.
const POISON: u8 = 0xff;

/// Instructions of a warp before the next warp has its turn, so that threads may wait for others by looking at memory.
const TURN: u64 = 200_000;

/// Barriers that a block has.
const BARRIERS: usize = 16;

/// A kernel as it is launched: all but the block.
pub(crate) struct Image<'a> {
    pub(crate) program: &'a Program,
    /// Into the program's functions.
    pub(crate) kernel: usize,
    pub(crate) shared: &'a SharedLayout,
    pub(crate) parameters: &'a [u8],
}

/// The configuration, and which block it is.
#[derive(Clone, Copy)]
pub(crate) struct Launch {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) index: [u32; 3],
    pub(crate) dynamic_shared: u32,
    /// Permutes the order of warps; 0 is the natural one.
    pub(crate) seed: u64,
    /// Instructions of a warp after which the block is stopped.
    pub(crate) limit: u64,
}

thread_local! {
    /// Memory and warps of this OS thread, used for one block after another.
    static MACHINE: RefCell<Option<Machine>> = const { RefCell::new(None) };
}

struct Machine {
    windows: Windows,
    warps: Vec<Warp>,
}

/// A block that runs.
pub(super) struct Block<'a> {
    pub(super) image: &'a Image<'a>,
    pub(super) launch: Launch,
    pub(super) checker: Option<&'a mut Checker>,
    pub(super) windows: &'a mut Windows,
    pub(super) warps: &'a mut [Warp],
    /// The sites of source files in the checker, by their number in the program.
    files: Vec<Option<cotangent_cpu::check::FileId>>,
    barriers: [Barrier; BARRIERS],
    /// Instructions so far, which is the time.
    pub(super) clock: u64,
}

#[derive(Clone, Copy, Default)]
struct Barrier {
    arrived: u32,
    count: Option<u32>,
    nonzero: u32,
    zero: u32,
}

/// What lanes bring to a barrier.
pub(super) struct Arrival {
    pub(super) id: Lanes,
    /// How many threads meet; none for all.
    pub(super) count: Option<Lanes>,
    pub(super) predicate: Option<Mask>,
    pub(super) waits: bool,
}

/// Runs one block to its end.
pub(crate) fn run_block(image: &Image<'_>, launch: Launch, checker: Option<&mut Checker>) -> Result<(), Stop> {
    MACHINE.with_borrow_mut(|machine| {
        let machine = machine.get_or_insert_with(|| Machine { windows: Windows::new(), warps: Vec::new() });
        let threads = launch.block.iter().product::<u32>() as usize;
        machine.warps.resize_with(threads.div_ceil(LANES), Warp::default);
        let shared = image.shared.end as usize + launch.dynamic_shared as usize;
        if shared > SHARED_BYTES {
            let reason = Reason::TooMuchShared { bytes: shared };
            return Err(Stop { reason, place: Place::default(), thread: 0 });
        }
        let function = &image.program.functions[image.kernel];
        for (index, warp) in machine.warps.iter_mut().enumerate() {
            let chance = random(launch, index as u64 + 1);
            warp.begin((threads - index * LANES).min(LANES), function.code.start, function.registers, chance);
        }
        machine.windows.set_parameters(image.parameters);
        let mut block = Block {
            image,
            launch,
            checker,
            windows: &mut machine.windows,
            warps: &mut machine.warps,
            files: vec![None; image.program.files.len()],
            barriers: [Barrier::default(); BARRIERS],
            clock: 0,
        };
        block.begin_checks();
        let outcome = block.run();
        if let Some(checker) = &mut block.checker {
            checker.end_block();
        }
        outcome
    })
}

impl Block<'_> {
    fn begin_checks(&mut self) {
        let Some(checker) = &mut self.checker else { return };
        let shared = self.windows.shared();
        let dynamic = shared + self.image.shared.end as usize;
        let end = dynamic + self.launch.dynamic_shared as usize;
        self.windows.fill(shared, end - shared, POISON);
        let memory = SharedMemory {
            static_range: shared..dynamic,
            dynamic_range: dynamic..end,
            dynamic_capacity: SHARED_BYTES - self.image.shared.end as usize,
        };
        checker.ignore(self.windows.parameters()..self.windows.parameters() + super::memory::PARAMETER_BYTES);
        checker.begin_block(self.launch.index, memory);
        let frame = self.image.program.functions[self.image.kernel].frame;
        for thread in 0..self.launch.block.iter().product() {
            self.poison(thread, 0, frame);
        }
    }

    /// A thread's own memory has no defined content at the beginning of a function. What was never written is not reported:
    /// the compiler may read it early and not use it. It is made of bytes that give a strange result.
    pub(super) fn poison(&mut self, thread: u32, frame: u32, bytes: u32) {
        if self.checker.is_some() {
            self.windows.fill(self.windows.local(thread) + frame as usize, bytes as usize, POISON);
        }
    }

    /// Where an instruction comes from, for the checker.
    pub(super) fn site(&mut self, place: Place) -> Site {
        let Some(checker) = &mut self.checker else { return Site::Unknown };
        let Some(known) = self.files.get_mut(place.file as usize).filter(|_| place.line > 0) else {
            return Site::Unknown;
        };
        let file = *known.get_or_insert_with(|| checker.file(&self.image.program.files[place.file as usize]));
        Site::Line { file, line: place.line }
    }

    pub(super) fn thread_of(warp: usize, lane: usize) -> u32 {
        (warp * LANES + lane) as u32
    }

    fn live_threads(&self) -> u32 {
        self.warps.iter().map(|warp| warp.live.count_ones()).sum()
    }

    fn run(&mut self) -> Result<(), Stop> {
        let order = order_of_warps(self.warps.len(), self.launch);
        loop {
            if self.clock > self.launch.limit {
                return Err(Stop { reason: Reason::OutOfTime, place: Place::default(), thread: 0 });
            }
            let mut has_run = false;
            for &warp in &order {
                if self.warps[warp].runnable() != 0 {
                    has_run = true;
                    self.run_warp(warp, TURN)?;
                }
            }
            let is_released = self.release_barriers()?;
            if !has_run && !is_released && !self.complete_without_the_ended()? {
                break;
            }
        }
        if self.live_threads() == 0 { Ok(()) } else { Err(self.deadlock()) }
    }

    pub(super) fn stop(&self, warp: usize, mask: Mask, place: Place, reason: Reason) -> Stop {
        Stop { reason, place, thread: Block::thread_of(warp, mask.trailing_zeros() as usize % LANES) }
    }

    fn instruction_of(&self, warp: usize, lane: usize) -> &Instruction {
        &self.image.program.code[self.warps[warp].position[lane] as usize]
    }

    /// Lanes arrive at a barrier. All but those of `bar.arrive` wait there.
    pub(super) fn arrive(&mut self, warp: usize, mask: Mask, position: Position, arrival: &Arrival) {
        let Arrival { id, count, predicate, waits } = arrival;
        let waits = *waits;
        self.warps[warp].set_position(mask, if waits { position } else { position + 1 });
        if waits {
            self.warps[warp].at_barrier |= mask;
        }
        for lane in lanes_of(mask) {
            let barrier = &mut self.barriers[id[lane] as usize % BARRIERS];
            barrier.arrived += 1;
            barrier.count = count.as_ref().map(|count| count[lane] as u32).or(barrier.count);
            let holds = predicate.is_some_and(|predicate| predicate >> lane & 1 != 0);
            barrier.nonzero += u32::from(holds);
            barrier.zero += u32::from(!holds);
        }
    }

    /// Lets threads go on whose barrier all have reached. Called when every warp has had its turn.
    fn release_barriers(&mut self) -> Result<bool, Stop> {
        let live = self.live_threads();
        let mut is_released = false;
        for id in 0..BARRIERS {
            let barrier = self.barriers[id];
            if barrier.arrived == 0 || barrier.arrived < barrier.count.unwrap_or(live) {
                continue;
            }
            self.barriers[id] = Barrier::default();
            is_released = true;
            self.check_barrier(id, barrier)?;
            for warp in 0..self.warps.len() {
                for lane in lanes_of(self.warps[warp].at_barrier) {
                    self.release(warp, lane, id, barrier);
                }
            }
        }
        Ok(is_released)
    }

    /// The barrier that a waiting lane is at.
    fn barrier_of(&self, warp: usize, lane: usize) -> usize {
        let Op::Barrier { id, .. } = &self.instruction_of(warp, lane).op else { return 0 };
        self.read(warp, self.warps[warp].base[lane], *id)[lane] as usize % BARRIERS
    }

    fn release(&mut self, warp: usize, lane: usize, id: usize, barrier: Barrier) {
        if self.barrier_of(warp, lane) != id {
            return;
        }
        let Op::Barrier { result, to, .. } = self.instruction_of(warp, lane).op else { return };
        let value = match result {
            BarrierResult::None | BarrierResult::Count => u64::from(barrier.nonzero),
            BarrierResult::All => u64::from(barrier.zero == 0),
            BarrierResult::Any => u64::from(barrier.nonzero != 0),
        };
        let state = &mut self.warps[warp];
        if let Some(to) = to {
            state.registers[(state.base[lane] + to) as usize][lane] = value;
        }
        state.position[lane] += 1;
        state.at_barrier &= !(1 << lane);
    }

    /// In a checked run all threads must wait at one line, and they order what they did before it.
    fn check_barrier(&mut self, id: usize, barrier: Barrier) -> Result<(), Stop> {
        if self.checker.is_none() {
            return Ok(());
        }
        let mut first: Option<(Place, u32)> = None;
        for warp in 0..self.warps.len() {
            for lane in lanes_of(self.warps[warp].at_barrier) {
                if self.barrier_of(warp, lane) != id {
                    continue;
                }
                let (place, thread) = (self.instruction_of(warp, lane).place, Block::thread_of(warp, lane));
                match first {
                    None => first = Some((place, thread)),
                    Some((other, other_thread)) if other != place => {
                        return Err(Stop { reason: Reason::DivergentBarriers { other, other_thread }, place, thread });
                    }
                    Some(_) => {}
                }
            }
        }
        if let Some(checker) = &mut self.checker {
            checker.barrier();
        }
        if let Some((place, thread)) = first.filter(|_| barrier.count.is_none()) {
            self.note_returned(place, thread);
        }
        Ok(())
    }

    /// A barrier of the whole block was completed without threads that had returned. That works, and is noted.
    fn note_returned(&mut self, place: Place, thread: u32) {
        let returned = self.launch.block.iter().product::<u32>() - self.live_threads();
        if returned == 0 {
            return;
        }
        let site = self.site(place);
        let Some(checker) = &mut self.checker else { return };
        let remark = format!("{returned} threads of the block had returned");
        let event = Event { site, what: "waits at a barrier".to_owned(), actor: checker.actor(thread), remark };
        checker.report(Code::ReturnedThreads, None, event, None);
    }

    /// Lanes arrive at something that they compute together, or wait for the others.
    pub(super) fn meet(&mut self, warp: usize, mask: Mask, base: u32, position: Position) -> Result<(), Stop> {
        let instruction = &self.image.program.code[position as usize];
        let Op::Collective { mask: wanted, .. } = &instruction.op else { return Ok(()) };
        let wanted = self.read(warp, base, *wanted);
        for lane in lanes_of(mask) {
            if wanted[lane] as Mask >> lane & 1 == 0 {
                let reason = Reason::MaskWithoutSelf { mask: wanted[lane] as Mask };
                return Err(self.stop(warp, 1 << lane, instruction.place, reason));
            }
        }
        self.warps[warp].set_position(mask, position);
        self.warps[warp].at_collective |= mask;
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            let met = self.try_complete(warp, lane, wanted[lane] as Mask)?;
            rest &= !(met | 1 << lane);
        }
        Ok(())
    }

    /// Computes what the lanes of a mask wait for, if all of them do; returns those lanes.
    fn try_complete(&mut self, warp: usize, lane: usize, wanted: Mask) -> Result<Mask, Stop> {
        let state = &self.warps[warp];
        let taking_part = wanted & state.live;
        let Op::Collective { function, kind, .. } = self.instruction_of(warp, lane).op else { return Ok(0) };
        if state.at_collective & taking_part != taking_part {
            return Ok(0);
        }
        let mut operands = Operands { a: [0; LANES], b: [0; LANES], c: [0; LANES] };
        for other in lanes_of(taking_part) {
            let instruction = self.instruction_of(warp, other);
            let Op::Collective { function: its, a, is_negated, b, c, mask, .. } = &instruction.op else { return Ok(0) };
            let base = state.base[other];
            if *its != function || self.read(warp, base, *mask)[other] as Mask != wanted {
                return Ok(0);
            }
            operands.a[other] = self.read(warp, base, *a)[other] ^ u64::from(*is_negated);
            operands.b[other] = self.read(warp, base, *b)[other];
            operands.c[other] = self.read(warp, base, *c)[other];
        }
        let Some((values, predicates)) = evaluate(function, kind, taking_part, &operands) else {
            let reason = Reason::Unknown(format!("{function:?} of {kind:?}"));
            return Err(self.stop(warp, taking_part, self.instruction_of(warp, lane).place, reason));
        };
        self.deliver(warp, taking_part, &values, predicates);
        if let Some(checker) = &mut self.checker {
            checker.warp_sync(warp as u32, taking_part);
        }
        Ok(taking_part)
    }

    /// Lanes that wait for others go on without those that have ended since. Whether any did.
    fn complete_without_the_ended(&mut self) -> Result<bool, Stop> {
        let mut any = false;
        for warp in 0..self.warps.len() {
            let mut rest = self.warps[warp].at_collective;
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                let Op::Collective { mask, .. } = &self.instruction_of(warp, lane).op else { break };
                let wanted = self.read(warp, self.warps[warp].base[lane], *mask)[lane] as Mask;
                let met = self.try_complete(warp, lane, wanted)?;
                any |= met != 0;
                rest &= !(met | 1 << lane);
            }
        }
        Ok(any)
    }

    /// Each lane gets its result where its own instruction wants it, and goes on.
    fn deliver(&mut self, warp: usize, mask: Mask, values: &Lanes, predicates: Mask) {
        for lane in lanes_of(mask) {
            let Op::Collective { to, predicate_to, .. } = self.instruction_of(warp, lane).op else { continue };
            let state = &mut self.warps[warp];
            let base = state.base[lane];
            if let Some(to) = to {
                state.registers[(base + to) as usize][lane] = values[lane];
            }
            if let Some(to) = predicate_to {
                state.registers[(base + to) as usize][lane] = u64::from(predicates >> lane & 1);
            }
            state.position[lane] += 1;
        }
        self.warps[warp].at_collective &= !mask;
    }

    /// Says where everybody waits, each place once.
    fn deadlock(&self) -> Stop {
        let mut waiting: Vec<(&'static str, Place, u32, u32)> = Vec::new();
        for warp in 0..self.warps.len() {
            for lane in lanes_of(self.warps[warp].live) {
                let instruction = self.instruction_of(warp, lane);
                let (what, place) = (name_of(&instruction.op), instruction.place);
                match waiting.iter_mut().find(|entry| (entry.0, entry.1) == (what, place)) {
                    Some(entry) => entry.3 += 1,
                    None => waiting.push((what, place, Block::thread_of(warp, lane), 1)),
                }
            }
        }
        let (place, thread) = waiting.first().map_or((Place::default(), 0), |entry| (entry.1, entry.2));
        Stop { reason: Reason::Deadlock { waiting }, place, thread }
    }
}

/// What threads wait in, as CUDA names it.
fn name_of(op: &Op) -> &'static str {
    match op {
        Op::Collective { function: Collective::Synchronize, .. } => "__syncwarp",
        Op::Collective { function: Collective::ShuffleIndex, .. } => "__shfl_sync",
        Op::Collective { function: Collective::ShuffleUp, .. } => "__shfl_up_sync",
        Op::Collective { function: Collective::ShuffleDown, .. } => "__shfl_down_sync",
        Op::Collective { function: Collective::ShuffleXor, .. } => "__shfl_xor_sync",
        Op::Collective { function: Collective::Ballot, .. } => "__ballot_sync",
        Op::Collective { function: Collective::Any | Collective::Uniform, .. } => "__any_sync",
        Op::Collective { function: Collective::All, .. } => "__all_sync",
        Op::Collective { function: Collective::MatchAny, .. } => "__match_any_sync",
        Op::Collective { function: Collective::MatchAll, .. } => "__match_all_sync",
        Op::Collective { function: Collective::Elect, .. } => "elect.sync",
        Op::Collective { function: Collective::Reduce(_), .. } => "__reduce_sync",
        _ => "__syncthreads",
    }
}

/// The order in which warps have their turns.
fn order_of_warps(count: usize, launch: Launch) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    if let Some(mut random) = random(launch, 0) {
        random.shuffle(&mut order);
    }
    order
}

/// Chance for one warp of a block, or for the block as a whole; none without a seed.
fn random(launch: Launch, of: u64) -> Option<Random> {
    let [x, y, z] = launch.index.map(u64::from);
    (launch.seed != 0).then(|| Random::new(launch.seed, x << 40 ^ y << 20 ^ z ^ of << 58))
}
