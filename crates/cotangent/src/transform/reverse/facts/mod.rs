//! What is known about the function that is differentiated. Nothing here changes while its derivative is written.

pub(super) mod allocations;
pub(super) mod beginnings;
mod bits;
mod sometimes;
mod streams;

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::analysis::{self, Activity, Object, Objects, carries_floats, stmt_writes, uses_memory};
use crate::ir::walk;
use crate::ir::{Expr, Function, FunctionId, LocalId, Module, Place, Space, Stmt, StmtKind, Storage, Type};
use crate::transform::normalize::address_taken;
use crate::transform::{Fact, Trust};
use sometimes::used_sometimes;

/// How many statements write each variable, its declaration with a value included.
fn write_counts(objects: &Objects<'_>, function: &Function) -> HashMap<LocalId, usize> {
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

/// The function, and what analyses say of it.
pub(in crate::transform::reverse) struct Facts<'a> {
    /// The program, its functions in the normal form.
    pub(in crate::transform::reverse) module: &'a Module,
    /// The function that is differentiated.
    pub(in crate::transform::reverse) primal: &'a Function,
    pub(in crate::transform::reverse) objects: &'a Objects<'a>,
    pub(in crate::transform::reverse) activity: &'a Activity,
    /// Everything that the function writes, and what changes between its sweeps where these are two functions.
    pub(in crate::transform::reverse) written: BTreeSet<Object>,
    pub(in crate::transform::reverse) locals: LocalFacts,
    /// What is not believed, in tests.
    pub(in crate::transform::reverse) trust: Trust,
}

/// What is known about single variables.
pub(in crate::transform::reverse) struct LocalFacts {
    /// Variables that pointers other than a call's arguments may point to.
    pub(in crate::transform::reverse) address_taken: HashSet<LocalId>,
    /// Variables whose values are used on some ways through the function only.
    pub(in crate::transform::reverse) used_sometimes: HashSet<LocalId>,
    /// How many statements write each variable.
    pub(in crate::transform::reverse) write_counts: HashMap<LocalId, usize>,
}

impl<'a> Facts<'a> {
    /// Looks at a function. `changed` is what changes between its sweeps though the function does not write it.
    pub(in crate::transform::reverse) fn new(
        module: &'a Module,
        primal: &'a Function,
        objects: &'a Objects<'a>,
        activity: &'a Activity,
        changed: &BTreeSet<Object>,
        trust: Trust,
    ) -> Facts<'a> {
        Facts {
            module,
            primal,
            objects,
            activity,
            written: &analysis::written(objects, &primal.body) | changed,
            locals: LocalFacts {
                address_taken: address_taken(primal),
                used_sometimes: used_sometimes(primal),
                write_counts: write_counts(objects, primal),
            },
            trust,
        }
    }
}

impl Facts<'_> {
    /// The statements of the function, and the value that it ends with.
    pub(in crate::transform::reverse) fn body_and_result(&self) -> (&[Stmt], Option<&Expr>) {
        match self.primal.body.split_last() {
            Some((Stmt { kind: StmtKind::Return(Some(value)), .. }, rest)) => (rest, Some(value)),
            _ => (&self.primal.body, None),
        }
    }

    pub(in crate::transform::reverse) fn is_active_value(&self, value: &Expr) -> bool {
        self.activity.is_active_value(self.objects, value)
    }

    pub(in crate::transform::reverse) fn is_active_place(&self, place: &Place) -> bool {
        carries_floats(self.module, &place.ty) && self.activity.is_active_place(self.objects, place)
    }

    pub(in crate::transform::reverse) fn is_active_argument(&self, arg: &Expr) -> bool {
        if arg.ty.is_pointer() || uses_memory(self.module, &arg.ty) {
            return self.objects.reachable(arg).iter().any(|object| self.activity.is_active(object));
        }
        carries_floats(self.module, &arg.ty) && self.is_active_value(arg)
    }

    /// Whether a variable has a shadow: it is active, or points to something that is.
    pub(in crate::transform::reverse) fn has_shadow(&self, local: LocalId) -> bool {
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
            return (!matches!(ty, Type::Array(..)) || self.is_host())
                && self.objects.reachable(&load).iter().any(|object| self.activity.is_active(object));
        }
        self.activity.is_active(&Object::local(local))
    }

    /// Whether the function runs on the host: one thread, in order.
    pub(in crate::transform::reverse) fn is_host(&self) -> bool {
        self.primal.space == Space::Host
    }

    /// Memory that other threads may write too: the kernel writes it somewhere.
    pub(in crate::transform::reverse) fn is_volatile(&self, object: &Object) -> bool {
        let is_written = object.overlaps_any(&self.written);
        self.trust.answer(Fact::Memory, true, is_written)
    }

    pub(in crate::transform::reverse) fn reads_object_of(&self, place: &Place, value: &Expr) -> bool {
        let written = self.objects.of_place(place);
        walk::loads_any(value, &mut |read| {
            let objects = self.objects.of_place(read);
            objects.iter().any(|object| written.iter().any(|other| other.overlaps(object)))
        })
    }

    /// The variables that statements declare for themselves: shared memory is the block's.
    pub(in crate::transform::reverse) fn declared_in(&self, block: &[Stmt]) -> HashSet<LocalId> {
        let mut declared = HashSet::new();
        walk::each_stmt(block, &mut |stmt| declared.extend(walk::declared_local(stmt)));
        declared.retain(|local| self.primal.locals[*local].storage == Storage::Private);
        declared
    }

    /// Whether what the user wrote for a function may do more than add to adjoints: the function overwrites memory.
    pub(in crate::transform::reverse) fn may_overwrite(&self, derivative: FunctionId) -> bool {
        let about = self.module.rules.iter().filter(|rule| rule.kind.functions().contains(&derivative));
        about.into_iter().any(|rule| analysis::effects(self.module, rule.function) != analysis::Effects::default())
    }

    /// The floating type that all scalars of a type have.
    pub(in crate::transform::reverse) fn number_in(&self, ty: &Type) -> Option<Type> {
        match ty {
            Type::Float(_) => Some(ty.clone()),
            Type::Array(element, _) => self.number_in(element),
            Type::Record(record) => {
                let mut numbers = self.module.records[*record].fields.iter().map(|field| self.number_in(&field.ty));
                let first = numbers.next()??;
                numbers.all(|other| other.as_ref() == Some(&first)).then_some(first)
            }
            Type::Void | Type::Bool | Type::Int(_) | Type::Pointer(_) | Type::Opaque(_) => None,
        }
    }

    /// Whether it is a kernel: then all threads hold the same adjoint pointers.
    pub(in crate::transform::reverse) fn is_kernel(&self) -> bool {
        self.primal.space == Space::Kernel
    }

    pub(in crate::transform::reverse) fn scalar_count(&self, ty: &Type) -> u64 {
        match ty {
            Type::Array(element, length) => length.saturating_mul(self.scalar_count(element)),
            Type::Record(record) => {
                self.module.records[*record].fields.iter().map(|field| self.scalar_count(&field.ty)).sum()
            }
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Pointer(_) | Type::Opaque(_) => 1,
        }
    }
}
