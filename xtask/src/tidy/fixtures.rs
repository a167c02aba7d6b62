//! Rules about fixtures: each lies in a folder of the table in CONTRIBUTING.md, and no folder is so full that nobody looks
//! through it.

use std::collections::{BTreeMap, BTreeSet};

use super::complaint::Complaint;
use crate::workspace::SourceFile;

/// The page with the table.
const PAGE: &str = "CONTRIBUTING.md";

/// What the folders of the table lie in.
const PARTS: [&str; 2] = ["print/", "grad/"];

/// What is printed for a fixture lies beside it.
const PRINTED: [&str; 3] = [".printed.cu", ".grad.cu", ".forward.cu"];

/// How many fixtures a folder may have.
const MOST: usize = 50;

pub(super) fn check(files: &[SourceFile]) -> Vec<Complaint> {
    let page = files.iter().find(|file| file.path == PAGE).map_or("", |file| &file.text);
    let rows: BTreeSet<&str> = page.lines().filter_map(folder_of_row).collect();
    let mut complaints = Vec::new();
    let mut counts: BTreeMap<&str, usize> = rows.iter().map(|folder| (*folder, 0)).collect();
    for file in files {
        let Some(path) = file.path.strip_prefix("fixtures/").filter(|path| path.ends_with(".cu")) else { continue };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        if !rows.contains(folder) {
            complaints.push(Complaint::new(&file.path, 1, format!("lies in no folder of the table in {PAGE}")));
        } else if !PRINTED.iter().any(|suffix| path.ends_with(suffix)) {
            *counts.entry(folder).or_default() += 1;
        }
    }
    for (folder, count) in counts {
        let message = match count {
            0 => format!("the table has `{folder}`, in which no fixture lies"),
            1..=MOST => continue,
            _ => format!("`{folder}` has {count} fixtures, and a folder at most {MOST}: divide it by feature"),
        };
        complaints.push(Complaint::new(PAGE, 1, message));
    }
    complaints
}

/// The folder of a row `| `grad/loops` | what it is for |`.
fn folder_of_row(line: &str) -> Option<&str> {
    let (folder, _) = line.strip_prefix("| `")?.split_once('`')?;
    PARTS.iter().any(|part| folder.starts_with(part)).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(table: &str, paths: &[&str]) -> Vec<String> {
        let page = SourceFile { path: PAGE.to_owned(), text: table.to_owned() };
        let fixtures = paths.iter().map(|path| SourceFile { path: (*path).to_owned(), text: String::new() });
        check(&[page].into_iter().chain(fixtures).collect::<Vec<_>>()).iter().map(Complaint::to_string).collect()
    }

    #[test]
    fn a_fixture_lies_in_a_folder_of_the_table() {
        let table = "| `grad/loops` | loops |\n";
        assert!(complaints(table, &["fixtures/grad/loops/a.cu", "fixtures/grad/loops/a.grad.cu"]).is_empty());
        let wrong = ["fixtures/grad/loops/a.cu", "fixtures/grad/b.cu", "fixtures/print/loops/c.cu"];
        assert_eq!(complaints(table, &wrong).len(), 2);
        assert!(complaints(table, &[])[0].contains("in which no fixture lies"));
    }

    #[test]
    fn a_folder_is_not_too_full() {
        let paths: Vec<String> = (0..=MOST).map(|number| format!("fixtures/grad/loops/f{number}.cu")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert!(complaints("| `grad/loops` | loops |\n", &paths)[0].contains("has 51 fixtures"));
    }
}
