//! The programs of the self-test, which the command carries: every fixture of gradients, and the examples that compare
//! their own numbers.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

use anyhow::{Context, Result};

use super::fixture;

/// Name and text of every fixture.
static FIXTURES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/fixtures.rs"));

/// Whole programs. Their exit code is 0 if their numbers are right.
static EXAMPLES: &[(&str, &str)] = &[
    ("example_black_scholes", include_str!("../../embedded/examples/black_scholes/black_scholes.cu")),
    ("example_contraction", include_str!("../../embedded/examples/contraction/contraction.cu")),
    ("example_time_loop", include_str!("../../embedded/examples/time_loop/time_loop.cu")),
    ("example_tour", include_str!("../../embedded/examples/tour.cu")),
];

/// What is built, run and compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Program {
    fn new((name, text): &(&str, &str)) -> Self {
        Program { name: (*name).to_owned(), text: (*text).to_owned() }
    }

    /// The words for this command that build and run it, with its file in the place of the second: `check` for a fixture,
    /// and `run` for a whole program.
    pub(crate) fn words(&self, file: &Path) -> Result<Vec<String>, String> {
        let file = file.display().to_string();
        let mut comments = self.text.lines().take_while(|line| line.starts_with("//"));
        if comments.all(|line| !line.starts_with("// grad: ")) {
            return Ok(vec!["run".to_owned(), file]);
        }
        let directives = fixture::parse(&self.text)?;
        let mut words = vec!["check".to_owned(), file, "--samples=2".to_owned()];
        words.extend(directives.words());
        Ok(words)
    }
}

/// Those that the command carries.
pub(crate) fn carried() -> Vec<Program> {
    FIXTURES.iter().chain(EXAMPLES).map(Program::new).collect()
}

/// Those of a folder.
pub(crate) fn of_folder(folder: &Path) -> Result<Vec<Program>> {
    let context = || format!("cannot read {}", folder.display());
    let mut programs = Vec::new();
    for entry in folder.read_dir().with_context(context)? {
        let path = entry.with_context(context)?.path();
        if path.extension().is_some_and(|kind| kind == "cu") {
            let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            programs.push(Program { name: path.file_stem().unwrap_or_default().display().to_string(), text });
        }
    }
    programs.sort_by(|first, second| first.name.cmp(&second.name));
    Ok(programs)
}

/// A number that is the same for the same programs, so that two reports can be compared.
pub(crate) fn fingerprint(programs: &[Program]) -> u64 {
    let mut hasher = DefaultHasher::new();
    programs.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_its_words() {
        let programs = carried();
        for program in &programs {
            let words = program.words(Path::new("x.cu")).unwrap_or_else(|error| panic!("{}: {error}", program.name));
            let is_example = program.name.starts_with("example_");
            assert_eq!(words[0], if is_example { "run" } else { "check" }, "{}", program.name);
            assert!(is_example || words.iter().any(|word| word.starts_with("--args=(")), "{}", program.name);
        }
        assert!(programs.len() > 300);
    }
}
