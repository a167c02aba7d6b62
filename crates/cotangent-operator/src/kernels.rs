//! The kernels of an operator, and functions that launch them, which the operator calls with addresses.

use cotangent::emit::Parameter;

use crate::arguments::{
    Argument, Extra, Of, Operator, Own, Part, STREAM, element_of, is_of_host, launch_parameters, own_parameters, vjp,
};
use crate::package::joined;
use crate::version::{Level, Version};

const HEADER: &str = include_str!("../templates/kernels.h");
const LAUNCHING: &str = include_str!("../templates/launching.h");

/// The devices for which kernels are compiled: the namespace of their functions ends so.
const DEVICES: [&str; 2] = ["cpu", "cuda"];

/// A function of `kernels.h`: `forward_float`.
struct Declared {
    name: String,
    returns: &'static str,
    parameters: Vec<String>,
}

impl Declared {
    fn text(&self) -> String {
        format!("{} {}({})", self.returns, self.name, self.parameters.join(", "))
    }
}

/// The namespace of the functions for a device.
fn namespace(operator: &Operator<'_>, device: &str) -> String {
    format!("{}_{}_{device}", operator.statement.space, operator.statement.name)
}

/// The names of functions that the operator calls, for one type of data.
fn function_names(operator: &Operator<'_>) -> Vec<&'static str> {
    let record = operator.twice.as_ref().filter(|twice| twice.has_record()).map(|_| "record");
    let twice = operator.twice.as_ref().map(|_| "backward_backward");
    ["forward", "backward"].into_iter().chain(record).chain(twice).collect()
}

/// `kernels.h`.
pub(crate) fn header(operator: &Operator<'_>) -> String {
    let mut text = HEADER.to_owned();
    for device in DEVICES {
        text.push_str(&format!("\nnamespace {} {{\n\nconst char* error(int code);\n", namespace(operator, device)));
        for scalar in &operator.scalars {
            for name in function_names(operator) {
                text.push_str(&format!("{};\n", declared(operator, name, scalar.name).text()));
            }
        }
        text.push_str("\n}\n");
    }
    text + "\n#pragma GCC visibility pop\n"
}

fn declared(operator: &Operator<'_>, name: &str, scalar: &str) -> Declared {
    let mut parameters = vec!["const Launch& launch".to_owned()];
    parameters.extend(operator.arguments.iter().filter_map(|argument| match argument {
        Argument::Array(array) => Some(format!("const void* {}", array.name)),
        Argument::Number(number) => Some(format!("{} {}", spelled(&number.ty), number.name)),
        Argument::Stream => None,
    }));
    let twice = operator.twice.as_ref().filter(|_| name == "backward_backward");
    if let Some(twice) = twice {
        parameters.extend((0..twice.own.len()).map(|at| format!("const void* own_{at}")));
    }
    let extras = extras_of(operator, name).iter().enumerate().map(|(at, extra)| match extra.part {
        Part::Count => format!("std::size_t extra_{at}"),
        Part::Cotangent | Part::Gradient => format!("const void* extra_{at}"),
    });
    parameters.extend(extras);
    let returns = if name == "record" { "std::size_t" } else { "int" };
    Declared { name: format!("{name}_{scalar}"), returns, parameters }
}

/// What a function takes after the arguments of the function that was differentiated.
fn extras_of<'o>(operator: &'o Operator<'_>, name: &str) -> &'o [Extra] {
    match (name, &operator.twice) {
        ("backward", _) => &operator.backward,
        ("backward_backward", Some(twice)) => &twice.extras,
        _ => &[],
    }
}

/// A number's type in the interface, which is the same for all types of data.
fn spelled(ty: &str) -> &str {
    match ty {
        "float" | "double" | "__half" | "__nv_bfloat16" => "double",
        ty => ty,
    }
}

/// What the class of a device calls the functions for it, in C++.
pub(crate) fn aliases(operator: &Operator<'_>, device: &str) -> String {
    let space = namespace(operator, device);
    let mut names = vec!["error".to_owned()];
    for scalar in &operator.scalars {
        names.extend(function_names(operator).iter().map(|name| format!("{name}_{}", scalar.name)));
    }
    joined(names.iter().map(|name| format!("  static constexpr auto {name} = {space}::{name};")), "\n")
}

/// `forward.cu`.
pub(crate) fn forward(operator: &Operator<'_>, versions: &[Version], source: &str) -> String {
    let what = format!("The kernel of {source}");
    let launches = versions.iter().map(|version| {
        let own = own_parameters(&version.backward.metadata).unwrap_or_default();
        let kernel = &version.backward.metadata.function;
        let arguments: Vec<String> = own.iter().map(|param| handed_on(param, &param.name)).collect();
        let declared = declared(operator, "forward", version.scalar.name);
        let (before, launch) = match is_of_host(&version.backward.metadata) {
            true => (before_host(own), ""),
            false => ("", "<<<three(launch.grid), three(launch.block), launch.shared, stream_of(launch)>>>"),
        };
        let kernel = format!("{}::{kernel}", own_namespace("forward", version));
        let after = ended(before);
        define(&declared, &format!("{before}  {kernel}{launch}({});\n{after}", arguments.join(", ")))
    });
    let error = "\nconst char* error(int code) { return cudaGetErrorString(static_cast<cudaError_t>(code)); }\n";
    let launches: String = launches.chain([error.to_owned()]).collect();
    file("forward", &what, versions.iter().map(|version| (version, &*version.forward)), &launches)
}

/// `backward.cu`.
pub(crate) fn backward(operator: &Operator<'_>, versions: &[Version], source: &str) -> String {
    let what = format!("The gradient of the kernel of {source}");
    let mut launches = String::new();
    for version in versions {
        let own = own_parameters(&version.backward.metadata).unwrap_or_default();
        let names = own.iter().map(|param| param.name.clone()).collect();
        launches.push_str(&called(operator, "backward", version, &version.backward, names));
        if function_names(operator).contains(&"record") {
            launches.push_str(&record(operator, version, own));
        }
    }
    file("backward", &what, versions.iter().map(|version| (version, &*version.backward.text)), &launches)
}

/// `backward_backward.cu`.
pub(crate) fn twice(operator: &Operator<'_>, versions: &[Version], source: &str) -> String {
    let what = format!("The gradient of the gradient of the kernel of {source}");
    let levels = || versions.iter().filter_map(|version| Some((version, version.twice.as_ref()?)));
    let launches = levels().map(|(version, level)| {
        let own = operator.arguments.iter().map(|argument| match argument {
            Argument::Array(array) => array.name.clone(),
            Argument::Number(number) => number.name.clone(),
            Argument::Stream => String::new(),
        });
        let count = operator.twice.as_ref().map_or(0, |twice| twice.own.len());
        let names = own.chain((0..count).map(|at| format!("own_{at}"))).collect();
        called(operator, "backward_backward", version, level, names)
    });
    let launches: String = launches.collect();
    file("backward_backward", &what, levels().map(|(version, level)| (version, &*level.text)), &launches)
}

/// Calls the function of a gradient. `own` names what is handed on for its function's own parameters.
fn called(operator: &Operator<'_>, name: &str, version: &Version, level: &Level, own: Vec<String>) -> String {
    let Some(vjp) = vjp(&level.metadata) else { return String::new() };
    let word = version.backward.metadata.record.as_ref().map_or(1, |record| record.word_bytes);
    let extra = |(at, extra): (usize, &Extra)| match (&extra.of, extra.part) {
        (Of::Adjoint(Own::Record), Part::Count) => format!("extra_{at} / {word}"),
        _ => format!("extra_{at}"),
    };
    let extras = extras_of(operator, name).iter().enumerate().map(extra);
    let given = own.into_iter().chain(extras);
    let own = vjp.parameters.iter().skip(launch_parameters(&level.metadata));
    let launch = ["three(launch.grid)", "three(launch.block)", "launch.shared", "stream_of(launch)"];
    let launch = launch[..launch_parameters(&level.metadata)].iter().map(|word| (*word).to_owned());
    let arguments = launch.chain(own.zip(given).map(|(param, given)| handed_on(param, &given)));
    let function = format!("{}::{}", own_namespace(name, version), vjp.name);
    let before = if is_of_host(&level.metadata) { before_host(&vjp.parameters) } else { "" };
    let body = format!("{before}  {function}({});\n{}", joined(arguments, ", "), ended(before));
    define(&declared(operator, name, version.scalar.name), &body)
}

/// What stands before the call of a function of the host with these parameters. If it takes no stream, it works in CUDA's own, which begins
/// when the framework's has ended.
fn before_host(parameters: &[Parameter]) -> &'static str {
    let has_stream = parameters.iter().any(|param| param.ty == STREAM);
    if has_stream { "" } else { "  if (!launch.waits) cudaStreamSynchronize(stream_of(launch));\n" }
}

/// What stands after a call, and after what stands before it. The framework's stream goes on when CUDA's own has ended.
fn ended(before: &str) -> &'static str {
    match before {
        "" => "  return finished(launch);\n",
        _ => "  if (!launch.waits) cudaStreamSynchronize(nullptr);\n  return finished(launch);\n",
    }
}

/// How many bytes the gradient records in a launch.
fn record(operator: &Operator<'_>, version: &Version, own: &[Parameter]) -> String {
    let Some(bytes) = version.backward.metadata.function_that("bytes") else { return String::new() };
    let arguments: Vec<String> = own.iter().map(|param| handed_on(param, &param.name)).collect();
    let launch = "three(launch.grid), three(launch.block), launch.shared, stream_of(launch)";
    let function = format!("{}::{}", own_namespace("backward", version), bytes.name);
    let body = format!("  return {function}({launch}, {});\n", arguments.join(", "));
    define(&declared(operator, "record", version.scalar.name), &body)
}

/// An argument as the kernel's parameter wants it.
fn handed_on(param: &Parameter, given: &str) -> String {
    match param.ty.split_once('*') {
        None if param.ty == STREAM => "stream_of(launch)".to_owned(),
        Some(_) => format!("as<{}>({given})", element_of(&param.ty)),
        None if param.ty == "size_t" => given.to_owned(),
        None => format!("static_cast<{}>({given})", param.ty),
    }
}

/// The namespace of a version's kernels in a file.
fn own_namespace(file: &str, version: &Version) -> String {
    format!("{file}_of_{}", version.scalar.name)
}

fn define(declared: &Declared, body: &str) -> String {
    format!("\n{} {{\n{body}}}\n", declared.text())
}

/// The texts of all versions, each in a namespace of its own, and the functions that launch them.
fn file<'v>(
    name: &str,
    what: &str,
    texts: impl Iterator<Item = (&'v Version, &'v str)> + Clone,
    launches: &str,
) -> String {
    let is_first = |line: &&str| line.starts_with("#include") || line.starts_with("// Compile with");
    let mut includes: Vec<&str> =
        texts.clone().flat_map(|(_, text)| text.lines().filter(|line| line.starts_with("#include"))).collect();
    includes.sort_unstable();
    includes.dedup();
    let mut all = format!(
        "// {what}, and what launches it. Made by Cotangent; build.py compiles it.\n#include \"kernels.h\"\n\n"
    );
    includes.iter().for_each(|line| all.push_str(&format!("{line}\n")));
    for (version, text) in texts {
        let body: Vec<&str> =
            text.lines().skip_while(|line| is_first(line) || line.is_empty()).filter(|line| !is_first(line)).collect();
        let namespace = own_namespace(name, version);
        all.push_str(&format!("\nnamespace {namespace} {{\n\n{}\n\n}}\n", body.join("\n").trim_end()));
    }
    format!("{all}{LAUNCHING}\nnamespace KERNELS {{\n{launches}\n}}\n")
}
