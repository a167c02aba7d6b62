//! Copies of whole arrays that change before the reverse sweep reads them. How long an array is says its allocation.

use super::super::locals::without_spans;
use super::function::Ctx;
use super::host::{const_void, uncast};
use crate::analysis::{self, Base, Object, Step};
use crate::ir::walk::{self, Node, own_variable};
use crate::ir::{Block, Expr, ExprKind, LocalId, Place, PlaceKind, StmtKind, Type};
use crate::rules::{RuntimeClass, SNAPSHOT, runtime_class};

impl Ctx<'_> {
    /// The size of the array that an argument points to the beginning of, if all arrays that it may be were allocated
    /// with that size.
    pub(super) fn known_bytes(&self, arg: &Expr) -> Option<Expr> {
        self.function.locals[variable(arg)?].ty.pointee()?;
        let targets = self.objects.targets(arg);
        let mut found: Option<Expr> = None;
        for target in &targets {
            let Object { base: Base::Local(owner), path } = target else { return None };
            if path.as_slice() != [Step::Deref] || self.primal.params.contains(owner) {
                return None;
            }
            for bytes in self.allocated(*owner)? {
                if found.as_ref().is_some_and(|known| *known != bytes) {
                    return None;
                }
                found = Some(bytes);
            }
        }
        found.filter(|_| self.is_never_moved(&targets))
    }

    /// The sizes of all that is allocated for a variable; none if one of them may change.
    fn allocated(&self, owner: LocalId) -> Option<Vec<Expr>> {
        let mut found = Vec::new();
        walk::each_stmt(&self.primal.body, &mut |stmt| {
            if let StmtKind::Runtime { call, args, into: Some(into) } = &stmt.kind
                && matches!(runtime_class(call), Some(RuntimeClass::Memory { .. }))
                && into.kind == PlaceKind::Local(owner)
            {
                found.push(args.first().cloned());
            }
        });
        let stable =
            |bytes: Option<Expr>| bytes.filter(|bytes| self.is_settled(bytes)).map(|bytes| without_spans(&bytes));
        found.into_iter().map(stable).collect()
    }

    /// Whether a value is made of variables that keep the value they are given first.
    fn is_settled(&self, value: &Expr) -> bool {
        walk::visit_expr(value, &mut |node| match node {
            Node::Place(Place { kind: PlaceKind::Local(local), .. }) => {
                let writes = self.write_counts.get(local).copied().unwrap_or(0);
                let most = if self.primal.params.contains(local) { 0 } else { 1 };
                let is_in_loop = self.frames.iter().any(|frame| frame.is_loop && frame.declared.contains(local));
                let is_settled = writes <= most && !self.address_taken.contains(local) && !is_in_loop;
                if is_settled { std::ops::ControlFlow::Continue(()) } else { std::ops::ControlFlow::Break(()) }
            }
            Node::Place(_) => std::ops::ControlFlow::Break(()),
            Node::Expr(_) | Node::Stmt(_) => std::ops::ControlFlow::Continue(()),
        })
        .is_continue()
    }

    /// Whether pointers to these arrays only ever take the values of each other: all point to a beginning.
    pub(super) fn is_never_moved(&self, targets: &std::collections::BTreeSet<Object>) -> bool {
        let leads_there = |value: &Expr| self.objects.reachable(value).iter().any(|object| targets.contains(object));
        let mut is_moved = false;
        walk::each_stmt(&self.primal.body, &mut |stmt| {
            is_moved |= match &stmt.kind {
                StmtKind::Declare { init: Some(init), .. } => leads_there(init) && moves(init),
                StmtKind::Assign { place, value } => {
                    leads_there(value) && (moves(value) || own_variable(place).is_none())
                }
                // Their counters are integers: others are variables of `while` loops.
                StmtKind::For(head) => head.from.ty.is_pointer(),
                // Another pointer than those that are handed over, perhaps.
                StmtKind::Call { into, args, .. } => {
                    into.as_ref().is_some_and(|into| analysis::uses_memory(self.module, &into.ty))
                        && args.iter().any(leads_there)
                }
                // New memory, or what leads to no memory of the function.
                StmtKind::Runtime { .. } | StmtKind::Opaque { .. } => false,
                // A kernel cannot reach variables of the host.
                StmtKind::Launch(_) => false,
                StmtKind::Declare { init: None, .. }
                | StmtKind::Accumulate { .. }
                | StmtKind::If { .. }
                | StmtKind::While { .. }
                | StmtKind::Switch { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Barrier { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::Collective { .. }
                | StmtKind::Push { .. }
                | StmtKind::Pop { .. } => false,
            };
        });
        !is_moved
    }

    /// A copy of an array as it is now.
    pub(super) fn snapshot(&mut self, arg: &Expr, bytes: Expr, stream: &Expr, forward: &mut Block) -> Place {
        let name = self.name_beside("_kept", arg);
        let ty = Type::pointer(Type::Opaque(SNAPSHOT.into()));
        let from = Expr::cast(uncast(arg).clone(), const_void());
        self.result_of(("cotangent::take_snapshot", vec![from, bytes, stream.clone()]), &name, ty, forward)
    }

    /// The array of which a copy was made, as it was then.
    pub(super) fn restored(&mut self, arg: &Expr, snapshot: &Place, stream: &Expr, reverse: &mut Block) -> Expr {
        let name = self.name_beside("_then", arg);
        let ty = Type::pointer(arg.ty.pointee().cloned().unwrap_or(Type::Void));
        let args = vec![Expr::load(snapshot.clone()), stream.clone()];
        let place = self.result_of(("cotangent::restored", args), &name, ty, reverse);
        Expr::cast(Expr::load(place), arg.ty.clone())
    }

    fn name_beside(&self, start: &str, arg: &Expr) -> String {
        variable(arg).map_or(start.to_owned(), |local| format!("{start}_{}", self.function.locals[local].name))
    }
}

/// Whether a value holds a pointer that is not just what a variable holds.
fn moves(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Construct(operands) => operands.iter().any(moves),
        ExprKind::Load(_) if !value.ty.is_pointer() => false,
        ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null => value.ty.is_pointer() && variable(value).is_none(),
    }
}

/// The variable that a pointer is the value of.
fn variable(pointer: &Expr) -> Option<LocalId> {
    match &pointer.kind {
        ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => Some(*local),
        ExprKind::Cast(operand) if operand.ty.is_pointer() => variable(operand),
        _ => None,
    }
}
