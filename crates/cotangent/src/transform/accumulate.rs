//! Decides what each `Accumulate` of a derivative becomes: `+=` where no other thread adds at the same time, else
//! `atomicAdd` with a note that says why, or `cotangent::add_anywhere` where the memory may be the thread's own as well.
//!
//! The proofs are in `analysis::race`.

use std::ops::ControlFlow;

pub use crate::analysis::race::AdjointParam;

use crate::analysis::race::{Addition, Sharing, additions};
use crate::ir::walk::{self, PartMut, own_variable, stmt_parts_mut};
use crate::ir::{
    AtomicOp, BinaryOp, Block, Expr, ExprKind, Function, FunctionId, LocalId, Module, Name, Place, PlaceKind, Scope,
    Space, StmtKind, Storage,
};

/// How the note begins where threads of other launches add.
pub(super) const OTHER_STREAMS: &str = "other streams";

/// Makes every `Accumulate` of a derivative an assignment or an atomic.
pub fn accumulate(module: &mut Module, function: FunctionId, adjoints: &[AdjointParam]) {
    if module.functions[function].space == Space::Host {
        // There is nothing to prove.
        return accumulate_plainly(module, function);
    }
    let additions = additions(module, function, adjoints);
    write(module, function, adjoints, additions);
}

/// The same without any proof: plain is only what names a variable of the thread itself, and what host code adds.
pub fn accumulate_atomically(module: &mut Module, function: FunctionId) {
    let mut additions = Vec::new();
    let known = &module.functions[function];
    walk::each_stmt(&known.body, &mut |stmt| {
        if let StmtKind::Accumulate { place, .. } = &stmt.kind {
            let is_own = own_variable(place).is_some_and(|local| known.locals[local].storage == Storage::Private);
            additions.push(if is_own || known.space == Space::Host {
                Addition::Plain
            } else {
                Addition::Atomic(Sharing::UnknownMemory, Scope::Device)
            });
        }
    });
    write(module, function, &[], additions);
}

/// The same as if each thread were alone: that of the host is, and tests must notice it of others.
pub(super) fn accumulate_plainly(module: &mut Module, function: FunctionId) {
    let mut additions = Vec::new();
    walk::each_stmt(&module.functions[function].body, &mut |stmt| {
        additions.extend(matches!(stmt.kind, StmtKind::Accumulate { .. }).then_some(Addition::Plain));
    });
    write(module, function, &[], additions);
}

fn write(module: &mut Module, function: FunctionId, adjoints: &[AdjointParam], additions: Vec<Addition>) {
    let mut body = std::mem::take(&mut module.functions[function].body);
    let ctx = Ctx { module, function: &module.functions[function], adjoints };
    ctx.block(&mut body, &mut additions.into_iter());
    module.functions[function].body = body;
}

struct Ctx<'m> {
    module: &'m Module,
    function: &'m Function,
    adjoints: &'m [AdjointParam],
}

impl Ctx<'_> {
    fn block(&self, block: &mut Block, additions: &mut impl Iterator<Item = Addition>) {
        for stmt in block {
            if let StmtKind::Accumulate { place, value } = &stmt.kind {
                let addition = additions.next().expect("there is a decision for each accumulation");
                let note = self.note(place, addition);
                stmt.kind = added(place.clone(), value.clone(), addition);
                stmt.note = note.or(stmt.note.take());
            } else {
                let _ = stmt_parts_mut(stmt, &mut |part| {
                    if let PartMut::Block(inner) = part {
                        self.block(inner, additions);
                    }
                    ControlFlow::<()>::Continue(())
                });
            }
        }
    }

    /// Why an addition is atomic, in the words of the primal program.
    fn note(&self, place: &Place, addition: Addition) -> Option<Name> {
        let Addition::Atomic(sharing, _) = addition else { return None };
        let element = self.spelling(place);
        Some(match (sharing, element) {
            (Sharing::UnknownMemory, _) => "other threads may add here too".into(),
            (Sharing::SomeThreads, Some(element)) => format!("threads may share {element}").into(),
            (Sharing::SomeThreads, None) => "threads may share this element".into(),
            (Sharing::OtherStreams, Some(element)) => format!("{OTHER_STREAMS} may add to {element} too").into(),
            (Sharing::OtherStreams, None) => format!("{OTHER_STREAMS} may add to this element too").into(),
        })
    }

    /// A short spelling of what the place is the adjoint of.
    fn spelling(&self, place: &Place) -> Option<String> {
        match &place.kind {
            PlaceKind::Local(local) => Some(self.primal_name(*local)),
            PlaceKind::Global(global) => Some(self.module.globals[*global].name.to_string()),
            PlaceKind::Field(base, _) => self.spelling(base),
            PlaceKind::Element(pointer, index) => {
                let ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) = &pointer.kind else { return None };
                let name = self.primal_name(*local);
                Some(if index.is_zero() { name } else { self.indexed(&name, index) })
            }
            PlaceKind::Index(base, index) => {
                let base = self.spelling(base)?;
                Some(self.indexed(&base, index))
            }
        }
    }

    fn indexed(&self, base: &str, index: &Expr) -> String {
        match &index.kind {
            ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => {
                format!("{base}[{}]", self.function.local_name(*local))
            }
            ExprKind::Int(value) => format!("{base}[{value}]"),
            ExprKind::Bool(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::Load(_)
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => format!("an element of {base}"),
        }
    }

    fn primal_name(&self, local: LocalId) -> String {
        let primal = self.adjoints.iter().find(|param| param.adjoint == local).map_or(local, |param| param.primal);
        self.function.local_name(primal).to_owned()
    }
}

/// The statement that adds a value to a place.
fn added(place: Place, value: Expr, addition: Addition) -> StmtKind {
    match addition {
        Addition::Plain => {
            let sum = Expr::binary(BinaryOp::Add, Expr::load(place.clone()), value);
            StmtKind::Assign { place, value: sum }
        }
        Addition::Atomic(_, scope) => {
            StmtKind::Atomic { op: AtomicOp::Add, scope, place, value, compare: None, into: None }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{text, validate};
    use expect_test::expect;

    #[test]
    fn private_adds_are_plain_and_shared_ones_atomic_with_one_note_a_run() {
        let mut module = text::parse(
            "device f(x: const float*, y: const float*, d_x: float*, d_y: float*, k: int) {
               let t: float = 0.0f;
               t += x[k];
               d_y[k] += t;
               d_x[k] += t;
               d_x[k] += t;
               d_x[(k + 1)] += t;
             }",
        )
        .expect("the text is well-formed");
        let [x, y, d_x, d_y] = [0, 1, 2, 3].map(LocalId);
        let adjoints = [
            AdjointParam { adjoint: d_x, primal: x, is_shared: true, is_anywhere: false, is_contended: false },
            AdjointParam { adjoint: d_y, primal: y, is_shared: false, is_anywhere: false, is_contended: false },
        ];
        accumulate(&mut module, FunctionId(0), &adjoints);
        assert_eq!(validate(&module), Ok(()));
        expect![[r#"
            device f(x: const float*, y: const float*, d_x: float*, d_y: float*, k: int) {
              let t: float = 0.0f;
              t = (t + x[k]);
              d_y[k] = (d_y[k] + t);
              atomic add(d_x[k], t);
              atomic add(d_x[k], t);
              atomic add(d_x[(k + 1)], t);
            }
        "#]]
        .assert_eq(&text::print(&module));
        let notes: Vec<_> = module.functions[FunctionId(0)].body.iter().map(|stmt| stmt.note.as_deref()).collect();
        let (shared, run) = ("threads may share x[k]", "threads may share an element of x");
        assert_eq!(notes, [None, None, None, Some(shared), Some(shared), Some(run)]);
    }

    #[test]
    fn memory_of_an_unknown_caller_may_be_the_threads_own() {
        let mut module = text::parse(
            "device f(x: const float*, y: const float*, d_x: float*, d_y: float*, first: bool) {
               d_x[1] += 1.0f;
               d_y[1] += 2.0f;
               let d_p: float* = (first ? d_x : d_y);
               d_p[2] += 3.0f;
               let shared s: float[4];
               s[1] += 4.0f;
             }",
        )
        .expect("the text is well-formed");
        let [x, y, d_x, d_y] = [0, 1, 2, 3].map(LocalId);
        let adjoints = [
            AdjointParam { adjoint: d_x, primal: x, is_shared: true, is_anywhere: true, is_contended: false },
            AdjointParam { adjoint: d_y, primal: y, is_shared: true, is_anywhere: false, is_contended: false },
        ];
        accumulate(&mut module, FunctionId(0), &adjoints);
        assert_eq!(validate(&module), Ok(()));
        expect![[r#"
            device f(x: const float*, y: const float*, d_x: float*, d_y: float*, first: bool) {
              atomic anywhere add(d_x[1], 1.0f);
              atomic add(d_y[1], 2.0f);
              let d_p: float* = (first ? d_x : d_y);
              atomic anywhere add(d_p[2], 3.0f);
              let shared s: float[4];
              atomic add(s[1], 4.0f);
            }
        "#]]
        .assert_eq(&text::print(&module));
    }

    #[test]
    fn without_proofs_all_but_the_threads_own_variables_is_atomic() {
        let mut module = text::parse(
            "kernel k(x: const float*, y: float*, d_x: float*) {
               let i: int = (threadIdx.x as int);
               y[i] = x[i];
               let shared s: float[4];
               let a: float[4];
               a[1] += 1.0f;
               s[1] += 1.0f;
               let p: float* = &a[0];
               p[i] += 1.0f;
               d_x[i] += 1.0f;
             }",
        )
        .expect("the text is well-formed");
        accumulate_atomically(&mut module, FunctionId(0));
        let kinds = module.functions[FunctionId(0)].body.iter().filter_map(|stmt| {
            let is_atomic = matches!(stmt.kind, StmtKind::Atomic { .. });
            let is_left = matches!(stmt.kind, StmtKind::Accumulate { .. });
            let is_plain = stmt.as_assign().is_some();
            is_atomic.then_some('a').or(is_plain.then_some('p')).or(is_left.then_some('?'))
        });
        assert_eq!(kinds.collect::<String>(), "ppaaa");
    }
}
