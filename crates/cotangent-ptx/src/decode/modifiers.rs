//! The parts of an opcode: `ld.global.v2.f32` is `ld` with the modifiers `global`, `v2` and `f32`.

use crate::program::{Comparison, Mode, Rounding, Type};

pub(super) struct Opcode<'a> {
    pub(super) name: &'a str,
    modifiers: Vec<&'a str>,
}

impl<'a> Opcode<'a> {
    pub(super) fn new(text: &'a str) -> Opcode<'a> {
        let mut parts = text.split('.');
        Opcode { name: parts.next().unwrap_or(""), modifiers: parts.collect() }
    }

    pub(super) fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }

    pub(super) fn has_any(&self, modifiers: &[&str]) -> bool {
        modifiers.iter().any(|modifier| self.has(modifier))
    }

    pub(super) fn modifier(&self, index: usize) -> Option<&'a str> {
        self.modifiers.get(index).copied()
    }

    /// The entry of a table that is named first.
    pub(super) fn first_of<T: Copy>(&self, table: &[(&str, T)]) -> Option<T> {
        self.modifiers
            .iter()
            .find_map(|modifier| table.iter().find(|(name, _)| name == modifier))
            .map(|(_, value)| *value)
    }

    /// All types, in their order.
    pub(super) fn types(&self) -> Vec<Type> {
        self.modifiers.iter().filter_map(|modifier| lookup(TYPES, modifier)).collect()
    }

    /// The type, of an opcode that has one. No register is 128 bits wide here.
    pub(super) fn kind(&self) -> Option<Type> {
        self.types().last().copied().filter(|kind| *kind != Type::B128)
    }

    pub(super) fn mode(&self) -> Mode {
        Mode {
            rounding: self.rounding().unwrap_or_default(),
            flush: self.has("ftz"),
            saturate: self.has_any(&["sat", "satfinite"]),
            keep_nan: self.has("NaN"),
            relu: self.has("relu"),
        }
    }

    pub(super) fn rounding(&self) -> Option<Rounding> {
        self.first_of(ROUNDINGS)
    }

    /// Elements that one access moves.
    pub(super) fn vector(&self) -> usize {
        self.first_of(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1)
    }

    pub(super) fn comparison(&self) -> Option<Comparison> {
        self.modifiers.iter().find_map(|modifier| lookup(COMPARISONS, modifier))
    }
}

fn lookup<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

const TYPES: &[(&str, Type)] = &[
    ("b8", Type::B8),
    ("b16", Type::B16),
    ("b32", Type::B32),
    ("b64", Type::B64),
    ("b128", Type::B128),
    ("u8", Type::U8),
    ("u16", Type::U16),
    ("u32", Type::U32),
    ("u64", Type::U64),
    ("s8", Type::S8),
    ("s16", Type::S16),
    ("s32", Type::S32),
    ("s64", Type::S64),
    ("f16", Type::F16),
    ("f16x2", Type::F16x2),
    ("bf16", Type::Bf16),
    ("bf16x2", Type::Bf16x2),
    ("f32", Type::F32),
    ("f64", Type::F64),
    ("pred", Type::Predicate),
];

const ROUNDINGS: &[(&str, Rounding)] = &[
    ("rn", Rounding::Nearest),
    ("rz", Rounding::Zero),
    ("rm", Rounding::Down),
    ("rp", Rounding::Up),
    ("rni", Rounding::Nearest),
    ("rzi", Rounding::Zero),
    ("rmi", Rounding::Down),
    ("rpi", Rounding::Up),
];

const COMPARISONS: &[(&str, Comparison)] = &[
    ("eq", Comparison::Equal),
    ("ne", Comparison::NotEqual),
    ("lt", Comparison::Less),
    ("le", Comparison::LessEqual),
    ("gt", Comparison::Greater),
    ("ge", Comparison::GreaterEqual),
    ("lo", Comparison::Less),
    ("ls", Comparison::LessEqual),
    ("hi", Comparison::Greater),
    ("hs", Comparison::GreaterEqual),
    ("num", Comparison::Numbers),
    ("nan", Comparison::NotNumbers),
    ("equ", Comparison::EqualUnordered),
    ("neu", Comparison::NotEqualUnordered),
    ("ltu", Comparison::LessUnordered),
    ("leu", Comparison::LessEqualUnordered),
    ("gtu", Comparison::GreaterUnordered),
    ("geu", Comparison::GreaterEqualUnordered),
];
