//! Writes the kernel that gathers: a thread for each element, or for several one after the other.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::additions::{Addition, Changes, address, slice};
use super::digits::{Digit, digit as digit_of, thread, threads};
use super::target::{Key, Target, minus, range, shifted, sum};
use super::turn::Turn;
use crate::analysis::affine::Values;
use crate::analysis::location::Step;
use crate::ir::walk::{self, Node, NodeMut, PartMut};
use crate::ir::{
    AtomicOp, Axis, BinaryOp, Block, Builtin, Expr, ExprKind, For, Function, Local, LocalId, Module, Name, Place,
    Scope, Stmt, StmtKind, Storage, Type,
};
use crate::source::Span;
use crate::transform::locals::{NewLocals, assign, constant, declare, drop_unused, in_type, rename, tell_apart};
use crate::transform::taken_name::free_name;

/// What is known of a digit: its value.
type Known = Vec<(Digit, Expr)>;

/// The kernel that makes the additions of a target.
pub(super) fn kernel(
    module: &Module,
    values: &Values<'_>,
    changes: &Changes,
    target: &Target<'_>,
    primal: &str,
) -> Option<Function> {
    let original = values.function;
    let name = free_name(module, format!("{}_of_{primal}", original.name));
    let mut function = Function { name, body: Vec::new(), note: None, ..original.clone() };
    let names = NewLocals::new(module, original);
    let mut writer = Writer { values, changes, target, primal, function: &mut function, names, sums: Vec::new() };
    let body = writer.elements()?;
    let body = writer.with_threads(body);
    let mut names = writer.names;
    function.body = body;
    tell_apart(&mut function, &mut names);
    Some(function)
}

/// Has the threads of a kernel make the additions of a target too, each those to the element of its number.
pub(super) fn append(
    module: &Module,
    values: &Values<'_>,
    changes: &Changes,
    (target, primal): (&Target<'_>, &str),
    function: &mut Function,
) -> Option<()> {
    let names = NewLocals::new(module, function);
    let mut writer = Writer { values, changes, target, primal, function, names, sums: Vec::new() };
    let [key] = target.keys.as_slice() else { return None };
    let own = writer.variable(&key.digit);
    let mut body = vec![declare(own, Some(thread(key.digit.axis()?)))];
    writer.gather(&vec![(key.digit.clone(), load(own, Type::INT))], &mut body)?;
    let mut body = writer.with_threads(body);
    // What was declared before may be dropped.
    if let Some(last) = body.last_mut() {
        last.note = Some(writer.note().into());
    }
    let mut names = writer.names;
    function.body.extend(body);
    tell_apart(function, &mut names);
    Some(())
}

struct Writer<'w, 'f> {
    values: &'w Values<'f>,
    changes: &'w Changes,
    target: &'w Target<'f>,
    /// The name of the array whose adjoint is gathered.
    primal: &'w str,
    function: &'w mut Function,
    names: NewLocals,
    /// The sums, by the part of the element that they are for.
    sums: Vec<(Vec<Step>, LocalId)>,
}

impl Writer<'_, '_> {
    /// The loop over the elements of a thread.
    fn elements(&mut self) -> Option<Block> {
        let [mut own, mut all] = [Expr::int(0), Expr::int(1)];
        for (position, &axis) in self.target.axes.iter().rev().enumerate() {
            let is_first = position == 0;
            own = if is_first { thread(axis) } else { sum(product(own, threads(axis)), thread(axis)) };
            all = if is_first { threads(axis) } else { product(all, threads(axis)) };
        }
        let mut body = Vec::new();
        let (counter, from, to) = match self.target.keys.as_slice() {
            [key] => {
                let (first, count) = self.target.positions(self.values, key)?;
                let counter = self.variable(&key.digit);
                self.gather(&vec![(key.digit.clone(), load(counter, Type::INT))], &mut body)?;
                (counter, sum(own, first.clone()), sum(count, first))
            }
            keys => {
                let element = self.names.add(self.function, "_element", Type::INT);
                let mut counts = Vec::new();
                for key in keys {
                    counts.push(self.target.positions(self.values, key)?.1);
                }
                let positions = self.positions(element, &counts, &mut body)?;
                self.gather(&positions, &mut body)?;
                (element, own, counts.into_iter().reduce(product)?)
            }
        };
        let (test, step) = (BinaryOp::Less, BinaryOp::Add);
        let head = For { counter, from, test, to, step, by: all, unroll: None, body };
        Some(vec![Stmt::new(StmtKind::For(Box::new(head))).noted(&self.note())])
    }

    fn note(&self) -> String {
        format!("a thread sums all that is added to an element of {}", self.primal)
    }

    /// Names the sizes of the launch.
    fn with_threads(&mut self, mut body: Block) -> Block {
        let mut declared = Vec::new();
        for &axis in &self.target.axes {
            let name = if self.target.axes.len() == 1 {
                "_threads".to_owned()
            } else {
                format!("_threads{}", axis_name(axis))
            };
            let local = self.names.add(self.function, &name, Type::INT);
            let size = threads(axis);
            let _ = walk::visit_block_mut(&mut body, &mut |node| {
                if let NodeMut::Expr(expr) = node
                    && *expr == size
                {
                    *expr = load(local, Type::INT);
                }
                ControlFlow::<()>::Continue(())
            });
            declared.push(declare(local, Some(size)));
        }
        declared.extend(body);
        declared
    }

    /// The digits of the first addition to an element.
    fn positions(&mut self, element: LocalId, counts: &[Expr], body: &mut Block) -> Option<Known> {
        let mut known = Vec::new();
        let mut rest = load(element, Type::INT);
        for (number, (key, count)) in self.target.keys.iter().zip(counts).enumerate() {
            let is_last = number + 1 == self.target.keys.len();
            let position =
                if is_last { rest.clone() } else { binary(BinaryOp::Remainder, rest.clone(), count.clone()) };
            rest = binary(BinaryOp::Divide, rest, count.clone());
            let (from, _) = self.target.positions(self.values, key)?;
            let position = sum(position, from);
            let local = self.variable(&key.digit);
            body.push(declare(local, Some(position)));
            known.push((key.digit.clone(), load(local, Type::INT)));
        }
        Some(known)
    }

    /// A variable for a digit, with the name that the kernel has for it.
    fn variable(&mut self, digit: &Digit) -> LocalId {
        let function = self.values.function;
        let mut name: Name = match digit {
            Digit::Axis(axis) => axis_name(*axis).into(),
            Digit::Quotient(..) => "_quotient".into(),
            Digit::Remainder(..) => "_remainder".into(),
            Digit::Counter(counter) => function.local_name(*counter).into(),
        };
        walk::each_stmt(&function.body, &mut |stmt| {
            if let StmtKind::Declare { local, init: Some(init) } = &stmt.kind
                && self.values.locals[*local].is_constant()
                && digit_of(self.values, init).as_ref() == Some(digit)
            {
                name = function.locals[*local].name.clone();
            }
        });
        let span = Span::NONE;
        self.function.locals.push(Local { name, ty: Type::INT, storage: Storage::Private, align: None, span })
    }

    /// The sums of an element's additions, and what is done with them.
    fn gather(&mut self, positions: &Known, body: &mut Block) -> Option<()> {
        for addition in &self.target.additions {
            if !self.sums.iter().any(|(tail, _)| *tail == addition.location.tail) {
                let local = self.names.add(self.function, "_sum", addition.place.ty.clone());
                body.push(declare(local, Some(constant(0.0, &addition.place.ty))));
                self.sums.push((addition.location.tail.clone(), local));
            }
        }
        let mut free = Known::new();
        let mut heads = Vec::new();
        for digit in &self.target.free {
            let (from, count) = range(self.values, &self.target.additions[0], digit)?;
            let to = sum(count, from.clone());
            let counter = self.variable(digit);
            free.push((digit.clone(), load(counter, Type::INT)));
            heads.push(For {
                counter,
                from,
                test: BinaryOp::Less,
                to,
                step: BinaryOp::Add,
                by: Expr::int(1),
                unroll: None,
                body: Vec::new(),
            });
        }
        let mut inner = Vec::new();
        for number in 0..self.target.additions.len() {
            let block = self.addition(number, positions, &free)?;
            inner.extend(block);
        }
        for head in heads.into_iter().rev() {
            inner = vec![Stmt::new(StmtKind::For(Box::new(For { body: inner, ..head })))];
        }
        body.extend(inner);
        for (tail, local) in self.sums.clone() {
            let number = self.target.additions.iter().position(|addition| addition.location.tail == tail)?;
            body.push(self.total(number, local, positions)?);
        }
        Some(())
    }

    /// The digits with which an addition goes to the element at hand.
    fn known_of(&self, number: usize, positions: &Known, free: &Known) -> Known {
        let own = |((digit, value), key): (&(Digit, Expr), &Key)| {
            let mut value = shifted(value.clone(), -key.shifts[number]);
            for (counter, factor) in &key.with {
                let other = free.iter().find(|(digit, _)| *digit == Digit::Counter(*counter));
                if let Some((_, other)) = other {
                    value = if *factor > 0 { minus(value, other.clone()) } else { sum(value, other.clone()) };
                }
            }
            (digit.clone(), value)
        };
        positions.iter().zip(&self.target.keys).map(own).collect()
    }

    /// Adds what one addition gives to the sum, if its digits are some that the kernel has.
    fn addition(&mut self, number: usize, positions: &Known, free: &Known) -> Option<Block> {
        let addition = &self.target.additions[number];
        let mut known = self.known_of(number, positions, free);
        let mut conditions = self.conditions(number, &known)?;
        let mut block = Vec::new();
        for (digit, value) in &mut known {
            if let Some(turn) = addition.turn(digit) {
                let local = self.variable(digit);
                block.push(declare(local, Some(turned_back(turn, value.clone()))));
                *value = load(local, Type::INT);
            }
        }
        known.extend(free.iter().cloned());
        for &axis in &self.target.axes {
            let part = |wanted: fn(&Digit) -> bool| {
                known.iter().find(|(digit, _)| digit.axis() == Some(axis) && wanted(digit)).cloned()
            };
            let quotient = part(|digit| matches!(digit, Digit::Quotient(..)));
            let remainder = part(|digit| matches!(digit, Digit::Remainder(..)));
            if let (Some((Digit::Quotient(_, by), quotient)), Some((_, remainder))) = (quotient, remainder) {
                let local = self.variable(&Digit::Axis(axis));
                let value = sum(product(quotient, Expr::cast(by, Type::INT)), remainder);
                block.push(declare(local, Some(value)));
                known.push((Digit::Axis(axis), load(local, Type::INT)));
                conditions.push(binary(BinaryOp::Less, load(local, Type::INT), threads(axis)));
            }
        }
        let (_, total) = self.sums.iter().find(|(tail, _)| *tail == addition.location.tail)?;
        let total = Place::local(*total, addition.place.ty.clone());
        let value = in_type(addition.value.clone(), &total.ty);
        let add = assign(total.clone(), binary(BinaryOp::Add, Expr::load(total), value));
        let inner = slice(self.values, self.changes, addition, &self.target.counters(), vec![add])?;
        let inner = self.own(inner, &known)?;
        block.extend(guarded(conditions, inner));
        Some(block)
    }

    /// What must hold so that the kernel makes an addition with some digits.
    fn conditions(&self, number: usize, known: &Known) -> Option<Vec<Expr>> {
        let mut conditions = Vec::new();
        for (key, (_, value)) in self.target.keys.iter().zip(known) {
            let (from, count) = range(self.values, &self.target.additions[number], &key.digit)?;
            let [least, greatest] = key.spread();
            if let Some(turn) = self.target.additions[number].turn(&key.digit) {
                if key.shifts[number] > least {
                    conditions.push(binary(BinaryOp::GreaterEqual, value.clone(), from));
                }
                conditions.push(binary(BinaryOp::Less, value.clone(), turn.size.clone()));
                continue;
            }
            let is_mixed = !key.with.is_empty();
            let is_inside = key.shifts[number] == least || self.target.is_positive(self.values, number, key);
            if is_mixed || !is_inside {
                conditions.push(binary(BinaryOp::GreaterEqual, value.clone(), from.clone()));
            }
            if is_mixed || key.shifts[number] < greatest {
                conditions.push(binary(BinaryOp::Less, value.clone(), sum(count, from)));
            }
        }
        Some(conditions)
    }

    /// Adds a sum to the element; where nothing was added there may be none.
    fn total(&mut self, number: usize, local: LocalId, positions: &Known) -> Option<Stmt> {
        let addition: &Addition<'_> = &self.target.additions[number];
        let (place, ty) = (addition.place.clone(), addition.place.ty.clone());
        let value = load(local, ty.clone());
        let add = if self.target.is_alone {
            assign(place.clone(), binary(BinaryOp::Add, Expr::load(place), value))
        } else {
            let (op, scope) = (AtomicOp::Add, Scope::Device);
            Stmt::new(StmtKind::Atomic { op, scope, place, value, compare: None, into: None })
        };
        let mut block = address(self.values, addition)?;
        block.push(add);
        // Which of the counters does not matter for the sum of them and the coordinate.
        let counters = self.target.keys.iter().flat_map(|key| &key.with);
        let zeros: Known = counters.map(|(counter, _)| (Digit::Counter(*counter), Expr::int(0))).collect();
        let mut known = self.known_of(number, positions, &zeros);
        for (digit, value) in &mut known {
            if let Some(turn) = addition.turn(digit) {
                *value = turned_back(turn, value.clone());
            }
        }
        known.extend(zeros);
        let then_block = self.own(block, &known)?;
        let cond = binary(BinaryOp::NotEqual, load(local, ty.clone()), constant(0.0, &ty));
        Some(Stmt::new(StmtKind::If { cond, then_block, else_block: Vec::new() }))
    }

    /// A block of the kernel with digits that are given and variables of its own.
    fn own(&mut self, mut block: Block, known: &Known) -> Option<Block> {
        self.replace_block(&mut block, known);
        drop_unused(&mut block);
        if asks_for_thread(&block) {
            return None;
        }
        let mut map = HashMap::new();
        walk::each_stmt(&block, &mut |stmt| {
            if let Some(local) = walk::declared_local(stmt) {
                let copy: Local = self.function.locals[local].clone();
                map.insert(local, self.function.locals.push(copy));
            }
        });
        rename(&mut block, &map);
        Some(block)
    }

    fn replace_block(&self, block: &mut Block, known: &Known) {
        for stmt in block {
            let _ = walk::stmt_parts_mut(stmt, &mut |part| self.replace(part, known));
        }
    }

    fn replace(&self, part: PartMut<'_>, known: &Known) -> ControlFlow<()> {
        match part {
            PartMut::Block(block) => self.replace_block(block, known),
            PartMut::Place(place) => {
                let _ = walk::place_parts_mut(place, &mut |part| self.replace(part, known));
            }
            PartMut::Expr(expr) => {
                let digit = digit_of(self.values, expr).filter(|digit| !is_copy(expr, digit));
                let value = digit.and_then(|digit| known.iter().find(|(other, _)| *other == digit));
                if let Some((_, value)) = value {
                    *expr = Expr::cast(value.clone(), expr.ty.clone());
                } else {
                    let _ = walk::expr_parts_mut(expr, &mut |part| self.replace(part, known));
                    drop_zero(expr);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The digit that is turned to a value below the size: around that size again, the other way.
fn turned_back(turn: &Turn, value: Expr) -> Expr {
    let (by, size) = (turn.by, turn.size.clone());
    let moved = shifted(value.clone(), -by);
    if by < 0 {
        let around = if by == -1 { Expr::int(0) } else { minus(moved.clone(), size.clone()) };
        let cond = binary(BinaryOp::Less, moved.clone(), size);
        return choice(cond, moved, around);
    }
    let around = if by == 1 { shifted(size, -1) } else { sum(moved.clone(), size) };
    choice(binary(BinaryOp::GreaterEqual, value, Expr::int(by)), moved, around)
}

fn choice(cond: Expr, then: Expr, otherwise: Expr) -> Expr {
    Expr::new(ExprKind::Select(Box::new(cond), Box::new(then), Box::new(otherwise)), Type::INT)
}

/// A block that runs if conditions hold. Coordinates that it declares at its beginning stand before that, and the conditions are about
/// these.
fn guarded(mut conditions: Vec<Expr>, mut inner: Block) -> Block {
    // What is divided by may be zero where the conditions do not hold.
    let is_plain = |node: Node<'_>| match node {
        Node::Expr(Expr { kind: ExprKind::Binary(BinaryOp::Divide | BinaryOp::Remainder, ..), .. }) => {
            ControlFlow::Break(())
        }
        Node::Expr(Expr { kind: ExprKind::Load(place), .. }) if place.as_local().is_none() => ControlFlow::Break(()),
        Node::Expr(_) | Node::Place(_) | Node::Stmt(_) => ControlFlow::Continue(()),
    };
    let is_number = |stmt: &Stmt| {
        matches!(&stmt.kind, StmtKind::Declare { init: Some(init), .. }
            if matches!(init.ty, Type::Int(_)) && walk::visit_expr(init, &mut { is_plain }).is_continue())
    };
    let count = inner.iter().take_while(|stmt| is_number(stmt)).count();
    let mut block: Block = inner.drain(..count).collect();
    for stmt in &block {
        if let StmtKind::Declare { local, init: Some(init) } = &stmt.kind {
            for condition in &mut conditions {
                if let ExprKind::Binary(_, left, _) = &mut condition.kind
                    && **left == *init
                {
                    **left = load(*local, init.ty.clone());
                }
            }
        }
    }
    if conditions.is_empty() {
        block.extend(inner);
        return block;
    }
    if let [Stmt { kind: StmtKind::If { cond, then_block, else_block }, .. }] = inner.as_mut_slice()
        && else_block.is_empty()
    {
        conditions.push(cond.clone());
        inner = std::mem::take(then_block);
    }
    let cond = conditions.into_iter().reduce(|all, one| binary(BinaryOp::And, all, one));
    let cond = cond.unwrap_or_else(|| Expr::bool(true));
    block.push(Stmt::new(StmtKind::If { cond, then_block: inner, else_block: Vec::new() }));
    block
}

/// A sum with zero is what is left.
fn drop_zero(expr: &mut Expr) {
    if let ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Subtract), left, right) = &expr.kind
        && matches!(expr.ty, Type::Int(_))
    {
        if right.is_zero() {
            *expr = (**left).clone();
        } else if left.is_zero() && *op == BinaryOp::Add {
            *expr = (**right).clone();
        }
    }
}

/// Whether an expression is a variable that holds a digit: it keeps its name.
fn is_copy(expr: &Expr, digit: &Digit) -> bool {
    expr.as_local().is_some() && !matches!(digit, Digit::Counter(_))
}

/// Whether a block asks which thread it is.
fn asks_for_thread(block: &Block) -> bool {
    let found = walk::visit_block(block, &mut |node| match node {
        Node::Expr(Expr { kind: ExprKind::Builtin(Builtin::ThreadIdx(_) | Builtin::BlockIdx(_)), .. }) => {
            ControlFlow::Break(())
        }
        Node::Expr(_) | Node::Place(_) | Node::Stmt(_) => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn axis_name(axis: Axis) -> &'static str {
    match axis {
        Axis::X => "_x",
        Axis::Y => "_y",
        Axis::Z => "_z",
    }
}

fn load(local: LocalId, ty: Type) -> Expr {
    Expr::load(Place::local(local, ty))
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::binary(op, left, right)
}

fn product(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::Multiply, left, right)
}
