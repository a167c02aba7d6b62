//! Types of the IR.
//!
//! They are C++'s own scalar types, not sizes: the output is C++ and overload resolution there depends on
//! `long` and `long long` being different. Typedefs, enumerations and templates are resolved before this level.

use super::Name;
use crate::id_type;

id_type!(
    /// A record (struct or class) of a module.
    RecordId
);

/// The type of a value or a place.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// No value; only the result of a function and the pointee of a pointer.
    Void,
    /// `bool`.
    Bool,
    /// An integer type.
    Int(IntKind),
    /// A floating type.
    Float(FloatKind),
    /// A pointer or a reference.
    Pointer(Box<PointerType>),
    /// An array of known length.
    Array(Box<Type>, u64),
    /// A struct of the module.
    Record(RecordId),
    /// A type that is only handed on, by its C++ name (`cudaStream_t`).
    Opaque(Name),
}

/// C++'s integer types. Enumerations are their underlying type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IntKind {
    /// Plain `char`, signed on every CUDA platform.
    Char,
    /// `signed char`.
    SignedChar,
    /// `unsigned char`.
    UnsignedChar,
    /// `short`.
    Short,
    /// `unsigned short`.
    UnsignedShort,
    /// `int`.
    Int,
    /// `unsigned int`.
    UnsignedInt,
    /// `long`, 64 bits.
    Long,
    /// `unsigned long`, 64 bits.
    UnsignedLong,
    /// `long long`.
    LongLong,
    /// `unsigned long long`.
    UnsignedLongLong,
}

impl IntKind {
    /// All kinds, in conversion rank order.
    pub const ALL: [IntKind; 11] = [
        IntKind::Char,
        IntKind::SignedChar,
        IntKind::UnsignedChar,
        IntKind::Short,
        IntKind::UnsignedShort,
        IntKind::Int,
        IntKind::UnsignedInt,
        IntKind::Long,
        IntKind::UnsignedLong,
        IntKind::LongLong,
        IntKind::UnsignedLongLong,
    ];

    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            IntKind::Char | IntKind::SignedChar | IntKind::UnsignedChar => 8,
            IntKind::Short | IntKind::UnsignedShort => 16,
            IntKind::Int | IntKind::UnsignedInt => 32,
            IntKind::Long | IntKind::UnsignedLong | IntKind::LongLong | IntKind::UnsignedLongLong => 64,
        }
    }

    /// Whether negative values exist.
    pub fn is_signed(self) -> bool {
        match self {
            IntKind::Char | IntKind::SignedChar | IntKind::Short | IntKind::Int | IntKind::Long | IntKind::LongLong => {
                true
            }
            IntKind::UnsignedChar
            | IntKind::UnsignedShort
            | IntKind::UnsignedInt
            | IntKind::UnsignedLong
            | IntKind::UnsignedLongLong => false,
        }
    }

    /// The C++ spelling.
    pub fn spelling(self) -> &'static str {
        match self {
            IntKind::Char => "char",
            IntKind::SignedChar => "signed char",
            IntKind::UnsignedChar => "unsigned char",
            IntKind::Short => "short",
            IntKind::UnsignedShort => "unsigned short",
            IntKind::Int => "int",
            IntKind::UnsignedInt => "unsigned int",
            IntKind::Long => "long",
            IntKind::UnsignedLong => "unsigned long",
            IntKind::LongLong => "long long",
            IntKind::UnsignedLongLong => "unsigned long long",
        }
    }

    /// The value wrapped to this type's range, as a C++ conversion does.
    pub fn wrap(self, value: i128) -> i128 {
        let modulus = 1i128 << self.bits();
        let low = value.rem_euclid(modulus);
        if self.is_signed() && low >= modulus / 2 { low - modulus } else { low }
    }
}

/// Floating types.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FloatKind {
    /// `__half`.
    Half,
    /// `__nv_bfloat16`.
    BFloat,
    /// `float`.
    Float,
    /// `double`.
    Double,
}

impl FloatKind {
    /// The C++ spelling.
    pub fn spelling(self) -> &'static str {
        match self {
            FloatKind::Half => "__half",
            FloatKind::BFloat => "__nv_bfloat16",
            FloatKind::Float => "float",
            FloatKind::Double => "double",
        }
    }

    /// Whether the type has a value: it has enough digits, and the exponent fits. Every type has NaN, whose bits mean
    /// nothing.
    pub fn has_value(self, value: f64) -> bool {
        let (digits, least_exponent, greatest) = match self {
            FloatKind::Half => (11, -14, 65504.0),
            FloatKind::BFloat => (8, -126, f64::from(f32::from_bits(0x7f7f_0000))),
            FloatKind::Float => (24, -126, f64::from(f32::MAX)),
            FloatKind::Double => return true,
        };
        if value == 0.0 || !value.is_finite() {
            return true;
        }
        let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        let unit = 2f64.powi(exponent.max(least_exponent) - (digits - 1));
        value.abs() <= greatest && (value / unit).fract() == 0.0
    }
}

/// A pointer or reference type.
///
/// A reference is a pointer that is printed as one: the IR loads and stores through it explicitly,
/// so no analysis needs to know the difference.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PointerType {
    /// What it points to.
    pub pointee: Type,
    /// `const T*`: no store through this pointer.
    pub is_const: bool,
    /// `__restrict__`.
    pub is_restrict: bool,
    /// `volatile T*`.
    pub is_volatile: bool,
    /// Printed as `T&`.
    pub is_reference: bool,
}

impl Type {
    /// `int`.
    pub const INT: Type = Type::Int(IntKind::Int);
    /// `unsigned int`.
    pub const UINT: Type = Type::Int(IntKind::UnsignedInt);
    /// `long`, the type of a pointer difference.
    pub const LONG: Type = Type::Int(IntKind::Long);
    /// `unsigned long`, the type of a size.
    pub const SIZE: Type = Type::Int(IntKind::UnsignedLong);
    /// `float`.
    pub const FLOAT: Type = Type::Float(FloatKind::Float);
    /// `double`.
    pub const DOUBLE: Type = Type::Float(FloatKind::Double);

    /// A plain pointer to `pointee`.
    pub fn pointer(pointee: Type) -> Type {
        Type::Pointer(Box::new(PointerType {
            pointee,
            is_const: false,
            is_restrict: false,
            is_volatile: false,
            is_reference: false,
        }))
    }

    /// A reference to `pointee`.
    pub fn reference(pointee: Type) -> Type {
        Type::Pointer(Box::new(PointerType {
            pointee,
            is_const: false,
            is_restrict: false,
            is_volatile: false,
            is_reference: true,
        }))
    }

    /// The type without `__restrict__`, which is a promise about a variable and no part of its value: types that
    /// differ only there are the same wherever types must agree.
    pub fn unrestricted(&self) -> Type {
        let mut ty = self.clone();
        if let Type::Pointer(pointer) = &mut ty {
            pointer.is_restrict = false;
        }
        ty
    }

    /// What a pointer or reference points to.
    pub fn pointee(&self) -> Option<&Type> {
        match self {
            Type::Pointer(pointer) => Some(&pointer.pointee),
            Type::Void
            | Type::Bool
            | Type::Int(_)
            | Type::Float(_)
            | Type::Array(..)
            | Type::Record(_)
            | Type::Opaque(_) => None,
        }
    }

    /// Whether it is a pointer or a reference.
    pub fn is_pointer(&self) -> bool {
        matches!(self, Type::Pointer(_))
    }

    /// Whether it is a reference.
    pub fn is_reference(&self) -> bool {
        matches!(self, Type::Pointer(pointer) if pointer.is_reference)
    }

    /// Whether arithmetic applies: `bool`, integers, floats.
    pub fn is_arithmetic(&self) -> bool {
        matches!(self, Type::Bool | Type::Int(_) | Type::Float(_))
    }

    /// The type that derivatives are computed in: `float` for half precisions, which are too short for sums, and the
    /// type itself for all others.
    pub fn at_least_single(&self) -> Type {
        match self {
            Type::Float(FloatKind::Half | FloatKind::BFloat) => Type::FLOAT,
            Type::Float(FloatKind::Float | FloatKind::Double)
            | Type::Void
            | Type::Bool
            | Type::Int(_)
            | Type::Pointer(_)
            | Type::Array(..)
            | Type::Record(_)
            | Type::Opaque(_) => self.clone(),
        }
    }

    /// What an array of any dimension consists of; any other type itself.
    pub fn innermost_element(&self) -> &Type {
        let mut element = self;
        while let Type::Array(inner, _) = element {
            element = inner;
        }
        element
    }

    /// The record that the type is made from, if one is: it, pointers to it, arrays of it.
    pub fn mentioned_record(&self) -> Option<RecordId> {
        match self {
            Type::Record(id) => Some(*id),
            Type::Pointer(pointer) => pointer.pointee.mentioned_record(),
            Type::Array(element, _) => element.mentioned_record(),
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_) => None,
        }
    }

    /// Whether it is `bool` or an integer.
    pub fn is_integral(&self) -> bool {
        matches!(self, Type::Bool | Type::Int(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_floating_types() {
        let is = |value: f64, kind: FloatKind| kind.has_value(value);
        assert!(is(0.1, FloatKind::Double) && !is(0.1, FloatKind::Float) && is(f64::from(0.1f32), FloatKind::Float));
        assert!(is(f64::from(f32::from_bits(1)), FloatKind::Float) && !is(f64::from_bits(1), FloatKind::Float));
        assert!(!is(1e39, FloatKind::Float) && is(f64::INFINITY, FloatKind::Half) && is(f64::NAN, FloatKind::Half));
        assert!(is(65504.0, FloatKind::Half) && !is(65505.0, FloatKind::Half) && !is(65536.0, FloatKind::Half));
        assert!(is(2f64.powi(-24), FloatKind::Half) && !is(2f64.powi(-25), FloatKind::Half));
        assert!(
            is(1.0078125, FloatKind::BFloat)
                && !is(1.00390625, FloatKind::BFloat)
                && is(1e38f32.into(), FloatKind::Float)
        );
    }
}
