//! Refuses kernels in which some threads return while the others go on to meet at barriers that these have met at before.
//!
//! The reverse sweep meets at the same barriers, last first. A thread that returned before the first barrier, or after
//! the last, has met at none of them or at all, like the others. One that returned in between would come to the reverse
//! of the first barriers while the others are still at the last.

use std::collections::HashMap;
use std::ops::ControlFlow;

use crate::analysis::ordering::may_meet;
use crate::diagnostic::{Diagnostic, NOT_CONVERGENT};
use crate::ir::walk::{self, Node};
use crate::ir::{
    Block, Builtin, Expr, ExprKind, Function, FunctionId, LocalId, Module, Place, PlaceKind, Space, Stmt, StmtKind,
};

/// What is wrong with the returns of a kernel.
pub(super) fn divergent_returns(module: &Module, kernel: FunctionId) -> Vec<Diagnostic> {
    let function = &module.functions[kernel];
    if function.space != Space::Kernel {
        return Vec::new();
    }
    let values = single_values(function);
    let mut found = Found { module, function, values, stops: Vec::new(), returns: Vec::new(), count: 0 };
    found.block(&function.body, true);
    let refused = found
        .returns
        .iter()
        .filter(|it| found.stops.iter().any(|stop| *stop < it.last) && found.stops.iter().any(|stop| *stop > it.first));
    refused
        .map(|it| {
            let message = "some threads return here, between barriers at which the others meet";
            Diagnostic::new(NOT_CONVERGENT, it.stmt.span, message, "the reverse sweep would meet in another order")
                .help("let all threads reach the barriers, with an `if` around what the others do")
        })
        .collect()
}

struct Return<'a> {
    stmt: &'a Stmt,
    /// The number of the statement, or of the outermost loop around it.
    first: usize,
    /// The number of the statement, or of the last one in that loop.
    last: usize,
}

struct Found<'a> {
    module: &'a Module,
    function: &'a Function,
    values: HashMap<LocalId, Option<&'a Expr>>,
    /// The numbers of the statements at which threads meet.
    stops: Vec<usize>,
    returns: Vec<Return<'a>>,
    /// How many statements there were.
    count: usize,
}

impl<'a> Found<'a> {
    /// Numbers the statements of a block. `is_alike` if all threads of a block run it.
    fn block(&mut self, block: &'a Block, is_alike: bool) {
        for stmt in block {
            self.count += 1;
            let number = self.count;
            match &stmt.kind {
                StmtKind::Return(_) if !is_alike => {
                    self.returns.push(Return { stmt, first: number, last: number });
                }
                StmtKind::If { cond, then_block, else_block } => {
                    let is_alike = is_alike && self.is_alike(cond);
                    self.block(then_block, is_alike);
                    self.block(else_block, is_alike);
                }
                StmtKind::For(head) => self.repeated(&head.body, is_alike, number),
                StmtKind::While { body, .. } => self.repeated(body, is_alike, number),
                StmtKind::Switch { cases, .. } => {
                    cases.iter().for_each(|case| self.block(&case.body, false));
                }
                _ if may_meet(self.module, stmt) => self.stops.push(number),
                _ => {}
            }
        }
    }

    /// What a loop meets at before a return it may meet at after it.
    fn repeated(&mut self, body: &'a Block, is_alike: bool, number: usize) {
        let before = self.returns.len();
        self.block(body, is_alike);
        for it in &mut self.returns[before..] {
            (it.first, it.last) = (number, self.count + 1);
        }
    }

    /// Whether a condition is the same for all threads of a block.
    fn is_alike(&self, expr: &Expr) -> bool {
        walk::visit_expr(expr, &mut |node| match node {
            Node::Expr(Expr { kind: ExprKind::Builtin(Builtin::ThreadIdx(_)), .. }) => ControlFlow::Break(()),
            Node::Expr(Expr { kind: ExprKind::Load(place), .. }) if !self.is_alike_load(place) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        })
        .is_continue()
    }

    fn is_alike_load(&self, place: &Place) -> bool {
        let PlaceKind::Local(local) = place.kind else { return false };
        match self.values.get(&local) {
            Some(value) => value.is_some_and(|value| self.is_alike(value)),
            None => self.function.params.contains(&local),
        }
    }
}

/// The variables that are given a value, and the value if it is the only one.
fn single_values(function: &Function) -> HashMap<LocalId, Option<&Expr>> {
    let mut values: HashMap<LocalId, Option<&Expr>> = HashMap::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Declare { local, init } = &stmt.kind {
            values.insert(*local, init.as_ref());
        }
        if let StmtKind::For(head) = &stmt.kind {
            values.insert(head.counter, None);
        }
    });
    let mut changed: Vec<LocalId> = Vec::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        for place in walk::written_places(stmt) {
            changed.extend(super::normalize::own_variable(place));
        }
    });
    walk::each_expr(&function.body, &mut |expr| {
        if let ExprKind::AddressOf(place) = &expr.kind {
            changed.extend(super::normalize::own_variable(place));
        }
    });
    values.extend(changed.into_iter().map(|local| (local, None)));
    values
}
