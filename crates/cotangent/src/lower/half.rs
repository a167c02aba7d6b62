//! Half precision: what CUDA's headers declare as classes and functions is numbers and operators here, and pairs are
//! records of two.

use super::body::Body;
use super::constant::{convert, negate};
use super::context::{Lowered, broken, problem_with_help};
use super::expr::float_constant;
use crate::clang::Node;
use crate::diagnostic;
use crate::ir::{AtomicOp, BinaryOp, Expr, ExprKind, FloatKind, IntKind, Place, PlaceKind, Scope, StmtKind, Type};
use crate::rules::HalfCall;

impl<'a> Body<'_, 'a> {
    /// Whether a type is a half precision, or a pair of numbers of one.
    pub(super) fn is_of_half(&self, ty: &Type) -> bool {
        let number = self.element(ty).unwrap_or_else(|| ty.clone());
        matches!(number, Type::Float(FloatKind::Half | FloatKind::BFloat))
    }

    /// The type of the numbers of a pair, be it of half precision or `float2`.
    fn element(&self, ty: &Type) -> Option<Type> {
        let Type::Record(record) = ty else { return None };
        let record = &self.context.module.records[*record];
        record.fields.first().filter(|_| record.is_builtin && record.fields.len() == 2).map(|field| field.ty.clone())
    }

    /// The value of a call on half precision.
    pub(super) fn half_call(&mut self, node: &'a Node, call: &HalfCall, ty: &Type) -> Lowered<Expr> {
        let nodes: Vec<&'a Node> = node.inner.iter().skip(1).collect();
        if let (HalfCall::Step(op), [target, ..]) = (call, nodes.as_slice()) {
            let place = self.place(target)?;
            let old = self.keep(Expr::load(place));
            self.half_step(*op, target)?;
            return Ok(old);
        }
        if *call == HalfCall::AtomicAdd {
            return self.half_atomic(node, true);
        }
        let args = self.values(&nodes)?;
        let expr = match call {
            HalfCall::Parts(parts) => self.half_parts(args, parts, ty),
            HalfCall::Assign(_) | HalfCall::Step(_) | HalfCall::AtomicAdd => {
                return broken(node.span, "an assignment that has a value");
            }
            HalfCall::Binary(_) | HalfCall::Unary(_) | HalfCall::Math(_) => self.elementwise(args, call, ty),
        };
        match expr {
            Some(expr) => Ok(expr.at(node.span)),
            None => problem_with_help(
                diagnostic::UNSUPPORTED_CALL,
                node.span,
                "this call on half precision is not supported",
                "called here",
                "use operators, conversions from and to `float`, or the functions of one number",
            ),
        }
    }

    /// A conversion that a class of half precision declares.
    pub(super) fn half_as(&mut self, object: &'a Node, ty: &Type) -> Lowered<Expr> {
        // The conversion is a member of a `const` object; a temporary is made one.
        let object = match (object.data.cast_kind.as_deref(), object.inner.last()) {
            (Some("NoOp"), Some(inner)) => inner,
            _ => object,
        };
        if !ty.is_arithmetic() {
            return bits_of(object);
        }
        let value = self.value(object)?;
        Ok(convert(value, ty.clone()))
    }

    /// The value that a constructor of a class of half precision makes; none if the type is no such.
    pub(super) fn half_constructor(&mut self, node: &'a Node, ty: &Type) -> Lowered<Option<Expr>> {
        if !self.is_of_half(ty) {
            return Ok(None);
        }
        let nodes: Vec<&'a Node> = node.inner.iter().collect();
        let args = self.values(&nodes)?;
        let value = match (args.as_slice(), self.element(ty)) {
            ([], _) => self.context.module.zero(ty),
            ([number], None) if number.ty.is_arithmetic() => convert(number.clone(), ty.clone()),
            ([_, _], Some(_)) => Expr::new(ExprKind::Construct(args), ty.clone()),
            _ => return bits_of(node),
        };
        Ok(Some(value.at(node.span)))
    }

    /// `target op= value`.
    pub(super) fn half_assignment(&mut self, op: BinaryOp, target: &'a Node, value: &'a Node) -> Lowered<Place> {
        let mut value = self.value(value)?;
        let before = self.block.len();
        let place = self.place(target)?;
        self.protect(before, [&mut value]);
        self.half_update(op, place, value)
    }

    /// `++target` and `--target`.
    pub(super) fn half_step(&mut self, op: BinaryOp, target: &'a Node) -> Lowered<Place> {
        let place = self.place(target)?;
        let one = match self.element(&place.ty) {
            Some(element) => {
                let one = float_constant(1.0, element);
                Expr::new(ExprKind::Construct(vec![one.clone(), one]), place.ty.clone())
            }
            None => float_constant(1.0, place.ty.clone()),
        };
        self.half_update(op, place, one)
    }

    /// `atomicAdd` to a pair: of each number, which is all that CUDA promises. The old numbers, if they are used.
    pub(super) fn half_atomic(&mut self, node: &'a Node, is_used: bool) -> Lowered<Expr> {
        let nodes: Vec<&'a Node> = node.inner.iter().skip(1).collect();
        let operands = self.values(&nodes)?;
        let Ok([pointer, value]) = <[Expr; 2]>::try_from(operands) else {
            return broken(node.span, "an atomic of an unknown form");
        };
        let place = self.checked_deref(pointer, node)?;
        let place = self.fixed(place);
        let value = self.in_parts(value, true);
        let Some(element) = self.element(&place.ty) else { return broken(node.span, "a pair that is none") };
        let mut old = Vec::new();
        for (field, position) in [(0, 0), (1, 1)] {
            let Some(value) = self.part(&value, position) else { return broken(node.span, "a pair without numbers") };
            let into = is_used.then(|| {
                let local = self.new_temporary(element.clone());
                self.emit(StmtKind::Declare { local, init: None });
                self.local_place(local)
            });
            old.extend(into.clone().map(Expr::load));
            let place = place.clone().field(field, element.clone());
            let (op, scope, compare) = (AtomicOp::Add, Scope::Device, None);
            self.emit(StmtKind::Atomic { op, scope, place, value, compare, into });
        }
        Ok(Expr::new(ExprKind::Construct(old), place.ty).at(node.span))
    }

    fn half_update(&mut self, op: BinaryOp, place: Place, value: Expr) -> Lowered<Place> {
        let place = self.fixed(place);
        let args = vec![Expr::load(place.clone()), value];
        let ty = place.ty.clone();
        let Some(value) = self.elementwise(args, &HalfCall::Binary(op), &ty) else {
            return broken(place.span, "an operator on what is no number");
        };
        self.emit(StmtKind::Assign { place: place.clone(), value });
        Ok(place)
    }

    /// Numbers or a number made of arguments and parts of them, converted to what the result consists of.
    fn half_parts(&mut self, args: Vec<Expr>, parts: &[(usize, usize)], ty: &Type) -> Option<Expr> {
        let is_pair = self.element(ty).is_some();
        // Of one number, the first part is all.
        let parts = if is_pair { parts } else { parts.get(..1)? };
        let is_used_twice = |arg: usize| parts.iter().filter(|(used, _)| *used == arg).count() > 1;
        let args: Vec<Expr> = (0..).zip(args).map(|(at, arg)| self.in_parts(arg, is_used_twice(at))).collect();
        let element = self.element(ty).unwrap_or_else(|| ty.clone());
        let mut values = Vec::new();
        for (arg, position) in parts {
            values.push(convert(self.part(args.get(*arg)?, *position)?, element.clone()));
        }
        if is_pair { Some(Expr::new(ExprKind::Construct(values), ty.clone())) } else { values.pop() }
    }

    /// An operator or function of numbers; of pairs, for each number. A comparison of pairs is a pair of ones and zeros,
    /// whether it holds for both, or a mask, as the type says.
    fn elementwise(&mut self, args: Vec<Expr>, call: &HalfCall, ty: &Type) -> Option<Expr> {
        let Some(element) = args.first().and_then(|arg| self.element(&arg.ty)) else {
            return of_numbers(args, call, ty.clone());
        };
        let args: Vec<Expr> = args.into_iter().map(|arg| self.in_parts(arg, true)).collect();
        let is_comparison = *ty == Type::Bool || ty.is_integral() || is_relation(call);
        let of = if is_comparison { Type::Bool } else { element.clone() };
        let mut values = Vec::new();
        for position in 0..2 {
            let parts: Option<Vec<Expr>> = args.iter().map(|arg| self.part(arg, position)).collect();
            values.push(of_numbers(parts?, call, of.clone())?);
        }
        if !is_comparison {
            return Some(Expr::new(ExprKind::Construct(values), ty.clone()));
        }
        let choose = |cond: Expr, then: Expr, otherwise: Expr| {
            let ty = then.ty.clone();
            Expr::new(ExprKind::Select(Box::new(cond), Box::new(then), Box::new(otherwise)), ty)
        };
        let [low, high] = <[Expr; 2]>::try_from(values).ok()?;
        Some(match ty {
            Type::Bool => Expr::binary(BinaryOp::And, low, high),
            Type::Int(_) => {
                let mask = |bits| Expr::integer(bits, IntKind::UnsignedInt);
                let low = choose(low, mask(0xffff), mask(0));
                Expr::binary(BinaryOp::BitOr, low, choose(high, mask(0xffff_0000), mask(0)))
            }
            Type::Void | Type::Float(_) | Type::Pointer(_) | Type::Array(..) | Type::Record(_) | Type::Opaque(_) => {
                let number =
                    |cond| choose(cond, float_constant(1.0, element.clone()), float_constant(0.0, element.clone()));
                Expr::new(ExprKind::Construct(vec![number(low), number(high)]), ty.clone())
            }
        })
    }

    /// The argument in a form that has parts: a pair in memory is read once, and a number that is used twice computed
    /// once.
    fn in_parts(&mut self, arg: Expr, is_used_twice: bool) -> Expr {
        let is_pair = self.element(&arg.ty).is_some();
        let is_simple = match &arg.kind {
            ExprKind::Construct(_) => true,
            ExprKind::Load(place) => !is_pair || is_of_variable(place),
            ExprKind::Float(_) | ExprKind::Int(_) => true,
            ExprKind::Bool(_)
            | ExprKind::Null
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_) => !is_pair && !is_used_twice,
        };
        if is_simple { arg } else { self.keep(arg) }
    }

    /// A number of a pair; a number is itself.
    fn part(&self, arg: &Expr, position: usize) -> Option<Expr> {
        let Some(element) = self.element(&arg.ty) else { return Some(arg.clone()) };
        if let ExprKind::Construct(values) = &arg.kind {
            return values.get(position).cloned();
        }
        let place = arg.as_load()?;
        let field = u32::try_from(position).ok()?;
        Some(Expr::load(place.clone().field(field, element).at(place.span)))
    }
}

fn of_numbers(args: Vec<Expr>, call: &HalfCall, ty: Type) -> Option<Expr> {
    match (call, args.as_slice()) {
        (HalfCall::Binary(op), [left, right]) => Some(Expr::binary(*op, left.clone(), right.clone())),
        (HalfCall::Unary(_), [operand]) => Some(negate(operand.clone())),
        (HalfCall::Math(name), _) => Some(Expr::new(ExprKind::Math(name.as_str().into(), args), ty)),
        _ => None,
    }
}

/// Whether it tells how two numbers relate, or what one number is.
fn is_relation(call: &HalfCall) -> bool {
    match call {
        HalfCall::Binary(op) => op.is_comparison(),
        HalfCall::Math(name) => {
            matches!(name.as_str(), "__hne" | "__hequ" | "__hltu" | "__hleu" | "__hgtu" | "__hgeu" | "__hisnan")
        }
        HalfCall::Unary(_) | HalfCall::Parts(_) | HalfCall::Assign(_) | HalfCall::Step(_) | HalfCall::AtomicAdd => {
            false
        }
    }
}

/// Whether a place is a variable or a part of one.
fn is_of_variable(place: &Place) -> bool {
    match &place.kind {
        PlaceKind::Local(_) => true,
        PlaceKind::Field(base, _) => is_of_variable(base),
        PlaceKind::Global(_) | PlaceKind::Element(..) | PlaceKind::Index(..) => false,
    }
}

fn bits_of<T>(node: &Node) -> Lowered<T> {
    problem_with_help(
        diagnostic::UNSUPPORTED_CALL,
        node.span,
        "the bits of a number of half precision are not supported",
        "converted here",
        "convert from and to `float`, or use `__half_as_short` and its like",
    )
}
