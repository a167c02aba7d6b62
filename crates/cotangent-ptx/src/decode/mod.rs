//! From the tree of a text to the form that is executed.

mod arithmetic;
mod context;
mod control;
mod function;
mod memory;
mod modifiers;
mod names;
mod places;

use std::collections::HashMap;

use crate::program::Program;
use crate::syntax::{self, Initial, StateSpace, SyntaxError, Text};
use crate::variable::{Variable, VariableSpace};

use names::Name;
use places::{function_address, shared_variable};

pub(crate) use places::function_at;

/// A variable of the module in global or constant memory, with its first content.
pub(crate) struct Placed {
    pub(crate) address: u64,
    /// No more than the variable has.
    pub(crate) bytes: Vec<u8>,
}

/// Decodes a text. `place` says where each variable of the module lies.
pub(crate) fn decode(
    text: &Text<'_>,
    place: &mut dyn FnMut(&Variable<'_>) -> u64,
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

fn module_variable<'a>(
    variable: &syntax::Variable<'a>,
    program: &mut Program,
    place: &mut dyn FnMut(&Variable<'_>) -> u64,
) -> Name {
    match variable.space {
        StateSpace::Shared => shared_variable(variable, program),
        StateSpace::Global | StateSpace::Constant | StateSpace::Local | StateSpace::Parameter => {
            let is_constant = variable.space == StateSpace::Constant;
            let space = if is_constant { VariableSpace::Constant } else { VariableSpace::Global };
            let (bytes, alignment) = (variable.bytes.unwrap_or(0) as usize, variable.alignment as usize);
            Name::Address(place(&Variable { name: variable.name, bytes, alignment, space }))
        }
    }
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
