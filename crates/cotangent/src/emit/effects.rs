//! Calls of every kind: functions, barriers, atomics, exchanges in a warp, launches, the runtime.

use super::construct::{extents, is_extent_type};
use super::dialect::{Coordinates, LaunchStyle};
use super::expr::{arguments, converted, exact, in_ellipsis, lane_mask, runtime_arguments};
use super::layout::{LIST_BREAK, comma_separated};
use super::literals;
use super::place::{atomic_address, place};
use super::precedence::Precedence;
use super::scope::Scope;
use super::types::type_name;
use crate::ir::same::same_place;
use crate::ir::{
    AtomicOp, BarrierKind, CollectiveOp, Expr, ExprKind, FunctionId, Launch, OpaqueArg, Place, PlaceKind,
    Scope as AtomicScope, StmtKind, Type, Unread,
};
use crate::rules::{ADD_ANYWHERE, ADD_TOGETHER, CHECK_BLOCK, Returns, runtime_returns};

/// A call that a statement makes, and where its result goes.
pub(super) struct Effect<'a> {
    /// The call, without a semicolon.
    pub(super) call: String,
    /// The place that takes its result.
    pub(super) into: Option<&'a Place>,
}

/// The call that the statement makes, if it is one.
pub(super) fn effect<'a>(scope: &Scope<'_>, stmt: &'a StmtKind) -> Option<Effect<'a>> {
    let (call, into) = match stmt {
        StmtKind::Call { into, function, args } => (function_call(scope, *function, args), into),
        StmtKind::Barrier { kind, argument, into } => (barrier(scope, *kind, argument.as_ref()), into),
        StmtKind::Atomic { op, scope: range, place, value, compare, into } => {
            (atomic(scope, *op, *range, place, value, compare.as_ref()), into)
        }
        StmtKind::Collective { op, mask, args, into } => (collective(scope, *op, mask.as_ref(), args), into),
        StmtKind::Launch(launch) => (self::launch(scope, launch), &None),
        StmtKind::Runtime { call, args, into } => {
            let asked = asked_for(scope, call, into.as_ref());
            (format!("{call}{asked}({})", comma_separated(&runtime_arguments(scope, call, args))), into)
        }
        StmtKind::Opaque { code: Unread::Call(callee), args, into } => (opaque(scope, callee, args), into),
        StmtKind::Opaque { code: Unread::Passed, args, into } => (passed(scope, args), into),
        // It is printed with the function.
        StmtKind::Opaque { code: Unread::Body { .. }, .. } => return None,
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::If { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. } => return None,
    };
    Some(Effect { call, into: into.as_ref() })
}

/// The template argument of a runtime function that says what it returns.
fn asked_for(scope: &Scope<'_>, call: &str, into: Option<&Place>) -> String {
    let ty = into.map(|into| &into.ty);
    let asked = match runtime_returns(call) {
        Some(Returns::PointerToAsked) => ty.and_then(Type::pointee),
        Some(Returns::Asked) => ty,
        Some(Returns::Declared) | None => None,
    };
    asked.map_or(String::new(), |ty| format!("<{}>", type_name(scope, ty)))
}

fn function_call(scope: &Scope<'_>, function: FunctionId, args: &[Expr]) -> String {
    let mut arguments = arguments(scope, args);
    let needs_thread = scope.program.usages[function].uses_coordinates;
    if needs_thread && scope.program.spellings.coordinates != Coordinates::Variables {
        arguments.insert(0, scope.thread.clone());
    }
    format!("{}({})", scope.function_name(function), comma_separated(&arguments))
}

fn barrier(scope: &Scope<'_>, kind: BarrierKind, argument: Option<&Expr>) -> String {
    let name = match kind {
        BarrierKind::Block => "__syncthreads",
        BarrierKind::BlockCount => "__syncthreads_count",
        BarrierKind::BlockAnd => "__syncthreads_and",
        BarrierKind::BlockOr => "__syncthreads_or",
        BarrierKind::Warp => "__syncwarp",
        BarrierKind::Fence => "__threadfence",
        BarrierKind::FenceBlock => "__threadfence_block",
        BarrierKind::FenceSystem => "__threadfence_system",
    };
    let argument = argument.map(|argument| lane_mask(scope, argument)).unwrap_or_default();
    format!("{name}({argument})")
}

fn atomic(
    scope: &Scope<'_>,
    op: AtomicOp,
    range: AtomicScope,
    target: &Place,
    value: &Expr,
    compare: Option<&Expr>,
) -> String {
    let name = match op {
        AtomicOp::Add => "atomicAdd",
        AtomicOp::Subtract => "atomicSub",
        AtomicOp::Exchange => "atomicExch",
        AtomicOp::Min => "atomicMin",
        AtomicOp::Max => "atomicMax",
        AtomicOp::And => "atomicAnd",
        AtomicOp::Or => "atomicOr",
        AtomicOp::Xor => "atomicXor",
        AtomicOp::Increment => "atomicInc",
        AtomicOp::Decrement => "atomicDec",
        AtomicOp::CompareAndSwap => "atomicCAS",
    };
    let name = match range {
        AtomicScope::Device => name.to_owned(),
        AtomicScope::Block => format!("{name}_block"),
        AtomicScope::System => format!("{name}_system"),
        AtomicScope::Anywhere => format!("cotangent::{ADD_ANYWHERE}"),
        AtomicScope::Together => format!("cotangent::{ADD_TOGETHER}"),
    };
    let mut arguments = vec![atomic_address(scope, target).text];
    arguments.extend(compare.map(|compare| exact(scope, compare).text));
    arguments.push(exact(scope, value).text);
    format!("{name}({})", comma_separated(&arguments))
}

fn collective(scope: &Scope<'_>, op: CollectiveOp, mask: Option<&Expr>, args: &[Expr]) -> String {
    // The second part: whether the first argument after the mask selects an overload.
    let (name, is_overloaded) = match op {
        CollectiveOp::Shuffle => ("__shfl_sync", true),
        CollectiveOp::ShuffleUp => ("__shfl_up_sync", true),
        CollectiveOp::ShuffleDown => ("__shfl_down_sync", true),
        CollectiveOp::ShuffleXor => ("__shfl_xor_sync", true),
        CollectiveOp::Ballot => ("__ballot_sync", false),
        CollectiveOp::Any => ("__any_sync", false),
        CollectiveOp::All => ("__all_sync", false),
        CollectiveOp::MatchAny => ("__match_any_sync", true),
        CollectiveOp::MatchAll => ("__match_all_sync", true),
        CollectiveOp::ReduceAdd => ("__reduce_add_sync", true),
        CollectiveOp::ReduceMin => ("__reduce_min_sync", true),
        CollectiveOp::ReduceMax => ("__reduce_max_sync", true),
        CollectiveOp::ReduceAnd => ("__reduce_and_sync", true),
        CollectiveOp::ReduceOr => ("__reduce_or_sync", true),
        CollectiveOp::ReduceXor => ("__reduce_xor_sync", true),
        CollectiveOp::ActiveMask => ("__activemask", false),
    };
    let mut arguments: Vec<String> = mask.map(|mask| lane_mask(scope, mask)).into_iter().collect();
    for (position, arg) in args.iter().enumerate() {
        let code = if position == 0 && is_overloaded { exact(scope, arg) } else { converted(scope, arg) };
        arguments.push(code.text);
    }
    format!("{name}({})", comma_separated(&arguments))
}

fn opaque(scope: &Scope<'_>, callee: &str, args: &[OpaqueArg]) -> String {
    let argument = |(position, arg): (usize, &OpaqueArg)| match arg {
        OpaqueArg::Value(value) => in_ellipsis(scope, value).text,
        OpaqueArg::Text(stream) if callee == "fprintf" && position == 0 => stream.to_string(),
        OpaqueArg::Text(text) => literals::string(text),
        OpaqueArg::Variable(variable) => place(scope, variable).text,
    };
    format!("{callee}({})", comma_separated(&args.iter().enumerate().map(argument).collect::<Vec<_>>()))
}

/// Code of the program as it stands there, with the names that its variables have here.
fn passed(scope: &Scope<'_>, args: &[OpaqueArg]) -> String {
    let piece = |arg: &OpaqueArg| match arg {
        // What stands around it is not known.
        OpaqueArg::Value(value) => exact(scope, value).at_least(Precedence::Postfix),
        OpaqueArg::Text(text) => text.to_string(),
        OpaqueArg::Variable(variable) => place(scope, variable).text,
    };
    args.iter().map(piece).collect()
}

pub(super) fn launch(scope: &Scope<'_>, launch: &Launch) -> String {
    let args = arguments(scope, &launch.args);
    let shared = launch.shared.as_ref().map(|shared| converted(scope, shared).text);
    let mut configuration = vec![extent(scope, &launch.grid), extent(scope, &launch.block)];
    let stream = launch.stream.as_ref().map(|stream| converted(scope, stream).text);
    match scope.program.spellings.launch {
        LaunchStyle::Chevrons => {
            if shared.is_some() || stream.is_some() {
                configuration.push(shared.unwrap_or_else(|| "0".to_owned()));
            }
            configuration.extend(stream);
            let kernel = scope.function_name(launch.kernel);
            // The arguments break before the configuration does, because they stand in brackets.
            format!("{kernel}<<<{}>>>({})", configuration.join(", "), comma_separated(&args))
        }
        LaunchStyle::Launcher { .. } => {
            configuration.push(shared.unwrap_or_else(|| "0".to_owned()));
            configuration.push(stream.unwrap_or_else(|| "nullptr".to_owned()));
            let name = scope.program.launcher_name(launch.kernel);
            let all = [configuration, args].concat();
            format!("{}({})", scope.reference(&name), comma_separated(&all))
        }
    }
}

/// The call before a checked launch, which stops if no block can run.
pub(super) fn check_of_launch(scope: &Scope<'_>, launch: &Launch) -> String {
    let shared = launch.shared.as_ref().map(|shared| converted(scope, shared).text);
    let needed: Vec<String> = [extent(scope, &launch.block)].into_iter().chain(shared).collect();
    format!("{CHECK_BLOCK}<{}>({})", scope.function_name(launch.kernel), comma_separated(&needed))
}

/// A grid or block: the variable that it was taken from, a number, or `dim3`.
fn extent(scope: &Scope<'_>, parts: &[Expr; 3]) -> String {
    if let Some(variable) = extent_variable(scope, parts) {
        return place(scope, variable).text;
    }
    let texts = extents(scope, parts);
    if texts.contains(LIST_BREAK) { format!("dim3({texts})") } else { texts }
}

/// The place of type `dim3` whose fields these are.
fn extent_variable<'a>(scope: &Scope<'_>, parts: &'a [Expr; 3]) -> Option<&'a Place> {
    let base = |part: &'a Expr, position: u32| -> Option<&'a Place> {
        let ExprKind::Load(Place { kind: PlaceKind::Field(base, at), .. }) = &part.kind else { return None };
        (*at == position && is_extent_type(scope, &base.ty)).then_some(base)
    };
    let (x, y, z) = (base(&parts[0], 0)?, base(&parts[1], 1)?, base(&parts[2], 2)?);
    (same_place(x, y) && same_place(y, z)).then_some(x)
}
