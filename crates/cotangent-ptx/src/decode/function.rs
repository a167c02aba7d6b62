//! One function: its names, its frame, its instructions, and where its labels are.

use std::collections::HashMap;

use super::context::Context;
use super::modifiers::Opcode;
use super::names::{Name, Names};
use super::places::{shared_variable, slots};
use super::{arithmetic, control, memory};
use crate::program::{Function, Instruction, Op, Place, Position, Program, Register};
use crate::syntax::{self, StateSpace, Statement, SyntaxError};

/// A register takes 256 bytes in each warp; a text with more of them is refused.
const MAX_REGISTERS: u32 = 1 << 16;

/// The largest frame; CUDA's own limit is half a megabyte for all frames of a thread.
const MAX_FRAME: u32 = 1 << 19;

/// A function of which only the head is known.
pub(super) fn declared(function: &syntax::Function<'_>) -> Function {
    Function {
        name: function.name.to_owned(),
        is_kernel: function.is_kernel,
        is_defined: false,
        code: 0..0,
        registers: 0,
        frame: 0,
        parameters: Vec::new(),
        results: Vec::new(),
        max_threads: function.max_threads.and_then(|threads| u32::try_from(threads).ok()),
        shared: Vec::new(),
        callees: Vec::new(),
        calls_unknown: false,
    }
}

/// A function while it is decoded.
struct Body<'a, 'm> {
    context: Context<'a, 'm>,
    files: &'m HashMap<u64, u32>,
    registers: u32,
    frame: u32,
    /// Where each label is, once that is known.
    labels: Vec<Option<Position>>,
    place: Place,
}

/// Decodes a function that has a body.
pub(super) fn decode<'a, 'm>(
    function: &'m syntax::Function<'a>,
    global: &'m HashMap<&'a str, Name>,
    files: &'m HashMap<u64, u32>,
    program: &'m mut Program,
) -> Result<(), SyntaxError> {
    let Some(index) = program.by_name.get(function.name).copied() else { return Ok(()) };
    let start = program.code.len() as Position;
    let context = Context::new(program, Names::new(global), function.is_kernel);
    let mut body = Body { context, files, registers: 0, frame: 0, labels: Vec::new(), place: Place::default() };
    body.context.names.open();
    let (parameters, end) = slots(&function.parameters, 0);
    let (results, end) = slots(&function.results, if function.is_kernel { 0 } else { end });
    if !function.is_kernel {
        body.frame = end;
    }
    for (parameter, slot) in function.parameters.iter().zip(&parameters) {
        let name = if function.is_kernel { Name::Kernel(*slot) } else { Name::Frame(*slot) };
        body.context.names.add(parameter.name, name);
    }
    for (result, slot) in function.results.iter().zip(&results) {
        body.context.names.add(result.name, Name::Frame(*slot));
    }
    body.statements(function.body.as_deref().unwrap_or_default())?;
    body.context.names.close();
    // Whoever runs past the end has returned.
    body.emit(None, Op::Return);
    body.resolve_labels(start);
    let Body { context, registers, frame, .. } = body;
    let Context { mut shared, mut callees, calls_unknown, program, .. } = context;
    if frame > MAX_FRAME {
        return Err(SyntaxError::new(1, format!("the frame of `{}` has {frame} bytes", function.name)));
    }
    shared.sort_unstable();
    shared.dedup();
    callees.sort_unstable();
    callees.dedup();
    let decoded = &mut program.functions[index];
    let head = declared(function);
    *decoded = Function {
        is_defined: true,
        code: start..program.code.len() as Position,
        registers,
        frame: frame.next_multiple_of(16),
        parameters,
        results,
        shared,
        callees,
        calls_unknown,
        ..head
    };
    Ok(())
}

impl<'a> Body<'a, '_> {
    /// Declarations and labels of a scope are known in all of it.
    fn statements(&mut self, statements: &[Statement<'a>]) -> Result<(), SyntaxError> {
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    self.context.names.add(name, Name::Label(self.labels.len() as u32));
                    self.labels.push(None);
                }
                Statement::Registers { name, count } => self.declare_registers(name, *count)?,
                Statement::Variable(variable) => self.declare_variable(variable),
                Statement::Targets { .. }
                | Statement::Scope(_)
                | Statement::Place { .. }
                | Statement::Instruction(_) => {}
            }
        }
        for statement in statements {
            if let Statement::Targets { name, labels } = statement {
                let targets = labels.iter().map(|label| match self.context.names.find(label) {
                    Some(Name::Label(index)) => Some(index),
                    _ => None,
                });
                if let Some(targets) = targets.collect::<Option<Vec<u32>>>() {
                    self.context.names.add(name, Name::Targets(targets));
                }
            }
        }
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    if let Some(Name::Label(index)) = self.context.names.find(name) {
                        self.labels[index as usize] = Some(self.context.program.code.len() as Position);
                    }
                }
                Statement::Scope(inner) => {
                    self.context.names.open();
                    self.statements(inner)?;
                    self.context.names.close();
                }
                Statement::Place { file, line } => {
                    let file = self.files.get(file).copied().unwrap_or(0);
                    self.place = Place { file, line: u32::try_from(*line).unwrap_or(0) };
                }
                Statement::Instruction(instruction) => self.instruction(instruction),
                Statement::Registers { .. } | Statement::Variable(_) | Statement::Targets { .. } => {}
            }
        }
        Ok(())
    }

    fn declare_registers(&mut self, name: &'a str, count: Option<u64>) -> Result<(), SyntaxError> {
        let first = self.registers;
        let added = count.unwrap_or(1).min(u64::from(MAX_REGISTERS)) as u32;
        self.registers += added;
        if self.registers >= MAX_REGISTERS {
            return Err(SyntaxError::new(1, "a function has too many registers"));
        }
        match count {
            None => self.context.names.add(name, Name::Register(first)),
            Some(_) => self.context.names.add_registers(name, added, first),
        }
        Ok(())
    }

    fn declare_variable(&mut self, variable: &syntax::Variable<'a>) {
        let name = match variable.space {
            StateSpace::Shared => shared_variable(variable, self.context.program),
            StateSpace::Local | StateSpace::Parameter | StateSpace::Global | StateSpace::Constant => {
                let (added, end) = slots(std::slice::from_ref(variable), self.frame);
                self.frame = end;
                Name::Frame(added[0])
            }
        };
        self.context.names.add(variable.name, name);
    }

    fn emit(&mut self, guard: Option<(Register, bool)>, op: Op) {
        self.context.program.code.push(Instruction { guard, op, place: self.place });
    }

    fn instruction(&mut self, instruction: &syntax::Instruction<'a>) {
        let guard = match instruction.guard {
            None => Some(None),
            Some(guard) => match self.context.names.find(guard.name) {
                Some(Name::Register(register)) => Some(Some((register, guard.is_negated))),
                _ => None,
            },
        };
        let opcode = Opcode::new(instruction.opcode);
        let op = guard.and_then(|_| {
            let (context, operands) = (&mut self.context, &instruction.operands);
            arithmetic::decode(context, &opcode, operands)
                .or_else(|| memory::decode(context, &opcode, operands))
                .or_else(|| control::decode(context, &opcode, operands))
        });
        let op = op.unwrap_or_else(|| Op::Unknown(Box::from(instruction.text)));
        self.emit(guard.flatten(), op);
    }

    /// Until now branches name labels by their numbers.
    fn resolve_labels(&mut self, start: Position) {
        let labels = &self.labels;
        let end = self.context.program.code.len() as Position - 1;
        let position = |label: Position| labels.get(label as usize).copied().flatten().unwrap_or(end);
        for instruction in &mut self.context.program.code[start as usize..] {
            match &mut instruction.op {
                Op::Branch(target) => *target = position(*target),
                Op::BranchIndexed { targets, .. } => {
                    targets.iter_mut().for_each(|target| *target = position(*target));
                }
                _ => {}
            }
        }
    }
}
