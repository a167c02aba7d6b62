//! For build scripts: kernels and gradients compiled, with a module of typed launches.

use std::path::{Path, PathBuf};
use std::{env, fs};

use cotangent_driver::compile::{CpuRequest, Product, compile_together};
use cotangent_driver::device_code::DeviceCode;
use cotangent_driver::flags::{Arch, ParseFlags};
use cotangent_driver::nvcc::{self, NvccRequest};
use cotangent_driver::program::{Input, direct};
use cotangent_driver::tools::find_nvcc;
use cotangent_driver::{DriverError, Environment, Tools};

use crate::cuda::Image;
use crate::error::Error;
use crate::gradient::Gradient;
use crate::module;
use crate::plan::{self, Launched};
use crate::program::Program;

/// Which PTX is made unless another is named: what every GPU since Turing compiles.
const PTX: &str = "sm_75";

/// Kernels of a `.cu` file and their gradients, for a Rust program. See [the first page](crate).
#[derive(Debug, Clone)]
#[must_use]
pub struct Kernels {
    program: Program,
    wanted: Vec<Wanted>,
    gpu: Option<Gpu>,
    has_cpu: bool,
}

/// What the module launches.
#[derive(Debug, Clone)]
enum Wanted {
    Kernel(String),
    Gradient(Gradient),
}

/// What is compiled for GPUs.
#[derive(Debug, Clone)]
enum Gpu {
    Ptx(String),
    Fatbin(Vec<String>),
}

impl Kernels {
    /// Of the program in this file. Cargo runs the build script again when the file changes, or a file that it includes in quotes.
    pub fn in_file(file: impl Into<PathBuf>) -> Kernels {
        Kernels::of(Program::in_file(file))
    }

    /// Of a program.
    pub fn of(program: Program) -> Kernels {
        Kernels { program, wanted: Vec::new(), gpu: None, has_cpu: true }
    }

    /// With these flags of the compiler: `-I`, `-D`, `-std`.
    pub fn flags<S: Into<String>>(self, flags: impl IntoIterator<Item = S>) -> Kernels {
        Kernels { program: self.program.flags(flags), ..self }
    }

    /// With a function that launches this kernel.
    pub fn kernel(mut self, name: &str) -> Kernels {
        self.wanted.push(Wanted::Kernel(name.to_owned()));
        self
    }

    /// With a function that launches this gradient, in the form of frameworks: [`Gradient::pure`].
    pub fn gradient(mut self, gradient: impl Into<Gradient>) -> Kernels {
        self.wanted.push(Wanted::Gradient(gradient.into()));
        self
    }

    /// With a module `cuda`, whose kernels are PTX for every GPU since Turing. nvcc makes it.
    pub fn ptx(self) -> Kernels {
        self.ptx_for(PTX)
    }

    /// As [`Kernels::ptx`], for this architecture and newer ones: `sm_80`.
    pub fn ptx_for(self, architecture: &str) -> Kernels {
        Kernels { gpu: Some(Gpu::Ptx(architecture.to_owned())), ..self }
    }

    /// With a module `cuda`, whose kernels are machine code for these architectures, as `["sm_80", "sm_90"]`. nvcc makes it.
    pub fn fatbin<S: Into<String>>(self, architectures: impl IntoIterator<Item = S>) -> Kernels {
        Kernels { gpu: Some(Gpu::Fatbin(architectures.into_iter().map(Into::into).collect())), ..self }
    }

    /// Without the module `cpu`, and so without the crate `cotangent-cpu`.
    pub fn without_cpu(self) -> Kernels {
        Kernels { has_cpu: false, ..self }
    }

    /// Writes the module to this file in `OUT_DIR`, with the compiled kernels beside it, and tells cargo what it depends on.
    ///
    /// # Errors
    /// As of [`Program::gradient`]; and what can go wrong with compilers and files.
    pub fn write(&self, file: &str) -> Result<(), Error> {
        let variable = "OUT_DIR";
        let folder = env::var(variable).map_err(|reason| Error::NoBuildScript { variable, reason })?;
        for own in self.program.own_files()? {
            println!("cargo::rerun-if-changed={}", own.display());
        }
        for notes in self.write_to(Path::new(&folder), file)? {
            notes.lines().for_each(|line| println!("cargo::warning={line}"));
        }
        Ok(())
    }

    /// Writes the module to this file in a folder, with the compiled kernels beside it. Returns notes about the gradients.
    ///
    /// # Errors
    /// As of [`Kernels::write`].
    pub fn write_to(&self, folder: &Path, file: &str) -> Result<Vec<String>, Error> {
        let (codes, launched) = self.planned()?;
        let stem = file.strip_suffix(".rs").unwrap_or(file);
        let library = format!("{stem}.so");
        if self.has_cpu {
            compile_for_cpu(&module::unit(&codes), folder, stem, &folder.join(&library))?;
        }
        let images = match &self.gpu {
            Some(gpu) => compile_for_gpus(gpu, &codes, &launched, folder, stem)?,
            None => Vec::new(),
        };
        let name = self.program.file().file_name().unwrap_or_default().to_string_lossy();
        let text = module::text(&launched, &name, self.has_cpu.then_some(&*library), &images);
        write(&folder.join(file), &text)?;
        Ok(codes.into_iter().map(|code| code.notes).filter(|notes| !notes.is_empty()).collect())
    }

    /// The texts of all that is wanted, and what launches it.
    fn planned(&self) -> Result<(Vec<DeviceCode>, Vec<Launched>), Error> {
        let mut codes = Vec::new();
        let mut launched: Vec<Launched> = Vec::new();
        for wanted in &self.wanted {
            let (code, plan) = match wanted {
                Wanted::Kernel(name) => {
                    let code = self.program.kernel(name)?;
                    let plan = plan::of_kernel(&code.metadata)?;
                    (code, plan)
                }
                Wanted::Gradient(gradient) if gradient.is_split() => {
                    let message = format!(
                        "the gradient of `{}` is split, and a launch is of one kernel\n  Leave out `split`; \
                         `Program::gradient` has the text of both halves.",
                        gradient.function
                    );
                    return Err(Error::Request(message));
                }
                Wanted::Gradient(gradient) => {
                    let code = self.program.kernel_gradient(gradient)?;
                    let plan = plan::of_gradient(&code.metadata)?;
                    (code, plan)
                }
            };
            if launched.iter().any(|other| other.name == plan.name) {
                let message = format!("`{}` is wanted twice\n  Write one of them to a module of its own.", plan.name);
                return Err(Error::Request(message));
            }
            codes.push(code);
            launched.push(plan);
        }
        Ok((codes, launched))
    }
}

fn compile_for_cpu(text: &str, folder: &Path, stem: &str, output: &Path) -> Result<(), Error> {
    let file = folder.join(format!("{stem}.cu"));
    write(&file, text)?;
    let tools = Tools::find(Environment::of_process())?;
    let flags = ParseFlags::default();
    let program = direct(&tools, &Input { file: &file, flags: &flags, cuda_path: None, colour: false })?;
    let (units, texts) = (&program.units[..], &program.texts[..]);
    let request = CpuRequest { units, texts, flags: &flags, check: false, colour: false, output };
    Ok(compile_together(&tools, &[request], Product::Loaded)?)
}

fn compile_for_gpus(
    gpu: &Gpu,
    codes: &[DeviceCode],
    launched: &[Launched],
    folder: &Path,
    stem: &str,
) -> Result<Vec<Image>, Error> {
    let nvcc = find_nvcc(&Environment::of_process()).ok_or(DriverError::NvccMissing)?;
    let (product, ending, names) = match gpu {
        Gpu::Ptx(name) => (nvcc::Product::Ptx, "ptx", std::slice::from_ref(name)),
        Gpu::Fatbin(names) => (nvcc::Product::Fatbin, "fatbin", &names[..]),
    };
    let arch = |name: &String| {
        let message = format!("`{name}` is no architecture of GPUs\n  Name them as nvcc does: `sm_80`.");
        Arch::from_word(name).ok_or(Error::Request(message))
    };
    let archs: Vec<Arch> = names.iter().map(arch).collect::<Result<_, _>>()?;
    let image = |(code, launched): (&DeviceCode, &Launched)| {
        let file = folder.join(format!("{stem}_{}.cu", launched.name));
        write(&file, &code.text)?;
        let output = file.with_extension(ending);
        let request = NvccRequest { file: &file, archs: &archs, product, strict: false, words: &[], output: &output };
        nvcc::compile(&nvcc, &request)?;
        let kernels = code.metadata.functions.iter().filter(|function| function.space == "kernel");
        Ok(Image {
            file: output.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            is_ptx: product == nvcc::Product::Ptx,
            kernels: kernels.map(|kernel| kernel.name.clone()).collect(),
        })
    };
    codes.iter().zip(launched).map(image).collect()
}

fn write(file: &Path, text: &str) -> Result<(), Error> {
    fs::write(file, text).map_err(Error::file("write", file))
}
