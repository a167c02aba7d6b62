//! The framework form: `f_vjp` launches a kernel's derivative for whoever brings cotangents that stay as they are, and wants
//! gradients written and not added to.
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

use super::launch::{ALLOCATE, CLEAR, COPY, Configuration, RELEASE, dim3, null_pointer, own_param, runtime, size};
use super::launch::{own_params, shared_bytes};
use crate::analysis::ParamUse;
use crate::ir::build::FunctionBuilder;
use crate::ir::{BinaryOp, Expr, ExprKind, Function, FunctionId, LocalId, Module, Place, Space, StmtKind, Type};

/// Appends `f_vjp(grid, block, shared, stream, arguments…, cotangents and gradients…)`. `launched` is what runs the derivative: the kernel
/// itself, or a function that launches it. `uses` says for each adjoint what the function does to its array; numbers have none.
pub(super) fn add_vjp(
    module: &mut Module,
    kernel: FunctionId,
    launched: FunctionId,
    primal_params: usize,
    uses: &[Option<ParamUse>],
) -> FunctionId {
    let dim3 = dim3(module);
    let derivative = module.functions[kernel].clone();
    let name = vjp_name(&derivative.name);
    let launcher = module.functions[launched].clone();
    let mut builder = FunctionBuilder::new(module, &name, Space::Host, Type::Void);
    let launch = Configuration::params(&mut builder, dim3);
    let stream = launch.stream();
    let mut args = own_params(&mut builder, &derivative, primal_params);
    let adjoints = &derivative.params[primal_params..primal_params + uses.len()];
    let prepared: Vec<Prepared> = adjoints
        .iter()
        .zip(uses)
        .map(|(adjoint, of)| Prepared::new(&mut builder, &derivative, *adjoint, *of))
        .collect();
    let before = if launcher.space == Space::Host { Configuration::PARAMS } else { 0 };
    let others: Vec<LocalId> = launcher.params[before + primal_params + uses.len()..].to_vec();
    let others: Vec<Expr> = others.into_iter().map(|param| own_param(&mut builder, &launcher, param)).collect();
    let mut copies = Vec::new();
    for prepared in &prepared {
        args.push(prepared.begun(&mut builder, &stream, &mut copies));
    }
    args.extend(others);
    builder.push(match launcher.space {
        Space::Host => StmtKind::Call { into: None, function: launched, args: [launch.values(), args].concat() },
        Space::Kernel | Space::Device => {
            let shared = shared_bytes(&derivative, launch.shared());
            launch.of(kernel, shared, args)
        }
    });
    for copy in copies {
        runtime(&mut builder, RELEASE, vec![copy, stream.clone()]);
    }
    let mut function = builder.finish();
    function.note = Some("Gradients are written; cotangents stay as they are.".into());
    module.functions.push(function)
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
    ) -> Prepared {
        let local = &derivative.locals[adjoint];
        let name = &*local.name;
        let is_kept = matches!(&local.ty, Type::Pointer(pointer) if pointer.is_const);
        let plain = Type::pointer(local.ty.pointee().cloned().unwrap_or(Type::Void));
        let constant = to_const(&plain);
        let count = |builder: &mut FunctionBuilder<'_>| Expr::load(builder.param(&format!("{name}_count"), Type::SIZE));
        match of {
            None => Prepared::Cleared { gradient: builder.param(name, plain), count: size(1) },
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
        let copy = |builder: &mut FunctionBuilder<'_>, into: Expr, from: &Place, count: &Expr| {
            let bytes = bytes(&into.ty, count);
            runtime(builder, COPY, vec![into, load(from), bytes, stream.clone()]);
        };
        match self {
            Prepared::Kept { cotangent } => load(cotangent),
            Prepared::Cleared { gradient, count } => {
                let bytes = bytes(&gradient.ty, count);
                runtime(builder, CLEAR, vec![load(gradient), bytes, stream.clone()]);
                load(gradient)
            }
            Prepared::Begun { cotangent, gradient, count } => {
                copy(builder, load(gradient), cotangent, count);
                load(gradient)
            }
            Prepared::Copied { cotangent, count, name, ty } => {
                let memory = null_pointer(builder, name, ty.clone());
                runtime(builder, ALLOCATE, vec![Expr::address_of(memory.clone()), bytes(ty, count), stream.clone()]);
                copy(builder, load(&memory), cotangent, count);
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
