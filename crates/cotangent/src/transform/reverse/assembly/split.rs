//! The two sweeps as two functions: `f_augmented` runs and records, `f_reverse` runs later, with the record.
//!
//! The whole body is treated as an iteration of a loop is: what the reverse sweep needs is computed again from memory that
//! the kernel does not write, or recorded. `f_reverse` says which arrays must be as they were.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::super::frames::Frame;
use super::super::plan::again::pushed_records;
use super::super::rules::params::Sum;
use super::Assembly;
use super::again::take_apart;
use super::block::Changed;
use crate::analysis::{self, Object};
use crate::diagnostic::{CANNOT_RECORD, Diagnostic};
use crate::ir::walk::{self, Node, PartMut, own_variable};
use crate::ir::{Block, Expr, LocalId, NEEDED, Place, PlaceKind, StmtKind};
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
        [] => "Needs nothing unchanged: it reads no memory of the primal function.".to_owned(),
        _ => format!("{NEEDED}{}.", names.join(", ")),
    }
}

impl Assembly<'_> {
    /// Both bodies of a kernel.
    pub(in crate::transform::reverse) fn apart(&mut self, sums: &[Sum]) -> Apart {
        let body = self.rules.facts.primal.body.as_slice();
        let declared = self.rules.facts.declared_in(body);
        let unstable = analysis::written(self.rules.facts.objects, body);
        let reloaded = self.rules.values().reloadable(body, &declared, false);
        self.rules.frames.begin_with(Frame { is_loop: true, declared, unstable, reloaded, known: None });
        let pair = self.block(body, &mut Changed::default(), false);
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
        let augmented = [sliced.forward, pushes].concat();
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
        if let Some(span) = found {
            self.rules.refused.moving.extend(moving);
            let message = "a pointer that moves cannot be recorded in the split form";
            self.rules.report(
                Diagnostic::new(CANNOT_RECORD, span, message, "the adjoints it would point to come later")
                    .help("use an index instead of the pointer, or leave out `--split`"),
            );
        }
    }

    /// The positions of the parameters whose memory a reverse sweep reads, by themselves or by pointers that were recorded.
    fn needed_params(&self, augmented: &Block, reverse: &Block) -> Vec<usize> {
        let vars = &self.rules.vars;
        let (module, primal, objects) = (self.rules.facts.module, self.rules.facts.primal, self.rules.facts.objects);
        let mut pointers = BTreeSet::new();
        walk::each_place(reverse, &mut |place| {
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
        // What others are made of stands in the reverse sweep, and counts already.
        for local in others.into_iter().filter(|local| vars.is_saved(*local) && recorded.contains(local)) {
            let is_of_program = |expr: &&Expr| {
                let is_other = |place: &Place| place.as_local().is_some_and(|local| !vars.is_primal(local));
                !walk::loads_any(expr, &mut |place| is_other(place))
            };
            match declared_as(augmented, local).filter(is_of_program) {
                Some(value) => read.extend(objects.reachable(value)),
                None => reads_any = true,
            }
        }
        let is_read = |(_, param): &(usize, &LocalId)| {
            analysis::uses_memory(module, &primal.locals[**param].ty)
                && (reads_any || objects.reachable(&load(**param)).iter().any(|object| object.overlaps_any(&read)))
        };
        primal.params.iter().enumerate().filter(is_read).map(|(position, _)| position).collect()
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
