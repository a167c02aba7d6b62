//! Variables outside functions.

use super::construct::constant_initializer;
use super::dialect::VARIABLE_LABEL;
use super::expr::converted;
use super::layout::{ASSIGN_BREAK, Lines};
use super::names::split;
use super::scope::{Program, Scope};
use super::types::{aligned, declaration};
use crate::ir::{Expr, ExprKind, Global, Type};

/// The definition of a variable; in a part of a program, a reference to the one that the rest defines.
pub(super) fn definition(program: &Program<'_>, lines: &mut Lines, global: &Global) {
    let scope = Scope::of_item(program, &global.name);
    if program.spellings.part.is_some() && global.storage.is_on_device() {
        let declared = declaration(&scope, &Type::reference(global.ty.clone()), split(&global.name).1);
        // Constant for the compiler, since it is a reference: it costs no more than the variable itself, and its
        // loads are none that could be checked.
        lines.line(&format!("extern {declared} __asm__(\"{VARIABLE_LABEL}{}\");", global.name));
        return;
    }
    let storage = program.spellings.global(global.storage);
    let declared = format!("{}{}", aligned(global.align), declaration(&scope, &global.ty, split(&global.name).1));
    let value = match &global.init {
        None => String::new(),
        Some(Expr { kind: ExprKind::Construct(parts), ty, .. }) => constant_initializer(&scope, ty, parts),
        Some(value) => format!(" = {ASSIGN_BREAK}{}", converted(&scope, value).text),
    };
    let external = if global.is_extern { "extern " } else { "" };
    lines.line(&format!("{external}{storage}{declared}{value};"));
}

/// Another name for a variable outside of the namespace that the text stands in.
pub(super) fn reference(lines: &mut Lines, global: &Global) {
    lines.line(&format!("static auto& {} = ::{};", split(&global.name).1, global.name));
}
