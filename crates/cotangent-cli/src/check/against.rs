//! A gradient against a backward function that the user wrote (`--against`): both are given the same inputs and the same
//! adjoints of what the function writes, and where their results differ central differences say who is right.
//!
//! The function is never lowered: it runs as the user's own text, called from a line of C++ in which the arrays of the
//! check have names.

use std::collections::BTreeSet;

use anyhow::Result;
use cotangent::analysis::effects;
use cotangent::ir::{FloatKind, IntKind, Module, Space, Type};
use cotangent::transform::{Lifted, Request};

use super::compare::{Scale, errors, extrapolated, is_within, scale, weights};
use super::layout::{Precision, Scalar, layout};
use super::memory::{Buffer, Memory};
use super::problem::Problem;
use super::program::{Evaluation, Findings, Launch, Program, Variant, function_pointer, held};
use super::random::Random;
use super::values::{self, Spec};

/// How near two gradients in double precision are that are equal but for rounding: constants such as `0.7978846f` have
/// seven digits.
const ALLOWED: f64 = 1e-6;

/// A function that the gradient is compared with.
pub(super) struct Backward {
    /// The call, as a case of the harness.
    pub(super) call: String,
    /// Arrays that only it takes: their element types and contents.
    others: Vec<(Type, Spec)>,
    /// Which named parameters it takes the adjoints of, by their positions.
    adjoints: BTreeSet<usize>,
    launch: Option<Launch>,
    name: String,
}

/// A function as the command line states it.
pub(super) struct Stated<'a> {
    pub(super) name: &'a str,
    pub(super) space: Space,
    pub(super) args: &'a str,
    pub(super) launch: Option<Launch>,
}

/// The parameters that can be named in the arguments of a backward function.
struct Names<'a> {
    lifted: &'a Lifted,
    request: &'a Request,
}

impl Names<'_> {
    /// The position of a parameter.
    fn parameter(&self, name: &str) -> Option<usize> {
        let function = &self.lifted.module.functions[self.request.function];
        function.params.iter().position(|param| self.lifted.name_of(self.request.function, *param) == name)
    }

    /// The position of the parameter whose adjoint a word means, and its number among those that are named, if it is.
    fn adjoint(&self, word: &str) -> Option<(usize, Option<usize>)> {
        let is_parameter = self.parameter(word).is_some();
        let primal = word.strip_prefix("_d_").or_else(|| word.strip_prefix("d_").filter(|_| !is_parameter))?;
        let position = self.parameter(primal)?;
        let param = self.lifted.module.functions[self.request.function].params[position];
        Some((position, self.lifted.wrt.iter().position(|named| *named == param)))
    }
}

/// Reads what is said of a function, and writes the call.
pub(super) fn backward(stated: &Stated<'_>, lifted: &Lifted, request: &Request) -> Result<Backward, String> {
    let names = Names { lifted, request };
    let module = &lifted.module;
    let function = &module.functions[request.function];
    let own = function.params.len() - lifted.variables.len();
    let mut others = Vec::new();
    let mut adjoints = BTreeSet::new();
    let mut declared = String::new();
    let mut arguments = Vec::new();
    for argument in values::split(stated.args)? {
        let argument = argument.trim();
        if let Some((ty, spec)) = array_of_its_own(argument)? {
            let at = own + lifted.wrt.len() + others.len();
            arguments.push(format!("Named<{}>{{buffers[{at}]}}", spelling(module, &ty)));
            others.push((ty, spec));
            continue;
        }
        for word in words(argument) {
            if declared.contains(&format!(" {word}{{")) {
                continue;
            }
            let ty = |position: usize| &function.locals[function.params[position]].ty;
            match (names.adjoint(word), names.parameter(word).filter(|position| *position < own)) {
                (Some((position, Some(named))), _) => {
                    adjoints.insert(position);
                    let at = own + named;
                    declared +=
                        &format!("Named<{}> {word}{{buffers[{at}]}}; ", spelling(module, pointed(ty(position))));
                }
                (Some((_, None)), _) => {
                    return Err(format!(
                        "--against-args: `{word}` is the adjoint of a parameter that --wrt does not name"
                    ));
                }
                (None, Some(position)) => declared += &primal(module, word, ty(position), position),
                // A constant or macro of the program, or a mistake that Clang tells.
                (None, None) => {}
            }
        }
        arguments.push(argument.to_owned());
    }
    if adjoints.is_empty() {
        return Err("--against-args names no adjoint, such as `d_x` for the parameter `x`".to_owned());
    }
    let how = match stated.space {
        Space::Kernel => "other_kernel",
        Space::Device => "other_device",
        Space::Host => "other_host",
    };
    let variables = held(&super::names_of_variables(lifted), "", |_| true);
    let pointer = function_pointer(stated.name);
    let arguments: String = arguments.iter().map(|argument| format!(", {argument}")).collect();
    let call = format!("{variables}{declared}return {how}({pointer}, launch{arguments});");
    Ok(Backward { call, others, adjoints, launch: stated.launch, name: stated.name.to_owned() })
}

/// The identifiers of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && character != '_').filter(|word| !word.is_empty())
}

fn pointed(ty: &Type) -> &Type {
    ty.pointee().unwrap_or(ty)
}

/// The declaration that makes a parameter of the user's function known.
fn primal(module: &Module, name: &str, ty: &Type, position: usize) -> String {
    let spelling = spelling(module, pointed(ty));
    match ty {
        Type::Bool | Type::Int(_) | Type::Float(_) => {
            format!("const {spelling} {name}{{*reinterpret_cast<const {spelling}*>(buffers[{position}].host)}}; ")
        }
        Type::Void | Type::Pointer(_) | Type::Array(..) | Type::Record(_) | Type::Opaque(_) => {
            format!("Named<{spelling}> {name}{{buffers[{position}]}}; ")
        }
    }
}

/// The type of all numbers of a type, or `void`.
fn spelling(module: &Module, ty: &Type) -> &'static str {
    let leaves = layout(module, ty, Precision::Native).leaves;
    let [first, rest @ ..] = leaves.as_slice() else { return "void" };
    match &first.scalar {
        scalar if rest.iter().any(|leaf| leaf.scalar != *scalar) => "void",
        Scalar::Float(kind) => kind.spelling(),
        Scalar::Int(kind) => kind.spelling(),
        Scalar::Bool => "bool",
        Scalar::Pointer(_) | Scalar::Opaque => "void",
    }
}

/// `out<float>(64)` and its like.
fn array_of_its_own(argument: &str) -> Result<Option<(Type, Spec)>, String> {
    let is_array = ["in<", "out<", "ints<", "range<", "file<"].iter().any(|word| argument.starts_with(word));
    if !is_array {
        return Ok(None);
    }
    let spelled = argument.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map_or("", |(ty, _)| ty.trim());
    let floats = [FloatKind::Float, FloatKind::Double, FloatKind::Half, FloatKind::BFloat];
    let integers = [IntKind::Int, IntKind::UnsignedInt, IntKind::Long, IntKind::UnsignedLong, IntKind::LongLong];
    let integers = integers.into_iter().chain([IntKind::Char, IntKind::UnsignedChar, IntKind::Short]);
    let float = floats.into_iter().find(|kind| kind.spelling() == spelled).map(Type::Float);
    let integer = || integers.into_iter().find(|kind| kind.spelling() == spelled).map(Type::Int);
    let ty = float.or_else(integer).ok_or_else(|| format!("--against-args: `{spelled}` is no type of numbers"))?;
    Ok(Some((ty, values::parse_one(argument)?)))
}

/// Whom central differences agree with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgement {
    Equal,
    Ours,
    Theirs,
    Neither,
    /// A branch or kink is too near.
    Nobody,
}

/// The adjoints of one parameter, and the two that differ most.
pub(crate) struct Compared {
    pub(crate) name: String,
    pub(crate) count: usize,
    pub(crate) differing: usize,
    pub(crate) worst: f64,
    pub(crate) at: String,
    pub(crate) ours: f64,
    pub(crate) theirs: f64,
    /// None near a branch or kink.
    pub(crate) differences: Option<f64>,
    pub(crate) judgement: Judgement,
}

/// What came of it.
pub(crate) struct Comparison {
    pub(crate) functions: Vec<String>,
    pub(crate) allowed: f64,
    pub(crate) rows: Vec<Compared>,
    /// What the executor's checks found in the user's functions.
    pub(crate) found: Option<String>,
}

impl Comparison {
    pub(crate) fn is_equal(&self) -> bool {
        self.found.is_none() && !self.rows.is_empty() && self.rows.iter().all(|row| row.judgement == Judgement::Equal)
    }
}

/// Who is compared with whom, and where.
pub(super) struct Contest<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) request: &'a Request,
    pub(super) backwards: &'a [Backward],
    /// The program that numbers are compared in, and then perhaps the one whose accesses are checked.
    pub(super) programs: Vec<&'a Program>,
    pub(super) launch: Launch,
    pub(super) samples: usize,
}

impl Contest<'_> {
    pub(super) fn held(&self, random: &mut Random) -> Result<Comparison> {
        let allowed = scale(self.programs[0].precision).identity.max(ALLOWED);
        let functions = self.backwards.iter().map(|backward| backward.name.clone()).collect();
        let mut comparison = Comparison { functions, allowed, rows: Vec::new(), found: None };
        let written = effects(self.problem.module, self.request.function).params;
        for number in 0..self.samples {
            let vary = |value: f64, random: &mut Random| match number {
                0 => value,
                _ => f64::from((value * random.single(0.8, 1.2)) as f32),
            };
            let point: Vec<f64> = self.problem.point().into_iter().map(|value| vary(value, random)).collect();
            let mut seeds = vec![0.0; point.len()];
            for (_, entries) in self.problem.named_entries().iter().filter(|(named, _)| written.contains(named)) {
                entries.iter().for_each(|entry| seeds[*entry] = random.single(-1.0, 1.0));
            }
            let others = self.others(random);
            for (index, program) in self.programs.iter().enumerate() {
                match self.theirs(program, &point, &seeds, &others) {
                    Ok(theirs) if index == 0 => self.rows(&point, &seeds, &theirs, &written, &mut comparison)?,
                    Ok(_) => {}
                    Err(error) => comparison.found = Some(error.downcast::<Findings>()?.to_string()),
                }
            }
        }
        Ok(comparison)
    }

    /// The arrays that only the user's functions take.
    fn others(&self, random: &mut Random) -> Vec<Vec<Buffer>> {
        let array = |(ty, spec): &(Type, Spec), random: &mut Random| {
            let mut memory = Memory::default();
            memory.parameter(self.problem.module, &Type::pointer(ty.clone()), spec, 0, random);
            memory.buffers
        };
        let of = |backward: &Backward| backward.others.iter().flat_map(|other| array(other, random)).collect();
        self.backwards.iter().map(of).collect()
    }

    fn run(&self, program: &Program, launch: Launch, evaluations: &[Evaluation]) -> Result<Vec<Memory>> {
        program.run(self.problem.module, launch, evaluations, 0)
    }

    /// The adjoints that the user's functions leave, one after another.
    fn theirs(&self, program: &Program, point: &[f64], seeds: &[f64], others: &[Vec<Buffer>]) -> Result<Vec<f64>> {
        let after = self.run(program, self.launch, &[self.problem.primal(point)])?;
        let mut adjoints = seeds.to_vec();
        for (index, (backward, others)) in self.backwards.iter().zip(others).enumerate() {
            let call = self.problem.backward(&after[0], &adjoints, others);
            // They stand after the one function that is differentiated.
            let left = self.run(&program.of(1 + index), backward.launch.unwrap_or(self.launch), &[call])?;
            adjoints = self.problem.shadows(&left[0]);
        }
        Ok(adjoints)
    }

    fn rows(
        &self,
        point: &[f64],
        seeds: &[f64],
        theirs: &[f64],
        written: &BTreeSet<usize>,
        comparison: &mut Comparison,
    ) -> Result<()> {
        let Some(ours) = self.problem.reverse(Variant::Reverse, point, seeds) else { return Ok(()) };
        let ours = self.problem.shadows(&self.run(self.programs[0], self.launch, &[ours])?[0]);
        for (named, entries) in self.problem.named_entries() {
            let of = |all: &[f64]| -> Vec<f64> { entries.iter().map(|entry| all[*entry]).collect() };
            let (seeds_here, theirs, ours) = (of(seeds), of(theirs), of(&ours));
            // An array that the function only writes: its adjoint is given, and most leave it as it is. Ours is zero
            // afterwards where the array was written.
            let is_over = |(ours, seed): (&f64, &f64)| *ours == 0.0 || ours == seed;
            let is_only_given =
                written.contains(&named) && theirs == seeds_here && ours.iter().zip(&seeds_here).all(is_over);
            let is_taken = self.backwards.iter().any(|backward| backward.adjoints.contains(&named));
            let errors = errors(&theirs, &ours);
            let Some(at) = worst(&errors).filter(|_| is_taken && !is_only_given) else { continue };
            let differing = errors.iter().filter(|error| !is_within(**error, comparison.allowed)).count();
            let differences = self.differences(point, seeds, entries[at])?;
            let entry = &self.problem.entries[entries[at]].name;
            let row = Compared {
                name: format!("d_{}", self.problem.parameter_name(named)),
                count: entries.len(),
                differing,
                worst: if errors[at].is_nan() { f64::INFINITY } else { errors[at] },
                at: format!("d_{entry}"),
                ours: ours[at],
                theirs: theirs[at],
                differences,
                judgement: if differing == 0 { Judgement::Equal } else { judged(ours[at], theirs[at], differences) },
            };
            match comparison.rows.iter_mut().find(|known| known.name == row.name) {
                Some(known) if known.worst >= row.worst => {}
                Some(known) => *known = row,
                None => comparison.rows.push(row),
            }
        }
        Ok(())
    }

    /// How the outputs change with one number, weighted with their adjoints.
    fn differences(&self, point: &[f64], seeds: &[f64], entry: usize) -> Result<Option<f64>> {
        let program = self.programs[0];
        let scale = scale(program.precision);
        let Scale { step, .. } = scale;
        let at = |step: f64| {
            let mut moved = point.to_vec();
            moved[entry] += step;
            self.problem.primal(&moved)
        };
        let calls = [0.0, step, -step, step / 2.0, -step / 2.0].map(at);
        let after = self.run(program, self.launch, &calls)?;
        let weights = weights(self.problem, seeds);
        let sum = |index: usize| -> f64 {
            let outputs = self.problem.outputs(&calls[index].args, &after[index]);
            outputs.iter().zip(&weights).map(|(output, weight)| output * weight).sum()
        };
        Ok(extrapolated(&scale, [0, 1, 2, 3, 4].map(sum)))
    }
}

/// The number that is furthest off; one that is no number is further than any.
fn worst(errors: &[f64]) -> Option<usize> {
    let size = |error: f64| if error.is_nan() { f64::INFINITY } else { error };
    (0..errors.len()).reduce(|worst, at| if size(errors[at]) > size(errors[worst]) { at } else { worst })
}

fn judged(ours: f64, theirs: f64, differences: Option<f64>) -> Judgement {
    let Some(expected) = differences else { return Judgement::Nobody };
    // Whoever is right is nearer by far than the two are to each other.
    let apart = (ours - theirs).abs();
    let apart = if apart.is_finite() { apart } else { expected.abs() + f64::MIN_POSITIVE };
    let is_right = |found: f64| (found - expected).abs() <= 0.05 * apart;
    match (is_right(ours), is_right(theirs)) {
        (true, false) => Judgement::Ours,
        (false, true) => Judgement::Theirs,
        (true, true) | (false, false) => Judgement::Neither,
    }
}
