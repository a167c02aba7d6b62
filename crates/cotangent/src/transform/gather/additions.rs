//! The additions of a kernel's threads to one array, and what each of them needs: the branches and loops around it, and the
//! variables that they and its value are made of.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use super::digits::{Number, digits};
use crate::analysis::affine::Values;
use crate::analysis::location::{Location, Step};
use crate::analysis::polynomial::Polynomial;
use crate::analysis::root::Root;
use crate::analysis::threads::Threads;
use crate::ir::walk::{self, Node};
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
    /// The first statement that changes it, by its place in the text; atomics change it from the beginning.
    first: HashMap<Root, usize>,
    numbers: HashMap<*const Stmt, usize>,
}

impl Changes {
    pub(super) fn new(values: &Values<'_>) -> Changes {
        let mut changes = Changes { first: HashMap::new(), numbers: HashMap::new() };
        let mut number = 0;
        walk::each_stmt(&values.function.body, &mut |stmt| {
            number += 1;
            changes.numbers.insert(std::ptr::from_ref(stmt), number);
            let mut roots = values.roots.written_by_call(stmt);
            walk::written_places(stmt).into_iter().for_each(|place| roots.extend(values.roots.place(place)));
            let first = if matches!(stmt.kind, StmtKind::Atomic { .. }) { 0 } else { number };
            for root in roots {
                let known = changes.first.entry(root).or_insert(first);
                *known = first.min(*known);
            }
        });
        changes
    }

    /// Whether nothing is known to be changed by what is read at a statement before it is read there.
    fn is_read_first(&self, root: Root, number: usize, is_in_loop: bool) -> bool {
        let is_open = root.is_open() || self.first.keys().any(Root::is_open);
        match root {
            Root::Private(_) => true,
            Root::Shared(_) | Root::Unknown | Root::Behind(_) => false,
            Root::Param(_) | Root::Global(_) => {
                !is_open && self.first.get(&root).is_none_or(|first| !is_in_loop && number < *first)
            }
        }
    }
}

/// The arrays that a kernel only adds to, atomically, each with its additions. Arrays of which an addition is not understood are
/// left out.
pub(super) fn additions<'f>(values: &Values<'f>, meant: &BTreeSet<Root>) -> Vec<(Root, Vec<Addition<'f>>)> {
    let mut finder = Finder { values, changes: Changes::new(values), levels: Vec::new(), found: Vec::new() };
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
    changes: Changes,
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
        slice(self.values, &self.changes, &addition, &HashSet::new(), Vec::new())?;
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
    let loops = addition.levels.iter().filter(|level| matches!(level.around, Some(Around::Loop(_)))).count();
    let mut block = instead;
    let mut inner_loops = loops;
    for level in addition.levels.iter().rev() {
        let number = changes.numbers[&std::ptr::from_ref(level.stmt)];
        match level.around {
            None => needs.expr(addition.value, number, inner_loops > 0)?,
            Some(Around::Branch { cond, is_then }) => {
                needs.expr(cond, number, inner_loops > 0)?;
                let (then_block, else_block) = if is_then { (block, Vec::new()) } else { (Vec::new(), block) };
                block = vec![Stmt::new(StmtKind::If { cond: cond.clone(), then_block, else_block })];
            }
            Some(Around::Loop(head)) => {
                inner_loops -= 1;
                for expr in [&head.from, &head.to, &head.by] {
                    needs.expr(expr, number, true)?;
                }
                if !given.contains(&head.counter) {
                    block = vec![Stmt::new(StmtKind::For(Box::new(For { body: block, ..head.clone() })))];
                }
            }
        }
        for stmt in level.before.iter().rev() {
            if let StmtKind::Declare { local, init: Some(init) } = &stmt.kind
                && needs.locals.contains(local)
            {
                needs.expr(init, changes.numbers[&std::ptr::from_ref(stmt)], inner_loops > 0)?;
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
    fn expr(&mut self, expr: &Expr, number: usize, is_in_loop: bool) -> Option<()> {
        let (values, changes) = (self.values, self.changes);
        let all = walk::visit_expr(expr, &mut |node| {
            let is_fine = match node {
                Node::Place(Place { kind: PlaceKind::Local(local), .. }) => {
                    self.locals.insert(*local);
                    values.locals[*local].is_constant() && values.function.locals[*local].storage == Storage::Private
                }
                Node::Expr(Expr { kind: ExprKind::Load(place), .. }) => {
                    let roots = values.roots.place(place);
                    roots.iter().all(|root| changes.is_read_first(*root, number, is_in_loop))
                }
                Node::Expr(Expr { kind: ExprKind::AddressOf(_), .. }) => false,
                Node::Expr(_) | Node::Place(_) | Node::Stmt(_) => true,
            };
            if is_fine { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        all.is_continue().then_some(())
    }
}
