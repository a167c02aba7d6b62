//! The text of what is included: launches on the CPU, and on GPUs if the kernels were compiled for them.

use cotangent_driver::device_code::DeviceCode;

use crate::cpu;
use crate::cuda::{self, Image};
use crate::plan::{Argument, Launched};
use crate::structs::Defined;

/// The whole module, of the file of this name. `library` has the kernels for the CPU, and `images` those for GPUs.
pub(crate) fn text(launched: &[Launched], file: &str, library: Option<&str>, images: &[Image]) -> String {
    let mut structs: Vec<Defined> = Vec::new();
    for of in launched.iter().flat_map(|launched| &launched.structs) {
        if !structs.contains(of) {
            structs.push(of.clone());
        }
    }
    let mut text = format!("// By Cotangent, from {file}.\n\n");
    text.extend(structs.iter().map(Defined::text));
    text.extend(library.map(|library| cpu::module(launched, library)));
    if !images.is_empty() {
        text.push_str(&cuda::module(launched, &structs, images));
    }
    text
}

/// What of generated text nobody need be told.
pub(crate) const ALLOW: &str = "\
#[allow(
    clippy::all,
    clippy::pedantic,
    dead_code,
    non_snake_case,
    unreachable_pub,
    unused_imports,
    unused_parens,
    unused_qualifications,
    reason = \"generated\"
)]
";

/// A function that launches, from its documentation on, every line after this indentation.
pub(crate) fn function(
    launched: &Launched,
    indent: &str,
    parameters: impl Iterator<Item = String>,
    error: &str,
    body: &[String],
) -> String {
    let (name, does) = (&launched.name, &launched.does);
    let before = [
        format!("/// {does}"),
        "///".to_owned(),
        "/// # Safety".to_owned(),
        "/// The kernel must stay inside of its arrays: nothing compares their lengths with what it accesses."
            .to_owned(),
        format!("pub unsafe fn {name}("),
    ];
    let parameters = parameters.map(|parameter| format!("    {parameter},"));
    let body = body.iter().map(|line| format!("    {line}"));
    let lines = before.into_iter().chain(parameters).chain([format!(") -> Result<(), {error}> {{")]).chain(body);
    let lines = lines.chain(["}".to_owned()]).map(|line| format!("{indent}{line}\n"));
    format!("\n{}", lines.collect::<String>())
}

/// A parameter of a formula as an `i64`.
pub(crate) fn parameter(name: &str, arguments: &[Argument]) -> String {
    let argument = arguments.iter().find(|argument| argument.of_cuda == name);
    let name = argument.map_or(name, |argument| &argument.name);
    format!("({name} as i64)")
}

/// Launches a kernel with arguments of which only the addresses are known.
const LAUNCHING: &str = "
#include <utility>

template <class T>
static T& at(const void* address) { return *static_cast<T*>(const_cast<void*>(address)); }

template <class... P, size_t... I>
static int launch_kernel(void (*kernel)(P...), const unsigned* sizes, size_t shared, const void* const* arguments,
                         std::index_sequence<I...>) {
  dim3 grid(sizes[0], sizes[1], sizes[2]), block(sizes[3], sizes[4], sizes[5]);
  if (shared > 48 * 1024) cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared));
  kernel<<<grid, block, shared>>>(at<P>(arguments[I])...);
  cudaError_t launched = cudaGetLastError();
  cudaError_t ended = cudaDeviceSynchronize();
  return launched == cudaSuccess ? ended : launched;
}

template <class... P>
static int launch_kernel(void (*kernel)(P...), const unsigned* sizes, size_t shared, const void* const* arguments) {
  return launch_kernel(kernel, sizes, shared, arguments, std::index_sequence_for<P...>());
}
";

/// The kernels for the CPU as one text, with a function of C's that launches each.
pub(crate) fn unit(codes: &[DeviceCode]) -> String {
    let mut includes: Vec<&str> = codes.iter().flat_map(|code| code.for_cpu.lines().filter(is_include)).collect();
    includes.sort_unstable();
    includes.dedup();
    let mut text = String::from("// By Cotangent: kernels, and what launches them.\n");
    includes.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    for (at, code) in codes.iter().enumerate() {
        let lines: Vec<&str> = code.for_cpu.lines().filter(|line| !is_include(line)).collect();
        text.push_str(&format!("\nnamespace text_{at} {{\n{}\n}}\n", lines.join("\n")));
    }
    text.push_str(LAUNCHING);
    for (at, code) in codes.iter().enumerate() {
        for kernel in code.metadata.functions.iter().filter(|function| function.space == "kernel") {
            text.push_str(&launcher(&format!("text_{at}::{}", kernel.name), &kernel.name));
        }
        for of in &code.metadata.structs {
            text.push_str(&format!("static_assert(sizeof(text_{at}::{}) == {});\n", of.name, of.bytes));
        }
    }
    text
}

fn launcher(kernel: &str, name: &str) -> String {
    format!(
        "
extern \"C\" __attribute__((visibility(\"default\"))) int cotangent_launch_{name}(
    const unsigned* sizes, size_t shared, const void* const* arguments) {{
  return launch_kernel({kernel}, sizes, shared, arguments);
}}
"
    )
}

fn is_include(line: &&str) -> bool {
    line.starts_with("#include")
}
