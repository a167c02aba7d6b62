//! Arithmetic that rounds as it is told.
//!
//! The processor rounds to the nearest number. How far that is from the exact result can be computed without error, and its
//! sign decides whether the neighbour is the result that was asked for. Where products are too small to have an exact
//! error (below 2^-969 in double precision) the neighbour may be missed.

use std::cmp::Ordering;

use super::lanes::Value;
use crate::program::Rounding;

/// `f32` and `f64`.
pub(super) trait Real: Value + PartialOrd {
    const ZERO: Self;
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn divide(self, other: Self) -> Self;
    fn fused(self, factor: Self, added: Self) -> Self;
    fn root(self) -> Self;
    fn negate(self) -> Self;
    fn up(self) -> Self;
    fn down(self) -> Self;
    fn is_finite(self) -> bool;
    fn is_number(self) -> bool;
    fn is_negative(self) -> bool;
}

macro_rules! real {
    ($type:ty) => {
        impl Real for $type {
            const ZERO: $type = 0.0;

            #[inline(always)]
            fn add(self, other: $type) -> $type {
                self + other
            }

            #[inline(always)]
            fn subtract(self, other: $type) -> $type {
                self - other
            }

            #[inline(always)]
            fn multiply(self, other: $type) -> $type {
                self * other
            }

            #[inline(always)]
            fn divide(self, other: $type) -> $type {
                self / other
            }

            #[inline(always)]
            fn fused(self, factor: $type, added: $type) -> $type {
                self.mul_add(factor, added)
            }

            #[inline(always)]
            fn root(self) -> $type {
                self.sqrt()
            }

            #[inline(always)]
            fn negate(self) -> $type {
                -self
            }

            fn up(self) -> $type {
                self.next_up()
            }

            fn down(self) -> $type {
                self.next_down()
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                self.is_finite()
            }

            #[inline(always)]
            fn is_number(self) -> bool {
                !self.is_nan()
            }

            #[inline(always)]
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
        }
    };
}

real!(f32);
real!(f64);

pub(super) fn add<T: Real>(a: T, b: T, rounding: Rounding) -> T {
    let sum = a.add(b);
    if rounding == Rounding::Down && sum == T::ZERO && a == b.negate() && a != T::ZERO {
        return T::ZERO.negate();
    }
    rounded(sum, a.is_finite() && b.is_finite(), rounding, || sign(error_of_sum(a, b, sum)))
}

pub(super) fn multiply<T: Real>(a: T, b: T, rounding: Rounding) -> T {
    let product = a.multiply(b);
    rounded(product, a.is_finite() && b.is_finite(), rounding, || sign(a.fused(b, product.negate())))
}

pub(super) fn divide<T: Real>(a: T, b: T, rounding: Rounding) -> T {
    let quotient = a.divide(b);
    let is_ordinary = a.is_finite() && b.is_finite() && b != T::ZERO;
    rounded(quotient, is_ordinary, rounding, || {
        let error = sign(quotient.negate().fused(b, a));
        if b.is_negative() { error.reverse() } else { error }
    })
}

pub(super) fn root<T: Real>(a: T, rounding: Rounding) -> T {
    let root = a.root();
    rounded(root, a.is_finite(), rounding, || sign(root.negate().fused(root, a)))
}

pub(super) fn fused<T: Real>(a: T, b: T, c: T, rounding: Rounding) -> T {
    let result = a.fused(b, c);
    if rounding == Rounding::Nearest {
        return result;
    }
    rounded(result, a.is_finite() && b.is_finite() && c.is_finite(), rounding, || {
        let product = a.multiply(b);
        let low = a.fused(b, product.negate());
        // The exact value is product + low + c; what is left of it without the result has this sign.
        let sum = product.add(c);
        let sum_low = error_of_sum(product, c, sum);
        let rest = sum.subtract(result);
        let rest_low = error_of_sum(sum, result.negate(), rest);
        let small = sum_low.add(low);
        let small_low = error_of_sum(sum_low, low, small);
        let all = rest.add(small);
        match sign(all) {
            Ordering::Equal => sign(error_of_sum(rest, small, all).add(small_low).add(rest_low)),
            known => known,
        }
    })
}

/// What is lost when a sum is rounded.
pub(super) fn error_of_sum<T: Real>(a: T, b: T, sum: T) -> T {
    let second = sum.subtract(a);
    a.subtract(sum.subtract(second)).add(b.subtract(second))
}

fn sign<T: Real>(value: T) -> Ordering {
    value.partial_cmp(&T::ZERO).unwrap_or(Ordering::Equal)
}

/// Corrects a result that was rounded to nearest; `error` is the sign of the exact value minus it.
#[inline(always)]
fn rounded<T: Real>(nearest: T, is_ordinary: bool, rounding: Rounding, error: impl FnOnce() -> Ordering) -> T {
    if rounding == Rounding::Nearest || !is_ordinary || !nearest.is_number() {
        return nearest;
    }
    let error = match nearest.is_finite() {
        true => error(),
        // Too large to be represented, but finite.
        false if nearest.is_negative() => Ordering::Greater,
        false => Ordering::Less,
    };
    let negative = nearest.is_negative();
    match (rounding, error) {
        (Rounding::Down, Ordering::Less) => nearest.down(),
        (Rounding::Up, Ordering::Greater) => nearest.up(),
        (Rounding::Zero, Ordering::Less) if !negative => nearest.down(),
        (Rounding::Zero, Ordering::Greater) if negative => nearest.up(),
        _ => nearest,
    }
}

/// A floating-point format narrower than double precision.
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// Stored bits of the significand.
    significand: i32,
    /// The exponent of the smallest normal number.
    smallest: i32,
    largest: i32,
}

pub(super) const HALF: Format = Format { significand: 10, smallest: -14, largest: 15 };
pub(super) const BFLOAT: Format = Format { significand: 7, smallest: -126, largest: 127 };
pub(super) const SINGLE: Format = Format { significand: 23, smallest: -126, largest: 127 };

/// The number of a format that a value is rounded to, as a double.
pub(super) fn narrow(value: f64, format: Format, rounding: Rounding) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = (((value.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(format.smallest);
    let quantum = power_of_two(exponent - format.significand);
    let steps = value / quantum;
    let rounded = match rounding {
        Rounding::Nearest => steps.round_ties_even(),
        Rounding::Zero => steps.trunc(),
        Rounding::Down => steps.floor(),
        Rounding::Up => steps.ceil(),
    } * quantum;
    let largest = power_of_two(format.largest + 1) - power_of_two(format.largest - format.significand);
    let away = match rounding {
        Rounding::Nearest => true,
        Rounding::Zero => false,
        Rounding::Down => value < 0.0,
        Rounding::Up => value > 0.0,
    };
    match rounded.abs() > largest {
        false => rounded.copysign(value),
        true if away => f64::INFINITY.copysign(value),
        true => largest.copysign(value),
    }
}

/// The stored form of a value that the format can represent.
pub(super) fn to_bits(value: f64, format: Format) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let exponent_of_infinity = (format.largest - format.smallest + 2) as u16;
    if value.is_nan() {
        return 0x7fff;
    }
    if value.is_infinite() {
        return sign | exponent_of_infinity << format.significand;
    }
    let exponent = (((value.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(format.smallest);
    let steps = (value.abs() / power_of_two(exponent - format.significand)) as u16;
    // The hidden bit, if there is one, counts the exponent up by one.
    sign | (((exponent - format.smallest) as u16) << format.significand).wrapping_add(steps)
}

/// The value of a stored form.
pub(super) fn from_bits(bits: u16, format: Format) -> f64 {
    let significand = f64::from(bits & ((1 << format.significand) - 1));
    let exponent = i32::from((bits & 0x7fff) >> format.significand);
    let infinite = format.largest - format.smallest + 2;
    let hidden = power_of_two(format.significand);
    let magnitude = match exponent {
        0 => significand * power_of_two(format.smallest - format.significand),
        exponent if exponent == infinite && significand == 0.0 => f64::INFINITY,
        exponent if exponent == infinite => f64::NAN,
        exponent => (hidden + significand) * power_of_two(exponent - 1 + format.smallest - format.significand),
    };
    if bits & 0x8000 != 0 { -magnitude } else { magnitude }
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// A sum in double precision whose last bit says whether something was lost, so that rounding it again is right.
pub(super) fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let error = error_of_sum(a, b, sum);
    if error == 0.0 || !sum.is_finite() || sum.to_bits() & 1 != 0 {
        return sum;
    }
    if (error > 0.0) == (sum > 0.0) { f64::from_bits(sum.to_bits() + 1) } else { f64::from_bits(sum.to_bits() - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All four roundings of an exact value, which doubles can represent.
    fn by_narrowing(exact: f64, rounding: Rounding) -> f32 {
        narrow(exact, SINGLE, rounding) as f32
    }

    const ALL: [Rounding; 4] = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];

    proptest! {
        #[test]
        fn products_and_sums_of_singles_round_as_in_double_precision(
            a in -1e6f32..1e6, b in -1e6f32..1e6, c in -1e6f32..1e6,
        ) {
            for rounding in ALL {
                prop_assert_eq!(multiply(a, b, rounding), by_narrowing(f64::from(a) * f64::from(b), rounding));
                prop_assert_eq!(add(a, c, rounding), by_narrowing(add_to_odd(a.into(), c.into()), rounding));
                let exact = add_to_odd(f64::from(a) * f64::from(b), c.into());
                prop_assert_eq!(fused(a, b, c, rounding), by_narrowing(exact, rounding));
            }
        }

        #[test]
        fn quotients_and_roots_enclose_the_exact_value(a in 1e-3f64..1e6, b in 1e-3f64..1e6) {
            let (low, high) = (divide(a, b, Rounding::Down), divide(a, b, Rounding::Up));
            prop_assert!(low <= a / b && a / b <= high && high <= low.next_up());
            let (low, high) = (root(a, Rounding::Down), root(a, Rounding::Up));
            prop_assert!(low <= a.sqrt() && a.sqrt() <= high && high <= low.next_up());
        }
    }

    #[test]
    fn every_stored_form_survives() {
        for format in [HALF, BFLOAT] {
            for bits in 0..=u16::MAX {
                let value = from_bits(bits, format);
                if !value.is_nan() {
                    assert_eq!(to_bits(narrow(value, format, Rounding::Nearest), format), bits);
                }
            }
        }
        assert_eq!(to_bits(narrow(65520.0, HALF, Rounding::Nearest), HALF), 0x7c00);
        assert_eq!(to_bits(narrow(65520.0, HALF, Rounding::Zero), HALF), 0x7bff);
        // Just above a tie: what half a step and a little more becomes.
        assert_eq!(to_bits(narrow(1.0 + 2f64.powi(-11) + 2f64.powi(-40), HALF, Rounding::Nearest), HALF), 0x3c01);
    }
}
