//! The variables of a derivative: which there are, and what each of them is.

mod parts;
pub(super) mod uses;

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use super::facts::Facts;
use crate::analysis::Object;
use crate::ir::text;
use crate::ir::walk::{self, Node, own_variable};
use crate::ir::{Block, Expr, ExprKind, Function, Local, LocalId, Place, PlaceKind, Storage, Type};
use crate::source::Span;
use crate::transform::locals::{NewLocals, declare};
use crate::transform::shadow::Shadows;

/// Arrays of at most so many scalars are copied where a value must be kept; of larger ones, only what is read.
const MAX_COPIED: u64 = 32;

/// A type for a variable that is assigned later: no reference.
pub(in crate::transform::reverse) fn plain(mut ty: Type) -> Type {
    if let Type::Pointer(pointer) = &mut ty {
        pointer.is_reference = false;
        pointer.is_restrict = false;
    }
    ty
}

/// A pointer, whether it is one already or a variable that is a reference.
pub(in crate::transform::reverse) fn as_pointer(pointer: Expr, ty: Type) -> Expr {
    if pointer.ty.is_reference() && pointer.as_load().is_some() {
        Expr::new(ExprKind::AddressOf(Place::deref(pointer)), ty)
    } else {
        Expr { ty, ..pointer }
    }
}

/// What a variable of a derivative is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// One of the function that is differentiated.
    Program,
    /// The adjoint of one of these, or a pointer to where that is.
    Adjoint(LocalId),
    /// A pointer to adjoints, beside a pointer of the program: it changes where that does.
    Follows(LocalId),
    /// It keeps what a place held at some statement.
    Saved,
    /// It stands in the reverse sweep for another one, as that was in the forward sweep.
    Copy(LocalId),
    /// Anything else that the derivative has for itself: seeds, counters, sums.
    Own,
}

/// The derivative as far as it is written, and its variables.
pub(in crate::transform::reverse) struct Variables<'a> {
    pub(in crate::transform::reverse) facts: &'a Facts<'a>,
    /// The derivative.
    pub(in crate::transform::reverse) function: Function,
    pub(in crate::transform::reverse) names: NewLocals,
    pub(in crate::transform::reverse) shadows: Shadows,
    /// What variables are, where that is not `Own`.
    roles: HashMap<LocalId, Role>,
}

impl<'a> Variables<'a> {
    /// Those of the primal program, in a function that has no others yet.
    pub(in crate::transform::reverse) fn new(
        facts: &'a Facts<'a>,
        function: Function,
        shadows: Shadows,
    ) -> Variables<'a> {
        let roles = facts.primal.locals.ids().map(|local| (local, Role::Program)).collect();
        let names = NewLocals::new(facts.module, facts.primal);
        Variables { facts, function, names, shadows, roles }
    }
}

impl Variables<'_> {
    /// A new private variable of the derivative's own.
    pub(in crate::transform::reverse) fn add(&mut self, wanted: &str, ty: Type) -> LocalId {
        self.names.add(&mut self.function, wanted, ty)
    }

    /// A new variable that keeps a value.
    pub(in crate::transform::reverse) fn add_saved(&mut self, wanted: &str, ty: Type) -> LocalId {
        let local = self.add(wanted, ty);
        self.roles.insert(local, Role::Saved);
        local
    }

    /// Says where the adjoint of a variable of the program is. If that is a pointer which follows one, it is a variable.
    pub(in crate::transform::reverse) fn add_shadow(&mut self, of: LocalId, shadow: Place, is_following: bool) {
        let holder = match &shadow.kind {
            PlaceKind::Local(local) => Some(*local),
            // What an adjoint parameter points to.
            PlaceKind::Element(pointer, _) => pointer.as_load().and_then(own_variable),
            PlaceKind::Global(_) | PlaceKind::Field(..) | PlaceKind::Index(..) => None,
        };
        let role = if is_following { Role::Follows(of) } else { Role::Adjoint(of) };
        self.roles.extend(holder.map(|holder| (holder, role)));
        self.shadows.insert(of, shadow);
    }

    fn role(&self, local: LocalId) -> Role {
        self.roles.get(&local).copied().unwrap_or(Role::Own)
    }

    /// Says which variables stand for which in the reverse sweep: copies by original.
    pub(in crate::transform::reverse) fn add_copies(&mut self, copies: HashMap<LocalId, LocalId>) {
        let roles: HashMap<LocalId, Role> =
            copies.into_iter().map(|(original, copy)| (copy, Role::Copy(self.original(original)))).collect();
        self.roles.extend(roles);
    }

    /// The variables that stand for others in the reverse sweep, and these.
    pub(in crate::transform::reverse) fn copies(&self) -> impl Iterator<Item = (LocalId, LocalId)> {
        let copy = |(local, role): (&LocalId, &Role)| match role {
            Role::Copy(original) => Some((*local, *original)),
            Role::Program | Role::Adjoint(_) | Role::Follows(_) | Role::Saved | Role::Own => None,
        };
        self.roles.iter().filter_map(copy)
    }

    /// The pointer that a pointer to adjoints follows, or else the variable itself.
    pub(in crate::transform::reverse) fn followed(&self, local: LocalId) -> LocalId {
        match self.role(local) {
            Role::Follows(followed) => followed,
            Role::Program | Role::Adjoint(_) | Role::Saved | Role::Copy(_) | Role::Own => local,
        }
    }

    /// The variable that a copy stands for, or else the variable itself.
    pub(in crate::transform::reverse) fn original(&self, local: LocalId) -> LocalId {
        match self.role(local) {
            Role::Copy(original) => original,
            Role::Program | Role::Adjoint(_) | Role::Follows(_) | Role::Saved | Role::Own => local,
        }
    }

    /// Whether a local keeps what a place of the program held.
    pub(in crate::transform::reverse) fn is_saved(&self, local: LocalId) -> bool {
        self.role(local) == Role::Saved
    }

    /// Whether a local is one of the primal function.
    pub(in crate::transform::reverse) fn is_primal(&self, local: LocalId) -> bool {
        self.role(local) == Role::Program
    }

    /// Whether a place is a whole variable of the thread's own.
    pub(in crate::transform::reverse) fn is_private_variable(&self, place: &Place) -> bool {
        matches!(place.kind, PlaceKind::Local(local) if self.function.locals[local].storage == Storage::Private)
    }

    /// Whether a variable is only ever reached by its name, so that a copy of it can take its place.
    pub(in crate::transform::reverse) fn is_register(&self, local: LocalId) -> bool {
        let variable = &self.function.locals[local];
        variable.storage == Storage::Private
            && !self.facts.locals.address_taken.contains(&local)
            && (!matches!(variable.ty, Type::Array(..)) || self.facts.scalar_count(&variable.ty) <= MAX_COPIED)
    }

    /// Whether a variable is shared by the threads of a block.
    pub(in crate::transform::reverse) fn is_shared(&self, local: LocalId) -> bool {
        self.function.locals[local].storage != Storage::Private
    }

    /// The variable that a variable shadows, or that its original does.
    pub(in crate::transform::reverse) fn primal_of(&self, shadow: LocalId) -> Option<LocalId> {
        match self.role(self.original(shadow)) {
            Role::Adjoint(of) | Role::Follows(of) => Some(of),
            Role::Program | Role::Saved | Role::Copy(_) | Role::Own => None,
        }
    }

    /// Whether a place is reached from variables of the primal program only.
    pub(in crate::transform::reverse) fn is_primal_place(&self, place: &Place) -> bool {
        match &place.kind {
            PlaceKind::Local(local) => self.is_primal(*local),
            PlaceKind::Global(_) => true,
            PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => self.is_primal_place(base),
            PlaceKind::Element(pointer, _) => {
                let mut is_primal = true;
                let _ = walk::visit_expr(pointer, &mut |node| {
                    if let Node::Place(Place { kind: PlaceKind::Local(local), .. }) = node {
                        is_primal &= self.is_primal(*local);
                    }
                    ControlFlow::<()>::Continue(())
                });
                is_primal
            }
        }
    }

    /// The objects of a place of the primal program, or of a pointer to adjoints; none for adjoints themselves, which
    /// the reverse sweep alone writes.
    pub(in crate::transform::reverse) fn primal_objects(&self, place: &Place) -> Option<BTreeSet<Object>> {
        if let PlaceKind::Local(local) = place.kind
            && let Role::Follows(followed) = self.role(local)
        {
            return Some(BTreeSet::from([Object::local(followed)]));
        }
        if !self.is_primal_place(place) {
            return None;
        }
        Some(self.facts.objects.of_place(place))
    }

    pub(in crate::transform::reverse) fn name_of(&self, local: LocalId) -> String {
        self.function.locals[local].name.to_string()
    }

    /// A place as the plan shows it.
    pub(in crate::transform::reverse) fn text_of(&self, place: &Place) -> String {
        text::print_place(self.facts.module, &self.function, place)
    }

    /// The name of what a place is a part of, for variables that are named after it.
    pub(in crate::transform::reverse) fn base_name(&self, place: &Place) -> String {
        match &place.kind {
            PlaceKind::Local(local) => self.function.locals[*local].name.to_string(),
            PlaceKind::Global(global) => {
                let name = &self.facts.module.globals[*global].name;
                name.rsplit("::").next().unwrap_or(name).to_owned()
            }
            PlaceKind::Field(base, position) => {
                let field = if let Type::Record(record) = base.ty {
                    self.facts.module.records[record].fields[*position as usize].name.to_string()
                } else {
                    position.to_string()
                };
                format!("{}_{field}", self.base_name(base))
            }
            PlaceKind::Index(base, _) => self.base_name(base),
            PlaceKind::Element(pointer, _) => {
                let moved = if let ExprKind::Binary(_, left, _) = &pointer.kind { left.as_load() } else { None };
                let pointed = pointer.as_load().or(pointer.as_address()).or(moved);
                pointed.map_or("value".to_owned(), |place| self.base_name(place))
            }
        }
    }

    pub(in crate::transform::reverse) fn add_param(&mut self, name: &str, ty: Type) -> LocalId {
        let name = self.names.name(name);
        let local =
            self.function.locals.push(Local { name, ty, storage: Storage::Private, align: None, span: Span::NONE });
        self.function.params.push(local);
        local
    }

    /// A variable that takes the place of another in the reverse sweep.
    pub(in crate::transform::reverse) fn copy_of(
        &mut self,
        local: LocalId,
        map: &mut HashMap<LocalId, LocalId>,
    ) -> LocalId {
        if let Some(copy) = map.get(&local) {
            return *copy;
        }
        let variable = self.function.locals[local].clone();
        let copy = self.add(&variable.name, plain(variable.ty));
        map.insert(local, copy);
        copy
    }

    /// A variable that nobody reads.
    pub(in crate::transform::reverse) fn nothing(&mut self, name: &str, ty: &Type, out: &mut Block) -> LocalId {
        let local = self.add(name, ty.clone());
        out.push(self.declare_zero(local));
        local
    }

    /// A new variable with a value; the result loads it.
    pub(in crate::transform::reverse) fn keep(&mut self, name: &str, value: Expr, out: &mut Block) -> Expr {
        let ty = value.ty.clone();
        let local = self.add(name, ty.clone());
        out.push(declare(local, Some(value)));
        Expr::load(Place::local(local, ty))
    }

    /// A value that is used several times, in a variable of its own unless it is one already.
    pub(in crate::transform::reverse) fn bind(&mut self, value: Expr, out: &mut Block) -> Expr {
        let is_simple = |expr: &Expr| match &expr.kind {
            ExprKind::Float(_) => true,
            ExprKind::Load(place) => self.is_private_variable(place),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Null
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => false,
        };
        let inner = value.as_negated().unwrap_or(&value);
        if is_simple(inner) { value } else { self.keep("_r", value, out) }
    }
}
