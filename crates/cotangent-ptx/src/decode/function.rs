//! One function: its names, its frame, its instructions, and where its labels are.

use std::collections::HashMap;

use super::modifiers::Opcode;
use super::names::{Name, Names};
use super::{arithmetic, control, function_address, memory, shared_variable, slots};
use crate::program::{Function, Instruction, Op, Place, Position, Program, Register, Slot, Source, Special};
use crate::syntax::{self, Number, Operand, Statement, SyntaxError, VariableSpace};

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

/// What is known while a function is decoded.
pub(super) struct Context<'a, 'm> {
    pub(super) program: &'m mut Program,
    pub(super) names: Names<'a, 'm>,
    pub(super) is_kernel: bool,
    files: &'m HashMap<u64, u32>,
    registers: u32,
    frame: u32,
    /// Where each label is, once that is known.
    labels: Vec<Option<Position>>,
    place: Place,
    shared: Vec<usize>,
    callees: Vec<usize>,
    calls_unknown: bool,
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
    let mut context = Context {
        program,
        names: Names::new(global),
        is_kernel: function.is_kernel,
        files,
        registers: 0,
        frame: 0,
        labels: Vec::new(),
        place: Place::default(),
        shared: Vec::new(),
        callees: Vec::new(),
        calls_unknown: false,
    };
    context.names.open();
    let (parameters, end) = slots(&function.parameters, 0);
    let (results, end) = slots(&function.results, if function.is_kernel { 0 } else { end });
    if !function.is_kernel {
        context.frame = end;
    }
    for (parameter, slot) in function.parameters.iter().zip(&parameters) {
        let name = if function.is_kernel { Name::Kernel(*slot) } else { Name::Frame(*slot) };
        context.names.add(parameter.name, name);
    }
    for (result, slot) in function.results.iter().zip(&results) {
        context.names.add(result.name, Name::Frame(*slot));
    }
    context.statements(function.body.as_deref().unwrap_or_default())?;
    context.names.close();
    // Whoever runs past the end has returned.
    context.emit(None, Op::Return);
    context.resolve_labels(start);
    let Context { registers, frame, mut shared, mut callees, calls_unknown, program, .. } = context;
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

impl<'a> Context<'a, '_> {
    /// Declarations and labels of a scope are known in all of it.
    fn statements(&mut self, statements: &[Statement<'a>]) -> Result<(), SyntaxError> {
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    self.names.add(name, Name::Label(self.labels.len() as u32));
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
                let targets = labels.iter().map(|label| match self.names.find(label) {
                    Some(Name::Label(index)) => Some(index),
                    _ => None,
                });
                if let Some(targets) = targets.collect::<Option<Vec<u32>>>() {
                    self.names.add(name, Name::Targets(targets));
                }
            }
        }
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    if let Some(Name::Label(index)) = self.names.find(name) {
                        self.labels[index as usize] = Some(self.program.code.len() as Position);
                    }
                }
                Statement::Scope(inner) => {
                    self.names.open();
                    self.statements(inner)?;
                    self.names.close();
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
            None => self.names.add(name, Name::Register(first)),
            Some(_) => self.names.add_registers(name, added, first),
        }
        Ok(())
    }

    fn declare_variable(&mut self, variable: &syntax::Variable<'a>) {
        let name = match variable.space {
            VariableSpace::Shared => shared_variable(variable, self.program),
            VariableSpace::Local | VariableSpace::Parameter | VariableSpace::Global | VariableSpace::Constant => {
                let (added, end) = slots(std::slice::from_ref(variable), self.frame);
                self.frame = end;
                Name::Frame(added[0])
            }
        };
        self.names.add(variable.name, name);
    }

    fn emit(&mut self, guard: Option<(Register, bool)>, op: Op) {
        self.program.code.push(Instruction { guard, op, place: self.place });
    }

    fn instruction(&mut self, instruction: &syntax::Instruction<'a>) {
        let guard = match instruction.guard {
            None => Some(None),
            Some(guard) => match self.names.find(guard.name) {
                Some(Name::Register(register)) => Some(Some((register, guard.is_negated))),
                _ => None,
            },
        };
        let opcode = Opcode::new(instruction.opcode);
        let op = guard.and_then(|_| {
            let operands = &instruction.operands;
            arithmetic::decode(self, &opcode, operands)
                .or_else(|| memory::decode(self, &opcode, operands))
                .or_else(|| control::decode(self, &opcode, operands))
        });
        let op = op.unwrap_or_else(|| Op::Unknown(Box::from(instruction.text)));
        self.emit(guard.flatten(), op);
    }

    /// Until now branches name labels by their numbers.
    fn resolve_labels(&mut self, start: Position) {
        let labels = &self.labels;
        let end = self.program.code.len() as Position - 1;
        let position = |label: Position| labels.get(label as usize).copied().flatten().unwrap_or(end);
        for instruction in &mut self.program.code[start as usize..] {
            match &mut instruction.op {
                Op::Branch(target) => *target = position(*target),
                Op::BranchIndexed { targets, .. } => {
                    targets.iter_mut().for_each(|target| *target = position(*target));
                }
                _ => {}
            }
        }
    }

    /// The register of an operand that is written; `_` is none.
    pub(super) fn destination(&self, operand: &Operand<'a>) -> Option<Option<Register>> {
        match operand {
            Operand::Name { name: "_", offset: 0 } => Some(None),
            Operand::Name { .. } => self.register(operand).map(Some),
            _ => None,
        }
    }

    /// The registers of `p|q`, or the one; `_` is none.
    pub(super) fn one_or_two(&self, operand: &Operand<'a>) -> Option<(Option<Register>, Option<Register>)> {
        let Operand::Pair(first, second) = operand else { return Some((self.destination(operand)?, None)) };
        let register = |name: &str| if name == "_" { Some(None) } else { self.named_register(name).map(Some) };
        Some((register(first)?, register(second)?))
    }

    pub(super) fn register(&self, operand: &Operand<'a>) -> Option<Register> {
        match operand {
            Operand::Name { name, offset: 0 } => self.named_register(name),
            _ => None,
        }
    }

    pub(super) fn named_register(&self, name: &str) -> Option<Register> {
        match self.names.find(name)? {
            Name::Register(register) => Some(register),
            _ => None,
        }
    }

    /// The registers of a vector, or the one.
    pub(super) fn destinations(&self, operand: &Operand<'a>) -> Option<Box<[Option<Register>]>> {
        match operand {
            Operand::Vector(all) => all.iter().map(|one| self.destination(one)).collect(),
            _ => Some(Box::new([self.destination(operand)?])),
        }
    }

    pub(super) fn sources(&mut self, operand: &Operand<'a>) -> Option<Box<[Source]>> {
        match operand {
            Operand::Vector(all) => all.iter().map(|one| self.source(one)).collect(),
            _ => Some(Box::new([self.source(operand)?])),
        }
    }

    /// A value.
    pub(super) fn source(&mut self, operand: &Operand<'a>) -> Option<Source> {
        match operand {
            Operand::Number(Number::Integer(value)) => Some(Source::Bits(*value)),
            Operand::Number(Number::Single(bits)) => Some(Source::Bits(u64::from(*bits))),
            Operand::Number(Number::Double(bits)) => Some(Source::Bits(*bits)),
            Operand::Negative(value) => Some(Source::Bits(value.wrapping_neg())),
            Operand::Name { name, offset } => self.value_of(name, *offset),
            Operand::Not(_)
            | Operand::Address { .. }
            | Operand::Vector(_)
            | Operand::List(_)
            | Operand::Pair(..)
            | Operand::Other => None,
        }
    }

    /// A predicate, and whether it is negated.
    pub(super) fn predicate(&mut self, operand: &Operand<'a>) -> Option<(Source, bool)> {
        match operand {
            Operand::Not(name) => Some((Source::Register(self.named_register(name)?), true)),
            _ => Some((self.source(operand)?, false)),
        }
    }

    pub(super) fn value_of(&mut self, name: &str, offset: i64) -> Option<Source> {
        if let Some((_, special)) = SPECIALS.iter().find(|(known, _)| *known == name) {
            return Some(*special);
        }
        match self.names.find(name)? {
            Name::Register(register) if offset == 0 => Some(Source::Register(register)),
            Name::Frame(slot) => Some(Source::Frame(slot.offset.wrapping_add_signed(offset as i32))),
            Name::Kernel(slot) => Some(Source::Bits(u64::from(slot.offset).wrapping_add_signed(offset))),
            Name::Shared(variable) => {
                self.shared.push(variable as usize);
                Some(Source::Shared { variable, offset: offset as u32 })
            }
            Name::Address(address) => Some(Source::Bits(address.wrapping_add_signed(offset))),
            Name::Function(index) => {
                self.callees.push(index as usize);
                Some(Source::Bits(function_address(index)))
            }
            Name::Register(_) | Name::Label(_) | Name::Targets(_) => None,
        }
    }

    pub(super) fn slot_of(&self, operand: &Operand<'a>) -> Option<Slot> {
        match operand {
            Operand::Name { name, offset: 0 } => match self.names.find(name)? {
                Name::Frame(slot) => Some(slot),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn calls(&mut self, function: u32) {
        self.callees.push(function as usize);
    }

    pub(super) fn calls_unknown(&mut self) {
        self.calls_unknown = true;
    }
}

const fn special(special: Special) -> Source {
    Source::Special(special)
}

const SPECIALS: &[(&str, Source)] = &[
    ("%tid.x", special(Special::ThreadX)),
    ("%tid.y", special(Special::ThreadY)),
    ("%tid.z", special(Special::ThreadZ)),
    ("%ntid.x", special(Special::BlockSizeX)),
    ("%ntid.y", special(Special::BlockSizeY)),
    ("%ntid.z", special(Special::BlockSizeZ)),
    ("%ctaid.x", special(Special::BlockX)),
    ("%ctaid.y", special(Special::BlockY)),
    ("%ctaid.z", special(Special::BlockZ)),
    ("%nctaid.x", special(Special::GridSizeX)),
    ("%nctaid.y", special(Special::GridSizeY)),
    ("%nctaid.z", special(Special::GridSizeZ)),
    ("%laneid", special(Special::Lane)),
    ("%warpid", special(Special::Warp)),
    ("%nwarpid", special(Special::WarpCount)),
    ("%lanemask_eq", special(Special::LanesEqual)),
    ("%lanemask_lt", special(Special::LanesBelow)),
    ("%lanemask_le", special(Special::LanesUpTo)),
    ("%lanemask_gt", special(Special::LanesAbove)),
    ("%lanemask_ge", special(Special::LanesFrom)),
    ("%dynamic_smem_size", special(Special::DynamicShared)),
    ("%total_smem_size", special(Special::TotalShared)),
    ("%clock", special(Special::Clock)),
    ("%clock_hi", Source::Bits(0)),
    ("%clock64", special(Special::Clock)),
    ("%globaltimer", special(Special::Clock)),
    ("%globaltimer_lo", special(Special::Clock)),
    ("%globaltimer_hi", Source::Bits(0)),
    // One multiprocessor, one grid, no clusters.
    ("%smid", Source::Bits(0)),
    ("%nsmid", Source::Bits(1)),
    ("%gridid", Source::Bits(0)),
    ("%is_explicit_cluster", Source::Bits(0)),
    ("%clusterid.x", special(Special::BlockX)),
    ("%clusterid.y", special(Special::BlockY)),
    ("%clusterid.z", special(Special::BlockZ)),
    ("%nclusterid.x", special(Special::GridSizeX)),
    ("%nclusterid.y", special(Special::GridSizeY)),
    ("%nclusterid.z", special(Special::GridSizeZ)),
    ("%cluster_ctaid.x", Source::Bits(0)),
    ("%cluster_ctaid.y", Source::Bits(0)),
    ("%cluster_ctaid.z", Source::Bits(0)),
    ("%cluster_nctaid.x", Source::Bits(1)),
    ("%cluster_nctaid.y", Source::Bits(1)),
    ("%cluster_nctaid.z", Source::Bits(1)),
    ("%cluster_ctarank", Source::Bits(0)),
    ("%cluster_nctarank", Source::Bits(1)),
    ("WARP_SZ", Source::Bits(32)),
];
