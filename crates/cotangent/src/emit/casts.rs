//! Conversions that are printed.

use super::conversions::{drops_qualifiers, is_same_value_type};
use super::precedence::{Code, Precedence};
use super::scope::Scope;
use super::types::type_name;
use crate::ir::{PointerType, Type};

/// Code of one type, converted to another.
pub(super) fn cast(scope: &Scope<'_>, code: Code, from: &Type, to: &Type) -> Code {
    if is_same_value_type(from, to) {
        return code;
    }
    if let (Type::Pointer(old), Type::Pointer(new)) = (from, to) {
        return pointer_cast(scope, code, old, new, to);
    }
    let is_address_as_number =
        matches!((from, to), (Type::Pointer(_), Type::Int(_)) | (Type::Int(_), Type::Pointer(_)));
    if is_address_as_number {
        return named_cast(scope, "reinterpret_cast", to, code);
    }
    plain_cast(scope, to, code)
}

/// `(T)operand`.
pub(super) fn plain_cast(scope: &Scope<'_>, ty: &Type, operand: Code) -> Code {
    Code::unary(format!("({}){}", type_name(scope, ty), operand.into_unary_operand()))
}

fn pointer_cast(scope: &Scope<'_>, code: Code, from: &PointerType, to: &PointerType, ty: &Type) -> Code {
    let is_same_pointee = from.pointee == to.pointee;
    // `reinterpret_cast` must not change what inner pointers promise.
    let change = if bare(&from.pointee) == bare(&to.pointee) { "const_cast" } else { "reinterpret_cast" };
    match (from.is_reference, to.is_reference) {
        // The place itself, whatever its qualifiers; only `const` that is taken away must be said.
        (true, true) if is_same_pointee && !drops_qualifiers(from, to) => code,
        (true, true) if is_same_pointee => named_cast(scope, "const_cast", ty, code),
        (true, true) => named_cast(scope, change, ty, code),
        (true, false) => {
            let pointer = Code::unary(format!("&{}", code.at_least(Precedence::Unary)));
            if is_same_pointee { pointer } else { named_cast(scope, change, ty, placed(scope, pointer)) }
        }
        (false, true) => {
            let place = Code::unary(format!("*{}", code.at_least(Precedence::Unary)));
            if is_same_pointee { place } else { named_cast(scope, change, ty, place) }
        }
        (false, false) => {
            let drops = drops_qualifiers(from, to);
            match (is_same_pointee, drops) {
                (true, true) => named_cast(scope, "const_cast", ty, code),
                (true, false) => plain_cast(scope, ty, code),
                (false, _) if change == "const_cast" => named_cast(scope, change, ty, code),
                (false, false) if from.pointee == Type::Void || to.pointee == Type::Void => {
                    named_cast(scope, "static_cast", ty, code)
                }
                (false, false) => named_cast(scope, "reinterpret_cast", ty, placed(scope, code)),
                (false, true) => plain_cast(scope, ty, placed(scope, code)),
            }
        }
    }
}

/// A pointer of which only its type says how it is aligned.
fn placed(scope: &Scope<'_>, pointer: Code) -> Code {
    match scope.program.spellings.placed {
        Some(function) => Code::postfix(format!("{function}({})", pointer.text)),
        None => pointer,
    }
}

/// A type whose pointers promise nothing.
fn bare(ty: &Type) -> Type {
    let mut ty = ty.unrestricted();
    if let Type::Pointer(pointer) = &mut ty {
        pointer.is_const = false;
        pointer.pointee = bare(&pointer.pointee);
    }
    ty
}

fn named_cast(scope: &Scope<'_>, name: &str, ty: &Type, operand: Code) -> Code {
    Code::postfix(format!("{name}<{}>({})", type_name(scope, ty), operand.text))
}
