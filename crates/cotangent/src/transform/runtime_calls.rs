//! Calls of the CUDA runtime and of Cotangent's own that derivatives of host functions make, and their arguments.

use crate::ir::{Expr, ExprKind, LocalId, Place, PlaceKind, PointerType, Stmt, StmtKind, Type};
use crate::rules::{Arg, Call, WAIT_FOR_STREAM};

pub(super) fn call_of(call: &str, args: Vec<Expr>) -> Stmt {
    Stmt::new(StmtKind::Runtime { call: call.into(), args, into: None })
}

/// What to do about code that is not read and is handed active values.
pub(super) const PASSED_HELP: &str =
    "if no derivative goes through it, put it into a function of its own and say so with COTANGENT_CONSTANT";

/// What is wrong if memory that code has made which is not read becomes active, and what to do about it.
pub(super) const UNREAD_IS_ACTIVE: &str = "code that is not read made memory that holds active values";
pub(super) const UNREAD_HELP: &str = "copy active values to memory that the function itself allocates";

/// The host waits for a stream.
pub(super) fn wait_for(stream: Option<Expr>) -> Stmt {
    call_of(WAIT_FOR_STREAM, vec![stream.unwrap_or_else(null_stream)])
}

pub(super) fn null_stream() -> Expr {
    Expr::new(ExprKind::Null, Type::pointer(Type::Opaque("CUstream_st".into())))
}

pub(super) fn optional(args: &[Expr], position: Option<usize>) -> Vec<Expr> {
    position.and_then(|position| args.get(position)).into_iter().cloned().collect()
}

/// Brings a value from device memory to a variable.
pub(super) fn fetch(value: &Place, on_device: &Place, stream: &Expr) -> Stmt {
    let args = vec![Expr::address_of(value.clone()), Expr::load(on_device.clone()), stream.clone()];
    call_of("cotangent::fetch", args)
}

pub(super) fn const_void() -> Type {
    let void = PointerType {
        pointee: Type::Void,
        is_const: true,
        is_restrict: false,
        is_volatile: false,
        is_reference: false,
    };
    Type::Pointer(Box::new(void))
}

/// A pointer before it was made a `void*`.
pub(super) fn typed(pointer: &Expr) -> &Expr {
    let is_made_void = |operand: &&Expr| pointer.ty.pointee() == Some(&Type::Void) && operand.ty.is_pointer();
    pointer.as_cast().filter(is_made_void).map_or(pointer, typed)
}

/// A call that derivatives make in the place of a copy or a fill, with the derivatives of its ends.
pub(super) fn call_like(
    call: Call,
    name: &str,
    [to, from]: [Option<&Expr>; 2],
    args: &[Expr],
    stream: Option<usize>,
) -> Stmt {
    let given = call.args.iter().filter_map(|arg| match arg {
        Arg::To => to.cloned(),
        Arg::From => from.cloned(),
        Arg::Same(position) => args.get(*position).cloned(),
    });
    call_of(name, given.chain(optional(args, stream)).collect())
}

/// The pointer that an argument is, or that is the first field of it.
pub(super) fn pointer_of(arg: &Expr) -> Expr {
    match (&arg.ty, &arg.kind) {
        (Type::Record(_), ExprKind::Load(place)) => Expr::load(place.clone().field(0, Type::pointer(Type::Void))),
        (Type::Record(_), ExprKind::Construct(operands)) => operands.first().unwrap_or(arg).clone(),
        _ => arg.clone(),
    }
}

/// The variable by which a value is handed over to code that is not read: itself, or an element or field of it.
pub(super) fn handed_variable(value: &Expr) -> Option<LocalId> {
    let mut place = match value.as_address() {
        Some(place) => place,
        None => return value.as_local(),
    };
    loop {
        place = match &place.kind {
            PlaceKind::Local(local) => return Some(*local),
            PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => base,
            PlaceKind::Element(pointer, _) => return pointer.as_local(),
            PlaceKind::Global(_) => return None,
        };
    }
}
