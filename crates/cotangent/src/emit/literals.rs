//! Constants, spelled so that they have exactly the value and the type that the IR says.

use std::fmt::Write;

use super::precedence::{Code, Precedence};
use crate::ir::{FloatKind, IntKind};

/// An integer constant of exactly that type.
pub(super) fn integer(value: i128, kind: IntKind) -> Code {
    let least = -(1i128 << (kind.bits() - 1));
    match suffix(kind) {
        None => Code::unary(format!("({}){value}", kind.spelling())),
        // The digits of the least value alone are too large for the type; the conversion wraps them back.
        Some(suffix) if kind.is_signed() && value == least => {
            let unsigned_suffix = if suffix.is_empty() { "u".to_owned() } else { format!("U{suffix}") };
            Code::unary(format!("({})0x{:x}{unsigned_suffix}", kind.spelling(), -least))
        }
        Some(suffix) => number(format!("{value}{suffix}")),
    }
}

/// An integer constant in hexadecimal, as masks are written.
pub(super) fn mask(value: i128, kind: IntKind) -> Code {
    match suffix(kind) {
        Some(suffix) if value > i128::from(i32::MAX) => Code::postfix(format!("0x{value:x}{suffix}")),
        Some(_) | None => integer(value, kind),
    }
}

/// The number as a constant of type `int`, if it is one.
pub(super) fn fits_int(value: i128) -> bool {
    // The least `int` is left out: its digits are no `int`.
    value.unsigned_abs() <= i32::MAX.unsigned_abs().into()
}

/// A floating constant of exactly that type, in the fewest digits that read back as the same value.
pub(super) fn float(value: f64, kind: FloatKind) -> Code {
    let magnitude = match kind {
        FloatKind::Double => finite_digits(value.abs()).unwrap_or_else(|| format!("(double){}", non_finite(value))),
        FloatKind::Float | FloatKind::Half | FloatKind::BFloat => single_digits(value),
    };
    let signed = if value.is_sign_negative() && !value.is_nan() { format!("-{magnitude}") } else { magnitude };
    match kind {
        FloatKind::Float | FloatKind::Double => number(signed),
        FloatKind::Half | FloatKind::BFloat => Code::unary(format!("({}){signed}", kind.spelling())),
    }
}

/// A string literal.
pub(super) fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            '\r' => literal.push_str("\\r"),
            // Octal, because a hexadecimal escape swallows the digits that follow it.
            control if control.is_ascii_control() => {
                write!(literal, "\\{:03o}", u32::from(control)).expect("writing to a string succeeds");
            }
            other => literal.push(other),
        }
    }
    literal.push('"');
    literal
}

fn number(text: String) -> Code {
    let is_prefixed = text.starts_with('-') || text.starts_with('(');
    Code { text, precedence: if is_prefixed { Precedence::Unary } else { Precedence::Postfix } }
}

fn suffix(kind: IntKind) -> Option<&'static str> {
    match kind {
        IntKind::Char | IntKind::SignedChar | IntKind::UnsignedChar | IntKind::Short | IntKind::UnsignedShort => None,
        IntKind::Int => Some(""),
        IntKind::UnsignedInt => Some("u"),
        IntKind::Long => Some("L"),
        IntKind::UnsignedLong => Some("UL"),
        IntKind::LongLong => Some("LL"),
        IntKind::UnsignedLongLong => Some("ULL"),
    }
}

fn single_digits(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "the validator has the value in the type's range")]
    let single = value.abs() as f32;
    if single.is_finite() { format!("{single:?}f") } else { non_finite(value).to_owned() }
}

fn finite_digits(value: f64) -> Option<String> {
    value.is_finite().then(|| format!("{value:?}"))
}

fn non_finite(value: f64) -> &'static str {
    if value.is_nan() { "NAN" } else { "INFINITY" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_their_type() {
        let text = |value, kind| integer(value, kind).text;
        assert_eq!(text(-5, IntKind::Int), "-5");
        assert_eq!(text(7, IntKind::UnsignedInt), "7u");
        assert_eq!(text(7, IntKind::UnsignedLongLong), "7ULL");
        assert_eq!(text(-3, IntKind::Short), "(short)-3");
        assert_eq!(text(i32::MIN.into(), IntKind::Int), "(int)0x80000000u");
        assert_eq!(text(i64::MIN.into(), IntKind::Long), "(long)0x8000000000000000UL");
        assert_eq!(mask(0xffff_ffff, IntKind::UnsignedInt).text, "0xffffffffu");
        assert_eq!(mask(255, IntKind::UnsignedInt).text, "255u");
    }

    #[test]
    fn floats_are_short_and_exact() {
        let single = |value: f32| float(value.into(), FloatKind::Float).text;
        assert_eq!(single(2.0), "2.0f");
        assert_eq!(single(0.1), "0.1f");
        assert_eq!(single(1e-8), "1e-8f");
        assert_eq!(single(f32::MAX), "3.4028235e38f");
        assert_eq!(single(-0.0), "-0.0f");
        assert_eq!(single(f32::NEG_INFINITY), "-INFINITY");
        assert_eq!(float(0.1, FloatKind::Double).text, "0.1");
        assert_eq!(float(f64::INFINITY, FloatKind::Double).text, "(double)INFINITY");
        assert_eq!(float(f64::NAN, FloatKind::Float).text, "NAN");
        assert_eq!(float(1.5, FloatKind::Half).text, "(__half)1.5f");
    }

    #[test]
    fn strings_are_escaped() {
        assert_eq!(string("a\"b\\\n\u{7}1"), "\"a\\\"b\\\\\\n\\0071\"");
    }
}
