//! Pushforwards of functions whose own bodies are not asked: of those that the user wrote one for, and of those that are
//! not read.
//!
//! The tangent of a function that is not read, and has a pullback but no pushforward, is made of the pullback if it takes
//! and returns plain numbers: `dy = sum of dx_i * (adjoint of x_i for the seed 1)`.

use super::activity::Activity;
use super::exprs::converted;
use super::{Ctx, Pushforward, parameter_type};
use crate::analysis::uses_memory;
use crate::diagnostic::{self, Diagnostic};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, FunctionId, LocalId, Place, Real, RuleKind, Stmt, StmtKind, Type};
use crate::transform::differentiable::differentiable_parameters;
use crate::transform::signatures::{has_seed, pushforward_signature, tangent_type};

impl Ctx<'_> {
    /// The user's pushforward, if a call has all the tangents that it takes.
    pub(super) fn as_stated(&self, id: FunctionId, activity: &Activity, active: &[LocalId]) -> Option<FunctionId> {
        let pushforward = self.primal.pushforward(id)?;
        let function = &self.primal.functions[id];
        let has_result = activity.clone().result_has_shadow(self.primal, &function.result);
        let is_whole =
            differentiable_parameters(self.primal, id) == active && has_result == has_seed(self.primal, function);
        is_whole.then_some(pushforward)
    }
}

impl Pushforward<'_, '_> {
    /// The body of a pushforward that does not follow from the function's statements; none if it does.
    pub(super) fn stated(&mut self, id: FunctionId, active: &[LocalId]) -> Option<Block> {
        let primal = self.ctx.primal;
        if let Some(pushforward) = primal.pushforward(id) {
            return Some(self.call_of(id, pushforward, active));
        }
        self.function.unread_body()?;
        let pullback = match primal.rule(id).map(|rule| rule.kind) {
            Some(RuleKind::Pullback(pullback)) if self.is_of_numbers() => pullback,
            Some(_) | None => {
                let message =
                    format!("the body of `{}` is not read, and nothing says what its tangent is", self.function.name);
                let help = format!("state COTANGENT_PUSHFORWARD; expected: `{}`", pushforward_signature(primal, id));
                let found = Diagnostic::new(diagnostic::NO_DERIVATIVE, self.function.span, message, "this function");
                self.ctx.diagnostics.push(found.help(help));
                return Some(Block::new());
            }
        };
        Some(self.by_pullback(id, pullback, active))
    }

    /// Whether the function takes numbers and returns one.
    fn is_of_numbers(&self) -> bool {
        let module = self.ctx.primal;
        let is_plain = |ty: &Type| ty.is_arithmetic() && !uses_memory(module, ty);
        let params = self.function.params.iter().map(|param| &self.function.locals[*param].ty);
        params.into_iter().all(is_plain) && matches!(self.function.result, Type::Float(_))
    }

    /// The user's pushforward, with the tangents that there are.
    fn call_of(&mut self, id: FunctionId, pushforward: FunctionId, active: &[LocalId]) -> Block {
        let (module, function) = (self.ctx.primal, self.function);
        let mut block = Block::new();
        let mut args = self.own_arguments();
        for param in differentiable_parameters(module, id) {
            let ty = &function.locals[param].ty;
            let shadow = self.shadows.place(&Place::local(param, ty.clone())).filter(|_| active.contains(&param));
            args.push(shadow.map_or_else(|| module.zero(&tangent_type(ty)), Expr::load));
        }
        if has_seed(module, function) {
            let tangent = match self.result.clone() {
                Some(place) => place,
                None => {
                    let ty = parameter_type(&function.result);
                    let unused = self.fresh("_d_unused", ty.clone());
                    block.push(Stmt::new(StmtKind::Declare { local: unused, init: None }));
                    Place::local(unused, ty)
                }
            };
            args.push(Expr::address_of(tangent));
        }
        self.return_of(pushforward, args, &mut block);
        block
    }

    /// The tangent by the user's pullback.
    fn by_pullback(&mut self, id: FunctionId, pullback: FunctionId, active: &[LocalId]) -> Block {
        let (module, function) = (self.ctx.primal, self.function);
        let mut block = Block::new();
        let mut args = self.own_arguments();
        args.push(Expr::new(ExprKind::Float(Real(1.0)), function.result.clone()));
        let mut sum: Option<Expr> = None;
        for param in differentiable_parameters(module, id) {
            let local = &function.locals[param];
            let partial = self.fresh(&format!("_by_{}", local.name), local.ty.clone());
            block.push(Stmt::new(StmtKind::Declare { local: partial, init: Some(module.zero(&local.ty)) }));
            let partial = Place::local(partial, local.ty.clone());
            args.push(Expr::address_of(partial.clone()));
            let tangent = self.shadows.place(&Place::local(param, local.ty.clone()));
            if let Some(tangent) = tangent.filter(|_| active.contains(&param)) {
                let term = Expr::binary(BinaryOp::Multiply, Expr::load(tangent), Expr::load(partial));
                let term = converted(term, &function.result);
                sum = Some(match sum {
                    Some(sum) => Expr::binary(BinaryOp::Add, sum, term),
                    None => term,
                });
            }
        }
        block.push(Stmt::new(StmtKind::Call { into: None, function: pullback, args }));
        if let Some(place) = self.result.clone() {
            let value = sum.unwrap_or_else(|| module.zero(&function.result));
            block.push(Stmt::new(StmtKind::Assign { place, value }));
        }
        let args = self.own_arguments();
        self.return_of(id, args, &mut block);
        block
    }

    /// The function's own parameters, as arguments.
    fn own_arguments(&self) -> Vec<Expr> {
        let load = |param: &LocalId| Expr::load(Place::local(*param, self.function.locals[*param].ty.clone()));
        self.function.params.iter().map(load).collect()
    }

    /// Returns what a function returns.
    fn return_of(&mut self, callee: FunctionId, args: Vec<Expr>, block: &mut Block) {
        let ty = self.function.result.clone();
        if ty == Type::Void {
            block.push(Stmt::new(StmtKind::Call { into: None, function: callee, args }));
            return;
        }
        let value = self.fresh("_value", ty.clone());
        let place = Place::local(value, ty);
        block.push(Stmt::new(StmtKind::Declare { local: value, init: None }));
        block.push(Stmt::new(StmtKind::Call { into: Some(place.clone()), function: callee, args }));
        block.push(Stmt::new(StmtKind::Return(Some(Expr::load(place)))));
    }
}
