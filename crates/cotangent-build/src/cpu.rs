//! The module of launches on the CPU, as text.

use crate::formula::number;
use crate::module::{self, ALLOW};
use crate::plan::{Argument, Kernel, Launched, Record, Role};

const BEFORE: &str = "\
/// On the CPU, by Cotangent's executor. A launch returns when its kernel has ended.
ALLOW
pub mod cpu {
    use std::ffi::c_void;
    use std::sync::LazyLock;

    pub use ::cotangent_cpu::{CudaError, Launch};

    static KERNELS: LazyLock<::cotangent_cpu::Library> = LazyLock::new(|| {
        ::cotangent_cpu::Library::load(include_bytes!(\"LIBRARY\")).expect(\"the kernels were compiled for this program\")
    });
";

const AFTER: &str = "
    fn clear<T: Copy>(numbers: &mut [T]) {
        // SAFETY: all elements are numbers, or vectors of them, and zero is one.
        unsafe { std::ptr::write_bytes(numbers.as_mut_ptr(), 0, numbers.len()) };
    }

    fn address<T>(argument: &T) -> *const c_void {
        std::ptr::from_ref(argument).cast()
    }

    /// Kernels read vectors at addresses that are multiples of their size.
    fn aligned<T>(pointer: *const T, bytes: usize) -> Result<(), CudaError> {
        let is_aligned = pointer.cast::<u8>().align_offset(bytes) == 0;
        if is_aligned { Ok(()) } else { Err(CudaError::MISALIGNED_ADDRESS) }
    }
}
";

/// The module. `library` is the file with the compiled kernels, in the same folder.
pub(crate) fn module(launched: &[Launched], library: &str) -> String {
    let functions: String = launched.iter().map(function).collect();
    format!("{}{functions}{AFTER}", BEFORE.replace("ALLOW\n", ALLOW).replace("LIBRARY", library))
}

fn function(launched: &Launched) -> String {
    let parameters = ["launch: Launch".to_owned()].into_iter().chain(launched.arguments.iter().map(parameter));
    let mut body: Vec<String> = launched.arguments.iter().flat_map(prepared).collect();
    if let Some(record) = &launched.record {
        body.extend(made(record, &launched.arguments));
    }
    body.extend(doubled(&launched.kernel));
    let record = launched.record.as_ref().map(|_| "record.as_mut_ptr()");
    body.push(call(&launched.kernel, &launched.arguments, record));
    module::function(launched, "    ", parameters, "CudaError", &body)
}

fn parameter(argument: &Argument) -> String {
    let ty = argument.ty.within_module();
    let ty = match argument.role {
        Role::Number => ty,
        Role::Read | Role::Copied => format!("&[{ty}]"),
        Role::Changed | Role::Gradient => format!("&mut [{ty}]"),
        Role::Sum => format!("&mut {ty}"),
    };
    format!("{}: {ty}", argument.name)
}

/// What happens to an argument before the launch.
fn prepared(argument: &Argument) -> Vec<String> {
    let name = &argument.name;
    let mut lines = match argument.role {
        Role::Number | Role::Read | Role::Changed => Vec::new(),
        Role::Gradient => vec![format!("clear({name});")],
        Role::Sum => vec![format!("clear(std::slice::from_mut({name}));")],
        Role::Copied => vec![format!("let mut {name} = {name}.to_vec();")],
    };
    let alignment = argument.ty.stricter_alignment().filter(|_| !matches!(argument.role, Role::Number | Role::Sum));
    lines.extend(alignment.map(|bytes| format!("aligned({name}.as_ptr(), {bytes})?;")));
    lines
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
            lines.push("let mut slots = 0_u32;".to_owned());
            lines.push("{".to_owned());
            lines.extend(doubled(kernel).map(|line| format!("    {line}")));
            lines.push(format!("    {}", call(kernel, arguments, Some("&raw mut slots"))));
            lines.push("}?;".to_owned());
            let threads = "(launch.grid.count() * launch.block.count()) as i64";
            lines.push(format!("let bytes = i64::from(slots) * {threads} * {word_bytes};"));
        }
    }
    lines.push("let mut record = vec![0_u64; usize::try_from(bytes).unwrap_or(0) / 8 + 1];".to_owned());
    lines
}

/// Twice the shared memory, of which the second half is for adjoints.
fn doubled(kernel: &Kernel) -> Option<String> {
    let twice = "let launch = launch.with_shared(2 * launch.shared.next_multiple_of(16));";
    kernel.doubles_shared.then(|| twice.to_owned())
}

/// The launch of a kernel, whose last argument may be a pointer of ours.
fn call(kernel: &Kernel, arguments: &[Argument], last: Option<&str>) -> String {
    let own = kernel.parameters - usize::from(last.is_some());
    let given = arguments.iter().take(own).map(|argument| match argument.role {
        Role::Number => format!("address(&{})", argument.name),
        Role::Sum => format!("address(&std::ptr::from_mut({}))", argument.name),
        Role::Read => format!("address(&{}.as_ptr())", argument.name),
        Role::Changed | Role::Gradient | Role::Copied => format!("address(&{}.as_mut_ptr())", argument.name),
    });
    let given: Vec<String> = given.chain(last.map(|last| format!("address(&({last}))"))).collect();
    format!("unsafe {{ KERNELS.launch(\"{}\", launch, &[{}]) }}", kernel.name, given.join(", "))
}

/// A name of a formula: a parameter, or a size of the launch.
fn named(name: &str, arguments: &[Argument]) -> String {
    match name.split_once('.') {
        Some((of, axis)) => format!("i64::from(launch.{of}.{axis})"),
        None => module::parameter(name, arguments),
    }
}
