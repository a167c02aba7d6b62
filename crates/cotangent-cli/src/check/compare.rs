//! The comparisons of a check, and how near is near enough.
//!
//! Everything is relative to the number itself, and a little to the largest of its kind: a sum of large numbers that
//! cancels is known no better than they are.

use std::collections::BTreeMap;

use anyhow::Result;
use cotangent::ir::FloatKind;

use super::layout::Precision;
use super::memory::Memory;
use super::problem::{Outputs, Problem};
use super::program::{Evaluation, Findings, Launch, Program, Variant};
use super::random::Random;
use crate::arguments::planners;

/// How often a point is drawn whose neighbours behave differently, before numbers without a derivative are left out.
const REDRAWS: usize = 8;

/// How far numbers are moved that are all zero, where others are moved in proportion to what they are.
const LITTLE: f64 = 1e-2;

/// The thread orders that are tried besides the natural one.
const ORDERS: [u64; 2] = [1, 77];

/// How near the program that nvcc made is to the CPU's, by the shortest kind of number in it. Nothing is contracted in
/// either; functions of the library differ in their last digits, and so do sums whose order is not said.
fn tolerance_of_nvcc(shortest: FloatKind) -> f64 {
    match shortest {
        FloatKind::Double => 1e-12,
        FloatKind::Float | FloatKind::Half | FloatKind::BFloat => 1e-5,
    }
}

/// What lines are called that others look for.
pub(crate) const ACCESSES: &str = "derivatives with races or accesses outside of arrays";
pub(crate) const BY_NVCC: &str = "derivatives as nvcc compiled them against the CPU's";
pub(crate) const ON_GPU: &str = "derivatives on the GPU against the CPU's";

/// One line of the table.
pub(crate) struct Row {
    pub(crate) what: String,
    /// The largest difference, relative.
    pub(crate) worst: f64,
    pub(crate) allowed: f64,
    /// The first number that is wrong.
    pub(crate) wrong: Option<String>,
}

/// What a check found.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    pub(crate) redrawn: usize,
    pub(crate) left_out: usize,
    /// Whether an output depended on an input anywhere, beyond being what it was.
    pub(crate) is_any_dependent: bool,
    /// Whether an adjoint was anything but zero, or what the caller put there.
    pub(crate) is_any_adjoint: bool,
}

/// The function itself does what the checks object to: its derivative cannot be blamed.
#[derive(Debug, thiserror::Error)]
#[error("`{function}` itself is at fault, not its derivative, which was not checked\n{found}")]
pub(crate) struct PrimalFindings {
    pub(crate) function: String,
    pub(crate) found: Findings,
}

impl Report {
    /// Whether threads race in a derivative, or reach outside of arrays.
    pub(crate) fn has_bad_accesses(&self) -> bool {
        self.rows.iter().any(|row| row.what == ACCESSES && row.wrong.is_some())
    }
}

/// A point, a direction, adjoints, and what was computed there.
struct Sample {
    point: Vec<f64>,
    direction: Vec<f64>,
    adjoints: Vec<f64>,
    values: Outputs,
    /// None where the function has no derivative along the direction.
    differences: Vec<Option<f64>>,
    tangents: Outputs,
    /// Adjoints of initial contents, what was there before taken off where it is added to.
    gradient: Option<Vec<f64>>,
}

/// Steps and tolerances of one precision.
pub(super) struct Scale {
    pub(super) step: f64,
    kink: f64,
    differences: f64,
    pub(super) identity: f64,
    values: f64,
}

pub(super) fn scale(precision: Precision) -> Scale {
    match precision {
        Precision::Widened => Scale { step: 1e-4, kink: 3e-5, differences: 1e-6, identity: 1e-10, values: 1e-12 },
        Precision::Native => Scale { step: 1e-2, kink: 5e-2, differences: 5e-2, identity: 1e-3, values: 1e-5 },
    }
}

/// How near native numbers are to widened ones: `float` has seven digits, `__half` three and `__nv_bfloat16` two, and some
/// are lost on the way. Derivatives of half precision are computed in `float`, but from values that were rounded.
fn native_tolerance(kind: FloatKind) -> f64 {
    match kind {
        FloatKind::Double | FloatKind::Float => 2e-3,
        FloatKind::Half => 3e-2,
        FloatKind::BFloat => 2e-1,
    }
}

/// Checks the derivatives in the first program, and in the others that they are the same there.
pub(crate) fn compare(
    problem: &Problem<'_>,
    programs: &[Program],
    launch: Launch,
    samples: usize,
    random: &mut Random,
) -> Result<Report> {
    let mut report = Report::default();
    let first = &programs[0];
    let scale = scale(first.precision);
    let near = native_tolerance(problem.shortest_kind());
    let mut rows = Rows::new(first.precision, near, tolerance_of_nvcc(problem.shortest_kind()));
    for number in 0..samples {
        let sample = draw(problem, first, launch, number, random, &mut report)?;
        let mut evaluations = derivatives(problem, &sample.point, &sample.direction, &sample.adjoints);
        let of_nvcc = evaluations.len();
        evaluations.extend(problem.others(&sample.point, &sample.adjoints));
        report.is_any_dependent |= is_any_dependent(problem, &sample);
        report.is_any_adjoint |= is_any_adjoint(&sample);
        rows.differences.compare(
            scale.differences,
            problem.output_names().into_iter().zip(&sample.tangents).zip(&sample.differences).zip(&sample.values),
        );
        if let Some(gradient) = &sample.gradient {
            let wrong = identity(problem, first, launch, &sample, gradient, scale.identity, &mut rows.identity.worst)?;
            rows.identity.wrong = rows.identity.wrong.take().or(wrong);
        }
        let after = in_the_first(problem, first, launch, &sample, &evaluations, &mut rows)?;
        let all = |memory: &[Memory]| -> Vec<Vec<f64>> { memory.iter().map(|after| problem.shadows(after)).collect() };
        let names: Vec<&str> = problem.entries.iter().map(|entry| &*entry.name).collect();
        // What the CPU's own program computed in native precision, for the one that nvcc made.
        let mut on_cpu = (first.precision == Precision::Native).then(|| all(&after));
        for native in &programs[1..] {
            let evaluated = if native.is_of_nvcc() { &evaluations[..of_nvcc] } else { &evaluations };
            let computed = match native.run(problem.module, launch, evaluated, 0) {
                Ok(computed) => computed,
                Err(error) => {
                    let found = error.downcast::<Findings>()?;
                    primal_is_sound(problem, native, launch, &sample.point)?;
                    rows.accesses.note(1.0, 0.0, || found.to_string());
                    continue;
                }
            };
            // With fewer digits a comparison may come out otherwise: then it is another function.
            let values = problem.outputs(&evaluations[0].args, &computed[0]);
            if !are_close(near, &values, &sample.values) {
                report.left_out += 1;
                continue;
            }
            let computed = all(&computed);
            if native.is_of_nvcc() {
                for (computed, expected) in computed.iter().zip(on_cpu.iter().flatten()) {
                    rows.of_nvcc.same(rows.of_nvcc.allowed, &names, computed, expected);
                }
                continue;
            }
            for (computed, exact) in computed.iter().zip(all(&after)) {
                rows.native.same(near, &names, computed, &exact);
            }
            on_cpu = Some(computed);
        }
    }
    report.rows = rows.finish(problem, programs);
    Ok(report)
}

/// Compares what the first program computes in several ways; returns what its derivatives leave.
fn in_the_first(
    problem: &Problem<'_>,
    first: &Program,
    launch: Launch,
    sample: &Sample,
    evaluations: &[Evaluation],
    rows: &mut Rows,
) -> Result<Vec<Memory>> {
    let scale = scale(first.precision);
    let after = first.run(problem.module, launch, evaluations, 0)?;
    for (evaluation, after) in evaluations.iter().zip(&after) {
        let values = problem.outputs(&evaluation.args, after);
        let expected = problem.expected(evaluation.variant, &sample.point, &sample.values);
        rows.values.same(scale.values, &problem.output_names(), &values, &expected);
    }
    let all = |memory: &[Memory]| -> Vec<Vec<f64>> { memory.iter().map(|after| problem.shadows(after)).collect() };
    let names: Vec<&str> = problem.entries.iter().map(|entry| &*entry.name).collect();
    for seed in ORDERS {
        let permuted = first.run(problem.module, launch, evaluations, seed)?;
        for (permuted, natural) in all(&permuted).iter().zip(all(&after)) {
            rows.orders.same(scale.identity, &names, permuted, &natural);
        }
    }
    let unproved = problem.reverse(Variant::Unproved, &sample.point, &sample.adjoints);
    if let (Some(unproved), Precision::Widened, [_, exact, ..]) = (unproved, first.precision, after.as_slice()) {
        let computed = first.run(problem.module, launch, &[unproved], 0)?;
        rows.unproved.same(scale.identity, &names, &all(&computed)[0], &problem.shadows(exact));
    }
    if let [_, exact, others @ ..] = after.as_slice() {
        for (evaluation, other) in evaluations.iter().skip(2).zip(others) {
            let row = rows.of(evaluation.variant);
            let expected = problem.expected_shadows(evaluation.variant, problem.shadows(exact), &sample.adjoints);
            row.same(scale.identity, &names, &problem.shadows(other), &expected);
        }
    }
    Ok(after)
}

/// Runs the function itself, without a derivative. What the checks find then is an error that says so. Stores of the same
/// value by several threads are returned: a flag, of which a derivative knows nothing, or what a derivative counts twice.
pub(crate) fn primal_is_sound(
    problem: &Problem<'_>,
    program: &Program,
    launch: Launch,
    point: &[f64],
) -> Result<Option<PrimalFindings>> {
    let at_fault = |found| PrimalFindings { function: problem.name().to_owned(), found };
    match program.run_and_listen(problem.module, launch, &[problem.primal(point)], 0) {
        Ok((_, noted)) => Ok(noted.map(at_fault)),
        Err(error) => Err(at_fault(error.downcast::<Findings>()?).into()),
    }
}

/// Whether an output has a tangent that is neither zero nor its own: an array that is only read keeps its own.
fn is_any_dependent(problem: &Problem<'_>, sample: &Sample) -> bool {
    let own = problem.entries.iter().zip(&sample.direction).filter(|(entry, _)| entry.is_output);
    let own = own.map(|(_, direction)| *direction).chain(problem.results.iter().map(|_| 0.0));
    sample.tangents.iter().zip(own).any(|(tangent, own)| *tangent != 0.0 && *tangent != own)
}

/// The same for adjoints.
fn is_any_adjoint(sample: &Sample) -> bool {
    let pairs =
        |gradient: &Vec<f64>| gradient.iter().zip(&sample.adjoints).any(|(after, own)| *after != 0.0 && after != own);
    sample.gradient.as_ref().is_none_or(pairs)
}

/// The evaluations of both derivatives at a sample.
fn derivatives(problem: &Problem<'_>, point: &[f64], direction: &[f64], adjoints: &[f64]) -> Vec<Evaluation> {
    let forward = problem.forward(point, direction);
    [forward].into_iter().chain(problem.reverse(Variant::Reverse, point, adjoints)).collect()
}

/// Draws a sample; again if its neighbours take another branch.
fn draw(
    problem: &Problem<'_>,
    program: &Program,
    launch: Launch,
    number: usize,
    random: &mut Random,
    report: &mut Report,
) -> Result<Sample> {
    let scale = scale(program.precision);
    for attempt in 0.. {
        let base = problem.point();
        let keep = number == 0 && attempt == 0;
        let vary = |random: &mut Random, value: f64| f64::from((value * random.single(0.8, 1.2)) as f32);
        let point: Vec<f64> = base.iter().map(|value| if keep { *value } else { vary(random, *value) }).collect();
        // Small numbers may be small by nature: what is moved by more than itself often meets a branch.
        let is_in_proportion = attempt % 2 == 1;
        // Changes of a program's own input are all zero: in proportion to them nothing would be moved, and nothing proved.
        let is_zero = point.iter().all(|value| *value == 0.0);
        let reach = |value: f64| match is_in_proportion {
            true if is_zero => LITTLE,
            true => value.abs().min(1.0),
            false => 1.0,
        };
        let direction: Vec<f64> = point.iter().map(|value| reach(*value) * random.single(-1.0, 1.0)).collect();
        let seeds = problem.entries.iter().map(|entry| if entry.is_freed { 0.0 } else { random.single(-1.0, 1.0) });
        let adjoints: Vec<f64> = seeds.collect();
        let moved = |step: f64| -> Vec<f64> { point.iter().zip(&direction).map(|(x, v)| x + step * v).collect() };
        let steps = [0.0, scale.step, -scale.step, scale.step / 2.0, -scale.step / 2.0];
        let mut evaluations: Vec<Evaluation> = steps.iter().map(|step| problem.primal(&moved(*step))).collect();
        evaluations.extend(derivatives(problem, &point, &direction, &adjoints));
        let after = program.run(problem.module, launch, &evaluations, 0)?;
        let outputs = |index: usize| problem.outputs(&evaluations[index].args, &after[index]);
        let [values, right, left, near_right, near_left] = [0, 1, 2, 3, 4].map(outputs);
        let differences: Vec<Option<f64>> = (0..values.len())
            .map(|at| extrapolated(&scale, [values[at], right[at], left[at], near_right[at], near_left[at]]))
            .collect();
        let kinks = differences.iter().filter(|difference| difference.is_none()).count();
        if kinks > 0 && attempt < REDRAWS {
            report.redrawn += 1;
            continue;
        }
        report.left_out += kinks;
        let tangents = problem.tangents(&evaluations[5].args, &after[5]);
        let gradient = problem.has(Variant::Reverse).then(|| {
            let after = problem.shadows(&after[6]);
            let entries = problem.entries.iter().zip(after).zip(&adjoints);
            entries.map(|((entry, after), before)| if entry.is_output { after } else { after - before }).collect()
        });
        return Ok(Sample { point, direction, adjoints, values, differences, tangents, gradient });
    }
    unreachable!("the last attempt returns")
}

/// The derivative that a value and those one step and half a step to its right and left tell; none near a branch or kink.
pub(super) fn extrapolated(scale: &Scale, [value, right, left, near_right, near_left]: [f64; 5]) -> Option<f64> {
    let quotient = |right: f64, left: f64, step: f64| (right - left) / (2.0 * step);
    let far = quotient(right, left, scale.step);
    let near = quotient(near_right, near_left, scale.step / 2.0);
    let size = near.abs() + 1e-2 * value.abs() + 1e-3;
    // Richardson's extrapolation: the error falls with the fourth power of the step.
    ((far - near).abs() <= scale.kink * size).then_some((4.0 * near - far) / 3.0)
}

/// `<w, Jv> = <Jᵀw, v>`. If not, the entry whose adjoint is wrong, found by a pushforward along it alone.
fn identity(
    problem: &Problem<'_>,
    program: &Program,
    launch: Launch,
    sample: &Sample,
    gradient: &[f64],
    allowed: f64,
    worst: &mut f64,
) -> Result<Option<String>> {
    let weights = weights(problem, &sample.adjoints);
    let dot = |left: &[f64], right: &[f64]| {
        let products = left.iter().zip(right).map(|(a, b)| a * b);
        products.fold((0.0, 0.0), |(sum, size), product| (sum + product, size + f64::abs(product)))
    };
    let (forward, forward_size) = dot(&weights, &sample.tangents);
    let (reverse, reverse_size) = dot(gradient, &sample.direction);
    // What the adjoints began with was added to and taken off again: its last digits are lost.
    let (_, lost) = dot(&sample.adjoints, &sample.direction);
    let error = (forward - reverse).abs() / (forward_size.max(reverse_size) + 1e-5 * lost + f64::MIN_POSITIVE);
    *worst = if error.is_finite() { worst.max(error) } else { f64::INFINITY };
    if error <= allowed {
        return Ok(None);
    }
    let count = problem.entries.len().min(256);
    let along = |index: usize| {
        let mut unit = vec![0.0; problem.entries.len()];
        unit[index] = 1.0;
        problem.forward(&sample.point, &unit)
    };
    let probes: Vec<Evaluation> = (0..count).map(along).collect();
    let after = program.run(problem.module, launch, &probes, 0)?;
    for (index, (probe, after)) in probes.iter().zip(&after).enumerate() {
        let (expected, size) = dot(&weights, &problem.tangents(&probe.args, after));
        let found = gradient[index];
        let lost = 1e-5 * sample.adjoints[index].abs();
        if (found - expected).abs() > allowed.max(1e-9) * (size + expected.abs() + lost + f64::MIN_POSITIVE) {
            let name = &problem.entries[index].name;
            return Ok(Some(format!("the adjoint of {name} is {found:e}, and forward mode says {expected:e}")));
        }
    }
    Ok(Some(format!("<w, Jv> is {forward:e}, and <Jᵀw, v> is {reverse:e}")))
}

/// The adjoints of outputs; a result is seeded with 1.
pub(super) fn weights(problem: &Problem<'_>, adjoints: &[f64]) -> Vec<f64> {
    let outputs = problem.entries.iter().zip(adjoints).filter(|(entry, _)| entry.is_output);
    outputs.map(|(_, adjoint)| *adjoint).chain(problem.results.iter().map(|_| 1.0)).collect()
}

/// The lines while they are filled.
struct Rows {
    differences: Row,
    identity: Row,
    values: Row,
    orders: Row,
    unproved: Row,
    gathered: Row,
    framework: Row,
    /// By the planner.
    alone: BTreeMap<&'static str, Row>,
    native: Row,
    of_nvcc: Row,
    accesses: Row,
}

impl Rows {
    fn new(precision: Precision, near: f64, of_nvcc: f64) -> Rows {
        let scale = scale(precision);
        let word = match precision {
            Precision::Native => "native",
            Precision::Widened => "widened",
        };
        let plain = |what: &str, allowed| Row { what: what.to_owned(), worst: 0.0, allowed, wrong: None };
        let row = |what: &str, allowed| plain(&format!("{what}, {word}"), allowed);
        Rows {
            differences: row("forward mode against central differences", scale.differences),
            identity: row("reverse mode against forward mode", scale.identity),
            values: row("values beside derivatives against the program's", scale.values),
            orders: row("other orders of threads", scale.identity),
            unproved: row("reverse mode with all analyses off", scale.identity),
            gathered: row("reverse mode with additions gathered", scale.identity),
            framework: row("framework form against reverse mode", scale.identity),
            alone: planners()
                .map(|planner| (planner, row(&format!("reverse mode with {planner} alone"), scale.identity)))
                .collect(),
            native: plain("derivatives native against widened", near),
            of_nvcc: plain(BY_NVCC, of_nvcc),
            accesses: plain(ACCESSES, 0.0),
        }
    }

    /// The line of a form of the gradient that runs in the place of what is printed.
    fn of(&mut self, variant: Variant) -> &mut Row {
        match variant {
            Variant::Alone(planner) => self.alone.get_mut(planner).unwrap_or(&mut self.gathered),
            Variant::Framework => &mut self.framework,
            Variant::Primal | Variant::Forward | Variant::Reverse | Variant::Unproved | Variant::Gathered => {
                &mut self.gathered
            }
        }
    }

    /// Those for which there was something to compare.
    fn finish(mut self, problem: &Problem<'_>, programs: &[Program]) -> Vec<Row> {
        if programs.iter().any(Program::is_on_gpu) {
            ON_GPU.clone_into(&mut self.of_nvcc.what);
        }
        let is_widened = programs.first().is_some_and(|first| first.precision == Precision::Widened);
        let rows = [
            (self.differences, true),
            (self.identity, problem.has(Variant::Reverse)),
            (self.values, true),
            (self.orders, true),
            (self.unproved, problem.has(Variant::Unproved) && is_widened),
            (self.gathered, problem.has(Variant::Gathered)),
            (self.framework, problem.has(Variant::Framework)),
        ];
        let alone = self.alone.into_iter().map(|(planner, row)| (row, problem.has(Variant::Alone(planner))));
        let others = [
            (self.native, programs.iter().filter(|program| !program.is_of_nvcc()).count() > 1),
            (self.of_nvcc, programs.iter().skip(1).any(Program::is_of_nvcc)),
            (self.accesses, true),
        ];
        let rows = rows.into_iter().chain(alone).chain(others);
        rows.filter(|(_, is_compared)| *is_compared).map(|(row, _)| row).collect()
    }
}

impl Row {
    fn note(&mut self, error: f64, allowed: f64, wrong: impl FnOnce() -> String) {
        self.worst = if error.is_finite() { self.worst.max(error) } else { f64::INFINITY };
        if !is_within(error, allowed) && self.wrong.is_none() {
            self.wrong = Some(wrong());
        }
    }

    fn compare<'n>(
        &mut self,
        allowed: f64,
        numbers: impl Iterator<Item = (((&'n str, &'n f64), &'n Option<f64>), &'n f64)>,
    ) {
        let numbers: Vec<_> = numbers.collect();
        let largest = numbers.iter().filter_map(|((_, expected), _)| **expected).map(f64::abs).fold(0.0, f64::max);
        for (((name, found), expected), value) in numbers {
            let Some(expected) = expected else { continue };
            let size = expected.abs() + 1e-2 * largest + 1e-4 * value.abs() + f64::MIN_POSITIVE;
            let message = || format!("the tangent of {name} is {found:e}, and central differences say {expected:e}");
            self.note((found - expected).abs() / size, allowed, message);
        }
    }

    /// Two ways to the same numbers.
    fn same(&mut self, allowed: f64, names: &[&str], found: &[f64], expected: &[f64]) {
        let errors = errors(found, expected);
        for (((name, found), expected), error) in names.iter().zip(found).zip(expected).zip(errors) {
            self.note(error, allowed, || format!("{name} is {found:e} instead of {expected:e}"));
        }
    }
}

/// A NaN is no less than anything.
pub(super) fn is_within(error: f64, allowed: f64) -> bool {
    matches!(error.partial_cmp(&allowed), Some(std::cmp::Ordering::Less | std::cmp::Ordering::Equal))
}

/// How far numbers are from others, relative to them and to the largest; those that are not numbers in both ways agree.
pub(super) fn errors(found: &[f64], expected: &[f64]) -> Vec<f64> {
    let largest = expected.iter().map(|value| value.abs()).fold(0.0, f64::max);
    let error = |(found, expected): (&f64, &f64)| {
        if found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()) {
            return 0.0;
        }
        (found - expected).abs() / (expected.abs() + 0.1 * largest + f64::MIN_POSITIVE)
    };
    found.iter().zip(expected).map(error).collect()
}

fn are_close(allowed: f64, found: &[f64], expected: &[f64]) -> bool {
    errors(found, expected).into_iter().all(|error| error <= allowed)
}
