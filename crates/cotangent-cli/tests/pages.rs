//! The code on pages for readers is run: what a page shows is what the command prints today.
//!
//! Every block of such a page is run, compared, or declared not runnable with a reason:
//!
//! - a `console` block holds commands (`$ cotangent …`) and what each of them prints;
//! - `<!-- file: NAME -->` before a block writes it to a file for the commands below it;
//! - `<!-- output of: cotangent … -->` before a block: the command prints the block;
//! - `<!-- part of: PATH -->` before a block: the file of the repository contains the block;
//! - `<!-- not run: REASON -->` before a block says why none of that is possible.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A block of code on a page.
struct Block<'a> {
    /// Where its text begins.
    line: usize,
    /// The word after the fence.
    language: &'a str,
    /// The comment before it.
    directive: Option<(&'a str, &'a str)>,
    text: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of a page. A directive belongs to the block after it, with nothing but empty lines between.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut directive = None;
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let text: String = lines
                .by_ref()
                .map(|(_, line)| line)
                .take_while(|line| *line != "```")
                .map(|line| format!("{line}\n"))
                .collect();
            found.push(Block { line: number + 2, language, directive: directive.take(), text });
        } else if let Some(comment) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) {
            directive = comment.split_once(": ");
        } else if !line.is_empty() {
            directive = None;
        }
    }
    found
}

/// The words of a command, of which some stand in quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, piece) in command.split('\'').enumerate() {
        match number % 2 {
            0 => words.extend(piece.split_whitespace().map(str::to_owned)),
            _ => words.push(piece.to_owned()),
        }
    }
    words
}

/// What a command prints, and then what it says.
fn printed(command: &str, folder: &Path) -> Result<String, String> {
    let words = words(command);
    let [name, arguments @ ..] = words.as_slice() else { return Err("there is no command".to_owned()) };
    if name != "cotangent" {
        return Err(format!("`{name}` is not run; say why not"));
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    let output = child.args(arguments).current_dir(folder).output().map_err(|error| error.to_string())?;
    Ok(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

fn compare(command: &str, expected: &str, folder: &Path) -> Result<(), String> {
    let found = printed(command, folder)?;
    if found == expected { Ok(()) } else { Err(format!("`{command}` prints\n{found}and the page shows\n{expected}")) }
}

fn check_block(block: &Block, folder: &Path) -> Result<(), String> {
    match block.directive {
        Some(("file", name)) => std::fs::write(folder.join(name), &block.text).map_err(|error| error.to_string()),
        Some(("output of", command)) => compare(command, &block.text, folder),
        Some(("part of", path)) => {
            let whole = std::fs::read_to_string(repository().join(path)).map_err(|error| format!("{path}: {error}"))?;
            if whole.contains(&block.text) { Ok(()) } else { Err(format!("{path} does not contain it")) }
        }
        Some(("not run", _)) => Ok(()),
        Some((other, _)) => Err(format!("`{other}` is no directive")),
        None if block.language == "console" => {
            let commands = block.text.strip_prefix("$ ").ok_or("a console begins with a command")?;
            commands.split("\n$ ").try_for_each(|part| {
                let (command, output) = part.split_once('\n').unwrap_or((part, ""));
                // What `split` has taken: the end of the last line.
                let end = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
                compare(command, &format!("{output}{end}"), folder)
            })
        }
        None => Err("it is neither run nor declared not runnable".to_owned()),
    }
}

/// Runs a page; all that is wrong is shown together.
fn check(path: &str) {
    let page = std::fs::read_to_string(repository().join(path)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let blocks = blocks(&page);
    assert!(!blocks.is_empty(), "{path} has no blocks");
    let failures: Vec<String> = blocks
        .iter()
        .filter_map(|block| {
            check_block(block, folder.path()).err().map(|error| format!("{path}:{}: {error}", block.line))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn readme() {
    check("README.md");
}

#[test]
fn architecture() {
    check("ARCHITECTURE.md");
}

#[test]
fn rust() {
    check("docs/rust.md");
}

#[test]
fn examples() {
    check("docs/examples.md");
}

#[test]
fn check_page() {
    check("docs/check.md");
}

#[test]
fn second_order() {
    check("docs/second-order.md");
}

#[test]
fn a_block_that_is_not_run_needs_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let page = "```sh\nmake\n```\n<!-- not run: there is no makefile -->\n```sh\nmake\n```\n\
                <!-- file: a.cu -->\nwords between\n```cpp\nint a;\n```\n```console\n$ make\n```\n";
    let right: Vec<bool> = blocks(page).iter().map(|block| check_block(block, folder.path()).is_ok()).collect();
    assert_eq!(right, [false, true, false, false]);
}
