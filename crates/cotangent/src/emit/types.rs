//! Types and declarators: `const float* __restrict__ x`, `float (*rows)[8]`, `float (&tile)[16]`, `float* table[4]`.

use super::scope::Scope;
use crate::ir::{IntKind, PointerType, RecordId, Type};

/// A type as it stands in a cast or in `sizeof`.
pub(super) fn type_name(scope: &Scope<'_>, ty: &Type) -> String {
    let parts = declarator(scope, ty);
    format!("{}{}", parts.before, parts.after)
}

/// The declaration of a variable of that type, without its initial value. A name may be empty.
pub(super) fn declaration(scope: &Scope<'_>, ty: &Type, name: &str) -> String {
    let parts = declarator(scope, ty);
    // A name stands next to the star in parentheses, and apart from everything else.
    let is_adjacent = name.is_empty() || parts.before.ends_with("(*") || parts.before.ends_with("(&");
    let gap = if is_adjacent { "" } else { " " };
    format!("{}{gap}{name}{}", parts.before, parts.after)
}

/// What a declaration says of a variable's alignment, in every dialect.
pub(super) fn aligned(align: Option<u32>) -> String {
    align.map(|align| format!("__align__({align}) ")).unwrap_or_default()
}

/// The name of a record.
pub(super) fn record_name(scope: &Scope<'_>, record: RecordId) -> String {
    scope.reference(&scope.program.module.records[record].name)
}

/// What stands before and after a declared name.
struct Declarator {
    before: String,
    after: String,
}

fn declarator(scope: &Scope<'_>, ty: &Type) -> Declarator {
    match ty {
        Type::Void => plain("void"),
        Type::Bool => plain("bool"),
        Type::Int(kind) => plain(integer_name(*kind)),
        Type::Float(kind) => plain(kind.spelling()),
        Type::Record(record) => plain(&record_name(scope, *record)),
        Type::Opaque(name) => plain(name),
        Type::Array(element, length) => {
            let parts = declarator(scope, element);
            Declarator { before: parts.before, after: format!("[{length}]{}", parts.after) }
        }
        Type::Pointer(pointer) => pointer_declarator(scope, pointer),
    }
}

/// `size_t` is what programs mean by an `unsigned long`, most of them say so, and it is as wide where `long` is not.
fn integer_name(kind: IntKind) -> &'static str {
    if kind == IntKind::UnsignedLong { "size_t" } else { kind.spelling() }
}

fn plain(name: &str) -> Declarator {
    Declarator { before: name.to_owned(), after: String::new() }
}

/// What CUDA calls pointers to its own records.
const HANDLES: [(&str, &str); 2] = [("CUstream_st", "cudaStream_t"), ("CUevent_st", "cudaEvent_t")];

fn pointer_declarator(scope: &Scope<'_>, pointer: &PointerType) -> Declarator {
    if let Type::Opaque(name) = &pointer.pointee
        && let Some((_, handle)) = HANDLES.iter().find(|(record, _)| **record == **name)
        && !(pointer.is_const || pointer.is_restrict || pointer.is_volatile || pointer.is_reference)
    {
        return plain(handle);
    }
    let mut parts = qualified(declarator(scope, &pointer.pointee), pointer);
    let mut mark = String::from(if pointer.is_reference { "&" } else { "*" });
    if pointer.is_restrict {
        mark.push_str(" __restrict__");
    }
    if let Type::Array(..) = pointer.pointee {
        parts.before.push_str(" (");
        parts.after.insert(0, ')');
    }
    parts.before.push_str(&mark);
    parts
}

/// The pointee's declarator with the qualifiers that the pointer gives it: in front of a plain type, after a star.
fn qualified(mut parts: Declarator, pointer: &PointerType) -> Declarator {
    for (is_set, qualifier) in [(pointer.is_volatile, "volatile"), (pointer.is_const, "const")] {
        if !is_set {
            continue;
        }
        if pointer.pointee.innermost_element().is_pointer() {
            parts.before = format!("{} {qualifier}", parts.before);
        } else {
            parts.before = format!("{qualifier} {}", parts.before);
        }
    }
    parts
}
