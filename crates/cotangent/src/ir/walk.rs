//! Visits for passes that care about few kinds of statements and expressions.
//!
//! `visit_block` and its kin call a function for every statement, expression and place, in the order of evaluation:
//! an expression or place after its operands, an assigned place after the value, a loop's step after its body. A
//! statement comes before what is inside it. The function returns `Break` to stop the whole visit. The mutable forms
//! go the same way, so that expressions are rewritten from the inside out; what a statement is replaced by is visited.
//!
//! `expr_parts`, `place_parts` and `stmt_parts` give the direct parts only, and are all that the visits know about
//! kinds.
//!
//! Recursion is as deep as the tree, which in a valid module is at most `MAX_DEPTH` levels.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::{Block, Expr, ExprKind, LocalId, LoopTest, OpaqueArg, Place, PlaceKind, Stmt, StmtKind};

/// What a visit comes by.
#[derive(Clone, Copy, Debug)]
pub enum Node<'a> {
    /// A statement, before what is inside it.
    Stmt(&'a Stmt),
    /// An expression, after its operands.
    Expr(&'a Expr),
    /// A place, after its operands. Whether it is read, written or pointed to, its parent says.
    Place(&'a Place),
}

/// What a mutable visit comes by.
#[derive(Debug)]
pub enum NodeMut<'a> {
    /// A statement, before what is inside it.
    Stmt(&'a mut Stmt),
    /// An expression, after its operands.
    Expr(&'a mut Expr),
    /// A place, after its operands.
    Place(&'a mut Place),
}

/// A direct part of a statement, expression or place.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// An operand.
    Expr(&'a Expr),
    /// A place that is read, written or pointed to.
    Place(&'a Place),
    /// A block inside a statement.
    Block(&'a Block),
}

/// A direct part, mutable.
#[derive(Debug)]
pub enum PartMut<'a> {
    /// An operand.
    Expr(&'a mut Expr),
    /// A place that is read, written or pointed to.
    Place(&'a mut Place),
    /// A block inside a statement.
    Block(&'a mut Block),
}

/// Calls `f` for every statement, those inside others too, in the order of the text.
pub fn each_stmt<'a>(block: &'a [Stmt], f: &mut impl FnMut(&'a Stmt)) {
    for stmt in block {
        f(stmt);
        let _ = stmt_parts(stmt, &mut |part| {
            if let Part::Block(inner) = part {
                each_stmt(inner, f);
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

/// Calls `f` for every expression of a block.
pub fn each_expr<'a>(block: &'a [Stmt], f: &mut impl FnMut(&'a Expr)) {
    let _ = visit_block(block, &mut |node| {
        if let Node::Expr(expr) = node {
            f(expr);
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Whether an expression loads a place of some sort.
pub fn loads_any<'a>(expr: &'a Expr, is_meant: &mut impl FnMut(&'a Place) -> bool) -> bool {
    visit_expr(expr, &mut |node| stop_if(node.as_load().is_some_and(&mut *is_meant))).is_break()
}

/// Whether a block loads a place of some sort.
pub fn block_loads_any<'a>(block: &'a [Stmt], is_meant: &mut impl FnMut(&'a Place) -> bool) -> bool {
    visit_block(block, &mut |node| stop_if(node.as_load().is_some_and(&mut *is_meant))).is_break()
}

fn stop_if(is_found: bool) -> ControlFlow<()> {
    if is_found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Calls `f` for every place of a block.
pub fn each_place<'a>(block: &'a [Stmt], f: &mut impl FnMut(&'a Place)) {
    let _ = visit_block(block, &mut |node| {
        if let Node::Place(place) = node {
            f(place);
        }
        ControlFlow::<()>::Continue(())
    });
}

/// The local that a statement itself declares.
pub fn declared_local(stmt: &Stmt) -> Option<LocalId> {
    match &stmt.kind {
        StmtKind::Declare { local, .. } => Some(*local),
        StmtKind::For(for_loop) => Some(for_loop.counter),
        StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::If { .. }
        | StmtKind::While { .. }
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
        | StmtKind::Opaque { .. } => None,
    }
}

/// The places that a statement itself writes, not those that statements inside it write.
pub fn written_places(stmt: &Stmt) -> Vec<&Place> {
    match &stmt.kind {
        StmtKind::Assign { place, .. } | StmtKind::Accumulate { place, .. } | StmtKind::Pop { into: place, .. } => {
            vec![place]
        }
        StmtKind::Atomic { place, into, .. } => [Some(place), into.as_ref()].into_iter().flatten().collect(),
        StmtKind::Call { into, .. }
        | StmtKind::Barrier { into, .. }
        | StmtKind::Collective { into, .. }
        | StmtKind::Runtime { into, .. } => into.iter().collect(),
        StmtKind::Opaque { args, into, .. } => args.iter().filter_map(OpaqueArg::variable).chain(into).collect(),
        StmtKind::Declare { .. }
        | StmtKind::If { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Launch(_)
        | StmtKind::Push { .. } => Vec::new(),
    }
}

/// The variable that a place is a part of.
pub fn own_variable(place: &Place) -> Option<LocalId> {
    match &place.kind {
        PlaceKind::Local(local) => Some(*local),
        PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => own_variable(base),
        PlaceKind::Global(_) | PlaceKind::Element(..) => None,
    }
}

/// Variables that are given something after their declaration, or perhaps, because their address is taken.
pub fn assigned_locals(block: &[Stmt]) -> HashSet<LocalId> {
    let mut found = HashSet::new();
    each_stmt(block, &mut |stmt| found.extend(written_places(stmt).into_iter().filter_map(own_variable)));
    each_expr(block, &mut |expr| {
        if let ExprKind::AddressOf(place) = &expr.kind {
            found.extend(own_variable(place));
        }
    });
    found
}

/// Calls `f` for every mention of a local, where it is declared too.
pub fn each_local_mut(block: &mut [Stmt], f: &mut impl FnMut(&mut LocalId)) {
    let _ = visit_block_mut(block, &mut |node| {
        match node {
            NodeMut::Stmt(stmt) => match &mut stmt.kind {
                StmtKind::Declare { local: id, .. }
                | StmtKind::Push { record: id, .. }
                | StmtKind::Pop { record: id, .. } => f(id),
                StmtKind::For(for_loop) => f(&mut for_loop.counter),
                StmtKind::Assign { .. }
                | StmtKind::Accumulate { .. }
                | StmtKind::Call { .. }
                | StmtKind::If { .. }
                | StmtKind::While { .. }
                | StmtKind::Switch { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Barrier { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::Collective { .. }
                | StmtKind::Launch(_)
                | StmtKind::Runtime { .. }
                | StmtKind::Opaque { .. } => {}
            },
            NodeMut::Place(Place { kind: PlaceKind::Local(id), .. }) => f(id),
            NodeMut::Place(_) | NodeMut::Expr(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Visits every node of a block.
pub fn visit_block<'a, B, F>(block: &'a [Stmt], f: &mut F) -> ControlFlow<B>
where
    F: FnMut(Node<'a>) -> ControlFlow<B>,
{
    for stmt in block {
        f(Node::Stmt(stmt))?;
        stmt_parts(stmt, &mut |part| visit_part(part, f))?;
    }
    ControlFlow::Continue(())
}

/// Visits every node of an expression, itself last.
pub fn visit_expr<'a, B, F>(expr: &'a Expr, f: &mut F) -> ControlFlow<B>
where
    F: FnMut(Node<'a>) -> ControlFlow<B>,
{
    expr_parts(expr, &mut |part| visit_part(part, f))?;
    f(Node::Expr(expr))
}

/// Visits every node of a place, itself last.
pub fn visit_place<'a, B, F>(place: &'a Place, f: &mut F) -> ControlFlow<B>
where
    F: FnMut(Node<'a>) -> ControlFlow<B>,
{
    place_parts(place, &mut |part| visit_part(part, f))?;
    f(Node::Place(place))
}

fn visit_part<'a, B, F>(part: Part<'a>, f: &mut F) -> ControlFlow<B>
where
    F: FnMut(Node<'a>) -> ControlFlow<B>,
{
    match part {
        Part::Expr(expr) => visit_expr(expr, f),
        Part::Place(place) => visit_place(place, f),
        Part::Block(block) => visit_block(block, f),
    }
}

/// Visits every node of a block, mutable.
pub fn visit_block_mut<B, F>(block: &mut [Stmt], f: &mut F) -> ControlFlow<B>
where
    F: FnMut(NodeMut<'_>) -> ControlFlow<B>,
{
    for stmt in block {
        f(NodeMut::Stmt(stmt))?;
        stmt_parts_mut(stmt, &mut |part| visit_part_mut(part, f))?;
    }
    ControlFlow::Continue(())
}

/// Visits every node of an expression, itself last, mutable.
pub fn visit_expr_mut<B, F>(expr: &mut Expr, f: &mut F) -> ControlFlow<B>
where
    F: FnMut(NodeMut<'_>) -> ControlFlow<B>,
{
    expr_parts_mut(expr, &mut |part| visit_part_mut(part, f))?;
    f(NodeMut::Expr(expr))
}

/// Visits every node of a place, itself last, mutable.
pub fn visit_place_mut<B, F>(place: &mut Place, f: &mut F) -> ControlFlow<B>
where
    F: FnMut(NodeMut<'_>) -> ControlFlow<B>,
{
    place_parts_mut(place, &mut |part| visit_part_mut(part, f))?;
    f(NodeMut::Place(place))
}

fn visit_part_mut<B, F>(part: PartMut<'_>, f: &mut F) -> ControlFlow<B>
where
    F: FnMut(NodeMut<'_>) -> ControlFlow<B>,
{
    match part {
        PartMut::Expr(expr) => visit_expr_mut(expr, f),
        PartMut::Place(place) => visit_place_mut(place, f),
        PartMut::Block(block) => visit_block_mut(block, f),
    }
}

/// The direct parts of an expression, in the order of evaluation.
pub fn expr_parts<'a, B>(expr: &'a Expr, f: &mut impl FnMut(Part<'a>) -> ControlFlow<B>) -> ControlFlow<B> {
    match &expr.kind {
        ExprKind::Load(place) | ExprKind::AddressOf(place) => f(Part::Place(place)),
        ExprKind::Unary(_, operand) | ExprKind::Cast(operand) => f(Part::Expr(operand)),
        ExprKind::Binary(_, left, right) => {
            f(Part::Expr(left))?;
            f(Part::Expr(right))
        }
        ExprKind::Select(cond, then, otherwise) => {
            f(Part::Expr(cond))?;
            f(Part::Expr(then))?;
            f(Part::Expr(otherwise))
        }
        ExprKind::Math(_, operands) | ExprKind::Construct(operands) => {
            operands.iter().try_for_each(|operand| f(Part::Expr(operand)))
        }
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_) => ControlFlow::Continue(()),
    }
}

/// The direct parts of an expression, mutable.
pub fn expr_parts_mut<B>(expr: &mut Expr, f: &mut impl FnMut(PartMut<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
    match &mut expr.kind {
        ExprKind::Load(place) | ExprKind::AddressOf(place) => f(PartMut::Place(place)),
        ExprKind::Unary(_, operand) | ExprKind::Cast(operand) => f(PartMut::Expr(operand)),
        ExprKind::Binary(_, left, right) => {
            f(PartMut::Expr(left))?;
            f(PartMut::Expr(right))
        }
        ExprKind::Select(cond, then, otherwise) => {
            f(PartMut::Expr(cond))?;
            f(PartMut::Expr(then))?;
            f(PartMut::Expr(otherwise))
        }
        ExprKind::Math(_, operands) | ExprKind::Construct(operands) => {
            operands.iter_mut().try_for_each(|operand| f(PartMut::Expr(operand)))
        }
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_) => ControlFlow::Continue(()),
    }
}

/// The direct parts of a place, in the order of evaluation.
pub fn place_parts<'a, B>(place: &'a Place, f: &mut impl FnMut(Part<'a>) -> ControlFlow<B>) -> ControlFlow<B> {
    match &place.kind {
        PlaceKind::Element(pointer, index) => {
            f(Part::Expr(pointer))?;
            f(Part::Expr(index))
        }
        PlaceKind::Field(base, _) => f(Part::Place(base)),
        PlaceKind::Index(base, index) => {
            f(Part::Place(base))?;
            f(Part::Expr(index))
        }
        PlaceKind::Local(_) | PlaceKind::Global(_) => ControlFlow::Continue(()),
    }
}

/// The direct parts of a place, mutable.
pub fn place_parts_mut<B>(place: &mut Place, f: &mut impl FnMut(PartMut<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
    match &mut place.kind {
        PlaceKind::Element(pointer, index) => {
            f(PartMut::Expr(pointer))?;
            f(PartMut::Expr(index))
        }
        PlaceKind::Field(base, _) => f(PartMut::Place(base)),
        PlaceKind::Index(base, index) => {
            f(PartMut::Place(base))?;
            f(PartMut::Expr(index))
        }
        PlaceKind::Local(_) | PlaceKind::Global(_) => ControlFlow::Continue(()),
    }
}

/// The direct parts of a statement, in the order of evaluation.
pub fn stmt_parts<'a, B>(stmt: &'a Stmt, f: &mut impl FnMut(Part<'a>) -> ControlFlow<B>) -> ControlFlow<B> {
    match &stmt.kind {
        StmtKind::Declare { init: value, .. } | StmtKind::Return(value) => {
            value.iter().try_for_each(|value| f(Part::Expr(value)))
        }
        StmtKind::Assign { place, value } | StmtKind::Accumulate { place, value } => {
            f(Part::Expr(value))?;
            f(Part::Place(place))
        }
        StmtKind::Call { into, args, .. } | StmtKind::Runtime { into, args, .. } => {
            args.iter().try_for_each(|arg| f(Part::Expr(arg)))?;
            into.iter().try_for_each(|into| f(Part::Place(into)))
        }
        StmtKind::If { cond, then_block, else_block } => {
            f(Part::Expr(cond))?;
            f(Part::Block(then_block))?;
            f(Part::Block(else_block))
        }
        StmtKind::For(for_loop) => {
            f(Part::Expr(&for_loop.from))?;
            f(Part::Expr(&for_loop.to))?;
            f(Part::Block(&for_loop.body))?;
            f(Part::Expr(&for_loop.by))
        }
        StmtKind::While { cond, body, test: LoopTest::Before } => {
            f(Part::Expr(cond))?;
            f(Part::Block(body))
        }
        StmtKind::While { cond, body, test: LoopTest::After } => {
            f(Part::Block(body))?;
            f(Part::Expr(cond))
        }
        StmtKind::Switch { value, cases } => {
            f(Part::Expr(value))?;
            cases.iter().try_for_each(|case| f(Part::Block(&case.body)))
        }
        StmtKind::Break | StmtKind::Continue => ControlFlow::Continue(()),
        StmtKind::Barrier { argument, into, .. } => {
            argument.iter().try_for_each(|argument| f(Part::Expr(argument)))?;
            into.iter().try_for_each(|into| f(Part::Place(into)))
        }
        StmtKind::Atomic { place, value, compare, into, .. } => {
            f(Part::Place(place))?;
            compare.iter().chain([value]).try_for_each(|operand| f(Part::Expr(operand)))?;
            into.iter().try_for_each(|into| f(Part::Place(into)))
        }
        StmtKind::Collective { mask, args, into, .. } => {
            mask.iter().chain(args).try_for_each(|operand| f(Part::Expr(operand)))?;
            into.iter().try_for_each(|into| f(Part::Place(into)))
        }
        StmtKind::Launch(launch) => {
            let configuration = launch.grid.iter().chain(&launch.block).chain(&launch.shared).chain(&launch.stream);
            configuration.chain(&launch.args).try_for_each(|operand| f(Part::Expr(operand)))
        }
        StmtKind::Push { value, .. } => f(Part::Expr(value)),
        StmtKind::Pop { into, .. } => f(Part::Place(into)),
        StmtKind::Opaque { args, into, .. } => {
            for arg in args {
                match arg {
                    OpaqueArg::Value(value) => f(Part::Expr(value))?,
                    OpaqueArg::Variable(place) => f(Part::Place(place))?,
                    OpaqueArg::Text(_) => {}
                }
            }
            into.iter().try_for_each(|into| f(Part::Place(into)))
        }
    }
}

/// The direct parts of a statement, mutable.
pub fn stmt_parts_mut<B>(stmt: &mut Stmt, f: &mut impl FnMut(PartMut<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
    match &mut stmt.kind {
        StmtKind::Declare { init: value, .. } | StmtKind::Return(value) => {
            value.iter_mut().try_for_each(|value| f(PartMut::Expr(value)))
        }
        StmtKind::Assign { place, value } | StmtKind::Accumulate { place, value } => {
            f(PartMut::Expr(value))?;
            f(PartMut::Place(place))
        }
        StmtKind::Call { into, args, .. } | StmtKind::Runtime { into, args, .. } => {
            args.iter_mut().try_for_each(|arg| f(PartMut::Expr(arg)))?;
            into.iter_mut().try_for_each(|into| f(PartMut::Place(into)))
        }
        StmtKind::If { cond, then_block, else_block } => {
            f(PartMut::Expr(cond))?;
            f(PartMut::Block(then_block))?;
            f(PartMut::Block(else_block))
        }
        StmtKind::For(for_loop) => {
            f(PartMut::Expr(&mut for_loop.from))?;
            f(PartMut::Expr(&mut for_loop.to))?;
            f(PartMut::Block(&mut for_loop.body))?;
            f(PartMut::Expr(&mut for_loop.by))
        }
        StmtKind::While { cond, body, test: LoopTest::Before } => {
            f(PartMut::Expr(cond))?;
            f(PartMut::Block(body))
        }
        StmtKind::While { cond, body, test: LoopTest::After } => {
            f(PartMut::Block(body))?;
            f(PartMut::Expr(cond))
        }
        StmtKind::Switch { value, cases } => {
            f(PartMut::Expr(value))?;
            cases.iter_mut().try_for_each(|case| f(PartMut::Block(&mut case.body)))
        }
        StmtKind::Break | StmtKind::Continue => ControlFlow::Continue(()),
        StmtKind::Barrier { argument, into, .. } => {
            argument.iter_mut().try_for_each(|argument| f(PartMut::Expr(argument)))?;
            into.iter_mut().try_for_each(|into| f(PartMut::Place(into)))
        }
        StmtKind::Atomic { place, value, compare, into, .. } => {
            f(PartMut::Place(place))?;
            compare.iter_mut().chain([value]).try_for_each(|operand| f(PartMut::Expr(operand)))?;
            into.iter_mut().try_for_each(|into| f(PartMut::Place(into)))
        }
        StmtKind::Collective { mask, args, into, .. } => {
            mask.iter_mut().chain(args).try_for_each(|operand| f(PartMut::Expr(operand)))?;
            into.iter_mut().try_for_each(|into| f(PartMut::Place(into)))
        }
        StmtKind::Launch(launch) => {
            let extents = launch.grid.iter_mut().chain(&mut launch.block);
            let configuration = extents.chain(&mut launch.shared).chain(&mut launch.stream);
            configuration.chain(&mut launch.args).try_for_each(|operand| f(PartMut::Expr(operand)))
        }
        StmtKind::Push { value, .. } => f(PartMut::Expr(value)),
        StmtKind::Pop { into, .. } => f(PartMut::Place(into)),
        StmtKind::Opaque { args, into, .. } => {
            for arg in args {
                match arg {
                    OpaqueArg::Value(value) => f(PartMut::Expr(value))?,
                    OpaqueArg::Variable(place) => f(PartMut::Place(place))?,
                    OpaqueArg::Text(_) => {}
                }
            }
            into.iter_mut().try_for_each(|into| f(PartMut::Place(into)))
        }
    }
}

/// Whether a block reads, writes or points to a variable.
pub fn mentions(block: &[Stmt], local: LocalId) -> bool {
    visit_block(block, &mut |node| is_mention(node, local)).is_break()
}

/// How often a block mentions a variable.
pub fn count_mentions(block: &[Stmt], local: LocalId) -> usize {
    let mut count = 0;
    let _ = visit_block(block, &mut |node| {
        count += usize::from(is_mention(node, local).is_break());
        ControlFlow::<()>::Continue(())
    });
    count
}

/// Whether an expression reads or points to a variable.
pub fn expr_mentions(expr: &Expr, local: LocalId) -> bool {
    visit_expr(expr, &mut |node| is_mention(node, local)).is_break()
}

fn is_mention(node: Node<'_>, local: LocalId) -> ControlFlow<()> {
    match node {
        Node::Place(place) if place.as_local() == Some(local) => ControlFlow::Break(()),
        Node::Place(_) | Node::Expr(_) | Node::Stmt(_) => ControlFlow::Continue(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{FunctionId, text};

    fn parse(body: &str) -> Block {
        let text = format!("host f(b: bool, x: int, p: int*) {{ {body} }}");
        let mut module = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        std::mem::take(&mut module.functions[FunctionId(0)].body)
    }

    /// The integers of a block, in the order in which they are visited.
    fn integers(block: &[Stmt]) -> Vec<i128> {
        let mut found = Vec::new();
        each_expr(block, &mut |expr| {
            if let ExprKind::Int(value) = expr.kind {
                found.push(value);
            }
        });
        found
    }

    #[test]
    fn visits_are_in_the_order_of_evaluation() {
        assert_eq!(integers(&parse("p[2] = (1 + x);")), [1, 2]);
        assert_eq!(integers(&parse("for i: int = 1; i < 2; i += 4 { x = 3; }")), [1, 2, 3, 4]);
        assert_eq!(integers(&parse("while (x < 1) { x = 2; }")), [1, 2]);
        assert_eq!(integers(&parse("do { x = 1; } while (x < 2);")), [1, 2]);
        assert_eq!(integers(&parse("if (x < 1) { x = 2; } else { x = 3; }")), [1, 2, 3]);
        assert_eq!(integers(&parse("switch (x + 1) { case 9 { x = 2; } case default { x = 3; } }")), [1, 2, 3]);
        assert_eq!(integers(&parse("p[4] = runtime f(1, (2 + 3));")), [1, 2, 3, 4]);
    }

    #[test]
    fn statements_come_outer_first_and_places_inner_first() {
        let block = parse("if b { x = 1; while b { break; } } p[x] = 2;");
        let (mut stmts, mut places) = (0, 0);
        each_stmt(&block, &mut |_| stmts += 1);
        assert_eq!(stmts, 5);
        each_place(&block[1..], &mut |place| {
            places += 1;
            assert_eq!(matches!(place.kind, PlaceKind::Element(..)), places == 3);
        });
        assert_eq!(places, 3);
        let declared: Vec<_> = parse("let y: int; x = y;").iter().map(declared_local).collect();
        assert_eq!(declared, [Some(LocalId(3)), None]);
    }

    #[test]
    fn a_visit_ends_where_it_is_told_to() {
        let block = parse("x = 1; x = 2; x = 3;");
        let mut count = 0;
        let end = visit_block(&block, &mut |node| {
            count += 1;
            if matches!(node, Node::Expr(Expr { kind: ExprKind::Int(2), .. })) {
                return ControlFlow::Break("two");
            }
            ControlFlow::Continue(())
        });
        assert_eq!((end, count), (ControlFlow::Break("two"), 5));
    }

    #[test]
    fn expressions_are_rewritten_from_the_inside() {
        let mut block = parse("p[1] = ((2 + 3) * 4);");
        let _ = visit_block_mut(&mut block, &mut |node| {
            if let NodeMut::Expr(expr) = node
                && let ExprKind::Binary(_, left, right) = &expr.kind
                && let (ExprKind::Int(left), ExprKind::Int(right)) = (&left.kind, &right.kind)
            {
                *expr = Expr::int(i64::try_from(left * 10 + right).expect("the numbers are small"));
            }
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(integers(&block), [234, 1]);
    }
}
