//! What the instructions of a function are decoded with: what its names stand for, and what it turns out to use.

use super::names::{Name, Names};
use super::places::function_address;
use crate::program::{Program, Register, Slot, Source, Special};
use crate::syntax::{Number, Operand};

/// What is known while the instructions of a function are decoded.
pub(super) struct Context<'a, 'm> {
    pub(super) program: &'m mut Program,
    pub(super) names: Names<'a, 'm>,
    pub(super) is_kernel: bool,
    /// The shared variables that it uses.
    pub(super) shared: Vec<usize>,
    pub(super) callees: Vec<usize>,
    pub(super) calls_unknown: bool,
}

impl<'a, 'm> Context<'a, 'm> {
    pub(super) fn new(program: &'m mut Program, names: Names<'a, 'm>, is_kernel: bool) -> Self {
        Context { program, names, is_kernel, shared: Vec::new(), callees: Vec::new(), calls_unknown: false }
    }

    /// The register of an operand that is written; `_` is none.
    pub(super) fn destination(&self, operand: &Operand<'a>) -> Option<Option<Register>> {
        match operand {
            Operand::Name { name: "_", offset: 0 } => Some(None),
            Operand::Name { .. } => self.register(operand).map(Some),
            _ => None,
        }
    }

    /// The registers of `p|q`, or the one; `_` is none.
    pub(super) fn one_or_two(&self, operand: &Operand<'a>) -> Option<(Option<Register>, Option<Register>)> {
        let Operand::Pair(first, second) = operand else { return Some((self.destination(operand)?, None)) };
        let register = |name: &str| if name == "_" { Some(None) } else { self.named_register(name).map(Some) };
        Some((register(first)?, register(second)?))
    }

    pub(super) fn register(&self, operand: &Operand<'a>) -> Option<Register> {
        match operand {
            Operand::Name { name, offset: 0 } => self.named_register(name),
            _ => None,
        }
    }

    pub(super) fn named_register(&self, name: &str) -> Option<Register> {
        match self.names.find(name)? {
            Name::Register(register) => Some(register),
            _ => None,
        }
    }

    /// The registers of a vector, or the one.
    pub(super) fn destinations(&self, operand: &Operand<'a>) -> Option<Box<[Option<Register>]>> {
        match operand {
            Operand::Vector(all) => all.iter().map(|one| self.destination(one)).collect(),
            _ => Some(Box::new([self.destination(operand)?])),
        }
    }

    pub(super) fn sources(&mut self, operand: &Operand<'a>) -> Option<Box<[Source]>> {
        match operand {
            Operand::Vector(all) => all.iter().map(|one| self.source(one)).collect(),
            _ => Some(Box::new([self.source(operand)?])),
        }
    }

    /// A value.
    pub(super) fn source(&mut self, operand: &Operand<'a>) -> Option<Source> {
        match operand {
            Operand::Number(Number::Integer(value)) => Some(Source::Bits(*value)),
            Operand::Number(Number::Single(bits)) => Some(Source::Bits(u64::from(*bits))),
            Operand::Number(Number::Double(bits)) => Some(Source::Bits(*bits)),
            Operand::Negative(value) => Some(Source::Bits(value.wrapping_neg())),
            Operand::Name { name, offset } => self.value_of(name, *offset),
            Operand::Not(_)
            | Operand::Address { .. }
            | Operand::Vector(_)
            | Operand::List(_)
            | Operand::Pair(..)
            | Operand::Other => None,
        }
    }

    /// A predicate, and whether it is negated.
    pub(super) fn predicate(&mut self, operand: &Operand<'a>) -> Option<(Source, bool)> {
        match operand {
            Operand::Not(name) => Some((Source::Register(self.named_register(name)?), true)),
            _ => Some((self.source(operand)?, false)),
        }
    }

    pub(super) fn value_of(&mut self, name: &str, offset: i64) -> Option<Source> {
        if let Some((_, special)) = SPECIALS.iter().find(|(known, _)| *known == name) {
            return Some(*special);
        }
        match self.names.find(name)? {
            Name::Register(register) if offset == 0 => Some(Source::Register(register)),
            Name::Frame(slot) => Some(Source::Frame(slot.offset.wrapping_add_signed(offset as i32))),
            Name::Kernel(slot) => Some(Source::Bits(u64::from(slot.offset).wrapping_add_signed(offset))),
            Name::Shared(variable) => {
                self.shared.push(variable as usize);
                Some(Source::Shared { variable, offset: offset as u32 })
            }
            Name::Address(address) => Some(Source::Bits(address.wrapping_add_signed(offset))),
            Name::Function(index) => {
                self.callees.push(index as usize);
                Some(Source::Bits(function_address(index)))
            }
            Name::Register(_) | Name::Label(_) | Name::Targets(_) => None,
        }
    }

    pub(super) fn slot_of(&self, operand: &Operand<'a>) -> Option<Slot> {
        match operand {
            Operand::Name { name, offset: 0 } => match self.names.find(name)? {
                Name::Frame(slot) => Some(slot),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn calls(&mut self, function: u32) {
        self.callees.push(function as usize);
    }

    pub(super) fn calls_unknown(&mut self) {
        self.calls_unknown = true;
    }
}

const fn special(special: Special) -> Source {
    Source::Special(special)
}

const SPECIALS: &[(&str, Source)] = &[
    ("%tid.x", special(Special::ThreadX)),
    ("%tid.y", special(Special::ThreadY)),
    ("%tid.z", special(Special::ThreadZ)),
    ("%ntid.x", special(Special::BlockSizeX)),
    ("%ntid.y", special(Special::BlockSizeY)),
    ("%ntid.z", special(Special::BlockSizeZ)),
    ("%ctaid.x", special(Special::BlockX)),
    ("%ctaid.y", special(Special::BlockY)),
    ("%ctaid.z", special(Special::BlockZ)),
    ("%nctaid.x", special(Special::GridSizeX)),
    ("%nctaid.y", special(Special::GridSizeY)),
    ("%nctaid.z", special(Special::GridSizeZ)),
    ("%laneid", special(Special::Lane)),
    ("%warpid", special(Special::Warp)),
    ("%nwarpid", special(Special::WarpCount)),
    ("%lanemask_eq", special(Special::LanesEqual)),
    ("%lanemask_lt", special(Special::LanesBelow)),
    ("%lanemask_le", special(Special::LanesUpTo)),
    ("%lanemask_gt", special(Special::LanesAbove)),
    ("%lanemask_ge", special(Special::LanesFrom)),
    ("%dynamic_smem_size", special(Special::DynamicShared)),
    ("%total_smem_size", special(Special::TotalShared)),
    ("%clock", special(Special::Clock)),
    ("%clock_hi", Source::Bits(0)),
    ("%clock64", special(Special::Clock)),
    ("%globaltimer", special(Special::Clock)),
    ("%globaltimer_lo", special(Special::Clock)),
    ("%globaltimer_hi", Source::Bits(0)),
    // One multiprocessor, one grid, no clusters.
    ("%smid", Source::Bits(0)),
    ("%nsmid", Source::Bits(1)),
    ("%gridid", Source::Bits(0)),
    ("%is_explicit_cluster", Source::Bits(0)),
    ("%clusterid.x", special(Special::BlockX)),
    ("%clusterid.y", special(Special::BlockY)),
    ("%clusterid.z", special(Special::BlockZ)),
    ("%nclusterid.x", special(Special::GridSizeX)),
    ("%nclusterid.y", special(Special::GridSizeY)),
    ("%nclusterid.z", special(Special::GridSizeZ)),
    ("%cluster_ctaid.x", Source::Bits(0)),
    ("%cluster_ctaid.y", Source::Bits(0)),
    ("%cluster_ctaid.z", Source::Bits(0)),
    ("%cluster_nctaid.x", Source::Bits(1)),
    ("%cluster_nctaid.y", Source::Bits(1)),
    ("%cluster_nctaid.z", Source::Bits(1)),
    ("%cluster_ctarank", Source::Bits(0)),
    ("%cluster_nctarank", Source::Bits(1)),
    ("WARP_SZ", Source::Bits(32)),
];
