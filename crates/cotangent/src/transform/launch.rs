//! The host functions around derivatives that record: one gives the size of the record of a launch, one does everything.

use std::ops::ControlFlow;

use crate::ir::build::FunctionBuilder;
use crate::ir::walk::NodeMut;
use crate::ir::{
    Axis, BinaryOp, Builtin, Expr, ExprKind, Field, Function, FunctionId, Launch, LocalId, Module, Place, Record,
    Space, StmtKind, Type, walk,
};
use crate::source::Span;

/// How many slots of the record a thread needs.
#[derive(Clone)]
pub(super) enum Slots {
    /// Always so many.
    Fixed(usize),
    /// So many, in terms of these parameters of the kernel and of the sizes of the launch.
    Formula { count: Expr, params: Vec<LocalId> },
    /// What this kernel counts.
    Counted(FunctionId),
    /// So many at most, by the user's word.
    Stated(u32),
}

/// Appends `NAME_bytes(grid, block, shared, stream, arguments…)`: the size of the record that a launch of `NAME` needs.
pub(super) fn add_bytes(module: &mut Module, kernel: FunctionId, primal_params: usize, slots: Slots) -> FunctionId {
    let dim3 = dim3(module);
    let kernel = module.functions[kernel].clone();
    let name = format!("{}_bytes", kernel.name);
    let mut builder = FunctionBuilder::new(module, &name, Space::Host, Type::SIZE);
    let launch = Configuration::params(&mut builder, dim3);
    let args = own_params(&mut builder, &kernel, primal_params);
    let count = match slots {
        Slots::Fixed(count) => size(count as i128),
        Slots::Stated(count) => size(i128::from(count)),
        Slots::Counted(counting) => counted(&mut builder, &launch, counting, args),
        Slots::Formula { count, params } => launch.on_the_host(count, &params, &args),
    };
    let word = record_type(&kernel).pointee().cloned().unwrap_or(Type::DOUBLE);
    let word = Expr::new(ExprKind::SizeOf(word), Type::SIZE);
    let extents = launch.extents(&launch.grid).into_iter().chain(launch.extents(&launch.block));
    let bytes = extents.fold(Expr::binary(BinaryOp::Multiply, word, count), |size, extent| {
        Expr::binary(BinaryOp::Multiply, size, Expr::cast(extent, Type::SIZE))
    });
    builder.push(StmtKind::Return(Some(bytes)));
    let function = builder.finish();
    module.functions.push(function)
}

/// Whether a kernel has adjoints after its dynamic shared memory: then it is launched with twice as much.
pub(super) fn needs_twice_the_memory(kernel: &Function) -> bool {
    let mut asks = false;
    walk::each_expr(&kernel.body, &mut |expr| asks |= expr.kind == ExprKind::Builtin(Builtin::DynamicSharedBytes));
    asks
}

/// The bytes of dynamic shared memory that a derivative is launched with, given those of its primal: twice as many for
/// such a kernel, each half a multiple of 16.
pub(super) fn shared_bytes(kernel: &Function, shared: Option<Expr>) -> Option<Expr> {
    if !needs_twice_the_memory(kernel) {
        return shared;
    }
    let rounded = Expr::binary(BinaryOp::Add, shared?, size(15));
    let units = Expr::binary(BinaryOp::Divide, rounded, size(16));
    Some(Expr::binary(BinaryOp::Multiply, units, size(32)))
}

/// Appends `NAME_launch(grid, block, shared, stream, arguments…)` for a kernel that is launched with more dynamic shared
/// memory than its primal.
pub(super) fn add_plain_launcher(module: &mut Module, kernel: FunctionId) -> FunctionId {
    let dim3 = dim3(module);
    let gradient = module.functions[kernel].clone();
    let mut builder = FunctionBuilder::new(module, &format!("{}_launch", gradient.name), Space::Host, Type::Void);
    let launch = Configuration::params(&mut builder, dim3);
    let args = own_params(&mut builder, &gradient, gradient.params.len());
    builder.push(launch.of(kernel, shared_bytes(&gradient, launch.shared()), args));
    let function = builder.finish();
    module.functions.push(function)
}

/// Appends `NAME_launch(grid, block, shared, stream, arguments…)`, which allocates the record, launches and frees.
pub(super) fn add_launcher(
    module: &mut Module,
    kernel: FunctionId,
    primal_params: usize,
    bytes: FunctionId,
    slots: &Slots,
) -> FunctionId {
    let dim3 = dim3(module);
    let gradient = module.functions[kernel].clone();
    let name = format!("{}_launch", gradient.name);
    let mut builder = FunctionBuilder::new(module, &name, Space::Host, Type::Void);
    let launch = Configuration::params(&mut builder, dim3);
    let mut args = own_params(&mut builder, &gradient, gradient.params.len() - gradient.record_params().len());
    let needed_bytes = builder.declare("_bytes", Type::SIZE, None);
    let mut size_args = launch.values();
    size_args.extend(args.iter().take(primal_params).cloned());
    builder.push(StmtKind::Call { into: Some(needed_bytes.clone()), function: bytes, args: size_args });
    let stream = launch.stream();
    let record = null_pointer(&mut builder, "_record", record_type(&gradient));
    runtime(&mut builder, ALLOCATE, vec![Expr::address_of(record.clone()), Expr::load(needed_bytes), stream.clone()]);
    args.push(Expr::load(record.clone()));
    if let Slots::Stated(given) = *slots {
        let needed = zeroed_counter(&mut builder, "_needed", &stream);
        args.push(Expr::load(needed.clone()));
        builder.push(launch.of(kernel, shared_bytes(&gradient, launch.shared()), args));
        let (text, given) = (builder.declare("_most", Type::UINT, Some(uint(0))), uint(i128::from(given)));
        runtime(&mut builder, FETCH, vec![Expr::address_of(text.clone()), Expr::load(needed.clone()), stream.clone()]);
        runtime(&mut builder, RELEASE, vec![Expr::load(needed), stream.clone()]);
        runtime(&mut builder, RELEASE, vec![Expr::load(record), stream]);
        runtime(&mut builder, REQUIRE_SLOTS, vec![Expr::load(text), given]);
    } else {
        builder.push(launch.of(kernel, shared_bytes(&gradient, launch.shared()), args));
        runtime(&mut builder, RELEASE, vec![Expr::load(record), stream]);
    }
    let function = builder.finish();
    module.functions.push(function)
}

/// Appends `NAME_launch(grid, block, shared, stream, arguments…)`, which launches other kernels in the place of one where
/// conditions hold, and then clears what is named with its size: all in terms of the kernel's parameters and of the sizes of the launch.
pub(super) fn add_choice(
    module: &mut Module,
    kernel: FunctionId,
    parts: &[FunctionId],
    fills: Vec<(Expr, Expr)>,
    conditions: Vec<Expr>,
) -> FunctionId {
    let dim3 = dim3(module);
    let gradient = module.functions[kernel].clone();
    let mut builder = FunctionBuilder::new(module, &format!("{}_launch", gradient.name), Space::Host, Type::Void);
    let launch = Configuration::params(&mut builder, dim3);
    let args = own_params(&mut builder, &gradient, gradient.params.len());
    let cond = conditions
        .into_iter()
        .reduce(|all, one| Expr::binary(BinaryOp::And, all, one))
        .unwrap_or_else(|| Expr::bool(true));
    let cond = launch.on_the_host(cond, &gradient.params, &args);
    let shared = shared_bytes(&gradient, launch.shared());
    let of = |builder: &mut FunctionBuilder<'_>, kernel| builder.push(launch.of(kernel, shared.clone(), args.clone()));
    let fill = |(array, bytes): (Expr, Expr)| {
        let [array, bytes] = [array, bytes].map(|value| launch.on_the_host(value, &gradient.params, &args));
        vec![array, bytes, launch.stream()]
    };
    let fills: Vec<Vec<Expr>> = fills.into_iter().map(fill).collect();
    let then_block = builder.block(|builder| {
        parts.iter().for_each(|part| of(builder, *part));
        fills.into_iter().for_each(|fill| runtime(builder, CLEAR, fill));
    });
    let else_block = builder.block(|builder| of(builder, kernel));
    builder.push(StmtKind::If { cond, then_block, else_block });
    let mut function = builder.finish();
    if let Some(choice) = function.body.last_mut() {
        choice.note =
            Some("where the sizes allow it, a thread sums what is added to an element; else all add atomically".into());
    }
    module.functions.push(function)
}

// Functions of `cotangent/runtime.hpp`, which see to failures.
pub(super) const ALLOCATE: &str = "cotangent::allocate";
pub(super) const ALLOCATE_ZEROS: &str = "cotangent::allocate_zeros";
const FETCH: &str = "cotangent::fetch";
pub(super) const RELEASE: &str = "cotangent::release";
pub(super) const CLEAR: &str = "cotangent::clear";
pub(super) const COPY: &str = "cotangent::copy";
const REQUIRE_SLOTS: &str = "cotangent::require_slots";

/// The parameters that every launch has.
pub(super) struct Configuration {
    grid: Place,
    block: Place,
    shared: Place,
    stream: Place,
}

impl Configuration {
    /// How many parameters they are.
    pub(super) const PARAMS: usize = 4;

    pub(super) fn params(builder: &mut FunctionBuilder<'_>, dim3: Type) -> Configuration {
        Configuration {
            grid: builder.param("grid", dim3.clone()),
            block: builder.param("block", dim3),
            shared: builder.param("shared", Type::SIZE),
            stream: builder.param("stream", Type::pointer(Type::Opaque("CUstream_st".into()))),
        }
    }

    /// What another launcher gets for them.
    pub(super) fn values(&self) -> Vec<Expr> {
        [&self.grid, &self.block, &self.shared, &self.stream].map(|place| Expr::load(place.clone())).into()
    }

    pub(super) fn stream(&self) -> Expr {
        Expr::load(self.stream.clone())
    }

    pub(super) fn shared(&self) -> Option<Expr> {
        Some(Expr::load(self.shared.clone()))
    }

    fn extents(&self, place: &Place) -> [Expr; 3] {
        [0, 1, 2].map(|axis| Expr::load(place.clone().field(axis, Type::UINT)))
    }

    /// What the host knows of a launch.
    fn size(&self, builtin: Builtin) -> Option<Expr> {
        let (place, axis) = match builtin {
            Builtin::GridDim(axis) => (&self.grid, axis),
            Builtin::BlockDim(axis) => (&self.block, axis),
            Builtin::ThreadIdx(_) | Builtin::BlockIdx(_) | Builtin::WarpSize | Builtin::DynamicSharedBytes => {
                return None;
            }
        };
        let [x, y, z] = self.extents(place);
        Some(match axis {
            Axis::X => x,
            Axis::Y => y,
            Axis::Z => z,
        })
    }

    /// A value in terms of a kernel's parameters and of the sizes of the launch, as the host has it.
    fn on_the_host(&self, mut value: Expr, params: &[LocalId], args: &[Expr]) -> Expr {
        let _ = walk::visit_expr_mut(&mut value, &mut |node| {
            if let NodeMut::Expr(expr) = node {
                if let ExprKind::Builtin(builtin) = expr.kind {
                    *expr = self.size(builtin).unwrap_or_else(|| expr.clone());
                } else if let ExprKind::Load(place) = &expr.kind
                    && let Some(position) = params.iter().position(|param| place.as_local() == Some(*param))
                {
                    *expr = args[position].clone();
                }
            }
            ControlFlow::<()>::Continue(())
        });
        value
    }

    pub(super) fn of(&self, kernel: FunctionId, shared: Option<Expr>, args: Vec<Expr>) -> StmtKind {
        StmtKind::Launch(Box::new(Launch {
            kernel,
            is_checked: true,
            grid: self.extents(&self.grid),
            block: self.extents(&self.block),
            shared,
            stream: Some(Expr::load(self.stream.clone())),
            args,
        }))
    }
}

/// The first parameters of a kernel as parameters of the host function too.
pub(super) fn own_params(builder: &mut FunctionBuilder<'_>, kernel: &Function, count: usize) -> Vec<Expr> {
    kernel.params.iter().take(count).map(|param| own_param(builder, kernel, *param)).collect()
}

/// A parameter of a function as one of the host function too.
pub(super) fn own_param(builder: &mut FunctionBuilder<'_>, function: &Function, param: LocalId) -> Expr {
    let local = &function.locals[param];
    let value = Expr::load(builder.param(&local.name, local.ty.clone()));
    if !local.ty.is_reference() {
        return value;
    }
    // What it refers to is handed on.
    let place = Place::deref(value);
    Expr::new(ExprKind::AddressOf(place), local.ty.clone())
}

/// The type of the parameter for the record.
fn record_type(kernel: &Function) -> Type {
    let param = kernel.record_params().first();
    param.map_or(Type::pointer(Type::DOUBLE), |param| kernel.locals[*param].ty.clone())
}

/// Launches the kernel that counts, and brings back the most that a thread needs.
fn counted(
    builder: &mut FunctionBuilder<'_>,
    launch: &Configuration,
    counting: FunctionId,
    mut args: Vec<Expr>,
) -> Expr {
    let stream = launch.stream();
    let counter = zeroed_counter(builder, "_counter", &stream);
    args.push(Expr::load(counter.clone()));
    builder.push(launch.of(counting, launch.shared(), args));
    let slots = builder.declare("_slots", Type::UINT, Some(uint(0)));
    runtime(builder, FETCH, vec![Expr::address_of(slots.clone()), Expr::load(counter.clone()), stream.clone()]);
    runtime(builder, RELEASE, vec![Expr::load(counter), stream]);
    Expr::cast(Expr::load(slots), Type::SIZE)
}

/// A zero in device memory.
fn zeroed_counter(builder: &mut FunctionBuilder<'_>, name: &str, stream: &Expr) -> Place {
    let counter = null_pointer(builder, name, Type::pointer(Type::UINT));
    let bytes = Expr::new(ExprKind::SizeOf(Type::UINT), Type::SIZE);
    runtime(builder, ALLOCATE_ZEROS, vec![Expr::address_of(counter.clone()), bytes, stream.clone()]);
    counter
}

pub(super) fn null_pointer(builder: &mut FunctionBuilder<'_>, name: &str, ty: Type) -> Place {
    let null = Expr::new(ExprKind::Null, ty.clone());
    builder.declare(name, ty, Some(null))
}

pub(super) fn size(value: i128) -> Expr {
    Expr::new(ExprKind::Int(value), Type::SIZE)
}

fn uint(value: i128) -> Expr {
    Expr::new(ExprKind::Int(value), Type::UINT)
}

pub(super) fn runtime(builder: &mut FunctionBuilder<'_>, call: &str, args: Vec<Expr>) {
    builder.push(StmtKind::Runtime { call: call.into(), args, into: None });
}

/// CUDA's own record of three extents.
pub(super) fn dim3(module: &mut Module) -> Type {
    let known = module.records.entries().find(|(_, record)| &*record.name == "dim3").map(|(id, _)| id);
    let id = known.unwrap_or_else(|| {
        let field = |name: &str| Field { name: name.into(), ty: Type::UINT };
        let fields = vec![field("x"), field("y"), field("z")];
        let record = Record { name: "dim3".into(), fields, is_builtin: true, align: None, span: Span::NONE };
        module.records.push(record)
    });
    Type::Record(id)
}

/// `cudaMemcpyDeviceToDevice`; smaller ones name the host, larger ones let the runtime find out.
pub(super) const DEVICE_TO_DEVICE: i128 = 3;

/// The number of a `cudaMemcpyKind` that the text states.
pub(super) fn copy_kind(kind: &Expr) -> Option<i128> {
    match &kind.kind {
        ExprKind::Int(value) => Some(*value),
        ExprKind::Cast(operand) => copy_kind(operand),
        ExprKind::Bool(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => None,
    }
}

/// Whether the host waits until a copy is done; `stream` is the position of its stream among the arguments.
pub(super) fn is_waited_for(stream: Option<usize>, kind: &Expr) -> bool {
    stream.is_none() && copy_kind(kind) != Some(DEVICE_TO_DEVICE)
}
