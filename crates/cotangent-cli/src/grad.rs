//! `cotangent grad`: the derivative of a function and all it needs, on standard output or in a file.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;
use cotangent_driver::derivative::{self, Extent, Printed, Wanted, print_derivative, print_plan};
use cotangent_driver::output::Output;
use cotangent_driver::program::Input;
use cotangent_driver::{Environment, Tools};

use crate::arguments::{Grad, Mode, TextTarget};
use crate::reading;
use crate::terminal::Terminal;
use crate::text;

impl Grad {
    /// Headers are to be included after the program; all else stands alone.
    fn extent(&self) -> Extent {
        let extension = self.output.as_deref().and_then(Path::extension).and_then(OsStr::to_str);
        let is_header = matches!(extension, Some("cuh" | "h" | "hpp" | "hh" | "inl"));
        if is_header && !self.standalone { Extent::Header } else { Extent::Standalone }
    }
}

pub(crate) fn grad(options: &Grad, terminal: &Terminal) -> Result<u8> {
    let flags = reading::together(&options.reading, &options.what.file, &options.what.others, terminal)?;
    let tools = Tools::find(Environment::of_process())?;
    let file = &options.what.file;
    let cuda_path = options.reading.cuda_path.as_deref();
    let input = Input { file, flags: &flags, cuda_path, colour: terminal.colour };
    let mode = match options.mode {
        Mode::Reverse => derivative::Mode::Reverse,
        Mode::Forward => derivative::Mode::Forward,
    };
    let names = options.what.names();
    let outputs = options.what.outputs();
    let saved = options.what.saved();
    let rolled_back = options.what.rolled_back();
    let wanted = Wanted {
        function: &options.what.function,
        wrt: names.as_deref(),
        outputs: &outputs,
        split: saved.as_deref(),
        rolled_back: &rolled_back,
        record_slots: options.what.record_slots,
        record_budget: options.what.record_budget,
        is_checkpointed: options.what.checkpoint,
        wide_adjoints: options.what.wide_adjoints,
        is_deterministic: options.what.deterministic,
        is_pure: options.what.pure,
        is_of_device: options.target == TextTarget::Nvrtc,
    };
    let what = format!("Reading {}", file.display());
    if options.plan {
        return text::write(options.output.as_deref(), file, |output| {
            terminal.step(&what, || print_plan(&tools, &input, &wanted, output))
        });
    }
    text::write(options.output.as_deref(), file, |output| {
        let printed =
            terminal.step(&what, || print_derivative(&tools, &input, &wanted, mode, options.extent(), output));
        let Printed { text, notes, metadata } = printed?;
        terminal.rendered(&notes);
        if let (Some(path), Some(metadata)) = (&options.metadata, metadata) {
            let described = serde_json::to_string_pretty(&metadata).unwrap_or_default();
            Output::apart_from(path, &[file])?.write(&(described + "\n"))?;
        }
        Ok(text)
    })
}
