//! Records of a host function as arrays, at the number of the iteration: of loops whose iterations are known on entry.
//!
//! A loop in a loop has one element for each iteration of both. Nothing is pushed, so that compilers can vectorise the loop, and
//! its iterations may be reversed in any order.

use std::collections::{BTreeSet, HashMap};

use super::super::frames::Known;
use super::super::headers::iteration_number;
use super::super::plan::loops::{Iterations, Loop};
use super::Assembly;
use crate::analysis::Object;
use crate::ir::{BinaryOp, Block, Expr, ExprKind, For, LocalId, Place, Stmt, StmtKind, Type};
use crate::rules::RESERVE;
use crate::transform::locals::declare;
use crate::transform::{Fact, Trust};

/// What flat records of the loops at hand need.
#[derive(Default)]
pub(super) struct Flat {
    /// How often a loop runs, by its counter.
    trips: HashMap<LocalId, LocalId>,
    /// What stands before the outermost loop.
    before: Block,
}

impl Assembly<'_> {
    /// The header of a loop, if it says on entry to the outermost loop how often this one runs, each time that one runs.
    /// `here` are the objects that it or a later statement of its frame writes.
    pub(super) fn known_header(&self, it: &Loop<'_>, here: &BTreeSet<Object>) -> Option<Known> {
        let frames = &self.rules.frames;
        let values = self.rules.values();
        let is_denied = matches!(self.rules.facts.trust, Trust { denied: Some(Fact::Iterations), .. });
        let head = it.head?;
        if !self.rules.facts.is_host() || is_denied || frames.is_in_branch() {
            return None;
        }
        if values.iterations(it) != Iterations::Header {
            return None;
        }
        let is_known = match frames.outermost_loop() {
            // How often it runs is kept; with the rest the number of an iteration is computed from its counter.
            None => ![&head.from, &head.by].into_iter().any(|expr| values.changes(expr, here)),
            // The loops around are known too, and nothing that they change or declare decides.
            Some(outermost) => outermost.known.as_ref().is_some_and(|known| {
                let is_fixed = |expr: &Expr| {
                    !values.changes(expr, &known.changed)
                        && self.rules.vars.reads(expr).iter().all(|local| !outermost.declared.contains(local))
                };
                frames.innermost().is_some_and(|frame| frame.known.is_some())
                    && [&head.from, &head.to, &head.by].into_iter().all(is_fixed)
            }),
        };
        // Only the outermost one is asked.
        let changed = if frames.is_in_loop() { BTreeSet::new() } else { here.clone() };
        is_known.then(|| Known { head: For { body: Block::new(), ..head.clone() }, changed })
    }

    /// Arrays for the values that each iteration of a loop records; none if they go to the tape.
    pub(super) fn flat_arrays(&mut self, head: Option<&For>, rows: &[LocalId]) -> Option<HashMap<LocalId, LocalId>> {
        let head = head?;
        if rows.is_empty() || !rows.iter().all(|row| self.rules.vars.function.locals[*row].ty.is_arithmetic()) {
            return None;
        }
        let heads: Vec<For> = self.heads_around().chain([head.clone()]).collect();
        let trips: Vec<Expr> = heads.iter().map(|head| self.trips_of(head)).collect();
        let size = trips.into_iter().reduce(|left, right| Expr::binary(BinaryOp::Multiply, left, right))?;
        let mut arrays = HashMap::new();
        for row in rows {
            let variable = self.rules.vars.function.locals[*row].clone();
            let ty = Type::pointer(variable.ty);
            let array = self.rules.vars.add(&format!("{}_record", variable.name), ty.clone());
            let into = Some(Place::local(array, ty));
            let call = StmtKind::Runtime { call: RESERVE.into(), args: vec![size.clone()], into };
            self.flat
                .before
                .push(declare(array, None).noted("recorded: the reverse sweep needs these values of each iteration"));
            self.flat.before.push(Stmt::new(call));
            arrays.insert(*row, array);
        }
        self.uses_record = true;
        Some(arrays)
    }

    /// The element of an iteration. `counter` is the counter of the loop at hand in this sweep.
    pub(super) fn flat_element(&mut self, array: LocalId, head: &For, counter: LocalId) -> Place {
        let heads: Vec<For> = self.heads_around().chain([head.clone()]).collect();
        let mut index: Option<Expr> = None;
        for of in &heads {
            let counter = if of.counter == head.counter { counter } else { of.counter };
            let counter = Expr::load(Place::local(counter, of.from.ty.clone()));
            let number = iteration_number(of, counter);
            let number = if heads.len() > 1 { Expr::cast(number, Type::LONG) } else { number };
            index = Some(match index {
                None => number,
                Some(rows) => {
                    let first = Expr::binary(BinaryOp::Multiply, rows, self.trips_of(of));
                    Expr::binary(BinaryOp::Add, first, number)
                }
            });
        }
        let ty = self.rules.vars.function.locals[array].ty.clone();
        Place::element(Expr::load(Place::local(array, ty)), index.unwrap_or_else(|| Expr::int(0)))
    }

    /// What stands before the outermost loop, once that is written.
    pub(super) fn before_outermost(&mut self) -> Block {
        if self.rules.frames.is_in_loop() {
            return Block::new();
        }
        self.flat.trips.clear();
        std::mem::take(&mut self.flat.before)
    }

    fn heads_around(&self) -> impl Iterator<Item = For> + use<> {
        let heads: Vec<For> = self
            .rules
            .frames
            .outermost_first()
            .iter()
            .filter_map(|frame| frame.known.as_ref().map(|known| known.head.clone()))
            .collect();
        heads.into_iter()
    }

    /// How often a loop runs: a variable that is set before the outermost loop.
    fn trips_of(&mut self, head: &For) -> Expr {
        let local = match self.flat.trips.get(&head.counter) {
            Some(known) => *known,
            None => {
                let name = format!("{}_trips", self.rules.vars.name_of(head.counter));
                let local = self.rules.vars.add(&name, Type::LONG);
                self.flat.before.push(declare(local, Some(trips(head))));
                self.flat.trips.insert(head.counter, local);
                local
            }
        };
        Expr::load(Place::local(local, Type::LONG))
    }
}

/// How often a counted loop runs.
pub(super) fn trips(head: &For) -> Expr {
    let int = |value: i128| Expr::new(ExprKind::Int(value), Type::LONG);
    let long = |expr: &Expr| expr.as_int().map_or_else(|| Expr::cast(expr.clone(), Type::LONG), int);
    let (low, high) = if head.step == BinaryOp::Add { (&head.from, &head.to) } else { (&head.to, &head.from) };
    let distance = if low.is_zero() { long(high) } else { Expr::binary(BinaryOp::Subtract, long(high), long(low)) };
    let is_strict = matches!(head.test, BinaryOp::Less | BinaryOp::Greater);
    let rounds = match (is_strict, head.by.as_int()) {
        (true, Some(1)) => distance,
        (false, Some(1)) => Expr::binary(BinaryOp::Add, distance, int(1)),
        (true, _) => {
            let last = Expr::binary(BinaryOp::Subtract, distance, int(1));
            Expr::binary(BinaryOp::Add, Expr::binary(BinaryOp::Divide, last, long(&head.by)), int(1))
        }
        (false, _) => Expr::binary(BinaryOp::Add, Expr::binary(BinaryOp::Divide, distance, long(&head.by)), int(1)),
    };
    let runs = Expr::binary(head.test, head.from.clone(), head.to.clone());
    Expr::new(ExprKind::Select(Box::new(runs), Box::new(rounds), Box::new(int(0))), Type::LONG)
}
