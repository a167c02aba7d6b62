//! What is tested by texts: a table of public passes and analyses, and how each is called.

use cotangent::diagnostic::Diagnostic;
use cotangent::ir::{FunctionId, Module};
use cotangent::transform::{Analyses, Request, reverse};

use crate::file::{Options, Room, printed};

/// All rooms.
pub(crate) const ROOMS: &[Room] = &[Room {
    name: "reverse",
    options: &["function=", "wrt=", "split", "save=", "rollback=", "slots=", "wide", "unproven"],
    run: reversed,
}];

/// The function of an option; without one, the last of the module.
fn function(module: &Module, options: &Options) -> Result<FunctionId, String> {
    match options.get("function") {
        Some(name) => module.function(name).ok_or_else(|| format!("there is no function `{name}`")),
        None => module.functions.ids().last().ok_or_else(|| "there is no function".to_owned()),
    }
}

/// The gradient, or why there is none.
fn reversed(module: Module, options: &Options) -> Result<String, String> {
    let function = function(&module, options)?;
    let slots = options.get("slots").map(|slots| slots.parse().map_err(|error| format!("slots={slots}: {error}")));
    let slots = slots.transpose()?;
    let gradient = || -> Result<Module, Vec<Diagnostic>> {
        let mut request = Request::new(&module, function, options.names("wrt").as_deref())?;
        if options.get("split").is_some() {
            request = request.split(&module, &options.names("save").unwrap_or_default())?;
        }
        if let Some(names) = options.names("rollback") {
            request = request.rolled_back(&module, &names)?;
        }
        if options.get("unproven").is_some() {
            request = request.with_analyses(Analyses::Off);
        }
        let request = request.with_record_slots(slots).with_wide_adjoints(&module, options.get("wide").is_some())?;
        reverse(&module, &request)
    };
    match gradient() {
        Ok(gradient) => printed(&gradient),
        Err(found) => Ok(refused(&found)),
    }
}

/// Diagnostics, without the places that a text does not have.
fn refused(found: &[Diagnostic]) -> String {
    let mut out = String::from("refused\n");
    for Diagnostic { code, message, label, help, .. } in found {
        out.push_str(&format!("  {}: {message}\n    here: {label}\n", code.id));
        if let Some(help) = help {
            out.push_str(&format!("    help: {help}\n"));
        }
    }
    out
}
