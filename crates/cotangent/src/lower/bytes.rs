//! `memcpy` in device code: an assignment, or a loop of them, where both sides are of one type and whole elements are copied.
//! What is left are bits that change their type, which carry no derivative; they are refused.

use super::body::Body;
use super::constant::convert;
use super::context::{Lowered, broken, problem_with_help};
use super::place::{deref, element};
use crate::clang::Node;
use crate::diagnostic;
use crate::ir::{BinaryOp, Expr, ExprKind, FloatKind, For, Place, PlaceKind, StmtKind, Storage, Type};

impl<'a> Body<'_, 'a> {
    /// `memcpy(to, from, bytes)`.
    pub(super) fn copy_bytes(&mut self, node: &'a Node, args: &[&'a Node]) -> Lowered<()> {
        let Ok([to, from, bytes]) = <[Expr; 3]>::try_from(self.copied(args)?) else {
            return broken(node.span, "a copy of nothing");
        };
        let (to, from) = (first_element(before_void(to)), first_element(before_void(from)));
        if let Some(view) = self.whole_vector(&to, &from, &bytes) {
            let (to, from) = (seen_as(to, &view, false), seen_as(from, &view, true));
            self.emit(StmtKind::Assign { place: deref(to), value: Expr::load(deref(from)) });
            return Ok(());
        }
        if self.copy_record(&to, &from, &bytes) {
            return Ok(());
        }
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
            unroll: None,
            body,
        })));
        Ok(())
    }
}

impl Body<'_, '_> {
    /// The vector of CUDA's that is copied whole to or from an array which is aligned like it: the same as an assignment of such
    /// a vector, with the array seen as one.
    fn whole_vector(&self, to: &Expr, from: &Expr, bytes: &Expr) -> Option<Type> {
        let as_vector = |pointer: &Expr| match pointer.ty.pointee() {
            Some(Type::Record(id)) => {
                let record = &self.context.module.records[*id];
                let is_sized = record.is_builtin && record.name.ends_with(['2', '4']);
                let sizes = record.fields.iter().map(|field| size_of(&field.ty)).sum::<Option<u64>>();
                sizes.filter(|_| is_sized).map(|size| (Type::Record(*id), size))
            }
            _ => None,
        };
        let ((vector, size), array) = match (as_vector(to), as_vector(from)) {
            (Some(vector), None) => (vector, from),
            (None, Some(vector)) => (vector, to),
            _ => return None,
        };
        let is_whole = match &bytes.kind {
            ExprKind::SizeOf(ty @ Type::Array(..)) => size_of(ty) == Some(size),
            ExprKind::SizeOf(ty) => *ty == vector,
            _ => false,
        };
        (is_whole && self.alignment(array)? >= size).then_some(vector)
    }

    /// What the first array of a record is aligned to, if its type says.
    fn alignment(&self, first: &Expr) -> Option<u64> {
        let ExprKind::AddressOf(Place { kind: PlaceKind::Index(array, index), .. }) = &first.kind else { return None };
        let PlaceKind::Field(record, 0) = &array.kind else { return None };
        let Type::Record(id) = &record.ty else { return None };
        self.context.module.records[*id].align.map(u64::from).filter(|_| index.is_zero())
    }
}

/// A pointer to an array as one to the vector that it holds.
fn seen_as(pointer: Expr, vector: &Type, is_const: bool) -> Expr {
    let mut ty = pointer.ty.unrestricted();
    match &mut ty {
        Type::Pointer(to) if to.pointee != *vector => {
            to.pointee = vector.clone();
            to.is_const = is_const;
        }
        _ => return pointer,
    }
    Expr::cast(pointer, ty)
}

/// How many bytes numbers and arrays of them take.
fn size_of(ty: &Type) -> Option<u64> {
    match ty {
        Type::Int(kind) => Some(u64::from(kind.bits()) / 8),
        Type::Float(FloatKind::Half | FloatKind::BFloat) => Some(2),
        Type::Float(FloatKind::Float) => Some(4),
        Type::Float(FloatKind::Double) => Some(8),
        Type::Array(element, length) => size_of(element)?.checked_mul(*length),
        Type::Void | Type::Bool | Type::Pointer(_) | Type::Record(_) | Type::Opaque(_) => None,
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
