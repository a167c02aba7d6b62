//! From the tree of a text to the form that is executed.

mod arithmetic;
mod control;
mod function;
mod memory;
mod modifiers;
mod names;

use std::collections::HashMap;

use crate::program::{Program, SharedVariable, Slot};
use crate::syntax::{self, Initial, SyntaxError, Text, VariableSpace};

use names::Name;

/// Addresses of functions are numbers from here on: no memory is there.
const FUNCTION_ADDRESSES: u64 = 0xc07a_0000_0000_0000;

/// A variable of the module in global or constant memory, with its first content.
pub(crate) struct Placed {
    pub(crate) address: u64,
    /// No more than the variable has.
    pub(crate) bytes: Vec<u8>,
}

/// What [`decode`] asks for memory for.
pub(crate) struct Wanted<'a> {
    pub(crate) name: &'a str,
    pub(crate) bytes: u64,
    pub(crate) alignment: u64,
    pub(crate) is_constant: bool,
}

/// Decodes a text. `place` says where each variable of the module lies.
pub(crate) fn decode(
    text: &Text<'_>,
    place: &mut dyn FnMut(&Wanted<'_>) -> u64,
) -> Result<(Program, Vec<Placed>), SyntaxError> {
    let mut program = Program::default();
    let mut global: HashMap<&str, Name> = HashMap::new();
    // Numbers of source files need not be dense.
    let files: HashMap<u64, u32> = text.files.keys().zip(0..).map(|(number, index)| (*number, index)).collect();
    program.files = text.files.values().map(|name| (*name).to_owned()).collect();

    for function in &text.functions {
        let index = match program.by_name.get(function.name) {
            Some(index) => *index,
            None => {
                program.by_name.insert(function.name.to_owned(), program.functions.len());
                program.functions.push(function::declared(function));
                program.functions.len() - 1
            }
        };
        global.insert(function.name, Name::Function(index as u32));
    }
    for (alias, name) in &text.aliases {
        if let Some(known) = global.get(name).cloned() {
            global.insert(alias, known);
        }
    }
    let names: Vec<Name> =
        text.variables.iter().map(|variable| module_variable(variable, &mut program, place)).collect();
    global.extend(text.variables.iter().zip(&names).map(|(variable, name)| (variable.name, name.clone())));
    for function in text.functions.iter().filter(|function| function.body.is_some()) {
        function::decode(function, &global, &files, &mut program)?;
    }
    let placed = text.variables.iter().zip(&names).filter_map(|(variable, name)| placed(variable, name, &global));
    let placed = placed.collect();
    Ok((program, placed))
}

/// The number under which code knows a function's address, and back.
pub(crate) fn function_address(index: u32) -> u64 {
    FUNCTION_ADDRESSES + u64::from(index) * 16
}

pub(crate) fn function_at(address: u64) -> Option<u32> {
    let offset = address.checked_sub(FUNCTION_ADDRESSES)?;
    offset.is_multiple_of(16).then(|| u32::try_from(offset / 16).ok()).flatten()
}

fn module_variable<'a>(
    variable: &syntax::Variable<'a>,
    program: &mut Program,
    place: &mut dyn FnMut(&Wanted<'_>) -> u64,
) -> Name {
    match variable.space {
        VariableSpace::Shared => shared_variable(variable, program),
        VariableSpace::Global | VariableSpace::Constant | VariableSpace::Local | VariableSpace::Parameter => {
            let is_constant = variable.space == VariableSpace::Constant;
            let (name, alignment) = (variable.name, variable.alignment);
            Name::Address(place(&Wanted { name, bytes: variable.bytes.unwrap_or(0), alignment, is_constant }))
        }
    }
}

/// A variable in shared memory. Where it lies is decided for each kernel.
fn shared_variable(variable: &syntax::Variable<'_>, program: &mut Program) -> Name {
    let bytes = variable.bytes.filter(|_| !variable.is_extern).and_then(|bytes| u32::try_from(bytes).ok());
    program.shared.push(SharedVariable { bytes, alignment: variable.alignment as u32 });
    Name::Shared(program.shared.len() as u32 - 1)
}

/// The first content of a variable.
fn placed(variable: &syntax::Variable<'_>, name: &Name, global: &HashMap<&str, Name>) -> Option<Placed> {
    let Name::Address(address) = name else { return None };
    let mut bytes = vec![0; variable.initial.len().checked_mul(variable.element_bytes as usize)?];
    bytes.truncate(variable.bytes.unwrap_or(0) as usize);
    for (element, initial) in bytes.chunks_mut(variable.element_bytes.max(1) as usize).zip(&variable.initial) {
        let value = match initial {
            Initial::Bits(bits) => *bits,
            Initial::Address { name, offset, shift } => {
                let address = match global.get(name) {
                    Some(Name::Address(address)) => *address,
                    Some(Name::Function(index)) => function_address(*index),
                    _ => 0,
                };
                address.wrapping_add(*offset) >> shift
            }
        };
        let width = element.len().min(8);
        element[..width].copy_from_slice(&value.to_le_bytes()[..width]);
    }
    Some(Placed { address: *address, bytes })
}

/// Parameters one after another, each at its alignment; and where the next would begin.
fn slots(parameters: &[syntax::Variable<'_>], first: u32) -> (Vec<Slot>, u32) {
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
