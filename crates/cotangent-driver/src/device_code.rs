//! Kernels and their derivatives as code of the device, for who launches it by name: text for compilers at run time and nvcc, and the
//! same functions for the CPU.

use cotangent::diagnostic::Diagnostic;
use cotangent::emit::{self, Dialect, Metadata};
use cotangent::ir::Module;
use cotangent::lower::lower_with_names;

use crate::derivative::{Mode, Wanted, checked, derived};
use crate::device_text::device_text;
use crate::program::needs_no_program;
use crate::reading::{Failure, Input, check_readable, read_for, with_deep_stack};
use crate::tools::Tools;

/// Functions that run on the device. Kernels have the names that the text shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCode {
    /// A text without headers, for GPUs.
    pub text: String,
    /// The same functions with the headers that have a form for the CPU.
    pub for_cpu: String,
    /// What the user should know about it, as shown.
    pub notes: String,
    /// What is launched, and what it takes.
    pub metadata: Metadata,
}

/// A function of the device.
pub fn function(tools: &Tools, input: &Input<'_>, name: &str) -> Result<DeviceCode, Failure> {
    check_readable(input.file)?;
    with_deep_stack(|| {
        let passes = read_for(tools, input, name)?;
        let refused = |found: Vec<Diagnostic>| Failure::refused(&found, &passes.device.sources, input.colour);
        let (module, names) = lower_with_names(passes.both(), &[name]).map_err(refused)?;
        checked(&module).map_err(refused)?;
        needs_no_program(&module, name).map_err(|found| refused(vec![found]))?;
        let function =
            names.first().and_then(|name| module.function(name)).expect("what is requested is in the module");
        let metadata = emit::metadata(&module, function, &[], &module, false);
        Ok(DeviceCode { text: device_text(&module), for_cpu: with_headers(&module), notes: String::new(), metadata })
    })
}

/// The gradient of a function of the device, in the form that `wanted` says, of the device alone.
pub fn gradient(tools: &Tools, input: &Input<'_>, wanted: &Wanted<'_>) -> Result<DeviceCode, Failure> {
    with_deep_stack(|| {
        let wanted = Wanted { is_of_device: true, ..wanted.clone() };
        let found = derived(tools, input, &wanted, Mode::Reverse, None)?;
        let metadata = found.metadata();
        let (text, for_cpu) = (device_text(&found.derivative), with_headers(&found.derivative));
        Ok(DeviceCode { text, for_cpu, notes: found.notes, metadata })
    })
}

fn with_headers(module: &Module) -> String {
    let mut module = emit::device_only(module);
    // Names of C's could be those of its library, which the CPU has.
    module.functions.iter_mut().for_each(|function| function.is_extern_c = false);
    emit::emit(&module, Dialect::Cuda)
}
