//! Names as the user writes them, from those that the linker has.

use std::ffi::{CStr, CString, c_char};

/// A name as the user writes it, from the name that the linker has for it.
pub(crate) fn demangled(symbol: &str) -> String {
    type Demangle = unsafe extern "C" fn(*const c_char, *mut c_char, *mut usize, *mut i32) -> *mut c_char;
    // Anything else may be the code of a type: "f" would become "float".
    let is_mangled = symbol.starts_with("_Z");
    let Some(name) = CString::new(symbol).ok().filter(|_| is_mangled) else { return symbol.to_owned() };
    // SAFETY: the C++ library's demangler, if it is there, returns a string from `malloc`, or null.
    unsafe {
        let demangle = libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_demangle".as_ptr());
        if demangle.is_null() {
            return symbol.to_owned();
        }
        let demangle: Demangle = std::mem::transmute(demangle);
        let text = demangle(name.as_ptr(), std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        if text.is_null() {
            return symbol.to_owned();
        }
        let full = CStr::from_ptr(text).to_string_lossy().into_owned();
        libc::free(text.cast());
        short_name(&full).to_owned()
    }
}

/// `void ns::k<float>(float*)` without its result and parameters.
fn short_name(full: &str) -> &str {
    let is_parameters = |at: &usize| !full[*at..].starts_with("(anonymous namespace)");
    let end = full.match_indices('(').map(|(at, _)| at).find(is_parameters).unwrap_or(full.len());
    full[..end].strip_prefix("void ").unwrap_or(&full[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_has_no_result_and_no_parameters() {
        assert_eq!(short_name("void ns::k<float>(float*)"), "ns::k<float>");
        assert_eq!(short_name("(anonymous namespace)::k(int, void (*)(int))"), "(anonymous namespace)::k");
        assert_eq!(short_name("ns::table"), "ns::table");
    }
}
