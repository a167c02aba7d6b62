//! The text of what is included: launches on the CPU, and on GPUs if the kernels were compiled for them.

use cotangent_driver::device_code::DeviceCode;

use crate::cpu;
use crate::cuda::{self, Image};
use crate::plan::{Argument, Launched};

/// The whole module, of the file of this name. `library` has the kernels for the CPU, and `images` those for GPUs.
pub(crate) fn text(launched: &[Launched], file: &str, library: Option<&str>, images: &[Image]) -> String {
    let mut text = format!("// By Cotangent, from {file}.\n\n");
    text.extend(library.map(|library| cpu::module(launched, library)));
    if !images.is_empty() {
        text.push_str(&cuda::module(launched, images));
    }
    text
}

/// A parameter of a formula as an `i64`.
pub(crate) fn parameter(name: &str, arguments: &[Argument]) -> String {
    let argument = arguments.iter().find(|argument| argument.of_cuda == name);
    let name = argument.map_or(name, |argument| &argument.name);
    format!("({name} as i64)")
}

const LAUNCHING: &str = "
template <class T>
static T as(const void* argument) { return *static_cast<const T*>(argument); }
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
            let types = kernel.parameters.iter().map(|param| param.ty.replace("__restrict__", ""));
            let arguments: Vec<String> =
                types.enumerate().map(|(at, ty)| format!("as<{}>(arguments[{at}])", ty.trim())).collect();
            text.push_str(&launcher(&format!("text_{at}::{}", kernel.name), &kernel.name, &arguments.join(", ")));
        }
    }
    text
}

fn launcher(kernel: &str, name: &str, arguments: &str) -> String {
    format!(
        "
extern \"C\" __attribute__((visibility(\"default\"))) int cotangent_launch_{name}(
    const unsigned* sizes, size_t shared, const void* const* arguments) {{
  dim3 grid(sizes[0], sizes[1], sizes[2]), block(sizes[3], sizes[4], sizes[5]);
  if (shared > 48 * 1024) {{
    cudaFuncSetAttribute({kernel}, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  }}
  {kernel}<<<grid, block, shared>>>({arguments});
  cudaError_t launched = cudaGetLastError();
  cudaError_t ended = cudaDeviceSynchronize();
  return launched == cudaSuccess ? ended : launched;
}}
"
    )
}

fn is_include(line: &&str) -> bool {
    line.starts_with("#include")
}
