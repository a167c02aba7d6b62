//! Installs what development needs and the machine lacks. Versions are pinned here; a stamp beside each installation
//! holds them, so that a second run does nothing.

pub(crate) mod table;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use cotangent_driver::Environment;
use cotangent_driver::tools::{find_clang, site_packages};

use table::{CARGO_SUBCOMMANDS, Kind, NEXTEST, PACKAGES};

/// NVIDIA's compiler, the real one, from PyPI. It wants no GPU.
const CUDA_COMPILER: &[&str] = &[
    "nvidia-cuda-nvcc==13.4.92",
    "nvidia-cuda-runtime==13.4.92",
    "nvidia-cuda-cccl==13.3.5.0.6",
    "nvidia-cuda-crt==13.4.92",
    "nvidia-nvvm==13.4.92",
    "nvidia-cuda-nvrtc==13.4.92",
    "nvidia-curand==10.4.4.72",
    "nvidia-cuda-cuobjdump==13.4.92",
    "nvidia-cuda-nvdisasm==13.4.92",
];

/// The headers of CUDA 12.4, which Clang 19 can read, for the tests of `--cuda-path`. Their own `include` folders
/// are merged into one by [`lay_out_toolkit`].
const CUDA_HEADERS: &[&str] = &[
    "nvidia-cuda-runtime-cu12==12.4.127",
    "nvidia-cuda-nvcc-cu12==12.4.131",
    "nvidia-curand-cu12==10.3.5.147",
    "nvidia-cuda-cccl-cu12==12.4.127.post1",
];

/// Spelling of the texts.
const CHECKERS: &[&str] = &["typos==1.51.1"];

/// JAX, which gradients of the examples are compared with; for the CPU.
const JAX: &[&str] = &["jax==0.10.2", "jaxlib==0.10.2"];

/// What makes and tests the Python package, and the project that has the name `cotangent` on the index: both are installed side by side.
const PYTHON: &[&str] = &[
    "maturin==1.16.0",
    "mypy==2.4.1",
    "numpy==2.4.6",
    "pygments==2.21.0",
    "types-Pygments==2.21.0.20260819",
    "cotangent==0.1.1",
];

/// PyTorch, 5 GB, only for `cargo xtask torch`.
const TORCH: &[&str] = &["torch==2.13.0", "numpy==2.4.6"];

/// The environment with PyTorch, which is installed if it is not there.
pub(crate) fn torch_tools() -> Result<PathBuf> {
    let venv = Environment::of_process().cache()?.join("torch");
    python_packages(&venv, TORCH)?;
    Ok(venv)
}

/// The environment with JAX.
pub(crate) fn jax_tools() -> Result<PathBuf> {
    Ok(Environment::of_process().cache()?.join("jax"))
}

/// Installs.
pub(crate) fn setup() -> Result<()> {
    let environment = Environment::of_process();
    let cache = environment.cache()?;
    system_packages(&environment)?;
    rust_components(&environment)?;
    find_clang(&environment)?;

    let compiler = environment.cached_compiler().context("no cache folder")?;
    python_packages(&compiler, CUDA_COMPILER)?;
    let headers = cache.join("cuda-12.4");
    let toolkit = environment.cached_toolkit().context("no cache folder")?;
    if python_packages(&headers, CUDA_HEADERS)? || !toolkit.join("include/cuda_runtime.h").is_file() {
        lay_out_toolkit(&headers, &toolkit)?;
    }
    python_packages(&cache.join("checkers"), CHECKERS)?;
    python_packages(&jax_tools()?, JAX)?;
    python_packages(&cache.join("python"), PYTHON)?;
    nextest(&environment)
}

fn system_packages(environment: &Environment) -> Result<()> {
    let is_whole = |things: &[(Kind, &str)]| things.iter().all(|(kind, name)| is_there(environment, *kind, name));
    let missing: Vec<&str> =
        PACKAGES.iter().filter(|package| !is_whole(package.brings)).map(|package| package.name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let by_hand = format!("sudo apt-get install {}", missing.join(" "));
    ensure!(
        environment.find_in_path("apt-get").is_some(),
        "these Debian packages or their like are missing, and there is no apt-get: {}",
        missing.join(" ")
    );
    ensure!(is_root(), "installing system packages needs root; run: {by_hand}");
    run("updating the list of packages", Command::new("apt-get").args(["update", "-qq"]))?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive").args(["install", "-y", "-qq", "--no-install-recommends"]);
    run(&format!("installing {}", missing.join(" ")), install.args(&missing)).context(by_hand)
}

/// Whether the machine has it. What is linked is tried, because where it lies differs between systems.
fn is_there(environment: &Environment, kind: Kind, name: &str) -> bool {
    match kind {
        Kind::Program => environment.find_in_path(name).is_some(),
        Kind::Sanitizer => links(&format!("-fsanitize={name}")),
        Kind::Library => links(&format!("-l{name}")),
        Kind::PythonModule => succeeds(Command::new("python3").args(["-c", &format!("import {name}")])),
        Kind::File => Path::new(name).is_file(),
        Kind::CargoSubcommand => succeeds(Command::new(env!("CARGO")).args([name, "--version"])),
    }
}

/// Whether Clang links an empty program with this flag.
fn links(flag: &str) -> bool {
    let Ok(folder) = tempfile::tempdir() else { return false };
    let source = folder.path().join("empty.c");
    let mut clang = Command::new("clang-19");
    clang.arg(&source).arg(flag).arg("-o").arg(folder.path().join("empty"));
    fs::write(&source, "int main(void) { return 0; }\n").is_ok() && succeeds(&mut clang)
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The parts of Rust that a minimal installation leaves out.
fn rust_components(environment: &Environment) -> Result<()> {
    let is_missing = |subcommand: &str| !is_there(environment, Kind::CargoSubcommand, subcommand);
    let rows = CARGO_SUBCOMMANDS.iter().filter(|(_, brought_by)| *brought_by != NEXTEST);
    let missing: Vec<&str> = rows.filter(|(name, _)| is_missing(name)).map(|(_, component)| *component).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    ensure!(environment.find_in_path("rustup").is_some(), "these parts of Rust are missing: {names}");
    run(&format!("installing {names}"), Command::new("rustup").args(["component", "add"]).args(&missing))
}

/// Makes a virtual environment hold exactly these packages. Returns whether there was anything to do.
fn python_packages(venv: &Path, packages: &[&str]) -> Result<bool> {
    let stamp = venv.join("cotangent-setup.stamp");
    let wanted = packages.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(false);
    }
    if !venv.join("bin/pip").is_file() {
        run(&format!("making {}", venv.display()), Command::new("python3").args(["-m", "venv"]).arg(venv))?;
    }
    let mut pip = Command::new(venv.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(packages);
    run(&format!("installing {}", packages.join(" ")), &mut pip)?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(true)
}

/// A folder in the form of an installed toolkit, made of links into pip's packages: `include`, `bin`, `nvvm`, `lib64`.
fn lay_out_toolkit(venv: &Path, toolkit: &Path) -> Result<()> {
    eprintln!("setup: laying out {}", toolkit.display());
    let packages = site_packages(venv).context("the virtual environment has no packages")?.join("nvidia");
    if toolkit.exists() {
        fs::remove_dir_all(toolkit)?;
    }
    fs::create_dir_all(toolkit.join("include"))?;
    for package in ["cuda_runtime", "cuda_nvcc", "curand", "cuda_cccl"] {
        let folder = packages.join(package).join("include");
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_string_lossy().starts_with("__") {
                continue;
            }
            let link = toolkit.join("include").join(&name);
            symlink(entry.path(), &link).with_context(|| format!("cannot make {}", link.display()))?;
        }
    }
    symlink(packages.join("cuda_nvcc/bin"), toolkit.join("bin"))?;
    symlink(packages.join("cuda_nvcc/nvvm"), toolkit.join("nvvm"))?;
    symlink(packages.join("cuda_runtime/lib"), toolkit.join("lib64"))?;
    Ok(())
}

/// The test runner: a ready binary if the network allows, else built from source.
fn nextest(environment: &Environment) -> Result<()> {
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let bin = cargo_home.context("neither CARGO_HOME nor HOME is set")?.join("bin");
    if environment.find_in_path("cargo-nextest").is_some() || bin.join("cargo-nextest").is_file() {
        return Ok(());
    }
    if download_nextest(&bin).is_ok() {
        return Ok(());
    }
    let mut build = Command::new(env!("CARGO"));
    run("building cargo-nextest", build.args(["install", "--locked", "--quiet", NEXTEST]))
}

fn download_nextest(bin: &Path) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let archive = folder.path().join("nextest.tar.gz");
    let mut download = Command::new("curl");
    download.args(["-fsSL", "--max-time", "60", "https://get.nexte.st/0.9/linux", "-o"]).arg(&archive);
    run("downloading cargo-nextest", &mut download)?;
    run("unpacking cargo-nextest", Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(bin))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn run(what: &str, command: &mut Command) -> Result<()> {
    eprintln!("setup: {what}");
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{what} failed ({status}): {command:?}");
    }
    Ok(())
}
