//! Kernels and their gradients: what nvcc makes of them (registers, spills, instructions, atomics), what they record, and what
//! they cost on the executor, beside gradients by hand. `xtask/race/kernels` has the CUDA of it. There is no GPU on the build
//! machines; this is how close a gradient is to one by hand without it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use cotangent_driver::flags::Arch;
use cotangent_driver::tools::find_nvcc;
use cotangent_driver::{DriverError, Environment, Tools};

use super::command::Cotangent;
use super::printed::{self, Printed, Shape};
use crate::compiled::{Compiled, Cost};
use crate::workspace;

/// One kernel.
pub(super) struct Kernel {
    /// `xtask/race/kernels/NAME.cu`.
    pub(super) name: &'static str,
    pub(super) function: &'static str,
    pub(super) wrt: &'static [&'static str],
    /// How far its gradient may be from the one by hand, or from differences, in single precision.
    close: f64,
    pub(super) is_by_hand: bool,
}

/// Sums of single precision in another order differ by this.
const ROUNDING: f64 = 2e-5;
/// Differences of single precision are good to this.
const DIFFERENCES: f64 = 5e-3;

/// All of them.
pub(super) const KERNELS: &[Kernel] = &[
    by_hand("saxpy", "saxpy", &["a", "x", "y"]),
    by_hand("contraction", "contraction", &["a", "b", "c"]),
    by_hand("stencil", "diffuse", &["in", "out", "k"]),
    // The derivative of the greatest cancels to rounding only.
    Kernel { close: 1e-3, ..by_hand("softmax", "softmax", &["out", "in"]) },
    by_hand("layer_norm", "layer_norm", &["out", "in", "weight", "bias"]),
    by_hand("tiled_product", "product", &["c", "a", "b"]),
    alone("attention", "attention", &["out", "query", "key", "value"]),
    alone("black_scholes", "black_scholes", &["call", "put", "stock", "strike", "years", "riskfree", "volatility"]),
];

const fn by_hand(name: &'static str, function: &'static str, wrt: &'static [&'static str]) -> Kernel {
    Kernel { name, function, wrt, close: ROUNDING, is_by_hand: true }
}

const fn alone(name: &'static str, function: &'static str, wrt: &'static [&'static str]) -> Kernel {
    Kernel { name, function, wrt, close: DIFFERENCES, is_by_hand: false }
}

/// What the page compares on.
const ARCH: Arch = Arch::new(80);

/// All that is known of a kernel.
pub(super) struct Costs {
    pub(super) kernel: &'static Kernel,
    pub(super) primal: Cost,
    pub(super) joint: Cost,
    pub(super) reverse: Cost,
    pub(super) by_hand: Option<Cost>,
    pub(super) joint_bytes: u64,
    pub(super) split_bytes: u64,
    /// Seconds on the executor: the kernel, the gradient, the one by hand.
    pub(super) seconds: [f64; 3],
    /// The largest difference.
    pub(super) error: f64,
}

/// Measures one.
pub(super) fn measure(tools: &Tools, cotangent: &Cotangent, kernel: &'static Kernel) -> Result<Costs> {
    let folder = tempfile::tempdir()?;
    let file = sources().join(format!("{}.cu", kernel.name));
    let joint = gradient(tools, &file, kernel, false)?;
    let split = gradient(tools, &file, kernel, true)?;

    let nvcc = find_nvcc(&Environment::of_process()).ok_or(DriverError::NvccMissing)?;
    let own = Compiled::of(&nvcc, &file, ARCH, folder.path())?;
    let of_text = |printed: &Printed, name: &str| -> Result<Compiled> {
        let path = folder.path().join(format!("{name}.cu"));
        fs::write(&path, format!("#include \"{}\"\n{}", file.display(), printed.text))?;
        Compiled::of(&nvcc, &path, ARCH, folder.path())
    };
    let (of_joint, of_split) = (of_text(&joint, "joint")?, of_text(&split, "split")?);
    let is_gradient = launched(&joint, &format!("{}_grad", kernel.function));
    let is_reverse = launched(&split, &format!("{}_reverse", kernel.function));
    let is_primal = |name: &str| !name.contains("_by_hand");

    let ran = run_on_executor(cotangent, &folder.path().join("run"), kernel, &joint, "time")?;
    ensure!(
        ran.error < kernel.close,
        "{}: the gradient is off by {:e}, at most {:e} is rounding",
        kernel.name,
        ran.error,
        kernel.close
    );
    let split_bytes = run_on_executor(cotangent, &folder.path().join("split"), kernel, &split, "bytes")?.bytes;
    Ok(Costs {
        kernel,
        primal: own.cost(is_primal),
        joint: of_joint.cost(is_gradient),
        reverse: of_split.cost(is_reverse),
        by_hand: kernel.is_by_hand.then(|| own.cost(|name| name.contains("_by_hand"))),
        joint_bytes: ran.bytes,
        split_bytes,
        seconds: ran.seconds,
        error: ran.error,
    })
}

/// Whether a kernel, by its name, is one of a derivative's that are launched: those that gather, where there are some and the
/// launcher takes them for sizes as large as these.
fn launched(printed: &Printed, derivative: &str) -> impl Fn(&str) -> bool + use<> {
    let parts = ["_of_", "_rest"].map(|part| format!("{derivative}{part}"));
    let is_gathered = parts.iter().any(|part| printed.text.contains(part));
    let names = if is_gathered { parts.to_vec() } else { vec![derivative.to_owned()] };
    move |name| names.iter().any(|part| name.contains(part)) && !name.contains("_slots")
}

/// To be included after the file.
fn gradient(tools: &Tools, file: &Path, kernel: &Kernel, is_split: bool) -> Result<Printed> {
    let shape = Shape { is_split, is_header: true, ..Shape::default() };
    let mut printed = printed::gradient(tools, file, kernel.function, kernel.wrt, shape)?;
    // It is one text with the file here, and no header.
    printed.text = printed.text.replace("#pragma once\n", "");
    Ok(printed)
}

fn sources() -> PathBuf {
    workspace::root().join("xtask/race/kernels")
}

/// What a run says.
struct Ran {
    bytes: u64,
    error: f64,
    seconds: [f64; 3],
}

fn run_on_executor(
    cotangent: &Cotangent,
    folder: &Path,
    kernel: &Kernel,
    printed: &Printed,
    task: &str,
) -> Result<Ran> {
    fs::create_dir_all(folder)?;
    let file = folder.join(format!("{}_race.cu", kernel.name));
    let include = |name: &str| format!("#include \"{}\"\n", sources().join(name).display());
    let text = [
        include("trial.h"),
        include(&format!("{}.cu", kernel.name)),
        printed.text.clone(),
        launching(printed),
        include(&format!("{}.main.cu", kernel.name)),
    ];
    fs::write(&file, text.concat())?;
    let text = cotangent.output(&["run", &file.to_string_lossy(), "--threads", "1", "--args", task])?;
    let mut ran = Ran { bytes: 0, error: 0.0, seconds: [0.0; 3] };
    for line in text.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["bytes", bytes] => ran.bytes = bytes.parse()?,
            ["error", error] => ran.error = error.parse()?,
            ["time", primal, ours, hand] => ran.seconds = [primal.parse()?, ours.parse()?, hand.parse()?],
            _ => {}
        }
    }
    Ok(ran)
}

/// How the gradient is called: by its launcher if it has one.
fn launching(printed: &Printed) -> String {
    let Printed { name, text, .. } = printed;
    let launcher = format!("{name}_launch");
    let launch = if name.contains("_reverse") {
        // In two halves, which only say here what they record.
        String::new()
    } else if text.contains(&format!("{launcher}(")) {
        format!("{launcher}(grid, block, 0, nullptr, words...);")
    } else {
        format!("{name}<<<grid, block>>>(words...);")
    };
    let counter = format!("{}_bytes", name.replace("_reverse", "_augmented"));
    let bytes = if text.contains(&format!("{counter}(")) {
        format!("{counter}(grid, block, 0, nullptr, words...)")
    } else {
        "0".to_owned()
    };
    format!(
        "template <class... Words>\nvoid launch_gradient(dim3 grid, dim3 block, Words... words) {{ {launch} }}\n\
         template <class... Words>\nsize_t recorded_bytes(dim3 grid, dim3 block, Words... words) {{ return {bytes}; }}\n"
    )
}
