//! The kernels that a program launches, as the printer writes them: one translation unit beside the user's, and for
//! each kernel the name under which that unit registers it, or why it is not in there.

use std::collections::BTreeMap;

use cotangent::diagnostic::Diagnostic;
use cotangent::direct;
use cotangent::emit::{Dialect, emit};
use cotangent::ir::{Module, Name, validate};
use cotangent::lower::{self, lower_with_names};

use crate::reading::Passes;

/// What is printed of a program.
pub(crate) struct PrintedKernels {
    /// The registered name of each launched kernel, or why it stays the user's.
    pub(crate) by_linker_name: BTreeMap<String, Result<String, String>>,
    /// The translation unit; none if no kernel could be printed.
    pub(crate) text: Option<String>,
}

impl PrintedKernels {
    /// Prints the kernels that a program launches.
    pub(crate) fn of(passes: &Passes) -> PrintedKernels {
        let launched = direct::launched_kernels(&passes.host);
        let variables = direct::symbols(&passes.host);
        let all: Vec<&str> = launched.iter().map(String::as_str).collect();
        let mut reasons = BTreeMap::new();
        let printed = match lowered(passes, &variables, &all) {
            Ok(done) => Ok((all, done)),
            // One that cannot be lowered must not keep the others from it.
            Err(_) => {
                let (good, bad): (Vec<_>, Vec<_>) = all
                    .iter()
                    .map(|kernel| (*kernel, lowered(passes, &variables, &[kernel])))
                    .partition(|(_, done)| done.is_ok());
                reasons.extend(bad.into_iter().filter_map(|(kernel, done)| Some((kernel, done.err()?))));
                let good: Vec<&str> = good.into_iter().map(|(kernel, _)| kernel).collect();
                lowered(passes, &variables, &good).map(|done| (good, done))
            }
        };
        match printed {
            Ok((kernels, (module, names))) => {
                let registered = kernels.iter().zip(&names).map(|(kernel, name)| (*kernel, Ok(name.to_string())));
                let kept = reasons.into_iter().map(|(kernel, reason)| (kernel, Err(reason)));
                let text = (!kernels.is_empty()).then(|| emit(&module, Dialect::CpuPart));
                let by_linker_name = registered.chain(kept).map(|(kernel, name)| (kernel.to_owned(), name)).collect();
                PrintedKernels { by_linker_name, text }
            }
            Err(reason) => {
                let by_linker_name = launched.into_iter().map(|kernel| (kernel, Err(reason.clone()))).collect();
                PrintedKernels { by_linker_name, text: None }
            }
        }
    }
}

/// The kernels as one module, with their names in it in the same order, or why not, in a line.
fn lowered(passes: &Passes, variables: &[String], kernels: &[&str]) -> Result<(Module, Vec<Name>), String> {
    let requests: Vec<String> = kernels.iter().map(|kernel| format!("@{kernel}")).collect();
    let requests: Vec<&str> = requests.iter().map(String::as_str).collect();
    let device_only = lower::Passes { device: &passes.device, host: None };
    let (module, names) = lower_with_names(device_only, &requests).map_err(|found| summary(&found))?;
    if let Err(violations) = validate(&module) {
        return Err(format!("its lowered form is not well-formed ({} violations)", violations.len()));
    }
    let mut device_variables = module.globals.iter().filter(|global| global.storage.is_on_device());
    match device_variables.find(|global| !variables.iter().any(|known| **known == *global.name)) {
        Some(global) => Err(format!("the device variable `{}` cannot be named from outside", global.name)),
        None => Ok((module, names)),
    }
}

/// The first finding in a line.
fn summary(found: &[Diagnostic]) -> String {
    found.first().map_or_else(String::new, |first| format!("{} ({})", first.message, first.code.id))
}
