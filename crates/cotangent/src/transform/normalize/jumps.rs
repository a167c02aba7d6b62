//! Replaces early returns, `break`, `continue` and `switch` by conditions.
//!
//! `if (c) return; rest` becomes `if (!c) { rest }`. Where a jump leaves several blocks at once, a flag is set and what
//! would have been skipped is put under a test of it. A loop that is left early keeps one `if (stop) break;` at the end
//! of its body: how often it ran is then known as for any other loop.

use std::collections::VecDeque;

use super::super::locals::{NewLocals, assign, copy_block, declare};
use crate::ir::{
    BinaryOp, Block, Case, Expr, ExprKind, Function, LocalId, LoopTest, Module, Place, Stmt, StmtKind, Type, UnaryOp,
};
use crate::source::Span;

/// Removes the jumps of a function's body. A result is returned by the last statement.
pub(in crate::transform) fn remove_jumps(module: &Module, function: &mut Function) {
    let mut body = std::mem::take(&mut function.body);
    let names = NewLocals::new(module, function);
    let result_type = function.result.clone();
    let mut ctx = Ctx { function, names, result: None };
    let has_early_return = has_jump(body.split_last().map_or(&[], |(_, rest)| rest), Kind::Return)
        || body.last().is_some_and(|last| !matches!(last.kind, StmtKind::Return(_)) && contains(last, Kind::Return));
    if has_early_return && result_type != Type::Void {
        ctx.result = Some(ctx.names.add(ctx.function, "_result", result_type.clone()));
    } else if let Some(Stmt { kind: StmtKind::Return(Some(_)), .. }) = body.last() {
        // The only return stands at the end already.
        let last = body.pop();
        let mut block = ctx.block(body, &Jumps::of_function());
        block.extend(last);
        function.body = block;
        return;
    }
    let mut block = ctx.block(body, &Jumps::of_function());
    if let Some(result) = ctx.result {
        block.insert(0, declare(result, None));
        block.push(Stmt::new(StmtKind::Return(Some(Expr::load(Place::local(result, result_type))))));
    }
    function.body = block;
}

/// The kinds of jumps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Break,
    Continue,
    Return,
}

/// What becomes of a jump that nothing follows in its block.
#[derive(Clone, PartialEq)]
enum Action {
    /// It stays, for whoever looks at the block next.
    Keep,
    /// These flags are set.
    Set(Vec<LocalId>),
}

#[derive(Clone)]
struct Jumps {
    break_: Action,
    continue_: Action,
    return_: Action,
}

impl Jumps {
    fn of_function() -> Jumps {
        Jumps { break_: Action::Keep, continue_: Action::Keep, return_: Action::Set(Vec::new()) }
    }

    fn of(&self, kind: Kind) -> &Action {
        match kind {
            Kind::Break => &self.break_,
            Kind::Continue => &self.continue_,
            Kind::Return => &self.return_,
        }
    }

    /// The same, with one more flag set by each jump that does not stay.
    fn also(&self, flag: LocalId) -> Jumps {
        let also = |action: &Action| match action {
            Action::Keep => Action::Keep,
            Action::Set(flags) => Action::Set([flags.as_slice(), &[flag]].concat()),
        };
        Jumps { break_: also(&self.break_), continue_: also(&self.continue_), return_: also(&self.return_) }
    }
}

struct Ctx<'a> {
    function: &'a mut Function,
    names: NewLocals,
    result: Option<LocalId>,
}

impl Ctx<'_> {
    /// The block without the jumps that `jumps` replaces.
    fn block(&mut self, block: Block, jumps: &Jumps) -> Block {
        let mut out = Block::new();
        let mut rest = VecDeque::from(block);
        while let Some(Stmt { kind, span, note }) = rest.pop_front() {
            match kind {
                StmtKind::Break => return self.jump(out, Kind::Break, None, jumps, span),
                StmtKind::Continue => return self.jump(out, Kind::Continue, None, jumps, span),
                StmtKind::Return(value) => return self.jump(out, Kind::Return, value, jumps, span),
                StmtKind::If { cond, then_block, else_block } => {
                    let branches = (cond, then_block, else_block);
                    if self.branch(&mut out, branches, &mut rest, jumps, span) {
                        return out;
                    }
                }
                StmtKind::For(mut for_loop) => {
                    let (body, flag) = self.loop_body(&mut out, std::mem::take(&mut for_loop.body), jumps);
                    for_loop.body = body;
                    out.push(Stmt::new(StmtKind::For(for_loop)).at(span));
                    if self.unless(&mut out, flag, &mut rest, jumps) {
                        return out;
                    }
                }
                StmtKind::While { cond, body, test } => {
                    let (cond, body) = merge_leading_break(cond, body, test);
                    let (body, flag) = self.loop_body(&mut out, body, jumps);
                    out.push(Stmt::new(StmtKind::While { cond, body, test }).at(span));
                    if self.unless(&mut out, flag, &mut rest, jumps) {
                        return out;
                    }
                }
                StmtKind::Switch { value, cases } => {
                    let chain = self.switch(&mut out, value, &cases, span);
                    chain.into_iter().rev().for_each(|stmt| rest.push_front(stmt));
                }
                kind @ (StmtKind::Declare { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Accumulate { .. }
                | StmtKind::Call { .. }
                | StmtKind::Barrier { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::Collective { .. }
                | StmtKind::Launch(_)
                | StmtKind::Runtime { .. }
                | StmtKind::Push { .. }
                | StmtKind::Pop { .. }
                | StmtKind::Opaque { .. }) => out.push(Stmt { kind, span, note }),
            }
        }
        out
    }

    /// Ends a block with a jump; nothing after it is reached.
    fn jump(&mut self, mut out: Block, kind: Kind, value: Option<Expr>, jumps: &Jumps, span: Span) -> Block {
        match jumps.of(kind) {
            Action::Keep => out.push(
                Stmt::new(match kind {
                    Kind::Break => StmtKind::Break,
                    Kind::Continue => StmtKind::Continue,
                    Kind::Return => StmtKind::Return(value),
                })
                .at(span),
            ),
            Action::Set(flags) => {
                if let (Some(value), Some(result)) = (value, self.result) {
                    out.push(assign(Place::local(result, value.ty.clone()), value).at(span));
                }
                out.extend(flags.iter().map(|flag| set(*flag)));
            }
        }
        out
    }

    /// An `if`. Returns whether it took the rest of the block into its branches.
    fn branch(
        &mut self,
        out: &mut Block,
        (cond, mut then_block, mut else_block): (Expr, Block, Block),
        rest: &mut VecDeque<Stmt>,
        jumps: &Jumps,
        span: Span,
    ) -> bool {
        let jumping: Vec<Kind> = [Kind::Break, Kind::Continue, Kind::Return]
            .into_iter()
            .filter(|kind| *jumps.of(*kind) != Action::Keep)
            .filter(|kind| has_jump(&then_block, *kind) || has_jump(&else_block, *kind))
            .collect();
        let takes_rest = !jumping.is_empty() && (ends(&then_block) || ends(&else_block) || rest.is_empty());
        if takes_rest {
            match (ends(&then_block), ends(&else_block)) {
                (true, true) | (false, false) => {}
                (true, false) => else_block.extend(rest.drain(..)),
                (false, true) => then_block.extend(rest.drain(..)),
            }
        }
        let gate = if jumping.is_empty() || takes_rest { None } else { Some(self.gate(out, &jumping, jumps)) };
        let inner = match gate {
            Some((flag, true)) => jumps.also(flag),
            Some((_, false)) | None => jumps.clone(),
        };
        let then_block = self.block(then_block, &inner);
        let else_block = self.block(else_block, &inner);
        out.extend(if_else(cond, then_block, else_block).map(|stmt| stmt.at(span)));
        takes_rest || self.unless(out, gate.map(|(flag, _)| flag), rest, jumps)
    }

    /// A flag that is set by each of these jumps, and whether it is a new one.
    fn gate(&mut self, out: &mut Block, jumping: &[Kind], jumps: &Jumps) -> (LocalId, bool) {
        let flags_of = |kind: &Kind| match jumps.of(*kind) {
            Action::Keep => &[],
            Action::Set(flags) => flags.as_slice(),
        };
        let common = jumping.first().and_then(|first| {
            flags_of(first).iter().find(|flag| jumping.iter().all(|kind| flags_of(kind).contains(flag)))
        });
        if let Some(flag) = common {
            return (*flag, false);
        }
        let flag = self.names.add(self.function, "_skip", Type::Bool);
        out.push(declare(flag, Some(Expr::new(ExprKind::Bool(false), Type::Bool))));
        (flag, true)
    }

    /// Puts the rest of a block under `!flag`. Returns whether there was a flag.
    fn unless(&mut self, out: &mut Block, flag: Option<LocalId>, rest: &mut VecDeque<Stmt>, jumps: &Jumps) -> bool {
        let Some(flag) = flag else { return false };
        let rest = self.block(std::mem::take(rest).into(), jumps);
        out.extend(if_else(opposite_of(flag_value(flag)), rest, Block::new()));
        true
    }

    /// The body of a loop, and the flag that says that the function has returned inside.
    fn loop_body(&mut self, out: &mut Block, body: Block, jumps: &Jumps) -> (Block, Option<LocalId>) {
        let returns = has_jump(&body, Kind::Return) && jumps.return_ != Action::Keep;
        let mut inner = Jumps {
            break_: Action::Keep,
            continue_: Action::Set(Vec::new()),
            return_: if returns { jumps.return_.clone() } else { Action::Keep },
        };
        let mut flag = None;
        if let (true, Action::Set(flags)) = (returns, &mut inner.return_) {
            if flags.is_empty() {
                let returned = self.names.add(self.function, "_returned", Type::Bool);
                out.push(declare(returned, Some(Expr::new(ExprKind::Bool(false), Type::Bool))));
                flags.push(returned);
            }
            flag = flags.first().copied();
        }
        // What follows a `continue` is put under a condition, and a `break` with it.
        let breaks_last = body.split_last().is_some_and(|(last, rest)| {
            is_plain_break(last) && !has_jump(rest, Kind::Break) && !has_jump(rest, Kind::Continue)
        });
        let mut stop = None;
        if returns || (has_jump(&body, Kind::Break) && !breaks_last) {
            let local = self.names.add(self.function, "_stop", Type::Bool);
            stop = Some(local);
            inner.break_ = Action::Set(vec![local]);
            if let Action::Set(flags) = &mut inner.return_ {
                flags.push(local);
            }
        }
        let Some(stop) = stop else { return (self.block(body, &inner), flag) };
        let mut block = vec![declare(stop, Some(Expr::new(ExprKind::Bool(false), Type::Bool)))];
        block.extend(self.block(body, &inner));
        let leave = StmtKind::If {
            cond: flag_value(stop),
            then_block: vec![Stmt::new(StmtKind::Break)],
            else_block: Block::new(),
        };
        block.push(Stmt::new(leave));
        (block, flag)
    }

    /// A switch as a chain of ifs, which may hold jumps to further out.
    fn switch(&mut self, out: &mut Block, value: Expr, cases: &[Case], span: Span) -> Block {
        let value = if matches!(value.kind, ExprKind::Load(_) | ExprKind::Int(_)) {
            value
        } else {
            let local = self.names.add(self.function, "_case", value.ty.clone());
            let ty = value.ty.clone();
            out.push(declare(local, Some(value)).at(span));
            Expr::load(Place::local(local, ty))
        };
        let leave = Jumps { break_: Action::Set(Vec::new()), continue_: Action::Keep, return_: Action::Keep };
        let mut default = Block::new();
        let mut arms = Vec::new();
        for (position, case) in cases.iter().enumerate() {
            let mut body = Block::new();
            for (later, case) in cases[position..].iter().enumerate() {
                // What another case falls through to is repeated, with variables of its own.
                let copy = if later == 0 {
                    case.body.clone()
                } else {
                    copy_block(&case.body, self.function, &mut self.names).0
                };
                body.extend(copy);
                if ends(&body) {
                    break;
                }
            }
            let body = self.block(body, &leave);
            if case.is_default {
                default = body;
            } else {
                arms.push((case, body));
            }
        }
        for (case, body) in arms.into_iter().rev() {
            let tests = case.values.iter().map(|number| {
                let constant = Expr::new(ExprKind::Int(*number), value.ty.clone());
                Expr::binary(BinaryOp::Equal, value.clone(), constant)
            });
            let cond = tests.reduce(|left, right| Expr::binary(BinaryOp::Or, left, right));
            let cond = cond.unwrap_or(Expr::new(ExprKind::Bool(false), Type::Bool));
            default = if_else(cond, body, default).into_iter().map(|stmt| stmt.at(span)).collect();
        }
        default
    }
}

/// `while (c) { if (d) break; rest }` is `while (c && !d) { rest }`.
fn merge_leading_break(cond: Expr, mut body: Block, test: LoopTest) -> (Expr, Block) {
    if test == LoopTest::After || !body.first().is_some_and(is_plain_break) {
        return (cond, body);
    }
    let StmtKind::If { cond: leave, .. } = body.remove(0).kind else { return (cond, body) };
    let stay = opposite_of(leave);
    let cond = if cond.kind == ExprKind::Bool(true) { stay } else { Expr::binary(BinaryOp::And, cond, stay) };
    merge_leading_break(cond, body, test)
}

/// `if (c) break;`, with no else.
fn is_plain_break(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::If { then_block, else_block, .. }
        if else_block.is_empty() && matches!(then_block.as_slice(), [Stmt { kind: StmtKind::Break, .. }]))
}

/// An `if` with the shorter condition; nothing if both branches are empty.
fn if_else(cond: Expr, then_block: Block, else_block: Block) -> Option<Stmt> {
    let kind = match (then_block.is_empty(), else_block.is_empty()) {
        (true, true) => return None,
        (true, false) => StmtKind::If { cond: opposite_of(cond), then_block: else_block, else_block: then_block },
        (false, _) => StmtKind::If { cond, then_block, else_block },
    };
    Some(Stmt::new(kind))
}

/// The opposite of a condition. Comparisons of floats keep their `!`: both may be false for what is no number.
fn opposite_of(cond: Expr) -> Expr {
    let span = cond.span;
    let opposite = |op: BinaryOp| match op {
        BinaryOp::Equal => Some(BinaryOp::NotEqual),
        BinaryOp::NotEqual => Some(BinaryOp::Equal),
        BinaryOp::Less => Some(BinaryOp::GreaterEqual),
        BinaryOp::GreaterEqual => Some(BinaryOp::Less),
        BinaryOp::Greater => Some(BinaryOp::LessEqual),
        BinaryOp::LessEqual => Some(BinaryOp::Greater),
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Remainder
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Offset
        | BinaryOp::Distance => None,
    };
    let expr = match cond.kind {
        ExprKind::Unary(UnaryOp::Not, inner) => *inner,
        ExprKind::Binary(BinaryOp::Or, left, right) => {
            Expr::binary(BinaryOp::And, opposite_of(*left), opposite_of(*right))
        }
        ExprKind::Binary(BinaryOp::And, left, right) => {
            Expr::binary(BinaryOp::Or, opposite_of(*left), opposite_of(*right))
        }
        ExprKind::Binary(op, left, right)
            if opposite(op).is_some()
                && (!matches!(left.ty, Type::Float(_)) || matches!(op, BinaryOp::Equal | BinaryOp::NotEqual)) =>
        {
            Expr::binary(opposite(op).unwrap_or(op), *left, *right)
        }
        kind @ (ExprKind::Bool(_)
        | ExprKind::Int(_)
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
        | ExprKind::Construct(_)) => Expr::unary(UnaryOp::Not, Expr { kind, ty: Type::Bool, span }),
    };
    expr.at(span)
}

fn flag_value(flag: LocalId) -> Expr {
    Expr::load(Place::local(flag, Type::Bool))
}

fn set(flag: LocalId) -> Stmt {
    assign(Place::local(flag, Type::Bool), Expr::new(ExprKind::Bool(true), Type::Bool))
}

/// Whether every way through a block ends in a jump.
fn ends(block: &[Stmt]) -> bool {
    block.last().is_some_and(|last| match &last.kind {
        StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) => true,
        StmtKind::If { then_block, else_block, .. } => ends(then_block) && ends(else_block),
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Barrier { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => false,
    })
}

/// Whether a block has a jump that leaves the block.
pub(super) fn has_jump(block: &[Stmt], kind: Kind) -> bool {
    block.iter().any(|stmt| contains(stmt, kind))
}

/// Whether a statement has a jump that leaves the statement.
fn contains(stmt: &Stmt, kind: Kind) -> bool {
    match &stmt.kind {
        StmtKind::Break => kind == Kind::Break,
        StmtKind::Continue => kind == Kind::Continue,
        StmtKind::Return(_) => kind == Kind::Return,
        StmtKind::If { then_block, else_block, .. } => has_jump(then_block, kind) || has_jump(else_block, kind),
        StmtKind::For(for_loop) => kind == Kind::Return && has_jump(&for_loop.body, kind),
        StmtKind::While { body, .. } => kind == Kind::Return && has_jump(body, kind),
        StmtKind::Switch { cases, .. } => kind != Kind::Break && cases.iter().any(|case| has_jump(&case.body, kind)),
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::Barrier { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{text, validate};
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: Expect) {
        let mut module = text::parse(text).expect("the text is well-formed");
        let copy = module.clone();
        for function in module.functions.iter_mut() {
            remove_jumps(&copy, function);
        }
        assert_eq!(validate(&module), Ok(()));
        expected.assert_eq(&text::print(&module));
    }

    #[test]
    fn an_early_return_becomes_a_guard() {
        check(
            "kernel k(x: float*, n: int) { if (n >= 3) { return; } x[0] = 1.0f; }",
            expect![[r#"
                kernel k(x: float*, n: int) {
                  if (n < 3) {
                    *x = 1.0f;
                  }
                }
            "#]],
        );
    }

    #[test]
    fn a_jump_out_of_a_loop_sets_flags() {
        check(
            "device f(x: float*, n: int) -> float {
               for i: int = 0; i < n; i += 1 {
                 if (x[i] < 0.0f) { continue; }
                 if (x[i] > 9.0f) { break; }
                 if (x[i] > 5.0f) { return x[i]; }
                 x[i] = 0.0f;
               }
               return 1.0f;
             }",
            expect![[r#"
                device f(x: float*, n: int) -> float {
                  let _result#3: float;
                  let _returned#4: bool = false;
                  for i: int = 0; i < n; i += 1 {
                    let _stop: bool = false;
                    if !(x[i] < 0.0f) {
                      if (x[i] > 9.0f) {
                        _stop = true;
                      } else if (x[i] > 5.0f) {
                        _result = x[i];
                        _returned = true;
                        _stop = true;
                      } else {
                        x[i] = 0.0f;
                      }
                    }
                    if _stop {
                      break;
                    }
                  }
                  if !_returned {
                    _result = 1.0f;
                  }
                  return _result;
                }
            "#]],
        );
    }

    #[test]
    fn cases_that_fall_through_are_repeated() {
        check(
            "kernel k(x: float*, n: int) {
               switch n {
                 case 1 { let t: float = 2.0f; x[0] = t; }
                 case 2 { if (x[1] > 0.0f) { break; } x[1] = 3.0f; break; }
                 case default { return; }
               }
               x[2] = 1.0f;
             }",
            expect![[r#"
                kernel k(x: float*, n: int) {
                  let _skip#3: bool = false;
                  if (n == 1) {
                    let t: float = 2.0f;
                    *x = t;
                    if !(x[1] > 0.0f) {
                      x[1] = 3.0f;
                    }
                  } else if (n == 2) {
                    if !(x[1] > 0.0f) {
                      x[1] = 3.0f;
                    }
                  } else {
                    _skip = true;
                  }
                  if !_skip {
                    x[2] = 1.0f;
                  }
                }
            "#]],
        );
    }
}
