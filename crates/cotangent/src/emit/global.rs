//! Variables outside functions.

use super::construct::constant_initializer;
use super::expr::converted;
use super::layout::{ASSIGN_BREAK, Lines};
use super::names::split;
use super::types::{declaration, type_name};
use super::{Program, Scope};
use crate::ir::{Expr, ExprKind, Global, Type};

/// The definition of a variable; in a part of a program, a reference to the one that the rest defines.
pub(super) fn definition(program: &Program<'_>, lines: &mut Lines, global: &Global) {
    let scope = Scope::of_item(program, &global.name);
    if let Some(part) = program.spellings.part
        && global.storage.is_on_device()
    {
        let declared = declaration(&scope, &Type::reference(global.ty.clone()), split(&global.name).1);
        let ty = type_name(&scope, &global.ty);
        lines.line(&format!("static {declared} = {ASSIGN_BREAK}{}<{ty}>(\"{}\");", part.variable, global.name));
        return;
    }
    let storage = program.spellings.global(global.storage);
    let declared = declaration(&scope, &global.ty, split(&global.name).1);
    let value = match &global.init {
        None => String::new(),
        Some(Expr { kind: ExprKind::Construct(parts), ty, .. }) => constant_initializer(&scope, ty, parts),
        Some(value) => format!(" = {ASSIGN_BREAK}{}", converted(&scope, value).text),
    };
    lines.line(&format!("{storage}{declared}{value};"));
}
