//! What nvcc makes of a CUDA file: registers and spills by ptxas, atomics of the PTX, instructions of the SASS. Text is not
//! counted: a loop that nvcc unrolls has an atomic many times, and one that it drops none.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use cotangent_driver::Environment;
use cotangent_driver::flags::Arch;
use cotangent_driver::headers::Headers;
use cotangent_driver::nvcc::{KernelFacts, NvccRequest, Product, compile};
use cotangent_driver::tools::Nvcc;

use crate::workspace::run;

/// What nvcc makes of the kernels that make up one gradient.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Of the kernel that needs most.
    pub(crate) registers: u32,
    /// Bytes, of all.
    pub(crate) spills: u32,
    /// Instructions, of all.
    pub(crate) sass: usize,
    /// Atomic instructions of the PTX, of all; loops that nvcc unrolls count as often.
    pub(crate) global_atomics: usize,
    pub(crate) shared_atomics: usize,
}

/// A file that nvcc has compiled.
pub(crate) struct Compiled {
    pub(crate) facts: Vec<KernelFacts>,
    ptx: String,
    sass: String,
}

impl Compiled {
    pub(crate) fn of(nvcc: &Nvcc, file: &Path, arch: Arch, folder: &Path) -> Result<Compiled> {
        let headers = Headers::materialise(&Environment::of_process())?;
        let words = ["-std=c++17".to_owned(), format!("-I{}", headers.root().display())];
        let binary = folder.join("kernel.cubin");
        let archs = &[arch];
        let request =
            NvccRequest { file, archs, product: Product::Fatbin, strict: false, words: &words, output: &binary };
        let facts = compile(nvcc, &request)?;
        let assembly = folder.join("kernel.ptx");
        let arch = format!("-arch={}", arch.to_string().replace("sm_", "compute_"));
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
    pub(crate) fn cost(&self, is_wanted: impl Fn(&str) -> bool) -> Cost {
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
