//! One addition from the side of an element: loops over the threads and iterations that add to it, and the sum.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::additions::{Addition, Var, is_always_defined};
use super::own::own_axes;
use super::solution::{Solution, When, solution};
use crate::analysis::block_shape::Shape;
use crate::ir::walk::{self, NodeMut};
use crate::ir::{
    Axis, BinaryOp, Block, Builtin, Expr, ExprKind, For, Function, LocalId, Place, PlaceKind, Stmt, StmtKind, Type,
};
use crate::transform::elements::{
    builtin, lengths as lengths_of, number_in_shape, quotient_and_rest, thread_number, uint,
};
use crate::transform::locals::{NewLocals, assign, declare, drop_unused, when};

/// Where new variables come from.
pub(super) struct Vars<'a> {
    pub(super) function: &'a mut Function,
    pub(super) names: &'a mut NewLocals,
    /// What is known of blocks.
    pub(super) shape: Shape,
}

impl Vars<'_> {
    /// A new variable.
    pub(super) fn add(&mut self, wanted: &str, ty: Type) -> LocalId {
        self.names.add(self.function, wanted, ty)
    }
}

/// What is added to an element.
pub(super) struct Piece {
    /// What the element tells about those who add to it.
    pub(super) around: Around,
    /// The sum.
    pub(super) sum: Block,
    /// The indices of the element by these names, if each has one.
    pub(super) names: Option<Vec<Expr>>,
}

/// Variables, and what must hold of them.
#[derive(Default)]
pub(super) struct Around {
    declarations: Block,
    conds: Vec<Expr>,
}

impl Around {
    /// A block with these around it.
    pub(super) fn around(self, block: Block) -> Block {
        let mut out = self.declarations;
        match self.conds.into_iter().reduce(|all, cond| Expr::binary(BinaryOp::And, all, cond)) {
            Some(cond) => out.extend(when(cond, block, Block::new())),
            None => out.extend(block),
        }
        // A counter may be told by the element, and not asked for.
        drop_unused(&mut out);
        out
    }
}

/// Sums what threads add to an element: that of a number, or that of an index for each dimension.
pub(super) fn piece(vars: &mut Vars<'_>, addition: &Addition, element: &[Expr], total: &Place) -> Piece {
    let is_own = own_axes(&vars.function.locals[addition.target].ty, &vars.shape).is_some();
    let solution = solution(vars.function, addition, is_own).expect("only such additions are taken");
    let axes = ["_x", "_y", "_z"].map(|name| vars.add(name, Type::UINT));
    let counters = addition.loops.iter().map(|head| {
        let original = vars.function.locals[head.counter].clone();
        (head.counter, vars.add(&original.name, original.ty))
    });
    let (counters, shape) = (counters.collect(), vars.shape);
    Writer { counters, axes, function: vars.function, addition, solution, shape }.piece(element, total)
}

struct Writer<'a> {
    function: &'a Function,
    addition: &'a Addition,
    solution: Solution,
    /// What counters are called here.
    counters: HashMap<LocalId, LocalId>,
    /// The coordinates of a thread that adds.
    axes: [LocalId; 3],
    shape: Shape,
}

impl Writer<'_> {
    fn piece(&self, element: &[Expr], total: &Place) -> Piece {
        let mut levels = [Around::default(), Around::default(), Around::default()];
        for (dimension, index) in self.solution.dimensions.iter().zip(self.indices(element)) {
            let offset = dimension.others.offset;
            let Some(var) = dimension.var else {
                let is_it = Expr::binary(BinaryOp::Equal, index, uint_of(offset));
                levels[0].conds.push(is_it);
                continue;
            };
            let level = &mut levels[usize::from(!dimension.others.terms.is_empty())];
            let mut value = less(index, offset);
            for (other, times) in &dimension.others.terms {
                value = self.less_times(value, *other, *times);
            }
            let ty = self.variable(var).ty;
            // Below zero, an unsigned number would be a large one of 64 bits.
            let is_long = offset != 0 && matches!(&ty, Type::Int(kind) if kind.bits() > 32);
            let value = if is_long { Expr::cast(value, Type::INT) } else { value };
            level.declarations.push(declare(self.local(var), Some(Expr::cast(value, ty))));
        }
        for (cond, is_pure) in self.conds() {
            let level = if is_pure { self.solution.known(&cond, &self.addition.loops) } else { When::Last };
            levels[level as usize].conds.push(self.named(&cond));
        }
        let [around, tried, last] = levels;
        let value = Expr::binary(BinaryOp::Add, Expr::load(total.clone()), self.named(&self.addition.value));
        let mut sum = last.around(vec![assign(total.clone(), value)]);
        for axis in self.solution.free.iter().filter(|axis| self.shape.extent(**axis) != Some(1)) {
            sum = vec![self.over_threads(*axis, sum)];
        }
        sum = tried.around(sum);
        for head in self.solution.tried.iter().rev() {
            let counter = self.counters[&head.counter];
            let [from, to] = [&head.from, &head.to].map(|bound| self.named(bound));
            let head = For { counter, from, to, by: head.by.clone(), body: sum, ..*head };
            sum = vec![Stmt::new(StmtKind::For(Box::new(head)))];
        }
        Piece { around, sum, names: self.names() }
    }

    /// The coordinates of an element.
    fn indices(&self, element: &[Expr]) -> Vec<Expr> {
        let lengths = self.solution.lengths.len();
        if element.len() == lengths {
            return element.to_vec();
        }
        let of_element = lengths_of(&self.function.locals[self.addition.target].ty);
        let mut rest = element.iter().zip(of_element).fold(uint(0), |number, (index, length)| {
            let rows = Expr::binary(BinaryOp::Multiply, number, uint(length));
            Expr::binary(BinaryOp::Add, rows, index.clone())
        });
        if let [number] = element {
            rest = number.clone();
        }
        let mut indices = Vec::new();
        for position in 1..self.solution.lengths.len() {
            let [index, inner] = quotient_and_rest(rest, self.solution.lengths[position..].iter().product());
            indices.push(index);
            rest = inner;
        }
        indices.push(rest);
        indices
    }

    /// What must hold so that a thread makes the addition, and whether it may be asked as soon as it is known.
    fn conds(&self) -> Vec<(Expr, bool)> {
        let mut conds = Vec::new();
        for (dimension, length) in self.solution.dimensions.iter().zip(&self.solution.lengths) {
            match dimension.var {
                Some(Var::Coordinate(axis)) if self.shape.extent(axis).is_some_and(|extent| *length <= extent) => {}
                Some(Var::Coordinate(axis)) => {
                    let [coordinate, extent] = [Builtin::ThreadIdx(axis), Builtin::BlockDim(axis)].map(builtin);
                    conds.push((Expr::binary(BinaryOp::Less, coordinate, extent), true));
                }
                Some(Var::Counter(counter)) => {
                    let head = self.addition.loops.iter().find(|head| head.counter == counter);
                    let offset = Some(dimension.others.offset).filter(|_| dimension.others.terms.is_empty());
                    let range = offset.map(|offset| [-offset, i128::from(*length) - 1 - offset]);
                    conds.extend(head.into_iter().flat_map(|head| self.bounds(head, range)).map(|cond| (cond, true)));
                }
                None => {}
            }
        }
        let is_pure =
            |cond: &Expr| is_always_defined(cond) && !walk::loads_any(cond, &mut |place| place.as_local().is_none());
        conds.extend(self.addition.conds.iter().map(|cond| (cond.clone(), is_pure(cond))));
        conds
    }

    /// That a counter has one of its values, as far as that does not follow from its range.
    fn bounds(&self, head: &For, range: Option<[i128; 2]>) -> Vec<Expr> {
        let counter = Expr::load(self.variable_of_loop(head.counter));
        let begin = if head.step == BinaryOp::Add { BinaryOp::GreaterEqual } else { BinaryOp::LessEqual };
        let is_unsigned = matches!(&counter.ty, Type::Int(kind) if !kind.is_signed());
        let follows = |test: BinaryOp, bound: &Expr| {
            let is_for_all = |[least, most]: [i128; 2]| {
                let end = if [BinaryOp::Less, BinaryOp::LessEqual].contains(&test) { most } else { least };
                bound.as_int().and_then(|bound| test.holds(end, bound)).unwrap_or(false)
            };
            range.is_some_and(is_for_all) || is_unsigned && test == BinaryOp::GreaterEqual && bound.is_zero()
        };
        [(begin, &head.from), (head.test, &head.to)]
            .into_iter()
            .filter(|(test, bound)| !follows(*test, bound))
            .map(|(test, bound)| Expr::binary(test, Expr::cast(counter.clone(), bound.ty.clone()), bound.clone()))
            .collect()
    }

    /// A loop over the threads with different coordinates.
    fn over_threads(&self, axis: Axis, body: Block) -> Stmt {
        let (test, step) = (BinaryOp::Less, BinaryOp::Add);
        let to = self.shape.extent(axis).map_or_else(|| builtin(Builtin::BlockDim(axis)), uint);
        let (from, by) = (uint(0), uint(1));
        let head = For { counter: self.local(Var::Coordinate(axis)), from, test, to, step, by, unroll: None, body };
        Stmt::new(StmtKind::For(Box::new(head)))
    }

    /// The indices of the element, if each is one of the variables.
    fn names(&self) -> Option<Vec<Expr>> {
        let is_plain = self.solution.lengths.len() == self.addition.index.len();
        let names = self.solution.dimensions.iter().map(|dimension| {
            let is_alone = dimension.others.terms.is_empty() && dimension.others.offset == 0;
            dimension.var.filter(|_| is_alone).map(|var| Expr::load(self.variable(var)))
        });
        if is_plain { names.collect() } else { None }
    }

    fn less_times(&self, value: Expr, other: Var, times: i128) -> Expr {
        let op = if times < 0 { BinaryOp::Add } else { BinaryOp::Subtract };
        let other = Expr::cast(Expr::load(self.variable(other)), Type::UINT);
        let times = times.abs();
        let other = if times == 1 { other } else { Expr::binary(BinaryOp::Multiply, uint_of(times), other) };
        Expr::binary(op, value, other)
    }

    /// An expression of the adding thread's coordinates and counters.
    fn named(&self, expr: &Expr) -> Expr {
        let mut named = expr.clone();
        // Parts are visited before what they are parts of.
        if let Some(extents) = self.shape.extents() {
            let (general, number) =
                (thread_number(), number_in_shape(Axis::ALL.map(|axis| self.coordinate(axis)), extents));
            let _ = walk::visit_expr_mut(&mut named, &mut |node| {
                if let NodeMut::Expr(expr) = node
                    && *expr == general
                {
                    *expr = number.clone();
                }
                ControlFlow::<()>::Continue(())
            });
        }
        let _ = walk::visit_expr_mut(&mut named, &mut |node| {
            match node {
                NodeMut::Expr(expr) => {
                    if let ExprKind::Builtin(Builtin::ThreadIdx(axis)) = expr.kind {
                        *expr = self.coordinate(axis);
                    }
                }
                NodeMut::Place(Place { kind: PlaceKind::Local(local), .. }) => {
                    *local = self.counters.get(local).copied().unwrap_or(*local);
                }
                NodeMut::Place(_) | NodeMut::Stmt(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
        named
    }

    /// A coordinate of the adding thread.
    fn coordinate(&self, axis: Axis) -> Expr {
        match self.shape.extent(axis) {
            Some(1) if self.solution.free.contains(&axis) => uint(0),
            Some(_) | None => Expr::load(self.variable(Var::Coordinate(axis))),
        }
    }

    fn local(&self, var: Var) -> LocalId {
        match var {
            Var::Coordinate(axis) => self.axes[Axis::ALL.iter().position(|other| *other == axis).unwrap_or(0)],
            Var::Counter(counter) => self.counters[&counter],
        }
    }

    fn variable(&self, var: Var) -> Place {
        let local = self.local(var);
        Place::local(local, self.function.locals[local].ty.clone())
    }

    /// The counter of a loop by its own name.
    fn variable_of_loop(&self, counter: LocalId) -> Place {
        Place::local(counter, self.function.locals[counter].ty.clone())
    }
}

/// A value less a number.
fn less(value: Expr, number: i128) -> Expr {
    match number {
        0 => value,
        1.. => Expr::binary(BinaryOp::Subtract, value, uint_of(number)),
        ..=-1 => Expr::binary(BinaryOp::Add, value, uint_of(-number)),
    }
}

fn uint_of(number: i128) -> Expr {
    Expr::new(ExprKind::Int(number), Type::UINT)
}
