//! What compilers write names the files that they read; for the user and the build system that is the user's file and
//! not its copy.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use cotangent::requests;

use super::copies::Copies;
use crate::error::DriverError;
use crate::output::Output;

/// Passes on what a compiler writes, a line at a time. Where nobody wants to read it, the rest is dropped.
pub(super) fn relay(from: impl Read, mut to: impl Write, copies: &Copies) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = std::str::from_utf8(&line).map(|text| corrected(text, copies).into_bytes());
        // The pipe must be emptied all the same, or the compiler waits for ever.
        let _ = to.write_all(&text.unwrap_or_else(|_| line.clone())).and_then(|()| to.flush());
        line.clear();
    }
}

/// Corrects a dependency file, if it is there: compilers write it only when they are asked to, and succeed.
pub(super) fn correct_file(file: &Path, copies: &Copies) -> Result<(), DriverError> {
    let Ok(text) = std::fs::read_to_string(file) else { return Ok(()) };
    let corrected = corrected(&text, copies);
    if corrected == text {
        return Ok(());
    }
    Output::apart_from(file, &[])?.write(&corrected)
}

/// The text with the originals' names, quoted as make wants them where the compiler quoted the copies'.
///
/// nvcc lists the names in `#line` directives as dependencies too. That of the derivatives is no file.
fn corrected(text: &str, copies: &Copies) -> String {
    copies.all.iter().fold(text.to_owned(), |text, file| {
        let [copy, original] = [&file.copy, &file.original].map(|path| path.display().to_string());
        let derivatives = for_make(&requests::place_of_derivatives(&original));
        let text = text.replace(&derivatives, &for_make(&original));
        text.replace(&for_make(&copy), &for_make(&original)).replace(&copy, &original)
    })
}

fn for_make(path: &str) -> String {
    path.replace('$', "$$").replace('#', "\\#").replace(' ', "\\ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_replaced_in_either_quoting() {
        let mut copies = Copies::new().unwrap();
        copies.write(0, "source/my kernel.cu".into(), "").unwrap();
        let copy = copies.all[0].copy.display().to_string();
        let derivatives = requests::place_of_derivatives("source/my kernel.cu");
        let text = format!("a.o : {} \\\n    {}\n\n{copy}:\n", for_make(&copy), for_make(&derivatives));
        let expected = "a.o : source/my\\ kernel.cu \\\n    source/my\\ kernel.cu\n\nsource/my kernel.cu:\n";
        assert_eq!(corrected(&text, &copies), expected);
    }
}
