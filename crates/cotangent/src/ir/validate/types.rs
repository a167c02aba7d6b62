//! Checks types and records.

use std::collections::HashSet;

use super::{Checker, names};
use crate::ir::{MAX_TYPE_DEPTH, Record, RecordId, Type, text};

impl Checker<'_> {
    pub(super) fn record(&mut self, id: RecordId, record: &Record) {
        self.require(record.align.is_none_or(u32::is_power_of_two), "the alignment is no power of two");
        let mut seen = HashSet::new();
        for field in &record.fields {
            self.require(names::is_identifier(&field.name), &format!("the field `{}` is no identifier", field.name));
            self.require(seen.insert(&field.name), &format!("two fields have the name `{}`", field.name));
            self.object_type(&field.ty);
            if let Type::Record(contained) = field.ty.innermost_element() {
                let message = format!("the field `{}` contains a record that is not before this one", field.name);
                self.require(*contained < id, &message);
            }
        }
    }

    /// The type of something that holds a value.
    pub(super) fn object_type(&mut self, ty: &Type) {
        self.require(*ty != Type::Void, "something has type `void`");
        self.ty(ty);
    }

    /// A type anywhere.
    pub(super) fn ty(&mut self, ty: &Type) {
        let mut layer = ty;
        let mut depth = 0;
        loop {
            let (inner, is_array) = match layer {
                Type::Pointer(pointer) => (&pointer.pointee, false),
                Type::Array(element, length) => {
                    self.require(*length > 0, "an array of length 0");
                    (&**element, true)
                }
                Type::Record(id) => {
                    let is_known = self.module.records.get(*id).is_some();
                    return self.require(is_known, &format!("there is no record {}", id.0));
                }
                Type::Opaque(name) => return self.require(!name.is_empty(), "an opaque type without a name"),
                Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) => return,
            };
            self.require(!is_array || *inner != Type::Void, "an array of `void`");
            self.require(!inner.is_reference(), "a pointer to references or an array of them");
            depth += 1;
            if depth > MAX_TYPE_DEPTH {
                return self.report(format!("a type of more than {MAX_TYPE_DEPTH} pointers and arrays"));
            }
            layer = inner;
        }
    }

    /// A type is named in the text of a function.
    pub(super) fn mention_type(&mut self, ty: &Type) {
        let mut base = ty;
        loop {
            match base {
                Type::Pointer(pointer) => base = &pointer.pointee,
                Type::Array(element, _) => base = element,
                Type::Record(id) => {
                    if let Some(record) = self.module.records.get(*id) {
                        self.mention(&record.name);
                    }
                    return;
                }
                Type::Opaque(name) => return self.mention(name),
                Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) => return,
            }
        }
    }

    /// A type that is named by an expression.
    pub(super) fn named_type(&mut self, ty: &Type) {
        self.object_type(ty);
        self.mention_type(ty);
    }

    pub(super) fn same_type(&mut self, what: &str, found: &Type, expected: &Type) {
        if found != expected && found.unrestricted() != expected.unrestricted() {
            let [found, expected] = [found, expected].map(|ty| text::print_type(self.module, ty));
            self.report(format!("{what} has type `{found}`, not `{expected}`"));
        }
    }
}
