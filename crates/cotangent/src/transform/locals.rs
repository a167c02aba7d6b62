//! New variables of a function, with names that nothing else has.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use crate::index::{Id, IdVec};
use crate::ir::walk;
use crate::ir::{
    Block, Expr, ExprKind, Function, Local, LocalId, Module, Name, Place, Real, Stmt, StmtKind, Storage, Type, UnaryOp,
};
use crate::source::Span;

/// Gives out new private variables of one function.
#[derive(Clone)]
pub(super) struct NewLocals {
    taken: HashSet<Name>,
    counts: HashMap<Name, u32>,
}

impl NewLocals {
    /// No name of the module's items or of the function's variables will be given out.
    pub(super) fn new(module: &Module, function: &Function) -> NewLocals {
        NewLocals::besides(module, function.locals.iter().map(|local| local.name.clone()).collect())
    }

    /// No name of the module's items will be given out, and none of these.
    pub(super) fn besides(module: &Module, mut taken: HashSet<Name>) -> NewLocals {
        let items = module.functions.iter().map(|item| &item.name);
        let items = items.chain(module.globals.iter().map(|item| &item.name));
        for name in items.chain(module.records.iter().map(|item| &item.name)) {
            taken.insert(name.rsplit("::").next().unwrap_or(name).into());
        }
        NewLocals { taken, counts: HashMap::new() }
    }

    /// A name like the wanted one that nothing has.
    pub(super) fn name(&mut self, wanted: &str) -> Name {
        let mut name: Name = wanted.into();
        while self.taken.contains(&name) {
            let count = self.counts.entry(wanted.into()).or_insert(0);
            *count += 1;
            name = format!("{wanted}_{count}").into();
        }
        self.taken.insert(name.clone());
        name
    }

    /// A new private variable.
    pub(super) fn add(&mut self, function: &mut Function, wanted: &str, ty: Type) -> LocalId {
        let name = self.name(wanted);
        let span = Span::NONE;
        function.locals.push(Local { name, ty, storage: Storage::Private, align: None, span })
    }
}

/// A copy of a block whose variables are its own; returns which variable replaces which.
///
/// The copies keep the names of what they copy where `names` is none: for a copy that stands beside the original, in
/// another block.
pub(super) fn copy_block(
    block: &[Stmt],
    function: &mut Function,
    names: &mut NewLocals,
) -> (Block, HashMap<LocalId, LocalId>) {
    let mut map = HashMap::new();
    walk::each_stmt(block, &mut |stmt| {
        if let Some(local) = walk::declared_local(stmt) {
            let original = function.locals[local].clone();
            let name = names.name(&original.name);
            map.insert(local, function.locals.push(Local { name, ..original }));
        }
    });
    let mut copy = block.to_vec();
    rename(&mut copy, &map);
    (copy, map)
}

/// Drops declarations of variables that the block does not mention any more.
pub(super) fn drop_unused(block: &mut Block) {
    for position in (0..block.len()).rev() {
        if let StmtKind::Declare { local, .. } = block[position].kind
            && !walk::mentions(&block[position + 1..], local)
        {
            block.remove(position);
        }
    }
}

/// Replaces variables by others.
pub(super) fn rename(block: &mut [Stmt], map: &HashMap<LocalId, LocalId>) {
    walk::each_local_mut(block, &mut |local| {
        if let Some(other) = map.get(local) {
            *local = *other;
        }
    });
}

/// Renames variables that are declared where another one of their name is visible: a declaration may have moved there.
pub(super) fn tell_apart(function: &mut Function, names: &mut NewLocals) {
    let mut visible: HashSet<Name> = function.params.iter().map(|param| function.locals[*param].name.clone()).collect();
    let mut hidden = Vec::new();
    collect_hidden(&function.body, function, &mut visible, &mut hidden);
    for local in hidden {
        function.locals[local].name = names.name(&function.locals[local].name);
    }
}

fn collect_hidden(block: &[Stmt], function: &Function, visible: &mut HashSet<Name>, hidden: &mut Vec<LocalId>) {
    let mut own = Vec::new();
    for stmt in block {
        let mut counter = None;
        if let Some(local) = walk::declared_local(stmt) {
            let name = &function.locals[local].name;
            match visible.insert(name.clone()) {
                true if matches!(stmt.kind, StmtKind::For(_)) => counter = Some(name),
                true => own.push(name),
                false => hidden.push(local),
            }
        }
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let walk::Part::Block(inner) = part {
                collect_hidden(inner, function, visible, hidden);
            }
            ControlFlow::<()>::Continue(())
        });
        counter.into_iter().for_each(|name| {
            visible.remove(name);
        });
    }
    own.into_iter().for_each(|name| {
        visible.remove(name);
    });
}

/// Numbers the locals anew, parameters first; returns what became of each.
pub(super) fn params_first(function: &mut Function) -> HashMap<LocalId, LocalId> {
    let params = function.params.clone();
    let others = function.locals.ids().filter(|local| !params.contains(local));
    let order: Vec<LocalId> = params.iter().copied().chain(others).collect();
    let map: HashMap<LocalId, LocalId> = order.iter().enumerate().map(|(new, old)| (*old, LocalId::new(new))).collect();
    let locals: IdVec<LocalId, Local> = order.iter().map(|local| function.locals[*local].clone()).collect();
    function.locals = locals;
    function.params = (0..params.len()).map(LocalId::new).collect();
    rename(&mut function.body, &map);
    map
}

/// A declaration with an initial value.
pub(super) fn declare(local: LocalId, init: Option<Expr>) -> Stmt {
    Stmt::new(StmtKind::Declare { local, init })
}

/// An assignment.
pub(super) fn assign(place: Place, value: Expr) -> Stmt {
    Stmt::new(StmtKind::Assign { place, value })
}

/// A number in another floating type; a constant that has the same value there stays one.
pub(super) fn in_type(value: Expr, ty: &Type) -> Expr {
    match (&value.kind, ty) {
        (ExprKind::Float(real), Type::Float(kind)) if kind.has_value(real.0) => {
            Expr::new(ExprKind::Float(*real), ty.clone()).at(value.span)
        }
        // To half precision and back again, or from it.
        (ExprKind::Cast(inner), _) if inner.ty == *ty && inner.ty.at_least_single() == value.ty.at_least_single() => {
            (**inner).clone()
        }
        _ => Expr::cast(value, ty.clone()),
    }
}

/// A record or array of parts. What is zero at the end of an array is left out, as lowering does.
pub(super) fn aggregate(mut parts: Vec<Expr>, ty: Type) -> Expr {
    while matches!(ty, Type::Array(..)) && parts.last().is_some_and(Expr::is_zero_fill) {
        parts.pop();
    }
    Expr::new(ExprKind::Construct(parts), ty)
}

/// An expression wherever it stands.
pub(super) fn without_spans(expr: &Expr) -> Expr {
    let mut expr = expr.clone();
    let _ = walk::visit_expr_mut(&mut expr, &mut |node| {
        match node {
            walk::NodeMut::Expr(expr) => expr.span = Span::NONE,
            walk::NodeMut::Place(place) => place.span = Span::NONE,
            walk::NodeMut::Stmt(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
    expr
}

/// An `if`, or nothing where there is nothing to do.
pub(super) fn when(cond: Expr, then_block: Block, else_block: Block) -> Option<Stmt> {
    let kind = match (then_block.is_empty(), else_block.is_empty()) {
        (true, true) => return None,
        (true, false) => {
            StmtKind::If { cond: Expr::unary(UnaryOp::Not, cond), then_block: else_block, else_block: then_block }
        }
        (false, _) => StmtKind::If { cond, then_block, else_block },
    };
    Some(Stmt::new(kind))
}

/// A constant of a floating type.
pub(super) fn constant(value: f64, ty: &Type) -> Expr {
    Expr::new(ExprKind::Float(Real(value)), ty.clone())
}
