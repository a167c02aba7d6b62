//! The parts of variables and places, and the statements that copy, clear, record and fill them.

use super::{Variables, as_pointer, plain};
use crate::ir::{Block, Expr, ExprKind, LocalId, Place, Stmt, StmtKind, Type};
use crate::transform::locals::{assign, constant, declare};
use crate::transform::runtime_calls::{call_of, fetch};

impl Variables<'_> {
    /// The scalars that a place consists of.
    pub(in crate::transform::reverse) fn scalars(&self, place: &Place) -> Vec<Place> {
        match &place.ty {
            Type::Record(record) => {
                let fields = (0u32..).zip(&self.facts.module.records[*record].fields);
                let parts = fields.map(|(position, field)| place.clone().field(position, field.ty.clone()));
                parts.flat_map(|part| self.scalars(&part)).collect()
            }
            Type::Array(_, length) => (0..*length)
                .flat_map(|index| {
                    let index = Expr::new(ExprKind::Int(i128::from(index)), Type::INT);
                    self.scalars(&place.clone().index(index))
                })
                .collect(),
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Pointer(_) | Type::Opaque(_) => {
                vec![place.clone()]
            }
        }
    }

    /// The floating leaves of a place, in order.
    pub(in crate::transform::reverse) fn leaves(&self, place: &Place) -> Vec<Place> {
        match &place.ty {
            Type::Float(_) => vec![place.clone()],
            Type::Record(record) => {
                let fields = (0u32..).zip(&self.facts.module.records[*record].fields);
                fields
                    .flat_map(|(position, field)| self.leaves(&place.clone().field(position, field.ty.clone())))
                    .collect()
            }
            Type::Array(_, length) => (0..*length)
                .flat_map(|index| {
                    let index = Expr::new(ExprKind::Int(i128::from(index)), Type::INT);
                    self.leaves(&place.clone().index(index))
                })
                .collect(),
            Type::Void | Type::Bool | Type::Int(_) | Type::Pointer(_) | Type::Opaque(_) => Vec::new(),
        }
    }

    /// The fields of a record, or the elements of an array.
    pub(in crate::transform::reverse) fn parts(&self, place: &Place) -> Vec<Place> {
        match &place.ty {
            Type::Record(record) => {
                let fields = (0u32..).zip(&self.facts.module.records[*record].fields);
                fields.map(|(position, field)| place.clone().field(position, field.ty.clone())).collect()
            }
            Type::Array(_, length) => (0..*length)
                .map(|index| place.clone().index(Expr::new(ExprKind::Int(i128::from(index)), Type::INT)))
                .collect(),
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Pointer(_) | Type::Opaque(_) => Vec::new(),
        }
    }

    /// The statements that copy a value; of an array, element by element.
    pub(in crate::transform::reverse) fn copy(&self, into: &Place, from: &Place) -> Block {
        if !matches!(into.ty, Type::Array(..)) {
            return vec![assign(into.clone(), as_pointer(Expr::load(from.clone()), into.ty.clone()))];
        }
        let pairs = self.scalars(into).into_iter().zip(self.scalars(from));
        pairs.map(|(into, from)| assign(into, Expr::load(from))).collect()
    }

    /// A new variable that holds what a place holds now.
    pub(in crate::transform::reverse) fn copy_in_variable(
        &mut self,
        name: &str,
        place: &Place,
        out: &mut Block,
    ) -> LocalId {
        let ty = plain(place.ty.clone());
        let local = self.add_saved(name, ty.clone());
        if let Type::Array(..) = ty {
            out.push(declare(local, None).at(place.span));
            out.extend(self.copy(&Place::local(local, ty), place));
        } else {
            let value = as_pointer(Expr::load(place.clone()), ty);
            out.push(declare(local, Some(value)).at(place.span));
        }
        local
    }

    /// Sets the numbers of an adjoint to zero; pointers in it stay.
    pub(in crate::transform::reverse) fn clear(&self, shadow: &Place, out: &mut Block) {
        for leaf in self.leaves(shadow) {
            let zero = constant(0.0, &leaf.ty);
            out.push(assign(leaf, zero));
        }
    }

    /// An assignment; of an array, element by element.
    pub(in crate::transform::reverse) fn assign_leaves(&self, place: Place, value: Expr, out: &mut Block) {
        let Type::Array(element, length) = &place.ty else {
            let value = Expr { ty: place.ty.clone(), ..value };
            out.push(assign(place, value));
            return;
        };
        let ExprKind::Construct(operands) = value.kind else { return };
        let mut operands = operands.into_iter();
        for index in 0..*length {
            let value = operands.next().unwrap_or_else(|| self.zero(element));
            let index = Expr::new(ExprKind::Int(i128::from(index)), Type::INT);
            self.assign_leaves(place.clone().index(index), value, out);
        }
    }

    /// The statements that record what a place holds; of references, where they lead.
    pub(in crate::transform::reverse) fn push_values(&self, record: LocalId, place: &Place) -> Block {
        let push = |leaf: Place| {
            let ty = plain(leaf.ty.clone());
            Stmt::new(StmtKind::Push { record, value: as_pointer(Expr::load(leaf), ty) })
        };
        self.scalars(place).into_iter().map(push).collect()
    }

    /// A declaration of a variable that takes back what was recorded, last in first out.
    pub(in crate::transform::reverse) fn pop_values(&self, record: LocalId, local: LocalId) -> Block {
        let leaves = self.scalars(&Place::local(local, self.function.locals[local].ty.clone()));
        let pops = leaves.into_iter().rev().map(|into| Stmt::new(StmtKind::Pop { record, into }));
        [declare(local, None)].into_iter().chain(pops).collect()
    }

    /// The declaration of an adjoint, which begins at zero.
    pub(in crate::transform::reverse) fn declare_zero(&self, shadow: LocalId) -> Stmt {
        declare(shadow, Some(self.zero(&self.function.locals[shadow].ty)))
    }

    /// Zero, of a floating type or of an aggregate.
    pub(in crate::transform::reverse) fn zero(&self, ty: &Type) -> Expr {
        self.facts.module.zero(ty)
    }

    /// A new variable with what a function of the runtime returns.
    pub(in crate::transform::reverse) fn result_of(
        &mut self,
        (call, args): (&str, Vec<Expr>),
        name: &str,
        ty: Type,
        out: &mut Block,
    ) -> Place {
        let local = self.add(name, ty.clone());
        let place = Place::local(local, ty);
        out.push(declare(local, None));
        out.push(Stmt::new(StmtKind::Runtime { call: call.into(), args, into: Some(place.clone()) }));
        place
    }

    /// A new variable with the one value that device memory holds, which is given back.
    pub(in crate::transform::reverse) fn fetched(
        &mut self,
        name: &str,
        on_device: Place,
        stream: &Expr,
        out: &mut Block,
    ) -> Place {
        let ty = on_device.ty.pointee().cloned().unwrap_or(Type::Void);
        let local = self.add(name, ty.clone());
        let value = Place::local(local, ty);
        out.push(declare(local, None));
        out.push(fetch(&value, &on_device, stream));
        out.push(call_of("cotangent::release", vec![Expr::load(on_device), stream.clone()]));
        value
    }
}
