//! Values that are the same for all threads of a block: constants, parameters of the kernel, and what is computed from
//! them once.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use crate::ir::walk::{self, Node};
use crate::ir::{Builtin, Expr, ExprKind, Function, LocalId, PlaceKind, Space, StmtKind};

/// What is known about the variables of a function.
pub struct Uniform<'a> {
    /// Parameters that are the same for all threads at first.
    params: HashSet<LocalId>,
    /// What variables are given when they are declared; of counters, where they begin and how they go on.
    values: HashMap<LocalId, Vec<&'a Expr>>,
    /// Variables that are given something else later, or perhaps.
    changed: HashSet<LocalId>,
}

impl<'a> Uniform<'a> {
    pub fn new(function: &'a Function) -> Self {
        let mut values: HashMap<LocalId, Vec<&Expr>> = HashMap::new();
        walk::each_stmt(&function.body, &mut |stmt| match &stmt.kind {
            StmtKind::Declare { local, init: Some(init) } => values.entry(*local).or_default().push(init),
            StmtKind::For(head) => values.entry(head.counter).or_default().extend([&head.from, &head.by]),
            _ => {}
        });
        let changed = walk::assigned_locals(&function.body);
        let is_kernel = function.space == Space::Kernel;
        let params = function.params.iter().copied().filter(|_| is_kernel).collect();
        Self { params, values, changed }
    }

    /// Whether an expression has the same value in all threads of a block that evaluate it, in the same iterations of the
    /// loops around it.
    pub fn is_same(&self, expr: &Expr) -> bool {
        walk::visit_expr(expr, &mut |node| match node {
            Node::Expr(Expr { kind: ExprKind::Builtin(Builtin::ThreadIdx(_)), .. }) => ControlFlow::Break(()),
            Node::Expr(Expr { kind: ExprKind::Load(place), .. }) => match place.kind {
                PlaceKind::Local(local) if self.is_same_variable(local) => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            },
            _ => ControlFlow::Continue(()),
        })
        .is_continue()
    }

    fn is_same_variable(&self, local: LocalId) -> bool {
        let is_computed =
            || self.values.get(&local).is_some_and(|values| values.iter().all(|value| self.is_same(value)));
        !self.changed.contains(&local) && (self.params.contains(&local) || is_computed())
    }
}
