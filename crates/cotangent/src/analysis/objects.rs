//! What pointers point to: which variables, and which arrays that the caller handed in.
//!
//! An object is a variable, or what a pointer that the function was given points to. Elements of an array are not told
//! apart, nor the order of statements: a pointer variable may point to everything that is ever assigned to it.
//! That arrays of different parameters do not overlap is the contract of a derivative; what two pointers of one
//! parameter lead to is told apart by the path that leads there.

use std::collections::{BTreeMap, BTreeSet};

use super::fixpoint::grow;
use crate::ir::walk;
use crate::ir::{
    BinaryOp, Expr, ExprKind, Function, GlobalId, IntKind, LocalId, Module, OpaqueArg, Place, PlaceKind, Stmt,
    StmtKind, Type, Unread,
};
use crate::rules::{RuntimeClass, runtime_class};

/// A variable, or memory that is reached from one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Object {
    /// The variable.
    pub base: Base,
    /// How the object is reached from the variable's value at the beginning; ends in `Deref`, or is empty for the
    /// variable itself.
    pub path: Vec<Step>,
}

/// Where an object begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Base {
    /// A parameter or local variable.
    Local(LocalId),
    /// A variable outside functions.
    Global(GlobalId),
    /// Memory that code which is not read has made. All of it is one object, to which none of the function's own belongs.
    Unread,
    /// It is not known.
    Unknown,
}

/// One step from a value to what it leads to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Step {
    /// A field.
    Field(u32),
    /// Through a pointer.
    Deref,
}

/// After so many pointers followed, what comes next counts as the same object: lists have no end.
const MAX_STEPS: usize = 8;

type Location = (Object, Vec<u32>);

/// The objects of one function.
pub struct Objects<'a> {
    module: &'a Module,
    function: &'a Function,
    points_to: BTreeMap<Location, BTreeSet<Object>>,
}

/// Finds what each pointer of a function may point to.
pub fn objects<'a>(module: &'a Module, function: &'a Function) -> Objects<'a> {
    let mut objects = Objects { module, function, points_to: BTreeMap::new() };
    let size = |objects: &Objects<'_>| objects.points_to.values().map(BTreeSet::len).sum::<usize>();
    grow(&mut objects, size, |objects| {
        walk::each_stmt(&function.body, &mut |stmt| match &stmt.kind {
            StmtKind::Declare { local, init: Some(init) } => {
                objects.store(&Place::local(*local, function.locals[*local].ty.clone()), init);
            }
            StmtKind::Assign { place, value } => objects.store(place, value),
            StmtKind::For(for_loop) => {
                let ty = function.locals[for_loop.counter].ty.clone();
                objects.store(&Place::local(for_loop.counter, ty), &for_loop.from);
            }
            StmtKind::Call { into: Some(place), .. } => objects.forget(place),
            StmtKind::Runtime { call, into: Some(place), .. } if is_its_own(call, &place.ty) => objects.allocate(place),
            StmtKind::Runtime { into: Some(place), .. }
            | StmtKind::Atomic { into: Some(place), .. }
            | StmtKind::Collective { into: Some(place), .. }
            | StmtKind::Pop { into: place, .. } => objects.forget(place),
            StmtKind::Opaque { code: Unread::Passed, args, .. } => objects.pass(stmt, args),
            StmtKind::Opaque { .. } => walk::written_places(stmt).into_iter().for_each(|place| objects.forget(place)),
            StmtKind::Declare { init: None, .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Call { into: None, .. }
            | StmtKind::If { .. }
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { into: None, .. }
            | StmtKind::Collective { into: None, .. }
            | StmtKind::Launch(_)
            | StmtKind::Runtime { into: None, .. }
            | StmtKind::Push { .. } => {}
        });
    });
    objects
}

/// What is allocated for a pointer: what it would lead to if it were handed in.
fn memory_of((object, fields): &Location) -> Object {
    let fields = fields.iter().map(|field| Step::Field(*field));
    Object { base: object.base, path: object.path.iter().copied().chain(fields).chain([Step::Deref]).collect() }
}

/// Whether a type is that of a text. One that code gives that is not read is of the program or of the standard library, or a
/// part of what the code is handed.
pub fn is_text(ty: &Type) -> bool {
    matches!(ty.pointee(), Some(Type::Int(IntKind::Char)))
}

/// Whether a type is a pointer to what only other code knows.
pub fn is_handle(ty: &Type) -> bool {
    matches!(ty.pointee(), Some(Type::Opaque(_)))
}

/// Whether a function of the runtime returns new memory, or a text that is its own: the name of an error.
fn is_its_own(call: &str, ty: &Type) -> bool {
    match runtime_class(call) {
        Some(RuntimeClass::Memory { .. }) => true,
        Some(class) => class == RuntimeClass::Query && is_text(ty),
        None => false,
    }
}

impl Object {
    /// What is not known, and may be any memory.
    pub fn unknown() -> Object {
        Object { base: Base::Unknown, path: Vec::new() }
    }

    /// A variable itself.
    pub fn local(local: LocalId) -> Object {
        Object { base: Base::Local(local), path: Vec::new() }
    }

    /// The variable, if the object is one of the function's own.
    pub fn as_local(&self) -> Option<LocalId> {
        match self.base {
            Base::Local(local) if self.path.is_empty() => Some(local),
            Base::Local(_) | Base::Global(_) | Base::Unread | Base::Unknown => None,
        }
    }

    /// What code that is not read has made.
    pub fn unread() -> Object {
        Object { base: Base::Unread, path: Vec::new() }
    }

    /// Whether it may share memory with one of many. Each need not be asked: objects that differ overlap only if one of the
    /// two is unknown, and such are the last of a set.
    pub fn overlaps_any(&self, others: &BTreeSet<Object>) -> bool {
        others.contains(self)
            || (self.as_local().is_none() && others.last().is_some_and(|last| last.base == Base::Unknown))
            || (self.base == Base::Unknown && others.iter().any(|other| other.overlaps(self)))
    }

    /// Whether two objects may share memory.
    pub fn overlaps(&self, other: &Object) -> bool {
        let is_open = |object: &Object| object.base == Base::Unknown;
        self == other || (is_open(self) && other.as_local().is_none()) || (is_open(other) && self.as_local().is_none())
    }
}

impl<'a> Objects<'a> {
    /// The module whose function this is about.
    pub fn module(&self) -> &'a Module {
        self.module
    }

    /// The memory that is handed, at any time, to code that is passed through, what such code has made, and variables
    /// outside functions with what they lead to: each piece of it may change all of that.
    pub fn handed_over(&self) -> BTreeSet<Object> {
        let mut found = BTreeSet::from([Object::unread()]);
        for (id, global) in self.module.globals.entries().filter(|(_, global)| global.is_open()) {
            let variable = Place::new(PlaceKind::Global(id), global.ty.clone());
            found.extend(self.of_place(&variable));
            found.extend(self.reachable(&Expr::load(variable)));
        }
        walk::each_stmt(&self.function.body, &mut |stmt| {
            if let StmtKind::Opaque { code: Unread::Passed, args, .. } = &stmt.kind {
                args.iter().filter_map(OpaqueArg::value).for_each(|value| found.extend(self.reachable(&value)));
            }
        });
        found
    }

    /// The objects that a place may lie in.
    pub fn of_place(&self, place: &Place) -> BTreeSet<Object> {
        self.locations(place).into_iter().map(|(object, _)| object).collect()
    }

    /// The objects that a pointer may point into.
    pub fn targets(&self, pointer: &Expr) -> BTreeSet<Object> {
        match &pointer.kind {
            ExprKind::Load(place) => {
                self.locations(place).iter().flat_map(|location| self.pointed_to(location)).collect()
            }
            ExprKind::AddressOf(place) => self.of_place(place),
            ExprKind::Binary(BinaryOp::Offset, base, _) => self.targets(base),
            ExprKind::Select(_, then, otherwise) => {
                self.targets(then).into_iter().chain(self.targets(otherwise)).collect()
            }
            ExprKind::Cast(operand) if operand.ty.is_pointer() => self.targets(operand),
            ExprKind::Null => BTreeSet::new(),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => BTreeSet::from([Object::unknown()]),
        }
    }

    /// Everything that a value leads to, through any number of pointers.
    pub fn reachable(&self, value: &Expr) -> BTreeSet<Object> {
        let mut found = BTreeSet::new();
        let mut open: Vec<(Object, Type)> = Vec::new();
        let visit = |pointer_type: &Type, targets: BTreeSet<Object>, open: &mut Vec<(Object, Type)>| {
            let pointee = pointer_type.pointee().cloned().unwrap_or(Type::Void);
            open.extend(targets.into_iter().map(|object| (object, pointee.clone())));
        };
        match (&value.ty, &value.kind) {
            (Type::Pointer(_), _) => visit(&value.ty, self.targets(value), &mut open),
            (Type::Record(_), ExprKind::Load(place)) => {
                for (path, ty) in self.pointer_leaves(&place.ty) {
                    for (object, fields) in self.locations(place) {
                        let location = (object, [fields, path.clone()].concat());
                        visit(&ty, self.pointed_to(&location), &mut open);
                    }
                }
            }
            (Type::Record(_) | Type::Array(..), ExprKind::Construct(operands)) => {
                return operands.iter().flat_map(|operand| self.reachable(operand)).collect();
            }
            (Type::Record(_), ExprKind::Select(_, then, otherwise)) => {
                return self.reachable(then).into_iter().chain(self.reachable(otherwise)).collect();
            }
            (Type::Record(_) | Type::Array(..), _) => {
                if !self.pointer_leaves(&value.ty).is_empty() {
                    found.insert(Object::unknown());
                }
            }
            (Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_), _) => {}
        }
        while let Some((object, ty)) = open.pop() {
            if !found.insert(object.clone()) {
                continue;
            }
            for (path, pointer) in self.pointer_leaves(&ty) {
                visit(&pointer, self.pointed_to(&(object.clone(), path)), &mut open);
            }
        }
        found
    }

    /// The pointers inside a type: fields that lead there, and their types.
    fn pointer_leaves(&self, ty: &Type) -> Vec<(Vec<u32>, Type)> {
        match ty {
            Type::Pointer(_) => vec![(Vec::new(), ty.clone())],
            Type::Array(element, _) => self.pointer_leaves(element),
            Type::Record(record) => {
                let mut found = Vec::new();
                for (position, field) in (0u32..).zip(&self.module.records[*record].fields) {
                    let leaves = self.pointer_leaves(&field.ty);
                    found.extend(leaves.into_iter().map(|(path, ty)| ([vec![position], path].concat(), ty)));
                }
                found
            }
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_) => Vec::new(),
        }
    }

    fn locations(&self, place: &Place) -> BTreeSet<Location> {
        match &place.kind {
            PlaceKind::Local(local) => BTreeSet::from([(Object::local(*local), Vec::new())]),
            PlaceKind::Global(global) => {
                BTreeSet::from([(Object { base: Base::Global(*global), path: Vec::new() }, Vec::new())])
            }
            PlaceKind::Element(pointer, _) => {
                self.targets(pointer).into_iter().map(|object| (object, Vec::new())).collect()
            }
            PlaceKind::Field(base, position) => {
                let bases = self.locations(base).into_iter();
                bases.map(|(object, fields)| (object, [fields, vec![*position]].concat())).collect()
            }
            PlaceKind::Index(base, _) => self.locations(base),
        }
    }

    fn pointed_to(&self, location: &Location) -> BTreeSet<Object> {
        let (object, fields) = location;
        let mut found = self.points_to.get(location).cloned().unwrap_or_default();
        let is_given = match object.base {
            Base::Local(local) => self.function.params.contains(&local) || !object.path.is_empty(),
            Base::Global(_) => true,
            Base::Unread | Base::Unknown => {
                found.insert(Object::unknown());
                false
            }
        };
        if is_given {
            let mut path = object.path.clone();
            if path.len() < MAX_STEPS {
                path.extend(fields.iter().map(|field| Step::Field(*field)));
                path.push(Step::Deref);
            }
            found.insert(Object { base: object.base, path });
        }
        found
    }

    fn store(&mut self, place: &Place, value: &Expr) {
        match &value.ty {
            Type::Pointer(_) => {
                let targets = self.targets(value);
                for location in self.locations(place) {
                    self.points_to.entry(location).or_default().extend(targets.iter().cloned());
                }
            }
            Type::Record(record) => match &value.kind {
                ExprKind::Construct(operands) => {
                    let fields = &self.module.records[*record].fields;
                    for ((position, field), operand) in (0u32..).zip(fields).zip(operands) {
                        self.store(&place.clone().field(position, field.ty.clone()), operand);
                    }
                }
                ExprKind::Load(source) => self.copy_pointers(place, source),
                ExprKind::Bool(_)
                | ExprKind::Int(_)
                | ExprKind::Float(_)
                | ExprKind::Null
                | ExprKind::AddressOf(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary(..)
                | ExprKind::Select(..)
                | ExprKind::Cast(_)
                | ExprKind::Math(..)
                | ExprKind::Builtin(_)
                | ExprKind::SizeOf(_) => self.forget(place),
            },
            Type::Array(..) => {
                if let ExprKind::Construct(operands) = &value.kind {
                    for operand in operands {
                        self.store(&place.clone().index(Expr::int(0)), operand);
                    }
                }
            }
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_) => {}
        }
    }

    fn copy_pointers(&mut self, place: &Place, source: &Place) {
        for (path, _) in self.pointer_leaves(&place.ty) {
            let sources = self.locations(source).into_iter();
            let targets: BTreeSet<Object> = sources
                .flat_map(|(object, fields)| self.pointed_to(&(object, [fields, path.clone()].concat())))
                .collect();
            for (object, fields) in self.locations(place) {
                let location = (object, [fields, path.clone()].concat());
                self.points_to.entry(location).or_default().extend(targets.iter().cloned());
            }
        }
    }

    /// A pointer is given memory of its own. All that is ever allocated for one variable counts as one object.
    fn allocate(&mut self, place: &Place) {
        for location in self.locations(place) {
            let memory = memory_of(&location);
            self.points_to.entry(location).or_default().insert(memory);
        }
    }

    /// The memory that is allocated for a pointer.
    pub fn new_memory(&self, place: &Place) -> BTreeSet<Object> {
        self.locations(place).iter().map(memory_of).collect()
    }

    /// What code that is passed through stores: a text is of the library, or a part of what the code is handed. Other pointers
    /// lead to memory that such code has made, or to what was handed to any of it.
    fn pass(&mut self, stmt: &Stmt, args: &[OpaqueArg]) {
        for place in walk::written_places(stmt) {
            if is_text(&place.ty) {
                self.allocate(place);
                args.iter().filter_map(OpaqueArg::value).for_each(|value| self.store(place, &value));
            } else if place.ty.is_pointer() {
                // What a handle leads to is nobody's else.
                let known = if is_handle(&place.ty) { BTreeSet::new() } else { self.handed_over() };
                for location in self.locations(place) {
                    let targets = self.points_to.entry(location).or_default();
                    targets.extend(known.iter().cloned().chain([Object::unread()]));
                }
            } else {
                self.forget(place);
            }
        }
    }

    /// Pointers in a place come from somewhere unknown.
    fn forget(&mut self, place: &Place) {
        for (path, _) in self.pointer_leaves(&place.ty) {
            for (object, fields) in self.locations(place) {
                let location = (object, [fields, path.clone()].concat());
                self.points_to.entry(location).or_default().insert(Object::unknown());
            }
        }
    }
}
