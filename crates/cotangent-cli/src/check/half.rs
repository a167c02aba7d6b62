//! Numbers of half precision as their bits, for the memory of native runs.

use cotangent::ir::FloatKind;

/// How many bits of a 16-bit format are the fraction.
fn fraction_bits(kind: FloatKind) -> i32 {
    match kind {
        FloatKind::Half => 10,
        FloatKind::BFloat => 7,
        FloatKind::Float | FloatKind::Double => unreachable!("{} has more than 16 bits", kind.spelling()),
    }
}

/// The bits of the nearest number of the format, the even one of two.
pub(crate) fn encoded(value: f64, kind: FloatKind) -> u16 {
    let bits = fraction_bits(kind);
    let bias = (1 << (14 - bits)) - 1;
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let infinity = ((2 * bias + 1) << bits) as u16;
    if value.is_nan() {
        return 0x7fff;
    }
    if value.is_infinite() {
        return sign | infinity;
    }
    let exponent = (((value.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(1 - bias);
    // In units of the last place; a carry runs into the exponent, which is as it should.
    let units = (value.abs() / 2f64.powi(exponent - bits)).round_ties_even() as u32;
    let hidden = ((exponent + bias - 1) as u32) << bits;
    sign | u16::try_from(units + hidden).unwrap_or(infinity).min(infinity)
}

/// The number that the bits are.
pub(crate) fn decoded(bits: u16, kind: FloatKind) -> f64 {
    let width = fraction_bits(kind);
    let bias = (1 << (14 - width)) - 1;
    let fraction = f64::from(bits & ((1 << width) - 1));
    let exponent = i32::from((bits & 0x7fff) >> width);
    let unit = 2f64.powi(1 - bias - width);
    let size = match exponent {
        0 => fraction * unit,
        _ if exponent == 2 * bias + 1 => {
            if fraction == 0.0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        }
        _ => (fraction + f64::from(1 << width)) * unit * 2f64.powi(exponent - 1),
    };
    if bits & 0x8000 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bits_are_read_and_written_again() {
        for kind in [FloatKind::Half, FloatKind::BFloat] {
            for bits in 0..=u16::MAX {
                let value = decoded(bits, kind);
                assert!(kind.has_value(value), "{bits:x}");
                assert!(value.is_nan() || encoded(value, kind) == bits, "{bits:x}");
            }
        }
        assert_eq!(decoded(0x3c01, FloatKind::Half), 1.0 + 2f64.powi(-10));
        assert_eq!(decoded(0x3f81, FloatKind::BFloat), 1.0 + 2f64.powi(-7));
    }

    #[test]
    fn what_lies_between_goes_to_the_nearest() {
        assert_eq!(encoded(1.0 + 2f64.powi(-11), FloatKind::Half), 0x3c00);
        assert_eq!(encoded(1.0 + 3.0 * 2f64.powi(-11), FloatKind::Half), 0x3c02);
        assert_eq!(encoded(65519.0, FloatKind::Half), 0x7bff);
        assert_eq!(encoded(-65520.0, FloatKind::Half), 0xfc00);
        assert_eq!(encoded(1e300, FloatKind::Half), 0x7c00);
        assert_eq!(encoded(2f64.powi(-26), FloatKind::Half), 0);
    }
}
