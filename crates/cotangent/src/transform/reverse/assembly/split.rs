//! The two sweeps as two functions: `f_augmented` runs and records, `f_reverse` runs later, with the record.
//!
//! The whole body is treated as an iteration of a loop is: what the reverse sweep needs is computed again from memory that
//! the kernel does not write, or recorded. `f_reverse` says which arrays must be as they were.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::super::frames::Frame;
use super::super::plan::again::pushed_records;
use super::super::rules::Pair;
use super::super::rules::params::Sum;
use super::Assembly;
use super::again::take_apart;
use super::block::{Changed, Sweeps};
use super::settle::Kept;
use crate::analysis::{self, Base, Object};
use crate::diagnostic::{CANNOT_RECORD, Diagnostic};
use crate::ir::walk::{self, Node, PartMut, own_variable};
use crate::ir::{Block, Expr, LocalId, NEEDED, NEEDS_NOTHING, Place, PlaceKind, Stmt, StmtKind};
use crate::transform::locals::declare;

/// The bodies of the two functions, with `Push` and `Pop` still in them.
pub(in crate::transform::reverse) struct Apart {
    pub(in crate::transform::reverse) augmented: Block,
    pub(in crate::transform::reverse) reverse: Block,
    /// How many values are recorded, if that is always the same.
    pub(in crate::transform::reverse) fixed: Option<usize>,
    /// The positions of the parameters whose memory the reverse function reads.
    pub(in crate::transform::reverse) needed: Vec<usize>,
}

/// Says which memory the reverse function reads.
pub(in crate::transform::reverse) fn needed_arrays(names: &[&str]) -> String {
    match names {
        [] => format!("{NEEDS_NOTHING}: it reads no memory of the primal function."),
        _ => format!("{NEEDED}{}.", names.join(", ")),
    }
}

impl Assembly<'_> {
    /// Both bodies.
    pub(in crate::transform::reverse) fn apart(&mut self, sums: &[Sum]) -> Apart {
        self.check_allocations();
        let (body, result) = self.rules.facts.body_and_result();
        let declared = self.rules.facts.declared_in(body);
        let unstable = analysis::written(self.rules.facts.objects, body);
        let reloaded = self.rules.values().reloadable(body, &declared, false);
        self.rules.frames.begin_apart(Frame { is_loop: true, declared, unstable, reloaded, known: None });
        let (mut before, mut kept) = (Block::new(), Kept::default());
        if let Some(value) = result {
            self.rules.adjoint_of_result(value, None, &mut before);
            self.settle(&mut before, &BTreeSet::new(), &mut kept);
        }
        let Sweeps { mut forward, adjoints, reverse, .. } = self.sweeps(body, &mut Changed::default(), false);
        forward.extend(kept.declarations);
        let pair = Pair { forward, reverse: [adjoints, before, reverse].concat() };
        let mentioned = self.rules.vars.mentioned(&pair.reverse);
        let mut needed = self.needed_by(&pair.reverse);
        let mut sliced = take_apart(&mut self.rules, &pair.forward, &mut needed);
        self.remove_adjoints(&mut sliced.forward);
        let record = self.rules.vars.add("_rows", crate::ir::Type::INT);
        let recorded = sliced.recorded.iter();
        let pushes: Block = recorded
            .clone()
            .flat_map(|local| {
                let place = Place::local(*local, self.rules.vars.function.locals[*local].ty.clone());
                self.rules.vars.push_values(record, &place)
            })
            .collect();
        let pops: Block = recorded.rev().flat_map(|local| self.rules.vars.pop_values(record, *local)).collect();
        let end = result.map(|value| Stmt::new(StmtKind::Return(Some(value.clone()))));
        let augmented: Block = sliced.forward.into_iter().chain(pushes).chain(end).collect();
        self.check_augmented(&augmented);
        let has_inner = augmented
            .iter()
            .any(|stmt| !matches!(stmt.kind, StmtKind::Push { .. }) && !pushed_records(stmt).is_empty());
        let count = augmented.iter().filter(|stmt| matches!(stmt.kind, StmtKind::Push { .. })).count();
        let declared_again: BTreeSet<LocalId> = sliced.slice.iter().filter_map(walk::declared_local).collect();
        let filled = self.filled.iter().filter(|array| mentioned.contains(array) && !declared_again.contains(array));
        let filled: Block = filled.map(|array| declare(*array, None)).collect();
        let declarations = [filled, self.rules.vars.undeclared(&sliced.slice)].concat();
        let adjoints = [declarations, sliced.slice, pair.reverse].concat();
        let reverse = self.rules.between(pops, adjoints, sums);
        self.uses_record |= count > 0;
        let needed = self.needed_params(&augmented, &reverse);
        Apart { augmented, reverse, fixed: (!has_inner).then_some(count), needed }
    }

    /// Memory that lives on when its block ends would have adjoints that nobody frees.
    fn check_allocations(&mut self) {
        for span in self.rules.facts.kept_allocations() {
            let message = "this memory is not freed on every way through the block that allocates it";
            let label = "in the split form nobody frees its adjoints";
            let help = "free it at the end of that block, hand it over as a parameter, or leave out `--split`";
            self.rules.report(Diagnostic::new(CANNOT_RECORD, span, message, label).help(help));
        }
    }

    /// The forward sweep alone has no adjoints: pointers to them are made by the reverse sweep.
    fn remove_adjoints(&self, block: &mut Block) {
        block.retain(|stmt| {
            let declared = walk::declared_local(stmt).into_iter();
            let written = walk::written_places(stmt).into_iter().filter_map(own_variable);
            !declared.chain(written).any(|local| self.rules.vars.primal_of(local).is_some())
        });
        for stmt in block {
            let _ = walk::stmt_parts_mut(stmt, &mut |part| {
                if let PartMut::Block(inner) = part {
                    self.remove_adjoints(inner);
                }
                ControlFlow::<()>::Continue(())
            });
        }
    }

    /// A pointer to adjoints that changes would have to be recorded where there are no adjoints yet.
    fn check_augmented(&mut self, augmented: &Block) {
        let mut found = None;
        let mut moving = BTreeSet::new();
        walk::each_stmt(augmented, &mut |stmt| {
            let _ = walk::stmt_parts(stmt, &mut |part| {
                let walk::Part::Expr(expr) = part else { return ControlFlow::<()>::Continue(()) };
                let _ = walk::visit_expr(expr, &mut |node| {
                    if let Node::Place(Place { kind: PlaceKind::Local(local), .. }) = node
                        && let Some(pointer) = self.rules.vars.primal_of(*local)
                    {
                        moving.insert(pointer);
                        found =
                            found.or(Some(if stmt.span.is_none() { self.rules.facts.primal.span } else { stmt.span }));
                    }
                    ControlFlow::<()>::Continue(())
                });
                ControlFlow::Continue(())
            });
        });
        // Memory whose adjoints nobody frees is refused already.
        if let Some(span) = found.filter(|_| !self.rules.facts.is_host() || self.rules.refused.diagnostics.is_empty()) {
            self.rules.refused.moving.extend(moving);
            let message = "a pointer that moves cannot be recorded in the split form";
            self.rules.report(
                Diagnostic::new(CANNOT_RECORD, span, message, "the adjoints it would point to come later")
                    .help("use an index instead of the pointer, or leave out `--split`"),
            );
        }
    }

    /// The positions of the parameters whose memory a reverse sweep reads, by themselves or by pointers that were recorded.
    fn needed_params(&mut self, augmented: &Block, reverse: &Block) -> Vec<usize> {
        let vars = &self.rules.vars;
        let (module, primal, objects) = (self.rules.facts.module, self.rules.facts.primal, self.rules.facts.objects);
        let mut pointers = BTreeSet::new();
        let mut looked_at = reverse.clone();
        self.drop_unread(&mut looked_at);
        walk::each_place(&looked_at, &mut |place| {
            let local = place.as_local().filter(|local| vars.primal_of(*local).is_none());
            let local = local.map(|local| vars.original(local));
            pointers.extend(local.filter(|local| analysis::uses_memory(module, &vars.function.locals[*local].ty)));
        });
        let load = |local: LocalId| Expr::load(Place::local(local, primal.locals[local].ty.clone()));
        let (of_program, others): (Vec<LocalId>, Vec<LocalId>) =
            pointers.into_iter().partition(|local| vars.is_primal(*local));
        let mut read: BTreeSet<Object> =
            of_program.into_iter().flat_map(|local| objects.reachable(&load(local))).collect();
        let mut reads_any = false;
        let mut recorded = BTreeSet::new();
        walk::each_stmt(reverse, &mut |stmt| {
            if let StmtKind::Pop { into, .. } = &stmt.kind {
                recorded.extend(own_variable(into));
            }
        });
        // Copies and records of launches are memory of the derivative's own.
        let mut made = BTreeSet::new();
        walk::each_stmt(augmented, &mut |stmt| {
            if let StmtKind::Runtime { into: Some(into), .. } = &stmt.kind {
                made.extend(own_variable(into).filter(|local| !vars.is_primal(*local)));
            }
        });
        let is_made = |value: &Expr| value.as_local().is_some_and(|local| made.contains(&local));
        // What others are made of stands in the reverse sweep, and counts already.
        for local in others.into_iter().filter(|local| vars.is_saved(*local) && recorded.contains(local)) {
            let is_of_program = |expr: &&Expr| {
                let is_other = |place: &Place| place.as_local().is_some_and(|local| !vars.is_primal(local));
                !walk::loads_any(expr, &mut |place| is_other(place))
            };
            let declared = declared_as(augmented, local);
            if declared.is_some_and(is_made) {
                continue;
            }
            match declared.filter(is_of_program) {
                Some(value) => read.extend(objects.reachable(value)),
                None => reads_any = true,
            }
        }
        let is_read = |(_, param): &(usize, &LocalId)| {
            analysis::uses_memory(module, &primal.locals[**param].ty)
                && (reads_any || objects.reachable(&load(**param)).iter().any(|object| object.overlaps_any(&read)))
        };
        let needed = primal.params.iter().enumerate().filter(is_read).map(|(position, _)| position).collect();
        let is_unread = |object: &Object| matches!(object.base, Base::Unread | Base::Unknown);
        if self.rules.facts.is_host() && read.iter().any(is_unread) {
            let message = "the reverse sweep reads memory that code which is not read has made";
            let label = "in the split form it may be gone by then";
            let help = "make it outside and hand it over as a parameter, or leave out `--split`";
            self.rules.report(Diagnostic::new(CANNOT_RECORD, primal.span, message, label).help(help));
        }
        needed
    }

    /// Leaves launches only what their kernels read.
    fn drop_unread(&self, block: &mut Block) {
        for stmt in block {
            let _ = walk::stmt_parts_mut(stmt, &mut |part| {
                if let PartMut::Block(inner) = part {
                    self.drop_unread(inner);
                }
                ControlFlow::<()>::Continue(())
            });
            if let StmtKind::Launch(launch) = &mut stmt.kind {
                let read = analysis::reads_through(self.rules.derivatives.written(), launch.kernel);
                let mut position = 0..;
                launch.args.retain(|_| position.next().is_some_and(|position| read.contains(&position)));
            }
        }
    }
}

/// What a variable is declared as.
fn declared_as(block: &Block, meant: LocalId) -> Option<&Expr> {
    let mut found = None;
    walk::each_stmt(block, &mut |stmt| {
        if let StmtKind::Declare { local, init: Some(init) } = &stmt.kind
            && *local == meant
        {
            found = Some(init);
        }
    });
    found
}
