//! The value of integer code that is known when it is lowered: what a `constexpr` function returns for constant arguments.
//!
//! Only what such functions are made of is evaluated: arithmetic, conditions, variables and calls. Loops are not.

use std::collections::HashMap;

use crate::ir::{BinaryOp, Block, Expr, ExprKind, LocalId, Module, Place, PlaceKind, StmtKind, Type, UnaryOp};

/// How many calls may be inside one another.
const MAX_CALLS: usize = 64;

/// The value of an expression after the statements that come before it, as a constant.
pub(super) fn evaluated(module: &Module, block: &Block, value: &Expr) -> Option<Expr> {
    let mut evaluation = Evaluation { module, variables: HashMap::new(), calls: 0 };
    match evaluation.run(block)? {
        Outcome::End => {}
        Outcome::Returned(_) => return None,
    }
    let number = evaluation.expr(value)?;
    let kind = if value.ty == Type::Bool { ExprKind::Bool(number != 0) } else { ExprKind::Int(number) };
    Some(Expr::new(kind, value.ty.clone()).at(value.span))
}

struct Evaluation<'m> {
    module: &'m Module,
    variables: HashMap<LocalId, i128>,
    calls: usize,
}

enum Outcome {
    End,
    Returned(i128),
}

impl Evaluation<'_> {
    fn run(&mut self, block: &Block) -> Option<Outcome> {
        for stmt in block {
            match &stmt.kind {
                StmtKind::Declare { init: None, .. } => {}
                StmtKind::Declare { local, init: Some(value) } => {
                    let value = self.expr(value)?;
                    self.variables.insert(*local, value);
                }
                StmtKind::Assign { place, value } => {
                    let value = self.expr(value)?;
                    self.variables.insert(variable(place)?, value);
                }
                StmtKind::Call { into: Some(into), function, args } => {
                    let callee = &self.module.functions[*function];
                    let args: Option<Vec<i128>> = args.iter().map(|arg| self.expr(arg)).collect();
                    let variables = callee.params.iter().copied().zip(args?).collect();
                    let calls = self.calls + 1;
                    let mut inner = Evaluation { module: self.module, variables, calls };
                    let Outcome::Returned(value) = inner.run(&callee.body).filter(|_| calls < MAX_CALLS)? else {
                        return None;
                    };
                    self.variables.insert(variable(into)?, value);
                }
                StmtKind::If { cond, then_block, else_block } => {
                    let taken = if self.expr(cond)? != 0 { then_block } else { else_block };
                    if let Outcome::Returned(value) = self.run(taken)? {
                        return Some(Outcome::Returned(value));
                    }
                }
                StmtKind::Return(Some(value)) => return self.expr(value).map(Outcome::Returned),
                _ => return None,
            }
        }
        Some(Outcome::End)
    }

    fn expr(&self, expr: &Expr) -> Option<i128> {
        let value = match &expr.kind {
            ExprKind::Int(value) => *value,
            ExprKind::Bool(truth) => i128::from(*truth),
            ExprKind::Load(place) => *self.variables.get(&variable(place)?)?,
            ExprKind::Unary(UnaryOp::Negate, operand) => self.expr(operand)?.checked_neg()?,
            ExprKind::Unary(UnaryOp::Not, operand) => i128::from(self.expr(operand)? == 0),
            ExprKind::Binary(op, left, right) => combined(*op, self.expr(left)?, || self.expr(right))?,
            ExprKind::Select(cond, then, otherwise) => {
                self.expr(if self.expr(cond)? != 0 { then } else { otherwise })?
            }
            ExprKind::Cast(operand) => self.expr(operand)?,
            _ => return None,
        };
        match &expr.ty {
            Type::Int(kind) => Some(kind.wrap(value)),
            Type::Bool => Some(i128::from(value != 0)),
            _ => None,
        }
    }
}

fn combined(op: BinaryOp, left: i128, right: impl FnOnce() -> Option<i128>) -> Option<i128> {
    match op {
        BinaryOp::And if left == 0 => Some(0),
        BinaryOp::Or if left != 0 => Some(1),
        BinaryOp::And | BinaryOp::Or => right(),
        BinaryOp::Add => left.checked_add(right()?),
        BinaryOp::Subtract => left.checked_sub(right()?),
        BinaryOp::Multiply => left.checked_mul(right()?),
        BinaryOp::Divide => left.checked_div(right()?),
        BinaryOp::Remainder => left.checked_rem(right()?),
        BinaryOp::Equal => Some(i128::from(left == right()?)),
        BinaryOp::NotEqual => Some(i128::from(left != right()?)),
        BinaryOp::Less => Some(i128::from(left < right()?)),
        BinaryOp::LessEqual => Some(i128::from(left <= right()?)),
        BinaryOp::Greater => Some(i128::from(left > right()?)),
        BinaryOp::GreaterEqual => Some(i128::from(left >= right()?)),
        BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight
        | BinaryOp::Offset
        | BinaryOp::Distance => None,
    }
}

fn variable(place: &Place) -> Option<LocalId> {
    match place.kind {
        PlaceKind::Local(local) => Some(local),
        PlaceKind::Global(_) | PlaceKind::Field(..) | PlaceKind::Index(..) | PlaceKind::Element(..) => None,
    }
}
