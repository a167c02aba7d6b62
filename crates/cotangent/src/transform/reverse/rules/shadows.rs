//! Where the adjoint of a place or a pointer is, and why there is none.

use std::collections::BTreeSet;

use super::Rules;
use crate::analysis::{Base, Object, uses_memory};
use crate::diagnostic::{CONSTANT_MEMORY, Diagnostic, MIXED_POINTER, THREADS_ACTIVE, UNKNOWN_POINTER};
use crate::ir::walk::{self};
use crate::ir::{Expr, ExprKind, Global, LocalId, Place, PlaceKind, Storage, Type};
use crate::source::Span;
use crate::transform::shadow::{shadow_name, shadow_type};

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

impl Rules<'_> {
    /// The adjoint of an active place. Reports where there is none.
    pub(in crate::transform::reverse) fn shadow(&mut self, place: &Place) -> Option<Place> {
        let objects = self.facts.objects.of_place(place);
        // The shadow of a pointer points to adjoints, and is none itself.
        if !uses_memory(self.facts.module, &place.ty) && !self.has_one_activity(&objects, place.span) {
            return None;
        }
        self.ensure_shadows(place);
        let shadow = self.vars.shadows.place(place);
        if shadow.is_none() {
            self.report_missing(&objects, place.span);
        }
        shadow
    }

    /// The pointer to the adjoints of what a pointer points to, if that is active. Reports where there is none.
    pub(in crate::transform::reverse) fn shadow_pointer(&mut self, pointer: &Expr) -> Option<Expr> {
        let targets = self.facts.objects.targets(pointer);
        if !targets.iter().any(|object| self.facts.activity.is_active(object)) {
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
        let shadow = self.vars.shadows.pointer(pointer);
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
                Base::Global(global) => Some(outside_functions(&self.facts.module.globals[global])),
                Base::Local(_) | Base::Unread | Base::Unknown => None,
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
        let active = objects.iter().filter(|object| self.facts.activity.is_active(object)).count();
        if objects.iter().any(|object| matches!(object.base, Base::Unread | Base::Unknown)) {
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
        if self.vars.shadows.local(local).is_some() || !self.vars.is_primal(local) || !self.facts.has_shadow(local) {
            return;
        }
        let variable = &self.facts.primal.locals[local];
        if variable.storage == Storage::DynamicShared {
            return self.add_dynamic_shadow(local);
        }
        let ty = self.variable_shadow_type(local);
        let shadow = self.vars.add(&shadow_name(&variable.name), ty.clone());
        self.vars.function.locals[shadow].storage = variable.storage;
        self.vars.function.locals[shadow].align = variable.align;
        // Pointers to adjoints are given values wherever the pointers are that they follow.
        let is_array_of_pointers = matches!(&ty, Type::Array(element, _) if element.is_pointer());
        let is_following = ty.is_pointer() || is_array_of_pointers;
        self.vars.add_shadow(local, Place::local(shadow, ty), is_following);
    }

    /// The type of a variable's shadow. What a thread sums up for itself is `float` at least, unless a pointer may lead
    /// there: then it has the type that pointers to adjoints promise.
    fn variable_shadow_type(&self, local: LocalId) -> Type {
        let variable = &self.facts.primal.locals[local];
        let widening = &self.vars.shadows.widening;
        let wide = widening.private(&variable.ty);
        let mut is_pointed_to =
            variable.storage != Storage::Private || self.facts.locals.address_taken.contains(&local);
        if wide != variable.ty {
            walk::each_expr(&self.facts.primal.body, &mut |expr| {
                let is_own = |place: &Place| walk::own_variable(place) == Some(local);
                is_pointed_to |= matches!(&expr.kind, ExprKind::AddressOf(place) if is_own(place));
            });
        }
        if variable.ty.is_pointer() {
            widening.shadow(&variable.ty)
        } else if is_pointed_to {
            widening.in_memory(&variable.ty)
        } else {
            wide
        }
    }

    /// Gives dynamic shared memory its shadow: a pointer to what lies behind it.
    pub(in crate::transform::reverse) fn add_dynamic_shadow(&mut self, local: LocalId) {
        let variable = self.facts.primal.locals[local].clone();
        let is_dynamic = |local: &&crate::ir::Local| local.storage == Storage::DynamicShared;
        if self.facts.primal.locals.iter().filter(is_dynamic).any(|other| other.ty != variable.ty) {
            let message = format!("`{}` is dynamic shared memory under more than one type", variable.name);
            return self.report(
                Diagnostic::new(THREADS_ACTIVE, variable.span, message, "active values may be in both")
                    .help("declare it once, as an array of the type that it holds or of `char`"),
            );
        }
        let Type::Array(element, _) = &variable.ty else { return };
        let ty = Type::pointer(shadow_type(element));
        let shadow = self.vars.add(&shadow_name(&variable.name), ty.clone());
        self.vars.add_shadow(local, Place::local(shadow, ty), false);
    }
}
