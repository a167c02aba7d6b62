//! What `--args` says about arguments, in the form of the fixtures' `run:` lines: `in<float>(64)`, `out<float>(64)`,
//! `ints<int>(64, 10)`, numbers, `Params{0.5f, 3}`, `{"program", "16"}`; and arrays with contents: `in<float>(64, -1, 1)`,
//! `range<int>(64)`, `[1, 2, 3]`, `file<float>("weights.txt")`.

/// An argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Spec {
    /// So many elements with random values between 0.5 and 1.5.
    Random(usize),
    /// So many elements with random values between two numbers.
    Between(usize, f64, f64),
    /// So many elements that begin with a number and grow by another.
    Range(usize, f64, f64),
    /// So many elements that are zero.
    Zeros(usize),
    /// So many whole numbers from 0 to a bound, which is none of them.
    Integers(usize, i128),
    /// A number.
    Number(f64),
    /// The fields of a struct, or texts.
    Fields(Vec<Spec>),
    /// The elements of an array.
    List(Vec<Spec>),
    /// Characters, and a zero after them.
    Text(String),
}

/// Reads a list of arguments, with or without parentheses around it.
pub(crate) fn parse(text: &str) -> Result<Vec<Spec>, String> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
    split(inner)?.into_iter().map(parse_one).collect()
}

pub(super) fn parse_one(text: &str) -> Result<Spec, String> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('"') {
        let inner = inner.strip_suffix('"').ok_or_else(|| format!("`{text}` has no closing `\"`"))?;
        return Ok(Spec::Text(inner.to_owned()));
    }
    if let Some(inner) = text.strip_prefix('[') {
        let inner = inner.strip_suffix(']').ok_or_else(|| format!("`{text}` has no closing `]`"))?;
        return Ok(Spec::List(split(inner)?.into_iter().map(parse_one).collect::<Result<_, _>>()?));
    }
    if let Some(open) = text.find('{') {
        let inner = text[open + 1..].strip_suffix('}').ok_or_else(|| format!("`{text}` has no closing `}}`"))?;
        return Ok(Spec::Fields(split(inner)?.into_iter().map(parse_one).collect::<Result<_, _>>()?));
    }
    let word: String = text.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect();
    let inner = || -> Result<Vec<&str>, String> {
        let open = text.find('(').ok_or_else(|| format!("`{text}` has no length: `{word}<float>(64)`"))?;
        split(text[open + 1..].strip_suffix(')').ok_or_else(|| format!("`{text}` has no closing `)`"))?)
    };
    match word.as_str() {
        "in" | "out" | "ints" | "range" => {
            let numbers: Vec<f64> = inner()?.into_iter().map(parse_number).collect::<Result<_, _>>()?;
            let length = numbers.first().map_or(0, |length| *length as usize);
            let (first, second) = (numbers.get(1).copied(), numbers.get(2).copied());
            match (word.as_str(), first, second) {
                ("in", None, _) => Ok(Spec::Random(length)),
                ("in", Some(low), Some(high)) => Ok(Spec::Between(length, low, high)),
                ("in", Some(_), None) => Err(format!("`{text}` has one bound: `in<float>(64, -1, 1)`")),
                ("out", ..) => Ok(Spec::Zeros(length)),
                ("range", ..) => Ok(Spec::Range(length, first.unwrap_or(0.0), second.unwrap_or(1.0))),
                _ => Ok(Spec::Integers(length, first.map_or(length as i128, |bound| bound as i128))),
            }
        }
        "file" => numbers_of_file(inner()?.first().map_or("", |name| name.trim().trim_matches('"'))),
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
            let kinds = "use numbers, in<T>(n), in<T>(n, low, high), out<T>(n), ints<T>(n, bound), range<T>(n, from, step), \
                [1, 2, …], file<T>(\"name\"), T{…} or {\"text\", …}";
            format!("`{}` is no argument: {kinds}", text.trim())
        })
    };
    text.split('*').map(factor).product()
}

/// The numbers of a file, with blanks, commas or line ends between them.
fn numbers_of_file(name: &str) -> Result<Spec, String> {
    let text = std::fs::read_to_string(name).map_err(|error| format!("cannot read `{name}`: {error}"))?;
    let words = text.split(|character: char| character.is_whitespace() || character == ',');
    let numbers = words.filter(|word| !word.is_empty()).map(|word| parse_number(word).map(Spec::Number));
    numbers.collect::<Result<_, _>>().map(Spec::List).map_err(|error| format!("in `{name}`: {error}"))
}

/// Splits at commas that are in no bracket and no text.
pub(super) fn split(text: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let (mut depth, mut start, mut is_text) = (0i32, 0, false);
    for (index, character) in text.char_indices() {
        match character {
            '"' => is_text = !is_text,
            _ if is_text => {}
            '(' | '{' | '<' | '[' => depth += 1,
            ')' | '}' | '>' | ']' => depth -= 1,
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
        let list = Spec::List(vec![Spec::Number(3.0), Spec::Fields(vec![Spec::Number(1.0)]), Spec::Random(4)]);
        let contents = vec![Spec::Between(8, -1.0, 1.0), Spec::Range(4, 0.0, 1.0), Spec::Range(4, 0.5, 0.25), list];
        let written = "in<float>(8, -1, 1), range<int>(4), range<float>(4, 0.5, 0.25f), [3, P{1}, in<float>(4)]";
        assert_eq!(parse(written), Ok(contents));
        assert!(parse("in<float>(3, 1)").is_err() && parse("[1, 2").is_err() && parse("file<int>(\"none\")").is_err());
        assert!(parse("in<float>").is_err() && parse("x").is_err() && parse("in<float>(3").is_err());
    }
}
