//! The statements of a function that store to memory: where, and when they run.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::affine::Values;
use super::location::Location;
use super::ordering::has_barrier;
use super::region::Frame;
use super::root::Root;
use crate::ir::walk::{Part, stmt_parts};
use crate::ir::{Block, Function, Place, Stmt, StmtKind};

/// A plain store or an accumulation.
#[derive(Debug)]
pub struct Site<'f> {
    /// The statement.
    pub stmt: &'f Stmt,
    /// Where it stores to.
    pub place: &'f Place,
    /// Where the place may lie.
    pub roots: BTreeSet<Root>,
    /// Which element it is, if that is known.
    pub location: Option<Location>,
    /// What stands around the statement, the outermost first.
    pub frames: Vec<Frame>,
}

/// The plain stores and the accumulations of a function.
#[derive(Default, Debug)]
pub struct Sites<'f> {
    /// Assignments, also of what a function returns.
    pub stores: Vec<Site<'f>>,
    /// Accumulations.
    pub additions: Vec<Site<'f>>,
}

/// Finds them, in the order of the text.
pub fn sites<'f>(values: &Values<'_>, function: &'f Function) -> Sites<'f> {
    let mut ctx = Ctx { values, frames: Vec::new(), statements: 0, sites: Sites::default() };
    ctx.block(&function.body);
    ctx.sites
}

struct Ctx<'f, 'v> {
    values: &'v Values<'v>,
    frames: Vec<Frame>,
    statements: usize,
    sites: Sites<'f>,
}

impl<'f> Ctx<'f, '_> {
    fn block(&mut self, block: &'f Block) {
        for stmt in block {
            self.statements += 1;
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &'f Stmt) {
        let number = self.statements;
        match &stmt.kind {
            // What a function returns is stored here, by the thread that called it.
            StmtKind::Assign { place, .. } | StmtKind::Call { into: Some(place), .. } => {
                let site = self.site(stmt, place);
                self.sites.stores.push(site);
            }
            StmtKind::Accumulate { place, .. } => {
                let site = self.site(stmt, place);
                self.sites.additions.push(site);
            }
            StmtKind::If { cond, then_block, else_block } => {
                for (is_then, block) in [(true, then_block), (false, else_block)] {
                    let conditions = self.values.conditions(cond, is_then);
                    self.inside(Frame::Branch { number, is_then, conditions }, block);
                }
            }
            StmtKind::For(for_loop) => {
                let range = self.values.range(for_loop);
                let has_barrier = has_barrier(&for_loop.body);
                let frame = Frame::Count { number, counter: for_loop.counter, range, has_barrier };
                self.inside(frame, &for_loop.body);
            }
            StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Declare { .. }
            | StmtKind::Call { into: None, .. }
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
            | StmtKind::Opaque { .. } => self.others(stmt, number),
        }
    }

    fn others(&mut self, stmt: &'f Stmt, number: usize) {
        let _ = stmt_parts(stmt, &mut |part| {
            if let Part::Block(block) = part {
                let is_switch = matches!(stmt.kind, StmtKind::Switch { .. });
                self.inside(Frame::Other { number, is_switch, has_barrier: has_barrier(block) }, block);
            }
            ControlFlow::<()>::Continue(())
        });
    }

    fn inside(&mut self, frame: Frame, block: &'f Block) {
        self.frames.push(frame);
        self.block(block);
        self.frames.pop();
    }

    fn site(&self, stmt: &'f Stmt, place: &'f Place) -> Site<'f> {
        let (roots, location) = (self.values.roots.place(place), self.values.location(place));
        Site { stmt, place, roots, location, frames: self.frames.clone() }
    }
}
