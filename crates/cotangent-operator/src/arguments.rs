//! What the arguments of a kernel and of its gradients are, for an operator: tensors that come in, that go out, numbers, and memory that a gradient
//! works in.

use cotangent::emit::{Adjoint, Described, Metadata, Parameter};

use crate::expression::Expression;
use crate::statement::Statement;
use crate::version::{Level, RECORD, Scalar, Version};
use crate::wrong::Wrong;

/// An operator, and what its kernels take.
pub(crate) struct Operator<'a> {
    pub(crate) statement: &'a Statement,
    pub(crate) scalars: Vec<Scalar>,
    /// Of the kernel, in order.
    pub(crate) arguments: Vec<Argument>,
    /// What the gradient takes after them.
    pub(crate) backward: Vec<Extra>,
    /// The same of the gradient's gradient, whose own arguments are those of the gradient.
    pub(crate) twice: Option<Twice>,
}

/// What the gradient of a gradient takes.
pub(crate) struct Twice {
    /// What follows the kernel's own arguments in the gradient.
    pub(crate) own: Vec<Own>,
    /// What follows those.
    pub(crate) extras: Vec<Extra>,
}

impl Twice {
    /// Whether an array of the function has an adjoint.
    pub(crate) fn changes(&self, name: &str) -> bool {
        self.extras.iter().any(|extra| matches!(&extra.of, Of::Array(of) if of == name))
    }

    /// Whether the gradient records, so that its own gradient has a record to work in.
    pub(crate) fn has_record(&self) -> bool {
        self.own.contains(&Own::Record)
    }
}

/// An argument of the kernel.
pub(crate) enum Argument {
    Array(Array),
    Number(Number),
    /// The stream that a function of the host works in.
    Stream,
}

/// What an operator takes.
#[derive(Clone)]
pub(crate) struct Operand {
    pub(crate) name: String,
    /// Of a number; an array has none.
    pub(crate) kind: Option<Kind>,
}

/// An array, which is a tensor.
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// Whether it has a gradient.
    pub(crate) is_active: bool,
    /// The type of its elements, if it is not that of the version, as ATen spells it.
    pub(crate) fixed: Option<&'static str>,
    /// How many of them the kernel's own element has: three in a `float3`.
    pub(crate) width: usize,
    pub(crate) sizes: Vec<Expression>,
}

/// What becomes of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It is only read.
    Input,
    /// A result, made by the operator: it is only stored to, or is stated to begin with zeros.
    Output,
    /// It is read and stored to: the operator takes it, and returns a copy that is changed.
    InPlace,
}

/// A number.
pub(crate) struct Number {
    pub(crate) name: String,
    /// As CUDA spells its type.
    pub(crate) ty: String,
    pub(crate) kind: Kind,
    pub(crate) value: Option<Expression>,
}

/// What PyTorch calls a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Float,
    Int,
    Bool,
}

impl Kind {
    /// In a schema, and in C++.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Kind::Float => ("float", "double"),
            Kind::Int => ("int", "int64_t"),
            Kind::Bool => ("bool", "bool"),
        }
    }
}

/// What a gradient takes besides the arguments of its function.
pub(crate) struct Extra {
    /// Whose adjoint it is.
    pub(crate) of: Of,
    pub(crate) part: Part,
}

/// Whose an adjoint is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    /// A kernel's own array.
    Array(String),
    /// An adjoint that the gradient takes.
    Adjoint(Own),
}

/// Of an adjoint, which of its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// The incoming cotangent.
    Cotangent,
    /// The gradient that is written.
    Gradient,
    /// How many elements it has.
    Count,
}

/// What a gradient has of its own among its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Own {
    /// The gradient of this input, to which it adds.
    Sum(String),
    /// The cotangent of this result, which it leaves as it is.
    Cotangent(String),
    /// One that it changes.
    Changed(String),
    /// The record.
    Record,
}

/// Types of elements that do not depend on the version, as CUDA and as ATen spell them.
const FIXED: [(&str, &str); 12] = [
    ("float", "Float"),
    ("double", "Double"),
    ("__half", "Half"),
    ("__nv_bfloat16", "BFloat16"),
    ("int", "Int"),
    ("long", "Long"),
    ("long long", "Long"),
    ("short", "Short"),
    ("signed char", "Char"),
    ("char", "Char"),
    ("unsigned char", "Byte"),
    ("bool", "Bool"),
];

/// What CUDA's vectors have that an operator takes.
const VECTORS: [&str; 2] = ["float", "double"];

/// As CUDA spells the type of a stream.
pub(crate) const STREAM: &str = "cudaStream_t";

/// Whole numbers that a kernel may take.
const INTEGERS: [&str; 10] = [
    "int",
    "unsigned int",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "short",
    "unsigned short",
    "size_t",
    "unsigned char",
];

impl<'a> Operator<'a> {
    pub(crate) fn of(statement: &'a Statement, versions: &[Version]) -> Result<Operator<'a>, Wrong> {
        let Some(first) = versions.first() else { return Err(Wrong::NoResult) };
        for other in versions {
            let differ = Wrong::VersionsDiffer(first.scalar.name, other.scalar.name);
            let is_same = names(&first.backward) == names(&other.backward)
                && first.twice.as_ref().map(names) == other.twice.as_ref().map(names);
            is_same.then_some(()).ok_or(differ)?;
        }
        let owns = versions.iter().map(|version| own_parameters(&version.backward.metadata));
        let owns: Vec<&[Parameter]> = owns.map(|own| own.ok_or(Wrong::NeedsProgram)).collect::<Result<_, _>>()?;
        match (is_of_host(&first.backward.metadata), &statement.launch) {
            (true, Some(_)) => return Err(Wrong::LaunchOfHost(first.backward.metadata.function.clone())),
            (false, None) => return Err(Wrong::NoLaunch),
            (true, None) | (false, Some(_)) => {}
        }
        let variables: Vec<String> = first.backward.metadata.variables.iter().map(|name| format!("`{name}`")).collect();
        if !variables.is_empty() {
            return Err(Wrong::Variables(variables.join(", ")));
        }
        let arguments = (0..owns[0].len()).map(|at| {
            let types = versions.iter().zip(&owns).map(|(version, own)| (version.scalar, own[at].ty.as_str()));
            argument(statement, &first.backward.metadata, &owns[0][at].name, &types.collect::<Vec<_>>())
        });
        let operator = Operator {
            statement,
            scalars: versions.iter().map(|version| version.scalar).collect(),
            arguments: arguments.collect::<Result<_, _>>()?,
            backward: extras(&first.backward.metadata, &|name| Of::Array(name.to_owned())),
            twice: first.twice.as_ref().map(|level| twice(&first.backward.metadata, level)),
        };
        operator.check()?;
        Ok(operator)
    }

    /// The arrays.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Array(array) => Some(array),
            Argument::Number(_) | Argument::Stream => None,
        })
    }

    /// The arrays that come in.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Array> {
        self.arrays().filter(|array| array.role != Role::Output)
    }

    /// Those that go out.
    pub(crate) fn results(&self) -> impl Iterator<Item = &Array> {
        self.arrays().filter(|array| array.role != Role::Input)
    }

    /// The input whose type chooses among the versions, and whose device is that of all.
    pub(crate) fn chooses(&self) -> &str {
        self.inputs().find(|array| array.fixed.is_none()).map_or("", |array| &array.name)
    }

    /// What the operator takes, in the kernel's order.
    pub(crate) fn operands(&self) -> impl Iterator<Item = Operand> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Array(array) if array.role == Role::Output => None,
            Argument::Array(array) => Some(Operand { name: array.name.clone(), kind: None }),
            Argument::Number(number) if number.value.is_some() => None,
            Argument::Number(number) => Some(Operand { name: number.name.clone(), kind: Some(number.kind) }),
            Argument::Stream => None,
        })
    }

    /// The kernel's numbers.
    pub(crate) fn all_numbers(&self) -> impl Iterator<Item = &Number> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Number(number) => Some(number),
            Argument::Array(_) | Argument::Stream => None,
        })
    }

    /// Those that come in.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = &Number> {
        self.all_numbers().filter(|number| number.value.is_none())
    }

    /// The kernel's number of this name.
    pub(crate) fn number(&self, name: &str) -> &Number {
        self.all_numbers().find(|number| number.name == name).expect("it is a number of the kernel")
    }

    /// The result of this name.
    pub(crate) fn result(&self, name: &str) -> &Array {
        self.results().find(|array| array.name == name).expect("it is a result of the kernel")
    }

    /// The whole ones among them.
    pub(crate) fn integers(&self) -> impl Iterator<Item = &Number> {
        self.numbers().filter(|number| number.kind == Kind::Int)
    }

    /// Three sizes of the grid, three of a block, and the bytes of shared memory, as they are printed. Of a function of the host, which
    /// launches by itself, it is one thread, so that it is not taken for an empty launch.
    pub(crate) fn launch(&self, printed: impl Fn(&Expression) -> String) -> [Vec<String>; 3] {
        let three = |all: &[Expression]| {
            let mut three: Vec<String> = all.iter().map(&printed).collect();
            three.resize(3, "1".to_owned());
            three
        };
        match &self.statement.launch {
            Some(launch) => [three(&launch.grid), three(&launch.block), vec![printed(&launch.shared)]],
            None => [three(&[]), three(&[]), vec!["0".to_owned()]],
        }
    }

    /// Its name as PyTorch has it.
    pub(crate) fn full_name(&self) -> String {
        format!("{}::{}", self.statement.space, self.statement.name)
    }

    /// The names of sizes, in the order in which arrays tell them.
    pub(crate) fn size_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.inputs().flat_map(|array| &array.sizes).filter_map(Expression::as_name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether all that is stated means something.
    fn check(&self) -> Result<(), Wrong> {
        let Statement { sizes, values, launch, outputs, .. } = self.statement;
        let is_array = |name: &str| self.arrays().any(|array| array.name == name);
        let is_output = |name: &&String| self.arrays().any(|array| array.name == **name && array.role == Role::Output);
        if let Some(name) = outputs.iter().find(|name| !is_output(name)) {
            return Err(match is_array(name) {
                true => Wrong::OutputIsRead(name.clone()),
                false => Wrong::NoParameter(name.clone(), "array"),
            });
        }
        if let Some((name, _)) = sizes.iter().find(|(name, _)| !is_array(name)) {
            return Err(Wrong::NoParameter(name.clone(), "array"));
        }
        if let Some((name, _)) = values.iter().find(|(name, _)| self.all_numbers().all(|number| number.name != *name)) {
            return Err(Wrong::NoParameter(name.clone(), "number"));
        }
        if !self.results().any(|array| array.is_active) {
            return Err(Wrong::NoResult);
        }
        if self.inputs().all(|array| array.fixed.is_some()) {
            let known: Vec<&str> = self.scalars.iter().map(|scalar| scalar.name).collect();
            return Err(Wrong::NoTypeOfData(known.join(", ")));
        }
        let known = self.size_names();
        let is_known = |name: &str| known.contains(&name) || self.integers().any(|number| number.name == name);
        // Sizes of what comes in are told by arrays alone.
        for array in self.inputs() {
            if let Some(name) = array.sizes.iter().flat_map(Expression::names).find(|name| !known.contains(name)) {
                return Err(Wrong::UnknownName { name: name.to_owned(), of: format!("sizes of `{}`", array.name) });
            }
        }
        let of_arrays = self.results().map(|array| (format!("sizes of `{}`", array.name), &array.sizes[..]));
        let of_numbers = values.iter().map(|(name, value)| (format!("value of `{name}`"), std::slice::from_ref(value)));
        let of_launch = launch.iter().flat_map(|launch| {
            [
                ("grid", &launch.grid[..]),
                ("block", &launch.block),
                ("shared memory", std::slice::from_ref(&launch.shared)),
            ]
        });
        let of_launch = of_launch.map(|(what, all)| (what.to_owned(), all));
        for (of, expressions) in of_arrays.chain(of_numbers).chain(of_launch) {
            if let Some(name) = expressions.iter().flat_map(Expression::names).find(|name| !is_known(name)) {
                return Err(Wrong::UnknownName { name: name.to_owned(), of });
            }
        }
        Ok(())
    }
}

/// The function of a gradient that is called: it launches, clears and copies.
pub(crate) fn vjp(metadata: &Metadata) -> Option<&Described> {
    metadata.function_that("vjp")
}

/// The parameters of the function that was differentiated.
pub(crate) fn own_parameters(metadata: &Metadata) -> Option<&[Parameter]> {
    let gradient = metadata.function_that("gradient")?;
    let record = usize::from(metadata.record.is_some());
    let count = gradient.parameters.len().checked_sub(metadata.adjoints.len() + record)?;
    let before = launch_parameters(metadata);
    vjp(metadata)?.parameters.get(before..before + count)
}

/// Whether the function that was differentiated launches by itself.
pub(crate) fn is_of_host(metadata: &Metadata) -> bool {
    metadata.function_that("gradient").is_some_and(|gradient| gradient.space == "host")
}

/// How many parameters the function that is called has first: for a kernel grid, block, shared memory and stream.
pub(crate) fn launch_parameters(metadata: &Metadata) -> usize {
    if is_of_host(metadata) { 0 } else { 4 }
}

/// What the function that is called takes after them.
fn extra_parameters(metadata: &Metadata) -> &[Parameter] {
    let own = own_parameters(metadata).map_or(0, <[Parameter]>::len);
    vjp(metadata).and_then(|vjp| vjp.parameters.get(launch_parameters(metadata) + own..)).unwrap_or_default()
}

/// What versions must have in common.
fn names(level: &Level) -> Vec<&str> {
    let metadata = &level.metadata;
    let parameters = vjp(metadata).into_iter().flat_map(|vjp| &vjp.parameters).map(|param| param.name.as_str());
    let before = metadata.adjoints.iter().map(|adjoint| adjoint.before);
    parameters.chain(before).chain(metadata.record.is_some().then_some(RECORD)).collect()
}

/// An argument, by its name and its type in each version.
fn argument(
    statement: &Statement,
    metadata: &Metadata,
    name: &str,
    types: &[(Scalar, &str)],
) -> Result<Argument, Wrong> {
    let (first, ty) = types[0];
    if ty == STREAM {
        return Ok(Argument::Stream);
    }
    let Some((element, _)) = ty.split_once('*') else {
        let kind = match ty {
            "float" | "double" | "__half" | "__nv_bfloat16" => Kind::Float,
            "bool" => Kind::Bool,
            ty if INTEGERS.contains(&ty) => Kind::Int,
            ty => return Err(Wrong::Number { param: name.to_owned(), ty: ty.to_owned() }),
        };
        let value = statement.values.iter().find(|(of, _)| of == name).map(|(_, value)| value.clone());
        return Ok(Argument::Number(Number { name: name.to_owned(), ty: ty.to_owned(), kind, value }));
    };
    let is_const = element.starts_with("const ");
    let adjoint = metadata.adjoints.iter().find(|adjoint| adjoint.of == name);
    let role = match adjoint.map(|adjoint| adjoint.before) {
        Some("zero") => Role::Input,
        Some("cotangent" | "copy") => Role::Output,
        None if is_const => Role::Input,
        _ if statement.outputs.iter().any(|output| output == name) => Role::Output,
        _ => Role::InPlace,
    };
    // Its elements are of the version's type in each version, or of one type in all.
    let varies = types.iter().all(|(scalar, ty)| scalar_of(element_of(ty)).0 == scalar.cuda);
    if let Some((other, _)) = types.iter().find(|(_, other)| !varies && *other != ty) {
        return Err(Wrong::VersionsDiffer(first.name, other.name));
    }
    let element = element_of(ty);
    let (scalar, width) = scalar_of(element);
    let known = FIXED.into_iter().find(|(cuda, _)| *cuda == scalar);
    let (_, aten) = known.ok_or_else(|| Wrong::Element { param: name.to_owned(), element: element.to_owned() })?;
    let sizes = statement.sizes.iter().find(|(of, _)| of == name).map(|(_, sizes)| sizes.clone());
    let sizes = sizes.ok_or_else(|| Wrong::NoSizes(name.to_owned()))?;
    if width > 1 && sizes.last().and_then(Expression::as_number) != Some(width) {
        return Err(Wrong::Width { param: name.to_owned(), element: element.to_owned(), width });
    }
    Ok(Argument::Array(Array {
        name: name.to_owned(),
        role,
        is_active: adjoint.is_some(),
        fixed: (!varies).then_some(aten),
        width,
        sizes,
    }))
}

/// The floating numbers that an element has, and how many: three `float` in a `float3`.
pub fn scalar_of(element: &str) -> (&str, usize) {
    let vector = VECTORS.iter().find_map(|scalar| {
        let width = element.strip_prefix(scalar)?.parse().ok()?;
        (2..=4).contains(&width).then_some((*scalar, width))
    });
    vector.unwrap_or((element, 1))
}

/// What a pointer points to, without `const`.
pub(crate) fn element_of(ty: &str) -> &str {
    let element = ty.split_once('*').map_or(ty, |(element, _)| element).trim();
    element.strip_prefix("const ").unwrap_or(element)
}

/// What a gradient takes besides its function's own arguments, in order.
fn extras(metadata: &Metadata, of: &dyn Fn(&str) -> Of) -> Vec<Extra> {
    let found = extra_parameters(metadata).iter().filter_map(|param| {
        let (adjoint, suffix) =
            metadata.adjoints.iter().find_map(|adjoint| Some((adjoint, suffix(param, adjoint)?)))?;
        let part = match (suffix, adjoint.before) {
            ("_count", _) => Part::Count,
            ("_after", _) | ("", "cotangent" | "copy") => Part::Cotangent,
            _ => Part::Gradient,
        };
        Some(Extra { of: of(&adjoint.of), part })
    });
    found.collect()
}

/// What follows the adjoint's name in the parameter's, if it is one of its parameters.
fn suffix<'p>(param: &'p Parameter, adjoint: &Adjoint) -> Option<&'p str> {
    param.name.strip_prefix(&*adjoint.name).filter(|suffix| ["", "_count", "_after"].contains(suffix))
}

fn twice(first: &Metadata, level: &Level) -> Twice {
    let own_of = |adjoint: &Adjoint| match adjoint.before {
        "zero" => Own::Sum(adjoint.of.clone()),
        "cotangent" => Own::Cotangent(adjoint.of.clone()),
        _ => Own::Changed(adjoint.of.clone()),
    };
    let mut own: Vec<Own> = first.adjoints.iter().map(own_of).collect();
    own.extend(first.record.is_some().then_some(Own::Record));
    let of = |name: &str| {
        let adjoint = first.adjoints.iter().find(|adjoint| adjoint.name == name).map(own_of);
        let record = (name == RECORD).then_some(Own::Record);
        adjoint.or(record).map_or_else(|| Of::Array(name.to_owned()), Of::Adjoint)
    };
    Twice { own, extras: extras(&level.metadata, &of) }
}
