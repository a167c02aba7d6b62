//! A text test: one file with a sentence, a module in the IR's text form, and what must come of it.
//!
//! ```text
//! // What the test shows, in a sentence.
//! kernel k(x: const float*, y: float*) {
//!   y[0] = x[0];
//! }
//! --- reverse wrt=x,y
//! what is expected
//! ```
//!
//! The folder of a file is its room. A section begins with `---`, the name of the room and options; what follows it is
//! compared, and written anew when `COTANGENT_BLESS` is set. What is misspelt is an error that lists what is known.
//!
//! The compiler's own tests and those beside this file share it; both name the IR in the module that contains it.

use std::fs;
use std::path::{Path, PathBuf};

use super::ir::{Module, text, validate};

/// The rooms of passes that are not public: `src/transform/texts.rs` runs them.
pub(crate) const INSIDE: &[&str] = &[
    "addresses",
    "counted",
    "counters",
    "gather",
    "inline",
    "jumps",
    "lanes",
    "pointers",
    "records",
    "references",
    "runtime",
    "shared",
    "simplify",
    "sizes",
    "warp_stores",
];

/// A kind of test: a pass, or an analysis.
pub(crate) struct Room {
    /// The name of its folder, and of its sections.
    pub(crate) name: &'static str,
    /// Options that its sections may have. Those that end in `=` have a value.
    pub(crate) options: &'static [&'static str],
    /// What comes of a module.
    pub(crate) run: fn(Module, &Options) -> Result<String, String>,
}

/// The options of a section.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options(Vec<(String, String)>);

/// A file, taken apart.
#[derive(Debug, PartialEq)]
struct Parts {
    /// All before the first section.
    source: String,
    sections: Vec<Section>,
}

#[derive(Debug, PartialEq)]
struct Section {
    /// The line that it begins with.
    line: String,
    options: Options,
    expected: String,
}

/// The folder of all rooms.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/texts")
}

/// The files of a room, in order of their names.
pub(crate) fn files(room: &str) -> Result<Vec<PathBuf>, String> {
    let folder = root().join(room);
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    match paths.iter().find(|path| path.extension().is_none_or(|extension| extension != "txt")) {
        Some(other) => Err(format!("{}: a text test is a file that ends in `.txt`", other.display())),
        None => Ok(paths),
    }
}

/// Runs one file: its sections are what is expected, or are written so if `cargo xtask bless` asks for it.
pub(crate) fn check(room: &Room, path: &Path) -> Result<(), String> {
    let contents = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_blessed = std::env::var_os("COTANGENT_BLESS").is_some();
    let only = std::env::var("COTANGENT_BLESS_ONLY").unwrap_or_default();
    if is_blessed && !format!("{}::{name}", room.name).contains(&only) {
        return Ok(());
    }
    let parts = parse(room, &contents).map_err(|error| format!("{name}:\n{error}"))?;
    let mut written = parts.source.clone();
    for Section { line, options, .. } in &parts.sections {
        let actual = run(room, &parts.source, options).map_err(|error| format!("{name}:\n{line}\n{error}"))?;
        written.push_str(&format!("{line}\n{actual}"));
    }
    if written == contents {
        return Ok(());
    }
    if is_blessed {
        return fs::write(path, written).map_err(|error| format!("{}: {error}", path.display()));
    }
    Err(format!("{name} (`cargo xtask bless {name}` accepts it):\n{}", difference(&contents, &written)))
}

/// What comes of a text. A module that is not valid tells nothing about a pass.
fn run(room: &Room, source: &str, options: &Options) -> Result<String, String> {
    let module = text::parse(source).map_err(|error| format!("the text is malformed: {error}"))?;
    is_valid("the text", &module)?;
    (room.run)(module, options)
}

/// A module as text; it must be valid, and read as the same again.
pub(crate) fn printed(module: &Module) -> Result<String, String> {
    let printed = text::print(module);
    is_valid("the result", module).map_err(|error| format!("{error}\n{printed}"))?;
    let again =
        text::parse(&printed).map_err(|error| format!("the result cannot be read again: {error}\n{printed}"))?;
    if text::print(&again) != printed {
        return Err(format!("the result is read as another module:\n{printed}"));
    }
    Ok(printed)
}

fn is_valid(what: &str, module: &Module) -> Result<(), String> {
    validate(module).map_err(|violations| {
        let list: Vec<String> = violations.iter().map(|violation| format!("  {violation}")).collect();
        format!("{what} is no valid module:\n{}", list.join("\n"))
    })
}

/// Takes a file apart.
fn parse(room: &Room, contents: &str) -> Result<Parts, String> {
    if contents.lines().next().and_then(|line| line.strip_prefix("// ")).is_none_or(|line| !line.ends_with('.')) {
        return Err("the first line says in a sentence what the test shows: `// … .`".to_owned());
    }
    let mut parts = Parts { source: String::new(), sections: Vec::new() };
    for line in contents.lines() {
        if line.starts_with("---") {
            let options = directive(room, line)?;
            parts.sections.push(Section { line: line.to_owned(), options, expected: String::new() });
            continue;
        }
        let text = parts.sections.last_mut().map_or(&mut parts.source, |section| &mut section.expected);
        text.push_str(line);
        text.push('\n');
    }
    if parts.sections.is_empty() {
        return Err(format!("a text test has a line `--- {}`, and what is expected below it", room.name));
    }
    Ok(parts)
}

/// The options of a line that begins a section.
fn directive(room: &Room, line: &str) -> Result<Options, String> {
    let mut words = line.trim_start_matches('-').split_whitespace();
    let name = words.next().unwrap_or_default();
    if !line.starts_with("--- ") || name != room.name {
        return Err(format!("`{line}` begins no section: here they begin with `--- {}`", room.name));
    }
    let mut options = Options::default();
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let spelled = if word.contains('=') { format!("{key}=") } else { key.to_owned() };
        if !room.options.contains(&spelled.as_str()) {
            let known = if room.options.is_empty() { "none".to_owned() } else { room.options.join(" ") };
            return Err(format!("`{word}` is no option of `{}`; known: {known}", room.name));
        }
        if options.get(key).is_some() {
            return Err(format!("`{key}` is given twice"));
        }
        options.0.push((key.to_owned(), value.to_owned()));
    }
    Ok(options)
}

impl Options {
    /// The value of an option; empty if it has none.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// All lines of both texts, with marks where they differ.
fn difference(expected: &str, actual: &str) -> String {
    let (expected, actual): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    // The lengths of the longest common parts of what is left of both.
    let mut common = vec![vec![0usize; actual.len() + 1]; expected.len() + 1];
    for (left, line) in expected.iter().enumerate().rev() {
        for (right, other) in actual.iter().enumerate().rev() {
            common[left][right] = if line == other {
                common[left + 1][right + 1] + 1
            } else {
                common[left + 1][right].max(common[left][right + 1])
            };
        }
    }
    let (mut left, mut right, mut out) = (0, 0, String::new());
    while left < expected.len() || right < actual.len() {
        let is_same = left < expected.len() && right < actual.len() && expected[left] == actual[right];
        let is_gone =
            right == actual.len() || left < expected.len() && common[left + 1][right] >= common[left][right + 1];
        if is_same {
            out.push_str(&format!("  {}\n", expected[left]));
            (left, right) = (left + 1, right + 1);
        } else if is_gone {
            out.push_str(&format!("- {}\n", expected[left]));
            left += 1;
        } else {
            out.push_str(&format!("+ {}\n", actual[right]));
            right += 1;
        }
    }
    out
}

/// What the format itself must refuse, as tests of their own.
pub(crate) fn mistakes(room: &Room) -> Result<(), String> {
    let cases = [
        ("kernel k() { }\n--- NAME\n", "the first line says in a sentence"),
        ("// no sentence\n--- NAME\n", "the first line says in a sentence"),
        ("// A sentence.\nkernel k() { }\n", "a text test has a line"),
        ("// A sentence.\n--- NAMES\n", "begins no section"),
        ("// A sentence.\n---NAME\n", "begins no section"),
        ("// A sentence.\n--- NAME nothing\n", "`nothing` is no option"),
        ("// A sentence.\n--- NAME function\n", "`function` is no option"),
        ("// A sentence.\n--- NAME function=k function=k\n", "`function` is given twice"),
    ];
    for (contents, expected) in cases {
        let contents = contents.replace("NAME", room.name);
        match parse(room, &contents) {
            Ok(parts) => return Err(format!("accepted as {parts:?}:\n{contents}")),
            Err(message) if !message.contains(expected) => return Err(format!("`{message}` for:\n{contents}")),
            Err(_) => {}
        }
    }
    let message = run(room, "kernel k() { return 1; }", &Options::default()).err().unwrap_or_default();
    if !message.contains("no valid module") {
        return Err(format!("`{message}` for an invalid module"));
    }
    match difference("a\nb\nc\n", "a\nd\nc\n").as_str() {
        "  a\n- b\n+ d\n  c\n" => Ok(()),
        other => Err(format!("this is no difference:\n{other}")),
    }
}
