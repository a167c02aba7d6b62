//! Expressions, and the contexts in which C++ converts a value itself.
//!
//! `exact` prints a value whose type must be what the IR says. The other functions print it for a context that
//! converts, and leave out the outermost conversion where C++ makes the same one.

use super::casts::{cast, plain_cast};
use super::construct::construct;
use super::conversions::{is_implicit, is_narrowing, is_standard_arithmetic, promoted, promoted_in_ellipsis};
use super::dialect::Coordinates;
use super::layout::{comma_separated, operator_break};
use super::literals;
use super::operators::{Conversion, Operand, Operation, binary, branches, joined, unary};
use super::place::{address_of, place};
use super::precedence::{Code, Precedence};
use super::scope::Scope;
use super::types::type_name;
use crate::ir::{Axis, Builtin, Expr, ExprKind, Name, Type, UnaryOp};
use crate::rules::{Enumeration, runtime_enumeration};

/// The expression as code of exactly its type. One of reference type is the place that it refers to.
pub(super) fn exact(scope: &Scope<'_>, expr: &Expr) -> Code {
    match &expr.kind {
        ExprKind::Bool(value) => Code::postfix(if *value { "true" } else { "false" }),
        ExprKind::Int(value) => integer(*value, &expr.ty),
        ExprKind::Float(value) => float(value.0, &expr.ty),
        ExprKind::Null => Code::postfix("nullptr"),
        ExprKind::Load(loaded) => place(scope, loaded),
        ExprKind::AddressOf(target) => address_of(scope, target, &expr.ty),
        ExprKind::Unary(op, operand) => prefixed(scope, *op, operand, &expr.ty),
        ExprKind::Binary(op, left, right) => operation(scope, &binary(*op, left, right, &expr.ty), &expr.ty),
        ExprKind::Select(cond, left, right) => select(scope, cond, left, right),
        ExprKind::Cast(operand) => cast(scope, exact(scope, operand), &operand.ty, &expr.ty),
        ExprKind::Math(name, args) => math(scope, name, args),
        ExprKind::Builtin(variable) => Code::postfix(builtin(scope, *variable)),
        ExprKind::SizeOf(ty) => Code::postfix(format!("sizeof({})", type_name(scope, ty))),
        ExprKind::Construct(parts) => construct(scope, &expr.ty, parts),
    }
}

/// The expression where C++ converts to its type: an initial value, the right side of an assignment, a result, an
/// argument of a function that is not overloaded.
pub(super) fn converted(scope: &Scope<'_>, expr: &Expr) -> Code {
    if let ExprKind::Int(value) = expr.kind
        && literals::fits_int(value)
    {
        return integer(value, &Type::INT);
    }
    exact_without_cast(scope, expr, |from| is_implicit(from, &expr.ty))
}

/// The expression as an element of a braced list, where C++ converts unless something might be lost.
pub(super) fn in_braces(scope: &Scope<'_>, expr: &Expr) -> Code {
    let is_lossy = matches!(&expr.kind, ExprKind::Cast(operand) if is_narrowing(&operand.ty, &expr.ty));
    if is_lossy { exact(scope, expr) } else { converted(scope, expr) }
}

/// The expression where C++ converts to `bool`: a condition, an operand of `!`, `&&` and `||`.
pub(super) fn condition(scope: &Scope<'_>, expr: &Expr) -> Code {
    exact_without_cast(scope, expr, |from| expr.ty == Type::Bool && converts_to_bool(from))
}

/// The expression where C++ promotes integers: the value of a `switch`, the right side of a shift.
pub(super) fn in_promotion(scope: &Scope<'_>, expr: &Expr) -> Code {
    exact_without_cast(scope, expr, |from| from.is_integral() && promoted(from) == expr.ty)
}

/// The expression as an argument for `...`.
pub(super) fn in_ellipsis(scope: &Scope<'_>, expr: &Expr) -> Code {
    exact_without_cast(scope, expr, |from| promoted_in_ellipsis(from) == expr.ty)
}

/// A binary operator of type `ty` with its operands.
pub(super) fn operation(scope: &Scope<'_>, operation: &Operation<'_>, ty: &Type) -> Code {
    let code = joined(operation.op, operand(scope, &operation.left), operand(scope, &operation.right));
    if operation.is_in_int { plain_cast(scope, ty, code) } else { code }
}

/// An operand where its operator converts it.
pub(super) fn operand(scope: &Scope<'_>, operand: &Operand<'_>) -> Code {
    match operand.conversion {
        Conversion::None => exact(scope, &operand.expr),
        Conversion::ToBool => condition(scope, &operand.expr),
        Conversion::Promotion => in_promotion(scope, &operand.expr),
    }
}

/// A mask of lanes, as an argument.
pub(super) fn lane_mask(scope: &Scope<'_>, expr: &Expr) -> String {
    if let (ExprKind::Int(value), Type::Int(kind)) = (&expr.kind, &expr.ty)
        && !literals::fits_int(*value)
    {
        return literals::mask(*value, *kind).text;
    }
    converted(scope, expr).text
}

/// Arguments of a function that is not overloaded.
pub(super) fn arguments(scope: &Scope<'_>, args: &[Expr]) -> Vec<String> {
    args.iter().map(|arg| converted(scope, arg).text).collect()
}

/// Arguments of a call of the CUDA runtime, whose enumerations are numbers in the IR.
pub(super) fn runtime_arguments(scope: &Scope<'_>, call: &str, args: &[Expr]) -> Vec<String> {
    let argument = |(position, arg): (usize, &Expr)| {
        let number = arg.as_cast().filter(|_| matches!(arg.ty, Type::Opaque(_))).unwrap_or(arg);
        match runtime_enumeration(call, position) {
            Some(enumeration) if number.ty.is_integral() => enumerator(scope, enumeration, number),
            Some(_) | None => converted(scope, arg).text,
        }
    };
    args.iter().enumerate().map(argument).collect()
}

fn enumerator(scope: &Scope<'_>, enumeration: &Enumeration, arg: &Expr) -> String {
    if let ExprKind::Int(value) = arg.kind
        && let Some((_, name)) = enumeration.enumerators.iter().find(|(number, _)| i128::from(*number) == value)
    {
        return (*name).to_owned();
    }
    format!("({}){}", enumeration.name, converted(scope, arg).into_unary_operand())
}

/// A unary operator of type `ty`.
fn prefixed(scope: &Scope<'_>, op: UnaryOp, inner: &Expr, ty: &Type) -> Code {
    let (sign, inner, is_in_int) = unary(op, inner, ty);
    let code = Code::unary(format!("{sign}{}", operand(scope, &inner).into_unary_operand()));
    if is_in_int { plain_cast(scope, ty, code) } else { code }
}

/// `cond ? left : right`.
fn select(scope: &Scope<'_>, cond: &Expr, left: &Expr, right: &Expr) -> Code {
    let (left, right) = branches(left, right);
    let mark = operator_break(Precedence::Conditional as u8);
    let text = format!(
        "{} ? {mark}{} : {mark}{}",
        condition(scope, cond).into_branch_condition(),
        exact(scope, &left).at_least(Precedence::Or),
        exact(scope, &right).at_least(Precedence::Conditional),
    );
    Code { text, precedence: Precedence::Conditional }
}

/// The expression without its outermost conversion, if it has one and that is made `from` a type where it is needless.
fn exact_without_cast(scope: &Scope<'_>, expr: &Expr, is_needless: impl Fn(&Type) -> bool) -> Code {
    if let ExprKind::Cast(operand) = &expr.kind
        && is_needless(&operand.ty)
    {
        return exact(scope, operand);
    }
    exact(scope, expr)
}

fn converts_to_bool(ty: &Type) -> bool {
    is_standard_arithmetic(ty) || (ty.is_pointer() && !ty.is_reference())
}

fn integer(value: i128, ty: &Type) -> Code {
    let Type::Int(kind) = ty else { unreachable!("the validator has integer constants of integer type only") };
    literals::integer(value, *kind)
}

fn float(value: f64, ty: &Type) -> Code {
    let Type::Float(kind) = ty else { unreachable!("the validator has floating constants of floating type only") };
    literals::float(value, *kind)
}

/// A function of the table. CUDA overloads them, so the arguments have exactly their types.
fn math(scope: &Scope<'_>, name: &Name, args: &[Expr]) -> Code {
    let args: Vec<String> = args.iter().map(|arg| exact(scope, arg).text).collect();
    Code::postfix(format!("{name}({})", comma_separated(&args)))
}

fn builtin(scope: &Scope<'_>, variable: Builtin) -> String {
    let (name, axis) = match variable {
        Builtin::ThreadIdx(axis) => ("threadIdx", axis),
        Builtin::BlockIdx(axis) => ("blockIdx", axis),
        Builtin::BlockDim(axis) => ("blockDim", axis),
        Builtin::GridDim(axis) => ("gridDim", axis),
        Builtin::WarpSize => return "warpSize".to_owned(),
        Builtin::DynamicSharedBytes => return "cotangent::dynamic_shared_bytes()".to_owned(),
    };
    let axis = match axis {
        Axis::X => "x",
        Axis::Y => "y",
        Axis::Z => "z",
    };
    match scope.program.spellings.coordinates {
        Coordinates::Variables => format!("{name}.{axis}"),
        Coordinates::Parameter(_) => format!("{}.{name}.{axis}", scope.thread),
    }
}
