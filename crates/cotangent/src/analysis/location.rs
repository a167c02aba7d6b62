//! Which element of which array a place is.
//!
//! Arrays of arrays are one array. What is left, fields and what is inside them, is the tail.

use super::affine::{INDEX_BITS, Values};
use super::polynomial::Polynomial;
use super::root::Root;
use crate::ir::{BinaryOp, Expr, ExprKind, LocalId, Place, PlaceKind, Type};

/// An element of an array, or a part of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Location {
    /// Where the array lies.
    pub root: Root,
    /// The fields through which the array's address is reached, if it lies behind a parameter.
    pub path: Vec<u32>,
    /// Which element, with `INDEX_BITS`.
    pub index: Polynomial,
    /// Which part of the element.
    pub tail: Vec<Step>,
}

/// A step from a place to a part of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// A field.
    Field(u32),
    /// An element of an array in a record, at a constant index.
    At(i128),
    /// Some element of an array in a record.
    Somewhere,
}

impl Location {
    fn start(root: Root, path: Vec<u32>) -> Location {
        Location { root, path, index: Polynomial::constant(0, INDEX_BITS), tail: Vec::new() }
    }
}

impl Values<'_> {
    /// The location of a place, if it lies in one array at an index whose value is known.
    pub fn location(&self, place: &Place) -> Option<Location> {
        match &place.kind {
            PlaceKind::Local(_) | PlaceKind::Global(_) => {
                let root = self.roots.place(place).into_iter().next()?;
                Some(Location::start(root, Vec::new()))
            }
            PlaceKind::Element(pointer, index) => {
                let target = self.target(pointer)?;
                self.moved(target, index, &place.ty)
            }
            PlaceKind::Field(base, position) => {
                let mut location = self.location(base)?;
                location.tail.push(Step::Field(*position));
                Some(location)
            }
            PlaceKind::Index(base, index) => {
                let mut location = self.location(base)?;
                if location.tail.is_empty() {
                    return self.moved(location, index, &place.ty);
                }
                let constant = self.index(index).and_then(|index| index.as_constant());
                location.tail.push(constant.map_or(Step::Somewhere, Step::At));
                Some(location)
            }
        }
    }

    /// Where a pointer points, if it has one value.
    pub(super) fn target(&self, pointer: &Expr) -> Option<Location> {
        match &pointer.kind {
            ExprKind::AddressOf(place) => self.location(place),
            ExprKind::Binary(BinaryOp::Offset, base, offset) => {
                let target = self.target(base)?;
                self.moved(target, offset, pointer.ty.pointee()?)
            }
            ExprKind::Cast(operand) if operand.ty.pointee()? == pointer.ty.pointee()? => self.target(operand),
            ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => self.variable_target(*local),
            ExprKind::Load(place) => self.loaded_target(pointer, place),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
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

    fn variable_target(&self, local: LocalId) -> Option<Location> {
        if self.roots.apart.contains(&local) {
            return Some(Location::start(Root::Shared(local), Vec::new()));
        }
        if let Some(target) = self.targets.borrow().get(&local) {
            return target.clone();
        }
        let is_param = self.function.params.contains(&local) && self.locals[local].is_constant();
        is_param.then(|| Location::start(Root::Param(local), Vec::new()))
    }

    /// Where a pointer points that a parameter holds, or what it points to.
    fn loaded_target(&self, pointer: &Expr, place: &Place) -> Option<Location> {
        let root = Some(self.roots.pointer(pointer)).filter(|roots| roots.len() == 1)?.into_iter().next()?;
        let Root::Behind(_) = root else { return None };
        let holder = self.location(place)?;
        let is_direct = holder.path.is_empty() && holder.index.as_constant() == Some(0);
        let field = |step: &Step| match step {
            Step::Field(position) => Some(*position),
            Step::At(_) | Step::Somewhere => None,
        };
        let path = holder.tail.iter().map(field).collect::<Option<Vec<_>>>()?;
        is_direct.then(|| Location::start(root, path))
    }

    /// The location some elements of a type further on.
    fn moved(&self, mut location: Location, by: &Expr, element: &Type) -> Option<Location> {
        let by = self.index(by)?;
        if by.as_constant() == Some(0) {
            return Some(location);
        }
        if !location.tail.is_empty() {
            return None;
        }
        location.index = location.index.plus(scalars(element)?, &by)?;
        Some(location)
    }
}

/// How many elements an array of arrays has; what is no array is one.
fn scalars(ty: &Type) -> Option<i128> {
    match ty {
        Type::Array(element, length) => scalars(element)?.checked_mul(i128::from(*length)).filter(|all| *all < 1 << 48),
        Type::Void
        | Type::Bool
        | Type::Int(_)
        | Type::Float(_)
        | Type::Pointer(_)
        | Type::Record(_)
        | Type::Opaque(_) => Some(1),
    }
}
