//! The functions of CUDA's headers for half precision, `cuda_fp16.h` and `cuda_bf16.h`: what each computes.
//!
//! Both headers have the same functions; only conversions carry the name of the type. A pair of numbers is computed
//! with number by number, so that one line serves `__hadd`, `__hadd2` and `operator+` of both types.

use super::math::is_math;
use crate::ir::{BinaryOp, UnaryOp};

/// What a function on half precision computes.
#[derive(Clone, PartialEq, Debug)]
pub enum HalfCall {
    /// Of numbers an operator; of pairs, the operator number by number.
    Binary(BinaryOp),
    /// The same for a unary operator.
    Unary(UnaryOp),
    /// The same for a pure function of the table, by its name for numbers.
    Math(String),
    /// The numbers of the result: each is an argument, or the number at that position of one that is a pair.
    Parts(&'static [(usize, usize)]),
    /// Changes its first argument by an operator.
    Assign(BinaryOp),
    /// Adds one to its argument, or takes one away.
    Step(BinaryOp),
    /// Adds to both numbers of a pair, each atomically.
    AtomicAdd,
}

/// The function of that name on half precision, called with so many arguments.
pub fn half_call(name: &str, args: usize) -> Option<HalfCall> {
    if let Some(parts) = conversion(name) {
        return Some(HalfCall::Parts(parts));
    }
    if let Some((.., call)) = OPERATORS.iter().find(|(known, count, _)| *known == name && *count == args) {
        return Some(call.clone());
    }
    let scalar = of_numbers(name);
    if scalar == "__hneg" {
        return Some(HalfCall::Unary(UnaryOp::Negate));
    }
    match FUNCTIONS.iter().find(|(known, _)| *known == scalar) {
        Some((_, op)) => Some(HalfCall::Binary(*op)),
        None => is_math(&scalar).then_some(HalfCall::Math(scalar)),
    }
}

/// C++'s operators, with how many operands.
const OPERATORS: &[(&str, usize, HalfCall)] = &[
    ("operator+", 2, HalfCall::Binary(BinaryOp::Add)),
    ("operator-", 2, HalfCall::Binary(BinaryOp::Subtract)),
    ("operator*", 2, HalfCall::Binary(BinaryOp::Multiply)),
    ("operator/", 2, HalfCall::Binary(BinaryOp::Divide)),
    ("operator==", 2, HalfCall::Binary(BinaryOp::Equal)),
    ("operator!=", 2, HalfCall::Binary(BinaryOp::NotEqual)),
    ("operator<", 2, HalfCall::Binary(BinaryOp::Less)),
    ("operator<=", 2, HalfCall::Binary(BinaryOp::LessEqual)),
    ("operator>", 2, HalfCall::Binary(BinaryOp::Greater)),
    ("operator>=", 2, HalfCall::Binary(BinaryOp::GreaterEqual)),
    ("operator-", 1, HalfCall::Unary(UnaryOp::Negate)),
    ("operator+", 1, HalfCall::Parts(&[(0, 0), (0, 1)])),
    ("operator+=", 2, HalfCall::Assign(BinaryOp::Add)),
    ("operator-=", 2, HalfCall::Assign(BinaryOp::Subtract)),
    ("operator*=", 2, HalfCall::Assign(BinaryOp::Multiply)),
    ("operator/=", 2, HalfCall::Assign(BinaryOp::Divide)),
    ("operator++", 1, HalfCall::Step(BinaryOp::Add)),
    ("operator--", 1, HalfCall::Step(BinaryOp::Subtract)),
    // Behind the operand: the second argument is 0.
    ("operator++", 2, HalfCall::Step(BinaryOp::Add)),
    ("operator--", 2, HalfCall::Step(BinaryOp::Subtract)),
];

/// Functions that are operators. `!=` holds for NaN as `__hneu` does; the ordered `__hne` is none, nor are the other
/// relations that hold for NaN.
const FUNCTIONS: &[(&str, BinaryOp)] = &[
    ("__hadd", BinaryOp::Add),
    ("__hsub", BinaryOp::Subtract),
    ("__hmul", BinaryOp::Multiply),
    ("__hdiv", BinaryOp::Divide),
    ("__heq", BinaryOp::Equal),
    ("__hneu", BinaryOp::NotEqual),
    ("__hlt", BinaryOp::Less),
    ("__hle", BinaryOp::LessEqual),
    ("__hgt", BinaryOp::Greater),
    ("__hge", BinaryOp::GreaterEqual),
];

/// Conversions and what puts pairs together: `#` stands for the type's name, `half` or `bfloat16`. Those that round
/// otherwise than C++ converts are pure functions of the table.
const CONVERSIONS: &[(&str, &[(usize, usize)])] = &[
    ("__float2#", &[(0, 0)]),
    ("__float2#_rn", &[(0, 0)]),
    ("__double2#", &[(0, 0)]),
    ("__#2float", &[(0, 0)]),
    ("__short2#_rn", &[(0, 0)]),
    ("__ushort2#_rn", &[(0, 0)]),
    ("__int2#_rn", &[(0, 0)]),
    ("__uint2#_rn", &[(0, 0)]),
    ("__ll2#_rn", &[(0, 0)]),
    ("__ull2#_rn", &[(0, 0)]),
    ("__#2short_rz", &[(0, 0)]),
    ("__#2ushort_rz", &[(0, 0)]),
    ("__#2int_rz", &[(0, 0)]),
    ("__#2uint_rz", &[(0, 0)]),
    ("__#2ll_rz", &[(0, 0)]),
    ("__#2ull_rz", &[(0, 0)]),
    ("__#2char_rz", &[(0, 0)]),
    ("__#2uchar_rz", &[(0, 0)]),
    ("__float2#2_rn", &[(0, 0), (0, 0)]),
    ("__#2#2", &[(0, 0), (0, 0)]),
    ("__floats2#2_rn", &[(0, 0), (1, 0)]),
    ("__halves2#2", &[(0, 0), (1, 0)]),
    ("make_#2", &[(0, 0), (1, 0)]),
    ("__float22#2_rn", &[(0, 0), (0, 1)]),
    ("__#22float2", &[(0, 0), (0, 1)]),
    ("__low2#", &[(0, 0)]),
    ("__high2#", &[(0, 1)]),
    ("__low2float", &[(0, 0)]),
    ("__high2float", &[(0, 1)]),
    ("__low2#2", &[(0, 0), (0, 0)]),
    ("__high2#2", &[(0, 1), (0, 1)]),
    ("__lows2#2", &[(0, 0), (1, 0)]),
    ("__highs2#2", &[(0, 1), (1, 1)]),
    ("__lowhigh2highlow", &[(0, 1), (0, 0)]),
];

fn conversion(name: &str) -> Option<&'static [(usize, usize)]> {
    let is_spelled = |pattern: &str| ["half", "bfloat16"].iter().any(|ty| pattern.replace('#', ty) == name);
    CONVERSIONS.iter().find(|(pattern, _)| is_spelled(pattern)).map(|(_, parts)| *parts)
}

/// The name for numbers of a function on pairs: `__hadd` of `__hadd2`, `hexp2` of `h2exp2`, and of `__heq2`, `__hbeq2`
/// and `__heq2_mask`, whose results tell them apart, `__heq`. A name for numbers is its own.
fn of_numbers(name: &str) -> String {
    if let Some(function) = name.strip_prefix("h2").or_else(|| name.strip_prefix("__h2")) {
        return format!("{}h{function}", if name.starts_with('_') { "__" } else { "" });
    }
    let Some((before, after)) = name.strip_prefix("__h").and_then(|rest| rest.split_once('2')) else {
        return name.to_owned();
    };
    format!("__h{}{}", before.trim_start_matches('b'), after.trim_end_matches("_mask"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_computed_with_number_by_number() {
        for (pair, scalar) in [
            ("__hadd2", "__hadd"),
            ("__hadd2_rn", "__hadd_rn"),
            ("__h2div", "__hdiv"),
            ("h2exp2", "hexp2"),
            ("__hfma2_relu", "__hfma_relu"),
            ("__hbltu2", "__hltu"),
            ("__heq2_mask", "__heq"),
            ("__hneg2", "__hneg"),
        ] {
            assert_eq!(of_numbers(pair), scalar);
            assert_eq!(of_numbers(scalar), scalar);
            assert!(half_call(pair, 2).is_some() && half_call(pair, 2) == half_call(scalar, 2), "{pair}");
        }
    }

    #[test]
    fn conversions_are_of_both_types() {
        assert_eq!(half_call("__half22float2", 1), Some(HalfCall::Parts(&[(0, 0), (0, 1)])));
        assert_eq!(half_call("__bfloat1622float2", 1), Some(HalfCall::Parts(&[(0, 0), (0, 1)])));
        assert_eq!(half_call("__high2bfloat16", 1), Some(HalfCall::Parts(&[(0, 1)])));
        assert_eq!(half_call("__float2half_rz", 1), Some(HalfCall::Math("__float2half_rz".to_owned())));
        assert_eq!(half_call("__half2double", 1), None);
    }
}
