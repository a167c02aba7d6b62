//! What the Python packages for all frameworks have in common: the build file, inputs of tests, names.

use crate::arguments::{Array, Kind, Operator};
use crate::expression::Expression;
use crate::version::{SCALARS, Scalar};

const BUILD: &str = include_str!("../templates/build.py");

/// The version of CUDA's runtime that the wheels of frameworks bring.
const CUDA: &str = "13";

/// Words that are no names in Python, and may be in C++.
const KEYWORDS: &str = "None True False as assert async await def del elif except finally from global import in is lambda nonlocal pass raise with yield";

/// `build.py`. The function `framework` says what the operator is compiled with.
pub(crate) fn build(operator: &Operator<'_>, framework: &str) -> String {
    let twice = operator.twice.as_ref().map(|_| "backward_backward.cu");
    let files = ["forward.cu", "backward.cu"].into_iter().chain(twice).map(|name| format!("\"{name}\""));
    let files = joined(files, ", ");
    let text = BUILD.replace("@FRAMEWORK@", framework.trim_end()).replace("@KERNEL_FILES@", &files);
    named(operator, &text).replace("@CUDA@", CUDA)
}

/// What tests of an operator give it.
pub(crate) struct Tested<'o> {
    operator: &'o Operator<'o>,
    /// The type of data in which differences say the most.
    pub(crate) scalar: Scalar,
}

impl<'o> Tested<'o> {
    pub(crate) fn of(operator: &'o Operator<'o>) -> Tested<'o> {
        let order = ["double", "float", "half", "bfloat16"];
        let rank = |scalar: &&Scalar| order.iter().position(|name| *name == scalar.name);
        Tested { operator, scalar: operator.scalars.iter().min_by_key(rank).copied().unwrap_or(SCALARS[0]) }
    }

    /// The sizes of an array, as a tuple has them.
    pub(crate) fn sizes(&self, array: &Array) -> String {
        let sizes = joined(array.sizes.iter().map(|size| size.python(python)), ", ");
        format!("{sizes}{}", if array.sizes.len() == 1 { "," } else { "" })
    }

    /// A test, with small sizes that differ, numbers, and inputs as the framework makes them.
    pub(crate) fn fill(&self, text: &str, indent: &str, tensor: impl Fn(&Array) -> String) -> String {
        let operator = self.operator;
        let names = operator.size_names();
        let values = joined((2..2 + names.len()).map(|size| size.to_string()), ", ");
        let sizes = match names.len() {
            0 => String::new(),
            _ => format!("{} = {values}\n", joined(names.iter().map(|name| python(name)), ", ")),
        };
        let numbers = operator.numbers().map(|number| format!("{} = {}\n", python(&number.name), of_kind(number.kind)));
        let inputs = operator.operands().map(|operand| {
            let array = operator.inputs().find(|array| array.name == operand.name);
            format!("{indent}{},", array.map_or_else(|| python(&operand.name), &tensor))
        });
        text.replace("@SIZES@\n", &sizes)
            .replace("@NUMBERS@\n", &joined(numbers, ""))
            .replace("@INPUTS@", &joined(inputs, "\n"))
    }
}

fn of_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Float => "0.5",
        Kind::Int => "1",
        Kind::Bool => "True",
    }
}

/// A name as Python allows it.
pub(crate) fn python(name: &str) -> String {
    let is_keyword = KEYWORDS.split(' ').any(|word| word == name);
    format!("{name}{}", if is_keyword { "_" } else { "" })
}

/// NumPy's name for a type of ATen's.
pub(crate) fn dtype(aten: &str) -> &'static str {
    match aten {
        "Float" => "float32",
        "Double" => "float64",
        "Half" => "float16",
        "BFloat16" => "bfloat16",
        "Long" => "int64",
        "Short" => "int16",
        "Char" => "int8",
        "Byte" => "uint8",
        "Bool" => "bool",
        _ => "int32",
    }
}

/// The sizes of an array, as they were stated.
pub(crate) fn words_of(array: &Array) -> String {
    joined(array.sizes.iter().map(|size: &Expression| size.cpp(str::to_owned)), ", ")
}

pub(crate) fn named(operator: &Operator<'_>, text: &str) -> String {
    text.replace("@SPACE@", &operator.statement.space).replace("@NAME@", &operator.statement.name)
}

pub(crate) fn joined(parts: impl Iterator<Item = String>, between: &str) -> String {
    parts.collect::<Vec<_>>().join(between)
}
