//! `cotangent print`: a function and all it needs, on standard output.

use std::io::Write;

use anyhow::Result;
use cotangent_driver::program::{self, Form, Input};
use cotangent_driver::{Environment, Tools, flags};

use crate::arguments::{Dialect, Print};
use crate::exit;
use crate::terminal::Terminal;

pub(crate) fn print(options: &Print, terminal: &Terminal) -> Result<u8> {
    let flags = flags::read(&options.reading.flags).map_err(cotangent_driver::DriverError::from)?;
    terminal.flag_notes(&flags.notes);
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
    let text = terminal.step(&what, || program::print(&tools, &input, &options.function, form))?;
    match std::io::stdout().write_all(text.as_bytes()) {
        // The reader has seen enough, as in `cotangent print … | head`.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(exit::SUCCESS),
        result => Ok(result.map(|()| exit::SUCCESS)?),
    }
}
