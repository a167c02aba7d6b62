//! Branches, calls, barriers, and what the lanes of a warp do together.

use super::context::Context;
use super::modifiers::Opcode;
use super::names::Name;
use crate::program::{AtomicFunction, BarrierResult, Builtin, Callee, Collective, Op, Source, Type};
use crate::syntax::Operand;

/// A source that is not read.
const NOTHING: Source = Source::Bits(0);

/// None for another kind of instruction, or one that is not known.
pub(super) fn decode<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    match (opcode.name, operands) {
        ("bra", [Operand::Name { name, offset: 0 }]) => match context.names.find(name)? {
            Name::Label(label) => Some(Op::Branch(label)),
            _ => None,
        },
        ("brx", [index, Operand::Name { name, offset: 0 }]) => match context.names.find(name)? {
            Name::Targets(targets) => {
                Some(Op::BranchIndexed { index: context.source(index)?, targets: targets.into() })
            }
            _ => None,
        },
        ("call", _) => call(context, operands),
        ("ret", []) => Some(Op::Return),
        ("exit", []) => Some(Op::Exit),
        ("trap" | "brkpt", []) => Some(Op::Trap),
        ("bar" | "barrier", _) => barrier(context, opcode, operands),
        ("shfl" | "vote" | "match" | "redux" | "elect", _) => collective(context, opcode, operands),
        ("activemask", [to]) => Some(Op::ActiveMask { to: context.register(to)? }),
        ("nanosleep", _) => Some(Op::Pause),
        // All memory is coherent here, and what is done is done at once.
        ("membar" | "fence" | "griddepcontrol" | "setmaxnreg" | "pmevent", _) => Some(Op::Nothing),
        _ => None,
    }
}

const BUILTINS: &[(&str, Builtin)] = &[
    ("vprintf", Builtin::Print),
    ("malloc", Builtin::Allocate),
    ("free", Builtin::Free),
    ("__assertfail", Builtin::AssertFail),
];

/// `call (results), function, (arguments), prototype;` where all but the function may be missing.
fn call<'a>(context: &mut Context<'a, '_>, operands: &[Operand<'a>]) -> Option<Op> {
    let (results, rest) = match operands {
        [Operand::List(results), rest @ ..] => (results.as_slice(), rest),
        _ => (&[][..], operands),
    };
    let [Operand::Name { name, offset: 0 }, rest @ ..] = rest else { return None };
    let arguments = match rest {
        [Operand::List(arguments), ..] => arguments.as_slice(),
        _ => &[],
    };
    let slots = |all: &[Operand<'a>]| all.iter().map(|one| context.slot_of(one)).collect::<Option<Box<[_]>>>();
    let (arguments, results) = (slots(arguments)?, slots(results)?);
    let callee = match context.names.find(name)? {
        Name::Register(register) => {
            context.calls_unknown();
            Callee::Pointer(register)
        }
        Name::Function(index) => {
            let builtin = BUILTINS.iter().find(|(known, _)| known == name);
            let function = &context.program.functions[index as usize];
            match builtin.filter(|_| !function.is_defined) {
                Some((_, builtin)) => Callee::Builtin(*builtin),
                None => {
                    context.calls(index);
                    Callee::Function(index)
                }
            }
        }
        _ => return None,
    };
    Some(Op::Call { callee, arguments, results })
}

fn barrier<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    if opcode.modifier(0) == Some("warp") {
        let [mask] = operands else { return None };
        let mask = context.source(mask)?;
        return Some(together(Collective::Synchronize, Type::B32, mask));
    }
    if opcode.has("cluster") {
        return Some(Op::Nothing);
    }
    let waits = !opcode.has("arrive");
    if opcode.has("red") {
        let result = opcode.first_of(&[
            ("popc", BarrierResult::Count),
            ("and", BarrierResult::All),
            ("or", BarrierResult::Any),
        ])?;
        let (to, id, count, predicate) = match operands {
            [to, id, predicate] => (to, id, None, predicate),
            [to, id, count, predicate] => (to, id, Some(context.source(count)?), predicate),
            _ => return None,
        };
        let (to, id) = (Some(context.register(to)?), context.source(id)?);
        return Some(Op::Barrier { result, to, id, count, predicate: Some(context.predicate(predicate)?), waits });
    }
    let (id, count) = match operands {
        [] => (NOTHING, None),
        [id] => (context.source(id)?, None),
        [id, count] => (context.source(id)?, Some(context.source(count)?)),
        _ => return None,
    };
    Some(Op::Barrier { result: BarrierResult::None, to: None, id, count, predicate: None, waits })
}

/// A collective operation without operands of its own.
fn together(function: Collective, kind: Type, mask: Source) -> Op {
    Op::Collective {
        function,
        kind,
        to: None,
        predicate_to: None,
        a: NOTHING,
        is_negated: false,
        b: NOTHING,
        c: NOTHING,
        mask,
    }
}

const SHUFFLES: &[(&str, Collective)] = &[
    ("idx", Collective::ShuffleIndex),
    ("up", Collective::ShuffleUp),
    ("down", Collective::ShuffleDown),
    ("bfly", Collective::ShuffleXor),
];

const VOTES: &[(&str, Collective)] =
    &[("ballot", Collective::Ballot), ("any", Collective::Any), ("all", Collective::All), ("uni", Collective::Uniform)];

const REDUCTIONS: &[(&str, AtomicFunction)] = &[
    ("add", AtomicFunction::Add),
    ("min", AtomicFunction::Minimum),
    ("max", AtomicFunction::Maximum),
    ("and", AtomicFunction::And),
    ("or", AtomicFunction::Or),
    ("xor", AtomicFunction::Xor),
];

fn collective<'a>(context: &mut Context<'a, '_>, opcode: &Opcode<'_>, operands: &[Operand<'a>]) -> Option<Op> {
    if !opcode.has("sync") {
        return None;
    }
    let function = match opcode.name {
        "shfl" => opcode.first_of(SHUFFLES)?,
        "vote" => opcode.first_of(VOTES)?,
        "match" => opcode.first_of(&[("any", Collective::MatchAny), ("all", Collective::MatchAll)])?,
        "redux" => Collective::Reduce(opcode.first_of(REDUCTIONS)?),
        "elect" => Collective::Elect,
        _ => return None,
    };
    let (to, operands) = operands.split_first()?;
    let (to, predicate_to) = context.one_or_two(to)?;
    let kind = opcode.kind().unwrap_or(Type::B32);
    let (a, is_negated, b, c, mask) = match operands {
        [mask] => (NOTHING, false, NOTHING, NOTHING, context.source(mask)?),
        [a, mask] => {
            let ((a, is_negated), mask) = (context.predicate(a)?, context.source(mask)?);
            (a, is_negated, NOTHING, NOTHING, mask)
        }
        [a, b, c, mask] => (context.source(a)?, false, context.source(b)?, context.source(c)?, context.source(mask)?),
        _ => return None,
    };
    Some(Op::Collective { function, kind, to, predicate_to, a, is_negated, b, c, mask })
}
