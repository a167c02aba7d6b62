//! Names in the output: for functions, records, and what has none in C++.

use crate::ir::Name;

/// Operators by their C++ name, and the word that stands for them.
const OPERATORS: &[(&str, &str)] = &[
    ("operator+=", "add_assign"),
    ("operator-=", "subtract_assign"),
    ("operator*=", "multiply_assign"),
    ("operator/=", "divide_assign"),
    ("operator%=", "remainder_assign"),
    ("operator==", "equal"),
    ("operator!=", "not_equal"),
    ("operator<=", "less_equal"),
    ("operator>=", "greater_equal"),
    ("operator<<", "shift_left"),
    ("operator>>", "shift_right"),
    ("operator&&", "and"),
    ("operator||", "or"),
    ("operator++", "increment"),
    ("operator--", "decrement"),
    ("operator->", "arrow"),
    ("operator()", "call"),
    ("operator[]", "at"),
    ("operator=", "assign"),
    ("operator+", "add"),
    ("operator-", "subtract"),
    ("operator*", "multiply"),
    ("operator/", "divide"),
    ("operator%", "remainder"),
    ("operator<", "less"),
    ("operator>", "greater"),
    ("operator!", "not"),
    ("operator~", "complement"),
    ("operator&", "bit_and"),
    ("operator|", "bit_or"),
    ("operator^", "bit_xor"),
];

/// The word for an overloaded operator's C++ name; `None` for other names.
pub(super) fn operator_word(name: &str) -> Option<String> {
    if let Some((_, word)) = OPERATORS.iter().find(|(operator, _)| *operator == name) {
        return Some((*word).to_owned());
    }
    // A conversion: `operator float`.
    name.strip_prefix("operator ").map(|target| format!("to_{}", identifier(target)))
}

/// An identifier made of any text: `Vec<float, 3>` becomes `Vec_float_3`.
pub(super) fn identifier(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '-' => out.push('m'),
            '*' => out.push_str("_ptr"),
            '&' => out.push_str("_ref"),
            _ if character.is_ascii_alphanumeric() || character == '_' => out.push(character),
            _ if !out.is_empty() && !out.ends_with('_') => out.push('_'),
            _ => {}
        }
    }
    let trimmed = out.trim_end_matches('_');
    let starts_with_digit = trimmed.starts_with(|first: char| first.is_ascii_digit());
    if trimmed.is_empty() || starts_with_digit { format!("_{trimmed}") } else { trimmed.to_owned() }
}

/// A type or template argument as a part of a name: without scopes and qualifiers; lambdas are all alike.
pub(super) fn word_for(argument: &str) -> String {
    if argument.contains("(lambda") {
        return "lambda".to_owned();
    }
    let plain = argument.replace("const ", "").replace(['&', '*'], " ");
    let (base, rest) = plain.split_at(plain.find('<').unwrap_or(plain.len()));
    let base = base.rsplit("::").next().unwrap_or(base);
    identifier(format!("{base}{rest}").trim()).trim_start_matches('_').to_owned()
}

/// The wanted name, or the first of `name_1`, `name_2`, … that is not taken.
pub(super) fn first_free(wanted: &str, is_taken: impl Fn(&str) -> bool) -> Name {
    if !is_taken(wanted) {
        return wanted.into();
    }
    let mut number = 1u32;
    loop {
        let name = format!("{wanted}_{number}");
        if !is_taken(&name) {
            return name.into();
        }
        number += 1;
    }
}

/// Words that C++ keeps for itself and that could be made here from other names, and names with a meaning in CUDA.
pub(super) fn is_reserved(name: &str) -> bool {
    matches!(
        name,
        "and"
            | "or"
            | "not"
            | "self"
            | "this"
            | "thread"
            | "threadIdx"
            | "blockIdx"
            | "blockDim"
            | "gridDim"
            | "warpSize"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readable_identifiers() {
        assert_eq!(identifier("Vec<float, 3>"), "Vec_float_3");
        assert_eq!(identifier("const float *"), "const_float_ptr");
        assert_eq!(identifier("(lambda at a.cu:3:4)"), "lambda_at_a_cu_3_4");
        assert_eq!(identifier("-1"), "m1");
        assert_eq!(identifier("3"), "_3");
        assert_eq!(word_for("const geo::Vec<float, 3> &"), "Vec_float_3");
        assert_eq!(word_for("(lambda at a.cu:3:4)"), "lambda");
        assert_eq!(operator_word("operator+").as_deref(), Some("add"));
        assert_eq!(operator_word("operator float").as_deref(), Some("to_float"));
        assert_eq!(operator_word("plus"), None);
    }
}
