//! What a statement adds to elements of shared memory, in words that mean the same to all threads: coordinates of threads,
//! counters, memory that nobody changes meanwhile, and numbers that each thread hands over. Then any thread can compute
//! what another one adds.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use super::scratch::Scratch;
use crate::analysis::Uniform;
use crate::analysis::locals::Locals;
use crate::analysis::root::{Root, Roots};
use crate::ir::walk::{self, Node, PartMut};
use crate::ir::{
    AtomicOp, Axis, BinaryOp, Block, Builtin, Expr, ExprKind, FloatKind, For, Function, LocalId, Place, PlaceKind,
    Scope, Stmt, StmtKind, Storage, Type, UnaryOp,
};
use crate::transform::locals::{drop_unused, without_spans};

/// What an element depends on: which thread adds, and in which iteration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Var {
    Coordinate(Axis),
    Counter(LocalId),
}

/// A sum of multiples of these, modulo `2^32`: an index that is none is outside of its array.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Linear {
    pub(super) terms: Vec<(Var, i128)>,
    pub(super) offset: i128,
}

/// One addition: each thread makes it in each iteration of the loops for which the conditions hold.
#[derive(Clone, Debug)]
pub(super) struct Addition {
    /// The array.
    pub(super) target: LocalId,
    /// The element, an index a dimension.
    pub(super) index: Vec<Linear>,
    /// The loops around it, without their bodies.
    pub(super) loops: Vec<For>,
    pub(super) conds: Vec<Expr>,
    pub(super) value: Expr,
    /// Whether a block would sum what all its threads add.
    pub(super) is_together: bool,
}

/// What is known about the function.
pub(super) struct Known<'f> {
    pub(super) function: &'f Function,
    pub(super) uses: &'f Locals<'f>,
    pub(super) roots: Roots<'f>,
    pub(super) uniform: Uniform<'f>,
    /// Variables that are declared without a value.
    pub(super) begun_later: HashSet<LocalId>,
    /// Adjoints that are parameters: they overlap no other array.
    pub(super) adjoints: BTreeSet<Root>,
}

/// The additions to shared memory of a statement that all threads of a block run, as far as `is_wanted`, and what is left of
/// the statement without them. None if there are none, or if it is not known what else the statement does.
pub(super) fn additions(
    known: &Known<'_>,
    stmt: &Stmt,
    scratch: &mut Scratch,
    is_wanted: &dyn Fn(&Addition) -> bool,
) -> Option<(Vec<Addition>, Option<Stmt>)> {
    let block = std::slice::from_ref(stmt);
    let mut inside = HashSet::new();
    walk::each_stmt(block, &mut |inner| inside.extend(walk::declared_local(inner)));
    let mut reader = Reader {
        known,
        inside,
        assigned: walk::assigned_locals(block),
        looked_at: BTreeSet::new(),
        written: BTreeSet::new(),
        scratch,
        is_wanted,
        guards: 0,
        found: Vec::new(),
    };
    reader.look_at(block).then_some(())?;
    let mut rest = vec![stmt.clone()];
    reader.take_from(&mut rest, &Around::default());
    (!reader.found.is_empty()).then_some((reader.found, rest.pop()))
}

/// What stands around an addition.
#[derive(Clone, Default)]
struct Around {
    loops: Vec<For>,
    conds: Vec<Expr>,
}

struct Reader<'a> {
    known: &'a Known<'a>,
    /// Variables that the statement declares.
    inside: HashSet<LocalId>,
    /// Variables that it changes.
    assigned: HashSet<LocalId>,
    /// Memory that it reads, or changes other than by adding.
    looked_at: BTreeSet<Root>,
    /// Memory that it changes in any way.
    written: BTreeSet<Root>,
    scratch: &'a mut Scratch,
    is_wanted: &'a dyn Fn(&Addition) -> bool,
    /// How many branches stand around what is looked at.
    guards: usize,
    found: Vec<Addition>,
}

impl Reader<'_> {
    /// Finds what memory a statement reads and changes; no if it does more than that.
    fn look_at(&mut self, block: &[Stmt]) -> bool {
        let roots = &self.known.roots;
        walk::visit_block(block, &mut |node| {
            match node {
                Node::Stmt(stmt) => match &stmt.kind {
                    StmtKind::Atomic { op: AtomicOp::Add, place, into: None, .. } => {
                        self.written.extend(roots.place(place));
                    }
                    StmtKind::Declare { .. }
                    | StmtKind::Assign { .. }
                    | StmtKind::Accumulate { .. }
                    | StmtKind::If { .. }
                    | StmtKind::For(_)
                    | StmtKind::While { .. }
                    | StmtKind::Push { .. }
                    | StmtKind::Pop { .. } => {
                        for place in walk::written_places(stmt) {
                            self.written.extend(roots.place(place));
                            self.looked_at.extend(roots.place(place));
                        }
                    }
                    StmtKind::Call { .. }
                    | StmtKind::Switch { .. }
                    | StmtKind::Break
                    | StmtKind::Continue
                    | StmtKind::Return(_)
                    | StmtKind::Barrier { .. }
                    | StmtKind::Atomic { .. }
                    | StmtKind::Collective { .. }
                    | StmtKind::Launch(_)
                    | StmtKind::Runtime { .. }
                    | StmtKind::Opaque { .. } => return ControlFlow::Break(()),
                },
                Node::Expr(Expr { kind: ExprKind::Load(place), .. }) => self.looked_at.extend(roots.place(place)),
                Node::Expr(_) | Node::Place(_) => {}
            }
            ControlFlow::Continue(())
        })
        .is_continue()
    }

    /// Takes additions out of a block, and what nothing is left of.
    fn take_from(&mut self, block: &mut Block, around: &Around) {
        block.retain_mut(|stmt| match &mut stmt.kind {
            StmtKind::Atomic { .. } => match self.addition(stmt, around) {
                Some(addition) => {
                    self.found.push(addition);
                    false
                }
                None => true,
            },
            StmtKind::If { cond, then_block, else_block } => {
                let (found, handed) = (self.found.len(), self.scratch.handed.len());
                if let Some(then) = self.carried(cond, false) {
                    let otherwise = Expr::unary(UnaryOp::Not, then.clone());
                    self.guards += 1;
                    for (inner, cond) in [(&mut *then_block, then), (&mut *else_block, otherwise)] {
                        let mut within = around.clone();
                        within.conds.push(cond);
                        self.take_from(inner, &within);
                    }
                    self.guards -= 1;
                }
                if self.found.len() == found {
                    self.scratch.handed.truncate(handed);
                }
                !(then_block.is_empty() && else_block.is_empty())
            }
            StmtKind::For(head) => {
                if let Some(carried) = self.carried_head(head) {
                    let mut within = around.clone();
                    within.loops.push(carried);
                    self.take_from(&mut head.body, &within);
                }
                !head.body.is_empty()
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
            | StmtKind::Collective { .. }
            | StmtKind::Launch(_)
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => true,
        });
        drop_unused(block);
    }

    /// What a statement adds to an element of an array in shared memory.
    fn addition(&mut self, stmt: &Stmt, around: &Around) -> Option<Addition> {
        let StmtKind::Atomic { op: AtomicOp::Add, scope, place, value, into: None, .. } = &stmt.kind else {
            return None;
        };
        let is_together = match scope {
            Scope::Device => false,
            Scope::Together => true,
            Scope::Block | Scope::System | Scope::Anywhere => return None,
        };
        let (target, indices) = element(place)?;
        let is_array = self.known.function.locals[target].storage == Storage::Shared
            && matches!(place.ty, Type::Float(FloatKind::Float | FloatKind::Double))
            && !self.looked_at.contains(&Root::Shared(target))
            && !self.looked_at.contains(&Root::Unknown);
        if !is_array {
            return None;
        }
        let index: Option<Vec<Linear>> = indices.into_iter().map(|index| self.linear(index)).collect();
        let index = index?;
        let handed = self.scratch.handed.len();
        let value = self.carried(value, false);
        let Around { loops, conds } = around.clone();
        let addition = value.map(|value| Addition { target, index, loops, conds, value, is_together });
        let addition = addition.filter(|addition| (self.is_wanted)(addition));
        if addition.is_none() {
            self.scratch.handed.truncate(handed);
        }
        addition
    }

    /// An index as a sum of coordinates and counters.
    fn linear(&self, expr: &Expr) -> Option<Linear> {
        let Type::Int(kind) = &expr.ty else { return None };
        if kind.bits() < 32 {
            return None;
        }
        let of = |var| Some(Linear { terms: vec![(var, 1)], offset: 0 });
        match &expr.kind {
            ExprKind::Int(offset) => Some(Linear { terms: Vec::new(), offset: *offset }),
            ExprKind::Builtin(Builtin::ThreadIdx(axis)) => of(Var::Coordinate(*axis)),
            ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => {
                let uses = &self.known.uses[*local];
                match uses.constant() {
                    Some(value) => self.linear(value),
                    None if uses.is_constant() && self.inside.contains(local) => of(Var::Counter(*local)),
                    None => None,
                }
            }
            ExprKind::Cast(operand) => self.linear(operand),
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.linear(left)?, self.linear(right)?);
                match (op, left.terms.is_empty(), right.terms.is_empty()) {
                    (BinaryOp::Add, _, _) => Some(left.plus(&right, 1)),
                    (BinaryOp::Subtract, _, _) => Some(left.plus(&right, -1)),
                    (BinaryOp::Multiply, _, true) => Some(Linear::default().plus(&left, right.offset)),
                    (BinaryOp::Multiply, true, _) => Some(Linear::default().plus(&right, left.offset)),
                    (_, _, _) => None,
                }
            }
            ExprKind::Bool(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::Load(_)
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Select(..)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => None,
        }
    }

    /// The head of a loop by steps of one, whose bounds all threads can compute.
    fn carried_head(&mut self, head: &For) -> Option<For> {
        let is_by_one = matches!(
            (head.test, head.step),
            (BinaryOp::Less | BinaryOp::LessEqual, BinaryOp::Add)
                | (BinaryOp::Greater | BinaryOp::GreaterEqual, BinaryOp::Subtract)
        ) && head.by.as_int() == Some(1)
            && self.known.uses[head.counter].is_constant()
            && matches!(&self.known.function.locals[head.counter].ty, Type::Int(kind) if kind.bits() >= 32);
        if !is_by_one {
            return None;
        }
        let [from, to] = [&head.from, &head.to].map(|bound| self.carried(bound, true).filter(is_always_defined));
        Some(For { from: from?, to: to?, body: Block::new(), by: head.by.clone(), ..*head })
    }

    /// An expression in words that mean the same to all threads. `is_before`: it was evaluated before the statement, when
    /// memory may have held something else.
    fn carried(&mut self, expr: &Expr, is_before: bool) -> Option<Expr> {
        if !is_before && self.is_handed(expr) {
            return self.scratch.hand(without_spans(expr));
        }
        match &expr.kind {
            ExprKind::Bool(_) | ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Builtin(_) | ExprKind::SizeOf(_) => {
                Some(without_spans(expr))
            }
            ExprKind::Load(place) => match place.as_local().filter(|local| self.is_private(*local)) {
                Some(local) => self.carried_variable(expr, local, is_before),
                None if !is_before && self.is_unchanged(place) => self.carried_parts(expr, false),
                None => None,
            },
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Select(..) | ExprKind::Cast(_) => {
                self.carried_parts(expr, is_before)
            }
            // A function of nothing may be one of the thread.
            ExprKind::Math(_, operands) if !operands.is_empty() => self.carried_parts(expr, is_before),
            ExprKind::Null | ExprKind::AddressOf(_) | ExprKind::Math(..) | ExprKind::Construct(_) => None,
        }
    }

    fn carried_parts(&mut self, expr: &Expr, is_before: bool) -> Option<Expr> {
        let mut carried = without_spans(expr);
        let mut part_by_part = |part: PartMut<'_>| self.carry_part(part, is_before);
        walk::expr_parts_mut(&mut carried, &mut part_by_part).is_continue().then_some(carried)
    }

    fn carry_part(&mut self, part: PartMut<'_>, is_before: bool) -> ControlFlow<()> {
        match part {
            PartMut::Expr(operand) => match self.carried(operand, is_before) {
                Some(carried) => {
                    *operand = carried;
                    ControlFlow::Continue(())
                }
                None => ControlFlow::Break(()),
            },
            PartMut::Place(place) => walk::place_parts_mut(place, &mut |part| self.carry_part(part, is_before)),
            PartMut::Block(_) => ControlFlow::Break(()),
        }
    }

    fn carried_variable(&mut self, load: &Expr, local: LocalId, is_before: bool) -> Option<Expr> {
        let uses = &self.known.uses[local];
        if self.inside.contains(&local) {
            return match uses.constant() {
                Some(value) => self.carried(value, is_before),
                // A counter.
                None => uses.is_constant().then(|| without_spans(load)),
            };
        }
        if self.known.uniform.is_same(load) {
            return Some(without_spans(load));
        }
        let value = uses.constant().filter(|_| !matches!(load.ty, Type::Float(_)))?;
        self.carried(value, true)
    }

    fn is_private(&self, local: LocalId) -> bool {
        self.known.function.locals[local].storage == Storage::Private
    }

    /// Whether all threads find the same in memory until the next barrier as while the statement runs. What it does not
    /// change nobody changes: another thread that did would be in a race with it.
    fn is_unchanged(&self, place: &Place) -> bool {
        let is_volatile = walk::visit_place(place, &mut |node| match node {
            Node::Expr(Expr { ty: Type::Pointer(pointer), .. }) if pointer.is_volatile => ControlFlow::Break(()),
            Node::Expr(_) | Node::Place(_) | Node::Stmt(_) => ControlFlow::Continue(()),
        })
        .is_break();
        let changes_global = self
            .written
            .iter()
            .any(|root| !matches!(root, Root::Shared(_) | Root::Private(_)) && !self.known.adjoints.contains(root));
        !is_volatile
            && self.known.roots.place(place).iter().all(|root| match root {
                Root::Shared(_) => !self.written.contains(root) && !self.written.contains(&Root::Unknown),
                Root::Param(_) | Root::Global(_) => !self.written.contains(root) && !changes_global,
                Root::Private(_) | Root::Behind(_) | Root::Unknown => false,
            })
    }

    /// Whether a number is made of the thread's own variables alone, which keep their values in the statement.
    fn is_handed(&self, expr: &Expr) -> bool {
        self.is_own(expr) && !self.known.uniform.is_same(expr)
    }

    fn is_own(&self, expr: &Expr) -> bool {
        if !matches!(expr.ty, Type::Float(FloatKind::Float | FloatKind::Double)) {
            return false;
        }
        match &expr.kind {
            ExprKind::Float(_) => true,
            ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => {
                self.is_private(*local)
                    && !self.known.uses[*local].is_exposed
                    && !self.inside.contains(local)
                    && !self.assigned.contains(local)
                    // Where a guard does not hold it may not have a value, and all threads hand it over.
                    && (self.guards == 0 || !self.known.begun_later.contains(local))
            }
            ExprKind::Unary(_, operand) | ExprKind::Cast(operand) => self.is_own(operand),
            ExprKind::Binary(_, left, right) => self.is_own(left) && self.is_own(right),
            ExprKind::Math(_, operands) if !operands.is_empty() => operands.iter().all(|operand| self.is_own(operand)),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Null
            | ExprKind::Load(_)
            | ExprKind::AddressOf(_)
            | ExprKind::Select(..)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => false,
        }
    }
}

impl Linear {
    /// The same and a multiple of another.
    fn plus(mut self, other: &Linear, factor: i128) -> Linear {
        for (var, times) in &other.terms {
            match self.terms.iter_mut().find(|(known, _)| known == var) {
                Some((_, sum)) => *sum += factor * times,
                None => self.terms.push((*var, factor * times)),
            }
        }
        self.terms.retain(|(_, times)| *times != 0);
        self.offset += factor * other.offset;
        self
    }
}

/// The variable that a place is an element of, and the indices, the outermost first.
fn element(place: &Place) -> Option<(LocalId, Vec<&Expr>)> {
    let mut indices = Vec::new();
    let mut base = place;
    while let PlaceKind::Index(array, index) = &base.kind {
        indices.insert(0, &**index);
        base = array;
    }
    Some((base.as_local()?, indices)).filter(|(_, indices)| !indices.is_empty())
}

/// Whether an expression may be evaluated where it was not: it divides by constants alone.
pub(super) fn is_always_defined(expr: &Expr) -> bool {
    walk::visit_expr(expr, &mut |node| match node {
        Node::Expr(Expr { kind: ExprKind::Binary(BinaryOp::Divide | BinaryOp::Remainder, _, by), .. })
            if by.as_int().is_none_or(|by| by == 0) =>
        {
            ControlFlow::Break(())
        }
        Node::Expr(_) | Node::Place(_) | Node::Stmt(_) => ControlFlow::Continue(()),
    })
    .is_continue()
}
