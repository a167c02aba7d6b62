//! Texts of the user's files. Comments in older encodings are common, and the compiler works on UTF-8: a byte that is not
//! becomes a `?`, so that every place stays where Clang says it is.

use std::io;
use std::path::Path;

/// A file's text, and the line of the first byte that was not UTF-8.
pub(crate) struct SourceText {
    pub(crate) text: String,
    pub(crate) first_replaced: Option<usize>,
}

/// Reads a file.
pub(crate) fn source_text(path: &Path) -> io::Result<SourceText> {
    std::fs::read(path).map(of_bytes)
}

fn of_bytes(mut bytes: Vec<u8>) -> SourceText {
    let mut first = None;
    let mut start = 0;
    while let Err(error) = std::str::from_utf8(&bytes[start..]) {
        let at = start + error.valid_up_to();
        let length = error.error_len().unwrap_or(bytes.len() - at);
        bytes[at..at + length].fill(b'?');
        first.get_or_insert(at);
        start = at + length;
    }
    let first_replaced = first.map(|at| bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1);
    let text = String::from_utf8(bytes).expect("all else was replaced");
    SourceText { text, first_replaced }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stay_where_they_are() {
        let found = of_bytes(b"// plain\n// ete\xe9 \xff\xfe!\nint x;\n".to_vec());
        assert_eq!((found.text.as_str(), found.first_replaced), ("// plain\n// ete? ??!\nint x;\n", Some(2)));
        let whole = of_bytes("// ete\u{e9}\n".into());
        assert_eq!((whole.text.as_str(), whole.first_replaced), ("// ete\u{e9}\n", None));
        assert_eq!(of_bytes(b"end \xe2\x82".to_vec()).text, "end ??");
    }
}
