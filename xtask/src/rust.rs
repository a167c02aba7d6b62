//! Launches in Rust through cudarc, which loads CUDA's driver while a program runs: here that is ours, which executes PTX.

use anyhow::{Context, Result, ensure};

use crate::process::{cargo, done};
use crate::workspace;

/// The tests of all kinds of launches, then the example: on what cudarc takes for a GPU, and without one.
pub(crate) fn rust() -> Result<()> {
    done(&mut cargo(&[
        "build",
        "--package",
        "cotangent-cli",
        "--package",
        "cotangent-cudart",
        "--package",
        "cotangent-libcuda",
    ]))?;
    let mut asked = std::process::Command::new(workspace::root().join("target/debug/cotangent"));
    let asked = asked.args(["where", "cudart"]).output().context("cannot run the command that was built")?;
    let libraries = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    let with_libraries = ("LD_LIBRARY_PATH", libraries.as_str());
    done(cargo(&["test", "--package", "cotangent-build-launches", "--features", "cuda"]).envs([with_libraries]))?;
    fits("on Cotangent CPU", Some(with_libraries))?;
    fits("on the CPU", None)
}

/// Runs the example, which fits where this says.
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
