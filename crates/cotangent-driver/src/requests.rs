//! The derivatives that a program asks for in its own text: a main file becomes one in which every request is answered.

use std::fs;

use cotangent::diagnostic::{self, Diagnostic};
use cotangent::ir::order;
use cotangent::lower::lower_beside;
use cotangent::requests::{self, Answer, Direction, Side};
use cotangent::transform;

use crate::derivative::{Mode, Printed, differentiate_noted};
use crate::error::DriverError;
use crate::parse::as_argument;
use crate::reading::{Failure, Input, Passes, check_readable, read, read_host, with_deep_stack};
use crate::source_text::source_text;
use crate::tools::Tools;

/// The text of a main file whose requests are answered; `None` if it does not include the header that declares them.
///
/// It takes the place of the whole file, and its `#line` directives give the user's lines their numbers.
///
/// # Errors
/// A request that cannot be answered, a program that Clang rejects, or a tool that failed.
pub fn answered(tools: &Tools, input: &Input<'_>) -> Result<Option<Printed>, Failure> {
    check_readable(input.file)?;
    let text = fs::read(input.file).map_err(DriverError::file("read", input.file))?;
    let is_likely = String::from_utf8_lossy(&text).contains("cotangent");
    with_deep_stack(|| {
        // Most files ask for nothing, and one pass is enough to know.
        if !is_likely && !requests::is_used(&read_host(tools, input)?) {
            return Ok(None);
        }
        answered_of(&read(tools, input)?, input)
    })
}

/// The same of a program that was read already.
pub(crate) fn answered_of(passes: &Passes, input: &Input<'_>) -> Result<Option<Printed>, Failure> {
    let rendered = |found: Vec<Diagnostic>| Failure::refused(&found, &passes.host.sources, input.colour);
    let name = as_argument(input.file);
    // A file without a single declaration is not in the dump, and makes no request.
    let files = &passes.host.sources.files;
    let main = files.entries().find(|(_, source)| *source.name == *name).map(|(id, _)| id);
    let found = match main {
        Some(main) => requests::find(&passes.host, &passes.device, main).map_err(rendered)?,
        None => requests::is_used(&passes.host).then(Vec::new),
    };
    let Some(found) = found else { return Ok(None) };
    // The copy is a program that is compiled: a string in it must not change.
    let read = source_text(input.file).map_err(DriverError::file("read", input.file))?;
    if let Some(line) = read.first_replaced {
        return Err(DriverError::NotUtf8 { path: input.file.to_path_buf(), line }.into());
    }
    let text = match main.and_then(|main| files.get(main)?.text.as_deref()) {
        Some(text) => text.to_owned(),
        None => read.text,
    };
    let answer = || {
        let functions: Vec<String> = found.iter().map(function_of).collect();
        let functions: Vec<&str> = functions.iter().map(String::as_str).collect();
        let (module, names, provided) = lower_beside(passes.both(), &functions)?;
        let mut answers = Vec::new();
        let (mut problems, mut said) = (Vec::new(), Vec::new());
        for (request, name) in found.into_iter().zip(&names) {
            let mode = match request.direction {
                Direction::Reverse | Direction::Pure => Mode::Reverse,
                Direction::Forward => Mode::Forward,
            };
            let lost = || {
                let message = "the requested function was lost";
                vec![Diagnostic::new(diagnostic::INTERNAL, request.span, message, "while lowering")]
            };
            // Passes look at all of a module: many requests are to take as long as each of them alone.
            let module = order::needed_by(&module, &[module.function(name).ok_or_else(lost)?]);
            let function = module.function(name).ok_or_else(lost)?;
            let wanted = transform::Request::new(&module, function, request.wrt.as_deref());
            let wanted = wanted.and_then(|wanted| wanted.pure(&module, request.direction == Direction::Pure));
            let wanted = wanted.map(|wanted| wanted.with_checkpoints(request.budget.is_some()));
            let derived = wanted.and_then(|wanted| differentiate_noted(&module, &wanted, mode));
            match derived {
                Ok((derivative, notes)) => {
                    said.extend(notes.into_iter().filter(|note| !said.contains(note)).collect::<Vec<_>>());
                    answers.push(Answer { request, derivative });
                }
                Err(mut found) => {
                    // A name is taken for the request, wherever the function stands.
                    for taken in found.iter_mut().filter(|found| found.code == diagnostic::TAKEN_NAME) {
                        taken.span = request.span;
                        taken.label = "the derivative that is asked for here has that name".to_owned();
                    }
                    problems.extend(found.into_iter().filter(|found| !problems.contains(found)).collect::<Vec<_>>())
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let text = requests::answered(&text, &name, answers, &provided)?;
        let notes = diagnostic::render(&said, &passes.host.sources, input.colour);
        Ok(Printed { text, notes, metadata: None })
    };
    answer().map(Some).map_err(rendered)
}

/// The function of a request as lowering takes it.
fn function_of(request: &requests::Request) -> String {
    let host = if request.side == Side::Host { "host" } else { "" };
    format!("{host}@{}", request.linker_name)
}
