//! A rule about files of tests: none is forgotten. Cargo does not find them by itself, as they are modules of one program.

use super::complaint::Complaint;
use crate::workspace::SourceFile;

pub(super) fn check(files: &[SourceFile]) -> Vec<Complaint> {
    let text = |path: String| files.iter().find(|file| file.path == path).map_or("", |file| &file.text);
    let mut complaints = Vec::new();
    for file in files {
        let Some((folder, name)) = file.path.strip_suffix(".rs").and_then(|path| path.split_once("/tests/")) else {
            continue;
        };
        if folder.contains("/src") || name.contains('/') || name == "main" {
            continue;
        }
        let is_module = text(format!("{folder}/tests/main.rs")).contains(&format!("mod {name};"));
        let is_program = text(format!("{folder}/Cargo.toml")).contains(&format!("name = \"{name}\""));
        if !is_module && !is_program {
            let message = format!("is never run: add `mod {name};` to {folder}/tests/main.rs");
            complaints.push(Complaint::new(&file.path, 1, message));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_tests_is_a_module_or_a_program() {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("crates/x/Cargo.toml", "[[test]]\nname = \"apart\"\n"),
            file("crates/x/tests/main.rs", "mod listed;\n"),
            file("crates/x/tests/listed.rs", ""),
            file("crates/x/tests/apart.rs", ""),
            file("crates/x/tests/forgotten.rs", ""),
            file("crates/x/tests/listed/part.rs", ""),
        ];
        let found: Vec<String> = check(&files).into_iter().map(|complaint| complaint.path).collect();
        assert_eq!(found, ["crates/x/tests/forgotten.rs"]);
    }
}
