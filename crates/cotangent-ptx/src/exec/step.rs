//! One instruction that computes or touches memory, for the lanes that take part.

use cotangent_cpu::check::{Access, AccessKind, Verdict};

use super::block::Block;
use super::lanes::{LANES, Lanes, Mask, lanes_of, map, map2};
use super::memory::{self, LOCAL_BYTES, PARAMETER_BYTES, SHARED_BYTES};
use super::{Reason, Stop, float, integer};
use crate::program::{
    Address, Binary, Carries, Combined, Instruction, Op, Register, Source, Space, Special, Ternary, Type,
};

/// Where an instruction runs.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) warp: usize,
    pub(super) mask: Mask,
    pub(super) base: u32,
}

impl Block<'_> {
    /// The values of a source in all lanes.
    #[inline]
    pub(super) fn read(&self, warp: usize, base: u32, source: Source) -> Lanes {
        match source {
            Source::Register(register) => self.warps[warp].registers[(base + register) as usize],
            Source::Bits(bits) => [bits; LANES],
            Source::Special(special) => self.special(warp, special),
            Source::Frame(offset) => self.warps[warp].frame.map(|frame| u64::from(frame.wrapping_add(offset))),
            Source::Shared { variable, offset } => {
                [u64::from(self.image.shared.offsets[variable as usize].wrapping_add(offset)); LANES]
            }
        }
    }

    fn special(&self, warp: usize, special: Special) -> Lanes {
        let launch = &self.launch;
        let [width, height, _] = launch.block;
        let same = |value: u32| [u64::from(value); LANES];
        let threads = |function: fn(u32, u32, u32) -> u32| {
            std::array::from_fn(|lane| u64::from(function(Block::thread_of(warp, lane), width, height)))
        };
        let lanes = |function: fn(u32) -> u32| std::array::from_fn(|lane| u64::from(function(lane as u32)));
        match special {
            Special::ThreadX => threads(|thread, width, _| thread % width),
            Special::ThreadY => threads(|thread, width, height| thread / width % height),
            Special::ThreadZ => threads(|thread, width, height| thread / width / height),
            Special::BlockX => same(launch.index[0]),
            Special::BlockY => same(launch.index[1]),
            Special::BlockZ => same(launch.index[2]),
            Special::BlockSizeX => same(launch.block[0]),
            Special::BlockSizeY => same(launch.block[1]),
            Special::BlockSizeZ => same(launch.block[2]),
            Special::GridSizeX => same(launch.grid[0]),
            Special::GridSizeY => same(launch.grid[1]),
            Special::GridSizeZ => same(launch.grid[2]),
            Special::Lane => lanes(|lane| lane),
            Special::Warp => same(warp as u32),
            Special::WarpCount => same(self.warps.len() as u32),
            Special::LanesEqual => lanes(|lane| 1 << lane),
            Special::LanesBelow => lanes(|lane| (1 << lane) - 1),
            Special::LanesUpTo => lanes(|lane| u32::MAX >> (31 - lane)),
            Special::LanesAbove => lanes(|lane| !(u32::MAX >> (31 - lane))),
            Special::LanesFrom => lanes(|lane| u32::MAX << lane),
            Special::DynamicShared => same(launch.dynamic_shared),
            Special::TotalShared => same(launch.dynamic_shared + self.image.shared.end),
            Special::Clock => [self.clock; LANES],
        }
    }

    /// Carries out an instruction that is neither a branch nor a meeting.
    pub(super) fn step(&mut self, at: At, instruction: &Instruction) -> Result<(), Stop> {
        let At { warp, mask, base } = at;
        let read = |source: &Source| self.read(warp, base, *source);
        let result = match &instruction.op {
            Op::Move { to, a } => Some((*to, read(a))),
            Op::Unary { function, kind, mode, to, a } => {
                let a = read(a);
                let result = match kind.is_float() {
                    true => float::unary(*function, *kind, *mode, mask, &a),
                    false => integer::unary(*function, *kind, &a),
                };
                result.map(|result| (*to, result))
            }
            Op::Binary { function, kind, mode, to, a, b } => {
                let (a, b) = (read(a), read(b));
                let result = match kind.is_float() {
                    true => float::binary(*function, *kind, *mode, mask, &a, &b),
                    false => integer::binary(*function, *kind, *mode, mask, &a, &b),
                };
                result.map(|result| (*to, result))
            }
            Op::Ternary { function, kind, mode, to, a, b, c } => {
                let (a, b, c) = (read(a), read(b), read(c));
                let result = match (kind.is_float(), function) {
                    (true, Ternary::MultiplyAdd) => float::multiply_add(*kind, *mode, mask, [&a, &b, &c]),
                    _ => integer::ternary(*function, *kind, *mode, &a, &b, &c),
                };
                result.map(|result| (*to, result))
            }
            Op::InsertBits { kind, to, a, b, c, d } => {
                Some((*to, integer::insert_bits(*kind, &read(a), &read(b), &read(c), &read(d))))
            }
            Op::Select { to, a, b, condition } => {
                let (a, b, condition) = (read(a), read(b), read(condition));
                let chosen = |lane: usize| if condition[lane] & 1 != 0 { a[lane] } else { b[lane] };
                Some((*to, std::array::from_fn(chosen)))
            }
            Op::Convert { from, into, mode, integral, to, a } => {
                float::convert(*from, *into, *mode, *integral, mask, &read(a)).map(|result| (*to, result))
            }
            Op::ConvertPair { into, mode, to, a, b } => {
                float::convert_pair(*into, *mode, &read(a), &read(b)).map(|result| (*to, result))
            }
            Op::Set { comparison, kind, result, flush, to, a, b, combined } => {
                float::compare(*comparison, *kind, *flush, &read(a), &read(b))
                    .map(|holds| self.combine(at, holds, *combined))
                    .and_then(|holds| float::truth(*result, &holds))
                    .map(|result| (*to, result))
            }
            Op::Pack { to, bits, parts } => {
                let mut whole = [0; LANES];
                for (index, part) in (0..).zip(parts) {
                    let part = read(part);
                    let cut = u64::MAX >> (64 - (*bits).clamp(1, 64));
                    (0..LANES).for_each(|lane| whole[lane] |= (part[lane] & cut) << (index * bits).min(63));
                }
                Some((*to, whole))
            }
            Op::ToGeneric { space, to, a } => Some((*to, self.to_generic(warp, *space, &read(a)))),
            Op::FromGeneric { space, to, a } => Some((*to, self.out_of_generic(warp, *space, &read(a)))),
            Op::IsInSpace { space, to, a } => Some((*to, self.is_in_space(warp, *space, &read(a)))),
            Op::ActiveMask { to } => Some((*to, [u64::from(mask); LANES])),
            Op::Compare { .. }
            | Op::Unpack { .. }
            | Op::Carry { .. }
            | Op::CarryProduct { .. }
            | Op::Load { .. }
            | Op::Store { .. }
            | Op::Atomic { .. }
            | Op::CopyAsync { .. } => return self.step_with_effects(at, instruction),
            Op::Pause | Op::Nothing => return Ok(()),
            Op::Trap => return Err(self.stop(warp, mask, instruction.place, Reason::Trap)),
            Op::Unknown(text) => {
                return Err(self.stop(warp, mask, instruction.place, Reason::Unknown(text.to_string())));
            }
            // `control` carries these out.
            Op::Branch(_)
            | Op::BranchIndexed { .. }
            | Op::Call { .. }
            | Op::Return
            | Op::Exit
            | Op::Barrier { .. }
            | Op::Collective { .. } => return Ok(()),
        };
        match result {
            Some((to, values)) => {
                self.warps[warp].write(base, to, mask, &values);
                Ok(())
            }
            None => Err(self.impossible(at, instruction)),
        }
    }

    /// An instruction that was read, but whose type or modifiers it cannot have.
    fn impossible(&self, at: At, instruction: &Instruction) -> Stop {
        self.stop(at.warp, at.mask, instruction.place, Reason::Unknown(format!("{:?}", instruction.op)))
    }

    /// Instructions with several results, or that touch memory.
    fn step_with_effects(&mut self, at: At, instruction: &Instruction) -> Result<(), Stop> {
        let At { warp, mask, base } = at;
        match &instruction.op {
            Op::Compare { comparison, kind, flush, to, to_not, a, b, combined } => {
                let (a, b) = (self.read(warp, base, *a), self.read(warp, base, *b));
                let Some(holds) = float::compare(*comparison, *kind, *flush, &a, &b) else {
                    return Err(self.impossible(at, instruction));
                };
                // The second result is that of the opposite comparison, combined in the same way.
                let opposite = to_not.map(|to| (to, self.combine(at, map(&holds, |holds: bool| !holds), *combined)));
                let holds = self.combine(at, holds, *combined);
                if let Some(to) = to {
                    self.warps[warp].write(base, *to, mask, &holds);
                }
                if let Some((to, holds)) = opposite {
                    self.warps[warp].write(base, to, mask, &holds);
                }
            }
            Op::Unpack { to, bits, a } => {
                let whole = self.read(warp, base, *a);
                for (index, to) in (0..).zip(to) {
                    if let Some(to) = to {
                        let cut = u64::MAX >> (64 - (*bits).clamp(1, 64));
                        let part = map(&whole, |whole: u64| whole >> (index * bits).min(63) & cut);
                        self.warps[warp].write(base, *to, mask, &part);
                    }
                }
            }
            Op::Carry { carries, kind, to, a, b } => {
                let (a, b) = (self.read(warp, base, *a), self.read(warp, base, *b));
                self.carry(at, *carries, *kind, *to, &a, &b);
            }
            Op::CarryProduct { high, carries, kind, to, a, b, c } => {
                let (a, b) = (self.read(warp, base, *a), self.read(warp, base, *b));
                let c = self.read(warp, base, *c);
                let Some(product) = integer::half_of_product(*high, *kind, &a, &b) else {
                    return Err(self.impossible(at, instruction));
                };
                self.carry(at, *carries, *kind, *to, &product, &c);
            }
            Op::Load { kind, address, to, access } => {
                let bytes = kind.bytes() * to.len() as u32;
                let addresses = self.examined(at, instruction, address, bytes, *access)?;
                for (index, to) in to.iter().enumerate() {
                    // SAFETY: `addresses` has refused what cannot be accessed, as far as that is known.
                    let values = unsafe { memory::load(*kind, mask, &addresses, index * kind.bytes() as usize) };
                    if let Some(to) = to {
                        self.warps[warp].write(base, *to, mask, &values);
                    }
                }
            }
            Op::Store { kind, address, values, access } => {
                let bytes = kind.bytes() * values.len() as u32;
                let addresses = self.addresses(at, instruction, address, bytes)?;
                for part in self.parts(at) {
                    self.examine(part, instruction, address.space, &addresses, bytes, *access)?;
                    for (index, value) in values.iter().enumerate() {
                        let value = self.read(warp, base, *value);
                        let lanes = self.warps[warp].lanes_in_order(part.mask);
                        // SAFETY: as for loads.
                        unsafe { memory::store(*kind, lanes, &addresses, index * kind.bytes() as usize, &value) };
                    }
                }
            }
            Op::Atomic { .. } => return self.atomic(at, instruction),
            Op::CopyAsync { bytes, destination, source, filled } => {
                let filled = filled.map_or([u64::from(*bytes); LANES], |filled| self.read(warp, base, filled));
                let from = self.examined(at, instruction, source, *bytes, AccessKind::Read)?;
                let to = self.addresses(at, instruction, destination, *bytes)?;
                for part in self.parts(at) {
                    self.examine(part, instruction, destination.space, &to, *bytes, AccessKind::Write)?;
                    for lane in lanes_of(part.mask) {
                        // SAFETY: as for loads.
                        unsafe { memory::copy(to[lane], from[lane], *bytes as usize, filled[lane] as u32 as usize) };
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn atomic(&mut self, at: At, instruction: &Instruction) -> Result<(), Stop> {
        let At { warp, mask, base } = at;
        let Op::Atomic { function, kind, address, to, b, c } = &instruction.op else { return Ok(()) };
        let bytes = kind.bytes() * b.len() as u32;
        let addresses = self.examined(at, instruction, address, bytes, AccessKind::Atomic)?;
        let is_own = self.is_in_space(warp, Space::Local, &addresses.map(|address| address as u64));
        if let Some(lane) = lanes_of(mask).find(|lane| is_own[*lane] != 0) {
            let reason = Reason::AtomicOnOwnMemory { address: addresses[lane] as u64 };
            return Err(self.stop(warp, 1 << lane, instruction.place, reason));
        }
        let c = c.map(|c| self.read(warp, base, c));
        for (index, (b, to)) in b.iter().zip(to).enumerate() {
            let b = self.read(warp, base, *b);
            let mut old = [0; LANES];
            for lane in self.warps[warp].lanes_in_order(mask) {
                let address = addresses[lane] + index * kind.bytes() as usize;
                // SAFETY: as for loads; `addresses` has refused what is not aligned.
                let was = unsafe { memory::atomic(*function, *kind, address, b[lane], c.map(|c| c[lane])) };
                let Some(was) = was else { return Err(self.impossible(at, instruction)) };
                old[lane] = was;
            }
            if let Some(to) = to {
                self.warps[warp].write(base, *to, mask, &old);
            }
        }
        Ok(())
    }

    fn combine(&self, at: At, holds: Lanes, combined: Option<Combined>) -> Lanes {
        let Some(Combined { function, with, is_negated }) = combined else { return holds };
        let with = self.read(at.warp, at.base, with);
        map2(&holds, &with, |holds: bool, with| {
            let with = with ^ is_negated;
            match function {
                Binary::And => holds && with,
                Binary::Or => holds || with,
                _ => holds ^ with,
            }
        })
    }

    fn carry(&mut self, at: At, carries: Carries, kind: Type, to: Register, a: &Lanes, b: &Lanes) {
        let Carries { subtract, carry_in, carry_out } = carries;
        let state = &mut self.warps[at.warp];
        let (values, left) = integer::carry(subtract, kind, a, b, if carry_in { state.carry } else { 0 });
        if carry_out {
            state.carry = state.carry & !at.mask | left & at.mask;
        }
        state.write(at.base, to, at.mask, &values);
    }

    fn to_generic(&self, warp: usize, space: Space, a: &Lanes) -> Lanes {
        match space {
            Space::Shared => map(a, |a: u64| u64::from(a as u32) + self.windows.shared() as u64),
            Space::Kernel => map(a, |a: u64| a.wrapping_add(self.windows.parameters() as u64)),
            Space::Local => std::array::from_fn(|lane| a[lane].wrapping_add(self.local(warp, lane) as u64)),
            Space::Generic | Space::Global | Space::Constant => *a,
        }
    }

    fn out_of_generic(&self, warp: usize, space: Space, a: &Lanes) -> Lanes {
        match space {
            Space::Shared => map(a, |a: u64| a.wrapping_sub(self.windows.shared() as u64)),
            Space::Kernel => map(a, |a: u64| a.wrapping_sub(self.windows.parameters() as u64)),
            Space::Local => std::array::from_fn(|lane| a[lane].wrapping_sub(self.local(warp, lane) as u64)),
            Space::Generic | Space::Global | Space::Constant => *a,
        }
    }

    fn is_in_space(&self, warp: usize, space: Space, a: &Lanes) -> Lanes {
        let inside = |address: u64, start: usize, bytes: usize| address.wrapping_sub(start as u64) < bytes as u64;
        let is_shared = |address: u64| inside(address, self.windows.shared(), SHARED_BYTES);
        let is_parameter = |address: u64| inside(address, self.windows.parameters(), PARAMETER_BYTES);
        std::array::from_fn(|lane| {
            let is_local = inside(a[lane], self.local(warp, lane), LOCAL_BYTES);
            u64::from(match space {
                Space::Shared => is_shared(a[lane]),
                Space::Kernel => is_parameter(a[lane]),
                Space::Local => is_local,
                Space::Generic => true,
                Space::Global | Space::Constant => !is_shared(a[lane]) && !is_parameter(a[lane]) && !is_local,
            })
        })
    }

    pub(super) fn local(&self, warp: usize, lane: usize) -> usize {
        self.windows.local(Block::thread_of(warp, lane))
    }

    /// The lanes that store one after another: in a checked run each on its own, as the checker compares what they store.
    fn parts(&self, at: At) -> impl Iterator<Item = At> + use<> {
        let (together, alone) = if self.checker.is_none() { (Some(at), 0) } else { (None, at.mask) };
        let alone = self.warps[at.warp].lanes_in_order(alone).map(move |lane| At { mask: 1 << lane, ..at });
        together.into_iter().chain(alone)
    }

    /// Absolute addresses of an access of so many bytes, after all that can be said against it.
    fn examined(
        &mut self,
        at: At,
        instruction: &Instruction,
        address: &Address,
        bytes: u32,
        kind: AccessKind,
    ) -> Result<[usize; LANES], Stop> {
        let addresses = self.addresses(at, instruction, address, bytes)?;
        self.examine(at, instruction, address.space, &addresses, bytes, kind)?;
        Ok(addresses)
    }

    /// Absolute addresses of an access of so many bytes, all within their window.
    fn addresses(
        &self,
        at: At,
        instruction: &Instruction,
        address: &Address,
        bytes: u32,
    ) -> Result<[usize; LANES], Stop> {
        let given =
            map(&self.read(at.warp, at.base, address.base), |base: u64| base.wrapping_add_signed(address.offset));
        let window = match address.space {
            Space::Shared => Some(SHARED_BYTES),
            Space::Local => Some(LOCAL_BYTES),
            Space::Kernel => Some(PARAMETER_BYTES),
            Space::Generic | Space::Global | Space::Constant => None,
        };
        // Addresses of windows are 32 bits wide where code keeps them so.
        let given = if address.space == Space::Shared { map(&given, |address: u64| address as u32) } else { given };
        let is_checked = self.checker.is_some();
        for lane in lanes_of(at.mask) {
            let is_outside = match window {
                Some(window) => given[lane].saturating_add(u64::from(bytes)) > window as u64,
                None => memory::is_nowhere(given[lane], is_checked),
            };
            if is_outside {
                let reason = Reason::IllegalAddress { address: given[lane] };
                return Err(self.stop(at.warp, 1 << lane, instruction.place, reason));
            }
        }
        Ok(self.to_generic(at.warp, address.space, &given).map(|address| address as usize))
    }

    /// All that can be said against an access, but that it is outside of its window.
    fn examine(
        &mut self,
        at: At,
        instruction: &Instruction,
        space: Space,
        addresses: &[usize; LANES],
        bytes: u32,
        kind: AccessKind,
    ) -> Result<(), Stop> {
        // A thread's own memory and the parameters have no other limits than their window's.
        if !matches!(space, Space::Local | Space::Kernel) {
            self.check(at, instruction, addresses, bytes, kind)?;
        }
        // After the checker, which says more about it where it knows the memory.
        let given = self.out_of_generic(at.warp, space, &addresses.map(|address| address as u64));
        if let Some(lane) = lanes_of(at.mask).find(|lane| given[*lane] & u64::from(bytes - 1) != 0) {
            let reason = Reason::Misaligned { address: given[lane], bytes };
            return Err(self.stop(at.warp, 1 << lane, instruction.place, reason));
        }
        Ok(())
    }

    /// Tells the checker, which may have something against it.
    fn check(
        &mut self,
        at: At,
        instruction: &Instruction,
        addresses: &[usize; LANES],
        bytes: u32,
        kind: AccessKind,
    ) -> Result<(), Stop> {
        if self.checker.is_none() {
            return Ok(());
        }
        let site = self.site(instruction.place);
        for lane in lanes_of(at.mask) {
            let stack = self.local(at.warp, lane);
            let Some(checker) = &mut self.checker else { return Ok(()) };
            checker.begin_thread(stack..stack + LOCAL_BYTES);
            let (address, size) = (addresses[lane], bytes as usize);
            let access = Access { address, size, kind, alignment: size, site };
            if checker.access(Block::thread_of(at.warp, lane), access) == Verdict::Fatal {
                return Err(self.stop(at.warp, 1 << lane, instruction.place, Reason::Reported));
            }
        }
        Ok(())
    }
}
