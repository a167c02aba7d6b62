//! What the lanes of a warp compute together: arithmetic only; who waits for whom is in `block`.

use super::lanes::{LANES, Lanes, Mask, lanes_of};
use super::memory::changed;
use crate::program::{Collective, Type};

/// What each lane brings.
pub(super) struct Operands {
    pub(super) a: Lanes,
    pub(super) b: Lanes,
    pub(super) c: Lanes,
}

/// The results of the lanes that take part, and the predicate of each. None if there is no such operation.
pub(super) fn evaluate(function: Collective, kind: Type, mask: Mask, operands: &Operands) -> Option<(Lanes, Mask)> {
    let a = &operands.a;
    let same = |value: u64| [value; LANES];
    let ballot = || lanes_of(mask).filter(|lane| a[*lane] & 1 != 0).fold(0, |bits: Mask, lane| bits | 1 << lane);
    let cut = |value: u64| if kind.bytes() == 8 { value } else { u64::from(value as u32) };
    Some(match function {
        Collective::Synchronize => (same(0), 0),
        Collective::ShuffleIndex | Collective::ShuffleUp | Collective::ShuffleDown | Collective::ShuffleXor => {
            let mut result = [0; LANES];
            let mut is_inside = 0;
            for lane in lanes_of(mask) {
                let (source, inside) =
                    source_of(function, lane as u32, operands.b[lane] as u32, operands.c[lane] as u32);
                // The value of a lane that takes no part is not defined; 0 here.
                result[lane] = if mask >> source & 1 != 0 { a[source as usize] } else { 0 };
                is_inside |= Mask::from(inside) << lane;
            }
            (result, is_inside)
        }
        Collective::Ballot => (same(u64::from(ballot())), 0),
        Collective::Any => (same(u64::from(ballot() != 0)), 0),
        Collective::All => (same(u64::from(ballot() == mask)), 0),
        Collective::Uniform => (same(u64::from(ballot() == mask || ballot() == 0)), 0),
        Collective::MatchAny => {
            let equal = |lane: usize| lanes_of(mask).filter(move |other| cut(a[*other]) == cut(a[lane]));
            (std::array::from_fn(|lane| equal(lane).fold(0, |bits, other| bits | 1 << other)), 0)
        }
        Collective::MatchAll => {
            let first = lanes_of(mask).next().map(|lane| cut(a[lane]));
            let is_same = lanes_of(mask).all(|lane| Some(cut(a[lane])) == first);
            if is_same { (same(u64::from(mask)), Mask::MAX) } else { (same(0), 0) }
        }
        Collective::Elect => {
            let leader = mask.trailing_zeros() % LANES as u32;
            (same(u64::from(leader)), 1 << leader)
        }
        Collective::Reduce(reduction) => {
            let mut values = lanes_of(mask).map(|lane| a[lane]);
            let first = values.next()?;
            (same(values.try_fold(first, |all, value| changed(reduction, kind, all, value, None))?), 0)
        }
    })
}

/// The lane whose value a lane receives, and whether it is inside the segment; out of it a lane keeps its own value. `c`
/// holds the clamp in its low five bits and the mask of the segment above.
fn source_of(function: Collective, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let last = lane & segment | clamp & !segment;
    let first = lane & segment;
    let (source, is_inside) = match function {
        Collective::ShuffleUp => (lane.wrapping_sub(b), lane as i32 - b as i32 >= last as i32),
        Collective::ShuffleDown => (lane + b, lane + b <= last),
        Collective::ShuffleXor => (lane ^ b, lane ^ b <= last),
        _ => (first | b & !segment, first | b & !segment <= last),
    };
    if is_inside { (source & 31, true) } else { (lane, false) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::AtomicFunction;

    fn operands(b: u64, c: u64) -> Operands {
        Operands { a: std::array::from_fn(|lane| 100 + lane as u64), b: [b; LANES], c: [c; LANES] }
    }

    #[test]
    fn shuffles_stay_in_their_segment() {
        let shuffle = |function, b, c| evaluate(function, Type::B32, Mask::MAX, &operands(b, c)).expect("a shuffle");
        // Widths 8, 16 and 4: (32 - width) << 8, and 31 in the low bits except for up.
        let (up, inside) = shuffle(Collective::ShuffleUp, 1, 24 << 8);
        assert_eq!((up[8], up[9], inside & 1 << 8), (108, 108, 0));
        let (down, _) = shuffle(Collective::ShuffleDown, 2, 16 << 8 | 31);
        assert_eq!((down[13], down[14], down[15]), (115, 114, 115));
        let (index, _) = shuffle(Collective::ShuffleIndex, 5, 28 << 8 | 31);
        assert_eq!((index[0], index[31]), (101, 129));
        let (xor, _) = shuffle(Collective::ShuffleXor, 16, 16 << 8 | 31);
        assert_eq!((xor[3], xor[20]), (103, 104), "an earlier segment may be read, a later one not");
    }

    #[test]
    fn votes_and_reductions_see_only_present_lanes() {
        let mut given = operands(0, 0);
        given.a[4] = 0;
        let run = |function, given: &Operands| evaluate(function, Type::S32, 0b11_0000, given).expect("known");
        assert_eq!(run(Collective::Ballot, &given).0[4], 0b10_0000);
        assert_eq!(run(Collective::MatchAll, &given), ([0; LANES], 0));
        given.a[5] = u64::from(-3i32 as u32);
        assert_eq!(run(Collective::Reduce(AtomicFunction::Minimum), &given).0[4] as i32, -3);
        assert_eq!(run(Collective::Elect, &given).1, 0b1_0000);
    }
}
