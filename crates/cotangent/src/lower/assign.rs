//! Assignments: `=`, `+=` and its like, `++` and `--`.

use super::body::Body;
use super::constant::convert;
use super::context::{Lowered, broken};
use super::expr::binary_operator;
use crate::clang::{Kind, Node};
use crate::ir::{BinaryOp, Expr, Place, StmtKind, Type, Unread};

impl<'a> Body<'_, 'a> {
    /// `place = value`. The value is evaluated first, as C++17 prescribes.
    pub(super) fn assignment(&mut self, node: &'a Node) -> Lowered<Place> {
        let [target, value] = node.inner.as_slice() else {
            return broken(node.span, "an assignment of an unknown form");
        };
        self.assign(target, value)
    }

    /// Assigns an expression to what another names.
    pub(super) fn assign(&mut self, target: &'a Node, value: &'a Node) -> Lowered<Place> {
        if let Some(call) = self.as_call(value)?
            && self.call_type(call)? == self.context.node_type(self.pass, target)?
        {
            // `place = f(x)`: the result into the place.
            let prepared = self.prepare_call(call)?;
            let before = self.block.len();
            let place = self.place(target)?;
            if self.block.len() == before && self.is_stable(&place) {
                self.finish_call(prepared, Some(place.clone()))?;
                return Ok(place);
            }
            // The call comes before the effects of the place.
            let effects = self.block.split_off(before);
            let result = self.finish_call(prepared, None)?;
            self.block.extend(effects);
            let place = self.fixed(place);
            let Some(value) = result else { return broken(value.span, "a call without a result") };
            self.emit(StmtKind::Assign { place: place.clone(), value });
            return Ok(place);
        }
        let mut value = self.value(value)?;
        let before = self.block.len();
        let place = self.place(target)?;
        if self.block.len() == before
            && place.as_local().is_some()
            && place.ty == value.ty
            && let Some(args) = self.take_passed(&value)
        {
            self.emit(StmtKind::Opaque { code: Unread::Passed, args, into: Some(place.clone()) });
            return Ok(place);
        }
        self.protect(before, [&mut value]);
        let place = self.fixed(place);
        let value = convert(value, place.ty.clone());
        self.emit(StmtKind::Assign { place: place.clone(), value });
        Ok(place)
    }

    /// `place op= value`, computed in the type that C++ prescribes.
    pub(super) fn compound_assignment(&mut self, node: &'a Node) -> Lowered<Place> {
        let [target, value] = node.inner.as_slice() else {
            return broken(node.span, "an assignment of an unknown form");
        };
        let Some(op) = node.opcode().strip_suffix('=').and_then(binary_operator) else {
            return broken(node.span, "an assignment by an unknown operator");
        };
        let mut value = self.value(value)?;
        let before = self.block.len();
        let place = self.place(target)?;
        self.protect(before, [&mut value]);
        let place = self.fixed(place);
        let computed_in = match &node.data.compute_lhs_type {
            Some(ty) => {
                let ty = ty.0.clone();
                self.context.type_of(self.pass, &ty, node.span)?
            }
            None => place.ty.clone(),
        };
        let computed_in = if place.ty.is_pointer() { place.ty.clone() } else { computed_in };
        let old = convert(Expr::load(place.clone()), computed_in);
        let new = self.combine(op, old, value, node)?;
        let new = convert(new, place.ty.clone());
        self.emit(StmtKind::Assign { place: place.clone(), value: new });
        Ok(place)
    }

    /// `++place` and `--place`.
    pub(super) fn step(&mut self, node: &'a Node) -> Lowered<Place> {
        let Some(operand) = node.inner.first() else { return broken(node.span, "an operator without an operand") };
        let place = self.place(operand)?;
        let place = self.fixed(place);
        self.step_place(node, place.clone())?;
        Ok(place)
    }

    /// Adds one to a place, or takes one away.
    pub(super) fn step_place(&mut self, node: &'a Node, place: Place) -> Lowered<()> {
        debug_assert_eq!(node.kind, Kind::UnaryOperator);
        let op = if node.opcode() == "++" { BinaryOp::Add } else { BinaryOp::Subtract };
        // Small integers are computed in `int`, and pointers step by `int` elements.
        let is_small = matches!(&place.ty, Type::Int(kind) if kind.bits() < 32);
        let computed_in = if is_small { Type::INT } else { place.ty.clone() };
        let one = convert(Expr::int(1), if computed_in.is_pointer() { Type::INT } else { computed_in.clone() });
        let old = convert(Expr::load(place.clone()), computed_in);
        let new = self.combine(op, old, one, node)?;
        let new = convert(new, place.ty.clone());
        self.emit(StmtKind::Assign { place, value: new });
        Ok(())
    }
}
