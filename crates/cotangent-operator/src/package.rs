//! What Python needs of an operator: its module, its build file, its test.

use crate::arguments::{Argument, Array, Kind, Operator, Role};
use crate::version::{SCALARS, Scalar};

const INIT: &str = include_str!("../templates/init.py");
const BUILD: &str = include_str!("../templates/build.py");
const TEST: &str = include_str!("../templates/test.py");

const TWICE: &str = "    def test_its_second_derivative_is_that_of_differences(self):
        self.assertTrue(torch.autograd.gradgradcheck(MODULE.@NAME@, inputs()@STEPS@))

";

/// The version of CUDA's runtime that the wheels of PyTorch bring.
const CUDA: &str = "13";

/// `__init__.py`.
pub(crate) fn init(operator: &Operator<'_>, source: &str) -> String {
    named(operator, INIT).replace("@SOURCE@", source)
}

/// `build.py`.
pub(crate) fn build(operator: &Operator<'_>) -> String {
    let twice = operator.twice.as_ref().map(|_| "backward_backward.cu");
    let files: Vec<String> =
        ["forward.cu", "backward.cu"].into_iter().chain(twice).map(|name| format!("\"{name}\"")).collect();
    named(operator, BUILD).replace("@KERNEL_FILES@", &files.join(", ")).replace("@CUDA@", CUDA)
}

/// `test_NAME.py`.
pub(crate) fn test(operator: &Operator<'_>) -> String {
    let scalar = most_digits(operator);
    let names = operator.size_names();
    let sizes = if names.is_empty() {
        String::new()
    } else {
        let numbers: Vec<String> = (2..2 + names.len()).map(|size| size.to_string()).collect();
        format!("{} = {}\n", names.join(", "), numbers.join(", "))
    };
    let numbers: Vec<String> =
        operator.numbers().map(|number| format!("{} = {}\n", number.name, of_kind(number.kind))).collect();
    let inputs = operator.arguments.iter().filter_map(|argument| match argument {
        Argument::Array(array) => (array.role != Role::Output).then(|| tensor(array, scalar)),
        Argument::Number(number) => number.value.is_none().then(|| number.name.clone()),
    });
    let inputs: Vec<String> = inputs.map(|input| format!("        {input},")).collect();
    let twice = if operator.twice.is_some() { TWICE } else { "" };
    let text = TEST
        .replace("@TWICE@", twice)
        .replace("@STEPS@", steps(scalar))
        .replace("@SIZES@\n", &sizes)
        .replace("@NUMBERS@\n", &numbers.concat());
    named(operator, &text).replace("@INPUTS@", &inputs.join("\n"))
}

/// The type of data in which differences say the most.
fn most_digits(operator: &Operator<'_>) -> Scalar {
    let order = ["double", "float", "half", "bfloat16"];
    let rank = |scalar: &&Scalar| order.iter().position(|name| *name == scalar.name);
    operator.scalars.iter().min_by_key(rank).copied().unwrap_or(SCALARS[0])
}

/// How differences are taken in a type of data, and how near they must be.
fn steps(scalar: Scalar) -> &'static str {
    match scalar.name {
        "double" => "",
        "float" => ", eps=1e-3, atol=1e-2, rtol=1e-2",
        _ => ", eps=0.1, atol=0.1, rtol=0.1",
    }
}

fn of_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Float => "0.5",
        Kind::Int => "1",
        Kind::Bool => "True",
    }
}

fn tensor(array: &Array, scalar: Scalar) -> String {
    let sizes: Vec<String> = array.sizes.iter().map(|size| size.python(str::to_owned)).collect();
    let sizes = format!("{}{}", sizes.join(", "), if sizes.len() == 1 { "," } else { "" });
    match array.fixed {
        Some(aten) => format!("torch.ones(({sizes}), dtype=torch.{})", spelled(aten)),
        None => {
            let wants = if array.is_active { ", requires_grad=True" } else { "" };
            format!("torch.rand(({sizes}), dtype=torch.{}{wants})", spelled(scalar.aten))
        }
    }
}

/// PyTorch's name in Python for a type of ATen's.
fn spelled(aten: &str) -> &'static str {
    match aten {
        "Float" => "float",
        "Double" => "double",
        "Half" => "half",
        "BFloat16" => "bfloat16",
        "Long" => "long",
        "Short" => "short",
        "Char" => "int8",
        "Byte" => "uint8",
        "Bool" => "bool",
        _ => "int",
    }
}

fn named(operator: &Operator<'_>, text: &str) -> String {
    text.replace("@SPACE@", &operator.statement.space).replace("@NAME@", &operator.statement.name)
}
