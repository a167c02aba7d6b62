//! Results that come from outside of the function, such as how long it took. No two runs give the same, and nothing that is
//! differentiated is in them: derivatives refuse what hands active numbers to code that is not read.

use std::collections::HashSet;
use std::ops::ControlFlow;

use cotangent::analysis::grow;
use cotangent::ir::walk::{self, Node};
use cotangent::ir::{Expr, ExprKind, Function, LocalId, StmtKind, Type};

/// Whether every result of a function is computed from what code that is not read gives, and from no other floating number.
pub(super) fn is_from_outside(function: &Function) -> bool {
    let mut writes: Vec<(LocalId, &Expr)> = Vec::new();
    let mut results: Vec<&Expr> = Vec::new();
    let (mut outside, mut inside): (HashSet<LocalId>, HashSet<LocalId>) = Default::default();
    inside.extend(&function.params);
    walk::each_stmt(&function.body, &mut |stmt| match &stmt.kind {
        StmtKind::Declare { local, init } => writes.extend(init.iter().map(|value| (*local, value))),
        StmtKind::Assign { place, value } => match place.as_local() {
            Some(local) => writes.push((local, value)),
            None => inside.extend(walk::own_variable(place)),
        },
        StmtKind::Opaque { into: Some(into), .. } => outside.extend(into.as_local()),
        StmtKind::Return(value) => results.extend(value),
        _ => inside.extend(walk::written_places(stmt).into_iter().filter_map(walk::own_variable)),
    });
    inside.extend(addressed(function));
    let mut known = (outside, inside);
    grow(
        &mut known,
        |(outside, inside)| (outside.len(), inside.len()),
        |(outside, inside)| {
            for (local, value) in &writes {
                let sources = sources(value, outside, inside);
                outside.extend(sources.from_outside.then_some(*local));
                inside.extend(sources.from_inside.then_some(*local));
            }
        },
    );
    let (outside, inside) = known;
    let all = results.iter().map(|value| sources(value, &outside, &inside));
    !results.is_empty() && all.into_iter().all(|sources| sources.from_outside && !sources.from_inside)
}

/// Where the numbers of an expression come from.
#[derive(Default)]
struct Sources {
    from_outside: bool,
    /// From memory, from a parameter, or from what is computed of them.
    from_inside: bool,
}

fn sources(value: &Expr, outside: &HashSet<LocalId>, inside: &HashSet<LocalId>) -> Sources {
    let mut found = Sources::default();
    let _ = walk::visit_expr(value, &mut |node| {
        if let Node::Expr(Expr { kind: ExprKind::Load(place), .. }) = node {
            let local = place.as_local();
            found.from_outside |= local.is_some_and(|local| outside.contains(&local));
            // A count is no result of what is differentiated.
            let is_count = matches!(place.ty, Type::Int(_) | Type::Bool);
            found.from_inside |= !is_count && local.is_none_or(|local| inside.contains(&local));
        }
        ControlFlow::<()>::Continue(())
    });
    found
}

/// The variables that may be written through pointers.
fn addressed(function: &Function) -> HashSet<LocalId> {
    let mut found = HashSet::new();
    let _ = walk::visit_block(&function.body, &mut |node| {
        if let Node::Expr(Expr { kind: ExprKind::AddressOf(place), .. }) = node {
            found.extend(walk::own_variable(place));
        }
        ControlFlow::<()>::Continue(())
    });
    found
}
