//! Checks many kernels at once. Starting Clang takes longer than all else, so they stand in one file, which is read once
//! and compiled once with the derivatives of all. If something goes wrong for the file as a whole, its halves tell where.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;

use anyhow::{Context, Result};
use cotangent::diagnostic::{Diagnostic, INTERNAL, RECORD_BUDGET as OVER_BUDGET, RECORD_SIZE};
use cotangent::ir::{Module, Space};
use cotangent::transform::{Lifted, Request, lift};
use cotangent_driver::derivative::{Mode, Wanted, differentiate, lowered};
use cotangent_driver::flags::ParseFlags;
use cotangent_driver::program::{CpuProgram, Failure, Input, Passes, direct_of, read, with_deep_stack};
use cotangent_driver::{DriverError, Tools};

use super::super::by_nvcc;
use super::super::compare::compare;
use super::super::layout::Precision;
use super::super::problem::{Gradients, Problem};
use super::super::program::{Differentiated, Launch, Program, Texts, Variant, is_rejected};
use super::super::random::Random;
use super::super::values;
use super::super::{entry_of, gradients, with_each_alone};
use super::tree::Kernel;
use crate::arguments::Target;

/// What became of a kernel.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// Its derivatives are right; so many numbers were too near to a kink, the size of its record may have been stated, and
    /// a budget kept.
    Right { left_out: usize, is_stated: bool, is_within: bool },
    /// There is a diagnostic instead of a derivative.
    Refused { code: &'static str, message: String },
    /// Something is wrong: in which way, and more about it.
    Wrong { kind: String, detail: String },
}

impl Outcome {
    /// In which way there is no derivative, or a wrong one, without names and numbers; and more about it.
    pub(crate) fn kind(&self) -> Option<(String, String)> {
        match self {
            Outcome::Right { .. } => None,
            Outcome::Refused { code, message } => Some((format!("{code} {}", unnumbered(message)), message.clone())),
            Outcome::Wrong { kind, detail } => Some((kind.clone(), detail.clone())),
        }
    }
}

/// The derivatives of one kernel.
struct Derived {
    index: usize,
    lifted: Lifted,
    request: Request,
    forward: Module,
    gradients: Gradients,
}

impl Derived {
    fn right(&self, left_out: usize) -> Outcome {
        let Request { record_slots, record_budget, .. } = &self.request;
        Outcome::Right { left_out, is_stated: record_slots.is_some(), is_within: record_budget.is_some() }
    }
}

/// In which ways kernels are built: each with all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builds {
    Widened,
    Native,
    /// By nvcc, and executed.
    Nvcc,
}

/// How kernels are checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way {
    pub(crate) builds: Builds,
    /// Whether derivatives are made with each planner alone too, and with none.
    pub(crate) alone: bool,
}

/// A derivative that is made for these kernels never needs longer, in seconds.
const LONGEST: &str = "20";

/// The outcomes of kernels, in order.
pub(crate) fn outcomes(tools: &Tools, kernels: &[Kernel], way: Way) -> Result<Vec<Outcome>> {
    remember_panics();
    let folder = tempfile::tempdir().context("cannot make a folder for the kernels")?;
    let file = folder.path().join("kernels.cu");
    let text: String = kernels.iter().enumerate().map(|(index, kernel)| kernel.text(&ending(index)) + "\n").collect();
    std::fs::write(&file, text).context("cannot write the kernels")?;
    let flags = ParseFlags::default();
    let input = Input { file: &file, flags: &flags, cuda_path: None, colour: false };
    let derived = with_deep_stack(|| {
        let passes = read(tools, &input)?;
        let all: Vec<_> = (0..kernels.len()).map(|index| derive(&passes, index, way.alone)).collect();
        Ok((all, direct_of(&passes, &file)))
    });
    let (derived, direct) = match derived {
        Ok(derived) => derived,
        Err(Failure::Driver(DriverError::Rejected { message })) => {
            return divided(tools, kernels, way, "Clang rejects the kernel", &message);
        }
        Err(failure) => return Err(failure.into()),
    };
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut right = Vec::new();
    for result in derived {
        outcomes.push(match result {
            Ok(derived) => {
                right.push(derived);
                Outcome::Right { left_out: 0, is_stated: false, is_within: false }
            }
            Err(outcome) => outcome,
        });
    }
    if right.is_empty() {
        return Ok(outcomes);
    }
    let programs = catch_unwind(AssertUnwindSafe(|| build(tools, &right, &file, &direct, way.builds, folder.path())));
    let programs = match programs {
        Ok(Ok(programs)) => programs,
        Ok(Err(error)) if is_rejected(&error) => {
            return divided(tools, kernels, way, "the derivative does not compile", &format!("{error:#}"));
        }
        Ok(Err(error)) => return Err(error),
        Err(_) => return divided(tools, kernels, way, &format!("panic: {}", last_panic()), "while printing"),
    };
    for (position, derived) in right.iter().enumerate() {
        let programs: Vec<Program> = programs.iter().map(|program| program.of(position)).collect();
        outcomes[derived.index] = checked(&kernels[derived.index], derived, &programs)?;
    }
    Ok(outcomes)
}

fn ending(index: usize) -> String {
    format!("_{index}")
}

/// The outcomes of both halves; of a single kernel, that it is wrong in this way.
fn divided(tools: &Tools, kernels: &[Kernel], way: Way, kind: &str, detail: &str) -> Result<Vec<Outcome>> {
    if let [_] = kernels {
        let error = detail.lines().find(|line| line.contains("error:")).unwrap_or(detail);
        let message = error.split("error:").last().unwrap_or(error).trim();
        let kind = if detail.contains("error:") { format!("{kind}: {}", unnamed(message)) } else { kind.to_owned() };
        let detail: Vec<&str> = detail.lines().take(12).collect();
        return Ok(vec![Outcome::Wrong { kind, detail: detail.join("\n") }]);
    }
    let (first, second) = kernels.split_at(kernels.len() / 2);
    let mut all = outcomes(tools, first, way)?;
    all.extend(outcomes(tools, second, way)?);
    Ok(all)
}

/// A message without what is quoted in it.
fn unnamed(message: &str) -> String {
    let parts: Vec<&str> = message.split('\'').step_by(2).collect();
    parts.join("…")
}

/// What `--record-slots` says where the size of a record cannot be counted.
const RECORD_SLOTS: u32 = 8192;

/// What `--record-budget` says for every other kernel: short loops have stretches too.
const RECORD_BUDGET: &str = "2";

/// The gradients of a kernel by a request that is changed as a user would, if it is refused for its record.
fn gradients_as_asked(
    module: &Module,
    request: Request,
    with_alone: bool,
) -> Result<(Gradients, Request), Vec<Diagnostic>> {
    let made = gradients(module, &request);
    let made = if with_alone { made.and_then(|made| with_each_alone(module, &request, made)) } else { made };
    match made {
        Ok(gradients) => Ok((gradients, request)),
        Err(found) if found.iter().all(|found| found.code == OVER_BUDGET) => {
            gradients_as_asked(module, request.with_record_budget(None), with_alone)
        }
        Err(found) if found.iter().all(|found| found.code == RECORD_SIZE) && request.record_slots.is_none() => {
            gradients_as_asked(module, request.with_record_slots(Some(RECORD_SLOTS)), with_alone)
        }
        Err(found) => Err(found),
    }
}

fn derive(passes: &Passes, index: usize, with_alone: bool) -> Result<Derived, Outcome> {
    let name = Kernel::name(&ending(index));
    let wanted = Wanted::new(&name, None);
    let derived = catch_unwind(AssertUnwindSafe(|| {
        let (module, request) = lowered(passes.both(), &wanted)?;
        let forward = entry_of(&differentiate(&module, &request, Mode::Forward)?, Space::Kernel);
        let budget = RECORD_BUDGET.parse().ok().filter(|_| index % 2 == 1);
        let (gradients, request) = gradients_as_asked(&module, request.with_record_budget(budget), with_alone)?;
        let lifted = lift(&module, &request)?;
        Ok(Derived { index, lifted, request, forward, gradients })
    }));
    let refused = |found: Vec<Diagnostic>| match found.first() {
        Some(first) if first.code == INTERNAL => Outcome::Wrong {
            kind: format!("invalid module: {}", unnumbered(first.message.rsplit(": ").next().unwrap_or(""))),
            detail: first.message.clone(),
        },
        Some(first) => Outcome::Refused { code: first.code.id, message: first.message.clone() },
        None => Outcome::Wrong { kind: "refused without a reason".to_owned(), detail: String::new() },
    };
    match derived {
        Ok(derived) => derived.map_err(refused),
        Err(_) => {
            let said = last_panic();
            Err(Outcome::Wrong { kind: format!("panic: {}", unnumbered(&said)), detail: said })
        }
    }
}

/// A message without the code and the numbers in it, so that smaller kernels say the same. The last name stays: it says
/// which of our own variables is concerned.
fn unnumbered(message: &str) -> String {
    let parts: Vec<&str> = message.lines().next().unwrap_or("").split('`').collect();
    let last = parts.len().saturating_sub(2);
    let kept = parts.iter().enumerate().map(|(index, part)| if index % 2 == 1 && index != last { "…" } else { part });
    kept.collect::<String>().chars().filter(|character| !character.is_ascii_digit()).collect()
}

fn build(
    tools: &Tools,
    all: &[Derived],
    file: &Path,
    direct: &CpuProgram,
    builds: Builds,
    folder: &Path,
) -> Result<Vec<Program>> {
    let names: Vec<String> = all.iter().map(|derived| Kernel::name(&ending(derived.index))).collect();
    let functions = all.iter().zip(&names).map(|(derived, name)| Differentiated {
        function: name,
        space: Space::Kernel,
        variables: Vec::new(),
        derivatives: [(Variant::Forward, &derived.forward)].into_iter().chain(derived.gradients.variants()).collect(),
        provided: None,
    });
    let texts = Texts { file, own: None, direct, functions: functions.collect(), others: Vec::new() };
    let flags = ParseFlags::default();
    let precisions = match builds {
        Builds::Widened => &[Precision::Widened][..],
        Builds::Native | Builds::Nvcc => &[Precision::Widened, Precision::Native],
    };
    let build = |precision: &Precision| Program::build(tools, &texts, &flags, *precision, folder);
    let mut programs = precisions.iter().map(build).collect::<Result<Vec<Program>>>()?;
    if builds == Builds::Nvcc {
        programs.push(by_nvcc::build(&texts, &[], folder, Target::Cpu)?);
    }
    Ok(programs.into_iter().map(|program| program.within(LONGEST)).collect())
}

/// Compares at one sample, and at others if there is something wrong: rounding can take another branch once, but not at
/// every sample.
fn checked(kernel: &Kernel, derived: &Derived, programs: &[Program]) -> Result<Outcome> {
    let mut wrong = Vec::new();
    for attempt in 0..3 {
        let (kind, detail) = match compared(kernel, derived, programs, kernel.seed.wrapping_add(attempt))? {
            Outcome::Wrong { kind, detail } => (kind, detail),
            right @ (Outcome::Right { .. } | Outcome::Refused { .. }) if attempt == 0 => return Ok(right),
            Outcome::Right { .. } | Outcome::Refused { .. } => continue,
        };
        wrong.push((kind, detail));
        if wrong.len() == 2 {
            break;
        }
    }
    match wrong.as_slice() {
        [(kind, detail), _] => Ok(Outcome::Wrong { kind: kind.clone(), detail: detail.clone() }),
        _ => Ok(derived.right(1)),
    }
}

fn compared(kernel: &Kernel, derived: &Derived, programs: &[Program], seed: u64) -> Result<Outcome> {
    let mut random = Random::new(seed);
    let launch = Launch { grid: [kernel.blocks, 1, 1], block: [kernel.threads, 1, 1], shared: 0 };
    let specs = values::parse(&kernel.arguments()).map_err(|message| anyhow::anyhow!(message))?;
    let problem = Problem::new(&derived.lifted, &derived.request, &derived.forward, &specs, 1, &mut random)?;
    let problem = problem.with_gradients(&derived.gradients);
    let report = match compare(&problem, programs, launch, 1, &mut random) {
        Ok(report) => report,
        Err(error) => {
            let detail = format!("{error:#}");
            let kind = detail.lines().next().unwrap_or("").split(';').next().unwrap_or("").to_owned();
            return Ok(Outcome::Wrong { kind, detail });
        }
    };
    let wrong = report.rows.iter().find_map(|row| Some((row.what.clone(), row.wrong.clone()?)));
    Ok(match wrong {
        Some((kind, detail)) => Outcome::Wrong { kind, detail },
        None => derived.right(report.left_out),
    })
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

fn last_panic() -> String {
    LAST_PANIC.with_borrow(Clone::clone)
}

/// Panics are outcomes here: they are remembered, not shown.
fn remember_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| LAST_PANIC.set(info.to_string().replace('\n', " "))));
    });
}
