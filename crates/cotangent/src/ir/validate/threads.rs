//! Checks statements about several threads: barriers, atomics, collectives, launches.

use super::Checker;
use crate::ir::{AtomicOp, BarrierKind, CollectiveOp, Expr, FloatKind, Launch, Place, Scope, Space, Type};

impl Checker<'_> {
    pub(super) fn barrier(&mut self, kind: BarrierKind, argument: Option<&Expr>, into: Option<&Place>) {
        self.require(self.is_device(), "a barrier outside device code");
        let is_counting = match kind {
            BarrierKind::BlockCount | BarrierKind::BlockAnd | BarrierKind::BlockOr => {
                self.require(argument.is_some(), "a counting barrier without a predicate");
                argument.iter().for_each(|argument| self.value_of_type("the predicate", argument, &Type::INT));
                true
            }
            BarrierKind::Warp => {
                argument.iter().for_each(|argument| self.value_of_type("the mask", argument, &Type::UINT));
                false
            }
            BarrierKind::Block | BarrierKind::Fence | BarrierKind::FenceBlock | BarrierKind::FenceSystem => {
                self.require(argument.is_none(), "this barrier has no argument");
                false
            }
        };
        if let Some(into) = into {
            self.require(is_counting, "only a counting barrier has a result");
            self.store(into);
            self.same_type("where the result goes", &into.ty, &Type::INT);
        }
    }

    pub(super) fn atomic(
        &mut self,
        (op, scope): (AtomicOp, Scope),
        place: &Place,
        value: &Expr,
        compare: Option<&Expr>,
        into: Option<&Place>,
    ) {
        self.require(self.is_device(), "an atomic outside device code");
        self.store(place);
        let is_able = match place.ty {
            Type::Int(kind) => kind.bits() >= 32,
            Type::Float(FloatKind::Half | FloatKind::BFloat) => op == AtomicOp::Add,
            Type::Float(FloatKind::Float | FloatKind::Double) => true,
            Type::Void | Type::Bool | Type::Pointer(_) | Type::Array(..) | Type::Record(_) | Type::Opaque(_) => false,
        };
        self.require(is_able, "an atomic on what is no scalar of 32 or 64 bits");
        self.value_of_type("the value", value, &place.ty);
        let is_function = [Scope::Anywhere, Scope::Together].contains(&scope);
        let is_plain_sum = op == AtomicOp::Add && into.is_none();
        self.require(
            !is_function || is_plain_sum,
            "an atomic anywhere or together that is no addition without a result",
        );
        let is_compare = op == AtomicOp::CompareAndSwap;
        self.require(compare.is_some() == is_compare, "a value to compare with belongs to compare-and-swap alone");
        compare.iter().for_each(|compare| self.value_of_type("the value to compare with", compare, &place.ty));
        if let Some(into) = into {
            self.store(into);
            self.same_type("where the result goes", &into.ty, &place.ty);
        }
    }

    pub(super) fn collective(&mut self, op: CollectiveOp, mask: Option<&Expr>, args: &[Expr], into: Option<&Place>) {
        self.require(self.is_device(), "a collective outside device code");
        let has_mask = op != CollectiveOp::ActiveMask;
        self.require(mask.is_some() == has_mask, "all collectives but the active mask have a mask");
        mask.iter().for_each(|mask| self.value_of_type("the mask", mask, &Type::UINT));
        args.iter().for_each(|arg| self.value(arg));
        let first = args.first().map_or(&Type::Void, |first| &first.ty);
        let flag = &Type::pointer(Type::INT);
        let (expected, optional, result) = match op {
            CollectiveOp::Shuffle | CollectiveOp::ShuffleXor => (vec![first, &Type::INT], Some(&Type::INT), first),
            CollectiveOp::ShuffleUp | CollectiveOp::ShuffleDown => (vec![first, &Type::UINT], Some(&Type::INT), first),
            CollectiveOp::Ballot => (vec![&Type::INT], None, &Type::UINT),
            CollectiveOp::Any | CollectiveOp::All => (vec![&Type::INT], None, &Type::INT),
            CollectiveOp::MatchAny => (vec![first], None, &Type::UINT),
            CollectiveOp::MatchAll => (vec![first, flag], None, &Type::UINT),
            CollectiveOp::ReduceAdd
            | CollectiveOp::ReduceMin
            | CollectiveOp::ReduceMax
            | CollectiveOp::ReduceAnd
            | CollectiveOp::ReduceOr
            | CollectiveOp::ReduceXor => (vec![first], None, first),
            CollectiveOp::ActiveMask => (vec![], None, &Type::UINT),
        };
        let most = expected.len() + usize::from(optional.is_some());
        self.require((expected.len()..=most).contains(&args.len()), "a collective with too few or too many arguments");
        for (arg, expected) in args.iter().zip(expected.into_iter().chain(optional)) {
            self.same_type("an argument", &arg.ty, expected);
        }
        if let Some(into) = into {
            self.store(into);
            self.same_type("where the result goes", &into.ty, result);
        }
    }

    pub(super) fn launch(&mut self, launch: &Launch) {
        self.require(self.is_host(), "a launch outside host code");
        for extent in launch.grid.iter().chain(&launch.block) {
            self.value_of_type("an extent", extent, &Type::UINT);
        }
        launch.shared.iter().for_each(|shared| self.value_of_type("the shared size", shared, &Type::SIZE));
        launch.stream.iter().for_each(|stream| self.value(stream));
        let Some(kernel) = self.callee(launch.kernel) else { return };
        self.require(kernel.space == Space::Kernel, "a launch of what is no kernel");
        self.args(kernel, &launch.args);
    }
}
