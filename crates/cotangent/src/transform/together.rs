//! Additions of many threads of a block to one place: each thread sums what it adds, and where all of them come together
//! the block sums again, so that one atomic a block is left.
//!
//! Three things must be so. All threads of the block run the statement that is written: it stands in the function's own
//! block, or in branches and loops there that are the same for all threads. All mean one place: its index is made of
//! what has one value in a block. And nobody looks at the memory in between, since the addition is made later.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use super::locals::{in_type, rename};
use super::privatize::{fresh, without_spans};
use super::{AdjointParam, Fact, Trust};
use crate::analysis::Uniform;
use crate::analysis::locals::{LocalUses, Locals, locals};
use crate::analysis::ordering::{asks_for_thread, has_barrier, is_without_jumps};
use crate::analysis::root::{Root, Roots};
use crate::analysis::shared::{STATIC_SHARED_LIMIT, static_shared_bytes};
use crate::index::IdVec;
use crate::ir::walk::{self, Node, NodeMut, Part, PartMut};
use crate::ir::{
    AtomicOp, BinaryOp, Block, Builtin, Expr, ExprKind, FloatKind, For, Function, FunctionId, Local, LocalId, Module,
    Name, Place, PlaceKind, Real, Scope, Space, Stmt, StmtKind, Storage, Type, UnaryOp,
};
use crate::source::Span;

/// The shared memory of `cotangent::add_together`, for floats and for doubles.
pub(super) const SHARED_BYTES: u64 = 32 * (4 + 8);

/// What stands above such an addition.
const NOTE: &str = "the threads of a block share it: one atomic for all of them";

/// How many sums a thread may keep for the elements of one array.
const MAX_SUMS: u64 = 16;

/// Gives the additions of a kernel's threads to one place to the block.
pub(super) fn together(module: &mut Module, function: FunctionId, adjoints: &[AdjointParam], trust: Trust) {
    let original = &module.functions[function];
    let is_able = original.space == Space::Kernel
        && is_without_jumps(original)
        // One that does not ask may be meant for blocks of one thread.
        && asks_for_thread(module, function)
        && asks_beside_the_record(module, original)
        && static_shared_bytes(module, original) + SHARED_BYTES <= STATIC_SHARED_LIMIT;
    if is_able {
        let (body, locals) = given_together(module, original, adjoints, trust);
        let changed = &mut module.functions[function];
        (changed.body, changed.locals) = (body, locals);
    }
}

fn given_together(
    module: &Module,
    original: &Function,
    adjoints: &[AdjointParam],
    trust: Trust,
) -> (Block, IdVec<LocalId, Local>) {
    let uses = locals(original);
    let mut ctx = Ctx {
        uses: &uses,
        roots: Roots::new(module, original, &uses),
        uniform: Uniform::in_module(module, original),
        trust,
        adjoints: adjoints.iter().map(|param| Root::Param(param.adjoint)).collect(),
        looked_at: BTreeSet::new(),
        names: original.locals.iter().map(|local| local.name.clone()).collect(),
        original,
        locals: original.locals.clone(),
    };
    ctx.looked_at = ctx.looked_at(&original.body);
    let mut body = original.body.clone();
    if !ctx.looked_at.contains(&Root::Unknown) {
        ctx.block(&mut body);
    }
    (body, ctx.locals)
}

struct Ctx<'f> {
    original: &'f Function,
    uses: &'f Locals<'f>,
    roots: Roots<'f>,
    uniform: Uniform<'f>,
    trust: Trust,
    /// What is added to by derivatives alone.
    adjoints: BTreeSet<Root>,
    /// The memory that the function reads, or changes other than by adding.
    looked_at: BTreeSet<Root>,
    names: HashSet<Name>,
    /// Those of the function, and the sums.
    locals: IdVec<LocalId, Local>,
}

/// What many threads add to: a place, and the counters in it, each with the number of its values from zero on.
struct Target {
    place: Place,
    counters: Vec<(LocalId, u64)>,
}

/// What stands around an addition, inside a block that all threads run.
#[derive(Clone, Default)]
struct Around {
    /// Counters of loops, and how many values from zero on they have.
    loops: Vec<(LocalId, u64)>,
    /// Whether some threads may not run it.
    is_divided: bool,
}

impl Ctx<'_> {
    /// A block that all threads of a block of the launch run, equally often.
    fn block(&mut self, block: &mut Block) {
        for target in self.targets(block) {
            let root = self.roots.place(&target.place);
            if root.is_disjoint(&self.looked_at) {
                self.sum(block, &target, 0, block.len());
                continue;
            }
            // It may be looked at before and after one statement, and by others behind a barrier.
            for position in (0..block.len()).rev() {
                let stmt = std::slice::from_ref(&block[position]);
                if !has_barrier(stmt) && root.is_disjoint(&self.looked_at(stmt)) {
                    self.sum(block, &target, position, position + 1);
                }
            }
        }
        for stmt in block {
            if self.is_for_all(stmt) {
                let _ = walk::stmt_parts_mut(stmt, &mut |part| {
                    if let PartMut::Block(inner) = part {
                        self.block(inner);
                    }
                    ControlFlow::<()>::Continue(())
                });
            }
        }
    }

    fn is_for_all(&self, stmt: &Stmt) -> bool {
        is_for_all(&self.uniform, self.uses, stmt)
    }

    /// What many threads add to in a block, where it means the same at its end.
    fn targets(&self, block: &Block) -> Vec<Target> {
        let mut inside = BTreeSet::new();
        walk::each_stmt(block, &mut |inner| inside.extend(walk::declared_local(inner)));
        for stmt in block {
            if let StmtKind::Declare { local, .. } = &stmt.kind {
                inside.remove(local);
            }
        }
        let mut targets = Vec::new();
        self.add_targets(block, &inside, &Around::default(), &mut targets);
        targets
    }

    fn add_targets(&self, block: &Block, inside: &BTreeSet<LocalId>, around: &Around, targets: &mut Vec<Target>) {
        for stmt in block {
            if let Some(place) = added_to(stmt)
                && let place = without_spans(place)
                && !targets.iter().any(|known| known.place == place)
                && self.roots.place(&place).iter().all(|root| self.is_meant(root))
                && let Some(counters) = self.is_same(&place, inside, around)
            {
                targets.push(Target { place, counters });
            }
            let mut within = around.clone();
            within.is_divided |= !self.is_for_all(stmt);
            if let StmtKind::For(head) = &stmt.kind {
                let count = values_from_zero(head).filter(|_| self.uses[head.counter].is_constant());
                within.loops.extend(count.map(|count| (head.counter, count)));
            }
            let mut is_then = true;
            let _ = walk::stmt_parts(stmt, &mut |part| {
                if let Part::Block(inner) = part {
                    let is_for_few = matches!(&stmt.kind, StmtKind::If { cond, .. } if self.is_for_few(cond, is_then));
                    if !is_for_few {
                        self.add_targets(inner, inside, &within, targets);
                    }
                    is_then = false;
                }
                ControlFlow::<()>::Continue(())
            });
        }
    }

    /// Whether memory is that of adjoints, or of the block: the primal's own atomics in global memory stay as they are.
    fn is_meant(&self, root: &Root) -> bool {
        matches!(root, Root::Shared(_)) || self.adjoints.contains(root)
    }

    /// Whether a branch is taken by the thread with one number, so that a sum over the block is more work.
    fn is_for_few(&self, cond: &Expr, is_true: bool) -> bool {
        match &cond.kind {
            ExprKind::Binary(BinaryOp::And, left, right) if is_true => {
                self.is_for_few(left, true) || self.is_for_few(right, true)
            }
            ExprKind::Binary(BinaryOp::Or, left, right) if !is_true => {
                self.is_for_few(left, false) || self.is_for_few(right, false)
            }
            ExprKind::Unary(UnaryOp::Not, operand) => self.is_for_few(operand, !is_true),
            ExprKind::Binary(op, left, right) => {
                let is_equal = *op == if is_true { BinaryOp::Equal } else { BinaryOp::NotEqual };
                is_equal && [left, right].into_iter().any(|side| self.uniform.is_of_thread(side))
            }
            ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => {
                let value = self.uses.get(*local).and_then(|uses| uses.constant());
                value.is_some_and(|value| self.is_for_few(value, is_true))
            }
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::Load(_)
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Select(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => false,
        }
    }

    /// The counters in a place that is, but for them, the same for all threads of a block, also at the end of a block
    /// inside which some variables are declared. Where all threads run the loops, the sum is better made in these.
    fn is_same(&self, place: &Place, inside: &BTreeSet<LocalId>, around: &Around) -> Option<Vec<(LocalId, u64)>> {
        let mut counters: Vec<(LocalId, u64)> = Vec::new();
        let is_fixed = walk::visit_place(place, &mut |node| match node {
            Node::Place(Place { kind: PlaceKind::Local(local), .. }) => {
                let is_memory = self.original.locals[*local].storage != Storage::Private;
                let is_fixed = !inside.contains(local) && (is_memory || self.uses[*local].is_constant());
                let counter = around.loops.iter().find(|(counter, _)| counter == local).filter(|_| around.is_divided);
                match counter {
                    Some(counter) if !counters.contains(counter) => counters.push(*counter),
                    Some(_) => {}
                    None if is_fixed => {}
                    None => return ControlFlow::Break(()),
                }
                ControlFlow::Continue(())
            }
            Node::Place(_) | Node::Expr(_) | Node::Stmt(_) => ControlFlow::Continue(()),
        });
        let is_small = counters.iter().try_fold(1, |all: u64, (_, count)| all.checked_mul(*count));
        let is_same = is_fixed.is_continue()
            && is_small.is_some_and(|all| all <= MAX_SUMS)
            && self.trust.answer(Fact::Together, false, self.is_same_part(place));
        is_same.then_some(counters)
    }

    fn is_same_part(&self, place: &Place) -> bool {
        match &place.kind {
            PlaceKind::Local(_) | PlaceKind::Global(_) => true,
            PlaceKind::Field(base, _) => self.is_same_part(base),
            PlaceKind::Index(base, index) => self.is_same_part(base) && self.uniform.is_same(index),
            PlaceKind::Element(pointer, index) => self.uniform.is_same(pointer) && self.uniform.is_same(index),
        }
    }

    /// Sums what some statements of a block add to a place, or to the elements that counters choose.
    fn sum(&mut self, block: &mut Block, target: &Target, from: usize, to: usize) {
        let is_meant = |stmt: &Stmt| added_to(stmt).is_some_and(|found| without_spans(found) == target.place);
        let has_one = |stmt: &Stmt| {
            let mut is_found = false;
            walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| is_found |= is_meant(inner));
            is_found
        };
        let with: Vec<usize> = (from..to).filter(|&position| has_one(&block[position])).collect();
        let (Some(&first), Some(&last)) = (with.first(), with.last()) else { return };
        if first == last
            && let StmtKind::Atomic { scope, .. } = &mut block[first].kind
        {
            *scope = Scope::Together;
            block[first].note = Some(NOTE.into());
            return;
        }
        let ty = target.place.ty.clone();
        let counters = target.counters.iter().rev();
        let all = counters.fold(ty.clone(), |element, (_, count)| Type::Array(Box::new(element), *count));
        let local = fresh("_sum", &all, &mut self.names, &mut self.locals);
        let total = target.counters.iter().fold(Place::local(local, all.clone()), |place, (counter, _)| {
            place.index(Expr::load(Place::local(*counter, self.original.locals[*counter].ty.clone())))
        });
        let mut span = None;
        let _ = walk::visit_block_mut(&mut block[first..=last], &mut |node| {
            if let NodeMut::Stmt(stmt) = node
                && is_meant(stmt)
                && let StmtKind::Atomic { value, .. } = &stmt.kind
            {
                let value = Expr::binary(BinaryOp::Add, Expr::load(total.clone()), in_type(value.clone(), &ty));
                stmt.kind = StmtKind::Assign { place: total.clone(), value };
                stmt.note = None;
                span.get_or_insert(stmt.span);
            }
            ControlFlow::<()>::Continue(())
        });
        let add = self.addition(target, total, span.unwrap_or(Span::NONE));
        block.insert(last + 1, add);
        let zero = match all {
            Type::Array(..) => ExprKind::Construct(Vec::new()),
            Type::Void
            | Type::Bool
            | Type::Int(_)
            | Type::Float(_)
            | Type::Pointer(_)
            | Type::Record(_)
            | Type::Opaque(_) => ExprKind::Float(Real(0.0)),
        };
        block.insert(first, Stmt::new(StmtKind::Declare { local, init: Some(Expr::new(zero, all)) }));
    }

    /// The statement by which a block adds its sums.
    fn addition(&mut self, target: &Target, total: Place, span: Span) -> Stmt {
        let (op, scope, place) = (AtomicOp::Add, Scope::Together, target.place.clone());
        let kind = StmtKind::Atomic { op, scope, place, value: Expr::load(total), compare: None, into: None };
        let mut block = vec![Stmt::new(kind).at(span).noted(NOTE)];
        let mut renamed = HashMap::new();
        for &(counter, count) in target.counters.iter().rev() {
            let ty = self.original.locals[counter].ty.clone();
            let new = fresh("_k", &ty, &mut self.names, &mut self.locals);
            let number = |value: u64| Expr::new(ExprKind::Int(value.into()), ty.clone());
            let (test, step) = (BinaryOp::Less, BinaryOp::Add);
            let body = std::mem::take(&mut block);
            let head =
                For { counter: new, from: number(0), test, to: number(count), step, by: number(1), unroll: None, body };
            block.push(Stmt::new(StmtKind::For(Box::new(head))));
            renamed.insert(counter, new);
        }
        rename(&mut block, &renamed);
        block.remove(0)
    }

    /// The memory that statements read, or change other than by adding.
    fn looked_at(&self, block: &[Stmt]) -> BTreeSet<Root> {
        let mut found = BTreeSet::new();
        let _ = walk::visit_block(block, &mut |node| {
            match node {
                Node::Stmt(stmt) => match &stmt.kind {
                    StmtKind::Atomic { op: AtomicOp::Add | AtomicOp::Subtract, into: None, .. } => {}
                    StmtKind::Call { .. }
                    | StmtKind::Launch(_)
                    | StmtKind::Runtime { .. }
                    | StmtKind::Opaque { .. } => {
                        walk::written_places(stmt).into_iter().for_each(|place| found.extend(self.roots_of(place)));
                        self.add_given(stmt, &mut found);
                    }
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
                    | StmtKind::Push { .. }
                    | StmtKind::Pop { .. } => {
                        walk::written_places(stmt).into_iter().for_each(|place| found.extend(self.roots_of(place)));
                    }
                },
                Node::Expr(Expr { kind: ExprKind::Load(place), .. }) => found.extend(self.roots_of(place)),
                Node::Expr(_) | Node::Place(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
        found
    }

    /// Where a place lies; the sums are the thread's own.
    fn roots_of(&self, place: &Place) -> BTreeSet<Root> {
        let is_sum = walk::own_variable(place).is_some_and(|local| self.original.locals.get(local).is_none());
        if is_sum { BTreeSet::new() } else { self.roots.place(place) }
    }

    /// Adds the memory that functions are given.
    fn add_given(&self, stmt: &Stmt, found: &mut BTreeSet<Root>) {
        found.extend(self.roots.written_by_call(stmt));
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let Part::Expr(arg) = part {
                if arg.ty.is_pointer() {
                    found.extend(self.roots.pointer(arg));
                }
                if self.roots.may_hold_pointer(arg.ty.pointee().unwrap_or(&arg.ty)) {
                    found.insert(Root::Unknown);
                }
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

/// Whether all threads that come to a branch or loop run the same of it.
pub(super) fn is_for_all(uniform: &Uniform<'_>, uses: &Locals<'_>, stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::If { cond, .. } => uniform.is_same(cond),
        StmtKind::For(head) => {
            [&head.from, &head.to, &head.by].into_iter().all(|value| uniform.is_same(value))
                && uses.get(head.counter).is_some_and(LocalUses::is_constant)
        }
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
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
        | StmtKind::Opaque { .. } => false,
    }
}

/// Whether a kernel asks for its thread other than to number it for the record and for shared memory, as derivatives do of
/// themselves.
fn asks_beside_the_record(module: &Module, function: &Function) -> bool {
    let is_number = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Declare { local, .. } if function.local_name(*local).starts_with("_thread"));
    let mut is_found = false;
    walk::each_stmt(&function.body, &mut |stmt| {
        is_found |= matches!(stmt.kind, StmtKind::Call { function, .. } if asks_for_thread(module, function));
        let _ = walk::stmt_parts(stmt, &mut |part| {
            let mut look = |node: Node<'_>| {
                is_found |= matches!(node, Node::Expr(Expr { kind: ExprKind::Builtin(Builtin::ThreadIdx(_)), .. }));
                ControlFlow::<()>::Continue(())
            };
            match part {
                Part::Expr(expr) if !is_number(stmt) => walk::visit_expr(expr, &mut look),
                Part::Place(place) => walk::visit_place(place, &mut look),
                Part::Expr(_) | Part::Block(_) => ControlFlow::Continue(()),
            }
        });
    });
    is_found
}

/// How many values a counter has, if they are those from zero on, up or down.
pub(super) fn values_from_zero(head: &For) -> Option<u64> {
    let [from, to, by] = [&head.from, &head.to, &head.by].map(Expr::as_int);
    let last = match (head.test, head.step, from?, to?, by?) {
        (BinaryOp::Less, BinaryOp::Add, 0, end, 1) => end - 1,
        (BinaryOp::LessEqual, BinaryOp::Add, 0, last, 1)
        | (BinaryOp::GreaterEqual, BinaryOp::Subtract, last, 0, 1)
        | (BinaryOp::Greater, BinaryOp::Subtract, last, -1, 1) => last,
        (_, _, _, _, _) => return None,
    };
    u64::try_from(last).ok().map(|last| last + 1)
}

/// The place that a statement adds to atomically, if a block can sum such numbers.
fn added_to(stmt: &Stmt) -> Option<&Place> {
    let StmtKind::Atomic { op: AtomicOp::Add, scope: Scope::Device, place, into: None, .. } = &stmt.kind else {
        return None;
    };
    matches!(place.ty, Type::Float(FloatKind::Float | FloatKind::Double)).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{text, validate};
    use expect_test::expect;

    /// A kernel before and after.
    fn summed(body: &str) -> [String; 2] {
        let text = format!("kernel k(x: const float*, n: int, d_w: float*, d_x: float*) {{ {body} }}");
        let mut module = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let before = text::print(&module);
        let [primal, _, d_w, d_x] = [0, 1, 2, 3].map(LocalId);
        let flags = AdjointParam { adjoint: d_w, primal, is_shared: true, is_anywhere: false, is_contended: false };
        let adjoints = [flags, AdjointParam { adjoint: d_x, ..flags }];
        together(&mut module, FunctionId(0), &adjoints, Trust::default());
        assert_eq!(validate(&module), Ok(()));
        [before, text::print(&module)]
    }

    #[test]
    fn what_is_added_under_a_guard_and_in_loops_is_summed_behind_them() {
        let [_, after] = summed(
            "let i: int = (threadIdx.x as int);
             if (i < n) {
               for j: int = 0; j < i; j += 1 { atomic add(d_w[0], x[j]); }
               atomic add(d_w[0], 1.0f);
             }
             for k: int = 0; k < n; k += 1 { atomic add(d_w[(k + 1)], x[k]); }",
        );
        expect![[r#"
                kernel k(x: const float*, n: int, d_w: float*, d_x: float*) {
                  let i: int = (threadIdx.x as int);
                  let _sum#7: float = 0.0f;
                  if (i < n) {
                    for j: int = 0; j < i; j += 1 {
                      _sum = (_sum + x[j]);
                    }
                    _sum = (_sum + 1.0f);
                  }
                  atomic together add(*d_w, _sum);
                  for k: int = 0; k < n; k += 1 {
                    atomic together add(d_w[(k + 1)], x[k]);
                  }
                }
            "#]]
        .assert_eq(&after);
    }

    #[test]
    fn what_some_threads_do_alone_or_what_they_look_at_stays() {
        let body = "let i: int = (threadIdx.x as int);
             if (i < n) {
               for k: int = 0; k < n; k += 1 {
                 atomic add(d_w[k], x[k]);
               }
             }
             if (i == 0) {
               atomic add(d_w[3], 1.0f);
             }
             atomic add(d_w[i], 1.0f);
             while (i < n) {
               atomic add(*d_x, d_x[1]);
               barrier block;
             }";
        let [before, after] = summed(body);
        assert_eq!(after, before);
    }
}
