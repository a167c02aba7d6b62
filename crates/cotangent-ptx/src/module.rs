//! A loaded module: its kernels and variables, and kernels with their arguments, ready to be launched.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use cotangent_cpu::kernel::written_name;

use crate::bound::Bound;
use crate::decode::{Placed, decode};
use crate::layout::SharedLayouts;
use crate::program::{Function, Program};
use crate::syntax::{SyntaxError, parse};
use crate::variable::Variable;

/// One parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub offset: usize,
    pub bytes: usize,
}

/// What must be known to launch a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    pub parameters: Vec<Parameter>,
    /// Shared memory that every launch has, in bytes.
    pub static_shared: usize,
    /// Bytes of a thread's frame.
    pub local_bytes: usize,
    pub max_threads: Option<u32>,
}

impl KernelInfo {
    /// Arguments as a launch of CUDA's has them, in the order and at the places of the kernel's parameters.
    ///
    /// # Safety
    /// `arguments` points to one pointer for each parameter, to a value of its type.
    pub unsafe fn values(&self, arguments: *const *const c_void) -> Vec<u8> {
        let size = self.parameters.iter().map(|parameter| parameter.offset + parameter.bytes).max().unwrap_or(0);
        let mut values = vec![0u8; size];
        for (index, parameter) in self.parameters.iter().enumerate() {
            // SAFETY: per the contract.
            let value = unsafe { std::slice::from_raw_parts((*arguments.add(index)).cast::<u8>(), parameter.bytes) };
            values[parameter.offset..parameter.offset + parameter.bytes].copy_from_slice(value);
        }
        values
    }
}

/// A module that was read and decoded.
pub struct Module {
    pub(crate) program: Program,
    variables: Vec<(String, usize, usize)>,
    /// Of the kernels among the functions, made when they are first asked for.
    layouts: Vec<OnceLock<SharedLayouts>>,
}

impl Module {
    /// Reads and decodes a text. `place` gives each variable its memory: zeroed, of that size and alignment, for ever; or
    /// null if there is none.
    pub fn load(text: &str, place: &mut dyn FnMut(&Variable<'_>) -> *mut u8) -> Result<Module, SyntaxError> {
        let syntax = parse(text)?;
        let mut variables = Vec::new();
        let mut placing = |variable: &Variable<'_>| {
            let address = place(variable) as usize;
            variables.push((variable.name.to_owned(), address, variable.bytes));
            address as u64
        };
        let (program, placed) = decode(&syntax, &mut placing)?;
        if let Some((name, ..)) = variables.iter().find(|(_, address, bytes)| *address == 0 && *bytes > 0) {
            return Err(SyntaxError::new(1, format!("there is no memory for `{name}`")));
        }
        for Placed { address, bytes } in placed {
            // SAFETY: the memory that `place` gave for this variable, no more than was asked for.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) };
        }
        let layouts = program.functions.iter().map(|_| OnceLock::new()).collect();
        Ok(Module { program, variables, layouts })
    }

    /// The address and size of a variable.
    pub fn variable(&self, name: &str) -> Option<(usize, usize)> {
        self.variables.iter().find(|(known, ..)| known == name).map(|(_, address, bytes)| (*address, *bytes))
    }

    /// Names of all kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.program.functions.iter().filter(|function| function.is_kernel).map(|function| function.name.as_str())
    }

    pub fn kernel(&self, name: &str) -> Option<KernelInfo> {
        let (index, function) = self.kernel_function(name)?;
        let parameters = function
            .parameters
            .iter()
            .map(|slot| Parameter { offset: slot.offset as usize, bytes: slot.bytes as usize });
        Some(KernelInfo {
            parameters: parameters.collect(),
            static_shared: self.layouts(index).dense.end as usize,
            local_bytes: function.frame as usize,
            max_threads: function.max_threads,
        })
    }

    /// A kernel with its arguments: the bytes of the parameters, where [`KernelInfo::parameters`] says.
    pub fn bind(self: &Arc<Module>, name: &str, arguments: Vec<u8>) -> Option<Bound> {
        let (index, function) = self.kernel_function(name)?;
        let name = written_name(&function.name);
        let module = Arc::clone(self);
        Some(Bound { module, kernel: index, name, arguments, limit: u64::MAX })
    }

    /// Where the variables of a kernel lie in shared memory.
    pub(crate) fn layouts(&self, kernel: usize) -> &SharedLayouts {
        self.layouts[kernel].get_or_init(|| SharedLayouts::new(&self.program, kernel))
    }

    fn kernel_function(&self, name: &str) -> Option<(usize, &Function)> {
        let index = *self.program.by_name.get(name)?;
        let function = &self.program.functions[index];
        (function.is_kernel && function.is_defined).then_some((index, function))
    }
}
