//! What C++ accepts as a name.

/// Words that C++ keeps for itself. Sorted.
const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];

/// An identifier that is no keyword.
pub(super) fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    let starts_well = characters.next().is_some_and(|first| first.is_alphabetic() || first == '_');
    let goes_on_well = characters.all(|character| character.is_alphanumeric() || character == '_');
    starts_well && goes_on_well && KEYWORDS.binary_search(&name).is_err()
}

/// Identifiers with `::` between them.
pub(super) fn is_qualified_name(name: &str) -> bool {
    name.split("::").all(is_identifier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted() {
        assert!(KEYWORDS.is_sorted());
    }

    #[test]
    fn names() {
        assert!(is_identifier("_d_x1") && is_identifier("größe"));
        assert!(!is_identifier("") && !is_identifier("1x") && !is_identifier("a b") && !is_identifier("for"));
        assert!(is_qualified_name("geo::Vec3") && is_qualified_name("f"));
        assert!(!is_qualified_name("geo::") && !is_qualified_name("::f") && !is_qualified_name("a:b"));
    }
}
