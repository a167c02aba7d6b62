//! Which pointers of a host function always point to the beginning of an array.
//!
//! *Beginnings.* An array of a parameter begins where the parameter points. Let a variable, or a field of one, be given
//! nothing but what an allocation returns, null, and the values of others like it, and let nobody have its address. Then
//! it points to the beginning of an array whenever it is read, or is null; and two such pointers are into one array only
//! if they are equal. The elements of an array of pointers are one such field. So are the pointers that a parameter leads
//! to, if the function reads them and does nothing else with them: the caller's arrays are apart, wherever their pointers are.
//!
//! *Other points.* To tell arrays apart it is enough that each is known by one point of it. Let the result of an allocation be
//! read once, by `p = result + n` in the same block and in no loop of it: memory with padding before what is used. Then nobody
//! knows the array but by that point, and `p` may stand for it as its beginning would.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use crate::analysis::grow;
use crate::ir::walk::{self, Node, own_variable};
use crate::ir::{BinaryOp, Expr, ExprKind, Function, LocalId, Module, Place, PlaceKind, Stmt, StmtKind, Type};
use crate::rules::{RuntimeClass, runtime_class};

/// A variable, or a field of one.
type Slot = (LocalId, Vec<u32>);

/// The field that stands for all elements of an array, and for all that a pointer leads to.
const ELEMENT: u32 = u32::MAX;

/// What is known of a function's pointers.
pub(in crate::transform::reverse) struct Beginnings {
    /// Variables, and fields with all that is in them, that may point elsewhere.
    moved: HashSet<Slot>,
}

/// The pointers that point to beginnings.
pub(in crate::transform::reverse) fn beginnings(
    module: &Module,
    function: &Function,
    address_taken: &HashSet<LocalId>,
) -> Beginnings {
    known_points(module, function, address_taken, HashSet::new())
}

/// The pointers that point to the one point by which each array is known: those that are equal are into one array, others not.
pub(in crate::transform::reverse) fn points(
    module: &Module,
    function: &Function,
    address_taken: &HashSet<LocalId>,
) -> Beginnings {
    let mut padded = HashSet::new();
    padded_allocations(&function.body, &mut padded);
    let mut mentions: HashMap<LocalId, usize> = HashMap::new();
    let _ = walk::visit_block(&function.body, &mut |node| {
        if let Node::Place(Place { kind: PlaceKind::Local(local), .. }) = node {
            *mentions.entry(*local).or_default() += 1;
        }
        ControlFlow::<()>::Continue(())
    });
    // The allocation is one, and the offset is the other.
    padded.retain(|local| mentions.get(local) == Some(&2));
    known_points(module, function, address_taken, padded)
}

/// The variables that are given an allocation of which an offset is taken later in its block, and in no loop there.
fn padded_allocations(block: &[Stmt], found: &mut HashSet<LocalId>) {
    let mut made = HashSet::new();
    for stmt in block {
        if let Some(local) = allocated(stmt) {
            made.insert(local);
        }
        if !stmt.kind.is_loop() {
            offsets_of(stmt, &made, found);
        }
        each_block(stmt, &mut |inner| padded_allocations(inner, found));
    }
}

/// The variable that an allocation is given to.
fn allocated(stmt: &Stmt) -> Option<LocalId> {
    let StmtKind::Runtime { call, into: Some(into), .. } = &stmt.kind else { return None };
    matches!(runtime_class(call), Some(RuntimeClass::Memory { .. })).then(|| into.as_local())?
}

/// Those of the variables of which a pointer is an offset, in what is run at most once.
fn offsets_of(stmt: &Stmt, made: &HashSet<LocalId>, found: &mut HashSet<LocalId>) {
    if let StmtKind::Declare { init: Some(value), .. } | StmtKind::Assign { value, .. } = &stmt.kind {
        found.extend(offset_of(value).filter(|local| made.contains(local)));
    }
    each_block(stmt, &mut |inner| {
        inner.iter().filter(|stmt| !stmt.kind.is_loop()).for_each(|stmt| offsets_of(stmt, made, found));
    });
}

/// The variable that a pointer is an offset of.
fn offset_of(pointer: &Expr) -> Option<LocalId> {
    let ExprKind::Binary(BinaryOp::Offset, base, _) = &pointer.uncast_pointer().kind else { return None };
    base.uncast_pointer().as_local()
}

fn each_block<'a>(stmt: &'a Stmt, f: &mut impl FnMut(&'a [Stmt])) {
    let _ = walk::stmt_parts(stmt, &mut |part| {
        if let walk::Part::Block(inner) = part {
            f(inner);
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Looks at everything that pointers are given. An offset of one that is `padded` is a point like a beginning.
fn known_points(
    module: &Module,
    function: &Function,
    address_taken: &HashSet<LocalId>,
    padded: HashSet<LocalId>,
) -> Beginnings {
    let mut gifts = Gifts { module, padded, given: Vec::new(), moved: HashSet::new() };
    gifts.moved.extend(address_taken.iter().map(|local| (*local, Vec::new())));
    gifts.moved.extend(not_only_read(function).into_iter().map(|local| (local, vec![ELEMENT])));
    walk::each_stmt(&function.body, &mut |stmt| match &stmt.kind {
        StmtKind::Declare { local, init: Some(init) } => {
            gifts.give(&Place::local(*local, function.locals[*local].ty.clone()), init);
        }
        StmtKind::Assign { place, value } => gifts.give(place, value),
        StmtKind::Runtime { call, .. } if matches!(runtime_class(call), Some(RuntimeClass::Memory { .. })) => {}
        StmtKind::Declare { .. }
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
        | StmtKind::Opaque { .. } => {
            // Whatever else writes, a pointer that steps through an array among them.
            gifts.moved.extend(walk::written_places(stmt).into_iter().filter_map(whole_slot));
            if let StmtKind::For(counted) = &stmt.kind {
                gifts.moved.insert((counted.counter, Vec::new()));
            }
        }
    });
    let Gifts { given, moved, .. } = gifts;
    let mut found = Beginnings { moved };
    grow(
        &mut found,
        |found| found.moved.len(),
        |found| {
            let new: Vec<Slot> =
                given.iter().filter(|(_, from)| found.is_moved(from)).map(|(to, _)| to.clone()).collect();
            found.moved.extend(new);
        },
    );
    found
}

impl Beginnings {
    /// Whether a pointer, whatever it promises, is the value of a variable that always points to a beginning, or of one of
    /// two such variables.
    pub(in crate::transform::reverse) fn is_beginning(&self, pointer: &Expr) -> bool {
        let pointer = pointer.uncast_pointer();
        if let ExprKind::Select(_, then, otherwise) = &pointer.kind {
            return self.is_beginning(then) && self.is_beginning(otherwise);
        }
        pointer.as_load().and_then(slot).is_some_and(|slot| !self.is_moved(&slot))
    }

    fn is_moved(&self, (local, path): &Slot) -> bool {
        (0..=path.len()).any(|length| self.moved.contains(&(*local, path[..length].to_vec())))
    }
}

/// What pointers are given.
struct Gifts<'m> {
    module: &'m Module,
    /// Allocations that are known by one offset of theirs.
    padded: HashSet<LocalId>,
    /// Which is given the value of which.
    given: Vec<(Slot, Slot)>,
    /// Those that are given anything else.
    moved: HashSet<Slot>,
}

impl Gifts<'_> {
    fn give(&mut self, place: &Place, value: &Expr) {
        let Some(to) = slot(place) else {
            self.moved.extend(whole_slot(place));
            return;
        };
        match &value.ty {
            Type::Pointer(_) => self.give_pointer(to, value),
            Type::Record(record) => match &value.kind {
                ExprKind::Construct(operands) => {
                    for ((position, field), operand) in (0u32..).zip(&self.module.records[*record].fields).zip(operands)
                    {
                        self.give(&place.clone().field(position, field.ty.clone()), operand);
                    }
                }
                ExprKind::Load(source) => match slot(source) {
                    Some(from) => self.give_leaves(&value.ty, &to, &from),
                    None => self.move_away(to),
                },
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
                | ExprKind::SizeOf(_) => self.move_away(to),
            },
            Type::Array(..) => {
                if let ExprKind::Construct(operands) = &value.kind {
                    operands.iter().for_each(|operand| self.give(&place.clone().index(Expr::int(0)), operand));
                } else {
                    self.move_away(to);
                }
            }
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_) => {}
        }
    }

    fn give_pointer(&mut self, to: Slot, value: &Expr) {
        match &value.kind {
            ExprKind::Null => {}
            ExprKind::Binary(..) if offset_of(value).is_some_and(|base| self.padded.contains(&base)) => {}
            ExprKind::Cast(operand) if operand.ty.is_pointer() => self.give_pointer(to, operand),
            ExprKind::Select(_, then, otherwise) => {
                self.give_pointer(to.clone(), then);
                self.give_pointer(to, otherwise);
            }
            ExprKind::Load(source) => match slot(source) {
                Some(from) => self.given.push((to, from)),
                None => self.move_away(to),
            },
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => self.move_away(to),
        }
    }

    /// Every pointer in a record is given that of another.
    fn give_leaves(&mut self, ty: &Type, to: &Slot, from: &Slot) {
        match ty {
            Type::Record(record) => {
                for (position, field) in (0u32..).zip(&self.module.records[*record].fields) {
                    let inner = |(local, path): &Slot| (*local, [path.as_slice(), &[position]].concat());
                    self.give_leaves(&field.ty, &inner(to), &inner(from));
                }
            }
            Type::Pointer(_) | Type::Array(..) => self.given.push((to.clone(), from.clone())),
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_) => {}
        }
    }

    fn move_away(&mut self, slot: Slot) {
        self.moved.insert(slot);
    }
}

/// The variable or field that a place is.
fn slot(place: &Place) -> Option<Slot> {
    match &place.kind {
        PlaceKind::Local(local) => Some((*local, Vec::new())),
        PlaceKind::Field(base, position) => {
            let (local, path) = slot(base)?;
            Some((local, [path, vec![*position]].concat()))
        }
        PlaceKind::Index(base, _) => {
            let (local, path) = slot(base)?;
            Some((local, [path, vec![ELEMENT]].concat()))
        }
        PlaceKind::Element(pointer, _) => match pointer.as_load().map(|place| &place.kind) {
            Some(PlaceKind::Local(local)) => Some((*local, vec![ELEMENT])),
            Some(PlaceKind::Global(_) | PlaceKind::Field(..) | PlaceKind::Element(..) | PlaceKind::Index(..))
            | None => None,
        },
        PlaceKind::Global(_) => None,
    }
}

/// The pointers that may lead to pointers which are written, or which others reach: all but parameters with which the
/// function does nothing but read what they lead to, as long as it writes no pointer to memory at all.
fn not_only_read(function: &Function) -> HashSet<LocalId> {
    let (mut all, mut looked_through) = (HashMap::<LocalId, usize>::new(), HashMap::<LocalId, usize>::new());
    let mut writes_pointers = false;
    let _ = walk::visit_block(&function.body, &mut |node| {
        let (counts, loaded) = match node {
            Node::Expr(expr) => (&mut all, expr.as_local()),
            Node::Place(Place { kind: PlaceKind::Element(pointer, _), .. }) => {
                (&mut looked_through, pointer.as_local())
            }
            Node::Place(_) => return ControlFlow::<()>::Continue(()),
            Node::Stmt(stmt) => {
                let is_plain = |ty: &Type| matches!(ty, Type::Bool | Type::Int(_) | Type::Float(_));
                let is_in_memory = |place: &&Place| own_variable(place).is_none() && !is_plain(&place.ty);
                writes_pointers |= walk::written_places(stmt).iter().any(is_in_memory);
                return ControlFlow::Continue(());
            }
        };
        loaded.into_iter().for_each(|local| *counts.entry(local).or_default() += 1);
        ControlFlow::Continue(())
    });
    let is_only_read = |local: &LocalId| {
        !writes_pointers && function.params.contains(local) && all.get(local) == looked_through.get(local)
    };
    function
        .locals
        .entries()
        .filter(|(local, _)| !is_only_read(local))
        .filter(|(_, it)| it.ty.is_pointer())
        .map(|(local, _)| local)
        .collect()
}

/// The variable that a place is in, as a whole where no field says more.
fn whole_slot(place: &Place) -> Option<Slot> {
    slot(place).or_else(|| own_variable(place).map(|local| (local, Vec::new())))
}
