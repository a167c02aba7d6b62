//! Instructions that compute with registers.

use super::context::Context;
use super::modifiers::Opcode;
use crate::program::{
    Binary, Carries, Combined, FloatClass, Mode, OfParts, Op, Permutation, Rounding, Ternary, Type, Unary,
};
use crate::syntax::Operand;

/// None for another kind of instruction, or one that is not known.
pub(super) fn decode<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    match opcode.name {
        "mov" => movement(context, opcode, operands),
        "add" | "sub" | "addc" | "subc" if is_with_carry(opcode) => carry(context, opcode, operands),
        "mad" | "madc" if is_with_carry(opcode) => carry_product(context, opcode, operands),
        "setp" => compare(context, opcode, operands),
        "set" => set(context, opcode, operands),
        "selp" => {
            let [to, a, b, condition] = operands else { return None };
            let (a, b, condition) = (context.source(a)?, context.source(b)?, context.source(condition)?);
            Some(Op::Select { to: context.register(to)?, a, b, condition })
        }
        "cvt" => convert(context, opcode, operands),
        "bfi" => {
            let [to, a, b, c, d] = operands else { return None };
            let (a, b, c, d) = (context.source(a)?, context.source(b)?, context.source(c)?, context.source(d)?);
            Some(Op::InsertBits { kind: opcode.kind()?, to: context.register(to)?, a, b, c, d })
        }
        _ => match operands {
            [to, a] => {
                let (function, mode) = (unary(opcode)?, opcode.mode());
                let (to, a) = (context.register(to)?, context.source(a)?);
                Some(Op::Unary { function, kind: opcode.kind()?, mode, to, a })
            }
            [to, a, b] => {
                let (function, mode) = (binary(opcode)?, opcode.mode());
                let (to, a, b) = (context.register(to)?, context.source(a)?, context.source(b)?);
                Some(Op::Binary { function, kind: opcode.kind()?, mode, to, a, b })
            }
            [to, a, b, c] => ternary(context, opcode, [to, a, b, c], None),
            [to, a, b, c, Operand::Number(number)] => {
                let crate::syntax::Number::Integer(table) = number else { return None };
                ternary(context, opcode, [to, a, b, c], Some(*table as u8))
            }
            _ => None,
        },
    }
}

fn is_with_carry(opcode: &Opcode<'_>) -> bool {
    opcode.has("cc") || matches!(opcode.name, "addc" | "subc" | "madc")
}

fn carries(opcode: &Opcode<'_>) -> Carries {
    Carries {
        subtract: opcode.name.starts_with("sub"),
        carry_in: opcode.name.ends_with('c'),
        carry_out: opcode.has("cc"),
    }
}

fn movement<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    let whole = opcode.kind()?.bytes() * 8;
    match operands {
        [Operand::Vector(to), a] => {
            let bits = whole / to.len().max(1) as u32;
            let to = to.iter().map(|one| context.destination(one)).collect::<Option<_>>()?;
            Some(Op::Unpack { to, bits, a: context.source(a)? })
        }
        [to, Operand::Vector(parts)] => {
            let bits = whole / parts.len().max(1) as u32;
            let parts = parts.iter().map(|one| context.source(one)).collect::<Option<_>>()?;
            Some(Op::Pack { to: context.register(to)?, bits, parts })
        }
        [to, a] => Some(Op::Move { to: context.register(to)?, a: context.source(a)? }),
        _ => None,
    }
}

fn carry<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    let [to, a, b] = operands else { return None };
    Some(Op::Carry {
        carries: carries(opcode),
        kind: opcode.kind()?,
        to: context.register(to)?,
        a: context.source(a)?,
        b: context.source(b)?,
    })
}

fn carry_product<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    let [to, a, b, c] = operands else { return None };
    Some(Op::CarryProduct {
        high: opcode.has("hi"),
        carries: carries(opcode),
        kind: opcode.kind()?,
        to: context.register(to)?,
        a: context.source(a)?,
        b: context.source(b)?,
        c: context.source(c)?,
    })
}

const LOGIC: &[(&str, Binary)] = &[("and", Binary::And), ("or", Binary::Or), ("xor", Binary::Xor)];

/// What the comparison is combined with, if the opcode names a function and there is an operand for it.
fn combined<'a>(
    context: &mut Context<'a, '_>,
    opcode: &Opcode<'_>,
    operand: Option<&Operand<'a>>,
) -> Option<Option<Combined>> {
    match (opcode.first_of(LOGIC), operand) {
        (None, None) => Some(None),
        (Some(function), Some(operand)) => {
            let (with, is_negated) = context.predicate(operand)?;
            Some(Some(Combined { function, with, is_negated }))
        }
        _ => None,
    }
}

fn compare<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    let [to, a, b, rest @ ..] = operands else { return None };
    let kind = opcode.kind().filter(|kind| !matches!(kind, Type::F16x2 | Type::Bf16x2))?;
    let (to, to_not) = context.one_or_two(to)?;
    let combined = combined(context, opcode, rest.first())?;
    let (a, b) = (context.source(a)?, context.source(b)?);
    Some(Op::Compare { comparison: opcode.comparison()?, kind, flush: opcode.has("ftz"), to, to_not, a, b, combined })
}

fn set<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    let [to, a, b, rest @ ..] = operands else { return None };
    let [result, kind] = opcode.types()[..] else { return None };
    if matches!(kind, Type::F16x2 | Type::Bf16x2) {
        return None;
    }
    let combined = combined(context, opcode, rest.first())?;
    let (to, a, b) = (context.register(to)?, context.source(a)?, context.source(b)?);
    Some(Op::Set { comparison: opcode.comparison()?, kind, result, flush: opcode.has("ftz"), to, a, b, combined })
}

fn convert<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    let [into, from] = opcode.types()[..] else { return None };
    if into == Type::B128 || from == Type::B128 {
        return None;
    }
    let mode = opcode.mode();
    match operands {
        [to, a] => {
            if opcode.has("rna")
                || matches!((into, from), (Type::F16x2 | Type::Bf16x2, _) | (_, Type::F16x2 | Type::Bf16x2))
            {
                return None;
            }
            // Without a word about it numbers are cut off on their way to integers.
            let unstated = if into.is_float() { Rounding::Nearest } else { Rounding::Zero };
            let rounding = opcode.rounding().unwrap_or(unstated);
            let integral = opcode.has_any(&["rni", "rzi", "rmi", "rpi"]);
            let (to, a) = (context.register(to)?, context.source(a)?);
            Some(Op::Convert { from, into, mode: Mode { rounding, ..mode }, integral, to, a })
        }
        [to, a, b] if matches!(into, Type::F16x2 | Type::Bf16x2) && from == Type::F32 => {
            let (to, a, b) = (context.register(to)?, context.source(a)?, context.source(b)?);
            Some(Op::ConvertPair { into, mode, to, a, b })
        }
        _ => None,
    }
}

fn unary(opcode: &Opcode<'_>) -> Option<Unary> {
    let is_table = opcode.has("approx") && opcode.kind() == Some(Type::F64);
    Some(match opcode.name {
        "neg" => Unary::Negate,
        "abs" => Unary::Absolute,
        "not" => Unary::Not,
        "cnot" => Unary::LogicalNot,
        "clz" => Unary::CountLeadingZeros,
        "popc" => Unary::CountOnes,
        "brev" => Unary::Reverse,
        "bfind" => Unary::FindLeading(opcode.has("shiftamt")),
        "rcp" if is_table => Unary::ReciprocalTable,
        "rcp" => Unary::Reciprocal,
        "sqrt" => Unary::SquareRoot,
        "rsqrt" if is_table => Unary::ReciprocalRootTable,
        "rsqrt" => Unary::ReciprocalRoot,
        "sin" => Unary::Sine,
        "cos" => Unary::Cosine,
        "ex2" => Unary::Exponential2,
        "lg2" => Unary::Logarithm2,
        "tanh" => Unary::HyperbolicTangent,
        "testp" => Unary::Is(opcode.first_of(&[
            ("finite", FloatClass::Finite),
            ("infinite", FloatClass::Infinite),
            ("number", FloatClass::Number),
            ("notanumber", FloatClass::NotANumber),
            ("normal", FloatClass::Normal),
            ("subnormal", FloatClass::Subnormal),
        ])?),
        _ => return None,
    })
}

fn binary(opcode: &Opcode<'_>) -> Option<Binary> {
    let is_float = opcode.kind()?.is_float();
    Some(match opcode.name {
        "add" => Binary::Add,
        "sub" => Binary::Subtract,
        "mul" if is_float || opcode.has("lo") => Binary::Multiply,
        "mul" if opcode.has("hi") => Binary::MultiplyHigh,
        "mul" if opcode.has("wide") => Binary::MultiplyWide,
        "mul24" if opcode.has("lo") => Binary::Multiply24,
        "div" => Binary::Divide,
        "rem" => Binary::Remainder,
        "min" if !opcode.has("xorsign") => Binary::Minimum,
        "max" if !opcode.has("xorsign") => Binary::Maximum,
        "and" => Binary::And,
        "or" => Binary::Or,
        "xor" => Binary::Xor,
        "shl" => Binary::ShiftLeft,
        "shr" => Binary::ShiftRight,
        "copysign" => Binary::CopySign,
        "szext" => Binary::SignExtend(opcode.has("wrap")),
        "bmsk" => Binary::BitMask(opcode.has("wrap")),
        _ => return None,
    })
}

fn ternary<'a>(
    context: &mut Context<'a, '_>,
    opcode: &Opcode<'_>,
    [to, a, b, c]: [&Operand<'a>; 4],
    table: Option<u8>,
) -> Option<Op> {
    let kind = opcode.kind()?;
    let function = match (opcode.name, table) {
        ("lop3", Some(table)) => Ternary::Logic(table),
        (_, Some(_)) => return None,
        ("fma", _) => Ternary::MultiplyAdd,
        ("mad", _) if kind.is_float() || opcode.has("lo") => Ternary::MultiplyAdd,
        ("mad", _) if opcode.has("hi") => Ternary::MultiplyAddHigh,
        ("mad", _) if opcode.has("wide") => Ternary::MultiplyAddWide,
        ("mad24", _) if opcode.has("lo") => Ternary::MultiplyAdd24,
        ("sad", _) => Ternary::DifferenceSum,
        ("prmt", _) => Ternary::Permute(permutation(opcode)),
        ("shf", _) => Ternary::FunnelShift { left: opcode.has("l"), wrap: opcode.has("wrap") },
        ("bfe", _) => Ternary::ExtractBits,
        ("slct", _) => Ternary::SelectBySign { float: kind == Type::F32 },
        ("dp4a" | "dp2a", _) => {
            let [first, second] = opcode.types()[..] else { return None };
            let parts = if opcode.name == "dp4a" { 4 } else { 2 };
            Ternary::DotProduct { parts, signed: [first.is_signed(), second.is_signed()], high: opcode.has("hi") }
        }
        (name, _) if name.starts_with('v') => of_parts(opcode)?,
        _ => return None,
    };
    let (to, a, b, c) = (context.register(to)?, context.source(a)?, context.source(b)?, context.source(c)?);
    Some(Op::Ternary { function, kind, mode: opcode.mode(), to, a, b, c })
}

/// A function of the halves or the bytes of numbers, all of them in their places.
fn of_parts(opcode: &Opcode<'_>) -> Option<Ternary> {
    let (name, parts) = match opcode.name.split_at_checked(opcode.name.len() - 1)? {
        (name, "2") => (name, 2),
        (name, "4") => (name, 4),
        _ => return None,
    };
    let function = match name {
        "vadd" => OfParts::Add,
        "vsub" => OfParts::Subtract,
        "vabsdiff" => OfParts::Difference,
        "vmin" => OfParts::Min,
        "vmax" => OfParts::Max,
        _ => return None,
    };
    let [to, a, b] = opcode.types()[..] else { return None };
    let signed = [to, a, b].map(Type::is_signed);
    Some(Ternary::Parts { function, parts, signed, saturate: opcode.has("sat"), sum: opcode.has("add") })
}

fn permutation(opcode: &Opcode<'_>) -> Permutation {
    let named = opcode.first_of(&[
        ("f4e", Permutation::Forward4),
        ("b4e", Permutation::Backward4),
        ("rc8", Permutation::Replicate8),
        ("ecl", Permutation::EdgeClampLeft),
        ("ecr", Permutation::EdgeClampRight),
        ("rc16", Permutation::Replicate16),
    ]);
    named.unwrap_or(Permutation::Index)
}
