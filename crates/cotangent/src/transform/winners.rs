//! A running maximum is what one iteration had: the derivative needs to know which, and no value of the others.
//!
//! `for (i …) m = fmaxf(m, x[i]);` as reverse mode sees it needs each value of `m` again, to ask who was greater. But the last
//! iteration that gave `m` a value is the only one that matters:
//!
//! ```text
//! float m_so_far = m; bool m_found = false; int m_i = 0;
//! for (i …) if (!(m_so_far >= x[i] || x[i] != x[i])) { m_so_far = x[i]; m_found = true; m_i = i; }
//! if (m_found) m = x[m_i];
//! ```
//!
//! `m_so_far` is only compared, so it is not active, and the loop has no adjoint (`docs/design/winners.md`).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use super::locals::{NewLocals, assign, declare, rename};
use super::normalize::address_taken;
use crate::analysis::{Object, Objects, objects, written};
use crate::ir::walk::{self, NodeMut, PartMut};
use crate::ir::{
    BinaryOp, Block, Expr, ExprKind, For, Function, LocalId, Module, Place, PlaceKind, Stmt, StmtKind, Storage, Type,
    UnaryOp,
};
use crate::rules::chosen_by;

/// The name of the pass.
pub(super) const WINNERS: &str = "winners";

/// How large the value that won may be, in expressions: it is computed once more after the loop.
const LARGEST_VALUE: usize = 64;

/// A function in which running maxima of some variables keep who won; none if there is no such loop.
pub(super) fn keep_winners(
    module: &Module,
    function: &Function,
    is_meant: &dyn Fn(LocalId) -> bool,
) -> Option<Function> {
    let objects = objects(module, function);
    let mut pass = Pass {
        objects: &objects,
        is_meant,
        fixed: address_taken(function),
        names: NewLocals::new(module, function),
        function: function.clone(),
        is_changed: false,
    };
    let mut body = std::mem::take(&mut pass.function.body);
    pass.block(&mut body);
    pass.function.body = body;
    pass.is_changed.then_some(pass.function)
}

struct Pass<'p> {
    objects: &'p Objects<'p>,
    is_meant: &'p dyn Fn(LocalId) -> bool,
    /// Variables that pointers may lead to.
    fixed: HashSet<LocalId>,
    names: NewLocals,
    function: Function,
    is_changed: bool,
}

/// The one statement of a loop that gives a variable its value, and what that is made of.
struct Choice {
    variable: LocalId,
    /// The value, in terms of what is there after the loop and of the counters below.
    value: Expr,
    /// The counters of the loops around the statement.
    counters: Vec<LocalId>,
}

impl Pass<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut position = 0;
        while position < block.len() {
            if let StmtKind::For(head) = &mut block[position].kind {
                let found = self.choices(head);
                let mut before = Block::new();
                let mut after = Block::new();
                for choice in &found {
                    self.rewrite(head, choice, &mut before, &mut after);
                }
                self.is_changed |= !found.is_empty();
                let (loop_position, added_after) = (position + before.len(), after.len());
                block.splice(position + 1..position + 1, after);
                block.splice(position..position, before);
                self.inside(&mut block[loop_position]);
                position = loop_position + 1 + added_after;
                continue;
            }
            self.inside(&mut block[position]);
            position += 1;
        }
    }

    fn inside(&mut self, stmt: &mut Stmt) {
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                self.block(inner);
            }
            ControlFlow::<()>::Continue(())
        });
    }

    /// The running maxima of a loop.
    fn choices(&self, head: &For) -> Vec<Choice> {
        if !only_computes(&head.body) {
            return Vec::new();
        }
        let mut own = HashSet::from([head.counter]);
        let mut carried = BTreeSet::new();
        walk::each_stmt(&head.body, &mut |stmt| {
            own.extend(walk::declared_local(stmt));
            if let StmtKind::Assign { place, .. } = &stmt.kind {
                carried.extend(place.as_local());
            }
        });
        carried.retain(|local| {
            let variable = &self.function.locals[*local];
            let is_number = variable.ty == Type::FLOAT || variable.ty == Type::DOUBLE;
            is_number && variable.storage == Storage::Private && !own.contains(local) && !self.fixed.contains(local)
        });
        let changed = written(self.objects, &head.body);
        let meant = carried.iter().filter(|local| (self.is_meant)(**local));
        meant.filter_map(|variable| self.choice(head, *variable, &carried, &own, &changed)).collect()
    }

    fn choice(
        &self,
        head: &For,
        variable: LocalId,
        carried: &BTreeSet<LocalId>,
        own: &HashSet<LocalId>,
        changed: &BTreeSet<Object>,
    ) -> Option<Choice> {
        let mut search = Search { variable, carried, found: Vec::new(), known: HashMap::new(), counters: Vec::new() };
        search.for_loop(head, false)?;
        let [(mut value, mut counters)] = <[_; 1]>::try_from(search.found).ok()?;
        // A variable that is given something twice is not what it was declared as.
        let assigned = walk::assigned_locals(&head.body);
        search.known.retain(|local, _| !assigned.contains(local));
        resolve(&mut value, &search.known, &mut { LARGEST_VALUE })?;
        counters.retain(|counter| walk::expr_mentions(&value, *counter));
        let is_there = !walk::loads_any(&value, &mut |place| {
            let is_counter = place.as_local().is_some_and(|local| counters.contains(&local));
            let is_gone = walk::own_variable(place).is_some_and(|local| own.contains(&local));
            !is_counter && (is_gone || self.objects.of_place(place).iter().any(|object| object.overlaps_any(changed)))
        });
        is_there.then_some(Choice { variable, value, counters })
    }

    fn rewrite(&mut self, head: &mut For, choice: &Choice, before: &mut Block, after: &mut Block) {
        let Choice { variable, value, counters } = choice;
        let Function { locals, .. } = &self.function;
        let (name, ty) = (locals[*variable].name.clone(), locals[*variable].ty.clone());
        let counters: Vec<(LocalId, Type)> =
            counters.iter().map(|counter| (*counter, locals[*counter].ty.clone())).collect();
        let function = &mut self.function;
        let so_far = self.names.add(function, &format!("{name}_so_far"), ty.clone());
        let found = self.names.add(function, &format!("{name}_found"), Type::Bool);
        let found_place = || Place::local(found, Type::Bool);
        let load = |local: LocalId, ty: &Type| Expr::load(Place::local(local, ty.clone()));
        before.push(
            declare(so_far, Some(load(*variable, &ty)))
                .noted("the reverse sweep needs which iteration won, not each value"),
        );
        before.push(declare(found, Some(Expr::bool(false))));
        let mut told = vec![assign(found_place(), Expr::bool(true))];
        let mut winners = HashMap::new();
        for (counter, ty) in &counters {
            let Type::Int(kind) = ty else { unreachable!("counters are integers") };
            let name = format!("{name}_{}", function.locals[*counter].name);
            let winner = self.names.add(function, &name, ty.clone());
            before.push(declare(winner, Some(Expr::integer(0, *kind))));
            told.push(assign(Place::local(winner, ty.clone()), load(*counter, ty)));
            winners.insert(*counter, winner);
        }
        tell(&mut head.body, *variable, &told);
        rename(&mut head.body, &HashMap::from([(*variable, so_far)]));
        let mut won = vec![assign(Place::local(*variable, ty), value.clone())];
        rename(&mut won, &winners);
        let kind = StmtKind::If { cond: Expr::load(found_place()), then_block: won, else_block: Block::new() };
        after.push(Stmt::new(kind));
    }
}

/// Looks for all that a loop does with a variable.
struct Search<'s> {
    variable: LocalId,
    /// Numbers that go from iteration to iteration.
    carried: &'s BTreeSet<LocalId>,
    /// What the variable is given, with the counters around it.
    found: Vec<(Expr, Vec<LocalId>)>,
    /// What variables of an iteration are declared as.
    known: HashMap<LocalId, Expr>,
    counters: Vec<LocalId>,
}

impl Search<'_> {
    /// None if the variable is used for more than to be compared.
    fn for_loop(&mut self, head: &For, is_asked: bool) -> Option<()> {
        if [&head.from, &head.to, &head.by].iter().any(|part| walk::expr_mentions(part, self.variable)) {
            return None;
        }
        self.counters.push(head.counter);
        self.block(&head.body, is_asked)?;
        self.counters.pop();
        Some(())
    }

    /// `is_asked`: whether something that goes from iteration to iteration decides that the block runs.
    fn block(&mut self, block: &[Stmt], is_asked: bool) -> Option<()> {
        block.iter().try_for_each(|stmt| self.stmt(stmt, is_asked))
    }

    fn stmt(&mut self, stmt: &Stmt, is_asked: bool) -> Option<()> {
        match &stmt.kind {
            StmtKind::Declare { local, init: Some(init) } if !walk::expr_mentions(init, self.variable) => {
                self.known.insert(*local, init.clone());
                Some(())
            }
            StmtKind::If { cond, then_block, else_block } => {
                let is_carried = |place: &Place| place.as_local().is_some_and(|local| self.carried.contains(&local));
                let is_asked = is_asked || walk::loads_any(cond, &mut |place| is_carried(place));
                self.block(then_block, is_asked)?;
                self.block(else_block, is_asked)
            }
            StmtKind::For(head) => self.for_loop(head, is_asked),
            StmtKind::Assign { place, value } if place.as_local() == Some(self.variable) => {
                let taken = match chosen(value, self.variable) {
                    Some((_, taken)) => taken,
                    // Which iterations give it something is known without a record, or all of them do.
                    None if !is_asked => return None,
                    None => value,
                };
                self.found.push((taken.clone(), self.counters.clone()));
                (!walk::expr_mentions(taken, self.variable)).then_some(())
            }
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
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
            | StmtKind::Opaque { .. } => (!walk::mentions(std::slice::from_ref(stmt), self.variable)).then_some(()),
        }
    }
}

/// When a variable is given something new by a value, and what that is: `fmaxf(m, x)`, `m < x ? x : m`.
fn chosen(value: &Expr, variable: LocalId) -> Option<(Expr, &Expr)> {
    let is_variable = |expr: &Expr| expr.as_local() == Some(variable);
    let not = |cond: Expr| Expr::unary(UnaryOp::Not, cond);
    if let ExprKind::Select(cond, then, other) = &value.kind {
        return match [then, other].map(|part| is_variable(part)) {
            [false, true] => Some(((**cond).clone(), then)),
            [true, false] => Some((not((**cond).clone()), other)),
            [true, true] | [false, false] => None,
        };
    }
    let ExprKind::Math(name, args) = &value.kind else { return None };
    let (test, [first, second]) = (chosen_by(name)?, args.as_slice()) else { return None };
    // As the table of functions has it: the first one, if it is not worse or if the second one is no number.
    let is_first = Expr::binary(test, first.clone(), second.clone());
    let no_number = Expr::binary(BinaryOp::NotEqual, second.clone(), second.clone());
    let is_first = Expr::binary(BinaryOp::Or, is_first, no_number);
    match [first, second].map(is_variable) {
        [true, false] => Some((not(is_first), second)),
        [false, true] => Some((is_first, first)),
        [true, true] | [false, false] => None,
    }
}

/// Has the statement that gives a variable its value tell who won.
fn tell(block: &mut Block, variable: LocalId, told: &[Stmt]) {
    let mut position = 0;
    while position < block.len() {
        let stmt = &mut block[position];
        position += 1;
        if let StmtKind::Assign { place, value } = &stmt.kind
            && place.as_local() == Some(variable)
        {
            match chosen(value, variable) {
                Some((cond, value)) => {
                    let taken = assign(place.clone(), value.clone()).at(stmt.span);
                    let then_block = [&[taken], told].concat();
                    stmt.kind = StmtKind::If { cond, then_block, else_block: Block::new() };
                }
                None => drop(block.splice(position..position, told.iter().cloned())),
            }
            return;
        }
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                tell(inner, variable, told);
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

/// Replaces variables of an iteration by what they were declared as. None if that becomes too large.
fn resolve(value: &mut Expr, known: &HashMap<LocalId, Expr>, room: &mut usize) -> Option<()> {
    let result = walk::visit_expr_mut(value, &mut |node| {
        let NodeMut::Expr(expr) = node else { return ControlFlow::Continue(()) };
        let Some(left) = room.checked_sub(1) else { return ControlFlow::Break(()) };
        *room = left;
        let ExprKind::Load(place) = &mut expr.kind else { return ControlFlow::Continue(()) };
        let is_resolved = match place.as_local().and_then(|local| known.get(&local)) {
            Some(init) => {
                *expr = init.clone();
                resolve(expr, known, room)
            }
            None if resolve_part(place, known) => resolve(expr, known, room),
            None => Some(()),
        };
        if is_resolved.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    result.is_continue().then_some(())
}

/// Whether a part of a variable is a part of the place that the variable is a copy of, which it becomes.
fn resolve_part(place: &mut Place, known: &HashMap<LocalId, Expr>) -> bool {
    match &mut place.kind {
        PlaceKind::Local(local) => match known.get(local).and_then(Expr::as_load) {
            Some(copied) => {
                *place = copied.clone();
                true
            }
            None => false,
        },
        PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => resolve_part(base, known),
        PlaceKind::Global(_) | PlaceKind::Element(..) => false,
    }
}

/// Whether a block computes, stores and branches, and nothing else: no thread meets another one, and nothing runs of which it is not
/// known what it does.
fn only_computes(block: &Block) -> bool {
    let mut is_found = true;
    walk::each_stmt(block, &mut |stmt| {
        is_found &= match &stmt.kind {
            StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Call { .. }
            | StmtKind::Launch(_)
            | StmtKind::Runtime { .. }
            | StmtKind::Opaque { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. } => false,
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::If { .. }
            | StmtKind::For(_)
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_) => true,
        };
    });
    is_found
}
