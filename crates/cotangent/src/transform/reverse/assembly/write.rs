//! Writes one derivative: its signature, its two sweeps, its end.

use std::collections::{BTreeSet, HashMap};

use super::super::decision::Decision;
use super::super::derivatives::{Adders, Derivatives, Kind, Options};
use super::super::facts::Facts;
use super::super::frames::{Frame, Frames};
use super::super::rules::params::Sum;
use super::super::rules::{Refused, Rules, Threads};
use super::super::stretches::LoopNumber;
use super::super::variables::Variables;
use super::block::{Changed, Sweeps};
use super::record::{self, Limit, Start};
use super::settle::Kept;
use super::split::Apart;
use super::{Assembly, frees, slots, tape};
use crate::analysis::shift::{candidates, shifts};
use crate::analysis::{Activity, Object, Objects, activity_besides, objects};
use crate::ir::walk;
use crate::ir::{Block, Expr, Function, FunctionId, LocalId, Module, Name, Place, Space, Stmt, StmtKind, Type};
use crate::rules::{PUSH, RESERVE};
use crate::source::Span;
use crate::transform::accumulate::AdjointParam;
use crate::transform::lives::{Lives, lives_together};
use crate::transform::locals::{params_first, tell_apart};
use crate::transform::refused_stores::refused_stores;
use crate::transform::refused_views::refused_views;
use crate::transform::shadow::Shadows;
use crate::transform::variables::{label, labels};
use crate::transform::{Analyses, Fact, Trust};

/// A derivative.
pub(in crate::transform::reverse) struct Written {
    pub(in crate::transform::reverse) function: Function,
    pub(in crate::transform::reverse) adjoints: Vec<AdjointParam>,
    /// Which variables of the reverse sweep stand for which of the forward sweep.
    pub(in crate::transform::reverse) copies: HashMap<LocalId, LocalId>,
    /// What it records, if it takes a record.
    pub(in crate::transform::reverse) record: Option<Record>,
    /// The forward sweep, where it is a function of its own.
    pub(in crate::transform::reverse) augmented: Option<Function>,
    /// Of the split form, the positions of the parameters whose memory the reverse sweep reads.
    pub(in crate::transform::reverse) needed: Vec<usize>,
    pub(in crate::transform::reverse) decisions: Vec<Decision>,
}

/// What a derivative records.
pub(in crate::transform::reverse) struct Record {
    /// How many slots of the record a thread needs, if that can be told.
    pub(in crate::transform::reverse) slots: Option<SlotCount>,
    /// The loops that record in memory of the launch, without others inside that do.
    pub(in crate::transform::reverse) stacked: Vec<Stacked>,
}

/// A loop that records in memory of the launch.
pub(in crate::transform::reverse) struct Stacked {
    pub(in crate::transform::reverse) number: LoopNumber,
    pub(in crate::transform::reverse) span: Span,
    /// How much an iteration records.
    pub(in crate::transform::reverse) bytes: u64,
}

impl Written {
    /// Whether the uses of shared arrays could be made one array again.
    pub(in crate::transform::reverse) fn joins(&mut self, lives: &Lives) -> bool {
        if lives.is_empty() {
            return true;
        }
        let Some(map) = lives_together(&mut self.function, lives) else { return false };
        for adjoint in &mut self.adjoints {
            adjoint.primal = map.get(&adjoint.primal).copied().unwrap_or(adjoint.primal);
        }
        let others = match self.record.as_mut().and_then(|record| record.slots.as_mut()) {
            Some(SlotCount::Counted(counting)) => Some(counting),
            Some(SlotCount::Fixed(_) | SlotCount::Stated(_)) | None => None,
        };
        self.augmented.iter_mut().chain(others).all(|function| lives_together(function, lives).is_some())
    }

    /// The loops that record in memory of the launch.
    pub(in crate::transform::reverse) fn stacked(&self) -> &[Stacked] {
        self.record.as_ref().map_or(&[], |record| &record.stacked)
    }

    /// How many values of iterations a host function records.
    pub(in crate::transform::reverse) fn recorded(&self) -> usize {
        let mut count = 0;
        walk::each_stmt(&self.function.body, &mut |stmt| {
            if let StmtKind::Runtime { call, .. } = &stmt.kind {
                count += usize::from([RESERVE, PUSH].contains(&&**call));
            }
        });
        count
    }
}

/// How many slots of the record a thread needs.
pub(in crate::transform::reverse) enum SlotCount {
    /// Always so many.
    Fixed(usize),
    /// So many at most, by the user's word.
    Stated(u32),
    /// What this kernel counts.
    Counted(Function),
}

/// Writes the derivative of a function. Of its fleeting arrays it keeps what is read.
pub(in crate::transform::reverse) fn write(
    normal: &Module,
    id: FunctionId,
    kind: &Kind,
    fleeting: BTreeSet<LocalId>,
    derivatives: &mut dyn Derivatives,
) -> Result<Written, Refused> {
    let primal = &normal.functions[id];
    let objects = objects(normal, primal);
    let named = named_by(primal, kind);
    let options = derivatives.options().clone();
    let activity = believed_activity(normal, &objects, primal, &named, &options);
    let Options { record_slots, widening, trust, .. } = options;
    let changed = changed_between(primal, &objects, kind);
    let facts = Facts::new(normal, primal, &objects, &activity, &changed, trust);
    let name = derivatives.free_name(name_of(normal, primal, kind, &named));
    let mut function = Function { name, body: Block::new(), is_extern_c: false, ..primal.clone() };
    if let Kind::Pullback(_) | Kind::Split { .. } = kind {
        function.result = Type::Void;
    }
    let contended = if facts.is_host() { facts.contended_arrays() } else { BTreeSet::new() };
    let mut rules = Rules {
        facts: &facts,
        vars: Variables::new(&facts, function, Shadows::with(widening)),
        threads: Threads { contended, ..Threads::default() },
        frames: Frames::new(Frame::default(), fleeting),
        derivatives,
        refused: Refused::default(),
        decisions: Vec::new(),
        rolled_back: BTreeSet::new(),
    };
    let limit = record_slots
        .filter(|_| facts.is_kernel())
        .map(|slots| Limit::new(&mut rules.vars.function, &mut rules.vars.names, slots));
    let mut left = Vec::new();
    if let Kind::Gradient { rolled_back, restored, .. } = kind {
        rules.roll_back(rolled_back);
        rules.roll_back(&restored.iter().map(|array| array.param).collect::<Vec<_>>());
        left = restored.clone();
    }
    rules.check_named(&named);
    rules.refused.diagnostics.extend(facts.lost_bits());
    rules.refused.diagnostics.extend(refused_stores(normal, id, &objects, &activity));
    rules.refused.diagnostics.extend(refused_views(normal, primal, &objects, &activity));
    let (adjoints, sums) = rules.adjoint_params(&named, kind);
    let mut assembly = Assembly::new(rules, limit, left);
    let (slots, augmented, needed) = match kind {
        Kind::Split { .. } => assembly.write_apart(&sums),
        Kind::Gradient { .. } | Kind::Pullback(_) | Kind::Slopes(_) => {
            (assembly.write_joint(kind, &sums), None, Vec::new())
        }
    };
    let Assembly { mut rules, uses_record, stacked, word, .. } = assembly;
    let stacked =
        stacked.into_iter().map(|(number, span, slots)| Stacked { number, span, bytes: slots as u64 * word }).collect();
    if !rules.refused.diagnostics.is_empty() {
        // What the normal form has made stands nowhere: the function is shown.
        let lost = rules.refused.diagnostics.iter_mut().filter(|found| found.span.is_none());
        lost.for_each(|found| found.span = primal.span);
        return Err(rules.refused);
    }
    let shared: Vec<AdjointParam> = rules.shared_shadows();
    let map = params_first(&mut rules.vars.function);
    let moved = |local: LocalId| map.get(&local).copied().unwrap_or(local);
    let adjoints = adjoints
        .into_iter()
        .chain(shared)
        .map(|param| AdjointParam { adjoint: moved(param.adjoint), primal: moved(param.primal), ..param })
        .collect();
    let copies = rules.vars.copies().map(|(copy, original)| (moved(copy), moved(original))).collect();
    Ok(Written {
        function: rules.vars.function,
        adjoints,
        copies,
        record: uses_record.then_some(Record { slots, stacked }),
        augmented,
        needed,
        decisions: rules.decisions,
    })
}

/// Which objects of a function carry derivatives.
pub(in crate::transform::reverse) fn active_objects(
    normal: &Module,
    primal: &Function,
    kind: &Kind,
    options: &Options,
) -> Activity {
    believed_activity(normal, &objects(normal, primal), primal, &named_by(primal, kind), options)
}

/// Which objects carry derivatives, as far as that is believed.
fn believed_activity(
    normal: &Module,
    objects: &Objects<'_>,
    primal: &Function,
    named: &[LocalId],
    options: &Options,
) -> Activity {
    let trust = options.trust;
    let shifts = match trust {
        _ if options.analyses == Analyses::Off || !trust.runs("shift") || trust.doubted == Some(Fact::Shift) => {
            BTreeSet::new()
        }
        Trust { denied: Some(Fact::Shift), .. } => candidates(primal),
        Trust { .. } => shifts(normal, objects, primal),
    };
    let constant = shifts.into_iter().map(Object::local).collect();
    let mut found = activity_besides(normal, objects, &primal.body, named, constant);
    let own = primal.locals.ids().filter(|local| !primal.params.contains(local)).map(Object::local);
    if trust.doubted == Some(Fact::Activity) {
        found.add(own);
    } else if trust.denied == Some(Fact::Activity) {
        found.remove(own);
    }
    found
}

/// What changes between the sweeps though the function does not write it: where these are two functions, memory that the
/// caller says may change.
fn changed_between(primal: &Function, objects: &Objects<'_>, kind: &Kind) -> BTreeSet<Object> {
    let Kind::Split { saved, variables, .. } = kind else { return BTreeSet::new() };
    let load = |param: &LocalId| Expr::load(Place::local(*param, primal.locals[*param].ty.clone()));
    let reached = saved.iter().flat_map(|param| objects.reachable(&load(param)));
    reached.chain(variables.iter().cloned()).collect()
}

/// The parameters that have adjoints.
fn named_by(primal: &Function, kind: &Kind) -> Vec<LocalId> {
    match kind {
        Kind::Gradient { wrt, .. } | Kind::Split { wrt, .. } => wrt.clone(),
        Kind::Pullback(pattern) | Kind::Slopes(pattern) => {
            let params = primal.params.iter().zip(&pattern.adders);
            params.filter(|(_, adders)| **adders != Adders::Constant).map(|(param, _)| *param).collect()
        }
    }
}

/// `f_grad` if all that could be named is named, else with the positions; pullbacks tell what threads share.
pub(in crate::transform::reverse) fn name_of(
    module: &Module,
    primal: &Function,
    kind: &Kind,
    named: &[LocalId],
) -> String {
    let mut positions = labels(module, primal, named);
    let word = match kind {
        Kind::Gradient { .. } => "grad",
        Kind::Slopes(_) => "with_slopes",
        Kind::Split { contended, .. } => {
            if !contended.is_empty() {
                positions.push("streams".to_owned());
                positions.extend(contended.iter().map(|param| label(module, primal, *param)));
            }
            "reverse"
        }
        Kind::Pullback(pattern) => {
            for (wanted, word) in [(Adders::Shared, "shared"), (Adders::Anywhere, "anywhere")] {
                let params = primal.params.iter().zip(&pattern.adders);
                let found = params.filter(|(_, adders)| **adders == wanted);
                let found: Vec<String> = found.map(|(param, _)| label(module, primal, *param)).collect();
                if !found.is_empty() {
                    positions.push(word.to_owned());
                    positions.extend(found);
                }
            }
            "pullback"
        }
    };
    let suffix: String = positions.iter().map(|position| format!("_{position}")).collect();
    format!("{}_{word}{suffix}", primal.name)
}

/// The name of the forward sweep, where the reverse sweep has this one.
fn augmented_name(primal: &str, reverse: &str) -> Name {
    let rest = reverse.strip_prefix(primal).and_then(|rest| rest.strip_prefix("_reverse")).unwrap_or_default();
    format!("{primal}_augmented{rest}").into()
}

fn counted(mut slots: Function) -> SlotCount {
    params_first(&mut slots);
    SlotCount::Counted(slots)
}

impl Assembly<'_> {
    /// Both sweeps as the body of the function.
    fn write_joint(&mut self, kind: &Kind, sums: &[Sum]) -> Option<SlotCount> {
        let seed = self.rules.seed(kind);
        self.rules.vars.function.body = self.body(seed, kind, sums);
        tell_apart(&mut self.rules.vars.function, &mut self.rules.vars.names);
        let is_on_host = self.rules.facts.primal.space == Space::Host;
        if is_on_host {
            frees::lower(&mut self.rules.vars.function, &mut self.rules.vars.names);
        }
        if !self.uses_record {
            return None;
        }
        if is_on_host {
            tape::lower(&mut self.rules.vars.function, &mut self.rules.vars.names);
            return None;
        }
        let types = record::recorded_types(&self.rules.vars.function.body);
        self.word = record::word_bytes(&types);
        let limit = self.limit;
        let slots = match limit {
            Some(limit) => Some(SlotCount::Stated(limit.slots)),
            None => {
                let body = self.rules.vars.function.body.clone();
                slots::count_slots(&mut self.rules, &body, 0).map(counted)
            }
        };
        record::lower(&mut self.rules.vars.function, &mut self.rules.vars.names, &types, Start::Empty, limit.as_ref());
        slots
    }

    /// The reverse sweep as the body of the function, the forward sweep as another function, and what memory the first reads.
    fn write_apart(&mut self, sums: &[Sum]) -> (Option<SlotCount>, Option<Function>, Vec<usize>) {
        let Apart { augmented: body, reverse, fixed, needed } = self.apart(sums);
        let primal = self.rules.facts.primal;
        let mut augmented = Function {
            name: augmented_name(&primal.name, &self.rules.vars.function.name),
            params: primal.params.clone(),
            result: primal.result.clone(),
            ..self.rules.vars.function.clone()
        };
        self.rules.vars.function.body = reverse;
        if primal.space == Space::Host {
            augmented.body = body;
            return (None, Some(self.host_apart(augmented)), needed);
        }
        let limit = self.limit.filter(|_| fixed.is_none());
        let slots = match (fixed, limit) {
            _ if !self.uses_record => None,
            (Some(count), _) => Some(SlotCount::Fixed(count)),
            (None, Some(limit)) => Some(SlotCount::Stated(limit.slots)),
            (None, None) => slots::count_slots(&mut self.rules, &body, 1)
                .map(|slots| counted(Function { name: format!("{}_slots", augmented.name).into(), ..slots })),
        };
        augmented.locals = self.rules.vars.function.locals.clone();
        augmented.body = body;
        tell_apart(&mut augmented, &mut self.rules.vars.names.clone());
        tell_apart(&mut self.rules.vars.function, &mut self.rules.vars.names);
        if self.uses_record {
            let types = record::recorded_types(&augmented.body);
            self.word = record::word_bytes(&types);
            let (filled, read) = match fixed {
                Some(count) => (Start::Numbered(0), Start::Numbered(count)),
                None => (Start::Filled, Start::Counted),
            };
            record::lower(&mut augmented, &mut self.rules.vars.names.clone(), &types, filled, limit.as_ref());
            record::lower(&mut self.rules.vars.function, &mut self.rules.vars.names, &types, read, limit.as_ref());
        }
        params_first(&mut augmented);
        (slots, Some(augmented), needed)
    }

    /// The two functions of the host, which hand a tape on; returns the first.
    fn host_apart(&mut self, mut augmented: Function) -> Function {
        augmented.locals = self.rules.vars.function.locals.clone();
        let waits = self.rules.facts.last_waits();
        self.rules.vars.function.body.extend(waits);
        tell_apart(&mut augmented, &mut self.rules.vars.names.clone());
        tell_apart(&mut self.rules.vars.function, &mut self.rules.vars.names);
        if self.uses_record {
            tape::lower_given(&mut augmented, &mut self.rules.vars.names.clone());
            tape::lower_given(&mut self.rules.vars.function, &mut self.rules.vars.names);
        }
        params_first(&mut augmented);
        augmented
    }

    fn body(&mut self, seed: Option<Place>, kind: &Kind, sums: &[Sum]) -> Block {
        let (body, result) = self.rules.facts.body_and_result();
        let (mut before, mut kept) = (Block::new(), Kept::default());
        if let Some(value) = result {
            self.rules.adjoint_of_result(value, seed.as_ref(), &mut before);
            self.settle(&mut before, &BTreeSet::new(), &mut kept);
        }
        // A record that may be too small is looked at between the sweeps.
        let is_joint = result.is_none() && self.limit.is_none() && self.left.is_empty();
        let Sweeps { mut forward, joint, adjoints, reverse } = self.sweeps(body, &mut Changed::default(), is_joint);
        forward.extend(kept.declarations);
        let mut end = Block::new();
        if let (Some(value), Kind::Gradient { .. } | Kind::Slopes(_)) = (result, kind) {
            let value = self.rules.vars.keep("_value", value.clone(), &mut forward);
            end.push(Stmt::new(StmtKind::Return(Some(value))));
        }
        if self.uses_record {
            forward.extend(self.limit.map(|limit| limit.tell(false)));
        }
        let left = std::mem::take(&mut self.left);
        let copies = self.copies_of_left(&left);
        forward.extend(copies.between);
        let waits = self.rules.facts.last_waits();
        let reverse = [adjoints, before, joint, reverse, copies.after].concat();
        let mut out = self.rules.between(forward, reverse, sums);
        out.extend(waits);
        out.extend(end);
        out
    }
}
