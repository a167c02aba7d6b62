//! Random expressions and places of a wanted type.

use super::body::Body;
use crate::ir::{
    Axis, BinaryOp, Builtin, Expr, ExprKind, FloatKind, GlobalStorage, IntKind, Place, PlaceKind, Real, RecordId, Type,
    UnaryOp,
};

const AXES: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];

const COMPARISONS: [BinaryOp; 6] = [
    BinaryOp::Less,
    BinaryOp::LessEqual,
    BinaryOp::Greater,
    BinaryOp::GreaterEqual,
    BinaryOp::Equal,
    BinaryOp::NotEqual,
];

impl Body<'_, '_> {
    /// A value that a variable of the type can begin with.
    pub(super) fn initial_value(&mut self, ty: &Type, depth: usize) -> Expr {
        let Type::Array(element, length) = ty else { return self.value(ty, depth) };
        let count = self.choices.below((*length).min(3) as usize + 1);
        let elements = (0..count).map(|_| self.initial_value(element, depth.saturating_sub(1))).collect();
        Expr::new(ExprKind::Construct(elements), ty.clone())
    }

    /// A value of a type that is no array.
    pub(super) fn value(&mut self, ty: &Type, depth: usize) -> Expr {
        if depth == 0 {
            return self.leaf(ty);
        }
        let depth = depth - 1;
        match self.choices.below(8) {
            0 => self.leaf(ty),
            1 | 2 if self.has_place(ty) => Expr::load(self.place(ty, depth)),
            3 => {
                let cond = self.value(&Type::Bool, depth);
                let (then, otherwise) = (self.value(ty, depth), self.value(ty, depth));
                let kind = ExprKind::Select(Box::new(cond), Box::new(then), Box::new(otherwise));
                Expr::new(kind, ty.clone())
            }
            4 => {
                let first = if self.choices.chance() { ty.clone() } else { self.choices.value_type(self.module, 1) };
                let args = (0..self.choices.below(3)).map(|_| self.value(&first, depth)).collect();
                let name = self.choices.pick(&["sqrtf", "std::max", "operator new", "null"]);
                Expr::new(ExprKind::Math(name.into(), args), ty.clone())
            }
            _ => self.operation(ty, depth),
        }
    }

    /// Something that only values of this type have.
    fn operation(&mut self, ty: &Type, depth: usize) -> Expr {
        match ty {
            Type::Bool => self.truth_value(depth),
            Type::Int(kind) => self.integer(*kind, depth),
            Type::Float(_) => match self.choices.below(3) {
                0 => self.arithmetic(ty, depth),
                1 => Expr::unary(UnaryOp::Negate, self.value(ty, depth)),
                _ => self.cast(ty, depth),
            },
            Type::Pointer(pointer) => match self.choices.below(3) {
                0 if pointer.pointee != Type::Void => {
                    let place = self.place(&pointer.pointee, depth);
                    let is_counter = matches!(place.kind, PlaceKind::Local(id) if self.is_counter(id));
                    let place = if is_counter && !pointer.is_const { null_element(&pointer.pointee) } else { place };
                    Expr::new(ExprKind::AddressOf(place), ty.clone())
                }
                1 => {
                    let index = self.any_integer(depth);
                    Expr::binary(BinaryOp::Offset, self.value(ty, depth), index)
                }
                _ => self.cast(ty, depth),
            },
            Type::Record(id) => self.record_value(*id, depth),
            Type::Void | Type::Array(..) | Type::Opaque(_) => self.leaf(ty),
        }
    }

    fn truth_value(&mut self, depth: usize) -> Expr {
        match self.choices.below(4) {
            0 => {
                let mut ty = self.choices.value_type(self.module, 1);
                let mut op = self.choices.pick(&COMPARISONS);
                if matches!(ty, Type::Opaque(_)) {
                    op = BinaryOp::Equal;
                } else if matches!(ty, Type::Record(_)) {
                    ty = Type::INT;
                }
                Expr::binary(op, self.value(&ty, depth), self.value(&ty, depth))
            }
            1 => {
                let op = self.choices.pick(&[BinaryOp::And, BinaryOp::Or]);
                Expr::binary(op, self.value(&Type::Bool, depth), self.value(&Type::Bool, depth))
            }
            2 => Expr::unary(UnaryOp::Not, self.value(&Type::Bool, depth)),
            _ => self.cast(&Type::Bool, depth),
        }
    }

    fn integer(&mut self, kind: IntKind, depth: usize) -> Expr {
        let ty = Type::Int(kind);
        match self.choices.below(7) {
            0 => self.arithmetic(&ty, depth),
            1 => {
                let ops = [BinaryOp::Remainder, BinaryOp::BitAnd, BinaryOp::BitOr, BinaryOp::BitXor];
                let op = self.choices.pick(&ops);
                Expr::binary(op, self.value(&ty, depth), self.value(&ty, depth))
            }
            2 => {
                let op = self.choices.pick(&[BinaryOp::ShiftLeft, BinaryOp::ShiftRight]);
                let count = self.any_integer(depth);
                Expr::binary(op, self.value(&ty, depth), count)
            }
            3 => {
                let op = self.choices.pick(&[UnaryOp::Negate, UnaryOp::BitNot]);
                Expr::unary(op, self.value(&ty, depth))
            }
            4 if ty == Type::LONG => {
                let pointee = self.choices.object_type(self.module, 1);
                let pointee = if pointee.is_reference() { Type::FLOAT } else { pointee };
                let pointer = Type::pointer(pointee);
                Expr::binary(BinaryOp::Distance, self.value(&pointer, depth), self.value(&pointer, depth))
            }
            4 if ty == Type::SIZE => {
                let of = self.choices.object_type(self.module, 2);
                Expr::new(ExprKind::SizeOf(of), Type::SIZE)
            }
            4 | 5 if self.is_device && ty == Type::UINT => {
                let axis = self.choices.pick(&AXES);
                let builtin = match self.choices.below(5) {
                    0 => Builtin::ThreadIdx(axis),
                    1 => Builtin::BlockIdx(axis),
                    2 => Builtin::BlockDim(axis),
                    3 => Builtin::GridDim(axis),
                    _ => Builtin::DynamicSharedBytes,
                };
                Expr::new(ExprKind::Builtin(builtin), Type::UINT)
            }
            5 if self.is_device && ty == Type::INT => Expr::new(ExprKind::Builtin(Builtin::WarpSize), Type::INT),
            _ => self.cast(&ty, depth),
        }
    }

    fn any_integer(&mut self, depth: usize) -> Expr {
        let kind = self.choices.pick(&IntKind::ALL);
        self.value(&Type::Int(kind), depth)
    }

    fn arithmetic(&mut self, ty: &Type, depth: usize) -> Expr {
        let op = self.choices.pick(&[BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Divide]);
        Expr::binary(op, self.value(ty, depth), self.value(ty, depth))
    }

    /// A conversion to an arithmetic type or a pointer.
    fn cast(&mut self, ty: &Type, depth: usize) -> Expr {
        let from = self.choices.value_type(self.module, 2);
        let is_allowed = (from.is_arithmetic() && ty.is_arithmetic())
            || (from.is_pointer() && (ty.is_pointer() || ty.is_integral()))
            || (matches!(from, Type::Int(_)) && ty.is_pointer());
        let from = if is_allowed { from } else { Type::LONG };
        Expr::new(ExprKind::Cast(Box::new(self.value(&from, depth))), ty.clone())
    }

    fn record_value(&mut self, id: RecordId, depth: usize) -> Expr {
        let ty = Type::Record(id);
        if self.choices.chance() {
            return Expr::new(ExprKind::Cast(Box::new(self.value(&ty, depth))), ty);
        }
        let fields = &self.module.records[id].fields;
        let count = self.choices.below(fields.len() + 1);
        let values = fields[..count].iter().map(|field| self.initial_value(&field.ty, depth)).collect();
        Expr::new(ExprKind::Construct(values), ty)
    }

    /// A value without operands.
    fn leaf(&mut self, ty: &Type) -> Expr {
        let kind = match ty {
            Type::Bool => ExprKind::Bool(self.choices.chance()),
            Type::Int(kind) => {
                let wide = i128::from(self.choices.number()) << (self.choices.below(3) * 16);
                ExprKind::Int(kind.wrap(if self.choices.chance() { -wide } else { wide }))
            }
            Type::Float(kind) => ExprKind::Float(Real(self.real(*kind))),
            Type::Record(_) => ExprKind::Construct(Vec::new()),
            Type::Pointer(pointer) if pointer.is_reference => ExprKind::AddressOf(null_element(&pointer.pointee)),
            Type::Pointer(_) | Type::Opaque(_) | Type::Void | Type::Array(..) => ExprKind::Null,
        };
        Expr::new(kind, ty.clone())
    }

    /// Any value of a floating type: its bits are chosen.
    fn real(&mut self, kind: FloatKind) -> f64 {
        let (low, high) = (self.choices.number(), self.choices.number());
        match kind {
            FloatKind::Double => f64::from_bits(u64::from(high) << 32 | u64::from(low)),
            FloatKind::Float => f64::from(f32::from_bits(low)),
            FloatKind::BFloat => f64::from(f32::from_bits(low & 0xffff_0000)),
            FloatKind::Half => {
                let digits = f64::from(low % 2048);
                let sign = if high % 2 == 1 { -1.0 } else { 1.0 };
                sign * digits * 2f64.powi((high / 2 % 30) as i32 - 24)
            }
        }
    }

    /// Whether there is a place of a type. Only of references there need not be one: no pointer points to them.
    pub(super) fn has_place(&self, ty: &Type) -> bool {
        !ty.is_reference() || !self.variables(ty).is_empty()
    }

    /// A place of a type, to be read.
    pub(super) fn place(&mut self, ty: &Type, depth: usize) -> Place {
        match self.choices.below(3) {
            0 => self.variable(ty),
            1 => self.part(ty, depth),
            _ => self.element(ty, depth),
        }
    }

    /// A place of a type, to be stored to.
    pub(super) fn target(&mut self, ty: &Type, depth: usize) -> Place {
        let place = self.place(ty, depth);
        let mut root = &place;
        while let PlaceKind::Field(base, _) | PlaceKind::Index(base, _) = &root.kind {
            root = base;
        }
        let is_fixed = match &root.kind {
            PlaceKind::Local(id) => self.is_counter(*id),
            PlaceKind::Global(id) => {
                matches!(self.module.globals[*id].storage, GlobalStorage::Constant | GlobalStorage::Constexpr)
            }
            PlaceKind::Element(pointer, _) => matches!(&pointer.ty, Type::Pointer(pointer) if pointer.is_const),
            PlaceKind::Field(..) | PlaceKind::Index(..) => false,
        };
        if is_fixed { null_element(ty) } else { place }
    }

    /// A local or global variable of the type, if there is one.
    fn variable(&mut self, ty: &Type) -> Place {
        let candidates = self.variables(ty);
        if candidates.is_empty() { null_element(ty) } else { Place::new(self.choices.pick(&candidates), ty.clone()) }
    }

    fn variables(&self, ty: &Type) -> Vec<PlaceKind> {
        let locals = self.visible.iter().filter(|(_, local)| local == ty).map(|(id, _)| PlaceKind::Local(*id));
        let globals = self.module.globals.entries().filter(|(_, global)| global.ty == *ty);
        locals.chain(globals.map(|(id, _)| PlaceKind::Global(id))).collect()
    }

    /// An element of an array or a field of a record.
    fn part(&mut self, ty: &Type, depth: usize) -> Place {
        let Some(depth) = depth.checked_sub(1) else { return self.variable(ty) };
        let records = self.module.records.entries();
        let fields = records.flat_map(|(id, record)| record.fields.iter().enumerate().map(move |field| (id, field)));
        let fields = fields.filter(|(_, (_, field))| field.ty == *ty);
        let fields: Vec<_> = fields.map(|(id, (position, _))| (id, position as u32)).collect();
        if !fields.is_empty() && self.choices.chance() {
            let (id, position) = self.choices.pick(&fields);
            return self.place(&Type::Record(id), depth).field(position, ty.clone());
        }
        let locals = self.visible.iter().map(|(_, local)| local);
        let variables = locals.chain(self.module.globals.iter().map(|global| &global.ty));
        let is_array_of_it = |array: &&Type| matches!(array, Type::Array(element, _) if **element == *ty);
        let arrays: Vec<Type> = variables.filter(is_array_of_it).cloned().collect();
        if arrays.is_empty() {
            return self.element(ty, depth);
        }
        let (array, index) = (self.choices.pick(&arrays), self.any_integer(depth));
        self.place(&array, depth).index(index)
    }

    /// An element behind a pointer. None points to references, nor to dynamic shared memory as a whole.
    fn element(&mut self, ty: &Type, depth: usize) -> Place {
        let Some(depth) = depth.checked_sub(1) else { return self.variable(ty) };
        if ty.is_reference() || matches!(ty, Type::Array(_, 0)) {
            return self.variable(ty);
        }
        let pointer = self.choices.pointer_to(ty.clone());
        let pointer = self.value(&pointer, depth);
        let index = if self.choices.chance() { self.any_integer(depth) } else { Expr::int(0) };
        Place::element(pointer, index)
    }
}

/// A place of any type, whatever there is.
fn null_element(ty: &Type) -> Place {
    let pointer = Type::pointer(ty.clone());
    Place::deref(Expr::new(ExprKind::Null, pointer))
}
