//! A function of the math library that both sweeps call with the same values is called once.
//!
//! Host compilers must call it each time, since it may set `errno`.

use std::ops::ControlFlow;

use super::known_values::Known;
use super::locals::{NewLocals, declare};
use crate::analysis::locals::locals;
use crate::analysis::touch::Touches;
use crate::ir::walk::{self, Part, PartMut};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, Function, FunctionId, LocalId, Module, Place, Stmt, StmtKind, Type};

/// Functions that are a few instructions: a name for their result would only be in the way.
const CHEAP: [&str; 10] =
    ["fabs", "fabsf", "fmin", "fminf", "fmax", "fmaxf", "copysign", "copysignf", "__fdividef", "fdividef"];

/// Names what is called more than once in one function.
pub(super) fn call_once(module: &mut Module, id: FunctionId) {
    let function = &module.functions[id];
    let uses = locals(function);
    let touches = Touches::new(module, function, &uses);
    let mut numbering = Numbering { known: Known::new(&touches), calls: Vec::new(), times: Vec::new() };
    numbering.block(&function.body);
    let Numbering { calls, times, .. } = numbering;
    if times.iter().all(|times| *times < 2) {
        return;
    }
    let mut function = function.clone();
    let mut body = std::mem::take(&mut function.body);
    let names = NewLocals::new(module, &function);
    let holders = vec![None; times.len()];
    let mut naming = Naming { function, names, calls: calls.into_iter(), times, holders, declarations: Block::new() };
    naming.block(&mut body);
    module.functions.set(id, Function { body, ..naming.function });
}

/// Whether an expression is a call that takes time.
fn is_call(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Math(name, _) if !CHEAP.contains(&&**name)) && matches!(expr.ty, Type::Float(_))
}

/// Whether a statement declares the variable that the next one fills.
fn is_filled_by(stmt: &Stmt, next: &Stmt) -> bool {
    matches!((&stmt.kind, &next.kind), (StmtKind::Declare { local, init: None }, StmtKind::Call { into: Some(into), .. })
        if into.as_local() == Some(*local))
}

/// Whether an operand is evaluated only if the one before it says so.
fn is_conditional(expr: &Expr, position: usize) -> bool {
    position > 0 && matches!(expr.kind, ExprKind::Select(..) | ExprKind::Binary(BinaryOp::And | BinaryOp::Or, ..))
}

/// Gives every call the number of the first that has the same value.
struct Numbering<'t, 'f> {
    known: Known<'t, 'f, usize>,
    /// For each call in the order of the text its number; none for one that stays as it is.
    calls: Vec<Option<usize>>,
    /// By number, how often its value is asked for.
    times: Vec<usize>,
}

impl Numbering<'_, '_> {
    fn block(&mut self, block: &[Stmt]) {
        let mark = self.known.mark();
        for stmt in block {
            let is_loop = stmt.kind.is_loop();
            if is_loop {
                self.known.run(stmt);
            }
            let _ = walk::stmt_parts(stmt, &mut |part| {
                match part {
                    // What a loop's header computes is computed in each iteration.
                    Part::Expr(expr) => self.expr(expr, !is_loop),
                    Part::Place(place) => self.place(place, !is_loop),
                    Part::Block(inner) => self.block(inner),
                }
                ControlFlow::<()>::Continue(())
            });
            self.known.run(stmt);
        }
        self.known.forget_since(mark);
    }

    /// `is_sure` says that the expression is evaluated whenever its statement runs.
    fn expr(&mut self, expr: &Expr, is_sure: bool) {
        let mut position = 0;
        let _ = walk::expr_parts(expr, &mut |part| {
            let is_sure = is_sure && !is_conditional(expr, position);
            match part {
                Part::Expr(operand) => self.expr(operand, is_sure),
                Part::Place(place) => self.place(place, is_sure),
                Part::Block(_) => {}
            }
            position += 1;
            ControlFlow::<()>::Continue(())
        });
        if is_call(expr) {
            let number = self.known.holder(expr).or_else(|| is_sure.then(|| self.first(expr)));
            if let Some(number) = number {
                self.times[number] += 1;
            }
            self.calls.push(number);
        }
    }

    fn place(&mut self, place: &Place, is_sure: bool) {
        let _ = walk::place_parts(place, &mut |part| {
            match part {
                Part::Expr(operand) => self.expr(operand, is_sure),
                Part::Place(base) => self.place(base, is_sure),
                Part::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
    }

    fn first(&mut self, expr: &Expr) -> usize {
        let number = self.times.len();
        self.times.push(0);
        self.known.learn(expr, number);
        number
    }
}

/// Puts the values of calls in variables. Goes the same way as `Numbering`.
struct Naming {
    function: Function,
    names: NewLocals,
    calls: std::vec::IntoIter<Option<usize>>,
    times: Vec<usize>,
    holders: Vec<Option<LocalId>>,
    /// Those that come before the statement at hand.
    declarations: Block,
}

impl Naming {
    fn block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(block) {
            let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
                match part {
                    PartMut::Expr(expr) => self.expr(expr),
                    PartMut::Place(place) => self.place(place),
                    PartMut::Block(inner) => {
                        block.append(&mut self.declarations);
                        self.block(inner);
                    }
                }
                ControlFlow::<()>::Continue(())
            });
            // A variable and the call that fills it stay together.
            let end = block.len() - usize::from(block.last().is_some_and(|before| is_filled_by(before, &stmt)));
            block.splice(end..end, self.declarations.drain(..));
            block.push(stmt);
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        let _ = walk::expr_parts_mut(expr, &mut |part| {
            match part {
                PartMut::Expr(operand) => self.expr(operand),
                PartMut::Place(place) => self.place(place),
                PartMut::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
        let ExprKind::Math(name, _) = &expr.kind else { return };
        if !is_call(expr) {
            return;
        }
        let Some(number) = self.calls.next().flatten().filter(|number| self.times[*number] > 1) else { return };
        let holder = self.holders[number].unwrap_or_else(|| {
            let wanted = format!("_{}", name.rsplit("::").next().unwrap_or(name).trim_start_matches('_'));
            let holder = self.names.add(&mut self.function, &wanted, expr.ty.clone());
            self.declarations.push(declare(holder, Some(expr.clone())).at(expr.span));
            holder
        });
        self.holders[number] = Some(holder);
        expr.kind = ExprKind::Load(Place::local(holder, expr.ty.clone()));
    }

    fn place(&mut self, place: &mut Place) {
        let _ = walk::place_parts_mut(place, &mut |part| {
            match part {
                PartMut::Expr(operand) => self.expr(operand),
                PartMut::Place(base) => self.place(base),
                PartMut::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{text, validate};

    /// How often `exp` is called when repeated calls have names.
    fn calls(body: &str) -> usize {
        let source = format!("host f(x: double*, y: double*, a: double, n: int) {{ {body} }}");
        let mut module = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        call_once(&mut module, FunctionId(0));
        assert_eq!(validate(&module), Ok(()), "{}", text::print(&module));
        text::print(&module).matches("exp(").count()
    }

    #[test]
    fn the_same_call_is_made_once() {
        assert_eq!(calls("y[0] = exp(a); y[1] = (exp(a) * exp(x[n])); y[2] = exp(x[n]);"), 2);
        assert_eq!(calls("y[0] = exp(exp(a)); y[1] = exp(exp(a));"), 2);
        assert_eq!(calls("y[0] = exp(a); for i: int = 0; i < n; i += 1 { y[i] = exp(a); }"), 1);
    }

    #[test]
    fn other_values_and_other_ways_are_called_again() {
        assert_eq!(calls("y[0] = exp(a); a = 2.0; y[1] = exp(a);"), 2);
        assert_eq!(calls("y[0] = exp(y[0]); y[1] = exp(y[0]);"), 2);
        assert_eq!(calls("if (n < 3) { y[0] = exp(a); } else { y[1] = exp(a); }"), 2);
        assert_eq!(calls("for i: int = 0; i < n; i += 1 { y[i] = exp(a); a = (a + 1.0); } y[0] = exp(a);"), 2);
    }

    #[test]
    fn what_may_not_be_evaluated_is_not_evaluated_first() {
        assert_eq!(calls("y[0] = ((n < 3) ? exp(x[n]) : a); y[1] = ((n < 3) ? exp(x[n]) : a);"), 2);
        assert_eq!(calls("y[0] = exp(x[n]); y[1] = ((n < 3) ? exp(x[n]) : a);"), 1);
    }
}
