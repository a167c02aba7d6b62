//! What the functions of a module need from the dialect: coordinates, coroutines, headers.

use std::collections::BTreeSet;

use crate::index::IdVec;
use crate::ir::{
    BarrierKind, Builtin, Expr, ExprKind, FloatKind, Function, FunctionId, Module, Scope, Stmt, StmtKind, Type, Unread,
    walk,
};
use crate::rules::runtime_header;

/// What one function, and all that it calls, does.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Usage {
    /// It asks where its thread is.
    pub(super) uses_coordinates: bool,
    /// Its thread may wait for others: a barrier or an exchange within a warp.
    pub(super) waits: bool,
}

/// The usage of each function, calls included.
pub(super) fn usages(module: &Module) -> IdVec<FunctionId, Usage> {
    let mut usages: IdVec<FunctionId, Usage> = module.functions.iter().map(own_usage).collect();
    let callees: IdVec<FunctionId, BTreeSet<FunctionId>> = module.functions.iter().map(callees).collect();
    // Callees stand first, so one round settles all but recursion.
    loop {
        let before = usages.clone();
        for (caller, callees) in callees.entries() {
            for callee in callees {
                let inherited = usages[*callee];
                usages[caller].uses_coordinates |= inherited.uses_coordinates;
                usages[caller].waits |= inherited.waits;
            }
        }
        if usages == before {
            return usages;
        }
    }
}

/// The functions that a function names, by a call or by a launch.
pub(super) fn references(function: &Function) -> BTreeSet<FunctionId> {
    let mut found = callees(function);
    walk::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Launch(launch) = &stmt.kind {
            found.insert(launch.kernel);
        }
    });
    found
}

/// The headers that must be included, sorted.
pub(super) fn headers(module: &Module) -> BTreeSet<&str> {
    let mut found: BTreeSet<&str> =
        module.preamble.iter().map(|line| &**line).filter(|line| line.starts_with('<')).collect();
    for record in module.records.iter().filter(|record| !record.is_builtin) {
        record.fields.iter().for_each(|field| add_header_of_type(&field.ty, &mut found));
    }
    module.globals.iter().for_each(|global| add_header_of_type(&global.ty, &mut found));
    for function in module.functions.iter() {
        add_header_of_type(&function.result, &mut found);
        function.locals.iter().for_each(|local| add_header_of_type(&local.ty, &mut found));
        walk::each_expr(&function.body, &mut |expr| {
            add_header_of_type(&expr.ty, &mut found);
            if expr.kind == ExprKind::Builtin(Builtin::DynamicSharedBytes) {
                found.insert("<cotangent/shared.hpp>");
            }
        });
        walk::each_stmt(&function.body, &mut |stmt| {
            if let StmtKind::Opaque { code: Unread::Call(callee), .. } = &stmt.kind {
                found.extend(CALLEE_HEADERS.iter().filter(|(name, _)| **callee == **name).map(|(_, header)| header));
            }
            if matches!(&stmt.kind, StmtKind::Atomic { scope: Scope::Anywhere | Scope::Together, .. }) {
                found.insert("<cotangent/add.hpp>");
            }
            if matches!(&stmt.kind, StmtKind::Launch(launch) if launch.is_checked) {
                found.insert("<cotangent/runtime.hpp>");
            }
            if let StmtKind::Runtime { call, .. } = &stmt.kind {
                found.extend(runtime_header(call));
            }
        });
    }
    found
}

const CALLEE_HEADERS: [(&str, &str); 5] = [
    ("printf", "<cstdio>"),
    ("fprintf", "<cstdio>"),
    ("exit", "<cstdlib>"),
    ("assert", "<cassert>"),
    ("__assert_fail", "<cassert>"),
];

fn add_header_of_type(ty: &Type, found: &mut BTreeSet<&str>) {
    match ty {
        Type::Float(FloatKind::Half) => {
            found.insert("<cuda_fp16.h>");
        }
        Type::Float(FloatKind::BFloat) => {
            found.insert("<cuda_bf16.h>");
        }
        Type::Pointer(pointer) => add_header_of_type(&pointer.pointee, found),
        Type::Array(element, _) => add_header_of_type(element, found),
        Type::Void
        | Type::Bool
        | Type::Int(_)
        | Type::Float(FloatKind::Float | FloatKind::Double)
        | Type::Record(_)
        | Type::Opaque(_) => {}
    }
}

fn own_usage(function: &Function) -> Usage {
    let mut usage = Usage::default();
    walk::each_expr(&function.body, &mut |expr| usage.uses_coordinates |= is_coordinate(expr));
    walk::each_stmt(&function.body, &mut |stmt| usage.waits |= waits(stmt));
    usage
}

fn callees(function: &Function) -> BTreeSet<FunctionId> {
    let mut found = BTreeSet::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Call { function, .. } = &stmt.kind {
            found.insert(*function);
        }
    });
    found
}

fn is_coordinate(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Builtin(builtin) if ![Builtin::WarpSize, Builtin::DynamicSharedBytes].contains(&builtin))
}

fn waits(stmt: &Stmt) -> bool {
    match &stmt.kind {
        // What is not read may wait, and may ask for its thread, of which only those that can wait are told.
        StmtKind::Collective { .. } | StmtKind::Opaque { code: Unread::Body { .. }, .. } => true,
        StmtKind::Barrier { kind, .. } => match kind {
            BarrierKind::Block
            | BarrierKind::BlockCount
            | BarrierKind::BlockAnd
            | BarrierKind::BlockOr
            | BarrierKind::Warp => true,
            BarrierKind::Fence | BarrierKind::FenceBlock | BarrierKind::FenceSystem => false,
        },
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::If { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Atomic { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => false,
    }
}
