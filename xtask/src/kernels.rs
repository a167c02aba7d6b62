//! What ptxas says about primal kernels and their gradients, side by side: registers, stack, spills, and how many atomic
//! instructions their PTX has. There is no GPU on the build machines; this is how close a gradient is to its kernel without one.

use anyhow::{Context, Result};
use cotangent_driver::flags::Arch;
use cotangent_driver::nvcc::KernelFacts;
use cotangent_driver::tools::{Nvcc, find_nvcc};
use cotangent_driver::{DriverError, Environment};

use crate::compiled::Compiled;
use crate::workspace;

/// Fixtures of `fixtures/grad` whose first kernel is looked at, and what they stand for.
const KERNELS: &[(&str, &str)] = &[
    ("saxpy", "a map with a shared scalar"),
    ("accumulate_contraction", "tensor contraction, f64"),
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
    println!(
        "| kernel | what | registers | gradient | stack | gradient | spills of the gradient | global atomics | shared |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let files = workspace::files()?;
    let find = |name: String| {
        files.iter().find(|file| file.path.starts_with("fixtures/grad/") && file.path.ends_with(&format!("/{name}")))
    };
    for (name, what) in KERNELS {
        let primal = find(format!("{name}.cu")).with_context(|| format!("there is no fixture `{name}`"))?;
        let Some(gradient) = find(format!("{name}.grad.cu")) else { continue };
        let primal = compiled(&nvcc, &primal.path)?;
        let gradient = compiled(&nvcc, &gradient.path)?;
        let cost = gradient.cost(is_gradient);
        let (primal, gradient) = (largest(&primal, |_| true)?, largest(&gradient, is_gradient)?);
        println!(
            "| {name} | {what} | {} | {} | {} | {} | {} | {} | {} |",
            primal.registers,
            gradient.registers,
            primal.stack,
            gradient.stack,
            gradient.spill_stores + gradient.spill_loads,
            cost.global_atomics,
            cost.shared_atomics,
        );
    }
    Ok(())
}

/// Counting kernels are left out.
fn is_gradient(kernel: &str) -> bool {
    kernel.contains("_grad") && !kernel.contains("_slots")
}

fn compiled(nvcc: &Nvcc, path: &str) -> Result<Compiled> {
    let folder = tempfile::tempdir()?;
    Compiled::of(nvcc, &workspace::root().join(path), ARCH, folder.path())
}

/// The facts of the kernel that uses most registers.
fn largest(compiled: &Compiled, is_wanted: impl Fn(&str) -> bool) -> Result<&KernelFacts> {
    let kernels = compiled.facts.iter().filter(|kernel| is_wanted(&kernel.name));
    kernels.max_by_key(|kernel| kernel.registers).context("nvcc has compiled no such kernel")
}
