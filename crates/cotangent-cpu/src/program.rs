//! Where the loaded program lies in memory: its load address, its constant data, and its shared
//! memory.
//!
//! `__shared__` variables are thread-local variables in a section of their own. Their place in the
//! thread-local segment is read from the file; where that segment is on an OS thread, the dynamic
//! linker says.

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ObjectSymbol};

use crate::abi::SHARED_GUARD;

/// The section of `__shared__` variables; see `include/cpu/host_defines.h`.
const SHARED_SECTION: &str = "cotangent_shared";

/// A loaded program.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) load_address: usize,
    /// Segments that the program cannot write.
    pub(crate) constant: Vec<Range<usize>>,
    /// Shared memory, relative to the thread-local segment.
    shared: Range<usize>,
}

/// What the dynamic linker says about the program, on the calling OS thread.
#[derive(Default)]
struct Image {
    load_address: usize,
    constant: Vec<Range<usize>>,
    tls_virtual: usize,
    tls_bytes: usize,
    tls_base: usize,
}

/// The thread-local memory of a program on one OS thread.
pub(crate) struct ThreadLocal {
    pub(crate) shared: Range<usize>,
    /// Everything else, except the guard after shared memory: builtin variables, thread-local variables of the host.
    pub(crate) others: [Range<usize>; 2],
}

impl Program {
    /// Reads what is known about a program that was loaded from `path`.
    pub(crate) fn find(path: &Path) -> Program {
        let image = image_of(path);
        let bytes = std::fs::read(path).unwrap_or_default();
        let section = object::File::parse(bytes.as_slice()).ok().and_then(|file| {
            let section = file.section_by_name(SHARED_SECTION)?;
            let start = (section.address() as usize).checked_sub(image.tls_virtual)?;
            let end = start + section.size() as usize;
            Some(start..end.saturating_sub(SHARED_GUARD).max(start))
        });
        Program {
            path: path.to_path_buf(),
            load_address: image.load_address,
            constant: image.constant,
            shared: section.unwrap_or(0..0),
        }
    }

    /// The name of the function at an address, as the linker knows it. The dynamic linker does not know hidden ones.
    pub(crate) fn function_name(&self, address: usize) -> Option<String> {
        let bytes = std::fs::read(&self.path).ok()?;
        let file = object::File::parse(bytes.as_slice()).ok()?;
        let offset = address.checked_sub(self.load_address)? as u64;
        let found =
            file.symbols().find(|symbol| symbol.address() == offset && symbol.kind() == object::SymbolKind::Text);
        found.and_then(|symbol| symbol.name().ok().map(str::to_owned))
    }

    /// The program's thread-local memory on this OS thread, which has used it before.
    pub(crate) fn thread_local(&self) -> ThreadLocal {
        let image = image_of(&self.path);
        let base = image.tls_base;
        let shared = base + self.shared.start..base + self.shared.end;
        let end = base + image.tls_bytes;
        ThreadLocal { others: [base..shared.start, (shared.end + SHARED_GUARD).min(end)..end], shared }
    }
}

fn image_of(path: &Path) -> Image {
    let mut search = (path, Image::default());
    // SAFETY: the callback fits, and `search` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.1
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: libc::size_t, data: *mut c_void) -> c_int {
    // SAFETY: the dynamic linker passes a valid record, and `data` is what `image_of` gave.
    unsafe {
        let (path, image) = &mut *data.cast::<(&Path, Image)>();
        let info = &*info;
        let name = CStr::from_ptr(info.dlpi_name).to_bytes();
        if Path::new(OsStr::from_bytes(name)) != *path {
            return 0;
        }
        let load_address = info.dlpi_addr as usize;
        image.load_address = load_address;
        for index in 0..usize::from(info.dlpi_phnum) {
            let header = &*info.dlpi_phdr.add(index);
            let start = load_address + header.p_vaddr as usize;
            let range = start..start + header.p_memsz as usize;
            let writable = header.p_flags & libc::PF_W != 0;
            match header.p_type {
                libc::PT_LOAD if !writable => image.constant.push(range),
                libc::PT_GNU_RELRO => image.constant.push(range),
                libc::PT_TLS => {
                    image.tls_virtual = header.p_vaddr as usize;
                    image.tls_bytes = header.p_memsz as usize;
                    image.tls_base = info.dlpi_tls_data as usize;
                }
                _ => {}
            }
        }
        1
    }
}
