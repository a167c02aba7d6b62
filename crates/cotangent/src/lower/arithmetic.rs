//! The value of integer arithmetic as Clang spells it in template arguments: `2UL - 1`.

/// The value of a spelling that is made of integers, `+`, `-`, `*`, `/`, `%` and parentheses.
pub(super) fn value(text: &str) -> Option<i128> {
    let mut rest = text.trim();
    let value = sum(&mut rest)?;
    rest.is_empty().then_some(value)
}

fn sum(rest: &mut &str) -> Option<i128> {
    let mut value = product(rest)?;
    while let Some(operator) = operator(rest, &['+', '-']) {
        let other = product(rest)?;
        value = if operator == '+' { value.checked_add(other)? } else { value.checked_sub(other)? };
    }
    Some(value)
}

fn product(rest: &mut &str) -> Option<i128> {
    let mut value = factor(rest)?;
    while let Some(operator) = operator(rest, &['*', '/', '%']) {
        let other = factor(rest)?;
        value = match operator {
            '*' => value.checked_mul(other)?,
            '/' => value.checked_div(other)?,
            _ => value.checked_rem(other)?,
        };
    }
    Some(value)
}

fn factor(rest: &mut &str) -> Option<i128> {
    if operator(rest, &['-']).is_some() {
        return factor(rest)?.checked_neg();
    }
    if operator(rest, &['(']).is_some() {
        let value = sum(rest)?;
        return operator(rest, &[')']).map(|_| value);
    }
    let end = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
    let value = rest[..end].parse().ok()?;
    *rest = rest[end..].trim_start_matches(['u', 'U', 'l', 'L']).trim_start();
    Some(value)
}

/// Takes one of these characters from the start.
fn operator(rest: &mut &str, meant: &[char]) -> Option<char> {
    let first = rest.chars().next().filter(|first| meant.contains(first))?;
    *rest = rest[first.len_utf8()..].trim_start();
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn arithmetic_has_a_value_and_other_text_has_none() {
        for (text, expected) in [
            ("2UL - 1", Some(1)),
            ("(3 + 1) / 2 * 5", Some(10)),
            ("-7 % 4", Some(-3)),
            ("10 - 4 - 3", Some(3)),
            ("1 / 0", None),
            ("N - 1", None),
            ("2 -", None),
            ("(2", None),
            ("float", None),
            ("", None),
            ("999999999999999999999999999999999999999999", None),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }
}
