//! Source lines of code addresses, looked up in the test program itself.

use std::ffi::c_void;
use std::path::PathBuf;

use super::super::{Location, Symbolizer};

/// Some code with an address: instructions of its own lines, then inlined ones, then its own again.
#[inline(never)]
fn function_at_a_known_line(value: u32) -> u32 {
    let spread = (value ^ value >> 5).wrapping_mul(0x9e37_79b9);
    std::hint::black_box(spread).wrapping_mul(3)
}

const LINE_OF_FUNCTION: u32 = line!() - 5;

/// The address at which the running program is loaded: the first object is the program.
fn load_address() -> usize {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, result: *mut c_void) -> i32 {
        // SAFETY: the loader hands out a valid record, and `result` is the number given below.
        unsafe { *result.cast::<usize>() = (*info).dlpi_addr as usize };
        1
    }
    let mut address = 0usize;
    // SAFETY: `first` writes one `usize` through its last argument, which lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut address).cast()) };
    address
}

fn symbolizer(skipped: Vec<PathBuf>) -> Symbolizer {
    Symbolizer::new(&std::env::current_exe().unwrap(), load_address(), skipped)
}

/// The places of the first instructions of the function.
fn places(symbolizer: &mut Symbolizer) -> Vec<Location> {
    let start = function_at_a_known_line as fn(u32) -> u32 as usize;
    (2..24).filter_map(|offset| symbolizer.locate(start + offset)).collect()
}

fn is_here(location: &Location) -> bool {
    location.file.ends_with("tests/symbols.rs")
}

#[test]
fn an_address_in_the_program_has_a_file_and_a_line() {
    let mut symbolizer = symbolizer(Vec::new());
    let locations = places(&mut symbolizer);
    let here: Vec<&Location> = locations.iter().filter(|location| is_here(location)).collect();
    assert!(here.iter().any(|location| location.line.abs_diff(LINE_OF_FUNCTION) <= 2), "{locations:?}");
    assert_eq!(symbolizer.failure(), None);
    assert_eq!(places(&mut symbolizer), locations, "from the cache");
}

#[test]
fn an_address_elsewhere_has_none() {
    let mut symbolizer = symbolizer(Vec::new());
    assert_eq!(symbolizer.locate(0), None);
    assert_eq!(symbolizer.locate(1), None);
    assert_eq!(symbolizer.locate(usize::MAX), None);
}

/// `black_box` is inlined into the function: with the files of the standard library skipped, its instructions are on
/// lines of this file.
#[test]
fn inlined_code_of_skipped_files_counts_as_its_caller() {
    let foreign: Vec<PathBuf> = places(&mut symbolizer(Vec::new()))
        .into_iter()
        .filter(|location| !is_here(location))
        .map(|location| PathBuf::from(location.file))
        .collect();
    assert!(!foreign.is_empty(), "the function has inlined code");
    let locations = places(&mut symbolizer(foreign));
    assert!(!locations.is_empty());
    assert!(locations.iter().all(is_here), "{locations:?}");
}
