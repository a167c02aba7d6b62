//! Exchanges within a warp name the threads that run them.
//!
//! A mask may name threads that have returned: `if (threadIdx.x < 16)` around a shuffle with the full mask is valid at
//! the end of a kernel, since the others are gone by then. In a derivative they are not gone: they go on to the reverse
//! sweep, and wait there at the reverse of an earlier barrier. So the threads that take a branch are counted by a vote of
//! all that come to it, and exchanges inside name these alone.

use super::super::locals::{NewLocals, declare};
use crate::analysis::Uniform;
use crate::ir::walk;
use crate::ir::{
    BarrierKind, BinaryOp, Block, CollectiveOp, Expr, ExprKind, Function, LocalId, Module, Place, Space, Stmt,
    StmtKind, Type, UnaryOp,
};

const ALL: i128 = 0xffff_ffff;

/// Changes the masks of a kernel where threads may wait elsewhere. Calls have been inlined and jumps removed.
pub(in crate::transform) fn masks_of_those_present(module: &Module, function: &mut Function) {
    if function.space != Space::Kernel {
        return;
    }
    let known = function.clone();
    let uniform = Uniform::in_module(module, &known);
    if !is_needed(&uniform, &known.body, &mut false) {
        return;
    }
    let names = NewLocals::new(module, function);
    let mut body = std::mem::take(&mut function.body);
    let mut ctx = Ctx { uniform, function, names };
    ctx.block(&mut body, None);
    function.body = body;
}

/// Whether threads may meet before a branch that not all of a warp take, and in which some exchange values.
fn is_needed(uniform: &Uniform<'_>, block: &Block, has_met: &mut bool) -> bool {
    block.iter().any(|stmt| {
        let found = match &stmt.kind {
            StmtKind::If { cond, then_block, else_block } => {
                let is_split = *has_met && !uniform.is_same_in_warp(cond);
                let inner = [then_block, else_block];
                is_split && inner.iter().any(|block| exchanges(block))
                    || inner.iter().any(|block| is_needed(uniform, block, has_met))
            }
            StmtKind::For(head) => is_needed(uniform, &head.body, has_met),
            StmtKind::While { body, .. } => is_needed(uniform, body, has_met),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
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
        };
        *has_met |= is_meeting(stmt);
        found
    })
}

/// Whether threads wait for each other in a statement.
fn is_meeting(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Barrier { kind, .. } if kind.is_of_block()) || is_exchange(stmt)
}

/// Whether the threads that a mask names wait for each other in a statement.
fn is_exchange(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Barrier { kind, .. } => *kind == BarrierKind::Warp,
        StmtKind::Collective { mask, .. } => mask.is_some(),
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::If { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Atomic { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => false,
    }
}

fn exchanges(block: &Block) -> bool {
    let mut is_found = false;
    walk::each_stmt(block, &mut |stmt| is_found |= is_exchange(stmt));
    is_found
}

struct Ctx<'f, 'u> {
    uniform: Uniform<'u>,
    function: &'f mut Function,
    names: NewLocals,
}

impl Ctx<'_, '_> {
    /// Rewrites what the threads `lanes` of a warp run; all of them if none.
    fn block(&mut self, block: &mut Block, lanes: Option<LocalId>) {
        let mut out = Block::new();
        for mut stmt in std::mem::take(block) {
            let span = stmt.span;
            match &mut stmt.kind {
                StmtKind::If { cond, then_block, else_block } if exchanges(then_block) || exchanges(else_block) => {
                    if self.uniform.is_same_in_warp(cond) {
                        self.block(then_block, lanes);
                        self.block(else_block, lanes);
                    } else {
                        let taken = self.names.add(self.function, "_lanes", Type::UINT);
                        out.push(
                            declare(taken, None).at(span).noted("the threads of the warp that are in this branch"),
                        );
                        let one = Expr::new(ExprKind::Int(1), Type::INT);
                        let vote = ExprKind::Select(Box::new(cond.clone()), Box::new(one), Box::new(Expr::int(0)));
                        let kind = StmtKind::Collective {
                            op: CollectiveOp::Ballot,
                            mask: Some(mask(lanes)),
                            args: vec![Expr::new(vote, Type::INT)],
                            into: Some(Place::local(taken, Type::UINT)),
                        };
                        out.push(Stmt::new(kind).at(span));
                        self.block(then_block, Some(taken));
                        if exchanges(else_block) {
                            let others = self.names.add(self.function, "_lanes", Type::UINT);
                            let not = Expr::unary(UnaryOp::BitNot, mask(Some(taken)));
                            let value = Expr::binary(BinaryOp::BitAnd, mask(lanes), not);
                            out.push(declare(others, Some(value)).at(span));
                            self.block(else_block, Some(others));
                        }
                    }
                }
                StmtKind::For(head) => self.block(&mut head.body, lanes),
                StmtKind::While { body, .. } => self.block(body, lanes),
                StmtKind::Barrier { kind: BarrierKind::Warp, argument, .. } => {
                    *argument = argument.take().map(|named| present(named, lanes));
                }
                StmtKind::Collective { mask: Some(named), .. } => *named = present(named.clone(), lanes),
                StmtKind::Declare { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Accumulate { .. }
                | StmtKind::Call { .. }
                | StmtKind::If { .. }
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
                | StmtKind::Opaque { .. } => {}
            }
            out.push(stmt);
        }
        *block = out;
    }
}

/// The threads of a mask that are present.
fn present(named: Expr, lanes: Option<LocalId>) -> Expr {
    match (lanes, is_all(&named)) {
        (None, _) => named,
        (Some(_), true) => mask(lanes),
        (Some(_), false) => Expr::binary(BinaryOp::BitAnd, named, mask(lanes)),
    }
}

fn is_all(named: &Expr) -> bool {
    named.uncast().as_int().is_some_and(|value| value == ALL || value == -1)
}

fn mask(lanes: Option<LocalId>) -> Expr {
    match lanes {
        Some(lanes) => Expr::load(Place::local(lanes, Type::UINT)),
        None => Expr::new(ExprKind::Int(ALL), Type::UINT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{FunctionId, text, validate};

    /// The masks of a kernel's exchanges, in order.
    fn masks(body: &str) -> Vec<String> {
        let all = "4294967295u";
        let text =
            format!("kernel k(x: float*, n: int) {{ let t: unsigned int = threadIdx.x; let v: float = x[t]; {body} }}");
        let text = text.replace("SHUFFLE", &format!("v = collective shuffle_down[{all}](v, 1u, 32);"));
        let mut module = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut function = module.functions[FunctionId(0)].clone();
        masks_of_those_present(&module, &mut function);
        module.functions[FunctionId(0)] = function;
        assert_eq!(validate(&module), Ok(()), "{text}");
        let printed = text::print(&module);
        let masks =
            printed.lines().filter_map(|line| Some(line.split_once('[')?.1).filter(|_| line.contains("collective")));
        masks.filter_map(|rest| Some(rest.split_once(']')?.0.to_owned())).collect()
    }

    #[test]
    fn a_branch_after_a_meeting_names_its_own_threads() {
        let all = "4294967295u";
        assert_eq!(masks("barrier block; if (t < 16u) { SHUFFLE }"), [all, "_lanes"]);
        assert_eq!(masks("SHUFFLE if (t < 16u) { SHUFFLE }"), [all, all, "_lanes"]);
        assert_eq!(masks("barrier block; if (t < 20u) { if (t < 10u) { SHUFFLE } else { SHUFFLE } }").len(), 4);
        // Nobody waits elsewhere.
        assert_eq!(masks("if (t < 16u) { SHUFFLE }"), [all]);
        assert_eq!(masks("barrier block; SHUFFLE"), [all]);
        // Whole warps.
        assert_eq!(masks("barrier block; if (t < 64u) { SHUFFLE }"), [all]);
        assert_eq!(masks("barrier block; let w: unsigned int = (t / 32u); if (w == 0u) { SHUFFLE }"), [all]);
        assert_eq!(masks("barrier block; if (n > 3) { SHUFFLE }"), [all]);
        // All threads of a warp hold what they voted for, unless some launches do not vote.
        let vote = format!("v_1 = collective any[{all}](1);");
        let voted = |begin: &str, vote: &str| {
            masks(&format!("let v_1: int{begin}; {vote} barrier block; if (v_1 < 16) {{ SHUFFLE }}"))
        };
        assert_eq!(voted("", &vote), [all, all]);
        assert_eq!(voted(" = (t as int)", &format!("if (n > 3) {{ {vote} }}")), [all, all, "_lanes"]);
        // A block that may have rows that are no whole warps.
        let row = "let row: unsigned int = threadIdx.y; x[row] = 1.0f;";
        assert_eq!(masks(&format!("{row} barrier block; if (t < 64u) {{ SHUFFLE }}")), [all, "_lanes"]);
        assert_eq!(masks("barrier block; if ((t < 64u) && (threadIdx.y == 0u)) { SHUFFLE }"), [all, "_lanes"]);
    }
}
