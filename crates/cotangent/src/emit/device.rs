//! What of a derivative runs on the device.

use crate::ir::{FunctionId, Module, Space, order};

/// The functions of the device with all they need, for compilers that have no host. Kernels are found by their own names.
pub fn device_only(derivative: &Module) -> Module {
    let functions = derivative.functions.entries();
    let roots: Vec<FunctionId> =
        functions.filter(|(_, function)| function.space != Space::Host).map(|(id, _)| id).collect();
    let mut module = order::needed_by(derivative, &roots);
    for kernel in module.functions.iter_mut().filter(|function| function.space == Space::Kernel) {
        kernel.is_extern_c = true;
    }
    module
}
