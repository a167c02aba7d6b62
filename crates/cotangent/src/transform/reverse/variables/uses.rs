//! Which variables expressions and statements read and write.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::Variables;
use crate::analysis::{self, Object};
use crate::ir::walk::{self, Node, Part, own_variable};
use crate::ir::{Block, Expr, FunctionId, LocalId, Module, Place, PlaceKind, Stmt, StmtKind};
use crate::transform::locals::declare;

pub(in crate::transform::reverse) type Needed = BTreeSet<LocalId>;

/// Whether a function does nothing but compute its result.
fn is_pure(module: &Module, id: FunctionId) -> bool {
    analysis::is_pure(module, &module.functions[id], &|callee| is_pure(module, callee))
}

impl Variables<'_> {
    /// The variables that an expression reads, those behind pointers included.
    pub(in crate::transform::reverse) fn reads(&self, expr: &Expr) -> Needed {
        let mut found = Needed::new();
        let _ = walk::visit_expr(expr, &mut |node| {
            self.note_read(node, &mut found);
            ControlFlow::<()>::Continue(())
        });
        if expr.ty.is_pointer() {
            found.extend(self.facts.objects.reachable(expr).iter().filter_map(|object| object.as_local()));
        }
        found
    }

    /// The variables that a block reads or writes.
    pub(in crate::transform::reverse) fn mentioned(&self, block: &[Stmt]) -> Needed {
        let mut found = Needed::new();
        let _ = walk::visit_block(block, &mut |node| {
            self.note_read(node, &mut found);
            ControlFlow::<()>::Continue(())
        });
        found
    }

    fn note_read(&self, node: Node<'_>, found: &mut Needed) {
        let Node::Place(place) = node else { return };
        if let PlaceKind::Local(local) = place.kind {
            found.insert(local);
        }
        if matches!(place.kind, PlaceKind::Element(..)) && self.is_primal_place(place) {
            found.extend(self.facts.objects.of_place(place).iter().filter_map(|object| object.as_local()));
        }
    }

    pub(in crate::transform::reverse) fn operand_reads(&self, place: &Place) -> Needed {
        let mut found = Needed::new();
        let _ = walk::place_parts(place, &mut |part| {
            match part {
                Part::Expr(expr) => found.extend(self.reads(expr)),
                Part::Place(base) => found.extend(self.operand_reads(base)),
                Part::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
        found
    }

    /// The thread's own variables that an assignment to a place may change.
    pub(in crate::transform::reverse) fn written_locals(&self, place: &Place) -> Needed {
        match own_variable(place) {
            Some(local) => Needed::from([local]),
            None if self.is_primal_place(place) => {
                self.facts.objects.of_place(place).iter().filter_map(|object| object.as_local()).collect()
            }
            None => Needed::new(),
        }
    }

    /// The variables from outside a statement that it may change.
    pub(in crate::transform::reverse) fn written_inside(&self, stmt: &Stmt) -> Needed {
        let mut found = Needed::new();
        let mut declared = Needed::new();
        walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| {
            declared.extend(walk::declared_local(inner));
            found.extend(self.written_by(inner));
        });
        &found - &declared
    }

    /// The variables that a statement itself may change, also those whose address it hands to the runtime.
    pub(in crate::transform::reverse) fn written_by(&self, stmt: &Stmt) -> Needed {
        analysis::stmt_writes(self.facts.objects, stmt).iter().filter_map(Object::as_local).collect()
    }

    /// The variables that a call writes which cannot be repeated; none if the call can be, or is none.
    pub(in crate::transform::reverse) fn written_by_ruled(&self, stmt: &Stmt) -> Option<Needed> {
        let StmtKind::Call { into, function, args } = &stmt.kind else { return None };
        let is_users = |id: &FunctionId| {
            self.facts.module.rules.iter().any(|rule| rule.function == *id || rule.kind.functions().contains(id))
        };
        if !is_users(function) || is_pure(self.facts.module, *function) {
            return None;
        }
        let written = analysis::call_writes(self.facts.objects, *function, args);
        let mut found: Needed = written.iter().filter_map(|object| object.as_local()).collect();
        into.iter().for_each(|into| found.extend(self.written_locals(into)));
        Some(found)
    }

    /// The memory that statements of a derivative may write; what is not the primal program's own counts as all.
    pub(in crate::transform::reverse) fn written_memory(&self, block: &[Stmt]) -> BTreeSet<Object> {
        let mut found = BTreeSet::new();
        walk::each_stmt(block, &mut |stmt| {
            for place in walk::written_places(stmt) {
                if self.is_primal_place(place) {
                    found.extend(self.facts.objects.of_place(place));
                } else if own_variable(place).is_none() {
                    found.extend(analysis::written(self.facts.objects, &self.facts.primal.body));
                }
            }
            // What is called for its value and is not of the program gives slopes too, and writes nothing else.
            if let StmtKind::Call { function, into, .. } = &stmt.kind
                && ((self.facts.module.functions.get(*function).is_none() && into.is_none())
                    || self.facts.module.rule(*function).is_some())
            {
                found.extend(analysis::written(self.facts.objects, &self.facts.primal.body));
            }
        });
        found
    }

    /// Declarations of variables that repeated statements assign without declaring them: one that is given its value
    /// later than it is declared has lost its declaration.
    pub(in crate::transform::reverse) fn undeclared(&self, slice: &Block) -> Block {
        let params = self.facts.primal.params.iter().chain(&self.function.params);
        let mut declared: BTreeSet<LocalId> = params.copied().collect();
        walk::each_stmt(slice, &mut |stmt| declared.extend(walk::declared_local(stmt)));
        let written: BTreeSet<LocalId> = slice.iter().flat_map(|stmt| self.written_inside(stmt)).collect();
        written.difference(&declared).map(|local| declare(*local, None)).collect()
    }

    /// The shared arrays that a block writes.
    pub(in crate::transform::reverse) fn shared_written(&self, block: &[Stmt]) -> BTreeSet<LocalId> {
        let mut found = BTreeSet::new();
        walk::each_stmt(block, &mut |stmt| {
            for place in walk::written_places(stmt) {
                if self.is_primal_place(place) {
                    let locals =
                        self.facts.objects.of_place(place).iter().filter_map(Object::as_local).collect::<Vec<_>>();
                    found.extend(locals.into_iter().filter(|local| self.is_shared(*local)));
                }
            }
        });
        found
    }
}
