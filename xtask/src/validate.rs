//! Compiles every printed CUDA file of the fixtures, and the tour of the examples, with nvcc and ptxas, host code
//! included, for the architectures that we promise. There is no GPU on the build machines; this is what NVIDIA's own
//! tools can say without one.
//!
//! One call of nvcc takes one file for all architectures. Several files a call save nothing (measured: 2.4 s a file
//! against 2.6 s, nearly all of it reading CUDA's headers once an architecture), so files are what runs in parallel.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
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
/// unless `is_full`, gradients are compiled for the oldest architecture alone, and tangents not at all.
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
            "{} tangents skipped, gradients for {} only; `cargo xtask validate --full` compiles all for all",
            all - files.len(),
            ARCHS[0]
        );
    }
    let found = files.len();
    ensure!(found > 0, "no fixtures/**/*{} to compile; `cargo xtask bless` writes them", PRINTED[0]);

    let remembered = workspace::root().join("target/validated");
    std::fs::create_dir_all(&remembered).context("cannot make target/validated")?;
    let mark = |file: &SourceFile| remembered.join(fingerprint(&nvcc, file, is_full));
    if std::env::var_os("CI").is_none() {
        files.retain(|file| !mark(file).exists());
    }

    let start = Instant::now();
    let failures = compile_all(&nvcc, &files, is_full, &mark)?;
    for (path, message) in &failures {
        eprintln!("\n{path}: {message}");
    }
    let seconds = start.elapsed().as_secs_f32();
    eprintln!(
        "nvcc {}: {found} files for {}; compiled {} in {seconds:.1} s, {} failed, {} unchanged",
        nvcc.version,
        ARCHS.map(|arch| arch.to_string()).join(", "),
        files.len(),
        failures.len(),
        found - files.len(),
    );
    if !failures.is_empty() {
        bail!("{} of the files do not compile", failures.len());
    }
    Ok(())
}

/// Two files at a time; what failed, in the order of the files.
fn compile_all(
    nvcc: &Nvcc,
    files: &[SourceFile],
    is_full: bool,
    mark: &(impl Fn(&SourceFile) -> PathBuf + Sync),
) -> Result<Vec<(String, String)>> {
    let scratch = tempfile::tempdir()?;
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let include = ["-I".to_owned(), workspace::root().join("include").display().to_string()];
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(index) else { break };
            let output = scratch.path().join(format!("{index}.o"));
            let is_gradient = file.path.ends_with(PRINTED[1]) || file.text.contains(RULES);
            let request = NvccRequest {
                file: &workspace::root().join(&file.path),
                archs: if is_gradient && !is_full { &ARCHS[..1] } else { &ARCHS },
                product: Product::Object,
                strict: true,
                words: &include,
                output: &output,
            };
            let result = compile(nvcc, &request).map_err(|error| error.to_string());
            let result = result.and_then(|_| std::fs::write(mark(file), "").map_err(|error| error.to_string()));
            eprintln!(
                "[{:>3}/{}] {}{}",
                index + 1,
                files.len(),
                file.path,
                if result.is_ok() { "" } else { "  FAILED" }
            );
            if let Err(message) = result {
                failures.lock().expect("no worker panics").push((index, file.path.clone(), message));
            }
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
    Ok(failures.into_iter().map(|(_, path, message)| (path, message)).collect())
}

/// Names the result of compiling this text with this compiler.
fn fingerprint(nvcc: &Nvcc, file: &SourceFile, is_full: bool) -> String {
    let mut hasher = DefaultHasher::new();
    (&nvcc.version, ARCHS.map(|arch| arch.to_string()), is_full, &file.path, &file.text).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
