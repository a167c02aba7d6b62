//! Where things lie that have no memory of their own yet: functions, shared variables, parameters.

use super::names::Name;
use crate::program::{Program, SharedVariable, Slot};
use crate::syntax;

/// Addresses of functions are numbers from here on: no memory is there.
const FUNCTION_ADDRESSES: u64 = 0xc07a_0000_0000_0000;

/// The number under which code knows a function's address, and back.
pub(super) fn function_address(index: u32) -> u64 {
    FUNCTION_ADDRESSES + u64::from(index) * 16
}

pub(crate) fn function_at(address: u64) -> Option<u32> {
    let offset = address.checked_sub(FUNCTION_ADDRESSES)?;
    offset.is_multiple_of(16).then(|| u32::try_from(offset / 16).ok()).flatten()
}

/// A variable in shared memory. Where it lies is decided for each kernel.
pub(super) fn shared_variable(variable: &syntax::Variable<'_>, program: &mut Program) -> Name {
    let bytes = variable.bytes.filter(|_| !variable.is_extern).and_then(|bytes| u32::try_from(bytes).ok());
    program.shared.push(SharedVariable { bytes, alignment: variable.alignment as u32 });
    Name::Shared(program.shared.len() as u32 - 1)
}

/// Parameters one after another, each at its alignment; and where the next would begin.
pub(super) fn slots(parameters: &[syntax::Variable<'_>], first: u32) -> (Vec<Slot>, u32) {
    let mut end = first;
    let slots = parameters.iter().map(|parameter| {
        let bytes = parameter.bytes.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(0);
        let offset = end.checked_next_multiple_of(parameter.alignment as u32).unwrap_or(u32::MAX);
        end = offset.saturating_add(bytes);
        Slot { offset, bytes }
    });
    let slots = slots.collect();
    (slots, end)
}
