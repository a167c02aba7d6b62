//! Copies of whole arrays that change before the reverse sweep reads them. How long an array is says its allocation.

use super::super::locals::without_spans;
use super::beginnings::beginnings;
use super::function::Ctx;
use super::host::{const_void, uncast};
use crate::analysis::{Base, Object, Step};
use crate::ir::walk::{self, Node};
use crate::ir::{Block, Expr, ExprKind, LocalId, Place, PlaceKind, StmtKind, Type};
use crate::rules::{RuntimeClass, SNAPSHOT, runtime_class};

impl Ctx<'_> {
    /// The size of the array that an argument points to the beginning of, if all arrays that it may be were allocated
    /// with that size.
    pub(super) fn known_bytes(&self, arg: &Expr) -> Option<Expr> {
        self.function.locals[variable(arg)?].ty.pointee()?;
        let mut found: Option<Expr> = None;
        for target in self.objects.targets(arg) {
            let Object { base: Base::Local(owner), path } = target else { return None };
            if path.as_slice() != [Step::Deref] || self.primal.params.contains(&owner) {
                return None;
            }
            for bytes in self.allocated(owner)? {
                if found.as_ref().is_some_and(|known| *known != bytes) {
                    return None;
                }
                found = Some(bytes);
            }
        }
        found.filter(|_| beginnings(self.module, self.primal, &self.address_taken).has(arg))
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

/// The variable that a pointer is the value of.
fn variable(pointer: &Expr) -> Option<LocalId> {
    match &pointer.kind {
        ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => Some(*local),
        ExprKind::Cast(operand) if operand.ty.is_pointer() => variable(operand),
        _ => None,
    }
}
