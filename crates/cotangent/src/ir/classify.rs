//! Small questions that many passes ask: what variable an expression loads, what integer it is, what a statement calls.
//!
//! Questions about one kind (`as_load`) are answered for that kind alone; any other kind is not it, a new one too. What
//! takes in several kinds (`called`, `begun_local`) names every kind, so that a new one must be decided about here.

use super::expr::{Expr, ExprKind, Place, PlaceKind, UnaryOp};
use super::module::{FunctionId, LocalId};
use super::stmt::{Block, Stmt, StmtKind};
use super::walk::Node;

/// A function of the module that a statement runs.
#[derive(Clone, Copy, Debug)]
pub struct Called<'a> {
    /// Where its result goes.
    pub into: Option<&'a Place>,
    /// The function, or the kernel that is launched.
    pub function: FunctionId,
    /// Its arguments.
    pub args: &'a [Expr],
}

impl Expr {
    /// The place that it is the value of.
    pub fn as_load(&self) -> Option<&Place> {
        if let ExprKind::Load(place) = &self.kind { Some(place) } else { None }
    }

    /// The variable that it is the value of, the whole of it.
    pub fn as_local(&self) -> Option<LocalId> {
        self.as_load().and_then(Place::as_local)
    }

    /// The place that it is the address of.
    pub fn as_address(&self) -> Option<&Place> {
        if let ExprKind::AddressOf(place) = &self.kind { Some(place) } else { None }
    }

    /// The integer constant that it is.
    pub fn as_int(&self) -> Option<i128> {
        if let ExprKind::Int(value) = self.kind { Some(value) } else { None }
    }

    /// The floating constant that it is.
    pub fn as_float(&self) -> Option<f64> {
        if let ExprKind::Float(real) = self.kind { Some(real.0) } else { None }
    }

    /// What it converts.
    pub fn as_cast(&self) -> Option<&Expr> {
        if let ExprKind::Cast(operand) = &self.kind { Some(operand) } else { None }
    }

    /// What it negates.
    pub fn as_negated(&self) -> Option<&Expr> {
        if let ExprKind::Unary(UnaryOp::Negate, operand) = &self.kind { Some(operand) } else { None }
    }

    /// The same before all conversions.
    pub fn uncast(&self) -> &Expr {
        self.as_cast().map_or(self, Expr::uncast)
    }

    /// The same before conversions of pointers to other pointers.
    pub fn uncast_pointer(&self) -> &Expr {
        self.as_cast().filter(|operand| operand.ty.is_pointer()).map_or(self, Expr::uncast_pointer)
    }

    /// The same before conversions that keep what is pointed to: they change only what is promised about it.
    pub fn unqualified(&self) -> &Expr {
        let is_same = |operand: &&Expr| operand.ty.is_pointer() && operand.ty.pointee() == self.ty.pointee();
        self.as_cast().filter(is_same).map_or(self, Expr::unqualified)
    }

    /// Whether it is the value that an aggregate's element has which is not given: nothing but zero bits.
    pub fn is_zero_fill(&self) -> bool {
        matches!(self.kind, ExprKind::Int(0) | ExprKind::Bool(false) | ExprKind::Null)
            || matches!(&self.kind, ExprKind::Construct(parts) if parts.is_empty())
            || self.is_float_zero()
    }

    /// Whether it is the floating constant zero, not minus zero.
    pub fn is_float_zero(&self) -> bool {
        matches!(self.kind, ExprKind::Float(real) if real.0.to_bits() == 0)
    }
}

impl Place {
    /// The variable that it is, the whole of it.
    pub fn as_local(&self) -> Option<LocalId> {
        match self.kind {
            PlaceKind::Local(local) => Some(local),
            PlaceKind::Global(_) | PlaceKind::Element(..) | PlaceKind::Field(..) | PlaceKind::Index(..) => None,
        }
    }
}

impl<'a> Node<'a> {
    /// The place that it loads, if it is a load.
    pub fn as_load(self) -> Option<&'a Place> {
        match self {
            Node::Expr(expr) => expr.as_load(),
            Node::Stmt(_) | Node::Place(_) => None,
        }
    }
}

impl Stmt {
    /// The place and the value of an assignment.
    pub fn as_assign(&self) -> Option<(&Place, &Expr)> {
        if let StmtKind::Assign { place, value } = &self.kind { Some((place, value)) } else { None }
    }

    /// The function of the module that it runs, called or launched.
    pub fn called(&self) -> Option<Called<'_>> {
        match &self.kind {
            StmtKind::Call { into, function, args } => Some(Called { into: into.as_ref(), function: *function, args }),
            StmtKind::Launch(launch) => Some(Called { into: None, function: launch.kernel, args: &launch.args }),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::If { .. }
            | StmtKind::For(_)
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => None,
        }
    }

    /// The function of the module that it runs, and its arguments, to be changed.
    pub fn called_mut(&mut self) -> Option<(&mut FunctionId, &mut Vec<Expr>)> {
        match &mut self.kind {
            StmtKind::Call { function, args, .. } => Some((function, args)),
            StmtKind::Launch(launch) => Some((&mut launch.kernel, &mut launch.args)),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::If { .. }
            | StmtKind::For(_)
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => None,
        }
    }

    /// The variable whose life it begins with a value: of a declaration with one, or a loop's counter.
    pub fn begun_local(&self) -> Option<LocalId> {
        match &self.kind {
            StmtKind::Declare { local, init } => init.as_ref().map(|_| *local),
            StmtKind::For(for_loop) => Some(for_loop.counter),
            StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
            | StmtKind::If { .. }
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Launch(_)
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => None,
        }
    }

    /// The variable that it gives the value of an expression, the whole of it: by a declaration or an assignment.
    /// What calls and exchanges store is not asked for.
    pub fn given_local(&self) -> Option<LocalId> {
        match &self.kind {
            StmtKind::Declare { local, init } => init.as_ref().map(|_| *local),
            StmtKind::Assign { place, .. } => place.as_local(),
            StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
            | StmtKind::If { .. }
            | StmtKind::For(_)
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Launch(_)
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => None,
        }
    }
}

impl StmtKind {
    /// Whether it is a loop.
    pub fn is_loop(&self) -> bool {
        self.loop_body().is_some()
    }

    /// The body of a loop.
    pub fn loop_body(&self) -> Option<&Block> {
        match self {
            StmtKind::For(for_loop) => Some(&for_loop.body),
            StmtKind::While { body, .. } => Some(body),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
            | StmtKind::If { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Launch(_)
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => None,
        }
    }
}
