//! Every check catches a program: each file of `examples/checks/` is run with `cotangent run --check`, and again as nvcc
//! compiles it, and exactly the findings that its comments state are reported, at their lines. Beside it is the program
//! corrected, `NAME_fixed.cu`, about which nothing is said.
//!
//! ```text
//! // expect: X0203 line 6, line 6     an error and its lines; the exit code is 1
//! // note: X0303 line 10              a note; the exit code stays 0
//! // nvcc: X0302 line 9               an error where nvcc compiled it, instead of the others
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/checks");
    let mut trials = vec![Trial::test("every_program_has_its_counterpart", {
        let root = root.clone();
        move || every_program_has_its_counterpart(&root)
    })];
    for path in programs(&root) {
        let name = stem(&path);
        for way in [Way::Clang, Way::Nvcc] {
            let path = path.clone();
            trials.push(Trial::test(format!("{}{name}", way.prefix()), move || check(&path, way)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Who compiles a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Clang,
    Nvcc,
}

impl Way {
    /// How names of tests begin.
    fn prefix(self) -> &'static str {
        match self {
            Way::Clang => "",
            Way::Nvcc => "nvcc::",
        }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Way::Clang => &["run", "--check"],
            Way::Nvcc => &["run", "--nvcc", "--check"],
        }
    }
}

/// What is said about a program, in one order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// `error` or `note`.
    severity: String,
    code: String,
    lines: Vec<u32>,
}

fn programs(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "cu")).collect();
    paths.sort();
    paths
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn every_program_has_its_counterpart(root: &Path) -> Result<(), Failed> {
    let names: Vec<String> = programs(root).iter().map(|path| stem(path)).collect();
    for name in &names {
        let counterpart = name.strip_suffix("_fixed").map_or_else(|| format!("{name}_fixed"), str::to_owned);
        if !names.contains(&counterpart) {
            return Err(format!("{name}.cu has no {counterpart}.cu beside it").into());
        }
    }
    if names.is_empty() { Err("there are no programs".into()) } else { Ok(()) }
}

fn check(path: &Path, way: Way) -> Result<(), Failed> {
    let expected = expected_findings(&fs::read_to_string(path)?, way)?;
    if expected.is_empty() != stem(path).ends_with("_fixed") {
        return Err("a program states its findings, a corrected one has none".into());
    }
    let file = path.file_name().unwrap_or_default();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.current_dir(path.parent().unwrap_or(Path::new("."))).args(way.words()).arg(file);
    let output = command.output()?;
    let report = String::from_utf8_lossy(&output.stderr);

    let found = reported_findings(&report, &file.to_string_lossy());
    if found != expected {
        return Err(format!("expected {expected:#?}\nbut found {found:#?}\nin the report\n{report}").into());
    }
    if !expected.is_empty() && !report.contains("= help: ") {
        return Err(format!("no help in the report\n{report}").into());
    }
    let code = i32::from(expected.iter().any(|finding| finding.severity == "error"));
    if output.status.code() != Some(code) {
        return Err(format!("{}, not exit code {code}\n{report}", output.status).into());
    }
    if expected.is_empty() && !report.is_empty() {
        return Err(format!("something is said about the corrected program:\n{report}").into());
    }
    Ok(())
}

fn expected_findings(source: &str, way: Way) -> Result<Vec<Finding>, String> {
    const WORDS: [(&str, &str); 3] = [("// expect: ", "error"), ("// note: ", "note"), ("// nvcc: ", "error")];
    let own = WORDS[2].0;
    let has_own = way == Way::Nvcc && source.lines().any(|line| line.starts_with(own));
    let mut findings = Vec::new();
    for line in source.lines().filter(|line| line.starts_with(own) == has_own) {
        let stated = WORDS.iter().find_map(|(word, severity)| Some((*severity, line.strip_prefix(word)?)));
        let Some((severity, rest)) = stated else { continue };
        let (code, places) = rest.split_once(' ').ok_or_else(|| format!("no place in `{line}`"))?;
        let mut lines = Vec::new();
        for place in places.split(", ") {
            let number = place.strip_prefix("line ").and_then(|number| number.parse().ok());
            lines.push(number.ok_or_else(|| format!("no line number in `{line}`"))?);
        }
        lines.sort_unstable();
        findings.push(Finding { severity: severity.to_owned(), code: code.to_owned(), lines });
    }
    findings.sort();
    Ok(findings)
}

/// The findings of a report, with those of their places that are in the user's file.
fn reported_findings(report: &str, file: &str) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for line in report.lines() {
        if let Some((severity, code)) = line.split_once("]: ").and_then(|(head, _)| head.split_once('[')) {
            findings.push(Finding { severity: severity.to_owned(), code: code.to_owned(), lines: Vec::new() });
        }
        // nvcc names files by their whole path.
        let place = line.strip_prefix("  --> ").and_then(|place| place.split_once(':'));
        let is_own = |path: &str| Path::new(path).file_name().is_some_and(|name| name == file);
        let place = place.filter(|(path, _)| is_own(path)).map(|(_, place)| place);
        let number = place.and_then(|place| place.split([':', ' ']).next()?.parse().ok());
        if let (Some(finding), Some(number)) = (findings.last_mut(), number) {
            finding.lines.push(number);
            finding.lines.sort_unstable();
        }
    }
    findings.sort();
    findings
}
