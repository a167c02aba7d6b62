//! Values that are the same for all threads of a block, or of a warp: constants, parameters of the kernel, and what is
//! computed from them once.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use crate::ir::walk::{self, Node};
use crate::ir::{
    Axis, BinaryOp, Builtin, CollectiveOp, Expr, ExprKind, Function, FunctionId, LocalId, Module, Place, PlaceKind,
    Space, Stmt, StmtKind, Type,
};

/// What is known about the variables of a function.
pub struct Uniform<'a> {
    /// Parameters that are the same for all threads at first.
    params: HashSet<LocalId>,
    /// What variables are given when they are declared; of counters, where they begin and how they go on.
    values: HashMap<LocalId, Vec<&'a Expr>>,
    /// Variables that are given something else later, or perhaps.
    changed: HashSet<LocalId>,
    /// Whether the function, and what it calls, asks for the first coordinate of its thread alone. Then the rows of a block
    /// would all do the same, and it has one.
    is_in_a_row: bool,
    /// Variables that hold what all threads of a warp voted for.
    voted: HashSet<LocalId>,
}

/// How many threads a warp has.
const WARP: i128 = 32;

/// A whole number of so many bits, with a sign or without, can be that of any thread of a block.
const THREAD_BITS: u32 = 16;

impl<'a> Uniform<'a> {
    /// What is known without a look at the functions that are called: these may ask for whatever they like.
    pub fn new(function: &'a Function) -> Self {
        let mut values: HashMap<LocalId, Vec<&Expr>> = HashMap::new();
        walk::each_stmt(&function.body, &mut |stmt| match &stmt.kind {
            StmtKind::Declare { local, init: Some(init) } => values.entry(*local).or_default().push(init),
            StmtKind::For(head) => values.entry(head.counter).or_default().extend([&head.from, &head.by]),
            // What these give to variables is in `changed`.
            StmtKind::Declare { init: None, .. }
            | StmtKind::Assign { .. }
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
            | StmtKind::Opaque { .. } => {}
        });
        let changed = walk::assigned_locals(&function.body);
        let is_kernel = function.space == Space::Kernel;
        let params = function.params.iter().copied().filter(|_| is_kernel).collect();
        let is_in_a_row = !asks_for_rows(&function.body) && callees(&function.body).is_empty();
        Self { params, values, changed, is_in_a_row, voted: voted(function) }
    }

    /// The same, with a look at them.
    pub fn in_module(module: &Module, function: &'a Function) -> Self {
        let mut is_in_a_row = !asks_for_rows(&function.body);
        let mut open = callees(&function.body);
        let mut seen: HashSet<FunctionId> = open.iter().copied().collect();
        while let Some(callee) = open.pop() {
            let body = &module.functions[callee].body;
            is_in_a_row &= !asks_for_rows(body);
            open.extend(callees(body).into_iter().filter(|callee| seen.insert(*callee)));
        }
        Self { is_in_a_row, ..Self::new(function) }
    }

    /// Whether blocks have one row, so that a warp is 32 threads in a row.
    pub fn is_in_a_row(&self) -> bool {
        self.is_in_a_row
    }

    /// What is known of 32 threads in a row, the first coordinate of the first of them a multiple of 32, in the place of a warp.
    pub fn of_rows(self) -> Self {
        Self { is_in_a_row: true, ..self }
    }

    /// Whether an expression has the same value in all threads of a block that evaluate it, in the same iterations of the
    /// loops around it.
    pub fn is_same(&self, expr: &Expr) -> bool {
        walk::visit_expr(expr, &mut |node| {
            let is_same = match node {
                Node::Expr(expr) => match &expr.kind {
                    ExprKind::Builtin(builtin) => match builtin {
                        Builtin::ThreadIdx(_) => false,
                        Builtin::BlockIdx(_)
                        | Builtin::BlockDim(_)
                        | Builtin::GridDim(_)
                        | Builtin::WarpSize
                        | Builtin::DynamicSharedBytes => true,
                    },
                    ExprKind::Load(place) => match place.kind {
                        PlaceKind::Local(local) => self.is_same_variable(local),
                        PlaceKind::Global(_) | PlaceKind::Field(..) | PlaceKind::Index(..) | PlaceKind::Element(..) => {
                            false
                        }
                    },
                    // A function of nothing may be one of the thread, and so are addresses of its variables.
                    ExprKind::Math(_, operands) => !operands.is_empty(),
                    ExprKind::AddressOf(_) => false,
                    ExprKind::Bool(_)
                    | ExprKind::Int(_)
                    | ExprKind::Float(_)
                    | ExprKind::Null
                    | ExprKind::Unary(..)
                    | ExprKind::Binary(..)
                    | ExprKind::Select(..)
                    | ExprKind::Cast(_)
                    | ExprKind::SizeOf(_)
                    | ExprKind::Construct(_) => true,
                },
                Node::Place(_) | Node::Stmt(_) => true,
            };
            if is_same { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .is_continue()
    }

    /// Whether an expression asks which thread of its block it is, itself or by a variable with one value.
    pub fn is_of_thread(&self, expr: &Expr) -> bool {
        walk::visit_expr(expr, &mut |node| {
            let is_of_thread = match node {
                Node::Expr(Expr { kind: ExprKind::Builtin(Builtin::ThreadIdx(_)), .. }) => true,
                Node::Expr(Expr { kind: ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }), .. }) => {
                    let values = self.values.get(local).filter(|_| !self.changed.contains(local));
                    values.is_some_and(|values| values.iter().any(|value| self.is_of_thread(value)))
                }
                Node::Expr(_) | Node::Place(_) | Node::Stmt(_) => false,
            };
            if is_of_thread { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .is_break()
    }

    /// Whether an expression has the same value in all threads of a warp that evaluate it.
    pub fn is_same_in_warp(&self, expr: &Expr) -> bool {
        if self.is_same(expr) {
            return true;
        }
        match &expr.kind {
            ExprKind::Binary(op, left, right) => {
                let is_cut = match (op, constant(left), constant(right)) {
                    (BinaryOp::Divide, _, Some(by)) => self.is_thread(left) && by % WARP == 0,
                    (BinaryOp::ShiftRight, _, Some(by)) => self.is_thread(left) && by >= 5,
                    (BinaryOp::Less | BinaryOp::GreaterEqual, _, Some(end)) => self.is_thread(left) && end % WARP == 0,
                    (BinaryOp::Greater | BinaryOp::LessEqual, Some(end), _) => self.is_thread(right) && end % WARP == 0,
                    (_, _, _) => false,
                };
                is_cut || self.is_same_in_warp(left) && self.is_same_in_warp(right)
            }
            ExprKind::Unary(_, operand) | ExprKind::Cast(operand) => self.is_same_in_warp(operand),
            ExprKind::Select(cond, then, otherwise) => {
                [cond, then, otherwise].into_iter().all(|operand| self.is_same_in_warp(operand))
            }
            ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => {
                self.voted.contains(local)
                    || !self.changed.contains(local)
                        && self.values.get(local).is_some_and(|values| values.iter().all(|it| self.is_same_in_warp(it)))
            }
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::Load(_)
            | ExprKind::AddressOf(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => false,
        }
    }

    /// Whether a value is the number of the thread in its block, as a whole number that has room for it: a division of
    /// floats cuts nothing, and what became negative is cut elsewhere.
    fn is_thread(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Builtin(Builtin::ThreadIdx(Axis::X)) => self.is_in_a_row,
            ExprKind::Cast(operand) => {
                matches!(expr.ty, Type::Int(kind) if kind.bits() >= THREAD_BITS) && self.is_thread(operand)
            }
            ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => {
                let value = self.values.get(local).filter(|values| values.len() == 1 && !self.changed.contains(local));
                value.is_some_and(|values| self.is_thread(values[0]))
            }
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::Load(_)
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => false,
        }
    }

    fn is_same_variable(&self, local: LocalId) -> bool {
        let is_computed =
            || self.values.get(&local).is_some_and(|values| values.iter().all(|value| self.is_same(value)));
        !self.changed.contains(&local) && (self.params.contains(&local) || is_computed())
    }
}

/// Whether a body asks for the second or third coordinate of its thread.
fn asks_for_rows(body: &[Stmt]) -> bool {
    let mut is_found = false;
    walk::each_expr(body, &mut |expr| {
        is_found |= matches!(expr.kind, ExprKind::Builtin(Builtin::ThreadIdx(Axis::Y | Axis::Z)));
    });
    is_found
}

/// The functions that a body calls.
fn callees(body: &[Stmt]) -> Vec<FunctionId> {
    let mut found = Vec::new();
    walk::each_stmt(body, &mut |stmt| {
        if let StmtKind::Call { function, .. } = stmt.kind {
            found.push(function);
        }
    });
    found
}

/// The value of a whole number, whatever its type.
fn constant(expr: &Expr) -> Option<i128> {
    match expr.as_cast() {
        Some(operand) if matches!(expr.ty, Type::Int(_)) => constant(operand),
        Some(_) | None => expr.as_int(),
    }
}

/// Variables that are given the result of one vote of all threads of a warp, and nothing else.
fn voted(function: &Function) -> HashSet<LocalId> {
    let mut writes: HashMap<LocalId, usize> = HashMap::new();
    let mut found = HashSet::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        let stored = walk::written_places(stmt).into_iter().filter_map(walk::own_variable);
        // A vote that only some launches or iterations hold leaves what the variable began with.
        let begun = if let StmtKind::Declare { local, init: Some(_) } = &stmt.kind { Some(*local) } else { None };
        for local in stored.chain(begun) {
            *writes.entry(local).or_default() += 1;
        }
        if let StmtKind::Collective {
            op: CollectiveOp::Any | CollectiveOp::All | CollectiveOp::Ballot,
            mask: Some(mask),
            into: Some(Place { kind: PlaceKind::Local(local), .. }),
            ..
        } = &stmt.kind
            && matches!(constant(mask), Some(0xffff_ffff | -1))
        {
            found.insert(*local);
        }
    });
    walk::each_expr(&function.body, &mut |expr| {
        if let ExprKind::AddressOf(place) = &expr.kind
            && let Some(local) = walk::own_variable(place)
        {
            *writes.entry(local).or_default() += 1;
        }
    });
    found.retain(|local| writes.get(local) == Some(&1) && !function.params.contains(local));
    found
}
