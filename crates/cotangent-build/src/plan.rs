//! What a function of the module takes and does: from the metadata of a kernel, or of its gradient.

use cotangent::emit::{Described, Metadata, Parameter};
use serde_json::Value;

use crate::error::Error;
use crate::names;
use crate::structs::{Defined, defined};
use crate::types::Ty;

/// A function that launches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Launched {
    /// In Rust.
    pub(crate) name: String,
    /// What it is, in a sentence for its documentation.
    pub(crate) does: String,
    pub(crate) kernel: Kernel,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) record: Option<Record>,
    /// The structs of its arguments that Rust has too.
    pub(crate) structs: Vec<Defined>,
}

/// A kernel as it is launched.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kernel {
    /// In CUDA.
    pub(crate) name: String,
    /// Whether it takes twice the dynamic shared memory that is stated.
    pub(crate) doubles_shared: bool,
    /// How many parameters it has.
    pub(crate) parameters: usize,
}

/// An argument, in the kernel's order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Argument {
    /// In Rust.
    pub(crate) name: String,
    /// In CUDA, and so in formulas.
    pub(crate) of_cuda: String,
    pub(crate) ty: Ty,
    pub(crate) role: Role,
}

/// What becomes of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A number, or a struct.
    Number,
    /// An array that is read.
    Read,
    /// One that is changed.
    Changed,
    /// One that is cleared first: a gradient.
    Gradient,
    /// The gradient of a number.
    Sum,
    /// One of which the kernel gets a copy, which it changes: a cotangent.
    Copied,
}

/// The memory that takes values from one sweep to the other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Record {
    /// So many bytes.
    Bytes(Value),
    /// So many slots as a kernel counts, for each thread.
    Counted { kernel: Kernel, word_bytes: u64 },
}

/// The launch of a kernel itself.
pub(crate) fn of_kernel(metadata: &Metadata) -> Result<Launched, Error> {
    let kernel = metadata.functions.iter().find(|function| function.name == metadata.function);
    let kernel = checked(metadata, kernel)?;
    let structs = defined(&metadata.structs);
    Ok(Launched {
        name: names::function(&kernel.name),
        does: format!("Launches `{}`.", kernel.name),
        kernel: Kernel::of(kernel),
        arguments: own_arguments(&kernel.name, &kernel.parameters, &structs)?,
        record: None,
        structs,
    })
}

/// The launch of its gradient in the framework form.
pub(crate) fn of_gradient(metadata: &Metadata) -> Result<Launched, Error> {
    let gradient = checked(metadata, metadata.function_that("gradient"))?;
    let behind = metadata.adjoints.len() + usize::from(metadata.record.is_some());
    let own_count = gradient.parameters.len().saturating_sub(behind);
    let (own, adjoints) = gradient.parameters.split_at(own_count);
    let structs = defined(&metadata.structs);
    let mut arguments = own_arguments(&gradient.name, own, &structs)?;
    let taken: Vec<String> = own.iter().map(|param| param.name.clone()).collect();
    for (param, adjoint) in adjoints.iter().zip(&metadata.adjoints) {
        let (ty, _) = Ty::pointed(&param.ty, &structs).ok_or_else(|| no_type(&gradient.name, param))?;
        let is_of_number = own.iter().any(|own| own.name == adjoint.of && !own.ty.contains('*'));
        let role = match adjoint.before {
            "zero" if is_of_number => Role::Sum,
            "zero" => Role::Gradient,
            "copy" => Role::Copied,
            "gradient" => Role::Changed,
            _ => Role::Read,
        };
        arguments.push(Argument { name: names::parameter(&param.name, &taken), of_cuda: param.name.clone(), ty, role });
    }
    Ok(Launched {
        // In CUDA it says too by which parameters.
        name: format!("{}_grad", metadata.function),
        does: described(metadata, &arguments[own_count..]),
        kernel: Kernel::of(gradient),
        arguments,
        record: record(metadata)?,
        structs,
    })
}

impl Kernel {
    fn of(function: &Described) -> Kernel {
        Kernel {
            name: function.name.clone(),
            doubles_shared: function.has_twice_the_shared_memory,
            parameters: function.parameters.len(),
        }
    }
}

/// A function that can be launched, and whose variables nobody need set.
fn checked<'m>(metadata: &Metadata, function: Option<&'m Described>) -> Result<&'m Described, Error> {
    if !metadata.variables.is_empty() {
        let variables: Vec<String> = metadata.variables.iter().map(|name| format!("`{name}`")).collect();
        return Err(Error::Request(format!(
            "`{}` uses variables of the device, and nothing sets them in a Rust program: {}\n  Make them parameters.",
            metadata.function,
            variables.join(", ")
        )));
    }
    function.filter(|function| function.space == "kernel").ok_or_else(|| {
        Error::Request(format!(
            "`{}` is not a kernel, and nothing else is launched\n  Name a `__global__` function. A function of the host launches by itself: call it from C++.",
            metadata.function
        ))
    })
}

/// The arguments of the function that was differentiated.
fn own_arguments(function: &str, own: &[Parameter], structs: &[Defined]) -> Result<Vec<Argument>, Error> {
    let argument = |param: &Parameter| {
        let value = Ty::of(param.ty.strip_prefix("const ").unwrap_or(&param.ty), structs);
        // A vector of two or four by value lies where Rust does not put an array.
        let value = value.filter(|ty| ty.stricter_alignment().is_none()).map(|ty| (ty, Role::Number));
        let role = |(ty, is_changed)| (ty, if is_changed { Role::Changed } else { Role::Read });
        let found = value.or_else(|| Ty::pointed(&param.ty, structs).map(role)).ok_or_else(|| no_type(function, param));
        found.map(|(ty, role)| Argument {
            name: names::parameter(&param.name, &[]),
            of_cuda: param.name.clone(),
            ty,
            role,
        })
    };
    own.iter().map(argument).collect()
}

fn no_type(function: &str, param: &Parameter) -> Error {
    Error::Type { function: function.to_owned(), parameter: param.name.clone(), ty: param.ty.clone() }
}

fn record(metadata: &Metadata) -> Result<Option<Record>, Error> {
    let Some(record) = &metadata.record else { return Ok(None) };
    if let Some(bytes) = &record.bytes {
        return Ok(Some(Record::Bytes(bytes.clone())));
    }
    let counting = record.counted_by.as_ref();
    let counting = metadata.functions.iter().find(|function| Some(&function.name) == counting);
    let counting = counting.ok_or_else(|| {
        Error::Request(format!("the size of what `{}` records is told by nothing", metadata.function))
    })?;
    Ok(Some(Record::Counted { kernel: Kernel::of(counting), word_bytes: record.word_bytes }))
}

/// What a gradient reads and writes, in a sentence.
fn described(metadata: &Metadata, adjoints: &[Argument]) -> String {
    let of_role = |wanted: &[Role]| {
        let found = metadata.adjoints.iter().zip(adjoints).filter(|(_, argument)| wanted.contains(&argument.role));
        let words: Vec<String> =
            found.map(|(adjoint, given)| format!("`{}` of `{}`", given.name, adjoint.of)).collect();
        (!words.is_empty()).then(|| words.join(", "))
    };
    let parts = [
        ("reads the cotangents", of_role(&[Role::Read, Role::Copied])),
        ("turns cotangents into gradients", of_role(&[Role::Changed])),
        ("writes the gradients", of_role(&[Role::Gradient, Role::Sum])),
    ];
    let parts: Vec<String> = parts.into_iter().filter_map(|(does, what)| Some(format!("{does} {}", what?))).collect();
    format!("The gradient of `{}`: {}.", metadata.function, parts.join("; "))
}
