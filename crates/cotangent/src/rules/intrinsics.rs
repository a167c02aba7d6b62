//! CUDA's device functions that are statements of the IR: barriers, atomics, exchanges within a warp.

use crate::ir::{AtomicOp, BarrierKind, CollectiveOp, Scope};

/// What a device function is in the IR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intrinsic {
    /// A barrier or fence.
    Barrier(BarrierKind),
    /// An atomic.
    Atomic(AtomicOp, Scope),
    /// An exchange within a warp.
    Collective(CollectiveOp),
}

/// Functions whose body is not known and which change no memory of the program.
pub const OPAQUE_CALLS: &[&str] = &[
    "printf",
    "fprintf",
    "__trap",
    "__brkpt",
    "__nanosleep",
    "clock",
    "clock64",
    "__assert_fail",
    "__assertfail",
    "abort",
    "exit",
    "__prof_trigger",
];

const BARRIERS: &[(&str, BarrierKind)] = &[
    ("__syncthreads", BarrierKind::Block),
    ("__syncthreads_count", BarrierKind::BlockCount),
    ("__syncthreads_and", BarrierKind::BlockAnd),
    ("__syncthreads_or", BarrierKind::BlockOr),
    ("__syncwarp", BarrierKind::Warp),
    ("__threadfence", BarrierKind::Fence),
    ("__threadfence_block", BarrierKind::FenceBlock),
    ("__threadfence_system", BarrierKind::FenceSystem),
];

const ATOMICS: &[(&str, AtomicOp)] = &[
    ("atomicAdd", AtomicOp::Add),
    ("atomicSub", AtomicOp::Subtract),
    ("atomicExch", AtomicOp::Exchange),
    ("atomicMin", AtomicOp::Min),
    ("atomicMax", AtomicOp::Max),
    ("atomicAnd", AtomicOp::And),
    ("atomicOr", AtomicOp::Or),
    ("atomicXor", AtomicOp::Xor),
    ("atomicInc", AtomicOp::Increment),
    ("atomicDec", AtomicOp::Decrement),
    ("atomicCAS", AtomicOp::CompareAndSwap),
];

const SCOPES: &[(&str, Scope)] = &[("", Scope::Device), ("_block", Scope::Block), ("_system", Scope::System)];

const COLLECTIVES: &[(&str, CollectiveOp)] = &[
    ("__shfl_sync", CollectiveOp::Shuffle),
    ("__shfl_up_sync", CollectiveOp::ShuffleUp),
    ("__shfl_down_sync", CollectiveOp::ShuffleDown),
    ("__shfl_xor_sync", CollectiveOp::ShuffleXor),
    ("__ballot_sync", CollectiveOp::Ballot),
    ("__any_sync", CollectiveOp::Any),
    ("__all_sync", CollectiveOp::All),
    ("__match_any_sync", CollectiveOp::MatchAny),
    ("__match_all_sync", CollectiveOp::MatchAll),
    ("__reduce_add_sync", CollectiveOp::ReduceAdd),
    ("__reduce_min_sync", CollectiveOp::ReduceMin),
    ("__reduce_max_sync", CollectiveOp::ReduceMax),
    ("__reduce_and_sync", CollectiveOp::ReduceAnd),
    ("__reduce_or_sync", CollectiveOp::ReduceOr),
    ("__reduce_xor_sync", CollectiveOp::ReduceXor),
    ("__activemask", CollectiveOp::ActiveMask),
];

/// The addition of `cotangent/add.hpp`, which is right in any memory.
pub const ADD_ANYWHERE: &str = "add_anywhere";

/// That of a whole block to one place.
pub const ADD_TOGETHER: &str = "add_together";

/// The functions of `cotangent/add.hpp`.
const ADDERS: &[(&str, Scope)] = &[(ADD_ANYWHERE, Scope::Anywhere), (ADD_TOGETHER, Scope::Together)];

/// The statement that a device function is, if it is one.
pub fn intrinsic(name: &str) -> Option<Intrinsic> {
    if let Some((_, scope)) = ADDERS.iter().find(|(known, _)| *known == name) {
        return Some(Intrinsic::Atomic(AtomicOp::Add, *scope));
    }
    if let Some((_, kind)) = BARRIERS.iter().find(|(known, _)| *known == name) {
        return Some(Intrinsic::Barrier(*kind));
    }
    if let Some((_, op)) = COLLECTIVES.iter().find(|(known, _)| *known == name) {
        return Some(Intrinsic::Collective(*op));
    }
    ATOMICS.iter().find_map(|(known, op)| {
        let suffix = name.strip_prefix(known)?;
        let (_, scope) = SCOPES.iter().find(|(known, _)| *known == suffix)?;
        Some(Intrinsic::Atomic(*op, *scope))
    })
}

/// The name of the device function that a statement is.
pub fn intrinsic_spelling(intrinsic: Intrinsic) -> String {
    fn name<T: PartialEq>(table: &[(&'static str, T)], wanted: &T) -> &'static str {
        table.iter().find(|(_, known)| known == wanted).map_or("", |(name, _)| name)
    }
    match intrinsic {
        Intrinsic::Barrier(kind) => name(BARRIERS, &kind).to_owned(),
        Intrinsic::Collective(op) => name(COLLECTIVES, &op).to_owned(),
        Intrinsic::Atomic(_, scope @ (Scope::Anywhere | Scope::Together)) => name(ADDERS, &scope).to_owned(),
        Intrinsic::Atomic(op, scope @ (Scope::Device | Scope::Block | Scope::System)) => {
            format!("{}{}", name(ATOMICS, &op), name(SCOPES, &scope))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_meanings_agree() {
        let barriers = BARRIERS.iter().map(|(name, _)| (*name).to_owned());
        let collectives = COLLECTIVES.iter().map(|(name, _)| (*name).to_owned());
        let atomics =
            ATOMICS.iter().flat_map(|(name, _)| SCOPES.iter().map(move |(suffix, _)| format!("{name}{suffix}")));
        for name in barriers.chain(collectives).chain(atomics).chain(ADDERS.iter().map(|(name, _)| (*name).to_owned()))
        {
            assert_eq!(intrinsic(&name).map(intrinsic_spelling), Some(name));
        }
        assert_eq!(intrinsic("atomicAddX"), None);
    }
}
