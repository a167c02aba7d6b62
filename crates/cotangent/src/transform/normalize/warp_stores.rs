//! One thread of a warp stores what all of its threads would store to one element.
//!
//! `sums[threadIdx.x / 32] = s` after a sum over the warp: 32 threads store one number to one element. Each of them would take
//! the adjoint of that element, and it would count 32 times. Whose store is the last CUDA does not say, so that the first
//! thread's may stand for all. The others read it only after they have met.
//!
//! A block may have several rows, as for groups of threads that ask for their number in the block. Then 32 threads in a row need
//! not be a warp, and cannot meet by themselves: only the block can.

use crate::analysis::Uniform;
use crate::ir::walk::own_variable;
use crate::ir::{
    Axis, BarrierKind, BinaryOp, Block, Builtin, Expr, ExprKind, Function, Module, Place, PlaceKind, Space, Stmt,
    StmtKind, Storage, Type,
};
use crate::source::Span;

/// Has the first thread of each warp store, where whole warps come to a store. Calls have been inlined and jumps removed.
pub(in crate::transform) fn stores_of_warps(module: &Module, function: &mut Function) {
    if function.space != Space::Kernel {
        return;
    }
    let known = function.clone();
    let uniform = Uniform::in_module(module, &known);
    let ctx = Ctx { can_meet: uniform.is_in_a_row(), uniform: uniform.of_rows(), function: &known };
    ctx.block(&mut function.body);
}

/// A store that the pass has left, if it was not run.
pub(super) fn store_of_warp(module: &Module, function: &Function) -> Option<Span> {
    let mut again = function.clone();
    stores_of_warps(module, &mut again);
    (again.body != function.body).then_some(function.span)
}

struct Ctx<'f> {
    uniform: Uniform<'f>,
    /// Whether 32 threads in a row are a warp.
    can_meet: bool,
    function: &'f Function,
}

impl Ctx<'_> {
    /// Rewrites what whole warps run.
    fn block(&self, block: &mut Block) {
        let mut out = Block::new();
        let mut rest = std::mem::take(block).into_iter().peekable();
        while let Some(mut stmt) = rest.next() {
            if !self.is_of_warp(&stmt) {
                self.inside(&mut stmt);
                out.push(stmt);
                continue;
            }
            let span = stmt.span;
            let mut stores = vec![stmt];
            while let Some(next) = rest.next_if(|next| self.is_of_warp(next)) {
                stores.push(next);
            }
            let is_met = rest.peek().is_some_and(is_barrier_of_block);
            if !is_met && !self.can_meet {
                out.extend(stores);
                continue;
            }
            let kind = StmtKind::If { cond: is_first_of_warp(), then_block: stores, else_block: Block::new() };
            out.push(Stmt::new(kind).at(span).noted("all threads of the warp store the same here"));
            if !is_met {
                let all = Expr::new(ExprKind::Int(0xffff_ffff), Type::UINT);
                let kind = StmtKind::Barrier { kind: BarrierKind::Warp, argument: Some(all), into: None };
                out.push(Stmt::new(kind).at(span));
            }
        }
        *block = out;
    }

    /// Rewrites what is inside a branch or loop that whole warps take.
    fn inside(&self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::If { cond, then_block, else_block } if self.uniform.is_same_in_warp(cond) => {
                self.block(then_block);
                self.block(else_block);
            }
            StmtKind::For(head)
                if [&head.from, &head.to, &head.by].map(|it| self.uniform.is_same_in_warp(it)) == [true; 3] =>
            {
                self.block(&mut head.body);
            }
            StmtKind::If { .. }
            | StmtKind::For(_)
            | StmtKind::While { .. }
            | StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
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
            | StmtKind::Opaque { .. } => {}
        }
    }

    /// Whether a statement stores numbers to an element that is one for the warp, and not one for the block.
    fn is_of_warp(&self, stmt: &Stmt) -> bool {
        let StmtKind::Assign { place, .. } = &stmt.kind else { return false };
        let is_number = matches!(place.ty, Type::Float(_) | Type::Record(_));
        let is_private =
            own_variable(place).is_some_and(|local| self.function.locals[local].storage == Storage::Private);
        is_number
            && !is_private
            && is_one(place, &|expr| self.uniform.is_same_in_warp(expr))
            && !is_one(place, &|expr| self.uniform.is_same(expr))
    }
}

/// Whether threads mean one element by a place: its indices and pointers are the same for them.
fn is_one(place: &Place, is_same: &dyn Fn(&Expr) -> bool) -> bool {
    match &place.kind {
        PlaceKind::Local(_) | PlaceKind::Global(_) => true,
        PlaceKind::Element(pointer, index) => is_same(pointer) && is_same(index),
        PlaceKind::Field(base, _) => is_one(base, is_same),
        PlaceKind::Index(base, index) => is_one(base, is_same) && is_same(index),
    }
}

fn is_barrier_of_block(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Barrier { kind, .. } if kind.is_of_block())
}

/// `threadIdx.x % 32 == 0`.
fn is_first_of_warp() -> Expr {
    let thread = Expr::new(ExprKind::Builtin(Builtin::ThreadIdx(Axis::X)), Type::UINT);
    let number = |value| Expr::new(ExprKind::Int(value), Type::UINT);
    Expr::binary(BinaryOp::Equal, Expr::binary(BinaryOp::Remainder, thread, number(32)), number(0))
}
