//! Values that are known at a statement, and who holds them.
//!
//! A value is known from where it is computed, as long as nothing that it was computed from is written, to the end of the
//! block in which it was computed.

use std::collections::HashMap;

use crate::analysis::root::Root;
use crate::analysis::touch::Touches;
use crate::ir::same::{hash_of, same_expr};
use crate::ir::{Expr, Stmt};

/// The values known so far.
pub(super) struct Known<'t, 'f, H> {
    touches: &'t Touches<'f>,
    entries: Vec<Entry<H>>,
    by_hash: HashMap<u64, Vec<usize>>,
    by_root: HashMap<Root, Vec<usize>>,
    /// Those that depend on memory which others may reach.
    of_memory: Vec<usize>,
    /// Those among them that depend on memory which may be any.
    of_any_memory: Vec<usize>,
}

struct Entry<H> {
    expr: Expr,
    holder: H,
    is_alive: bool,
}

impl<'t, 'f, H: Copy> Known<'t, 'f, H> {
    pub(super) fn new(touches: &'t Touches<'f>) -> Known<'t, 'f, H> {
        Known {
            touches,
            entries: Vec::new(),
            by_hash: HashMap::new(),
            by_root: HashMap::new(),
            of_memory: Vec::new(),
            of_any_memory: Vec::new(),
        }
    }

    /// Who holds the value of an expression.
    pub(super) fn holder(&self, expr: &Expr) -> Option<H> {
        let alike = self.by_hash.get(&hash_of(expr))?;
        let found = alike.iter().map(|position| &self.entries[*position]);
        found.filter(|entry| entry.is_alive).find(|entry| same_expr(&entry.expr, expr)).map(|entry| entry.holder)
    }

    /// Says who holds the value of an expression from here on.
    pub(super) fn learn(&mut self, expr: &Expr, holder: H) {
        let reads = self.touches.expr(expr);
        if reads.is_fixed() {
            return;
        }
        let position = self.entries.len();
        for root in reads.reads() {
            self.by_root.entry(*root).or_default().push(position);
        }
        self.by_hash.entry(hash_of(expr)).or_default().push(position);
        if self.touches.reads_memory(&reads) {
            self.of_memory.push(position);
        }
        if reads.reads().iter().any(Root::is_open) {
            self.of_any_memory.push(position);
        }
        self.entries.push(Entry { expr: expr.clone(), holder, is_alive: true });
    }

    /// Forgets what a statement, with all that is inside, may change.
    pub(super) fn run(&mut self, stmt: &Stmt) {
        let touch = self.touches.stmt(stmt);
        // What is forgotten is not asked about again, so that a long function takes no longer than its length.
        let mut forgotten: Vec<usize> =
            touch.changes().filter_map(|root| self.by_root.remove(root)).flatten().collect();
        if touch.is_fixed() || touch.changes().any(Root::is_open) {
            forgotten.append(&mut self.of_memory);
        }
        if self.touches.changes_memory(&touch) {
            forgotten.append(&mut self.of_any_memory);
        }
        for position in forgotten {
            self.entries[position].is_alive = false;
        }
    }

    /// How much is known, to go back to at the end of a block.
    pub(super) fn mark(&self) -> usize {
        self.entries.len()
    }

    /// Forgets what was learnt since.
    pub(super) fn forget_since(&mut self, mark: usize) {
        self.entries[mark..].iter_mut().for_each(|entry| entry.is_alive = false);
    }
}
