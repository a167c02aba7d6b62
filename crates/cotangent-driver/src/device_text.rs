//! The text of a derivative for compilers at run time, NVRTC first of all: what runs on the device, without a header.

use cotangent::emit::{self, Dialect};
use cotangent::ir::Module;

use crate::headers;

/// The first line.
const FOR: &str = "// By Cotangent. Of the device alone: for NVRTC, or any compiler of CUDA.\n";

/// The text of what runs on the device, after those of our own headers that it needs. Others of the standard library are left out:
/// what kernels use of them, `printf`, these compilers have.
pub fn device_text(derivative: &Module) -> String {
    let module = emit::device_only(derivative);
    let own = emit::needed_headers(&module).into_iter().filter_map(|header| {
        let name = if header == "<cassert>" { "<cotangent/assert.hpp>" } else { header };
        let path = name.strip_prefix('<')?.strip_suffix(".hpp>")?;
        headers::text(&format!("{path}_on_gpu.hpp"))
    });
    let own: String = own.map(|text| format!("{}\n", text.replacen("#pragma once\n\n", "", 1))).collect();
    format!("{FOR}{own}{}", emit::emit(&module, Dialect::Nvrtc))
}
