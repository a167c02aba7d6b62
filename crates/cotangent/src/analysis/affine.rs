//! Values of expressions in a form in which equal values look equal: polynomials over atoms that do not change while
//! they can be mentioned.
//!
//! Atoms are parameters that are never assigned, loop counters, built-in variables, locals with one value, operations
//! other than `+ - *`, and loads from memory that no thread of the launch writes. Locals with one value are followed
//! to it. So a value that is computed anew from the same atoms is the same value, under whatever name.
//!
//! Integers wrap, and the polynomials do so too. An integer that becomes wider is its value's polynomial only where C++
//! forbids it to have wrapped: signed sums and products. Of an unsigned one, or one that was converted to signed, the
//! polynomial of fewer bits becomes one atom.

use std::cell::RefCell;
use std::collections::HashMap;

use super::chosen::{Chosen, chosen};
use super::locals::Locals;
use super::location::Location;
use super::polynomial::{AtomId, Polynomial};
use super::root::{Root, Roots};
use crate::index::IdVec;
use crate::ir::{
    BinaryOp, Builtin, Expr, ExprKind, Function, GlobalStorage, IntKind, LocalId, Module, Name, Place, PlaceKind,
    Space, StmtKind, Type, UnaryOp, walk,
};

/// Indices are compared with this many bits, as addresses are.
pub const INDEX_BITS: u32 = 64;

/// A value that is not taken apart further.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Atom {
    /// A parameter, a counter, or a local that keeps its one value.
    Variable(LocalId),
    /// A built-in variable.
    Builtin(Builtin),
    /// A value of fewer bits, read as a signed or unsigned number.
    Widened { is_signed: bool, value: Polynomial },
    /// Another operation, on operands of these types.
    Operation { operation: Operation, operands: Vec<(Type, Polynomial)> },
    /// What lies in memory that is not written.
    Loaded { location: Box<Location> },
}

/// An operation that is not `+ - *`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// A unary operator.
    Unary(UnaryOp),
    /// A binary operator.
    Binary(BinaryOp),
    /// A conversion to this type.
    Convert(Type),
    /// A function from the table.
    Math(Name),
    /// A floating constant, by its bits.
    Float(u64),
    /// The size of a type.
    SizeOf(Type),
    /// A choice.
    Select,
}

/// A counter of a loop, and its value in terms of the counter of another loop.
#[derive(Clone, Debug)]
pub struct Counterpart {
    /// The counter.
    pub counter: LocalId,
    /// The other loop's.
    pub other: LocalId,
    /// Whether the counter is signed.
    pub is_signed: bool,
    /// The counter's value.
    pub value: Polynomial,
    /// The same with `INDEX_BITS`.
    pub index: Polynomial,
}

/// What is known about the values of one function.
pub struct Values<'f> {
    pub(crate) module: &'f Module,
    pub(crate) function: &'f Function,
    pub(crate) locals: &'f Locals<'f>,
    pub(crate) roots: &'f Roots<'f>,
    /// Memory that some statement of the function may write; only a kernel sees them all.
    pub(super) written: Vec<Root>,
    atoms: RefCell<Atoms>,
    /// The values of locals with one value, and those values with `INDEX_BITS`.
    known: RefCell<HashMap<(LocalId, bool), Option<Polynomial>>>,
    /// Counters that have one value for all threads at the time that is looked at.
    pub(super) settled: RefCell<Vec<LocalId>>,
    /// Variables that hold a value of a counter where a flag is true.
    pub(super) chosen: Chosen<'f>,
    /// Where pointers with one value point.
    pub(super) targets: RefCell<HashMap<LocalId, Option<Location>>>,
}

#[derive(Default)]
struct Atoms {
    list: IdVec<AtomId, Atom>,
    ids: HashMap<Atom, AtomId>,
}

impl<'f> Values<'f> {
    /// Looks at a function once. `written` is the memory that the function may write.
    pub fn new(
        module: &'f Module,
        function: &'f Function,
        locals: &'f Locals<'f>,
        roots: &'f Roots<'f>,
        written: Vec<Root>,
    ) -> Values<'f> {
        let (atoms, known, settled, targets) = Default::default();
        let chosen = chosen(function, locals);
        let values = Values { module, function, locals, roots, written, atoms, known, settled, chosen, targets };
        // In the order of the text, so that values are found in terms of known ones and nothing is done twice.
        walk::each_stmt(&function.body, &mut |stmt| {
            if let StmtKind::Declare { local, init: Some(_) } = &stmt.kind
                && let Some(init) = locals[*local].constant()
            {
                if init.ty.is_pointer() {
                    let target = values.target(init);
                    values.targets.borrow_mut().insert(*local, target);
                } else {
                    let (value, wide) = (values.value(init), values.widened(init, INDEX_BITS));
                    values.known.borrow_mut().insert((*local, false), value);
                    values.known.borrow_mut().insert((*local, true), wide);
                }
            }
        });
        values
    }

    /// The value of an index.
    pub fn index(&self, expr: &Expr) -> Option<Polynomial> {
        self.widened(expr, INDEX_BITS)
    }

    /// The value of a number or truth value. None if it may change, or is too long to be compared.
    pub fn value(&self, expr: &Expr) -> Option<Polynomial> {
        let bits = bits_of(&expr.ty)?;
        match &expr.kind {
            ExprKind::Int(value) => Some(Polynomial::constant(*value, bits)),
            ExprKind::Bool(value) => Some(Polynomial::constant(i128::from(*value), bits)),
            ExprKind::Float(value) => Some(self.operation(Operation::Float(value.0.to_bits()), Vec::new(), bits)),
            ExprKind::Builtin(builtin) => Some(self.atom(Atom::Builtin(*builtin), bits)),
            ExprKind::SizeOf(ty) => Some(self.operation(Operation::SizeOf(ty.clone()), Vec::new(), bits)),
            ExprKind::Load(place) => self.loaded(place, bits),
            ExprKind::Unary(UnaryOp::Negate, operand) if is_integer(&expr.ty) => {
                Polynomial::constant(0, bits).plus(-1, &self.value(operand)?)
            }
            ExprKind::Unary(op, operand) => self.opaque(Operation::Unary(*op), &[operand], bits),
            ExprKind::Binary(op, left, right) => match ring_operation(*op, &expr.ty) {
                Some(op) => combined(op, self.value(left)?, self.value(right)?),
                None => self.opaque(Operation::Binary(*op), &[left, right], bits),
            },
            ExprKind::Select(cond, then, otherwise) => self.opaque(Operation::Select, &[cond, then, otherwise], bits),
            ExprKind::Math(name, operands) => {
                self.opaque(Operation::Math(name.clone()), &operands.iter().collect::<Vec<_>>(), bits)
            }
            ExprKind::Cast(operand) => {
                if let (Type::Int(from), Type::Int(_)) = (&operand.ty, &expr.ty)
                    && from.bits() <= bits
                {
                    return self.widened(operand, bits);
                }
                self.opaque(Operation::Convert(expr.ty.clone()), &[operand], bits)
            }
            ExprKind::Null | ExprKind::AddressOf(_) | ExprKind::Construct(_) => None,
        }
    }

    /// The value of an integer as one of at least as many bits.
    ///
    /// *Signed arithmetic does not wrap*, or the program has no meaning; so its value with more bits is the same sum or
    /// product of the operands' values. Unsigned arithmetic wraps.
    fn widened(&self, expr: &Expr, bits: u32) -> Option<Polynomial> {
        let Type::Int(kind) = expr.ty else { return None };
        if kind.bits() >= bits {
            return if kind.bits() == bits { self.value(expr) } else { None };
        }
        match &expr.kind {
            ExprKind::Int(value) => return Some(Polynomial::constant(*value, bits)),
            ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) if bits == INDEX_BITS => {
                if let Some(Some(value)) = self.known.borrow().get(&(*local, true)) {
                    return Some(value.clone());
                }
            }
            ExprKind::Unary(UnaryOp::Negate, operand) if kind.is_signed() => {
                return Polynomial::constant(0, bits).plus(-1, &self.widened(operand, bits)?);
            }
            ExprKind::Binary(op, left, right) if kind.is_signed() => {
                if let Some(op) = ring_operation(*op, &expr.ty) {
                    return combined(op, self.widened(left, bits)?, self.widened(right, bits)?);
                }
            }
            ExprKind::Cast(operand) if keeps_value(&operand.ty, kind) => return self.widened(operand, bits),
            ExprKind::Bool(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::Load(_)
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => {}
        }
        Some(self.widen(self.value(expr)?, kind.is_signed(), bits))
    }

    /// A value of fewer bits, read as a number.
    pub fn widen(&self, value: Polynomial, is_signed: bool, bits: u32) -> Polynomial {
        match value.as_constant() {
            Some(constant) if is_signed || constant >= 0 => Polynomial::constant(constant, bits),
            Some(constant) => Polynomial::constant(constant + (1 << value.bits), bits),
            None => self.atom(Atom::Widened { is_signed, value }, bits),
        }
    }

    /// The low bits of a value that is made of values of so many bits.
    pub(super) fn low_bits(&self, value: &Polynomial, bits: u32) -> Option<Polynomial> {
        let mut result = Polynomial::constant(0, bits);
        for (product, factor) in value.terms() {
            let mut low = Polynomial::constant(1, bits);
            for &atom in product {
                let Atom::Widened { value, .. } = self.atom_of(atom) else { return None };
                low = if value.bits == bits { low.times(&value)? } else { return None };
            }
            result = result.plus(factor, &low)?;
        }
        Some(result)
    }

    fn loaded(&self, place: &Place, bits: u32) -> Option<Polynomial> {
        if let PlaceKind::Local(local) = place.kind {
            if let Some(Some(value)) = self.known.borrow().get(&(local, false)) {
                return Some(value.clone());
            }
            let is_chosen = self.chosen.values().flatten().any(|(chosen, _)| *chosen == local);
            return (is_chosen || self.locals[local].is_constant()).then(|| self.atom(Atom::Variable(local), bits));
        }
        if let PlaceKind::Global(global) = place.kind {
            let global = &self.module.globals[global];
            if let (GlobalStorage::Constexpr, Some(init)) = (global.storage, &global.init) {
                return if matches!(init.kind, ExprKind::Int(_)) { self.value(init) } else { None };
            }
        }
        let location = self.location(place)?;
        self.is_intact(&location).then(|| self.atom(Atom::Loaded { location: Box::new(location) }, bits))
    }

    /// *Intact memory.* What no thread of a launch writes holds the same value for all of them, from begin to end. All
    /// threads run the kernel, so it is enough that the kernel does not write it; arrays of different parameters do
    /// not overlap. A variable of the thread with one value keeps it, too.
    fn is_intact(&self, location: &Location) -> bool {
        let is_memory = match location.root {
            Root::Private(local) => return self.locals[local].is_constant(),
            Root::Param(_) | Root::Behind(_) | Root::Global(_) => true,
            Root::Shared(_) | Root::Unknown => false,
        };
        let is_written = self.written.contains(&location.root) || self.written.contains(&Root::Unknown);
        self.function.space == Space::Kernel && is_memory && !is_written
    }

    fn opaque(&self, operation: Operation, operands: &[&Expr], bits: u32) -> Option<Polynomial> {
        let value = |operand: &&Expr| Some((operand.ty.clone(), self.value(operand)?));
        let operands = operands.iter().map(value).collect::<Option<Vec<_>>>()?;
        Some(self.operation(operation, operands, bits))
    }

    /// The value of an operation on values.
    pub fn operation(&self, operation: Operation, operands: Vec<(Type, Polynomial)>, bits: u32) -> Polynomial {
        self.atom(Atom::Operation { operation, operands }, bits)
    }

    /// The value that an atom is.
    pub fn atom(&self, atom: Atom, bits: u32) -> Polynomial {
        let mut atoms = self.atoms.borrow_mut();
        let id = match atoms.ids.get(&atom) {
            Some(id) => *id,
            None => {
                let id = atoms.list.push(atom.clone());
                atoms.ids.insert(atom, id);
                id
            }
        };
        Polynomial::atom(id, bits)
    }

    /// What an atom is.
    pub fn atom_of(&self, id: AtomId) -> Atom {
        self.atoms.borrow().list[id].clone()
    }

    /// Whether a value depends on an atom for which a function says yes.
    pub fn mentions(&self, value: &Polynomial, is_meant: &mut impl FnMut(&Atom) -> bool) -> bool {
        value.atoms().any(|atom| {
            let atom = self.atom_of(atom);
            is_meant(&atom) || self.parts(&atom).iter().any(|part| self.mentions(part, is_meant))
        })
    }

    /// The values that an atom is computed from.
    pub fn parts(&self, atom: &Atom) -> Vec<Polynomial> {
        match atom {
            Atom::Variable(_) | Atom::Builtin(_) => Vec::new(),
            Atom::Widened { value, .. } => vec![value.clone()],
            Atom::Operation { operands, .. } => operands.iter().map(|(_, value)| value.clone()).collect(),
            Atom::Loaded { location } => vec![location.index.clone()],
        }
    }

    /// A value with counters replaced by their counterparts.
    pub fn renamed(&self, value: &Polynomial, counterparts: &[Counterpart]) -> Option<Polynomial> {
        if counterparts.iter().all(|counterpart| counterpart.counter == counterpart.other) {
            return Some(value.clone());
        }
        let mut result = Polynomial::constant(0, value.bits);
        for (product, factor) in value.terms() {
            let mut renamed = Polynomial::constant(1, value.bits);
            for &atom in product {
                renamed = renamed.times(&self.renamed_atom(atom, value.bits, counterparts)?)?;
            }
            result = result.plus(factor, &renamed)?;
        }
        Some(result)
    }

    fn renamed_atom(&self, atom: AtomId, bits: u32, counterparts: &[Counterpart]) -> Option<Polynomial> {
        let renamed = match self.atom_of(atom) {
            Atom::Variable(local) => {
                let found = counterparts.iter().find(|counterpart| counterpart.counter == local);
                return Some(found.map_or_else(|| Polynomial::atom(atom, bits), |found| found.value.clone()));
            }
            Atom::Builtin(builtin) => Atom::Builtin(builtin),
            Atom::Widened { is_signed, value } => {
                let is_counter = |found: &&Counterpart| {
                    let counter = self.atom(Atom::Variable(found.counter), value.bits);
                    found.is_signed == is_signed && bits == INDEX_BITS && value == counter
                };
                if let Some(found) = counterparts.iter().find(is_counter) {
                    return Some(found.index.clone());
                }
                return Some(self.widen(self.renamed(&value, counterparts)?, is_signed, bits));
            }
            Atom::Operation { operation, operands } => {
                let operand = |(ty, value): (Type, Polynomial)| Some((ty, self.renamed(&value, counterparts)?));
                Atom::Operation { operation, operands: operands.into_iter().map(operand).collect::<Option<_>>()? }
            }
            Atom::Loaded { mut location } => {
                location.index = self.renamed(&location.index, counterparts)?;
                Atom::Loaded { location }
            }
        };
        Some(self.atom(renamed, bits))
    }
}

/// Operators that polynomials have.
#[derive(Clone, Copy)]
enum RingOp {
    Add,
    Subtract,
    Multiply,
}

fn ring_operation(op: BinaryOp, ty: &Type) -> Option<RingOp> {
    match op {
        BinaryOp::Add if is_integer(ty) => Some(RingOp::Add),
        BinaryOp::Subtract if is_integer(ty) => Some(RingOp::Subtract),
        BinaryOp::Multiply if is_integer(ty) => Some(RingOp::Multiply),
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Remainder
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight
        | BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Offset
        | BinaryOp::Distance => None,
    }
}

fn combined(op: RingOp, left: Polynomial, right: Polynomial) -> Option<Polynomial> {
    match op {
        RingOp::Add => left.plus(1, &right),
        RingOp::Subtract => left.plus(-1, &right),
        RingOp::Multiply => left.times(&right),
    }
}

fn is_integer(ty: &Type) -> bool {
    matches!(ty, Type::Int(_))
}

/// Whether a conversion to this type changes no value.
fn keeps_value(from: &Type, to: IntKind) -> bool {
    matches!(from, Type::Int(from) if from == &to || from.bits() < to.bits() && (to.is_signed() || !from.is_signed()))
}

/// The bits of a polynomial for values of a type. Floating values are never added as polynomials.
fn bits_of(ty: &Type) -> Option<u32> {
    match ty {
        Type::Int(kind) => Some(kind.bits()),
        Type::Bool => Some(1),
        Type::Float(_) => Some(INDEX_BITS),
        Type::Void | Type::Pointer(_) | Type::Array(..) | Type::Record(_) | Type::Opaque(_) => None,
    }
}
