//! Makes a derivative shorter without changing what it computes: values that nobody reads go, an adjoint begins with
//! what is first added to it, and stands where it is first used.

mod lines;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use super::locals::{in_type, rename};
use super::overlap::root;
use crate::ir::same::same_place;
use crate::ir::walk::{self, Node, PartMut, own_variable};
use crate::ir::{
    BarrierKind, BinaryOp, Block, Expr, ExprKind, Function, LocalId, Place, PlaceKind, Space, Stmt, StmtKind,
};
use lines::Lines;

/// Simplifies one function.
pub(super) fn simplify(function: &mut Function) {
    let mut body = std::mem::take(&mut function.body);
    loop {
        let before = body.clone();
        drop_copies(function, &mut body);
        merge_zeros(&mut body);
        merge_sums(&mut body);
        drop_unread(function, &mut body);
        drop_empty(&mut body);
        merge_barriers(&mut body);
        if function.space == Space::Kernel {
            drop_last_barriers(&mut body);
        }
        merge_branches(&mut body);
        sink_sums(&mut body);
        settle_block(&mut body);
        if body == before {
            break;
        }
    }
    function.body = body;
}

/// Drops barriers after which a kernel does nothing.
fn drop_last_barriers(body: &mut Block) {
    fn only_waits(stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Barrier { into, .. } => into.is_none(),
            StmtKind::For(head) => head.body.iter().all(only_waits),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
            | StmtKind::If { .. }
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Launch(_)
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => false,
        }
    }
    while body.last().is_some_and(only_waits) {
        body.pop();
    }
}

/// Drops the declarations of pointers that nobody follows, of the variables that `may_go`.
pub(super) fn drop_idle_pointers(body: &mut Block, may_go: impl Fn(LocalId) -> bool) {
    loop {
        let mut mentioned = BTreeSet::new();
        walk::each_place(body, &mut |place| {
            if let PlaceKind::Local(local) = place.kind {
                mentioned.insert(local);
            }
        });
        let is_idle = |local: &LocalId| may_go(*local) && !mentioned.contains(local);
        let before = body.clone();
        retain(body, &|stmt| !matches!(&stmt.kind, StmtKind::Declare { local, .. } if is_idle(local)));
        if *body == before {
            return;
        }
    }
}

/// Replaces variables that hold what another holds, where neither is assigned again.
fn drop_copies(function: &Function, body: &mut Block) {
    let mut given: BTreeSet<LocalId> = function.params.iter().copied().collect();
    walk::each_stmt(body, &mut |stmt| given.extend(stmt.begun_local()));
    let changed = walk::assigned_locals(body);
    let is_settled = |local: &LocalId| given.contains(local) && !changed.contains(local);
    let mut copies: HashMap<LocalId, LocalId> = HashMap::new();
    walk::each_stmt(body, &mut |stmt| {
        if let StmtKind::Declare { local, init: Some(init) } = &stmt.kind
            && let ExprKind::Load(Place { kind: PlaceKind::Local(source), .. }) = &init.kind
            && is_settled(local)
            && is_settled(source)
            && function.locals[*local].ty.unrestricted() == function.locals[*source].ty.unrestricted()
        {
            let source = copies.get(source).copied().unwrap_or(*source);
            copies.insert(*local, source);
        }
    });
    retain(body, &|stmt| !matches!(&stmt.kind, StmtKind::Declare { local, .. } if copies.contains_key(local)));
    rename(body, &copies);
}

/// `a = 0; a += b;` is `a = b;`.
fn merge_zeros(block: &mut Block) {
    for stmt in block.iter_mut() {
        each_block(stmt, &mut merge_zeros);
    }
    join_neighbours(block, |before, next| {
        if let StmtKind::Assign { place, value } = &mut before.kind
            && let StmtKind::Accumulate { place: next, value: added } = &mut next.kind
            && is_zero(value)
            && let (PlaceKind::Local(local), PlaceKind::Local(other)) = (&place.kind, &next.kind)
            && local == other
            && !walk::expr_mentions(added, *local)
        {
            std::mem::swap(value, added);
            return true;
        }
        false
    });
}

/// Goes through a block once, and lets each statement take in the next. `join` says whether it did; then the next goes.
fn join_neighbours(block: &mut Block, mut join: impl FnMut(&mut Stmt, &mut Stmt) -> bool) {
    block.dedup_by(|next, before| join(before, next));
}

/// `a += b; a += c;` is `a += b + c;`: one addition to memory instead of two.
fn merge_sums(block: &mut Block) {
    for stmt in block.iter_mut() {
        each_block(stmt, &mut merge_sums);
    }
    join_neighbours(block, |before, next| {
        if let StmtKind::Accumulate { place, value } = &mut before.kind
            && let StmtKind::Accumulate { place: next, value: added } = &next.kind
            && !matches!(place.kind, PlaceKind::Local(_))
            && same_place(place, next)
            && !reads_same_array(added, place)
        {
            // In the type in which adjoints are computed, and then in the type of the place.
            let ty = place.ty.at_least_single();
            let sum = Expr::binary(BinaryOp::Add, in_type(value.clone(), &ty), in_type(added.clone(), &ty));
            *value = in_type(sum, &place.ty);
            return true;
        }
        false
    });
}

/// Whether a value is read, in part, from the array or variable that a place lies in. Two pointers that differ in name
/// lead to different adjoints, or to adjoints and to values.
fn reads_same_array(value: &Expr, place: &Place) -> bool {
    let root = root_of(place);
    walk::visit_expr(value, &mut |node| {
        let is_read = match (node, root.map(|root| &root.kind)) {
            (Node::Place(Place { kind: PlaceKind::Local(read), .. }), Some(PlaceKind::Local(own))) => read == own,
            (Node::Place(Place { kind: PlaceKind::Global(_), .. }), Some(PlaceKind::Global(_))) => true,
            // It may be any array.
            (Node::Place(_), None) => true,
            (Node::Place(_) | Node::Expr(_) | Node::Stmt(_), _) => false,
        };
        if is_read { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .is_break()
}

/// The variable that a place lies in, or that holds the pointer which leads there; none if that is more than a variable.
fn root_of(place: &Place) -> Option<&Place> {
    match &place.kind {
        PlaceKind::Local(_) | PlaceKind::Global(_) => Some(place),
        PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => root_of(base),
        PlaceKind::Element(pointer, _) => {
            let root = root(pointer);
            root.as_load().or(root.as_address()).and_then(root_of)
        }
    }
}

/// `if (c) { a } if (c) { b }` is `if (c) { a b }`, where `a` changes only variables that `c` does not read.
fn merge_branches(block: &mut Block) {
    for stmt in block.iter_mut() {
        each_block(stmt, &mut merge_branches);
    }
    join_neighbours(block, |before, next| {
        if let StmtKind::If { cond, then_block, else_block } = &mut before.kind
            && let StmtKind::If { cond: again, then_block: rest, else_block: other } = &mut next.kind
            && cond == again
            && else_block.is_empty()
            && other.is_empty()
            && keeps(then_block, cond)
        {
            then_block.append(rest);
            return true;
        }
        false
    });
}

/// Whether a block only gives values to variables that an expression does not read, and the expression reads nothing else.
fn keeps(block: &[Stmt], expr: &Expr) -> bool {
    let mut reads = BTreeSet::new();
    let reads_variables = !walk::loads_any(expr, &mut |place| {
        let local = place.as_local();
        reads.extend(local);
        local.is_none()
    });
    let gives_values = block.iter().all(|stmt| match &stmt.kind {
        StmtKind::Declare { .. } => true,
        StmtKind::Assign { place, .. } => own_variable(place).is_some_and(|local| !reads.contains(&local)),
        StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
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
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => false,
    });
    reads_variables && gives_values
}

/// Drops assignments to variables that are never read.
fn drop_unread(function: &Function, body: &mut Block) {
    let mut reads: BTreeSet<LocalId> = function.params.iter().copied().collect();
    // A variable that is read only to be assigned to itself is not read.
    let mut depends: BTreeMap<LocalId, BTreeSet<LocalId>> = BTreeMap::new();
    walk::each_stmt(body, &mut |stmt| {
        let target = match &stmt.kind {
            StmtKind::Assign { place, .. } | StmtKind::Accumulate { place, .. } => own_variable(place),
            StmtKind::Declare { local, .. } => Some(*local),
            StmtKind::Call { .. }
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
            | StmtKind::Launch(_)
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => None,
        };
        let mut mentioned = BTreeSet::new();
        note_reads(stmt, &mut mentioned);
        match target {
            Some(target) => depends.entry(target).or_default().extend(mentioned),
            None => reads.extend(mentioned),
        }
    });
    let mut open: Vec<LocalId> = reads.iter().copied().collect();
    while let Some(local) = open.pop() {
        for other in depends.remove(&local).into_iter().flatten() {
            if reads.insert(other) {
                open.push(other);
            }
        }
    }
    retain(body, &|stmt| match &stmt.kind {
        StmtKind::Assign { place, .. } | StmtKind::Accumulate { place, .. } => {
            own_variable(place).is_none_or(|local| reads.contains(&local))
        }
        StmtKind::Declare { local, .. } => {
            reads.contains(local) || function.locals[*local].storage != crate::ir::Storage::Private
        }
        StmtKind::Call { .. }
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
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => true,
    });
}

/// The variables that a statement itself mentions other than as the whole target of an assignment.
fn note_reads(stmt: &Stmt, found: &mut BTreeSet<LocalId>) {
    let mut note = |node: Node<'_>| {
        if let Node::Place(Place { kind: PlaceKind::Local(local), .. }) = node {
            found.insert(*local);
        }
        ControlFlow::<()>::Continue(())
    };
    let is_store = matches!(stmt.kind, StmtKind::Assign { .. } | StmtKind::Accumulate { .. });
    let _ = walk::stmt_parts(stmt, &mut |part| match part {
        walk::Part::Expr(expr) => walk::visit_expr(expr, &mut note),
        walk::Part::Place(place) if is_store && own_variable(place).is_some() => visit_indices(place, &mut note),
        walk::Part::Place(place) => walk::visit_place(place, &mut note),
        walk::Part::Block(_) => ControlFlow::Continue(()),
    });
}

fn visit_indices<'a>(place: &'a Place, note: &mut impl FnMut(Node<'a>) -> ControlFlow<()>) -> ControlFlow<()> {
    match &place.kind {
        PlaceKind::Local(_) | PlaceKind::Global(_) => ControlFlow::Continue(()),
        PlaceKind::Field(base, _) => visit_indices(base, note),
        PlaceKind::Index(base, index) => {
            visit_indices(base, note)?;
            walk::visit_expr(index, note)
        }
        PlaceKind::Element(..) => walk::visit_place(place, note),
    }
}

pub(super) fn retain(block: &mut Block, keep: &impl Fn(&Stmt) -> bool) {
    block.retain(|stmt| keep(stmt));
    for stmt in block {
        each_block(stmt, &mut |inner| retain(inner, keep));
    }
}

fn each_block(stmt: &mut Stmt, f: &mut impl FnMut(&mut Block)) {
    let _ = walk::stmt_parts_mut(stmt, &mut |part| {
        if let PartMut::Block(inner) = part {
            f(inner);
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Drops conditions and counted loops around nothing.
fn drop_empty(block: &mut Block) {
    for stmt in block.iter_mut() {
        each_block(stmt, &mut drop_empty);
    }
    block.retain(|stmt| match &stmt.kind {
        StmtKind::If { then_block, else_block, .. } => !then_block.is_empty() || !else_block.is_empty(),
        StmtKind::For(head) => !head.body.is_empty(),
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Barrier { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => true,
    });
}

/// Threads that have just met need not meet again.
fn merge_barriers(block: &mut Block) {
    for stmt in block.iter_mut() {
        each_block(stmt, &mut merge_barriers);
    }
    let is_barrier =
        |stmt: &Stmt| matches!(stmt.kind, StmtKind::Barrier { kind: BarrierKind::Block, argument: None, into: None });
    block.dedup_by(|next, before| is_barrier(next) && is_barrier(before));
}

/// A sum that only one branch adds to is handed over there.
fn sink_sums(block: &mut Block) {
    for stmt in block.iter_mut() {
        each_block(stmt, &mut sink_sums);
    }
    if !block.iter().any(|stmt| matches!(stmt.kind, StmtKind::If { .. })) {
        return;
    }
    let mut lines = Lines::new(block);
    lines.sink_all();
    *block = lines.into_block();
}

/// Whether a statement can as well come after a sum: it adds to memory too, or gives a variable a value that the sum
/// does not mention, and it reads no memory that the sum might change.
fn commutes(stmt: &Stmt, sum: &Stmt) -> bool {
    if let StmtKind::Accumulate { place, .. } = &sum.kind
        && own_variable(place).is_some_and(|array| touches(stmt, array))
    {
        return false;
    }
    let (local, own_places) = match &stmt.kind {
        StmtKind::Accumulate { .. } => (None, 1),
        StmtKind::Declare { local, .. }
        | StmtKind::Assign { place: Place { kind: PlaceKind::Local(local), .. }, .. } => (Some(*local), 0),
        StmtKind::Assign { .. }
        | StmtKind::Call { .. }
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
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => return false,
    };
    let mut memory = 0;
    let _ = walk::visit_block(std::slice::from_ref(stmt), &mut |node| {
        if let Node::Place(Place { kind: PlaceKind::Element(..) | PlaceKind::Global(_), .. }) = node {
            memory += 1;
        }
        ControlFlow::<()>::Continue(())
    });
    memory <= own_places && local.is_none_or(|local| !touches(sum, local))
}

/// Moves declarations of zeros down to their first use, and lets the first sum be the first value.
fn settle_block(block: &mut Block) {
    for stmt in block.iter_mut() {
        each_block(stmt, &mut settle_block);
    }
    if !block.iter().any(is_zero_of_any) {
        return;
    }
    let mut lines = Lines::new(block);
    lines.settle_all();
    *block = lines.into_block();
}
/// Whether a statement declares a zero; such declarations stay in their order.
fn is_zero_of_any(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Declare { init: Some(init), .. } if is_zero(init))
}

fn is_zero_declaration(stmt: &Stmt, wanted: LocalId) -> bool {
    matches!(&stmt.kind, StmtKind::Declare { local, init: Some(init) } if *local == wanted && is_zero(init))
}

pub(super) fn is_zero(expr: &Expr) -> bool {
    expr.is_float_zero() || matches!(&expr.kind, ExprKind::Construct(operands) if operands.iter().all(is_zero))
}

/// Whether a statement declares a variable, or mentions it.
fn touches(stmt: &Stmt, local: LocalId) -> bool {
    let mut declares = false;
    walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| declares |= walk::declared_local(inner) == Some(local));
    declares || walk::mentions(std::slice::from_ref(stmt), local)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    /// The body of the first function of a text, simplified.
    fn simplified(body: &str) -> String {
        let source = format!("device f(p: double*, q: const double*, n: int, y: double) {{ {body} }}");
        let mut module = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let id = module.function("f").expect("the function");
        simplify(&mut module.functions[id]);
        text::print(&module)
    }

    #[test]
    fn a_sum_that_reads_what_was_just_added_to_stays_apart() {
        let apart = simplified("p[n] += y; p[n] += (p[n] * 2.0);");
        assert_eq!(apart.matches("+=").count(), 2, "{apart}");
        let other_element = simplified("p[n] += y; p[n] += (p[0] * 2.0);");
        assert_eq!(other_element.matches("+=").count(), 2, "{other_element}");
        let together = simplified("p[n] += y; p[n] += (q[n] * 2.0);");
        let same_index = simplified("p[(q[n] as int)] += y; p[(q[n] as int)] += (q[n] * 2.0);");
        assert_eq!(same_index.matches("+=").count(), 1, "{same_index}");
        assert_eq!(together.matches("+=").count(), 1, "{together}");
    }

    #[test]
    fn a_copy_of_what_changes_later_stays() {
        let kept = simplified("let a: double = y; let old: double = a; a = 2.0; p[0] = (old + a);");
        assert!(kept.contains("let old"), "{kept}");
        let through_pointer =
            simplified("let a: double = y; let r: double* = &a; let old: double = a; *r = 2.0; p[0] = (old + a);");
        assert!(through_pointer.contains("let old"), "{through_pointer}");
        let gone = simplified("let a: double = y; let old: double = a; p[0] = (old + a);");
        assert!(!gone.contains("let old"), "{gone}");
    }

    #[test]
    fn branches_are_merged_only_if_the_first_leaves_the_condition_as_it_is() {
        let apart = simplified(
            "let a: double = y; let b: double; let c: double; if (a > 0.0) { b = 1.0; a = -1.0; } if (a > 0.0) { c = b; p[0] = c; }",
        );
        assert_eq!(apart.matches("if").count(), 2, "{apart}");
        let memory = simplified("let b: double; if (p[0] > 0.0) { p[0] = y; } if (p[0] > 0.0) { b = y; p[1] = b; }");
        assert_eq!(memory.matches("if").count(), 2, "{memory}");
    }

    #[test]
    fn what_a_pointer_may_read_is_not_dropped() {
        let kept = simplified("let a: double = y; let r: double* = &a; a = 3.0; p[0] = *r;");
        assert!(kept.contains("a = 3"), "{kept}");
    }

    #[test]
    fn an_adjoint_is_cleared_unless_nobody_reads_it_again() {
        let kept = simplified("let d: double = 0.0; d += y; p[0] += d; d = 0.0; d += q[1]; p[1] += d;");
        assert!(kept.contains("d = q[1]") || kept.contains("d = 0"), "{kept}");
        let in_loop = simplified("let d: double = 0.0; for i: int = 0; i < n; i += 1 { d += y; p[i] += d; d = 0.0; }");
        assert!(in_loop.contains("d = 0"), "{in_loop}");
    }
}
