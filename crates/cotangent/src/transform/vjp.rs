//! The framework form: `f_vjp` launches a kernel's derivative, or calls a host function's, for whoever brings cotangents that stay
//! as they are, and wants gradients written and not added to.
//!
//! For each array that is named it takes, in the order named:
//!
//! - that the function only reads: the gradient, and how many elements it has. It is cleared first.
//! - that it only stores to: the cotangent. Where the derivative changes it, how many elements it has too, and the derivative
//!   gets a copy.
//! - that it does both with: the cotangent of what it leaves there (`_after`), the gradient of what was there before, and
//!   the number of elements. The gradient begins as the cotangent.
//!
//! A number or a struct of numbers by value has a gradient of one element.

use std::ops::ControlFlow;

use super::launch::{CLEAR, COPY, Configuration, dim3, own_param, own_params, runtime, shared_bytes, size};
use super::runtime_calls::null_stream;
use crate::analysis::ParamUse;
use crate::ir::build::FunctionBuilder;
use crate::ir::walk::{self, Node};
use crate::ir::{BinaryOp, Expr, ExprKind, Function, FunctionId, LocalId, Module, Place, Space, StmtKind, Type};
use crate::rules::{WAIT_FOR_DEVICE, runtime_class};

/// What makes a copy of an array in memory of the same kind, and what gives it back.
const COPIED: &str = "cotangent::copied";
const RELEASE_COPIED: &str = "cotangent::release_copied";

/// Appends `f_vjp(grid, block, shared, stream, arguments…, cotangents and gradients…)` for a kernel, the same without a configuration for
/// a host function. `launched` is what runs the derivative: the function itself, or one that launches it. `uses` says for each
/// adjoint what the function does to its array; numbers have none.
pub(super) fn add_vjp(
    module: &mut Module,
    derived: FunctionId,
    launched: FunctionId,
    primal: &Function,
    uses: &[Option<ParamUse>],
) -> FunctionId {
    let primal_params = primal.params.len();
    let dim3 = dim3(module);
    let derivative = module.functions[derived].clone();
    let name = vjp_name(&derivative.name);
    let launcher = module.functions[launched].clone();
    let is_of_host = derivative.space == Space::Host;
    let result = if is_of_host { derivative.result.clone() } else { Type::Void };
    let adjoints = &derivative.params[primal_params..primal_params + uses.len()];
    let zero = |adjoint: &LocalId| Some(module.zero(derivative.locals[*adjoint].ty.pointee()?));
    let zeros: Vec<Option<Expr>> = adjoints.iter().map(|adjoint| zero(adjoint).filter(|_| is_of_host)).collect();
    let mut builder = FunctionBuilder::new(module, &name, Space::Host, result.clone());
    let launch = (!is_of_host).then(|| Configuration::params(&mut builder, dim3));
    let mut args = own_params(&mut builder, &derivative, primal_params);
    let own_stream = args.iter().position(|arg| arg.ty == null_stream().ty);
    let stream = launch.as_ref().map(Configuration::stream).or(own_stream.map(|position| args[position].clone()));
    let stream = stream.unwrap_or_else(null_stream);
    let prepared: Vec<Prepared> = adjoints
        .iter()
        .zip(uses)
        .zip(zeros)
        .map(|((adjoint, of), zero)| Prepared::new(&mut builder, &derivative, *adjoint, *of, zero))
        .collect();
    let before = if launcher.space == Space::Host && !is_of_host { Configuration::PARAMS } else { 0 };
    let others: Vec<LocalId> = launcher.params[before + primal_params + uses.len()..].to_vec();
    let others: Vec<Expr> = others.into_iter().map(|param| own_param(&mut builder, &launcher, param)).collect();
    let mut copies = Vec::new();
    for prepared in &prepared {
        args.push(prepared.begun(&mut builder, &stream, &mut copies));
    }
    args.extend(others);
    if is_of_host && !is_in_order(primal, own_stream.map(|position| primal.params[position])) {
        // What was begun in one stream is used in others, or by the host itself.
        runtime(&mut builder, WAIT_FOR_DEVICE, Vec::new());
    }
    let value = (result != Type::Void).then(|| builder.declare("_value", result, None));
    builder.push(match (&launch, launcher.space) {
        (Some(launch), Space::Kernel | Space::Device) => {
            let shared = shared_bytes(&derivative, launch.shared());
            launch.of(derived, shared, args)
        }
        (_, _) => {
            let configuration = launch.as_ref().map(Configuration::values).unwrap_or_default();
            let args = [configuration, args].concat();
            StmtKind::Call { into: value.clone(), function: launched, args }
        }
    });
    for copy in copies {
        runtime(&mut builder, RELEASE_COPIED, vec![copy, stream.clone()]);
    }
    if let Some(value) = value {
        builder.push(StmtKind::Return(Some(Expr::load(value))));
    }
    let mut function = builder.finish();
    function.note = Some("Gradients are written; cotangents stay as they are.".into());
    module.functions.push(function)
}

/// Whether all that a host function does with memory happens in the stream that it is given, or in the default one if it is given
/// none: it launches and copies there, and reads and writes no memory itself.
fn is_in_order(primal: &Function, stream: Option<LocalId>) -> bool {
    let is_same = |expr: &Expr| match stream {
        Some(stream) => expr.as_load().and_then(Place::as_local) == Some(stream),
        None => expr.kind == ExprKind::Null,
    };
    let is_in = |given: Option<&Expr>| given.map_or(stream.is_none(), is_same);
    let is_stream = |expr: &&Expr| expr.ty == null_stream().ty;
    let found = walk::visit_block(&primal.body, &mut |node| {
        let is_fine = match node {
            Node::Stmt(stmt) => match &stmt.kind {
                StmtKind::Launch(launch) => is_in(launch.stream.as_ref()),
                StmtKind::Runtime { call, args, .. } => {
                    let moves = runtime_class(call).is_some_and(|class| class.ends().is_some());
                    !moves || is_in(args.iter().find(is_stream))
                }
                StmtKind::Assign { place, .. } => stream.is_none() || place.as_local() != stream,
                StmtKind::Call { args, .. } => !args.iter().any(|arg| arg.ty.is_pointer()),
                StmtKind::Opaque { .. } => false,
                StmtKind::Declare { .. }
                | StmtKind::Accumulate { .. }
                | StmtKind::If { .. }
                | StmtKind::For(_)
                | StmtKind::While { .. }
                | StmtKind::Switch { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Barrier { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::Collective { .. }
                | StmtKind::Push { .. }
                | StmtKind::Pop { .. } => true,
            },
            Node::Place(place) => walk::own_variable(place).is_some(),
            Node::Expr(_) => true,
        };
        if is_fine { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    found.is_continue()
}

/// The name of the framework form of a derivative with this name.
pub(super) fn vjp_name(derivative: &str) -> String {
    // The function's own name may have such a word too.
    let last = ["_grad", "_reverse"].into_iter().filter_map(|word| derivative.rfind(word).map(|at| (at, word))).max();
    last.map_or_else(
        || format!("{derivative}_vjp"),
        |(at, word)| format!("{}_vjp{}", &derivative[..at], &derivative[at + word.len()..]),
    )
}

/// The parameters for an adjoint, and how it begins.
enum Prepared {
    /// The gradient of a number or a struct that a host function takes by value: memory of the host, and no stream's.
    Value { gradient: Place, zero: Expr },
    /// A gradient that begins at zero, with so many elements.
    Cleared { gradient: Place, count: Expr },
    /// A cotangent that the derivative leaves alone.
    Kept { cotangent: Place },
    /// A cotangent of which the derivative gets a copy.
    Copied { cotangent: Place, count: Expr, name: String, ty: Type },
    /// A gradient that begins as the cotangent.
    Begun { cotangent: Place, gradient: Place, count: Expr },
}

impl Prepared {
    fn new(
        builder: &mut FunctionBuilder<'_>,
        derivative: &Function,
        adjoint: LocalId,
        of: Option<ParamUse>,
        zero: Option<Expr>,
    ) -> Prepared {
        let local = &derivative.locals[adjoint];
        let name = &*local.name;
        let is_kept = matches!(&local.ty, Type::Pointer(pointer) if pointer.is_const);
        let plain = Type::pointer(local.ty.pointee().cloned().unwrap_or(Type::Void));
        let constant = to_const(&plain);
        let count = |builder: &mut FunctionBuilder<'_>| Expr::load(builder.param(&format!("{name}_count"), Type::SIZE));
        match of {
            None => match zero {
                Some(zero) => Prepared::Value { gradient: builder.param(name, plain), zero },
                None => Prepared::Cleared { gradient: builder.param(name, plain), count: size(1) },
            },
            Some(ParamUse::Read) => {
                let gradient = builder.param(name, plain);
                Prepared::Cleared { gradient, count: count(builder) }
            }
            Some(ParamUse::Stored { .. }) if is_kept => Prepared::Kept { cotangent: builder.param(name, constant) },
            Some(ParamUse::Stored { .. }) => {
                let cotangent = builder.param(name, constant);
                Prepared::Copied { cotangent, count: count(builder), name: format!("{name}_copy"), ty: plain }
            }
            Some(ParamUse::Both) => {
                let cotangent = builder.param(&format!("{name}_after"), constant);
                let gradient = builder.param(name, plain);
                Prepared::Begun { cotangent, gradient, count: count(builder) }
            }
        }
    }

    /// Has the adjoint begin; returns what the derivative gets.
    fn begun(&self, builder: &mut FunctionBuilder<'_>, stream: &Expr, copies: &mut Vec<Expr>) -> Expr {
        let load = |place: &Place| Expr::load(place.clone());
        match self {
            Prepared::Kept { cotangent } => load(cotangent),
            Prepared::Value { gradient, zero } => {
                builder.assign(Place::deref(load(gradient)), zero.clone());
                load(gradient)
            }
            Prepared::Cleared { gradient, count } => {
                let bytes = bytes(&gradient.ty, count);
                runtime(builder, CLEAR, vec![load(gradient), bytes, stream.clone()]);
                load(gradient)
            }
            Prepared::Begun { cotangent, gradient, count } => {
                let bytes = bytes(&gradient.ty, count);
                runtime(builder, COPY, vec![load(gradient), load(cotangent), bytes, stream.clone()]);
                load(gradient)
            }
            Prepared::Copied { cotangent, count, name, ty } => {
                let memory = builder.declare(name, ty.clone(), None);
                let args = vec![load(cotangent), bytes(ty, count), stream.clone()];
                builder.push(StmtKind::Runtime { call: COPIED.into(), args, into: Some(memory.clone()) });
                copies.push(load(&memory));
                load(&memory)
            }
        }
    }
}

fn to_const(pointer: &Type) -> Type {
    let mut ty = pointer.clone();
    if let Type::Pointer(pointer) = &mut ty {
        pointer.is_const = true;
    }
    ty
}

/// The size of so many elements that a pointer of this type points to.
fn bytes(pointer: &Type, count: &Expr) -> Expr {
    let element = Expr::new(ExprKind::SizeOf(pointer.pointee().cloned().unwrap_or(Type::Void)), Type::SIZE);
    if count.as_int() == Some(1) { element } else { Expr::binary(BinaryOp::Multiply, count.clone(), element) }
}

#[cfg(test)]
mod tests {
    use super::vjp_name;

    #[test]
    fn the_last_word_of_a_name_tells_the_form() {
        let names = ["f_grad", "f_grad_0_2", "f_reverse_0", "step_grad_reverse", "step_reverse_grad_1"].map(vjp_name);
        assert_eq!(names, ["f_vjp", "f_vjp_0_2", "f_vjp_0", "step_grad_vjp", "step_reverse_vjp_1"]);
    }
}
