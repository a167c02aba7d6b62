//! Which elements of an array a host function stores to, as far as that is known before it runs.
//!
//! If it is, the stores can be taken back like those of an array that the user names with `--rollback`, and nothing else of the
//! array need be recorded: what the function leaves there is copied between the sweeps, and given back at the end.
//!
//! An element lies in a stretch whose beginning and length depend on values that the function does not change. A store under a
//! condition has none: the elements that are not stored to may not be there.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::analysis::locals::{Locals, locals};
use crate::analysis::{Object, Objects, objects, stmt_writes};
use crate::ir::walk::{self, Node, Part};
use crate::ir::{
    BinaryOp, Block, Expr, ExprKind, For, Function, LocalId, Module, Place, PlaceKind, Stmt, StmtKind, Type,
};

/// An array, and all that is stored to.
#[derive(Clone)]
pub(in crate::transform::reverse) struct Left {
    /// The parameter that points to it.
    pub(in crate::transform::reverse) param: LocalId,
    pub(in crate::transform::reverse) stretches: Vec<Stretch>,
}

impl Left {
    /// How many stretches have more than one element.
    pub(in crate::transform::reverse) fn long_stretches(&self) -> usize {
        self.stretches.iter().filter(|stretch| stretch.along.is_some()).count()
    }
}

/// Elements that a store in loops reaches, if these all run.
#[derive(Clone, PartialEq)]
pub(in crate::transform::reverse) struct Stretch {
    /// The index of the first one.
    pub(in crate::transform::reverse) first: Expr,
    /// The loop whose iterations reach one element after the other; none if there is one element.
    pub(in crate::transform::reverse) along: Option<For>,
    /// The other loops around the store.
    pub(in crate::transform::reverse) around: Vec<For>,
}

/// The arrays of which that is known, of those that loops in loops store to: for others a copy costs as much as it saves.
pub(in crate::transform::reverse) fn left(module: &Module, function: &Function) -> Vec<Left> {
    let (uses, objects) = (locals(function), objects(module, function));
    let params = function.params.iter().filter(|param| is_array(function, &uses, **param));
    params.filter_map(|param| Stores::new(function, &uses, &objects, *param).left()).collect()
}

fn is_array(function: &Function, uses: &Locals<'_>, param: LocalId) -> bool {
    let Type::Pointer(pointer) = &function.locals[param].ty else { return false };
    matches!(pointer.pointee, Type::Float(_))
        && !(pointer.is_const || pointer.is_volatile || pointer.is_reference)
        && uses[param].is_constant()
}

/// The stores to one array.
struct Stores<'a> {
    function: &'a Function,
    uses: &'a Locals<'a>,
    objects: &'a Objects<'a>,
    param: LocalId,
    /// What the array is.
    array: BTreeSet<Object>,
    found: Vec<Stretch>,
    /// How many loops are around the store that has most.
    depth: usize,
}

impl<'a> Stores<'a> {
    fn new(function: &'a Function, uses: &'a Locals<'a>, objects: &'a Objects<'a>, param: LocalId) -> Stores<'a> {
        let pointer = Expr::load(Place::local(param, function.locals[param].ty.clone()));
        let array = objects.reachable(&pointer);
        Stores { function, uses, objects, param, array, found: Vec::new(), depth: 0 }
    }

    fn left(mut self) -> Option<Left> {
        let is_known = self.block(&self.function.body, &mut Vec::new(), true);
        (is_known && self.depth > 1).then_some(Left { param: self.param, stretches: self.found })
    }

    /// Whether all stores in a block are known. `heads` are the loops around it; `always` says that these are all.
    fn block(&mut self, block: &'a Block, heads: &mut Vec<&'a For>, always: bool) -> bool {
        block.iter().all(|stmt| self.stmt(stmt, heads, always))
    }

    fn stmt(&mut self, stmt: &'a Stmt, heads: &mut Vec<&'a For>, always: bool) -> bool {
        match &stmt.kind {
            StmtKind::For(head) => {
                heads.push(head);
                let is_known = self.block(&head.body, heads, always);
                heads.pop();
                is_known
            }
            StmtKind::If { then_block, else_block, .. } => {
                self.block(then_block, heads, false) && self.block(else_block, heads, false)
            }
            StmtKind::While { body, .. } => self.block(body, heads, false),
            StmtKind::Assign { place, .. } if self.is_written(stmt) => {
                let stretch = self.element(place).filter(|_| always).and_then(|index| self.stretch(index, heads));
                let is_known = stretch.is_some();
                self.found.extend(stretch.filter(|stretch| !self.found.contains(stretch)));
                self.depth = self.depth.max(heads.len());
                is_known
            }
            StmtKind::Declare { .. } | StmtKind::Assign { .. } | StmtKind::Return(_) => true,
            StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Launch(_)
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => !self.is_written(stmt) && !self.is_handed_on(stmt),
        }
    }

    fn is_written(&self, stmt: &Stmt) -> bool {
        self.meets(&stmt_writes(self.objects, stmt))
    }

    /// Whether others get a pointer to the array.
    fn is_handed_on(&self, stmt: &Stmt) -> bool {
        walk::stmt_parts(stmt, &mut |part| match part {
            Part::Expr(expr) if self.meets(&self.objects.reachable(expr)) => ControlFlow::Break(()),
            Part::Expr(_) | Part::Place(_) | Part::Block(_) => ControlFlow::Continue(()),
        })
        .is_break()
    }

    fn meets(&self, others: &BTreeSet<Object>) -> bool {
        others.iter().any(|other| other.overlaps_any(&self.array))
    }

    /// The index of an element that is reached from the parameter itself.
    fn element<'p>(&self, place: &'p Place) -> Option<&'p Expr> {
        let PlaceKind::Element(pointer, index) = &place.kind else { return None };
        let base = pointer.as_load().and_then(Place::as_local);
        (base == Some(self.param)).then_some(&**index)
    }

    fn stretch(&self, index: &Expr, heads: &[&For]) -> Option<Stretch> {
        if !heads.iter().all(|head| self.is_known(head)) {
            return None;
        }
        let without_body = |head: &&For| For { body: Block::new(), ..(*head).clone() };
        if self.is_fixed(index) {
            return Some(Stretch {
                first: index.clone(),
                along: None,
                around: heads.iter().map(without_body).collect(),
            });
        }
        let (counter, sign, distance) = counter_and_distance(index)?;
        let along = heads.iter().find(|head| head.counter == counter)?;
        let first = match distance {
            0 => along.from.clone(),
            _ => {
                let distance = Expr::new(ExprKind::Int(distance), along.from.ty.clone());
                Expr::binary(sign, along.from.clone(), distance)
            }
        };
        let around = heads.iter().filter(|head| head.counter != counter).map(without_body).collect();
        Some(Stretch { first, along: Some(without_body(along)), around })
    }

    /// Whether a loop runs through all numbers between bounds that do not change.
    fn is_known(&self, head: &For) -> bool {
        let is_plain = head.step == BinaryOp::Add
            && head.by.as_int() == Some(1)
            && matches!(head.test, BinaryOp::Less | BinaryOp::LessEqual);
        let mut is_left_alone = true;
        walk::each_stmt(&head.body, &mut |stmt| {
            is_left_alone &= walk::written_places(stmt).iter().all(|place| place.as_local() != Some(head.counter));
        });
        is_plain
            && is_left_alone
            && !self.uses[head.counter].is_exposed
            && self.is_fixed(&head.from)
            && self.is_fixed(&head.to)
    }

    /// Whether a value is the same before the function, and after it: made of parameters that do not change.
    fn is_fixed(&self, expr: &Expr) -> bool {
        walk::visit_expr(expr, &mut |node| match node {
            Node::Place(Place { kind: PlaceKind::Local(local), .. })
                if self.function.params.contains(local) && self.uses[*local].is_constant() =>
            {
                ControlFlow::Continue(())
            }
            Node::Place(_) => ControlFlow::Break(()),
            Node::Expr(_) | Node::Stmt(_) => ControlFlow::Continue(()),
        })
        .is_continue()
    }
}

/// The counter that an index is, and what is added to it or subtracted.
fn counter_and_distance(index: &Expr) -> Option<(LocalId, BinaryOp, i128)> {
    let counter = |expr: &Expr| expr.as_load().and_then(Place::as_local);
    match &index.kind {
        ExprKind::Load(place) => Some((place.as_local()?, BinaryOp::Add, 0)),
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Subtract), left, right) => {
            Some((counter(left)?, *op, right.as_int()?))
        }
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => None,
    }
}
