//! Reverse mode: from a function to its derivative, a forward sweep and a reverse sweep in one function.
//!
//! The forward sweep is the function itself, which also keeps what will be needed. The reverse sweep goes through the
//! statements backwards and adds to adjoints. Each room uses those before it, and none after it:
//!
//! - `facts`: what is known about the function. `variables`: what each variable of the derivative is. `frames`: where in the
//!   text a statement stands.
//! - `rules`: the adjoint of a statement. It mentions values of the primal as they are at the statement.
//! - `plan`: where the reverse sweep gets these values from.
//! - `assembly`: writes the derivative as planned.
//!
//! Rules ask for derivatives of other functions through `derivatives::Derivatives`, which this file answers.

mod assembly;
mod budget;
mod decision;
mod derivatives;
mod facts;
mod frames;
mod headers;
mod plan;
mod rules;
mod stretches;
mod variables;

use std::cell::LazyCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::apart::{apart, promise};
use super::convergence::divergent_returns;
use super::cotangents::keep_cotangents;
use super::deterministic::{refuse_order, refuse_own_order};
use super::finish::{Finish, finish};
use super::gather::gather;
use super::in_order::{Deferred, add_in_order, deferrable};
use super::lives::{Lives, lives_apart};
use super::moving::with_offsets;
use super::normalize::{Inlining, normal_form};
use super::overlap::merge_overlapping;
use super::shadow::Widening;
use super::signatures::check_rules;
use super::sizes::slots;
use super::taken_name::{free_name, taken_name};
use super::variables::lift;
use super::vjp::{add_vjp, vjp_name};
use super::winners::{WINNERS, keep_winners};
use super::{AdjointParam, Analyses, Fact, Form, Named, Request, Trust, launch};
use crate::analysis::ordering::ordering;
use crate::analysis::shared::{STATIC_SHARED_LIMIT, static_shared_bytes};
use crate::analysis::{self, Activity, Base, Object, ParamUse, host_uses, param_uses};
use crate::diagnostic::{CANNOT_RECORD, Diagnostic, SHARED_LIMIT};
use crate::ir::walk;
use crate::ir::{Function, FunctionId, LocalId, Module, Name, Space, StmtKind, order};
use crate::source::Span;

use assembly::write::{self, SlotCount, Written};
pub use decision::{Decision, How, Plan};
use derivatives::{Derivatives, Derived, Kind, Options, Pattern, SplitParams};
use plan::left::{Left, left};

/// The gradient of a function, in a module with all that it needs.
pub fn reverse(module: &Module, request: &Request) -> Result<Module, Vec<Diagnostic>> {
    planned_reverse(module, request).map(|(derivative, _)| derivative)
}

/// The same, and for each derivative in it where its reverse sweep gets values from.
pub fn planned_reverse(module: &Module, request: &Request) -> Result<(Module, Vec<Plan>), Vec<Diagnostic>> {
    check_rules(module)?;
    if request.is_deterministic {
        refuse_own_order(module, request.function)?;
    }
    let lifted = lift(module, request)?;
    let mut module = lifted.module.clone();
    if module.functions[request.function].space == Space::Host {
        launch::dim3(&mut module);
    }
    let widening = Widening::new(&mut module, request.wide_adjoints);
    let module = &module;
    // What is printed states no rules: the derivative calls what they name.
    let program = Module { rules: Vec::new(), ..module.clone() };
    let mut inlined = HashSet::new();
    let mut lessons = Lessons::default();
    loop {
        let mut program = program.clone();
        let normal = normalize(module, &mut program, request, &inlined)?;
        // A function that is merged into another brings its variables along, so they are all the program's own.
        let own = program.functions.iter().flat_map(|function| function.locals.iter());
        let mut pullbacks = Pullbacks {
            own: own.map(|local| local.name.clone()).collect(),
            output: program,
            lessons: lessons.clone(),
            options: Options {
                record_slots: request.record_slots,
                record_budget: request.record_budget,
                is_checkpointed: request.is_checkpointed,
                widening: widening.clone(),
                chooses: !request.is_deterministic && !request.is_of_device,
                kept: kept_cotangents(&normal, request),
                trust: request.trust,
                analyses: request.analyses,
            },
            ..Pullbacks::default()
        };
        let wrt = lifted.wrt.clone();
        let kind = match &request.form {
            Form::Joint => Kind::Gradient { wrt, rolled_back: request.rolled_back.clone(), restored: Vec::new() },
            Form::Split { saved } => {
                Kind::Split { wrt, saved: saved.clone(), contended: Vec::new(), variables: Vec::new() }
            }
        };
        let asked = &normal.functions[request.function];
        let name = write::name_of(&normal, asked, &kind, &lifted.wrt);
        let names = [Some(vjp_name(&name)).filter(|_| request.is_pure), Some(name)];
        if let Some(taken) = names.iter().flatten().find_map(|name| taken_name(module, asked.span, name)) {
            return Err(lifted.said(vec![taken]));
        }
        let derived = pullbacks.derive(&normal, request.function, &kind);
        // Refused for the sake of arrays that are too large to be kept, or of pointers that cannot be recorded.
        if derived.is_err() && pullbacks.lessons.differs_in_memory(&lessons) {
            lessons = Lessons { unfit: HashSet::new(), ..pullbacks.lessons };
            continue;
        }
        if pullbacks.lessons.unfit.is_empty() {
            let derived = derived.map_err(|found| lifted.said(found))?;
            let params = module.functions[request.function].params.len();
            let mut roots = pullbacks.with_launchers(&derived, &request.form, params);
            if request.is_deterministic && request.analyses == Analyses::On {
                let asked = module.functions[request.function].span;
                pullbacks.with_fixed_order(&mut roots, request, asked).map_err(|found| lifted.said(found))?;
            }
            if request.is_pure {
                pullbacks.with_framework_form(&mut roots, &derived, &normal, request);
            }
            lifted.restore(&mut pullbacks.output)?;
            let parts = derived.gathered.iter().flat_map(|gathered| &gathered.parts);
            for id in parts.chain([&derived.function]) {
                promise(&mut pullbacks.output.functions[*id], &derived.apart);
            }
            return Ok((order::needed_by(&pullbacks.output, &roots), pullbacks.plans));
        }
        // A pullback that records is part of its caller instead, which has the record.
        inlined.extend(pullbacks.lessons.unfit);
        lessons = Lessons::default();
    }
}

/// The module in the form that reverse mode works on. The kernels that a host function launches in the place of others are
/// added to the program too.
fn normalize(
    module: &Module,
    program: &mut Module,
    request: &Request,
    inlined: &HashSet<FunctionId>,
) -> Result<Module, Vec<Diagnostic>> {
    let mut known = Inlining::new(inlined.clone());
    let mut normal = normal_functions(module, &mut known, request.trust)?;
    if module.functions[request.function].space == Space::Host {
        let form = |normal: &Module, id, kernel| normal_form(normal, id, kernel, &mut known, request.trust);
        merge_overlapping(program, &mut normal, request.function, form)?;
    }
    Ok(normal)
}

/// The functions of a module in that form.
pub(super) fn normal_functions(module: &Module, known: &mut Inlining, trust: Trust) -> Result<Module, Vec<Diagnostic>> {
    let mut normal = module.clone();
    for id in module.functions.ids() {
        let function = normal_form(&normal, id, module.functions[id].clone(), known, trust)?;
        normal.functions.set(id, function);
    }
    Ok(normal)
}

/// A kernel, the parameters that are active, saved and contended, and what changes outside functions.
type Launched = (FunctionId, [Vec<LocalId>; 3], Vec<Object>);

/// What another attempt must do otherwise.
#[derive(Clone, Default)]
struct Lessons {
    /// Functions whose pullbacks cannot stand alone.
    unfit: HashSet<FunctionId>,
    /// By function, the arrays of an iteration's own of which only what is read is kept.
    fleeting: HashMap<FunctionId, BTreeSet<LocalId>>,
    /// By function, the pointers that are replaced by offsets.
    moving: HashMap<FunctionId, BTreeSet<LocalId>>,
}

impl Lessons {
    fn differs_in_memory(&self, other: &Lessons) -> bool {
        self.fleeting != other.fleeting || self.moving != other.moving
    }
}

/// The derivatives written so far.
#[derive(Default)]
pub(super) struct Pullbacks {
    /// The program with its derivatives after it.
    output: Module,
    /// The names that the program has for its variables.
    own: HashSet<Name>,
    options: Options,
    /// What derivatives call, by function, by arguments, and by whether it gives slopes with a value.
    known: HashMap<(FunctionId, Pattern, bool), FunctionId>,
    /// The split forms of kernels that host functions launch.
    launched: HashMap<Launched, Derived>,
    helpers: HashMap<Name, FunctionId>,
    /// What was decided for them.
    plans: Vec<Plan>,
    lessons: Lessons,
}

impl Derivatives for Pullbacks {
    fn pullback(
        &mut self,
        normal: &Module,
        callee: FunctionId,
        pattern: Pattern,
    ) -> Result<FunctionId, Vec<Diagnostic>> {
        self.once(normal, (callee, pattern.clone(), false), &Kind::Pullback(pattern))
    }

    fn with_slopes(
        &mut self,
        normal: &Module,
        callee: FunctionId,
        pattern: Pattern,
    ) -> Result<FunctionId, Vec<Diagnostic>> {
        self.once(normal, (callee, pattern.clone(), true), &Kind::Slopes(pattern))
    }

    fn split(
        &mut self,
        normal: &Module,
        kernel: FunctionId,
        params: SplitParams<'_>,
        variables: &[Object],
    ) -> Result<Derived, Vec<Diagnostic>> {
        let key = (kernel, params.map(<[LocalId]>::to_vec), variables.to_vec());
        if let Some(known) = self.launched.get(&key) {
            return Ok(known.clone());
        }
        let [wrt, saved, contended] = key.1.clone();
        let kind = Kind::Split { wrt, saved, contended, variables: variables.to_vec() };
        let mut derived = self.derive(normal, kernel, &kind)?;
        if let (Some(augmented), Some(slots)) = (derived.augmented, &derived.slots) {
            let params = normal.functions[kernel].params.len();
            derived.bytes = Some(launch::add_bytes(&mut self.output, augmented, params, slots.clone()));
        }
        self.launched.insert(key, derived.clone());
        Ok(derived)
    }

    fn helper(&mut self, name: &str) -> Option<FunctionId> {
        if let Some(known) = self.helpers.get(name) {
            return Some(*known);
        }
        self.helper_of(name, crate::rules::helper(name)?)
    }

    fn helper_of(&mut self, name: &str, text: &str) -> Option<FunctionId> {
        if let Some(known) = self.helpers.get(name) {
            return Some(*known);
        }
        let module = crate::ir::text::parse(text).ok()?;
        let function = module.functions.iter().next()?.clone();
        let id = self.output.functions.push(function);
        self.helpers.insert(name.into(), id);
        Some(id)
    }

    fn free_name(&self, wanted: String) -> Name {
        free_name(&self.output, wanted)
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn written(&self) -> &Module {
        &self.output
    }

    fn written_mut(&mut self) -> &mut Module {
        &mut self.output
    }
}

impl Pullbacks {
    /// A derivative that others call, which is written when it is first asked for.
    fn once(
        &mut self,
        normal: &Module,
        key: (FunctionId, Pattern, bool),
        kind: &Kind,
    ) -> Result<FunctionId, Vec<Diagnostic>> {
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let id = self.derive(normal, key.0, kind)?.function;
        self.known.insert(key, id);
        Ok(id)
    }

    fn derive(&mut self, normal: &Module, id: FunctionId, kind: &Kind) -> Result<Derived, Vec<Diagnostic>> {
        let divergent = divergent_returns(&self.output, id);
        if !divergent.is_empty() {
            return Err(divergent);
        }
        if let Kind::Split { saved, variables, .. } = kind {
            self.look_for_readers(normal, id, saved, variables)?;
        }
        let (mut prepared, lives) = self.prepared(normal, id, kind, true);
        let (mut module, mut written) = self.written_within(prepared.as_ref().unwrap_or(normal), id, kind)?;
        if !written.joins(&lives) {
            prepared = self.prepared(normal, id, kind, false).0;
            (module, written) = self.written_within(prepared.as_ref().unwrap_or(normal), id, kind)?;
        }
        let prepared = module.or(prepared);
        let normal = prepared.as_ref().unwrap_or(normal);
        let Written { function, adjoints, copies, record, augmented, needed, decisions } = written;
        self.plans.push(Plan { name: function.name.clone(), decisions });
        fits_in_shared_memory(normal, id, &function)?;
        if record.is_some() && matches!(kind, Kind::Pullback(_) | Kind::Slopes(_)) {
            self.lessons.unfit.insert(id);
        }
        let slots = match record.and_then(|record| record.slots) {
            None => None,
            Some(SlotCount::Fixed(count)) => Some(launch::Slots::Fixed(count)),
            Some(SlotCount::Stated(count)) => Some(launch::Slots::Stated(count)),
            Some(SlotCount::Counted(counting)) => Some(match self.formula(&counting) {
                Some(formula) => formula,
                None => launch::Slots::Counted(self.add(counting, &[], &HashMap::new())?),
            }),
        };
        let augmented = augmented.map(|augmented| self.add(augmented, &[], &HashMap::new())).transpose()?;
        let apart = match (kind, self.options.analyses) {
            (Kind::Gradient { .. } | Kind::Split { .. }, Analyses::On) if self.options.trust.runs("apart") => {
                apart(&self.output, &function, &adjoints, ordering(normal, id))
            }
            // A caller may hand on parts of one array.
            (_, _) => Vec::new(),
        };
        let function = self.add(function, &adjoints, &copies)?;
        if let Some((_, once)) = self.options.kept.as_ref().filter(|(asked, _)| *asked == id) {
            keep_cotangents(&mut self.output, function, &adjoints, once);
        }
        if augmented.is_some()
            && let Some(first) = self.output.functions[function].body.first_mut()
        {
            let params = needed.iter().map(|position| normal.functions[id].params[*position]);
            let names: Vec<&str> = params.map(|param| normal.functions[id].local_name(param)).collect();
            let note = assembly::needed_arrays(&names);
            let before = first.note.take().map(|before| format!("\n{before}")).unwrap_or_default();
            first.note = Some(format!("{note}{before}").into());
        }
        let is_chosen = self.options.chooses;
        let is_launched = is_chosen && (matches!(kind, Kind::Split { .. }) || slots.is_none());
        let gathered = match (kind, self.options.analyses) {
            (Kind::Gradient { .. } | Kind::Split { .. }, Analyses::On)
                if is_launched && self.options.trust.runs("gather") =>
            {
                gather(&mut self.output, function, &adjoints, &self.own, self.options.trust)
            }
            (_, _) => None,
        };
        Ok(Derived { function, augmented, slots, bytes: None, needed, apart, gathered })
    }

    /// The program with the function as it is differentiated, if that is another: pointers that cannot be recorded are offsets, uses of
    /// a shared array have arrays of their own, and searches keep who won.
    fn prepared(&self, normal: &Module, id: FunctionId, kind: &Kind, splits: bool) -> (Option<Module>, Lives) {
        let moving = self.lessons.moving.get(&id).filter(|pointers| !pointers.is_empty());
        let moving = moving.map(|pointers| with_offsets(normal, &normal.functions[id], pointers));
        let with = |function: Function| {
            let mut module = normal.clone();
            module.functions.set(id, function);
            module
        };
        if self.options.analyses == Analyses::Off {
            return (moving.map(with), Lives::new());
        }
        let active = |function: &Function| write::active_objects(normal, function, kind, &self.options);
        let mut function = moving.as_ref().unwrap_or(&normal.functions[id]);
        let splits = splits && self.options.trust.runs("shift");
        let apart =
            lives_apart(normal, function).filter(|(apart, lives)| splits && differs(apart, lives, &active(apart)));
        let lives = apart.as_ref().map(|(_, lives)| lives.clone()).unwrap_or_default();
        function = apart.as_ref().map_or(function, |(apart, _)| apart);
        let known = LazyCell::new(|| active(function));
        let is_active = |local| known.is_active(&Object::local(local));
        let is_asked = self.options.trust.runs(WINNERS);
        let winners = if is_asked { keep_winners(normal, function, &is_active) } else { None };
        let function = winners.or(apart.map(|(apart, _)| apart)).or(moving);
        (function.map(with), lives)
    }

    /// Writes a derivative. Of a host function it is the one that records least: with the stores to an array taken back or not.
    fn written_best(&mut self, normal: &Module, id: FunctionId, kind: &Kind) -> Result<Written, Vec<Diagnostic>> {
        let fleeting = self.lessons.fleeting.get(&id).cloned().unwrap_or_default();
        let mut best = write::write(normal, id, kind, fleeting.clone(), self).map_err(|refused| {
            self.lessons.fleeting.entry(id).or_default().extend(refused.unfilled);
            self.lessons.moving.entry(id).or_default().extend(refused.moving);
            refused.diagnostics
        })?;
        let function = &normal.functions[id];
        let Kind::Gradient { wrt, rolled_back, .. } = kind else { return Ok(best) };
        // Loops that are run again from checkpoints keep little, and take nothing back.
        let is_asked =
            self.options.analyses == Analyses::On && self.options.trust.runs("left") && !self.options.is_checkpointed;
        if function.space != Space::Host || !is_asked || best.record.is_none() {
            return Ok(best);
        }
        let mut restored: Vec<Left> = Vec::new();
        for left in left(normal, function) {
            if rolled_back.contains(&left.param) {
                continue;
            }
            let stretches = left.long_stretches();
            let more = [restored.as_slice(), &[left]].concat();
            let kind = Kind::Gradient { wrt: wrt.clone(), rolled_back: rolled_back.clone(), restored: more.clone() };
            let lessons = self.lessons.clone();
            let written = write::write(normal, id, &kind, fleeting.clone(), self);
            // The copies of what the function leaves are made once, not in each iteration.
            match written {
                Ok(written) if written.recorded() < best.recorded() + stretches => {
                    best = written;
                    restored = more;
                }
                Ok(_) | Err(_) => self.lessons = lessons,
            }
        }
        Ok(best)
    }

    /// A function that reads memory which changes between the sweeps is part of its caller, which records what is read.
    fn look_for_readers(
        &mut self,
        normal: &Module,
        id: FunctionId,
        saved: &[LocalId],
        variables: &[Object],
    ) -> Result<(), Vec<Diagnostic>> {
        let function = &normal.functions[id];
        let objects = analysis::objects(normal, function);
        let is_saved = |object: &Object| {
            !object.path.is_empty() && matches!(object.base, Base::Local(local) if saved.contains(&local))
        };
        let mut refused = Vec::new();
        walk::each_stmt(&function.body, &mut |stmt| {
            let StmtKind::Call { function: callee, args, .. } = &stmt.kind else { return };
            let mentioned = analysis::variables_of(normal, *callee);
            let is_mentioned =
                |object: &Object| matches!(object.base, Base::Global(global) if mentioned.contains(&global));
            let is_reached = args.iter().any(|arg| objects.reachable(arg).iter().any(is_saved));
            if !is_reached && !variables.iter().any(is_mentioned) {
                return;
            }
            if normal.rule(*callee).is_none() {
                self.lessons.unfit.insert(*callee);
                return;
            }
            let message = format!("`{}` has a rule, and reads memory that changes", normal.functions[*callee].name);
            let label = "its rule would read what is there later";
            refused.push(
                Diagnostic::new(CANNOT_RECORD, stmt.span, message, label)
                    .help("hand it the values that it reads, or do not change the memory until the reverse sweep"),
            );
        });
        if refused.is_empty() { Ok(()) } else { Err(refused) }
    }

    /// How many slots a thread needs, if the host can compute what a kernel would count.
    fn formula(&self, counting: &Function) -> Option<launch::Slots> {
        let count = (self.options.analyses == Analyses::On).then(|| slots(&self.output, counting))??;
        Some(launch::Slots::Formula { count, params: counting.params.clone() })
    }

    /// What is printed of a derivative, each with all that it needs: its functions, and those that launch them.
    fn with_launchers(&mut self, derived: &Derived, form: &Form, params: usize) -> Vec<FunctionId> {
        let mut roots: Vec<FunctionId> = derived.augmented.into_iter().chain([derived.function]).collect();
        if let Some(slots) = &derived.slots {
            // The size of the record is that of the function which fills it; what launches the gradient needs all.
            let bytes = launch::add_bytes(&mut self.output, roots[0], params, slots.clone());
            match form {
                Form::Joint => {
                    return vec![launch::add_launcher(&mut self.output, roots[0], params, bytes, slots)];
                }
                Form::Split { .. } => roots.insert(0, bytes),
            }
        }
        match &derived.gathered {
            // It launches the function too, unless others do its work.
            Some(gathered) => roots.splice(roots.len() - 1.., [gathered.launcher]).for_each(drop),
            None => roots.extend(self.launcher_of(derived.function)),
        }
        roots
    }

    /// Adds what launches the derivative in the framework form.
    fn with_framework_form(
        &mut self,
        roots: &mut Vec<FunctionId>,
        derived: &Derived,
        normal: &Module,
        request: &Request,
    ) {
        let Some(launched) = roots.pop() else { return };
        let primal = &normal.functions[request.function];
        let uses = match primal.space {
            Space::Host => host_uses(normal, request.function),
            Space::Kernel | Space::Device => param_uses(normal, request.function),
        };
        let of = |named: &Named| match named {
            Named::Parameter(param) => uses.get(param).copied(),
            Named::Variable(_) => None,
        };
        let uses: Vec<_> = request.wrt.iter().map(of).collect();
        roots.push(add_vjp(&mut self.output, derived.function, launched, primal, &uses));
    }

    /// The host function that launches a kernel which needs more dynamic shared memory than its primal.
    fn launcher_of(&mut self, kernel: FunctionId) -> Option<FunctionId> {
        let function = &self.output.functions[kernel];
        let is_needed = function.space == Space::Kernel && launch::needs_twice_the_memory(function);
        is_needed.then(|| launch::add_plain_launcher(&mut self.output, kernel))
    }

    /// Has additions that are made in the order in which threads come be made later, in a fixed order, or refuses them.
    fn with_fixed_order(
        &mut self,
        roots: &mut Vec<FunctionId>,
        request: &Request,
        asked: Span,
    ) -> Result<(), Vec<Diagnostic>> {
        let deferred = match request.form {
            Form::Joint => {
                let contended = self.launched.iter().filter(|((_, [_, _, contended], _), _)| !contended.is_empty());
                deferrable(&self.output, roots, &contended.map(|(_, derived)| derived.function).collect())
            }
            // Two functions are launched by the user.
            Form::Split { .. } => Deferred::default(),
        };
        refuse_order(&self.output, roots, &deferred, asked)?;
        roots.extend(add_in_order(&mut self.output, roots, &deferred));
        Ok(())
    }

    fn add(
        &mut self,
        function: Function,
        adjoints: &[AdjointParam],
        copies: &HashMap<LocalId, LocalId>,
    ) -> Result<FunctionId, Vec<Diagnostic>> {
        let id = self.output.functions.push(function);
        let Options { analyses, trust, .. } = self.options;
        let known = Finish { adjoints, copies, own: &self.own, analyses, trust };
        finish(&mut self.output, id, &known)?;
        Ok(id)
    }
}

/// In the framework form, the parameters whose adjoints nobody need change.
fn kept_cotangents(normal: &Module, request: &Request) -> Option<(FunctionId, BTreeSet<LocalId>)> {
    let is_kept = |found: ParamUse| match found {
        ParamUse::Stored { is_once } => request.trust.answer(Fact::Once, false, is_once),
        ParamUse::Read | ParamUse::Both => false,
    };
    let kept = || param_uses(normal, request.function).into_iter().filter(|(_, found)| is_kept(*found));
    request.is_pure.then(|| (request.function, kept().map(|(param, _)| param).collect()))
}

/// Whether one use of an array carries derivatives and the other does not.
fn differs(function: &Function, lives: &Lives, active: &Activity) -> bool {
    let is_active = |name: &Name| {
        let found = function.locals.ids().find(|local| function.locals[*local].name == *name);
        found.is_some_and(|local| active.is_active(&Object::local(local)))
    };
    lives.iter().any(|[first, second]| is_active(first) != is_active(second))
}

/// Adjoints of `__shared__` variables are `__shared__` themselves, and ptxas refuses a kernel with more than it allows.
fn fits_in_shared_memory(normal: &Module, id: FunctionId, derivative: &Function) -> Result<(), Vec<Diagnostic>> {
    let primal = &normal.functions[id];
    let [own, all] = [primal, derivative].map(|function| static_shared_bytes(normal, function));
    if own > STATIC_SHARED_LIMIT || all <= STATIC_SHARED_LIMIT {
        return Ok(());
    }
    let message = format!(
        "the derivative of `{}` has {all} bytes of static shared memory, and a block {STATIC_SHARED_LIMIT}",
        primal.name
    );
    let label = format!("the function has {own}, and its adjoints the rest");
    let help = "make the largest array dynamic shared memory (`extern __shared__`), which the derivative is launched with twice of";
    Err(vec![Diagnostic::new(SHARED_LIMIT, primal.span, message, label).help(help)])
}
