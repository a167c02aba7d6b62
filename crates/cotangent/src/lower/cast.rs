//! Conversions, by what Clang says each of them does.

use super::body::Body;
use super::constant::convert;
use super::context::{Lowered, broken, problem_with_help};
use super::intrinsic::string_literal;
use crate::clang::types::{Spelled, parse};
use crate::clang::{Kind, Node};
use crate::diagnostic;
use crate::ir::{BinaryOp, Expr, ExprKind, IntKind, Place, PlaceKind, PointerType, Type};

impl<'a> Body<'_, 'a> {
    /// The value of a conversion.
    pub(super) fn cast_value(&mut self, node: &'a Node) -> Lowered<Expr> {
        let Some(operand) = node.inner.last() else { return broken(node.span, "a conversion of nothing") };
        let kind = node.data.cast_kind.as_deref().unwrap_or("");
        match kind {
            // Not by the place: some are known by value only, as `threadIdx.x` is.
            "LValueToRValue" => self.value(operand),
            "NoOp" if node.is_glvalue() => self.place(node).map(Expr::load),
            "NoOp" => {
                let ty = self.context.node_type(self.pass, node)?;
                let value = self.value(operand)?;
                Ok(if ty.is_pointer() { convert(value, ty) } else { value })
            }
            "ArrayToPointerDecay" => {
                let array = self.place(operand)?;
                if !matches!(array.ty, Type::Array(..)) {
                    return broken(node.span, "an array that is none");
                }
                let first = array.index(Expr::int(0));
                let ty = pointer_like(node.ty(), first.ty.clone());
                Ok(self.address(first, ty))
            }
            "NullToPointer" => {
                let ty = self.context.node_type(self.pass, node)?;
                Ok(Expr::new(ExprKind::Null, ty))
            }
            // `assert(n < m && "too many")`.
            "PointerToBoolean" if string_literal(operand).is_some() => Ok(Expr::new(ExprKind::Bool(true), Type::Bool)),
            "PointerToBoolean" => {
                let pointer = self.value(operand)?;
                let null = Expr::new(ExprKind::Null, pointer.ty.clone());
                Ok(Expr::binary(BinaryOp::NotEqual, pointer, null))
            }
            // An enumeration of the runtime is true if it is not zero.
            "IntegralToBoolean" => {
                let value = self.value(operand)?;
                let is_enumeration = matches!(value.ty, Type::Opaque(_));
                Ok(if is_enumeration {
                    Expr::binary(BinaryOp::NotEqual, convert(value, Type::INT), Expr::int(0)).at(node.span)
                } else {
                    convert(value, Type::Bool)
                })
            }
            "IntegralCast"
            | "IntegralToFloating"
            | "FloatingToIntegral"
            | "FloatingCast"
            | "FloatingToBoolean"
            | "BooleanToSignedIntegral"
            | "IntegralToPointer"
            | "PointerToIntegral" => {
                let ty = self.context.node_type(self.pass, node)?;
                let value = self.value(operand)?;
                Ok(convert(value, ty))
            }
            "BitCast" => {
                let ty = self.context.node_type(self.pass, node)?;
                let value = self.value(operand)?;
                Ok(stepped_by_bytes(&value, &ty).unwrap_or_else(|| convert(value, ty)))
            }
            "DerivedToBase" | "UncheckedDerivedToBase" if node.is_glvalue() => self.place(node).map(Expr::load),
            "DerivedToBase" | "UncheckedDerivedToBase" => {
                let ty = self.context.node_type(self.pass, node)?;
                let pointer = self.value(operand)?;
                let base = self.base_class(super::place::deref(pointer), node)?;
                Ok(self.address(base, ty))
            }
            "ConstructorConversion" | "UserDefinedConversion" => self.value(operand),
            "ToVoid" => {
                self.effect(operand)?;
                Ok(Expr::int(0))
            }
            "LValueBitCast" => self.place(node).map(Expr::load),
            other => problem_with_help(
                diagnostic::UNSUPPORTED_EXPRESSION,
                node.span,
                format!("the conversion `{other}` is not supported"),
                "converted here",
                "convert between numbers, or between pointers, only",
            ),
        }
    }

    /// The place of a conversion that is an lvalue.
    pub(super) fn cast_place(&mut self, node: &'a Node) -> Lowered<Place> {
        let Some(operand) = node.inner.last() else { return broken(node.span, "a conversion of nothing") };
        match node.data.cast_kind.as_deref().unwrap_or("") {
            "NoOp" if node.kind == Kind::CXXConstCastExpr => Ok(writable(self.place(operand)?)),
            "NoOp" => self.place(operand),
            "DerivedToBase" | "UncheckedDerivedToBase" => {
                let place = self.place(operand)?;
                self.base_class(place, node)
            }
            "LValueBitCast" => {
                let place = self.place(operand)?;
                let ty = Type::pointer(self.context.node_type(self.pass, node)?);
                let source = Type::pointer(place.ty.clone());
                let address = self.address(place, source);
                Ok(super::place::deref(convert(address, ty)))
            }
            "UserDefinedConversion" | "ConstructorConversion" => self.place(operand),
            _ => {
                let value = self.cast_value(node)?;
                Ok(self.place_of_value(value))
            }
        }
    }

    /// The base class part of a record place; the first field, for each step up.
    fn base_class(&mut self, place: Place, node: &Node) -> Lowered<Place> {
        let target = self.context.type_of(self.pass, node.ty().trim_end_matches(['*', '&', ' ']), node.span)?;
        let mut place = place;
        for _ in 0..16 {
            if place.ty == target {
                return Ok(place);
            }
            let Type::Record(record) = place.ty else { break };
            let Some(base) = self.context.module.records[record].fields.first().filter(|field| &*field.name == "base")
            else {
                break;
            };
            let ty = base.ty.clone();
            let span = place.span;
            place = place.field(0, ty).at(span);
        }
        broken(node.span, "a base class that the record does not have")
    }

    /// A pointer of the given type to a place; the pointer itself if the place is what it points to.
    pub(super) fn address(&mut self, place: Place, ty: Type) -> Expr {
        self.note_address(&place);
        let ty = as_placed(ty, &place);
        let span = place.span;
        if let PlaceKind::Element(pointer, index) = &place.kind
            && index.is_zero()
            && pointer.ty.unrestricted() == ty.unrestricted()
        {
            return (**pointer).clone();
        }
        Expr::new(ExprKind::AddressOf(place), ty).at(span)
    }
}

/// The same place, reached by a pointer that does not promise not to write: `const_cast<T&>(p[i])`.
fn writable(place: Place) -> Place {
    let kind = match place.kind {
        PlaceKind::Element(pointer, index) => match &pointer.ty {
            Type::Pointer(promise) if promise.is_const => {
                let ty = Type::Pointer(Box::new(PointerType { is_const: false, ..(**promise).clone() }));
                PlaceKind::Element(Box::new(convert(*pointer, ty)), index)
            }
            _ => PlaceKind::Element(pointer, index),
        },
        PlaceKind::Field(base, position) => PlaceKind::Field(Box::new(writable(*base)), position),
        PlaceKind::Index(base, index) => PlaceKind::Index(Box::new(writable(*base)), index),
        kind @ (PlaceKind::Local(_) | PlaceKind::Global(_)) => kind,
    };
    Place { kind, ..place }
}

/// `(T*)((char*)p + bytes)` for a `T* p`, as rows with a pitch are found, is `p + bytes / sizeof(T)`: between two elements
/// there is none to be read, and the memory stays that of `p`.
fn stepped_by_bytes(value: &Expr, ty: &Type) -> Option<Expr> {
    let ExprKind::Binary(BinaryOp::Offset, bytes_of, bytes) = &value.kind else { return None };
    let base = bytes_of.as_cast()?;
    let element = ty.pointee().filter(|element| base.ty.pointee() == Some(element))?.clone();
    let is_bytes =
        matches!(value.ty.pointee(), Some(Type::Int(IntKind::Char | IntKind::SignedChar | IntKind::UnsignedChar)));
    // A variable may be cut into parts of several types, as dynamic shared memory is.
    let is_variable = base.as_address().is_some();
    if is_variable || !is_bytes || !matches!(element, Type::Int(_) | Type::Float(_) | Type::Record(_)) {
        return None;
    }
    // A number says whether it ends at an element; then counting elements is the way out.
    if bytes.as_int().is_some() {
        return None;
    }
    let width = convert(Expr::new(ExprKind::SizeOf(element), Type::SIZE), Type::LONG);
    let count = Expr::binary(BinaryOp::Divide, convert((**bytes).clone(), Type::LONG), width).at(value.span);
    Some(Expr::binary(BinaryOp::Offset, convert(base.clone(), ty.clone()), count).at(value.span))
}

/// The type of a pointer to a place. A name that means several records in other scopes tells nothing; the place knows.
pub(super) fn as_placed(mut ty: Type, place: &Place) -> Type {
    if let (Type::Pointer(pointer), Type::Record(_)) = (&mut ty, &place.ty)
        && matches!(pointer.pointee, Type::Opaque(_))
    {
        pointer.pointee = place.ty.clone();
    }
    ty
}

/// A pointer to a type, `const` and `volatile` as the spelling of a pointer type says.
pub(super) fn pointer_like(spelling: &str, pointee: Type) -> Type {
    let mut ty = Type::pointer(pointee);
    if let (Type::Pointer(pointer), Some(Spelled::Pointer { pointee, .. })) = (&mut ty, parse(spelling)) {
        pointer.is_const = pointee.is_const();
        pointer.is_volatile = pointee.is_volatile();
    }
    ty
}
