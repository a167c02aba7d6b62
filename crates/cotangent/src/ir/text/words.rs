//! The words of the text form: tables that printer and parser share, and how names are quoted.

use crate::ir::{
    AtomicOp, Axis, BarrierKind, BinaryOp, CollectiveOp, FloatKind, GlobalStorage, IntKind, Scope, Space, Storage,
};

/// Words that are names only in backticks. Sorted.
const RESERVED: &[&str] = &[
    "__half",
    "__nv_bfloat16",
    "as",
    "atomic",
    "barrier",
    "blockDim",
    "blockIdx",
    "bool",
    "break",
    "builtin",
    "call",
    "case",
    "changed",
    "char",
    "collective",
    "const",
    "constant",
    "constexpr",
    "continue",
    "default",
    "device",
    "do",
    "double",
    "dynamic",
    "dynamicSharedBytes",
    "else",
    "false",
    "float",
    "for",
    "gridDim",
    "host",
    "if",
    "inf",
    "infbf",
    "inff",
    "infh",
    "int",
    "kernel",
    "launch",
    "let",
    "long",
    "make",
    "managed",
    "null",
    "opaque",
    "passed",
    "pop",
    "push",
    "record",
    "ref",
    "restrict",
    "return",
    "runtime",
    "shared",
    "short",
    "signed",
    "sizeof",
    "switch",
    "threadIdx",
    "true",
    "unread",
    "unsigned",
    "unused",
    "void",
    "volatile",
    "warpSize",
    "while",
];

/// Words for values, each value and each word once.
pub(super) type Words<T> = &'static [(T, &'static str)];

/// Suffixes of integer constants.
pub(super) const INT_SUFFIXES: Words<IntKind> = &[
    (IntKind::Char, "c"),
    (IntKind::SignedChar, "sc"),
    (IntKind::UnsignedChar, "uc"),
    (IntKind::Short, "s"),
    (IntKind::UnsignedShort, "us"),
    (IntKind::Int, ""),
    (IntKind::UnsignedInt, "u"),
    (IntKind::Long, "l"),
    (IntKind::UnsignedLong, "ul"),
    (IntKind::LongLong, "ll"),
    (IntKind::UnsignedLongLong, "ull"),
];

/// Suffixes of floating constants.
pub(super) const FLOAT_SUFFIXES: Words<FloatKind> =
    &[(FloatKind::Half, "h"), (FloatKind::BFloat, "bf"), (FloatKind::Float, "f"), (FloatKind::Double, "")];

/// Infinities, a word each because they are no numbers to the lexer.
pub(super) const INFINITIES: Words<FloatKind> =
    &[(FloatKind::Half, "infh"), (FloatKind::BFloat, "infbf"), (FloatKind::Float, "inff"), (FloatKind::Double, "inf")];

/// Floating types.
pub(super) const FLOAT_TYPES: Words<FloatKind> = &[
    (FloatKind::Half, "__half"),
    (FloatKind::BFloat, "__nv_bfloat16"),
    (FloatKind::Float, "float"),
    (FloatKind::Double, "double"),
];

/// The words that spellings of integer types consist of.
pub(super) const INT_TYPE_WORDS: &[&str] = &["signed", "unsigned", "char", "short", "int", "long"];

/// Components of coordinates.
pub(super) const AXES: Words<Axis> = &[(Axis::X, "x"), (Axis::Y, "y"), (Axis::Z, "z")];

/// How a function begins.
pub(super) const SPACES: Words<Space> = &[(Space::Kernel, "kernel"), (Space::Device, "device"), (Space::Host, "host")];

/// How a variable outside functions begins.
pub(super) const GLOBAL_STORAGES: Words<GlobalStorage> = &[
    (GlobalStorage::Device, "device"),
    (GlobalStorage::Constant, "constant"),
    (GlobalStorage::Managed, "managed"),
    (GlobalStorage::Constexpr, "constexpr"),
    (GlobalStorage::Host, "host"),
];

/// What stands before the name of a local that is not private.
pub(super) const STORAGES: Words<Storage> = &[(Storage::Shared, "shared"), (Storage::DynamicShared, "dynamic")];

/// What stands before the operation of an atomic that is not of device scope.
pub(super) const SCOPES: Words<Scope> =
    &[(Scope::Block, "block"), (Scope::System, "system"), (Scope::Anywhere, "anywhere"), (Scope::Together, "together")];

/// Kinds of barriers.
pub(super) const BARRIERS: Words<BarrierKind> = &[
    (BarrierKind::Block, "block"),
    (BarrierKind::BlockCount, "block_count"),
    (BarrierKind::BlockAnd, "block_and"),
    (BarrierKind::BlockOr, "block_or"),
    (BarrierKind::Warp, "warp"),
    (BarrierKind::Fence, "fence"),
    (BarrierKind::FenceBlock, "fence_block"),
    (BarrierKind::FenceSystem, "fence_system"),
];

/// Atomic operations.
pub(super) const ATOMICS: Words<AtomicOp> = &[
    (AtomicOp::Add, "add"),
    (AtomicOp::Subtract, "subtract"),
    (AtomicOp::Exchange, "exchange"),
    (AtomicOp::Min, "min"),
    (AtomicOp::Max, "max"),
    (AtomicOp::And, "and"),
    (AtomicOp::Or, "or"),
    (AtomicOp::Xor, "xor"),
    (AtomicOp::Increment, "increment"),
    (AtomicOp::Decrement, "decrement"),
    (AtomicOp::CompareAndSwap, "compare_and_swap"),
];

/// Exchanges within a warp.
pub(super) const COLLECTIVES: Words<CollectiveOp> = &[
    (CollectiveOp::Shuffle, "shuffle"),
    (CollectiveOp::ShuffleUp, "shuffle_up"),
    (CollectiveOp::ShuffleDown, "shuffle_down"),
    (CollectiveOp::ShuffleXor, "shuffle_xor"),
    (CollectiveOp::Ballot, "ballot"),
    (CollectiveOp::Any, "any"),
    (CollectiveOp::All, "all"),
    (CollectiveOp::MatchAny, "match_any"),
    (CollectiveOp::MatchAll, "match_all"),
    (CollectiveOp::ReduceAdd, "reduce_add"),
    (CollectiveOp::ReduceMin, "reduce_min"),
    (CollectiveOp::ReduceMax, "reduce_max"),
    (CollectiveOp::ReduceAnd, "reduce_and"),
    (CollectiveOp::ReduceOr, "reduce_or"),
    (CollectiveOp::ReduceXor, "reduce_xor"),
    (CollectiveOp::ActiveMask, "active_mask"),
];

/// Binary operators. `Offset` and `Distance` are read as `Add` and `Subtract` of pointers.
pub(super) const BINARY_OPS: Words<BinaryOp> = &[
    (BinaryOp::Add, "+"),
    (BinaryOp::Subtract, "-"),
    (BinaryOp::Multiply, "*"),
    (BinaryOp::Divide, "/"),
    (BinaryOp::Remainder, "%"),
    (BinaryOp::BitAnd, "&"),
    (BinaryOp::BitOr, "|"),
    (BinaryOp::BitXor, "^"),
    (BinaryOp::ShiftLeft, "<<"),
    (BinaryOp::ShiftRight, ">>"),
    (BinaryOp::Equal, "=="),
    (BinaryOp::NotEqual, "!="),
    (BinaryOp::Less, "<"),
    (BinaryOp::LessEqual, "<="),
    (BinaryOp::Greater, ">"),
    (BinaryOp::GreaterEqual, ">="),
    (BinaryOp::And, "&&"),
    (BinaryOp::Or, "||"),
];

/// The word for a value; empty if the table has none.
pub(super) fn word<T: PartialEq>(words: Words<T>, value: T) -> &'static str {
    words.iter().find(|(candidate, _)| *candidate == value).map_or("", |(_, word)| word)
}

/// The value that a word stands for.
pub(super) fn value<T: Copy>(words: Words<T>, word: &str) -> Option<T> {
    words.iter().find(|(_, candidate)| *candidate == word).map(|(value, _)| *value)
}

/// Whether a word is a name only in backticks.
pub(super) fn is_reserved(word: &str) -> bool {
    let is_like_one =
        matches!(word.len(), 2..=18) && word.starts_with(|first: char| first.is_lowercase() || first == '_');
    is_like_one && RESERVED.binary_search(&word).is_ok()
}

/// Appends a name, in backticks unless it is one plain word.
pub(super) fn push_name(out: &mut String, name: &str) {
    if is_plain(name) {
        out.push_str(name);
    } else {
        push_quoted(out, name, '`');
    }
}

fn is_plain(name: &str) -> bool {
    let is_identifier = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && part.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
    };
    // Most names have no namespace.
    !is_reserved(name) && (is_identifier(name) || name.split("::").all(is_identifier))
}

/// Appends a text between quotes, escaped.
pub(super) fn push_quoted(out: &mut String, text: &str, quote: char) {
    out.push(quote);
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            _ if character == quote => out.extend(['\\', quote]),
            _ if character.is_control() => out.push_str(&format!("\\u{{{:x}}}", u32::from(character))),
            _ => out.push(character),
        }
    }
    out.push(quote);
}

/// What an escaped text stands for, or what is wrong with it.
pub(super) fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(position) = rest.find('\\') {
        out.push_str(&rest[..position]);
        rest = &rest[position + 1..];
        let mut characters = rest.chars();
        match characters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some(quote @ ('\\' | '"' | '`')) => out.push(quote),
            Some('u') => {
                let (digits, after) = rest
                    .strip_prefix("u{")
                    .and_then(|digits| digits.split_once('}'))
                    .ok_or("expected `{`, hexadecimal digits and `}` after `\\u`")?;
                let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                out.push(code.ok_or_else(|| format!("expected a character's number, found `{digits}`"))?);
                characters = after.chars();
            }
            Some(_) | None => return Err("expected n, t, r, u, a quote or `\\` after `\\`".to_owned()),
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    Ok(out)
}

/// Numbers of locals: a declaration that names no number has the lowest that no earlier one has.
///
/// Printer and parser count alike, so that the table of a function whose locals are declared in its order is printed
/// without numbers.
#[derive(Default)]
pub(super) struct Numbering {
    taken: std::collections::HashSet<u32>,
    lowest: u32,
}

impl Numbering {
    /// The number of a declaration that names none.
    pub(super) fn lowest_free(&mut self) -> u32 {
        while self.taken.remove(&self.lowest) {
            self.lowest += 1;
        }
        self.lowest
    }

    /// Takes a number; false if it is taken.
    pub(super) fn take(&mut self, number: u32) -> bool {
        number >= self.lowest_free() && self.taken.insert(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_found() {
        assert!(RESERVED.is_sorted());
        assert!(RESERVED.iter().all(|word| is_reserved(word)));
        assert!(!is_reserved("") && !is_reserved("x") && !is_reserved("kernels"));
    }
}
