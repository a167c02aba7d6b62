//! Places, and pointers to them.
//!
//! A reference is a pointer in the IR and the place itself in C++. So code of reference type is always that place:
//! `r` for the value of a reference variable, which is also how `*r` of the IR is written.

use super::expr::exact;
use super::precedence::{Code, Precedence};
use super::scope::Scope;
use super::types::type_name;
use crate::ir::{Expr, ExprKind, Place, PlaceKind, Type};

/// The place as an lvalue.
pub(super) fn place(scope: &Scope<'_>, place: &Place) -> Code {
    match &place.kind {
        PlaceKind::Local(local) => Code::postfix(scope.local_name(*local)),
        PlaceKind::Global(global) => Code::postfix(scope.reference(&scope.program.module.globals[*global].name)),
        PlaceKind::Element(pointer, index) => element(scope, pointer, index),
        PlaceKind::Field(base, position) => field(scope, base, *position),
        PlaceKind::Index(base, index) => subscript(scope, self::place(scope, base), index),
    }
}

/// A pointer to the place; for a reference type the place itself.
pub(super) fn address_of(scope: &Scope<'_>, target: &Place, ty: &Type) -> Code {
    if ty.is_reference() {
        return place(scope, target);
    }
    // An array becomes a pointer to its first element unasked.
    if let PlaceKind::Index(array, index) = &target.kind
        && index.is_int_zero()
    {
        return place(scope, array);
    }
    pointer_to(scope, target)
}

/// A pointer to the place as an atomic takes it: `p` rather than `&*p`, but `&a[0]` rather than `a`.
pub(super) fn atomic_address(scope: &Scope<'_>, target: &Place) -> Code {
    if let PlaceKind::Element(pointer, index) = &target.kind
        && index.is_int_zero()
        && !pointer.ty.is_reference()
    {
        return exact(scope, pointer);
    }
    pointer_to(scope, target)
}

fn pointer_to(scope: &Scope<'_>, target: &Place) -> Code {
    Code::unary(format!("&{}", place(scope, target).at_least(Precedence::Unary)))
}

fn element(scope: &Scope<'_>, pointer: &Expr, index: &Expr) -> Code {
    if pointer.kind == ExprKind::Null {
        // Never reached, but it has to compile.
        let null = Code::unary(format!("({})nullptr", type_name(scope, &pointer.ty)));
        return subscript(scope, null, index);
    }
    if !index.is_int_zero() {
        return subscript(scope, pointer_value(scope, pointer), index);
    }
    if pointer.ty.is_reference() {
        return exact(scope, pointer);
    }
    match pointed_place(pointer) {
        Some(target) => place(scope, target),
        None => Code::unary(format!("*{}", exact(scope, pointer).at_least(Precedence::Unary))),
    }
}

fn field(scope: &Scope<'_>, base: &Place, position: u32) -> Code {
    let name = field_name(scope, base, position);
    if let PlaceKind::Element(pointer, index) = &base.kind
        && index.is_int_zero()
        && !pointer.ty.is_reference()
        && pointed_place(pointer).is_none()
    {
        return Code::postfix(format!("{}->{name}", exact(scope, pointer).at_least(Precedence::Postfix)));
    }
    Code::postfix(format!("{}.{name}", place(scope, base).at_least(Precedence::Postfix)))
}

fn field_name<'a>(scope: &Scope<'a>, base: &Place, position: u32) -> &'a str {
    let Type::Record(record) = base.ty else { unreachable!("the validator has fields of records only") };
    &scope.program.module.records[record].fields[position as usize].name
}

fn subscript(scope: &Scope<'_>, base: Code, index: &Expr) -> Code {
    Code::postfix(format!("{}[{}]", base.at_least(Precedence::Postfix), exact(scope, index).text))
}

/// A pointer value, also where the IR has a reference.
fn pointer_value(scope: &Scope<'_>, pointer: &Expr) -> Code {
    let code = exact(scope, pointer);
    if pointer.ty.is_reference() { Code::unary(format!("&{}", code.at_least(Precedence::Unary))) } else { code }
}

/// The place that a pointer was just made from, unless an array stands for it.
fn pointed_place(pointer: &Expr) -> Option<&Place> {
    let ExprKind::AddressOf(target) = &pointer.kind else { return None };
    let is_decayed_array = matches!(&target.kind, PlaceKind::Index(_, index) if index.is_int_zero());
    (!is_decayed_array).then_some(target)
}
