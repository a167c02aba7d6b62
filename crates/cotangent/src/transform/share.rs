//! A value that a variable holds is not computed again: the variable is read.
//!
//! Where both sweeps of a loop run at once, the reverse sweep finds what it would compute again in the variables of the forward
//! sweep.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::known_values::Known;
use super::locals::rename;
use crate::analysis::locals::{Locals, locals};
use crate::analysis::touch::Touches;
use crate::ir::walk::{self, PartMut};
use crate::ir::{Block, Expr, ExprKind, Function, FunctionId, LocalId, Module, Place, PlaceKind, Stmt, StmtKind, Type};

/// Shares the values of one function.
pub(super) fn share(module: &mut Module, id: FunctionId) {
    let body = shared(module, &module.functions[id]);
    module.functions[id].body = body;
}

fn shared(module: &Module, original: &Function) -> Block {
    let uses = locals(original);
    let touches = Touches::new(module, original, &uses);
    let mut body = original.body.clone();
    let mut sharing = Sharing { uses: &uses, known: Known::new(&touches), replaced: HashMap::new() };
    sharing.block(&mut body);
    body
}

struct Sharing<'t, 'f> {
    uses: &'t Locals<'f>,
    known: Known<'t, 'f, LocalId>,
    /// Variables that hold what another holds.
    replaced: HashMap<LocalId, LocalId>,
}

impl Sharing<'_, '_> {
    fn block(&mut self, block: &mut Block) {
        let mark = self.known.mark();
        block.retain_mut(|stmt| self.stmt(stmt));
        self.known.forget_since(mark);
    }

    /// Whether a statement stays.
    fn stmt(&mut self, stmt: &mut Stmt) -> bool {
        if !self.replaced.is_empty() {
            rename(std::slice::from_mut(stmt), &self.replaced);
        }
        if stmt.kind.is_loop() {
            self.known.run(stmt);
        }
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            match part {
                PartMut::Expr(expr) => self.rewrite(expr),
                PartMut::Place(place) => self.rewrite_place(place),
                PartMut::Block(inner) => self.block(inner),
            }
            ControlFlow::<()>::Continue(())
        });
        self.known.run(stmt);
        let StmtKind::Declare { local, init: Some(init) } = &stmt.kind else { return true };
        if !self.uses[*local].is_constant() {
            return true;
        }
        if let ExprKind::Load(Place { kind: PlaceKind::Local(other), .. }) = &init.kind
            && self.uses[*other].is_constant()
            && matches!(init.ty, Type::Float(_))
        {
            self.replaced.insert(*local, *other);
            return false;
        }
        if is_computed(init) {
            self.known.learn(init, *local);
        }
        true
    }

    fn rewrite(&mut self, expr: &mut Expr) {
        if is_computed(expr)
            && let Some(holder) = self.known.holder(expr)
        {
            expr.kind = ExprKind::Load(Place::local(holder, expr.ty.clone()));
            return;
        }
        let _ = walk::expr_parts_mut(expr, &mut |part| {
            match part {
                PartMut::Expr(operand) => self.rewrite(operand),
                PartMut::Place(place) => self.rewrite_place(place),
                PartMut::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
    }

    fn rewrite_place(&mut self, place: &mut Place) {
        let _ = walk::place_parts_mut(place, &mut |part| {
            match part {
                PartMut::Expr(operand) => self.rewrite(operand),
                PartMut::Place(base) => self.rewrite_place(base),
                PartMut::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

/// Whether an expression is a number that takes work.
fn is_computed(expr: &Expr) -> bool {
    let takes_work = match &expr.kind {
        ExprKind::Binary(..) | ExprKind::Math(..) | ExprKind::Select(..) => true,
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Cast(_)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => false,
    };
    takes_work && matches!(expr.ty, Type::Float(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{text, validate};

    fn shared(body: &str) -> String {
        let source = format!("host f(x: double*, y: double*, n: int) {{ {body} }}");
        let mut module = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        share(&mut module, FunctionId(0));
        assert_eq!(validate(&module), Ok(()), "{}", text::print(&module));
        text::print(&module)
    }

    #[test]
    fn what_a_variable_holds_is_read_from_it() {
        let text = shared(
            "let a: double = (x[n] * 2.0); let b: double = (x[n] * 2.0); let c: double = (b + 1.0);
             let d: double = (a + 1.0); y[0] = (c * d);",
        );
        assert_eq!(text.matches("let ").count(), 2, "{text}");
    }

    #[test]
    fn what_has_changed_since_is_computed_again() {
        for change in ["x[0] = 1.0;", "n = 3;", "for i: int = 0; i < 2; i += 1 { x[i] = 1.0; }"] {
            let text = shared(&format!(
                "let a: double = (x[n] * 2.0); {change} let b: double = (x[n] * 2.0); y[0] = (a + b);"
            ));
            assert_eq!(text.matches("x[n]").count(), 2, "{text}");
        }
        let in_loop = shared(
            "let a: double = (x[n] * 2.0); y[1] = a;
             for i: int = 0; i < 2; i += 1 { let b: double = (x[n] * 2.0); y[0] = b; x[n] = 3.0; }",
        );
        assert_eq!(in_loop.matches("* 2.0").count(), 2, "{in_loop}");
        let other_branch = shared(
            "if (n < 3) { let a: double = (x[n] * 2.0); y[1] = a; } else { let b: double = (x[n] * 2.0); y[0] = b; }",
        );
        assert_eq!(other_branch.matches("* 2.0").count(), 2, "{other_branch}");
        let volatile = "let v: volatile double* = (x as volatile double*); let a: double = (v[n] * 2.0); let b: double = (v[n] * 2.0); y[0] = (a + b);";
        assert_eq!(shared(volatile).matches("v[n]").count(), 2);
        let not_kept = shared("let a: double = (x[n] * 2.0); a = 1.0; let b: double = (x[n] * 2.0); y[0] = (a + b);");
        assert_eq!(not_kept.matches("* 2.0").count(), 2, "{not_kept}");
    }
}
