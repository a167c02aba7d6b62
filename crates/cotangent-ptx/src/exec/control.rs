//! Runs a warp: which lanes go where, calls and returns.

use super::block::{Arrival, Block};
use super::lanes::{Lanes, Mask, lanes_of};
use super::memory::LOCAL_BYTES;
use super::step::At;
use super::warp::{Call, Group};
use super::{Reason, Stop};
use crate::decode::function_at;
use crate::program::{Callee, Instruction, Op, Place, Position, Register, Slot};

/// Calls that a thread may be in, and registers of all of them: a recursion without an end is to be an error.
const MAX_DEPTH: usize = 10_000;
const MAX_REGISTERS: usize = 1 << 20;

/// What happens after an instruction.
enum Next {
    /// The lanes stay together, at this position.
    Go(Position),
    /// Somebody has gone elsewhere, or waits.
    Choose,
}

impl Block<'_> {
    /// Runs a warp until nobody in it can go on, or its turn is over.
    pub(super) fn run_warp(&mut self, warp: usize, turn: u64) -> Result<(), Stop> {
        let end = self.clock + turn;
        while self.clock < end {
            let Some(group) = self.warps[warp].choose() else { return Ok(()) };
            self.run_group(warp, group, end)?;
        }
        Ok(())
    }

    /// Runs lanes together as long as they stay together and meet nobody.
    fn run_group(&mut self, warp: usize, group: Group, end: u64) -> Result<(), Stop> {
        let program = self.image.program;
        let mut position = group.position;
        loop {
            let instruction = &program.code[position as usize];
            self.clock += 1;
            let at = At { warp, mask: group.mask, base: group.base };
            let active = match instruction.guard {
                None => group.mask,
                Some((register, is_negated)) => group.mask & self.holds(at, register, is_negated),
            };
            let next = match &instruction.op {
                Op::Branch(_)
                | Op::BranchIndexed { .. }
                | Op::Call { .. }
                | Op::Return
                | Op::Exit
                | Op::Barrier { .. }
                | Op::Collective { .. }
                | Op::Pause => self.control(At { mask: active, ..at }, group, position, instruction)?,
                _ => {
                    if active != 0 {
                        self.step(At { mask: active, ..at }, instruction)?;
                    }
                    Next::Go(position + 1)
                }
            };
            match next {
                Next::Choose => return Ok(()),
                Next::Go(next) => {
                    let is_over = next == group.joins_at || self.clock >= end;
                    // Others may be at positions that a jump has passed.
                    let has_jumped = next != position + 1 && !group.is_alone;
                    position = next;
                    if is_over || has_jumped {
                        self.warps[warp].set_position(group.mask, position);
                        return Ok(());
                    }
                }
            }
        }
    }

    /// The lanes whose predicate holds.
    fn holds(&self, at: At, register: Register, is_negated: bool) -> Mask {
        let values = &self.warps[at.warp].registers[(at.base + register) as usize];
        let holds = (0..).zip(values).fold(0, |mask, (lane, value)| mask | ((value & 1) as Mask) << lane);
        if is_negated { !holds } else { holds }
    }

    /// An instruction after which lanes may part; `at.mask` are those whose guard holds.
    fn control(&mut self, at: At, group: Group, position: Position, instruction: &Instruction) -> Result<Next, Stop> {
        let At { warp, mask: active, base } = at;
        let idle = group.mask & !active;
        if active == 0 {
            return Ok(Next::Go(position + 1));
        }
        match &instruction.op {
            Op::Branch(target) if idle == 0 => return Ok(Next::Go(*target)),
            Op::Branch(target) => self.warps[warp].set_position(active, *target),
            Op::BranchIndexed { index, targets } => {
                let index = self.read(warp, base, *index);
                for lane in lanes_of(active) {
                    let Some(target) = targets.get(index[lane] as u32 as usize) else {
                        let reason = Reason::Unknown(String::from("brx.idx with an index beyond its targets"));
                        return Err(self.stop(warp, 1 << lane, instruction.place, reason));
                    };
                    self.warps[warp].position[lane] = *target;
                }
            }
            Op::Call { callee, arguments, .. } => {
                self.call(at, position, instruction, *callee, arguments)?;
            }
            Op::Return => lanes_of(active).for_each(|lane| self.return_from(warp, lane)),
            Op::Exit => self.warps[warp].live &= !active,
            Op::Barrier { id, count, predicate, waits, .. } => {
                let id = self.read(warp, base, *id);
                let count: Option<Lanes> = count.map(|count| self.read(warp, base, count));
                let predicate = predicate.map(|(source, is_negated)| {
                    let values = self.read(warp, base, source);
                    let holds = lanes_of(active).filter(|lane| (values[*lane] & 1 != 0) != is_negated);
                    holds.fold(0, |mask, lane| mask | 1 << lane)
                });
                self.arrive(warp, active, position, &Arrival { id, count, predicate, waits: *waits });
            }
            Op::Collective { .. } => self.meet(warp, active, base, position)?,
            _ => self.warps[warp].set_position(active, position + 1),
        }
        self.warps[warp].set_position(idle, position + 1);
        Ok(Next::Choose)
    }

    fn call(
        &mut self,
        at: At,
        position: Position,
        instruction: &Instruction,
        callee: Callee,
        arguments: &[Slot],
    ) -> Result<(), Stop> {
        let index = match callee {
            Callee::Function(index) => index,
            Callee::Builtin(builtin) => {
                self.call_builtin(at, instruction, builtin)?;
                self.warps[at.warp].set_position(at.mask, position + 1);
                return Ok(());
            }
            Callee::Pointer(register) => return self.call_pointer(at, position, instruction, register, arguments),
        };
        self.enter(at, position, instruction.place, index, arguments)
    }

    /// Lanes may call different functions: those with the first one's go, the others come here again.
    fn call_pointer(
        &mut self,
        at: At,
        position: Position,
        instruction: &Instruction,
        register: Register,
        arguments: &[Slot],
    ) -> Result<(), Stop> {
        let addresses = self.warps[at.warp].registers[(at.base + register) as usize];
        let first = at.mask.trailing_zeros() as usize;
        let same = lanes_of(at.mask).filter(|lane| addresses[*lane] == addresses[first]);
        let mask = same.fold(0, |mask, lane| mask | 1 << lane);
        let index =
            function_at(addresses[first]).filter(|index| (*index as usize) < self.image.program.functions.len());
        let Some(index) = index else {
            return Err(self.stop(at.warp, mask, instruction.place, Reason::NoFunction));
        };
        self.warps[at.warp].set_position(at.mask & !mask, position);
        self.enter(At { mask, ..at }, position, instruction.place, index, arguments)
    }

    /// The lanes begin a function, with windows and frames of their own.
    fn enter(&mut self, at: At, position: Position, place: Place, index: u32, arguments: &[Slot]) -> Result<(), Stop> {
        let functions = &self.image.program.functions;
        let callee = &functions[index as usize];
        if !callee.is_defined {
            let reason = Reason::Unknown(format!("a call of `{}`, which has no body", callee.name));
            return Err(self.stop(at.warp, at.mask, place, reason));
        }
        let first = at.mask.trailing_zeros() as usize;
        let caller = self.warps[at.warp].calls[first].last().map_or(self.image.kernel, |call| call.callee as usize);
        let caller = &functions[caller];
        let base = at.base + caller.registers;
        let needed = (base + callee.registers) as usize;
        if needed > MAX_REGISTERS || self.warps[at.warp].calls[first].len() > MAX_DEPTH {
            return Err(self.stop(at.warp, at.mask, place, Reason::StackOverflow));
        }
        let registers = &mut self.warps[at.warp].registers;
        if registers.len() < needed {
            registers.resize(needed, [0; 32]);
        }
        for lane in lanes_of(at.mask) {
            let frame = self.warps[at.warp].frame[lane];
            let own = frame + caller.frame;
            if (own + callee.frame) as usize > LOCAL_BYTES {
                return Err(self.stop(at.warp, 1 << lane, place, Reason::StackOverflow));
            }
            self.poison(Block::thread_of(at.warp, lane), own, callee.frame);
            let local = self.local(at.warp, lane);
            for (argument, parameter) in arguments.iter().zip(&callee.parameters) {
                let (to, from) =
                    (local + (own + parameter.offset) as usize, local + (frame + argument.offset) as usize);
                self.windows.copy_inside(to, from, argument.bytes.min(parameter.bytes) as usize);
            }
            let state = &mut self.warps[at.warp];
            state.calls[lane].push(Call { callee: index, return_to: position + 1, base: at.base, frame });
            state.base[lane] = base;
            state.frame[lane] = own;
            state.position[lane] = callee.code.start;
        }
        Ok(())
    }

    /// A lane leaves its function; of a kernel, it ends.
    fn return_from(&mut self, warp: usize, lane: usize) {
        let program = self.image.program;
        let Some(call) = self.warps[warp].calls[lane].pop() else {
            self.warps[warp].live &= !(1 << lane);
            return;
        };
        let local = self.local(warp, lane);
        let own = self.warps[warp].frame[lane];
        if let Op::Call { results, .. } = &program.code[call.return_to as usize - 1].op {
            for (result, slot) in program.functions[call.callee as usize].results.iter().zip(results) {
                let to = local + (call.frame + slot.offset) as usize;
                let from = local + (own + result.offset) as usize;
                self.windows.copy_inside(to, from, result.bytes.min(slot.bytes) as usize);
            }
        }
        let state = &mut self.warps[warp];
        state.base[lane] = call.base;
        state.frame[lane] = call.frame;
        state.position[lane] = call.return_to;
    }
}
