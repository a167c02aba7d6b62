//! Writes one derivative: its signature, its two sweeps, its end.

use std::collections::{BTreeSet, HashMap};

use super::super::accumulate::AdjointParam;
use super::super::locals::{NewLocals, in_type, mentions, params_first, tell_apart};
use super::super::normalize::address_taken;
use super::super::refused_stores::refused_stores;
use super::super::refused_views::refused_views;
use super::super::shadow::{Shadows, shadow_name};
use super::super::variables::{label, labels};
use super::block::Sweeps;
use super::expr::constant;
use super::function::{Ctx, Frame, write_counts};
use super::record::{self, Limit, Start};
use super::sometimes::used_sometimes;
use super::split::Apart;
use super::stable::Kept;
use super::{Kind, Pullbacks, Sharing, slots};
use crate::analysis::{self, Base, Object, activity, objects, uses_memory};
use crate::diagnostic::{CONSTANT_MEMORY, Diagnostic, NO_DERIVATIVE, NOT_DIFFERENTIABLE};
use crate::ir::walk;
use crate::ir::{
    Block, Expr, ExprKind, Function, FunctionId, Local, LocalId, Module, Place, PlaceKind, Space, Stmt, StmtKind,
    Storage, Type,
};
use crate::rules;
use crate::source::Span;

/// Functions whose result has the bits of an integer.
const BITS_TO_NUMBERS: &[&str] = &["__int_as_float", "__uint_as_float", "__longlong_as_double", "__hiloint2double"];

/// A derivative.
pub(super) struct Written {
    pub(super) function: Function,
    pub(super) adjoints: Vec<AdjointParam>,
    /// Whether it takes a record.
    pub(super) uses_record: bool,
    /// How many slots of the record a thread needs, if that can be told.
    pub(super) slots: Option<SlotCount>,
    /// The forward sweep, where it is a function of its own.
    pub(super) augmented: Option<Function>,
    /// Of the split form, the positions of the parameters whose memory the reverse sweep reads.
    pub(super) needed: Vec<usize>,
}

/// How many slots of the record a thread needs.
pub(super) enum SlotCount {
    /// Always so many.
    Fixed(usize),
    /// So many at most, by the user's word.
    Stated(u32),
    /// What this kernel counts.
    Counted(Function),
}

/// Writes the derivative of a function.
pub(super) fn write(
    normal: &Module,
    id: FunctionId,
    kind: &Kind,
    pullbacks: &mut Pullbacks,
) -> Result<Written, Vec<Diagnostic>> {
    let primal = &normal.functions[id];
    let objects = objects(normal, primal);
    let named = named_by(primal, kind);
    let activity = activity(normal, &objects, &primal.body, &named);
    let written = analysis::written(&objects, &primal.body);
    let name = name_of(normal, primal, kind, &named);
    let name = pullbacks.free_name(name);
    let mut function = Function { name, body: Block::new(), is_extern_c: false, ..primal.clone() };
    if let Kind::Pullback(_) = kind {
        function.result = Type::Void;
    }
    let names = NewLocals::new(normal, primal);
    let mut ctx = Ctx {
        module: normal,
        primal,
        objects: &objects,
        activity: &activity,
        written,
        address_taken: address_taken(primal),
        used_sometimes: used_sometimes(primal),
        write_counts: write_counts(&objects, primal),
        function,
        names,
        shadows: Shadows::with(pullbacks.widening.clone()),
        twins: HashMap::new(),
        frames: vec![Frame::default()],
        pullbacks,
        diagnostics: Vec::new(),
        uses_record: false,
        is_kernel: primal.space == Space::Kernel,
        shared_values: BTreeSet::new(),
        stored_later: BTreeSet::new(),
        originals: HashMap::new(),
        rolled_back: BTreeSet::new(),
        limit: None,
        anywhere: BTreeSet::new(),
        contended: BTreeSet::new(),
    };
    if ctx.is_host() {
        ctx.contended = ctx.contended_arrays();
    }
    if let Some(slots) = ctx.pullbacks.record_slots.filter(|_| ctx.is_kernel) {
        ctx.limit = Some(Limit::new(&mut ctx.function, &mut ctx.names, slots));
    }
    if let Kind::Gradient { rolled_back, .. } = kind {
        ctx.roll_back(rolled_back);
    }
    ctx.check_named(&named);
    ctx.check_bits();
    ctx.diagnostics.extend(refused_stores(normal, id, &objects, &activity));
    ctx.diagnostics.extend(refused_views(normal, primal, &objects, &activity));
    let (adjoints, sums) = ctx.adjoint_params(&named, kind);
    let (slots, augmented) = match kind {
        Kind::Split { saved, variables, .. } => ctx.write_apart(&sums, saved, variables),
        Kind::Gradient { .. } | Kind::Pullback(_) => (ctx.write_joint(kind, &sums), None),
    };
    let uses_record = ctx.uses_record;
    let needed = if augmented.is_some() { ctx.needed_params() } else { Vec::new() };
    if !ctx.diagnostics.is_empty() {
        return Err(ctx.diagnostics);
    }
    let shared: Vec<AdjointParam> = ctx.shared_shadows();
    let map = params_first(&mut ctx.function);
    let moved = |local: LocalId| map.get(&local).copied().unwrap_or(local);
    let adjoints = adjoints
        .into_iter()
        .chain(shared)
        .map(|param| AdjointParam { adjoint: moved(param.adjoint), primal: moved(param.primal), ..param })
        .collect();
    Ok(Written { function: ctx.function, adjoints, uses_record, slots, augmented, needed })
}

/// The parameters that have adjoints.
fn named_by(primal: &Function, kind: &Kind) -> Vec<LocalId> {
    match kind {
        Kind::Gradient { wrt, .. } | Kind::Split { wrt, .. } => wrt.clone(),
        Kind::Pullback(pattern) => {
            let params = primal.params.iter().zip(&pattern.sharing);
            params.filter(|(_, sharing)| **sharing != Sharing::Constant).map(|(param, _)| *param).collect()
        }
    }
}

/// A by-value parameter whose adjoint is summed up in the thread, and where the sum goes.
pub(super) struct Sum {
    local: LocalId,
    total: Place,
}

impl Ctx<'_> {
    /// Active values must not travel through what was not named.
    fn check_named(&mut self, named: &[LocalId]) {
        for param in &self.primal.params {
            if named.contains(param) {
                continue;
            }
            let variable = &self.primal.locals[*param];
            let load = Expr::load(Place::local(*param, variable.ty.clone()));
            let reached = self.objects.reachable(&load);
            let mut active = reached.iter().filter(|object| {
                matches!(object.base, Base::Local(local) if local == *param) && self.activity.is_active(object)
            });
            if let Some(first) = active.next() {
                let is_written = [first].into_iter().chain(active).any(|object| self.written.contains(object));
                let (message, label) = if is_written {
                    let message = format!("active values travel through `{}`, which is not named", variable.name);
                    (message, "written with and read for active values")
                } else {
                    let message = format!("`{}` is not named, and stands beside what is", variable.name);
                    (message, "one pointer may point here and to active values")
                };
                self.report(
                    Diagnostic::new(CONSTANT_MEMORY, variable.span, message, label)
                        .help(format!("name `{}` too: it then has an adjoint of its own", variable.name)),
                );
            }
        }
    }

    /// Bits of an active number must not become a number again: the integers between carry no derivative.
    fn check_bits(&mut self) {
        let mut takes_bits = false;
        let mut made = Vec::new();
        walk::each_expr(&self.primal.body, &mut |expr| {
            let ExprKind::Math(name, args) = &expr.kind else { return };
            let Some(rule) = rules::derivative(name) else { return };
            let is_refused = matches!(rule.partial(0), rules::Partial::Refused(_));
            takes_bits |= is_refused && args.iter().any(|arg| self.activity.is_varied_value(self.objects, arg));
            if matches!(expr.ty, Type::Float(_)) && BITS_TO_NUMBERS.contains(&&**name) {
                made.push((name.clone(), expr.span));
            }
        });
        // A function that is called may take them too.
        for function in self.module.functions.iter() {
            walk::each_expr(&function.body, &mut |expr| {
                if let ExprKind::Math(name, args) = &expr.kind
                    && let Some(rule) = rules::derivative(name)
                {
                    let is_float = args.iter().any(|arg| matches!(arg.ty, Type::Float(_)));
                    let is_other = function.name != self.primal.name;
                    takes_bits |= is_other && is_float && matches!(rule.partial(0), rules::Partial::Refused(_));
                }
            });
        }
        if !takes_bits {
            return;
        }
        for (name, span) in made {
            let message = format!("`{name}` makes a number of bits that may come from an active number");
            self.report(
                Diagnostic::new(NO_DERIVATIVE, span, message, "integers carry no derivative")
                    .help("compute with the number itself, or mark what is constant by a function of its own"),
            );
        }
    }

    /// Appends the adjoint parameters, and says where the derivatives of parameters live.
    fn adjoint_params(&mut self, named: &[LocalId], kind: &Kind) -> (Vec<AdjointParam>, Vec<Sum>) {
        let (mut adjoints, mut sums) = (Vec::new(), Vec::new());
        for param in named {
            let variable = self.primal.locals[*param].clone();
            let ty = match &variable.ty {
                Type::Pointer(pointer) => {
                    let shadow = self.shadows.widening.shadow(&Type::pointer(pointer.pointee.clone()));
                    Type::pointer(shadow.pointee().cloned().unwrap_or(Type::Void))
                }
                // What a caller's thread sums up for itself.
                other if matches!(kind, Kind::Pullback(_)) => Type::pointer(self.shadows.widening.private(other)),
                other => Type::pointer(self.shadows.widening.in_memory(other)),
            };
            let adjoint = self.add_param(&shadow_name(&variable.name), ty.clone());
            let (is_shared, is_anywhere) = match kind {
                Kind::Gradient { .. } | Kind::Split { .. } => {
                    (self.is_kernel || variable.ty.is_pointer(), self.primal.space == Space::Device)
                }
                Kind::Pullback(pattern) => {
                    let position = self.primal.params.iter().position(|known| known == param);
                    match position.map_or(Sharing::Constant, |position| pattern.sharing[position]) {
                        Sharing::Constant | Sharing::Private => (false, false),
                        Sharing::Shared => (true, false),
                        Sharing::Anywhere => (true, true),
                    }
                }
            };
            self.anywhere.extend(is_anywhere.then_some(*param));
            let is_contended = match kind {
                Kind::Split { contended, .. } => contended.contains(param),
                Kind::Gradient { .. } | Kind::Pullback(_) => false,
            };
            adjoints.push(AdjointParam { adjoint, primal: *param, is_shared, is_anywhere, is_contended });
            let adjoint_place = Place::local(adjoint, ty.clone());
            if variable.ty.is_pointer() {
                self.twins.insert(adjoint, *param);
                self.shadows.insert(*param, adjoint_place);
                continue;
            }
            let total = Place::deref(Expr::load(adjoint_place));
            let is_written = self.write_counts.contains_key(param);
            if uses_memory(self.module, &variable.ty) || (!self.is_kernel && !is_written) {
                self.shadows.insert(*param, total);
                self.shared_values.extend(is_shared.then_some(*param));
                continue;
            }
            let name = format!("{}_sum", shadow_name(&variable.name));
            let ty = self.shadows.widening.private(&variable.ty);
            let local = self.names.add(&mut self.function, &name, ty.clone());
            self.shadows.insert(*param, Place::local(local, ty));
            sums.push(Sum { local, total });
        }
        (adjoints, sums)
    }

    pub(super) fn add_param(&mut self, name: &str, ty: Type) -> LocalId {
        let name = self.names.name(name);
        let local =
            self.function.locals.push(Local { name, ty, storage: Storage::Private, align: None, span: Span::NONE });
        self.function.params.push(local);
        local
    }

    /// The adjoint of the result.
    fn seed(&mut self, kind: &Kind) -> Option<Place> {
        let result = self.shadows.widening.private(&self.primal.result);
        match kind {
            Kind::Pullback(_) => {
                let name = self.names.name("_seed");
                let seed = Local { name, ty: result.clone(), storage: Storage::Private, align: None, span: Span::NONE };
                let local = self.function.locals.push(seed);
                self.function.params.insert(self.primal.params.len(), local);
                Some(Place::local(local, result))
            }
            Kind::Gradient { .. } | Kind::Split { .. } => None,
        }
    }

    /// Both sweeps as the body of the function.
    fn write_joint(&mut self, kind: &Kind, sums: &[Sum]) -> Option<SlotCount> {
        let seed = self.seed(kind);
        self.function.body = self.body(seed, kind, sums);
        tell_apart(&mut self.function, &mut self.names);
        if !self.uses_record {
            return None;
        }
        if self.primal.space == Space::Host {
            super::tape::lower(&mut self.function, &mut self.names);
            return None;
        }
        let types = record::recorded_types(&self.function.body);
        let limit = self.limit;
        let slots = match limit {
            Some(limit) => Some(SlotCount::Stated(limit.slots)),
            None => slots::count_slots(self, &self.function.body.clone(), 0).map(counted),
        };
        record::lower(&mut self.function, &mut self.names, &types, Start::Empty, limit.as_ref());
        slots
    }

    /// The reverse sweep as the body of the function, and the forward sweep as another function.
    fn write_apart(
        &mut self,
        sums: &[Sum],
        saved: &[LocalId],
        variables: &[Object],
    ) -> (Option<SlotCount>, Option<Function>) {
        let Apart { augmented: body, reverse, fixed } = self.apart(sums, saved, variables);
        let name = self.function.name.replacen("_reverse", "_augmented", 1);
        let mut augmented = Function { name: name.into(), params: self.primal.params.clone(), ..self.function.clone() };
        self.function.body = reverse;
        let limit = self.limit.filter(|_| fixed.is_none());
        let slots = match (fixed, limit) {
            _ if !self.uses_record => None,
            (Some(count), _) => Some(SlotCount::Fixed(count)),
            (None, Some(limit)) => Some(SlotCount::Stated(limit.slots)),
            (None, None) => slots::count_slots(self, &body, 1)
                .map(|slots| counted(Function { name: format!("{}_slots", augmented.name).into(), ..slots })),
        };
        augmented.locals = self.function.locals.clone();
        augmented.body = body;
        tell_apart(&mut augmented, &mut self.names.clone());
        tell_apart(&mut self.function, &mut self.names);
        if self.uses_record {
            let types = record::recorded_types(&augmented.body);
            let (filled, read) = match fixed {
                Some(count) => (Start::Numbered(0), Start::Numbered(count)),
                None => (Start::Filled, Start::Counted),
            };
            record::lower(&mut augmented, &mut self.names.clone(), &types, filled, limit.as_ref());
            record::lower(&mut self.function, &mut self.names, &types, read, limit.as_ref());
        }
        params_first(&mut augmented);
        (slots, Some(augmented))
    }

    fn body(&mut self, seed: Option<Place>, kind: &Kind, sums: &[Sum]) -> Block {
        let (body, result) = match self.primal.body.split_last() {
            Some((Stmt { kind: StmtKind::Return(Some(value)), .. }, rest)) => (rest, Some(value)),
            _ => (self.primal.body.as_slice(), None),
        };
        let (mut before, mut kept) = (Block::new(), Kept::default());
        if let Some(value) = result {
            self.adjoint_of_result(value, seed.as_ref(), &mut before);
            self.settle(&mut before, &BTreeSet::new(), &mut kept);
        }
        // A record that may be too small is looked at between the sweeps.
        let is_joint = result.is_none() && self.limit.is_none();
        let Sweeps { mut forward, joint, adjoints, reverse } = self.sweeps(body, &BTreeSet::new(), is_joint);
        forward.extend(kept.declarations);
        let mut end = Block::new();
        if let (Some(value), Kind::Gradient { .. }) = (result, kind) {
            let value = self.keep("_value", value.clone(), &mut forward);
            end.push(Stmt::new(StmtKind::Return(Some(value))));
        }
        if self.uses_record {
            forward.extend(self.limit.map(|limit| limit.tell(false)));
        }
        let waits = self.last_waits();
        let reverse = [adjoints, before, joint, reverse].concat();
        let mut out = self.between(forward, reverse, sums);
        out.extend(waits);
        out.extend(end);
        out
    }

    /// What the sweeps stand between: the declarations of sums, and what becomes of these.
    pub(super) fn between(&mut self, mut forward: Block, mut reverse: Block, sums: &[Sum]) -> Block {
        let mut zeros: Block = sums.iter().map(|sum| self.declare_zero(sum.local)).collect();
        // A parameter that is not named, and is given an active value: a variable like any other.
        for param in &self.primal.params {
            if let Some(Place { kind: PlaceKind::Local(shadow), .. }) = self.shadows.local(*param)
                && !self.function.params.contains(shadow)
                && sums.iter().all(|sum| sum.local != *shadow)
            {
                zeros.push(self.declare_zero(*shadow));
            }
        }
        let shared = self.shared_adjoints([&mut forward, &mut reverse]);
        let mut out = [zeros, shared, forward, reverse].concat();
        let used: Vec<&Sum> = sums.iter().filter(|sum| mentions(&out, sum.local)).collect();
        for sum in used {
            let local = Place::local(sum.local, self.function.locals[sum.local].ty.clone());
            for (from, into) in self.leaves(&local).into_iter().zip(self.leaves(&sum.total)) {
                let value = in_type(Expr::load(from), &into.ty);
                out.push(Stmt::new(StmtKind::Accumulate { place: into, value }));
            }
        }
        out
    }

    fn adjoint_of_result(&mut self, value: &Expr, seed: Option<&Place>, out: &mut Block) {
        match (seed, &value.ty) {
            (Some(seed), _) => self.adjoint_of_aggregate(value, seed, out),
            (None, Type::Float(_)) => self.adjoint(value, constant(1.0, &value.ty.at_least_single()), out),
            (None, _) => self.report(
                Diagnostic::new(
                    NOT_DIFFERENTIABLE,
                    value.span,
                    format!("the result of `{}` is not one number", self.primal.name),
                    "its gradient has no seed",
                )
                .help("differentiate a function that returns one floating number, or writes its results to memory"),
            ),
        }
    }
}

/// `f_grad` if all that could be named is named, else with the positions; pullbacks tell what threads share.
pub(super) fn name_of(module: &Module, primal: &Function, kind: &Kind, named: &[LocalId]) -> String {
    let mut positions = labels(module, primal, named);
    let word = match kind {
        Kind::Gradient { .. } => "grad",
        Kind::Split { contended, .. } => {
            if !contended.is_empty() {
                positions.push("streams".to_owned());
                positions.extend(contended.iter().map(|param| label(module, primal, *param)));
            }
            "reverse"
        }
        Kind::Pullback(pattern) => {
            for (wanted, word) in [(Sharing::Shared, "shared"), (Sharing::Anywhere, "anywhere")] {
                let params = primal.params.iter().zip(&pattern.sharing);
                let found = params.filter(|(_, sharing)| **sharing == wanted);
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

fn counted(mut slots: Function) -> SlotCount {
    params_first(&mut slots);
    SlotCount::Counted(slots)
}
