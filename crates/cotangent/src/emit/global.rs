//! Variables outside functions.

use super::construct::constant_initializer;
use super::expr::converted;
use super::layout::{ASSIGN_BREAK, Lines};
use super::names::split;
use super::types::declaration;
use super::{Program, Scope};
use crate::ir::{Expr, ExprKind, Global};

/// The definition of a variable.
pub(super) fn definition(program: &Program<'_>, lines: &mut Lines, global: &Global) {
    let scope = Scope::of_item(program, &global.name);
    let storage = program.spellings.global(global.storage);
    let declared = declaration(&scope, &global.ty, split(&global.name).1);
    let value = match &global.init {
        None => String::new(),
        Some(Expr { kind: ExprKind::Construct(parts), ty, .. }) => constant_initializer(&scope, ty, parts),
        Some(value) => format!(" = {ASSIGN_BREAK}{}", converted(&scope, value).text),
    };
    lines.line(&format!("{storage}{declared}{value};"));
}
