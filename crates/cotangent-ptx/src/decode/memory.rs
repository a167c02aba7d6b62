//! Instructions that read and write memory, and those that convert addresses.

use cotangent_cpu::check::AccessKind;

use super::context::Context;
use super::modifiers::Opcode;
use super::names::Name;
use crate::program::{Address, AtomicFunction, Op, Source, Space, Type};
use crate::syntax::{Base, Operand};

/// None for another kind of instruction, or one that is not known.
pub(super) fn decode<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    match opcode.name {
        "ld" | "ldu" => load(context, opcode, operands),
        "st" => store(context, opcode, operands),
        "atom" | "red" => atomic(context, opcode, operands),
        "cvta" => {
            let [to, a] = operands else { return None };
            let (to, space) = (context.register(to)?, space(opcode)?);
            let a = context.source(a)?;
            Some(if opcode.has("to") { Op::FromGeneric { space, to, a } } else { Op::ToGeneric { space, to, a } })
        }
        "isspacep" => {
            let [to, a] = operands else { return None };
            Some(Op::IsInSpace { space: space(opcode)?, to: context.register(to)?, a: context.source(a)? })
        }
        "cp" if opcode.has("async") => copy_async(context, opcode, operands),
        "prefetch" | "prefetchu" | "discard" | "applypriority" => Some(Op::Nothing),
        _ => None,
    }
}

const SPACES: &[(&str, Space)] = &[
    ("global", Space::Global),
    ("const", Space::Constant),
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("local", Space::Local),
    ("param", Space::Kernel),
    ("param::entry", Space::Kernel),
    ("param::func", Space::Local),
];

fn space(opcode: &Opcode<'_>) -> Option<Space> {
    opcode.first_of(SPACES)
}

/// Accesses that are ordered with those of other threads.
const ORDERED: &[&str] = &["relaxed", "acquire", "release", "mmio"];

fn address<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operand: &Operand<'a>) -> Option<Address> {
    let Operand::Address { base, offset } = operand else { return None };
    if opcode.has_any(&["shared::cluster"]) {
        return None;
    }
    let stated = space(opcode).unwrap_or(Space::Generic);
    address_in(context, stated, *base, *offset)
}

fn address_in(context: &mut Context<'_, '_>, stated: Space, base: Base<'_>, offset: i64) -> Option<Address> {
    let (space, base) = match base {
        Base::Number(number) => (stated, Source::Bits(number)),
        Base::Name(name) => {
            let space = match context.names.find(name) {
                Some(Name::Frame(_)) => Space::Local,
                Some(Name::Kernel(_)) => Space::Kernel,
                Some(Name::Shared(_)) => Space::Shared,
                // A parameter's address in a register, in a function that is no kernel.
                _ if stated == Space::Kernel && !context.is_kernel => Space::Local,
                _ => stated,
            };
            (space, context.value_of(name, 0)?)
        }
    };
    Some(Address { space, base, offset })
}

fn load<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    let [to, from, ..] = operands else { return None };
    let (to, kind) = (context.destinations(to)?, memory_type(opcode)?);
    if to.len() != opcode.vector() {
        return None;
    }
    let address = address(context, opcode, from)?;
    let access = match (opcode.has_any(ORDERED), opcode.has("nc")) {
        (true, _) => AccessKind::Atomic,
        (false, true) => AccessKind::CachedRead,
        (false, false) => AccessKind::Read,
    };
    Some(Op::Load { kind, address, to, access })
}

fn store<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    let [to, values, ..] = operands else { return None };
    let (values, kind) = (context.sources(values)?, memory_type(opcode)?);
    if values.len() != opcode.vector() {
        return None;
    }
    let access = if opcode.has_any(ORDERED) { AccessKind::Atomic } else { AccessKind::Write };
    Some(Op::Store { kind, address: address(context, opcode, to)?, values, access })
}

/// Types of up to eight bytes.
fn memory_type(opcode: &Opcode<'_>) -> Option<Type> {
    opcode.kind().filter(|kind| *kind != Type::Predicate)
}

const ATOMICS: &[(&str, AtomicFunction)] = &[
    ("add", AtomicFunction::Add),
    ("min", AtomicFunction::Minimum),
    ("max", AtomicFunction::Maximum),
    ("and", AtomicFunction::And),
    ("or", AtomicFunction::Or),
    ("xor", AtomicFunction::Xor),
    ("exch", AtomicFunction::Exchange),
    ("cas", AtomicFunction::CompareAndSwap),
    ("inc", AtomicFunction::Increment),
    ("dec", AtomicFunction::Decrement),
];

fn atomic<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    let (function, kind) = (opcode.first_of(ATOMICS)?, memory_type(opcode)?);
    let (to, operands) = match (opcode.name, operands) {
        ("atom", [to, rest @ ..]) => (context.destinations(to)?, rest),
        _ => (Box::from([None]), operands),
    };
    let (place, b, c) = match operands {
        [place, b] => (place, b, None),
        [place, b, c] if function == AtomicFunction::CompareAndSwap => (place, b, Some(context.source(c)?)),
        _ => return None,
    };
    let (b, address) = (context.sources(b)?, address(context, opcode, place)?);
    if (function == AtomicFunction::CompareAndSwap) != c.is_some() || b.len() != opcode.vector() {
        return None;
    }
    let to = if to.len() == b.len() { to } else { vec![None; b.len()].into_boxed_slice() };
    Some(Op::Atomic { function, kind, address, to, b, c })
}

/// `cp.async.ca.shared.global [to], [from], 16{, bytes}`; groups are done as soon as they are committed.
fn copy_async<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    if opcode.has_any(&["commit_group", "wait_group", "wait_all"]) {
        return Some(Op::Nothing);
    }
    if opcode.has_any(&["bulk", "mbarrier"]) || !opcode.has("global") {
        return None;
    }
    let [
        Operand::Address { base: to, offset: to_offset },
        Operand::Address { base: from, offset: from_offset },
        Operand::Number(crate::syntax::Number::Integer(bytes)),
        rest @ ..,
    ] = operands
    else {
        return None;
    };
    let destination = address_in(context, Space::Shared, *to, *to_offset)?;
    let source = address_in(context, Space::Global, *from, *from_offset)?;
    let filled = match rest.first() {
        None => None,
        Some(operand) => Some(context.source(operand)?),
    };
    matches!(bytes, 4 | 8 | 16).then_some(Op::CopyAsync { bytes: *bytes as u32, destination, source, filled })
}
