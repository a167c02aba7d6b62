//! What ptxas says about primal kernels and their gradients, side by side: registers, stack, spills, and how many adds
//! are atomic. There is no GPU on the build machines; this is how close a gradient is to its kernel without one.

use anyhow::{Context, Result};
use cotangent_driver::flags::Arch;
use cotangent_driver::nvcc::{KernelFacts, NvccRequest, Product, compile};
use cotangent_driver::tools::{Nvcc, find_nvcc};
use cotangent_driver::{DriverError, Environment};

use crate::workspace;

/// Fixtures of `fixtures/grad` whose first kernel is looked at, and what they stand for.
const KERNELS: &[(&str, &str)] = &[
    ("saxpy", "a map with a shared scalar"),
    ("accumulate_contraction", "tensor contraction, f32"),
    ("black_scholes", "Black-Scholes, f32"),
    ("state_run_time_count", "a recurrence of run-time length"),
    ("while_newton", "a while loop that depends on data"),
    ("shared_tiled_product", "tiled matrix product 16x16, f32"),
    ("shared_reduction", "a block's sum in shared memory"),
    ("shuffle_reduction", "a block's sum by shuffles"),
    ("shared_softmax", "softmax of rows in shared memory"),
    ("shared_attention", "a row of attention, tiles in shared memory"),
];

/// The oldest architecture that nvcc 13 compiles for.
const ARCH: Arch = Arch::new(75);

/// Prints the table as Markdown.
pub(crate) fn kernels() -> Result<()> {
    let nvcc = find_nvcc(&Environment::of_process()).ok_or(DriverError::NvccMissing)?;
    println!("| kernel | what | registers | gradient | stack | gradient | spills of the gradient | atomics |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let files = workspace::files()?;
    let find = |name: String| {
        files.iter().find(|file| file.path.starts_with("fixtures/grad/") && file.path.ends_with(&format!("/{name}")))
    };
    for (name, what) in KERNELS {
        let primal = find(format!("{name}.cu")).with_context(|| format!("there is no fixture `{name}`"))?;
        let Some(gradient) = find(format!("{name}.grad.cu")) else { continue };
        let text = &gradient.text;
        let primal = facts(&nvcc, &primal.path, "")?;
        let gradient = facts(&nvcc, &gradient.path, "_grad")?;
        println!(
            "| {name} | {what} | {} | {} | {} | {} | {} | {} |",
            primal.registers,
            gradient.registers,
            primal.stack,
            gradient.stack,
            gradient.spill_stores + gradient.spill_loads,
            text.matches("atomicAdd(").count(),
        );
    }
    Ok(())
}

/// The facts of the kernel that uses most registers among those whose name has a part, counting kernels left out.
fn facts(nvcc: &Nvcc, path: &str, part: &str) -> Result<KernelFacts> {
    let folder = tempfile::tempdir()?;
    let request = NvccRequest {
        file: &workspace::root().join(path),
        archs: &[ARCH],
        product: Product::Fatbin,
        strict: false,
        words: &[],
        output: &folder.path().join("kernel.fatbin"),
    };
    let found = compile(nvcc, &request)?;
    let kernels = found.into_iter().filter(|kernel| kernel.name.contains(part) && !kernel.name.contains("_slots"));
    kernels.max_by_key(|kernel| kernel.registers).with_context(|| format!("no kernel in {path}"))
}
