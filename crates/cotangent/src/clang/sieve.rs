//! Drops from Clang's dump, while it streams in, the declarations nobody will ask for.
//!
//! `<vector>`, `<iostream>` and `<cmath>` alone make a dump of a quarter of a gigabyte, nearly all of it the standard
//! library. The dump is printed with two spaces a level and JSON strings hold no line breaks, so a line that consists
//! of four spaces and a closing brace ends a declaration of the translation unit: whole declarations are kept or
//! dropped by the file they stand in, without parsing them.
//!
//! Clang leaves the file out of a location that is in the same file as the one printed before. After a dropped
//! declaration that file is repeated in a small empty declaration, so that what remains is a dump of its own.

use memchr::memmem;

/// The end of a declaration of the translation unit.
const END: &[u8] = b"\n    }";

/// A filter that takes Clang's dump in pieces and gives back the part that matters.
pub struct Sieve {
    keep: fn(&str) -> bool,
    pending: Vec<u8>,
    scanned: usize,
    kept: Vec<u8>,
    state: State,
    file: Vec<u8>,
    file_is_stale: bool,
}

#[derive(PartialEq)]
enum State {
    /// Before the list of declarations.
    Header,
    /// In the list.
    Declarations,
}

impl Sieve {
    /// A sieve that keeps the declarations whose file satisfies `keep`.
    pub fn new(keep: fn(&str) -> bool) -> Sieve {
        Sieve {
            keep,
            pending: Vec::new(),
            scanned: 0,
            kept: Vec::new(),
            state: State::Header,
            file: Vec::new(),
            file_is_stale: false,
        }
    }

    /// Takes the next piece of the dump.
    pub fn push(&mut self, piece: &[u8]) {
        self.pending.extend_from_slice(piece);
        let mut start = 0;
        if self.state == State::Header {
            const INNER: &[u8] = b"\n  \"inner\": [\n";
            let Some(at) = memmem::find(&self.pending, INNER) else { return };
            start = at + INNER.len();
            self.kept.extend_from_slice(&self.pending[..start - 1]);
            self.scanned = start;
            self.state = State::Declarations;
        }
        let pending = std::mem::take(&mut self.pending);
        while let Some(offset) = memmem::find(&pending[self.scanned..], END) {
            let end = self.scanned + offset + END.len();
            let Some(after) = pending.get(end) else {
                break;
            };
            if matches!(after, b',' | b'\n' | b'\r') {
                self.declaration(&pending[start..end]);
                start = (end + 2).min(pending.len());
                self.scanned = start;
            } else {
                self.scanned = end;
            }
        }
        self.scanned = self.scanned.max(pending.len().saturating_sub(END.len())).max(start) - start;
        self.pending = pending;
        self.pending.drain(..start);
    }

    /// The remaining dump. What followed the last complete declaration of an unfinished dump is not in it.
    pub fn finish(mut self) -> Vec<u8> {
        if self.state == State::Header {
            return self.pending;
        }
        self.kept.extend_from_slice(b"\n  ]\n}\n");
        self.kept
    }

    fn declaration(&mut self, text: &[u8]) {
        let own_file = file_of(text).or((!self.file.is_empty()).then_some(&self.file[..]));
        let keep = own_file.is_some_and(|file| std::str::from_utf8(file).is_ok_and(self.keep));
        if keep {
            if self.file_is_stale {
                let marker = marker(&self.file);
                self.append(&marker);
                self.file_is_stale = false;
            }
            self.append(text);
        }
        if let Some(file) = last_file(text) {
            self.file = file.to_vec();
            self.file_is_stale |= !keep;
        }
    }

    fn append(&mut self, declaration: &[u8]) {
        if self.kept.last() != Some(&b'[') {
            self.kept.push(b',');
        }
        self.kept.push(b'\n');
        self.kept.extend_from_slice(declaration);
    }
}

/// Whether a declaration in that file may be asked for: everything but the standard library's and Clang's own headers.
pub fn is_not_system(path: &str) -> bool {
    let is_system = path.starts_with("/usr/include/c++/")
        || path.starts_with("/usr/include/x86_64-linux-gnu/")
        || path.starts_with("/usr/include/aarch64-linux-gnu/")
        || path.contains("/lib/clang/")
        || path.contains("/lib/gcc/")
        || path.strip_prefix("/usr/include/").is_some_and(|rest| !rest.contains('/'));
    !is_system
}

/// An empty declaration whose only purpose is to name the file that the next location is in.
fn marker(file: &[u8]) -> Vec<u8> {
    let mut marker = b"    {\n      \"id\": \"0x0\",\n      \"kind\": \"EmptyDecl\",\n      \"loc\": {\n        \"offset\": 0,\n        \"file\": \"".to_vec();
    marker.extend_from_slice(file);
    marker.extend_from_slice(b"\",\n        \"line\": 1,\n        \"col\": 1,\n        \"tokLen\": 1\n      }\n    }");
    marker
}

/// The file of the declaration itself, if its location names one.
fn file_of(declaration: &[u8]) -> Option<&[u8]> {
    let start = memmem::find(declaration, b"\n      \"loc\": {")?;
    let end = memmem::find(&declaration[start..], b"\n      }").map_or(declaration.len(), |end| start + end);
    last_file(&declaration[start..end])
}

/// The last file that a location in this text names.
fn last_file(text: &[u8]) -> Option<&[u8]> {
    const FILE: &[u8] = b"\"file\": \"";
    let mut end = text.len();
    while let Some(at) = memmem::rfind(&text[..end], FILE) {
        let before = text[..at].trim_ascii_end();
        let value = &text[at + FILE.len()..];
        let length = memchr::memchr(b'\n', value).unwrap_or(value.len());
        // An `includedFrom` names a file too, but only a location has an offset before it.
        if before.last() == Some(&b',') {
            let value = value[..length].trim_ascii_end();
            return Some(value.strip_suffix(b"\",").or(value.strip_suffix(b"\"")).unwrap_or(value));
        }
        end = at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = r#"{
  "id": "0x1",
  "kind": "TranslationUnitDecl",
  "inner": [
    {
      "id": "0x2",
      "kind": "TypedefDecl",
      "loc": {}
    },
    {
      "id": "0x3",
      "kind": "VarDecl",
      "loc": {
        "offset": 5,
        "file": "/usr/include/math.h",
        "line": 1,
        "includedFrom": {
          "file": "user.cu"
        }
      },
      "inner": [
        {
          "id": "0x4"
        }
      ]
    },
    {
      "id": "0x5",
      "kind": "VarDecl",
      "loc": {
        "offset": 9,
        "file": "user.cu",
        "line": 2
      }
    },
    {
      "id": "0x6",
      "kind": "VarDecl",
      "loc": {
        "offset": 19
      }
    }
  ]
}
"#;

    fn ids(dump: &[u8]) -> Vec<String> {
        let value: serde_json::Value = serde_json::from_slice(dump).expect("a dump of its own");
        let inner = value["inner"].as_array().expect("declarations");
        inner.iter().map(|node| node["id"].as_str().expect("an id").to_owned()).collect()
    }

    #[test]
    fn keeps_the_users_declarations_whatever_the_pieces() {
        for size in 1..DUMP.len() {
            let mut sieve = Sieve::new(is_not_system);
            for piece in DUMP.as_bytes().chunks(size) {
                sieve.push(piece);
            }
            assert_eq!(ids(&sieve.finish()), ["0x0", "0x5", "0x6"], "pieces of {size} bytes");
        }
    }

    #[test]
    fn an_unfinished_dump_gives_its_complete_declarations() {
        let cut = DUMP.find("\"0x6\"").expect("the last declaration");
        let mut sieve = Sieve::new(is_not_system);
        sieve.push(&DUMP.as_bytes()[..cut]);
        assert_eq!(ids(&sieve.finish()), ["0x0", "0x5"]);
    }
}
