//! Pure expressions and the places they read.
//!
//! An expression has a value and no effect: evaluating it twice, or not at all, changes nothing but time.
//! It may be duplicated, moved to where its operands are unchanged, or dropped.
//! All conversions are explicit: the operands of an arithmetic operator have the operator's type.

use super::Name;
use super::module::{GlobalId, LocalId};
use super::types::{IntKind, Type};
use crate::source::Span;

/// A value: what it is, its type, and where it comes from.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// The type of the value.
    pub ty: Type,
    /// Where it stands in the user's text.
    pub span: Span,
}

/// What an expression computes.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// `true` or `false`.
    ///
    /// # Valid when
    /// The type is `Bool`.
    /// # Adjoint
    /// None.
    Bool(bool),
    /// An integer constant.
    ///
    /// # Valid when
    /// The type is an integer type and the value is in its range.
    /// # Adjoint
    /// None.
    Int(i128),
    /// A floating constant.
    ///
    /// # Valid when
    /// The type is a floating type and the value is one of its values.
    /// # Adjoint
    /// None.
    Float(Real),
    /// The null pointer.
    ///
    /// # Valid when
    /// The type is a pointer or opaque.
    /// # Adjoint
    /// Null.
    Null,
    /// The value held by a place now.
    ///
    /// # Valid when
    /// The type is the place's, and not an array.
    /// # Adjoint
    /// The place's adjoint is accumulated into.
    Load(Place),
    /// A pointer to a place.
    ///
    /// # Valid when
    /// The type is a pointer or reference to the place's type.
    /// # Adjoint
    /// The pointer's shadow points to the adjoint of the place.
    AddressOf(Place),
    /// A unary operator.
    ///
    /// # Valid when
    /// The operand has the expression's type.
    /// # Adjoint
    /// Linear: `Negate` negates. The others are inactive.
    Unary(UnaryOp, Box<Expr>),
    /// A binary operator.
    ///
    /// # Valid when
    /// Arithmetic and bit operators: both operands have the expression's type.
    /// Shifts: the left operand has the expression's type, the right one any integer type.
    /// Comparisons: the operands have one type, the expression is `Bool`.
    /// Logical operators: all three are `Bool`; the right operand is evaluated only if it matters.
    /// `Offset`: a pointer and an integer, the type is the pointer's. `Distance`: two pointers, the type is `long`.
    /// # Adjoint
    /// The usual partials for `Add Subtract Multiply Divide` of floats.
    /// `Offset`'s shadow is offset likewise. The others are inactive.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `condition ? then : otherwise`; only the chosen one is evaluated.
    ///
    /// # Valid when
    /// The condition is `Bool`, the branches have the expression's type.
    /// # Adjoint
    /// Goes to the chosen operand.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// The operand converted to the expression's type.
    ///
    /// # Valid when
    /// Between arithmetic types, between pointers, between pointers and integers, an integer to an opaque type (an
    /// enumeration of CUDA's), or a record to itself.
    /// # Adjoint
    /// Between floats: the same conversion of the adjoint. To an integer: none.
    Cast(Box<Expr>),
    /// A pure function from the table in `rules`, by its C++ name.
    ///
    /// # Valid when
    /// The table has the name, with that number of arguments.
    /// # Adjoint
    /// The table's partials.
    Math(Name, Vec<Expr>),
    /// A built-in variable.
    ///
    /// # Valid when
    /// In device code; coordinates are `unsigned int`, the warp size is `int`.
    /// # Adjoint
    /// None.
    Builtin(Builtin),
    /// The size of a type in bytes.
    ///
    /// # Valid when
    /// The expression's type is `unsigned long`.
    /// # Adjoint
    /// None.
    SizeOf(Type),
    /// A record or array from its fields or elements in order; what is not given is zero.
    ///
    /// # Valid when
    /// The type is a record or an array, with at least that many fields or elements, of the operands' types.
    /// A nested array's operand is itself a `Construct`.
    /// # Adjoint
    /// Field by field.
    Construct(Vec<Expr>),
}

/// A floating constant, compared by its bits so that modules can be compared.
#[derive(Clone, Copy, Debug)]
pub struct Real(pub f64);

impl PartialEq for Real {
    fn eq(&self, other: &Real) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Real {}

/// Unary operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// `-x`.
    Negate,
    /// `!x`.
    Not,
    /// `~x`.
    BitNot,
}

/// Binary operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// `a + b` of numbers.
    Add,
    /// `a - b` of numbers.
    Subtract,
    /// `a * b`.
    Multiply,
    /// `a / b`.
    Divide,
    /// `a % b`.
    Remainder,
    /// `a & b`.
    BitAnd,
    /// `a | b`.
    BitOr,
    /// `a ^ b`.
    BitXor,
    /// `a << b`.
    ShiftLeft,
    /// `a >> b`.
    ShiftRight,
    /// `a == b`.
    Equal,
    /// `a != b`.
    NotEqual,
    /// `a < b`.
    Less,
    /// `a <= b`.
    LessEqual,
    /// `a > b`.
    Greater,
    /// `a >= b`.
    GreaterEqual,
    /// `a && b`.
    And,
    /// `a || b`.
    Or,
    /// `p + i` of a pointer and an integer.
    Offset,
    /// `p - q` of two pointers.
    Distance,
}

impl BinaryOp {
    /// The C++ spelling. `Offset` and `Distance` share theirs with `Add` and `Subtract`.
    pub fn spelling(self) -> &'static str {
        match self {
            BinaryOp::Add | BinaryOp::Offset => "+",
            BinaryOp::Subtract | BinaryOp::Distance => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Remainder => "%",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
        }
    }

    /// Whether a comparison of two integers holds; none if it is no comparison.
    pub fn holds(self, left: i128, right: i128) -> Option<bool> {
        match self {
            BinaryOp::Equal => Some(left == right),
            BinaryOp::NotEqual => Some(left != right),
            BinaryOp::Less => Some(left < right),
            BinaryOp::LessEqual => Some(left <= right),
            BinaryOp::Greater => Some(left > right),
            BinaryOp::GreaterEqual => Some(left >= right),
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
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Offset
            | BinaryOp::Distance => None,
        }
    }

    /// Whether the result is `bool` whatever the operands are.
    pub fn is_comparison(self) -> bool {
        match self {
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => true,
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
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Offset
            | BinaryOp::Distance => false,
        }
    }
}

/// CUDA's built-in variables, one scalar each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Builtin {
    /// `threadIdx.x` and so on.
    ThreadIdx(Axis),
    /// `blockIdx.x` and so on.
    BlockIdx(Axis),
    /// `blockDim.x` and so on.
    BlockDim(Axis),
    /// `gridDim.x` and so on.
    GridDim(Axis),
    /// `warpSize`.
    WarpSize,
    /// How large the dynamic shared memory of the block is, in bytes; `cotangent::dynamic_shared_bytes()`.
    DynamicSharedBytes,
}

/// A coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Axis {
    /// The fastest.
    X,
    /// The middle one.
    Y,
    /// The slowest.
    Z,
}

impl Axis {
    /// All of them, the fastest first.
    pub const ALL: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];
}

/// Something that holds a value and can be stored to.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// Which place.
    pub kind: PlaceKind,
    /// The type of what it holds.
    pub ty: Type,
    /// Where it stands in the user's text.
    pub span: Span,
}

/// Which place.
#[derive(Clone, PartialEq, Debug)]
pub enum PlaceKind {
    /// A parameter or local variable itself.
    Local(LocalId),
    /// A variable outside functions.
    Global(GlobalId),
    /// `pointer[index]`. `*pointer` is the element at `0` of type `int`; so is what a reference refers to.
    ///
    /// # Valid when
    /// The pointer has a pointer type, the index an integer type.
    Element(Box<Expr>, Box<Expr>),
    /// A field of a record place, by its position.
    Field(Box<Place>, u32),
    /// An element of an array place.
    Index(Box<Place>, Box<Expr>),
}

impl Expr {
    /// An expression without a span.
    pub fn new(kind: ExprKind, ty: Type) -> Expr {
        Expr { kind, ty, span: Span::NONE }
    }

    /// The same expression at a place in the user's text.
    pub fn at(mut self, span: Span) -> Expr {
        self.span = span;
        self
    }

    /// An `int` constant.
    pub fn int(value: i64) -> Expr {
        Expr::new(ExprKind::Int(value.into()), Type::INT)
    }

    /// An integer constant of the given kind, wrapped to its range.
    pub fn integer(value: i128, kind: IntKind) -> Expr {
        Expr::new(ExprKind::Int(kind.wrap(value)), Type::Int(kind))
    }

    /// `true` or `false`.
    pub fn bool(value: bool) -> Expr {
        Expr::new(ExprKind::Bool(value), Type::Bool)
    }

    /// The value of a place.
    pub fn load(place: Place) -> Expr {
        let ty = place.ty.clone();
        let span = place.span;
        Expr::new(ExprKind::Load(place), ty).at(span)
    }

    /// A pointer to a place.
    pub fn address_of(place: Place) -> Expr {
        let ty = Type::pointer(place.ty.clone());
        let span = place.span;
        Expr::new(ExprKind::AddressOf(place), ty).at(span)
    }

    /// A unary operator; the type is the operand's.
    pub fn unary(op: UnaryOp, operand: Expr) -> Expr {
        let ty = operand.ty.clone();
        Expr::new(ExprKind::Unary(op, Box::new(operand)), ty)
    }

    /// A binary operator; the type follows from the operator and the left operand.
    pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
        let ty = if op.is_comparison() {
            Type::Bool
        } else if op == BinaryOp::Distance {
            Type::LONG
        } else {
            left.ty.clone()
        };
        Expr::new(ExprKind::Binary(op, Box::new(left), Box::new(right)), ty)
    }

    /// A conversion; none if the type is the same already.
    pub fn cast(operand: Expr, ty: Type) -> Expr {
        if operand.ty == ty {
            return operand;
        }
        let span = operand.span;
        Expr::new(ExprKind::Cast(Box::new(operand)), ty).at(span)
    }

    /// Whether this is the integer constant zero.
    pub fn is_zero(&self) -> bool {
        matches!(self.kind, ExprKind::Int(0))
    }

    /// Whether this is the index that `*p` has.
    pub fn is_int_zero(&self) -> bool {
        self.is_zero() && self.ty == Type::INT
    }
}

impl Place {
    /// A place without a span.
    pub fn new(kind: PlaceKind, ty: Type) -> Place {
        Place { kind, ty, span: Span::NONE }
    }

    /// The same place at a position in the user's text.
    pub fn at(mut self, span: Span) -> Place {
        self.span = span;
        self
    }

    /// A local variable.
    pub fn local(local: LocalId, ty: Type) -> Place {
        Place::new(PlaceKind::Local(local), ty)
    }

    /// `pointer[index]`.
    ///
    /// # Panics
    /// If `pointer` is no pointer.
    pub fn element(pointer: Expr, index: Expr) -> Place {
        let ty = pointer.ty.pointee().expect("the base of an element is a pointer").clone();
        Place::new(PlaceKind::Element(Box::new(pointer), Box::new(index)), ty)
    }

    /// `*pointer`.
    pub fn deref(pointer: Expr) -> Place {
        Place::element(pointer, Expr::int(0))
    }

    /// A field of this place.
    pub fn field(self, position: u32, ty: Type) -> Place {
        Place::new(PlaceKind::Field(Box::new(self), position), ty)
    }

    /// An element of this array place.
    ///
    /// # Panics
    /// If this place is no array.
    pub fn index(self, index: Expr) -> Place {
        let Type::Array(element, _) = &self.ty else { panic!("the base of an index is an array") };
        let ty = (**element).clone();
        Place::new(PlaceKind::Index(Box::new(self), Box::new(index)), ty)
    }
}
