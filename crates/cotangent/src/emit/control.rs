//! Statements with a body.

use super::expr::{condition, converted, exact, in_promotion, operation};
use super::layout::{LIST_BREAK, Lines};
use super::literals;
use super::operators::{counter_step, counter_test};
use super::place::place;
use super::scope::Scope;
use super::stmt::{block, compound, simple};
use super::types::declaration;
use crate::ir::{
    BinaryOp, Block, Case, Expr, ExprKind, For, LoopTest, Place, Stmt, StmtKind, Type, Unroll, can_reach_end,
};

/// `if`, `else if`, `else`. An early exit alone stays on the line of its condition.
pub(super) fn if_else(scope: &Scope<'_>, lines: &mut Lines, cond: &Expr, then_block: &Block, else_block: &Block) {
    if else_block.is_empty()
        && let [exit] = then_block.as_slice()
        && let Some(line) = early_exit(scope, lines, cond, exit)
    {
        lines.line(&line);
        return;
    }
    lines.line(&format!("if ({}) {{", condition(scope, cond).text));
    nested(scope, lines, then_block);
    let mut rest = else_block;
    while let [Stmt { kind: StmtKind::If { cond, then_block, else_block }, .. }] = rest.as_slice() {
        lines.line(&format!("}} else if ({}) {{", condition(scope, cond).text));
        nested(scope, lines, then_block);
        rest = else_block;
    }
    if !rest.is_empty() {
        lines.line("} else {");
        nested(scope, lines, rest);
    }
    lines.line("}");
}

/// The counted loop.
pub(super) fn for_loop(scope: &Scope<'_>, lines: &mut Lines, header: &For) {
    let counter = scope.local(header.counter);
    let place = Place::local(header.counter, counter.ty.clone());
    let loaded = Expr::load(place.clone());
    let test = counter_test(&loaded, header.test, &header.to);
    match header.unroll {
        Some(Unroll::Whole) => lines.line("#pragma unroll"),
        Some(Unroll::By(count)) => lines.line(&format!("#pragma unroll {count}")),
        None => {}
    }
    lines.line(&format!(
        "for ({} = {}; {LIST_BREAK}{}; {LIST_BREAK}{}) {{",
        declaration(scope, &counter.ty, &counter.name),
        converted(scope, &header.from).text,
        operation(scope, &test, &Type::Bool).text,
        step(scope, &place, header),
    ));
    nested(scope, lines, &header.body);
    lines.line("}");
}

/// `while` and `do while`.
pub(super) fn while_loop(scope: &Scope<'_>, lines: &mut Lines, cond: &Expr, body: &Block, test: LoopTest) {
    let cond = condition(scope, cond).text;
    match test {
        LoopTest::Before => lines.line(&format!("while ({cond}) {{")),
        LoopTest::After => lines.line("do {"),
    }
    nested(scope, lines, body);
    match test {
        LoopTest::Before => lines.line("}"),
        LoopTest::After => lines.line(&format!("}} while ({cond});")),
    }
}

/// `switch`.
pub(super) fn switch(scope: &Scope<'_>, lines: &mut Lines, value: &Expr, cases: &[Case]) {
    lines.line(&format!("switch ({}) {{", in_promotion(scope, value).text));
    lines.indent();
    for (position, case) in cases.iter().enumerate() {
        self::case(scope, lines, case, &value.ty, position + 1 == cases.len());
    }
    lines.dedent();
    lines.line("}");
}

fn nested(scope: &Scope<'_>, lines: &mut Lines, body: &Block) {
    lines.indent();
    block(scope, lines, body);
    lines.dedent();
}

fn early_exit(scope: &Scope<'_>, lines: &Lines, cond: &Expr, exit: &Stmt) -> Option<String> {
    if !matches!(exit.kind, StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue) {
        return None;
    }
    let line = format!("if ({}) {}", condition(scope, cond).text, simple(scope, &exit.kind)?);
    lines.fits(&line).then_some(line)
}

fn step(scope: &Scope<'_>, counter: &Place, header: &For) -> String {
    let name = place(scope, counter).text;
    let is_one = header.by.kind == ExprKind::Int(1) && counter.ty.is_integral();
    if is_one && header.step == BinaryOp::Add {
        return format!("++{name}");
    }
    if is_one && header.step == BinaryOp::Subtract {
        return format!("--{name}");
    }
    if let Some(by) = counter_step(&counter.ty, header.step, &header.by) {
        return format!("{name} {}= {}", header.step.spelling(), exact(scope, by).text);
    }
    compound(scope, counter, header.step, &counter.ty, &header.by)
        .unwrap_or_else(|| format!("{name} {}= {}", header.step.spelling(), exact(scope, &header.by).text))
}

fn case(scope: &Scope<'_>, lines: &mut Lines, case: &Case, ty: &Type, is_last: bool) {
    let mut labels: Vec<String> = case.values.iter().map(|value| format!("case {}:", label(*value, ty))).collect();
    if case.is_default {
        labels.push("default:".to_owned());
    }
    // A variable must not be jumped over, so a case that declares one has braces.
    let has_braces = case.body.iter().any(|stmt| matches!(stmt.kind, StmtKind::Declare { .. }));
    if has_braces && let Some(last) = labels.last_mut() {
        last.push_str(" {");
    }
    labels.iter().for_each(|label| lines.line(label));
    lines.indent();
    block(scope, lines, &case.body);
    if case.body.is_empty() && is_last {
        // A label needs a statement.
        lines.line(";");
    } else if !case.body.is_empty() && !is_last && can_reach_end(&case.body) {
        lines.line("[[fallthrough]];");
    }
    lines.dedent();
    if has_braces {
        lines.line("}");
    }
}

fn label(value: i128, ty: &Type) -> String {
    if let Type::Int(kind) = ty
        && !literals::fits_int(value)
    {
        return literals::integer(value, *kind).text;
    }
    value.to_string()
}
