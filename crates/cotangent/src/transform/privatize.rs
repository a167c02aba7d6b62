//! Takes additions to one place out of loops: the loop sums in a variable of the thread, and one addition follows. Atomic ones
//! of kernels, once it is known which are atomic; all of host functions.
//!
//! The place must be the same in all iterations, and nothing else in the loop may look at that memory. If the sum is
//! zero nothing is added, since the loop may not have run, and the place may then not exist.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use super::locals::in_type;
use crate::analysis::locals::{Locals, locals};
use crate::analysis::root::{Root, Roots};
use crate::index::IdVec;
use crate::ir::walk::{self, Node, NodeMut, PartMut, own_variable};
use crate::ir::{
    AtomicOp, BinaryOp, Block, Expr, ExprKind, Function, FunctionId, Local, LocalId, Module, Name, OpaqueArg, Place,
    PlaceKind, Real, Scope, Stmt, StmtKind, Storage, Type,
};
use crate::source::Span;

/// Sums in private variables what loops add to one place.
pub fn privatize(module: &mut Module, function: FunctionId) {
    let mut has_loop = false;
    walk::each_stmt(&module.functions[function].body, &mut |stmt| has_loop |= stmt.kind.is_loop());
    if has_loop {
        let (body, locals) = privatized(module, &module.functions[function]);
        let changed = &mut module.functions[function];
        (changed.body, changed.locals) = (body, locals);
    }
}

fn privatized(module: &Module, original: &Function) -> (Block, IdVec<LocalId, Local>) {
    let mut body = original.body.clone();
    let locals = locals(original);
    let roots = Roots::new(module, original, &locals);
    let names = original.locals.iter().map(|local| local.name.clone()).collect();
    let mut ctx = Ctx { module, original, uses: &locals, roots, names, locals: original.locals.clone() };
    ctx.block(&mut body);
    (body, ctx.locals)
}

struct Ctx<'f> {
    module: &'f Module,
    original: &'f Function,
    uses: &'f Locals<'f>,
    roots: Roots<'f>,
    names: HashSet<Name>,
    /// Those of the function, and the sums.
    locals: IdVec<LocalId, Local>,
}

/// A sum that replaces additions to a place.
struct Sum {
    place: Place,
    local: LocalId,
    /// None for an addition that is not decided yet.
    scope: Option<Scope>,
    note: Option<Name>,
    /// Of the statement that is differentiated.
    span: Span,
}

impl Ctx<'_> {
    /// Loops from the outside in, so that an addition leaves as many as it can.
    fn block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(block) {
            let sums = if stmt.kind.is_loop() { self.sums(&mut stmt) } else { Vec::new() };
            let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
                if let PartMut::Block(inner) = part {
                    self.block(inner);
                }
                ControlFlow::<()>::Continue(())
            });
            let zero = |place: &Place| Expr::new(ExprKind::Float(Real(0.0)), place.ty.at_least_single());
            for sum in &sums {
                block.push(Stmt::new(StmtKind::Declare { local: sum.local, init: Some(zero(&sum.place)) }));
            }
            block.push(stmt);
            for Sum { place, local, scope, note, span } in sums {
                let sum = Expr::load(Place::local(local, place.ty.at_least_single()));
                let cond = Expr::binary(BinaryOp::NotEqual, sum.clone(), zero(&place));
                let value = in_type(sum, &place.ty);
                let add = Stmt::new(match scope {
                    Some(scope) => {
                        StmtKind::Atomic { op: AtomicOp::Add, scope, place, value, compare: None, into: None }
                    }
                    None => StmtKind::Accumulate { place, value },
                });
                let then_block = vec![Stmt { note, ..add.at(span) }];
                block.push(Stmt::new(StmtKind::If { cond, then_block, else_block: Vec::new() }));
            }
        }
    }

    /// Replaces the additions of a loop that can be summed.
    fn sums(&mut self, stmt: &mut Stmt) -> Vec<Sum> {
        let looked_at = match self.looked_at(stmt) {
            Some(roots) if !roots.contains(&Root::Unknown) => roots,
            Some(_) | None => return Vec::new(),
        };
        let mut inside = BTreeSet::new();
        walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| inside.extend(walk::declared_local(inner)));
        let mut sums: Vec<Sum> = Vec::new();
        let _ = walk::visit_block_mut(std::slice::from_mut(stmt), &mut |node| {
            if let NodeMut::Stmt(inner) = node
                && let Some((place, value, scope)) = addition(&inner.kind)
            {
                let roots = self.roots.place(place);
                let is_apart = !roots.contains(&Root::Unknown) && roots.is_disjoint(&looked_at);
                if matches!(place.ty, Type::Float(_)) && is_apart && self.is_fixed(place, &inside) {
                    let local = self.sum(place, scope, &mut sums, (inner.note.take(), inner.span));
                    let total = Place::local(local, place.ty.at_least_single());
                    let value = in_type(value.clone(), &total.ty);
                    let value = Expr::binary(BinaryOp::Add, Expr::load(total.clone()), value);
                    inner.kind = StmtKind::Assign { place: total, value };
                }
            }
            ControlFlow::<()>::Continue(())
        });
        sums
    }

    /// The memory that a loop reads or stores to plainly; none if other threads or functions may look at it meanwhile.
    fn looked_at(&self, stmt: &Stmt) -> Option<BTreeSet<Root>> {
        let mut found = BTreeSet::new();
        let is_seen = walk::visit_block(std::slice::from_ref(stmt), &mut |node| {
            match node {
                Node::Stmt(inner) => match &inner.kind {
                    StmtKind::Call { .. } | StmtKind::Barrier { .. } | StmtKind::Return(_) => {
                        return ControlFlow::Break(());
                    }
                    // Sums may be made in any order; all else that is done to a place looks at it.
                    StmtKind::Atomic { op: AtomicOp::Add | AtomicOp::Subtract, into: None, .. }
                    | StmtKind::Accumulate { .. } => {}
                    StmtKind::Declare { .. }
                    | StmtKind::Assign { .. }
                    | StmtKind::If { .. }
                    | StmtKind::For(_)
                    | StmtKind::While { .. }
                    | StmtKind::Switch { .. }
                    | StmtKind::Break
                    | StmtKind::Continue
                    | StmtKind::Atomic { .. }
                    | StmtKind::Collective { .. }
                    | StmtKind::Push { .. }
                    | StmtKind::Pop { .. } => {
                        walk::written_places(inner).into_iter().for_each(|place| found.extend(self.roots_of(place)));
                    }
                    StmtKind::Launch(launch) => {
                        found.extend(self.variables());
                        found.extend(self.handed_on(launch.args.iter().cloned()));
                    }
                    StmtKind::Runtime { args, into, .. } => {
                        found.extend(into.iter().flat_map(|place| self.roots_of(place)));
                        found.extend(self.handed_on(args.iter().cloned()));
                    }
                    StmtKind::Opaque { args, into, .. } => {
                        found.extend(self.variables());
                        found.extend(into.iter().flat_map(|place| self.roots_of(place)));
                        found.extend(self.handed_on(args.iter().filter_map(OpaqueArg::value)));
                    }
                },
                Node::Expr(Expr { kind: ExprKind::Load(place), .. }) => found.extend(self.roots_of(place)),
                Node::Expr(_) | Node::Place(_) => {}
            }
            ControlFlow::Continue(())
        });
        is_seen.is_continue().then_some(found)
    }

    /// The memory that a launch, the runtime or code that is not read may look at, by what it is handed.
    fn handed_on(&self, args: impl IntoIterator<Item = Expr>) -> BTreeSet<Root> {
        let mut found = BTreeSet::new();
        for arg in args {
            let pointer = arg.uncast_pointer();
            match pointer.ty.pointee() {
                // A stream, or the tape.
                Some(Type::Opaque(_)) => {}
                Some(pointee) => {
                    found.extend(self.roots.pointer(pointer));
                    found.extend(self.roots.may_hold_pointer(pointee).then_some(Root::Unknown));
                }
                None => found.extend(self.roots.may_hold_pointer(&arg.ty).then_some(Root::Unknown)),
            }
        }
        found
    }

    /// What kernels and code that is not read may mention.
    fn variables(&self) -> impl Iterator<Item = Root> {
        self.module.globals.ids().map(Root::Global)
    }

    /// Where a place lies. Sums of loops around are not in the analysed function, and are the thread's own.
    fn roots_of(&self, place: &Place) -> BTreeSet<Root> {
        let is_sum = own_variable(place).is_some_and(|local| self.original.locals.get(local).is_none());
        if is_sum { BTreeSet::new() } else { self.roots.place(place) }
    }

    /// Whether a place is the same in all iterations: it is made of variables from outside that keep their values.
    fn is_fixed(&self, place: &Place, inside: &BTreeSet<LocalId>) -> bool {
        walk::visit_place(place, &mut |node| {
            let is_fixed = match node {
                Node::Place(Place { kind: PlaceKind::Local(local), .. }) => {
                    // Sums that were made before are not in the table, and no place is made of them.
                    self.original.locals.get(*local).is_some_and(|entry| {
                        let is_memory = entry.storage != Storage::Private;
                        !inside.contains(local) && (is_memory || self.uses[*local].is_constant())
                    })
                }
                // What lies in shared memory may change, by this thread or another.
                Node::Expr(Expr { kind: ExprKind::Load(loaded), .. }) => match loaded.kind {
                    PlaceKind::Local(local) => {
                        self.original.locals.get(local).is_some_and(|entry| entry.storage == Storage::Private)
                    }
                    PlaceKind::Global(_) | PlaceKind::Field(..) | PlaceKind::Index(..) | PlaceKind::Element(..) => {
                        false
                    }
                },
                Node::Place(_) | Node::Expr(_) | Node::Stmt(_) => true,
            };
            if is_fixed { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .is_continue()
    }

    /// The variable that sums what is added to a place.
    fn sum(
        &mut self,
        place: &Place,
        scope: Option<Scope>,
        sums: &mut Vec<Sum>,
        (note, span): (Option<Name>, Span),
    ) -> LocalId {
        let place = without_spans(place);
        if let Some(sum) = sums.iter().find(|sum| sum.place == place) {
            return sum.local;
        }
        let local = fresh("_sum", &place.ty.at_least_single(), &mut self.names, &mut self.locals);
        sums.push(Sum { place, local, scope, note, span });
        local
    }
}

/// A new variable of the thread.
pub(super) fn fresh(word: &str, ty: &Type, names: &mut HashSet<Name>, locals: &mut IdVec<LocalId, Local>) -> LocalId {
    let mut name: Name = word.into();
    let mut number = 1;
    while !names.insert(name.clone()) {
        number += 1;
        name = format!("{word}{number}").into();
    }
    locals.push(Local { name, ty: ty.clone(), storage: Storage::Private, align: None, span: Span::NONE })
}

/// An addition to memory: the place, what is added, and who else may add.
fn addition(kind: &StmtKind) -> Option<(&Place, &Expr, Option<Scope>)> {
    if let StmtKind::Atomic { op: AtomicOp::Add, scope, place, value, into: None, .. } = kind {
        [Scope::Device, Scope::Anywhere].contains(scope).then_some((place, value, Some(*scope)))
    } else if let StmtKind::Accumulate { place, value } = kind {
        own_variable(place).is_none().then_some((place, value, None))
    } else {
        None
    }
}

/// A place as it is compared: where it was written does not matter.
pub(super) fn without_spans(place: &Place) -> Place {
    let mut place = place.clone();
    let _ = walk::visit_place_mut(&mut place, &mut |node| {
        match node {
            NodeMut::Stmt(stmt) => stmt.span = Span::NONE,
            NodeMut::Expr(expr) => expr.span = Span::NONE,
            NodeMut::Place(place) => place.span = Span::NONE,
        }
        ControlFlow::<()>::Continue(())
    });
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{text, validate};
    use expect_test::{Expect, expect};

    fn privatized(body: &str, expected: Expect) {
        let text = format!("kernel k(w: float*, x: float*, n: int) {{ {body} }}");
        let mut module = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        privatize(&mut module, FunctionId(0));
        assert_eq!(validate(&module), Ok(()));
        expected.assert_eq(&text::print(&module));
    }

    #[test]
    fn what_all_iterations_add_to_is_added_to_once() {
        privatized(
            "for i: int = 0; i < n; i += 1 {
               for j: int = 0; j < n; j += 1 { atomic add(w[0], x[j]); atomic add(w[i], 1.0f); }
               if (i < 3) { atomic add(w[0], 2.0f); }
             }",
            expect![[r#"
                kernel k(w: float*, x: float*, n: int) {
                  let _sum#5: float = 0.0f;
                  for i: int = 0; i < n; i += 1 {
                    let _sum2#6: float = 0.0f;
                    for j: int = 0; j < n; j += 1 {
                      _sum = (_sum + x[j]);
                      _sum2 = (_sum2 + 1.0f);
                    }
                    if (_sum2 != 0.0f) {
                      atomic add(w[i], _sum2);
                    }
                    if (i < 3) {
                      _sum = (_sum + 2.0f);
                    }
                  }
                  if (_sum != 0.0f) {
                    atomic add(*w, _sum);
                  }
                }
            "#]],
        );
    }

    #[test]
    fn what_the_runtime_or_a_kernel_is_handed_is_looked_at() {
        let text = "kernel k(p: float*) { }
            host f(x: float*, y: float*, z: float*, n: int) {
              for i: int = 0; i < n; i += 1 {
                runtime cudaMemset((x as void*), 0, 4ul);
                launch k<<<[1u, 1u, 1u], [1u, 1u, 1u]>>>((y + i));
                x[0] += 1.0f;
                y[1] += 2.0f;
                z[2] += 3.0f;
              }
            }";
        let mut module = text::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        privatize(&mut module, FunctionId(1));
        assert_eq!(validate(&module), Ok(()));
        let host = text::print(&module);
        expect![[r#"
            kernel k(p: float*) {
            }

            host f(x: float*, y: float*, z: float*, n: int) {
              let _sum#5: float = 0.0f;
              for i: int = 0; i < n; i += 1 {
                runtime cudaMemset((x as void*), 0, 4ul);
                launch k<<<[1u, 1u, 1u], [1u, 1u, 1u]>>>((y + i));
                *x += 1.0f;
                y[1] += 2.0f;
                _sum = (_sum + 3.0f);
              }
              if (_sum != 0.0f) {
                z[2] += _sum;
              }
            }
        "#]]
        .assert_eq(&host);
    }

    #[test]
    fn a_place_that_shared_memory_tells_may_move() {
        privatized(
            "let shared s: int; let shared sums: float[4];
             for i: int = 0; i < n; i += 1 { s = i; atomic add(w[s], x[i]); atomic add(sums[0], x[i]); }",
            expect![[r#"
                kernel k(w: float*, x: float*, n: int) {
                  let shared s: int;
                  let shared sums: float[4];
                  let _sum#6: float = 0.0f;
                  for i: int = 0; i < n; i += 1 {
                    s = i;
                    atomic add(w[s], x[i]);
                    _sum = (_sum + x[i]);
                  }
                  if (_sum != 0.0f) {
                    atomic add(sums[0], _sum);
                  }
                }
            "#]],
        );
    }

    #[test]
    fn what_is_looked_at_or_moves_stays() {
        privatized(
            "for i: int = 0; i < n; i += 1 { atomic add(w[i], x[i]); }
             for i_1: int = 0; i_1 < n; i_1 += 1 { atomic add(w[0], w[1]); }
             for i_2: int = 0; i_2 < n; i_2 += 1 { atomic add(w[0], 1.0f); barrier block; }
             for i_3: int = 0; i_3 < n; i_3 += 1 { atomic add(w[0], 1.0f); atomic exchange(w[0], 0.0f); }
             let k: int = 0;
             while (k < n) { k = (k + 1); atomic add(w[k], 1.0f); }",
            expect![[r#"
                kernel k(w: float*, x: float*, n: int) {
                  for i: int = 0; i < n; i += 1 {
                    atomic add(w[i], x[i]);
                  }
                  for i_1: int = 0; i_1 < n; i_1 += 1 {
                    atomic add(*w, w[1]);
                  }
                  for i_2: int = 0; i_2 < n; i_2 += 1 {
                    atomic add(*w, 1.0f);
                    barrier block;
                  }
                  for i_3: int = 0; i_3 < n; i_3 += 1 {
                    atomic add(*w, 1.0f);
                    atomic exchange(*w, 0.0f);
                  }
                  let k: int = 0;
                  while (k < n) {
                    k = (k + 1);
                    atomic add(w[k], 1.0f);
                  }
                }
            "#]],
        );
    }
}
