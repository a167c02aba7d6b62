//! The decoded form of a text: what the interpreter runs.
//!
//! Registers are numbers in a window of their function, labels are positions in one list of instructions, and symbols
//! are addresses. An instruction that is not known is [`Op::Unknown`]: a trap with its text, when it is reached.

use std::collections::HashMap;
use std::ops::Range;

use cotangent_cpu::check::AccessKind;

/// A register: its place in the window of its function.
pub(crate) type Register = u32;

/// The position of an instruction.
pub(crate) type Position = u32;

/// A decoded module.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) code: Vec<Instruction>,
    pub(crate) functions: Vec<Function>,
    pub(crate) by_name: HashMap<String, usize>,
    pub(crate) shared: Vec<SharedVariable>,
    /// Source files, as places name them.
    pub(crate) files: Vec<String>,
}

/// A kernel or function.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_kernel: bool,
    pub(crate) is_defined: bool,
    pub(crate) code: Range<Position>,
    pub(crate) registers: u32,
    /// Bytes of its frame in a thread's local memory: variables, parameters of calls, its own parameters unless it is a
    /// kernel.
    pub(crate) frame: u32,
    pub(crate) parameters: Vec<Slot>,
    pub(crate) results: Vec<Slot>,
    pub(crate) max_threads: Option<u32>,
    /// Variables in shared memory that it names, and functions that it calls or takes the address of.
    pub(crate) shared: Vec<usize>,
    pub(crate) callees: Vec<usize>,
    pub(crate) calls_unknown: bool,
}

/// A parameter: its place in the frame, or in the parameters of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

#[derive(Debug)]
pub(crate) struct SharedVariable {
    /// None for the memory that a launch adds.
    pub(crate) bytes: Option<u32>,
    pub(crate) alignment: u32,
}

/// Where an instruction comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Into [`Program::files`].
    pub(crate) file: u32,
    /// 0 if the text does not say.
    pub(crate) line: u32,
}

#[derive(Debug)]
pub(crate) struct Instruction {
    pub(crate) guard: Option<(Register, bool)>,
    pub(crate) op: Op,
    pub(crate) place: Place,
}

/// A value that an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Register(Register),
    Bits(u64),
    Special(Special),
    /// The address of a variable in the frame, in the thread's local memory.
    Frame(u32),
    /// The address of a variable in shared memory, plus an offset.
    Shared {
        variable: u32,
        offset: u32,
    },
}

/// What is known about a thread without memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    ThreadX,
    ThreadY,
    ThreadZ,
    BlockX,
    BlockY,
    BlockZ,
    BlockSizeX,
    BlockSizeY,
    BlockSizeZ,
    GridSizeX,
    GridSizeY,
    GridSizeZ,
    Lane,
    Warp,
    WarpCount,
    LanesEqual,
    LanesBelow,
    LanesUpTo,
    LanesAbove,
    LanesFrom,
    DynamicShared,
    TotalShared,
    Clock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    Predicate,
}

impl Type {
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Type::B8 | Type::U8 | Type::S8 | Type::Predicate => 1,
            Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::Bf16 => 2,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 | Type::F16x2 | Type::Bf16x2 => 4,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 => 8,
            Type::B128 => 16,
        }
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2 | Type::F32 | Type::F64)
    }
}

/// How a result that has no exact representation is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rounding {
    #[default]
    Nearest,
    Zero,
    Down,
    Up,
}

/// How floating-point arithmetic is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) rounding: Rounding,
    /// Subnormal single-precision operands and results are zero.
    pub(crate) flush: bool,
    /// The result is clamped to 0…1; of integers to their range.
    pub(crate) saturate: bool,
    /// `min` and `max` of a NaN are NaN.
    pub(crate) keep_nan: bool,
    /// The negative part of the result is zero.
    pub(crate) relu: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Negate,
    Absolute,
    Not,
    LogicalNot,
    CountLeadingZeros,
    CountOnes,
    Reverse,
    /// `bfind`; with `true` the amount of the shift instead of the position.
    FindLeading(bool),
    Reciprocal,
    /// Only the upper half of a double, as the hardware's table has it.
    ReciprocalTable,
    SquareRoot,
    ReciprocalRoot,
    ReciprocalRootTable,
    Sine,
    Cosine,
    Exponential2,
    Logarithm2,
    HyperbolicTangent,
    /// `testp`.
    Is(FloatClass),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatClass {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    MultiplyHigh,
    MultiplyWide,
    Multiply24,
    /// Exact also where the instruction may be approximate.
    Divide,
    Remainder,
    Minimum,
    Maximum,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    CopySign,
    /// `szext` and `bmsk` with clamped or wrapped positions.
    SignExtend(bool),
    BitMask(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ternary {
    MultiplyAdd,
    MultiplyAddHigh,
    MultiplyAddWide,
    MultiplyAdd24,
    /// `sad`: |a - b| + c.
    DifferenceSum,
    /// `lop3` with its table.
    Logic(u8),
    /// `prmt` with its mode.
    Permute(Permutation),
    /// `shf`: to the left, and whether the amount wraps around.
    FunnelShift {
        left: bool,
        wrap: bool,
    },
    ExtractBits,
    /// `slct`: `c` is a number.
    SelectBySign {
        float: bool,
    },
    /// `dp4a` and `dp2a` of signed or unsigned parts; the upper half of `b` for `dp2a.hi`.
    DotProduct {
        parts: u8,
        signed: [bool; 2],
        high: bool,
    },
    /// `vadd4` and its like: a function of each of two or four parts, whose results are the parts of the result, or are
    /// added to `c`.
    Parts {
        function: OfParts,
        parts: u8,
        /// Of the result, `a` and `b`.
        signed: [bool; 3],
        saturate: bool,
        sum: bool,
    },
}

/// What is done to each part of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfParts {
    Add,
    Subtract,
    Difference,
    Min,
    Max,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permutation {
    Index,
    Forward4,
    Backward4,
    Replicate8,
    EdgeClampLeft,
    EdgeClampRight,
    Replicate16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// Both are numbers; one is none.
    Numbers,
    NotNumbers,
    /// As above, or one of them is no number.
    EqualUnordered,
    NotEqualUnordered,
    LessUnordered,
    LessEqualUnordered,
    GreaterUnordered,
    GreaterEqualUnordered,
}

/// What a comparison is combined with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Combined {
    pub(crate) function: Binary,
    pub(crate) with: Source,
    pub(crate) is_negated: bool,
}

/// What an addition does with carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carries {
    pub(crate) subtract: bool,
    /// Adds the carry that the last one left; leaves one itself.
    pub(crate) carry_in: bool,
    pub(crate) carry_out: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Absolute addresses, whatever they point to.
    Generic,
    Global,
    Constant,
    Shared,
    /// A thread's own memory: addresses begin at 0 in each thread.
    Local,
    /// The parameters of the kernel.
    Kernel,
}

/// An address: a value, and an offset that is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) space: Space,
    pub(crate) base: Source,
    pub(crate) offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicFunction {
    Add,
    Minimum,
    Maximum,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Increment,
    Decrement,
}

/// What the lanes of a warp compute together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collective {
    Synchronize,
    ShuffleIndex,
    ShuffleUp,
    ShuffleDown,
    ShuffleXor,
    Ballot,
    Any,
    All,
    Uniform,
    MatchAny,
    MatchAll,
    Elect,
    Reduce(AtomicFunction),
}

/// What a barrier computes from its predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierResult {
    None,
    Count,
    All,
    Any,
}

/// Which function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    Function(u32),
    Builtin(Builtin),
    /// Its address is in a register.
    Pointer(Register),
}

/// Functions that a device provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    Print,
    Allocate,
    Free,
    AssertFail,
}

#[derive(Debug)]
pub(crate) enum Op {
    Move {
        to: Register,
        a: Source,
    },
    /// Parts of so many bits, the lowest first, become one register.
    Pack {
        to: Register,
        bits: u32,
        parts: Box<[Source]>,
    },
    Unpack {
        to: Box<[Option<Register>]>,
        bits: u32,
        a: Source,
    },
    Unary {
        function: Unary,
        kind: Type,
        mode: Mode,
        to: Register,
        a: Source,
    },
    Binary {
        function: Binary,
        kind: Type,
        mode: Mode,
        to: Register,
        a: Source,
        b: Source,
    },
    Ternary {
        function: Ternary,
        kind: Type,
        mode: Mode,
        to: Register,
        a: Source,
        b: Source,
        c: Source,
    },
    /// `bfi`: the bits of `a` in `b`, from position `c` on, `d` of them.
    InsertBits {
        kind: Type,
        to: Register,
        a: Source,
        b: Source,
        c: Source,
        d: Source,
    },
    /// Addition or subtraction with the carry that the last such one left, or that leaves one.
    Carry {
        carries: Carries,
        kind: Type,
        to: Register,
        a: Source,
        b: Source,
    },
    /// A product, or its upper half, plus `c`, with carry.
    CarryProduct {
        high: bool,
        carries: Carries,
        kind: Type,
        to: Register,
        a: Source,
        b: Source,
        c: Source,
    },
    /// `setp`: also the negation, if `to_not` is there.
    Compare {
        comparison: Comparison,
        kind: Type,
        flush: bool,
        to: Option<Register>,
        to_not: Option<Register>,
        a: Source,
        b: Source,
        combined: Option<Combined>,
    },
    /// `set`: all ones or 1.0 if true.
    Set {
        comparison: Comparison,
        kind: Type,
        result: Type,
        flush: bool,
        to: Register,
        a: Source,
        b: Source,
        combined: Option<Combined>,
    },
    Select {
        to: Register,
        a: Source,
        b: Source,
        condition: Source,
    },
    Convert {
        from: Type,
        into: Type,
        mode: Mode,
        integral: bool,
        to: Register,
        a: Source,
    },
    /// Two single-precision numbers to a pair of half precision; `a` is the upper one.
    ConvertPair {
        into: Type,
        mode: Mode,
        to: Register,
        a: Source,
        b: Source,
    },
    /// From an address of a space to a generic one, or back.
    ToGeneric {
        space: Space,
        to: Register,
        a: Source,
    },
    FromGeneric {
        space: Space,
        to: Register,
        a: Source,
    },
    IsInSpace {
        space: Space,
        to: Register,
        a: Source,
    },
    Load {
        kind: Type,
        address: Address,
        to: Box<[Option<Register>]>,
        access: AccessKind,
    },
    Store {
        kind: Type,
        address: Address,
        values: Box<[Source]>,
        access: AccessKind,
    },
    /// One or several elements; what they were is left in `to`.
    Atomic {
        function: AtomicFunction,
        kind: Type,
        address: Address,
        to: Box<[Option<Register>]>,
        b: Box<[Source]>,
        c: Option<Source>,
    },
    /// `cp.async`: done at once.
    CopyAsync {
        bytes: u32,
        destination: Address,
        source: Address,
        filled: Option<Source>,
    },
    Branch(Position),
    BranchIndexed {
        index: Source,
        targets: Box<[Position]>,
    },
    Call {
        callee: Callee,
        arguments: Box<[Slot]>,
        results: Box<[Slot]>,
    },
    Return,
    Exit,
    Trap,
    Barrier {
        result: BarrierResult,
        to: Option<Register>,
        id: Source,
        count: Option<Source>,
        predicate: Option<(Source, bool)>,
        waits: bool,
    },
    /// `mask` are the lanes that take part. `b` and `c` are a shuffle's.
    Collective {
        function: Collective,
        kind: Type,
        to: Option<Register>,
        predicate_to: Option<Register>,
        a: Source,
        is_negated: bool,
        b: Source,
        c: Source,
        mask: Source,
    },
    ActiveMask {
        to: Register,
    },
    /// Lets others go on.
    Pause,
    Nothing,
    Unknown(Box<str>),
}
