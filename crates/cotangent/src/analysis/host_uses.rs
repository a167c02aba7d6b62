//! What a host function does to the memory of its parameters: read it, store to it, or both. What it launches counts as what it does.

use std::collections::{BTreeMap, BTreeSet};

use super::effects::written;
use super::objects::{Object, Objects, objects};
use super::param_uses::{ParamUse, param_uses};
use crate::ir::walk;
use crate::ir::{Block, Expr, ExprKind, FunctionId, LocalId, Module, Place, PlaceKind, Stmt, StmtKind};
use crate::rules::{RuntimeClass, runtime_class};

/// What a host function does to the memory of each parameter that is a pointer. No element is known to be stored to once.
pub fn host_uses(module: &Module, id: FunctionId) -> BTreeMap<LocalId, ParamUse> {
    let function = &module.functions[id];
    let objects = &objects(module, function);
    let [stored, read] = [written(objects, &function.body), read(objects, &function.body)];
    let of = |param: &LocalId| {
        let own = objects.reachable(&Expr::load(Place::local(*param, function.locals[*param].ty.clone())));
        let meets = |found: &BTreeSet<Object>| own.iter().any(|object| object.overlaps_any(found));
        match (meets(&stored), meets(&read)) {
            (false, _) => ParamUse::Read,
            (true, false) => ParamUse::Stored { is_once: false },
            (true, true) => ParamUse::Both,
        }
    };
    let params = function.params.iter().filter(|param| function.locals[**param].ty.is_pointer());
    params.map(|param| (*param, of(param))).collect()
}

/// The objects that a block may read, or hand to what may do anything to them.
fn read(objects: &Objects<'_>, block: &Block) -> BTreeSet<Object> {
    let mut found = BTreeSet::new();
    walk::each_expr(block, &mut |expr| {
        if let ExprKind::Load(place) = &expr.kind
            && !matches!(place.kind, PlaceKind::Local(_))
        {
            found.extend(objects.of_place(place));
        }
    });
    walk::each_stmt(block, &mut |stmt| {
        found.extend(handed_on(objects, stmt).into_iter().flat_map(|arg| objects.reachable(arg)));
        if matches!(stmt.kind, StmtKind::Opaque { .. }) {
            found.extend(objects.handed_over());
        }
    });
    found
}

/// The values that lead to memory of which a statement does more than store to it.
fn handed_on<'s>(objects: &Objects<'_>, stmt: &'s Stmt) -> Vec<&'s Expr> {
    match &stmt.kind {
        StmtKind::Launch(launch) => {
            let kernel = &objects.module().functions[launch.kernel];
            let uses = param_uses(objects.module(), launch.kernel);
            let is_stored = |param: &LocalId| matches!(uses.get(param), Some(ParamUse::Stored { .. }));
            let args = launch.args.iter().zip(&kernel.params).filter(|(_, param)| !is_stored(param));
            args.map(|(arg, _)| arg).collect()
        }
        StmtKind::Runtime { call, args, .. } => {
            let target = runtime_class(call).and_then(RuntimeClass::ends).map(|(to, _)| to);
            args.iter().enumerate().filter(|(position, _)| Some(*position) != target).map(|(_, arg)| arg).collect()
        }
        StmtKind::Call { args, .. } => args.iter().collect(),
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::If { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Barrier { .. } => Vec::new(),
        StmtKind::Accumulate { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => {
            let mut pointers = Vec::new();
            let _ = walk::stmt_parts(stmt, &mut |part| {
                if let walk::Part::Expr(expr) = part {
                    pointers.push(expr);
                }
                std::ops::ControlFlow::<()>::Continue(())
            });
            pointers
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    /// What a host function does to `y`.
    fn use_of_y(body: &str) -> ParamUse {
        let source = format!(
            "kernel store(x: const float*, y: float*) {{
                 y[(threadIdx.x as int)] = x[(threadIdx.x as int)];
             }}
             kernel scale(y: float*) {{
                 y[(threadIdx.x as int)] = (2.0f * y[(threadIdx.x as int)]);
             }}
             host f(x: const float*, y: float*, z: float*) {{ {body} }}"
        );
        let module = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let id = module.function("f").unwrap();
        host_uses(&module, id)[&module.functions[id].params[1]]
    }

    #[test]
    fn what_kernels_do_counts() {
        assert_eq!(use_of_y("launch store<<<[1u, 1u, 1u], [32u, 1u, 1u]>>>(x, z);"), ParamUse::Read);
        assert_eq!(use_of_y("launch store<<<[1u, 1u, 1u], [32u, 1u, 1u]>>>(y, z);"), ParamUse::Read);
        assert_eq!(
            use_of_y("launch store<<<[1u, 1u, 1u], [32u, 1u, 1u]>>>(x, y);"),
            ParamUse::Stored { is_once: false }
        );
        assert_eq!(use_of_y("launch scale<<<[1u, 1u, 1u], [32u, 1u, 1u]>>>(y);"), ParamUse::Both);
        assert_eq!(
            use_of_y(
                "launch store<<<[1u, 1u, 1u], [32u, 1u, 1u]>>>(x, y); launch store<<<[1u, 1u, 1u], [32u, 1u, 1u]>>>(y, z);"
            ),
            ParamUse::Both
        );
    }

    #[test]
    fn what_the_host_does_itself_counts() {
        assert_eq!(use_of_y("y[0] = x[1];"), ParamUse::Stored { is_once: false });
        assert_eq!(use_of_y("y[0] = (y[0] + x[1]);"), ParamUse::Both);
        assert_eq!(use_of_y("let q: float* = (y + 1); *q = x[0]; z[0] = *q;"), ParamUse::Both);
    }
}
