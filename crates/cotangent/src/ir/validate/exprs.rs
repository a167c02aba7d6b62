//! Checks expressions and places.

use super::Checker;
use crate::index::Id;
use crate::ir::{BinaryOp, Builtin, Expr, ExprKind, GlobalStorage, Place, PlaceKind, Type, UnaryOp, text};

impl Checker<'_> {
    /// An expression whose value is used.
    pub(super) fn value(&mut self, expr: &Expr) {
        self.require(!matches!(expr.ty, Type::Array(..)), "an array is used as a value");
        self.initial_value(expr);
    }

    /// A value of a type.
    pub(super) fn value_of_type(&mut self, what: &str, expr: &Expr, ty: &Type) {
        self.value(expr);
        self.same_type(what, &expr.ty, ty);
    }

    /// An expression that a variable begins with, which may be an array.
    pub(super) fn initial_value(&mut self, expr: &Expr) {
        let ty = &expr.ty;
        self.require(*ty != Type::Void, "a value of type `void`");
        match &expr.kind {
            ExprKind::Bool(_) => self.same_type("a truth value", ty, &Type::Bool),
            ExprKind::Int(value) => {
                if let Type::Int(kind) = ty {
                    self.require(kind.wrap(*value) == *value, &format!("{value} is out of range"));
                } else {
                    self.wrong_type("an integer constant", ty);
                }
            }
            ExprKind::Float(value) => {
                if let Type::Float(kind) = ty {
                    self.require(kind.has_value(value.0), &format!("{} is no {}", value.0, kind.spelling()));
                } else {
                    self.wrong_type("a floating constant", ty);
                }
            }
            ExprKind::Null => {
                if !matches!(ty, Type::Pointer(_) | Type::Opaque(_)) {
                    self.wrong_type("null", ty);
                }
                self.named_type(ty);
            }
            ExprKind::Load(place) => {
                self.require(!matches!(place.ty, Type::Array(..)), "the value of an array is loaded");
                self.place(place);
                self.same_type("a load", ty, &place.ty);
            }
            ExprKind::AddressOf(place) => self.address_of(place, ty),
            ExprKind::Unary(op, operand) => self.unary(*op, operand, ty),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, ty),
            ExprKind::Select(cond, then, otherwise) => {
                self.value_of_type("the condition", cond, &Type::Bool);
                self.value_of_type("the first choice", then, ty);
                self.value_of_type("the second choice", otherwise, ty);
            }
            ExprKind::Cast(operand) => self.cast(operand, ty),
            ExprKind::Math(name, args) => {
                self.mention(name);
                self.named_type(ty);
                args.iter().for_each(|arg| self.value(arg));
            }
            ExprKind::Builtin(builtin) => {
                self.require(self.is_device(), "a built-in variable outside device code");
                let expected = match builtin {
                    Builtin::ThreadIdx(_)
                    | Builtin::BlockIdx(_)
                    | Builtin::BlockDim(_)
                    | Builtin::GridDim(_)
                    | Builtin::DynamicSharedBytes => &Type::UINT,
                    Builtin::WarpSize => &Type::INT,
                };
                self.same_type("a built-in variable", ty, expected);
            }
            ExprKind::SizeOf(of) => {
                self.named_type(of);
                self.same_type("a size", ty, &Type::SIZE);
            }
            ExprKind::Construct(operands) => self.construct(operands, ty),
        }
    }

    fn wrong_type(&mut self, what: &str, ty: &Type) {
        self.report(format!("{what} has type `{}`", text::print_type(self.module, ty)));
    }

    fn address_of(&mut self, place: &Place, ty: &Type) {
        self.place(place);
        if let Type::Pointer(pointer) = ty {
            self.same_type("what is pointed to", &place.ty, &pointer.pointee);
            let is_counter = matches!(place.kind, PlaceKind::Local(id) if self.is_counter(id));
            self.require(!is_counter || pointer.is_const, "a pointer to a loop's counter that is not to `const`");
        } else {
            self.wrong_type("an address", ty);
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr, ty: &Type) {
        self.value_of_type("the operand", operand, ty);
        let applies = match op {
            UnaryOp::Negate => matches!(ty, Type::Int(_) | Type::Float(_)),
            UnaryOp::Not => *ty == Type::Bool,
            UnaryOp::BitNot => matches!(ty, Type::Int(_)),
        };
        if !applies {
            self.wrong_type("an operand of a unary operator", ty);
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr, ty: &Type) {
        self.value(left);
        self.value(right);
        let right_is_integer = matches!(right.ty, Type::Int(_));
        let (applies, result) = match op {
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide => {
                self.same_type("the right operand", &right.ty, &left.ty);
                (matches!(left.ty, Type::Int(_) | Type::Float(_)), &left.ty)
            }
            BinaryOp::Remainder => {
                self.same_type("the right operand", &right.ty, &left.ty);
                (matches!(left.ty, Type::Int(_)), &left.ty)
            }
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                self.same_type("the right operand", &right.ty, &left.ty);
                (left.ty.is_integral(), &left.ty)
            }
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
                (matches!(left.ty, Type::Int(_)) && right_is_integer, &left.ty)
            }
            BinaryOp::Equal | BinaryOp::NotEqual => {
                self.same_type("the right operand", &right.ty, &left.ty);
                let is_scalar = left.ty.is_arithmetic() || left.ty.is_pointer();
                (is_scalar || matches!(left.ty, Type::Opaque(_)), &Type::Bool)
            }
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual => {
                self.same_type("the right operand", &right.ty, &left.ty);
                (left.ty.is_arithmetic() || left.ty.is_pointer(), &Type::Bool)
            }
            BinaryOp::And | BinaryOp::Or => {
                self.same_type("the right operand", &right.ty, &Type::Bool);
                (left.ty == Type::Bool, &Type::Bool)
            }
            BinaryOp::Offset => (left.ty.is_pointer() && right_is_integer, &left.ty),
            BinaryOp::Distance => (left.ty.is_pointer() && right.ty.is_pointer(), &Type::LONG),
        };
        if !applies {
            let [left, right] = [left, right].map(|operand| text::print_type(self.module, &operand.ty));
            self.report(format!("`{}` does not apply to `{left}` and `{right}`", op.spelling()));
        }
        self.same_type("the result of a binary operator", ty, result);
    }

    fn cast(&mut self, operand: &Expr, ty: &Type) {
        self.value(operand);
        self.named_type(ty);
        let from = &operand.ty;
        let is_allowed = (from.is_arithmetic() && ty.is_arithmetic())
            || (from.is_pointer() && ty.is_pointer())
            || (from.is_pointer() && ty.is_integral())
            || (matches!(from, Type::Int(_)) && ty.is_pointer())
            || (matches!(from, Type::Int(_)) && matches!(ty, Type::Opaque(_)))
            || (matches!(from, Type::Opaque(_)) && matches!(ty, Type::Int(_)))
            || (matches!(from, Type::Record(_)) && from == ty);
        if !is_allowed {
            let [from, to] = [from, ty].map(|ty| text::print_type(self.module, ty));
            self.report(format!("`{from}` cannot be converted to `{to}`"));
        }
    }

    fn construct(&mut self, operands: &[Expr], ty: &Type) {
        self.named_type(ty);
        for operand in operands {
            let is_nested = matches!(operand.kind, ExprKind::Construct(_));
            if is_nested { self.initial_value(operand) } else { self.value(operand) }
        }
        if let Type::Array(element, length) = ty {
            self.require(operands.len() as u64 <= *length, "more elements than the array has");
            operands.iter().for_each(|operand| self.same_type("an element", &operand.ty, element));
        } else if let Type::Record(id) = ty {
            let Some(record) = self.module.records.get(*id) else { return };
            self.require(operands.len() <= record.fields.len(), "more values than the record has fields");
            for (operand, field) in operands.iter().zip(&record.fields) {
                self.same_type(&format!("the value of the field `{}`", field.name), &operand.ty, &field.ty);
            }
        } else {
            self.wrong_type("what is made of parts", ty);
        }
    }

    /// A place that is read, written or pointed to.
    pub(super) fn place(&mut self, place: &Place) {
        self.require(place.ty != Type::Void, "a place of type `void`");
        match &place.kind {
            PlaceKind::Local(id) => self.local(*id, Some(&place.ty)),
            PlaceKind::Global(id) => match self.module.globals.get(*id) {
                Some(global) => {
                    self.mention(&global.name);
                    let is_early = id.index() < self.earlier_globals;
                    self.require(is_early, &format!("`{}` is mentioned before it begins", global.name));
                    self.same_type(&format!("the place `{}`", global.name), &place.ty, &global.ty);
                }
                None => self.report(format!("there is no variable {}", id.0)),
            },
            PlaceKind::Element(pointer, index) => {
                self.value(pointer);
                self.index(index);
                match pointer.ty.pointee() {
                    Some(pointee) => self.same_type("an element", &place.ty, pointee),
                    None => self.wrong_type("the base of an element", &pointer.ty),
                }
            }
            PlaceKind::Field(base, position) => {
                self.place(base);
                let record = if let Type::Record(id) = base.ty { self.module.records.get(id) } else { None };
                match record.and_then(|record| record.fields.get(*position as usize)) {
                    Some(field) => self.same_type(&format!("the field `{}`", field.name), &place.ty, &field.ty),
                    None => self.report(format!("there is no field {position}")),
                }
            }
            PlaceKind::Index(base, index) => {
                self.place(base);
                self.index(index);
                if let Type::Array(element, _) = &base.ty {
                    self.same_type("an element", &place.ty, element);
                } else {
                    self.wrong_type("the base of an index", &base.ty);
                }
            }
        }
    }

    fn index(&mut self, index: &Expr) {
        self.value(index);
        if !matches!(index.ty, Type::Int(_)) {
            self.wrong_type("an index", &index.ty);
        }
    }

    /// A place that is stored to.
    pub(super) fn store(&mut self, place: &Place) {
        self.place(place);
        self.require(!matches!(place.ty, Type::Array(..)), "a whole array is stored");
        let mut root = place;
        while let PlaceKind::Field(base, _) | PlaceKind::Index(base, _) = &root.kind {
            root = base;
        }
        match &root.kind {
            PlaceKind::Local(id) => self.require(!self.is_counter(*id), "a loop's counter is stored to"),
            PlaceKind::Global(id) => {
                let storage = self.module.globals.get(*id).map(|global| global.storage);
                let is_fixed = matches!(storage, Some(GlobalStorage::Constant | GlobalStorage::Constexpr));
                self.require(!is_fixed, "a constant variable is stored to");
            }
            PlaceKind::Element(pointer, _) => {
                let is_const = matches!(&pointer.ty, Type::Pointer(pointer) if pointer.is_const);
                self.require(!is_const, "a store through a pointer to `const`");
            }
            PlaceKind::Field(..) | PlaceKind::Index(..) => {}
        }
    }
}
