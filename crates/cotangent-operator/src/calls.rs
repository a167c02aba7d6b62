//! What the functions of an operator launch, and in which memory: the same for all frameworks.

use crate::arguments::{Argument, Array, Extra, Of, Operand, Operator, Own, Part, Role};

/// One of an operator's functions: the kernel, its gradient, or the gradient of that.
pub(crate) struct Call {
    /// As in `kernels.h`, before the type of data.
    pub(crate) name: &'static str,
    /// What it takes, in order.
    pub(crate) operands: Vec<Operand>,
    /// The memory that it works in: first the kernel's own arrays.
    pub(crate) memory: Vec<Memory>,
    /// What the function of `kernels.h` is called with after the launch: first the kernel's own arguments.
    pub(crate) given: Vec<Given>,
    /// Which of the memory it returns.
    pub(crate) results: Vec<String>,
    /// The operands whose gradients the next function returns, in that order.
    pub(crate) differentiable: Vec<String>,
    /// Whether it works in a record too, whose size another function counts.
    pub(crate) has_record: bool,
}

/// An array in memory.
pub(crate) struct Memory {
    pub(crate) name: String,
    /// What it holds before the launch.
    pub(crate) begins: Begins,
    /// What its shape and type are.
    pub(crate) like: Like,
    /// How many numbers the kernel's own element has.
    pub(crate) width: usize,
}

impl Memory {
    /// How many elements it has for the kernel, in C++, of an expression for how many numbers it has.
    pub(crate) fn count(&self, numbers: String) -> String {
        if self.width == 1 { numbers } else { format!("{numbers} / {}", self.width) }
    }

    /// Whether it is what the kernel stores this result in.
    pub(crate) fn is_of_result(&self, name: &str) -> bool {
        self.name == own(name)
    }
}

/// What memory holds before a launch.
pub(crate) enum Begins {
    /// It is this operand, which is only read.
    Operand(String),
    /// A copy of this operand.
    Copy(String),
    Zero,
    /// All of it is stored to, by a launch of at least one block.
    Anything,
}

/// What has the same shape and type.
pub(crate) enum Like {
    /// This operand.
    Operand(String),
    /// This result of the kernel.
    Result(String),
}

impl Like {
    /// What of the kernel's own memory has that shape and type.
    pub(crate) fn memory(&self) -> String {
        match self {
            Like::Operand(name) | Like::Result(name) => own(name),
        }
    }
}

/// An argument.
pub(crate) enum Given {
    /// Where this memory begins.
    Memory(String),
    /// How many elements it has for the kernel.
    Count(String),
    /// The kernel's parameter of this name, a number.
    Number(String),
    /// Memory for the record.
    Record(OfRecord),
    /// How many bytes the record has.
    RecordBytes,
}

/// The three things that the gradient of a gradient wants of its function's record: all begin with zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OfRecord {
    Itself,
    Cotangent,
    Gradient,
}

/// The functions of an operator.
pub(crate) fn calls(operator: &Operator<'_>) -> Vec<Call> {
    let mut calls = vec![forward(operator), backward(operator)];
    calls.extend(twice(operator));
    calls
}

impl Call {
    /// With what all of them have: the kernel's own operands, memory and arguments.
    fn of(operator: &Operator<'_>, name: &'static str) -> Call {
        let mut call = Call {
            name,
            operands: operator.operands().collect(),
            memory: Vec::new(),
            given: operator.arguments.iter().filter_map(given).collect(),
            results: Vec::new(),
            differentiable: Vec::new(),
            has_record: false,
        };
        for array in operator.inputs() {
            let name = array.name.clone();
            let begins = if array.role == Role::InPlace { Begins::Copy(name) } else { Begins::Operand(name) };
            call.keep(own(&array.name), begins, like(array), array);
        }
        for array in operator.arrays().filter(|array| array.role == Role::Output) {
            call.keep(own(&array.name), Begins::Zero, like(array), array);
        }
        call
    }

    /// Memory with the elements of an array.
    fn keep(&mut self, name: String, begins: Begins, like: Like, array: &Array) {
        self.memory.push(Memory { name, begins, like, width: array.width });
    }

    /// Takes one array more, which is like another.
    fn take(&mut self, name: &str, array: &Array) {
        self.operands.push(Operand { name: name.to_owned(), kind: None });
        self.keep(own(name), Begins::Operand(name.to_owned()), like(array), array);
    }

    /// What the function of a gradient takes after its function's own arguments.
    fn give(
        &mut self,
        extras: &[Extra],
        cotangent: impl Fn(&Of) -> Given,
        gradient: impl Fn(&Of) -> Given,
        count: impl Fn(&Of) -> Given,
    ) {
        self.given.extend(extras.iter().map(|extra| match extra.part {
            Part::Cotangent => cotangent(&extra.of),
            Part::Gradient => gradient(&extra.of),
            Part::Count => count(&extra.of),
        }));
    }

    /// Memory that is handed on or returned.
    pub(crate) fn memory_of(&self, name: &str) -> &Memory {
        self.memory.iter().find(|memory| memory.name == name).expect("what is handed on or returned is planned")
    }
}

/// The kernel's own argument.
fn given(argument: &Argument) -> Option<Given> {
    match argument {
        Argument::Array(array) => Some(Given::Memory(own(&array.name))),
        Argument::Number(number) => Some(Given::Number(number.name.clone())),
        // It is part of the launch.
        Argument::Stream => None,
    }
}

/// The memory of an operand, or of one of the kernel's results.
fn own(name: &str) -> String {
    format!("{name}_own")
}

fn like(array: &Array) -> Like {
    match array.role {
        Role::InPlace | Role::Input => Like::Operand(array.name.clone()),
        Role::Output => Like::Result(array.name.clone()),
    }
}

fn forward(operator: &Operator<'_>) -> Call {
    let mut call = Call::of(operator, "forward");
    call.results = operator.results().map(|array| own(&array.name)).collect();
    call.differentiable = operator.inputs().filter(|array| array.is_active).map(|array| array.name.clone()).collect();
    call
}

/// The arrays whose gradients are returned, and those whose cotangents come in.
fn active<'o>(operator: &'o Operator<'_>) -> (Vec<&'o Array>, Vec<&'o Array>) {
    let inputs = operator.inputs().filter(|array| array.is_active).collect();
    (inputs, operator.results().filter(|array| array.is_active).collect())
}

fn name_of(of: &Of) -> &str {
    match of {
        Of::Array(name) => name,
        Of::Adjoint(Own::Sum(name) | Own::Cotangent(name) | Own::Changed(name)) => name,
        Of::Adjoint(Own::Record) => "record",
    }
}

fn backward(operator: &Operator<'_>) -> Call {
    let mut call = Call::of(operator, "backward");
    let (inputs, results) = active(operator);
    for array in &results {
        call.take(&format!("grad_{}", array.name), array);
    }
    for array in &inputs {
        call.keep(format!("d_{}", array.name), Begins::Anything, like(array), array);
        call.results.push(format!("d_{}", array.name));
    }
    let begins_made = |array: &&Array| array.role == Role::Output && has_gradient(&operator.backward, &array.name);
    for array in operator.arrays().filter(begins_made) {
        // The gradient of the zeros that it begins with, which nobody asks for.
        call.keep(format!("d_{}", array.name), Begins::Anything, like(array), array);
    }
    let cotangent = |of: &Of| format!("grad_{}_own", name_of(of));
    let gradient = |of: &Of| format!("d_{}", name_of(of));
    let is_result_only = |name: &str| operator.arrays().any(|array| array.name == name && array.role == Role::Output);
    let count = |of: &Of| if is_result_only(name_of(of)) { cotangent(of) } else { gradient(of) };
    let memory = |name: String| Given::Memory(name);
    call.give(&operator.backward, |of| memory(cotangent(of)), |of| memory(gradient(of)), |of| Given::Count(count(of)));
    let cotangents = results.iter().map(|array| format!("grad_{}", array.name));
    call.differentiable = inputs.iter().map(|array| array.name.clone()).chain(cotangents).collect();
    call
}

/// Whether a gradient of this array is written.
fn has_gradient(extras: &[Extra], name: &str) -> bool {
    extras.iter().any(|extra| extra.part == Part::Gradient && matches!(&extra.of, Of::Array(of) if of == name))
}

fn twice(operator: &Operator<'_>) -> Option<Call> {
    let twice = operator.twice.as_ref()?;
    let mut call = Call::of(operator, "backward_backward");
    call.has_record = twice.has_record();
    let (inputs, results) = active(operator);
    for array in &results {
        call.take(&format!("grad_{}", array.name), array);
    }
    for array in &inputs {
        let name = &array.name;
        call.take(&format!("gg_{name}"), array);
        for kept in ["d", "sum", "none"] {
            call.keep(format!("{kept}_{name}"), Begins::Zero, like(array), array);
        }
        call.keep(format!("discarded_{name}"), Begins::Anything, like(array), array);
        call.results.push(format!("d_{name}"));
    }
    for array in &results {
        // Nobody uses what the gradient leaves in a result either.
        if twice.changes(&array.name) && array.role == Role::Output {
            for kept in ["d", "none"] {
                call.keep(format!("{kept}_{}", array.name), Begins::Zero, like(array), array);
            }
        }
        let grad = format!("grad_{}", array.name);
        let like = || Like::Operand(grad.clone());
        call.keep(format!("d_{grad}"), Begins::Zero, like(), array);
        call.keep(format!("changed_{}", array.name), Begins::Copy(grad.clone()), like(), array);
        call.keep(format!("unused_{}", array.name), Begins::Zero, like(), array);
        call.results.push(format!("d_{grad}"));
    }
    call.given.extend(twice.own.iter().map(|own| match own {
        Own::Sum(name) => Given::Memory(format!("sum_{name}")),
        Own::Cotangent(name) => Given::Memory(format!("grad_{name}_own")),
        Own::Changed(name) => Given::Memory(format!("changed_{name}")),
        Own::Record => Given::Record(OfRecord::Itself),
    }));
    let is_input = |name: &str| inputs.iter().any(|array| array.name == name);
    let cotangent = |of: &Of| match of {
        // Nobody uses what the function leaves there.
        Of::Array(name) => Given::Memory(format!("none_{name}")),
        Of::Adjoint(Own::Sum(name)) => Given::Memory(format!("gg_{name}_own")),
        Of::Adjoint(Own::Changed(name)) if is_input(name) => Given::Memory(format!("gg_{name}_own")),
        Of::Adjoint(Own::Cotangent(name) | Own::Changed(name)) => Given::Memory(format!("unused_{name}")),
        Of::Adjoint(Own::Record) => Given::Record(OfRecord::Cotangent),
    };
    let gradient = |of: &Of| match of {
        Of::Array(name) => Given::Memory(format!("d_{name}")),
        // The gradient of what the sum was before, which is zero.
        Of::Adjoint(Own::Sum(name)) => Given::Memory(format!("discarded_{name}")),
        Of::Adjoint(Own::Cotangent(name) | Own::Changed(name)) => Given::Memory(format!("d_grad_{name}")),
        Of::Adjoint(Own::Record) => Given::Record(OfRecord::Gradient),
    };
    let count = |of: &Of| match gradient(of) {
        Given::Memory(name) => Given::Count(name),
        // How large a word is depends on the type of data.
        _ => Given::RecordBytes,
    };
    call.give(&twice.extras, cotangent, gradient, count);
    Some(call)
}
