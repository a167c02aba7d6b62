//! Where in the program a function of this library was called, for the findings of a checked run.
//!
//! The stack is walked to the first frame that is neither this library's nor a wrapper of CUDA's headers. Its line is in
//! the debug information (`nvcc -g`); without it nothing is known. A run without checks does not ask.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cotangent_cpu::abi::Site;
use cotangent_cpu::check::{Location, Symbolizer};

use crate::runtime::{api, locked};

/// Frames that are looked at.
const DEPTH: usize = 16;

/// Headers of CUDA's with wrappers in them, which programs call.
const WRAPPERS: &[&str] = &["cuda_runtime.h", "device_functions.h", "cuda_runtime_api.h"];

/// The place of the innermost call that is the program's own.
pub(crate) fn caller() -> Site {
    if api().checking == 0 {
        return Site::UNKNOWN;
    }
    let mut places = locked(&PLACES);
    let places = places.get_or_insert_default();
    return_addresses().into_iter().find_map(|address| places.site(address)).unwrap_or(Site::UNKNOWN)
}

/// The place of a call that returns to this address.
pub(crate) fn place_of(return_address: usize) -> Site {
    let mut places = locked(&PLACES);
    places.get_or_insert_default().site(return_address).unwrap_or(Site::UNKNOWN)
}

/// What is known about objects and addresses.
#[derive(Default)]
struct Places {
    symbolizers: HashMap<PathBuf, Symbolizer>,
    /// Folders of CUDA's headers.
    headers: Vec<PathBuf>,
    known: HashMap<usize, Option<Site>>,
    /// Names of files live as long as the process.
    files: HashMap<String, &'static CStr>,
}

static PLACES: Mutex<Option<Places>> = Mutex::new(None);

impl Places {
    fn site(&mut self, address: usize) -> Option<Site> {
        if let Some(site) = self.known.get(&address) {
            return *site;
        }
        let site = self.look_up(address);
        self.known.insert(address, site);
        site
    }

    fn look_up(&mut self, address: usize) -> Option<Site> {
        let ours = object_of(caller as *const () as usize)?;
        let object = object_of(address).filter(|object| *object != ours)?;
        let mut location = self.locate(&object, address)?;
        if let Some(headers) = headers_of(&location) {
            // A wrapper may be inlined into the program. From now on it is looked through.
            if !self.headers.contains(&headers) {
                self.headers.push(headers);
                self.symbolizers.clear();
                location = self.locate(&object, address)?;
            }
            if headers_of(&location).is_some() {
                return None;
            }
        }
        let Location { file, line, .. } = location;
        let leaked = |file: &str| Some(&*Box::leak(CString::new(file).ok()?.into_boxed_c_str()));
        let file = match self.files.get(&file) {
            Some(known) => known,
            None => self.files.entry(file.clone()).or_insert(leaked(&file)?),
        };
        Some(Site { file: file.as_ptr(), line })
    }

    fn locate(&mut self, object: &Object, address: usize) -> Option<Location> {
        let new = |path: &PathBuf| Symbolizer::new(path, object.load_address, self.headers.clone());
        self.symbolizers.entry(object.path.clone()).or_insert_with_key(new).locate(address)
    }
}

/// The folder of CUDA's headers, if a place is in one of their wrappers.
fn headers_of(location: &Location) -> Option<PathBuf> {
    let path = Path::new(&location.file);
    let is_wrapper = path.file_name().is_some_and(|name| WRAPPERS.iter().any(|wrapper| name == *wrapper));
    path.parent().filter(|_| is_wrapper).map(Path::to_path_buf)
}

/// Where each frame of the calling thread goes on, innermost first.
fn return_addresses() -> Vec<usize> {
    unsafe extern "C" fn visit(context: *mut c_void, addresses: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes its context, and what it was given below.
        unsafe {
            let addresses = &mut *addresses.cast::<Vec<usize>>();
            addresses.push(_Unwind_GetIP(context));
            // Any other number than zero ends the walk.
            c_int::from(addresses.len() >= DEPTH)
        }
    }
    let mut addresses: Vec<usize> = Vec::with_capacity(DEPTH);
    // SAFETY: the callback fits, and the vector outlives the call.
    unsafe { _Unwind_Backtrace(visit, (&raw mut addresses).cast()) };
    addresses
}

unsafe extern "C" {
    /// The compiler's own library, which Rust's standard library brings.
    fn _Unwind_Backtrace(visit: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// A program or shared library in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Object {
    path: PathBuf,
    load_address: usize,
}

/// The object that an address belongs to.
fn object_of(address: usize) -> Option<Object> {
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _bytes: usize, search: *mut c_void) -> c_int {
        // SAFETY: the dynamic linker passes a valid record, and what it was given below.
        unsafe {
            let (address, found) = &mut *search.cast::<(usize, Option<Object>)>();
            let info = &*info;
            let load_address = info.dlpi_addr as usize;
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
            let is_inside = headers.iter().filter(|header| header.p_type == libc::PT_LOAD).any(|header| {
                let start = load_address + header.p_vaddr as usize;
                (start..start + header.p_memsz as usize).contains(address)
            });
            if is_inside {
                let name = CStr::from_ptr(info.dlpi_name).to_bytes();
                // The program itself has no name.
                let path = if name.is_empty() { b"/proc/self/exe" } else { name };
                *found = Some(Object { path: PathBuf::from(OsStr::from_bytes(path)), load_address });
            }
            c_int::from(is_inside)
        }
    }
    let mut search = (address, None);
    // SAFETY: the callback fits, and `search` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.1
}
