//! Sums that kernels of a loop make for the host stay on the device until the loop has ended.
//!
//! The adjoint of an argument by value is summed in device memory, which a launch has for itself: it is cleared before, brought to
//! the host after, and the host waits for it. Where the loop only adds it to something, one memory serves all iterations:
//!
//! ```text
//!   for (…) {                                        float* _d_arg = stream_zeros<float>(sizeof(float), s);
//!     float* _d_arg = stream_zeros<float>(…, s);     for (…) {
//!     k<<<…>>>(…, _d_arg);                  becomes    k<<<…>>>(…, _d_arg);
//!     float _d_sum;                                  }
//!     fetch(&_d_sum, _d_arg, s);                     float _d_sum;
//!     release(_d_arg, s);                            fetch(&_d_sum, _d_arg, s);
//!     _d_rate += _d_sum;                             release(_d_arg, s);
//!   }                                                _d_rate += _d_sum;
//! ```
//!
//! Right if the stream is the same in all iterations, and if nothing in the loop looks at what is added to. Launches of one stream
//! that add to the same share one memory: a stream runs them one after the other.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::locals::{rename, without_spans};
use crate::ir::walk::{self, Node, PartMut};
use crate::ir::{Block, Expr, ExprKind, Function, LocalId, Place, PlaceKind, Stmt, StmtKind};

const ZEROS: &str = "cotangent::stream_zeros";
const FETCH: &str = "cotangent::fetch";
const RELEASE: &str = "cotangent::release";
const ASK_WHERE: [&str; 2] = ["cotangent::keep_allocation", "cotangent::keep_stated"];

/// Moves such sums out of the loops of a function of the host.
pub(super) fn keep_on_device(function: &mut Function) {
    let mut body = std::mem::take(&mut function.body);
    let seen = Seen::of(function, &body);
    move_out(&seen, &mut body);
    function.body = body;
}

/// A sum in device memory for the time of a launch.
struct Sum {
    /// The variable that points to it, and the one that it is brought to.
    memory: LocalId,
    value: LocalId,
    stream: Expr,
    /// What it is added to.
    place: Place,
    /// Its statements before the launch, and after it.
    before: Block,
    after: Block,
}

/// What is known about a function.
struct Seen {
    /// Parameters that are only ever added to, by their first element: nothing else in the function leads there.
    sums: BTreeSet<LocalId>,
}

impl Seen {
    fn of(function: &Function, body: &[Stmt]) -> Seen {
        let is_sum = |param: &LocalId| {
            let (mut additions, mut harmless) = (0, 0);
            walk::each_stmt(body, &mut |stmt| {
                // Where it lies is all that checkpoints ask.
                if ASK_WHERE.iter().any(|call| called(stmt, call).is_some()) {
                    harmless += walk::count_mentions(std::slice::from_ref(stmt), *param);
                }
                additions += usize::from(added(stmt).is_some_and(|(place, value)| {
                    pointer_of(place) == Some(*param) && !walk::expr_mentions(value, *param)
                }));
            });
            additions > 0 && walk::count_mentions(body, *param) == additions + harmless
        };
        Seen { sums: function.params.iter().copied().filter(is_sum).collect() }
    }
}

/// Moves sums out of the loops of a block, inner loops first.
fn move_out(seen: &Seen, block: &mut Block) {
    let mut position = 0;
    while position < block.len() {
        for_each_block(&mut block[position], &mut |inner| move_out(seen, inner));
        if !block[position].kind.is_loop() {
            position += 1;
            continue;
        }
        let loop_ = block[position].clone();
        let mut found = Vec::new();
        for_each_block(&mut block[position], &mut |inner| take(seen, &loop_, inner, &mut found));
        let found = shared(found, std::slice::from_mut(&mut block[position]));
        let (before, after): (Vec<Block>, Vec<Block>) = found.into_iter().map(|sum| (sum.before, sum.after)).unzip();
        let (before, after) = (before.concat(), after.concat());
        let first = position;
        position += before.len() + 1 + after.len();
        block.splice(first + 1..first + 1, after);
        block.splice(first..first, before);
    }
}

fn for_each_block(stmt: &mut Stmt, f: &mut impl FnMut(&mut Block)) {
    let _ = walk::stmt_parts_mut(stmt, &mut |part| {
        if let PartMut::Block(inner) = part {
            f(inner);
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Takes the sums that may leave a loop out of one of its blocks, and out of the branches in it.
fn take(seen: &Seen, loop_: &Stmt, block: &mut Block, found: &mut Vec<Sum>) {
    for stmt in block.iter_mut().filter(|stmt| matches!(stmt.kind, StmtKind::If { .. })) {
        for_each_block(stmt, &mut |inner| take(seen, loop_, inner, found));
    }
    let memories: Vec<LocalId> = block.iter().filter_map(cleared).collect();
    for memory in memories {
        let Some(sum) = sum_of(seen, loop_, block, memory) else { continue };
        block.retain(|stmt| !sum.before.contains(stmt) && !sum.after.contains(stmt));
        found.push(sum);
    }
}

/// The sum in a memory, if all that is done with it are the statements of this block that it needs.
fn sum_of(seen: &Seen, loop_: &Stmt, block: &[Stmt], memory: LocalId) -> Option<Sum> {
    let (mut stream, mut value) = (None, None);
    let (mut before, mut after) = (Block::new(), Block::new());
    for stmt in block.iter().filter(|stmt| is_about(stmt, memory)) {
        if let StmtKind::Declare { init: None, .. } = stmt.kind {
            before.push(stmt.clone());
        } else if let Some(args) = called(stmt, ZEROS) {
            stream = args.get(1).cloned();
            before.push(stmt.clone());
        } else if let Some(args) = called(stmt, FETCH) {
            value = args.first().and_then(Expr::as_address).and_then(Place::as_local);
            after.push(stmt.clone());
        } else if called(stmt, RELEASE).is_some() {
            after.push(stmt.clone());
        } else if !is_for_kernels(stmt, memory) {
            return None;
        }
    }
    let (stream, value) = (stream?, value?);
    let of_value: Vec<&Stmt> = block.iter().filter(|stmt| is_about(stmt, value)).collect();
    let [declared, _, addition] = of_value.as_slice() else { return None };
    let (place, added) = added(addition)?;
    let is_whole = matches!(declared.kind, StmtKind::Declare { init: None, .. }) && added.as_local() == Some(value);
    if !is_whole || !is_fixed(loop_, &stream) || !is_only_added_to(seen, loop_, place) {
        return None;
    }
    let place = place.clone();
    after.insert(0, (*declared).clone());
    after.push((*addition).clone());
    Some(Sum { memory, value, stream, place, before, after })
}

/// Whether a statement declares or mentions a variable.
fn is_about(stmt: &Stmt, local: LocalId) -> bool {
    walk::declared_local(stmt) == Some(local) || walk::mentions(std::slice::from_ref(stmt), local)
}

/// The arguments of a call of this function of the runtime.
fn called<'a>(stmt: &'a Stmt, name: &str) -> Option<&'a [Expr]> {
    if let StmtKind::Runtime { call, args, .. } = &stmt.kind { (**call == *name).then_some(args) } else { None }
}

/// Whether all that is done with a memory in a statement is that kernels are given it.
fn is_for_kernels(stmt: &Stmt, memory: LocalId) -> bool {
    let mut given = 0;
    walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| {
        let args = inner.called().map_or(&[] as &[Expr], |called| called.args);
        given += args.iter().filter(|arg| arg.uncast_pointer().as_local() == Some(memory)).count();
    });
    walk::count_mentions(std::slice::from_ref(stmt), memory) == given
}

/// Sums of one stream that are added to the same are one sum.
fn shared(found: Vec<Sum>, loop_: &mut [Stmt]) -> Vec<Sum> {
    let mut kept: Vec<Sum> = Vec::new();
    for sum in found {
        let is_same = |other: &&Sum| {
            without_spans(&other.stream) == without_spans(&sum.stream)
                && without_spans(&Expr::load(other.place.clone())) == without_spans(&Expr::load(sum.place.clone()))
        };
        match kept.iter().find(is_same) {
            Some(other) => rename(loop_, &[(sum.memory, other.memory), (sum.value, other.value)].into()),
            None => kept.push(sum),
        }
    }
    kept
}

/// The variable that a statement makes point to new memory of the device that holds zero.
fn cleared(stmt: &Stmt) -> Option<LocalId> {
    let StmtKind::Runtime { call, args, into: Some(into) } = &stmt.kind else { return None };
    let is_value = args.first().is_some_and(|size| matches!(size.kind, ExprKind::SizeOf(_)));
    into.as_local().filter(|_| **call == *ZEROS && is_value)
}

/// The place that a statement adds to, and what it adds.
fn added(stmt: &Stmt) -> Option<(&Place, &Expr)> {
    if let StmtKind::Accumulate { place, value } = &stmt.kind { Some((place, value)) } else { None }
}

/// The variable of which a place is the first element.
fn pointer_of(place: &Place) -> Option<LocalId> {
    match &place.kind {
        PlaceKind::Element(pointer, index) if index.is_zero() => pointer.as_local(),
        PlaceKind::Element(..)
        | PlaceKind::Local(_)
        | PlaceKind::Global(_)
        | PlaceKind::Field(..)
        | PlaceKind::Index(..) => None,
    }
}

/// Whether an expression has one value in all iterations: it is made of variables that the loop does not change.
fn is_fixed(loop_: &Stmt, expr: &Expr) -> bool {
    let inside = std::slice::from_ref(loop_);
    let changed = walk::assigned_locals(inside);
    let mut own = BTreeSet::new();
    walk::each_stmt(inside, &mut |stmt| own.extend(walk::declared_local(stmt)));
    walk::visit_expr(expr, &mut |node| match node {
        Node::Place(Place { kind: PlaceKind::Local(local), .. })
            if !changed.contains(local) && !own.contains(local) =>
        {
            ControlFlow::Continue(())
        }
        Node::Place(_) => ControlFlow::Break(()),
        Node::Expr(_) | Node::Stmt(_) => ControlFlow::Continue(()),
    })
    .is_continue()
}

/// Whether a place is one number in all iterations, and nothing in the loop does anything but add to it.
fn is_only_added_to(seen: &Seen, loop_: &Stmt, place: &Place) -> bool {
    if let Some(param) = pointer_of(place) {
        return seen.sums.contains(&param);
    }
    let PlaceKind::Local(local) = place.kind else { return false };
    let inside = std::slice::from_ref(loop_);
    let (mut additions, mut is_own) = (0, false);
    walk::each_stmt(inside, &mut |stmt| {
        is_own |= walk::declared_local(stmt) == Some(local);
        let is_meant =
            |(place, value): (&Place, &Expr)| place.as_local() == Some(local) && !walk::expr_mentions(value, local);
        additions += usize::from(added(stmt).is_some_and(is_meant));
    });
    !is_own && walk::count_mentions(inside, local) == additions
}
