//! Compiles every printed CUDA file of the fixtures, and the tour of the examples, with nvcc and ptxas, host code
//! included, for the architectures that we promise. There is no GPU on the build machines; this is what NVIDIA's own
//! tools can say without one.
//!
//! One call of nvcc takes one file for all architectures. Several files a call save nothing (measured: 2.4 s a file
//! against 2.6 s, nearly all of it reading CUDA's headers once an architecture), so files are what runs in parallel.
//! Derivatives that include the same headers are compiled many in one text, each in a namespace of its own; of those that do
//! not compile so, each by itself.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use cotangent_driver::flags::Arch;
use cotangent_driver::nvcc::{NvccRequest, Product, compile};
use cotangent_driver::tools::{Nvcc, find_nvcc};
use cotangent_driver::{DriverError, Environment};

use crate::workspace::{self, SourceFile};

/// The oldest that nvcc 13 compiles for, the two that people have most, and the newest.
const ARCHS: [Arch; 4] = [Arch::new(75), Arch::new(80), Arch::new(90), Arch::new(120)];

/// How what is printed for a fixture is named: its own text, its derivatives.
const PRINTED: [&str; 3] = [".printed.cu", ".grad.cu", ".forward.cu"];

/// The header that users' programs include: nvcc must read those of the fixtures that do, without a word.
const RULES: &str = "#include <cotangent/rules.hpp>";

/// A program that our tests run on the CPU: NVIDIA's compiler must agree that it is CUDA.
const TOUR: &str = "examples/tour.cu";

/// Compiles them all. Files that compiled before and have not changed are skipped, except in CI. Derivatives are many:
/// unless `is_full`, gradients are compiled for the oldest architecture alone, tangents not at all, and the rest for the
/// oldest and the newest.
pub(crate) fn validate(filter: Option<&str>, is_full: bool) -> Result<()> {
    let nvcc = find_nvcc(&Environment::of_process()).ok_or(DriverError::NvccMissing)?;
    let mut files = workspace::files()?;
    let is_printed = |path: &str| path.starts_with("fixtures/") && PRINTED.iter().any(|suffix| path.ends_with(suffix));
    let states_rules = |file: &SourceFile| file.path.starts_with("fixtures/") && file.text.contains(RULES);
    files.retain(|file| file.path == TOUR || is_printed(&file.path) || states_rules(file));
    files.retain(|file| filter.is_none_or(|filter| file.path.contains(filter)));
    if !is_full {
        let all = files.len();
        files.retain(|file| !file.path.ends_with(PRINTED[2]));
        eprintln!(
            "{} tangents skipped, gradients for {} only, the rest for it and {}; `cargo xtask validate --full` compiles all \
             for {}",
            all - files.len(),
            ARCHS[0],
            ARCHS[3],
            ARCHS.map(|arch| arch.to_string()).join(", "),
        );
    }
    ensure!(!files.is_empty(), "no fixtures/**/*{} to compile; `cargo xtask bless` writes them", PRINTED[0]);
    compile_new(&nvcc, files, is_full)
}

/// Compiles the gradients of fixtures after the fixtures' own texts, as programs have them, for all architectures.
pub(crate) fn validate_own(filter: Option<&str>) -> Result<()> {
    let nvcc = find_nvcc(&Environment::of_process()).ok_or(DriverError::NvccMissing)?;
    let folder = workspace::root().join("target/own");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).context("cannot make target/own")?;
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(workspace::root()).env("COTANGENT_OWN_TEXTS", &folder);
    command.args(["test", "--package", "cotangent-cli", "--test", "grad", "--"]).args(filter);
    command.args(["--skip", "refused::"]);
    ensure!(command.status()?.success(), "not all gradients can be printed; see above");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        files.push(SourceFile { text: std::fs::read_to_string(&path)?, path: path.display().to_string() });
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    compile_new(&nvcc, files, true)
}

/// Has the fixtures' derivatives be compared with what nvcc made of them, executed on the CPU.
pub(crate) fn execute(filter: Option<&str>) -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(workspace::root()).env("COTANGENT_BY_NVCC", "1");
    command.args(["test", "--package", "cotangent-cli", "--test", "grad", "--"]).args(filter);
    command.args(["--skip", "refused::", "--skip", "every_derivative", "--skip", "a_gradient_without"]);
    ensure!(command.status()?.success(), "not all agree; see above");
    Ok(())
}

/// Compiles what has not been compiled before; in CI, everything.
fn compile_new(nvcc: &Nvcc, mut files: Vec<SourceFile>, is_full: bool) -> Result<()> {
    let found = files.len();

    let remembered = workspace::root().join("target/validated");
    std::fs::create_dir_all(&remembered).context("cannot make target/validated")?;
    let mark = |file: &SourceFile| remembered.join(fingerprint(nvcc, file, is_full));
    if std::env::var_os("CI").is_none() {
        files.retain(|file| !mark(file).exists());
    }

    let start = Instant::now();
    let failures = compile_all(nvcc, &files, is_full, &mark)?;
    for (path, message) in &failures {
        eprintln!("\n{path}: {message}");
    }
    let seconds = start.elapsed().as_secs_f32();
    eprintln!(
        "nvcc {}: {found} files{}; compiled {} in {seconds:.1} s, {} failed, {} unchanged",
        nvcc.version,
        if is_full { " for four architectures" } else { "" },
        files.len(),
        failures.len(),
        found - files.len(),
    );
    if !failures.is_empty() {
        bail!("{} of the files do not compile", failures.len());
    }
    Ok(())
}

/// So many derivatives make one text.
const TOGETHER: usize = 20;

/// Two calls at a time; what failed, in the order of the files.
fn compile_all(
    nvcc: &Nvcc,
    files: &[SourceFile],
    is_full: bool,
    mark: &(impl Fn(&SourceFile) -> PathBuf + Sync),
) -> Result<Vec<(String, String)>> {
    let scratch = tempfile::tempdir()?;
    let can_be_together = |file: &&SourceFile| {
        PRINTED[1..].iter().any(|suffix| file.path.ends_with(suffix)) && !file.text.contains(RULES)
    };
    let (mut together, alone): (Vec<&SourceFile>, Vec<&SourceFile>) = files.iter().partition(can_be_together);
    together.sort_by_cached_key(|file| includes(file));
    let together =
        together.chunk_by(|one, next| includes(one) == includes(next)).flat_map(|same| same.chunks(TOGETHER));
    let batches: Vec<&[&SourceFile]> = alone.chunks(1).chain(together).collect();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let include = ["-I".to_owned(), workspace::root().join("include").display().to_string()];
    let call = |path: &Path, is_gradient: bool, output: &Path| {
        let archs = match (is_full, is_gradient) {
            (true, _) => &ARCHS[..],
            (false, true) => &ARCHS[..1],
            (false, false) => &[ARCHS[0], ARCHS[3]],
        };
        let request =
            NvccRequest { file: path, archs, product: Product::Object, strict: true, words: &include, output };
        compile(nvcc, &request).map(drop).map_err(|error| error.to_string())
    };
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(batch) = batches.get(index) else { break };
            let output = scratch.path().join(format!("{index}.o"));
            let text = scratch.path().join(format!("{index}.cu"));
            let is_whole =
                batch.len() > 1 && std::fs::write(&text, one_text(batch)).is_ok() && call(&text, true, &output).is_ok();
            for file in *batch {
                let is_gradient = file.path.ends_with(PRINTED[1]) || file.text.contains(RULES);
                let alone = || call(&workspace::root().join(&file.path), is_gradient, &output);
                let result = if is_whole { Ok(()) } else { alone() };
                let result = result.and_then(|()| std::fs::write(mark(file), "").map_err(|error| error.to_string()));
                if let Err(message) = result {
                    eprintln!("{}  FAILED", file.path);
                    failures.lock().expect("no worker panics").push((file.path.clone(), message));
                }
            }
            let more = if batch.len() > 1 { format!(" and {} more", batch.len() - 1) } else { String::new() };
            eprintln!("[{:>3}/{}] {}{more}", index + 1, batches.len(), batch[0].path);
        }
    };
    std::thread::scope(|scope| {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..jobs {
            scope.spawn(worker);
        }
    });
    let mut failures = failures.into_inner().expect("no worker panics");
    failures.sort();
    Ok(failures)
}

/// The files as one: what all of them include, and the rest of each in a namespace.
fn one_text(files: &[&SourceFile]) -> String {
    let mut text = includes(files[0]).join("\n");
    for (number, file) in files.iter().enumerate() {
        let rest: Vec<&str> = file.text.lines().filter(|line| !is_include(line)).collect();
        text += &format!("\nnamespace file_{number} {{\n{}\n}}\n", rest.join("\n"));
    }
    text
}

fn includes(file: &SourceFile) -> Vec<&str> {
    file.text.lines().filter(|line| is_include(line)).collect()
}

fn is_include(line: &str) -> bool {
    line.starts_with("#include")
}

/// Names the result of compiling this text with this compiler.
fn fingerprint(nvcc: &Nvcc, file: &SourceFile, is_full: bool) -> String {
    let mut hasher = DefaultHasher::new();
    (&nvcc.version, ARCHS.map(|arch| arch.to_string()), is_full, &file.path, &file.text).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
