//! `memcpy` in device code: an assignment, or a loop of them, where both sides are of one type and whole elements are copied.
//! What is left are bits that change their type, which carry no derivative; they are refused.

use super::body::Body;
use super::constant::convert;
use super::context::{Lowered, broken, problem_with_help};
use super::place::{deref, element};
use crate::clang::Node;
use crate::diagnostic;
use crate::ir::{BinaryOp, Expr, ExprKind, For, Place, StmtKind, Storage, Type};

impl<'a> Body<'_, 'a> {
    /// `memcpy(to, from, bytes)`.
    pub(super) fn copy_bytes(&mut self, node: &'a Node, args: &[&'a Node]) -> Lowered<()> {
        let Ok([to, from, bytes]) = <[Expr; 3]>::try_from(self.values(args)?) else {
            return broken(node.span, "a copy of nothing");
        };
        let (to, from) = (first_element(before_void(to)), first_element(before_void(from)));
        let element_type = to.ty.pointee().filter(|pointee| from.ty.pointee() == Some(*pointee)).cloned();
        let count = element_type.as_ref().filter(|ty| **ty != Type::Void).and_then(|ty| elements(&bytes, ty));
        let Some(count) = count else {
            return problem_with_help(
                diagnostic::UNSUPPORTED_CALL,
                node.span,
                "`memcpy` between different types, or of parts of elements, is not supported",
                "called here",
                "copy as many whole elements as a multiple of `sizeof` says, between pointers to one type; for the bits of \
                 a number there are `__float_as_int` and its like",
            );
        };
        if matches!(count.kind, ExprKind::Int(1)) {
            let (place, value) = (deref(to), Expr::load(deref(from)));
            self.emit(StmtKind::Assign { place, value });
            return Ok(());
        }
        // What is stored must not change where it is stored.
        let (to, from) = (self.keep(to), self.keep(from));
        let count = if matches!(count.kind, ExprKind::Int(_)) { count } else { self.keep(count) };
        let counter = self.new_local("k", count.ty.clone(), Storage::Private, node.span);
        let index = Expr::load(self.local_place(counter));
        let ((), body) = self.nested(|lowering| {
            let (place, value) = (element(to, index.clone()), Expr::load(element(from, index)));
            lowering.emit(StmtKind::Assign { place, value });
        });
        let constant = |value| convert(Expr::int(value), count.ty.clone());
        let (first, by) = (constant(0), constant(1));
        let test = BinaryOp::Less;
        self.emit(StmtKind::For(Box::new(For {
            counter,
            from: first,
            test,
            to: count,
            step: BinaryOp::Add,
            by,
            body,
        })));
        Ok(())
    }
}

/// The pointer as it was before it became one to `void`.
fn before_void(pointer: Expr) -> Expr {
    match pointer.kind {
        ExprKind::Cast(inner) if pointer.ty.pointee() == Some(&Type::Void) && inner.ty.is_pointer() => *inner,
        _ => pointer,
    }
}

/// Of a pointer to a whole array, the one to its first element.
fn first_element(pointer: Expr) -> Expr {
    match pointer.kind {
        ExprKind::AddressOf(Place { ty: Type::Array(..), .. }) => {
            let span = pointer.span;
            let ExprKind::AddressOf(array) = pointer.kind else { return pointer };
            let first = array.index(Expr::int(0));
            let ty = Type::pointer(first.ty.clone());
            first_element(Expr::new(ExprKind::AddressOf(first), ty).at(span))
        }
        _ => pointer,
    }
}

/// How many elements of a type so many bytes are, if `sizeof` tells: a plain number would be another in the program that is
/// compiled with `double` for `float` to check it.
fn elements(bytes: &Expr, element: &Type) -> Option<Expr> {
    match &bytes.kind {
        ExprKind::SizeOf(ty) => count_in(ty, element).map(Expr::int),
        ExprKind::Binary(BinaryOp::Multiply, left, right) => {
            let (size, factor) = if matches!(left.kind, ExprKind::SizeOf(_)) { (left, right) } else { (right, left) };
            matches!(&size.kind, ExprKind::SizeOf(ty) if ty == element).then(|| as_written(factor))
        }
        _ => None,
    }
}

/// A count without its conversion to `size_t`: a negative one would have been far too many.
fn as_written(count: &Expr) -> Expr {
    match &count.kind {
        ExprKind::Int(number) => {
            i32::try_from(*number).map_or_else(|_| count.clone(), |number| Expr::int(number.into()))
        }
        ExprKind::Cast(inner) if matches!(inner.ty, Type::Int(_)) => (**inner).clone(),
        _ => count.clone(),
    }
}

/// How many elements a type holds that is made of them.
fn count_in(ty: &Type, element: &Type) -> Option<i64> {
    match ty {
        _ if ty == element => Some(1),
        Type::Array(inner, length) => count_in(inner, element)?.checked_mul(i64::try_from(*length).ok()?),
        _ => None,
    }
}
