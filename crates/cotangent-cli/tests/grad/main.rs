//! Every file of `fixtures/grad/` is a test: its derivatives are the committed texts beside it, these are lowered to the
//! same IR again, NVRTC compiles what of them runs on the device, `cotangent check` proves them on the CPU as Clang compiles them, and with `--nvcc` as nvcc does, and what the
//! fixture expects of them is true.
//!
//! `cargo xtask bless` writes the texts anew. Reverse mode must refuse the files of `fixtures/grad/refused/`, with the
//! message beside them.

#[path = "../../src/selftest/fixture.rs"]
mod directives;
mod expectations;
#[path = "../fixtures/listing.rs"]
mod listing;
mod nvrtc;
#[path = "../fixtures/snapshot.rs"]
mod snapshot;
#[path = "../../src/selftest/spelling.rs"]
mod spelling;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cotangent::clang::Ast;
use cotangent::diagnostic::{self, Diagnostic, Refusal};
use cotangent::emit::{Dialect, emit};
use cotangent::ir::{Module, Space, text};
use cotangent::lower::{Passes, lower_with_rules};
use cotangent::source::Sources;
use cotangent_driver::derivative::{
    Extent, Mode, Wanted, differentiate, lowered, print_derivative, read_wanted, request,
};
use cotangent_driver::device_text::device_text;
use cotangent_driver::flags::ParseFlags;
use cotangent_driver::program::{Failure, Input, read, read_device, with_deep_stack};
use cotangent_driver::tools::find_nvcc;
use cotangent_driver::{Environment, Tools};
use directives::Directives;
use expectations::Expectation;
use libtest_mimic::{Arguments, Failed, Trial};
use snapshot::{compare_or_bless, difference};

/// The modes and how their texts are named.
const MODES: [(Mode, &str); 2] = [(Mode::Reverse, "grad.cu"), (Mode::Forward, "forward.cu")];

/// The folder that `cargo xtask validate --own` wants fixtures with their gradients in; nothing else is tested then.
const OWN_TEXTS: &str = "COTANGENT_OWN_TEXTS";

/// Has fixtures be proved as nvcc compiles them, and nothing else be tested: `cargo xtask nvcc`.
const BY_NVCC: &str = "COTANGENT_BY_NVCC";

/// The folder that `cargo xtask mutants` keeps the modules of fixtures in, so that Clang reads each only once. Derivatives
/// are compared with the committed texts, and nothing else is tested.
const MODULES: &str = "COTANGENT_MODULES";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/grad");
    let (derivatives, sources): (Vec<PathBuf>, Vec<PathBuf>) =
        listing::by_feature(&root).into_iter().partition(|path| is_derivative(path));
    let mut trials: Vec<Trial> = Vec::new();
    let all = sources.clone();
    for path in sources {
        trials.push(Trial::test(listing::name(&path), move || check(&path)));
    }
    if std::env::var_os(MODULES).is_some() {
        return libtest_mimic::run(&arguments, trials).exit_code();
    }
    trials.push(Trial::test("every_derivative_is_claimed", move || every_derivative_is_claimed(&derivatives)));
    trials.push(Trial::test("a_gradient_without_its_atomics_fails", a_gradient_without_its_atomics_fails));
    trials.push(Trial::test("a_misspelt_directive_is_an_error", a_misspelt_directive_is_an_error));
    trials.push(Trial::test("no_two_fixtures_have_one_name", move || listing::no_two_have_one_name(&all)));
    let time_loop = root.join("host/host_time_loop.cu");
    trials.push(Trial::test("copies_of_a_time_loop_in_the_hosts_memory", move || copies_on_the_host(&time_loop)));
    for path in listing::refused(&root) {
        trials.push(Trial::test(format!("refused::{}", listing::name(&path)), move || check_refused(&path)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn is_derivative(path: &Path) -> bool {
    MODES.iter().any(|(_, suffix)| path.to_string_lossy().ends_with(&format!(".{suffix}")))
}

fn every_derivative_is_claimed(derivatives: &[PathBuf]) -> Result<(), Failed> {
    for path in derivatives {
        let source = path.with_extension("").with_extension("cu");
        if !source.exists() {
            return Err(format!("{} belongs to no fixture: delete it", path.display()).into());
        }
    }
    Ok(())
}

fn check(path: &Path) -> Result<(), Failed> {
    let source = fs::read_to_string(path)?;
    let directives = directives::parse(&source)?;
    if directives.arguments.is_empty() {
        return Err("a fixture needs a line `// run: CALL`".into());
    }
    let modes: Vec<(Mode, &str)> = MODES.into_iter().filter(|(mode, _)| directives.wants(*mode)).collect();
    if let Some(folder) = std::env::var_os(MODULES) {
        return check_texts(path, &directives, &modes, Path::new(&folder));
    }
    let tools = Tools::find(Environment::of_process())?;
    if let Some(folder) = std::env::var_os(OWN_TEXTS) {
        return write_own_text(&tools, path, &source, &directives, Path::new(&folder));
    }
    if std::env::var_os(BY_NVCC).is_some() {
        return prove(path, &directives, &["--nvcc"], &[]);
    }
    let scratch = tempfile::tempdir()?;
    let (derivatives, on_device) = derive(&tools, path, &directives, &modes)?;
    if let (Some(text), Some(nvcc)) = (on_device, find_nvcc(&tools.environment)) {
        nvrtc::compile(&nvcc.path, &text).map_err(|said| format!("NVRTC says:\n{said}\nof:\n{text}"))?;
    }
    for ((mode, suffix), module) in modes.iter().zip(derivatives) {
        // What stands after the program's own text is not read again by itself.
        if module.needs_program {
            let flags = ParseFlags::default();
            let input = Input { file: path, flags: &flags, cuda_path: None, colour: false };
            let printed = print_derivative(&tools, &input, &wanted(&directives), *mode, Extent::Standalone, None)?;
            compare_or_bless(&path.with_extension(suffix), &printed.text)?;
            continue;
        }
        let printed = emit(&module, Dialect::Cuda);
        compare_or_bless(&path.with_extension(suffix), &printed)?;
        let again = scratch.path().join(suffix);
        fs::write(&again, &printed)?;
        // In the split form nothing calls all the others.
        let last = if directives.split.is_some() && *mode == Mode::Reverse { module.functions.len() } else { 1 };
        let names: Vec<&str> = module.functions.iter().rev().take(last).map(|function| &*function.name).collect();
        let names: Vec<&str> = names.into_iter().rev().collect();
        // Without the rule, which a derivative does not state, nobody could read it.
        let is_unread = module.functions.iter().any(|function| function.unread_body().is_some());
        if is_unread {
            continue;
        }
        let has_host = module.functions.iter().any(|function| function.space == Space::Host);
        let (first, second) = (text::print(&module), text::print(&lower_again(&tools, &again, &names, has_host)?));
        if first != second {
            let difference = difference(&first, &second);
            return Err(format!("the text of {suffix} is lowered to another module:\n{difference}").into());
        }
        if *mode == Mode::Reverse {
            expectations::parse(&source)?.into_iter().try_for_each(|expected| expect(expected, &printed))?;
        }
    }
    prove(path, &directives, if is_executed(path) { &["--nvcc"] } else { &[] }, &[])
}

/// Whether what nvcc makes of a fixture is executed too. It takes as long as all the rest, so the gate, which says so, does it for a third:
/// `cargo xtask nvcc` and a test that is run by itself do it for all.
fn is_executed(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().as_encoded_bytes();
    std::env::var_os("CI").is_none() || name.iter().map(|byte| u32::from(*byte)).sum::<u32>().is_multiple_of(3)
}

/// Compares the derivatives of a module that was kept; keeps it first, after a line with the function's name.
fn check_texts(path: &Path, directives: &Directives, modes: &[(Mode, &str)], folder: &Path) -> Result<(), Failed> {
    let wanted = wanted(directives);
    let kept = folder.join(path.with_extension("ir").file_name().unwrap_or_default());
    if !kept.exists() {
        let tools = Tools::find(Environment::of_process())?;
        let module = with_wanted(&tools, path, &wanted, |passes, wanted| {
            let (module, request) = lowered(passes, wanted)?;
            // The text form has no headers, and only who reads the program knows the names of what stands for variables.
            let is_told = module.preamble.is_empty() && !module.needs_program && directives.of.is_empty();
            let kept = || format!("// {}\n{}", module.functions[request.function].name, text::print(&module));
            Ok(if is_told { kept() } else { String::new() })
        })?;
        fs::write(&kept, module)?;
    }
    let contents = fs::read_to_string(&kept)?;
    if contents.is_empty() {
        return Ok(());
    }
    let name = contents.lines().next().and_then(|line| line.strip_prefix("// ")).unwrap_or_default();
    let module = text::parse(&contents).map_err(|error| format!("{}: {error}", kept.display()))?;
    let function = module.function(name).ok_or_else(|| format!("{}: no `{name}`", kept.display()))?;
    let failed = |found: Vec<Diagnostic>| Failed::from(diagnostic::render(&found, &Sources::default(), false));
    let request = request(&module, function, &wanted).map_err(failed)?;
    for (mode, suffix) in modes {
        let derivative = differentiate(&module, &request, *mode).map_err(failed)?;
        compare_or_bless(&path.with_extension(suffix), &emit(&derivative, Dialect::Cuda))?;
    }
    Ok(())
}

fn a_misspelt_directive_is_an_error() -> Result<(), Failed> {
    let keys = ["run", "no direct"];
    let right = "// A sentence: with a colon.\n// run: k(1)\n// its end, and more of it: too\n// no direct: why\n";
    if spelling::directives(right, &keys)? != [("run", "k(1)"), ("no direct", "why")] {
        return Err("directives and sentences are not told apart".into());
    }
    for wrong in ["ran: k(1)", "Run: k(1)", "run:k(1)", "run : k(1)", "no directs: why", "no_direct: why"] {
        match spelling::directives(&format!("// {wrong}\n"), &keys) {
            Err(message) if message.contains("known: `run: `, `no direct: `") => {}
            other => return Err(format!("`{wrong}` gives {other:?}").into()),
        }
    }
    let right = "// grad: k wrt \"x\"\n// run: k<<<1, 1>>>(in<float>(1))\n// expect: no atomic\n";
    directives::parse(right)?;
    for wrong in ["grads: k wrt \"x\"", "expects: no atomic", "roll back: x", "wide-adjoints: no"] {
        if directives::parse(&format!("{right}// {wrong}\n")).is_ok() {
            return Err(format!("`{wrong}` is accepted").into());
        }
    }
    Ok(())
}

/// The fixture's own text with its gradient after it, as programs have it that include the header which is printed.
fn write_own_text(
    tools: &Tools,
    path: &Path,
    source: &str,
    directives: &Directives,
    folder: &Path,
) -> Result<(), Failed> {
    // Variables of a function are parameters in another text only.
    if !directives.wants(Mode::Reverse) || !directives.of.is_empty() {
        return Ok(());
    }
    let flags = ParseFlags::default();
    let input = Input { file: path, flags: &flags, cuda_path: None, colour: false };
    let printed = print_derivative(tools, &input, &wanted(directives), Mode::Reverse, Extent::Header, None)?;
    let text = printed.text.replace("#pragma once\n", "");
    let name = path.with_extension(MODES[0].1);
    fs::write(folder.join(name.file_name().unwrap_or_default()), format!("{source}\n{text}"))?;
    Ok(())
}

/// Where the copies of arrays are changes no derivative.
fn copies_on_the_host(path: &Path) -> Result<(), Failed> {
    let directives = directives::parse(&fs::read_to_string(path)?)?;
    prove(path, &directives, &[], &[("COTANGENT_SNAPSHOT_BYTES", "8")])
}

/// Threads run in turn, so every number is right. The executor's checks see that two threads add to one element.
fn a_gradient_without_its_atomics_fails() -> Result<(), Failed> {
    let kernel = "__global__ void scale(int n, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i / 2] * x[i / 2];
}
";
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("scale.cu");
    let check = |text: &str| -> Result<(bool, String), Failed> {
        fs::write(&file, text)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
        let output = command.arg("check").arg(&file).args(["--fn", "scale", "--samples", "1"]).output()?;
        Ok((output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    // What is printed stands after the user's text.
    let (is_right, said) = check(&format!("{kernel}#define atomicAdd(place, value) (*(place) += (value))\n"))?;
    let wrong = said.lines().filter(|line| line.ends_with("WRONG")).count();
    if is_right || wrong != 1 || !said.contains("error[X0203]") || !said.contains("| atomicAdd(&_d_x[i / 2], ") {
        return Err(format!("the race is not found:\n{said}").into());
    }
    match check(kernel)? {
        (true, _) => Ok(()),
        (false, said) => Err(format!("with atomics:\n{said}").into()),
    }
}

impl Directives {
    fn wants(&self, mode: Mode) -> bool {
        match mode {
            Mode::Forward => true,
            Mode::Reverse => self.forward_only.is_none(),
        }
    }
}

/// What a fixture asks for.
fn wanted(directives: &Directives) -> Wanted<'_> {
    Wanted {
        outputs: &directives.of,
        split: directives.split.as_deref(),
        rolled_back: &directives.rolled_back,
        record_slots: directives.record_slots,
        record_budget: directives.record_budget,
        is_checkpointed: directives.is_checkpointed,
        wide_adjoints: directives.wide_adjoints,
        is_deterministic: directives.is_deterministic,
        is_pure: directives.is_pure,
        ..Wanted::new(&directives.function, Some(&directives.wrt))
    }
}

/// The derivatives of a fixture, and the text of what runs on the device of its gradient.
fn derive(
    tools: &Tools,
    path: &Path,
    directives: &Directives,
    modes: &[(Mode, &str)],
) -> Result<(Vec<Module>, Option<String>), Failed> {
    let wanted = wanted(directives);
    with_wanted(tools, path, &wanted, |passes, wanted| {
        let (module, request) = lowered(passes, wanted)?;
        let derivatives = modes.iter().map(|(mode, _)| differentiate(&module, &request, *mode));
        let derivatives: Vec<Module> = derivatives.collect::<Result<_, _>>()?;
        let is_kernel = module.functions[request.function].space == Space::Kernel;
        let has_gradient = modes.iter().any(|(mode, _)| *mode == Mode::Reverse);
        // What is not read may be of the host's headers.
        let is_alone = module.preamble.is_empty() && !derivatives.iter().any(|derivative| derivative.needs_program);
        if !is_kernel || !has_gradient || request.is_deterministic || !is_alone {
            return Ok((derivatives, None));
        }
        let request = request.of_device(&module, true)?;
        let on_device = differentiate(&module, &request, Mode::Reverse)?;
        Ok((derivatives, Some(device_text(&on_device))))
    })
}

fn check_refused(path: &Path) -> Result<(), Failed> {
    let directives = directives::parse(&fs::read_to_string(path)?)?;
    let tools = Tools::find(Environment::of_process())?;
    let failure = match derive(&tools, path, &directives, &MODES[..1]) {
        Ok((derivatives, _)) => return Err(format!("it is accepted:\n{}", emit(&derivatives[0], Dialect::Cuda)).into()),
        Err(failure) => failure,
    };
    let message = failure.message().unwrap_or_default();
    let message = message.strip_prefix(&format!("{}: ", path.display())).unwrap_or(message);
    let folder = path.parent().unwrap_or(Path::new("")).display().to_string();
    let message = message.replace(&format!("{folder}/"), "");
    compare_or_bless(&path.with_extension("stderr"), &format!("{}\n", message.trim_end()))
}

/// What a printed derivative is lowered to. Without host functions one pass tells all: reading takes most of the time.
fn lower_again(tools: &Tools, path: &Path, names: &[&str], has_host: bool) -> Result<Module, Failed> {
    let lower = |passes: Passes<'_>| lower_with_rules(passes, names).map(|(module, _)| module);
    if has_host {
        return with_module(tools, path, lower);
    }
    let flags = ParseFlags::default();
    let input = Input { file: path, flags: &flags, cuda_path: None, colour: false };
    let result = with_deep_stack(|| {
        let device = read_device(tools, &input)?;
        lower(Passes { device: &device, host: None }).map_err(|found| rendered(&found, &device))
    });
    result.map_err(|failure| format!("{}: {failure}", path.display()).into())
}

/// As [`with_module`], of a text in which variables that are named are parameters.
fn with_wanted<T: Send>(
    tools: &Tools,
    file: &Path,
    wanted: &Wanted<'_>,
    work: impl FnOnce(Passes<'_>, &Wanted<'_>) -> Result<T, Vec<Diagnostic>> + Send,
) -> Result<T, Failed> {
    let flags = ParseFlags::default();
    let input = Input { file, flags: &flags, cuda_path: None, colour: false };
    let result = with_deep_stack(|| {
        let (passes, named) = read_wanted(tools, &input, wanted)?;
        work(passes.both(), &named.wanted(wanted)).map_err(|found| rendered(&found, &passes.device))
    });
    result.map_err(|failure| format!("{}: {failure}", file.display()).into())
}

fn with_module<T: Send>(
    tools: &Tools,
    file: &Path,
    work: impl FnOnce(Passes<'_>) -> Result<T, Vec<Diagnostic>> + Send,
) -> Result<T, Failed> {
    let flags = ParseFlags::default();
    let input = Input { file, flags: &flags, cuda_path: None, colour: false };
    let result = with_deep_stack(|| {
        let passes = read(tools, &input)?;
        work(passes.both()).map_err(|found| rendered(&found, &passes.device))
    });
    result.map_err(|failure| format!("{}: {failure}", file.display()).into())
}

fn rendered(found: &[Diagnostic], pass: &Ast) -> Failure {
    let refusal = Refusal::of(found, &pass.sources, false);
    for place in &refusal.found {
        if let (Some(file), Some(line), Some(column)) = (&place.file, place.line, place.column) {
            let shown = format!("--> {file}:{line}:{column}");
            assert!(refusal.text.contains(&shown), "{shown} is not where the caret is:\n{}", refusal.text);
        }
    }
    Failure::Diagnostics(refusal)
}

fn expect(expected: Expectation, printed: &str) -> Result<(), Failed> {
    let (wanted, mark, what) = match expected {
        Expectation::Atomics(count) => (count, "atomicAdd(", "atomics"),
        Expectation::SumsOfBlocks(count) => (count, "add_together(", "sums of blocks"),
        Expectation::NoRecord => (0, "* _record", "records"),
        Expectation::Slopes(count) => (count, "&_slope", "slopes"),
        Expectation::Gathers(count) => (count, "// a thread sums all that is added", "gathers"),
        Expectation::Kept(count) => (count, "// kept: ", "kept arrays"),
    };
    let found = printed.matches(mark).count();
    if found == wanted { Ok(()) } else { Err(format!("{found} {what} instead of {wanted}").into()) }
}

/// Runs `cotangent check`, with more words and variables of the environment.
fn prove(path: &Path, directives: &Directives, words: &[&str], variables: &[(&str, &str)]) -> Result<(), Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.arg("check").arg(path).args(directives.words()).args(["--samples", "2"]).args(words);
    let output = command.envs(variables.iter().copied()).output()?;
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    // A fixture that cannot be widened would prove little.
    if !output.status.success() || said.contains("native precision only") || said.contains("left out") {
        return Err(format!("{}\n{said}", output.status).into());
    }
    Ok(())
}
