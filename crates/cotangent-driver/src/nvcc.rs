//! Runs nvcc on a CUDA file and reads what ptxas says about each kernel: registers, spills, stack, shared memory.

use std::path::Path;
use std::process::Command;

use crate::error::DriverError;
use crate::flags::Arch;
use crate::tools::Nvcc;

/// What to compile.
#[derive(Debug, Clone)]
pub struct NvccRequest<'a> {
    pub file: &'a Path,
    /// One of them for [`Product::Ptx`].
    pub archs: &'a [Arch],
    pub product: Product,
    /// Whether a warning is an error.
    pub strict: bool,
    /// The user's flags, as they gave them.
    pub words: &'a [String],
    pub output: &'a Path,
}

/// How far nvcc goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// The device code for all architectures, assembled.
    Fatbin,
    /// The device code as text, for an architecture and all newer ones.
    Ptx,
    /// An object file: the host code is compiled too.
    Object,
}

/// What ptxas says about one kernel on one architecture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelFacts {
    /// The mangled name.
    pub name: String,
    /// `sm_80`.
    pub arch: String,
    pub registers: u32,
    /// Bytes of stack a thread.
    pub stack: u32,
    pub spill_stores: u32,
    pub spill_loads: u32,
    /// Bytes of static shared memory a block.
    pub shared: u32,
}

/// Compiles. nvcc's complaints about the text come back as [`DriverError::Rejected`].
pub fn compile(nvcc: &Nvcc, request: &NvccRequest<'_>) -> Result<Vec<KernelFacts>, DriverError> {
    let mut command = Command::new(&nvcc.path);
    command.arg(match request.product {
        Product::Fatbin => "-fatbin",
        Product::Ptx => "-ptx",
        Product::Object => "-c",
    });
    for arch in request.archs {
        let name = arch.to_string();
        let name = name.trim_start_matches("sm_");
        match request.product {
            Product::Ptx => command.arg(format!("-arch=compute_{name}")),
            Product::Fatbin | Product::Object => {
                command.arg("-gencode").arg(format!("arch=compute_{name},code=sm_{name}"))
            }
        };
    }
    if request.strict {
        command.args(["-Werror", "all-warnings"]);
    }
    command.args(["-Xptxas", "-v"]).args(request.words).arg("-o").arg(request.output).arg(request.file);
    let output = command.output().map_err(DriverError::spawn(&nvcc.path))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(read_facts(&text));
    }
    let stdout = String::from_utf8_lossy(&output.stdout);
    let complaints = text.lines().chain(stdout.lines()).filter(|line| !is_fact(line));
    Err(DriverError::Rejected { message: complaints.collect::<Vec<_>>().join("\n") })
}

fn is_fact(line: &str) -> bool {
    line.starts_with("ptxas info") || line.trim_start().contains("bytes stack frame")
}

/// Reads the report of `ptxas -v`. Lines that it does not know are passed over.
fn read_facts(report: &str) -> Vec<KernelFacts> {
    let mut facts: Vec<KernelFacts> = Vec::new();
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let mut quoted = rest.split('\'');
            let name = quoted.next().unwrap_or_default().to_owned();
            let arch = quoted.nth(1).unwrap_or_default().to_owned();
            facts.push(KernelFacts { name, arch, ..KernelFacts::default() });
            continue;
        }
        let Some(kernel) = facts.last_mut() else { continue };
        if line.contains("bytes stack frame") {
            kernel.stack = number_before(line, "bytes stack frame");
            kernel.spill_stores = number_before(line, "bytes spill stores");
            kernel.spill_loads = number_before(line, "bytes spill loads");
        } else if line.contains("Used ") {
            kernel.registers = number_before(line, "registers");
            kernel.shared = number_before(line, "bytes smem");
        }
    }
    facts
}

/// The number that stands before these words; 0 if they do not occur.
fn number_before(line: &str, words: &str) -> u32 {
    let number = line.split_once(words).and_then(|(before, _)| before.split_whitespace().next_back());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    const REPORT: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_75'
ptxas info    : Function properties for _Z1kPf
    24 bytes stack frame, 16 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem, 376 bytes cmem[0]
ptxas info    : Compile time = 2.235 ms
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas info    : Used 10 registers, used 0 barriers
";

    #[test]
    fn the_report_of_ptxas_is_read() {
        let facts = read_facts(REPORT);
        let first = KernelFacts {
            name: "_Z1kPf".into(),
            arch: "sm_75".into(),
            registers: 32,
            stack: 24,
            spill_stores: 16,
            spill_loads: 8,
            shared: 1024,
        };
        assert_eq!(facts[0], first);
        assert_eq!((facts[1].arch.as_str(), facts[1].registers, facts[1].shared), ("sm_90", 10, 0));
        assert_eq!(facts.len(), 2);
    }

    /// Compiles a text with the real nvcc.
    fn compile_text(text: &str, product: Product) -> Result<Vec<KernelFacts>, DriverError> {
        let nvcc =
            crate::tools::find_nvcc(&Environment::of_process()).expect("nvcc is installed by `cargo xtask setup`");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("k.cu");
        std::fs::write(&file, text).unwrap();
        let archs = [Arch::new(80), Arch { number: 90, suffix: Some('a') }];
        let output = &folder.path().join("k.out");
        compile(&nvcc, &NvccRequest { file: &file, archs: &archs, product, strict: true, words: &[], output })
    }

    #[test]
    fn nvcc_compiles_for_several_architectures() {
        let text = "__global__ void k(float* p) { __shared__ float s[64]; s[threadIdx.x] = p[threadIdx.x]; \
                    __syncthreads(); p[threadIdx.x] = s[63 - threadIdx.x]; }";
        let facts = compile_text(text, Product::Fatbin).unwrap();
        let archs: Vec<&str> = facts.iter().map(|kernel| kernel.arch.as_str()).collect();
        assert_eq!(archs, ["sm_80", "sm_90a"]);
        assert!(facts.iter().all(|kernel| kernel.shared == 256 && kernel.registers > 0), "{facts:?}");
    }

    #[test]
    fn nvcc_reports_errors_and_warnings() {
        let error = compile_text("__global__ void k(float* p) { p = missing; }", Product::Fatbin).unwrap_err();
        assert!(error.to_string().contains("\"missing\" is undefined"), "{error}");
        // Only the host part of the compilation sees this one.
        let error = compile_text("int f() { int unused; return 0; }", Product::Object).unwrap_err();
        assert!(matches!(error, DriverError::Rejected { .. }), "{error}");
    }
}
