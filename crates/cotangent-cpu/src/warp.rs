//! What the lanes of a warp compute together: shuffles, votes, matches and reductions.
//!
//! The last lane that arrives computes the results of all of them, so no operand is overwritten
//! before it was read. This file is the arithmetic only; who waits for whom is in `block.rs`.

/// Threads in a warp.
pub(crate) const WARP_SIZE: u32 = 32;

/// The operations, numbered as in `abi.h`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collective {
    Sync,
    ShuffleIndex,
    ShuffleUp,
    ShuffleDown,
    ShuffleXor,
    Ballot,
    Any,
    All,
    MatchAny,
    MatchAll,
    ReduceAdd,
    ReduceMinSigned,
    ReduceMinUnsigned,
    ReduceMaxSigned,
    ReduceMaxUnsigned,
    ReduceAnd,
    ReduceOr,
    ReduceXor,
}

const COLLECTIVES: [(Collective, &str); 18] = [
    (Collective::Sync, "__syncwarp"),
    (Collective::ShuffleIndex, "__shfl_sync"),
    (Collective::ShuffleUp, "__shfl_up_sync"),
    (Collective::ShuffleDown, "__shfl_down_sync"),
    (Collective::ShuffleXor, "__shfl_xor_sync"),
    (Collective::Ballot, "__ballot_sync"),
    (Collective::Any, "__any_sync"),
    (Collective::All, "__all_sync"),
    (Collective::MatchAny, "__match_any_sync"),
    (Collective::MatchAll, "__match_all_sync"),
    (Collective::ReduceAdd, "__reduce_add_sync"),
    (Collective::ReduceMinSigned, "__reduce_min_sync"),
    (Collective::ReduceMinUnsigned, "__reduce_min_sync"),
    (Collective::ReduceMaxSigned, "__reduce_max_sync"),
    (Collective::ReduceMaxUnsigned, "__reduce_max_sync"),
    (Collective::ReduceAnd, "__reduce_and_sync"),
    (Collective::ReduceOr, "__reduce_or_sync"),
    (Collective::ReduceXor, "__reduce_xor_sync"),
];

impl Collective {
    pub(crate) fn from_raw(raw: u32) -> Option<Collective> {
        COLLECTIVES.get(raw as usize).map(|entry| entry.0)
    }

    /// The name in CUDA, for messages.
    pub(crate) fn name(self) -> &'static str {
        COLLECTIVES[self as usize].1
    }
}

/// What one lane brings: its value, and for shuffles the lane argument and the width.
#[derive(Clone, Copy, Default)]
pub(crate) struct Operand {
    pub(crate) value: u64,
    pub(crate) argument: u32,
    pub(crate) width: u32,
}

/// The results of all lanes. `present` are the lanes that arrived.
pub(crate) fn evaluate(operation: Collective, present: u32, operands: &[Operand; 32]) -> [u64; 32] {
    let lanes = || (0..WARP_SIZE).filter(move |lane| present & (1 << lane) != 0);
    let values = || lanes().map(|lane| operands[lane as usize].value);
    let same = |result: u64| [result; 32];
    let ballot =
        || lanes().filter(|lane| operands[*lane as usize].value != 0).fold(0u32, |bits, lane| bits | 1 << lane);
    match operation {
        Collective::Sync => same(0),
        Collective::ShuffleIndex | Collective::ShuffleUp | Collective::ShuffleDown | Collective::ShuffleXor => {
            std::array::from_fn(|lane| shuffle(operation, lane as u32, present, operands))
        }
        Collective::Ballot => same(u64::from(ballot())),
        Collective::Any => same(u64::from(ballot() != 0)),
        Collective::All => same(u64::from(ballot() == present)),
        Collective::MatchAny => std::array::from_fn(|lane| {
            let equal = lanes().filter(|other| operands[*other as usize].value == operands[lane].value);
            u64::from(equal.fold(0u32, |bits, other| bits | 1 << other))
        }),
        Collective::MatchAll => {
            let first = values().next();
            same(if values().all(|value| Some(value) == first) { u64::from(present) } else { 0 })
        }
        Collective::ReduceAdd => same(u64::from(values().fold(0u32, |sum, value| sum.wrapping_add(value as u32)))),
        Collective::ReduceMinSigned => same(values().map(|v| v as u32 as i32).min().unwrap_or(0) as u32 as u64),
        Collective::ReduceMinUnsigned => same(values().min().unwrap_or(0)),
        Collective::ReduceMaxSigned => same(values().map(|v| v as u32 as i32).max().unwrap_or(0) as u32 as u64),
        Collective::ReduceMaxUnsigned => same(values().max().unwrap_or(0)),
        Collective::ReduceAnd => same(values().fold(u64::MAX, |bits, value| bits & value)),
        Collective::ReduceOr => same(values().fold(0, |bits, value| bits | value)),
        Collective::ReduceXor => same(values().fold(0, |bits, value| bits ^ value)),
    }
}

/// The value that `lane` receives. Out of its segment a lane keeps its own value, as CUDA says;
/// the value of a lane that takes no part is undefined there and 0 here.
fn shuffle(operation: Collective, lane: u32, present: u32, operands: &[Operand; 32]) -> u64 {
    let own = operands[lane as usize];
    let width = if own.width.is_power_of_two() && own.width <= WARP_SIZE { own.width } else { WARP_SIZE };
    let segment = lane & !(width - 1);
    let last = segment + width - 1;
    let source = match operation {
        Collective::ShuffleUp => lane.checked_sub(own.argument).filter(|source| *source >= segment),
        Collective::ShuffleDown => lane.checked_add(own.argument).filter(|source| *source <= last),
        Collective::ShuffleXor => Some(lane ^ own.argument).filter(|source| *source <= last),
        _ => Some(segment + (own.argument & (width - 1))),
    };
    match source {
        None => own.value,
        Some(source) if present & (1 << source) != 0 => operands[source as usize].value,
        Some(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operands(argument: u32, width: u32) -> [Operand; 32] {
        std::array::from_fn(|lane| Operand { value: 100 + lane as u64, argument, width })
    }

    #[test]
    fn table_is_in_the_order_of_the_numbers() {
        for (index, entry) in COLLECTIVES.iter().enumerate() {
            assert_eq!(entry.0 as usize, index);
        }
    }

    #[test]
    fn shuffles_stay_in_their_segment() {
        let up = evaluate(Collective::ShuffleUp, !0, &operands(1, 8));
        assert_eq!((up[8], up[9]), (108, 108));
        let down = evaluate(Collective::ShuffleDown, !0, &operands(2, 16));
        assert_eq!((down[13], down[14], down[15]), (115, 114, 115));
        let index = evaluate(Collective::ShuffleIndex, !0, &operands(5, 4));
        assert_eq!((index[0], index[31]), (101, 129));
        let xor = evaluate(Collective::ShuffleXor, !0, &operands(16, 16));
        assert_eq!((xor[3], xor[20]), (103, 104), "an earlier segment may be read, a later one not");
    }

    #[test]
    fn votes_and_reductions_see_only_present_lanes() {
        let mut given = operands(0, 32);
        given[4].value = 0;
        assert_eq!(evaluate(Collective::Ballot, 0b11_0000, &given)[0], 0b10_0000);
        assert_eq!(evaluate(Collective::All, 0b10_0000, &given)[5], 1);
        assert_eq!(evaluate(Collective::MatchAll, 0b11_0000, &given)[5], 0);
        given[5].value = u64::from(-3i32 as u32);
        assert_eq!(evaluate(Collective::ReduceMinSigned, 0b11_0000, &given)[4] as u32 as i32, -3);
        assert_eq!(evaluate(Collective::ReduceMinUnsigned, 0b11_0000, &given)[4], 0);
    }
}
