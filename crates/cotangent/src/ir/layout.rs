//! Where values lie, as nvcc and the compiler of the host lay them out.

use super::{Field, FloatKind, Module, Type};

/// Whether the fields of a record do not lie one right after another, or bytes follow the last.
pub fn has_padding(module: &Module, fields: &[Field]) -> bool {
    let fields = fields.iter().map(|field| layout(module, &field.ty));
    let (end, alignment, is_apart) = fields.fold((0u64, 1u64, false), |(end, widest, is_apart), (bytes, alignment)| {
        (end + bytes, widest.max(alignment), is_apart || !end.is_multiple_of(alignment))
    });
    is_apart || !end.is_multiple_of(alignment)
}

/// Size and alignment of a type.
pub fn layout(module: &Module, ty: &Type) -> (u64, u64) {
    match ty {
        Type::Void => (0, 1),
        Type::Bool => (1, 1),
        Type::Int(kind) => (u64::from(kind.bits() / 8), u64::from(kind.bits() / 8)),
        Type::Float(FloatKind::Half | FloatKind::BFloat) => (2, 2),
        Type::Float(FloatKind::Float) => (4, 4),
        Type::Float(FloatKind::Double) => (8, 8),
        Type::Pointer(_) | Type::Opaque(_) => (8, 8),
        Type::Array(element, length) => {
            let (bytes, alignment) = layout(module, element);
            (bytes * *length, alignment)
        }
        Type::Record(record) => {
            let record = &module.records[*record];
            let stated = record.align.map_or(1, u64::from);
            let fields = record.fields.iter().map(|field| layout(module, &field.ty));
            let (end, alignment) = fields.fold((0u64, stated), |(end, widest), (bytes, alignment)| {
                (end.next_multiple_of(alignment) + bytes, widest.max(alignment))
            });
            (end.next_multiple_of(alignment), alignment)
        }
    }
}
