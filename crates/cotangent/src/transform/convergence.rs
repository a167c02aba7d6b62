//! Refuses kernels in which some threads return while the others go on to meet at barriers that these have met at before.
//!
//! The reverse sweep meets at the same barriers, last first. A thread that returned before the first barrier, or after
//! the last, has met at none of them or at all, like the others. One that returned in between would come to the reverse
//! of the first barriers while the others are still at the last.
//!
//! Threads that return before others meet within their warp alone wait at the reverse of the block's barrier until these come:
//! the masks name those that are still there (`normalize/lanes.rs`). In a loop that is refused, since nobody counts who is left.
//!
//! Threads that pass by a branch with barriers, after which there are none, are as good as returned: the others meet without
//! them once they have left the kernel. That is refused too where a branch asks for the thread and all have met before. Nothing
//! is asked of other branches and of loops: that all threads run them alike is what makes the kernel valid.

use crate::analysis::Uniform;
use crate::analysis::ordering::{may_meet, may_meet_in_block};
use crate::diagnostic::{Diagnostic, NOT_CONVERGENT};
use crate::ir::walk;
use crate::ir::{Block, FunctionId, Module, Space, StmtKind};
use crate::source::Span;

/// What is wrong with the returns of a kernel.
pub(super) fn divergent_returns(module: &Module, kernel: FunctionId) -> Vec<Diagnostic> {
    let function = &module.functions[kernel];
    if function.space != Space::Kernel {
        return Vec::new();
    }
    let uniform = Uniform::new(function);
    let mut found = Found {
        module,
        uniform,
        stops: Vec::new(),
        stops_of_block: Vec::new(),
        returns: Vec::new(),
        branches: Vec::new(),
        count: 0,
    };
    found.block(&function.body, true);
    let refused = found.returns.iter().filter(|it| {
        let later = if it.first == it.last { &found.stops_of_block } else { &found.stops };
        found.stops.iter().any(|stop| *stop < it.last) && later.iter().any(|stop| *stop > it.first)
    });
    let returns = refused.map(|it| {
        let message = "some threads return here, between barriers at which the others meet";
        Diagnostic::new(NOT_CONVERGENT, it.span, message, "the reverse sweep would meet in another order")
            .help("let all threads reach the barriers, with an `if` around what the others do")
    });
    let passed = found.branches.iter().filter(|it| {
        found.stops.iter().any(|stop| *stop < it.first) && !found.stops.iter().any(|stop| *stop > it.last)
    });
    let branches = passed.map(|it| {
        let message = "the last barriers are in a branch that some threads of a block may pass by";
        Diagnostic::new(NOT_CONVERGENT, it.span, message, "which threads run it depends on `threadIdx`")
            .help("move the barriers out of the branch, so that all threads meet there")
    });
    returns.chain(branches).collect()
}

/// A return, or a branch with barriers.
struct Leaving {
    span: Span,
    /// The number of the statement, or of the outermost loop around it.
    first: usize,
    /// The number of the statement, or of the last one in it or in that loop.
    last: usize,
}

struct Found<'a> {
    module: &'a Module,
    uniform: Uniform<'a>,
    /// The numbers of the statements at which threads meet.
    stops: Vec<usize>,
    /// Those at which all of the block meet.
    stops_of_block: Vec<usize>,
    returns: Vec<Leaving>,
    /// Branches with barriers of the block that depend on the thread; the innermost first.
    branches: Vec<Leaving>,
    /// How many statements there were.
    count: usize,
}

impl<'a> Found<'a> {
    /// Numbers the statements of a block. `is_alike` if all threads of a block run it.
    fn block(&mut self, block: &'a Block, is_alike: bool) {
        for stmt in block {
            self.count += 1;
            let number = self.count;
            match &stmt.kind {
                StmtKind::Return(_) if !is_alike => {
                    self.returns.push(Leaving { span: stmt.span, first: number, last: number });
                }
                StmtKind::If { cond, then_block, else_block } => {
                    let is_alike = is_alike && self.uniform.is_same(cond);
                    self.block(then_block, is_alike);
                    self.block(else_block, is_alike);
                    let mut has_barrier = false;
                    walk::each_stmt(std::slice::from_ref(stmt), &mut |stmt| {
                        has_barrier |= may_meet_in_block(self.module, stmt);
                    });
                    if has_barrier && self.uniform.is_of_thread(cond) {
                        self.branches.push(Leaving { span: cond.span, first: number, last: self.count });
                    }
                }
                StmtKind::For(head) => {
                    let is_same = [&head.from, &head.to, &head.by].iter().all(|bound| self.uniform.is_same(bound));
                    self.repeated(&head.body, is_alike && is_same, number);
                }
                StmtKind::While { body, .. } => self.repeated(body, false, number),
                StmtKind::Switch { cases, .. } => {
                    cases.iter().for_each(|case| self.block(&case.body, false));
                }
                StmtKind::Declare { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Accumulate { .. }
                | StmtKind::Call { .. }
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
                | StmtKind::Opaque { .. } => {
                    if may_meet(self.module, stmt) {
                        self.stops.push(number);
                    }
                    if may_meet_in_block(self.module, stmt) {
                        self.stops_of_block.push(number);
                    }
                }
            }
        }
    }

    /// What a loop meets at before a return it may meet at after it. Where threads may leave it or an iteration early,
    /// the others are no longer all.
    fn repeated(&mut self, body: &'a Block, is_alike: bool, number: usize) {
        let before = [self.returns.len(), self.branches.len()];
        let mut jumps = false;
        walk::each_stmt(body, &mut |stmt| jumps |= matches!(stmt.kind, StmtKind::Break | StmtKind::Continue));
        self.block(body, is_alike && !jumps);
        for it in self.returns[before[0]..].iter_mut().chain(&mut self.branches[before[1]..]) {
            (it.first, it.last) = (number, self.count + 1);
        }
    }
}
