//! The statements of a function that store to memory: where, and when they run.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::affine::Values;
use super::location::Location;
use super::ordering::{has_barrier, is_barrier};
use super::region::Frame;
use super::root::Root;
use super::threads::Threads;
use crate::ir::walk::{Part, stmt_parts};
use crate::ir::{BarrierKind, BinaryOp, Block, Expr, For, Function, Place, Stmt, StmtKind};

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
    /// Between which barriers of the block it stands in the text.
    pub phase: usize,
    /// The same with those of warps.
    pub moment: usize,
    /// How many statements stand before it.
    number: usize,
}

/// A barrier of a warp.
#[derive(Debug)]
struct Meeting {
    frames: Vec<Frame>,
    phase: usize,
    number: usize,
}

/// The plain stores and the accumulations of a function.
#[derive(Default, Debug)]
pub struct Sites<'f> {
    /// Assignments, also of what a function returns.
    pub stores: Vec<Site<'f>>,
    /// Accumulations.
    pub additions: Vec<Site<'f>>,
    /// For each stretch of text, the stretches that are entered from it without a barrier.
    next: Vec<Vec<usize>>,
    /// The stretches that begin with a barrier, or the function.
    starts: Vec<usize>,
    /// The barriers of warps.
    meetings: Vec<Meeting>,
}

impl Sites<'_> {
    /// The barriers after which a stretch of text is reached before the next one. Threads of a block that are past one
    /// of them may all be in what is reached from it.
    pub fn starts(&self, phase: usize) -> Vec<usize> {
        self.starts.iter().copied().filter(|start| self.reaches(*start, phase)).collect()
    }

    /// Whether some threads of a warp may have met before a statement with others that meet after it. Then what one
    /// statement does may be done at different times by different threads, in an order that the barrier makes.
    ///
    /// If all of them run the same barriers before the statement, they have met there as often.
    pub fn is_before_and_after_a_meeting(&self, values: &Values<'_>, site: &Site<'_>) -> bool {
        let starts = self.starts(site.phase);
        let is_near = |meeting: &&Meeting| self.starts(meeting.phase).iter().any(|start| starts.contains(start));
        let (before, after): (Vec<_>, Vec<_>) =
            self.meetings.iter().filter(is_near).partition(|meeting| meeting.number < site.number);
        let is_for_all = |frame: &Frame| values.is_for_all(frame) || site.frames.iter().any(|own| own.is_same(frame));
        !after.is_empty() && before.iter().any(|meeting| !meeting.frames.iter().all(is_for_all))
    }

    fn reaches(&self, start: usize, phase: usize) -> bool {
        let mut found = vec![start];
        let mut position = 0;
        while let Some(stretch) = found.get(position) {
            let new: Vec<usize> = self.next[*stretch].iter().copied().filter(|it| !found.contains(it)).collect();
            found.extend(new);
            position += 1;
        }
        found.contains(&phase)
    }
}

/// Finds them, in the order of the text.
pub fn sites<'f>(values: &Values<'_>, function: &'f Function) -> Sites<'f> {
    let sites = Sites { next: vec![Vec::new()], starts: vec![0], ..Sites::default() };
    let mut ctx = Ctx { values, frames: Vec::new(), statements: 0, phase: 0, moment: 0, moments: 0, sites };
    ctx.block(&function.body);
    ctx.sites
}

struct Ctx<'f, 'v> {
    values: &'v Values<'v>,
    frames: Vec<Frame>,
    statements: usize,
    phase: usize,
    moment: usize,
    moments: usize,
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
        let has_meeting = has_barrier(std::slice::from_ref(stmt));
        if has_meeting {
            self.begin_moment();
        }
        self.stmt_in(stmt, number);
        if has_meeting {
            self.begin_moment();
        }
    }

    /// What stands between two barriers, in whatever branch or loop, is another moment.
    fn begin_moment(&mut self) {
        self.moments += 1;
        self.moment = self.moments;
    }

    fn stmt_in(&mut self, stmt: &'f Stmt, number: usize) {
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
                let before = self.phase;
                let ends = [(true, then_block), (false, else_block)].map(|(is_then, block)| {
                    let conditions = self.values.conditions(cond, is_then);
                    self.phase = before;
                    if has_barrier(block) {
                        self.begin_moment();
                    }
                    let chosen = if is_then { self.chosen(cond) } else { Vec::new() };
                    let count = self.frames.len();
                    self.frames.extend(chosen);
                    self.inside(Frame::Branch { number, is_then, conditions }, block);
                    self.frames.truncate(count);
                    self.phase
                });
                if ends != [before; 2] {
                    self.phase = self.stretch_after(&ends);
                }
            }
            StmtKind::For(for_loop) => {
                let range = self.values.range(for_loop);
                let has_barrier = has_barrier(&for_loop.body);
                let is_in_step = for_loop.body.iter().any(is_barrier) && self.counts_alike(for_loop);
                let frame = Frame::Count { number, counter: for_loop.counter, range, has_barrier, is_in_step };
                self.repeated(frame, &for_loop.body);
            }
            StmtKind::Barrier { .. } if is_barrier(stmt) => {
                self.phase = self.stretch_after(&[]);
                self.sites.starts.push(self.phase);
            }
            StmtKind::Barrier { kind: BarrierKind::Warp, .. } => {
                self.sites.meetings.push(Meeting { frames: self.frames.clone(), phase: self.phase, number });
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

    /// What is known where a flag is true that tells of a search.
    fn chosen(&mut self, flag: &Expr) -> Vec<Frame> {
        let told = flag.as_local().and_then(|flag| self.values.chosen.get(&flag));
        let mut frames = Vec::new();
        for (variable, head) in told.into_iter().flatten() {
            self.statements += 1;
            let range = self.values.range(head);
            frames.push(Frame::Chosen { number: self.statements, variable: *variable, range });
        }
        frames
    }

    fn others(&mut self, stmt: &'f Stmt, number: usize) {
        let _ = stmt_parts(stmt, &mut |part| {
            if let Part::Block(block) = part {
                let is_switch = matches!(stmt.kind, StmtKind::Switch { .. });
                self.repeated(Frame::Other { number, is_switch, has_barrier: has_barrier(block) }, block);
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
        let number = self.statements;
        Site {
            stmt,
            place,
            roots,
            location,
            frames: self.frames.clone(),
            phase: self.phase,
            moment: self.moment,
            number,
        }
    }

    /// Whether the counter of a loop in which threads meet is the same for all of them when they do: they begin with the
    /// same, or end with the same one by one; all run equally often.
    fn counts_alike(&self, head: &For) -> bool {
        let counters = self.frames.iter().filter_map(Frame::counter_in_step).collect();
        self.values.with_settled(counters, || {
            let value = |expr| self.values.value(expr).filter(|value| !self.values.varies(value, Threads::Block));
            let ends_alike = value(&head.to).is_some()
                && value(&head.by).and_then(|by| by.as_constant()) == Some(1)
                && matches!(
                    (head.step, head.test),
                    (BinaryOp::Add, BinaryOp::Less | BinaryOp::LessEqual)
                        | (BinaryOp::Subtract, BinaryOp::Greater | BinaryOp::GreaterEqual)
                );
            ends_alike || value(&head.from).is_some() && value(&head.by).is_some()
        })
    }

    /// A block that runs any number of times.
    fn repeated(&mut self, frame: Frame, block: &'f Block) {
        if !has_barrier(block) {
            return self.inside(frame, block);
        }
        let before = self.phase;
        let begin = self.stretch_after(&[before]);
        self.phase = begin;
        self.inside(frame, block);
        self.sites.next[self.phase].push(begin);
        self.phase = self.stretch_after(&[before, self.phase]);
    }

    /// A new stretch of text, which is entered from others.
    fn stretch_after(&mut self, others: &[usize]) -> usize {
        let new = self.sites.next.len();
        self.sites.next.push(Vec::new());
        others.iter().for_each(|other| self.sites.next[*other].push(new));
        new
    }
}
