//! Additions of many threads to one array, gathered: instead of each thread adding atomically to elements that others add to as
//! well, each element is summed by one thread, which goes through what would have been added.
//!
//! That is another kernel, with threads of another meaning, so the derivative becomes several launches: one for each array that is
//! gathered, and the kernel without these additions after them, as it clears the adjoints that the others read. The launcher
//! decides, as the sizes are known there; the kernel that adds atomically stays.
//!
//! docs/design/gathers.md has the rules.

mod additions;
mod digits;
mod one;
mod target;
mod turn;
mod write;

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use super::names::names_in_order;
use super::numbering::{product, wide_builtin};
use super::simplify::simplify;
use super::taken_name::free_name;
use super::{AdjointParam, Fact, Trust, launch};
use crate::analysis::affine::Values;
use crate::analysis::locals::locals;
use crate::analysis::ordering::is_without_jumps;
use crate::analysis::race::written;
use crate::analysis::root::{Root, Roots};
use crate::ir::walk::{self, PartMut};
use crate::ir::{
    Axis, BinaryOp, Block, Builtin, Expr, ExprKind, Function, FunctionId, LocalId, Module, Name, Space, Stmt, Type,
    order,
};
use additions::{Changes, additions, is_addition};
use digits::Digit;
use one::Cleared;
use target::{Target, range};

/// Fewer elements are not summed by a thread each, as too few threads would have work.
const FEWEST: i128 = 256;

/// The most threads, and the most elements: what is counted is an `int`.
const MOST: i128 = 1 << 30;

/// Kernels that can be launched in the place of one.
#[derive(Clone, Debug)]
pub(super) struct Gathered {
    /// The host function that launches them, or the one.
    pub(super) launcher: FunctionId,
    pub(super) parts: Vec<FunctionId>,
}

/// Appends kernels that gather what a derivative adds, and the launcher that decides between them and the derivative. None if
/// nothing is gathered.
pub(super) fn gather(
    module: &mut Module,
    kernel: FunctionId,
    adjoints: &[AdjointParam],
    own: &HashSet<Name>,
    trust: Trust,
) -> Option<Gathered> {
    let function = module.functions[kernel].clone();
    if function.space != Space::Kernel || !is_without_jumps(&function) {
        return None;
    }
    let is_meant = |param: &&AdjointParam| param.is_shared && !param.is_anywhere && !param.is_contended;
    let meant: BTreeSet<Root> = adjoints.iter().filter(is_meant).map(|param| Root::Param(param.adjoint)).collect();
    let uses = locals(&function);
    let roots = Roots::new(module, &function, &uses);
    let values = Values::new(module, &function, &uses, &roots, written(&roots, &function.body));
    let changes = Changes::new(&values);
    let mut gathered = BTreeSet::new();
    let (mut kernels, mut targets, mut conditions) = (Vec::new(), Vec::new(), Vec::new());
    for (root, found) in additions(&values, &changes, &meant) {
        let Root::Param(param) = root else { continue };
        let Some(mut target) = Target::new(&values, &changes, found) else { continue };
        target.is_alone = trust.answer(Fact::Alone, false, target.is_alone);
        let primal = adjoints.iter().find(|it| it.adjoint == param).map_or(param, |it| it.primal);
        let Some(new) = write::kernel(module, &values, &changes, &target, function.local_name(primal)) else {
            continue;
        };
        let Some(needed) = needed(&values, &target, trust) else { continue };
        for condition in needed {
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
        kernels.push(new);
        targets.push((target, function.local_name(primal)));
        gathered.insert(root);
    }
    if kernels.is_empty() {
        return None;
    }
    let mut rest = Function { name: free_name(module, format!("{}_rest", function.name)), ..function.clone() };
    drop_gathered(&mut rest.body, &roots, &gathered);
    let mut cleared = Vec::new();
    if let Some((one, clears, needed)) = in_one(module, &values, &changes, &targets, &rest) {
        for condition in needed {
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
        (kernels, cleared) = (vec![one], clears);
    } else {
        kernels.push(rest);
    }
    let parts = kernels.into_iter().filter_map(|part| finished(module, part, own)).collect::<Vec<_>>();
    let parts: Vec<FunctionId> = parts.into_iter().map(|part| module.functions.push(part)).collect();
    let fills = cleared.iter().map(|clear| (clear.array.clone(), clear.bytes())).collect();
    let launcher = launch::add_choice(module, kernel, &parts, fills, conditions);
    Some(Gathered { launcher, parts })
}

/// One kernel for the gathers and the rest, and what the launcher clears after it.
fn in_one(
    module: &Module,
    values: &Values<'_>,
    changes: &Changes,
    targets: &[(Target<'_>, &str)],
    rest: &Function,
) -> Option<(Function, Vec<Cleared>, Vec<Expr>)> {
    let all: Vec<&Target<'_>> = targets.iter().map(|(target, _)| target).collect();
    let axis = one::axis_of_all(&all)?;
    let name = free_name(module, format!("{}_gathered", values.function.name));
    let mut function = Function { name, ..rest.clone() };
    let cleared = one::take_clears(values, changes, &all, axis, &mut function.body)?;
    for (target, primal) in targets {
        write::append(module, values, changes, (target, primal), &mut function)?;
    }
    let needed: Option<Vec<Vec<Expr>>> = cleared.iter().map(Cleared::conditions).collect();
    Some((function, cleared, needed?.concat()))
}

/// What must be so for a gather, in terms of the launch: the host can tell.
fn needed(values: &Values<'_>, target: &Target<'_>, trust: Trust) -> Option<Vec<Expr>> {
    let mut conditions = Vec::new();
    for axis in Axis::ALL.into_iter().filter(|axis| !target.axes.contains(axis)) {
        conditions.push(compare(BinaryOp::Equal, extent(axis), 1));
    }
    let mut all: Option<Expr> = None;
    for &axis in &target.axes {
        let threads = product(all.take().into_iter().chain([extent(axis)]));
        conditions.push(compare(BinaryOp::LessEqual, threads.clone(), MOST));
        all = Some(threads);
    }
    for digit in target.keys.iter().map(|key| &key.digit).chain(&target.free) {
        match digit {
            Digit::Axis(_) => {}
            Digit::Quotient(_, by) | Digit::Remainder(_, by) => {
                conditions.push(compare(BinaryOp::Greater, long(by), 0));
                conditions.push(compare(BinaryOp::LessEqual, long(by), MOST));
            }
            Digit::Counter(_) => {
                let (_, count) = range(values, &target.additions[0], digit)?;
                conditions.push(compare(BinaryOp::Greater, long(&count), 0));
                conditions.push(compare(BinaryOp::LessEqual, long(&count), MOST));
            }
        }
    }
    for (digit, turn) in target.turns() {
        let (_, count) = range(values, &target.additions[0], digit)?;
        match digit {
            Digit::Axis(axis) => conditions.push(are_threads(&turn.size, *axis)),
            Digit::Quotient(..) | Digit::Remainder(..) | Digit::Counter(_) if turn.size == count => {}
            Digit::Quotient(..) | Digit::Remainder(..) | Digit::Counter(_) => {
                conditions.push(Expr::binary(BinaryOp::LessEqual, long(&turn.size), long(&count)));
            }
        }
        // Once around at most; by one is around of any size that there is.
        if turn.by.abs() > 1 {
            conditions.push(compare(BinaryOp::GreaterEqual, long(&turn.size), turn.by.abs().into()));
        }
    }
    let mut elements: Option<Expr> = None;
    for key in &target.keys {
        let count = long(&target.positions(values, key)?.1);
        let elements_before = elements.take();
        let all_elements = product(elements_before.clone().into_iter().chain([count]));
        // A coordinate has no more values than there are threads, and a few.
        let is_few = |(counter, _): &(LocalId, i64)| {
            range(values, &target.additions[0], &Digit::Counter(*counter))
                .is_some_and(|(_, count)| known(&count).is_some())
        };
        // What a counter counts to was compared.
        let is_plain = matches!(key.digit, Digit::Counter(_)) && key.with.is_empty() && key.spread() == [0, 0];
        let is_of_threads = is_plain || matches!(key.digit, Digit::Axis(_)) && key.with.iter().all(is_few);
        if elements_before.is_some() || !is_of_threads {
            conditions.push(compare(BinaryOp::LessEqual, all_elements.clone(), MOST));
        }
        elements = Some(all_elements);
    }
    // Counters are gone through by the kernel as well, unless its threads share that.
    let is_longer = target.free.iter().any(|digit| match digit {
        Digit::Axis(_) | Digit::Quotient(..) | Digit::Remainder(..) => true,
        Digit::Counter(counter) => target.sweeps.iter().any(|(sweep, _)| sweep == counter),
    });
    if is_longer && !trust.gathers_few {
        conditions.push(compare(BinaryOp::GreaterEqual, elements?, FEWEST));
    }
    open_conditions(conditions)
}

fn compare(op: BinaryOp, left: Expr, right: i128) -> Expr {
    Expr::binary(op, left, Expr::new(ExprKind::Int(right), Type::LONG))
}

/// How many threads an axis has.
fn extent(axis: Axis) -> Expr {
    product([Builtin::GridDim(axis), Builtin::BlockDim(axis)].map(wide_builtin))
}

/// That an axis has a thread for each number below a size.
fn are_threads(size: &Expr, axis: Axis) -> Expr {
    Expr::binary(BinaryOp::LessEqual, long(size), extent(axis))
}

/// A number computed so that it fits: what is too large for an `int` must be seen.
fn long(expr: &Expr) -> Expr {
    match &expr.kind {
        ExprKind::Int(value) => Expr::new(ExprKind::Int(*value), Type::LONG),
        ExprKind::Binary(
            op @ (BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide),
            left,
            right,
        ) if expr.ty == Type::INT => Expr::binary(*op, long(left), long(right)),
        ExprKind::Bool(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => Expr::cast(expr.clone(), Type::LONG),
    }
}

/// The conditions that are not known to hold. None if one is known not to.
fn open_conditions(conditions: Vec<Expr>) -> Option<Vec<Expr>> {
    let mut open = Vec::new();
    for condition in conditions {
        let ExprKind::Binary(op, left, right) = &condition.kind else { continue };
        match (known(left), known(right)) {
            (Some(left), Some(right)) => {
                op.holds(left, right).filter(|holds| *holds)?;
            }
            (_, _) => open.push(condition),
        }
    }
    Some(open)
}

/// The number that an expression is.
fn known(expr: &Expr) -> Option<i128> {
    match &expr.kind {
        ExprKind::Int(value) => Some(*value),
        ExprKind::Cast(operand) => known(operand),
        ExprKind::Binary(BinaryOp::Multiply, left, right) => known(left)?.checked_mul(known(right)?),
        ExprKind::Bool(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => None,
    }
}

/// Leaves the additions out that others make.
fn drop_gathered(block: &mut Block, roots: &Roots<'_>, gathered: &BTreeSet<Root>) {
    let is_left = |stmt: &Stmt| {
        let places = walk::written_places(stmt);
        !is_addition(stmt) || places.into_iter().all(|place| roots.place(place).is_disjoint(gathered))
    };
    block.retain(is_left);
    for stmt in block {
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                drop_gathered(inner, roots, gathered);
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

/// A kernel as it is printed; none if it does nothing.
fn finished(module: &Module, mut function: Function, own: &HashSet<Name>) -> Option<Function> {
    simplify(&mut function);
    let locals = std::mem::take(&mut function.locals);
    function.locals = order::declared_only(&mut function.params, locals, &mut function.body);
    names_in_order(module, &mut function, own);
    (!function.body.is_empty()).then_some(function)
}
