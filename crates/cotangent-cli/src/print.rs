//! `cotangent print`: a function and all it needs, on standard output or in a file.

use anyhow::Result;
use cotangent_driver::program::{self, Form, Input};
use cotangent_driver::{Environment, Tools};

use crate::arguments::{Dialect, Print};
use crate::reading;
use crate::terminal::Terminal;
use crate::text;

pub(crate) fn print(options: &Print, terminal: &Terminal) -> Result<u8> {
    let flags = reading::alone(&options.reading, &options.file, terminal)?;
    let tools = Tools::find(Environment::of_process())?;
    let input = Input {
        file: &options.file,
        flags: &flags,
        cuda_path: options.reading.cuda_path.as_deref(),
        colour: terminal.colour,
    };
    let form = match (options.ir, options.dialect) {
        (true, _) => Form::Ir,
        (false, Dialect::Cuda) => Form::Cuda,
        (false, Dialect::Cpu) => Form::Cpu,
    };
    let what = format!("Reading {}", options.file.display());
    text::write(options.output.as_deref(), &options.file, |output| {
        terminal.step(&what, || program::print(&tools, &input, &options.function, form, output))
    })
}
