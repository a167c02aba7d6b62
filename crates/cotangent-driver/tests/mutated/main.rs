//! Bad input: damaged dumps of Clang and damaged programs give a diagnostic or a result, never a panic, a crash, a hang
//! or more than 1 GB. The fixtures are the seeds. Damaged texts of the IR are tested beside its parser.
//!
//! `cargo xtask mutate` runs ten thousand cases of each kind; this test as part of all others a few. A failure names
//! the case's kind and number, and `COTANGENT_MUTATED_CASE` set to that number runs and shows it alone.

mod dump;
mod program;
mod random;
mod supervise;
mod words;

use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use cotangent::clang::{self, Sieve, is_not_system};
use cotangent::direct::{self, Kernels};
use cotangent::emit::{self, Dialect};
use cotangent::{ir, lower};
use cotangent_driver::flags::ParseFlags;
use cotangent_driver::parse::{self, ParseRequest, Pass};
use cotangent_driver::program::{Failure, Passes, lowered_module, with_deep_stack};
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
    // Few cases need few seeds. A seed of dumps costs two runs of Clang, so that it is damaged eighty times.
    let fixtures = fixtures(kind);
    let cases_a_seed = if kind == "dumps" { 80 } else { 1 };
    let step = (fixtures.len() * cases_a_seed / count.max(1)).clamp(1, fixtures.len() / 8);
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
        "{count} mutated {kind}: {} results, {} refused, {} stopped by Clang, at most {} MB",
        outcome.results, outcome.refusals, outcome.rejections, outcome.peak_megabytes
    );
    if !outcome.failures.is_empty() {
        return Err(outcome.failures.join("\n").into());
    }
    let behind_clang = outcome.results + outcome.refusals;
    if behind_clang * 4 < count || outcome.results * 8 < count || outcome.results * 20 > count * 19 {
        return Err("nearly all cases end alike: the mutations are no test".into());
    }
    Ok(())
}

/// The fixtures that are accepted, by folder and name; damaged programs may also come from those that are refused.
/// None includes the standard library, which would be all that such a case is about.
fn fixtures(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/print");
    let mut found: Vec<PathBuf> = entries(&folder).iter().flat_map(|feature| sources(feature)).collect();
    found.retain(|path| kind == "programs" || !path.parent().is_some_and(|folder| folder.ends_with("refused")));
    found.retain(|path| !path.to_string_lossy().ends_with(".printed.cu"));
    found.retain(|path| fs::read_to_string(path).is_ok_and(|text| !text.contains("#include")));
    found
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "cu")).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn dump_file(source: &Path, pass: Pass) -> PathBuf {
    source.with_extension(if pass == Pass::Host { "host" } else { "device" })
}

fn write_dump(tools: &Tools, source: &Path, pass: Pass) -> Result<(), Failed> {
    let Ok(sieved) = sieved(tools, source, pass) else {
        // It uses what it does not include. Not a seed, then: its dump would be large.
        return Ok(());
    };
    let name = source.display().to_string();
    let lines = dump::reduced(&String::from_utf8(sieved)?, |file| file == name);
    Ok(fs::write(dump_file(source, pass), lines.join("\n"))?)
}

/// Clang's dump of a file. The driver's own way, with all that nvcc includes if Clang rejects the text without it, takes
/// twenty times as long where Clang rejects it anyhow.
fn sieved(tools: &Tools, file: &Path, pass: Pass) -> Result<Vec<u8>, Failure> {
    let flags = ParseFlags::default();
    let request = ParseRequest::new(file, pass, &flags);
    let mut sieve = Sieve::new(is_not_system);
    parse::dump(tools, &request, &mut |piece| sieve.push(piece))?;
    Ok(sieve.finish())
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
        let ending = catch_unwind(AssertUnwindSafe(run));
        if is_alone() {
            eprintln!("{ending:?}");
        }
        let line = match ending {
            Ok(Ok(())) => "result -".to_owned(),
            Ok(Err(Failure::Driver(_))) => "rejected -".to_owned(),
            Ok(Err(Failure::Read(_) | Failure::Diagnostics(_))) => "refused -".to_owned(),
            Err(_) => format!("panic {}", PANIC.lock().expect("no panic here")),
        };
        writeln!(out, "{line}\npeak {}", peak_megabytes()).and_then(|()| out.flush()).expect("the test listens");
    }
}

/// One of the passes is damaged, the other is as Clang wrote it.
fn run_dump(seed: &Path, random: &mut Random) -> Result<(), Failure> {
    let text = fs::read_to_string(seed).expect("the seed");
    let mut dumps = [Pass::Host, Pass::Device].map(|pass| fs::read(dump_file(seed, pass)).expect("the seed's dump"));
    let damaged = usize::from(random.below(4) > 0);
    let lines = String::from_utf8_lossy(&dumps[damaged]).lines().map(str::to_owned).collect::<Vec<_>>();
    dumps[damaged] = dump::mutate(&lines, random);
    if is_alone() {
        // Before anything else: it may crash.
        let place = std::env::temp_dir().join("mutated.json");
        fs::write(&place, &dumps[damaged]).expect("a place for the case");
        eprintln!("{} with a damaged dump, {}", seed.display(), place.display());
    }
    let [host, device] = dumps;
    run_behind_clang(&host, &device, &text, function(&text))
}

fn run_program(tools: &Tools, seed: &Path, folder: &Path, random: &mut Random) -> Result<(), Failure> {
    let text = fs::read_to_string(seed).expect("the seed");
    let file = folder.join(format!("{}.program", std::process::id()));
    let mutated = program::mutate(&text, random);
    if is_alone() {
        eprintln!("{}\n{mutated}", seed.display());
    }
    fs::write(&file, &mutated).expect("a place for the case");
    // One after the other: the second is not needed where the first is rejected.
    let host = sieved(tools, &file, Pass::Host)?;
    let device = sieved(tools, &file, Pass::Device)?;
    run_behind_clang(&host, &device, &mutated, function(&text))
}

/// All that becomes of two dumps.
fn run_behind_clang(host: &[u8], device: &[u8], text: &str, function: &str) -> Result<(), Failure> {
    let read = |json: &[u8]| {
        let mut ast = clang::read(json)?;
        ast.sources.files.iter_mut().for_each(|source| source.text = Some(text.into()));
        Ok::<_, Failure>(ast)
    };
    with_deep_stack(|| {
        let passes = Passes::of(read(host)?, read(device)?);
        for ast in [&passes.host, &passes.device] {
            for id in ast.sources.files.ids() {
                direct::edit(ast, id, Kernels::Direct);
            }
        }
        match lowered_module(lower::Passes { device: &passes.device, host: Some(&passes.host) }, function) {
            Ok(module) => {
                emit::emit(&module, Dialect::Cuda);
                emit::emit(&module, Dialect::Cpu);
                ir::text::print(&module);
                Ok(())
            }
            Err(found) => Err(Failure::refused(&found, &passes.device.sources, false)),
        }
    })
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
