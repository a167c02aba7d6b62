//! Which threads add to an element, and in which iterations: an index is solved for the coordinates and counters in it.

use super::additions::{Addition, Linear, Var};
use crate::ir::walk::{self, Node};
use crate::ir::{Axis, BinaryOp, Builtin, Expr, ExprKind, For, Function, Place, PlaceKind, Type};
use crate::transform::elements::lengths;
use std::ops::ControlFlow;

/// Larger numbers are not followed: sums of these stay far from `2^31`.
const LARGEST: i128 = 1 << 20;

/// How the coordinates and counters of an addition are found for an element.
#[derive(Debug)]
pub(super) struct Solution {
    /// The extents of the array. Rows of a flat array have two.
    pub(super) lengths: Vec<u64>,
    /// What the element determines, an entry a dimension.
    pub(super) dimensions: Vec<Dimension>,
    /// Loops whose iterations are all tried.
    pub(super) tried: Vec<For>,
    /// Coordinates that the element says nothing about.
    pub(super) free: Vec<Axis>,
}

/// What one index of an element says.
#[derive(Debug)]
pub(super) struct Dimension {
    /// What it is solved for; an index without variables is only compared.
    pub(super) var: Option<Var>,
    /// What else is added to it: multiples of counters that are tried, and a number.
    pub(super) others: Linear,
}

/// When the value of a variable is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum When {
    /// By the element alone.
    First,
    /// With the counters that are tried.
    Tried,
    /// With the coordinates that the element says nothing about.
    Last,
}

/// Solves the index of an addition. None if it cannot be, if the element has nothing to do with the thread, or if a loop adds
/// to one element again and again: then each thread should sum first. Where each thread has an element of its own (`is_own`), counters
/// alone may choose one.
pub(super) fn solution(function: &Function, addition: &Addition, is_own: bool) -> Option<Solution> {
    let all = lengths(&function.locals[addition.target].ty);
    if all.len() != addition.index.len() {
        return None;
    }
    let mut solution = Solution { lengths: Vec::new(), dimensions: Vec::new(), tried: Vec::new(), free: Vec::new() };
    for (number, (index, length)) in addition.index.iter().zip(all).enumerate() {
        if index.offset.abs() > LARGEST || index.terms.iter().any(|(_, times)| times.abs() > LARGEST) {
            return None;
        }
        let rows =
            rows(index, length, &addition.loops).filter(|[(_, rows), (_, row)]| number == 0 || rows * row == length);
        for (index, length) in rows.map_or_else(|| vec![(index.clone(), length)], Vec::from) {
            solution.lengths.push(length);
            solution.dimensions.push(dimension(function, index)?);
        }
    }
    let others = || solution.dimensions.iter().flat_map(|dimension| &dimension.others.terms).map(|(var, _)| *var);
    let solved = || solution.dimensions.iter().filter_map(|dimension| dimension.var);
    let occurs = |var: Var| others().chain(solved()).filter(|other| *other == var).count();
    let counters = || addition.loops.iter().map(|head| Var::Counter(head.counter));
    let is_once =
        counters().all(|var| occurs(var) == 1) && Axis::ALL.iter().all(|axis| occurs(Var::Coordinate(*axis)) <= 1);
    let is_of_loops =
        others().chain(solved()).all(|var| matches!(var, Var::Coordinate(_)) || counters().any(|it| it == var));
    let is_of_thread = solved().any(|var| matches!(var, Var::Coordinate(_)));
    let is_of_counters = solution.dimensions.iter().all(|dimension| matches!(dimension.var, Some(Var::Counter(_))));
    // What a block would sum has one place for all threads: only owners can share it out.
    let is_shared_out = is_own && is_of_counters || is_of_thread && !addition.is_together;
    let tried = addition.loops.iter().filter(|head| others().any(|var| var == Var::Counter(head.counter)));
    let free = Axis::ALL.into_iter().filter(|axis| occurs(Var::Coordinate(*axis)) == 0);
    let (tried, free) = (tried.cloned().collect(), free.collect());
    (is_once && is_of_loops && is_shared_out).then_some(())?;
    let solution = Solution { tried, free, ..solution };
    solution.is_in_order(addition).then_some(solution)
}

/// One index, solved: for a coordinate, or for a counter.
fn dimension(function: &Function, index: Linear) -> Option<Dimension> {
    let is_coordinate = |(var, _): &(Var, i128)| matches!(var, Var::Coordinate(_));
    let coordinate = index.terms.iter().position(is_coordinate);
    if index.terms.iter().filter(|term| is_coordinate(term)).count() > 1 {
        return None;
    }
    let Some(position) = coordinate.or_else(|| index.terms.iter().position(|(_, times)| *times == 1)) else {
        let is_number = index.terms.is_empty() && index.offset >= 0;
        return is_number.then_some(Dimension { var: None, others: index });
    };
    let mut others = index;
    let (var, times) = others.terms.remove(position);
    // A sum of unsigned numbers tells a counter of 32 bits; a longer one only if nothing else is added that is large.
    let is_short = match var {
        Var::Coordinate(_) => true,
        Var::Counter(counter) => {
            others.terms.is_empty() || matches!(&function.locals[counter].ty, Type::Int(kind) if kind.bits() == 32)
        }
    };
    (times == 1 && is_short).then_some(Dimension { var: Some(var), others })
}

/// The index of a flat array as a row and a place in it, where counters stay inside a row: `y * 16 + k`.
fn rows(index: &Linear, length: u64, loops: &[For]) -> Option<[(Linear, u64); 2]> {
    let is_within = |(var, times): &(Var, i128)| matches!(var, Var::Counter(_)) && *times == 1;
    let (within, rows): (Vec<_>, Vec<_>) = index.terms.iter().copied().partition(is_within);
    let row = rows.iter().map(|(_, times)| *times).min().filter(|row| *row > 1)?;
    let (mut first, mut last) = (index.offset.rem_euclid(row), index.offset.rem_euclid(row));
    for (var, _) in &within {
        let head = loops.iter().find(|head| Var::Counter(head.counter) == *var)?;
        let [least, most] = values(head)?;
        (first, last) = (first + least, last + most);
    }
    if rows.iter().any(|(_, times)| times % row != 0) || first < 0 || last >= row {
        return None;
    }
    let terms = rows.into_iter().map(|(var, times)| (var, times / row)).collect();
    let of_row = Linear { terms, offset: index.offset.div_euclid(row) };
    let in_row = Linear { terms: within, offset: index.offset.rem_euclid(row) };
    let row = u64::try_from(row).ok()?;
    Some([(of_row, length.div_ceil(row)), (in_row, row)])
}

/// The least and the greatest value of a counter, if they are known.
pub(super) fn values(head: &For) -> Option<[i128; 2]> {
    let (from, to) = (head.from.as_int()?, head.to.as_int()?);
    match head.test {
        BinaryOp::Less => Some([from, to - 1]),
        BinaryOp::LessEqual => Some([from, to]),
        BinaryOp::Greater => Some([to + 1, from]),
        BinaryOp::GreaterEqual => Some([to, from]),
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
        | BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Offset
        | BinaryOp::Distance => None,
    }
}

impl Solution {
    /// Whether the bounds of loops that are tried are known before these: by the element, or by loops around them.
    fn is_in_order(&self, addition: &Addition) -> bool {
        self.tried.iter().enumerate().all(|(number, head)| {
            let is_outer = |var: Var| self.tried[..number].iter().any(|outer| Var::Counter(outer.counter) == var);
            let mentioned = [&head.from, &head.to].into_iter().flat_map(|bound| variables(bound, &addition.loops));
            mentioned.into_iter().all(|var| self.when(var) == When::First || is_outer(var))
        })
    }

    /// When a variable is known.
    fn when(&self, var: Var) -> When {
        match self.dimensions.iter().find(|dimension| dimension.var == Some(var)) {
            Some(dimension) if dimension.others.terms.is_empty() => When::First,
            Some(_) => When::Tried,
            None if matches!(var, Var::Coordinate(_)) => When::Last,
            None => When::Tried,
        }
    }

    /// When the value of an expression is known.
    pub(super) fn known(&self, expr: &Expr, loops: &[For]) -> When {
        variables(expr, loops).into_iter().map(|var| self.when(var)).max().unwrap_or(When::First)
    }
}

/// The coordinates, and the counters of these loops, that an expression mentions.
fn variables(expr: &Expr, loops: &[For]) -> Vec<Var> {
    let mut found = Vec::new();
    let _ = walk::visit_expr(expr, &mut |node| {
        match node {
            Node::Expr(Expr { kind: ExprKind::Builtin(Builtin::ThreadIdx(axis)), .. }) => {
                found.push(Var::Coordinate(*axis));
            }
            Node::Place(Place { kind: PlaceKind::Local(local), .. })
                if loops.iter().any(|head| head.counter == *local) =>
            {
                found.push(Var::Counter(*local));
            }
            Node::Expr(_) | Node::Place(_) | Node::Stmt(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
    found
}
