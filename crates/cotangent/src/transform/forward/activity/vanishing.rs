//! Which tangents are zero on some way through a function, because all that they are computed from is constant there.
//! Zero times an infinite derivative is no number, so these are asked about before they are multiplied.

use super::{Activity, Analyses, Cell};
use crate::analysis::carries_floats;
use crate::ir::walk;
use crate::ir::{Expr, ExprKind, FunctionId, Module, RuleKind, Stmt, StmtKind};
use crate::rules::{chooses, has_pole};

/// The ways through a function that are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::transform::forward) enum Ways {
    All,
    /// Those on which all loops run.
    AllLoopsRun,
}

impl Activity {
    /// Cells that hold a constant on some way through the function, and an active value on another.
    pub(super) fn find_vanishing(&mut self, analyses: &mut Analyses, module: &Module, calls: &[&Stmt]) {
        let stores = std::mem::take(&mut self.stores);
        let mut changed = true;
        while changed {
            changed = false;
            for ways in [Ways::All, Ways::AllLoopsRun] {
                for (to, value, is_overwritten) in &stores {
                    let is_seen = ways == Ways::All || !is_overwritten;
                    if is_seen && self.is_active(*to) && self.may_vanish(module, value, ways) {
                        changed |= self.set_vanishing(*to, ways);
                    }
                }
                for call in calls {
                    let StmtKind::Call { into: Some(into), function, args } = &call.kind else { continue };
                    let result_cell = self.place(into);
                    let is_constant = module.rule(*function).is_some_and(|rule| rule.kind == RuleKind::Constant);
                    let pattern = self.pattern(module, *function, args, Some(into));
                    let callee = analyses.callee(module, *function, &pattern);
                    let result = &callee.cells[callee.find(callee.result).0];
                    let may_vanish = is_constant || !result.is_active || result.is_vanishing[ways as usize];
                    if self.is_active(result_cell) && may_vanish {
                        changed |= self.set_vanishing(result_cell, ways);
                    }
                }
            }
        }
        self.stores = stores;
    }

    /// Whether that is new.
    fn set_vanishing(&mut self, cell: Cell, ways: Ways) -> bool {
        !std::mem::replace(&mut self.facts_mut(cell).is_vanishing[ways as usize], true)
    }

    /// Whether the tangent of a value is zero on some way through the function, because all that it is computed from is
    /// constant there.
    pub(in crate::transform::forward) fn may_vanish(&mut self, module: &Module, value: &Expr, ways: Ways) -> bool {
        if !carries_floats(module, &value.ty) {
            return true;
        }
        match &value.kind {
            ExprKind::Load(place) => {
                let cell = self.place(place);
                !self.is_active(cell) || self.cells[self.find(cell).0].is_vanishing[ways as usize]
            }
            ExprKind::Select(_, then, otherwise) => {
                self.may_vanish(module, then, ways) || self.may_vanish(module, otherwise, ways)
            }
            ExprKind::Unary(_, operand) | ExprKind::Cast(operand) => self.may_vanish(module, operand, ways),
            ExprKind::Binary(_, left, right) => {
                self.may_vanish(module, left, ways) && self.may_vanish(module, right, ways)
            }
            ExprKind::Math(name, parts) if chooses(name) => {
                parts.iter().any(|part| self.may_vanish(module, part, ways))
            }
            ExprKind::Math(_, parts) | ExprKind::Construct(parts) => {
                parts.iter().all(|part| self.may_vanish(module, part, ways))
            }
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::AddressOf(_)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_) => true,
        }
    }
}

/// Whether a function, or one that it calls, computes something whose derivative may be infinite.
pub(super) fn divides(module: &Module, id: FunctionId) -> bool {
    let function = &module.functions[id];
    let mut is_found = false;
    walk::each_expr(&function.body, &mut |expr| is_found |= has_pole(expr));
    let mut callees = Vec::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Call { function, .. } = &stmt.kind {
            callees.push(*function);
        }
    });
    is_found || callees.into_iter().any(|callee| callee != id && divides(module, callee))
}
