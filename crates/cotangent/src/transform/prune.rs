//! Drops the functions, records and variables that the wanted functions do not need.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use crate::ir::walk::{self, NodeMut};
use crate::ir::{ExprKind, Function, FunctionId, GlobalId, LocalId, Module, PlaceKind, RecordId, StmtKind, Type};

/// The part of a module that some functions need, in the same order.
pub(super) fn prune(module: Module, wanted: &[FunctionId]) -> Module {
    let mut functions: BTreeSet<FunctionId> = BTreeSet::new();
    let mut open = wanted.to_vec();
    while let Some(id) = open.pop() {
        if functions.insert(id) {
            open.extend(callees(&module.functions[id]));
        }
    }
    let mut out = module.clone();
    let mut map: HashMap<FunctionId, FunctionId> = HashMap::new();
    out.functions = crate::index::IdVec::new();
    for id in order(&module, &functions) {
        let mut function = module.functions[id].clone();
        for_each_callee(&mut function, &mut |callee| {
            if let Some(new) = map.get(callee) {
                *callee = *new;
            }
        });
        map.insert(id, out.functions.push(function));
    }
    drop_records_and_globals(out)
}

/// Callees before callers.
fn order(module: &Module, functions: &BTreeSet<FunctionId>) -> Vec<FunctionId> {
    fn visit(module: &Module, id: FunctionId, done: &mut BTreeSet<FunctionId>, out: &mut Vec<FunctionId>) {
        if done.insert(id) {
            callees(&module.functions[id]).into_iter().for_each(|callee| visit(module, callee, done, out));
            out.push(id);
        }
    }
    let (mut done, mut out) = (BTreeSet::new(), Vec::new());
    functions.iter().for_each(|id| visit(module, *id, &mut done, &mut out));
    out
}

fn callees(function: &Function) -> Vec<FunctionId> {
    let mut found = Vec::new();
    walk::each_stmt(&function.body, &mut |stmt| match &stmt.kind {
        StmtKind::Call { function, .. } => found.push(*function),
        StmtKind::Launch(launch) => found.push(launch.kernel),
        _ => {}
    });
    found
}

fn for_each_callee(function: &mut Function, f: &mut impl FnMut(&mut FunctionId)) {
    let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
        if let NodeMut::Stmt(stmt) = node {
            match &mut stmt.kind {
                StmtKind::Call { function, .. } => f(function),
                StmtKind::Launch(launch) => f(&mut launch.kernel),
                _ => {}
            }
        }
        ControlFlow::<()>::Continue(())
    });
}

fn drop_records_and_globals(mut module: Module) -> Module {
    let mut globals: BTreeSet<GlobalId> = BTreeSet::new();
    for function in module.functions.iter() {
        walk::each_place(&function.body, &mut |place| {
            if let PlaceKind::Global(global) = place.kind {
                globals.insert(global);
            }
        });
    }
    // Initial values mention earlier variables.
    for id in module.globals.ids().collect::<Vec<_>>().into_iter().rev() {
        if globals.contains(&id)
            && let Some(init) = &module.globals[id].init
        {
            let _ = walk::visit_expr(init, &mut |node| {
                if let walk::Node::Place(place) = node
                    && let PlaceKind::Global(global) = place.kind
                {
                    globals.insert(global);
                }
                ControlFlow::<()>::Continue(())
            });
        }
    }
    let global_map: HashMap<GlobalId, GlobalId> =
        globals.iter().enumerate().map(|(new, old)| (*old, <GlobalId as crate::index::Id>::new(new))).collect();
    module.globals = globals.iter().map(|id| module.globals[*id].clone()).collect();

    let mut records: BTreeSet<RecordId> = BTreeSet::new();
    each_type(&mut module, &mut |ty| note_records(ty, &mut records));
    loop {
        let before = records.len();
        for id in records.clone() {
            module.records[id].fields.iter().for_each(|field| note_records(&field.ty, &mut records));
        }
        if records.len() == before {
            break;
        }
    }
    let record_map: HashMap<RecordId, RecordId> =
        records.iter().enumerate().map(|(new, old)| (*old, <RecordId as crate::index::Id>::new(new))).collect();
    module.records = records.iter().map(|id| module.records[*id].clone()).collect();
    each_type(&mut module, &mut |ty| map_records(ty, &record_map));
    for record in module.records.iter_mut() {
        record.fields.iter_mut().for_each(|field| map_records(&mut field.ty, &record_map));
    }
    for function in module.functions.iter_mut() {
        let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
            if let NodeMut::Place(place) = node
                && let PlaceKind::Global(global) = &mut place.kind
            {
                *global = global_map[global];
            }
            ControlFlow::<()>::Continue(())
        });
    }
    module
}

/// Calls `f` for every type that variables, functions and expressions have.
fn each_type(module: &mut Module, f: &mut impl FnMut(&mut Type)) {
    let visit = &mut |node: NodeMut<'_>, f: &mut dyn FnMut(&mut Type)| {
        match node {
            NodeMut::Expr(expr) => {
                f(&mut expr.ty);
                if let ExprKind::SizeOf(ty) = &mut expr.kind {
                    f(ty);
                }
            }
            NodeMut::Place(place) => f(&mut place.ty),
            NodeMut::Stmt(_) => {}
        }
        ControlFlow::<()>::Continue(())
    };
    for global in module.globals.iter_mut() {
        f(&mut global.ty);
        if let Some(init) = &mut global.init {
            let _ = walk::visit_expr_mut(init, &mut |node| visit(node, f));
        }
    }
    for function in module.functions.iter_mut() {
        f(&mut function.result);
        let used = used_locals(function);
        let locals: Vec<LocalId> = function.locals.ids().collect();
        for local in locals {
            if used.contains(&local) {
                f(&mut function.locals[local].ty);
            } else {
                function.locals[local].ty = Type::INT;
            }
        }
        let _ = walk::visit_block_mut(&mut function.body, &mut |node| visit(node, f));
    }
}

/// Locals that are parameters or mentioned.
fn used_locals(function: &mut Function) -> BTreeSet<LocalId> {
    let mut used: BTreeSet<LocalId> = function.params.iter().copied().collect();
    walk::each_local_mut(&mut function.body, &mut |local| {
        used.insert(*local);
    });
    used
}

fn note_records(ty: &Type, found: &mut BTreeSet<RecordId>) {
    match ty {
        Type::Record(record) => {
            found.insert(*record);
        }
        Type::Pointer(pointer) => note_records(&pointer.pointee, found),
        Type::Array(element, _) => note_records(element, found),
        Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_) => {}
    }
}

fn map_records(ty: &mut Type, map: &HashMap<RecordId, RecordId>) {
    match ty {
        Type::Record(record) => {
            if let Some(new) = map.get(record) {
                *record = *new;
            }
        }
        Type::Pointer(pointer) => map_records(&mut pointer.pointee, map),
        Type::Array(element, _) => map_records(element, map),
        Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_) => {}
    }
}
