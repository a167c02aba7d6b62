//! Launches with blanks inside their brackets, `k<< <grid, block >> >(x)`: nvcc accepts them, Clang does not. In the
//! text that Clang sees the blanks are moved after the bracket, so that nothing changes its place but they.

use std::path::Path;

use crate::compile::Overlay;
use crate::flags::ParseFlags;
use crate::own_files::own_files;

/// The texts, with brackets joined, of the program's own files, where there is anything to join.
pub(crate) fn overlays(file: &Path, flags: &ParseFlags) -> Vec<Overlay> {
    let own = own_files(file, flags).into_iter();
    own.filter_map(|(path, text)| Some(Overlay { path, text: joined(&text)? })).collect()
}

/// The text with the brackets of its launches joined; nothing if they all are.
pub(crate) fn joined(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'<'
            && follows_a_kernel(bytes, at)
            && let Some(open) = bracket(bytes, at, b'<')
            && let Some(close) = closing(bytes, open[2] + 1)
        {
            join(&mut out, open, b'<');
            join(&mut out, close, b'>');
            at = open[2];
        }
        at = next(bytes, at);
    }
    // Only bytes of ASCII changed places.
    (out != bytes).then(|| String::from_utf8(out).ok()).flatten()
}

fn join(out: &mut [u8], [first, _, last]: [usize; 3], byte: u8) {
    out[first..=last].fill(b' ');
    out[first..first + 3].fill(byte);
}

/// Three of these bytes with nothing but blanks between.
fn bracket(bytes: &[u8], first: usize, byte: u8) -> Option<[usize; 3]> {
    let second = after_blanks(bytes, first + 1);
    let third = after_blanks(bytes, second + 1);
    let is_there = |at: usize| bytes.get(at) == Some(&byte);
    (is_there(first) && is_there(second) && is_there(third)).then_some([first, second, third])
}

fn after_blanks(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| !matches!(byte, b' ' | b'\t')).unwrap_or(rest.len())
}

/// Whether the word before is a name, or ends a list of template arguments.
fn follows_a_kernel(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].trim_ascii_end().last();
    before.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'>' | b')'))
}

/// The bracket that ends the configuration and is followed by the arguments.
fn closing(bytes: &[u8], from: usize) -> Option<[usize; 3]> {
    let mut depth = 0usize;
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            b';' if depth == 0 => return None,
            b'>' if depth == 0 => {
                // Template arguments may end just before: `<< <f<int> >> >(`. Only the last three are followed by
                // the arguments.
                if let Some(found) = bracket(bytes, at, b'>')
                    && bytes[found[2] + 1..].trim_ascii_start().first() == Some(&b'(')
                {
                    return Some(found);
                }
            }
            _ => {}
        }
        at = next(bytes, at);
    }
    None
}

/// Behind the byte, the string or the comment that starts here.
fn next(bytes: &[u8], at: usize) -> usize {
    let find = |from: usize, end: &[u8]| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.windows(end.len()).position(|window| window == end).map_or(bytes.len(), |found| from + found + end.len())
    };
    match &bytes[at..] {
        [b'/', b'/', ..] => find(at, b"\n"),
        [b'/', b'*', ..] => find(at + 2, b"*/"),
        [b'R', b'"', rest @ ..] => {
            let delimiter = rest.iter().position(|byte| *byte == b'(').unwrap_or(0);
            find(at + 2, &[b")", &rest[..delimiter], b"\""].concat())
        }
        // An apostrophe within a number separates its digits.
        [b'\'', ..] if at > 0 && bytes[at - 1].is_ascii_alphanumeric() => at + 1,
        [quote @ (b'"' | b'\''), ..] => {
            let mut end = at + 1;
            while end < bytes.len() && bytes[end] != *quote && bytes[end] != b'\n' {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            end + 1
        }
        _ => at + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn brackets_of_launches_are_joined_in_place() {
        let cases = [
            ("k<< <1, 2 >> >(x);", "k<<< 1, 2 >>> (x);"),
            ("k<<<1, 2>> >(x);", "k<<<1, 2>>> (x);"),
            ("k<float> << <dim3(1), f(\">> >(\")>> > (x);", "k<float> <<< dim3(1), f(\">> >(\")>>>  (x);"),
            ("k<< <1, b<int> >> >(x);", "k<<< 1, b<int> >>> (x);"),
        ];
        for (text, expected) in cases {
            assert_eq!(joined(text).as_deref(), Some(expected), "{text}");
            assert_eq!(text.len(), expected.len());
        }
    }

    #[test]
    fn other_text_stays() {
        for text in [
            "k<<<1, 2>>>(x);",
            "// k<< <1, 2>> >(x)\n",
            "const char* s = \"k<< <1, 2>> >(x)\";",
            "x = a << b; if (c < d) y = e >> 2; z(f > (g));",
            "std::vector<std::vector<std::array<int, 1 << 2> > >(3);",
            "auto s = R\"x(k<< <1, 2>> >(x))x\";",
        ] {
            assert_eq!(joined(text), None, "{text}");
        }
    }
}
