//! The two sweeps as two functions: `f_augmented` runs and records, `f_reverse` runs later, with the record.
//!
//! The whole body is treated as an iteration of a loop is: what the reverse sweep needs is computed again from memory that
//! the kernel does not write, or recorded. `f_reverse` says which arrays must be as they were.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::super::locals::mentions;
use super::function::{Ctx, Frame};
use super::write::Sum;
use crate::analysis::{self, Object};
use crate::diagnostic::{CANNOT_RECORD, Diagnostic};
use crate::ir::walk::{self, Node, PartMut, own_variable};
use crate::ir::{Block, Expr, LocalId, Place, PlaceKind, StmtKind};

/// The bodies of the two functions, with `Push` and `Pop` still in them.
pub(super) struct Apart {
    pub(super) augmented: Block,
    pub(super) reverse: Block,
    /// How many values are recorded, if that is always the same.
    pub(super) fixed: Option<usize>,
}

impl Ctx<'_> {
    /// Both bodies of a kernel. `saved` are the parameters whose memory may change between the two, `variables` are what
    /// may change outside functions.
    pub(super) fn apart(&mut self, sums: &[Sum], saved: &[LocalId], variables: &[Object]) -> Apart {
        let body = self.primal.body.as_slice();
        let declared = self.declared_in(body);
        for param in saved {
            let load = Expr::load(Place::local(*param, self.primal.locals[*param].ty.clone()));
            let reached = self.objects.reachable(&load);
            self.written.extend(reached);
        }
        self.written.extend(variables.iter().cloned());
        let unstable = analysis::written(self.objects, body);
        let reloaded = self.reloadable(body, &declared, false);
        self.frames = vec![Frame { is_loop: true, declared, unstable, reloaded }];
        let pair = self.block(body, &BTreeSet::new(), false);
        let mut needed = self.mentioned(&pair.reverse);
        let mut sliced = self.slice(&pair.forward, &mut needed);
        self.remove_adjoints(&mut sliced.forward);
        let record = self.names.add(&mut self.function, "_rows", crate::ir::Type::INT);
        let recorded = sliced.recorded.iter();
        let pushes: Block = recorded
            .clone()
            .flat_map(|local| {
                let place = Place::local(*local, self.function.locals[*local].ty.clone());
                self.push_values(record, &place)
            })
            .collect();
        let pops: Block = recorded.rev().flat_map(|local| self.pop_values(record, *local)).collect();
        let augmented = [sliced.forward, pushes].concat();
        self.check_augmented(&augmented);
        let has_inner = augmented
            .iter()
            .any(|stmt| !matches!(stmt.kind, StmtKind::Push { .. }) && !super::slice::pushed_records(stmt).is_empty());
        let count = augmented.iter().filter(|stmt| matches!(stmt.kind, StmtKind::Push { .. })).count();
        let declarations = self.undeclared(&sliced.slice);
        let adjoints = [declarations, sliced.slice, pair.reverse].concat();
        let reverse = self.between(pops, adjoints, sums);
        self.uses_record |= count > 0;
        Apart { augmented, reverse, fixed: (!has_inner).then_some(count) }
    }

    /// The forward sweep alone has no adjoints: pointers to them are made by the reverse sweep.
    fn remove_adjoints(&self, block: &mut Block) {
        block.retain(|stmt| {
            let declared = walk::declared_local(stmt).into_iter();
            let written = walk::written_places(stmt).into_iter().filter_map(own_variable);
            !declared.chain(written).any(|local| self.primal_of(local).is_some())
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
        walk::each_stmt(augmented, &mut |stmt| {
            let _ = walk::stmt_parts(stmt, &mut |part| {
                let walk::Part::Expr(expr) = part else { return ControlFlow::<()>::Continue(()) };
                let _ = walk::visit_expr(expr, &mut |node| {
                    if let Node::Place(Place { kind: PlaceKind::Local(local), .. }) = node
                        && self.primal_of(*local).is_some()
                    {
                        found = found.or(Some(if stmt.span.is_none() { self.primal.span } else { stmt.span }));
                    }
                    ControlFlow::<()>::Continue(())
                });
                ControlFlow::Continue(())
            });
        });
        if let Some(span) = found {
            let message = "a pointer that moves cannot be recorded in the split form";
            self.report(
                Diagnostic::new(CANNOT_RECORD, span, message, "the adjoints it would point to come later")
                    .help("use an index instead of the pointer, or leave out `--split`"),
            );
        }
    }

    /// The positions of the parameters whose memory the reverse function reads.
    pub(super) fn needed_params(&self) -> Vec<usize> {
        let is_read = |(_, param): &(usize, &LocalId)| {
            analysis::uses_memory(self.module, &self.primal.locals[**param].ty)
                && mentions(&self.function.body, **param)
        };
        self.primal.params.iter().enumerate().filter(is_read).map(|(position, _)| position).collect()
    }
}

/// Says which memory the reverse function reads.
pub(super) fn needed_arrays(names: &[&str]) -> String {
    match names {
        [] => "Needs nothing unchanged: it reads no memory of the primal function.".to_owned(),
        _ => format!("Needs unchanged: {}.", names.join(", ")),
    }
}
