//! NVRTC, the compiler that programs call at run time.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

use libloading::{Library, Symbol};

type Program = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type LogSize = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Log = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;

/// Compiles a text with the NVRTC of nvcc's toolkit; an error has its log. Only texts with half precision are given a folder of
/// headers.
pub(crate) fn compile(nvcc: &Path, text: &str) -> Result<(), String> {
    let toolkit = nvcc.parent().and_then(Path::parent).ok_or("nvcc lies in no toolkit")?;
    let library = library(&toolkit.join("lib")).or_else(|| library(&toolkit.join("lib64")));
    let library = library.ok_or_else(|| format!("there is no libnvrtc.so beside {}", nvcc.display()))?;
    let mut options = vec!["--gpu-architecture=compute_80".to_owned()];
    if text.contains("#include <cuda_") {
        options.push(format!("--include-path={}", toolkit.join("include").display()));
    }
    // SAFETY: the functions are those of NVRTC's documentation, which are the same in all its versions.
    unsafe { compile_with(&Library::new(library).map_err(|error| error.to_string())?, text, &options) }
}

fn library(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let is_meant =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libnvrtc.so"));
    entries.filter(is_meant).min()
}

unsafe fn compile_with(library: &Library, text: &str, options: &[String]) -> Result<(), String> {
    let told = |error: libloading::Error| error.to_string();
    let text = CString::new(text).map_err(|error| error.to_string())?;
    let options: Vec<CString> = options.iter().filter_map(|option| CString::new(option.as_str()).ok()).collect();
    let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    // SAFETY: as the caller says; all pointers live until the program is destroyed.
    unsafe {
        let create: Symbol<'_, Create> = library.get(b"nvrtcCreateProgram").map_err(told)?;
        let compile: Symbol<'_, Compile> = library.get(b"nvrtcCompileProgram").map_err(told)?;
        let log_size: Symbol<'_, LogSize> = library.get(b"nvrtcGetProgramLogSize").map_err(told)?;
        let log: Symbol<'_, Log> = library.get(b"nvrtcGetProgramLog").map_err(told)?;
        let destroy: Symbol<'_, Destroy> = library.get(b"nvrtcDestroyProgram").map_err(told)?;
        let mut program: Program = null_mut();
        if create(&mut program, text.as_ptr(), null(), 0, null(), null()) != 0 {
            return Err("NVRTC takes no program".to_owned());
        }
        let failed = compile(program, options.len() as c_int, options.as_ptr()) != 0;
        let mut bytes = 0;
        log_size(program, &mut bytes);
        let mut said = vec![0u8; bytes.max(1)];
        log(program, said.as_mut_ptr().cast());
        destroy(&mut program);
        if failed { Err(String::from_utf8_lossy(&said).trim_end_matches('\0').to_owned()) } else { Ok(()) }
    }
}
