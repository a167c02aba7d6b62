//! How many slots of the record a launch needs: the forward sweep without its effects, which counts instead of recording.

use std::collections::BTreeSet;

use super::super::frames::Frame;
use super::super::plan::Values;
use super::super::plan::again::Slicer;
use super::super::rules::Rules;
use super::again::{Sliced, carry_out};
use crate::analysis::Object;
use crate::diagnostic::{Diagnostic, RECORD_SIZE};
use crate::ir::walk::{self};
use crate::ir::{
    AtomicOp, BinaryOp, Block, Expr, ExprKind, Function, LocalId, Place, Scope, Space, Stmt, StmtKind, Type,
};
use crate::source::Span;
use crate::transform::locals::{assign, declare, tell_apart};

/// A kernel that raises `*_slots` to the number of slots that its thread needs, the first `reserved` included; an error
/// if that depends on memory which the kernel writes. None for a function that is no kernel.
pub(in crate::transform::reverse) fn count_slots(
    rules: &mut Rules<'_>,
    body: &Block,
    reserved: i128,
) -> Option<Function> {
    if rules.facts.primal.space != Space::Kernel {
        return None;
    }
    let count = rules.vars.add("_count", Type::UINT);
    let first = Expr::new(ExprKind::Int(reserved), Type::UINT);
    let mut counting = vec![declare(count, Some(first))];
    counting.extend(body.iter().cloned());
    replace_pushes(&mut counting, count);
    let part = match sliced_first(rules, &counting, count) {
        Ok(part) => part,
        Err(span) => {
            rules.report(uncounted(if span.is_none() { rules.facts.primal.span } else { span }));
            return None;
        }
    };
    let body = [rules.vars.undeclared(&part.slice), part.slice].concat();
    let mut function = Function {
        name: format!("{}_slots", rules.vars.function.name).into(),
        params: rules.facts.primal.params.clone(),
        body,
        launch_bounds: rules.facts.primal.launch_bounds,
        ..rules.vars.function.clone()
    };
    let pointer = Type::pointer(Type::UINT);
    let slots = rules.vars.names.add(&mut function, "_slots", pointer.clone());
    function.params.push(slots);
    let most = StmtKind::Atomic {
        op: AtomicOp::Max,
        scope: Scope::Device,
        place: Place::deref(Expr::load(Place::local(slots, pointer))),
        value: Expr::load(Place::local(count, Type::UINT)),
        compare: None,
        into: None,
    };
    function.body.push(Stmt::new(most));
    tell_apart(&mut function, &mut rules.vars.names);
    Some(function)
}

/// The statements of a whole kernel that yield a variable before it has run; else where it depends on memory that the kernel
/// writes.
fn sliced_first(rules: &mut Rules<'_>, block: &[Stmt], wanted: LocalId) -> Result<Sliced, Span> {
    // Nobody fills shared memory there.
    let shared = rules.vars.shared_written(&rules.facts.primal.body);
    let mut frames = rules.frames.before_all();
    frames.enter(Frame { unstable: shared.into_iter().map(Object::local).collect(), ..Frame::default() });
    let mut slicer = Slicer::new(Values { vars: &rules.vars, frames: &frames });
    let again = slicer.before_all(block, &mut BTreeSet::from([wanted]))?;
    Ok(carry_out(&mut rules.vars, block, &again))
}

fn uncounted(span: Span) -> Diagnostic {
    let message = "how much is recorded depends on memory that the kernel writes";
    let label = "so the size of the record cannot be counted before the launch";
    Diagnostic::new(RECORD_SIZE, span, message, label)
        .help("say how many slots a thread may need with `--record-slots`; a launch that needs more is an error")
}

fn replace_pushes(block: &mut Block, count: LocalId) {
    for stmt in block {
        if matches!(stmt.kind, StmtKind::Push { .. }) {
            let place = Place::local(count, Type::UINT);
            let one = Expr::new(ExprKind::Int(1), Type::UINT);
            *stmt = assign(place.clone(), Expr::binary(BinaryOp::Add, Expr::load(place), one));
        }
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let walk::PartMut::Block(inner) = part {
                replace_pushes(inner, count);
            }
            std::ops::ControlFlow::<()>::Continue(())
        });
    }
}
