//! Arithmetic on floating-point numbers, comparisons and conversions.
//!
//! Approximate instructions give the correctly rounded value, except that the reciprocals of double precision keep only the
//! upper half of their bits, as the hardware's tables do: what is computed from them must not rely on more.

use super::lanes::{LANES, Lanes, Mask, Value, lanes_of, map, map_some, map2, map2_some, map3};
use super::rounding::{self, BFLOAT, Format, HALF, Real, SINGLE, add_to_odd, from_bits, narrow, to_bits};
use crate::program::{Binary, Comparison, FloatClass, Mode, Rounding, Type, Unary};

/// The NaN that single-precision instructions give.
const NAN: u32 = 0x7fff_ffff;

/// A subnormal number as zero, where the instruction says so.
#[inline(always)]
fn flushed(value: f32, mode: Mode) -> f32 {
    if mode.flush && value.abs() < f32::MIN_POSITIVE { 0f32.copysign(value) } else { value }
}

/// A result of single precision.
#[inline(always)]
fn finished(value: f32, mode: Mode) -> f32 {
    let value = flushed(value, mode);
    if mode.saturate {
        return if value > 0.0 { value.min(1.0) } else { 0.0 };
    }
    if value.is_nan() { f32::from_bits(NAN) } else { value }
}

fn clamped(value: f64, mode: Mode) -> f64 {
    match mode {
        Mode { saturate: true, .. } => {
            if value > 0.0 {
                value.min(1.0)
            } else {
                0.0
            }
        }
        Mode { relu: true, .. } => {
            if value < 0.0 {
                0.0
            } else {
                value
            }
        }
        _ => value,
    }
}

/// The format of half-precision types, single or in pairs.
fn format(kind: Type) -> Option<Format> {
    match kind {
        Type::F16 | Type::F16x2 => Some(HALF),
        Type::Bf16 | Type::Bf16x2 => Some(BFLOAT),
        _ => None,
    }
}

fn parts(kind: Type) -> u32 {
    if matches!(kind, Type::F16x2 | Type::Bf16x2) { 2 } else { 1 }
}

/// Applies a function to each half-precision part; the result is rounded once.
fn halves<const N: usize>(
    kind: Type,
    mask: Mask,
    operands: [&Lanes; N],
    function: impl Fn([f64; N]) -> f64,
) -> Option<Lanes> {
    let format = format(kind)?;
    let mut result = [0; LANES];
    for lane in lanes_of(mask) {
        for part in 0..parts(kind) {
            let values = operands.map(|operand| from_bits((operand[lane] >> (16 * part)) as u16, format));
            let bits = to_bits(narrow(function(values), format, Rounding::Nearest), format);
            result[lane] |= u64::from(bits) << (16 * part);
        }
    }
    Some(result)
}

/// None if there is no such instruction.
pub(super) fn unary(function: Unary, kind: Type, mode: Mode, mask: Mask, a: &Lanes) -> Option<Lanes> {
    match (function, kind) {
        (Unary::Negate, Type::F32) => Some(map(a, |a: f32| flushed(-a, mode))),
        (Unary::Negate, Type::F64) => Some(map(a, |a: f64| -a)),
        (Unary::Absolute, Type::F32) => Some(map(a, |a: f32| flushed(a.abs(), mode))),
        (Unary::Absolute, Type::F64) => Some(map(a, f64::abs)),
        // Signs of half precision are bits: nothing is rounded, and NaN keeps its form.
        (Unary::Negate, Type::F16 | Type::Bf16) => Some(map(a, |a: u16| a ^ 0x8000)),
        (Unary::Negate, Type::F16x2 | Type::Bf16x2) => Some(map(a, |a: u32| a ^ 0x8000_8000)),
        (Unary::Absolute, Type::F16 | Type::Bf16) => Some(map(a, |a: u16| a & 0x7fff)),
        (Unary::Absolute, Type::F16x2 | Type::Bf16x2) => Some(map(a, |a: u32| a & 0x7fff_7fff)),
        (Unary::Is(class), Type::F32) => Some(map(a, |a: f32| is(class, a.classify()))),
        (Unary::Is(class), Type::F64) => Some(map(a, |a: f64| is(class, a.classify()))),
        (Unary::Reciprocal, Type::F32) => Some(single(mode, mask, a, |a| rounding::divide(1.0, a, mode.rounding))),
        (Unary::Reciprocal, Type::F64) => Some(map_some(mask, a, |a: f64| rounding::divide(1.0, a, mode.rounding))),
        (Unary::SquareRoot, Type::F32) => Some(single(mode, mask, a, |a| rounding::root(a, mode.rounding))),
        (Unary::SquareRoot, Type::F64) => Some(map_some(mask, a, |a: f64| rounding::root(a, mode.rounding))),
        (Unary::ReciprocalTable, Type::F64) => Some(map_some(mask, a, |a: f64| upper_half(1.0 / flush_double(a)))),
        (Unary::ReciprocalRootTable, Type::F64) => {
            Some(map_some(mask, a, |a: f64| upper_half(1.0 / flush_double(a).sqrt())))
        }
        (_, Type::F32) => {
            let function = through_double(function)?;
            Some(single(mode, mask, a, |a| function(f64::from(a)) as f32))
        }
        (_, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) => {
            let function = through_double(function)?;
            halves(kind, mask, [a], |[a]| function(a))
        }
        _ => None,
    }
}

/// A function of single precision, with its operand and result as the mode wants them.
fn single(mode: Mode, mask: Mask, a: &Lanes, function: impl Fn(f32) -> f32) -> Lanes {
    map_some(mask, a, |a: f32| finished(function(flushed(a, mode)), mode))
}

/// Functions whose double-precision value is rounded.
fn through_double(function: Unary) -> Option<fn(f64) -> f64> {
    Some(match function {
        Unary::ReciprocalRoot => |a| 1.0 / a.sqrt(),
        Unary::SquareRoot => f64::sqrt,
        Unary::Reciprocal => |a| 1.0 / a,
        Unary::Sine => f64::sin,
        Unary::Cosine => f64::cos,
        Unary::Exponential2 => f64::exp2,
        Unary::Logarithm2 => f64::log2,
        Unary::HyperbolicTangent => f64::tanh,
        _ => return None,
    })
}

fn flush_double(value: f64) -> f64 {
    if value.abs() < f64::MIN_POSITIVE { 0f64.copysign(value) } else { value }
}

/// Without the lower 32 bits.
fn upper_half(value: f64) -> f64 {
    flush_double(f64::from_bits(value.to_bits() & !0xffff_ffff))
}

fn is(class: FloatClass, category: std::num::FpCategory) -> bool {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    match class {
        FloatClass::Finite => matches!(category, Normal | Subnormal | Zero),
        FloatClass::Infinite => category == Infinite,
        FloatClass::Number => category != Nan,
        FloatClass::NotANumber => category == Nan,
        // PTX counts zero among the subnormal numbers.
        FloatClass::Normal => category == Normal,
        FloatClass::Subnormal => matches!(category, Subnormal | Zero),
    }
}

/// None if there is no such instruction.
pub(super) fn binary(function: Binary, kind: Type, mode: Mode, mask: Mask, a: &Lanes, b: &Lanes) -> Option<Lanes> {
    match kind {
        Type::F32 => binary_single(function, mode, mask, a, b),
        Type::F64 => binary_double(function, mode, mask, a, b),
        _ => match function {
            Binary::Add => halves(kind, mask, [a, b], |[a, b]| clamped(a + b, mode)),
            Binary::Subtract => halves(kind, mask, [a, b], |[a, b]| clamped(a - b, mode)),
            Binary::Multiply => halves(kind, mask, [a, b], |[a, b]| clamped(a * b, mode)),
            Binary::Divide => halves(kind, mask, [a, b], |[a, b]| clamped(a / b, mode)),
            Binary::Minimum => halves(kind, mask, [a, b], |[a, b]| minimum(a, b, mode)),
            Binary::Maximum => halves(kind, mask, [a, b], |[a, b]| -minimum(-a, -b, mode)),
            _ => None,
        },
    }
}

fn binary_single(function: Binary, mode: Mode, mask: Mask, a: &Lanes, b: &Lanes) -> Option<Lanes> {
    let apply = |function: fn(f32, f32) -> f32| {
        map2(a, b, |a: f32, b| finished(function(flushed(a, mode), flushed(b, mode)), mode))
    };
    let slowly = |function: fn(f32, f32, Rounding) -> f32| {
        map2_some(mask, a, b, |a: f32, b| finished(function(flushed(a, mode), flushed(b, mode), mode.rounding), mode))
    };
    let is_nearest = mode.rounding == Rounding::Nearest;
    Some(match function {
        Binary::Add if is_nearest => apply(|a, b| a + b),
        Binary::Subtract if is_nearest => apply(|a, b| a - b),
        Binary::Multiply if is_nearest => apply(|a, b| a * b),
        Binary::Divide if is_nearest => apply(|a, b| a / b),
        Binary::Add => slowly(rounding::add),
        Binary::Subtract => slowly(|a, b, rounding| rounding::add(a, -b, rounding)),
        Binary::Multiply => slowly(rounding::multiply),
        Binary::Divide => slowly(rounding::divide),
        Binary::Minimum => map2(a, b, |a: f32, b| finished(minimum(flushed(a, mode), flushed(b, mode), mode), mode)),
        Binary::Maximum => map2(a, b, |a: f32, b| finished(-minimum(-flushed(a, mode), -flushed(b, mode), mode), mode)),
        // `copysign d, a, b` takes the sign of a.
        Binary::CopySign => map2(a, b, |a: f32, b| b.copysign(a)),
        _ => return None,
    })
}

fn binary_double(function: Binary, mode: Mode, mask: Mask, a: &Lanes, b: &Lanes) -> Option<Lanes> {
    let slowly =
        |function: fn(f64, f64, Rounding) -> f64| map2_some(mask, a, b, |a: f64, b| function(a, b, mode.rounding));
    let is_nearest = mode.rounding == Rounding::Nearest;
    Some(match function {
        Binary::Add if is_nearest => map2(a, b, |a: f64, b| a + b),
        Binary::Subtract if is_nearest => map2(a, b, |a: f64, b| a - b),
        Binary::Multiply if is_nearest => map2(a, b, |a: f64, b| a * b),
        Binary::Divide if is_nearest => map2(a, b, |a: f64, b| a / b),
        Binary::Add => slowly(rounding::add),
        Binary::Subtract => slowly(|a, b, rounding| rounding::add(a, -b, rounding)),
        Binary::Multiply => slowly(rounding::multiply),
        Binary::Divide => slowly(rounding::divide),
        Binary::Minimum => map2(a, b, |a: f64, b| minimum(a, b, mode)),
        Binary::Maximum => map2(a, b, |a: f64, b| -minimum(-a, -b, mode)),
        Binary::CopySign => map2(a, b, |a: f64, b| b.copysign(a)),
        _ => return None,
    })
}

/// The smaller one; a number rather than NaN, unless the mode keeps NaN; minus zero is smaller than zero.
#[inline(always)]
fn minimum<T: Real>(a: T, b: T, mode: Mode) -> T {
    match (a.is_number(), b.is_number()) {
        (true, true) if a < b || (a == b && a.is_negative()) => a,
        (true, true) => b,
        (false, true) if !mode.keep_nan => b,
        (true, false) if !mode.keep_nan => a,
        (true, false) => b,
        _ => a,
    }
}

/// None if there is no such instruction.
pub(super) fn multiply_add(kind: Type, mode: Mode, mask: Mask, operands: [&Lanes; 3]) -> Option<Lanes> {
    let [a, b, c] = operands;
    let is_nearest = mode.rounding == Rounding::Nearest;
    match kind {
        Type::F32 if is_nearest => Some(map3(a, b, c, |a: f32, b, c| {
            finished(fused_single(flushed(a, mode), flushed(b, mode), flushed(c, mode)), mode)
        })),
        Type::F32 => {
            let mut result = [0; LANES];
            for lane in lanes_of(mask) {
                let [a, b, c] = operands.map(|operand| flushed(f32::of(operand[lane]), mode));
                result[lane] = finished(rounding::fused(a, b, c, mode.rounding), mode).bits();
            }
            Some(result)
        }
        Type::F64 => {
            let mut result = [0; LANES];
            for lane in lanes_of(mask) {
                let [a, b, c] = operands.map(|operand| f64::of(operand[lane]));
                result[lane] = rounding::fused(a, b, c, mode.rounding).bits();
            }
            Some(result)
        }
        _ => halves(kind, mask, operands, |[a, b, c]| clamped(add_to_odd(a * b, c), mode)),
    }
}

/// The product of two singles is exact in double precision, and a sum that remembers what it lost rounds right: three
/// vector instructions instead of a call.
#[inline(always)]
fn fused_single(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let second = sum - product;
    let error = (product - (sum - second)) + (c - second);
    let bits = sum.to_bits();
    // Only a sum that lost something and ends in an even bit is moved, towards what was lost.
    let is_moved = error != 0.0 && bits & 1 == 0 && sum.is_finite();
    let step = if (error > 0.0) == (sum > 0.0) { 1u64 } else { u64::MAX };
    let odd = f64::from_bits(bits.wrapping_add(if is_moved { step } else { 0 }));
    odd as f32
}

/// Which lanes' comparison holds.
pub(super) fn compare(comparison: Comparison, kind: Type, flush: bool, a: &Lanes, b: &Lanes) -> Option<Lanes> {
    let mode = Mode { flush, ..Mode::default() };
    Some(match kind {
        Type::Predicate => map2(a, b, |a: bool, b| ordered(comparison, &a, &b)),
        Type::B8 | Type::U8 => map2(a, b, |a: u8, b| ordered(comparison, &a, &b)),
        Type::S8 => map2(a, b, |a: i8, b| ordered(comparison, &a, &b)),
        Type::B16 | Type::U16 => map2(a, b, |a: u16, b| ordered(comparison, &a, &b)),
        Type::S16 => map2(a, b, |a: i16, b| ordered(comparison, &a, &b)),
        Type::B32 | Type::U32 => map2(a, b, |a: u32, b| ordered(comparison, &a, &b)),
        Type::S32 => map2(a, b, |a: i32, b| ordered(comparison, &a, &b)),
        Type::B64 | Type::U64 => map2(a, b, |a: u64, b| ordered(comparison, &a, &b)),
        Type::S64 => map2(a, b, |a: i64, b| ordered(comparison, &a, &b)),
        Type::F32 => map2(a, b, |a: f32, b| ordered(comparison, &flushed(a, mode), &flushed(b, mode))),
        Type::F64 => map2(a, b, |a: f64, b| ordered(comparison, &a, &b)),
        Type::F16 | Type::Bf16 => {
            let format = format(kind)?;
            map2(a, b, |a: u16, b| ordered(comparison, &from_bits(a, format), &from_bits(b, format)))
        }
        Type::B128 | Type::F16x2 | Type::Bf16x2 => return None,
    })
}

#[inline(always)]
fn ordered<T: PartialOrd>(comparison: Comparison, a: &T, b: &T) -> bool {
    match comparison {
        Comparison::Equal => a == b,
        Comparison::NotEqual => a.partial_cmp(b).is_some_and(|order| order.is_ne()),
        Comparison::Less => a < b,
        Comparison::LessEqual => a <= b,
        Comparison::Greater => a > b,
        Comparison::GreaterEqual => a >= b,
        Comparison::Numbers => a.partial_cmp(b).is_some(),
        Comparison::NotNumbers => a.partial_cmp(b).is_none(),
        Comparison::EqualUnordered => a.partial_cmp(b).is_none_or(|order| order.is_eq()),
        Comparison::NotEqualUnordered => a != b,
        Comparison::LessUnordered => a.partial_cmp(b).is_none_or(|order| order.is_lt()),
        Comparison::LessEqualUnordered => a.partial_cmp(b).is_none_or(|order| order.is_le()),
        Comparison::GreaterUnordered => a.partial_cmp(b).is_none_or(|order| order.is_gt()),
        Comparison::GreaterEqualUnordered => a.partial_cmp(b).is_none_or(|order| order.is_ge()),
    }
}

/// `cvt`. With `integral` a number becomes the nearest integer, of whichever type.
pub(super) fn convert(from: Type, into: Type, mode: Mode, integral: bool, mask: Mask, a: &Lanes) -> Option<Lanes> {
    if !from.is_float() && !into.is_float() {
        return Some(map(a, |a: u64| integer_to_integer(a, from, into, mode.saturate)));
    }
    // The common conversions, for all lanes at once.
    match (from, into) {
        (Type::F32, Type::F64) if !integral && !mode.saturate => {
            return Some(map(a, |a: f32| f64::from(flushed(a, mode))));
        }
        (Type::F64, Type::F32) if !integral && mode.rounding == Rounding::Nearest => {
            return Some(map(a, |a: f64| finished(a as f32, mode)));
        }
        (Type::S32, Type::F32) if mode.rounding == Rounding::Nearest => return Some(map(a, |a: i32| a as f32)),
        (Type::S32, Type::F64) => return Some(map(a, |a: i32| f64::from(a))),
        (Type::U32, Type::F64) => return Some(map(a, |a: u32| f64::from(a))),
        _ => {}
    }
    let mut result = [0; LANES];
    for lane in lanes_of(mask) {
        result[lane] = convert_one(from, into, mode, integral, a[lane])?;
    }
    Some(result)
}

fn integer_to_integer(bits: u64, from: Type, into: Type, saturate: bool) -> u64 {
    let value = widened(bits, from);
    if !saturate {
        return value as u64;
    }
    let (low, high) = range(into);
    value.clamp(low, high) as u64
}

/// An integer of a type, as one that holds all of them.
fn widened(bits: u64, kind: Type) -> i128 {
    match kind {
        Type::U8 | Type::B8 => i128::from(bits as u8),
        Type::U16 | Type::B16 => i128::from(bits as u16),
        Type::U32 | Type::B32 => i128::from(bits as u32),
        Type::S8 => i128::from(bits as i8),
        Type::S16 => i128::from(bits as i16),
        Type::S32 => i128::from(bits as i32),
        Type::S64 => i128::from(bits as i64),
        Type::Predicate => i128::from(bits & 1),
        _ => i128::from(bits),
    }
}

fn range(kind: Type) -> (i128, i128) {
    let bits = kind.bytes() * 8;
    if kind.is_signed() { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

fn convert_one(from: Type, into: Type, mode: Mode, integral: bool, bits: u64) -> Option<u64> {
    if !from.is_float() {
        return integer_to_float(widened(bits, from), into, mode);
    }
    let value = match from {
        Type::F32 => f64::from(flushed(f32::of(bits), mode)),
        Type::F64 => f64::of(bits),
        _ => from_bits(bits as u16, format(from)?),
    };
    if !into.is_float() {
        return Some(float_to_integer(value, into, mode));
    }
    let value = if integral { rounded_to_integer(value, mode.rounding) } else { value };
    let rounding = if integral { Rounding::Nearest } else { mode.rounding };
    Some(match into {
        Type::F64 => clamped(value, mode).bits(),
        Type::F32 => finished(narrow(value, SINGLE, rounding) as f32, mode).bits(),
        _ => {
            let format = format(into)?;
            u64::from(to_bits(clamped(narrow(value, format, rounding), mode), format))
        }
    })
}

fn rounded_to_integer(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// Numbers beyond the range become its end. NaN becomes 0, or the smallest number of 64 bits.
fn float_to_integer(value: f64, into: Type, mode: Mode) -> u64 {
    let (low, high) = range(into);
    if value.is_nan() {
        return if into.bytes() == 8 { 1 << 63 } else { 0 };
    }
    (rounded_to_integer(value, mode.rounding) as i128).clamp(low, high) as u64
}

fn integer_to_float(value: i128, into: Type, mode: Mode) -> Option<u64> {
    // Doubles hold 53 bits of the 64; the rest decides the rounding.
    let nearest = value as f64;
    let order = value.cmp(&(nearest as i128));
    let double = match (mode.rounding, order) {
        (Rounding::Down, std::cmp::Ordering::Less) => nearest.next_down(),
        (Rounding::Up, std::cmp::Ordering::Greater) => nearest.next_up(),
        (Rounding::Zero, std::cmp::Ordering::Less) if nearest > 0.0 => nearest.next_down(),
        (Rounding::Zero, std::cmp::Ordering::Greater) if nearest < 0.0 => nearest.next_up(),
        _ => nearest,
    };
    // For narrower types the last bit says whether something was lost.
    let odd = match order {
        std::cmp::Ordering::Equal => nearest,
        _ if nearest.to_bits() & 1 != 0 => nearest,
        order if (order == std::cmp::Ordering::Greater) == (nearest > 0.0) => f64::from_bits(nearest.to_bits() + 1),
        _ => f64::from_bits(nearest.to_bits() - 1),
    };
    Some(match into {
        Type::F64 => double.bits(),
        Type::F32 => finished(narrow(odd, SINGLE, mode.rounding) as f32, mode).bits(),
        _ => {
            let format = format(into)?;
            u64::from(to_bits(narrow(odd, format, mode.rounding), format))
        }
    })
}

/// Two single-precision numbers as a pair, `a` above `b`.
pub(super) fn convert_pair(into: Type, mode: Mode, a: &Lanes, b: &Lanes) -> Option<Lanes> {
    let format = format(into)?;
    let one = |bits: u64| {
        let value = narrow(f64::from(f32::of(bits)), format, mode.rounding);
        u64::from(to_bits(clamped(value, mode), format))
    };
    Some(std::array::from_fn(|lane| one(a[lane]) << 16 | one(b[lane])))
}

/// 1.0 or all ones where a comparison holds.
pub(super) fn truth(result: Type, holds: &Lanes) -> Option<Lanes> {
    Some(match result {
        Type::F32 => map(holds, |holds: bool| if holds { 1f32 } else { 0.0 }),
        Type::F16 => map(holds, |holds: bool| if holds { 0x3c00u16 } else { 0 }),
        Type::Bf16 => map(holds, |holds: bool| if holds { 0x3f80u16 } else { 0 }),
        Type::U32 | Type::S32 | Type::B32 | Type::U16 | Type::S16 => {
            map(holds, |holds: bool| if holds { u64::MAX } else { 0 })
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fused_products_of_singles_are_those_of_the_library(a: u32, b: u32, c: u32) {
            let [a, b, c] = [a, b, c].map(f32::from_bits);
            let (ours, theirs) = (fused_single(a, b, c), a.mul_add(b, c));
            prop_assert!(ours == theirs || (ours.is_nan() && theirs.is_nan()), "{a:e} {b:e} {c:e}: {ours:e} {theirs:e}");
        }

        #[test]
        fn integers_become_the_nearest_single(value: i64) {
            let bits = integer_to_float(i128::from(value), Type::F32, Mode::default());
            prop_assert_eq!(bits.map(f32::of), Some(value as f32));
            let bits = integer_to_float(i128::from(value as u64), Type::F64, Mode::default());
            prop_assert_eq!(bits.map(f64::of), Some(value as u64 as f64));
        }
    }

    #[test]
    fn conversions_to_integers_saturate() {
        let zero = Mode { rounding: Rounding::Zero, ..Mode::default() };
        assert_eq!(float_to_integer(-3.7, Type::S32, zero) as i32, -3);
        assert_eq!(float_to_integer(3e10, Type::S32, zero) as i32, i32::MAX);
        assert_eq!(float_to_integer(-1.0, Type::U32, zero) as u32, 0);
        assert_eq!(float_to_integer(2.5, Type::S64, Mode::default()) as i64, 2);
        assert_eq!(float_to_integer(f64::NAN, Type::S32, zero), 0);
        assert_eq!(integer_to_integer(300, Type::S32, Type::U8, true), 255);
        assert_eq!(integer_to_integer(0xffff_fff0, Type::S32, Type::S64, false) as i64, -16);
    }

    #[test]
    fn the_smaller_of_two_is_a_number_if_there_is_one() {
        let mode = Mode::default();
        assert_eq!(minimum(f32::NAN, 2.0, mode), 2.0);
        assert!(minimum(0f32, -0.0, mode).is_sign_negative());
        assert!(minimum(f64::NAN, 2.0, Mode { keep_nan: true, ..mode }).is_nan());
        assert!(minimum(2.0, f64::NAN, Mode { keep_nan: true, ..mode }).is_nan());
    }

    #[test]
    fn comparisons_with_nan_hold_only_if_they_say_so() {
        let nan = f64::NAN;
        for (comparison, unordered) in [
            (Comparison::Equal, Comparison::EqualUnordered),
            (Comparison::NotEqual, Comparison::NotEqualUnordered),
            (Comparison::Less, Comparison::LessUnordered),
            (Comparison::GreaterEqual, Comparison::GreaterEqualUnordered),
        ] {
            assert!(!ordered(comparison, &nan, &1.0) && ordered(unordered, &nan, &1.0));
        }
        assert!(ordered(Comparison::NotNumbers, &nan, &1.0) && ordered(Comparison::Numbers, &1.0, &1.0));
    }
}
