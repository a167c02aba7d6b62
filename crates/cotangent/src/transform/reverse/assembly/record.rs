//! The record in global memory: where values go that the reverse sweep needs and that are too many for variables.
//!
//! Each thread has a stack of words, and words of neighbouring threads lie side by side (`base[slot * threads + thread]`),
//! so that a warp's accesses are one transaction. A word is as wide as the widest value that is recorded.

use crate::ir::walk::{self};
use crate::ir::{
    AtomicOp, BinaryOp, Block, Expr, ExprKind, Function, LocalId, Place, PlaceKind, Scope, Stmt, StmtKind, Type,
};
use crate::transform::locals::{NewLocals, assign, declare};
use crate::transform::numbering::{grid_thread, grid_threads};

/// How a function finds the record, and leaves it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::transform::reverse) enum Start {
    /// It begins empty, and is empty again at the end.
    Empty,
    /// It begins empty. How much there is afterwards is left in the first slot.
    Filled,
    /// There is as much as the first slot says.
    Counted,
    /// There are so many values, and each has a slot of its own: none is recorded in a loop or a branch.
    Numbered(usize),
}

/// The types of the values that a block records, in the order of the text.
pub(in crate::transform::reverse) fn recorded_types(body: &Block) -> Vec<Type> {
    let mut types: Vec<Type> = Vec::new();
    walk::each_stmt(body, &mut |stmt| {
        if let StmtKind::Push { value, .. } = &stmt.kind
            && !types.contains(&value.ty)
        {
            types.push(value.ty.clone());
        }
    });
    types
}

/// A record that has a stated size and may be too small.
#[derive(Clone, Copy)]
pub(in crate::transform::reverse) struct Limit {
    /// The slots for each thread.
    pub(in crate::transform::reverse) slots: u32,
    /// How many of them are in use.
    top: LocalId,
    /// Where the number goes that would have been needed.
    needed: LocalId,
}

impl Limit {
    /// The limit as variables of a function.
    pub(in crate::transform::reverse) fn new(function: &mut Function, names: &mut NewLocals, slots: u32) -> Limit {
        let top = names.add(function, "_top", Type::LONG);
        let needed = names.add(function, "_needed", Type::pointer(Type::UINT));
        Limit { slots, top, needed }
    }

    fn is_over(&self) -> Expr {
        let top = Expr::load(Place::local(self.top, Type::LONG));
        Expr::binary(BinaryOp::Greater, top, long(self.slots as usize))
    }

    /// Tells what a thread would have needed, if that is too much.
    pub(in crate::transform::reverse) fn tell(&self, is_last: bool) -> Stmt {
        let pointer = Type::pointer(Type::UINT);
        let most = StmtKind::Atomic {
            op: AtomicOp::Max,
            scope: Scope::Device,
            place: Place::deref(Expr::load(Place::local(self.needed, pointer))),
            value: Expr::cast(Expr::load(Place::local(self.top, Type::LONG)), Type::UINT),
            compare: None,
            into: None,
        };
        let leave = (!is_last).then(|| Stmt::new(StmtKind::Return(None)));
        let then_block = [Stmt::new(most)].into_iter().chain(leave).collect();
        let told = Stmt::new(StmtKind::If { cond: self.is_over(), then_block, else_block: Block::new() });
        told.noted("The record is too small: memory is as after the function, its adjoints mean nothing.")
    }

    fn leave(&self) -> Stmt {
        let then_block = vec![Stmt::new(StmtKind::Return(None))];
        Stmt::new(StmtKind::If { cond: self.is_over(), then_block, else_block: Block::new() })
    }
}

/// Replaces `Push` and `Pop` by loads and stores, and appends the parameter for the record. If it has a limit, another
/// parameter takes the number of slots that a thread would have needed where that is more.
pub(in crate::transform::reverse) fn lower(
    function: &mut Function,
    names: &mut NewLocals,
    types: &[Type],
    start: Start,
    limit: Option<&Limit>,
) {
    let mut body = std::mem::take(&mut function.body);
    let mut types = types.to_vec();
    let has_count = matches!(start, Start::Filled | Start::Counted);
    if has_count && !types.contains(&COUNT) {
        types.push(COUNT);
    }
    let word_type = word_of(&types);
    let base_type = Type::pointer(word_type.clone());
    let base = names.add(function, "_record", base_type.clone());
    function.params.push(base);
    let top = limit.map_or_else(|| names.add(function, "_top", Type::LONG), |limit| limit.top);
    if let Some(limit) = limit.filter(|_| start != Start::Counted) {
        function.params.push(limit.needed);
    }
    let thread = names.add(function, "_thread", Type::LONG);
    let threads = names.add(function, "_threads", Type::LONG);
    let mut head = vec![
        declare(threads, Some(grid_threads()))
            .noted("The record: slot s of this thread is _record[s * _threads + _thread]."),
        declare(thread, Some(grid_thread())),
    ];
    let mut views: Vec<(Type, LocalId)> = Vec::new();
    for ty in types {
        let pointer = Type::pointer(ty.clone());
        if pointer == base_type {
            views.push((ty, base));
            continue;
        }
        let name = format!("_record_{}", type_word(&ty, views.len()));
        let local = names.add(function, &name, pointer.clone());
        let view = Expr::cast(Expr::load(Place::local(base, base_type.clone())), pointer);
        head.push(declare(local, Some(view)));
        views.push((ty, local));
    }
    let limit_slots = limit.map(|limit| limit.slots);
    let slots = Slots { views, word: word_type, top, thread, threads, limit: limit_slots };
    let count = slots.slot_at(long(0), &COUNT);
    let first = match start {
        Start::Empty => Some(long(0)),
        Start::Filled => Some(long(1)),
        Start::Counted => Some(Expr::cast(Expr::load(count.clone()), Type::LONG)),
        Start::Numbered(_) => None,
    };
    match (first, start) {
        (None, Start::Numbered(values)) => slots.number(&mut body, values),
        (first, _) => {
            head.push(declare(top, first));
            head.extend(limit.filter(|_| start == Start::Counted).map(Limit::leave));
            slots.replace(&mut body);
        }
    }
    head.extend(body);
    if start == Start::Filled {
        head.push(assign(count, Expr::cast(Expr::load(Place::local(top, Type::LONG)), COUNT)));
        head.extend(limit.map(|limit| limit.tell(true)));
    }
    function.body = head;
}

/// The number of values in a record, as its first slot has it.
const COUNT: Type = Type::UINT;

/// The bytes of a slot of a record with values of some types.
pub(in crate::transform::reverse) fn word_bytes(types: &[Type]) -> u64 {
    size_of(&word_of(types))
}

/// The type of the words for values of some types. A floating type among them is one of the word too, or narrower: all
/// floating types have eight bytes where `float` is made to mean `double`.
fn word_of(types: &[Type]) -> Type {
    let widest = types.iter().map(size_of).max().unwrap_or(8);
    let has_numbers = types.iter().any(|ty| matches!(ty, Type::Float(_)));
    match types {
        [only @ (Type::Float(_) | Type::Int(_) | Type::Bool)] => only.clone(),
        _ if widest > 4 => Type::DOUBLE,
        _ if has_numbers => Type::FLOAT,
        _ => types.iter().find(|ty| size_of(ty) == widest).cloned().unwrap_or(Type::DOUBLE),
    }
}

struct Slots {
    views: Vec<(Type, LocalId)>,
    word: Type,
    top: LocalId,
    thread: LocalId,
    threads: LocalId,
    limit: Option<u32>,
}

impl Slots {
    fn replace(&self, block: &mut Block) {
        let mut out = Block::new();
        for mut stmt in std::mem::take(block) {
            let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
                if let walk::PartMut::Block(inner) = part {
                    self.replace(inner);
                }
                std::ops::ControlFlow::<()>::Continue(())
            });
            if let StmtKind::Push { value, .. } = &stmt.kind {
                let store = assign(self.slot(&value.ty), value.clone());
                out.push(match self.limit {
                    Some(limit) => self.if_it_fits(limit, store),
                    None => store,
                });
                out.push(self.step(BinaryOp::Add));
            } else if let StmtKind::Pop { into, .. } = &stmt.kind {
                let declared = out.last().and_then(walk::declared_local);
                let is_declared = matches!(into.kind, PlaceKind::Local(local) if declared == Some(local));
                let at = out.len() - usize::from(is_declared);
                out.insert(at, self.step(BinaryOp::Subtract));
                take(into, Expr::load(self.slot(&into.ty)), &mut out);
            } else {
                out.push(stmt);
            }
        }
        *block = out;
    }

    /// The same where each value has a slot of its own.
    fn number(&self, block: &mut Block, mut values: usize) {
        let mut out = Block::new();
        for stmt in std::mem::take(block) {
            if let StmtKind::Push { value, .. } = &stmt.kind {
                out.push(assign(self.slot_at(long(values), &value.ty), value.clone()));
                values += 1;
            } else if let StmtKind::Pop { into, .. } = &stmt.kind {
                values -= 1;
                take(into, Expr::load(self.slot_at(long(values), &into.ty)), &mut out);
            } else {
                out.push(stmt);
            }
        }
        *block = out;
    }

    fn if_it_fits(&self, limit: u32, store: Stmt) -> Stmt {
        let cond = Expr::binary(BinaryOp::Less, Expr::load(Place::local(self.top, Type::LONG)), long(limit as usize));
        Stmt::new(StmtKind::If { cond, then_block: vec![store], else_block: Block::new() })
    }

    fn step(&self, op: BinaryOp) -> Stmt {
        let top = Place::local(self.top, Type::LONG);
        assign(top.clone(), Expr::binary(op, Expr::load(top), Expr::new(ExprKind::Int(1), Type::LONG)))
    }

    /// The slot on top of the stack, for a value of that type.
    fn slot(&self, ty: &Type) -> Place {
        self.slot_at(Expr::load(Place::local(self.top, Type::LONG)), ty)
    }

    fn slot_at(&self, slot: Expr, ty: &Type) -> Place {
        let load = |local: LocalId| Expr::load(Place::local(local, Type::LONG));
        let row = match slot.as_int() {
            Some(0) => None,
            Some(1) => Some(load(self.threads)),
            Some(_) | None => Some(Expr::binary(BinaryOp::Multiply, slot, load(self.threads))),
        };
        let word = match row {
            Some(row) => Expr::binary(BinaryOp::Add, row, load(self.thread)),
            None => load(self.thread),
        };
        // Where `float` is made to mean `double`, it is wider than an `int`.
        let has_other_width = self.word == Type::FLOAT && *ty != Type::FLOAT;
        let index = if size_of(ty) == size_of(&self.word) && !has_other_width {
            word
        } else {
            // Written with `sizeof`, so that the record is right too where `float` is made to mean `double`.
            let size = |ty: &Type| Expr::cast(Expr::new(ExprKind::SizeOf(ty.clone()), Type::SIZE), Type::LONG);
            Expr::binary(BinaryOp::Multiply, word, Expr::binary(BinaryOp::Divide, size(&self.word), size(ty)))
        };
        let view = self.views.iter().find(|(known, _)| known == ty).map_or(LocalId(0), |(_, local)| *local);
        Place::element(Expr::load(Place::local(view, Type::pointer(ty.clone()))), index)
    }
}

/// Gives a value to a place; if the last statement declares it, there.
fn take(into: &Place, value: Expr, out: &mut Block) {
    match (&into.kind, out.last_mut().map(|last| &mut last.kind)) {
        (PlaceKind::Local(local), Some(StmtKind::Declare { local: declared, init: init @ None }))
            if declared == local =>
        {
            *init = Some(value);
        }
        _ => out.push(assign(into.clone(), value)),
    }
}

fn long(value: usize) -> Expr {
    Expr::new(ExprKind::Int(value as i128), Type::LONG)
}

fn size_of(ty: &Type) -> u64 {
    match ty {
        Type::Bool => 1,
        Type::Int(kind) => u64::from(kind.bits() / 8),
        Type::Float(kind) => match kind {
            crate::ir::FloatKind::Half | crate::ir::FloatKind::BFloat => 2,
            crate::ir::FloatKind::Float => 4,
            crate::ir::FloatKind::Double => 8,
        },
        Type::Pointer(_) | Type::Opaque(_) | Type::Void | Type::Array(..) | Type::Record(_) => 8,
    }
}

fn type_word(ty: &Type, number: usize) -> String {
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::Int(kind) => kind.spelling().replace(' ', "_"),
        Type::Float(kind) => kind.spelling().trim_start_matches('_').to_owned(),
        Type::Pointer(_) | Type::Opaque(_) | Type::Void | Type::Array(..) | Type::Record(_) => {
            format!("pointer_{number}")
        }
    }
}
