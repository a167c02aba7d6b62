//! The compiler as a Python module, `cotangent_cuda._native`. It has what Python asks of the compiler, and nothing else: what
//! users see is in `python/cotangent_cuda`.

mod failure;

use std::path::PathBuf;

use cotangent_driver::derivative::{Extent, Mode, Printed, Wanted, print_derivative};
use cotangent_driver::flags::{self, ParseFlags};
use cotangent_driver::own_files::own_files_and_libraries;
use cotangent_driver::program::{Failure, Input};
use cotangent_driver::{Environment, Tools};
use pyo3::prelude::*;

/// What is wanted of a program: `Request` of `_request.py`, attribute by attribute.
#[derive(FromPyObject)]
struct Request {
    function: String,
    wrt: Option<Vec<String>>,
    of: Vec<String>,
    forward: bool,
    split: bool,
    save: Vec<String>,
    rollback: Vec<String>,
    record_slots: Option<u32>,
    record_budget: Option<String>,
    wide_adjoints: bool,
    deterministic: bool,
    pure: bool,
    nvrtc: bool,
}

impl Request {
    fn wanted(&self) -> PyResult<Wanted<'_>> {
        let budget = self.record_budget.as_deref().map(str::parse).transpose();
        Ok(Wanted {
            outputs: &self.of,
            split: self.split.then_some(&*self.save),
            rolled_back: &self.rollback,
            record_slots: self.record_slots,
            record_budget: budget.map_err(failure::invalid)?,
            wide_adjoints: self.wide_adjoints,
            is_deterministic: self.deterministic,
            is_pure: self.pure,
            is_of_device: self.nvrtc,
            ..Wanted::new(&self.function, self.wrt.as_deref())
        })
    }
}

/// The derivative of a function of the file: its text, notes about it as shown, and its metadata as JSON.
#[pyfunction]
fn derivative(
    py: Python<'_>,
    file: PathBuf,
    flags: Vec<String>,
    request: Request,
) -> PyResult<(String, String, Option<String>)> {
    let wanted = request.wanted()?;
    let mode = if request.forward { Mode::Forward } else { Mode::Reverse };
    let printed = py.detach(|| -> Result<Printed, Failure> {
        let flags = read_flags(&flags)?;
        let tools = Tools::find(Environment::of_process())?;
        let input = Input { file: &file, flags: &flags, cuda_path: None, colour: false };
        print_derivative(&tools, &input, &wanted, mode, Extent::Standalone, None)
    });
    let Printed { text, notes, metadata } = printed.map_err(|failed| failure::raised(py, &failed))?;
    let metadata = metadata.map(|metadata| serde_json::to_string(&metadata)).transpose();
    Ok((text, notes, metadata.map_err(failure::invalid)?))
}

/// The files that make up a program, with those in folders that the flags name.
#[pyfunction]
fn own_files(py: Python<'_>, file: PathBuf, flags: Vec<String>) -> PyResult<Vec<PathBuf>> {
    let flags = read_flags(&flags).map_err(|failed| failure::raised(py, &failed))?;
    Ok(own_files_and_libraries(&file, &flags).into_iter().map(|(path, _)| path).collect())
}

fn read_flags(words: &[String]) -> Result<ParseFlags, Failure> {
    Ok(flags::read(words).map_err(cotangent_driver::DriverError::from)?)
}

/// The module.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{derivative, own_files};
}
