//! The module of launches on GPUs, through cudarc, as text.

use crate::formula::number;
use crate::module::{self, ALLOW};
use crate::plan::{Argument, Kernel, Launched, Record, Role};
use crate::structs::Defined;

const BEFORE: &str = "
/// On GPUs, through cudarc.
ALLOW
pub mod cuda {
    use std::sync::Arc;

    use ::cudarc::driver::sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    use ::cudarc::driver::{
        CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError, LaunchConfig, PushKernelArg,
    };
    use ::cudarc::nvrtc::Ptx;
";

const AFTER: &str = "
    /// Launches may have more shared memory than every device has, if they say so before.
    fn allow_shared(kernel: &CudaFunction, launch: &LaunchConfig) -> Result<(), DriverError> {
        match i32::try_from(launch.shared_mem_bytes) {
            Ok(bytes) if bytes > 48 * 1024 => {
                kernel.set_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)
            }
            _ => Ok(()),
        }
    }
}
";

/// A text for GPUs, compiled: a file in the same folder, which holds these kernels.
pub(crate) struct Image {
    pub(crate) file: String,
    /// Whether it is text, and not machine code.
    pub(crate) is_ptx: bool,
    pub(crate) kernels: Vec<String>,
}

/// The module.
pub(crate) fn module(launched: &[Launched], structs: &[Defined], images: &[Image]) -> String {
    let kernels: Vec<&str> = images.iter().flat_map(|image| &image.kernels).map(String::as_str).collect();
    let fields: String = kernels.iter().map(|name| format!("        {name}: CudaFunction,\n")).collect();
    let loads: String = images.iter().map(load).collect();
    let functions: String = launched.iter().map(function).collect();
    let structs: String = structs.iter().map(passed).collect();
    format!(
        "{}
    /// The kernels, loaded for a GPU.
    #[derive(Clone, Debug)]
    pub struct Kernels {{
{fields}    }}

    impl Kernels {{
        /// Loads them.
        pub fn load(context: &Arc<CudaContext>) -> Result<Kernels, DriverError> {{
{loads}            Ok(Kernels {{ {} }})
        }}
{functions}    }}
{structs}{AFTER}",
        BEFORE.replace("ALLOW\n", ALLOW),
        kernels.join(", ")
    )
}

/// What cudarc wants to know of a struct.
fn passed(of: &Defined) -> String {
    let name = &of.name;
    format!(
        "\n    // SAFETY: its fields are numbers, and it is laid out as in CUDA.\n    \
         unsafe impl ::cudarc::driver::DeviceRepr for super::{name} {{}}\n    // SAFETY: zero is a number.\n    \
         unsafe impl ::cudarc::driver::ValidAsZeroBits for super::{name} {{}}\n"
    )
}

fn load(image: &Image) -> String {
    let Image { file, is_ptx, kernels } = image;
    let ptx = match is_ptx {
        true => format!("Ptx::from_src(include_str!(\"{file}\"))"),
        false => format!("Ptx::from_binary(include_bytes!(\"{file}\").to_vec())"),
    };
    let functions = kernels.iter().map(|name| format!("            let {name} = module.load_function(\"{name}\")?;\n"));
    format!("            let module = context.load_module({ptx})?;\n{}", functions.collect::<String>())
}

fn function(launched: &Launched) -> String {
    let first = ["&self", "stream: &Arc<CudaStream>", "launch: LaunchConfig"].map(str::to_owned);
    let parameters = first.into_iter().chain(launched.arguments.iter().map(parameter));
    let mut body: Vec<String> = launched.arguments.iter().filter_map(prepared).collect();
    body.extend(launched.arguments.iter().filter_map(pointer));
    if let Some(record) = &launched.record {
        body.extend(made(record, &launched.arguments));
        body.push("let (record, _record) = record.device_ptr(stream);".to_owned());
    }
    body.extend(call(&launched.kernel, &launched.arguments, launched.record.as_ref().map(|_| "record")));
    body.push("Ok(())".to_owned());
    module::function(launched, "        ", parameters, "DriverError", &body)
}

fn parameter(argument: &Argument) -> String {
    let ty = argument.ty.within_module();
    let ty = match argument.role {
        Role::Number => ty,
        Role::Read | Role::Copied => format!("&impl DevicePtr<{ty}>"),
        Role::Changed | Role::Gradient | Role::Sum => format!("&mut impl DevicePtrMut<{ty}>"),
    };
    format!("{}: {ty}", argument.name)
}

/// What happens to an argument before the launch.
fn prepared(argument: &Argument) -> Option<String> {
    let name = &argument.name;
    match argument.role {
        Role::Number | Role::Read | Role::Changed => None,
        Role::Gradient | Role::Sum => Some(format!("stream.memset_zeros({name})?;")),
        Role::Copied => Some(format!("let mut {name} = stream.clone_dtod({name})?;")),
    }
}

/// The address of an array, with what keeps its use in order.
fn pointer(argument: &Argument) -> Option<String> {
    let name = &argument.name;
    let of = match argument.role {
        Role::Number => return None,
        Role::Read => "device_ptr",
        Role::Changed | Role::Gradient | Role::Sum | Role::Copied => "device_ptr_mut",
    };
    Some(format!("let ({name}, _use_of_{name}) = {name}.{of}(stream);"))
}

/// The statements that make the record.
fn made(record: &Record, arguments: &[Argument]) -> Vec<String> {
    let mut lines = Vec::new();
    match record {
        Record::Bytes(formula) => {
            let named = |name: &str| named(name, arguments);
            lines.push(format!("let bytes: i64 = {};", number(formula, &named)));
        }
        Record::Counted { kernel, word_bytes } => {
            lines.push("let mut slots = stream.alloc_zeros::<u32>(1)?;".to_owned());
            lines.push("{".to_owned());
            lines.push("    let (slots, _use_of_slots) = slots.device_ptr_mut(stream);".to_owned());
            lines.extend(call(kernel, arguments, Some("slots")).iter().map(|line| format!("    {line}")));
            lines.push("}".to_owned());
            lines.push("let slots = i64::from(stream.clone_dtoh(&slots)?[0]);".to_owned());
            let sizes =
                |of: &str| format!("i64::from(launch.{of}.0) * i64::from(launch.{of}.1) * i64::from(launch.{of}.2)");
            let threads = format!("{} * {}", sizes("grid_dim"), sizes("block_dim"));
            lines.push(format!("let bytes = slots * {threads} * {word_bytes};"));
        }
    }
    lines.push("let record = unsafe { stream.alloc::<u64>(usize::try_from(bytes).unwrap_or(0) / 8 + 1) }?;".to_owned());
    lines
}

/// The launch of a kernel, whose last argument may be a pointer of ours.
fn call(kernel: &Kernel, arguments: &[Argument], last: Option<&str>) -> Vec<String> {
    let own = kernel.parameters - usize::from(last.is_some());
    let given = arguments.iter().take(own).map(|argument| argument.name.as_str()).chain(last);
    let mut lines = Vec::new();
    if kernel.doubles_shared {
        let twice = "2 * launch.shared_mem_bytes.next_multiple_of(16)";
        lines.push(format!("let launch = LaunchConfig {{ shared_mem_bytes: {twice}, ..launch }};"));
    }
    lines.push(format!("allow_shared(&self.{}, &launch)?;", kernel.name));
    lines.push(format!("let mut call = stream.launch_builder(&self.{});", kernel.name));
    lines.extend(given.map(|name| format!("call.arg(&{name});")));
    lines.push("unsafe { call.launch(launch) }?;".to_owned());
    lines
}

/// A name of a formula: a parameter, or a size of the launch.
fn named(name: &str, arguments: &[Argument]) -> String {
    let axis = |axis: &str| ["x", "y", "z"].iter().position(|of| *of == axis).unwrap_or_default();
    match name.split_once('.') {
        Some((of, of_axis)) => format!("i64::from(launch.{of}_dim.{})", axis(of_axis)),
        None => module::parameter(name, arguments),
    }
}
