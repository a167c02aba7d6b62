//! The example in Rust: without a GPU, and on what cudarc takes for one.

use anyhow::{Context, Result, ensure};

use crate::process::{cargo, done};
use crate::workspace;

/// Fits peaks. Cudarc loads CUDA's driver while the program runs: ours executes PTX.
pub(crate) fn rust() -> Result<()> {
    done(&mut cargo(&["test", "--workspace", "--no-run"]))?;
    let mut asked = std::process::Command::new(workspace::root().join("target/debug/cotangent"));
    let asked = asked.args(["where", "cudart"]).output().context("cannot run the command that was built")?;
    let libraries = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    fits("on Cotangent CPU", Some(("LD_LIBRARY_PATH", &libraries)))?;
    fits("on the CPU", None)
}

/// Runs the example, which says where it fits.
fn fits(place: &str, variable: Option<(&str, &str)>) -> Result<()> {
    let mut run = cargo(&["run", "--package", "peaks", "--features", "cuda"]);
    let output = run.envs(variable).output().context("cannot run cargo")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    print!("{printed}");
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the example failed\n{said}");
    ensure!(printed.starts_with(&format!("{place}\n")), "the example did not fit {place}");
    Ok(())
}
