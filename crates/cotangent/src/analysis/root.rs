//! What memory a place lies in, or a pointer points into: the variable or parameter that it was reached from.
//!
//! Pointers held in locals are followed to all values that the local ever gets, wherever that happens. A pointer that
//! was loaded from memory points behind the parameter through which that memory was reached, as long as the function
//! stores no pointers to memory; otherwise it may point anywhere.

use std::collections::{BTreeSet, HashMap};

use super::effects::{Effects, effects};
use super::locals::Locals;
use super::objects::{Base, Object};
use crate::ir::{
    BinaryOp, Expr, ExprKind, Function, FunctionId, GlobalId, LocalId, Module, Place, PlaceKind, Stmt, StmtKind,
    Storage, Type, walk,
};
use crate::rules::RESERVE;

/// The memory that a place lies in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Root {
    /// A variable of the thread, with the part of the record that is reserved for it.
    Private(LocalId),
    /// A `__shared__` variable.
    Shared(LocalId),
    /// What a parameter points to.
    Param(LocalId),
    /// What pointers point to that a parameter holds, or that lie in what it points to. There may be several, and
    /// they may point to the same memory.
    Behind(LocalId),
    /// A variable outside functions.
    Global(GlobalId),
    /// Any of these.
    Unknown,
}

impl Root {
    /// Whether it may be any memory that others reach.
    pub fn is_open(&self) -> bool {
        matches!(self, Root::Unknown | Root::Behind(_))
    }
}

/// What is needed to find roots in one function.
#[derive(Debug)]
pub struct Roots<'f> {
    module: &'f Module,
    function: &'f Function,
    locals: &'f Locals<'f>,
    /// Some statement stores a pointer, or a record that may hold one, to memory.
    stores_pointers: bool,
    /// What the functions that are called write.
    effects: HashMap<FunctionId, Effects>,
    /// Variables that point to a part of the record.
    records: BTreeSet<LocalId>,
    /// Variables that point to shared memory of their own, whatever they are computed from.
    pub(super) apart: Vec<LocalId>,
}

impl<'f> Roots<'f> {
    /// Looks at a function once.
    pub fn new(module: &'f Module, function: &'f Function, locals: &'f Locals<'f>) -> Roots<'f> {
        let mut stores_pointers = false;
        let mut known = HashMap::new();
        let mut records = BTreeSet::new();
        walk::each_stmt(&function.body, &mut |stmt| {
            let is_memory = |place: &&Place| !matches!(place.kind, PlaceKind::Local(_));
            let mut stored = walk::written_places(stmt).into_iter().filter(is_memory);
            stores_pointers |= stored.any(|place| may_hold_pointer(module, &place.ty));
            if let StmtKind::Runtime { call, into: Some(into), .. } = &stmt.kind
                && **call == *RESERVE
            {
                records.extend(into.as_local());
            }
            if let StmtKind::Call { function, args, .. } = &stmt.kind {
                let effects = known.entry(*function).or_insert_with(|| effects(module, *function));
                stores_pointers |= effects.others.iter().any(|object| object.base == Base::Unknown);
                stores_pointers |= args.iter().enumerate().any(|(position, arg)| {
                    let held = arg.ty.pointee().unwrap_or(&arg.ty);
                    may_write(effects, position, &arg.ty) && may_hold_pointer(module, held)
                });
            }
        });
        Roots { module, function, locals, stores_pointers, effects: known, records, apart: Vec::new() }
    }

    /// Whether a value of this type may be a pointer or hold one.
    pub fn may_hold_pointer(&self, ty: &Type) -> bool {
        may_hold_pointer(self.module, ty)
    }

    /// The memory that a called function may write. Through pointers that it finds in memory, that may be anything.
    pub fn written_by_call(&self, stmt: &Stmt) -> BTreeSet<Root> {
        let mut found = BTreeSet::new();
        let StmtKind::Call { function, args, .. } = &stmt.kind else { return found };
        let effects = &self.effects[function];
        for (position, arg) in args.iter().enumerate() {
            let held = arg.ty.pointee().unwrap_or(&arg.ty);
            if arg.ty.is_pointer() && may_write(effects, position, &arg.ty) {
                found.extend(self.pointer(arg));
            }
            if self.may_hold_pointer(held) {
                found.insert(Root::Unknown);
            }
        }
        found.extend(effects.others.iter().map(|object| match object {
            Object { base: Base::Global(global), path } if path.is_empty() => Root::Global(*global),
            Object { base: Base::Global(_) | Base::Local(_) | Base::Unread | Base::Unknown, .. } => Root::Unknown,
        }));
        found
    }

    /// The roots of a place: it lies in one of them.
    pub fn place(&self, place: &Place) -> BTreeSet<Root> {
        let mut found = BTreeSet::new();
        self.add_place(place, &mut Vec::new(), &mut found);
        found
    }

    /// The roots of a pointer: it points into one of them, or is null.
    pub fn pointer(&self, pointer: &Expr) -> BTreeSet<Root> {
        let mut found = BTreeSet::new();
        self.add_pointer(pointer, &mut Vec::new(), &mut found);
        found
    }

    fn add_place(&self, place: &Place, followed: &mut Vec<LocalId>, found: &mut BTreeSet<Root>) {
        match &place.kind {
            PlaceKind::Local(local) => {
                found.insert(match self.function.locals[*local].storage {
                    Storage::Private => Root::Private(*local),
                    Storage::Shared | Storage::DynamicShared => Root::Shared(*local),
                });
            }
            PlaceKind::Global(global) => {
                found.insert(Root::Global(*global));
            }
            PlaceKind::Element(pointer, _) => self.add_pointer(pointer, followed, found),
            PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => self.add_place(base, followed, found),
        }
    }

    fn add_pointer(&self, pointer: &Expr, followed: &mut Vec<LocalId>, found: &mut BTreeSet<Root>) {
        match &pointer.kind {
            ExprKind::Null => {}
            ExprKind::AddressOf(place) => self.add_place(place, followed, found),
            ExprKind::Binary(BinaryOp::Offset, base, _) => self.add_pointer(base, followed, found),
            ExprKind::Cast(operand) if operand.ty.is_pointer() => self.add_pointer(operand, followed, found),
            ExprKind::Select(_, then, otherwise) => {
                self.add_pointer(then, followed, found);
                self.add_pointer(otherwise, followed, found);
            }
            ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => self.add_variable(*local, followed, found),
            ExprKind::Load(place) => self.add_loaded(place, followed, found),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => {
                found.insert(Root::Unknown);
            }
        }
    }

    /// What a variable that holds a pointer points to.
    fn add_variable(&self, local: LocalId, followed: &mut Vec<LocalId>, found: &mut BTreeSet<Root>) {
        if self.apart.contains(&local) {
            found.insert(Root::Shared(local));
            return;
        }
        if self.records.contains(&local) {
            found.insert(Root::Private(local));
            return;
        }
        let uses = &self.locals[local];
        if uses.is_exposed || uses.is_changed {
            found.insert(Root::Unknown);
            return;
        }
        if followed.contains(&local) {
            return;
        }
        followed.push(local);
        if self.function.params.contains(&local) {
            found.insert(Root::Param(local));
        }
        for value in &uses.values {
            self.add_pointer(value, followed, found);
        }
    }

    /// What a pointer points to that was loaded from a place which is no variable.
    fn add_loaded(&self, place: &Place, followed: &mut Vec<LocalId>, found: &mut BTreeSet<Root>) {
        let mut holders = BTreeSet::new();
        self.add_place(place, followed, &mut holders);
        for holder in holders {
            found.insert(match holder {
                Root::Param(param) | Root::Behind(param) if !self.stores_pointers => Root::Behind(param),
                Root::Private(local) if self.function.params.contains(&local) && self.locals[local].is_constant() => {
                    Root::Behind(local)
                }
                Root::Private(_)
                | Root::Shared(_)
                | Root::Param(_)
                | Root::Behind(_)
                | Root::Global(_)
                | Root::Unknown => Root::Unknown,
            });
        }
    }
}

/// Whether a function may write what an argument leads to. That a parameter points to `const` is no promise: C++ lets a
/// function cast it away. Its body tells, and the type too, for a function whose body is not written yet.
fn may_write(effects: &Effects, position: usize, ty: &Type) -> bool {
    let is_read_only = matches!(ty, Type::Pointer(pointer) if pointer.is_const);
    !is_read_only || effects.params.contains(&position)
}

fn may_hold_pointer(module: &Module, ty: &Type) -> bool {
    match ty {
        Type::Pointer(_) | Type::Opaque(_) | Type::Void => true,
        Type::Record(record) => module.records[*record].fields.iter().any(|field| may_hold_pointer(module, &field.ty)),
        Type::Array(element, _) => may_hold_pointer(module, element),
        Type::Bool | Type::Int(_) | Type::Float(_) => false,
    }
}
