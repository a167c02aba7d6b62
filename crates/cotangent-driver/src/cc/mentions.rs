//! Cheap tests on the text of a file and the user's headers that it includes: whether it may ask for gradients, whether it
//! may read differently for another architecture. Nothing is preprocessed, so text under `#if 0` counts too; only the
//! answer "no" must be right, because then nothing else looks.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The header without which there is no request.
pub(super) const HEADER: &str = "cotangent/cotangent.hpp";

/// What device code asks for its architecture.
pub(super) const ARCHITECTURE: &str = "__CUDA_ARCH";

/// Whether a word is in this file, or in headers found beside their includers or in `folders`.
pub(super) fn mentions(file: &Path, folders: &[PathBuf], word: &str) -> bool {
    let mut seen = HashSet::new();
    let mut pending = vec![file.to_path_buf()];
    while let Some(path) = pending.pop() {
        // What cannot be read is the compiler's to complain about.
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        if text.contains(word) {
            return true;
        }
        for included in text.lines().filter_map(included) {
            match included {
                // A macro that holds a name: it may be any.
                None => return true,
                Some(name) => {
                    let beside = path.parent().map(Path::to_path_buf);
                    let found =
                        beside.iter().chain(folders).map(|folder| folder.join(name)).find(|path| path.is_file());
                    pending.extend(found.filter(|path| seen.insert(path.clone())));
                }
            }
        }
    }
    false
}

/// What a line includes, if it does: the name between quotes or brackets, or none if a macro says it.
fn included(line: &str) -> Option<Option<&str>> {
    let directive = line.trim_start().strip_prefix('#')?.trim_start();
    let rest = directive.strip_prefix("include_next").or_else(|| directive.strip_prefix("include"))?;
    if rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_') {
        return None;
    }
    let rest = rest.trim_start();
    let end = match rest.chars().next()? {
        '"' => '"',
        '<' => '>',
        letter if letter.is_alphabetic() || letter == '_' => return Some(None),
        _ => return None,
    };
    rest[1..].split_once(end).map(|(name, _)| Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_read_as_written() {
        assert_eq!(included("  #  include \"a b.h\" // x"), Some(Some("a b.h")));
        assert_eq!(included("#include<vector>"), Some(Some("vector")));
        assert_eq!(included("#include_next <x.h>"), Some(Some("x.h")));
        assert_eq!(included("#include CONFIG"), Some(None));
        assert_eq!(included("#includes \"x\""), None);
        assert_eq!(included("// #include \"x\""), None);
    }

    /// Printed derivatives include them, and ask for nothing.
    #[test]
    fn our_other_headers_do_not_name_the_one_of_requests() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include/cotangent");
        for header in std::fs::read_dir(folder).unwrap() {
            let header = header.unwrap().path();
            let is_named = std::fs::read_to_string(&header).unwrap().contains(HEADER);
            assert!(
                !is_named || HEADER.ends_with(header.file_name().unwrap().to_str().unwrap()),
                "{}",
                header.display()
            );
        }
    }

    #[test]
    fn headers_are_followed_and_may_include_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        write("include/deep/a.h", "#include \"b.h\"\n#include <vector>\n");
        write("include/deep/b.h", "#include \"a.h\"\n#include <deep/c.h>\n");
        let main = write("main.cu", "#include <deep/a.h>\n");
        let folders = [folder.path().join("include")];
        assert!(!mentions(&main, &folders, HEADER));
        write("include/deep/c.h", "#include <cotangent/cotangent.hpp>\n");
        assert!(mentions(&main, &folders, HEADER));
        assert!(!mentions(&main, &[], HEADER));
    }
}
