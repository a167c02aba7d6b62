//! The additions of a kernel's threads to one array, and what each of them needs: the branches and loops around it, and the
//! variables that they and its value are made of.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use super::digits::{Digit, Number, digits};
use super::turn::Turn;
use crate::analysis::affine::Values;
use crate::analysis::location::{Location, Step};
use crate::analysis::ordering::has_barrier;
use crate::analysis::polynomial::Polynomial;
use crate::analysis::root::Root;
use crate::analysis::threads::Threads;
use crate::ir::walk::{self, Node, Part};
use crate::ir::{
    AtomicOp, Block, Expr, ExprKind, For, LocalId, Place, PlaceKind, Scope, Stmt, StmtKind, Storage, Type,
};

/// One addition.
pub(super) struct Addition<'f> {
    pub(super) place: &'f Place,
    pub(super) value: &'f Expr,
    pub(super) location: Location,
    /// The digits of the index, each with what it is multiplied by.
    pub(super) digits: Vec<(Number, Polynomial)>,
    /// The rest of the index, which is the same for all.
    pub(super) rest: Polynomial,
    /// What is around it, the outermost first.
    pub(super) levels: Vec<Level<'f>>,
}

impl<'f> Addition<'f> {
    /// How a digit goes around in the index.
    pub(super) fn turn(&self, digit: &Digit) -> Option<&Turn> {
        self.digits.iter().find(|(number, _)| number.digit == *digit)?.0.turn.as_ref()
    }

    /// Whether one does.
    pub(super) fn is_turned(&self) -> bool {
        self.digits.iter().any(|(number, _)| number.turn.is_some())
    }

    /// The loops around it, the outermost first.
    pub(super) fn loops(&self) -> impl Iterator<Item = &'f For> {
        self.levels.iter().filter_map(|level| match level.around {
            Some(Around::Loop(head)) => Some(head),
            Some(Around::Branch { .. }) | None => None,
        })
    }
}

/// A block around an addition.
#[derive(Clone)]
pub(super) struct Level<'f> {
    /// What stands in it before the statement that leads on to the addition.
    before: &'f [Stmt],
    /// That statement.
    stmt: &'f Stmt,
    /// What it is; none if it is the addition.
    pub(super) around: Option<Around<'f>>,
}

/// A branch or loop.
#[derive(Clone, Copy)]
pub(super) enum Around<'f> {
    Branch { cond: &'f Expr, is_then: bool },
    Loop(&'f For),
}

/// When memory is changed.
pub(super) struct Changes {
    /// By memory, what changes it.
    all: HashMap<Root, Vec<Change>>,
    /// Statements by their places in the text.
    numbers: HashMap<*const Stmt, usize>,
    /// Whether threads meet: then one may change what another has read.
    has_barrier: bool,
}

/// A statement that changes memory.
struct Change {
    /// Its place in the text; atomics change memory from the beginning.
    number: usize,
    location: Option<Location>,
    /// The counters of the loops around it.
    loops: Vec<LocalId>,
}

impl Changes {
    pub(super) fn new(values: &Values<'_>) -> Changes {
        let body = &values.function.body;
        let mut changes = Changes { all: HashMap::new(), numbers: HashMap::new(), has_barrier: has_barrier(body) };
        changes.add(values, body, &mut Vec::new());
        changes
    }

    fn add(&mut self, values: &Values<'_>, block: &[Stmt], loops: &mut Vec<LocalId>) {
        for stmt in block {
            let number = self.numbers.len() + 1;
            self.numbers.insert(std::ptr::from_ref(stmt), number);
            let number = if matches!(stmt.kind, StmtKind::Atomic { .. }) { 0 } else { number };
            for root in values.roots.written_by_call(stmt) {
                let change = Change { number, location: None, loops: loops.clone() };
                self.all.entry(root).or_default().push(change);
            }
            for place in walk::written_places(stmt) {
                for root in values.roots.place(place) {
                    let change = Change { number, location: values.location(place), loops: loops.clone() };
                    self.all.entry(root).or_default().push(change);
                }
            }
            let counter = if let StmtKind::For(head) = &stmt.kind { Some(head.counter) } else { None };
            loops.extend(counter);
            let _ = walk::stmt_parts(stmt, &mut |part| {
                if let Part::Block(inner) = part {
                    self.add(values, inner, loops);
                }
                ControlFlow::<()>::Continue(())
            });
            loops.truncate(loops.len() - usize::from(counter.is_some()));
        }
    }

    /// Whether what a statement reads is there before the launch: nothing changes it, or only statements after it.
    ///
    /// In a loop a statement after it comes before it, too, in the next iteration. If both mean one element, and each iteration has
    /// its own, that is no matter. What other threads do is none either: without barriers it would be a race.
    fn is_read_first(&self, values: &Values<'_>, place: &Place, number: usize, loops: &[LocalId]) -> bool {
        let is_after = |change: &Change| {
            let shared: Vec<LocalId> = loops.iter().copied().filter(|it| change.loops.contains(it)).collect();
            let is_own = || {
                let location = values.location(place);
                location.is_some()
                    && location == change.location
                    && !self.has_barrier
                    && location.is_some_and(|location| tells_iterations(values, &location.index, &shared))
            };
            change.number > number && (shared.is_empty() || is_own())
        };
        let is_open = self.all.keys().any(Root::is_open);
        values.roots.place(place).iter().all(|root| match root {
            Root::Private(_) => true,
            Root::Shared(_) | Root::Unknown | Root::Behind(_) => false,
            Root::Param(_) | Root::Global(_) => !is_open && self.all.get(root).into_iter().flatten().all(is_after),
        })
    }
}

/// Whether an index is another one in each iteration of a loop.
fn tells_iterations(values: &Values<'_>, index: &Polynomial, loops: &[LocalId]) -> bool {
    let &[counter] = loops else { return false };
    let ty = values.function.locals[counter].ty.clone();
    let counter = values.index(&Expr::load(Place::local(counter, ty)));
    let stride = counter.and_then(|counter| index.divided(&counter)).and_then(|(stride, _)| stride.as_constant());
    stride.is_some_and(|stride| stride != 0)
}

/// The arrays that a kernel only adds to, atomically, each with its additions. Arrays of which an addition is not understood are
/// left out.
pub(super) fn additions<'f>(
    values: &Values<'f>,
    changes: &Changes,
    meant: &BTreeSet<Root>,
) -> Vec<(Root, Vec<Addition<'f>>)> {
    let mut finder = Finder { values, changes, levels: Vec::new(), found: Vec::new() };
    finder.block(&values.function.body);
    let Finder { found, .. } = finder;
    let is_whole = |root: &Root| !found.iter().any(|(other, addition)| other == root && addition.is_none());
    let mut roots: Vec<Root> = Vec::new();
    for (root, _) in &found {
        if meant.contains(root) && is_whole(root) && !is_looked_at(values, *root) && !roots.contains(root) {
            roots.push(*root);
        }
    }
    let mut targets: Vec<(Root, Vec<Addition<'f>>)> = roots.into_iter().map(|root| (root, Vec::new())).collect();
    for (root, addition) in found {
        let target = targets.iter_mut().find(|(known, _)| *known == root);
        if let (Some((_, additions)), Some(addition)) = (target, addition) {
            additions.push(addition);
        }
    }
    targets
}

/// Whether a kernel reads some memory, or changes it other than by atomic additions.
fn is_looked_at(values: &Values<'_>, root: Root) -> bool {
    let mut is_found = false;
    let _ = walk::visit_block(&values.function.body, &mut |node| {
        match node {
            Node::Stmt(stmt) => {
                is_found |= values.roots.written_by_call(stmt).contains(&root);
                if !is_addition(stmt) {
                    is_found |=
                        walk::written_places(stmt).iter().any(|place| values.roots.place(place).contains(&root));
                }
            }
            Node::Expr(Expr { kind: ExprKind::Load(place), .. }) => {
                is_found |= values.roots.place(place).iter().any(|it| *it == root || it.is_open());
            }
            Node::Expr(_) | Node::Place(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
    is_found
}

/// Whether a statement is an atomic addition to memory of all threads.
pub(super) fn is_addition(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Atomic { op: AtomicOp::Add, scope: Scope::Device, place, into: None, .. }
        if matches!(place.ty, Type::Float(_)))
}

struct Finder<'f, 'v> {
    values: &'v Values<'f>,
    changes: &'v Changes,
    levels: Vec<Level<'f>>,
    /// By memory; none is one that is not understood.
    found: Vec<(Root, Option<Addition<'f>>)>,
}

impl<'f> Finder<'f, '_> {
    fn block(&mut self, block: &'f Block) {
        for (position, stmt) in block.iter().enumerate() {
            let before = &block[..position];
            match &stmt.kind {
                StmtKind::Atomic { place, value, .. } => {
                    let addition = if is_addition(stmt) { self.addition(stmt, before, place, value) } else { None };
                    match addition {
                        Some(addition) => self.found.push((addition.location.root, Some(addition))),
                        None => {
                            self.found.extend(self.values.roots.place(place).into_iter().map(|root| (root, None)));
                        }
                    }
                }
                StmtKind::If { cond, then_block, else_block } => {
                    for (is_then, inner) in [(true, then_block), (false, else_block)] {
                        self.inside((before, stmt), Around::Branch { cond, is_then }, inner);
                    }
                }
                StmtKind::For(head) => self.inside((before, stmt), Around::Loop(head), &head.body),
                StmtKind::While { .. }
                | StmtKind::Switch { .. }
                | StmtKind::Declare { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Accumulate { .. }
                | StmtKind::Call { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Barrier { .. }
                | StmtKind::Collective { .. }
                | StmtKind::Launch(_)
                | StmtKind::Runtime { .. }
                | StmtKind::Push { .. }
                | StmtKind::Pop { .. }
                | StmtKind::Opaque { .. } => self.others(stmt),
            }
        }
    }

    fn inside(&mut self, (before, stmt): (&'f [Stmt], &'f Stmt), around: Around<'f>, block: &'f Block) {
        self.levels.push(Level { before, stmt, around: Some(around) });
        self.block(block);
        self.levels.pop();
    }

    /// What stands in other loops is not understood.
    fn others(&mut self, stmt: &'f Stmt) {
        walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| {
            if let StmtKind::Atomic { place, .. } = &inner.kind {
                self.found.extend(self.values.roots.place(place).into_iter().map(|root| (root, None)));
            }
        });
    }

    fn addition(&self, stmt: &'f Stmt, before: &'f [Stmt], place: &'f Place, value: &'f Expr) -> Option<Addition<'f>> {
        let roots = self.values.roots.place(place);
        let location = self.values.location(place)?;
        // Two places with a part of which it is not known where it is may be two parts.
        let is_known = !location.tail.contains(&Step::Somewhere);
        if roots.len() != 1 || !roots.contains(&location.root) || !matches!(location.root, Root::Param(_)) || !is_known
        {
            return None;
        }
        let mut rest = location.index.clone();
        let mut digits_found = Vec::new();
        for number in digits(self.values, place)? {
            let (stride, remainder) = rest.divided(&number.value)?;
            if stride.as_constant() == Some(0) || self.values.varies(&stride, Threads::Grid) {
                return None;
            }
            digits_found.push((number, stride));
            rest = remainder;
        }
        if self.values.varies(&rest, Threads::Grid) {
            return None;
        }
        let mut levels = self.levels.clone();
        levels.push(Level { before, stmt, around: None });
        let addition = Addition { place, value, location, digits: digits_found, rest, levels };
        // Whatever the counters are, the same is read.
        slice(self.values, self.changes, &addition, &HashSet::new(), Vec::new())?;
        Some(addition)
    }
}

/// What an addition needs, around statements that stand in its place. Of loops whose counters are given only the body is
/// left.
pub(super) fn slice(
    values: &Values<'_>,
    changes: &Changes,
    addition: &Addition<'_>,
    given: &HashSet<LocalId>,
    instead: Block,
) -> Option<Block> {
    let mut needs = Needs { values, changes, locals: HashSet::new() };
    let mut loops: Vec<LocalId> = addition.loops().map(|head| head.counter).collect();
    let mut block = instead;
    for level in addition.levels.iter().rev() {
        let number = changes.numbers[&std::ptr::from_ref(level.stmt)];
        match level.around {
            None => needs.expr(addition.value, number, &loops)?,
            Some(Around::Branch { cond, is_then }) => {
                needs.expr(cond, number, &loops)?;
                let (then_block, else_block) = if is_then { (block, Vec::new()) } else { (Vec::new(), block) };
                block = vec![Stmt::new(StmtKind::If { cond: cond.clone(), then_block, else_block })];
            }
            Some(Around::Loop(head)) => {
                for expr in [&head.from, &head.to, &head.by] {
                    needs.expr(expr, number, &loops)?;
                }
                loops.pop();
                if !given.contains(&head.counter) {
                    block = vec![Stmt::new(StmtKind::For(Box::new(For { body: block, ..head.clone() })))];
                }
            }
        }
        for stmt in level.before.iter().rev() {
            if let StmtKind::Declare { local, init: Some(init) } = &stmt.kind
                && needs.locals.contains(local)
            {
                needs.expr(init, changes.numbers[&std::ptr::from_ref(stmt)], &loops)?;
                block.insert(0, Stmt { note: None, ..stmt.clone() });
            }
        }
    }
    Some(block)
}

/// The declarations that a place needs, which read no memory.
pub(super) fn address(values: &Values<'_>, addition: &Addition<'_>) -> Option<Block> {
    let mut locals = HashSet::new();
    let _ = walk::visit_place(addition.place, &mut |node| add_local(node, &mut locals));
    let mut block = Vec::new();
    for stmt in addition.levels.iter().rev().flat_map(|level| level.before.iter().rev()) {
        if let StmtKind::Declare { local, init: Some(init) } = &stmt.kind
            && locals.contains(local)
        {
            let _ = walk::visit_expr(init, &mut |node| add_local(node, &mut locals));
            let is_memory = |place: &Place| values.roots.place(place).iter().any(|it| !matches!(it, Root::Private(_)));
            if walk::loads_any(init, &mut |place| is_memory(place)) {
                return None;
            }
            block.insert(0, Stmt { note: None, ..stmt.clone() });
        }
    }
    Some(block)
}

fn add_local(node: Node<'_>, locals: &mut HashSet<LocalId>) -> ControlFlow<()> {
    if let Node::Place(Place { kind: PlaceKind::Local(local), .. }) = node {
        locals.insert(*local);
    }
    ControlFlow::Continue(())
}

/// The variables that are needed so far.
struct Needs<'n, 'f> {
    values: &'n Values<'f>,
    changes: &'n Changes,
    locals: HashSet<LocalId>,
}

impl Needs<'_, '_> {
    /// Adds those of an expression. None if it may have another value before the kernel runs.
    fn expr(&mut self, expr: &Expr, number: usize, loops: &[LocalId]) -> Option<()> {
        let (values, changes) = (self.values, self.changes);
        let all = walk::visit_expr(expr, &mut |node| {
            let is_fine = match node {
                Node::Place(Place { kind: PlaceKind::Local(local), .. }) => {
                    self.locals.insert(*local);
                    values.locals[*local].is_constant() && values.function.locals[*local].storage == Storage::Private
                }
                Node::Expr(Expr { kind: ExprKind::Load(place), .. }) => {
                    changes.is_read_first(values, place, number, loops)
                }
                Node::Expr(Expr { kind: ExprKind::AddressOf(_), .. }) => false,
                Node::Expr(_) | Node::Place(_) | Node::Stmt(_) => true,
            };
            if is_fine { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        all.is_continue().then_some(())
    }
}
