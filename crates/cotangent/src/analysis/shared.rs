//! How much static shared memory a function declares, as nvcc lays it out.

use crate::ir::layout::layout;
use crate::ir::{Function, Module, Storage};

/// What a block may have without asking for more: the limit of `__shared__` variables on every architecture.
pub const STATIC_SHARED_LIMIT: u64 = 48 * 1024;

/// Bytes of all `__shared__` variables of a function, one after another.
pub fn static_shared_bytes(module: &Module, function: &Function) -> u64 {
    let shared = function.locals.iter().filter(|local| local.storage == Storage::Shared);
    shared.fold(0, |end, local| {
        let (bytes, alignment) = layout(module, &local.ty);
        end.next_multiple_of(alignment.max(local.align.map_or(1, u64::from))) + bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    #[test]
    fn variables_lie_one_after_another_each_at_its_alignment() {
        let module = text::parse(
            "record R { a: float, b: double }
kernel k(x: float*) {
  let shared scale: float[1];
  let shared tile: float[64] align 16;
  let shared rows: R[2];
}
",
        );
        let module = module.expect("the text is a module");
        let function = module.functions.iter().next().expect("there is a function");
        assert_eq!(static_shared_bytes(&module, function), 16 + 256 + 32);
    }
}
