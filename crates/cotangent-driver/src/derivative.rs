//! From the user's file to a derivative: reads, lowers, differentiates and prints.

use std::path::{Path, PathBuf};

use cotangent::diagnostic::{self, Diagnostic};
use cotangent::emit::{self, Dialect, Metadata, SharedWith};
use cotangent::exposed::{Variables, expose};
use cotangent::ir::{self, FunctionId, Module, Provided};
use cotangent::lower::{self, lower_beside};
use cotangent::source::{Sources, Span};
use cotangent::transform::{RecordBudget, Request, forward, planned_reverse, reverse, seeds};

use crate::device_text::device_text;
use crate::output::Output;
use crate::parse::as_argument;
use crate::reading::{Failure, Input, Passes, check_readable, read_for, read_host, read_instead, with_deep_stack};
use crate::together::text_with_others;
use crate::tools::Tools;

/// In which direction derivatives are propagated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Reverse,
    Forward,
}

/// A function of the user's and the parameters to differentiate with respect to.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    pub function: &'a str,
    /// By name, in order; none for all that can be.
    pub wrt: Option<&'a [String]>,
    /// Variables of a host function that are its outputs; then variables of it may be among those above.
    pub outputs: &'a [String],
    /// Reverse mode in two functions; memory that these parameters lead to may change between them.
    pub split: Option<&'a [String]>,
    /// Parameters whose memory ends as it was before the call.
    pub rolled_back: &'a [String],
    /// How many slots the record has for each thread, if not as many as are counted.
    pub record_slots: Option<u32>,
    /// How much a thread may record for an iteration of a loop.
    pub record_budget: Option<RecordBudget>,
    /// Whether loops of host functions are run again from checkpoints.
    pub is_checkpointed: bool,
    /// Whether adjoints of arrays of half precision are `float`.
    pub wide_adjoints: bool,
    /// Whether every run gives the same bits; what cannot is refused.
    pub is_deterministic: bool,
    /// Whether cotangents stay as they are, and gradients are written.
    pub is_pure: bool,
    /// Whether only what runs on the device is printed.
    pub is_of_device: bool,
}

impl<'a> Wanted<'a> {
    /// A derivative in one function.
    pub fn new(function: &'a str, wrt: Option<&'a [String]>) -> Wanted<'a> {
        Wanted {
            function,
            wrt,
            outputs: &[],
            split: None,
            rolled_back: &[],
            record_slots: None,
            record_budget: None,
            is_checkpointed: false,
            wide_adjoints: false,
            is_deterministic: false,
            is_pure: false,
            is_of_device: false,
        }
    }
}

/// What is wanted of a program, in the names of the text that was read.
pub struct Named {
    function: String,
    wrt: Option<Vec<String>>,
    /// The main file's text, if that is not the user's own.
    pub text: Option<String>,
}

impl Named {
    /// The request with these names.
    pub fn wanted<'a>(&'a self, wanted: &Wanted<'a>) -> Wanted<'a> {
        Wanted { function: &self.function, wrt: self.wrt.as_deref(), outputs: &[], ..wanted.clone() }
    }
}

/// Reads a program for a request. Where variables of the function are named, the text that is read has parameters for them.
pub fn read_wanted(tools: &Tools, input: &Input<'_>, wanted: &Wanted<'_>) -> Result<(Passes, Named), Failure> {
    if wanted.outputs.is_empty() {
        let text = text_with_others(input.file, input.flags)?;
        let named = Named { function: wanted.function.to_owned(), wrt: wanted.wrt.map(<[String]>::to_vec), text };
        return Ok((read_for(tools, input, wanted.function)?, named));
    }
    let host = read_host(tools, input)?;
    let name = as_argument(input.file);
    let main = host.sources.files.entries().find(|(_, source)| *source.name == *name).map(|(id, _)| id);
    let variables =
        Variables { function: wanted.function, inputs: wanted.wrt.unwrap_or_default(), outputs: wanted.outputs };
    let exposed = expose(&host, main.unwrap_or(Span::NONE.file), variables);
    let exposed = exposed.map_err(|found| Failure::refused(&found, &host.sources, input.colour))?;
    let passes = read_instead(tools, input, &exposed.text)?;
    Ok((passes, Named { function: exposed.function, wrt: Some(exposed.wrt), text: Some(exposed.text) }))
}

/// How much is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The derivative with all it needs: a file that compiles by itself.
    Standalone,
    /// What the program has not: a header to include after the function.
    Header,
}

/// A derivative as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// What a compiler takes.
    pub text: String,
    /// What the user should know about it, as shown.
    pub notes: String,
    /// What a program that calls it must know, if it is one derivative.
    pub metadata: Option<Metadata>,
}

/// A derivative before it is printed.
pub(crate) struct Derived {
    pub(crate) module: Module,
    pub(crate) request: Request,
    pub(crate) derivative: Module,
    /// What the user should know about it, as shown.
    pub(crate) notes: String,
    sources: Sources,
    provided: Provided,
    /// Whether the text that was read is the user's own.
    is_own_text: bool,
}

impl Derived {
    /// What a program that calls it must know.
    pub(crate) fn metadata(&self) -> Metadata {
        let names = self.request.names(&self.module);
        emit::metadata(&self.module, self.request.function, &names, &self.derivative, !self.request.is_of_device)
    }
}

/// Reads a program and differentiates. It is called with a deep stack.
pub(crate) fn derived(
    tools: &Tools,
    input: &Input<'_>,
    wanted: &Wanted<'_>,
    mode: Mode,
    output: Option<&Output>,
) -> Result<Derived, Failure> {
    let (passes, named) = read_apart_from(tools, input, wanted, output)?;
    let sources = passes.device.sources.clone();
    let rendered = |found: Vec<Diagnostic>| Failure::refused(&found, &sources, input.colour);
    let (module, request, provided) = lowered_beside(passes.both(), &named.wanted(wanted)).map_err(rendered)?;
    // Clang's trees are larger than the module, and nobody asks for them any more.
    drop(passes);
    let (derivative, notes) = differentiate_noted(&module, &request, mode).map_err(rendered)?;
    let notes = diagnostic::render(&notes, &sources, input.colour);
    Ok(Derived { module, request, derivative, notes, sources, provided, is_own_text: named.text.is_none() })
}

/// The derivative of a function, as CUDA. It is refused for an output that the program includes.
pub fn print_derivative(
    tools: &Tools,
    input: &Input<'_>,
    wanted: &Wanted<'_>,
    mode: Mode,
    extent: Extent,
    output: Option<&Output>,
) -> Result<Printed, Failure> {
    with_deep_stack(|| {
        let found = derived(tools, input, wanted, mode, output)?;
        let metadata = Some(found.metadata());
        let Derived { module, request, derivative, notes, sources, provided, is_own_text } = found;
        if wanted.is_of_device {
            return Ok(Printed { text: device_text(&derivative), notes, metadata });
        }
        // The program has no function with parameters for its variables.
        let is_standalone = extent == Extent::Standalone || !is_own_text;
        if is_standalone && !derivative.needs_program {
            return Ok(Printed { text: with_compiling(emit::emit(&derivative, Dialect::Cuda)), notes, metadata });
        }
        let shared_with = if is_standalone { SharedWith::Nobody } else { SharedWith::Headers };
        let behind = emit::emit_behind(&mut [derivative], &provided, shared_with);
        let clashes = behind.problems(&[module.functions[request.function].span]);
        if !clashes.is_empty() {
            return Err(Failure::refused(&clashes, &sources, input.colour));
        }
        if is_standalone {
            return Ok(Printed { text: with_compiling(after_program(input, &behind.text)), notes, metadata });
        }
        let file = input.file.file_name().unwrap_or_default().to_string_lossy();
        let compiling = if uses_headers(&behind.text) { COMPILING } else { "" };
        let first = format!("// By Cotangent, from {file}. To be included after what it differentiates.{compiling}");
        Ok(Printed { text: format!("{first}\n#pragma once\n\n{}", behind.text), notes, metadata })
    })
}

/// Text after the program that it comes from, whose own `main` is another function there.
fn after_program(input: &Input<'_>, text: &str) -> String {
    let files = std::iter::once(input.file).chain(input.flags.others.iter().map(PathBuf::as_path));
    let include = |file: &Path| format!("#include \"{}\"\n", file.file_name().unwrap_or_default().display());
    let includes: String = files.map(include).collect();
    let why = "// The program itself: code that is passed through names what is its own.";
    format!("{why}\n#define main main_of_the_program\n{includes}#undef main\n\n{text}")
}

/// The program, none of whose files is the output.
fn read_apart_from(
    tools: &Tools,
    input: &Input<'_>,
    wanted: &Wanted<'_>,
    output: Option<&Output>,
) -> Result<(Passes, Named), Failure> {
    check_readable(input.file)?;
    let (passes, named) = read_wanted(tools, input, wanted)?;
    output.map_or(Ok(()), |output| output.check_apart_from(passes.files()))?;
    Ok((passes, named))
}

/// Where the reverse sweep of a function's gradient gets values from, and why, by lines of the program. It is refused for an
/// output that the program includes.
pub fn print_plan(
    tools: &Tools,
    input: &Input<'_>,
    wanted: &Wanted<'_>,
    output: Option<&Output>,
) -> Result<String, Failure> {
    with_deep_stack(|| {
        let (passes, named) = read_apart_from(tools, input, wanted, output)?;
        let wanted = &named.wanted(wanted);
        let sources = &passes.device.sources;
        let rendered = |found: Vec<Diagnostic>| Failure::refused(&found, sources, input.colour);
        let (module, request) = lowered(passes.both(), wanted).map_err(rendered)?;
        seeds(&module, &request).map_err(rendered)?;
        let (_, plans) = planned_reverse(&module, &request).map_err(rendered)?;
        let texts: Vec<String> = plans.iter().map(|plan| plan.print(sources)).collect();
        Ok(texts.join("\n"))
    })
}

/// How a compiler finds the headers that a text includes, for its first line.
const COMPILING: &str = " Compile with -I \"$(cotangent where include)\".";

fn uses_headers(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("#include <cotangent/"))
}

/// Text that includes headers of Cotangent, with a first line that says how to compile it.
pub(crate) fn with_compiling(text: String) -> String {
    if uses_headers(&text) { format!("//{COMPILING}\n{text}") } else { text }
}

/// The function's module, and the request in its terms.
pub fn lowered(passes: lower::Passes<'_>, wanted: &Wanted<'_>) -> Result<(Module, Request), Vec<Diagnostic>> {
    lowered_beside(passes, wanted).map(|(module, request, _)| (module, request))
}

/// As [`lowered`], with what the program has of the module.
pub fn lowered_beside(
    passes: lower::Passes<'_>,
    wanted: &Wanted<'_>,
) -> Result<(Module, Request, Provided), Vec<Diagnostic>> {
    let (module, names, provided) = lower_beside(passes, &[wanted.function])?;
    checked(&module)?;
    let function = names.first().and_then(|name| module.function(name));
    let function = function.ok_or_else(|| {
        vec![Diagnostic::new(diagnostic::INTERNAL, Span::NONE, "the requested function was lost", "while lowering")]
    })?;
    let request = request(&module, function, wanted)?;
    Ok((module, request, provided))
}

/// What is wanted of a function of this module, in its terms.
pub fn request(module: &Module, function: FunctionId, wanted: &Wanted<'_>) -> Result<Request, Vec<Diagnostic>> {
    let request = Request::new(module, function, wanted.wrt)?;
    let request = match wanted.split {
        Some(saved) => request.split(module, saved)?,
        None => request,
    };
    let request = request.rolled_back(module, wanted.rolled_back)?.with_record_slots(wanted.record_slots);
    let request = request.with_record_budget(wanted.record_budget).with_checkpoints(wanted.is_checkpointed);
    let request = request.deterministic(wanted.is_deterministic).pure(module, wanted.is_pure)?;
    let request = request.of_device(module, wanted.is_of_device)?;
    request.with_wide_adjoints(module, wanted.wide_adjoints)
}

/// Differentiates, and checks what came out: a contradiction is reported as our mistake, and nothing is printed.
pub fn differentiate(module: &Module, request: &Request, mode: Mode) -> Result<Module, Vec<Diagnostic>> {
    differentiate_noted(module, request, mode).map(|(derivative, _)| derivative)
}

/// The same, with what the user should know about the derivative.
pub fn differentiate_noted(
    module: &Module,
    request: &Request,
    mode: Mode,
) -> Result<(Module, Vec<Diagnostic>), Vec<Diagnostic>> {
    let notes = seeds(module, request)?;
    let derivative = match mode {
        Mode::Forward => forward(module, request)?,
        Mode::Reverse => reverse(module, request)?,
    };
    checked(&derivative)?;
    Ok((derivative, notes))
}

/// A module that contradicts itself is our mistake, told as a diagnostic.
pub(crate) fn checked(module: &Module) -> Result<(), Vec<Diagnostic>> {
    ir::validate(module).map_err(|violations| violations.into_iter().map(Diagnostic::from).collect())
}
