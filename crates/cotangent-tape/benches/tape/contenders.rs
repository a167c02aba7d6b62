//! The contenders: those in C++ are compiled here and loaded, so that all run in one process and take turns.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::process::Command;
use std::ptr;

use cotangent_tape::{Lane, Options, Tape};
use libloading::Library;

/// Pushes and pops so many doubles.
pub(crate) type Run<'a> = Box<dyn FnMut(usize) + 'a>;

/// The functions of `contenders.cpp`.
pub(crate) struct Cpp {
    library: Library,
}

impl Cpp {
    pub(crate) fn compile() -> Cpp {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let object = folder.path().join("contenders.so");
        let library = std::env::current_exe().expect("a file").with_file_name("libcotangent_tape.a");
        let output = Command::new("clang++-19")
            // The library's own names must not be those of the copy in this program.
            .args(["-std=c++17", "-O3", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-I"])
            .arg(here.join("../../include"))
            .arg(here.join("benches/tape/contenders.cpp"))
            .arg(library)
            .arg("-o")
            .arg(&object)
            .output()
            .expect("clang++-19 is installed (cargo xtask setup)");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // SAFETY: loading it runs nothing but the start of C++'s library.
        Cpp { library: unsafe { Library::new(&object) }.expect("just compiled") }
    }

    fn function<T: Copy>(&self, name: &str) -> T {
        // SAFETY: callers name a function of this type.
        *unsafe { self.library.get::<T>(name.as_bytes()) }.expect("a function of contenders.cpp")
    }

    /// A contender that works on a lane of its own.
    pub(crate) fn on_lane(&self, name: &str, folder: Option<&Path>) -> Run<'_> {
        let open: extern "C" fn(*const c_char) -> *mut c_void = self.function("open_lane");
        let status: extern "C" fn(*mut c_void) -> u32 = self.function("status");
        let run: extern "C" fn(*mut c_void, usize) = self.function(name);
        let folder = folder.map(|folder| CString::new(folder.to_str().expect("a plain name")).expect("without zeros"));
        let lane = open(folder.as_ref().map_or(ptr::null(), |folder| folder.as_ptr()));
        Box::new(move |count| {
            run(lane, count);
            assert_eq!(status(lane), 0);
        })
    }

    /// A contender that works on an array, or on memory of its own.
    pub(crate) fn on_memory(&self, name: &str, most: usize) -> Run<'_> {
        let run: extern "C" fn(*mut c_void, usize) = self.function(name);
        let mut memory = vec![1.0f64; most];
        Box::new(move |count| run(memory.as_mut_ptr().cast(), count))
    }
}

/// The lane as Rust programs use it.
pub(crate) fn rust_lane() -> Run<'static> {
    let mut lane: Lane = Tape::new(Options::default()).expect("the default").lane();
    Box::new(move |count| {
        let mut cursor = lane.cursor();
        for _ in 0..count {
            cursor.push(opaque(0.0)).expect("memory");
        }
        for _ in 0..count {
            opaque(cursor.pop::<f64>().expect("what was pushed"));
        }
    })
}

pub(crate) fn rust_vec() -> Run<'static> {
    let mut values: Vec<f64> = Vec::new();
    Box::new(move |count| {
        values.reserve(count);
        for _ in 0..count {
            values.push(opaque(0.0));
        }
        for _ in 0..count {
            opaque(values.pop().expect("what was pushed"));
        }
    })
}

/// As in `contenders.cpp`.
#[inline(always)]
fn opaque(value: f64) -> f64 {
    let mut value = value;
    // SAFETY: no instruction at all.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("/* {0} */", inout(xmm_reg) value, options(nomem, nostack, preserves_flags));
    }
    // SAFETY: no instruction at all.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("/* {0:v} */", inout(vreg) value, options(nomem, nostack, preserves_flags));
    }
    value
}
