//! Statements: everything that has an effect.
//!
//! Control is structured, as in the C++ that is read and written; there is no jump but `Break`, `Continue` and `Return`.
//! Every statement's text says what it does, when it is valid, and what its adjoint is in reverse mode.

use super::Name;
use super::expr::{BinaryOp, Expr, Place};
use super::module::{FunctionId, LocalId};
use crate::source::Span;

/// Statements executed in order.
pub type Block = Vec<Stmt>;

/// One statement and where it comes from.
#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands in the user's text.
    pub span: Span,
    /// A comment that is printed above it: why a derivative records a value or adds atomically. The text form leaves it
    /// out.
    pub note: Option<Name>,
}

/// What a statement does.
#[derive(Clone, PartialEq, Debug)]
pub enum StmtKind {
    /// Begins a local variable's life, with a value or with none; in a loop, anew each time.
    ///
    /// # Valid when
    /// The local is declared once in the function, is no parameter or loop counter, and is used only after this
    /// statement in this block and those inside. The initial value has the local's type. Shared locals have none.
    /// # Adjoint
    /// An assignment of the initial value; the local's adjoint begins at zero where its life ends.
    Declare { local: LocalId, init: Option<Expr> },
    /// Stores a value to a place. The value is computed first.
    ///
    /// # Valid when
    /// The types are equal and the place is not an array. Loop counters are not assigned.
    /// # Adjoint
    /// `t = d_place; d_place = 0;` then the adjoint of the value with seed `t`.
    Assign { place: Place, value: Expr },
    /// Adds to an adjoint. How, plainly or atomically or by a reduction, is decided by a later pass.
    ///
    /// # Valid when
    /// The place is one floating scalar and the value has its type. Only derivatives contain it.
    /// # Adjoint
    /// As of `place = place + value`.
    Accumulate { place: Place, value: Expr },
    /// Calls a function of the module, and stores its result.
    ///
    /// # Valid when
    /// The arguments have the parameters' types; `into`, if there, the result's type.
    /// # Adjoint
    /// A call of the function's pullback.
    Call { into: Option<Place>, function: FunctionId, args: Vec<Expr> },
    /// Runs one of two blocks.
    ///
    /// # Valid when
    /// The condition is `Bool`.
    /// # Adjoint
    /// The adjoint of the block that ran.
    If { cond: Expr, then_block: Block, else_block: Block },
    /// The counted loop `for (T c = from; c TEST to; c = c STEP by) body`.
    /// `to` and `by` are evaluated anew in each iteration, as in C++.
    ///
    /// # Valid when
    /// The counter is a local of arithmetic or pointer type declared by this statement alone, never assigned in the
    /// body and never pointed to for a store; `from` has its type. `to` has it too, or both are arithmetic: then the
    /// counter is converted to the type of `to` and compared there.
    /// `to` and `by` may use the counter. The test is a comparison. The step is `Add`, `Subtract`, `Multiply`,
    /// `Divide`, `ShiftLeft` or `ShiftRight`, or `Offset` for a pointer.
    /// # Adjoint
    /// The body's adjoint in the opposite order.
    For(Box<For>),
    /// A loop that runs while a condition holds, tested before or after each iteration.
    ///
    /// # Valid when
    /// The condition is `Bool`.
    /// # Adjoint
    /// The body's adjoint as often as it ran.
    While { cond: Expr, body: Block, test: LoopTest },
    /// Jumps to the case of a value, and falls through to those after it.
    ///
    /// # Valid when
    /// The value is an integer; the cases' values are distinct; at most one case is the default.
    /// # Adjoint
    /// The adjoints of the cases that ran, last first.
    Switch { value: Expr, cases: Vec<Case> },
    /// Leaves the innermost loop or switch.
    ///
    /// # Valid when
    /// There is one.
    /// # Adjoint
    /// None; where it happened is remembered.
    Break,
    /// Goes on with the next iteration of the innermost loop.
    ///
    /// # Valid when
    /// There is one.
    /// # Adjoint
    /// None; where it happened is remembered.
    Continue,
    /// Leaves the function, with a value if it has a result.
    ///
    /// # Valid when
    /// The value has the function's result type.
    /// # Adjoint
    /// The value's, with the result's seed; then what precedes the return.
    Return(Option<Expr>),
    /// Waits for the other threads of the block or warp, or orders memory.
    ///
    /// # Valid when
    /// In device code. `argument` is the mask of `Warp` and the predicate of the counting forms, of type `int`
    /// (`unsigned int` for a mask); only the counting forms have a result, of type `int`.
    /// # Adjoint
    /// The same barrier.
    Barrier { kind: BarrierKind, argument: Option<Expr>, into: Option<Place> },
    /// Reads, changes and writes a place as one step; the old value is the result.
    ///
    /// # Valid when
    /// In device code; the place is a scalar of 32 or 64 bits, `value` has its type, and so has `compare`, which only
    /// `CompareAndSwap` has. With the scope `Anywhere` or `Together` it is an `Add` without a result.
    /// # Adjoint
    /// `Add` and `Subtract` without a result: the value's adjoint is read from the place's.
    Atomic { op: AtomicOp, scope: Scope, place: Place, value: Expr, compare: Option<Expr>, into: Option<Place> },
    /// Exchanges values among the threads of a warp.
    ///
    /// # Valid when
    /// In device code; the mask is `unsigned int`; the arguments are those of the CUDA function after the mask.
    /// # Adjoint
    /// The transposed exchange.
    Collective { op: CollectiveOp, mask: Option<Expr>, args: Vec<Expr>, into: Option<Place> },
    /// Launches a kernel.
    ///
    /// # Valid when
    /// In host code; the function is a kernel and the arguments have its parameters' types. `grid` and `block` are
    /// three extents each, `unsigned int`; the shared size is `unsigned long`.
    /// # Adjoint
    /// A launch of the kernel's pullback with the same configuration.
    Launch(Box<Launch>),
    /// Calls a function of the CUDA runtime, by its name in the table of `rules`.
    ///
    /// # Valid when
    /// In host code, and the table has the name.
    /// # Adjoint
    /// By the call's class in the table.
    Runtime { call: Name, args: Vec<Expr>, into: Option<Place> },
    /// Appends a value to a record that the reverse sweep will read backwards.
    ///
    /// # Valid when
    /// `record` is a local that holds a record. Only derivatives contain it.
    /// # Adjoint
    /// None: derivatives of derivatives record anew.
    Push { record: LocalId, value: Expr },
    /// Takes the last value back.
    ///
    /// # Valid when
    /// As `Push`; the place has the type of what was pushed.
    /// # Adjoint
    /// None.
    Pop { record: LocalId, into: Place },
    /// Runs what is not read: a function that changes no memory of the program (`printf`, `__trap`, `clock`), a piece of the
    /// program's own host code, which may change what it is handed, or the body of a function with a rule.
    ///
    /// # Valid when
    /// The table in `rules` has the function's name. A body is the only statement of a function of the device.
    /// # Adjoint
    /// None; it is repeated only in the forward sweep. Active memory must not be handed to what is passed through. The adjoint
    /// of a body is what the rule says.
    Opaque { code: Unread, args: Vec<OpaqueArg>, into: Option<Place> },
}

/// `for (T counter = from; counter TEST to; counter = counter STEP by) body`.
#[derive(Clone, PartialEq, Debug)]
pub struct For {
    /// The variable that counts.
    pub counter: LocalId,
    /// Its first value.
    pub from: Expr,
    /// The comparison that lets another iteration run.
    pub test: BinaryOp,
    /// What the counter is compared with.
    pub to: Expr,
    /// How the counter changes.
    pub step: BinaryOp,
    /// By how much. For a shift it has any integer type, for `Offset` too, else the counter's.
    pub by: Expr,
    /// What the program asks the compiler to do with the loop.
    pub unroll: Option<Unroll>,
    /// What runs in each iteration.
    pub body: Block,
}

/// `#pragma unroll`: a hint, which changes no number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unroll {
    /// As the compiler likes, if it can as a whole.
    Whole,
    /// So many iterations at once; one to leave the loop as it is.
    By(u32),
}

/// A kernel, its configuration and its arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct Launch {
    /// What is launched.
    pub kernel: FunctionId,
    /// Whether it is asked first if a block can run: derivatives may need more of the device than the primal does.
    pub is_checked: bool,
    /// Blocks in x, y and z.
    pub grid: [Expr; 3],
    /// Threads of a block in x, y and z.
    pub block: [Expr; 3],
    /// Bytes of dynamic shared memory.
    pub shared: Option<Expr>,
    /// The stream.
    pub stream: Option<Expr>,
    /// The kernel's arguments.
    pub args: Vec<Expr>,
}

/// When a `While` tests its condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopTest {
    /// `while (cond) body`.
    Before,
    /// `do body while (cond)`.
    After,
}

/// One entry of a `Switch`.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The values that jump here.
    pub values: Vec<i128>,
    /// Whether all other values jump here.
    pub is_default: bool,
    /// What runs; the next case follows unless it ends in `Break`.
    pub body: Block,
}

/// Kinds of barriers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BarrierKind {
    /// `__syncthreads()`.
    Block,
    /// `__syncthreads_count(p)`.
    BlockCount,
    /// `__syncthreads_and(p)`.
    BlockAnd,
    /// `__syncthreads_or(p)`.
    BlockOr,
    /// `__syncwarp(mask)`.
    Warp,
    /// `__threadfence()`.
    Fence,
    /// `__threadfence_block()`.
    FenceBlock,
    /// `__threadfence_system()`.
    FenceSystem,
}

impl BarrierKind {
    /// Whether all threads of a block wait for each other at it.
    pub fn is_of_block(self) -> bool {
        match self {
            BarrierKind::Block | BarrierKind::BlockCount | BarrierKind::BlockAnd | BarrierKind::BlockOr => true,
            BarrierKind::Warp | BarrierKind::Fence | BarrierKind::FenceBlock | BarrierKind::FenceSystem => false,
        }
    }

    /// Whether threads wait for each other at it, of a block or of a warp. At a fence they do not.
    pub fn is_meeting(self) -> bool {
        self.is_of_block() || self == BarrierKind::Warp
    }
}

/// Atomic operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomicOp {
    /// `atomicAdd`.
    Add,
    /// `atomicSub`.
    Subtract,
    /// `atomicExch`.
    Exchange,
    /// `atomicMin`.
    Min,
    /// `atomicMax`.
    Max,
    /// `atomicAnd`.
    And,
    /// `atomicOr`.
    Or,
    /// `atomicXor`.
    Xor,
    /// `atomicInc`.
    Increment,
    /// `atomicDec`.
    Decrement,
    /// `atomicCAS`.
    CompareAndSwap,
}

/// Which threads see an atomic as one step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// All threads of the device: the plain form.
    Device,
    /// The `_block` form.
    Block,
    /// The `_system` form.
    System,
    /// As `Device` in memory that threads share; in the thread's own, which a GPU has no atomics for, a plain addition:
    /// `cotangent::add_anywhere`.
    Anywhere,
    /// As `Device`, made by all threads of a block at once and to one place: they sum first, and one of them adds, if the
    /// sum is not zero. `cotangent::add_together`.
    Together,
}

/// Exchanges within a warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CollectiveOp {
    /// `__shfl_sync`.
    Shuffle,
    /// `__shfl_up_sync`.
    ShuffleUp,
    /// `__shfl_down_sync`.
    ShuffleDown,
    /// `__shfl_xor_sync`.
    ShuffleXor,
    /// `__ballot_sync`.
    Ballot,
    /// `__any_sync`.
    Any,
    /// `__all_sync`.
    All,
    /// `__match_any_sync`.
    MatchAny,
    /// `__match_all_sync`.
    MatchAll,
    /// `__reduce_add_sync`.
    ReduceAdd,
    /// `__reduce_min_sync`.
    ReduceMin,
    /// `__reduce_max_sync`.
    ReduceMax,
    /// `__reduce_and_sync`.
    ReduceAnd,
    /// `__reduce_or_sync`.
    ReduceOr,
    /// `__reduce_xor_sync`.
    ReduceXor,
    /// `__activemask`; it has no mask argument.
    ActiveMask,
}

/// The name of the file, as a text of code that is not read.
pub const FILE_NAME: &str = "__FILE__";

/// Code that is not read.
#[derive(Clone, PartialEq, Debug)]
pub enum Unread {
    /// A function by its name.
    Call(Name),
    /// Text of the program, in pieces, with the variables between them: an expression if its value goes somewhere, else a
    /// statement.
    Passed,
    /// The whole body of a function of the device that has a rule. The first argument is its text, with braces; empty if only a
    /// declaration can be printed. The others are its parameters, and the variables outside functions that it mentions. It
    /// may read all that they lead to, change what they lead to unless that is `const`, and nothing else. `spelling` is how the
    /// program calls the function (`::geo::area<float>`), `meets` whether threads may wait for each other in it.
    Body { spelling: Name, meets: bool },
}

/// An argument of an opaque call, or a piece of code that is passed through.
#[derive(Clone, PartialEq, Debug)]
pub enum OpaqueArg {
    /// A value.
    Value(Expr),
    /// A string literal, unescaped; or a piece of text.
    Text(Name),
    /// A variable, or an element or field, that may be changed.
    Variable(Place),
}

impl OpaqueArg {
    /// The variable that may be changed.
    pub fn variable(&self) -> Option<&Place> {
        match self {
            OpaqueArg::Variable(place) => Some(place),
            OpaqueArg::Value(_) | OpaqueArg::Text(_) => None,
        }
    }

    /// What it leads to: the value, or that of the variable. Elements and fields are handed over by address.
    pub fn value(&self) -> Option<Expr> {
        match self {
            OpaqueArg::Value(value) => Some(value.clone()),
            OpaqueArg::Variable(place) if place.as_local().is_some() => Some(Expr::load(place.clone())),
            OpaqueArg::Variable(place) => Some(Expr::address_of(place.clone())),
            OpaqueArg::Text(_) => None,
        }
    }
}

/// The words before the arrays that the reverse sweep of a split form needs unchanged, in a note of its first statement.
pub const NEEDED: &str = "Needs unchanged: ";

/// What is said where there are none.
pub const NEEDS_NOTHING: &str = "Needs nothing unchanged";

impl Stmt {
    /// A statement without a span.
    pub fn new(kind: StmtKind) -> Stmt {
        Stmt { kind, span: Span::NONE, note: None }
    }

    /// The same statement with a comment above it.
    pub fn noted(mut self, note: &str) -> Stmt {
        self.note = Some(note.into());
        self
    }

    /// The same statement at a place in the user's text.
    pub fn at(mut self, span: Span) -> Stmt {
        self.span = span;
        self
    }
}
