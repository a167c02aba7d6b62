//! Parses the spellings of types: `const float *__restrict`, `float (*)[8]`, `Vec<float, 3> &`.
//!
//! Clang's dump gives types only as text. This is the declarator syntax of C++ without a name, as Clang prints it:
//! qualifiers on the left of what they qualify in the base, on the right of each `*`.

/// A type as spelled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Spelled {
    /// A scalar type, record, enumeration or anything else with a name.
    Named(Named),
    /// `T *` or, with `is_reference`, `T &` and `T &&`.
    Pointer { pointee: Box<Spelled>, is_const: bool, is_restrict: bool, is_volatile: bool, is_reference: bool },
    /// `T[n]`; without a length for `T[]`.
    Array { element: Box<Spelled>, length: Option<u64> },
    /// `R (P…)`.
    Function { result: Box<Spelled>, params: Vec<Spelled> },
}

/// A named type with its qualifiers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// The name with template arguments, without `struct`, `class` or `enum` in front: `geo::Vec<float, 3>`.
    pub name: String,
    /// `const`.
    pub is_const: bool,
    /// `volatile`.
    pub is_volatile: bool,
}

/// How deeply a spelling may nest.
const MAX_DEPTH: usize = 64;

/// Parses a spelling; `None` if it is not one.
pub fn parse(text: &str) -> Option<Spelled> {
    let mut parser = Parser { rest: text.trim(), depth: 0 };
    let ty = parser.full_type()?;
    parser.skip_space();
    // A function's type may be followed by `const`, `noexcept` or a reference qualifier; nothing of it matters here.
    let trailing_ok = matches!(ty, Spelled::Function { .. }) || parser.rest.is_empty();
    trailing_ok.then_some(ty)
}

/// The template arguments at the end of a name, split at the top level: `Vec<float, 3>` gives `float` and `3`.
pub fn template_arguments(name: &str) -> Option<(&str, Vec<&str>)> {
    let open = name.find('<')?;
    let inside = name[open + 1..].strip_suffix('>')?;
    let mut depth = 0usize;
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, character) in inside.char_indices() {
        match character {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(inside[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(inside[start..].trim());
    Some((&name[..open], parts))
}

impl Spelled {
    /// The type without `const` and `volatile` of its outermost level.
    pub fn unqualified(mut self) -> Spelled {
        if let Spelled::Named(named) = &mut self {
            named.is_const = false;
            named.is_volatile = false;
        }
        self
    }

    /// Whether the outermost level is `const`; an array is if its elements are.
    pub fn is_const(&self) -> bool {
        match self {
            Spelled::Named(named) => named.is_const,
            Spelled::Pointer { is_const, .. } => *is_const,
            Spelled::Array { element, .. } => element.is_const(),
            Spelled::Function { .. } => false,
        }
    }

    /// Whether the outermost level is `volatile`; an array is if its elements are.
    pub fn is_volatile(&self) -> bool {
        match self {
            Spelled::Named(named) => named.is_volatile,
            Spelled::Pointer { is_volatile, .. } => *is_volatile,
            Spelled::Array { element, .. } => element.is_volatile(),
            Spelled::Function { .. } => false,
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

/// A piece of a declarator, from the inside out.
enum Piece {
    Pointer { is_const: bool, is_restrict: bool, is_volatile: bool, is_reference: bool },
    Array(Option<u64>),
    Function(Vec<Spelled>),
}

impl Parser<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn eat_word(&mut self, word: &str) -> bool {
        self.skip_space();
        let Some(rest) = self.rest.strip_prefix(word) else { return false };
        let ends = !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        if ends {
            self.rest = rest;
        }
        ends
    }

    fn full_type(&mut self) -> Option<Spelled> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let base = self.base()?;
        let pieces = self.declarator()?;
        self.depth -= 1;
        Some(pieces.into_iter().rev().fold(base, wrap))
    }

    /// The leftmost part: qualifiers and a name.
    fn base(&mut self) -> Option<Spelled> {
        let (mut is_const, mut is_volatile) = (false, false);
        let mut name = String::new();
        loop {
            self.skip_space();
            if self.eat_word("const") {
                is_const = true;
            } else if self.eat_word("volatile") {
                is_volatile = true;
            } else if self.eat_word("struct")
                || self.eat_word("class")
                || self.eat_word("enum")
                || self.eat_word("union")
                || self.eat_word("typename")
            {
                // The word says nothing that the name does not.
            } else {
                let length = name_length(self.rest);
                let is_first = name.is_empty();
                if length == 0 || !(is_first || is_scalar_word(&self.rest[..length]) && is_scalar_word(&name)) {
                    break;
                }
                if !is_first {
                    name.push(' ');
                }
                name.push_str(&self.rest[..length]);
                self.rest = &self.rest[length..];
            }
        }
        (!name.is_empty()).then_some(Spelled::Named(Named { name, is_const, is_volatile }))
    }

    /// What follows the base, innermost first.
    fn declarator(&mut self) -> Option<Vec<Piece>> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut pointers = Vec::new();
        loop {
            let is_reference = self.eat("&");
            if is_reference {
                self.eat("&");
            } else if !self.eat("*") {
                break;
            }
            let (mut is_const, mut is_restrict, mut is_volatile) = (false, false, false);
            loop {
                if self.eat_word("const") {
                    is_const = true;
                } else if self.eat_word("__restrict") || self.eat_word("__restrict__") {
                    is_restrict = true;
                } else if self.eat_word("volatile") {
                    is_volatile = true;
                } else {
                    break;
                }
            }
            pointers.push(Piece::Pointer { is_const, is_restrict, is_volatile, is_reference });
        }
        let mut pieces = Vec::new();
        self.skip_space();
        let is_group = self
            .rest
            .strip_prefix('(')
            .is_some_and(|rest| rest.starts_with(['*', '&', '(']) && !starts_with_parenthesized_name(rest));
        if is_group && self.eat("(") {
            pieces = self.declarator()?;
            if !self.eat(")") {
                return None;
            }
        }
        loop {
            if self.eat("[") {
                let close = self.rest.find(']')?;
                let length = self.rest[..close].trim();
                pieces.push(Piece::Array(if length.is_empty() { None } else { Some(length.parse().ok()?) }));
                self.rest = &self.rest[close + 1..];
            } else if self.eat("(") {
                pieces.push(Piece::Function(self.params()?));
            } else {
                break;
            }
        }
        // There are no arrays of references: of a template's `T &`, where `T` is an array, Clang prints `float &[8]`.
        if let (Some(Piece::Array(_)), Some(Piece::Pointer { is_reference: true, .. })) =
            (pieces.first(), pointers.last())
        {
            pieces.splice(0..0, pointers.pop());
        }
        pieces.extend(pointers.into_iter().rev());
        self.depth -= 1;
        Some(pieces)
    }

    fn params(&mut self) -> Option<Vec<Spelled>> {
        let mut params = Vec::new();
        if self.eat(")") {
            return Some(params);
        }
        loop {
            if self.eat("...") {
                return self.eat(")").then_some(params);
            }
            params.push(self.full_type()?);
            if self.eat(")") {
                return Some(params);
            }
            if !self.eat(",") {
                return None;
            }
        }
    }
}

fn wrap(inner: Spelled, piece: Piece) -> Spelled {
    match piece {
        Piece::Pointer { is_const, is_restrict, is_volatile, is_reference } => {
            Spelled::Pointer { pointee: Box::new(inner), is_const, is_restrict, is_volatile, is_reference }
        }
        Piece::Array(length) => Spelled::Array { element: Box::new(inner), length },
        Piece::Function(params) => Spelled::Function { result: Box::new(inner), params },
    }
}

/// The length of the name at the start: identifiers, `::`, template arguments, or Clang's name of a lambda or of a
/// type without a name, which stand in parentheses.
fn name_length(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        if starts_with_parenthesized_name(rest) {
            let Some(close) = rest.find(')') else { return 0 };
            at += close + 1;
        } else {
            at += rest.find(|next: char| !(next.is_alphanumeric() || next == '_')).unwrap_or(rest.len());
        }
        let rest = &text[at..];
        if at > 0 && rest.starts_with('<') {
            let Some(length) = bracketed_length(rest) else { return 0 };
            at += length;
        }
        if text[at..].starts_with("::") {
            at += 2;
        } else {
            return at;
        }
    }
}

/// Whether a name that Clang made up stands here: `(lambda at k.cu:7:12)`.
fn starts_with_parenthesized_name(text: &str) -> bool {
    ["(lambda at ", "(unnamed ", "(anonymous "].iter().any(|start| text.starts_with(start))
}

/// The length of `<…>` with everything inside.
fn bracketed_length(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, character) in text.char_indices() {
        match character {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + character.len_utf8());
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether every word is one of which C++'s scalar types are made, so that several form one name.
fn is_scalar_word(words: &str) -> bool {
    words.split(' ').all(|word| matches!(word, "unsigned" | "signed" | "long" | "short" | "int" | "char" | "double"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(ty: &Spelled) -> String {
        match ty {
            Spelled::Named(named) => format!(
                "{}{}{}",
                if named.is_const { "const " } else { "" },
                if named.is_volatile { "volatile " } else { "" },
                named.name
            ),
            Spelled::Pointer { pointee, is_const, is_restrict, is_reference, .. } => format!(
                "{}{}{} to ({})",
                if *is_const { "const " } else { "" },
                if *is_restrict { "restrict " } else { "" },
                if *is_reference { "reference" } else { "pointer" },
                show(pointee)
            ),
            Spelled::Array { element, length } => format!("array {length:?} of ({})", show(element)),
            Spelled::Function { result, params } => {
                let params: Vec<String> = params.iter().map(show).collect();
                format!("function ({}) to {}", params.join("; "), show(result))
            }
        }
    }

    #[test]
    fn spellings() {
        let cases = [
            ("const float *__restrict", "restrict pointer to (const float)"),
            ("float (*)[8]", "pointer to (array Some(8) of (float))"),
            ("float (&)[2][3]", "reference to (array Some(2) of (array Some(3) of (float)))"),
            ("unsigned long long", "unsigned long long"),
            ("const unsigned int", "const unsigned int"),
            ("float *const *", "pointer to (const pointer to (float))"),
            ("float *[4]", "array Some(4) of (pointer to (float))"),
            // As Clang prints a template's `T &` and `const T &` of arrays.
            ("float &[8]", "reference to (array Some(8) of (float))"),
            ("const float *&[2][8]", "reference to (array Some(2) of (array Some(8) of (pointer to (const float))))"),
            ("typename Of<float3>::type *", "pointer to (Of<float3>::type)"),
            ("char[]", "array None of (char)"),
            ("geo::Vec<float, 3>::In &&", "reference to (geo::Vec<float, 3>::In)"),
            ("const (lambda at k.cu:7:12) &", "reference to (const (lambda at k.cu:7:12))"),
            ("float (const S &, int) const", "function (reference to (const S); int) to float"),
            ("float &(*)(int)", "pointer to (function (int) to reference to (float))"),
            ("struct In", "In"),
            ("float ((lambda at m.cu:1:2), float)", "function ((lambda at m.cu:1:2); float) to float"),
            (
                "void (float *, void (*)(int), ...)",
                "function (pointer to (float); pointer to (function (int) to void)) to void",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).as_ref().map(show).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "*", "float (", "float [x]", "Vec<float", "float )", "<dependent type>"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&format!("float {}", "(*".repeat(100))), None);
    }

    #[test]
    fn arguments_of_templates() {
        assert_eq!(template_arguments("V<V<int, 2>, 3>"), Some(("V", vec!["V<int, 2>", "3"])));
        assert_eq!(template_arguments("V"), None);
    }
}
