//! The `cotangent` command: reads its arguments, calls the driver, prints. What it can do is in `arguments`, how it
//! looks on a terminal in `terminal`.

mod arguments;
mod build;
mod cc;
mod check;
mod doctor;
mod exec;
mod exit;
mod grad;
mod json;
mod linked;
mod operator;
mod print;
mod programs;
mod reading;
mod run;
mod run_nvcc;
mod selftest;
mod standard_input;
mod terminal;
mod text;
mod whereabouts;

use std::ffi::OsString;
use std::process::ExitCode;

use arguments::{Arguments, Task};
use check::random_kernels;
use cotangent_operator::Framework;
use standard_input::StandardInput;
use terminal::Terminal;

/// A command that is not for users: from its words to its exit code.
type Hidden = fn(&[OsString]) -> anyhow::Result<u8>;

const HIDDEN: &[(&str, Hidden)] = &[
    (random_kernels::NAME, random_kernels::random),
    (programs::NAME, programs::programs),
    (selftest::NAME, selftest::one),
];

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == exec::NAME) {
        return exec::exec(&words[2..]);
    }
    if let Some((_, task)) = HIDDEN.iter().find(|(name, _)| words.get(1).is_some_and(|word| word == name)) {
        return task(&words[2..]).map_or_else(
            |error| {
                eprintln!("error: {error:#}");
                ExitCode::from(exit::ENVIRONMENT)
            },
            ExitCode::from,
        );
    }
    let mut arguments = Arguments::from_words(words);
    let mut terminal = Terminal::new(arguments.color);
    let standard_input = StandardInput::of(&mut arguments.task);
    terminal.read_from = standard_input.as_ref().ok().and_then(Option::as_ref).map(StandardInput::path);
    let result = standard_input.and_then(|_standard_input| carry_out(&arguments.task, &terminal));
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            if arguments.task.is_json() {
                json::print_refusal(&error).unwrap_or_else(|error| terminal.error(&error));
            }
            terminal.error(&error);
            ExitCode::from(exit::code_of(&error))
        }
    }
}

fn carry_out(task: &Task, terminal: &Terminal) -> anyhow::Result<u8> {
    match task {
        Task::Print(options) => print::print(options, terminal),
        Task::Grad(options) => grad::grad(options, terminal),
        Task::Check(options) => check::check(options, terminal),
        Task::Cc(options) => cc::cc(options, terminal),
        Task::Build(options) => build::build(options, terminal),
        Task::Run(options) => run::run(options, terminal),
        Task::Torch(options) => operator::operator(Framework::Torch, options, terminal),
        Task::Jax(options) => operator::operator(Framework::Jax, options, terminal),
        Task::Selftest(options) => selftest::selftest(options, terminal),
        Task::Where { what } => whereabouts::print(*what),
        Task::Doctor => Ok(doctor::doctor()),
    }
}
