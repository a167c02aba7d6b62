//! Which values differ between threads, and which indices do by the threads' coordinates alone.

use super::affine::{Atom, INDEX_BITS, Operation, Values};
use super::location::Step;
use super::polynomial::{AtomId, Polynomial};
use super::region::{Condition, Frame, index_bounds};
use super::root::Root;
use super::site::Site;
use crate::ir::{Axis, Builtin, Expr, LocalId, Place};

/// The threads that may reach some memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Threads {
    /// Those of one block.
    Block,
    /// All of a launch.
    Grid,
}

impl Threads {
    /// The threads that may reach memory, if they do not keep it private.
    pub fn of(root: Root) -> Threads {
        match root {
            Root::Shared(_) => Threads::Block,
            Root::Private(_) | Root::Param(_) | Root::Behind(_) | Root::Global(_) | Root::Unknown => Threads::Grid,
        }
    }

    /// What tells these threads apart: coordinates, each with the number of its values.
    fn coordinates(self) -> Vec<(Builtin, Builtin)> {
        let mut all: Vec<_> = Axis::ALL.map(|axis| (Builtin::ThreadIdx(axis), Builtin::BlockDim(axis))).into();
        if self == Threads::Grid {
            all.extend(Axis::ALL.map(|axis| (Builtin::BlockIdx(axis), Builtin::GridDim(axis))));
        }
        all
    }
}

/// *Mixed radix.* If every index is `o + k1*c1 + k2*c2 + …` over all coordinates `c` of these threads, with the same
/// `k` in all of them, each `k` the one before times the number of values of its coordinate, and the offsets `o` of all
/// of them within `k1` of each other, then the coordinates are the digits of the index, and different threads have
/// different indices.
///
/// All six coordinates must be there for global memory: with fewer, threads that differ in another one meet. That a
/// block has one row is not known.
pub fn is_injective(values: &Values<'_>, sites: &[&Site<'_>], threads: Threads) -> bool {
    let coordinates = threads.coordinates();
    coordinates.iter().any(|first| {
        let digits = |site: &&Site<'_>| digits(values, site, &coordinates, first.0, threads);
        let Some(found) = sites.iter().map(digits).collect::<Option<Vec<_>>>() else { return false };
        let strides: Vec<_> = found.iter().map(|(stride, _)| stride.clone()).collect();
        let offsets: Vec<_> = found.into_iter().map(|(_, offsets)| offsets).collect();
        strides.windows(2).all(|pair| pair[0] == pair[1])
            && strides.first().is_some_and(|stride| are_within(stride, &offsets))
    })
}

/// The factor of the first digit and the least and greatest offset of an index whose digits the coordinates are.
fn digits(
    values: &Values<'_>,
    site: &Site<'_>,
    coordinates: &[(Builtin, Builtin)],
    first: Builtin,
    threads: Threads,
) -> Option<(Polynomial, [Polynomial; 2])> {
    let mut rest = site.location.as_ref()?.index.clone();
    let mut factors = Vec::new();
    for (coordinate, extent) in coordinates {
        let (factor, remainder) = rest.divided(&wide(values, *coordinate))?;
        if values.varies(&factor, threads) {
            return None;
        }
        factors.push((*coordinate, factor, wide(values, *extent)));
        rest = remainder;
    }
    let position = factors.iter().position(|(coordinate, ..)| *coordinate == first)?;
    let (_, stride, extent) = factors.swap_remove(position);
    let mut next = stride.times(&extent)?;
    while !factors.is_empty() {
        let position = factors.iter().position(|(_, factor, _)| *factor == next)?;
        next = next.times(&factors.swap_remove(position).2)?;
    }
    Some((stride, values.offset_bounds(&rest, &site.frames, threads)?))
}

/// A built-in variable as part of an index.
fn wide(values: &Values<'_>, builtin: Builtin) -> Polynomial {
    values.widen(values.atom(Atom::Builtin(builtin), 32), false, INDEX_BITS)
}

/// Whether any two offsets, each between its least and greatest value, differ by less than a stride. Then the stride is
/// above zero too.
pub(super) fn are_within(stride: &Polynomial, offsets: &[[Polynomial; 2]]) -> bool {
    let is_negative = stride.as_constant().is_some_and(|stride| stride < 0);
    let zero = Polynomial::constant(0, INDEX_BITS);
    let Some(stride) = zero.plus(if is_negative { -1 } else { 1 }, stride) else { return false };
    let room = |least: &Polynomial, greatest: &Polynomial| {
        stride.plus(-1, greatest)?.plus(1, least)?.plus(-1, &Polynomial::constant(1, INDEX_BITS))?.as_constant()
    };
    let is_close = |[least, _]: &[Polynomial; 2], [_, greatest]: &[Polynomial; 2]| {
        room(least, greatest).is_some_and(|room| (0..1 << 48).contains(&room))
    };
    offsets.iter().all(|a| offsets.iter().all(|b| is_close(a, b)))
}

impl Values<'_> {
    /// Whether a value may differ between threads, or from one time to another. Parameters of a kernel are the same
    /// for all threads.
    pub fn varies(&self, value: &Polynomial, threads: Threads) -> bool {
        self.varies_besides(value, threads, &[])
    }

    /// What is found while some counters have one value for all threads.
    pub fn with_settled<R>(&self, counters: Vec<LocalId>, find: impl FnOnce() -> R) -> R {
        let before = self.settled.replace(counters);
        let found = find();
        self.settled.replace(before);
        found
    }

    /// The same, some counters being given.
    fn varies_besides(&self, value: &Polynomial, threads: Threads, counters: &[LocalId]) -> bool {
        self.mentions(value, &mut |atom| match atom {
            Atom::Variable(local) => {
                !self.function.params.contains(local)
                    && !counters.contains(local)
                    && !self.settled.borrow().contains(local)
            }
            Atom::Builtin(Builtin::ThreadIdx(_)) => true,
            Atom::Builtin(Builtin::BlockIdx(_)) => threads == Threads::Grid,
            Atom::Builtin(
                Builtin::BlockDim(_) | Builtin::GridDim(_) | Builtin::WarpSize | Builtin::DynamicSharedBytes,
            ) => false,
            Atom::Loaded { location } => {
                matches!(location.root, Root::Private(local) if !self.function.params.contains(&local))
            }
            // A function of nothing may be one of the thread.
            Atom::Operation { operation: Operation::Math(_), operands } => operands.is_empty(),
            Atom::Widened { .. } | Atom::Operation { .. } => false,
        })
    }

    /// The least and the greatest value of an offset, neither of which varies: it may contain counters of the loops
    /// around it, times constants.
    pub fn offset_bounds(&self, offset: &Polynomial, frames: &[Frame], threads: Threads) -> Option<[Polynomial; 2]> {
        let zero = Polynomial::constant(0, INDEX_BITS);
        let mut bounds = [zero.clone(), zero.clone()];
        let guarded = self.guarded_greatest_of_several(offset, frames, threads);
        for (product, factor) in offset.terms() {
            let term = product.iter().try_fold(Polynomial::constant(factor, INDEX_BITS), |all, &atom| {
                all.times(&Polynomial::atom(atom, INDEX_BITS))
            })?;
            let [least, greatest] = if !self.varies(&term, threads) {
                [term.clone(), term]
            } else if let &[atom] = product {
                let [least, greatest] = self.counter_bounds(atom, frames)?;
                let (least, greatest) = if factor > 0 { (least, greatest) } else { (greatest, least) };
                let greatest = if guarded.is_some() { zero.clone() } else { greatest };
                if self.varies(&least, threads) || self.varies(&greatest, threads) {
                    return None;
                }
                [zero.plus(factor, &least)?, zero.plus(factor, &greatest)?]
            } else {
                return None;
            };
            bounds = [bounds[0].plus(1, &least)?, bounds[1].plus(1, &greatest)?];
        }
        if let Some(guarded) = guarded {
            bounds[1] = guarded;
        }
        Some(bounds)
    }

    /// The greatest value of an offset in which several counters are added, by the branches around it: `j < n - i * 16` says
    /// that `i * 16 + j` is below `n`.
    fn guarded_greatest_of_several(
        &self,
        offset: &Polynomial,
        frames: &[Frame],
        threads: Threads,
    ) -> Option<Polynomial> {
        let varying = offset.atoms().filter(|atom| self.varies(&Polynomial::atom(*atom, INDEX_BITS), threads)).count();
        if varying < 2 { None } else { self.guarded_greatest(offset, frames, threads) }
    }

    /// The bounds of an atom that is a loop's counter, or has one of its values, as an index.
    fn counter_bounds(&self, atom: AtomId, frames: &[Frame]) -> Option<[Polynomial; 2]> {
        frames.iter().find_map(|frame| {
            let (counter, range) = frame.counted()?;
            (self.counter_index(counter)? == Polynomial::atom(atom, INDEX_BITS)).then(|| index_bounds(range))?
        })
    }

    /// A loop's counter as an index.
    fn counter_index(&self, counter: LocalId) -> Option<Polynomial> {
        let ty = self.function.locals[counter].ty.clone();
        self.index(&Expr::load(Place::local(counter, ty)))
    }

    /// Whether all threads of a block make a store, and to one element: its index and the loops around it do not vary
    /// in a block. Then a block of two threads has a race, however it is launched.
    ///
    /// Of branches around it only those count that choose among blocks: another condition may hold for a launch of one
    /// thread alone, as `blockDim.x == 1` or `n == 1` does.
    pub fn is_same_for_two_threads(&self, store: &Site<'_>) -> bool {
        let Some(location) = &store.location else { return false };
        let is_shared = match location.root {
            Root::Param(_) | Root::Behind(_) | Root::Global(_) | Root::Shared(_) => true,
            Root::Private(_) | Root::Unknown => false,
        };
        let mut counters = Vec::new();
        for frame in &store.frames {
            let is_same = |value: &Polynomial| !self.varies_besides(value, Threads::Block, &counters);
            let is_uniform = match frame {
                Frame::Branch { conditions, .. } => conditions.iter().all(|condition| match condition {
                    Some(Condition::Compare { left, right, .. }) => {
                        is_same(left) && is_same(right) && self.chooses_blocks(&[left, right])
                    }
                    Some(Condition::Truth { value, .. }) => is_same(value) && self.chooses_blocks(&[value]),
                    None => false,
                }),
                Frame::Count { range, .. } => {
                    range.as_ref().is_some_and(|range| range.values().into_iter().all(is_same))
                }
                Frame::Chosen { .. } | Frame::Other { .. } => false,
            };
            if !is_uniform {
                return false;
            }
            if let Frame::Count { counter, .. } = frame {
                counters.push(*counter);
            }
        }
        let is_whole = !location.tail.contains(&Step::Somewhere);
        is_shared && is_whole && !self.varies_besides(&location.index, Threads::Block, &counters)
    }

    /// Whether all threads of a block run what is inside a branch or loop, equally often, if they come to it.
    pub fn is_for_all(&self, frame: &Frame) -> bool {
        let is_same = |value: &Polynomial| !self.varies(value, Threads::Block);
        match frame {
            Frame::Branch { conditions, .. } => conditions.iter().all(|condition| match condition {
                Some(Condition::Compare { left, right, .. }) => is_same(left) && is_same(right),
                Some(Condition::Truth { value, .. }) => is_same(value),
                None => false,
            }),
            Frame::Count { range, .. } => range.as_ref().is_some_and(|range| range.values().into_iter().all(is_same)),
            Frame::Chosen { .. } | Frame::Other { .. } => false,
        }
    }

    /// Whether a condition on these values asks which block it is, and not how large blocks are.
    fn chooses_blocks(&self, values: &[&Polynomial]) -> bool {
        let mentions = |is_meant: fn(&Atom) -> bool| values.iter().any(|value| self.mentions(value, &mut { is_meant }));
        mentions(|atom| matches!(atom, Atom::Builtin(Builtin::BlockIdx(_))))
            && !mentions(|atom| matches!(atom, Atom::Builtin(Builtin::BlockDim(_))))
    }
}
