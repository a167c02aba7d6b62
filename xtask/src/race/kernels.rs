//! Kernels and their gradients: what nvcc makes of them (registers, spills, instructions, atomics), what they record, and what
//! they cost on the executor, beside gradients by hand. `xtask/race/kernels` has the CUDA of it. There is no GPU on the build
//! machines; this is how close a gradient is to one by hand without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cotangent_driver::flags::Arch;
use cotangent_driver::headers::Headers;
use cotangent_driver::nvcc::{KernelFacts, NvccRequest, Product, compile};
use cotangent_driver::tools::{Nvcc, find_nvcc};
use cotangent_driver::{DriverError, Environment, Tools};

use super::command::Cotangent;
use super::cpu::run;
use super::printed::{self, Printed, Shape};
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

/// What ANCHORS and this page compare on.
const ARCH: Arch = Arch::new(80);

/// What nvcc makes of the kernels that make up one gradient.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// Of the kernel that needs most.
    pub(super) registers: u32,
    /// Bytes, of all.
    pub(super) spills: u32,
    /// Instructions, of all.
    pub(super) sass: usize,
    /// Atomic instructions of the PTX, of all; loops that nvcc unrolls count as often.
    pub(super) global_atomics: usize,
    pub(super) shared_atomics: usize,
}

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
    let own = Compiled::of(&nvcc, &file, folder.path())?;
    let of_text = |printed: &Printed, name: &str| -> Result<Compiled> {
        let path = folder.path().join(format!("{name}.cu"));
        fs::write(&path, format!("#include \"{}\"\n{}", file.display(), printed.text))?;
        Compiled::of(&nvcc, &path, folder.path())
    };
    let (of_joint, of_split) = (of_text(&joint, "joint")?, of_text(&split, "split")?);
    let is_gradient = |name: &str| name.contains(&format!("{}_grad", kernel.function)) && !name.contains("_slots");
    let is_reverse = |name: &str| name.contains(&format!("{}_reverse", kernel.function));
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

/// A file that nvcc has compiled.
struct Compiled {
    facts: Vec<KernelFacts>,
    ptx: String,
    sass: String,
}

impl Compiled {
    fn of(nvcc: &Nvcc, file: &Path, folder: &Path) -> Result<Compiled> {
        let headers = Headers::materialise(&Environment::of_process())?;
        let words = ["-std=c++17".to_owned(), format!("-I{}", headers.root().display())];
        let binary = folder.join("kernel.cubin");
        let archs = &[ARCH];
        let request =
            NvccRequest { file, archs, product: Product::Fatbin, strict: false, words: &words, output: &binary };
        let facts = compile(nvcc, &request)?;
        let assembly = folder.join("kernel.ptx");
        let arch = format!("-arch={}", ARCH.to_string().replace("sm_", "compute_"));
        run(Command::new(&nvcc.path).args(["-ptx", &arch]).args(&words).arg(file).arg("-o").arg(&assembly))?;
        let tools = nvcc.path.parent().context("nvcc lies in no folder")?;
        // It looks for nvdisasm itself.
        let path = std::env::join_paths(
            std::iter::once(tools.to_path_buf())
                .chain(std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect::<Vec<_>>()),
        )?;
        let sass = run(Command::new(tools.join("cuobjdump")).env("PATH", path).arg("-sass").arg(&binary))?;
        Ok(Compiled { facts, ptx: fs::read_to_string(&assembly)?, sass })
    }

    /// Of all kernels whose mangled name is one of these.
    fn cost(&self, is_wanted: impl Fn(&str) -> bool) -> Cost {
        let mut cost = Cost::default();
        for kernel in self.facts.iter().filter(|kernel| is_wanted(&kernel.name)) {
            cost.registers = cost.registers.max(kernel.registers);
            cost.spills += kernel.spill_stores + kernel.spill_loads;
        }
        for (name, body) in bodies(&self.ptx, ".entry ") {
            if is_wanted(name) {
                let atomics = body.lines().map(str::trim_start).filter(|line| is_atomic(line));
                let (shared, global): (Vec<&str>, Vec<&str>) = atomics.partition(|line| line.contains(".shared"));
                cost.shared_atomics += shared.len();
                cost.global_atomics += global.len();
            }
        }
        for (name, body) in bodies(&self.sass, "Function : ") {
            if is_wanted(name) {
                cost.sass += body.lines().filter(|line| is_instruction(line)).count();
            }
        }
        cost
    }
}

/// Parts of a text that begin with this, each with the name behind it.
fn bodies<'a>(text: &'a str, beginning: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    text.split(beginning).skip(1).map(|part| {
        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
        part.split_at(end)
    })
}

/// With or without a predicate in front of it.
fn is_atomic(line: &str) -> bool {
    let line =
        if line.starts_with('@') { line.split_once(char::is_whitespace).map_or("", |split| split.1) } else { line };
    let line = line.trim_start();
    line.starts_with("atom.") || line.starts_with("red.")
}

/// `/*0010*/ S2R R0, SR_TID.X ; /* 0x… */`; a branch to itself and what pads a kernel behind its end are none.
fn is_instruction(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("/*") && line.contains(';') && !line.contains(" NOP ;") && !line.contains(" NOP;")
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

/// How the gradient is called: by its launcher if it has one, which it has if it records.
fn launching(printed: &Printed) -> String {
    let Printed { name, text, .. } = printed;
    let launcher = format!("{name}_launch");
    let launch = if text.contains(&format!("{launcher}(")) {
        format!("{launcher}(grid, block, 0, nullptr, words...);")
    } else if name.contains("_reverse") {
        // In two halves, which only say here what they record.
        String::new()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomics_are_counted_by_kernel_and_space() {
        let ptx = ".visible .entry _Z1a(\n{\n atom.shared.add.f32 %f1, [x], %f2;\n}\n.visible .entry _Z1b(\n{\n\
                   \tred.global.add.f32 [x], %f1;\n@%p1 atom.global.add.f32 %f1, [x], %f2;\n\tst.global [x], 1;\n}\n";
        let compiled = Compiled { facts: Vec::new(), ptx: ptx.to_owned(), sass: String::new() };
        let cost = compiled.cost(|name| name == "_Z1b");
        assert_eq!((cost.global_atomics, cost.shared_atomics), (2, 0));
        assert_eq!(compiled.cost(|name| name == "_Z1a").shared_atomics, 1);
    }

    #[test]
    fn instructions_are_counted_without_padding() {
        let sass = "Function : _Z1a\n  /*0000*/ MOV R1, R2 ; /* 0x1 */\n   /* 0x2 */\n  /*0010*/ NOP ; /* 0x0 */\n";
        let compiled = Compiled { facts: Vec::new(), ptx: String::new(), sass: sass.to_owned() };
        assert_eq!(compiled.cost(|_| true).sass, 1);
    }
}
