//! What is known while the derivative of one function is written, and the frame of that function.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Pullbacks;
use super::calls::as_pointer;
use crate::analysis::{Activity, Base, Object, Objects, carries_floats, stmt_writes, uses_memory};
use crate::diagnostic::{CONSTANT_MEMORY, Diagnostic, INTERNAL, MIXED_POINTER, UNKNOWN_POINTER};
use crate::index::Id;
use crate::ir::walk;
use crate::ir::{
    Block, Expr, ExprKind, Function, Global, LocalId, Module, Place, PlaceKind, Stmt, StmtKind, Storage, Type,
};
use crate::source::Span;

use super::super::locals::{NewLocals, assign, declare, zero};
use super::super::shadow::{Shadows, shadow_name};

/// Arrays of at most so many scalars are copied where a value must be kept; of larger ones, only what is read.
const MAX_COPIED: u64 = 32;

/// The derivative of one function in the making.
pub(super) struct Ctx<'a> {
    /// The program, its functions in the normal form.
    pub(super) module: &'a Module,
    /// The function that is differentiated.
    pub(super) primal: &'a Function,
    pub(super) objects: &'a Objects<'a>,
    pub(super) activity: &'a Activity,
    /// Everything that the function writes.
    pub(super) written: BTreeSet<Object>,
    /// Variables that pointers other than a call's arguments may point to.
    pub(super) address_taken: HashSet<LocalId>,
    /// Variables whose values are used on some ways through the function only.
    pub(super) used_sometimes: HashSet<LocalId>,
    /// How many statements write each variable.
    pub(super) write_counts: HashMap<LocalId, usize>,
    /// The derivative; its first locals are the primal's.
    pub(super) function: Function,
    pub(super) names: NewLocals,
    pub(super) shadows: Shadows,
    /// Pointers to adjoints, and the pointer that each follows.
    pub(super) twins: HashMap<LocalId, LocalId>,
    pub(super) frames: Vec<Frame>,
    pub(super) pullbacks: &'a mut Pullbacks,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Whether a record in global memory is needed.
    pub(super) uses_record: bool,
    /// Whether it is a kernel: then all threads hold the same adjoint pointers.
    pub(super) is_kernel: bool,
    /// Of variables that the reverse sweep has in the place of others, the others.
    pub(super) originals: HashMap<LocalId, LocalId>,
    /// Memory to which the reverse sweep takes every store back.
    pub(super) rolled_back: BTreeSet<Object>,
    /// The size of the record, where the user states it.
    pub(super) limit: Option<super::record::Limit>,
    /// Parameters by value whose adjoints other threads add to as well.
    pub(super) shared_values: BTreeSet<LocalId>,
    /// Parameters whose adjoints, or what lies behind them, may be the thread's own memory or memory of all threads.
    pub(super) anywhere: BTreeSet<LocalId>,
    /// Arrays whose adjoints several streams may add to at the same time.
    pub(super) contended: BTreeSet<Object>,
    /// While an iteration is sliced, the shared arrays that what follows in it writes.
    pub(super) stored_later: BTreeSet<LocalId>,
}

/// A stretch of code whose values are there when its reverse sweep runs: the function, or one iteration of a loop.
#[derive(Default)]
pub(super) struct Frame {
    /// Whether it is an iteration.
    pub(super) is_loop: bool,
    /// Variables that live inside.
    pub(super) declared: HashSet<LocalId>,
    /// Objects from outside that do not keep their values until the reverse sweep.
    pub(super) unstable: BTreeSet<Object>,
    /// Shared arrays that the reverse sweep fills again before anything else.
    pub(super) reloaded: BTreeSet<LocalId>,
}

/// What a statement or block becomes: a part of the forward sweep and a part of the reverse sweep.
#[derive(Default)]
pub(super) struct Pair {
    pub(super) forward: Block,
    pub(super) reverse: Block,
}

impl Ctx<'_> {
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// A statement that the normal form does not have: a mistake of ours, and no reason for an adjoint of nothing.
    pub(super) fn contradiction(&mut self, stmt: &Stmt) {
        let message = "reverse mode met a statement that its normal form does not have";
        let help = "this is a bug in Cotangent; please report it with the program that shows it";
        self.report(Diagnostic::new(INTERNAL, stmt.span, message, "this statement").help(help));
    }

    /// Whether a local is one of the primal function.
    pub(super) fn is_primal(&self, local: LocalId) -> bool {
        local.index() < self.primal.locals.len()
    }

    pub(super) fn is_active_value(&self, value: &Expr) -> bool {
        self.activity.is_active_value(self.objects, value)
    }

    pub(super) fn is_active_place(&self, place: &Place) -> bool {
        carries_floats(self.module, &place.ty) && self.activity.is_active_place(self.objects, place)
    }

    /// Whether a place is a whole variable of the thread's own.
    pub(super) fn is_private_variable(&self, place: &Place) -> bool {
        matches!(place.kind, PlaceKind::Local(local) if self.function.locals[local].storage == Storage::Private)
    }

    /// Whether a variable is only ever reached by its name, so that a copy of it can take its place.
    pub(super) fn is_register(&self, local: LocalId) -> bool {
        let variable = &self.function.locals[local];
        variable.storage == Storage::Private
            && !self.address_taken.contains(&local)
            && (!matches!(variable.ty, Type::Array(..)) || self.scalar_count(&variable.ty) <= MAX_COPIED)
    }

    fn scalar_count(&self, ty: &Type) -> u64 {
        match ty {
            Type::Array(element, length) => length.saturating_mul(self.scalar_count(element)),
            Type::Record(record) => {
                self.module.records[*record].fields.iter().map(|field| self.scalar_count(&field.ty)).sum()
            }
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Pointer(_) | Type::Opaque(_) => 1,
        }
    }

    /// The scalars that a place consists of.
    pub(super) fn scalars(&self, place: &Place) -> Vec<Place> {
        match &place.ty {
            Type::Record(record) => {
                let fields = (0u32..).zip(&self.module.records[*record].fields);
                let parts = fields.map(|(position, field)| place.clone().field(position, field.ty.clone()));
                parts.flat_map(|part| self.scalars(&part)).collect()
            }
            Type::Array(_, length) => (0..*length)
                .flat_map(|index| {
                    let index = Expr::new(ExprKind::Int(i128::from(index)), Type::INT);
                    self.scalars(&place.clone().index(index))
                })
                .collect(),
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Pointer(_) | Type::Opaque(_) => {
                vec![place.clone()]
            }
        }
    }

    /// The statements that copy a value; of an array, element by element.
    pub(super) fn copy(&self, into: &Place, from: &Place) -> Block {
        if !matches!(into.ty, Type::Array(..)) {
            return vec![assign(into.clone(), as_pointer(Expr::load(from.clone()), into.ty.clone()))];
        }
        let pairs = self.scalars(into).into_iter().zip(self.scalars(from));
        pairs.map(|(into, from)| assign(into, Expr::load(from))).collect()
    }

    /// A new variable that holds what a place holds now.
    pub(super) fn copy_in_variable(&mut self, name: &str, place: &Place, out: &mut Block) -> LocalId {
        let ty = plain(place.ty.clone());
        let local = self.names.add(&mut self.function, name, ty.clone());
        if let Type::Array(..) = ty {
            out.push(declare(local, None).at(place.span));
            out.extend(self.copy(&Place::local(local, ty), place));
        } else {
            let value = as_pointer(Expr::load(place.clone()), ty);
            out.push(declare(local, Some(value)).at(place.span));
        }
        local
    }

    /// The adjoint of an active place. Reports where there is none.
    pub(super) fn shadow(&mut self, place: &Place) -> Option<Place> {
        let objects = self.objects.of_place(place);
        // The shadow of a pointer points to adjoints, and is none itself.
        if !uses_memory(self.module, &place.ty) && !self.has_one_activity(&objects, place.span) {
            return None;
        }
        self.ensure_shadows(place);
        let shadow = self.shadows.place(place);
        if shadow.is_none() {
            self.report_missing(&objects, place.span);
        }
        shadow
    }

    /// The pointer to the adjoints of what a pointer points to, if that is active. Reports where there is none.
    pub(super) fn shadow_pointer(&mut self, pointer: &Expr) -> Option<Expr> {
        let targets = self.objects.targets(pointer);
        if !targets.iter().any(|object| self.activity.is_active(object)) {
            return None;
        }
        if !self.has_one_activity(&targets, pointer.span) {
            return None;
        }
        let mut places = Vec::new();
        let _ = walk::visit_expr(pointer, &mut |node| {
            if let walk::Node::Place(place) = node {
                places.push(place.clone());
            }
            std::ops::ControlFlow::<()>::Continue(())
        });
        places.iter().for_each(|place| self.ensure_shadows(place));
        let shadow = self.shadows.pointer(pointer);
        if shadow.is_none() {
            self.report_missing(&targets, pointer.span);
        }
        shadow
    }

    /// Says why there is no adjoint: of variables outside functions once for each, where they are declared.
    fn report_missing(&mut self, objects: &BTreeSet<Object>, span: Span) {
        let mut is_said = false;
        for object in objects {
            let found = match object.base {
                Base::Global(global) => Some(outside_functions(&self.module.globals[global])),
                Base::Local(_) | Base::Unknown => None,
            };
            is_said |= found.is_some();
            found.into_iter().for_each(|diagnostic| self.report(diagnostic));
        }
        if !is_said {
            self.report(unknown_pointer(span));
        }
    }

    /// A pointer has one adjoint pointer, so all that it may point to is active, or nothing is.
    fn has_one_activity(&mut self, objects: &BTreeSet<Object>, span: Span) -> bool {
        let active = objects.iter().filter(|object| self.activity.is_active(object)).count();
        if objects.iter().any(|object| object.base == Base::Unknown) {
            self.report(unknown_pointer(span));
            return false;
        }
        let private = objects.iter().filter(|object| self.is_private(object)).count();
        if private != 0 && private != objects.len() {
            let message = "a pointer may point to memory of the thread and to memory of all threads";
            self.report(
                Diagnostic::new(MIXED_POINTER, span, message, "no one kind of addition is right for both")
                    .help("use two pointers"),
            );
            return false;
        }
        if active != objects.len() {
            let message = "a pointer may point to active and to constant memory";
            self.report(
                Diagnostic::new(MIXED_POINTER, span, message, "its adjoint would have no place for one of the two")
                    .help("name the constant one too, or use two pointers"),
            );
            return false;
        }
        true
    }

    fn ensure_shadows(&mut self, place: &Place) {
        let mut locals = Vec::new();
        let _ = walk::visit_place(place, &mut |node| {
            if let walk::Node::Place(Place { kind: PlaceKind::Local(local), .. }) = node {
                locals.push(*local);
            }
            std::ops::ControlFlow::<()>::Continue(())
        });
        for local in locals {
            self.ensure_shadow(local);
        }
    }

    /// Gives an active variable, or a pointer to something active, its shadow.
    fn ensure_shadow(&mut self, local: LocalId) {
        if self.shadows.local(local).is_some() || !self.is_primal(local) || !self.has_shadow(local) {
            return;
        }
        let variable = &self.primal.locals[local];
        if variable.storage == Storage::DynamicShared {
            return self.add_dynamic_shadow(local);
        }
        let ty = self.variable_shadow_type(local);
        let shadow = self.names.add(&mut self.function, &shadow_name(&variable.name), ty.clone());
        self.function.locals[shadow].storage = variable.storage;
        self.function.locals[shadow].align = variable.align;
        if ty.is_pointer() {
            self.twins.insert(shadow, local);
        }
        self.shadows.insert(local, Place::local(shadow, ty));
    }

    /// The type of a variable's shadow. What a thread sums up for itself is `float` at least, unless a pointer may lead
    /// there: then it has the type that pointers to adjoints promise.
    fn variable_shadow_type(&self, local: LocalId) -> Type {
        let variable = &self.primal.locals[local];
        let widening = &self.shadows.widening;
        let wide = widening.private(&variable.ty);
        let mut is_pointed_to = variable.storage != Storage::Private || self.address_taken.contains(&local);
        if wide != variable.ty {
            walk::each_expr(&self.primal.body, &mut |expr| {
                let is_own = |place: &Place| walk::own_variable(place) == Some(local);
                is_pointed_to |= matches!(&expr.kind, ExprKind::AddressOf(place) if is_own(place));
            });
        }
        match &variable.ty {
            Type::Pointer(_) => widening.shadow(&variable.ty),
            other if is_pointed_to => widening.in_memory(other),
            _ => wide,
        }
    }

    /// Whether a variable has a shadow: it is active, or points to something that is.
    pub(super) fn has_shadow(&self, local: LocalId) -> bool {
        let ty = &self.primal.locals[local].ty;
        if let Type::Pointer(_) = ty {
            let load = Expr::load(Place::local(local, ty.clone()));
            return self.objects.targets(&load).iter().any(|object| self.activity.is_active(object));
        }
        if self.primal.locals[local].storage == Storage::DynamicShared {
            return self.activity.is_active(&Object::local(local));
        }
        if !carries_floats(self.module, ty) {
            // A record of pointers, or an array of them.
            let load = Expr::load(Place::local(local, ty.clone()));
            return !matches!(ty, Type::Array(..))
                && self.objects.reachable(&load).iter().any(|object| self.activity.is_active(object));
        }
        self.activity.is_active(&Object::local(local))
    }

    /// The declaration of an adjoint, which begins at zero.
    pub(super) fn declare_zero(&self, shadow: LocalId) -> Stmt {
        declare(shadow, Some(self.zero(&self.function.locals[shadow].ty)))
    }

    /// Zero, of a floating type or of an aggregate.
    pub(super) fn zero(&self, ty: &Type) -> Expr {
        zero(self.module, ty)
    }
}

/// A type for a variable that is assigned later: no reference.
pub(super) fn plain(mut ty: Type) -> Type {
    if let Type::Pointer(pointer) = &mut ty {
        pointer.is_reference = false;
        pointer.is_restrict = false;
    }
    ty
}

/// How many statements write each variable, its declaration with a value included.
pub(super) fn write_counts(objects: &Objects<'_>, function: &Function) -> HashMap<LocalId, usize> {
    let mut counts = HashMap::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        let mut written = BTreeSet::new();
        if let StmtKind::Declare { local, init: Some(_) } = &stmt.kind {
            written.insert(*local);
        }
        written.extend(stmt_writes(objects, stmt).iter().filter_map(Object::as_local));
        for local in written {
            *counts.entry(local).or_insert(0) += 1;
        }
    });
    counts
}

fn outside_functions(variable: &Global) -> Diagnostic {
    let message = format!("active values travel through `{}`, which is not named", variable.name);
    Diagnostic::new(CONSTANT_MEMORY, variable.span, message, "no adjoint is handed in for it").help(
        match variable.storage.is_on_device() {
            true => format!("name `{}` too", variable.name),
            false => format!("make `{}` a parameter and name it", variable.name),
        },
    )
}

fn unknown_pointer(span: Span) -> Diagnostic {
    Diagnostic::new(
        UNKNOWN_POINTER,
        span,
        "what this points to is not known, and it may be active",
        "no adjoint can be found for it",
    )
    .help("use a pointer that comes from a parameter or a variable, not one behind another pointer")
}
