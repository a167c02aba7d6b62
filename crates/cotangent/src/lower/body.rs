//! What is known about the body that is being lowered: its variables, what names stand for, which loops, blocks and
//! vectors are open, and the statements so far.

use std::collections::{HashMap, HashSet};

use super::context::{Context, Pass};
use super::names::{first_free, is_reserved};
use crate::clang::{Node, NodeId};
use crate::index::IdVec;
use crate::ir::{Block, Expr, Local, LocalId, Name, Place, Stmt, StmtKind, Storage, Type};
use crate::source::Span;

/// What a name in the user's text stands for inside the function that is lowered.
#[derive(Clone)]
pub(super) enum Binding {
    /// A parameter or local variable.
    Local(LocalId),
    /// A value: a parameter of a function that is lowered in place of its call.
    Value(Expr),
    /// A place: a reference parameter of such a function, or a captured variable.
    Place(Place),
    /// A `std::vector`.
    Vector(Vector),
}

/// The state of lowering one function's body.
pub(super) struct Body<'c, 'a> {
    pub(super) context: &'c mut Context<'a>,
    pub(super) pass: Pass,
    pub(super) result: Type,
    pub(super) locals: IdVec<LocalId, Local>,
    pub(super) bindings: HashMap<NodeId, Binding>,
    /// What `this` points to.
    pub(super) this: Option<Place>,
    /// The statements of the block that is being lowered.
    pub(super) block: Block,
    /// Names visible here, a set for each block that is open.
    pub(super) scopes: Vec<HashSet<Name>>,
    /// The loops and switches that are open, innermost last.
    pub(super) loops: Vec<Enclosing<'a>>,
    /// Locals whose address was taken: a call may change them.
    pub(super) addressed: HashSet<LocalId>,
    /// Declarations that belong at the top of the function.
    pub(super) prologue: Block,
    /// Where the statement that is being lowered stands.
    pub(super) span: Span,
    /// How many functions are being lowered in place of their calls.
    pub(super) inlining: usize,
    /// The vectors of the scopes that are open, innermost last.
    pub(super) owned: Vec<Owned>,
    /// Vectors that were declared without a size, and how many scopes were open there.
    pub(super) unsized_vectors: HashMap<NodeId, (&'a Node, usize)>,
}

/// A loop or switch around the statement that is being lowered.
#[derive(Clone)]
pub(super) enum Enclosing<'a> {
    /// A loop; what must run before the next iteration is tested, where the IR has no room for it.
    Loop(Option<&'a Node>),
    /// A `do` whose test has effects: its condition, and the variable that holds its truth.
    Tail(&'a Node, Place),
    /// A switch.
    Switch,
}

/// What a vector is made of: the variables that hold the pointer to its elements, and how many they are.
#[derive(Clone)]
pub(super) struct Vector {
    pub(super) data: Place,
    pub(super) size: Place,
}

/// The memory of a vector that is freed at the end of a scope.
pub(super) struct Owned {
    pub(super) data: Place,
    /// How many loops and switches were open where it was declared.
    pub(super) loops: usize,
}

impl<'c, 'a> Body<'c, 'a> {
    pub(super) fn new(context: &'c mut Context<'a>, pass: Pass, span: Span) -> Body<'c, 'a> {
        Body {
            context,
            pass,
            result: Type::Void,
            locals: IdVec::new(),
            bindings: HashMap::new(),
            this: None,
            block: Vec::new(),
            scopes: vec![HashSet::new()],
            loops: Vec::new(),
            addressed: HashSet::new(),
            prologue: Vec::new(),
            span,
            inlining: 0,
            owned: Vec::new(),
            unsized_vectors: HashMap::new(),
        }
    }

    /// A new local with that name, or one like it that is not visible here.
    pub(super) fn new_local(&mut self, name: &str, ty: Type, storage: Storage, span: Span) -> LocalId {
        let scopes = &self.scopes;
        let taken = |name: &str| is_reserved(name) && name != "self" || scopes.iter().any(|scope| scope.contains(name));
        let name = first_free(name, taken);
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.clone());
        }
        self.locals.push(Local { name, ty, storage, align: None, span })
    }

    /// A new local that only lowering knows; it is named when the function is complete.
    pub(super) fn new_temporary(&mut self, ty: Type) -> LocalId {
        let ty = ty.unrestricted();
        self.locals.push(Local { name: "".into(), ty, storage: Storage::Private, align: None, span: self.span })
    }

    /// The place of a local: what it holds, for a reference the pointer itself.
    pub(super) fn local_place(&self, local: LocalId) -> Place {
        Place::local(local, self.locals[local].ty.clone()).at(self.span)
    }

    /// A temporary that holds a value from here on.
    pub(super) fn keep(&mut self, value: Expr) -> Expr {
        let ty = value.ty.clone();
        let local = self.new_temporary(ty);
        self.emit(StmtKind::Declare { local, init: Some(value) });
        Expr::load(self.local_place(local))
    }

    /// Appends a statement at the current place in the user's text.
    pub(super) fn emit(&mut self, kind: StmtKind) {
        self.block.push(Stmt::new(kind).at(self.span));
    }

    /// Lowers into a block of its own: names end with it.
    pub(super) fn nested<T>(&mut self, lower: impl FnOnce(&mut Self) -> T) -> (T, Block) {
        let outer = std::mem::take(&mut self.block);
        self.scopes.push(HashSet::new());
        let result = lower(self);
        self.scopes.pop();
        let inner = std::mem::replace(&mut self.block, outer);
        (result, inner)
    }
}
