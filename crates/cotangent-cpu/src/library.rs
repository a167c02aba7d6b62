//! Kernels that a program of Rust's launches by name, out of a shared object that is part of the program.

use std::ffi::{CString, c_void};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{FromRawFd, IntoRawFd};
use std::path::PathBuf;

use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW, Symbol};

use crate::abi::Dim;
use crate::error::CudaError;
use crate::loader::{LoadError, attach, start};
use crate::runtime::Config;

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// How many blocks there are.
    pub grid: Dim,
    /// How many threads a block has.
    pub block: Dim,
    /// The bytes of dynamic shared memory of a block.
    pub shared: usize,
}

impl Launch {
    /// A launch of so many blocks of so many threads. Both are a number, or two or three of them.
    ///
    /// ```
    /// use cotangent_cpu::Launch;
    ///
    /// let launch = Launch::new(8, (16, 16)).with_shared(1024);
    /// assert_eq!(launch.block.count(), 256);
    /// ```
    pub fn new(grid: impl Into<Dim>, block: impl Into<Dim>) -> Launch {
        Launch { grid: grid.into(), block: block.into(), shared: 0 }
    }

    /// As many blocks of `block` threads as it takes for `count` elements.
    pub fn for_elements(count: usize, block: u32) -> Launch {
        let blocks = count.div_ceil(block.max(1) as usize).max(1);
        Launch::new(u32::try_from(blocks).unwrap_or(u32::MAX), block)
    }

    /// The same launch with so many bytes of dynamic shared memory.
    #[must_use]
    pub fn with_shared(self, shared: usize) -> Launch {
        Launch { shared, ..self }
    }
}

impl From<u32> for Dim {
    fn from(x: u32) -> Dim {
        Dim { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Dim {
    fn from((x, y): (u32, u32)) -> Dim {
        Dim { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Dim {
    fn from((x, y, z): (u32, u32, u32)) -> Dim {
        Dim { x, y, z }
    }
}

/// What launches a kernel: the grid's and the block's sizes, the bytes of shared memory, and the addresses of the arguments.
type Launcher = unsafe extern "C" fn(*const [u32; 6], usize, *const *const c_void) -> i32;

/// Compiled kernels, each with a function that launches it.
pub struct Library {
    loaded: Loaded,
}

impl Library {
    /// Loads a shared object from its bytes. It stays loaded until the process ends.
    pub fn load(image: &[u8]) -> Result<Library, LoadError> {
        let api = start(Config::default());
        let path = in_memory(image)
            .map_err(|reason| LoadError::Open { path: PathBuf::from("kernels"), reason: reason.to_string() })?;
        // SAFETY: it is made of the program's own kernels, whose initialisation calls nothing.
        let loaded = unsafe { Loaded::open(Some(&path), RTLD_NOW | RTLD_LOCAL) };
        let loaded = loaded.map_err(|error| LoadError::Open { path: path.clone(), reason: error.to_string() })?;
        attach(&loaded, &path, api)?;
        Ok(Library { loaded })
    }

    /// Launches a kernel, and waits for its end.
    ///
    /// # Safety
    /// `arguments` are the addresses of values of the types that the kernel takes, in its order, and the kernel stays inside of the arrays
    /// to which they point.
    ///
    /// # Panics
    /// The library has no such kernel.
    pub unsafe fn launch(&self, kernel: &str, launch: Launch, arguments: &[*const c_void]) -> Result<(), CudaError> {
        let name = CString::new(format!("cotangent_launch_{kernel}")).unwrap_or_default();
        // SAFETY: functions of this name have this type.
        let launcher: Symbol<Launcher> = unsafe { self.loaded.get(name.as_bytes_with_nul()) }
            .unwrap_or_else(|_| panic!("the library has no kernel `{kernel}`"));
        let Launch { grid, block, shared } = launch;
        let sizes = [grid.x, grid.y, grid.z, block.x, block.y, block.z];
        // SAFETY: per the contract.
        CudaError(unsafe { launcher(&sizes, shared, arguments.as_ptr()) }).result()
    }
}

/// A file in memory with these bytes. It is never closed: the loader takes two libraries of one path for the same, and the path
/// is made of the file's number.
fn in_memory(image: &[u8]) -> io::Result<PathBuf> {
    // SAFETY: a name that ends with a zero byte, and a number that is a file's if it is not negative.
    let mut file = unsafe {
        match libc::memfd_create(c"cotangent".as_ptr(), libc::MFD_CLOEXEC) {
            failed if failed < 0 => return Err(io::Error::last_os_error()),
            number => File::from_raw_fd(number),
        }
    };
    file.write_all(image)?;
    Ok(PathBuf::from(format!("/proc/self/fd/{}", file.into_raw_fd())))
}
