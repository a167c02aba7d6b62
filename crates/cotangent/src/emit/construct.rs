//! Records and arrays made from their parts.

use super::expr::{converted, in_braces};
use super::layout::comma_separated;
use super::literals::string;
use super::precedence::Code;
use super::scope::Scope;
use super::types::record_name;
use crate::ir::{Expr, ExprKind, IntKind, Record, RecordId, Type};

/// A value made from its parts, as an expression: `make_float3(x, y, z)`, `dim3(x)`, `Vec3{x, y, z}`.
pub(super) fn construct(scope: &Scope<'_>, ty: &Type, parts: &[Expr]) -> Code {
    let Type::Record(id) = ty else { return Code::postfix(braces(scope, parts)) };
    if let Some(call) = constructor_call(scope, *id, parts) {
        return Code::postfix(call);
    }
    Code::postfix(format!("{}{}", record_name(scope, *id), fields(scope, *id, parts)))
}

/// The initial value of a declared variable with what precedes it: ` = {x, y}`, `(x, y)` for `dim3`.
pub(super) fn initializer(scope: &Scope<'_>, ty: &Type, parts: &[Expr]) -> String {
    let Type::Record(id) = ty else { return array_initializer(scope, ty, parts) };
    if is_extent_type(scope, ty) {
        return format!("({})", extents(scope, parts));
    }
    match constructor_call(scope, *id, parts) {
        Some(call) => format!(" = {call}"),
        None => format!(" = {}", fields(scope, *id, parts)),
    }
}

/// The same for a variable outside functions, whose value must be a constant: `make_float3` is none.
pub(super) fn constant_initializer(scope: &Scope<'_>, ty: &Type, parts: &[Expr]) -> String {
    if is_extent_type(scope, ty) {
        return initializer(scope, ty, parts);
    }
    array_initializer(scope, ty, parts)
}

/// ` = {x, y}`; of characters ` = "xy"`, which has a zero at its end.
fn array_initializer(scope: &Scope<'_>, ty: &Type, parts: &[Expr]) -> String {
    match characters(ty, parts) {
        Some(text) => format!(" = {}", string(&text)),
        None => format!(" = {}", braces(scope, parts)),
    }
}

/// The text that an array of characters begins with, if it is one that ends where the array has room for more.
fn characters(ty: &Type, parts: &[Expr]) -> Option<String> {
    let Type::Array(element, length) = ty else { return None };
    let has_room = (parts.len() as u64) < *length && !parts.is_empty();
    let letter = |part: &Expr| {
        let ExprKind::Int(code) = part.kind else { return None };
        u8::try_from(code).ok().filter(|code| (1..127).contains(code)).map(char::from)
    };
    (has_room && **element == Type::Int(IntKind::Char)).then(|| parts.iter().map(letter).collect())?
}

/// Whether the type is `dim3`.
pub(super) fn is_extent_type(scope: &Scope<'_>, ty: &Type) -> bool {
    matches!(ty, Type::Record(id) if is_extent(&scope.program.module.records[*id]))
}

/// The arguments of `dim3`, which is 1 where nothing is given, while a part that the IR leaves out is 0.
pub(super) fn extents(scope: &Scope<'_>, parts: &[Expr]) -> String {
    let mut shown: Vec<&Expr> = parts.iter().collect();
    if parts.len() == 3 {
        while shown.len() > 1 && shown.last().is_some_and(|part| part.kind == ExprKind::Int(1)) {
            shown.pop();
        }
    }
    let mut texts: Vec<String> = shown.iter().map(|part| converted(scope, part).text).collect();
    if parts.len() < 3 {
        texts.resize(3, "0".to_owned());
    }
    comma_separated(&texts)
}

fn is_extent(record: &Record) -> bool {
    record.is_builtin && &*record.name == "dim3"
}

fn constructor_call(scope: &Scope<'_>, id: RecordId, parts: &[Expr]) -> Option<String> {
    let record = &scope.program.module.records[id];
    if is_extent(record) {
        return Some(format!("dim3({})", extents(scope, parts)));
    }
    if !is_vector(record) || parts.len() != record.fields.len() {
        return None;
    }
    let parts: Vec<String> = parts.iter().map(|part| converted(scope, part).text).collect();
    Some(format!("make_{}({})", record.name, comma_separated(&parts)))
}

/// Whether the record is one of CUDA's vector types, which have a function `make_` each.
fn is_vector(record: &Record) -> bool {
    const ELEMENTS: [&str; 12] = [
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "longlong",
        "ulonglong",
        "float",
        "double",
    ];
    let is_sized = |rest: &str| matches!(rest, "1" | "2" | "3" | "4");
    record.is_builtin && ELEMENTS.iter().any(|element| record.name.strip_prefix(element).is_some_and(is_sized))
}

/// The fields of a record. A struct of CUDA's runtime that is all zero needs none: it may have others elsewhere.
fn fields(scope: &Scope<'_>, id: RecordId, parts: &[Expr]) -> String {
    let record = &scope.program.module.records[id];
    let is_of_runtime = record.is_builtin && record.name.starts_with("cuda");
    if is_of_runtime && parts.iter().all(is_zero) { "{}".to_owned() } else { braces(scope, parts) }
}

fn is_zero(part: &Expr) -> bool {
    match &part.kind {
        ExprKind::Bool(value) => !value,
        ExprKind::Int(value) => *value == 0,
        ExprKind::Float(value) => value.0.to_bits() == 0,
        ExprKind::Null => true,
        ExprKind::Construct(parts) => parts.iter().all(is_zero),
        ExprKind::Cast(operand) => is_zero(operand),
        ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_) => false,
    }
}

fn braces(scope: &Scope<'_>, parts: &[Expr]) -> String {
    let texts: Vec<String> = parts.iter().map(|part| list_element(scope, part)).collect();
    format!("{{{}}}", comma_separated(&texts))
}

/// An element of a braced list; a nested list needs no type.
fn list_element(scope: &Scope<'_>, part: &Expr) -> String {
    let ExprKind::Construct(parts) = &part.kind else { return in_braces(scope, part).text };
    if is_extent_type(scope, &part.ty) { construct(scope, &part.ty, parts).text } else { braces(scope, parts) }
}
