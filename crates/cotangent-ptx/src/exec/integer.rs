//! Arithmetic on integers and bits.

use super::lanes::{LANES, Lanes, Mask, Value, lanes_of, map, map2, map2_some, map3};
use crate::program::{Binary, Mode, OfParts, Permutation, Ternary, Type, Unary};

/// None if there is no such instruction.
pub(super) fn unary(function: Unary, kind: Type, a: &Lanes) -> Option<Lanes> {
    Some(match (function, kind) {
        (Unary::Negate, Type::S16) => map(a, i16::wrapping_neg),
        (Unary::Negate, Type::S32) => map(a, i32::wrapping_neg),
        (Unary::Negate, Type::S64) => map(a, i64::wrapping_neg),
        (Unary::Absolute, Type::S16) => map(a, i16::wrapping_abs),
        (Unary::Absolute, Type::S32) => map(a, i32::wrapping_abs),
        (Unary::Absolute, Type::S64) => map(a, i64::wrapping_abs),
        (Unary::Not, Type::Predicate) => map(a, |a: bool| !a),
        (Unary::Not, _) => map(a, |a: u64| !a),
        (Unary::LogicalNot, Type::B16) => map(a, |a: u16| a == 0),
        (Unary::LogicalNot, Type::B32) => map(a, |a: u32| a == 0),
        (Unary::LogicalNot, Type::B64) => map(a, |a: u64| a == 0),
        (Unary::CountLeadingZeros, Type::B32) => map(a, u32::leading_zeros),
        (Unary::CountLeadingZeros, Type::B64) => map(a, u64::leading_zeros),
        (Unary::CountOnes, Type::B32) => map(a, u32::count_ones),
        (Unary::CountOnes, Type::B64) => map(a, u64::count_ones),
        (Unary::Reverse, Type::B32) => map(a, u32::reverse_bits),
        (Unary::Reverse, Type::B64) => map(a, u64::reverse_bits),
        (Unary::FindLeading(shift), _) => find_leading(kind, shift, a)?,
        _ => return None,
    })
}

/// The position of the highest bit that is not a copy of the sign, or its distance from the top; all ones if there is none.
fn find_leading(kind: Type, as_shift: bool, a: &Lanes) -> Option<Lanes> {
    let find = |zeros: u32, width: u32| match zeros {
        zeros if zeros == width => u32::MAX,
        zeros if as_shift => zeros,
        zeros => width - 1 - zeros,
    };
    Some(match kind {
        Type::U32 => map(a, |a: u32| find(a.leading_zeros(), 32)),
        Type::S32 => map(a, |a: i32| find((a ^ (a >> 31)).leading_zeros(), 32)),
        Type::U64 => map(a, |a: u64| find(a.leading_zeros(), 64)),
        Type::S64 => map(a, |a: i64| find((a ^ (a >> 63)).leading_zeros(), 64)),
        _ => return None,
    })
}

pub(super) fn binary(function: Binary, kind: Type, mode: Mode, mask: Mask, a: &Lanes, b: &Lanes) -> Option<Lanes> {
    Some(match (function, kind) {
        (Binary::Add, Type::S32) if mode.saturate => map2(a, b, i32::saturating_add),
        (Binary::Subtract, Type::S32) if mode.saturate => map2(a, b, i32::saturating_sub),
        // Two's complement: the low bits do not depend on signs or on what is above.
        (Binary::Add, _) => map2(a, b, u64::wrapping_add),
        (Binary::Subtract, _) => map2(a, b, u64::wrapping_sub),
        (Binary::Multiply, _) => map2(a, b, u64::wrapping_mul),
        (Binary::Multiply24, Type::U32) => map2(a, b, |a: u32, b| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)),
        (Binary::Multiply24, Type::S32) => map2(a, b, |a: i32, b| (a << 8 >> 8).wrapping_mul(b << 8 >> 8)),
        (Binary::MultiplyHigh, _) => multiply_high(kind, a, b)?,
        (Binary::MultiplyWide, _) => multiply_wide(kind, a, b)?,
        (Binary::Divide, _) => divide(kind, mask, a, b)?,
        (Binary::Remainder, _) => remainder(kind, mask, a, b)?,
        (Binary::Minimum, Type::U16) => map2(a, b, |a: u16, b| a.min(b)),
        (Binary::Minimum, Type::U32) => map2(a, b, |a: u32, b| a.min(b)),
        (Binary::Minimum, Type::U64) => map2(a, b, |a: u64, b| a.min(b)),
        (Binary::Minimum, Type::S16) => map2(a, b, |a: i16, b| a.min(b)),
        (Binary::Minimum, Type::S32) => map2(a, b, |a: i32, b| a.min(b)),
        (Binary::Minimum, Type::S64) => map2(a, b, |a: i64, b| a.min(b)),
        (Binary::Maximum, Type::U16) => map2(a, b, |a: u16, b| a.max(b)),
        (Binary::Maximum, Type::U32) => map2(a, b, |a: u32, b| a.max(b)),
        (Binary::Maximum, Type::U64) => map2(a, b, |a: u64, b| a.max(b)),
        (Binary::Maximum, Type::S16) => map2(a, b, |a: i16, b| a.max(b)),
        (Binary::Maximum, Type::S32) => map2(a, b, |a: i32, b| a.max(b)),
        (Binary::Maximum, Type::S64) => map2(a, b, |a: i64, b| a.max(b)),
        (Binary::And, _) => map2(a, b, |a: u64, b| a & b),
        (Binary::Or, _) => map2(a, b, |a: u64, b| a | b),
        (Binary::Xor, _) => map2(a, b, |a: u64, b| a ^ b),
        (Binary::ShiftLeft, _) => shift(kind, a, b, |a, amount, width| if amount < width { a << amount } else { 0 }),
        (Binary::ShiftRight, _) => shift_right(kind, a, b)?,
        (Binary::SignExtend(wrap), Type::U32 | Type::S32) => map2(a, b, |a: u32, b| sign_extend(a, b, wrap, kind)),
        (Binary::BitMask(wrap), Type::B32) => map2(a, b, |a: u32, b| bit_mask(a, b, wrap)),
        _ => return None,
    })
}

fn multiply_high(kind: Type, a: &Lanes, b: &Lanes) -> Option<Lanes> {
    Some(match kind {
        Type::U16 => map2(a, b, |a: u16, b| (u32::from(a) * u32::from(b)) >> 16),
        Type::S16 => map2(a, b, |a: i16, b| (i32::from(a) * i32::from(b)) >> 16),
        Type::U32 => map2(a, b, |a: u32, b| (u64::from(a) * u64::from(b)) >> 32),
        Type::S32 => map2(a, b, |a: i32, b| (i64::from(a) * i64::from(b)) >> 32),
        Type::U64 => map2(a, b, |a: u64, b| ((u128::from(a) * u128::from(b)) >> 64) as u64),
        Type::S64 => map2(a, b, |a: i64, b| ((i128::from(a) * i128::from(b)) >> 64) as i64),
        _ => return None,
    })
}

fn multiply_wide(kind: Type, a: &Lanes, b: &Lanes) -> Option<Lanes> {
    Some(match kind {
        Type::U16 => map2(a, b, |a: u16, b| u32::from(a) * u32::from(b)),
        Type::S16 => map2(a, b, |a: i16, b| i32::from(a) * i32::from(b)),
        Type::U32 => map2(a, b, |a: u32, b| u64::from(a) * u64::from(b)),
        Type::S32 => map2(a, b, |a: i32, b| i64::from(a) * i64::from(b)),
        _ => return None,
    })
}

/// A division by zero gives all ones, as GPUs do.
fn divide(kind: Type, mask: Mask, a: &Lanes, b: &Lanes) -> Option<Lanes> {
    Some(match kind {
        Type::U16 => map2_some(mask, a, b, |a: u16, b| a.checked_div(b).unwrap_or(!0)),
        Type::U32 => map2_some(mask, a, b, |a: u32, b| a.checked_div(b).unwrap_or(!0)),
        Type::U64 => map2_some(mask, a, b, |a: u64, b| a.checked_div(b).unwrap_or(!0)),
        Type::S16 => map2_some(mask, a, b, |a: i16, b| if b == 0 { -1 } else { a.wrapping_div(b) }),
        Type::S32 => map2_some(mask, a, b, |a: i32, b| if b == 0 { -1 } else { a.wrapping_div(b) }),
        Type::S64 => map2_some(mask, a, b, |a: i64, b| if b == 0 { -1 } else { a.wrapping_div(b) }),
        _ => return None,
    })
}

fn remainder(kind: Type, mask: Mask, a: &Lanes, b: &Lanes) -> Option<Lanes> {
    Some(match kind {
        Type::U16 => map2_some(mask, a, b, |a: u16, b| a.checked_rem(b).unwrap_or(a)),
        Type::U32 => map2_some(mask, a, b, |a: u32, b| a.checked_rem(b).unwrap_or(a)),
        Type::U64 => map2_some(mask, a, b, |a: u64, b| a.checked_rem(b).unwrap_or(a)),
        Type::S16 => map2_some(mask, a, b, |a: i16, b| if b == 0 { a } else { a.wrapping_rem(b) }),
        Type::S32 => map2_some(mask, a, b, |a: i32, b| if b == 0 { a } else { a.wrapping_rem(b) }),
        Type::S64 => map2_some(mask, a, b, |a: i64, b| if b == 0 { a } else { a.wrapping_rem(b) }),
        _ => return None,
    })
}

/// The amount of a shift is 32 bits wide whatever is shifted.
fn shift(kind: Type, a: &Lanes, b: &Lanes, function: impl Fn(u64, u32, u32) -> u64) -> Lanes {
    let width = kind.bytes() * 8;
    std::array::from_fn(|lane| function(a[lane], b[lane] as u32, width))
}

fn shift_right(kind: Type, a: &Lanes, b: &Lanes) -> Option<Lanes> {
    Some(match kind {
        Type::B16 | Type::U16 => shift(kind, a, b, |a, amount, _| u16::of(a).checked_shr(amount).unwrap_or(0).bits()),
        Type::B32 | Type::U32 => shift(kind, a, b, |a, amount, _| u32::of(a).checked_shr(amount).unwrap_or(0).bits()),
        Type::B64 | Type::U64 => shift(kind, a, b, |a, amount, _| a.checked_shr(amount).unwrap_or(0)),
        Type::S16 => shift(kind, a, b, |a, amount, _| (i16::of(a) >> amount.min(15)).bits()),
        Type::S32 => shift(kind, a, b, |a, amount, _| (i32::of(a) >> amount.min(31)).bits()),
        Type::S64 => shift(kind, a, b, |a, amount, _| (i64::of(a) >> amount.min(63)).bits()),
        _ => return None,
    })
}

/// The low `bits` of a value, extended to 32.
fn sign_extend(a: u32, bits: u32, wrap: bool, kind: Type) -> u32 {
    let bits = if wrap { bits & 31 } else { bits };
    match bits {
        0 => 0,
        1..32 if kind == Type::S32 => ((a << (32 - bits)) as i32 >> (32 - bits)) as u32,
        1..32 => a << (32 - bits) >> (32 - bits),
        _ => a,
    }
}

/// So many ones from a position on.
fn bit_mask(position: u32, count: u32, wrap: bool) -> u32 {
    let (position, count) = if wrap { (position & 31, count & 31) } else { (position, count) };
    let ones = if count >= 32 { u64::from(u32::MAX) } else { (1 << count) - 1 };
    if position >= 32 { 0 } else { (ones << position) as u32 }
}

pub(super) fn ternary(function: Ternary, kind: Type, mode: Mode, a: &Lanes, b: &Lanes, c: &Lanes) -> Option<Lanes> {
    Some(match function {
        Ternary::MultiplyAdd => map3(a, b, c, |a: u64, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Ternary::MultiplyAddHigh if mode.saturate && kind == Type::S32 => {
            map2(&multiply_high(kind, a, b)?, c, i32::saturating_add)
        }
        Ternary::MultiplyAddHigh => map2(&multiply_high(kind, a, b)?, c, u64::wrapping_add),
        Ternary::MultiplyAddWide => map2(&multiply_wide(kind, a, b)?, c, u64::wrapping_add),
        Ternary::MultiplyAdd24 => {
            let product = binary(Binary::Multiply24, kind, Mode::default(), Mask::MAX, a, b)?;
            map2(&product, c, u64::wrapping_add)
        }
        Ternary::DifferenceSum => match kind {
            Type::U16 => map3(a, b, c, |a: u16, b, c| a.abs_diff(b).wrapping_add(c)),
            Type::S16 => map3(a, b, c, |a: i16, b, c| a.abs_diff(b).wrapping_add(c as u16)),
            Type::U32 => map3(a, b, c, |a: u32, b, c| a.abs_diff(b).wrapping_add(c)),
            Type::S32 => map3(a, b, c, |a: i32, b, c| a.abs_diff(b).wrapping_add(c as u32)),
            Type::U64 => map3(a, b, c, |a: u64, b, c| a.abs_diff(b).wrapping_add(c)),
            Type::S64 => map3(a, b, c, |a: i64, b, c| a.abs_diff(b).wrapping_add(c as u64)),
            _ => return None,
        },
        Ternary::Logic(table) => map3(a, b, c, |a: u64, b, c| logic(table, a, b, c)),
        Ternary::Permute(permutation) => map3(a, b, c, |a: u32, b, c| permute(permutation, a, b, c)),
        Ternary::FunnelShift { left, wrap } => map3(a, b, c, |a: u32, b, amount| {
            let both = u64::from(b) << 32 | u64::from(a);
            let amount = if wrap { amount & 31 } else { amount.min(32) };
            if left { (both << amount >> 32) as u32 } else { (both >> amount) as u32 }
        }),
        Ternary::ExtractBits => std::array::from_fn(|lane| extract(kind, a[lane], b[lane] as u8, c[lane] as u8)),
        Ternary::SelectBySign { float: false } => {
            std::array::from_fn(|lane| if c[lane] as i32 >= 0 { a[lane] } else { b[lane] })
        }
        Ternary::SelectBySign { float: true } => {
            std::array::from_fn(|lane| if f32::of(c[lane]) >= 0.0 { a[lane] } else { b[lane] })
        }
        Ternary::DotProduct { parts, signed, high } => {
            map3(a, b, c, |a: u32, b, c| dot_product(parts, signed, high, a, b, c))
        }
        Ternary::Parts { function, parts, signed, saturate, sum } => map3(a, b, c, |a: u32, b, c| {
            let results = of_parts(function, parts, signed, a, b);
            let results = &results[..usize::from(parts)];
            if sum { sum_of_parts(results, c) } else { joined_parts(results, signed[0], saturate) }
        }),
    })
}

/// Each bit of the result is the bit of the table that the three bits name.
#[inline(always)]
fn logic(table: u8, a: u64, b: u64, c: u64) -> u64 {
    let mut result = 0;
    for row in 0..8 {
        if table & 1 << row != 0 {
            let pick = |value: u64, bit: u8| if row & bit != 0 { value } else { !value };
            result |= pick(a, 4) & pick(b, 2) & pick(c, 1);
        }
    }
    result
}

/// Four bytes out of the eight of `b` and `a`, chosen by `c`.
fn permute(permutation: Permutation, a: u32, b: u32, c: u32) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let start = (c & 3) as usize;
    let picked: [usize; 4] = match permutation {
        Permutation::Index => {
            return u32::from_le_bytes(std::array::from_fn(|position| {
                let selector = c >> (4 * position);
                let byte = bytes[(selector & 7) as usize];
                // The top bit of a selector asks for copies of the sign.
                if selector & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte }
            }));
        }
        Permutation::Forward4 => std::array::from_fn(|position| start + position),
        Permutation::Backward4 => std::array::from_fn(|position| (start + 8 - position) & 7),
        Permutation::Replicate8 => [start; 4],
        Permutation::EdgeClampLeft => std::array::from_fn(|position| position.max(start)),
        Permutation::EdgeClampRight => std::array::from_fn(|position| position.min(start)),
        Permutation::Replicate16 => std::array::from_fn(|position| (start & 1) * 2 + (position & 1)),
    };
    u32::from_le_bytes(picked.map(|index| bytes[index]))
}

/// `length` bits from `position` on; signed ones are extended from the highest that is there.
fn extract(kind: Type, a: u64, position: u8, length: u8) -> u64 {
    let width = kind.bytes() * 8;
    let (position, length) = (u32::from(position), u32::from(length));
    if length == 0 {
        return 0;
    }
    let value = match kind {
        Type::S32 => i64::from(a as i32) as i128,
        Type::S64 => i128::from(a as i64),
        Type::U32 => i128::from(a as u32),
        _ => i128::from(a),
    };
    let shifted = value >> position.min(127);
    if length >= 128 {
        return shifted as u64;
    }
    let kept = length.min(width);
    let low = shifted & ((1i128 << kept) - 1);
    // The sign is the highest bit that is taken, or that of the whole value beyond its end.
    let sign = if position + length <= width { low >> (length - 1) & 1 != 0 } else { value < 0 };
    match kind.is_signed() && sign {
        true if kept < width => (low | -1i128 << kept) as u64,
        _ => low as u64,
    }
}

fn dot_product(parts: u8, signed: [bool; 2], high: bool, a: u32, b: u32, c: u32) -> u32 {
    let byte = |value: u32, index: u32, signed: bool| {
        let byte = (value >> (8 * index)) as u8;
        if signed { i32::from(byte as i8) } else { i32::from(byte) }
    };
    let half = |value: u32, index: u32, signed: bool| {
        let half = (value >> (16 * index)) as u16;
        if signed { i32::from(half as i16) } else { i32::from(half) }
    };
    let sum = (0..u32::from(parts)).fold(0i32, |sum, index| {
        let product = match parts {
            4 => byte(a, index, signed[0]).wrapping_mul(byte(b, index, signed[1])),
            _ => half(a, index, signed[0]).wrapping_mul(byte(b, index + if high { 2 } else { 0 }, signed[1])),
        };
        sum.wrapping_add(product)
    });
    c.wrapping_add(sum as u32)
}

/// A function of each part, in full; those of two parts come twice.
fn of_parts(function: OfParts, parts: u8, signed: [bool; 3], a: u32, b: u32) -> [i32; 4] {
    let bits = 32 / u32::from(parts);
    let part = |value: u32, index: u32, signed: bool| {
        let top = value << (32 - bits * (index + 1));
        if signed { top as i32 >> (32 - bits) } else { (top >> (32 - bits)) as i32 }
    };
    std::array::from_fn(|index| {
        let index = index as u32 % u32::from(parts);
        let (a, b) = (part(a, index, signed[1]), part(b, index, signed[2]));
        match function {
            OfParts::Add => a + b,
            OfParts::Subtract => a - b,
            OfParts::Difference => (a - b).abs(),
            OfParts::Min => a.min(b),
            OfParts::Max => a.max(b),
        }
    })
}

fn sum_of_parts(results: &[i32], c: u32) -> u32 {
    results.iter().fold(c, |sum, result| sum.wrapping_add(*result as u32))
}

fn joined_parts(results: &[i32], signed: bool, saturate: bool) -> u32 {
    let bits = 32 / results.len() as u32;
    let (least, most) = if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let mask = (1 << bits) - 1;
    results.iter().rev().fold(0, |all, result| {
        let result = if saturate { (*result).clamp(least, most) } else { *result };
        all << bits | result as u32 & mask
    })
}

/// `bfi`: the low bits of `a` in the place of some of `b`'s.
pub(super) fn insert_bits(kind: Type, a: &Lanes, b: &Lanes, position: &Lanes, length: &Lanes) -> Lanes {
    let width = kind.bytes() * 8;
    std::array::from_fn(|lane| {
        let (position, length) = (u32::from(position[lane] as u8), u32::from(length[lane] as u8));
        if position >= width {
            return b[lane];
        }
        let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
        let mask = ones << position;
        b[lane] & !mask | a[lane] << position & mask
    })
}

/// Sums with carry: the results, and the new carry of each lane.
pub(super) fn carry(subtract: bool, kind: Type, a: &Lanes, b: &Lanes, carry_in: Mask) -> (Lanes, Mask) {
    let width = kind.bytes() * 8;
    let mut result = [0; LANES];
    let mut carry_out = 0;
    for lane in lanes_of(Mask::MAX) {
        let cut = |value: u64| if width == 32 { u64::from(value as u32) } else { value };
        let given = u128::from(carry_in >> lane & 1);
        let (a, b) = (u128::from(cut(a[lane])), u128::from(cut(b[lane])));
        let whole = if subtract { a.wrapping_sub(b).wrapping_sub(given) } else { a + b + given };
        result[lane] = whole as u64;
        carry_out |= ((whole >> width & 1) as u32) << lane;
    }
    (result, carry_out)
}

/// The half of a product that is added to `c`.
pub(super) fn half_of_product(high: bool, kind: Type, a: &Lanes, b: &Lanes) -> Option<Lanes> {
    if high { multiply_high(kind, a, b) } else { Some(map2(a, b, u64::wrapping_mul)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(value: u64) -> Lanes {
        [value; LANES]
    }

    #[test]
    fn logic_is_the_table_bit_by_bit() {
        let (a, b, c) = (0xf0, 0xcc, 0xaa);
        for table in 0..=255u8 {
            assert_eq!(logic(table, a, b, c) as u8, table);
        }
    }

    #[test]
    fn bits_are_extracted_and_inserted() {
        assert_eq!(extract(Type::U32, 0xabcd_1234, 8, 8), 0x12);
        assert_eq!(extract(Type::S32, 0xabcd_8234, 8, 8) as i32, 0x82u8 as i8 as i32);
        assert_eq!(extract(Type::S32, 0x8000_0000, 31, 8) as i32, -1, "beyond the end there are copies of the sign");
        assert_eq!(extract(Type::S64, 5, 0, 0), 0);
        assert_eq!(extract(Type::U32, 5, 40, 3), 0);
        let inserted = insert_bits(Type::B32, &one(0xff), &one(0), &one(28), &one(8));
        assert_eq!(inserted[0] as u32, 0xf000_0000);
    }

    #[test]
    fn carries_go_from_word_to_word() {
        let (low, carries) = carry(false, Type::U32, &one(0xffff_ffff), &one(1), 0);
        assert_eq!((low[3] as u32, carries), (0, Mask::MAX));
        let (high, _) = carry(false, Type::U32, &one(1), &one(2), carries);
        assert_eq!(high[3] as u32, 4);
        let (difference, borrows) = carry(true, Type::U32, &one(0), &one(1), 0);
        assert_eq!((difference[0] as u32, borrows), (u32::MAX, Mask::MAX));
    }

    #[test]
    fn bytes_are_permuted() {
        assert_eq!(permute(Permutation::Index, 0x3322_1100, 0x7766_5544, 0x7531), 0x7755_3311);
        assert_eq!(permute(Permutation::Index, 0x80, 0, 0x8), 0x8080_80ff);
        assert_eq!(permute(Permutation::Replicate16, 0x3322_1100, 0, 1), 0x3322_3322);
    }

    #[test]
    fn division_by_zero_does_not_stop_the_world() {
        let mode = Mode::default();
        let quotient = binary(Binary::Divide, Type::S32, mode, Mask::MAX, &one(i32::MIN as u32 as u64), &one(u64::MAX));
        assert_eq!(quotient.map(|lanes| lanes[0] as i32), Some(i32::MIN));
        let quotient = binary(Binary::Divide, Type::U32, mode, Mask::MAX, &one(7), &one(0));
        assert_eq!(quotient.map(|lanes| lanes[0] as u32), Some(u32::MAX));
    }
}
