//! `if`, `switch`, `break` and `continue`.

use super::body::{Body, Enclosing};
use super::context::{Lowered, broken, problem_with_help};
use crate::clang::{Kind, Node};
use crate::diagnostic;
use crate::ir::{Case, LocalId, StmtKind, walk};

impl<'a> Body<'_, 'a> {
    /// `if (init; condition) then else otherwise`.
    pub(super) fn if_statement(&mut self, node: &'a Node) -> Lowered<()> {
        let mut children = node.inner.iter();
        if node.data.has_init {
            let Some(init) = children.next() else { return broken(node.span, "an `if` without its first statement") };
            self.statement(init);
        }
        if node.data.has_var {
            let Some(variable) = children.next() else { return broken(node.span, "an `if` without its variable") };
            self.statement(variable);
        }
        let (Some(cond), Some(then)) = (children.next(), children.next()) else {
            return broken(node.span, "an `if` without a condition");
        };
        let otherwise = children.next();
        if node.data.is_constexpr
            && let Some(value) = super::constant::constant_value(cond)
        {
            match (value != 0, otherwise) {
                (true, _) => self.flattened(then),
                (false, Some(otherwise)) => self.flattened(otherwise),
                (false, None) => {}
            }
            return Ok(());
        }
        let cond = self.condition(cond)?;
        // A constant condition stays: what was written is printed.
        let ((), then_block) = self.nested(|body| body.flattened(then));
        let ((), else_block) = self.nested(|body| {
            if let Some(otherwise) = otherwise {
                body.flattened(otherwise);
            }
        });
        self.emit(StmtKind::If { cond, then_block, else_block });
        Ok(())
    }

    /// A statement, or the statements of a block, into the current block.
    pub(super) fn flattened(&mut self, node: &'a Node) {
        self.scope(|lowering| match node.kind {
            Kind::CompoundStmt => lowering.statements(&node.inner),
            _ => lowering.statement(node),
        });
    }

    /// `switch (value) { case … }`.
    pub(super) fn switch_statement(&mut self, node: &'a Node) -> Lowered<()> {
        if node.data.has_init || node.data.has_var {
            return problem_with_help(
                diagnostic::UNSUPPORTED_STATEMENT,
                node.span,
                "a `switch` that declares a variable is not supported",
                "here",
                "declare the variable before the `switch`",
            );
        }
        let [value, body] = node.inner.as_slice() else { return broken(node.span, "a `switch` of an unknown form") };
        let value = self.value(value)?;
        let mut cases: Vec<Case> = Vec::new();
        self.loops.push(Enclosing::Switch);
        let children = if body.kind == Kind::CompoundStmt { body.inner.as_slice() } else { std::slice::from_ref(body) };
        let outer = std::mem::take(&mut self.block);
        self.scopes.push(Default::default());
        let mut result = Ok(());
        self.scope(|lowering| {
            result = children.iter().try_for_each(|child| lowering.switch_child(child, &mut cases));
        });
        if let Some(case) = cases.last_mut() {
            case.body = std::mem::take(&mut self.block);
        }
        self.scopes.pop();
        self.block = outer;
        self.loops.pop();
        result?;
        for local in shared_between_cases(&mut cases) {
            self.emit(StmtKind::Declare { local, init: None });
        }
        self.emit(StmtKind::Switch { value, cases });
        Ok(())
    }

    fn switch_child(&mut self, child: &'a Node, cases: &mut Vec<Case>) -> Lowered<()> {
        if !matches!(child.kind, Kind::CaseStmt | Kind::DefaultStmt) {
            if cases.is_empty() {
                return problem_with_help(
                    diagnostic::UNSUPPORTED_STATEMENT,
                    child.span,
                    "a statement before the first `case` is not supported",
                    "never reached",
                    "move it out of the `switch`",
                );
            }
            self.statement(child);
            return Ok(());
        }
        if let Some(case) = cases.last_mut() {
            case.body = std::mem::take(&mut self.block);
        }
        let mut case = Case { values: Vec::new(), is_default: false, body: Vec::new() };
        let mut label = child;
        loop {
            if label.kind == Kind::DefaultStmt {
                case.is_default = true;
            } else {
                let Some(value) = label.inner.first().and_then(super::constant::constant_value) else {
                    return broken(label.span, "a `case` without a value");
                };
                case.values.push(value);
            }
            match label.inner.last() {
                Some(next) if matches!(next.kind, Kind::CaseStmt | Kind::DefaultStmt) => label = next,
                Some(first) => {
                    cases.push(case);
                    // What it declares lives on after it.
                    match first.kind {
                        Kind::CompoundStmt => self.flattened(first),
                        _ => self.statement(first),
                    }
                    return Ok(());
                }
                None => return broken(label.span, "a `case` without a statement"),
            }
        }
    }

    /// `break`.
    pub(super) fn break_statement(&mut self, node: &Node) -> Lowered<()> {
        if self.loops.is_empty() {
            return broken(node.span, "a `break` outside of a loop");
        }
        self.free_vectors_inside(self.loops.len() - 1);
        self.emit(StmtKind::Break);
        Ok(())
    }

    /// `continue`, with what must run before the next iteration.
    pub(super) fn continue_statement(&mut self, node: &Node) -> Lowered<()> {
        let around = self.loops.iter().rposition(|enclosing| !matches!(enclosing, Enclosing::Switch));
        let enclosing = around.map(|around| self.loops[around].clone());
        self.free_vectors_inside(around.unwrap_or(0));
        match enclosing {
            Some(Enclosing::Loop(Some(step))) => self.effect(step)?,
            Some(Enclosing::Loop(None)) => {}
            Some(Enclosing::Tail(cond, place)) => self.test_again(cond, place)?,
            Some(Enclosing::Switch) | None => return broken(node.span, "a `continue` outside of a loop"),
        }
        self.emit(StmtKind::Continue);
        Ok(())
    }
}

/// Takes the declarations without a value of variables that other cases use too out of their case.
fn shared_between_cases(cases: &mut [Case]) -> Vec<LocalId> {
    let mut shared = Vec::new();
    for at in 0..cases.len() {
        for stmt in &cases[at].body {
            if let StmtKind::Declare { local, init: None } = stmt.kind
                && cases.iter().enumerate().any(|(other, case)| other != at && walk::mentions(&case.body, local))
            {
                shared.push(local);
            }
        }
        cases[at]
            .body
            .retain(|stmt| !matches!(stmt.kind, StmtKind::Declare { local, init: None } if shared.contains(&local)));
    }
    shared
}
