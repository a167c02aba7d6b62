//! What statements touch, and whether two of them may change places.
//!
//! Elements of an array are not told apart. Additions to adjoints commute with each other, but for rounding.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use super::effects::variables_of;
use super::locals::Locals;
use super::ordering::called;
use super::root::{Root, Roots};
use crate::ir::walk::{self, Node};
use crate::ir::{
    AtomicOp, Expr, ExprKind, Function, FunctionId, LocalId, Module, Place, PlaceKind, Stmt, StmtKind, Type,
};
use crate::rules::RESERVE;

/// What statements touch.
#[derive(Clone, Default, Debug)]
pub struct Touch {
    reads: BTreeSet<Root>,
    writes: BTreeSet<Root>,
    adds: BTreeSet<Root>,
    /// The variables that it declares.
    declares: BTreeSet<LocalId>,
    /// The variables that it points to, which is not to read them.
    points_to: BTreeSet<LocalId>,
    /// It stays where it is: other threads, the runtime or code that is not read take part in it, or it is a jump. What is read of
    /// `volatile` memory may be another value each time.
    is_fixed: bool,
}

/// What is needed to tell what statements of one function touch.
pub struct Touches<'f> {
    function: &'f Function,
    locals: &'f Locals<'f>,
    roots: Roots<'f>,
    /// Whether calls of functions stay where they are.
    called: HashMap<FunctionId, bool>,
}

impl<'f> Touches<'f> {
    /// Looks at a function once.
    pub fn new(module: &'f Module, function: &'f Function, locals: &'f Locals<'f>) -> Touches<'f> {
        let mut called = HashMap::new();
        walk::each_stmt(&function.body, &mut |stmt| {
            if let StmtKind::Call { function, .. } = &stmt.kind {
                called.entry(*function).or_insert_with(|| is_fixed_call(module, *function));
            }
        });
        Touches { function, locals, roots: Roots::new(module, function, locals), called }
    }

    /// What a statement touches, with all that is inside.
    pub fn stmt(&self, stmt: &Stmt) -> Touch {
        self.block(std::slice::from_ref(stmt))
    }

    /// What the statements of a block touch.
    pub fn block(&self, block: &[Stmt]) -> Touch {
        let mut touch = Touch::default();
        let _ = walk::visit_block(block, &mut |node| {
            match node {
                Node::Stmt(stmt) => self.note(stmt, &mut touch),
                Node::Expr(Expr { kind: ExprKind::Load(place), .. }) => self.note_load(place, &mut touch),
                Node::Expr(Expr { kind: ExprKind::AddressOf(place), .. }) => {
                    touch.points_to.extend(walk::own_variable(place));
                }
                Node::Expr(_) | Node::Place(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
        touch
    }

    /// What the value of an expression depends on.
    pub fn expr(&self, expr: &Expr) -> Touch {
        let mut touch = Touch::default();
        walk::loads_any(expr, &mut |place| {
            self.note_load(place, &mut touch);
            false
        });
        touch
    }

    /// Whether two statements may change places.
    pub fn commute(&self, one: &Touch, other: &Touch) -> bool {
        !one.is_fixed && !other.is_fixed && !self.disturbs(one, other) && !self.disturbs(other, one)
    }

    /// Whether what one statement writes or adds to is looked at by another.
    pub fn disturbs(&self, one: &Touch, other: &Touch) -> bool {
        self.meet(&one.writes, &other.reads)
            || self.meet(&one.writes, &other.writes)
            || self.meet(&one.writes, &other.adds)
            || self.meet(&one.adds, &other.reads)
            || !one.declares.is_disjoint(&other.points_to)
    }

    /// Whether a value depends on memory that others may reach.
    pub fn reads_memory(&self, touch: &Touch) -> bool {
        touch.reads.iter().any(|root| !self.is_own(*root))
    }

    /// Whether memory may change that others reach.
    pub fn changes_memory(&self, touch: &Touch) -> bool {
        touch.is_fixed || touch.changes().any(|root| !self.is_own(*root))
    }

    fn note_load(&self, place: &Place, touch: &mut Touch) {
        touch.reads.extend(self.roots.place(place));
        touch.is_fixed |= is_volatile(place);
    }

    fn note(&self, stmt: &Stmt, touch: &mut Touch) {
        match &stmt.kind {
            StmtKind::Assign { place, .. } => touch.writes.extend(self.roots.place(place)),
            StmtKind::Accumulate { place, .. } | StmtKind::Atomic { op: AtomicOp::Add, place, into: None, .. } => {
                touch.adds.extend(self.roots.place(place));
            }
            // Memory of the tape that nothing else is given.
            StmtKind::Runtime { call, into: Some(into), .. } if **call == *RESERVE => {
                touch.writes.extend(self.roots.place(into));
            }
            StmtKind::Declare { local, .. } => {
                touch.declares.insert(*local);
                touch.writes.extend(self.variable(*local));
            }
            StmtKind::For(head) => touch.writes.extend(self.variable(head.counter)),
            StmtKind::Call { function, args, into } => {
                touch.writes.extend(into.iter().flat_map(|place| self.roots.place(place)));
                touch.writes.extend(self.roots.written_by_call(stmt));
                for arg in args {
                    if arg.ty.is_pointer() {
                        touch.reads.extend(self.roots.pointer(arg));
                    }
                    if self.roots.may_hold_pointer(arg.ty.pointee().unwrap_or(&arg.ty)) {
                        touch.reads.insert(Root::Unknown);
                    }
                }
                touch.is_fixed |= self.called.get(function).copied().unwrap_or(true);
            }
            StmtKind::If { .. } | StmtKind::While { .. } | StmtKind::Switch { .. } => {}
            StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Launch(_)
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => touch.is_fixed = true,
        }
    }

    fn variable(&self, local: LocalId) -> BTreeSet<Root> {
        self.roots.place(&Place::local(local, self.function.locals[local].ty.clone()))
    }

    fn meet(&self, one: &BTreeSet<Root>, other: &BTreeSet<Root>) -> bool {
        !one.is_disjoint(other) || self.is_open_to(one, other) || self.is_open_to(other, one)
    }

    /// Whether some of the memory may be any, and others reach the other.
    fn is_open_to(&self, one: &BTreeSet<Root>, other: &BTreeSet<Root>) -> bool {
        one.iter().any(Root::is_open) && other.iter().any(|root| !self.is_own(*root))
    }

    /// Whether it is a variable that nobody reaches but by its name.
    fn is_own(&self, root: Root) -> bool {
        matches!(root, Root::Private(local) if !self.locals[local].is_exposed)
    }
}

/// Whether a call stays where it is: the function is unknown, has a rule of its own, mentions variables outside functions, or does
/// what takes part with other threads or the runtime. What it does to memory that it is given is known at the call.
fn is_fixed_call(module: &Module, function: FunctionId) -> bool {
    let is_fixed = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Atomic { op, into, .. } => *op != AtomicOp::Add || into.is_some(),
        StmtKind::Barrier { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => true,
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::If { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Call { .. } => false,
    };
    let mut is_found = module.rule(function).is_some() || !variables_of(module, function).is_empty();
    for callee in called(module, function).into_iter().chain([function]) {
        walk::each_stmt(&module.functions[callee].body, &mut |stmt| is_found |= is_fixed(stmt));
    }
    is_found
}

/// Whether a place is reached through a pointer to `volatile` memory.
fn is_volatile(place: &Place) -> bool {
    match &place.kind {
        PlaceKind::Local(_) | PlaceKind::Global(_) => false,
        PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => is_volatile(base),
        PlaceKind::Element(pointer, _) => matches!(&pointer.ty, Type::Pointer(pointer) if pointer.is_volatile),
    }
}

impl Touch {
    /// Whether it stays where it is.
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// What is read.
    pub fn reads(&self) -> &BTreeSet<Root> {
        &self.reads
    }

    /// What is written or added to.
    pub fn changes(&self) -> impl Iterator<Item = &Root> {
        self.writes.iter().chain(&self.adds)
    }

    /// Adds what others touch.
    pub fn join(&mut self, other: &Touch) {
        self.reads.extend(&other.reads);
        self.writes.extend(&other.writes);
        self.adds.extend(&other.adds);
        self.declares.extend(&other.declares);
        self.points_to.extend(&other.points_to);
        self.is_fixed |= other.is_fixed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::locals::locals;
    use crate::ir::text;

    const FUNCTIONS: &str = "
        device wait() { barrier block; }
        device wait_there() { call wait(); }
        device add(to: float*, value: float) { atomic add(to[0], value); }
        device square(value: float) -> float { return (value * value); }
        device next(count: int*) -> int { let old: int = 0; old = atomic add(count[0], 1); return old; }";

    /// Whether the last two statements of a kernel may change places.
    fn may_change_places(body: &str) -> bool {
        let source = format!(
            "{FUNCTIONS} kernel k(x: float*, y: float*, rows: float**, v: volatile float*, count: int*, n: int) {{
               let shared s: float[8]; let a: float = 0.0f; let b: float = 0.0f; {body} }}"
        );
        let module = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let function = &module.functions[module.function("k").expect("the kernel")];
        let uses = locals(function);
        let touches = Touches::new(&module, function, &uses);
        let [.., first, second] = function.body.as_slice() else { panic!("two statements") };
        touches.commute(&touches.stmt(first), &touches.stmt(second))
    }

    #[test]
    fn statements_on_other_memory_change_places() {
        assert!(may_change_places("a = x[n]; y[n] = 1.0f;"));
        assert!(may_change_places("x[0] += a; x[n] += b;"), "sums have no order");
        assert!(may_change_places("atomic add(x[0], a); x[n] += b;"));
        assert!(may_change_places("a = rows[0][n]; b = 2.0f;"), "nobody points to b");
        assert!(may_change_places("a = call square(b); x[n] = 1.0f;"));
        assert!(may_change_places("call add(y, b); x[n] = 1.0f;"));
    }

    #[test]
    fn statements_that_disturb_each_other_do_not() {
        assert!(!may_change_places("a = x[0]; x[n] = 1.0f;"));
        assert!(!may_change_places("a = x[0]; x[n] += 1.0f;"));
        assert!(!may_change_places("x[0] = 1.0f; x[n] += 1.0f;"));
        assert!(!may_change_places("a = call square(b); b = 1.0f;"));
        assert!(!may_change_places("rows[0][n] = 1.0f; a = x[n];"), "the rows may be of x");
        assert!(!may_change_places("call add(y, b); a = y[n];"));
        assert!(!may_change_places("let t: float[2]; let q: float* = &t[0];"), "it must be there to be pointed to");
    }

    #[test]
    fn what_other_threads_take_part_in_stays() {
        assert!(!may_change_places("a = s[n]; barrier block;"));
        assert!(!may_change_places("a = s[n]; call wait();"), "the barrier is in the function");
        assert!(!may_change_places("a = s[n]; call wait_there();"));
        assert!(!may_change_places("a = x[n]; n = call next(count);"));
        assert!(!may_change_places("a = x[n]; b = v[0];"));
        assert!(!may_change_places("a = x[n]; return;"));
    }
}
