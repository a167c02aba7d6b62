//! Loads a compiled program and runs its `main`.

use std::error::Error;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Once;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};

use crate::abi::{self, Api};
use crate::demangle::demangled;
use crate::runtime::Config;
use crate::{checks, queue, report, table};

/// The exit code of a program that ended well but about which something was found.
pub const FINDINGS_EXIT_CODE: i32 = 66;

/// Carries the address of the table to the program, whose static constructors may already need it
/// while it is being loaded.
const TABLE_VARIABLE: &str = "COTANGENT_RUNTIME_TABLE";

/// What the loader says of a function that nobody has, before its name.
const UNDEFINED: &str = "undefined symbol: ";

/// Why a program could not be run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot load {path}: {reason}")]
    Open { path: PathBuf, reason: String },
    #[error("`{symbol}` is in none of the files that were compiled; give the file that has it as well")]
    Undefined { symbol: String },
    #[error("{path} has no `{symbol}`; it was not compiled by this version of cotangent, compile it again")]
    Missing { path: PathBuf, symbol: &'static str },
    #[error("the program has no `main`, and without it there is nothing to run")]
    NoMain,
    #[error("{path} was compiled against another version of the runtime; compile it again")]
    Version { path: PathBuf },
    #[error("argument {0:?} contains a zero byte")]
    Argument(String),
}

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char) -> c_int;
/// Calls a program's `main`; see `support.cpp`.
type RunMain = unsafe extern "C" fn(Main, c_int, *mut *mut c_char) -> c_int;

/// Loads the shared object `program` and runs its `main` with `arguments`, of which the first is
/// the program's name. Returns what `main` returns.
///
/// The caller ends the process with that code by `std::process::exit`. Findings are reported when
/// the process ends, however it does, and make the exit code [`FINDINGS_EXIT_CODE`] if it would
/// be 0. One process runs one program.
pub fn run_program<S: AsRef<OsStr>>(program: &Path, arguments: &[S], config: Config) -> Result<i32, LoadError> {
    // Before the program is loaded, so that the report comes after the program's own destructors.
    let api = start(config);
    let library = open(program, api)?;
    attach(&library, program, api)?;
    let symbol = |name: &'static str| LoadError::Missing { path: program.to_path_buf(), symbol: name };
    // SAFETY: the one belongs to the support code compiled into every program, the other is its `main`.
    let (main, run_main) = unsafe {
        let headers: Symbol<unsafe extern "C" fn() -> *const c_char> =
            library.get(b"cotangent_support_file").map_err(|_| symbol("cotangent_support_file"))?;
        checks::program_loaded(&absolute(program), &CStr::from_ptr(headers()).to_string_lossy());
        let main: Symbol<Main> = library.get(b"main").map_err(|_| LoadError::NoMain)?;
        let run_main: Symbol<RunMain> = library.get(b"cotangent_run_main").map_err(|_| symbol("cotangent_run_main"))?;
        (*main, *run_main)
    };

    let arguments = arguments
        .iter()
        .map(|argument| CString::new(argument.as_ref().as_bytes()))
        .collect::<Result<Vec<CString>, _>>()
        .map_err(|error| LoadError::Argument(error.to_string()))?;
    let mut pointers: Vec<*mut c_char> = arguments.iter().map(|argument| argument.as_ptr().cast_mut()).collect();
    pointers.push(std::ptr::null_mut());
    // SAFETY: `main` of the program, with arguments as C requires them.
    let code = unsafe { run_main(main, arguments.len() as c_int, pointers.as_mut_ptr()) };
    // Both stay for the rest of the process: destructors of the program run at its end.
    std::mem::forget((library, pointers, arguments));
    // SAFETY: flushing all C streams has no precondition.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    Ok(code)
}

/// Gives what was loaded from `path` the functions of the runtime, if it was compiled against this version of it.
pub(crate) fn attach(library: &Library, path: &Path, api: &'static Api) -> Result<(), LoadError> {
    // SAFETY: it belongs to the support code that is compiled into every shared object.
    let version = unsafe {
        let attach: Symbol<unsafe extern "C" fn(*const Api) -> u32> = library
            .get(b"cotangent_attach")
            .map_err(|_| LoadError::Missing { path: path.to_path_buf(), symbol: "cotangent_attach" })?;
        attach(api)
    };
    if version == abi::ABI_VERSION { Ok(()) } else { Err(LoadError::Version { path: path.to_path_buf() }) }
}

/// Sets the runtime of this process up, for a program that is loaded already or will be. As in [`run_program`], findings are
/// reported when the process ends, and decide its exit code. The first configuration stays.
pub fn start(config: Config) -> &'static Api {
    static STARTED: Once = Once::new();
    let api = table::start(config);
    STARTED.call_once(|| {
        if config.check {
            checks::start();
        }
        // SAFETY: `report_at_exit` fits the signature and needs no argument.
        unsafe { on_exit(report_at_exit, std::ptr::null_mut()) };
    });
    api
}

/// Sees to it that this process ends when the one that started it does, however that ends. `parent` is the number of that
/// process: if it has ended already, there is nobody to run for.
pub fn end_with_parent(parent: u32) {
    // SAFETY: system calls that touch no memory.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() as u32 != parent {
            libc::_exit(128 + libc::SIGKILL);
        }
    }
}

fn open(program: &Path, api: &'static Api) -> Result<Library, LoadError> {
    // A path without a slash would be searched in the system's folders.
    let path = absolute(program);
    // SAFETY: the process has no other thread that reads the environment yet; workers of the pool
    // do not. The program is trusted as any program that the user runs.
    unsafe {
        std::env::set_var(TABLE_VARIABLE, format!("{:x}", std::ptr::from_ref(api) as usize));
        let library = Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL);
        std::env::remove_var(TABLE_VARIABLE);
        // The dynamic linker's own sentence is what the error was made from.
        let reason = |error: &dyn Error| error.source().map_or_else(|| error.to_string(), ToString::to_string);
        library.map_err(|error| {
            let reason = reason(&error);
            match reason.split_once(UNDEFINED) {
                Some((_, symbol)) => LoadError::Undefined { symbol: demangled(symbol.trim()) },
                None => LoadError::Open { path, reason },
            }
        })
    }
}

fn absolute(program: &Path) -> PathBuf {
    std::path::absolute(program).unwrap_or_else(|_| program.to_path_buf())
}

unsafe extern "C" {
    /// Like `atexit`, but the function is told the exit code (glibc).
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Runs when the process ends, after the program's own destructors.
extern "C" fn report_at_exit(code: c_int, _argument: *mut c_void) {
    queue::finish();
    let errors = report::findings();
    if errors > 0 && code == 0 {
        // SAFETY: flushing has no precondition; `_exit` ends the process at once, with the code that
        // `exit` can no longer be given.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(FINDINGS_EXIT_CODE)
        };
    }
}
