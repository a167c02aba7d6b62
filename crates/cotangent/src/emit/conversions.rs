//! C++'s conversions between arithmetic types and between pointers, as functions of the types alone.
//!
//! The printer leaves out a conversion only where C++ makes the same one, so these rules decide which casts are
//! printed. They follow Clang's syntax tree step by step, because the printed text is read by Clang again.
//! `__half` and `__nv_bfloat16` are classes in CUDA; no rule here converts them.

use crate::ir::{FloatKind, IntKind, PointerType, Type};

/// The type of an operand after integer promotion: what is smaller than `int` becomes `int`.
pub(super) fn promoted(ty: &Type) -> Type {
    if is_smaller_than_int(ty) { Type::INT } else { ty.clone() }
}

/// Whether integer promotion changes the type.
pub(super) fn is_smaller_than_int(ty: &Type) -> bool {
    match ty {
        Type::Bool => true,
        Type::Int(kind) => kind.bits() < 32,
        Type::Void | Type::Float(_) | Type::Pointer(_) | Type::Array(..) | Type::Record(_) | Type::Opaque(_) => false,
    }
}

/// The type that a binary operator computes in: the usual arithmetic conversions of both operands.
/// `None` if there is none, as for a pointer or for two different types of which one is a class.
pub(super) fn common(left: &Type, right: &Type) -> Option<Type> {
    if left == right && !is_smaller_than_int(left) {
        return left.is_arithmetic().then(|| left.clone());
    }
    if !is_standard_arithmetic(left) || !is_standard_arithmetic(right) {
        return None;
    }
    if let (Type::Float(left), Type::Float(right)) = (left, right) {
        return Some(Type::Float(*left.max(right)));
    }
    if let Some(float) = [left, right].into_iter().find(|ty| matches!(ty, Type::Float(_))) {
        return Some(float.clone());
    }
    Some(Type::Int(common_integer(promoted_kind(left), promoted_kind(right))))
}

/// The type of `condition ? a : b`: two equal types stay, others meet as the operands of an operator do.
pub(super) fn common_of_branches(left: &Type, right: &Type) -> Option<Type> {
    if left == right { Some(left.clone()) } else { common(left, right) }
}

/// The type that a value has when it is passed for `...`.
pub(super) fn promoted_in_ellipsis(ty: &Type) -> Type {
    if *ty == Type::FLOAT { Type::DOUBLE } else { promoted(ty) }
}

/// Whether an operator converts `from` to `to` in two steps, by way of `int`. Clang merges two integer conversions
/// into one, but not an integer conversion and one to a floating type.
pub(super) fn converts_through_int(from: &Type, to: &Type) -> bool {
    is_smaller_than_int(from) && matches!(to, Type::Float(_))
}

/// Whether C++ converts `from` to `to` unasked in an initialisation, an assignment, an argument or a return.
pub(super) fn is_implicit(from: &Type, to: &Type) -> bool {
    if let Type::Pointer(from) = from {
        return match to {
            Type::Pointer(to) => is_implicit_pointer(from, to),
            Type::Bool => !from.is_reference,
            Type::Void | Type::Int(_) | Type::Float(_) | Type::Array(..) | Type::Record(_) | Type::Opaque(_) => false,
        };
    }
    is_standard_arithmetic(from) && is_standard_arithmetic(to)
}

/// Whether the conversion is one that braces forbid for a value that is not known when compiling.
pub(super) fn is_narrowing(from: &Type, to: &Type) -> bool {
    if let (Type::Int(from), Type::Int(to)) = (from, to) {
        return !holds_all_of(*to, *from);
    }
    if let (Type::Float(from), Type::Float(to)) = (from, to) {
        return from > to;
    }
    let is_from_bool = *from == Type::Bool && to.is_integral();
    let is_between_pointers = from.is_pointer() && to.is_pointer();
    !is_from_bool && !is_between_pointers
}

/// Whether a value of the type is a number to the language itself, and not an object of a class.
pub(super) fn is_standard_arithmetic(ty: &Type) -> bool {
    ty.is_arithmetic() && !matches!(ty, Type::Float(FloatKind::Half | FloatKind::BFloat))
}

/// Whether the two types differ at most in `__restrict__`, which no value has.
pub(super) fn is_same_value_type(left: &Type, right: &Type) -> bool {
    let (Type::Pointer(left), Type::Pointer(right)) = (left, right) else { return left == right };
    PointerType { is_restrict: right.is_restrict, ..(**left).clone() } == **right
}

/// Whether a conversion to `to` would lose the `const` or `volatile` of `from`.
pub(super) fn drops_qualifiers(from: &PointerType, to: &PointerType) -> bool {
    (from.is_const && !to.is_const) || (from.is_volatile && !to.is_volatile)
}

fn is_implicit_pointer(from: &PointerType, to: &PointerType) -> bool {
    from.is_reference == to.is_reference
        && !drops_qualifiers(from, to)
        && (from.pointee == to.pointee || (to.pointee == Type::Void && !to.is_reference))
}

/// The usual arithmetic conversions of two promoted integer types.
fn common_integer(left: IntKind, right: IntKind) -> IntKind {
    let (low, high) = if left <= right { (left, right) } else { (right, left) };
    if low.is_signed() == high.is_signed() || !high.is_signed() || holds_all_of(high, low) {
        high
    } else {
        unsigned(high)
    }
}

/// The integer type that `bool` or an integer type is promoted to.
fn promoted_kind(ty: &Type) -> IntKind {
    match ty {
        Type::Int(kind) if kind.bits() >= 32 => *kind,
        Type::Int(_)
        | Type::Void
        | Type::Bool
        | Type::Float(_)
        | Type::Pointer(_)
        | Type::Array(..)
        | Type::Record(_)
        | Type::Opaque(_) => IntKind::Int,
    }
}

fn holds_all_of(wide: IntKind, narrow: IntKind) -> bool {
    match (wide.is_signed(), narrow.is_signed()) {
        (true, false) => wide.bits() > narrow.bits(),
        (false, true) => false,
        (true, true) | (false, false) => wide.bits() >= narrow.bits(),
    }
}

fn unsigned(kind: IntKind) -> IntKind {
    match kind {
        IntKind::Char | IntKind::SignedChar | IntKind::UnsignedChar => IntKind::UnsignedChar,
        IntKind::Short | IntKind::UnsignedShort => IntKind::UnsignedShort,
        IntKind::Int | IntKind::UnsignedInt => IntKind::UnsignedInt,
        IntKind::Long | IntKind::UnsignedLong => IntKind::UnsignedLong,
        IntKind::LongLong | IntKind::UnsignedLongLong => IntKind::UnsignedLongLong,
    }
}

#[cfg(test)]
mod tests;
