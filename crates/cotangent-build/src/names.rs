//! Names of CUDA as names of Rust.

/// Words that are no names in Rust.
const KEYWORDS: [&str; 38] = [
    "abstract", "as", "async", "await", "become", "box", "dyn", "final", "fn", "gen", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "trait", "try", "type", "unsafe",
    "unsized", "use", "where", "yield", "crate", "self", "super", "Self", "static", "extern", "enum",
];

/// What the generated functions call things of their own.
const OWN: [&str; 9] = ["launch", "stream", "record", "slots", "bytes", "call", "address", "clear", "aligned"];

/// Functions that stand beside those that launch.
const BESIDE: [&str; 5] = ["address", "clear", "aligned", "load", "allow_shared"];

/// The name of a parameter: the adjoint `_d_x` of `x` is `d_x` unless `taken` has that name.
pub(crate) fn parameter(name: &str, taken: &[String]) -> String {
    let short = name.strip_prefix('_').filter(|short| short.starts_with("d_"));
    let name = short.filter(|short| taken.iter().all(|name| name != short)).unwrap_or(name);
    let is_plain = !KEYWORDS.contains(&name) && !OWN.contains(&name);
    if is_plain { name.to_owned() } else { format!("{name}_") }
}

/// The name of a function. Kernels of templates have names of C++, which are names of Rust.
pub(crate) fn function(name: &str) -> String {
    let is_plain = !KEYWORDS.contains(&name) && !BESIDE.contains(&name);
    if is_plain { name.to_owned() } else { format!("{name}_") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cuda_are_names_of_rust() {
        let taken = ["d_y".to_owned()];
        assert_eq!(parameter("_d_x", &taken), "d_x");
        assert_eq!(parameter("_d_y", &taken), "_d_y");
        assert_eq!(parameter("in", &taken), "in_");
        assert_eq!(parameter("stream", &taken), "stream_");
        assert_eq!(parameter("clear", &taken), "clear_");
        assert_eq!(function("match"), "match_");
        assert_eq!(function("load"), "load_");
    }
}
