//! Functions that a device provides to kernels: `printf`, `malloc`, `free` and failing assertions.

use std::ffi::CString;

use super::block::Block;
use super::lanes::lanes_of;
use super::memory::{load_one, store_one, string};
use super::step::At;
use super::{Reason, Stop};
use crate::program::{Builtin, Instruction, Op};

/// The longest string that is read out of a program's memory.
const LONGEST: usize = 1 << 20;

impl Block<'_> {
    /// Calls a builtin function for each lane in turn.
    pub(super) fn call_builtin(&mut self, at: At, instruction: &Instruction, builtin: Builtin) -> Result<(), Stop> {
        let Op::Call { arguments, results, .. } = &instruction.op else { return Ok(()) };
        for lane in lanes_of(at.mask) {
            let frame = self.local(at.warp, lane) + self.warps[at.warp].frame[lane] as usize;
            let argument = |index: usize| match arguments.get(index) {
                // SAFETY: a slot of the thread's own frame, in the windows.
                Some(slot) => unsafe { load_one(frame + slot.offset as usize, slot.bytes as usize) },
                None => 0,
            };
            let result = match builtin {
                Builtin::Print => print(argument(0), argument(1)),
                // SAFETY: the C library's; freed by `free` below or never.
                Builtin::Allocate => unsafe { libc::malloc(argument(0) as usize) as u64 },
                Builtin::Free => {
                    // SAFETY: the program's own pointer, as on a device.
                    unsafe { libc::free(argument(0) as *mut libc::c_void) };
                    0
                }
                Builtin::AssertFail => {
                    self.report_assertion(at, lane, [argument(0), argument(1), argument(2), argument(3)]);
                    return Err(self.stop(at.warp, 1 << lane, instruction.place, Reason::Assert));
                }
            };
            if builtin == Builtin::Allocate && self.checker.is_some() {
                let site = self.site(instruction.place);
                if let Some(checker) = &mut self.checker {
                    let space = cotangent_cpu::check::Space::Device;
                    checker.allocate(result as usize, argument(0) as usize, space, site);
                }
            }
            if let Some(slot) = results.first() {
                // SAFETY: a slot of the thread's own frame, in the windows.
                unsafe { store_one(frame + slot.offset as usize, slot.bytes as usize, result) };
            }
        }
        Ok(())
    }

    /// What CUDA prints for a failing assertion.
    fn report_assertion(&self, at: At, lane: usize, [message, file, line, function]: [u64; 4]) {
        // SAFETY: string literals of the program.
        let text = |address: u64| unsafe { String::from_utf8_lossy(&string(address, LONGEST)).into_owned() };
        let [x, y, z] = self.launch.index;
        let thread = Block::thread_of(at.warp, lane);
        let [width, height, _] = self.launch.block;
        let (tx, ty, tz) = (thread % width, thread / width % height, thread / width / height);
        eprintln!(
            "{}:{}: {}: block: [{x},{y},{z}], thread: [{tx},{ty},{tz}] Assertion `{}` failed.",
            text(file),
            line as u32,
            text(function),
            text(message)
        );
    }
}

/// `vprintf`: the arguments lie one after another, each at its alignment. Returns how many there were.
fn print(format: u64, arguments: u64) -> u64 {
    // SAFETY: the format is a string of the program.
    let format = unsafe { string(format, LONGEST) };
    let mut output: Vec<u8> = Vec::new();
    let (mut at, mut offset, mut count) = (0, 0, 0);
    while at < format.len() {
        if format[at] != b'%' {
            output.push(format[at]);
            at += 1;
            continue;
        }
        let rest = &format[at..];
        let Some(length) = rest
            .iter()
            .skip(1)
            .position(|byte| byte.is_ascii_alphabetic() && !b"hljztL".contains(byte) || *byte == b'%')
        else {
            output.extend_from_slice(rest);
            break;
        };
        let specification = &rest[..length + 2];
        at += length + 2;
        // A width or precision that is an argument.
        let mut stars = Vec::new();
        for _ in specification.iter().filter(|byte| **byte == b'*') {
            stars.push(next_argument(arguments, &mut offset, 4) as i32);
        }
        let conversion = specification[length + 1];
        if conversion == b'%' {
            output.push(b'%');
            continue;
        }
        let is_long = specification.contains(&b'l') || specification.contains(&b'z') || specification.contains(&b'j');
        let is_wide = is_long || b"fFeEgGaAps".contains(&conversion);
        let value = next_argument(arguments, &mut offset, if is_wide { 8 } else { 4 });
        count += 1;
        output.extend(formatted(specification, conversion, &stars, value));
    }
    let output = CString::new(output.into_iter().filter(|byte| *byte != 0).collect::<Vec<u8>>()).unwrap_or_default();
    // Through the C library, so that it keeps its place among what the program prints itself.
    // SAFETY: both are strings.
    unsafe { libc::printf(c"%s".as_ptr(), output.as_ptr()) };
    count
}

fn next_argument(arguments: u64, offset: &mut usize, bytes: usize) -> u64 {
    *offset = offset.next_multiple_of(bytes);
    // SAFETY: the list that the compiler made for this format.
    let value = unsafe { load_one(arguments as usize + *offset, bytes) };
    *offset += bytes;
    value
}

/// One conversion, done by the C library.
fn formatted(specification: &[u8], conversion: u8, stars: &[i32], value: u64) -> Vec<u8> {
    let mut widths = stars.iter();
    let mut text = Vec::new();
    for byte in specification {
        match byte {
            b'*' => text.extend(widths.next().copied().unwrap_or(0).to_string().bytes()),
            _ => text.push(*byte),
        }
    }
    let Ok(text) = CString::new(text) else { return Vec::new() };
    let mut buffer = vec![0u8; 512];
    let written = CString::new(match conversion {
        // SAFETY: a string of the program.
        b's' => unsafe { string(value, LONGEST) },
        _ => Vec::new(),
    });
    loop {
        let (start, bytes) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: the format has one conversion, and the argument is of its type.
        let length = unsafe {
            match conversion {
                b's' => {
                    libc::snprintf(start, bytes, text.as_ptr(), written.as_ref().map_or(c"".as_ptr(), |s| s.as_ptr()))
                }
                b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                    libc::snprintf(start, bytes, text.as_ptr(), f64::from_bits(value))
                }
                _ => libc::snprintf(start, bytes, text.as_ptr(), value),
            }
        };
        let length = length.max(0) as usize;
        if length < buffer.len() {
            buffer.truncate(length);
            return buffer;
        }
        buffer.resize(length + 1, 0);
    }
}
