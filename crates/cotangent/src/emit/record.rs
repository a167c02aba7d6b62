//! Records: `struct` with one field a line.

use std::collections::BTreeSet;

use super::layout::Lines;
use super::names::split;
use super::scope::{Program, Scope};
use super::types::declaration;
use crate::ir::{Module, RecordId};

/// The definition of a record.
pub(super) fn definition(program: &Program<'_>, lines: &mut Lines, id: RecordId) {
    let record = &program.module.records[id];
    let scope = Scope::of_item(program, &record.name);
    let align = record.align.map(|align| format!("{}({align}) ", program.spellings.align)).unwrap_or_default();
    lines.line(&format!("struct {align}{} {{", split(&record.name).1));
    lines.indent();
    for field in &record.fields {
        lines.line(&format!("{};", declaration(&scope, &field.ty, &field.name)));
    }
    lines.dedent();
    lines.line("};");
}

/// The declaration of a record that is named before its definition.
pub(super) fn prototype(program: &Program<'_>, lines: &mut Lines, id: RecordId) {
    lines.line(&format!("struct {};", split(&program.module.records[id].name).1));
}

/// Records that an earlier one points to.
pub(super) fn forward_declared(module: &Module) -> BTreeSet<RecordId> {
    let mut found = BTreeSet::new();
    for (id, record) in module.records.entries() {
        let mentioned = record.fields.iter().filter_map(|field| field.ty.mentioned_record());
        found.extend(mentioned.filter(|other| *other > id && !module.records[*other].is_builtin));
    }
    found
}
