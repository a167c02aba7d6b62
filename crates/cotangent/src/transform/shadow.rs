//! Where derivatives live: the place, or the pointer, that shadows one of the primal program.
//!
//! A shadow has the shape of what it shadows and is reached the same way: the shadow of `p[i].x` is `_d_p[i].x`. So it
//! is enough to know the shadows of variables; those of places and pointers follow from how they are written.

use std::collections::HashMap;

use crate::ir::{
    BinaryOp, Builtin, Expr, ExprKind, Field, FloatKind, GlobalId, IntKind, LocalId, Module, Name, Place, PlaceKind,
    Record, RecordId, Type,
};
use crate::source::Span;

/// The shadows of the variables of one function.
#[derive(Clone, Default, Debug)]
pub struct Shadows {
    /// Which shadows are wider than what they shadow.
    pub widening: Widening,
    locals: HashMap<LocalId, Place>,
    globals: HashMap<GlobalId, Place>,
}

impl Shadows {
    /// No shadows yet, and which will be wider.
    pub fn with(widening: Widening) -> Shadows {
        Shadows { widening, ..Shadows::default() }
    }

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
            // The shadow of a record is a record of the same type, whatever its pointers promise, or a wider pair.
            PlaceKind::Field(base, position) => {
                let shadow = self.place(base)?;
                let ty = if shadow.ty == base.ty { place.ty.clone() } else { place.ty.at_least_single() };
                shadow.field(*position, ty)
            }
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
                let ty = self.widening.shadow(&shadow.ty);
                Expr::cast(shadow, ty)
            }
            ExprKind::AddressOf(place) => {
                let shadow = self.place(place)?;
                match (&place.kind, shadow.kind) {
                    // The beginning of dynamic shared memory, whose shadow is a pointer.
                    (PlaceKind::Index(..), PlaceKind::Element(start, index)) if index.is_zero() => *start,
                    (_, kind) => address(Place { kind, ..shadow }, self.widening.shadow(&pointer.ty)),
                }
            }
            ExprKind::Binary(BinaryOp::Offset, base, offset) => {
                Expr::binary(BinaryOp::Offset, self.pointer(base)?, (**offset).clone())
            }
            ExprKind::Select(cond, then, otherwise) => Expr::new(
                ExprKind::Select(cond.clone(), Box::new(self.pointer(then)?), Box::new(self.pointer(otherwise)?)),
                self.widening.shadow(&pointer.ty),
            ),
            ExprKind::Cast(operand) => Expr::cast(self.pointer(operand)?, self.widening.shadow(&pointer.ty)),
            ExprKind::Null => Expr::new(ExprKind::Null, self.widening.shadow(&pointer.ty)),
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

/// The address of a shadow. Pointers to adjoints in a record or an array have the type of those that they shadow, which
/// may promise not to write.
fn address(shadow: Place, ty: Type) -> Expr {
    let wanted = ty.pointee().filter(|wanted| shadow.ty.is_pointer() && **wanted != shadow.ty);
    let Some(wanted) = wanted.cloned() else { return Expr::new(ExprKind::AddressOf(shadow), ty) };
    let pointer = Expr::cast(Expr::address_of(shadow), Type::pointer(wanted));
    match ty.is_reference() {
        true => Expr::new(ExprKind::AddressOf(Place::deref(pointer)), ty),
        false => Expr::cast(pointer, ty),
    }
}

/// Which shadows are wider than what they shadow: half precision is too short to sum up in.
#[derive(Clone, Default, Debug)]
pub struct Widening {
    /// Pairs of half precision, and the pair of `float` for each.
    pairs: HashMap<RecordId, RecordId>,
    /// Whether memory that pointers lead to has wide shadows too.
    of_memory: bool,
}

impl Widening {
    /// The widening for a module, to which `float2` is added if it has pairs of half precision.
    pub fn new(module: &mut Module, of_memory: bool) -> Widening {
        let is_pair = |record: &Record| {
            let half = [FloatKind::Half, FloatKind::BFloat].map(Type::Float);
            record.is_builtin && record.fields.len() == 2 && record.fields.iter().all(|field| half.contains(&field.ty))
        };
        let pairs: Vec<RecordId> =
            module.records.entries().filter(|(_, record)| is_pair(record)).map(|(id, _)| id).collect();
        if pairs.is_empty() {
            return Widening { pairs: HashMap::new(), of_memory };
        }
        let is_float2 = |record: &Record| record.is_builtin && &*record.name == "float2";
        let known = module.records.entries().find(|(_, record)| is_float2(record)).map(|(id, _)| id);
        let float2 = known.unwrap_or_else(|| {
            let fields = ["x", "y"].map(|name| Field { name: name.into(), ty: Type::FLOAT }).to_vec();
            let (name, span) = ("float2".into(), Span::NONE);
            module.records.push(Record { name, fields, is_builtin: true, align: Some(8), span })
        });
        Widening { pairs: pairs.into_iter().map(|pair| (pair, float2)).collect(), of_memory }
    }

    /// The type of the shadow of what a thread has for itself.
    pub fn private(&self, ty: &Type) -> Type {
        match ty {
            Type::Array(element, length) => Type::Array(Box::new(self.private(element)), *length),
            Type::Record(record) => self.pairs.get(record).map_or_else(|| ty.clone(), |pair| Type::Record(*pair)),
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Pointer(_) | Type::Opaque(_) => {
                ty.at_least_single()
            }
        }
    }

    /// The type of the shadow of memory that pointers lead to.
    pub fn in_memory(&self, ty: &Type) -> Type {
        if self.of_memory { self.private(ty) } else { ty.clone() }
    }

    /// The type of a shadow: of a pointer, one to what shadows memory.
    pub fn shadow(&self, ty: &Type) -> Type {
        let mut ty = shadow_type(ty);
        if let Type::Pointer(pointer) = &mut ty {
            let pointee = if pointer.pointee.is_pointer() {
                self.shadow(&pointer.pointee)
            } else {
                self.in_memory(&pointer.pointee)
            };
            pointer.pointee = pointee;
        }
        ty
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
