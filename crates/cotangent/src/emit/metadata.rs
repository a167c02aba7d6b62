//! What a program must know of a derivative to call it: its functions with their parameters, what is done to each adjoint before,
//! and how large the record is.

use serde::Serialize;
use serde_json::{Value, json};

use super::scope::{Program, Scope};
use super::structs::{Struct, structs};
use super::{Dialect, types};
use crate::ir::layout::layout;
use crate::ir::{
    Builtin, Expr, ExprKind, Function, FunctionId, Global, GlobalStorage, LocalId, Module, NEEDED, NEEDS_NOTHING,
    Place, PlaceKind, Space, Stmt, StmtKind, Type, UnaryOp, walk,
};

/// What a program must know of a derivative.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// The function that was differentiated.
    pub function: String,
    /// `joint` or `split`.
    pub form: &'static str,
    /// What the text has, in its order.
    pub functions: Vec<Described>,
    /// Structs that parameters are or point to, each after those that it is made of.
    pub structs: Vec<Struct>,
    /// In the order named.
    pub adjoints: Vec<Adjoint>,
    /// Variables of the device that the function uses and that hold what its program stores there: not those in constant memory
    /// with an initial value.
    pub variables: Vec<String>,
    /// Of the split form, the parameters whose memory must be unchanged when the reverse sweep runs.
    pub read_after: Vec<String>,
    /// The memory that takes values from one sweep to the other.
    pub record: Option<Record>,
}

impl Metadata {
    /// The function that does this, as [`Described::does`] has it.
    pub fn function_that(&self, does: &str) -> Option<&Described> {
        self.functions.iter().find(|function| function.does == does)
    }
}

/// A function of the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Described {
    /// Its name, which a kernel for NVRTC has in the compiled code too.
    pub name: String,
    /// `kernel`, `device` or `host`.
    pub space: &'static str,
    /// `gradient`, `forward` and `reverse` of the split form, `count` for a kernel that counts slots of the record, `vjp`, `launch`,
    /// `bytes`, or `helper`.
    pub does: &'static str,
    /// In order.
    pub parameters: Vec<Parameter>,
    /// `__launch_bounds__`: threads, and blocks if they are stated.
    pub launch_bounds: Option<Vec<u32>>,
    /// Whether it is launched with twice the dynamic shared memory of the function, each half a multiple of 16 bytes.
    pub has_twice_the_shared_memory: bool,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type, as the text spells it.
    #[serde(rename = "type")]
    pub ty: String,
}

/// The adjoint of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Adjoint {
    /// Whose it is: a parameter, or a variable of the device.
    pub of: String,
    /// The name of the adjoint in the derivative's kernel.
    pub name: String,
    /// The type of its elements.
    pub element: String,
    /// What it holds before: `adjoint`, by the contract of adjoints, which are added to; in the framework form `zero` for a
    /// gradient, `cotangent` for what the kernel leaves as it is, `copy` for a copy of a cotangent, which the kernel changes, and
    /// `gradient` for a gradient that begins as the cotangent.
    pub before: &'static str,
}

/// The record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Record {
    /// The type that the parameter points to.
    pub word: String,
    /// How large that is.
    pub word_bytes: u64,
    /// The bytes of a launch: a number, the name of a parameter or of a size of the launch (`grid.x`), or an operation with its operands, as
    /// in `["*", 4, "n", "grid.x"]`; `["?", condition, then, otherwise]` chooses. None if a kernel counts slots.
    pub bytes: Option<Value>,
    /// The kernel that counts the slots of a thread: it takes the function's arguments and a pointer to an `unsigned int` that
    /// is zero, and leaves the most there. The record has so many words for each thread of the launch.
    pub counted_by: Option<String>,
}

/// Describes the derivative of a function of a module with respect to what has these names. Functions of the host are left out where
/// they are not printed.
pub fn metadata(primal: &Module, asked: FunctionId, named: &[&str], derivative: &Module, has_host: bool) -> Metadata {
    let asked = &primal.functions[asked];
    let functions = &derivative.functions;
    let is_printed = |function: &&Function| has_host || function.space != Space::Host;
    let program = Program::alone(derivative, Dialect::Cuda);
    let scope = &Scope::of_item(&program, "");
    let described = functions.iter().filter(is_printed).map(|function| describe(scope, function, asked)).collect();
    let main = functions.iter().rfind(|function| matches!(does(function, asked), "gradient" | "reverse"));
    let vjp = functions.iter().find(|function| does(function, asked) == "vjp");
    // Adjoints follow the function's own parameters, in the order named.
    let of = |(name, position): (&&str, usize)| {
        let main = main?;
        let adjoint = &main.locals[*main.params.get(position)?];
        let element = adjoint.ty.pointee().map(|ty| types::type_name(scope, ty)).unwrap_or_default();
        let before = vjp.map_or("adjoint", |vjp| before(vjp, &adjoint.name));
        Some(Adjoint { of: (*name).to_owned(), name: adjoint.name.to_string(), element, before })
    };
    let is_split = main.is_some_and(|main| does(main, asked) == "reverse");
    Metadata {
        function: asked.name.to_string(),
        form: if is_split { "split" } else { "joint" },
        functions: described,
        structs: structs(scope, functions.iter().filter(is_printed).filter(|function| function.space != Space::Device)),
        adjoints: named.iter().zip(asked.params.len()..).filter_map(of).collect(),
        variables: primal.globals.iter().filter(is_set_by_program).map(|global| global.name.to_string()).collect(),
        read_after: if is_split { read_after(derivative) } else { Vec::new() },
        record: main.and_then(|main| record(scope, main)),
    }
}

fn is_set_by_program(global: &&Global) -> bool {
    match global.storage {
        GlobalStorage::Device | GlobalStorage::Managed => true,
        GlobalStorage::Constant => global.init.is_none(),
        GlobalStorage::Constexpr | GlobalStorage::Host => false,
    }
}

fn describe(scope: &Scope<'_>, function: &Function, asked: &Function) -> Described {
    let parameter = |param: &LocalId| {
        let local = &function.locals[*param];
        Parameter { name: local.name.to_string(), ty: types::type_name(scope, &local.ty) }
    };
    let bounds = function.launch_bounds.map(|bounds| {
        let blocks = bounds.min_blocks;
        [bounds.max_threads].into_iter().chain(blocks).collect()
    });
    let mut has_twice = false;
    walk::each_expr(&function.body, &mut |expr| {
        has_twice |= expr.kind == ExprKind::Builtin(Builtin::DynamicSharedBytes);
    });
    Described {
        name: function.name.to_string(),
        space: match function.space {
            Space::Kernel => "kernel",
            Space::Device => "device",
            Space::Host => "host",
        },
        does: does(function, asked),
        parameters: function.params.iter().map(parameter).collect(),
        launch_bounds: bounds,
        has_twice_the_shared_memory: has_twice,
    }
}

/// What functions do, by what follows the name of the function in theirs.
const WORDS: [(&str, &str); 5] = [
    ("_grad", "gradient"),
    ("_augmented", "forward"),
    ("_reverse", "reverse"),
    ("_vjp", "vjp"),
    ("_pushforward", "pushforward"),
];

fn does(function: &Function, asked: &Function) -> &'static str {
    let Some(rest) = function.name.strip_prefix(&*asked.name) else { return "helper" };
    if is_counting(function) {
        "count"
    } else if rest.ends_with("_bytes") {
        "bytes"
    } else if rest.ends_with("_launch") {
        "launch"
    } else {
        WORDS.iter().find(|(word, _)| rest.starts_with(word)).map_or("helper", |(_, does)| *does)
    }
}

/// What an adjoint holds before a kernel of the framework form, by the parameters of what launches it.
fn before(vjp: &Function, name: &str) -> &'static str {
    let param = |name: &str| vjp.params.iter().find(|param| vjp.local_name(**param) == name);
    let is_const =
        param(name).is_some_and(|param| matches!(&vjp.locals[*param].ty, Type::Pointer(pointer) if pointer.is_const));
    match (is_const, param(&format!("{name}_count")).is_some()) {
        _ if param(&format!("{name}_after")).is_some() => "gradient",
        (true, true) => "copy",
        (true, false) => "cotangent",
        (false, _) => "zero",
    }
}

/// The parameters whose memory the reverse sweep of a split form reads, as it says itself.
pub fn read_after(derivative: &Module) -> Vec<String> {
    // A host function comes after the kernels that it launches, which say so too.
    let functions: Vec<&Function> = derivative.functions.iter().collect();
    let notes = functions.into_iter().rev().filter_map(|function| function.body.first()?.note.as_deref());
    let names = |line: &str| match line.strip_prefix(NEEDED) {
        Some(listed) => Some(listed.trim_end_matches('.').split(", ").map(str::to_owned).collect()),
        None => line.starts_with(NEEDS_NOTHING).then(Vec::new),
    };
    notes.flat_map(str::lines).find_map(names).unwrap_or_default()
}

/// The kernel that counts the slots of the record, or the function that computes its bytes without one.
pub fn counting(derivative: &Module) -> Option<&Function> {
    let computes = |function: &&Function| {
        function.space == Space::Host && function.name.ends_with("_bytes") && formula_of(function).is_some()
    };
    let mut functions = derivative.functions.iter();
    functions.find(|function| is_counting(function)).or_else(|| derivative.functions.iter().find(computes))
}

fn is_counting(function: &Function) -> bool {
    let last = function.params.last().map(|param| function.local_name(*param));
    function.space == Space::Kernel && last == Some("_slots")
}

/// What a function returns that does nothing else.
fn formula_of(function: &Function) -> Option<&Expr> {
    let [Stmt { kind: StmtKind::Return(value), .. }] = function.body.as_slice() else { return None };
    value.as_ref()
}

fn record(scope: &Scope<'_>, kernel: &Function) -> Option<Record> {
    let module = scope.program.module;
    let param = kernel.record_params().first()?;
    let word = kernel.locals[*param].ty.pointee()?;
    let counting = counting(module)?;
    let is_kernel = is_counting(counting);
    Some(Record {
        word: types::type_name(scope, word),
        word_bytes: layout(module, word).0,
        bytes: formula_of(counting).filter(|_| !is_kernel).and_then(|value| formula(module, counting, value)),
        counted_by: is_kernel.then(|| counting.name.to_string()),
    })
}

/// A number as a formula.
fn formula(module: &Module, function: &Function, value: &Expr) -> Option<Value> {
    let of = |value: &Expr| formula(module, function, value);
    match &value.kind {
        ExprKind::Int(number) => i64::try_from(*number).ok().map(Value::from),
        ExprKind::SizeOf(ty) => Some(Value::from(layout(module, ty).0)),
        ExprKind::Cast(operand) => of(operand),
        ExprKind::Unary(UnaryOp::Negate, operand) => Some(json!(["-", of(operand)?])),
        ExprKind::Binary(op, left, right) => Some(operation(op.spelling(), of(left)?, of(right)?)),
        ExprKind::Select(cond, then, otherwise) => Some(json!(["?", of(cond)?, of(then)?, of(otherwise)?])),
        ExprKind::Load(place) => name(function, place).map(Value::from),
        ExprKind::Bool(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::Construct(_) => None,
    }
}

/// An operation; sums and products have all their operands in one list.
fn operation(op: &str, left: Value, right: Value) -> Value {
    let goes_on =
        |operands: &&Vec<Value>| ["+", "*"].contains(&op) && operands.first().is_some_and(|first| first == op);
    let mut operands = match left.as_array().filter(goes_on) {
        Some(operands) => operands.clone(),
        None => vec![Value::from(op), left],
    };
    operands.push(right);
    Value::Array(operands)
}

/// A parameter, or a field of one that says how a kernel is launched.
fn name(function: &Function, place: &Place) -> Option<String> {
    match &place.kind {
        PlaceKind::Local(local) => Some(function.local_name(*local).to_owned()),
        PlaceKind::Field(base, axis) => {
            Some(format!("{}.{}", name(function, base)?, ["x", "y", "z"].get(*axis as usize)?))
        }
        PlaceKind::Global(_) | PlaceKind::Index(..) | PlaceKind::Element(..) => None,
    }
}
