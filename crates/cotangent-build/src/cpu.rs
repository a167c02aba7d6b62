//! The module of launches on the CPU, as text.

use crate::formula::number;
use crate::plan::{Argument, Kernel, Launched, Record, Role};

const BEFORE: &str = "\
/// On the CPU, by Cotangent's executor. A launch returns when its kernel has ended.
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

/// What kernels rely on.
pub(crate) const SAFETY: &str = "    /// # Safety
    /// The kernel must stay inside of its arrays: nothing compares their lengths with what it accesses.
";

/// The module. `library` is the file with the compiled kernels, in the same folder.
pub(crate) fn module(launched: &[Launched], library: &str) -> String {
    let functions: String = launched.iter().map(function).collect();
    format!("{}{functions}{AFTER}", BEFORE.replace("LIBRARY", library))
}

fn function(launched: &Launched) -> String {
    let parameters: Vec<String> = launched.arguments.iter().map(parameter).collect();
    let (name, does) = (&launched.name, &launched.does);
    let mut body: Vec<String> = launched.arguments.iter().flat_map(prepared).collect();
    body.extend(launched.record.as_ref().map(|record| made(record, &launched.arguments)));
    body.extend(doubled(&launched.kernel));
    let record = launched.record.as_ref().map(|_| "record.as_mut_ptr()");
    body.push(call(&launched.kernel, &launched.arguments, record));
    format!(
        "\n    /// {does}\n    ///\n{SAFETY}    pub unsafe fn {name}(\n        launch: Launch,\n        {},\n    ) -> Result<(), CudaError> {{\n{}    }}\n",
        parameters.join(",\n        "),
        body.iter().map(|line| format!("        {line}\n")).collect::<String>()
    )
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
fn made(record: &Record, arguments: &[Argument]) -> String {
    let bytes = match record {
        Record::Bytes(formula) => {
            let named = |name: &str| named(name, arguments);
            format!("let bytes: i64 = {};", number(formula, &named))
        }
        Record::Counted { kernel, word_bytes } => {
            let count = call(kernel, arguments, Some("&raw mut slots"));
            format!(
                "let mut slots = 0_u32;\n        let launch_of_gradient = launch;\n        {}{count}?;\n        let launch = launch_of_gradient;\n        \
                 let bytes = i64::from(slots) * (launch.grid.count() * launch.block.count()) as i64 * {word_bytes};",
                doubled(kernel).map(|line| format!("{line}\n        ")).unwrap_or_default()
            )
        }
    };
    format!("{bytes}\n        let mut record = vec![0_u64; usize::try_from(bytes).unwrap_or(0) / 8 + 1];")
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
        None => crate::module::parameter(name, arguments),
    }
}
