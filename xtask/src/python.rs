//! The Python package: its wheel, and its tests in an environment of their own, also with PyTorch and with JAX.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cotangent_driver::Environment;

use crate::process::{cargo, done};
use crate::setup::{jax_tools, torch_tools};
use crate::workspace;

/// Where the package lies.
const PACKAGE: &str = "crates/cotangent-python";

/// What the wheel carries besides the compiler: the command, and beside it the CUDA runtime for the CPU and the tape library, which tests
/// leave in `deps` alone.
const CARRIED: [(&str, &str); 3] =
    [("", "cotangent"), ("deps", "libcotangent_cudart.so"), ("deps", "libcotangent_tape.so")];

/// The packages that they are built from.
const PACKAGES: [&str; 6] =
    ["--package", "cotangent-cli", "--package", "cotangent-cudart", "--package", "cotangent-tape"];

/// How the parts of the wheel are built.
#[derive(Clone, Copy)]
pub(crate) enum Profile {
    /// As tests build them, which is soon done.
    Tested,
    /// As users want them.
    Released,
}

impl Profile {
    /// Cargo's name for it, and the folder of what is built.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Profile::Tested => ("dev", "debug"),
            Profile::Released => ("release", "release"),
        }
    }
}

/// Makes the wheel; its path.
pub(crate) fn wheel(profile: Profile) -> Result<PathBuf> {
    let root = workspace::root();
    done(&mut match profile {
        Profile::Tested => cargo(&["test", "--workspace", "--no-run"]),
        Profile::Released => {
            let mut build = cargo(&["build", "--release"]);
            build.args(PACKAGES);
            build
        }
    })?;
    let (profile, built) = profile.names();
    let carried = root.join(PACKAGE).join("python/cotangent_cuda/bin");
    for (folder, name) in CARRIED {
        let file = root.join("target").join(built).join(folder).join(name);
        fs::copy(&file, carried.join(name)).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    let wheels = root.join("target/wheels").join(profile);
    // What an earlier version left would be taken for this one.
    if wheels.exists() {
        fs::remove_dir_all(&wheels)?;
    }
    let mut maturin = Command::new(tools()?.join("maturin"));
    maturin.current_dir(root.join(PACKAGE)).args(["build", "--profile", profile, "--out"]).arg(&wheels);
    done(&mut maturin)?;
    let made = fs::read_dir(&wheels)?.next().context("maturin made no wheel")??.path();
    println!("{}", made.display());
    Ok(made)
}

/// Installs the package into a new environment, beside the project that has the name `cotangent` on the index, and tests it there:
/// its types, then what it does.
pub(crate) fn python() -> Result<()> {
    let environment = Fresh::with(&tools()?)?;
    let tests = tests("tests");
    environment.run(&["-m", "mypy", "--strict", "--no-error-summary", "-p", "cotangent_cuda"])?;
    environment.run(&["-m", "mypy", "--strict", "--no-error-summary", &tests])?;
    environment.run(&["-m", "unittest", "discover", "--start-directory", &tests])
}

/// The same with PyTorch, which is too large for the gate: operators beside PyTorch's own, and the examples.
pub(crate) fn torch() -> Result<()> {
    let environment = Fresh::with(&torch_tools()?.join("bin"))?;
    environment.run(&["-c", "import torch; print('PyTorch', torch.__version__)"])?;
    environment.run_examples("")?;
    environment.run(&["-m", "unittest", "discover", "--verbose", "--start-directory", &tests("tests_torch")])
}

/// And with JAX.
pub(crate) fn jax() -> Result<()> {
    let environment = Fresh::with(&jax_tools()?.join("bin"))?;
    environment.run(&["-c", "import jax; print('JAX', jax.__version__)"])?;
    environment.run_examples("_jax")?;
    environment.run(&["-m", "unittest", "discover", "--start-directory", &tests("tests_jax")])
}

fn tests(folder: &str) -> String {
    workspace::root().join(PACKAGE).join(folder).display().to_string()
}

/// A new environment with the package, gone when this is.
struct Fresh {
    scratch: tempfile::TempDir,
    python: PathBuf,
}

impl Fresh {
    /// What the package and its tests need besides is in the environment with these programs.
    fn with(programs: &Path) -> Result<Fresh> {
        let wheel = wheel(Profile::Tested)?;
        let scratch = tempfile::tempdir()?;
        let venv = scratch.path().join("venv");
        done(Command::new(programs.join("python3")).args(["-m", "venv"]).arg(&venv))?;
        let python = venv.join("bin/python3");
        done(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--no-deps"]).arg(&wheel))?;
        let others = site_packages_of(&programs.join("python3"))?;
        let link = site_packages_of(&python)?.join("tools.pth");
        fs::write(&link, format!("{}\n", others.display()))
            .with_context(|| format!("cannot write {}", link.display()))?;
        Ok(Fresh { scratch, python })
    }

    /// Runs the examples of operators whose names end so.
    fn run_examples(&self, suffix: &str) -> Result<()> {
        for example in ["sample", "layer_norm", "splats"] {
            let path = workspace::root().join("examples/operators").join(format!("{example}{suffix}.py"));
            self.run(&[&path.display().to_string()])?;
        }
        Ok(())
    }

    /// Runs Python in a folder where no source of ours is found by chance.
    fn run(&self, words: &[&str]) -> Result<()> {
        let nvidia = Environment::of_process().cached_compiler().context("no cache folder")?;
        let mut command = Command::new(&self.python);
        done(command.current_dir(self.scratch.path()).env("COTANGENT_TESTED_WITH", &nvidia).args(words))
    }
}

/// Where packages of that Python's own lie.
fn site_packages_of(python: &Path) -> Result<PathBuf> {
    let asked = ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"];
    Ok(PathBuf::from(workspace::run(Command::new(python).args(asked))?.trim()))
}

/// The programs of the environment that `setup` has made.
fn tools() -> Result<PathBuf> {
    let environment = Environment::of_process();
    Ok(environment.cache()?.join("python/bin"))
}
