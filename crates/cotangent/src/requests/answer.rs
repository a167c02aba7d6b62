//! The text of a program whose requests are answered: each is an object of a type of its own, which is declared before
//! the declaration that holds the request and has its members after the program, where the derivatives are.

use std::collections::BTreeMap;

use super::find::{Direction, Request, Side};
use crate::diagnostic::{Diagnostic, REQUEST_RESULT};
use crate::direct::{Edit, apply};
use crate::emit::{self, Behind, SharedWith};
use crate::ir::{Module, Name, Provided, Space};
use crate::source::Span;

/// A request and what it asks for.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The request.
    pub request: Request,
    /// The derivative with all it needs; the last function is the one to call.
    pub derivative: Module,
}

/// The text of a file with its requests answered. `#line` directives give its lines the numbers that they had.
///
/// # Errors
/// What the program has that is in the way of the derivatives.
pub fn answered(
    text: &str,
    file_name: &str,
    answers: Vec<Answer>,
    provided: &Provided,
) -> Result<String, Vec<Diagnostic>> {
    let results = results(&answers, provided)?;
    let (requests, mut modules): (Vec<Request>, Vec<Module>) =
        answers.into_iter().map(|answer| (answer.request, answer.derivative)).unzip();
    let behind = emit::emit_behind(&mut modules, provided, SharedWith::Nobody);
    let spans: Vec<Span> = requests.iter().map(|request| request.span).collect();
    let clashes = behind.problems(&spans);
    if !clashes.is_empty() {
        return Err(clashes);
    }
    let mut before: BTreeMap<usize, String> = BTreeMap::new();
    let mut edits = Vec::new();
    let mut members = String::new();
    for (index, (request, module)) in requests.iter().zip(&modules).enumerate() {
        let number = index + 1;
        let holder = without_attributes(text, request.holder as usize);
        before.entry(holder).or_default().push_str(&declaration(request, number, &results[index]));
        let source = emit::emit_behind(&mut [module.clone()], provided, SharedWith::Nobody).text;
        members.push_str(&definition(request, number, &results[index], module, &source));
        let (start, end) = (request.span.start as usize, request.span.end as usize);
        let lines = "\n".repeat(text.get(start..end).unwrap_or("").matches('\n').count());
        let budget = request.budget.and_then(|span| text.get(span.start as usize..span.end as usize)).unwrap_or("");
        let lines = lines.get(budget.matches('\n').count()..).unwrap_or("");
        edits.push(Edit { start, end, text: format!("(::{}{{{budget}}}{lines})", type_name(number)) });
    }
    let quoted = quoted(file_name);
    for (holder, declarations) in before {
        let inserted = format!("\n{declarations}{}", resumed(text, holder, &quoted));
        edits.push(Edit { start: holder, end: holder, text: inserted });
    }
    let copies = copies(&behind);
    Ok(format!(
        "#define COTANGENT_ANSWERED 1\n#line 1 {quoted}\n{}\n#line 1 {}\n{}{copies}\nnamespace {{\n\n{members}}}  // namespace\n",
        // A byte order mark is one at the start only.
        apply(text, edits).trim_start_matches('\u{feff}'),
        self::quoted(&super::place_of_derivatives(file_name)),
        behind.text,
    ))
}

/// The types of what the derivatives return.
fn results(answers: &[Answer], provided: &Provided) -> Result<Vec<String>, Vec<Diagnostic>> {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for Answer { request, derivative } in answers {
        let last = derivative.functions.iter().last();
        let result = last.and_then(|function| emit::result_type(derivative, provided, &function.result));
        found.push(result.clone().unwrap_or_default());
        if result.is_none() {
            let message = format!("`{}` returns a type that the request cannot name", request.name);
            let help = "make it a struct outside of functions and classes";
            problems.push(Diagnostic::new(REQUEST_RESULT, request.span, message, "asked for here").help(help));
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

fn type_name(number: usize) -> String {
    format!("cotangent_answer_{number}")
}

/// The type of an answer, whose members are templates so that it needs nothing of what comes after it.
fn declaration(request: &Request, number: usize, result: &str) -> String {
    let Request { name, side, wrt, direction, .. } = request;
    let (word, others) = match direction {
        Direction::Reverse => ("gradient", "adjoints"),
        Direction::Pure => ("vector-Jacobian product", "cotangents and gradients"),
        Direction::Forward => ("pushforward", "tangents"),
    };
    let of = wrt.as_ref().map(|names| format!(" with respect to {}", names.join(", "))).unwrap_or_default();
    let (execute, other) = match side {
        Side::Kernel => (
            "  template <class... Arguments>\n  void execute_kernel(dim3 grid, dim3 block, Arguments... arguments) const;\n"
                .to_owned(),
            format!(
                "  template <class... Arguments>\n  __host__ __device__ void execute(Arguments&&...) const {{\n    \
                 static_assert(::cotangent::never<Arguments...>, \"{name} is a kernel: call execute_kernel(grid, block, \
                 arguments..., {others}...)\");\n  }}\n"
            ),
        ),
        Side::Device | Side::Host => {
            let (space, side) = if *side == Side::Device { ("__device__ ", "device") } else { ("", "host") };
            (
                format!(
                    "  template <class... Arguments>\n  {space}{result} execute(Arguments&&... arguments) const;\n"
                ),
                format!(
                    "  template <class... Arguments>\n  void execute_kernel(Arguments&&...) const {{\n    \
                     static_assert(::cotangent::never<Arguments...>, \"{name} is a function of the {side}, not a \
                     kernel: call execute(arguments..., {others}...)\");\n  }}\n"
                ),
            )
        }
    };
    let budget = request.budget.map_or("", |_| "  ::cotangent::Budget budget;\n");
    format!(
        "namespace {{\n// The {word} of {name}{of}.\nstruct {} {{\n{budget}{execute}{other}  static const char* source();\n}};\n}}\n",
        type_name(number)
    )
}

/// The members of an answer.
fn definition(request: &Request, number: usize, result: &str, module: &Module, source: &str) -> String {
    let name = type_name(number);
    let root = module.functions.iter().last();
    let called = root.map_or("", |function| &*function.name);
    let template = "template <class... Arguments>\n";
    let execute = match request.side {
        Side::Kernel => {
            let is_launcher = root.is_some_and(|function| function.space == Space::Host);
            let run = match request.direction {
                Direction::Pure => format!("run_vjp(::{called}, "),
                Direction::Reverse | Direction::Forward if is_launcher => format!("run_launcher(::{called}, "),
                Direction::Reverse | Direction::Forward => format!("Launch<::{called}>::run("),
            };
            format!(
                "{template}void {name}::execute_kernel(dim3 grid, dim3 block, Arguments... arguments) const {{\n  \
                 ::cotangent::{run}grid, block, arguments...);\n}}\n"
            )
        }
        Side::Device | Side::Host => {
            let (space, run) = match (request.side, request.direction) {
                (Side::Device, _) => ("__device__ ", "on_device"),
                (Side::Kernel | Side::Host, Direction::Pure) => ("", "on_host_pure"),
                (Side::Kernel | Side::Host, Direction::Reverse | Direction::Forward) => ("", "on_host"),
            };
            let within = request.budget.map_or("", |_| "const ::cotangent::Within within(budget);\n  ");
            format!(
                "{template}{space}{result} {name}::execute(Arguments&&... arguments) const {{\n  {within}\
                 return ::cotangent::Call<::{called}>::template {run}<{result}>(static_cast<Arguments&&>(arguments)...);\n}}\n"
            )
        }
    };
    format!(
        "{execute}\n[[maybe_unused]] const char* {name}::source() {{\n  return R\"cotangent({source})cotangent\";\n}}\n\n"
    )
}

/// What tells the header which structs stand for types of the program.
fn copies(behind: &Behind) -> String {
    let copy = |name: &Name| format!("template <>\ninline constexpr bool cotangent::is_copy<::{name}> = true;\n");
    behind.copies.iter().map(|copied| copy(&copied.name)).collect()
}

/// Where a declaration begins, with the attributes in front of it, which Clang does not count to it.
fn without_attributes(text: &str, start: usize) -> usize {
    let mut start = start;
    while let Some(before) = text.get(..start).map(str::trim_end).filter(|before| before.ends_with("]]")) {
        let Some(open) = before.rfind("[[") else { break };
        start = open;
    }
    start
}

/// What makes the text go on at the place where it was interrupted.
fn resumed(text: &str, offset: usize, file: &str) -> String {
    let before = text.get(..offset).unwrap_or("");
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("");
    let blanks: String = column.chars().map(|character| if character == '\t' { '\t' } else { ' ' }).collect();
    format!("#line {line} {file}\n{blanks}")
}

fn quoted(path: &str) -> String {
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
}
