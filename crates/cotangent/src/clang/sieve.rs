//! Drops from Clang's dump, while it streams in, the declarations nobody will ask for, and all indentation.
//!
//! `<vector>`, `<iostream>` and `<cmath>` alone make a dump of a quarter of a gigabyte, nearly all of it the standard
//! library. The dump is printed with two spaces a level and JSON strings hold no line breaks, so a line that consists
//! of four spaces and a closing brace ends a declaration of the translation unit: whole declarations are kept or
//! dropped by the file they stand in, without parsing them.
//!
//! Blanks at the start of a line are counted and then dropped. They are most of the dump of a deep tree: a sum of two
//! thousand terms is half a gigabyte with them and a few megabytes without.
//!
//! Clang leaves the file out of a location that is in the same file as the one printed before. After a dropped
//! declaration that file is repeated in a small empty declaration, so that what remains is a dump of its own.

use memchr::{memchr, memmem};

/// Counted up whenever other declarations are kept than before: what was sieved by an older one is asked for anew.
pub const GENERATION: u32 = 3;

/// A filter that takes Clang's dump in pieces and gives back the part that matters.
pub struct Sieve {
    keep: fn(&str) -> bool,
    state: State,
    /// The lines since the last declaration ended, without their indentation; the last one may be unfinished.
    pending: Vec<u8>,
    /// Where the last line of `pending` starts.
    line_start: usize,
    /// How many blanks the last line started with.
    indentation: usize,
    /// Whether nothing but blanks of the last line has come.
    in_indentation: bool,
    kept: Vec<u8>,
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
            state: State::Header,
            pending: Vec::new(),
            line_start: 0,
            indentation: 0,
            in_indentation: true,
            kept: Vec::new(),
            file: Vec::new(),
            file_is_stale: false,
        }
    }

    /// Takes the next piece of the dump.
    pub fn push(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            if self.in_indentation {
                let blanks = piece.iter().position(|byte| *byte != b' ').unwrap_or(piece.len());
                self.indentation += blanks;
                piece = &piece[blanks..];
                self.in_indentation = piece.is_empty();
                continue;
            }
            let Some(end) = memchr(b'\n', piece) else {
                self.pending.extend_from_slice(piece);
                return;
            };
            self.pending.extend_from_slice(&piece[..end]);
            piece = &piece[end + 1..];
            self.end_of_line();
        }
    }

    /// The remaining dump. What followed the last complete declaration of an unfinished dump is not in it.
    pub fn finish(mut self) -> Vec<u8> {
        if self.state == State::Header {
            return self.pending;
        }
        self.kept.extend_from_slice(b"\n]\n}\n");
        self.kept
    }

    fn end_of_line(&mut self) {
        let line = self.pending[self.line_start..].trim_ascii_end();
        match self.state {
            State::Header if self.indentation == 2 && line == b"\"inner\": [" => {
                self.kept.append(&mut self.pending);
                self.state = State::Declarations;
            }
            State::Declarations if self.indentation == 4 && matches!(line, b"}" | b"},") => {
                self.pending.truncate(self.line_start + 1);
                let declaration = std::mem::take(&mut self.pending);
                self.declaration(&declaration);
                // The next one needs the room again.
                self.pending = declaration;
                self.pending.clear();
            }
            State::Header | State::Declarations => self.pending.push(b'\n'),
        }
        self.line_start = self.pending.len();
        self.indentation = 0;
        self.in_indentation = true;
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

/// Whether a declaration in that file may be asked for: everything but the standard library's and Clang's own headers,
/// and the bodies that a CUDA toolkit gives to its functions, which the tables of `rules` stand for.
pub fn is_not_system(path: &str) -> bool {
    (!is_system(path) || is_of_functors(path)) && !is_body_of_cuda(path)
}

/// Whether a file is the standard library's, or Clang's own.
fn is_system(path: &str) -> bool {
    path.starts_with("/usr/include/c++/")
        || path.starts_with("/usr/include/x86_64-linux-gnu/")
        || path.starts_with("/usr/include/aarch64-linux-gnu/")
        || path.contains("/lib/clang/")
        || path.contains("/lib/gcc/")
        || path.strip_prefix("/usr/include/").is_some_and(|rest| !rest.contains('/'))
}

/// Whether a file is the program's, and not one that is read because programs use it.
pub fn is_of_program(path: &str) -> bool {
    is_not_system(path) && !is_of_functors(path)
}

/// `std::plus` and its like, which libraries for device code hand around.
fn is_of_functors(path: &str) -> bool {
    path.ends_with("/bits/stl_function.h")
}

/// `sm_20_atomic_functions.hpp` and its like.
fn is_body_of_cuda(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_by_architecture =
        name.starts_with("sm_") && (name.ends_with("_functions.hpp") || name.ends_with("_intrinsics.hpp"));
    let others =
        ["device_functions.hpp", "device_atomic_functions.hpp", "device_double_functions.hpp", "math_functions.hpp"];
    is_by_architecture || others.contains(&name)
}

/// An empty declaration whose only purpose is to name the file that the next location is in.
fn marker(file: &[u8]) -> Vec<u8> {
    let mut marker = b"{\"id\": \"0x0\", \"kind\": \"EmptyDecl\", \"loc\": {\"offset\": 0, \"file\": \"".to_vec();
    marker.extend_from_slice(file);
    marker.extend_from_slice(b"\", \"line\": 1, \"col\": 1, \"tokLen\": 1}}");
    marker
}

/// The file of the declaration itself, if its location names one. Clang prints the location before all other parts.
fn file_of(declaration: &[u8]) -> Option<&[u8]> {
    const LOCATION: &[u8] = b"\n\"loc\": {\n";
    let start = memmem::find(declaration, LOCATION)? + LOCATION.len();
    let mut depth = 1;
    let mut end = start;
    while depth > 0 {
        let length = memchr(b'\n', &declaration[end..]).unwrap_or(declaration.len() - end);
        let line = &declaration[end..end + length];
        match (line.first(), line.last()) {
            (Some(b'}'), _) => depth -= 1,
            (_, Some(b'{')) => depth += 1,
            _ => {}
        }
        end = (end + length + 1).min(declaration.len());
        if end == declaration.len() {
            break;
        }
    }
    last_file(&declaration[start..end])
}

/// The last file that a location in this text names.
fn last_file(text: &[u8]) -> Option<&[u8]> {
    const FILE: &[u8] = b"\"file\": \"";
    let mut end = text.len();
    while let Some(at) = memmem::rfind(&text[..end], FILE) {
        let before = text[..at].trim_ascii_end();
        let value = &text[at + FILE.len()..];
        let length = memchr(b'\n', value).unwrap_or(value.len());
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

    #[test]
    fn indentation_is_dropped() {
        let mut sieve = Sieve::new(is_not_system);
        sieve.push(DUMP.as_bytes());
        let kept = sieve.finish();
        assert!(memmem::find(&kept, b"\n ").is_none());
    }
}
