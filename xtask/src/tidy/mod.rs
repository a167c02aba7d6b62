//! The structure tests: rules about our own sources that a reviewer would otherwise have to remember. Each check is
//! a function from files to complaints; `cargo xtask tidy` and the test below run them all.

mod circles;
mod complaint;
mod edges;
mod fixtures;
mod graph;
mod listed;
mod needs;
mod paths;
mod rooms;
mod sizes;
mod text;

use anyhow::{Result, bail};

use self::complaint::Complaint;
use crate::workspace::{self, SourceFile};

/// Checks the workspace.
pub(crate) fn tidy() -> Result<()> {
    let complaints = check(&workspace::files()?);
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    if !complaints.is_empty() {
        bail!("{} rules of structure are broken", complaints.len());
    }
    Ok(())
}

fn check(files: &[SourceFile]) -> Vec<Complaint> {
    let mut complaints = text::check(files);
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        match syn::parse_file(&file.text) {
            Ok(syntax) => {
                complaints.extend(sizes::check(file, &syntax));
                complaints.extend(edges::check(file));
            }
            Err(error) => complaints.push(Complaint::new(&file.path, error.span().start().line, error.to_string())),
        }
    }
    complaints.extend(sizes::stale_exceptions(files));
    complaints.extend(edges::check_page(files));
    complaints.extend(circles::check(files));
    complaints.extend(fixtures::check(files));
    complaints.extend(listed::check(files));
    complaints.extend(needs::check(files));
    complaints.extend(rooms::check(files));
    complaints.sort();
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_tidy() {
        let complaints = check(&workspace::files().unwrap());
        let list: Vec<String> = complaints.iter().map(Complaint::to_string).collect();
        assert!(list.is_empty(), "\n{}", list.join("\n"));
    }
}
