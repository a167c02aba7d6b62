//! Which memory of a function may hold a value that depends on a named parameter.
//!
//! Memory is cells: one for the contents of each local and variable, one for what its pointers point to, and so on. A
//! record and its fields, an array and its elements share a cell. Pointers that may be equal point to one cell
//! (Steensgaard's analysis), so a cell is active as a whole or not at all, and every pointer has a shadow or has none.
//! Nothing here depends on the order of statements.
//!
//! Functions that are called are analysed for each pattern of active arguments.

mod vanishing;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::super::differentiable::{contains_pointer, leads_to_floats, pointer_levels};
use super::overwritten::{Overwritten, overwritten};
use crate::analysis::{carries_floats, grow, is_handle, is_text};
use crate::index::Id;
use crate::ir::walk;
use crate::ir::{
    BinaryOp, Called, CollectiveOp, Expr, ExprKind, Function, FunctionId, GlobalId, LocalId, Module, Name, OpaqueArg,
    Place, PlaceKind, RuleKind, Stmt, StmtKind, Type, UnaryOp, Unread,
};
use crate::rules::runtime_class;
use crate::source::Span;
use crate::transform::nulls::is_null_pointer;

pub(super) use vanishing::Ways;
use vanishing::divides;

/// Whether memory of something else is seen as memory of floats somewhere, so that it may hold them.
fn is_seen_as_floats(module: &Module) -> bool {
    let mut is_seen = false;
    for function in module.functions.iter() {
        walk::each_expr(&function.body, &mut |expr| {
            let operand = expr.as_cast().filter(|operand| operand.ty.is_pointer() && expr.ty.is_pointer());
            is_seen |=
                operand.is_some_and(|from| leads_to_floats(module, &expr.ty) && !leads_to_floats(module, &from.ty));
        });
    }
    is_seen
}

/// For each parameter: what its value is, then what it points to, then what that points to. Then the same for the result,
/// if its pointers lead to what the caller makes active.
pub(super) type Pattern = Vec<Vec<Level>>;

/// What memory is to a derivative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Level {
    /// It has no tangent.
    Constant,
    /// It has one.
    Active,
    /// A value that has one, which is zero where it is a constant on the way that was taken.
    Vanishing,
    /// It has none, whatever is stored there: an output that is not named.
    LeftOut,
}

impl Level {
    /// Whether there is a tangent.
    pub(super) fn has_tangent(self) -> bool {
        match self {
            Level::Active | Level::Vanishing => true,
            Level::Constant | Level::LeftOut => false,
        }
    }
}

/// A piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Cell(usize);

/// What is known about the memory of one function under one pattern.
#[derive(Clone)]
pub(super) struct Activity {
    cells: Vec<CellFacts>,
    locals: Vec<Cell>,
    globals: HashMap<GlobalId, Cell>,
    result: Cell,
    /// What pointers point to that are made of numbers.
    unknown: Cell,
    /// What pointers point to that code gives which is not read.
    unread: Cell,
    /// Values go from one cell to another.
    flows: Vec<(Cell, Cell, Span)>,
    /// Cells that a call makes active.
    effects: Vec<(Cell, Span)>,
    /// What calls may compute from what.
    uses: Vec<(Cell, Cell)>,
    /// Where tangents leave the function.
    outputs: Vec<Cell>,
    /// Numbers that are stored, and where; and whether a loop that runs stores something else before they are read.
    stores: Vec<(Cell, Expr, bool)>,
}

#[derive(Clone, Default)]
struct CellFacts {
    /// The cell that this one was found to be the same as.
    same_as: Option<Cell>,
    pointee: Option<Cell>,
    is_active: bool,
    /// What of this memory has no derivative: unnamed parameters, variables outside functions.
    constant: Vec<Name>,
    /// The named parameters that lead here.
    named: Vec<Name>,
    /// Whether it is an output that is not named, if it is one: it does not become active.
    is_left_out: bool,
    /// Whether an active value is stored to what is left out.
    is_stored_to: bool,
    /// Whether it is constant on some ways through the function, and its tangent zero: on any ways, and on some on which all
    /// loops run.
    is_vanishing: [bool; 2],
}

/// What a caller must know of a function.
struct Summary {
    /// For each parameter, from what it points to on: whether active values are stored there, and its cell.
    params: Vec<Vec<(bool, Cell)>>,
    /// The same for the result, from its value on.
    result: Vec<(bool, Cell)>,
}

/// A cell that is active and has no derivative.
pub(super) struct Conflict {
    /// What has none.
    pub(super) constant: Name,
    /// The named parameter that a pointer may mean as well.
    pub(super) named: Option<Name>,
    /// Where an active value comes in.
    pub(super) span: Span,
}

/// The analyses that were made, by function and pattern.
#[derive(Default)]
pub(super) struct Analyses {
    known: HashMap<(FunctionId, Pattern), Rc<Activity>>,
}

impl Analyses {
    /// Analyses the requested function: named parameters are active, what others point to is constant.
    pub(super) fn root(&mut self, module: &Module, id: FunctionId, wrt: &[LocalId]) -> Activity {
        let function = &module.functions[id];
        let mut activity = Activity::new(module, function);
        let may_hold_numbers = is_seen_as_floats(module);
        for param in &function.params {
            let local = &function.locals[*param];
            let can_hold = may_hold_numbers || leads_to_floats(module, &local.ty);
            let levels = activity.levels(activity.locals[param.index()], pointer_levels(module, &local.ty));
            for (level, cell) in levels.into_iter().enumerate() {
                let facts = activity.facts_mut(cell);
                if wrt.contains(param) {
                    facts.is_active = true;
                    facts.named.push(local.name.clone());
                    activity.outputs.push(cell);
                } else if level > 0 && can_hold {
                    facts.constant.push(local.name.clone());
                    facts.is_left_out = true;
                }
            }
        }
        activity.solve(self, module, function);
        activity
    }

    /// Analyses a function that is called.
    pub(super) fn callee(&mut self, module: &Module, id: FunctionId, pattern: &Pattern) -> Rc<Activity> {
        let key = (id, pattern.clone());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let function = &module.functions[id];
        let mut activity = Activity::new(module, function);
        let names = function.params.iter().map(|param| Some(function.locals[*param].name.clone()));
        let params = function.params.iter().map(|param| activity.locals[param.index()]);
        let cells: Vec<(Cell, Option<Name>)> = params.chain([activity.result]).zip(names.chain([None])).collect();
        for ((cell, name), wanted) in cells.into_iter().zip(pattern) {
            let levels = activity.levels(cell, wanted.len().saturating_sub(1));
            for (position, (cell, wanted)) in levels.into_iter().zip(wanted).enumerate() {
                let facts = activity.facts_mut(cell);
                match wanted {
                    Level::Constant => {}
                    Level::Active => facts.is_active = true,
                    Level::Vanishing => (facts.is_active, facts.is_vanishing) = (true, [true; 2]),
                    Level::LeftOut => {
                        facts.is_left_out = true;
                        facts.constant.extend(name.clone());
                    }
                }
                if position > 0 && *wanted != Level::LeftOut {
                    activity.outputs.push(cell);
                }
            }
        }
        activity.solve(self, module, function);
        let activity = Rc::new(activity);
        self.known.insert(key, activity.clone());
        activity
    }
}

impl Activity {
    fn new(module: &Module, function: &Function) -> Activity {
        let mut activity = Activity {
            cells: Vec::new(),
            locals: Vec::new(),
            globals: HashMap::new(),
            result: Cell(0),
            unknown: Cell(0),
            unread: Cell(0),
            flows: Vec::new(),
            effects: Vec::new(),
            uses: Vec::new(),
            outputs: Vec::new(),
            stores: Vec::new(),
        };
        activity.result = activity.fresh();
        activity.outputs.push(activity.result);
        activity.unknown = activity.fresh();
        activity.facts_mut(activity.unknown).constant.push("a pointer made of a number".into());
        activity.unread = activity.fresh();
        activity.locals = function.locals.iter().map(|_| activity.fresh()).collect();
        for (id, global) in module.globals.entries() {
            let cell = activity.fresh();
            activity.globals.insert(id, cell);
            for cell in activity.levels(cell, pointer_levels(module, &global.ty)) {
                activity.facts_mut(cell).constant.push(global.name.clone());
                activity.facts_mut(cell).is_left_out = is_only_stored_to(module, id);
            }
        }
        activity
    }

    fn solve(&mut self, analyses: &mut Analyses, module: &Module, function: &Function) {
        let mut calls = Vec::new();
        let overwritten = overwritten(&function.body);
        walk::each_stmt(&function.body, &mut |stmt| {
            let before = self.stores.len();
            self.constrain(module, function, stmt);
            match overwritten.get(&std::ptr::from_ref(stmt)) {
                Some(Overwritten::Always) => self.stores.truncate(before),
                Some(Overwritten::ByLoops) => self.stores[before..].iter_mut().for_each(|store| store.2 = true),
                None => {}
            }
            if let StmtKind::Call { .. } | StmtKind::Launch(_) = &stmt.kind {
                calls.push(stmt);
            }
        });
        self.join_unread(function);
        self.propagate();
        grow(self, Activity::size, |activity| {
            for call in &calls {
                activity.call(analyses, module, call);
            }
            activity.propagate();
        });
        self.find_vanishing(analyses, module, &calls);
    }

    /// Grows with every fact, so that equal sizes mean that nothing was learnt.
    fn size(&self) -> (usize, usize, usize) {
        let joined = self.cells.iter().filter(|facts| facts.same_as.is_some()).count();
        let is_told = |facts: &&CellFacts| facts.same_as.is_none() && (facts.is_active || facts.is_stored_to);
        (joined, self.cells.iter().filter(is_told).count(), self.effects.len())
    }

    /// An active value is stored to a cell. Whether that is new.
    fn store_active(&mut self, cell: Cell) -> bool {
        let facts = self.facts_mut(cell);
        let is_known = if facts.is_left_out { &mut facts.is_stored_to } else { &mut facts.is_active };
        !std::mem::replace(is_known, true)
    }

    fn propagate(&mut self) {
        let mut changed = true;
        while changed {
            changed = false;
            for (from, to, _) in self.flows.clone() {
                changed |= self.is_active(from) && self.store_active(to);
            }
        }
    }

    /// What a statement alone says.
    fn constrain(&mut self, module: &Module, function: &Function, stmt: &Stmt) {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Declare { local, init: Some(value) } => {
                self.assign(module, self.locals[local.index()], value, span);
            }
            StmtKind::Assign { place, value } | StmtKind::Accumulate { place, value } => {
                let to = self.place(place);
                self.assign(module, to, value, span);
            }
            StmtKind::For(counted) => {
                let counter = self.locals[counted.counter.index()];
                self.assign(module, counter, &counted.from, span);
                if function.locals[counted.counter].ty.is_arithmetic() {
                    self.assign(module, counter, &counted.by, span);
                }
            }
            StmtKind::Return(Some(value)) => self.assign(module, self.result, value, span),
            StmtKind::Atomic { place, value, into, .. } => {
                let cell = self.place(place);
                self.assign(module, cell, value, span);
                if let Some(into) = into {
                    let into = self.place(into);
                    self.flows.push((cell, into, span));
                }
            }
            StmtKind::Collective { op, args, into: Some(into), .. } => {
                let is_exchange = match op {
                    CollectiveOp::Shuffle
                    | CollectiveOp::ShuffleUp
                    | CollectiveOp::ShuffleDown
                    | CollectiveOp::ShuffleXor
                    | CollectiveOp::ReduceAdd
                    | CollectiveOp::ReduceMin
                    | CollectiveOp::ReduceMax => true,
                    CollectiveOp::Ballot
                    | CollectiveOp::Any
                    | CollectiveOp::All
                    | CollectiveOp::MatchAny
                    | CollectiveOp::MatchAll
                    | CollectiveOp::ReduceAnd
                    | CollectiveOp::ReduceOr
                    | CollectiveOp::ReduceXor
                    | CollectiveOp::ActiveMask => false,
                };
                if let (true, Some(value)) = (is_exchange, args.first()) {
                    let into = self.place(into);
                    self.assign(module, into, value, span);
                }
            }
            StmtKind::Runtime { call, args, .. } => {
                let ends = runtime_class(call).and_then(|class| class.ends_of_copy());
                if let Some((Some(to), Some(from))) = ends.map(|(to, from)| (args.get(to), args.get(from)))
                    && let (Some(from), Some(to)) = (self.target(from), self.target(to))
                {
                    self.flows.push((from, to, span));
                }
            }
            StmtKind::Opaque { code: Unread::Body { .. }, args, .. } => self.unread_body(module, function, args, span),
            StmtKind::Declare { init: None, .. }
            | StmtKind::Call { .. }
            | StmtKind::If { .. }
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(None)
            | StmtKind::Barrier { .. }
            | StmtKind::Collective { into: None, .. }
            | StmtKind::Launch(_)
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => {}
        }
    }

    /// Pointers that come from code which is passed through point to memory of its own, or to what such code is handed.
    fn join_unread(&mut self, function: &Function) {
        let (mut given, mut handed) = (Vec::new(), Vec::new());
        walk::each_stmt(&function.body, &mut |stmt| {
            if let StmtKind::Opaque { code: Unread::Passed, args, .. } = &stmt.kind {
                let written = walk::written_places(stmt).into_iter().filter(|place| place.ty.is_pointer());
                given.extend(written.filter(|place| !is_text(&place.ty)).cloned());
                let values = args.iter().filter_map(OpaqueArg::value).filter(|value| value.ty.is_pointer());
                handed.extend(values.filter(|value| !is_handle(&value.ty)));
            }
        });
        if given.iter().any(|place| !is_handle(&place.ty)) {
            let targets: Vec<Cell> = handed.iter().filter_map(|value| self.target(value)).collect();
            targets.into_iter().for_each(|target| self.join(target, self.unread));
        }
        for place in given {
            let cell = self.place(&place);
            let pointee = self.pointee(cell);
            self.join(pointee, self.unread);
        }
    }

    /// Whether code that is not read made memory that holds active values.
    pub(super) fn unread_is_active(&self) -> bool {
        self.is_active(self.unread)
    }

    /// A body that is not read may compute all that it can change from all that it can read.
    fn unread_body(&mut self, module: &Module, function: &Function, args: &[OpaqueArg], span: Span) {
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for value in args.iter().filter_map(OpaqueArg::value) {
            self.sources(module, &value, &mut from);
            let depth = pointer_levels(module, &value.ty);
            if let Some(target) = self.target(&value).filter(|_| depth > 0) {
                let behind = self.levels(target, depth - 1);
                from.extend(behind.iter().copied());
                let is_const = matches!(&value.ty, Type::Pointer(pointer) if pointer.is_const && depth == 1);
                to.extend(behind.into_iter().filter(|_| !is_const));
            }
        }
        if carries_floats(module, &function.result) {
            to.push(self.result);
        }
        for from in from {
            self.flows.extend(to.iter().map(|to| (from, *to, span)));
        }
    }

    fn assign(&mut self, module: &Module, to: Cell, value: &Expr, span: Span) {
        let mut sources = Vec::new();
        self.sources(module, value, &mut sources);
        self.flows.extend(sources.into_iter().map(|from| (from, to, span)));
        if carries_floats(module, &value.ty) {
            self.stores.push((to, value.clone(), false));
        }
        if contains_pointer(module, &value.ty)
            && let Some(target) = self.target(value)
        {
            let pointee = self.pointee(to);
            self.join(pointee, target);
        }
    }

    /// The cells whose floats a value depends on smoothly.
    fn sources(&mut self, module: &Module, value: &Expr, out: &mut Vec<Cell>) {
        if !carries_floats(module, &value.ty) {
            return;
        }
        match &value.kind {
            ExprKind::Load(place) => {
                let cell = self.place(place);
                out.push(cell);
            }
            ExprKind::Unary(UnaryOp::Negate | UnaryOp::Not | UnaryOp::BitNot, operand) | ExprKind::Cast(operand) => {
                self.sources(module, operand, out);
            }
            ExprKind::Binary(_, left, right) | ExprKind::Select(_, left, right) => {
                self.sources(module, left, out);
                self.sources(module, right, out);
            }
            ExprKind::Math(_, parts) | ExprKind::Construct(parts) => {
                parts.iter().for_each(|part| self.sources(module, part, out));
            }
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::AddressOf(_)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_) => {}
        }
    }

    /// The cell that a pointer, or the pointers in a record, point to. None for null.
    fn target(&mut self, value: &Expr) -> Option<Cell> {
        match &value.kind {
            ExprKind::Load(place) => {
                let holder = self.place(place);
                Some(self.pointee(holder))
            }
            ExprKind::AddressOf(place) => Some(self.place(place)),
            ExprKind::Binary(BinaryOp::Offset, base, _) => self.target(base),
            ExprKind::Select(_, then, otherwise) => {
                let (left, right) = (self.target(then), self.target(otherwise));
                self.join_both(left, right)
            }
            ExprKind::Cast(operand) if operand.ty.is_arithmetic() => Some(self.unknown),
            ExprKind::Cast(operand) => self.target(operand),
            ExprKind::Construct(parts) => {
                let mut all = None;
                for part in parts.iter().filter(|part| !part.ty.is_arithmetic()) {
                    let target = self.target(part);
                    all = self.join_both(all, target);
                }
                all
            }
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_) => None,
        }
    }

    /// The cell that a place is in.
    fn place(&mut self, place: &Place) -> Cell {
        match &place.kind {
            PlaceKind::Local(local) => self.locals[local.index()],
            PlaceKind::Global(global) => self.globals[global],
            PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => self.place(base),
            // What null leads to never runs.
            PlaceKind::Element(pointer, _) if is_null_pointer(pointer) => self.fresh(),
            PlaceKind::Element(pointer, _) => self.target(pointer).unwrap_or(self.unknown),
        }
    }

    fn call(&mut self, analyses: &mut Analyses, module: &Module, stmt: &Stmt) {
        let Some(Called { into, function, args }) = stmt.called() else { return };
        if module.rule(function).is_some_and(|rule| rule.kind == RuleKind::Constant) {
            return;
        }
        let pattern = self.pattern(module, function, args, into);
        let summary = analyses.callee(module, function, &pattern).summary(module, &module.functions[function]);
        self.note_uses(module, into, args);
        let mut pairs: Vec<(Cell, (bool, Cell))> = Vec::new();
        for (arg, levels) in args.iter().zip(&summary.params) {
            if let Some(target) = self.target(arg).filter(|_| !levels.is_empty()) {
                pairs.extend(self.levels(target, levels.len() - 1).into_iter().zip(levels.iter().copied()));
            }
        }
        let first_of_result = pairs.len();
        if let Some(into) = into {
            let into = self.place(into);
            pairs.extend(self.levels(into, summary.result.len() - 1).into_iter().zip(summary.result.iter().copied()));
        }
        let mut ours: BTreeMap<Cell, Cell> = BTreeMap::new();
        for (index, (cell, (is_active, theirs))) in pairs.into_iter().enumerate() {
            if is_active && !self.is_active(cell) && self.store_active(cell) {
                self.effects.push((cell, stmt.span));
            }
            // The value of the result is a copy; only what it points to is shared.
            if index != first_of_result {
                let same = *ours.entry(theirs).or_insert(cell);
                self.join(same, cell);
            }
        }
    }

    /// A call may compute all that it writes, and its result, from all that it is given.
    fn note_uses(&mut self, module: &Module, into: Option<&Place>, args: &[Expr]) {
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for arg in args {
            self.sources(module, arg, &mut from);
            let depth = pointer_levels(module, &arg.ty);
            if let Some(target) = self.target(arg).filter(|_| depth > 0) {
                to.extend(self.levels(target, depth - 1));
            }
        }
        let behind = to.clone();
        to.extend(into.map(|into| self.place(into)));
        for from in from {
            self.uses.extend(to.iter().map(|to| (from, *to)));
        }
        // The function itself is asked what it does with memory that is left out.
        for from in behind {
            if !self.cells[self.find(from).0].is_left_out {
                self.uses.extend(to.iter().map(|to| (from, *to)));
            }
        }
    }

    /// Which arguments of a call are active, and what behind its result.
    pub(super) fn pattern(
        &mut self,
        module: &Module,
        callee: FunctionId,
        args: &[Expr],
        into: Option<&Place>,
    ) -> Pattern {
        let function = &module.functions[callee];
        let mut pattern = Pattern::new();
        for (param, arg) in function.params.iter().zip(args) {
            let ty = &function.locals[*param].ty;
            let mut sources = Vec::new();
            self.sources(module, arg, &mut sources);
            let is_active = sources.into_iter().any(|source| self.is_active(source));
            let is_asked = is_active && divides(module, callee) && self.may_vanish(module, arg, Ways::All);
            let mut levels = vec![match (is_active, is_asked) {
                (true, true) => Level::Vanishing,
                (true, false) => Level::Active,
                (false, _) => Level::Constant,
            }];
            let depth = pointer_levels(module, ty);
            match self.target(arg).filter(|_| depth > 0) {
                Some(target) => {
                    let cells = self.levels(target, depth - 1);
                    levels.extend(cells.into_iter().map(|cell| self.level(cell)));
                }
                None => levels.resize(depth + 1, Level::Constant),
            }
            pattern.push(levels);
        }
        // New memory is active if the caller puts active values there.
        let depth = pointer_levels(module, &function.result);
        if let Some(into) = into.filter(|_| depth > 0) {
            let cell = self.place(into);
            let mut levels: Vec<Level> = self.levels(cell, depth).into_iter().map(|cell| self.level(cell)).collect();
            levels[0] = Level::Constant;
            pattern.extend(levels.iter().any(|level| level.has_tangent()).then_some(levels));
        }
        pattern
    }

    fn level(&self, cell: Cell) -> Level {
        let facts = &self.cells[self.find(cell).0];
        match (facts.is_active, facts.is_left_out) {
            (true, _) => Level::Active,
            (false, true) => Level::LeftOut,
            (false, false) => Level::Constant,
        }
    }

    fn summary(&self, module: &Module, function: &Function) -> Summary {
        let mut activity = self.clone();
        let mut of = |cell: Cell, ty: &Type| -> Vec<(bool, Cell)> {
            let levels = activity.levels(cell, pointer_levels(module, ty));
            let is_stored_to = |cell: Cell| activity.cells[activity.find(cell).0].is_stored_to;
            let told = |cell: Cell| (activity.is_active(cell) || is_stored_to(cell), activity.find(cell));
            levels.into_iter().map(told).collect()
        };
        let params = function.params.iter().map(|param| {
            let levels = of(self.locals[param.index()], &function.locals[*param].ty);
            levels.into_iter().skip(1).collect()
        });
        let params = params.collect();
        Summary { params, result: of(self.result, &function.result) }
    }

    /// Whether a local needs a shadow: it may hold an active value, or lead to one.
    pub(super) fn has_shadow(&mut self, module: &Module, local: LocalId, ty: &Type) -> bool {
        let cell = self.locals[local.index()];
        self.leads_to_active(module, cell, ty)
    }

    /// Whether what a local holds is active, whatever type it is declared with.
    pub(super) fn is_active_local(&mut self, local: LocalId) -> bool {
        let cell = self.locals[local.index()];
        self.is_active(cell)
    }

    /// Whether a pointer may lead to what has no derivative because the function was handed it.
    pub(super) fn leads_to_constant(&mut self, local: LocalId) -> bool {
        let pointee = self.pointee(self.locals[local.index()]);
        !self.facts_mut(pointee).constant.is_empty()
    }

    /// Whether the result has a shadow.
    pub(super) fn result_has_shadow(&mut self, module: &Module, ty: &Type) -> bool {
        self.leads_to_active(module, self.result, ty)
    }

    fn leads_to_active(&mut self, module: &Module, cell: Cell, ty: &Type) -> bool {
        let levels = self.levels(cell, pointer_levels(module, ty));
        let holds = |index: usize| index > 0 || carries_floats(module, ty);
        levels.into_iter().enumerate().any(|(index, cell)| holds(index) && self.is_active(cell))
    }

    /// Whether the memory that a pointer means, or leads to, is active.
    pub(super) fn points_to_active(&mut self, module: &Module, pointer: &Expr) -> bool {
        let depth = pointer_levels(module, &pointer.ty);
        match self.target(pointer).filter(|_| depth > 0) {
            Some(target) => self.levels(target, depth - 1).into_iter().any(|cell| self.is_active(cell)),
            None => false,
        }
    }

    /// The cells that an output may be computed from.
    fn useful(&self) -> HashSet<Cell> {
        let mut found: HashSet<Cell> = self.outputs.iter().map(|cell| self.find(*cell)).collect();
        let flows = self.flows.iter().map(|(from, to, _)| (*from, *to)).chain(self.uses.iter().copied());
        let flows: Vec<(Cell, Cell)> = flows.map(|(from, to)| (self.find(from), self.find(to))).collect();
        grow(&mut found, HashSet::len, |found| {
            let new: Vec<Cell> = flows.iter().filter(|(_, to)| found.contains(to)).map(|(from, _)| *from).collect();
            found.extend(new);
        });
        found
    }

    /// Cells that are active and have no derivative. What is left out may hold active values if nothing is computed from
    /// them that has one.
    pub(super) fn conflicts(&self) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        let mut seen = HashSet::new();
        let useful = self.useful();
        for cell in (0..self.cells.len()).map(Cell) {
            let facts = &self.cells[self.find(cell).0];
            let is_lost = facts.is_stored_to && useful.contains(&self.find(cell));
            let is_conflict = !facts.constant.is_empty() && (facts.is_active || is_lost);
            if !is_conflict || !seen.insert(self.find(cell)) {
                continue;
            }
            let is_here = |other: Cell| self.find(other) == self.find(cell);
            let stored = self.flows.iter().find(|(from, to, _)| is_here(*to) && self.is_active(*from));
            let called = self.effects.iter().find(|(to, _)| is_here(*to)).map(|(_, span)| *span);
            let span = stored.map(|(_, _, span)| *span).or(called).unwrap_or(Span::NONE);
            let named = facts.named.first().cloned();
            conflicts.push(Conflict { constant: facts.constant[0].clone(), named, span });
        }
        conflicts
    }

    fn fresh(&mut self) -> Cell {
        self.cells.push(CellFacts::default());
        Cell(self.cells.len() - 1)
    }

    fn find(&self, mut cell: Cell) -> Cell {
        while let Some(same) = self.cells[cell.0].same_as {
            cell = same;
        }
        cell
    }

    fn facts_mut(&mut self, cell: Cell) -> &mut CellFacts {
        let cell = self.find(cell);
        &mut self.cells[cell.0]
    }

    fn is_active(&self, cell: Cell) -> bool {
        self.cells[self.find(cell).0].is_active
    }

    fn pointee(&mut self, cell: Cell) -> Cell {
        let cell = self.find(cell);
        if let Some(pointee) = self.cells[cell.0].pointee {
            return pointee;
        }
        let pointee = self.fresh();
        self.cells[cell.0].pointee = Some(pointee);
        pointee
    }

    /// The cell and those behind it, by so many pointers.
    fn levels(&mut self, cell: Cell, depth: usize) -> Vec<Cell> {
        let mut levels = vec![cell];
        for index in 0..depth {
            let next = self.pointee(levels[index]);
            levels.push(next);
        }
        levels
    }

    fn join_both(&mut self, left: Option<Cell>, right: Option<Cell>) -> Option<Cell> {
        if let (Some(left), Some(right)) = (left, right) {
            self.join(left, right);
        }
        left.or(right)
    }

    fn join(&mut self, left: Cell, right: Cell) {
        let (left, right) = (self.find(left), self.find(right));
        if left == right {
            return;
        }
        // The older one stays, so that chains are short and results do not depend on chance.
        let (kept, gone) = (left.min(right), left.max(right));
        let facts = std::mem::take(&mut self.cells[gone.0]);
        self.cells[gone.0].same_as = Some(kept);
        let into = &mut self.cells[kept.0];
        into.is_active |= facts.is_active;
        into.is_left_out |= facts.is_left_out;
        into.is_stored_to |= facts.is_stored_to;
        into.is_vanishing = [0, 1].map(|ways| into.is_vanishing[ways] || facts.is_vanishing[ways]);
        into.constant.extend(facts.constant);
        into.named.extend(facts.named);
        match (into.pointee, facts.pointee) {
            (Some(left), Some(right)) => self.join(left, right),
            (None, pointee) => into.pointee = pointee,
            (Some(_), None) => {}
        }
    }
}

/// Whether nothing in the module reads a variable of the device, or takes its address.
fn is_only_stored_to(module: &Module, id: GlobalId) -> bool {
    let mut is_read = !module.globals[id].storage.is_on_device();
    for function in module.functions.iter() {
        walk::each_expr(&function.body, &mut |expr| {
            if let ExprKind::Load(place) | ExprKind::AddressOf(place) = &expr.kind {
                is_read |= root(place) == Some(id);
            }
        });
    }
    !is_read
}

/// The variable outside functions that a place is in.
fn root(place: &Place) -> Option<GlobalId> {
    match &place.kind {
        PlaceKind::Global(global) => Some(*global),
        PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => root(base),
        PlaceKind::Local(_) | PlaceKind::Element(..) => None,
    }
}
