//! Loops of a host function whose steps are run again from checkpoints ([why](../../../../../../docs/design/checkpoints.md)).
//!
//! ```text
//!   keep_array(_steps, u, bytes)                       the loop's state: what its steps may change
//!   begin_steps(_steps, n)
//!   for (t …) { begin_step(_steps, t); step }          the forward sweep: the step as it is, and a checkpoint now and then
//!   end_steps(_steps)
//!   ...
//!   for (t … backwards) {
//!     first = restore_step(_steps, t)                  the state of a checkpoint
//!     for (k = first; k < t; ++k) { begin_step(_steps, k); step }
//!     begin_step(_steps, t)
//!     the forward sweep of this step, which records
//!     its reverse sweep, which takes back what was recorded
//!   }
//!   finish_steps(_steps)                               variables, and the caller's memory, as the forward sweep left them
//! ```
//!
//! Right because the reverse sweep of an iteration reads what the iteration recorded, and otherwise memory and variables that
//! the loop does not change: it does not matter when the iteration was run, if it began with the same state.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::super::headers::{counter_of, iteration_number};
use super::super::plan::loops::Loop;
use super::super::plan::steps::{Extent, Step, pointers_of};
use super::super::variables::as_pointer;
use super::Assembly;
use super::flat::trips;
use crate::ir::walk::{self, PartMut, own_variable};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, For, LocalId, Place, PlaceKind, Stmt, StmtKind, Type};
use crate::rules::{CHECKPOINT, STEPS};
use crate::transform::locals::{copy_block, declare, rename, without_spans};
use crate::transform::runtime_calls::{call_of, const_void};

const RUN_AGAIN: &str = "steps between those that are kept are run again";
const ROUNDED_ANEW: &str =
    "steps between those that are kept are run again; their atomic additions may round differently then";

/// What is written for such a loop.
pub(super) struct Steps {
    object: Place,
    /// One step: as the forward sweep runs it first, and as it is run again.
    first: Block,
    again: Block,
    /// What happens once, by the statements, and what stands in their place when the step is run again.
    once: Vec<(Stmt, Block)>,
    has_streams: bool,
    /// Whether the caller looks at what the loop leaves.
    outlives: bool,
    /// Whether a step that is run again gives the same bits.
    is_exact: bool,
}

/// How often such a loop runs, and which iteration this one is.
pub(super) enum Counted<'a> {
    /// By the header.
    Header(&'a For),
    /// By the variable that counts.
    Trips(LocalId),
}

impl Assembly<'_> {
    /// Plans a loop whose steps are run again; `before` gets what stands before it.
    pub(super) fn steps(&mut self, it: &Loop<'_>, body: &[Stmt], step: &Step, before: &mut Block) -> Steps {
        let ty = Type::Opaque(STEPS.into());
        let object = Place::local(self.rules.vars.add("_steps", ty.clone()), ty);
        if let Some(local) = object.as_local() {
            let note = if step.is_rounded_anew { ROUNDED_ANEW } else { RUN_AGAIN };
            before.push(declare(local, None).noted(note).at(it.stmt.span));
        }
        let of_caller = self.arrays_of_caller();
        for (pointer, extent) in &step.arrays {
            let array = Expr::cast(pointer.uncast_pointer().clone(), const_void());
            let (call, how) = match extent {
                Extent::Known(bytes) => ("cotangent::keep_array", vec![bytes.clone()]),
                Extent::Stated(bytes) => {
                    ("cotangent::keep_stated", [vec![bytes.clone()], without(&of_caller, pointer)].concat())
                }
                Extent::Asked => ("cotangent::keep_allocation", without(&of_caller, pointer)),
            };
            before.push(call_of(call, [vec![reference(&object), array], how].concat()));
        }
        let shadows: Vec<Place> = step
            .values
            .iter()
            .filter(|local| self.rules.vars.function.locals[**local].ty.is_pointer())
            .filter_map(|local| self.rules.vars.shadows.local(*local).cloned())
            .collect();
        let values = step.values.iter().map(|local| self.place_of(*local)).collect::<Vec<_>>();
        for place in values.into_iter().chain(shadows) {
            before.push(call_of("cotangent::keep_value", vec![reference(&object), pointer_to(&place)]));
        }
        let calls = |name: &str, places: &[Place]| -> Block {
            places.iter().map(|place| call_of(name, vec![reference(&object), pointer_to(place)])).collect()
        };
        let once: Vec<(Stmt, Block)> =
            step.once.iter().map(|(stmt, places)| (stmt.clone(), calls("cotangent::recall", places))).collect();
        let primal = self.primal_step(body);
        let mut again = primal.clone();
        replace(&mut again, &once);
        let mut first = primal;
        let noted: Vec<(Stmt, Block)> = step
            .once
            .iter()
            .map(|(stmt, places)| (stmt.clone(), [vec![stmt.clone()], calls("cotangent::note", places)].concat()))
            .collect();
        replace(&mut first, &noted);
        Steps {
            object,
            first,
            again,
            once,
            has_streams: step.has_streams,
            outlives: step.outlives,
            is_exact: !step.is_rounded_anew,
        }
    }

    /// Pointers to the arrays of the caller, and to their adjoints, as parameters give them.
    fn arrays_of_caller(&self) -> Vec<Expr> {
        let vars = &self.rules.vars;
        let mut found = Vec::new();
        for param in &self.rules.facts.primal.params {
            found.extend(pointers_of(vars, &self.place_of(*param)));
            let Some(shadow) = vars.shadows.local(*param) else { continue };
            if let PlaceKind::Element(pointer, _) = &shadow.kind {
                found.push((**pointer).clone());
            }
            found.extend(pointers_of(vars, shadow));
        }
        found
    }

    /// The iterations of the forward sweep begin with this.
    pub(super) fn forward_steps(
        &mut self,
        steps: &Steps,
        counted: &Counted<'_>,
        exit: Option<&Stmt>,
        before: &mut Block,
    ) -> Block {
        let (count, number) = match counted {
            Counted::Header(head) => {
                let counter = Expr::load(Place::local(head.counter, head.from.ty.clone()));
                (trips(head), as_long(iteration_number(head, counter)))
            }
            Counted::Trips(trips) => {
                let minus_one = Expr::new(ExprKind::Int(-1), Type::LONG);
                (minus_one, as_long(Expr::load(Place::local(*trips, Type::INT))))
            }
        };
        let [has_streams, outlives, is_exact] = [steps.has_streams, steps.outlives, steps.is_exact].map(Expr::bool);
        let args = vec![reference(&steps.object), count, has_streams, outlives, is_exact];
        before.push(call_of("cotangent::begin_steps", args));
        let mut body = vec![begin_step(steps, number)];
        if let Counted::Trips(trips) = counted {
            let place = Place::local(*trips, Type::INT);
            let next = Expr::binary(BinaryOp::Add, Expr::load(place.clone()), Expr::int(1));
            body.push(Stmt::new(StmtKind::Assign { place, value: next }));
        }
        body.extend(steps.first.iter().cloned());
        body.extend(exit.cloned());
        body
    }

    /// What follows the loop of the forward sweep, and that of the reverse sweep.
    pub(super) fn ends_of_steps(&self, steps: &Steps) -> [Option<Stmt>; 2] {
        ["cotangent::end_steps", "cotangent::finish_steps"]
            .map(|call| Some(call_of(call, vec![reference(&steps.object)])))
    }

    /// An iteration of the reverse sweep: the state of the step, the forward sweep of that step, which records, and its reverse
    /// sweep. `number` is the number of the step; `counter` is the counter of the loop, and its copy here.
    pub(super) fn reverse_step(
        &mut self,
        it: &Loop<'_>,
        steps: &Steps,
        [mut recording, mut reverse]: [Block; 2],
        number: &Expr,
        counter: Option<(LocalId, LocalId)>,
    ) -> Block {
        let number = as_long(number.clone());
        let first = Place::local(self.rules.vars.add("_first", Type::LONG), Type::LONG);
        let step = self.rules.vars.add("_step", Type::LONG);
        let current = Expr::load(Place::local(step, Type::LONG));
        let (mut again, _) = copy_block(&steps.again, &mut self.rules.vars.function, &mut self.rules.vars.names);
        let mut body = vec![begin_step(steps, current.clone())];
        if let (Some(head), true) = (it.head, it.head.is_some_and(|head| walk::mentions(&again, head.counter))) {
            let copy = self.rules.vars.copy_of(head.counter, &mut HashMap::new());
            let value = Expr::cast(counter_of(head, current), head.from.ty.clone());
            body.push(declare(copy, Some(value)));
            rename(&mut again, &HashMap::from([(head.counter, copy)]));
        }
        body.extend(again);
        let one = Expr::new(ExprKind::Int(1), Type::LONG);
        let run = For {
            counter: step,
            from: Expr::load(first.clone()),
            test: BinaryOp::Less,
            to: number.clone(),
            step: BinaryOp::Add,
            by: one,
            unroll: None,
            body,
        };
        replace(&mut recording, &steps.once);
        let (mut recording, _) = copy_block(&recording, &mut self.rules.vars.function, &mut self.rules.vars.names);
        rename(&mut recording, &counter.into_iter().collect());
        hand_over(&mut recording, &mut reverse);
        let restore = StmtKind::Runtime {
            call: "cotangent::restore_step".into(),
            args: vec![reference(&steps.object), number.clone()],
            into: Some(first.clone()),
        };
        let declared = first.as_local().map(|local| declare(local, None).at(it.stmt.span));
        let mut out: Block = declared.into_iter().chain([Stmt::new(restore)]).collect();
        out.push(Stmt::new(StmtKind::For(Box::new(run))));
        out.push(begin_step(steps, number));
        [out, recording, reverse].concat()
    }

    /// A step as it is, with pointers to adjoints that follow those of the program.
    fn primal_step(&mut self, block: &[Stmt]) -> Block {
        let mut out = Block::new();
        for stmt in block {
            let mut stmt = stmt.clone();
            if matches!(&stmt.kind, StmtKind::Runtime { call, .. } if **call == *CHECKPOINT) {
                continue;
            }
            let is_pointer = |local: LocalId| self.rules.vars.function.locals[local].ty.is_pointer();
            let is_stored = stmt.as_assign().is_some_and(|(place, _)| place.ty.is_pointer());
            let begins = if let StmtKind::Declare { local, .. } = &stmt.kind { Some(*local) } else { None };
            if is_stored || begins.is_some_and(is_pointer) {
                out.extend(self.rules.statement(&stmt).forward);
                continue;
            }
            let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
                if let PartMut::Block(block) = part {
                    *block = self.primal_step(block);
                }
                ControlFlow::<()>::Continue(())
            });
            out.push(stmt);
        }
        out
    }

    fn place_of(&self, local: LocalId) -> Place {
        Place::local(local, self.rules.vars.function.locals[local].ty.clone())
    }
}

/// What a step records, its reverse sweep takes back at once: in variables, where all of it is in this block.
fn hand_over(recording: &mut Block, reverse: &mut Block) {
    let pushes: Vec<usize> = positions(recording, |stmt| matches!(stmt.kind, StmtKind::Push { .. }));
    let mut pops: Vec<usize> = positions(reverse, |stmt| matches!(stmt.kind, StmtKind::Pop { .. }));
    if pushes.len() != pops.len() {
        return;
    }
    // Last in, first out.
    pops.reverse();
    let mut declared: Vec<LocalId> = Vec::new();
    for (push, pop) in pushes.into_iter().zip(&pops) {
        let (StmtKind::Push { value, .. }, StmtKind::Pop { into, .. }) = (&recording[push].kind, &reverse[*pop].kind)
        else {
            continue;
        };
        let kind = match into.as_local() {
            Some(local) => {
                declared.push(local);
                StmtKind::Declare { local, init: Some(value.clone()) }
            }
            None => StmtKind::Assign { place: into.clone(), value: value.clone() },
        };
        recording[push].kind = kind;
    }
    let mut before = Block::new();
    for (position, stmt) in std::mem::take(reverse).into_iter().enumerate() {
        let begun = if let StmtKind::Declare { local, init: None } = stmt.kind { Some(local) } else { None };
        if pops.contains(&position) || begun.is_some_and(|local| declared.contains(&local)) {
            continue;
        }
        // Of a record or an array, which is filled part by part.
        let is_before = begun.is_some_and(|local| is_filled(recording, local));
        if is_before { before.push(stmt) } else { reverse.push(stmt) }
    }
    recording.splice(0..0, before);
}

fn positions(block: &[Stmt], is_meant: impl Fn(&Stmt) -> bool) -> Vec<usize> {
    block.iter().enumerate().filter(|(_, stmt)| is_meant(stmt)).map(|(position, _)| position).collect()
}

/// Whether a block stores to parts of a variable.
fn is_filled(block: &[Stmt], local: LocalId) -> bool {
    block.iter().any(|stmt| {
        stmt.as_assign().is_some_and(|(place, _)| place.as_local().is_none() && own_variable(place) == Some(local))
    })
}

/// Puts other statements in the place of some.
fn replace(block: &mut Block, by: &[(Stmt, Block)]) {
    let mut out = Block::new();
    for mut stmt in std::mem::take(block) {
        let found = by.iter().find(|(original, _)| original.kind == stmt.kind && original.span == stmt.span);
        if let Some((_, others)) = found {
            out.extend(others.iter().cloned());
            continue;
        }
        let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                replace(inner, by);
            }
            ControlFlow::<()>::Continue(())
        });
        out.push(stmt);
    }
    *block = out;
}

fn begin_step(steps: &Steps, number: Expr) -> Stmt {
    call_of("cotangent::begin_step", vec![reference(&steps.object), number])
}

fn as_long(value: Expr) -> Expr {
    Expr::cast(value, Type::LONG)
}

/// All pointers but one.
fn without(pointers: &[Expr], one: &Expr) -> Vec<Expr> {
    let plain = |pointer: &Expr| without_spans(pointer.uncast_pointer());
    pointers.iter().filter(|pointer| plain(pointer) != plain(one)).cloned().collect()
}

/// The object, handed on by reference.
fn reference(object: &Place) -> Expr {
    Expr::new(ExprKind::AddressOf(object.clone()), Type::reference(object.ty.clone()))
}

fn pointer_to(place: &Place) -> Expr {
    as_pointer(Expr::address_of(place.clone()), Type::pointer(place.ty.clone()))
}
