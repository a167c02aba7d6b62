//! The host functions around derivatives that record: one gives the size of the record of a launch, one does everything.

use crate::ir::build::FunctionBuilder;
use crate::ir::{
    BinaryOp, Expr, ExprKind, Field, Function, FunctionId, Launch, Module, Place, PointerType, Record, Space, StmtKind,
    Type,
};
use crate::source::Span;

/// How many slots of the record a thread needs.
#[derive(Clone, Copy)]
pub(super) enum Slots {
    /// Always so many.
    Fixed(usize),
    /// What this kernel counts.
    Counted(FunctionId),
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
        Slots::Fixed(count) => Expr::new(ExprKind::Int(count as i128), Type::SIZE),
        Slots::Counted(counting) => counted(&mut builder, &launch, counting, args),
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

/// Appends `NAME_launch(grid, block, shared, stream, arguments…)`, which allocates the record, launches and frees.
pub(super) fn add_launcher(
    module: &mut Module,
    kernel: FunctionId,
    primal_params: usize,
    bytes: FunctionId,
) -> FunctionId {
    let dim3 = dim3(module);
    let gradient = module.functions[kernel].clone();
    let name = format!("{}_launch", gradient.name);
    let mut builder = FunctionBuilder::new(module, &name, Space::Host, Type::Void);
    let launch = Configuration::params(&mut builder, dim3);
    let args = own_params(&mut builder, &gradient, gradient.params.len().saturating_sub(1));
    let size = builder.declare("_bytes", Type::SIZE, None);
    let configuration = [&launch.grid, &launch.block, &launch.shared, &launch.stream];
    let mut size_args: Vec<Expr> = configuration.into_iter().cloned().map(Expr::load).collect();
    size_args.extend(args.iter().take(primal_params).cloned());
    builder.push(StmtKind::Call { into: Some(size.clone()), function: bytes, args: size_args });
    let record_type = record_type(&gradient);
    let null = Expr::new(ExprKind::Null, record_type.clone());
    let record = builder.declare("_record", record_type, Some(null));
    runtime(&mut builder, "cudaMalloc", vec![Expr::address_of(record.clone()), Expr::load(size)]);
    let mut all = args;
    all.push(Expr::load(record.clone()));
    builder.push(launch.of(kernel, all));
    runtime(&mut builder, "cudaStreamSynchronize", vec![Expr::load(launch.stream)]);
    runtime(&mut builder, "cudaFree", vec![as_void(Expr::load(record), false)]);
    let function = builder.finish();
    module.functions.push(function)
}

/// The parameters that every launch has.
struct Configuration {
    grid: Place,
    block: Place,
    shared: Place,
    stream: Place,
}

impl Configuration {
    fn params(builder: &mut FunctionBuilder<'_>, dim3: Type) -> Configuration {
        Configuration {
            grid: builder.param("grid", dim3.clone()),
            block: builder.param("block", dim3),
            shared: builder.param("shared", Type::SIZE),
            stream: builder.param("stream", Type::pointer(Type::Opaque("CUstream_st".into()))),
        }
    }

    fn extents(&self, place: &Place) -> [Expr; 3] {
        [0, 1, 2].map(|axis| Expr::load(place.clone().field(axis, Type::UINT)))
    }

    fn of(&self, kernel: FunctionId, args: Vec<Expr>) -> StmtKind {
        StmtKind::Launch(Box::new(Launch {
            kernel,
            grid: self.extents(&self.grid),
            block: self.extents(&self.block),
            shared: Some(Expr::load(self.shared.clone())),
            stream: Some(Expr::load(self.stream.clone())),
            args,
        }))
    }
}

/// The first parameters of a kernel as parameters of the host function too.
fn own_params(builder: &mut FunctionBuilder<'_>, kernel: &Function, count: usize) -> Vec<Expr> {
    let own = kernel.params.iter().take(count).map(|param| &kernel.locals[*param]);
    own.map(|local| Expr::load(builder.param(&local.name, local.ty.clone()))).collect()
}

/// The type of the last parameter.
fn record_type(kernel: &Function) -> Type {
    kernel.params.last().map_or(Type::pointer(Type::DOUBLE), |param| kernel.locals[*param].ty.clone())
}

/// Launches the kernel that counts, and brings back the most that a thread needs.
fn counted(
    builder: &mut FunctionBuilder<'_>,
    launch: &Configuration,
    counting: FunctionId,
    mut args: Vec<Expr>,
) -> Expr {
    let counter_type = Type::pointer(Type::UINT);
    let null = Expr::new(ExprKind::Null, counter_type.clone());
    let counter = builder.declare("_counter", counter_type, Some(null));
    let slots = builder.declare("_slots", Type::UINT, Some(Expr::new(ExprKind::Int(0), Type::UINT)));
    let bytes = Expr::new(ExprKind::SizeOf(Type::UINT), Type::SIZE);
    let stream = Expr::load(launch.stream.clone());
    runtime(builder, "cudaMalloc", vec![Expr::address_of(counter.clone()), bytes.clone()]);
    let at_counter = as_void(Expr::load(counter.clone()), false);
    runtime(builder, "cudaMemsetAsync", vec![at_counter, Expr::int(0), bytes.clone(), stream.clone()]);
    args.push(Expr::load(counter.clone()));
    builder.push(launch.of(counting, args));
    let device_to_host = Expr::cast(Expr::int(2), Type::Opaque("cudaMemcpyKind".into()));
    let copied = vec![
        as_void(Expr::address_of(slots.clone()), false),
        as_void(Expr::load(counter.clone()), true),
        bytes,
        device_to_host,
        stream.clone(),
    ];
    runtime(builder, "cudaMemcpyAsync", copied);
    runtime(builder, "cudaStreamSynchronize", vec![stream]);
    runtime(builder, "cudaFree", vec![as_void(Expr::load(counter), false)]);
    Expr::cast(Expr::load(slots), Type::SIZE)
}

fn runtime(builder: &mut FunctionBuilder<'_>, call: &str, args: Vec<Expr>) {
    builder.push(StmtKind::Runtime { call: call.into(), args, into: None });
}

fn as_void(pointer: Expr, is_const: bool) -> Expr {
    let void =
        PointerType { pointee: Type::Void, is_const, is_restrict: false, is_volatile: false, is_reference: false };
    Expr::cast(pointer, Type::Pointer(Box::new(void)))
}

/// CUDA's own record of three extents.
fn dim3(module: &mut Module) -> Type {
    let known = module.records.entries().find(|(_, record)| &*record.name == "dim3").map(|(id, _)| id);
    let id = known.unwrap_or_else(|| {
        let field = |name: &str| Field { name: name.into(), ty: Type::UINT };
        let fields = vec![field("x"), field("y"), field("z")];
        let record = Record { name: "dim3".into(), fields, is_builtin: true, align: None, span: Span::NONE };
        module.records.push(record)
    });
    Type::Record(id)
}
