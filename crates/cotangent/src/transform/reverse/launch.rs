//! The host function that launches a gradient which records: it counts, allocates the record, launches and frees.

use crate::ir::build::FunctionBuilder;
use crate::ir::{
    BinaryOp, Expr, ExprKind, Field, FunctionId, Launch, Module, Place, PointerType, Record, Space, StmtKind, Type,
};
use crate::source::Span;

/// Appends `NAME_launch(grid, block, shared, stream, arguments…)` for a kernel and the kernel that counts its slots.
pub(super) fn add_launcher(module: &mut Module, kernel: FunctionId, slots: FunctionId) -> FunctionId {
    let dim3 = dim3(module);
    let gradient = module.functions[kernel].clone();
    let name = format!("{}_launch", gradient.name);
    let mut builder = FunctionBuilder::new(module, &name, Space::Host, Type::Void);
    let grid = builder.param("grid", dim3.clone());
    let block = builder.param("block", dim3);
    let shared = builder.param("shared", Type::SIZE);
    let stream = builder.param("stream", Type::pointer(Type::Opaque("CUstream_st".into())));
    let (record_param, own) = gradient.params.split_last().map_or((None, &[][..]), |(last, own)| (Some(*last), own));
    let args: Vec<Expr> = own
        .iter()
        .map(|param| {
            let local = &gradient.locals[*param];
            Expr::load(builder.param(&local.name, local.ty.clone()))
        })
        .collect();
    let record_type = record_param.map_or(Type::pointer(Type::DOUBLE), |param| gradient.locals[param].ty.clone());
    let extents = |place: &Place| [0, 1, 2].map(|axis| Expr::load(place.clone().field(axis, Type::UINT)));

    let counter_type = Type::pointer(Type::UINT);
    let counter = builder.declare("_counter", counter_type.clone(), Some(Expr::new(ExprKind::Null, counter_type)));
    let slots_needed = builder.declare("_slots", Type::UINT, Some(Expr::new(ExprKind::Int(0), Type::UINT)));
    let bytes = Expr::new(ExprKind::SizeOf(Type::UINT), Type::SIZE);
    runtime(&mut builder, "cudaMalloc", vec![Expr::address_of(counter.clone()), bytes.clone()]);
    let zero = Expr::int(0);
    let stream_value = Expr::load(stream);
    let at_counter = as_void(Expr::load(counter.clone()), false);
    runtime(&mut builder, "cudaMemsetAsync", vec![at_counter, zero, bytes.clone(), stream_value.clone()]);
    let primal = module.functions[slots].params.len().saturating_sub(1);
    let mut count_args = args[..primal.min(args.len())].to_vec();
    count_args.push(Expr::load(counter.clone()));
    let launch = |kernel, args| {
        StmtKind::Launch(Box::new(Launch {
            kernel,
            grid: extents(&grid),
            block: extents(&block),
            shared: Some(Expr::load(shared.clone())),
            stream: Some(stream_value.clone()),
            args,
        }))
    };
    builder.push(launch(slots, count_args));
    let device_to_host = Expr::cast(Expr::int(2), Type::Opaque("cudaMemcpyKind".into()));
    let copied = vec![
        as_void(Expr::address_of(slots_needed.clone()), false),
        as_void(Expr::load(counter.clone()), true),
        bytes,
        device_to_host,
        stream_value.clone(),
    ];
    runtime(&mut builder, "cudaMemcpyAsync", copied);
    runtime(&mut builder, "cudaStreamSynchronize", vec![stream_value.clone()]);
    let null = Expr::new(ExprKind::Null, record_type.clone());
    let record = builder.declare("_record", record_type.clone(), Some(null));
    let word = record_type.pointee().cloned().unwrap_or(Type::DOUBLE);
    let size = extents(&grid).into_iter().chain(extents(&block)).fold(
        Expr::binary(
            BinaryOp::Multiply,
            Expr::new(ExprKind::SizeOf(word), Type::SIZE),
            Expr::cast(Expr::load(slots_needed), Type::SIZE),
        ),
        |size, extent| Expr::binary(BinaryOp::Multiply, size, Expr::cast(extent, Type::SIZE)),
    );
    runtime(&mut builder, "cudaMalloc", vec![Expr::address_of(record.clone()), size]);
    let mut all = args;
    all.push(Expr::load(record.clone()));
    builder.push(launch(kernel, all));
    runtime(&mut builder, "cudaStreamSynchronize", vec![stream_value]);
    runtime(&mut builder, "cudaFree", vec![as_void(Expr::load(record), false)]);
    runtime(&mut builder, "cudaFree", vec![as_void(Expr::load(counter), false)]);
    let function = builder.finish();
    module.functions.push(function)
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
