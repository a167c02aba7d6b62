//! A block whose statements are moved and removed while it is asked which of them touch a variable.
//!
//! Blocks may have thousands of statements and as many variables, so nothing here goes through a whole block for one of
//! them: a statement keeps its number for as long as the block is worked on, what goes leaves a gap, and what is moved is
//! kept with the statement that it now stands before.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::{commutes, is_zero, is_zero_declaration, is_zero_of_any, settle_block, touches};
use crate::ir::walk::{self, Node, own_variable};
use crate::ir::{Block, Expr, ExprKind, LocalId, Place, PlaceKind, Stmt, StmtKind, Type};

/// A block in the making.
pub(super) struct Lines {
    lines: Vec<Line>,
    /// Which lines declare or mention a variable.
    touched: BTreeSet<(LocalId, usize)>,
    /// The lines that are more than declarations of zeros.
    others: BTreeSet<usize>,
}

/// A statement, if it is still there, and the declarations that were moved in front of it.
struct Line {
    moved: Block,
    stmt: Option<Stmt>,
}

impl Lines {
    pub(super) fn new(block: &mut Block) -> Lines {
        let mut touched = Vec::new();
        let mut others = BTreeSet::new();
        for (line, stmt) in block.iter().enumerate() {
            each_touched(stmt, |local| touched.push((local, line)));
            if !is_zero_of_any(stmt) {
                others.insert(line);
            }
        }
        let lines = std::mem::take(block).into_iter().map(|stmt| Line { moved: Block::new(), stmt: Some(stmt) });
        Lines { lines: lines.collect(), touched: touched.into_iter().collect(), others }
    }

    pub(super) fn into_block(self) -> Block {
        self.lines.into_iter().flat_map(|line| line.moved.into_iter().chain(line.stmt)).collect()
    }

    /// Moves each declaration of a zero down to its first use, and lets the first sum be the first value.
    pub(super) fn settle_all(&mut self) {
        for line in 0..self.lines.len() {
            for declaration in std::mem::take(&mut self.lines[line].moved) {
                let stays = self.settle(line, declaration);
                self.lines[line].moved.extend(stays);
            }
            if let Some(declaration) = self.lines[line].stmt.take_if(|stmt| is_zero_of_any(stmt)) {
                self.lines[line].stmt = self.settle(line + 1, declaration);
            }
        }
    }

    /// Moves the declaration of a zero down, which stands before the line `from`. Returns it if it stays.
    fn settle(&mut self, from: usize, declaration: Stmt) -> Option<Stmt> {
        let Some(local) = walk::declared_local(&declaration) else { return Some(declaration) };
        self.drop_dead_clearing(from, local);
        let mut touching = self.touching(from, local);
        let Some(first) = touching.next() else { return Some(declaration) };
        let is_last = touching.next().is_none();
        drop(touching);
        let Some(user) = &mut self.lines[first].stmt else { return Some(declaration) };
        if let StmtKind::Accumulate { place, value } | StmtKind::Assign { place, value } = &user.kind
            && place.as_local() == Some(local)
            && !walk::expr_mentions(value, local)
            && !matches!(value.ty, Type::Array(..))
        {
            let kind = StmtKind::Declare { local, init: Some(value.clone()) };
            if is_zero(value) {
                self.others.remove(&first);
            }
            *user = Stmt { kind, span: user.span, note: None };
            return None;
        }
        if let StmtKind::If { cond, then_block, else_block } = &mut user.kind
            && is_last
            && !walk::expr_mentions(cond, local)
            && let [in_then, in_else] =
                [&*then_block, &*else_block].map(|block| block.iter().any(|it| touches(it, local)))
            && in_then != in_else
        {
            let target = if in_then { then_block } else { else_block };
            target.insert(0, declaration);
            settle_block(target);
            return None;
        }
        let target = self.beginning_of(first);
        if target >= from && self.others.range(from..target).next().is_none() {
            return Some(declaration);
        }
        self.lines[target].moved.push(declaration);
        None
    }

    /// The line before which a declaration for a line belongs: a variable that a call gives its first value is declared in
    /// the same line of the text.
    fn beginning_of(&self, line: usize) -> usize {
        let Some(Stmt { kind: StmtKind::Call { into: Some(into), .. }, .. }) = self.stmt(line) else { return line };
        let before = self.others.range(..line).next_back().copied();
        let begins = |before: &usize| {
            matches!(self.stmt(*before), Some(Stmt { kind: StmtKind::Declare { local, init: None }, .. })
                if into.as_local() == Some(*local))
        };
        before.filter(begins).unwrap_or(line)
    }

    /// The last statement about an adjoint need not set it to zero.
    fn drop_dead_clearing(&mut self, from: usize, local: LocalId) {
        loop {
            let Some(last) = self.touching(from, local).next_back() else { return };
            match self.lines[last].stmt.as_ref().and_then(Stmt::as_assign) {
                Some((place, value)) if own_variable(place) == Some(local) && is_zero(value) => drop(self.remove(last)),
                Some(_) | None => return,
            }
        }
    }

    /// Hands the sum of a line over in the only branch that adds to it.
    pub(super) fn sink_all(&mut self) {
        for line in 0..self.lines.len() {
            if let Some((declared, user)) = self.only_branch(line)
                && let (Some(handed), Some(declaration)) = (self.remove(line), self.remove(declared))
            {
                each_touched(&handed, |local| {
                    self.touched.insert((local, user));
                });
                if let Some(Stmt { kind: StmtKind::If { then_block, .. }, .. }) = &mut self.lines[user].stmt {
                    then_block.insert(0, declaration);
                    then_block.push(handed);
                }
            }
        }
    }

    /// Where the variable that a line hands over is declared, and the branch that alone adds to it.
    fn only_branch(&self, line: usize) -> Option<(usize, usize)> {
        let handing = self.lines[line].stmt.as_ref()?;
        let StmtKind::Accumulate { place, value } = &handing.kind else { return None };
        let ExprKind::Load(Place { kind: PlaceKind::Local(sum), .. }) = value.kind else { return None };
        // The declaration, the branch and the line itself; one more is one too many.
        let touching: Vec<usize> = self.touching(0, sum).take(4).collect();
        let is_declared = |other: &usize| self.stmt(*other).is_some_and(|stmt| is_zero_declaration(stmt, sum));
        let declared = *touching.iter().find(|other| is_declared(other))?;
        let users: Vec<usize> = touching.into_iter().filter(|other| *other != declared).collect();
        let [user, last] = users.as_slice() else { return None };
        let is_branch = *last == line
            && !matches!(place.kind, PlaceKind::Local(_))
            && matches!(&self.stmt(*user)?.kind, StmtKind::If { cond, then_block, else_block }
                if is_apart(else_block, sum) && !then_block.is_empty() && !walk::expr_mentions(cond, sum))
            && (*user + 1..line).filter_map(|between| self.stmt(between)).all(|between| commutes(between, handing));
        is_branch.then_some((declared, *user))
    }

    fn stmt(&self, line: usize) -> Option<&Stmt> {
        self.lines[line].stmt.as_ref()
    }

    /// The lines from one on that touch a variable.
    fn touching(&self, from: usize, local: LocalId) -> impl DoubleEndedIterator<Item = usize> {
        self.touched.range((local, from)..=(local, usize::MAX)).map(|(_, line)| *line)
    }

    fn remove(&mut self, line: usize) -> Option<Stmt> {
        let stmt = self.lines[line].stmt.take()?;
        each_touched(&stmt, |local| {
            self.touched.remove(&(local, line));
        });
        self.others.remove(&line);
        Some(stmt)
    }
}

fn is_apart(block: &[Stmt], local: LocalId) -> bool {
    block.iter().all(|stmt| !touches(stmt, local))
}

/// Calls `f` for the variables that a statement declares or mentions.
fn each_touched(stmt: &Stmt, mut f: impl FnMut(LocalId)) {
    let _ = walk::visit_block(std::slice::from_ref(stmt), &mut |node| {
        match node {
            Node::Stmt(inner) => walk::declared_local(inner).into_iter().for_each(&mut f),
            Node::Place(place) => place.as_local().into_iter().for_each(&mut f),
            Node::Expr(Expr { .. }) => {}
        }
        ControlFlow::<()>::Continue(())
    });
}
