//! What the report says about the machine, found before anything is tried. A small program is built and run as all others
//! will be: if that does not work, nothing will, and a sentence says what to do.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use cotangent_driver::cudart::{self, LinkRequest, Runtime};
use cotangent_driver::tools::{find_gpus, find_nvcc};
use cotangent_driver::{DriverError, Environment, Tools};

use super::{Plan, said_within};
use crate::exec::Configuration;
use crate::linked;

const PROBE: &str = include_str!("probe.cu");

/// How long the small program may take: a driver may have to be loaded for it.
const LONGEST: Duration = Duration::from_secs(120);

/// Lines of the report: what, and which.
pub(crate) type Facts = Vec<(&'static str, String)>;

/// The machine cannot do what was asked for.
#[derive(Debug, thiserror::Error)]
enum Unable {
    #[error(
        "there is no NVIDIA driver on this machine: {0}\n  Install the driver (https://www.nvidia.com/drivers; `nvidia-smi` shows whether it works) or use a machine with a GPU. Without --gpu, `cotangent selftest` needs none."
    )]
    NoDriver(String),

    #[error(
        "the driver is too old for nvcc: it knows CUDA {driver}, and nvcc's programs want {runtime}\n  Update the driver, or use an older toolkit: CUDA_HOME=/usr/local/cuda-{driver} cotangent selftest --gpu"
    )]
    OldDriver { driver: String, runtime: String },

    #[error(
        "no program of nvcc's runs on the GPU of this machine: {0}\n  `nvidia-smi` shows which GPUs there are; name another architecture with --arch, such as sm_80. Without --gpu, `cotangent selftest` needs no GPU."
    )]
    NoDevice(String),

    #[error(
        "nvcc does not compile a small program\n  What it said is above; `cotangent doctor` shows which nvcc that is."
    )]
    NotCompiled,

    #[error("a small program of nvcc's does not run: {0}")]
    NotRun(String),
}

/// Finds out about the machine, or says why the programs cannot run.
pub(crate) fn facts(plan: &Plan, scratch: &Path) -> Result<Facts> {
    let environment = Environment::of_process();
    let tools = Tools::find(environment.clone())?;
    let nvcc = find_nvcc(&environment).ok_or(DriverError::NvccMissing)?;
    let probe = probe(plan, &environment, scratch)?;
    let value = |key: &str| probe.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
    let told = |key: &str| value(key).unwrap_or_else(|| "unknown".to_owned());
    if let Some(reason) = value("no driver") {
        return Err(Unable::NoDriver(reason).into());
    }
    if value("old driver").is_some() {
        return Err(Unable::OldDriver { driver: told("driver's CUDA"), runtime: told("runtime's CUDA") }.into());
    }
    if let Some(reason) = value("error") {
        return Err(if plan.gpu { Unable::NoDevice(reason) } else { Unable::NotRun(reason) }.into());
    }
    let mut facts: Facts = vec![("cotangent", env!("CARGO_PKG_VERSION").to_owned())];
    if plan.gpu {
        let capability =
            format!("{}, compute capability {}, {}", told("device"), told("compute capability"), told("memory"));
        facts.push(("runs on", capability));
        let number = find_gpus(&environment).into_iter().next().map(|gpu| gpu.driver);
        let number = number.unwrap_or_else(|| "unknown, there is no nvidia-smi".to_owned());
        facts.push(("driver", format!("{number}; CUDA {}", told("driver's CUDA"))));
    } else {
        facts.push(("runs on", "the CPU, which executes nvcc's PTX; no GPU is used".to_owned()));
    }
    facts.push(("nvcc", format!("{}, {}", nvcc.version, plan.flags_of_nvcc())));
    let added: Vec<&str> =
        environment.nvcc_flags.iter().map(String::as_str).filter(|flags| !flags.is_empty()).collect();
    if !added.is_empty() {
        facts.push(("nvcc is also told", added.join(" ")));
    }
    facts.push(("host compiler", told("host compiler")));
    facts.push(("Clang", tools.clang.version));
    facts.push(("system", system()));
    Ok(facts)
}

/// Builds and runs the small program; what it prints.
fn probe(plan: &Plan, environment: &Environment, scratch: &Path) -> Result<Vec<(String, String)>> {
    let (file, program) = (scratch.join("probe.cu"), scratch.join("probe"));
    std::fs::write(&file, PROBE).context("cannot write a program")?;
    let mut command = Command::new(&program);
    let library = (!plan.gpu).then(|| linked::library(environment)).transpose()?;
    if let Some(library) = &library {
        linked::configure(&mut command, library, &Configuration { check: false, seed: 0, threads: 1 });
    }
    let runtime = library.as_deref().map_or(Runtime::OfGpu, Runtime::OfCpu);
    let flags = plan.flags();
    let request =
        LinkRequest { runtime, file: &file, others: &[], flags: &flags, check: false, output: &program, colour: false };
    let linked = cudart::link(environment, &request)?;
    if !linked.status.success() {
        return Err(Unable::NotCompiled.into());
    }
    let _turn = plan.gpu.then(linked::turn_on_gpu).transpose()?;
    let (ended, text) = said_within(&mut command, LONGEST, scratch)?;
    let mut lines: Vec<(String, String)> = text
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(key, value)| (key.to_owned(), value.trim().to_owned()))
        .collect();
    // It says itself why it ends with 1.
    match ended {
        Some(status) if matches!(status.code(), Some(0 | 1)) => {}
        Some(status) => lines.push(("error".to_owned(), format!("it ended with {status}"))),
        None => lines.push(("error".to_owned(), format!("it was ended after {} seconds", LONGEST.as_secs()))),
    }
    Ok(lines)
}

/// The operating system, its kernel, and how many processors there are.
fn system() -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or("Linux").trim_matches('"');
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, kernel {}, {}, {processors} processors", kernel.trim(), std::env::consts::ARCH)
}
