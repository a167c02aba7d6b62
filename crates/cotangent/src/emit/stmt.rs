//! Statements without a body, and the order of lines in a block.

use super::construct::initializer;
use super::control::{for_loop, if_else, switch, while_loop};
use super::dialect::DynamicShared;
use super::effects::{Effect, check_of_launch, effect, launch};
use super::expr::{converted, exact, operand};
use super::layout::{ASSIGN_BREAK, LIST_BREAK, Lines};
use super::operators::{compound_operand, signed_offset};
use super::place::place;
use super::precedence::{Code, Precedence};
use super::scope::Scope;
use super::types::{aligned, declaration, type_name};
use crate::ir::same::same_place;
use crate::ir::{
    BinaryOp, Block, Expr, ExprKind, Local, LocalId, Place, PlaceKind, Stmt, StmtKind, Storage, Type, Unread,
};

/// The lines of a block, without its braces.
pub(super) fn block(scope: &Scope<'_>, lines: &mut Lines, block: &Block) {
    let mut rest = block.as_slice();
    let mut last_note = None;
    while let Some((first, after)) = rest.split_first() {
        // One note stands for a run of statements with the same.
        let note = first.note.as_ref();
        for line in note.filter(|note| last_note != Some(*note)).iter().flat_map(|note| note.lines()) {
            lines.line(&format!("// {line}"));
        }
        last_note = note;
        if let Some(line) = after.first().and_then(|second| declaration_with_result(scope, first, second)) {
            lines.line(&line);
            rest = &after[1..];
        } else {
            stmt(scope, lines, first);
            rest = after;
        }
    }
}

/// A statement that fits into one line wherever it stands, with its semicolon; `None` if it has a body or is two.
pub(super) fn simple(scope: &Scope<'_>, stmt: &StmtKind) -> Option<String> {
    let text = match stmt {
        StmtKind::Declare { local, init } => declare(scope, *local, init.as_ref()),
        StmtKind::Assign { place, value } => assign(scope, place, value),
        StmtKind::Accumulate { place, value } => accumulate(scope, place, value),
        StmtKind::Break => "break".to_owned(),
        StmtKind::Continue => "continue".to_owned(),
        StmtKind::Return(None) => "return".to_owned(),
        StmtKind::Return(Some(value)) => format!("return {}", converted(scope, value).text),
        StmtKind::Push { record, value } => {
            format!("{}.push({})", scope.local_name(*record), converted(scope, value).text)
        }
        StmtKind::Pop { record, into } => {
            format!("{} = {}.pop()", place(scope, into).text, scope.local_name(*record))
        }
        StmtKind::Launch(launch) if launch.is_checked => return None,
        StmtKind::Call { .. }
        | StmtKind::Barrier { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Opaque { .. } => {
            let Effect { call, into } = effect(scope, stmt)?;
            into.map_or(call.clone(), |into| format!("{} = {ASSIGN_BREAK}{call}", place(scope, into).text))
        }
        StmtKind::If { .. } | StmtKind::For(_) | StmtKind::While { .. } | StmtKind::Switch { .. } => return None,
    };
    Some(format!("{text};"))
}

/// `place op= value` or `++place`, without a semicolon; `None` if C++ would compute in another type than `computed`.
pub(super) fn compound(scope: &Scope<'_>, place: &Place, op: BinaryOp, computed: &Type, by: &Expr) -> Option<String> {
    let target = self::place(scope, place);
    let (op, size, is_one) = if op == BinaryOp::Offset {
        let (op, size) = signed_offset(by);
        let size = exact(scope, &size);
        let is_one = size.text == "1";
        (op, size, is_one)
    } else {
        let size = operand(scope, &compound_operand(op, &place.ty, computed, by)?);
        (op, size, by.kind == ExprKind::Int(1) && place.ty == *computed)
    };
    let plain = || format!("{} {}= {ASSIGN_BREAK}{}", target.text, op.spelling(), size.text);
    Some(step_by_one(op, &target, is_one).unwrap_or_else(plain))
}

/// `++target` or `--target`, for an addition or subtraction of one.
fn step_by_one(op: BinaryOp, target: &Code, is_one: bool) -> Option<String> {
    let sign = if op == BinaryOp::Add { "++" } else { "--" };
    let is_step = is_one && (op == BinaryOp::Add || op == BinaryOp::Subtract);
    is_step.then(|| format!("{sign}{}", target.clone().at_least(Precedence::Unary)))
}

fn stmt(scope: &Scope<'_>, lines: &mut Lines, stmt: &Stmt) {
    match &stmt.kind {
        StmtKind::If { cond, then_block, else_block } => if_else(scope, lines, cond, then_block, else_block),
        StmtKind::For(header) => for_loop(scope, lines, header),
        StmtKind::While { cond, body, test } => while_loop(scope, lines, cond, body, *test),
        StmtKind::Switch { value, cases } => switch(scope, lines, value, cases),
        StmtKind::Launch(header) if header.is_checked => {
            lines.line(&format!("{};", check_of_launch(scope, header)));
            lines.line(&format!("{};", launch(scope, header)));
        }
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Barrier { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => {
            lines.line(&simple(scope, &stmt.kind).expect("only statements with a body are not simple"));
        }
    }
}

/// `T v = f(…);` for a declaration and the call right after it that gives the variable its first value.
fn declaration_with_result(scope: &Scope<'_>, first: &Stmt, second: &Stmt) -> Option<String> {
    let StmtKind::Declare { local, init: None } = first.kind else { return None };
    let Effect { call, into } = effect(scope, &second.kind)?;
    let is_its_value = into.is_some_and(|into| into.kind == PlaceKind::Local(local));
    let variable = scope.local(local);
    // The types of what is passed through are known to C++ alone.
    let declared = match (&second.kind, &variable.ty) {
        (StmtKind::Opaque { code: Unread::Passed, .. }, Type::Opaque(_)) => format!("auto {}", variable.name),
        _ => declaration(scope, &variable.ty, &variable.name),
    };
    (is_its_value && variable.storage == Storage::Private && variable.align.is_none())
        .then(|| format!("{declared} = {ASSIGN_BREAK}{call};"))
}

fn declare(scope: &Scope<'_>, local: LocalId, init: Option<&Expr>) -> String {
    let variable = scope.local(local);
    let declared = format!("{}{}", aligned(variable.align), declaration(scope, &variable.ty, &variable.name));
    match variable.storage {
        Storage::Shared => return shared(scope, variable),
        Storage::DynamicShared => return dynamic_shared(scope, variable),
        Storage::Private => {}
    }
    match init {
        None => declared,
        Some(Expr { kind: ExprKind::Construct(parts), ty, .. }) => {
            format!("{declared}{}", initializer(scope, ty, parts))
        }
        Some(value) => format!("{declared} = {ASSIGN_BREAK}{}", converted(scope, value).text),
    }
}

fn shared(scope: &Scope<'_>, variable: &Local) -> String {
    let spellings = scope.program.spellings;
    let element = variable.ty.innermost_element();
    let name = match spellings.declared_alignment.filter(|_| *element != variable.ty) {
        Some(alignment) => format!("{} {alignment}({})", variable.name, declaration(scope, element, "")),
        None => variable.name.to_string(),
    };
    format!("{}{}{}", spellings.shared, aligned(variable.align), declaration(scope, &variable.ty, &name))
}

fn dynamic_shared(scope: &Scope<'_>, variable: &Local) -> String {
    let Type::Array(element, _) = &variable.ty else {
        unreachable!("the validator has arrays in dynamic shared memory only")
    };
    let name = &variable.name;
    match scope.program.spellings.dynamic_shared {
        DynamicShared::ExternArray => {
            let declared = declaration(scope, element, &format!("{name}[]"));
            format!("extern {}{}{declared}", scope.program.spellings.shared, aligned(variable.align))
        }
        DynamicShared::RuntimeBuffer => {
            let length = format!("[COTANGENT_MAX_DYNAMIC_SHARED / sizeof({})]", type_name(scope, element));
            let reference = declaration(scope, element, &format!("(&{name}){length}"));
            let pointer = declaration(scope, element, &format!("(*){length}"));
            format!(
                "{reference} = {ASSIGN_BREAK}*reinterpret_cast<{pointer}>({LIST_BREAK}::cotangent::dynamic_shared())"
            )
        }
    }
}

fn assign(scope: &Scope<'_>, target: &Place, value: &Expr) -> String {
    compound_assignment(scope, target, value)
        .unwrap_or_else(|| format!("{} = {ASSIGN_BREAK}{}", place(scope, target).text, converted(scope, value).text))
}

fn accumulate(scope: &Scope<'_>, target: &Place, value: &Expr) -> String {
    compound(scope, target, BinaryOp::Add, &target.ty, value)
        .unwrap_or_else(|| format!("{} += {ASSIGN_BREAK}{}", place(scope, target).text, exact(scope, value).text))
}

/// `place op= operand`, if that is what the assignment does.
fn compound_assignment(scope: &Scope<'_>, target: &Place, value: &Expr) -> Option<String> {
    let is_target = |expr: &Expr| matches!(&expr.kind, ExprKind::Load(place) if same_place(place, target));
    if let ExprKind::Binary(op, left, operand) = &value.kind
        && is_target(left)
    {
        return compound(scope, target, *op, &target.ty, operand);
    }
    // C++ computes in a wider type and converts the result back.
    let ExprKind::Cast(computed) = &value.kind else { return None };
    let ExprKind::Binary(op, left, operand) = &computed.kind else { return None };
    let ExprKind::Cast(loaded) = &left.kind else { return None };
    if !is_target(loaded) || left.ty != computed.ty {
        return None;
    }
    compound(scope, target, *op, &computed.ty, operand)
}
