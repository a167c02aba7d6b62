//! The structs of functions' parameters, for who calls them from another language.

use serde::Serialize;

use super::scope::Scope;
use super::types;
use crate::ir::layout::layout;
use crate::ir::{Function, Module, RecordId, Type};

/// A struct that a parameter is, points to, or has in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Struct {
    /// As types of parameters spell it.
    pub name: String,
    /// How large it is.
    pub bytes: u64,
    /// What its address is a multiple of.
    pub alignment: u64,
    /// In order; a base class is the first, named `base`.
    pub fields: Vec<StructField>,
}

/// A field of a struct.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StructField {
    /// Its name.
    pub name: String,
    /// Its type; of an array that of its elements.
    #[serde(rename = "type")]
    pub ty: String,
    /// Of an array how many elements it has, from the outermost in.
    pub lengths: Vec<u64>,
    /// Where it begins.
    pub offset: u64,
}

/// The structs of these functions' parameters, each after those that it is made of.
pub(super) fn structs<'f>(scope: &Scope<'_>, functions: impl Iterator<Item = &'f Function>) -> Vec<Struct> {
    let mut found: Vec<(RecordId, Struct)> = Vec::new();
    for function in functions {
        for param in &function.params {
            add(scope, innermost(&function.locals[*param].ty), &mut found);
        }
    }
    found.into_iter().map(|(_, of)| of).collect()
}

/// What a type is made of, through pointers and arrays.
fn innermost(ty: &Type) -> &Type {
    match ty {
        Type::Array(element, _) => innermost(element),
        Type::Pointer(pointer) => innermost(&pointer.pointee),
        Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Record(_) | Type::Opaque(_) => ty,
    }
}

fn add(scope: &Scope<'_>, ty: &Type, found: &mut Vec<(RecordId, Struct)>) {
    let module = scope.program.module;
    let Type::Record(id) = ty else { return };
    let record = &module.records[*id];
    if record.is_builtin || found.iter().any(|(known, _)| known == id) {
        return;
    }
    // What a field points to may lead back here, and is not part of it.
    let parts = record.fields.iter().map(|field| elements(&field.ty).0);
    parts.for_each(|part| add(scope, part, found));
    let (bytes, alignment) = layout(module, ty);
    found.push((
        *id,
        Struct { name: types::type_name(scope, ty), bytes, alignment, fields: fields(scope, module, *id) },
    ));
}

fn fields(scope: &Scope<'_>, module: &Module, id: RecordId) -> Vec<StructField> {
    let mut end = 0u64;
    let mut described = Vec::new();
    for field in &module.records[id].fields {
        let (bytes, alignment) = layout(module, &field.ty);
        let offset = end.next_multiple_of(alignment);
        end = offset + bytes;
        let (element, lengths) = elements(&field.ty);
        let (name, ty) = (field.name.to_string(), types::type_name(scope, element));
        described.push(StructField { name, ty, lengths, offset });
    }
    described
}

/// The type of an array's elements, and how many there are; any other type is its own element.
fn elements(ty: &Type) -> (&Type, Vec<u64>) {
    let (mut ty, mut lengths) = (ty, Vec::new());
    while let Type::Array(element, length) = ty {
        lengths.push(*length);
        ty = element;
    }
    (ty, lengths)
}
