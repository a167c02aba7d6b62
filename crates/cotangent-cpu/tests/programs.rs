//! Every C++ program in `tests/programs` is a test: it is compiled against the CPU headers with its
//! launches written as `cotangent run` writes them, run in a child process, and compared with the
//! directives in its comments:
//!
//! - `// expect: TEXT`: the next line of standard output. All lines must be there, in order.
//! - `// stderr: TEXT`: standard error contains the text.
//! - `// not in stderr: TEXT`: it does not.
//! - `// exit: N`: the exit code; 0 if not given.
//! - `// check`: compiled and run with checks.
//! - `// seed: N`, `// threads: N`: how it is run; one OS thread if not given.
//! - `// arguments: A B`: the program's arguments.
//!
//! A program that mentions `CORRECTED` is two tests: as it is, and compiled with `-DCORRECTED`, where
//! it must end with 0, write nothing to standard error, and print what `// corrected: TEXT` says.
//!
//! The child is this same executable, told by a variable in its environment.

mod streams;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cotangent_cpu::{Config, run_program};
use libtest_mimic::{Arguments, Failed, Trial};

/// Tells the executable that it is the child: the program, then the configuration.
const CHILD: &str = "COTANGENT_TEST_CHILD";

/// A program that runs longer than this hangs.
const TIME_LIMIT: Duration = Duration::from_secs(60);

fn main() {
    if let Ok(child) = std::env::var(CHILD) {
        run_child(&child);
    }
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut programs: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder of test programs is in the crate")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "cpp"))
        .collect();
    programs.sort();
    let trials = programs.into_iter().flat_map(trials_of).chain(streams::trials()).collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn trials_of(path: PathBuf) -> Vec<Trial> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let corrected = text.contains("CORRECTED").then(|| {
        let path = path.clone();
        Trial::test(format!("{name}_corrected"), move || test_program(&path, true).map_err(Failed::from))
    });
    std::iter::once(Trial::test(name, move || test_program(&path, false).map_err(Failed::from)))
        .chain(corrected)
        .collect()
}

/// What the comments of a program ask for.
#[derive(Default)]
struct Directives {
    expected: Vec<String>,
    corrected: Vec<String>,
    stderr: Vec<String>,
    not_in_stderr: Vec<String>,
    exit: i32,
    check: bool,
    seed: u64,
    threads: usize,
    arguments: Vec<String>,
}

fn parse(text: &str) -> Result<Directives, String> {
    let mut directives = Directives { threads: 1, ..Directives::default() };
    for line in text.lines().filter_map(|line| line.strip_prefix("// ")) {
        let number = |value: &str| value.parse::<u64>().map_err(|_| format!("no number in `{line}`"));
        match line.split_once(": ").unwrap_or((line, "")) {
            ("expect", value) => directives.expected.push(value.to_owned()),
            ("corrected", value) => directives.corrected.push(value.to_owned()),
            ("stderr", value) => directives.stderr.push(value.to_owned()),
            ("not in stderr", value) => directives.not_in_stderr.push(value.to_owned()),
            ("exit", value) => directives.exit = number(value)? as i32,
            ("check", _) => directives.check = true,
            ("seed", value) => directives.seed = number(value)?,
            ("threads", value) => directives.threads = number(value)? as usize,
            ("arguments", value) => directives.arguments = value.split(' ').map(str::to_owned).collect(),
            _ => {}
        }
    }
    Ok(directives)
}

fn test_program(path: &Path, corrected: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut directives = parse(&text)?;
    if corrected {
        directives.expected = std::mem::take(&mut directives.corrected);
        directives.stderr.clear();
        directives.exit = 0;
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let program = folder.path().join("program.so");
    compile(path, &program, directives.check, corrected)?;
    let (stdout, stderr, code) = run(&program, &directives, folder.path())?;

    let mut problems = Vec::new();
    let lines: Vec<&str> = stdout.lines().collect();
    if lines != directives.expected {
        problems.push(format!("standard output should be\n{}", directives.expected.join("\n")));
    }
    problems.extend(directives.stderr.iter().filter(|t| !stderr.contains(*t)).map(|t| format!("no `{t}` on stderr")));
    problems
        .extend(directives.not_in_stderr.iter().filter(|t| stderr.contains(*t)).map(|t| format!("`{t}` on stderr")));
    if corrected && !stderr.is_empty() {
        problems.push(String::from("the corrected program is reported"));
    }
    if code != directives.exit {
        problems.push(format!("exit code {code}, not {}", directives.exit));
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(format!("{}\nstdout:\n{stdout}\nstderr:\n{stderr}", problems.join("\n"))),
    }
}

fn compile(source: &Path, program: &Path, check: bool, corrected: bool) -> Result<(), String> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let mut command = Command::new("clang++-19");
    command.args(["-std=c++17", "-O2", "-fPIC", "-shared", "-pthread", "-Wall", "-Wextra", "-Werror"]);
    command.args(
        [include.join("cpu"), include.join("common"), include.clone()]
            .iter()
            .flat_map(|folder| [OsStr::new("-I"), folder.as_os_str()]),
    );
    if check {
        command.args(CHECK_FLAGS);
    }
    if corrected {
        command.arg("-DCORRECTED");
    }
    command.arg(source).arg(include.join("cpu/cotangent/support.cpp")).arg("-o").arg(program);
    let output = command.output().map_err(|error| format!("clang++-19 does not start: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("does not compile:\n{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// Instrumentation without the sanitizer's own runtime: the callbacks are in support.cpp.
const CHECK_FLAGS: [&str; 7] = [
    "-gline-tables-only",
    "-fsanitize=thread,alignment",
    "-fno-sanitize-link-runtime",
    "-mllvm",
    "-tsan-instrument-func-entry-exit=0",
    "-mllvm",
    "-tsan-instrument-read-before-write=1",
];

/// Runs the program in a child and returns its output, what it wrote to standard error, and its exit code.
fn run(program: &Path, directives: &Directives, folder: &Path) -> Result<(String, String, i32), String> {
    let executable = std::env::current_exe().map_err(|error| error.to_string())?;
    let file = |name: &str| std::fs::File::create(folder.join(name)).map_err(|error| error.to_string());
    let configuration =
        format!("{}\n{}\n{}\n{}", program.display(), directives.seed, directives.threads, directives.check);
    let mut child = Command::new(executable)
        .env(CHILD, configuration)
        .args(&directives.arguments)
        .stdout(file("stdout")?)
        .stderr(file("stderr")?)
        .spawn()
        .map_err(|error| error.to_string())?;
    let started = std::time::Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        if started.elapsed() > TIME_LIMIT {
            let _ = child.kill();
            return Err(String::from("the program hangs"));
        }
        std::thread::park_timeout(Duration::from_millis(5));
    };
    let read = |name: &str| std::fs::read(folder.join(name)).map(|text| String::from_utf8_lossy(&text).into_owned());
    let output = read("stdout").and_then(|stdout| Ok((stdout, read("stderr")?)));
    let (stdout, stderr) = output.map_err(|error| error.to_string())?;
    let code = status.code().ok_or_else(|| format!("the program died: {status}\nstderr:\n{stderr}"))?;
    Ok((stdout, stderr, code))
}

fn run_child(configuration: &str) -> ! {
    let mut parts = configuration.split('\n');
    let mut next = || parts.next().unwrap_or_default();
    let program = PathBuf::from(next());
    let seed = next().parse().unwrap_or(0);
    let threads = next().parse().unwrap_or(1);
    let check = next() == "true";
    let arguments: Vec<String> = std::env::args().collect();
    match run_program(&program, &arguments, Config { seed, threads, check, late: false }) {
        Ok(code) => std::process::exit(code),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(125)
        }
    }
}
