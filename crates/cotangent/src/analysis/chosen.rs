//! Variables that hold one value of a loop's counter: a search tells by a flag that it has one.
//!
//! `for (i …) if (…) { found = true; which = i; }`, and then `if (found) … which …`. There `which` has one value, and the counter
//! had it in an iteration that ran.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::locals::Locals;
use crate::ir::walk::{self, Node, Part};
use crate::ir::{Block, ExprKind, For, Function, LocalId, Stmt, StmtKind};

/// By flag, the variables that hold a value of a counter if the flag is true, and the loops of these counters.
pub(super) type Chosen<'f> = HashMap<LocalId, Vec<(LocalId, &'f For)>>;

/// Finds them.
pub(super) fn chosen<'f>(function: &'f Function, locals: &Locals<'f>) -> Chosen<'f> {
    let mut search = Search { body: &function.body, locals, loops: Vec::new(), found: Chosen::new() };
    search.block(&function.body);
    search.found
}

struct Search<'f, 's> {
    body: &'f Block,
    locals: &'s Locals<'f>,
    /// The loops around.
    loops: Vec<&'f For>,
    found: Chosen<'f>,
}

impl<'f> Search<'f, '_> {
    fn block(&mut self, block: &'f Block) {
        for stmt in block {
            if let Some(flag) = self.flag(stmt) {
                let told = block.iter().filter_map(|stmt| self.told(stmt, flag)).collect();
                self.found.insert(flag, told);
            }
            let head = if let StmtKind::For(head) = &stmt.kind { Some(&**head) } else { None };
            self.loops.extend(head);
            let _ = walk::stmt_parts(stmt, &mut |part| {
                if let Part::Block(inner) = part {
                    self.block(inner);
                }
                ControlFlow::<()>::Continue(())
            });
            if head.is_some() {
                self.loops.pop();
            }
        }
    }

    /// The variable that a statement sets, if it is false until then and nothing else changes it.
    fn flag(&self, stmt: &Stmt) -> Option<LocalId> {
        let StmtKind::Assign { place, value } = &stmt.kind else { return None };
        let flag = place.as_local().filter(|_| value.kind == ExprKind::Bool(true))?;
        let first = self.first_of_two(flag)?;
        (*first == ExprKind::Bool(false)).then_some(flag)
    }

    /// What a variable is declared with, if it is assigned once and not changed otherwise.
    fn first_of_two(&self, local: LocalId) -> Option<&'f ExprKind> {
        let uses = &self.locals[local];
        let [first, _] = uses.values.as_slice() else { return None };
        (!uses.is_given && !uses.is_changed && !uses.is_exposed).then_some(&first.kind)
    }

    /// A variable that is given the value of a counter, and is mentioned elsewhere only where the flag is true and the loop has
    /// ended.
    fn told(&self, stmt: &Stmt, flag: LocalId) -> Option<(LocalId, &'f For)> {
        let StmtKind::Assign { place, value } = &stmt.kind else { return None };
        let (variable, counter) = (place.as_local()?, value.as_local()?);
        let head = *self.loops.iter().find(|head| head.counter == counter)?;
        self.first_of_two(variable)?;
        let after = mentions_after(self.body, flag, variable, head);
        (mentions(self.body, variable) == after + 1).then_some((variable, head))
    }
}

/// How often a variable is mentioned in blocks that run only if the flag is true, outside of a loop.
fn mentions_after(block: &[Stmt], flag: LocalId, variable: LocalId, head: &For) -> usize {
    let mut count = 0;
    for stmt in block {
        if matches!(&stmt.kind, StmtKind::For(other) if std::ptr::eq(&**other, head)) {
            continue;
        }
        if let StmtKind::If { cond, then_block, .. } = &stmt.kind
            && cond.as_local() == Some(flag)
        {
            count += mentions(then_block, variable);
            continue;
        }
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let Part::Block(inner) = part {
                count += mentions_after(inner, flag, variable, head);
            }
            ControlFlow::<()>::Continue(())
        });
    }
    count
}

fn mentions(block: &[Stmt], variable: LocalId) -> usize {
    let mut count = 0;
    let _ = walk::visit_block(block, &mut |node| {
        if let Node::Place(place) = node {
            count += usize::from(place.as_local() == Some(variable));
        }
        ControlFlow::<()>::Continue(())
    });
    count
}
