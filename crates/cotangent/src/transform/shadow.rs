//! Where derivatives live: the place, or the pointer, that shadows one of the primal program.
//!
//! A shadow has the shape of what it shadows and is reached the same way: the shadow of `p[i].x` is `_d_p[i].x`. So it
//! is enough to know the shadows of variables; those of places and pointers follow from how they are written.

use std::collections::HashMap;

use crate::ir::{BinaryOp, Builtin, Expr, ExprKind, GlobalId, IntKind, LocalId, Name, Place, PlaceKind, Type};

/// The shadows of the variables of one function.
#[derive(Clone, Default, Debug)]
pub struct Shadows {
    locals: HashMap<LocalId, Place>,
    globals: HashMap<GlobalId, Place>,
}

impl Shadows {
    /// Says where a local's derivative lives: a variable, or what an adjoint parameter points to.
    pub fn insert(&mut self, local: LocalId, shadow: Place) {
        self.locals.insert(local, shadow);
    }

    /// Says where the derivative of a variable outside functions lives.
    pub fn insert_global(&mut self, global: GlobalId, shadow: Place) {
        self.globals.insert(global, shadow);
    }

    /// The shadow of a local, if it has one.
    pub fn local(&self, local: LocalId) -> Option<&Place> {
        self.locals.get(&local)
    }

    /// The place that holds the derivative of what `place` holds. None where that is constant.
    pub fn place(&self, place: &Place) -> Option<Place> {
        let shadow = match &place.kind {
            PlaceKind::Local(local) => self.locals.get(local)?.clone(),
            PlaceKind::Global(global) => self.globals.get(global)?.clone(),
            PlaceKind::Element(pointer, index) => Place::element(self.pointer(pointer)?, (**index).clone()),
            // The shadow of a record is a record of the same type, whatever its pointers promise.
            PlaceKind::Field(base, position) => self.place(base)?.field(*position, place.ty.clone()),
            PlaceKind::Index(base, index) => {
                let base = self.place(base)?;
                // The shadow of dynamic shared memory is a pointer.
                if base.ty.is_pointer() {
                    Place::element(Expr::load(base), (**index).clone())
                } else {
                    base.index((**index).clone())
                }
            }
        };
        Some(shadow.at(place.span))
    }

    /// The pointer to the derivative of what `pointer` points to. None where that is constant, or where `pointer` comes
    /// from what is no pointer.
    pub fn pointer(&self, pointer: &Expr) -> Option<Expr> {
        let shadow = match &pointer.kind {
            ExprKind::Load(place) => {
                let shadow = Expr::load(self.place(place)?);
                let ty = shadow_type(&shadow.ty);
                Expr::cast(shadow, ty)
            }
            ExprKind::AddressOf(place) => Expr::new(ExprKind::AddressOf(self.place(place)?), shadow_type(&pointer.ty)),
            ExprKind::Binary(BinaryOp::Offset, base, offset) => {
                Expr::binary(BinaryOp::Offset, self.pointer(base)?, (**offset).clone())
            }
            ExprKind::Select(cond, then, otherwise) => Expr::new(
                ExprKind::Select(cond.clone(), Box::new(self.pointer(then)?), Box::new(self.pointer(otherwise)?)),
                shadow_type(&pointer.ty),
            ),
            ExprKind::Cast(operand) => Expr::cast(self.pointer(operand)?, shadow_type(&pointer.ty)),
            ExprKind::Null => Expr::new(ExprKind::Null, shadow_type(&pointer.ty)),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => return None,
        };
        Some(shadow.at(pointer.span))
    }
}

/// The address of the second half of dynamic shared memory, where the derivatives of the first lie; `ty` is the pointer's
/// type.
pub(super) fn behind_dynamic(local: LocalId, array: &Type, ty: &Type) -> Expr {
    let bytes = Type::pointer(Type::Int(IntKind::Char));
    let first = Place::local(local, array.clone()).index(Expr::int(0));
    let first = Expr::cast(Expr::address_of(first), bytes);
    Expr::cast(Expr::binary(BinaryOp::Offset, first, half_of_dynamic()), ty.clone())
}

/// Half of the bytes of dynamic shared memory, a multiple of 16.
pub(super) fn half_of_dynamic() -> Expr {
    let uint = |value| Expr::new(ExprKind::Int(value), Type::UINT);
    let all = Expr::new(ExprKind::Builtin(Builtin::DynamicSharedBytes), Type::UINT);
    Expr::binary(BinaryOp::Multiply, Expr::binary(BinaryOp::Divide, all, uint(32)), uint(16))
}

/// The type of a shadow: derivatives are written where the primal only reads, and no promise of `__restrict__` is made
/// for them.
pub fn shadow_type(ty: &Type) -> Type {
    match ty {
        Type::Pointer(pointer) => {
            let mut pointer = pointer.clone();
            pointer.pointee = shadow_type(&pointer.pointee);
            pointer.is_const = false;
            pointer.is_restrict = false;
            Type::Pointer(pointer)
        }
        Type::Void
        | Type::Bool
        | Type::Int(_)
        | Type::Float(_)
        | Type::Array(..)
        | Type::Record(_)
        | Type::Opaque(_) => ty.clone(),
    }
}

/// The name of the shadow of a variable: `_d_x` of `x`, and `_d_t1` of a temporary `_t1`.
pub fn shadow_name(name: &str) -> Name {
    format!("_d_{}", name.trim_start_matches('_')).into()
}
