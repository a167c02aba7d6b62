//! What `--args` says about arguments, in the form of the fixtures' `run:` lines: `in<float>(64)`, `out<float>(64)`,
//! `ints<int>(64, 10)`, numbers, `Params{0.5f, 3}`, `{"program", "16"}`.

/// An argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Spec {
    /// So many elements with random values between 0.5 and 1.5.
    Random(usize),
    /// So many elements that are zero.
    Zeros(usize),
    /// So many whole numbers from 0 to a bound, which is none of them.
    Integers(usize, i128),
    /// A number.
    Number(f64),
    /// The fields of a struct, or texts.
    Fields(Vec<Spec>),
    /// Characters, and a zero after them.
    Text(String),
}

/// Reads a list of arguments, with or without parentheses around it.
pub(crate) fn parse(text: &str) -> Result<Vec<Spec>, String> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
    split(inner)?.into_iter().map(parse_one).collect()
}

fn parse_one(text: &str) -> Result<Spec, String> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('"') {
        let inner = inner.strip_suffix('"').ok_or_else(|| format!("`{text}` has no closing `\"`"))?;
        return Ok(Spec::Text(inner.to_owned()));
    }
    if let Some(open) = text.find('{') {
        let inner = text[open + 1..].strip_suffix('}').ok_or_else(|| format!("`{text}` has no closing `}}`"))?;
        return Ok(Spec::Fields(split(inner)?.into_iter().map(parse_one).collect::<Result<_, _>>()?));
    }
    let word: String = text.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect();
    let numbers = || -> Result<Vec<i128>, String> {
        let open = text.find('(').ok_or_else(|| format!("`{text}` has no length: `{word}<float>(64)`"))?;
        let inner = text[open + 1..].strip_suffix(')').ok_or_else(|| format!("`{text}` has no closing `)`"))?;
        split(inner)?.into_iter().map(|number| Ok(parse_number(number)? as i128)).collect()
    };
    match word.as_str() {
        "in" | "out" | "ints" => {
            let numbers = numbers()?;
            let length = numbers.first().map_or(0, |length| *length as usize);
            Ok(match (word.as_str(), numbers.get(1)) {
                ("in", _) => Spec::Random(length),
                ("out", _) => Spec::Zeros(length),
                (_, bound) => Spec::Integers(length, bound.copied().unwrap_or(length as i128)),
            })
        }
        "true" => Ok(Spec::Number(1.0)),
        "false" => Ok(Spec::Number(0.0)),
        _ => parse_number(text).map(Spec::Number),
    }
}

/// A number, or a product of numbers.
fn parse_number(text: &str) -> Result<f64, String> {
    let factor = |factor: &str| {
        let digits = factor.trim().trim_end_matches(['f', 'F', 'u', 'U', 'l', 'L']);
        digits.parse::<f64>().map_err(|_| {
            let kinds = "use numbers, in<T>(n), out<T>(n), ints<T>(n, bound), T{…} or {\"text\", …}";
            format!("`{}` is no argument: {kinds}", text.trim())
        })
    };
    text.split('*').map(factor).product()
}

/// Splits at commas that are in no bracket and no text.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let (mut depth, mut start, mut is_text) = (0i32, 0, false);
    for (index, character) in text.char_indices() {
        match character {
            '"' => is_text = !is_text,
            _ if is_text => {}
            '(' | '{' | '<' => depth += 1,
            ')' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    if depth != 0 {
        return Err(format!("the brackets in `{text}` do not match"));
    }
    if !text[start..].trim().is_empty() || !parts.is_empty() {
        parts.push(&text[start..]);
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_in_the_form_of_the_fixtures() {
        assert_eq!(
            parse("(in<float>(4 * 8), out<geo::V<float, 3>>(2), ints<int>(6, 5), -0.5f, P{1.0f, {2, 3u}}, true)"),
            Ok(vec![
                Spec::Random(32),
                Spec::Zeros(2),
                Spec::Integers(6, 5),
                Spec::Number(-0.5),
                Spec::Fields(vec![Spec::Number(1.0), Spec::Fields(vec![Spec::Number(2.0), Spec::Number(3.0)])]),
                Spec::Number(1.0),
            ])
        );
        assert_eq!(parse("()"), Ok(vec![]));
        let texts = ["a, b", "1"].map(|text| Spec::Text(text.to_owned()));
        assert_eq!(parse("2, {\"a, b\", \"1\"}"), Ok(vec![Spec::Number(2.0), Spec::Fields(texts.to_vec())]));
        assert!(parse("in<float>").is_err() && parse("x").is_err() && parse("in<float>(3").is_err());
    }
}
