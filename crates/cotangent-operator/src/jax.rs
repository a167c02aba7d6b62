//! The operator for JAX: a Python module with the rules of its derivatives, and handlers for XLA's foreign function interface.

use crate::arguments::{Array, Kind, Number, Operator};
use crate::calls::{Begins, Call, Given, Like, Memory, OfRecord, calls};
use crate::expression::Expression;
use crate::kernels::aliases;
use crate::package::{Tested, dtype, joined, named, python, words_of};
use crate::version::Scalar;

const INIT: &str = include_str!("../templates/jax/init.py");
const HANDLERS: &str = include_str!("../templates/jax/handlers.cpp");
const TEST: &str = include_str!("../templates/jax/test.py");
/// What `build.py` compiles the handlers with.
pub(crate) const FRAMEWORK: &str = include_str!("../templates/jax/framework.py");

/// `__init__.py`.
pub(crate) fn init(operator: &Operator<'_>, source: &str) -> String {
    let calls = calls(operator);
    let functions = joined(calls.iter().map(|call| format!("\"{}\"", call.name)), ", ");
    let types =
        joined(operator.scalars.iter().map(|scalar| format!("\"{}\": \"{}\"", dtype(scalar.aten), scalar.name)), ", ");
    let rules = calls.iter().zip(&calls[1..]).map(|(call, next)| rule(operator, call, next));
    let parts = calls.iter().enumerate().map(|(at, call)| launching(operator, call, at + 1 < calls.len()));
    let parts = parts.chain(rules).chain(calls.iter().map(|call| called(operator, call)));
    let text = INIT
        .replace("@FUNCTIONS@", &functions)
        .replace("@TYPES@", &types)
        .replace("@INPUTS@", &joined(operator.inputs().map(|array| python(&array.name)), ", "))
        .replace("@SIZES_BODY@", &sizes_body(operator))
        .replace("@CALLS@", &joined(parts, "\n\n\n"))
        .replace("@SOURCE@", source);
    named(operator, &text)
}

/// `handlers.cpp`.
pub(crate) fn handlers(operator: &Operator<'_>, source: &str) -> String {
    let calls = calls(operator);
    let of_device = |device: &str, class: &str| {
        let all = calls.iter().flat_map(|call| {
            operator.scalars.iter().map(move |scalar| {
                let (name, ty) = (call.name, scalar.name);
                let record = if call.has_record { format!(", {class}::record_{ty}") } else { String::new() };
                let macro_name = device.to_uppercase();
                format!(
                    "{macro_name}_HANDLER(@NAME@_{name}_{ty}_{device}, ({name}<{class}, {class}::{name}_{ty}{record}>));"
                )
            })
        });
        joined(all, "\n")
    };
    let text = HANDLERS
        .replace("@KERNELS_CPU@", &aliases(operator, "cpu"))
        .replace("@KERNELS_CUDA@", &aliases(operator, "cuda"))
        .replace("@FUNCTIONS@", &joined(calls.iter().map(|call| handler(operator, call)), "\n\n"))
        .replace("@HANDLERS_CPU@", &of_device("cpu", "Cpu"))
        .replace("@HANDLERS_CUDA@", &of_device("cuda", "Cuda"))
        .replace("@SOURCE@", source);
    named(operator, &text)
}

/// `test_NAME.py`.
pub(crate) fn test(operator: &Operator<'_>) -> String {
    let tested = Tested::of(operator);
    let tensor = |array: &Array| {
        let sizes = tested.sizes(array);
        match array.fixed {
            Some(aten) => format!("np.ones(({sizes}), np.{})", dtype(aten)),
            None => format!("RANDOM.random(({sizes})).astype(jnp.{})", dtype(tested.scalar.aten)),
        }
    };
    let active = operator.operands().enumerate().filter(|(_, operand)| {
        operator.inputs().any(|array| array.name == operand.name && array.is_active && array.fixed.is_none())
    });
    let text = TEST
        .replace("@ACTIVE@", &joined(active.map(|(at, _)| at.to_string()), ", "))
        .replace("@ORDER@", if operator.twice.is_some() { "2" } else { "1" })
        .replace("@STEPS@", steps(tested.scalar));
    named(operator, &tested.fill(&text, "    ", tensor))
}

/// How differences are taken in a type of data, and how near they must be.
fn steps(scalar: Scalar) -> &'static str {
    match scalar.name {
        "double" => "",
        "float" => ", atol=1e-2, rtol=1e-2, eps=1e-2",
        _ => ", atol=0.1, rtol=0.1, eps=0.1",
    }
}

/// An expression of sizes, where `_s` has them.
fn in_python(operator: &Operator<'_>, expression: &Expression) -> String {
    let sizes = operator.size_names();
    expression.python(|name| if sizes.contains(&name) { format!("_s[\"{name}\"]") } else { python(name) })
}

/// A shape as a tuple.
fn shape(operator: &Operator<'_>, array: &Array) -> String {
    let sizes = joined(array.sizes.iter().map(|size| in_python(operator, size)), ", ");
    format!("({sizes}{})", if array.sizes.len() == 1 { "," } else { "" })
}

/// Reads the names of sizes off arrays, and compares all.
fn sizes_body(operator: &Operator<'_>) -> String {
    let mut lines = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for array in operator.inputs() {
        let name = python(&array.name);
        lines.push(format!("_rank(\"{}\", {name}, {}, \"{}\")", array.name, array.sizes.len(), words_of(array)));
        for (at, size) in array.sizes.iter().enumerate() {
            if let Some(size) = size.as_name().filter(|size| !told.contains(size)) {
                told.push(size);
                lines.push(format!("_s[\"{size}\"] = {name}.shape[{at}]"));
            }
        }
    }
    let first = python(operator.chooses());
    for array in operator.inputs() {
        let name = python(&array.name);
        let dtype = array.fixed.map_or_else(|| format!("{first}.dtype"), |aten| format!("jnp.{}", dtype(aten)));
        let (shape, words) = (shape(operator, array), words_of(array));
        lines.push(format!("_fits(\"{}\", {name}, {shape}, \"{words}\", {dtype})", array.name));
    }
    joined(lines.iter().map(|line| format!("    {line}")), "\n")
}

/// The operands that a launch only reads, and the memory that it works on.
fn sides(call: &Call) -> (Vec<String>, Vec<&Memory>) {
    let mut kept = Vec::new();
    let mut changed = Vec::new();
    for memory in &call.memory {
        match &memory.begins {
            Begins::Operand(name) => kept.push(name.clone()),
            Begins::Copy(_) | Begins::Zero | Begins::Anything => changed.push(memory),
        }
    }
    (kept, changed)
}

/// What memory begins as.
fn begin(operator: &Operator<'_>, memory: &Memory) -> String {
    match (&memory.begins, &memory.like) {
        (Begins::Operand(name) | Begins::Copy(name), _) => python(name),
        (_, Like::Operand(name)) => format!("jnp.zeros_like({})", python(name)),
        (_, Like::Result(name)) => {
            let array = operator.result(name);
            let dtype = array.fixed.map(|aten| format!("jnp.{}", dtype(aten)));
            let dtype = dtype.unwrap_or_else(|| format!("{}.dtype", python(operator.chooses())));
            format!("jnp.zeros({}, {dtype})", shape(operator, array))
        }
    }
}

/// The numbers of a kernel that are handed on as whole numbers, and those as floating ones.
fn numbers<'o>(operator: &'o Operator<'_>, are_floats: bool) -> impl Iterator<Item = &'o Number> {
    operator.all_numbers().filter(move |number| (number.kind == Kind::Float) == are_floats)
}

/// What Python calls the type of a kernel's whole number.
fn whole(ty: &str) -> &'static str {
    match ty {
        "unsigned int" => "uint32",
        "long" | "long long" => "int64",
        "unsigned long" | "unsigned long long" | "size_t" => "uint64",
        "short" => "int16",
        "unsigned short" => "uint16",
        "unsigned char" => "uint8",
        _ => "int32",
    }
}

fn number(operator: &Operator<'_>, number: &Number) -> String {
    let value = number.value.as_ref().map_or_else(|| python(&number.name), |value| in_python(operator, value));
    match number.kind {
        Kind::Float => format!("float({value})"),
        Kind::Bool => format!("bool({value})"),
        Kind::Int => format!("_whole(\"{}\", {value}, np.{})", number.name, whole(&number.ty)),
    }
}

/// The function that launches, in Python.
fn launching(operator: &Operator<'_>, call: &Call, is_differentiable: bool) -> String {
    let arrays = call.operands.iter().filter(|operand| operand.kind.is_none()).map(|operand| python(&operand.name));
    let arrays = tuple(arrays);
    let inputs = joined(operator.inputs().map(|array| python(&array.name)), ", ");
    let (kept, changed) = sides(call);
    let launch = operator.launch(|size| in_python(operator, size)).concat();
    let place = |name: &String| changed.iter().position(|memory| memory.name == *name).expect("it is worked on");
    let results = call.results.iter().map(place);
    let listed = |all: Vec<String>| format!("[{}]", all.join(", "));
    let lines = [
        format!("first={}", python(operator.chooses())),
        format!("launch={}", listed(launch)),
        format!("kept={}", listed(kept.iter().map(|name| python(name)).collect())),
        format!("changed={}", listed(changed.iter().map(|memory| begin(operator, memory)).collect())),
        format!("results={}", listed(results.map(|at| at.to_string()).collect())),
        format!("integers={}", listed(numbers(operator, false).map(|it| number(operator, it)).collect())),
        format!("floats={}", listed(numbers(operator, true).map(|it| number(operator, it)).collect())),
    ];
    let lines = joined(lines.iter().map(|line| format!("        {line},\n")), "");
    let positions = call.operands.iter().enumerate().filter(|(_, operand)| operand.kind.is_some());
    let positions = tuple(positions.map(|(at, _)| at.to_string()));
    let decorated = match is_differentiable {
        true => format!("@partial(jax.custom_vjp, nondiff_argnums=({positions}))\n"),
        false => String::new(),
    };
    format!(
        "{decorated}def _{0}({1}):\n    {arrays} = map(jnp.asarray, ({arrays}))\n    _s = _sizes({inputs})\n    return _call(\n        \"{0}\",\n{lines}    )",
        call.name,
        parameters(call)
    )
}

/// What stands between the parentheses of a tuple.
fn tuple(values: impl Iterator<Item = String>) -> String {
    let values: Vec<String> = values.collect();
    format!("{}{}", values.join(", "), if values.len() == 1 { "," } else { "" })
}

fn parameters(call: &Call) -> String {
    joined(call.operands.iter().map(|operand| python(&operand.name)), ", ")
}

/// What the function that launches is differentiated by.
fn rule(operator: &Operator<'_>, call: &Call, next: &Call) -> String {
    let numbers = call.operands.iter().filter(|operand| operand.kind.is_some());
    let numbers = joined(numbers.map(|operand| format!("{}, ", python(&operand.name))), "");
    let arrays = call.operands.iter().filter(|operand| operand.kind.is_none());
    let kept = tuple(arrays.clone().map(|operand| python(&operand.name)));
    let active = call.results.iter().enumerate().filter(|(_, result)| !is_constant(operator, call, result));
    let cotangents = active.map(|(at, _)| format!("_cotangents[{at}]"));
    let given = joined(call.operands.iter().map(|operand| python(&operand.name)).chain(cotangents), ", ");
    let gradients = tuple(arrays.map(|operand| {
        let at = call.differentiable.iter().position(|name| *name == operand.name);
        at.map_or("None".to_owned(), |at| format!("_gradients[{at}]"))
    }));
    let (word, parameters) = (call.name, parameters(call));
    format!(
        "def _{word}_kept({parameters}):\n    return _{word}({parameters}), ({kept})\n\n\ndef _{word}_pulled({numbers}_kept, _cotangents):\n    {kept} = _kept\n    _gradients = _{}({given})\n    return {gradients}\n\n\n_{word}.defvjp(_{word}_kept, _{word}_pulled)",
        next.name
    )
}

/// The function that users call.
fn called(operator: &Operator<'_>, call: &Call) -> String {
    let (name, does) = match call.name {
        "forward" => (operator.statement.name.clone(), "The operator"),
        word => (
            format!("{}_{word}", operator.statement.name),
            if word == "backward" { "Its gradients" } else { "The gradients of its gradients" },
        ),
    };
    let parameters = parameters(call);
    let shapes = operator.inputs().map(|array| format!("{} ({})", array.name, words_of(array)));
    let numbers =
        operator.numbers().map(|number| format!("    _static(\"{}\", {})\n", number.name, python(&number.name)));
    let one = if call.results.len() == 1 { "[0]" } else { "" };
    format!(
        "def {name}({parameters}):\n    \"\"\"{does}, of arrays with these sizes: {}.\"\"\"\n{}    return _{}({parameters}){one}",
        joined(shapes, ", "),
        joined(numbers, ""),
        call.name
    )
}

/// Whether a result has no cotangent.
fn is_constant(operator: &Operator<'_>, call: &Call, result: &str) -> bool {
    let inactive = |name: &str| operator.results().any(|array| array.name == name && !array.is_active);
    matches!(&call.memory_of(result).like, Like::Result(name) if inactive(name))
}

/// The function that launches, in C++.
fn handler(operator: &Operator<'_>, call: &Call) -> String {
    let (kept, changed) = sides(call);
    let place = |name: &str| match &call.memory_of(name).begins {
        Begins::Operand(of) => {
            format!("in(kept, {})", kept.iter().position(|kept| kept == of).expect("it is read"))
        }
        Begins::Copy(_) | Begins::Zero | Begins::Anything => {
            format!("out(changed, {})", changed.iter().position(|memory| memory.name == name).expect("it is worked on"))
        }
    };
    let numbered = |name: &str| {
        let of = operator.number(name);
        let is_float = of.kind == Kind::Float;
        let at = numbers(operator, is_float).position(|number| number.name == name).expect("it is one of them");
        if is_float { format!("floats[{at}]") } else { format!("static_cast<{}>(integers[{at}])", of.ty) }
    };
    let argument = |given: &Given| match given {
        Given::Memory(name) => format!("{}.untyped_data()", place(name)),
        Given::Count(name) => call.memory_of(name).count(format!("{}.element_count()", place(name))),
        Given::Number(name) => numbered(name),
        Given::Record(OfRecord::Itself) => "own_record.data".to_owned(),
        Given::Record(OfRecord::Cotangent) => "record_after.data".to_owned(),
        Given::Record(OfRecord::Gradient) => "d_record.data".to_owned(),
        Given::RecordBytes => "bytes".to_owned(),
    };
    let arguments: Vec<String> = call.given.iter().map(argument).collect();
    let mut before = String::new();
    if call.has_record {
        let own = arguments[..operator.arguments.len()].join(", ");
        before.push_str(&format!("  const size_t bytes = record(launch, {own});\n"));
        before.push_str("  const Zeros<Device> own_record(bytes, stream), record_after(bytes, stream), d_record(bytes, stream);\n  if (!own_record.data || !record_after.data || !d_record.data) return no_memory(bytes);\n");
    }
    let record = if call.has_record { ", auto record" } else { "" };
    format!(
        "template <class Device, auto function{record}>\nffi::Error {}(void* stream, Kept kept, Changed changed, Integers sizes, Integers integers, Floats floats) {{\n  const Launch launch = launch_of(sizes, stream, Device::waits);\n  if (is_empty(launch)) return ffi::Error::Success();\n{before}  return ended<Device>(function(launch, {}));\n}}",
        call.name,
        arguments.join(", ")
    )
}
