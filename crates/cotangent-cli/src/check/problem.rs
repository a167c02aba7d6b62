//! What is checked: the numbers that are varied, those that come out, and the calls that relate them.

use std::collections::HashMap;

use anyhow::{Result, bail};
use cotangent::analysis::freed_params;
use cotangent::ir::{FloatKind, Function, LocalId, Module, Space, Type};
use cotangent::transform::{Lifted, Request, shadow_name};

use super::from_outside::is_from_outside;
use super::layout::{Precision, Scalar, layout};
use super::memory::{Buffer, Memory, Value};
use super::program::{Evaluation, Variant, called_by_harness};
use super::random::Random;
use super::values::Spec;

/// One floating number of a named parameter.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) buffer: usize,
    pub(crate) index: usize,
    /// Whether the caller sees what becomes of it.
    pub(crate) is_output: bool,
    /// Whether the function frees the memory: nothing depends on what is there at the end.
    pub(crate) is_freed: bool,
    /// As the user would write it.
    pub(crate) name: String,
}

/// The function, its inputs, and where its numbers are.
pub(crate) struct Problem<'a> {
    pub(crate) module: &'a Module,
    /// Its parameters, and after them those that stand for the variables which are named.
    function: &'a Function,
    /// How many are its own.
    own: usize,
    named: Vec<usize>,
    base: Memory,
    pub(crate) entries: Vec<Entry>,
    /// The floating numbers of the result: their positions in it, and their names.
    pub(crate) results: Vec<(usize, String)>,
    /// Whether the pushforward gives the result's tangent.
    result_has_tangent: bool,
    /// The forms of reverse mode that there are, and the element type of the record that each takes.
    gradients: Vec<(Variant, Option<Type>)>,
    /// What the framework form takes after the function's own arguments.
    framework: Vec<FrameworkArg>,
    /// The parameters whose memory the gradient leaves as it was.
    rolled_back: Vec<usize>,
    /// Whether adjoints of half precision are `float`.
    has_wide_adjoints: bool,
}

/// An argument of the framework form; `at` is the position among what is named.
#[derive(Debug, Clone, Copy)]
enum FrameworkArg {
    /// A gradient, or a cotangent if it is `const`.
    Adjoint { at: usize, is_const: bool },
    /// The cotangent of an array that has a gradient too.
    After(usize),
    /// How many elements it has.
    Count(usize),
}

/// The gradient in its forms, each with all that it needs.
#[derive(Default)]
pub(crate) struct Gradients {
    /// As it is printed. None if there is no reverse mode for it.
    pub(crate) proved: Option<Module>,
    /// With all analyses off. None if that is no different.
    pub(crate) unproved: Option<Module>,
    /// With its launcher, which gathers what is added. None if that does nothing else.
    pub(crate) gathered: Option<Module>,
    /// In the framework form, if that is asked for.
    pub(crate) framework: Option<Module>,
    /// With one planner alone or none, where that is no other form's text: random kernels are checked so.
    pub(crate) alone: Vec<(&'static str, Module)>,
}

impl Gradients {
    /// The forms that there are.
    pub(crate) fn variants(&self) -> Vec<(Variant, &Module)> {
        let forms = [
            (Variant::Reverse, &self.proved),
            (Variant::Unproved, &self.unproved),
            (Variant::Gathered, &self.gathered),
            (Variant::Framework, &self.framework),
        ];
        let alone = self.alone.iter().map(|(planner, module)| (Variant::Alone(planner), module));
        forms.into_iter().filter_map(|(variant, module)| Some((variant, module.as_ref()?))).chain(alone).collect()
    }
}

/// Floats after a call: those of entries that are outputs, then those of the result.
pub(crate) type Outputs = Vec<f64>;

impl<'a> Problem<'a> {
    pub(crate) fn new(
        lifted: &'a Lifted,
        request: &Request,
        forward: &Module,
        specs: &[Spec],
        length: usize,
        random: &mut Random,
    ) -> Result<Self> {
        let module = &lifted.module;
        let function = &module.functions[request.function];
        let own = function.params.len() - lifted.variables.len();
        if specs.len() != own {
            bail!("`{}` has {own} parameters, and --args gives {}", function.name, specs.len());
        }
        let of_variables = lifted.variables.iter().map(|variable| match &module.globals[*variable].ty {
            Type::Array(_, length) => Spec::Random(*length as usize),
            _ => Spec::Random(1),
        });
        let specs: Vec<Spec> = specs.iter().cloned().chain(of_variables).collect();
        let mut base = Memory::default();
        // The parameters' own buffers come first, so nested ones are appended after them.
        let mut nested = Vec::new();
        for (param, spec) in function.params.iter().zip(&specs) {
            let mut own = Memory::default();
            own.parameter(module, &function.locals[*param].ty, spec, length, random);
            nested.push(own);
        }
        let mut next = function.params.len();
        let mut behind = Vec::new();
        for own in nested {
            let first = next - 1;
            let moved = |target: usize| first + target;
            let mut buffers = own.buffers.into_iter().map(|mut buffer| {
                for value in &mut buffer.values {
                    if let Value::Pointer(Some(target)) = value {
                        *target = moved(*target);
                    }
                }
                buffer
            });
            base.buffers.extend(buffers.next());
            let before = behind.len();
            behind.extend(buffers);
            next += behind.len() - before;
        }
        base.buffers.extend(behind);
        let positions = |params: &[LocalId]| -> Vec<usize> {
            params.iter().filter_map(|param| function.params.iter().position(|known| known == param)).collect()
        };
        let named = positions(&lifted.wrt);
        let name = |param: LocalId| lifted.name_of(request.function, param);
        let entries = entries(module, function, &base, &named, &name);
        let leaves = layout(module, &function.result, Precision::Native).leaves.into_iter().enumerate();
        let is_compared = !is_from_outside(function);
        let floats = leaves.filter(|(_, leaf)| is_compared && matches!(leaf.scalar, Scalar::Float(_)));
        let results: Vec<(usize, String)> =
            floats.map(|(index, leaf)| (index, format!("result{}", leaf.path))).collect();
        let tangents = forward.functions.iter().last().map_or(0, |pushforward| pushforward.params.len());
        // A kernel that calls a device function has a place for its result.
        let entry_result = usize::from(function.result != Type::Void && function.space != Space::Host);
        let result_has_tangent = tangents > own + named.len() + entry_result;
        Ok(Problem {
            module,
            function,
            own,
            named,
            base,
            entries,
            results,
            result_has_tangent,
            gradients: Vec::new(),
            framework: Vec::new(),
            rolled_back: positions(&request.rolled_back),
            has_wide_adjoints: request.wide_adjoints,
        })
    }

    /// The same for gradients, which may take a record. The harness makes it as large as it must be.
    pub(crate) fn with_gradients(mut self, gradients: &Gradients) -> Self {
        let record = |gradient: &Module| {
            let called = called_by_harness(gradient)?;
            let param = called.record_params().first()?;
            called.locals[*param].ty.pointee().cloned()
        };
        if let Some(framework) = &gradients.framework {
            self.framework = self.framework_args(framework);
        }
        self.gradients =
            gradients.variants().into_iter().map(|(variant, gradient)| (variant, record(gradient))).collect();
        self
    }

    /// The values that the entries have now, drawn anew where they are random.
    pub(crate) fn point(&self) -> Vec<f64> {
        self.entries.iter().map(|entry| self.base.float(entry.buffer, entry.index)).collect()
    }

    /// The name of the function.
    pub(crate) fn name(&self) -> &str {
        &self.function.name
    }

    /// The name of a parameter.
    pub(crate) fn parameter_name(&self, position: usize) -> &str {
        self.function.local_name(self.function.params[position])
    }

    /// The names of outputs, in the order of [`Outputs`].
    pub(crate) fn output_names(&self) -> Vec<&str> {
        let outputs = self.entries.iter().filter(|entry| entry.is_output).map(|entry| &*entry.name);
        outputs.chain(self.results.iter().map(|(_, name)| &**name)).collect()
    }

    /// The buffers of variables.
    fn variables(&self) -> Vec<usize> {
        (self.own..self.function.params.len()).collect()
    }

    fn at(&self, point: &[f64]) -> Memory {
        let mut memory = self.base.clone();
        for (entry, value) in self.entries.iter().zip(point) {
            memory.buffers[entry.buffer].values[entry.index] = Value::Float(*value);
        }
        memory
    }

    /// The user's function at a point.
    pub(crate) fn primal(&self, point: &[f64]) -> Evaluation {
        let mut memory = self.at(point);
        let mut args: Vec<usize> = (0..self.own).collect();
        if self.function.result != Type::Void {
            args.push(memory.zero(self.module, &self.function.result));
        }
        Evaluation { variant: Variant::Primal, memory, args, variables: self.variables() }
    }

    /// The pushforward at a point along a direction.
    pub(crate) fn forward(&self, point: &[f64], direction: &[f64]) -> Evaluation {
        let mut evaluation = self.with_shadows(Variant::Forward, self.at(point), direction);
        if self.result_has_tangent {
            let tangent = evaluation.memory.zero(self.module, &self.function.result);
            evaluation.args.push(tangent);
        }
        self.add_result(&mut evaluation);
        evaluation
    }

    /// Whether there is a form of reverse mode.
    pub(crate) fn has(&self, gradient: Variant) -> bool {
        self.gradients.iter().any(|(variant, _)| *variant == gradient)
    }

    /// The gradient, in a form that there is, at a point with adjoints of the final contents; those of values are what
    /// is added to.
    pub(crate) fn reverse(&self, gradient: Variant, point: &[f64], adjoints: &[f64]) -> Option<Evaluation> {
        let (_, record) = self.gradients.iter().find(|(variant, _)| *variant == gradient)?;
        let mut evaluation = self.with_shadows(gradient, self.at(point), adjoints);
        if gradient == Variant::Framework {
            self.in_framework_form(&mut evaluation);
        }
        if let Some(word) = record {
            let record = evaluation.memory.zero(self.module, word);
            evaluation.args.push(record);
        }
        self.add_result(&mut evaluation);
        Some(evaluation)
    }

    /// The forms of the gradient that run in the place of what is printed: with additions gathered, and with one planner alone.
    pub(crate) fn others(&self, point: &[f64], adjoints: &[f64]) -> Vec<Evaluation> {
        let is_other = |variant: Variant| matches!(variant, Variant::Gathered | Variant::Framework | Variant::Alone(_));
        let others = self.gradients.iter().map(|(variant, _)| *variant).filter(|variant| is_other(*variant));
        others.filter_map(|variant| self.reverse(variant, point, adjoints)).collect()
    }

    /// What `f_vjp` takes, by the names of its parameters: `_d_x`, `_d_x_after` and `_d_x_count`.
    fn framework_args(&self, module: &Module) -> Vec<FrameworkArg> {
        let Some(entry) = module.functions.iter().last() else { return Vec::new() };
        let of = |param: &LocalId| {
            let name = entry.local_name(*param);
            let position = |suffix: &str| {
                let shadow = name.strip_suffix(suffix)?;
                let is_meant = |named: &usize| *shadow_name(self.parameter_name(*named)) == *shadow;
                self.named.iter().position(is_meant)
            };
            let is_const = matches!(&entry.locals[*param].ty, Type::Pointer(pointer) if pointer.is_const);
            position("_after")
                .map(FrameworkArg::After)
                .or_else(|| position("_count").map(FrameworkArg::Count))
                .or_else(|| position("").map(|at| FrameworkArg::Adjoint { at, is_const }))
        };
        entry.params.iter().filter_map(of).collect()
    }

    /// Gives a call with adjoints the arguments of the framework form. What is written holds no numbers before.
    fn in_framework_form(&self, evaluation: &mut Evaluation) {
        let shadows = evaluation.args.split_off(self.own);
        let memory = &mut evaluation.memory;
        let cotangents = memory.clone();
        for arg in &self.framework {
            let buffer = match *arg {
                FrameworkArg::Adjoint { at, is_const } => {
                    if !is_const {
                        memory.buffers[shadows[at]].values.fill(Value::Float(f64::NAN));
                    }
                    evaluation.args.push(shadows[at]);
                    continue;
                }
                FrameworkArg::After(at) => cotangents.buffers[shadows[at]].clone(),
                FrameworkArg::Count(at) => {
                    let count = cotangents.buffers[shadows[at]].count;
                    Buffer { ty: Type::SIZE, count: 1, values: vec![Value::Int(count as i128)] }
                }
            };
            evaluation.args.push(memory.buffers.len());
            memory.buffers.push(buffer);
        }
    }

    /// What the adjoints must hold after another form of the gradient, by what they hold after the gradient itself: a gradient
    /// that is written lacks what was there before, and a cotangent is as it was.
    pub(crate) fn expected_shadows(&self, variant: Variant, exact: Vec<f64>, adjoints: &[f64]) -> Vec<f64> {
        if variant != Variant::Framework {
            return exact;
        }
        let of = |((entry, exact), adjoint): ((&Entry, f64), &f64)| {
            let own = |arg: &FrameworkArg| match *arg {
                FrameworkArg::Adjoint { at, is_const } if self.named[at] == entry.buffer => Some(is_const),
                FrameworkArg::Adjoint { .. } | FrameworkArg::After(_) | FrameworkArg::Count(_) => None,
            };
            let is_begun =
                |arg: &FrameworkArg| matches!(*arg, FrameworkArg::After(at) if self.named[at] == entry.buffer);
            if self.framework.iter().find_map(own) == Some(true) {
                *adjoint
            } else if self.framework.iter().any(is_begun) {
                exact
            } else {
                exact - adjoint
            }
        };
        self.entries.iter().zip(exact).zip(adjoints).map(of).collect()
    }

    fn with_shadows(&self, variant: Variant, mut memory: Memory, shadow: &[f64]) -> Evaluation {
        let mut args: Vec<usize> = (0..self.own).collect();
        let at = |entry: &Entry| (entry.buffer, entry.index);
        let shadows: HashMap<(usize, usize), f64> = self.entries.iter().map(at).zip(shadow.iter().copied()).collect();
        for named in &self.named {
            let mut float = |buffer: usize, index: usize| shadows.get(&(buffer, index)).copied().unwrap_or_default();
            args.push(memory.buffers.len());
            let is_wide = self.has_wide_adjoints && variant != Variant::Forward;
            let ty = |ty: &Type| if is_wide { widened(self.module, ty) } else { ty.clone() };
            memory.shadow(*named, &ty, &mut float);
        }
        Evaluation { variant, memory, args, variables: self.variables() }
    }

    /// A call of a function that takes what the user's function left in its memory, the adjoints, and other arrays: which of
    /// them it takes is for the program to say.
    pub(crate) fn backward(&self, after: &Memory, adjoints: &[f64], others: &[Buffer]) -> Evaluation {
        let mut memory = after.clone();
        // A result lies behind the parameters.
        memory.buffers.truncate(self.base.buffers.len());
        let mut evaluation = self.with_shadows(Variant::Primal, memory, adjoints);
        for other in others {
            evaluation.args.push(evaluation.memory.buffers.len());
            evaluation.memory.buffers.push(other.clone());
        }
        evaluation
    }

    /// The named parameters: the position of each, and those of its entries.
    pub(crate) fn named_entries(&self) -> Vec<(usize, Vec<usize>)> {
        let of = |named: &usize| {
            let reached = self.base.reachable(*named);
            let own = self.entries.iter().enumerate().filter(|(_, entry)| reached.contains(&entry.buffer));
            (*named, own.map(|(position, _)| position).collect())
        };
        self.named.iter().map(of).collect()
    }

    fn add_result(&self, evaluation: &mut Evaluation) {
        if self.function.result != Type::Void {
            let result = evaluation.memory.zero(self.module, &self.function.result);
            evaluation.args.push(result);
        }
    }

    /// The shortest floating type that the function or what it calls computes with.
    pub(crate) fn shortest_kind(&self) -> FloatKind {
        fn shortest(ty: &Type) -> Option<FloatKind> {
            match ty {
                Type::Float(kind) => Some(*kind),
                Type::Pointer(pointer) => shortest(&pointer.pointee),
                Type::Array(element, _) => shortest(element),
                Type::Void | Type::Bool | Type::Int(_) | Type::Record(_) | Type::Opaque(_) => None,
            }
        }
        let fields = self.module.records.iter().flat_map(|record| record.fields.iter().map(|field| &field.ty));
        let locals = self.module.functions.iter().flat_map(|function| function.locals.iter().map(|local| &local.ty));
        let kinds: Vec<FloatKind> = fields.chain(locals).filter_map(shortest).collect();
        // That of `__nv_bfloat16` has fewer digits than that of `__half`.
        let order = [FloatKind::BFloat, FloatKind::Half, FloatKind::Float];
        order.into_iter().find(|kind| kinds.contains(kind)).unwrap_or(FloatKind::Double)
    }

    /// What the function computed, by whichever call.
    pub(crate) fn outputs(&self, args: &[usize], after: &Memory) -> Outputs {
        let outputs = self.entries.iter().filter(|entry| entry.is_output);
        let mut values: Outputs = outputs.map(|entry| after.float(entry.buffer, entry.index)).collect();
        if let Some(result) = args.last() {
            values.extend(self.results.iter().map(|(index, _)| after.float(*result, *index)));
        }
        values
    }

    /// What a call must leave where the program leaves `values`: what is rolled back is as it was at the point.
    pub(crate) fn expected(&self, variant: Variant, point: &[f64], values: &[f64]) -> Outputs {
        let mut expected = values.to_vec();
        if variant != Variant::Forward {
            let outputs = self.entries.iter().zip(point).filter(|(entry, _)| entry.is_output);
            for (value, (entry, before)) in expected.iter_mut().zip(outputs) {
                if self.rolled_back.contains(&entry.buffer) {
                    *value = *before;
                }
            }
        }
        expected
    }

    /// The shadows of all entries after a call.
    pub(crate) fn shadows(&self, after: &Memory) -> Vec<f64> {
        let mut first = self.base.buffers.len();
        let mut places = Vec::new();
        for named in &self.named {
            let reached = self.base.reachable(*named);
            places.extend(reached.iter().enumerate().map(|(index, buffer)| (*buffer, first + index)));
            first += reached.len();
        }
        let shadow = |entry: &Entry| {
            let place = places.iter().find(|(primal, _)| *primal == entry.buffer);
            place.map_or(0.0, |(_, shadow)| after.float(*shadow, entry.index))
        };
        self.entries.iter().map(shadow).collect()
    }

    /// The tangents of outputs after a pushforward.
    pub(crate) fn tangents(&self, args: &[usize], after: &Memory) -> Outputs {
        let all = self.shadows(after);
        let outputs = self.entries.iter().zip(all).filter(|(entry, _)| entry.is_output);
        let mut values: Outputs = outputs.map(|(_, tangent)| tangent).collect();
        let tangent = self.result_has_tangent.then(|| args[args.len() - 2]);
        values.extend(self.results.iter().map(|(index, _)| tangent.map_or(0.0, |buffer| after.float(buffer, *index))));
        values
    }
}

/// The type of an adjoint that is `float` for half precision.
fn widened(module: &Module, ty: &Type) -> Type {
    let is_half = |ty: &Type| *ty != ty.at_least_single();
    match ty {
        Type::Record(id) if module.records[*id].is_builtin => match module.records[*id].fields.as_slice() {
            // As `float2` lies in memory.
            [x, y] if is_half(&x.ty) && is_half(&y.ty) => Type::Array(Box::new(Type::FLOAT), 2),
            _ => ty.clone(),
        },
        Type::Array(element, length) => Type::Array(Box::new(widened(module, element)), *length),
        Type::Record(_)
        | Type::Void
        | Type::Bool
        | Type::Int(_)
        | Type::Float(_)
        | Type::Pointer(_)
        | Type::Opaque(_) => ty.at_least_single(),
    }
}

fn entries(
    module: &Module,
    function: &Function,
    base: &Memory,
    named: &[usize],
    name: &dyn Fn(LocalId) -> String,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    let freed = freed_params(module, function);
    for param in named {
        let local = &function.locals[function.params[*param]];
        let own_name = name(function.params[*param]);
        for buffer in base.reachable(*param) {
            let leaves = layout(module, &base.buffers[buffer].ty, Precision::Native).leaves;
            let is_own = buffer == *param;
            for (index, value) in base.buffers[buffer].values.iter().enumerate() {
                let leaf = &leaves[index % leaves.len()];
                let Value::Float(_) = value else { continue };
                let element = index / leaves.len();
                let name = match (is_own, local.ty.is_pointer()) {
                    (true, false) => format!("{own_name}{}", leaf.path),
                    (true, true) => format!("{own_name}[{element}]{}", leaf.path),
                    (false, _) => format!("{own_name}->…[{element}]{}", leaf.path),
                };
                let is_freed = freed.contains(&function.params[*param]);
                let is_output = !is_freed && (!is_own || local.ty.is_pointer());
                entries.push(Entry { buffer, index, is_output, is_freed, name });
            }
        }
    }
    entries
}
