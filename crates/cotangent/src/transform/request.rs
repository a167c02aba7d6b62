//! What is to be differentiated, from the names that the user gave.

use super::differentiable::{contains_pointer, differentiable_parameters};
use super::{RecordBudget, Trust};
use crate::analysis::carries_floats;
use crate::analysis::uses_memory;
use crate::diagnostic::{Diagnostic, NOT_DIFFERENTIABLE};
use crate::ir::{Function, FunctionId, GlobalId, Local, LocalId, Module, Space, Storage, Type};

/// What is to be differentiated, and with respect to what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The function.
    pub function: FunctionId,
    /// What is named, in the order named; all else is constant.
    pub wrt: Vec<Named>,
    /// What the derivative may rest on.
    pub analyses: Analyses,
    /// In how many functions reverse mode is written.
    pub form: Form,
    /// Parameters whose memory ends as it was before the call: the reverse sweep takes every store back.
    pub rolled_back: Vec<LocalId>,
    /// How many slots the record has for each thread, where the user says so.
    pub record_slots: Option<u32>,
    /// How much a thread of a kernel may record for an iteration of a loop.
    pub record_budget: Option<RecordBudget>,
    /// Whether loops of host functions are run again from checkpoints, within a budget that the program states when it runs.
    pub is_checkpointed: bool,
    /// Whether adjoints of arrays of half precision are `float` in reverse mode.
    pub wide_adjoints: bool,
    /// Whether additions whose order is not fixed are refused.
    pub is_deterministic: bool,
    /// Whether cotangents stay as they are, and gradients are written.
    pub is_pure: bool,
    /// Whether there is to be nothing that chooses among kernels before a launch.
    pub is_of_device: bool,
    /// What is not believed, in tests.
    pub trust: Trust,
}

/// What a derivative is with respect to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// A parameter of the function.
    Parameter(LocalId),
    /// A variable of the device.
    Variable(GlobalId),
}

/// In how many functions reverse mode is written.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Form {
    /// Both sweeps in one.
    #[default]
    Joint,
    /// One for each, for a reverse sweep that runs later than the forward sweep.
    Split {
        /// Parameters that lead to memory which may change between the two.
        saved: Vec<LocalId>,
    },
}

/// What a derivative may rest on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Analyses {
    /// Proofs that threads do not meet.
    #[default]
    On,
    /// No proof: whatever threads might share is added to atomically, one addition for each use. The numbers must be
    /// the same, which is how the proofs are tested; the result is not for GPUs, whose atomics refuse local memory.
    Off,
}

impl Request {
    /// The request for these parameters.
    pub fn of(function: FunctionId, wrt: Vec<LocalId>) -> Request {
        Request::naming(function, wrt.into_iter().map(Named::Parameter).collect())
    }

    fn naming(function: FunctionId, wrt: Vec<Named>) -> Request {
        Request {
            function,
            wrt,
            analyses: Analyses::On,
            form: Form::Joint,
            rolled_back: Vec::new(),
            record_slots: None,
            record_budget: None,
            is_checkpointed: false,
            wide_adjoints: false,
            is_deterministic: false,
            is_pure: false,
            is_of_device: false,
            trust: Trust::default(),
        }
    }

    /// The names of what is named, in order.
    pub fn names<'m>(&self, module: &'m Module) -> Vec<&'m str> {
        let function = &module.functions[self.function];
        let name = |named: &Named| match named {
            Named::Parameter(param) => function.local_name(*param),
            Named::Variable(variable) => &*module.globals[*variable].name,
        };
        self.wrt.iter().map(name).collect()
    }

    /// The same request, with proofs or without.
    #[must_use]
    pub fn with_analyses(self, analyses: Analyses) -> Request {
        Request { analyses, ..self }
    }

    /// The same request, in which not everything is believed.
    #[must_use]
    pub fn with_trust(self, trust: Trust) -> Request {
        Request { trust, ..self }
    }

    /// The same request in the split form. Memory that the parameters `saved` lead to may change between the two functions.
    ///
    /// # Errors
    /// A function of the device, a name that is no parameter's or of one that leads to no memory, any name for a host function.
    pub fn split(self, module: &Module, saved: &[String]) -> Result<Request, Vec<Diagnostic>> {
        let function = &module.functions[self.function];
        let refused = |message: String, label: &str, help: &str| {
            Err(vec![Diagnostic::new(NOT_DIFFERENTIABLE, function.span, message, label).help(help)])
        };
        match function.space {
            Space::Device => {
                let message = format!("`{}` is no kernel, and no function of the host", function.name);
                let help = "split the kernel that calls it, or leave out `--split`";
                return refused(message, "a device function", help);
            }
            Space::Host if !saved.is_empty() => {
                let message =
                    format!("`{}` is a host function, whose record holds no arrays of its parameters", function.name);
                let help = "leave out `--save`, and keep a copy of what changes between the two functions";
                return refused(message, "not with `--save`", help);
            }
            Space::Host | Space::Kernel => {}
        }
        let saved = arrays(module, function, saved)?;
        Ok(Request { form: Form::Split { saved }, ..self })
    }

    /// The same request, by which the memory of these parameters ends as it was before the call.
    ///
    /// # Errors
    /// A name that is no parameter's or of one that leads to no memory.
    pub fn rolled_back(self, module: &Module, names: &[String]) -> Result<Request, Vec<Diagnostic>> {
        let rolled_back = arrays(module, &module.functions[self.function], names)?;
        Ok(Request { rolled_back, ..self })
    }

    /// The same request with a record of so many slots for each thread; else they are counted before the launch.
    #[must_use]
    pub fn with_record_slots(self, record_slots: Option<u32>) -> Request {
        Request { record_slots, ..self }
    }

    /// The same request with at most so much recorded by a thread for an iteration of a loop.
    #[must_use]
    pub fn with_record_budget(self, record_budget: Option<RecordBudget>) -> Request {
        Request { record_budget, ..self }
    }

    /// The same request, with loops of host functions that are run again from checkpoints, or without.
    #[must_use]
    pub fn with_checkpoints(self, is_checkpointed: bool) -> Request {
        Request { is_checkpointed, ..self }
    }

    /// The same request, of whose derivative every run gives the same bits, or not.
    #[must_use]
    pub fn deterministic(self, is_deterministic: bool) -> Request {
        Request { is_deterministic, ..self }
    }

    /// The same request, of which only what runs on the device is printed.
    ///
    /// # Errors
    /// A function of the host.
    pub fn of_device(self, module: &Module, is_of_device: bool) -> Result<Request, Vec<Diagnostic>> {
        let function = &module.functions[self.function];
        if is_of_device && function.space == Space::Host {
            let message = format!("`{}` is a function of the host", function.name);
            let help = "differentiate the kernels that it launches, one by one";
            let refused = Diagnostic::new(NOT_DIFFERENTIABLE, function.span, message, "not with `--target nvrtc`");
            return Err(vec![refused.help(help)]);
        }
        Ok(Request { is_of_device, ..self })
    }

    /// The same request in the framework form: cotangents stay as they are, and gradients are written.
    ///
    /// # Errors
    /// What the function that launches or calls the derivative cannot clear or copy: functions of the device and their variables, a
    /// result, and what leads to more memory than one array.
    pub fn pure(self, module: &Module, is_pure: bool) -> Result<Request, Vec<Diagnostic>> {
        if !is_pure {
            return Ok(self);
        }
        let function = &module.functions[self.function];
        let is_flat = |ty: &Type| !contains_pointer(module, ty.pointee().unwrap_or(ty));
        let refused = |span, message: String, help: &str| {
            Diagnostic::new(NOT_DIFFERENTIABLE, span, message, "not with `--pure`").help(help)
        };
        let found = |named: &Named| match named {
            Named::Variable(variable) => {
                let variable = &module.globals[*variable];
                let message = format!("`{}` is a variable of the device", variable.name);
                Some(refused(variable.span, message, "hand it to the kernel as a parameter"))
            }
            Named::Parameter(param) => {
                let local = &function.locals[*param];
                let message = || format!("`{}` leads to more than one array", local.name);
                let help = "hand over each array as a parameter";
                (!is_flat(&local.ty)).then(|| refused(local.span, message(), help))
            }
        };
        let mut all: Vec<Diagnostic> = self.wrt.iter().filter_map(found).collect();
        if function.space == Space::Device {
            let message = format!("`{}` is no kernel, and no function of the host", function.name);
            all.push(refused(function.span, message, "differentiate the kernel that calls it"));
        }
        if carries_floats(module, &function.result) || function.result.is_pointer() {
            let message = format!("`{}` returns a value, whose cotangent nobody hands in", function.name);
            all.push(refused(function.span, message, "let it store the value where a parameter points"));
        }
        if all.is_empty() { Ok(Request { is_pure, ..self }) } else { Err(all) }
    }

    /// The same request, with adjoints of arrays of half precision in `float` or in their own type.
    ///
    /// # Errors
    /// What states the type of adjoints itself: host functions, which allocate as much for adjoints as for values, dynamic
    /// shared memory likewise, structs with pointers, and rules of the user's.
    pub fn with_wide_adjoints(self, module: &Module, wide_adjoints: bool) -> Result<Request, Vec<Diagnostic>> {
        let function = &module.functions[self.function];
        let leads_to_half = |ty: &Type| ty.pointee().is_some_and(|pointee| *pointee != widest(pointee));
        let record = module.records.iter().find(|record| record.fields.iter().any(|field| leads_to_half(&field.ty)));
        let ruled = module
            .rules
            .iter()
            .map(|rule| &module.functions[rule.function])
            .find(|ruled| ruled.params.iter().any(|param| leads_to_half(&ruled.locals[*param].ty)));
        let dynamic = module.functions.iter().find_map(|function| {
            let is_short = |local: &&Local| local.storage == Storage::DynamicShared && local.ty != widest(&local.ty);
            function.locals.iter().find(is_short)
        });
        let found = if !wide_adjoints {
            None
        } else if function.space == Space::Host {
            Some((&function.name, function.span, "is a host function, whose adjoints are as wide as its arrays"))
        } else if let Some(record) = record {
            Some((
                &record.name,
                record.span,
                "has pointers to half precision, and the adjoint of a struct has its type",
            ))
        } else if let Some(dynamic) = dynamic {
            let reason = "is dynamic shared memory, whose adjoints take as much again";
            Some((&dynamic.name, dynamic.span, reason))
        } else {
            ruled.map(|ruled| (&ruled.name, ruled.span, "has a rule, which takes adjoints of half precision"))
        };
        match found {
            None => Ok(Request { wide_adjoints, ..self }),
            Some((name, span, reason)) => {
                let help = "differentiate a kernel that takes pointers and calls no such function, or leave out \
                            `--wide-adjoints`";
                let message = format!("`{name}` {reason}");
                Err(vec![Diagnostic::new(NOT_DIFFERENTIABLE, span, message, "not with `--wide-adjoints`").help(help)])
            }
        }
    }

    /// The request for parameters, and variables of the device, by name; without names, for all parameters that can be
    /// named.
    ///
    /// # Errors
    /// A name that is neither's, is given twice, or is of what has no derivative.
    pub fn new(module: &Module, function: FunctionId, names: Option<&[String]>) -> Result<Request, Vec<Diagnostic>> {
        let able = differentiable_parameters(module, function);
        let Some(names) = names else { return Ok(Request::of(function, able)) };
        let known = &module.functions[function];
        let mut wrt = Vec::new();
        let mut found = Vec::new();
        for name in names {
            let param = known.params.iter().find(|param| known.local_name(**param) == name);
            let named = match param {
                Some(param) => Some((Named::Parameter(*param), able.contains(param))),
                None => variable(module, name).map(|id| (Named::Variable(id), can_be_named(module, id))),
            };
            let message = match named {
                None => no_parameter(known, name),
                Some((named, _)) if wrt.contains(&named) => format!("`{name}` is named twice"),
                Some((Named::Variable(variable), false)) => {
                    found.push(no_variable(module, variable, name));
                    continue;
                }
                Some((_, false)) => format!("`{name}` has no floating value and cannot be named"),
                Some((named, true)) => {
                    wrt.push(named);
                    continue;
                }
            };
            let label = "the parameters of this function";
            let refused = Diagnostic::new(NOT_DIFFERENTIABLE, known.span, message, label);
            let name_of = |param: &LocalId| known.local_name(*param);
            let (can, cannot): (Vec<&LocalId>, Vec<&LocalId>) =
                known.params.iter().partition(|param| able.contains(param));
            let list = |params: Vec<&LocalId>| match params.as_slice() {
                [] => "none".to_owned(),
                some => some.iter().map(|param| name_of(param)).collect::<Vec<_>>().join(", "),
            };
            let variables = module.globals.ids().filter(|id| can_be_named(module, *id));
            let variables: Vec<&str> = variables.map(|id| &*module.globals[id].name).collect();
            let others = match variables.as_slice() {
                [] => String::new(),
                some => format!("; variables that can be: {}", some.join(", ")),
            };
            found.push(refused.help(format!("can be named: {}; cannot: {}{others}", list(can), list(cannot))));
        }
        if found.is_empty() { Ok(Request::naming(function, wrt)) } else { Err(found) }
    }
}

/// The type with its numbers as wide as derivatives are.
fn widest(ty: &Type) -> Type {
    match ty {
        Type::Array(element, length) => Type::Array(Box::new(widest(element)), *length),
        Type::Pointer(pointer) => Type::pointer(widest(&pointer.pointee)),
        Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Record(_) | Type::Opaque(_) => {
            ty.at_least_single()
        }
    }
}

/// The variable outside functions that a name means: its whole name, or the last part of it if no other has that.
fn variable(module: &Module, name: &str) -> Option<GlobalId> {
    let name = name.trim_start_matches("::");
    let globals = || module.globals.entries();
    if let Some((exact, _)) = globals().find(|(_, variable)| &*variable.name == name) {
        return Some(exact);
    }
    let mut ends = globals().filter(|(_, variable)| variable.name.ends_with(&format!("::{name}")));
    ends.next().filter(|_| ends.next().is_none()).map(|(id, _)| id)
}

/// Whether a variable may be named: floats of the device, and nothing that leads elsewhere.
fn can_be_named(module: &Module, id: GlobalId) -> bool {
    let variable = &module.globals[id];
    variable.storage.is_on_device() && carries_floats(module, &variable.ty) && !contains_pointer(module, &variable.ty)
}

fn no_variable(module: &Module, id: GlobalId, name: &str) -> Diagnostic {
    let variable = &module.globals[id];
    let message = format!("`{name}` cannot be named");
    let label = match variable.storage.is_on_device() {
        true if contains_pointer(module, &variable.ty) => "it holds pointers",
        true => "it has no floating value",
        false => "it is no variable of the device",
    };
    let help = "name parameters, or `__constant__`, `__device__` or `__managed__` variables of floating numbers";
    Diagnostic::new(NOT_DIFFERENTIABLE, variable.span, message, label).help(help)
}

fn no_parameter(function: &Function, name: &str) -> String {
    match name {
        "" => format!("a name of a parameter of `{}` is empty", function.name),
        _ => format!("`{}` has no parameter `{name}`", function.name),
    }
}

/// Parameters that lead to memory, by name.
fn arrays(module: &Module, function: &Function, names: &[String]) -> Result<Vec<LocalId>, Vec<Diagnostic>> {
    let (mut params, mut found) = (Vec::new(), Vec::new());
    for name in names {
        let (message, label) = match function.params.iter().find(|param| function.local_name(**param) == name) {
            Some(param) if uses_memory(module, &function.locals[*param].ty) => {
                params.push(*param);
                continue;
            }
            Some(_) => (format!("`{name}` leads to no memory"), "it is passed by value"),
            None => (no_parameter(function, name), "the parameters of this function"),
        };
        let able = function.params.iter().filter(|param| uses_memory(module, &function.locals[**param].ty));
        let able: Vec<&str> = able.map(|param| function.local_name(*param)).collect();
        let help = match able.as_slice() {
            [] => "no parameter of it leads to memory".to_owned(),
            some => format!("can be named: {}", some.join(", ")),
        };
        found.push(Diagnostic::new(NOT_DIFFERENTIABLE, function.span, message, label).help(help));
    }
    if found.is_empty() { Ok(params) } else { Err(found) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    #[test]
    fn names_are_resolved_or_the_parameters_are_listed() {
        let module = text::parse("kernel k(n: int, x: const float*, y: float) { }").expect("the text is well-formed");
        let function = module.function("k").expect("the kernel");
        let request = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            Request::new(&module, function, Some(&names)).map(|request| request.wrt)
        };
        let params = |params: [u32; 2]| params.map(|param| Named::Parameter(LocalId(param))).to_vec();
        assert_eq!(request(&["y", "x"]), Ok(params([2, 1])));
        let all = Request::new(&module, function, None).expect("a request");
        assert_eq!(all.wrt, params([1, 2]));
        let found = request(&["z", "n", "x", "x", ""]).expect_err("four mistakes");
        let messages: Vec<&str> = found.iter().map(|found| &*found.message).collect();
        let expected = [
            "`k` has no parameter `z`",
            "`n` has no floating value and cannot be named",
            "`x` is named twice",
            "a name of a parameter of `k` is empty",
        ];
        assert_eq!(messages, expected);
        assert_eq!(found[0].help.as_deref(), Some("can be named: x, y; cannot: n"));
        let split = all.split(&module, &["z".to_owned(), "y".to_owned()]).expect_err("two mistakes");
        let helps: Vec<Option<&str>> = split.iter().map(|found| found.help.as_deref()).collect();
        assert_eq!(helps, [Some("can be named: x"); 2]);
    }
}
