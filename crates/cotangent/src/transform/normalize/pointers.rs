//! Pointers of a loop that only ever point into one variable of the thread become indices.
//!
//! The reverse sweep of a loop has variables of its own for those of an iteration, so a pointer to one of them cannot be
//! recorded; an index can. `for (float* p = a; p < a + 3; p++) sum += *p;` goes on with `p` as an `int` and `a[p]`. A
//! reference to a variable becomes the variable.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;

use super::super::locals::{NewLocals, assign, declare};
use super::inline::collapse;
use crate::ir::same::same_place;
use crate::ir::walk::{self, PartMut, own_variable};
use crate::ir::{
    BinaryOp, Block, Expr, ExprKind, Function, LocalId, Module, Place, PlaceKind, Stmt, StmtKind, Storage, Type,
};
use crate::source::Span;

/// Rewrites the pointers of a function's loops.
pub(in crate::transform) fn pointers_to_indices(module: &Module, function: &mut Function) {
    let candidates = candidates(function);
    if candidates.is_empty() {
        return;
    }
    let mut known = Known { targets: infer(&candidates) };
    if known.targets.is_empty() {
        return;
    }
    let mut names = NewLocals::new(module, function);
    let mut variables = HashMap::new();
    for pointer in known.targets.keys().copied().collect::<Vec<_>>() {
        let indices = variables_of(function, &mut names, pointer, &candidates[&pointer], &mut known);
        variables.insert(pointer, indices);
    }
    let mut body = std::mem::take(&mut function.body);
    rewrite(&mut body, function, &mut names, &known, &variables);
    function.body = body;
}

/// A pointer variable of a loop.
#[derive(Default)]
struct Candidate {
    /// Everything that it is set to.
    values: Vec<Expr>,
    /// The variables that are visible where it is declared.
    visible: HashSet<LocalId>,
    is_assigned: bool,
    is_in_loop: bool,
}

/// Where known pointers point to: a place of the pointer's own indices.
#[derive(Default)]
struct Known {
    targets: BTreeMap<LocalId, Place>,
}

fn candidates(function: &Function) -> BTreeMap<LocalId, Candidate> {
    let mut found = BTreeMap::new();
    let mut visible = function.params.clone();
    collect(&function.body, function, false, &mut visible, &mut found);
    // What is set in another way than by a value, or is itself pointed to, stays a pointer.
    let mut others = HashSet::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        if !matches!(stmt.kind, StmtKind::Assign { .. }) {
            others.extend(walk::written_places(stmt).into_iter().filter_map(own_variable));
        }
    });
    walk::each_expr(&function.body, &mut |expr| {
        if let ExprKind::AddressOf(place) = &expr.kind {
            others.extend(own_variable(place));
        }
    });
    found.retain(|local, candidate: &mut Candidate| {
        candidate.is_in_loop && !candidate.values.is_empty() && !others.contains(local)
    });
    found
}

fn collect(
    block: &[Stmt],
    function: &Function,
    in_loop: bool,
    visible: &mut Vec<LocalId>,
    found: &mut BTreeMap<LocalId, Candidate>,
) {
    let outside = visible.len();
    for stmt in block {
        match &stmt.kind {
            StmtKind::Declare { local, init } => {
                let variable = &function.locals[*local];
                if variable.ty.is_pointer() && variable.storage == Storage::Private {
                    let candidate = found.entry(*local).or_default();
                    candidate.values.extend(init.clone());
                    candidate.is_in_loop |= in_loop;
                    candidate.visible = visible
                        .iter()
                        .copied()
                        .filter(|local| function.locals[*local].storage == Storage::Private)
                        .collect();
                }
                visible.push(*local);
            }
            StmtKind::Assign { place: Place { kind: PlaceKind::Local(local), .. }, value } => {
                if let Some(candidate) = found.get_mut(local) {
                    candidate.values.push(value.clone());
                    candidate.is_assigned = true;
                    candidate.is_in_loop |= in_loop;
                }
            }
            StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
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
            | StmtKind::Opaque { .. } => {}
        }
        let is_loop = stmt.kind.is_loop();
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let walk::Part::Block(inner) = part {
                collect(inner, function, in_loop || is_loop, visible, found);
            }
            ControlFlow::<()>::Continue(())
        });
    }
    visible.truncate(outside);
}

/// The shapes of what pointers point to, for those that have one shape whatever they are set to.
fn infer(candidates: &BTreeMap<LocalId, Candidate>) -> BTreeMap<LocalId, Place> {
    let mut known = Known::default();
    // First what each pointer is set to that is known already, until nothing new comes.
    loop {
        let before = known.targets.len();
        for (local, candidate) in candidates {
            if known.targets.contains_key(local) {
                continue;
            }
            let shape = candidate.values.iter().find_map(|value| known.shape(value));
            if let Some(shape) = shape
                && own_variable(&shape).is_some_and(|target| candidate.visible.contains(&target))
            {
                known.targets.insert(*local, shape);
            }
        }
        if known.targets.len() == before {
            break;
        }
    }
    // Then no pointer that is also set to something else.
    loop {
        let unfit: Vec<LocalId> = known
            .targets
            .iter()
            .filter(|(local, shape)| {
                candidates[local].values.iter().any(|value| known.shape(value).as_ref() != Some(*shape))
            })
            .map(|(local, _)| *local)
            .collect();
        if unfit.is_empty() {
            return known.targets;
        }
        unfit.iter().for_each(|local| drop(known.targets.remove(local)));
    }
}

/// The variables for the indices of a pointer; says in `known` how they are read.
///
/// The last one is the pointer's own variable. A pointer that is set once, to an address of constant indices, needs none.
fn variables_of(
    function: &mut Function,
    names: &mut NewLocals,
    pointer: LocalId,
    candidate: &Candidate,
    known: &mut Known,
) -> Vec<LocalId> {
    let shape = known.targets[&pointer].clone();
    let count = indices(&shape).len();
    if let ([value], false) = (candidate.values.as_slice(), candidate.is_assigned) {
        let mut value = value.clone();
        Known::default().fold(&mut value);
        if let Some(place) = own_address(&value)
            && indices(place).iter().all(|index| matches!(index.kind, ExprKind::Int(_)))
        {
            known.targets.insert(pointer, place.clone());
            return Vec::new();
        }
    }
    let name = function.locals[pointer].name.to_string();
    let mut variables: Vec<LocalId> =
        (1..count).map(|_| names.add(function, &format!("{name}_row"), Type::INT)).collect();
    if count > 0 {
        function.locals[pointer].ty = Type::INT;
        variables.push(pointer);
    }
    let loads = variables.iter().map(|local| Expr::load(Place::local(*local, Type::INT)));
    known.targets.insert(pointer, with_indices(&shape, &mut loads.collect::<Vec<_>>().into_iter()));
    variables
}

fn rewrite(
    block: &mut Block,
    function: &mut Function,
    names: &mut NewLocals,
    known: &Known,
    variables: &HashMap<LocalId, Vec<LocalId>>,
) {
    let mut out = Block::new();
    for mut stmt in std::mem::take(block) {
        let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
            match part {
                PartMut::Expr(expr) => known.fold(expr),
                PartMut::Place(place) => known.fold_place(place),
                PartMut::Block(inner) => rewrite(inner, function, names, known, variables),
            }
            ControlFlow::<()>::Continue(())
        });
        match &stmt.kind {
            StmtKind::Declare { local, init } if variables.contains_key(local) => {
                let mut values = init.iter().flat_map(target_indices);
                let indices = variables[local].iter();
                out.extend(indices.map(|index| declare(*index, values.next()).at(stmt.span)));
            }
            StmtKind::Assign { place: Place { kind: PlaceKind::Local(local), .. }, value }
                if variables.contains_key(local) =>
            {
                let indices = &variables[local];
                let mut values = target_indices(value);
                // All are computed before any changes.
                if let [_, _, ..] = indices.as_slice() {
                    for value in &mut values {
                        let kept = names.add(function, "_i", Type::INT);
                        out.push(declare(kept, Some(value.clone())).at(stmt.span));
                        *value = Expr::load(Place::local(kept, Type::INT));
                    }
                }
                let pairs = indices.iter().zip(values);
                out.extend(pairs.map(|(index, value)| assign(Place::local(*index, Type::INT), value).at(stmt.span)));
            }
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
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
            | StmtKind::Opaque { .. } => out.push(stmt),
        }
    }
    *block = out;
}

impl Known {
    /// What a pointer expression points to, with its indices left out.
    fn shape(&self, pointer: &Expr) -> Option<Place> {
        let mut pointer = pointer.clone();
        self.fold(&mut pointer);
        let ExprKind::AddressOf(place) = &pointer.kind else { return None };
        own_variable(place)?;
        if pointer.ty.pointee() != Some(&place.ty) {
            return None;
        }
        Some(shape(place))
    }

    /// Replaces known pointers by addresses, and computes with these as far as possible.
    fn fold(&self, expr: &mut Expr) {
        let _ = walk::expr_parts_mut(expr, &mut |part| {
            match part {
                PartMut::Expr(operand) => self.fold(operand),
                PartMut::Place(place) => self.fold_place(place),
                PartMut::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
        let folded = match &expr.kind {
            ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => {
                self.targets.get(local).map(|target| ExprKind::AddressOf(target.clone()))
            }
            ExprKind::Cast(operand) => {
                let address = operand.as_address().filter(|place| expr.ty.pointee() == Some(&place.ty));
                address.map(|_| operand.kind.clone())
            }
            ExprKind::Binary(BinaryOp::Offset, base, offset) => {
                own_address(base).and_then(|place| moved(place, offset)).map(ExprKind::AddressOf)
            }
            // Two pointers are compared, or their distance is asked for.
            ExprKind::Binary(op, left, right) => compared(*op, left, right),
            ExprKind::Select(cond, then, otherwise) => chosen(cond, then, otherwise),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::Load(_)
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => None,
        };
        if let Some(kind) = folded {
            expr.kind = kind;
        }
    }

    fn fold_place(&self, place: &mut Place) {
        let _ = walk::place_parts_mut(place, &mut |part| {
            match part {
                PartMut::Expr(expr) => self.fold(expr),
                PartMut::Place(base) => self.fold_place(base),
                PartMut::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
        collapse(place);
    }
}

/// The place of the thread's own that an expression is the address of.
fn own_address(pointer: &Expr) -> Option<&Place> {
    pointer.as_address().filter(|place| own_variable(place).is_some())
}

/// The element some places on.
fn moved(place: &Place, offset: &Expr) -> Option<Place> {
    let PlaceKind::Index(array, index) = &place.kind else { return None };
    let int = |expr: &Expr| Expr::cast(expr.clone(), Type::INT);
    let sum = match (&index.kind, &offset.kind) {
        (ExprKind::Int(first), ExprKind::Int(second)) => Expr::new(ExprKind::Int(first + second), Type::INT),
        (ExprKind::Int(0), _) => int(offset),
        _ => Expr::binary(BinaryOp::Add, int(index), int(offset)),
    };
    Some((**array).clone().index(sum).at(place.span))
}

/// A comparison of two addresses, or their distance, as one of indices.
fn compared(op: BinaryOp, left: &Expr, right: &Expr) -> Option<ExprKind> {
    let (left, right) = (own_address(left)?, own_address(right)?);
    let (PlaceKind::Index(left_array, left), PlaceKind::Index(right_array, right)) = (&left.kind, &right.kind) else {
        return None;
    };
    if !same_place(left_array, right_array) {
        return None;
    }
    let (op, ty) = if op == BinaryOp::Distance { (BinaryOp::Subtract, Type::LONG) } else { (op, Type::INT) };
    let cast = |index: &Expr| Box::new(Expr::cast(index.clone(), ty.clone()));
    Some(ExprKind::Binary(op, cast(left), cast(right)))
}

/// One of two addresses of one shape, as an address of chosen indices.
fn chosen(cond: &Expr, then: &Expr, otherwise: &Expr) -> Option<ExprKind> {
    let (then, otherwise) = (own_address(then)?, own_address(otherwise)?);
    let shape = shape(then);
    if self::shape(otherwise) != shape {
        return None;
    }
    let pairs = indices(then).into_iter().zip(indices(otherwise));
    let chosen: Vec<Expr> = pairs
        .map(|(then, otherwise)| {
            if then == otherwise {
                return then;
            }
            Expr::new(ExprKind::Select(Box::new(cond.clone()), Box::new(then), Box::new(otherwise)), Type::INT)
        })
        .collect();
    Some(ExprKind::AddressOf(with_indices(&shape, &mut chosen.into_iter())))
}

/// The indices of what an address points to.
fn target_indices(pointer: &Expr) -> Vec<Expr> {
    own_address(pointer).map(indices).unwrap_or_default()
}

/// The indices of a place, as `int`, outermost first.
fn indices(place: &Place) -> Vec<Expr> {
    match &place.kind {
        PlaceKind::Index(base, index) => {
            let mut found = indices(base);
            let int = match index.as_int() {
                Some(value) => Expr::new(ExprKind::Int(value), Type::INT),
                None => Expr::cast((**index).clone(), Type::INT),
            };
            found.push(int);
            found
        }
        PlaceKind::Field(base, _) => indices(base),
        PlaceKind::Local(_) | PlaceKind::Global(_) | PlaceKind::Element(..) => Vec::new(),
    }
}

/// A place with zeros for its indices, so that places of one shape are equal.
fn shape(place: &Place) -> Place {
    with_indices(place, &mut std::iter::repeat(Expr::int(0)))
}

fn with_indices(place: &Place, values: &mut dyn Iterator<Item = Expr>) -> Place {
    let kind = match &place.kind {
        PlaceKind::Index(base, _) => {
            let base = with_indices(base, values);
            let index = values.next().unwrap_or_else(|| Expr::int(0));
            PlaceKind::Index(Box::new(base), Box::new(index))
        }
        PlaceKind::Field(base, position) => PlaceKind::Field(Box::new(with_indices(base, values)), *position),
        PlaceKind::Local(_) | PlaceKind::Global(_) | PlaceKind::Element(..) => place.kind.clone(),
    };
    Place { kind, ty: place.ty.clone(), span: Span::NONE }
}
