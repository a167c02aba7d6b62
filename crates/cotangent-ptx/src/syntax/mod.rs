//! The syntax of PTX: a text as a tree of directives, scopes and instructions, with names and opcodes as they are written.
//!
//! What an instruction means is not known here, so a text with an instruction that nobody knows is read as well.

mod lex;
mod parse;

use std::collections::BTreeMap;

pub(crate) use lex::Number;
pub(crate) use parse::parse;

/// A text that is no PTX.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the PTX: {message}")]
pub struct SyntaxError {
    pub line: u32,
    pub message: String,
}

impl SyntaxError {
    pub(crate) fn new(line: u32, message: impl Into<String>) -> SyntaxError {
        SyntaxError { line, message: message.into() }
    }
}

/// A whole text.
#[derive(Debug, Default)]
pub(crate) struct Text<'a> {
    pub(crate) variables: Vec<Variable<'a>>,
    pub(crate) functions: Vec<Function<'a>>,
    /// Another name of a function, and the function.
    pub(crate) aliases: Vec<(&'a str, &'a str)>,
    /// Source files by their number.
    pub(crate) files: BTreeMap<u64, &'a str>,
}

/// A kernel (`.entry`) or a function.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_kernel: bool,
    pub(crate) results: Vec<Variable<'a>>,
    pub(crate) parameters: Vec<Variable<'a>>,
    /// The largest block that it may be launched with (`.maxntid`, `.reqntid`).
    pub(crate) max_threads: Option<u64>,
    /// None for a declaration.
    pub(crate) body: Option<Vec<Statement<'a>>>,
}

/// Which memory a variable is in, as the text says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateSpace {
    Global,
    Constant,
    Shared,
    Local,
    Parameter,
}

/// A variable in memory, or a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Variable<'a> {
    pub(crate) name: &'a str,
    pub(crate) space: StateSpace,
    pub(crate) alignment: u64,
    pub(crate) element_bytes: u64,
    /// None for an array without a size: all that a launch adds.
    pub(crate) bytes: Option<u64>,
    pub(crate) is_extern: bool,
    pub(crate) initial: Vec<Initial<'a>>,
}

/// One element of an initialiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Initial<'a> {
    Bits(u64),
    /// The address of a variable or function plus an offset, shifted right by so many bits.
    Address {
        name: &'a str,
        offset: u64,
        shift: u32,
    },
}

#[derive(Debug)]
pub(crate) enum Statement<'a> {
    /// `.reg .b32 %r<5>`: `%r0` to `%r4`; without a count one register of that name.
    Registers {
        name: &'a str,
        count: Option<u64>,
    },
    Variable(Variable<'a>),
    Label(&'a str),
    /// `name: .branchtargets a, b;`
    Targets {
        name: &'a str,
        labels: Vec<&'a str>,
    },
    Scope(Vec<Statement<'a>>),
    /// What follows comes from this line of a source file.
    Place {
        file: u64,
        line: u64,
    },
    Instruction(Instruction<'a>),
}

#[derive(Debug)]
pub(crate) struct Instruction<'a> {
    pub(crate) guard: Option<Guard<'a>>,
    /// With all modifiers: `ld.global.f32`.
    pub(crate) opcode: &'a str,
    pub(crate) operands: Vec<Operand<'a>>,
    /// The whole instruction as it is written.
    pub(crate) text: &'a str,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard<'a> {
    pub(crate) name: &'a str,
    pub(crate) is_negated: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    /// A register, a variable or a label, with an offset (`table+8`).
    Name {
        name: &'a str,
        offset: i64,
    },
    /// `!p`.
    Not(&'a str),
    Number(Number),
    /// `-5`.
    Negative(u64),
    /// `[base+offset]`, and what else stands between the brackets.
    Address {
        base: Base<'a>,
        offset: i64,
    },
    /// `{a, b}`.
    Vector(Vec<Operand<'a>>),
    /// `(a, b)`, of a call.
    List(Vec<Operand<'a>>),
    /// `p|q`.
    Pair(&'a str, &'a str),
    /// Brackets with something that is no address of ordinary memory.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base<'a> {
    Name(&'a str),
    Number(u64),
}
