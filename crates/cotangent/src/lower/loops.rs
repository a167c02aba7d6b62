//! Loops: counted where the text shows it, general otherwise.

use super::body::{Binding, Body, Enclosing};
use super::constant::{constant_value, convert};
use super::context::{Lowered, broken};
use super::expr::binary_operator;
use crate::clang::{Kind, Node, NodeId};
use crate::ir::{BinaryOp, Expr, For, LoopTest, Place, StmtKind, Storage, Type, UnaryOp, Unroll, can_reach_end};
use crate::source::Span;

/// The parts of `for (T counter = from; counter TEST to; counter STEP= by)`.
struct Counted<'a> {
    variable: &'a Node,
    from: &'a Node,
    test: BinaryOp,
    to: &'a Node,
    step: BinaryOp,
    by: Option<&'a Node>,
}

impl<'a> Body<'_, 'a> {
    /// `for (init; condition; step) body`.
    pub(super) fn for_statement(&mut self, node: &'a Node) -> Lowered<()> {
        let [init, variable, cond, step, body] = node.inner.as_slice() else {
            return broken(node.span, "a `for` of an unknown form");
        };
        if let Some(counted) = counted(init, cond, step)
            && !is_written(body, counted.variable.id)
            && !is_written(cond, counted.variable.id)
            && counted.by.is_none_or(|by| !is_written(by, counted.variable.id))
            && self.counted_loop(&counted, body)?
        {
            return Ok(());
        }
        if init.kind != Kind::Absent {
            self.statement(init);
        }
        if variable.kind != Kind::Absent {
            return self.while_loop(Some(variable), cond, present(step), &[body]);
        }
        self.while_loop(None, cond, present(step), &[body])
    }

    /// The hint that stands before a loop. Clang's dump tells where it stands, not what it says; others than these are dropped.
    pub(super) fn unroll(&self, node: &Node) -> Option<Unroll> {
        let hint = node.child(Kind::LoopHintAttr)?;
        let word =
            self.context.declarations(self.pass).text(Span { end: hint.span.start.checked_add(8)?, ..hint.span })?;
        if word == "nounroll" {
            return Some(Unroll::By(1));
        }
        let count = hint.inner.first().filter(|count| count.kind != Kind::Absent);
        match (word.strip_prefix("unroll").is_some_and(|rest| !rest.starts_with('_')), count) {
            (false, _) => None,
            (true, None) => Some(Unroll::Whole),
            (true, Some(count)) => constant_value(count).and_then(|count| u32::try_from(count).ok()).map(Unroll::By),
        }
    }

    /// Lowers a counted loop; `false`, and nothing changed, if its types do not allow it.
    fn counted_loop(&mut self, counted: &Counted<'a>, body: &'a Node) -> Lowered<bool> {
        let before = self.block.len();
        let scope = self.scopes.clone();
        let ty = self.context.node_type(self.pass, counted.variable)?;
        if !(ty.is_arithmetic() || ty.is_pointer()) || ty.is_reference() {
            return Ok(false);
        }
        let from = self.value(counted.from)?;
        let from_statements = self.block.len();
        self.scopes.push(Default::default());
        let counter = self.new_local(counted.variable.name(), ty.clone(), Storage::Private, counted.variable.span);
        self.bindings.insert(counted.variable.id, Binding::Local(counter));
        let to = self.value(counted.to)?;
        let by = match counted.by {
            Some(by) => self.value(by)?,
            None => convert(Expr::int(1), if ty.is_pointer() { Type::INT } else { ty.clone() }),
        };
        let by = step_operand(&ty, counted.step, by);
        if self.block.len() != from_statements || by.is_none() || !comparable(&ty, &to.ty) {
            // The bound or the step has effects, or is computed in another type than the counter's.
            // What was made for it is never declared, and so left out of the function.
            self.block.truncate(before);
            self.scopes = scope;
            return Ok(false);
        }
        self.loops.push(Enclosing::Loop(None));
        let ((), block) = self.nested(|lowering| lowering.flattened(body));
        self.loops.pop();
        self.scopes.pop();
        let by = by.unwrap_or_else(|| Expr::int(1));
        let step = if ty.is_pointer() { BinaryOp::Offset } else { counted.step };
        let header = For { counter, from, test: counted.test, to, step, by, unroll: None, body: block };
        self.emit(StmtKind::For(Box::new(header)));
        Ok(true)
    }

    /// `while (condition) body`.
    pub(super) fn while_statement(&mut self, node: &'a Node) -> Lowered<()> {
        match node.inner.as_slice() {
            [variable, cond, body] if node.data.has_var => self.while_loop(Some(variable), cond, None, &[body]),
            [cond, body] => self.while_loop(None, cond, None, &[body]),
            _ => broken(node.span, "a `while` of an unknown form"),
        }
    }

    /// A loop that tests first. Where the test has effects, it moves into the body; so does the step of a `for`.
    fn while_loop(
        &mut self,
        variable: Option<&'a Node>,
        cond: &'a Node,
        step: Option<&'a Node>,
        body: &[&'a Node],
    ) -> Lowered<()> {
        let (test, test_block) = self.nested(|lowering| {
            if let Some(variable) = variable {
                lowering.statement(variable);
            }
            if cond.kind == Kind::Absent { Ok(Expr::bool(true)) } else { lowering.condition(cond) }
        });
        let test = test?;
        self.loops.push(Enclosing::Loop(step));
        let is_pure = test_block.is_empty();
        let (result, block) = self.nested(|lowering| -> Lowered<()> {
            if !is_pure {
                // Lowered again in this scope, where its names belong.
                if let Some(variable) = variable {
                    lowering.statement(variable);
                }
                let test = lowering.condition(cond)?;
                let then_block = vec![crate::ir::Stmt::new(StmtKind::Break).at(lowering.span)];
                lowering.emit(StmtKind::If { cond: not(test), then_block, else_block: Vec::new() });
            }
            body.iter().for_each(|part| lowering.flattened(part));
            if let Some(step) = step
                && can_reach_end(&lowering.block)
            {
                lowering.span = step.span;
                lowering.effect(step)?;
            }
            Ok(())
        });
        self.loops.pop();
        result?;
        let cond = if is_pure { test } else { Expr::bool(true) };
        self.emit(StmtKind::While { cond, body: block, test: LoopTest::Before });
        Ok(())
    }

    /// `do body while (condition)`.
    pub(super) fn do_statement(&mut self, node: &'a Node) -> Lowered<()> {
        let [body, cond] = node.inner.as_slice() else { return broken(node.span, "a `do` of an unknown form") };
        let (test, test_block) = self.nested(|lowering| lowering.condition(cond));
        let test = test?;
        if test_block.is_empty() {
            self.loops.push(Enclosing::Loop(None));
            let ((), block) = self.nested(|lowering| lowering.flattened(body));
            self.loops.pop();
            self.emit(StmtKind::While { cond: test, body: block, test: LoopTest::After });
            return Ok(());
        }
        // The test has effects: it runs at the end of the body, and before each `continue`, into a variable.
        let again = self.new_local("again", Type::Bool, Storage::Private, cond.span);
        self.emit(StmtKind::Declare { local: again, init: None });
        let place = self.local_place(again);
        self.loops.push(Enclosing::Tail(cond, place.clone()));
        let (result, block) = self.nested(|lowering| -> Lowered<()> {
            lowering.flattened(body);
            if can_reach_end(&lowering.block) { lowering.test_again(cond, place.clone()) } else { Ok(()) }
        });
        self.loops.pop();
        result?;
        self.emit(StmtKind::While { cond: Expr::load(place), body: block, test: LoopTest::After });
        Ok(())
    }

    /// Evaluates the condition of a `do` into the variable that its test reads.
    pub(super) fn test_again(&mut self, cond: &'a Node, place: Place) -> Lowered<()> {
        let value = self.condition(cond)?;
        self.emit(StmtKind::Assign { place, value });
        Ok(())
    }

    /// `for (T x : array) body`, as Clang spells it out.
    pub(super) fn range_for_statement(&mut self, node: &'a Node) -> Lowered<()> {
        let [init, range, begin, end, cond, step, variable, body] = node.inner.as_slice() else {
            return broken(node.span, "a range `for` of an unknown form");
        };
        if init.kind == Kind::Absent && self.for_each_element(range, variable, body)? {
            return Ok(());
        }
        for part in [init, range, begin, end] {
            if part.kind != Kind::Absent {
                self.statement(part);
            }
        }
        self.while_loop(None, cond, Some(step), &[variable, body])
    }
}

/// A part of a `for` that may be missing.
fn present(node: &Node) -> Option<&Node> {
    (node.kind != Kind::Absent).then_some(node)
}

/// The negated condition.
fn not(cond: Expr) -> Expr {
    let span = cond.span;
    Expr::unary(UnaryOp::Not, cond).at(span)
}

/// The step's operand in the counter's type, if computing it there gives the same counter.
fn step_operand(counter: &Type, step: BinaryOp, by: Expr) -> Option<Expr> {
    match counter {
        Type::Pointer(_) => (step == BinaryOp::Add && by.ty.is_integral()).then_some(by),
        Type::Int(_) => match step {
            // Wrapping to the counter's width commutes with these, whatever type they are computed in.
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply if by.ty.is_integral() => {
                Some(convert(by, counter.clone()))
            }
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => by.ty.is_integral().then_some(by),
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Remainder
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Offset
            | BinaryOp::Distance => (by.ty == *counter).then_some(by),
        },
        Type::Void | Type::Bool | Type::Float(_) | Type::Array(..) | Type::Record(_) | Type::Opaque(_) => {
            (by.ty == *counter).then_some(by)
        }
    }
}

/// Whether a counter may be compared in that type.
fn comparable(counter: &Type, to: &Type) -> bool {
    counter == to || counter.is_arithmetic() && to.is_arithmetic()
}

/// The parts of a counted loop, if it has that form.
fn counted<'a>(init: &'a Node, cond: &'a Node, step: &'a Node) -> Option<Counted<'a>> {
    let [variable] = init.inner.as_slice() else { return None };
    if init.kind != Kind::DeclStmt || variable.kind != Kind::VarDecl {
        return None;
    }
    let from = variable.inner.iter().find(|child| child.kind != Kind::FullComment)?;
    let [left, to] = cond.inner.as_slice() else { return None };
    if cond.kind != Kind::BinaryOperator || !is_value_of(left, variable.id) {
        return None;
    }
    let test = binary_operator(cond.opcode()).filter(|op| op.is_comparison())?;
    let (step, by) = match step.kind {
        Kind::UnaryOperator if is_name_of(step.inner.first()?, variable.id) => match step.opcode() {
            "++" => (BinaryOp::Add, None),
            "--" => (BinaryOp::Subtract, None),
            _ => return None,
        },
        Kind::CompoundAssignOperator if is_name_of(step.inner.first()?, variable.id) => {
            (binary_operator(step.opcode().strip_suffix('=')?)?, Some(step.inner.get(1)?))
        }
        _ => return None,
    };
    let is_step = matches!(
        step,
        BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight
    );
    is_step.then_some(Counted { variable, from, test, to, step, by })
}

/// Whether an expression is just that variable's value, converted or not.
fn is_value_of(node: &Node, variable: NodeId) -> bool {
    match node.kind {
        Kind::ParenExpr | Kind::ImplicitCastExpr => {
            node.inner.first().is_some_and(|inner| is_value_of(inner, variable))
        }
        _ => is_name_of(node, variable),
    }
}

/// Whether an expression names that variable.
fn is_name_of(node: &Node, variable: NodeId) -> bool {
    match node.kind {
        Kind::ParenExpr => node.inner.first().is_some_and(|inner| is_name_of(inner, variable)),
        Kind::DeclRefExpr => node.data.referenced_decl.as_ref().is_some_and(|decl| decl.id == variable),
        _ => false,
    }
}

/// Whether the variable is used for anything but its value: assigned, pointed to, bound to a reference.
pub(super) fn is_written(node: &Node, variable: NodeId) -> bool {
    if node.kind == Kind::ImplicitCastExpr
        && node.data.cast_kind.as_deref() == Some("LValueToRValue")
        && node.inner.first().is_some_and(|inner| is_name_of(inner, variable))
    {
        return false;
    }
    is_name_of(node, variable) || node.inner.iter().any(|child| is_written(child, variable))
}
