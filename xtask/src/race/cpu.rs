//! The race on the CPU: writes a program for each work, with every contestant in a file of its own, checks all gradients,
//! and lets them take turns. `xtask/race/cpu` has the C++ of it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use cotangent_driver::headers::Headers;
use cotangent_driver::{Environment, Tools};

use super::peers::Peers;
use super::printed::{self, Shape};
use super::works::{BY_HAND, State, Work};
use crate::workspace::{self, run};

/// How far a gradient may be from the one by hand, against its largest number, and that from differences.
const CLOSE: f64 = 1e-10;
const CLOSE_TO_DIFFERENCES: f64 = 1e-6;

/// Whether the caller uses what the function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    Dropped,
    Returned,
}

impl Value {
    pub(super) fn word(self) -> &'static str {
        match self {
            Value::Dropped => "dropped",
            Value::Returned => "returned",
        }
    }

    fn of_cpp(self) -> &'static str {
        match self {
            Value::Dropped => "Value::Dropped",
            Value::Returned => "Value::Returned",
        }
    }
}

/// What was measured of one contestant at one size.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) value: Value,
    /// Seconds: least, third quartile.
    pub(super) least: f64,
    pub(super) upper: f64,
    /// Of the gradient, against the one by hand.
    pub(super) error: f64,
    /// The most memory of a process of its own, in kilobytes.
    pub(super) kilobytes: f64,
    /// What it needs more than the function, for each update.
    pub(super) bytes_an_update: f64,
}

/// A work at one size.
pub(super) struct Outcome {
    pub(super) work: &'static Work,
    pub(super) size: usize,
    pub(super) function: Measured,
    pub(super) gradients: Vec<Measured>,
    /// Peers that were not measured, and why.
    pub(super) absent: Vec<(String, String)>,
}

/// A program that has been compiled, and who is in it.
pub(super) struct Program {
    pub(super) work: &'static Work,
    path: PathBuf,
    entries: Vec<(String, Value)>,
    absent: Vec<(String, String)>,
    /// Holds the files as long as the program is wanted.
    _folder: tempfile::TempDir,
}

/// How a program is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Build {
    /// As users compile, each contestant apart, in both forms.
    Fast,
    /// All in one file and not optimised: to see that gradients agree.
    Quick,
}

/// One contestant: what it is called, how its text begins, and which function it is.
struct Contestant {
    name: String,
    text: String,
    function: String,
    state: State,
    value: Value,
    /// More words for the compiler.
    flags: Vec<String>,
}

/// Writes and compiles the program of a work.
pub(super) fn build(tools: &Tools, work: &'static Work, peers: &Peers, how: Build) -> Result<Program> {
    let folder = tempfile::tempdir()?;
    let headers = Headers::materialise(&Environment::of_process())?;
    let mut contestants = own(tools, work)?;
    let mut absent = Vec::new();
    for peer in peers.all() {
        match peer.contestant(work.file) {
            Ok((text, flags)) => contestants.push(Contestant {
                name: peer.name.to_owned(),
                text,
                function: "gradient".to_owned(),
                state: State::Unspecified,
                value: Value::Dropped,
                flags,
            }),
            Err(reason) => absent.push((peer.name.to_owned(), reason)),
        }
    }
    if how == Build::Quick || !work.has_value {
        contestants.retain(|contestant| contestant.value == Value::Returned || !contestant.flags.is_empty());
    }
    let compiler = Compiler { tools, headers: &headers, how };
    let path = folder.path().join("race");
    let mut objects = Vec::new();
    let main = format!(
        "{}#include \"driver.h\"\nint main(int count, char** words) {{ return drive(count, words); }}\n",
        data(work)
    );
    match how {
        Build::Fast => {
            objects.push(compiler.object(folder.path(), "main", &main, &[])?);
            objects.push(compiler.object(folder.path(), "function", &(data(work) + &function_entry(work)?), &[])?);
            let mut taken = Vec::new();
            for (index, contestant) in contestants.iter().enumerate() {
                let text = data(work) + &gradient_entry(index, contestant);
                match compiler.object(folder.path(), &format!("contestant_{index}"), &text, &contestant.flags) {
                    Ok(object) => {
                        objects.push(object);
                        taken.push((contestant.name.clone(), contestant.value));
                    }
                    // What a peer cannot compile is a line on the page; what is ours must compile.
                    Err(error) if contestant.state == State::Unspecified => {
                        let first = error.to_string().lines().next().unwrap_or_default().to_owned();
                        absent.push((contestant.name.clone(), first));
                    }
                    Err(error) => return Err(error),
                }
            }
            compiler.link(&objects, &path)?;
            Ok(Program { work, path, entries: taken, absent, _folder: folder })
        }
        Build::Quick => {
            let entries: String =
                contestants.iter().enumerate().map(|(index, contestant)| gradient_entry(index, contestant)).collect();
            let includes: String = contestants.iter().map(|contestant| includes(&contestant.text)).collect();
            let text = includes + &main + &function_entry(work)? + &entries;
            objects.push(compiler.object(folder.path(), "main", &text, &[])?);
            compiler.link(&objects, &path)?;
            let entries = contestants.into_iter().map(|contestant| (contestant.name, contestant.value)).collect();
            Ok(Program { work, path, entries, absent, _folder: folder })
        }
    }
}

/// By hand and ours, with the value and without.
fn own(tools: &Tools, work: &Work) -> Result<Vec<Contestant>> {
    let mut found = Vec::new();
    let mut both = |name: &str, text: String, function: &str, state| {
        for value in [Value::Returned, Value::Dropped] {
            let (name, text, function) = (name.to_owned(), text.clone(), function.to_owned());
            found.push(Contestant { name, text, function, state, value, flags: Vec::new() });
        }
    };
    for hand in work.hands {
        both(hand.name, read("hand", hand.file)?, hand.function, hand.state);
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(format!("{}.cu", work.file));
    fs::write(&file, primal(work)?)?;
    let ours = printed::gradient(tools, &file, work.function, work.wrt, Shape::default())?;
    both("Cotangent", as_calls(work, ours.text), &ours.name, State::Kept);
    if let Some(rolled_back) = work.rolls_back {
        let shape = Shape { rolled_back: Some(rolled_back), ..Shape::default() };
        let ours = printed::gradient(tools, &file, work.function, work.wrt, shape)?;
        both("Cotangent, rolled back", ours.text, &ours.name, State::RolledBack);
    }
    Ok(found)
}

/// The folder of the C++.
pub(super) fn sources() -> PathBuf {
    workspace::root().join("xtask/race/cpu")
}

fn read(folder: &str, file: &str) -> Result<String> {
    let path = sources().join(folder).join(format!("{file}.h"));
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// The functions of a chain stay calls, as large ones do: the compiler would make one loop-free function of these small
/// ones, and find what is computed twice.
fn as_calls(work: &Work, text: String) -> String {
    if work.depth.is_none() {
        return text;
    }
    let is_link =
        |line: &str| ["double link_", "inline double link_", "void link_"].iter().any(|start| line.starts_with(start));
    let line = |line: &str| format!("{}{line}\n", if is_link(line) { "__attribute__((noinline)) " } else { "" });
    text.lines().map(line).collect()
}

/// The text of the function.
fn primal(work: &Work) -> Result<String> {
    let Some(depth) = work.depth else { return read("primal", work.file) };
    let mut text = String::new();
    for link in 0..depth {
        let inner = if link == 0 { "x".to_owned() } else { format!("link_{}(x)", link - 1) };
        let _ = writeln!(
            text,
            "inline double link_{link}(double x) {{\n  double y = {inner};\n  return y - 0.1 * y * y * y;\n}}"
        );
    }
    Ok(text)
}

fn data(work: &Work) -> String {
    format!("#include \"works/{}.h\"\n", work.data)
}

fn function_entry(work: &Work) -> Result<String> {
    Ok(format!(
        "#include <math.h>\nnamespace function {{ namespace {{\n{}\nconst Registered registered({{\"function\", \
         Value::Returned, State::Kept, [](Work& work) {{ work.primal({}); }}}});\n}} }}\n",
        as_calls(work, primal(work)?),
        work.function
    ))
}

/// A contestant's text in a namespace of its own: two texts may have functions of one name. Its headers come before that.
fn gradient_entry(index: usize, contestant: &Contestant) -> String {
    let mut text = includes(&contestant.text);
    let Contestant { name, function, value, state, .. } = contestant;
    let _ = write!(
        text,
        "namespace contestant_{index} {{ namespace {{\n{}\nconst Registered registered({{\"{name}\", {}, \
         State::{state:?}, [](Work& work) {{ work.gradient<{}>({function}); }}}});\n}} }}\n",
        contestant.text,
        value.of_cpp(),
        value.of_cpp()
    );
    text
}

fn includes(text: &str) -> String {
    text.lines().filter(|line| line.starts_with("#include")).flat_map(|line| [line, "\n"]).collect()
}

/// Clang, as users call it.
struct Compiler<'a> {
    tools: &'a Tools,
    headers: &'a Headers,
    how: Build,
}

impl Compiler<'_> {
    fn object(&self, folder: &Path, name: &str, text: &str, flags: &[String]) -> Result<PathBuf> {
        let source = folder.join(format!("{name}.cpp"));
        let object = folder.join(format!("{name}.o"));
        fs::write(&source, text)?;
        let mut clang = self.tools.clang.command();
        clang.args(["-std=c++17", "-w", "-c"]).args(match self.how {
            Build::Fast => ["-O3", "-march=native"].as_slice(),
            Build::Quick => ["-O0"].as_slice(),
        });
        clang.arg("-I").arg(sources()).args(flags);
        for folder in self.headers.for_cpu() {
            clang.arg("-I").arg(folder);
        }
        run(clang.arg(&source).arg("-o").arg(&object))?;
        Ok(object)
    }

    fn link(&self, objects: &[PathBuf], program: &Path) -> Result<()> {
        run(self.tools.clang.command().args(objects).arg("-o").arg(program)).map(|_| ())
    }
}

/// What a gradient is wrong by.
#[derive(Debug, Clone)]
pub(super) struct Errors {
    name: String,
    gradient: f64,
    value: f64,
    state: f64,
}

impl Program {
    /// Compares all gradients at a size. One of ours that is wrong is an error; a peer's is reported.
    pub(super) fn check(&self, size: &[u32]) -> Result<Vec<Errors>> {
        let lines = self.lines(&["check"], size)?;
        let mut all = Vec::new();
        for line in &lines {
            match line.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["differences", error] => ensure!(
                    error.parse::<f64>()? < CLOSE_TO_DIFFERENCES,
                    "{}: the gradient by hand is {error} from differences",
                    self.work.name
                ),
                ["errors", name, _, gradient, value, state] => all.push(Errors {
                    name: name.to_owned(),
                    gradient: gradient.parse()?,
                    value: value.parse()?,
                    state: state.parse()?,
                }),
                _ => bail!("the program of {} says `{}`", self.work.name, line.join(" ")),
            }
        }
        for Errors { name, gradient, value, state } in &all {
            let is_ours = !self.is_peer(name);
            let is_right = [gradient, value, state].iter().all(|error| **error < CLOSE);
            ensure!(
                is_right || !is_ours,
                "{}, {name}: the gradient is off by {gradient:e}, the value by {value:e}, overwritten arrays by {state:e}",
                self.work.name
            );
        }
        Ok(all)
    }

    fn is_peer(&self, name: &str) -> bool {
        !name.starts_with(BY_HAND) && !name.starts_with("Cotangent")
    }

    /// Checks, takes turns, and looks at the memory of each.
    pub(super) fn race(&self, size: usize, seconds: f64) -> Result<Outcome> {
        let words = self.work.sizes[size].words;
        let errors = self.check(words)?;
        let rounds = seconds * (self.entries.len() + 1) as f64;
        let mut times = Vec::new();
        for line in self.lines(&["race", &core().to_string(), &rounds.to_string()], words)? {
            let ["time", name, value, least, upper] = line.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
                bail!("the program of {} says `{}`", self.work.name, line.join(" "));
            };
            let value = if value == "dropped" { Value::Dropped } else { Value::Returned };
            times.push(Measured {
                name: name.to_owned(),
                value,
                least: least.parse()?,
                upper: upper.parse()?,
                error: errors.iter().find(|error| error.name == name).map_or(0.0, |error| error.gradient),
                kilobytes: 0.0,
                bytes_an_update: 0.0,
            });
        }
        let at = times.iter().position(|time| time.name == "function").context("the function was not measured")?;
        let mut function = times.swap_remove(at);
        let (base, _) = self.memory(&function, words)?;
        function.kilobytes = base;
        for time in &mut times {
            let (kilobytes, updates) = self.memory(time, words)?;
            time.kilobytes = kilobytes;
            time.bytes_an_update = (kilobytes - base).max(0.0) * 1024.0 / updates;
        }
        times.sort_by(|left, right| (left.value, &left.name).cmp(&(right.value, &right.name)));
        Ok(Outcome { work: self.work, size, function, gradients: times, absent: self.absent.clone() })
    }

    /// Kilobytes of a process of its own, and updates.
    fn memory(&self, who: &Measured, size: &[u32]) -> Result<(f64, f64)> {
        let lines = self.lines(&["memory", &who.name, who.value.word()], size)?;
        let line = lines.first().filter(|line| line.len() == 3).context("no memory was printed")?;
        Ok((line[1].parse()?, line[2].parse()?))
    }

    fn lines(&self, words: &[&str], size: &[u32]) -> Result<Vec<Vec<String>>> {
        let text = run(Command::new(&self.path).args(words).args(size.iter().map(u32::to_string)))?;
        Ok(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
    }
}

/// The last core: the first has the machine's own work.
fn core() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from) - 1
}
