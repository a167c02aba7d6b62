//! Bad input: damaged dumps of Clang and damaged programs give a diagnostic or a result, never a panic, a crash, a hang
//! or more than 1 GB. The fixtures are the seeds. Damaged texts of the IR are tested beside its parser.
//!
//! `cargo xtask mutate` runs ten thousand cases of each kind; this test as part of all others a few. A failure names
//! the case's kind and number, and `COTANGENT_MUTATED_CASE` set to that number runs and shows it alone.

mod dump;
mod program;
mod random;
mod supervise;

use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use cotangent::clang::{self, Sieve, is_not_system};
use cotangent::diagnostic::render;
use cotangent::direct::{self, Kernels};
use cotangent::emit::{self, Dialect};
use cotangent::{ir, lower};
use cotangent_driver::flags::ParseFlags;
use cotangent_driver::parse::{self, ParseRequest, Pass};
use cotangent_driver::program::{Failure, Form, Input, lowered, print, with_deep_stack};
use cotangent_driver::{Environment, Tools};
use libtest_mimic::{Arguments, Failed, Trial};

use random::Random;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if let [_, first, kind, start, end, folder] = words.as_slice()
        && first == "__worker"
    {
        let number = |word: &String| word.parse().expect("a number");
        work(kind, number(start)..number(end), Path::new(folder));
        return ExitCode::SUCCESS;
    }
    let all: Option<usize> = std::env::var("COTANGENT_MUTATIONS").ok().and_then(|number| number.parse().ok());
    let trials = vec![
        Trial::test("dumps", move || check("dumps", all.unwrap_or(1000))),
        Trial::test("programs", move || check("programs", all.unwrap_or(40))),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn check(kind: &str, count: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let tools = Tools::find(Environment::of_process())?;
    // Few cases need few seeds, and a seed costs two runs of Clang.
    let fixtures = fixtures();
    let step = (fixtures.len() * 80 / count.max(80)).clamp(1, fixtures.len() / 8);
    for fixture in fixtures.iter().step_by(step) {
        let seed = folder.path().join(fixture.file_name().ok_or("a name")?);
        fs::copy(fixture, &seed)?;
        if kind == "dumps" {
            write_dump(&tools, &seed, Pass::Host)?;
            write_dump(&tools, &seed, Pass::Device)?;
        }
    }
    if let Ok(case) = std::env::var("COTANGENT_MUTATED_CASE") {
        let case = case.parse()?;
        work(kind, case..case + 1, folder.path());
        return Ok(());
    }
    let outcome = supervise::run(kind, folder.path(), count);
    println!(
        "{count} mutated {kind}: {} results, {} refused, at most {} MB",
        outcome.results, outcome.refusals, outcome.peak_megabytes
    );
    if !outcome.failures.is_empty() {
        return Err(outcome.failures.join("\n").into());
    }
    if outcome.results * 20 < count || outcome.refusals * 20 < count {
        return Err("nearly all cases end alike: the mutations are no test".into());
    }
    Ok(())
}

/// The fixtures that are accepted, in order of their names.
fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    sources(&folder).into_iter().filter(|path| !path.to_string_lossy().ends_with(".printed.cu")).collect()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "cu")).collect();
    paths.sort();
    paths
}

fn dump_file(source: &Path, pass: Pass) -> PathBuf {
    source.with_extension(if pass == Pass::Host { "host" } else { "device" })
}

fn write_dump(tools: &Tools, source: &Path, pass: Pass) -> Result<(), Failed> {
    let flags = ParseFlags::default();
    let request =
        ParseRequest { file: source, pass, flags: &flags, cuda_path: None, whole_library: false, appended: "", colour: false };
    let mut sieve = Sieve::new(is_not_system);
    if parse::dump(tools, &request, &mut |piece| sieve.push(piece)).is_err() {
        // It uses what it does not include. Not a seed, then: its dump would be large.
        return Ok(());
    }
    let sieved = String::from_utf8(sieve.finish())?;
    let name = source.display().to_string();
    let lines = dump::reduced(&sieved, |file| file == name);
    Ok(fs::write(dump_file(source, pass), lines.join("\n"))?)
}

/// Runs cases in this process, and says of each how it ended.
fn work(kind: &str, cases: std::ops::Range<usize>, folder: &Path) {
    static PANIC: Mutex<String> = Mutex::new(String::new());
    std::panic::set_hook(Box::new(|info| {
        let message = info.to_string().replace('\n', " ");
        eprintln!("{message}");
        *PANIC.lock().expect("no panic here") = message;
    }));
    let tools = Tools::find(Environment::of_process()).expect("the test found it");
    let mut seeds = sources(folder);
    if kind == "dumps" {
        seeds.retain(|seed| dump_file(seed, Pass::Host).exists() && dump_file(seed, Pass::Device).exists());
    }
    let mut out = std::io::stdout();
    for case in cases {
        let seed = &seeds[case % seeds.len()];
        let mut random = Random::of_case(case);
        let run = || match kind {
            "dumps" => run_dump(seed, &mut random),
            _ => run_program(&tools, seed, folder, &mut random),
        };
        let line = match catch_unwind(AssertUnwindSafe(run)) {
            Ok(true) => "result -".to_owned(),
            Ok(false) => "refused -".to_owned(),
            Err(_) => format!("panic {}", PANIC.lock().expect("no panic here")),
        };
        writeln!(out, "{line}\npeak {}", peak_megabytes()).and_then(|()| out.flush()).expect("the test listens");
    }
}

/// Whether anything came out. One of the passes is damaged, the other is as Clang wrote it.
fn run_dump(seed: &Path, random: &mut Random) -> bool {
    let text = fs::read_to_string(seed).expect("the seed");
    let dumps = [Pass::Host, Pass::Device].map(|pass| {
        let dump = fs::read_to_string(dump_file(seed, pass)).expect("the seed's dump");
        dump.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let damaged = usize::from(random.below(4) > 0);
    let bytes = dump::mutate(&dumps[damaged], random);
    let intact = dumps[1 - damaged].join("\n").into_bytes();
    if is_alone() {
        // Before anything else: it may crash.
        let place = std::env::temp_dir().join("mutated.json");
        fs::write(&place, &bytes).expect("a place for the case");
        eprintln!("{} with a damaged dump, {}", seed.display(), place.display());
    }
    let read = |json: &[u8]| {
        let mut ast = clang::read(json)?;
        ast.sources.files.iter_mut().for_each(|source| source.text = Some(text.as_str().into()));
        Ok::<_, Failure>(ast)
    };
    let result = with_deep_stack(|| {
        let (damaged_ast, intact_ast) = (read(&bytes)?, read(&intact)?);
        let (host, device) = if damaged == 0 { (&damaged_ast, &intact_ast) } else { (&intact_ast, &damaged_ast) };
        for id in damaged_ast.sources.files.ids() {
            direct::edit(&damaged_ast, id, Kernels::Direct);
        }
        match lowered(lower::Passes { device, host: Some(host) }, function(&text)) {
            Ok(module) => {
                emit::emit(&module, Dialect::Cuda);
                emit::emit(&module, Dialect::Cpu);
                ir::text::print(&module);
                Ok(true)
            }
            Err(found) => Err(Failure::Diagnostics(render(&found, &device.sources, false))),
        }
    });
    if is_alone() {
        eprintln!("{result:?}");
    }
    result.is_ok()
}

fn run_program(tools: &Tools, seed: &Path, folder: &Path, random: &mut Random) -> bool {
    let text = fs::read_to_string(seed).expect("the seed");
    let file = folder.join("mutated.program");
    let mutated = program::mutate(&text, random);
    fs::write(&file, &mutated).expect("a place for the case");
    let flags = ParseFlags::default();
    let input = Input { file: &file, flags: &flags, cuda_path: None, colour: false };
    let form = [Form::Cuda, Form::Cpu, Form::Ir][random.below(3)];
    let result = print(tools, &input, function(&text), form);
    if is_alone() {
        eprintln!("{mutated}\n{result:?}");
    }
    result.is_ok()
}

/// Whether one case is run to be looked at.
fn is_alone() -> bool {
    std::env::var_os("COTANGENT_MUTATED_CASE").is_some()
}

/// What a fixture asks for.
fn function(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("// fn: ")).unwrap_or("main").trim()
}

/// As far as the system tells.
fn peak_megabytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}
