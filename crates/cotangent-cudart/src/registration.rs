//! What a program says about itself before `main`: its fat binaries, and the host addresses of kernels and variables.
//!
//! A binary's PTX is read when something in it is first used, because registration happens in static constructors, and
//! because a program may have kernels that it never launches.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, Mutex, OnceLock};

use cotangent_cpu::CudaError;
use cotangent_cpu::check::Space;
use cotangent_cpu::kernel::written_name;
use cotangent_ptx::{KernelInfo, Module, Variable, VariableSpace};

use crate::runtime::{api, fail, locked};

/// Errors that only this file has.
const INVALID_SYMBOL: CudaError = CudaError(13);
const INVALID_DEVICE_FUNCTION: CudaError = CudaError(98);
const NO_KERNEL_IMAGE: CudaError = CudaError(209);
const INVALID_PTX: CudaError = CudaError(218);

/// A fat binary of the program.
struct Binary {
    wrapper: usize,
    /// The names of managed variables, and where on the host the pointer to each lies.
    managed: Mutex<BTreeMap<String, usize>>,
    loaded: OnceLock<Result<Loaded, CudaError>>,
}

/// A binary's PTX as it was read.
#[derive(Clone)]
struct Loaded {
    module: Arc<Module>,
    ptx_version: i32,
}

/// A kernel or variable: its binary and its name there.
type Registered = (Arc<Binary>, String);

#[derive(Default)]
struct Registry {
    binaries: Vec<Arc<Binary>>,
    kernels: HashMap<usize, Registered>,
    variables: HashMap<usize, Registered>,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

fn with<T>(body: impl FnOnce(&mut Registry) -> T) -> T {
    body(locked(&REGISTRY).get_or_insert_default())
}

/// A kernel of the program, in its module.
pub(crate) struct Found {
    pub(crate) module: Arc<Module>,
    pub(crate) name: String,
    pub(crate) info: KernelInfo,
    /// The architecture that its PTX is for: 75 for `compute_75`.
    pub(crate) ptx_version: i32,
}

/// The kernel whose host function this is. Its module is read now if it was not.
pub(crate) fn kernel(function: *const c_void) -> Result<Found, i32> {
    let found = with(|registry| registry.kernels.get(&(function as usize)).cloned());
    let (binary, name) = found.ok_or_else(|| fail(INVALID_DEVICE_FUNCTION))?;
    let Loaded { module, ptx_version } = binary.loaded().map_err(fail)?;
    match module.kernel(&name) {
        Some(info) => Ok(Found { module, name, info, ptx_version }),
        None => Err(fail(INVALID_DEVICE_FUNCTION)),
    }
}

/// Where on the device a variable lies that is at this address on the host, and its bytes.
pub(crate) fn variable(host: *const c_void) -> Result<(usize, usize), i32> {
    let Some((binary, name)) = with(|registry| registry.variables.get(&(host as usize)).cloned()) else {
        // The name of a managed variable means the memory itself.
        let managed = cotangent_cpu::memory_at(host as usize).filter(|range| range.start == host as usize);
        return managed.map(|range| (range.start, range.len())).ok_or_else(|| fail(INVALID_SYMBOL));
    };
    let Loaded { module, .. } = binary.loaded().map_err(fail)?;
    module.variable(&name).ok_or_else(|| fail(INVALID_SYMBOL))
}

impl Binary {
    /// What its PTX is. Why it cannot be executed is said once.
    fn loaded(&self) -> Result<Loaded, CudaError> {
        self.loaded.get_or_init(|| self.load()).clone()
    }

    fn load(&self) -> Result<Loaded, CudaError> {
        // SAFETY: the program gave it to `__cudaRegisterFatBinary`.
        let text = unsafe { cotangent_ptx::fatbin::text(self.wrapper as *const c_void) };
        let text = text.map_err(|error| said(&error, NO_KERNEL_IMAGE))?;
        let managed = locked(&self.managed);
        let mut place = |variable: &Variable<'_>| {
            let space = match variable.space {
                _ if managed.contains_key(variable.name) => Space::Managed,
                VariableSpace::Global => Space::Device,
                VariableSpace::Constant => Space::Constant,
            };
            let name = written_name(variable.name);
            let placed = cotangent_cpu::place_variable(&name, variable.bytes, variable.alignment, space);
            placed.unwrap_or_else(|| {
                eprintln!("cotangent: there is no memory for the variable `{name}` of {} bytes", variable.bytes);
                std::process::abort();
            })
        };
        let module = Module::load(&text, &mut place).map_err(|error| said(&error, INVALID_PTX))?;
        for (name, host) in managed.iter() {
            if let Some((address, _)) = module.variable(name) {
                // SAFETY: the program's own pointer, which waits for this.
                unsafe { *(*host as *mut usize) = address };
            }
        }
        Ok(Loaded { module: Arc::new(module), ptx_version: target(&text) })
    }
}

/// The number in `.target sm_75`; zero if there is none.
fn target(text: &str) -> i32 {
    let named = text.lines().find_map(|line| line.trim().strip_prefix(".target")?.trim().strip_prefix("sm_"));
    let digits = named.map_or("", |name| name.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or(""));
    digits.parse().unwrap_or(0)
}

fn said(error: &dyn std::error::Error, code: CudaError) -> CudaError {
    eprintln!("cotangent: {error}");
    code
}

/// The binary that a handle stands for: handles count from one.
fn binary(handle: *mut *mut c_void) -> Option<Arc<Binary>> {
    with(|registry| registry.binaries.get((handle as usize).checked_sub(1)?).cloned())
}

/// What a program registers under a name.
///
/// # Safety
/// `name` is a string.
unsafe fn registered(handle: *mut *mut c_void, name: *const c_char) -> Option<Registered> {
    // SAFETY: per the contract.
    binary(handle).map(|binary| (binary, unsafe { text(name) }))
}

/// # Safety
/// `name` is a string.
unsafe fn text(name: *const c_char) -> String {
    // SAFETY: per the contract.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinary(wrapper: *mut c_void) -> *mut *mut c_void {
    // What is to be done at the end of the process must come after the program's own destructors.
    api();
    let binary = Binary { wrapper: wrapper as usize, managed: Mutex::new(BTreeMap::new()), loaded: OnceLock::new() };
    with(|registry| {
        registry.binaries.push(Arc::new(binary));
        registry.binaries.len() as *mut *mut c_void
    })
}

/// All is there when it is needed.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

/// The process ends, or a library is closed: nothing of the binary can be used any more.
#[unsafe(no_mangle)]
extern "C" fn __cudaUnregisterFatBinary(handle: *mut *mut c_void) {
    let Some(gone) = binary(handle) else { return };
    with(|registry| {
        registry.kernels.retain(|_, (binary, _)| !Arc::ptr_eq(binary, &gone));
        registry.variables.retain(|_, (binary, _)| !Arc::ptr_eq(binary, &gone));
    });
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "nvcc's signature")]
unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    host: *const c_char,
    _device: *mut c_char,
    name: *const c_char,
    _thread_limit: i32,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_extents: *mut c_void,
    _grid_extents: *mut c_void,
    _warp_size: *mut i32,
) {
    // SAFETY: nvcc gives a string.
    let Some(registered) = (unsafe { registered(handle, name) }) else { return };
    with(|registry| registry.kernels.insert(host as usize, registered));
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "nvcc's signature")]
unsafe extern "C" fn __cudaRegisterVar(
    handle: *mut *mut c_void,
    host: *mut c_char,
    _device: *mut c_char,
    name: *const c_char,
    _external: i32,
    _bytes: usize,
    _constant: i32,
    _global: i32,
) {
    // SAFETY: nvcc gives a string.
    let Some(registered) = (unsafe { registered(handle, name) }) else { return };
    with(|registry| registry.variables.insert(host as usize, registered));
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "nvcc's signature")]
unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: *mut *mut c_void,
    host: *mut *mut c_void,
    _device: *mut c_char,
    name: *const c_char,
    _external: i32,
    _bytes: usize,
    _constant: i32,
    _global: i32,
) {
    // SAFETY: nvcc gives a string.
    let Some(registered) = (unsafe { registered(handle, name) }) else { return };
    let (binary, name) = &registered;
    locked(&binary.managed).insert(name.clone(), host as usize);
    with(|registry| registry.variables.insert(host as usize, registered));
}

/// The host is about to use a managed variable. Tells whether it can.
#[unsafe(no_mangle)]
extern "C" fn __cudaInitModule(handle: *mut *mut c_void) -> c_char {
    let loaded = binary(handle).is_some_and(|binary| binary.loaded().is_ok());
    c_char::from(loaded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_of_a_text_is_its_number() {
        assert_eq!(target(".version 9.0\n.target sm_90a, debug\n.address_size 64\n"), 90);
        assert_eq!(target("//\n.target sm_75\n"), 75);
        assert_eq!(target(""), 0);
    }
}
