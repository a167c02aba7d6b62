//! Functions, records and variables outside functions.

use super::Name;
use super::expr::{Expr, ExprKind, Real};
use super::stmt::{Block, OpaqueArg, Stmt, StmtKind, Unread};
use super::types::{RecordId, Type};
use crate::id_type;
use crate::index::{IdVec, SharedVec};
use crate::source::Span;

id_type!(
    /// A function of a module.
    FunctionId
);
id_type!(
    /// A variable outside functions.
    GlobalId
);
id_type!(
    /// A parameter or local variable of one function.
    LocalId
);

/// A program, or the part of it that was asked for: everything its functions mention.
///
/// Records stand before those that contain them, functions after those that they call.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Module {
    /// Structs.
    pub records: IdVec<RecordId, Record>,
    /// Variables outside functions.
    pub globals: IdVec<GlobalId, Global>,
    /// Functions; callees first.
    pub functions: SharedVec<FunctionId, Function>,
    /// What the program says about calls of its functions, at most one rule a function, and one pushforward.
    pub rules: Vec<Rule>,
    /// What code that is passed through needs before it: headers in angle brackets, some only where there
    /// is one, and declarations of functions of other files. It is no part of the program's meaning, and of its text form neither.
    pub preamble: std::collections::BTreeSet<Name>,
    /// Whether such code names what only the program has: then the program's own text must stand before this.
    pub needs_program: bool,
}

/// What the program says about a function, to be believed instead of its body by whoever asks more than what it computes.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// The function.
    pub function: FunctionId,
    /// What is said.
    pub kind: RuleKind,
    /// Where, in the user's text.
    pub span: Span,
}

/// The kinds of rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleKind {
    /// The user wrote its pullback.
    Pullback(FunctionId),
    /// The user wrote it in two halves: one that computes it and returns what the other needs.
    Split {
        /// Runs in its place.
        augmented: FunctionId,
        /// Takes what `augmented` returned.
        reverse: FunctionId,
    },
    /// It is a constant.
    Constant,
    /// The user wrote its pushforward. This says nothing about reverse mode, and stands beside one of the others.
    Pushforward(FunctionId),
}

impl RuleKind {
    /// The functions that the rule names beside the one that it is about.
    pub fn functions(self) -> Vec<FunctionId> {
        match self {
            RuleKind::Pullback(named) | RuleKind::Pushforward(named) => vec![named],
            RuleKind::Split { augmented, reverse } => vec![augmented, reverse],
            RuleKind::Constant => Vec::new(),
        }
    }

    /// The same rule with its functions replaced.
    pub fn map(self, mut f: impl FnMut(FunctionId) -> FunctionId) -> RuleKind {
        match self {
            RuleKind::Pullback(pullback) => RuleKind::Pullback(f(pullback)),
            RuleKind::Split { augmented, reverse } => RuleKind::Split { augmented: f(augmented), reverse: f(reverse) },
            RuleKind::Constant => RuleKind::Constant,
            RuleKind::Pushforward(pushforward) => RuleKind::Pushforward(f(pushforward)),
        }
    }
}

/// A struct: plain fields. Member functions are functions with a first parameter `self`.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Its name in the output, with namespaces (`geo::Vec_float_3`).
    pub name: Name,
    /// The fields in order; a base class is the first field, named `base`.
    pub fields: Vec<Field>,
    /// Declared by CUDA's own headers (`float3`, `dim3`) and therefore not printed.
    pub is_builtin: bool,
    /// An alignment that was asked for.
    pub align: Option<u32>,
    /// Where it stands in the user's text.
    pub span: Span,
}

/// A field of a record.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: Type,
}

/// A variable outside functions.
#[derive(Clone, PartialEq, Debug)]
pub struct Global {
    /// Its name, with namespaces.
    pub name: Name,
    /// Its type.
    pub ty: Type,
    /// Where it lives.
    pub storage: GlobalStorage,
    /// Whether a file that is not read defines it; it has no initial value then.
    pub is_extern: bool,
    /// The alignment that its declaration asks for, in bytes.
    pub align: Option<u32>,
    /// Its initial value.
    pub init: Option<Expr>,
    /// Where it stands in the user's text.
    pub span: Span,
}

impl Global {
    /// Whether host code that is not read may use it, and what it leads to: other files may see it, or call functions of this
    /// file that do.
    pub fn is_open(&self) -> bool {
        match self.storage {
            GlobalStorage::Device | GlobalStorage::Constant | GlobalStorage::Managed => self.is_extern,
            GlobalStorage::Constexpr => false,
            GlobalStorage::Host => true,
        }
    }
}

/// Where a variable outside functions lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GlobalStorage {
    /// `__device__`.
    Device,
    /// `__constant__`.
    Constant,
    /// `__managed__`.
    Managed,
    /// `constexpr`, or `const` with a constant value: usable on both sides.
    Constexpr,
    /// An ordinary variable of the host.
    Host,
}

impl GlobalStorage {
    /// Whether it is a variable of the device, which kernels share with the host's copies to and from symbols.
    pub fn is_on_device(self) -> bool {
        match self {
            GlobalStorage::Device | GlobalStorage::Constant | GlobalStorage::Managed => true,
            GlobalStorage::Constexpr | GlobalStorage::Host => false,
        }
    }
}

/// A function.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Its name in the output, with namespaces; unique in the module.
    pub name: Name,
    /// Where it runs and who calls it.
    pub space: Space,
    /// The parameters, which are the first locals.
    pub params: Vec<LocalId>,
    /// The type of its result.
    pub result: Type,
    /// Parameters and local variables.
    pub locals: IdVec<LocalId, Local>,
    /// The statements.
    pub body: Block,
    /// `__launch_bounds__(threads, blocks)`, of a kernel.
    pub launch_bounds: Option<LaunchBounds>,
    /// `extern "C"`: the linker knows it by its own name.
    pub is_extern_c: bool,
    /// Where it stands in the user's text.
    pub span: Span,
    /// A comment that is printed above it. The text form leaves it out.
    pub note: Option<Name>,
}

/// The body of a function that is not read ([`Unread::Body`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnreadBody<'f> {
    /// How the program calls the function.
    pub spelling: &'f str,
    /// Whether threads may wait for each other in it.
    pub meets: bool,
    /// The text with braces; empty if only a declaration can be printed.
    pub text: &'f str,
}

/// `__launch_bounds__`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchBounds {
    /// The most threads a block has.
    pub max_threads: u32,
    /// The fewest blocks a multiprocessor should hold.
    pub min_blocks: Option<u32>,
}

/// Where a function runs and who calls it. This is part of its identity: host and device code of one
/// `__host__ __device__` function may differ.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// `__global__`.
    Kernel,
    /// `__device__`.
    Device,
    /// On the host.
    Host,
}

/// A parameter or local variable.
#[derive(Clone, PartialEq, Debug)]
pub struct Local {
    /// Its name, different from all that are visible where it is declared.
    pub name: Name,
    /// Its type.
    pub ty: Type,
    /// Where it lives.
    pub storage: Storage,
    /// The alignment that its declaration asks for, in bytes.
    pub align: Option<u32>,
    /// Where it stands in the user's text.
    pub span: Span,
}

/// Where a local variable lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Storage {
    /// In the thread: a register or the stack.
    Private,
    /// `__shared__`: one for each block.
    Shared,
    /// `extern __shared__ T name[]`: the block's dynamic shared memory. The type is an array of length 0.
    DynamicShared,
}

impl Function {
    /// The name of a local.
    pub fn local_name(&self, local: LocalId) -> &str {
        &self.locals[local].name
    }

    /// The parameters for a record that only what launches a kernel knows: the record itself, and after it, if the record has a limit,
    /// where the kernel says that it needs more. They come last. A function that is a derivative itself has parameters of these names
    /// among its own, and those of its derivative are numbered.
    pub fn record_params(&self) -> &[LocalId] {
        let named = |at: Option<usize>, name: &str| at.filter(|at| self.local_name(self.params[*at]).starts_with(name));
        let last = self.params.len().checked_sub(1);
        let before_limit = named(last, "_needed").map_or(last, |at| at.checked_sub(1));
        named(before_limit, "_record").map_or(&[], |at| &self.params[at..])
    }

    /// The body that is not read, if that is all there is.
    pub fn unread_body(&self) -> Option<UnreadBody<'_>> {
        let [Stmt { kind: StmtKind::Opaque { code: Unread::Body { spelling, meets }, args, .. }, .. }] =
            self.body.as_slice()
        else {
            return None;
        };
        let text = match args.first() {
            Some(OpaqueArg::Text(text)) => text,
            Some(OpaqueArg::Value(_) | OpaqueArg::Variable(_)) | None => "",
        };
        Some(UnreadBody { spelling, meets: *meets, text })
    }
}

impl Module {
    /// What the program says about calls of a function in reverse mode.
    pub fn rule(&self, function: FunctionId) -> Option<&Rule> {
        let mut about = self.rules.iter().filter(|rule| rule.function == function);
        about.find(|rule| !matches!(rule.kind, RuleKind::Pushforward(_)))
    }

    /// The pushforward that the user wrote for a function.
    pub fn pushforward(&self, function: FunctionId) -> Option<FunctionId> {
        let mut about = self.rules.iter().filter(|rule| rule.function == function);
        about.find_map(|rule| match rule.kind {
            RuleKind::Pushforward(pushforward) => Some(pushforward),
            RuleKind::Pullback(_) | RuleKind::Split { .. } | RuleKind::Constant => None,
        })
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<FunctionId> {
        self.functions.entries().find(|(_, function)| &*function.name == name).map(|(id, _)| id)
    }

    /// The zero of a type: all fields of a record, none of an array's elements.
    pub fn zero(&self, ty: &Type) -> Expr {
        let kind = match ty {
            Type::Bool => ExprKind::Bool(false),
            Type::Int(_) => ExprKind::Int(0),
            Type::Float(_) => ExprKind::Float(Real(0.0)),
            Type::Record(record) => {
                let fields = self.records[*record].fields.iter();
                ExprKind::Construct(fields.map(|field| self.zero(&field.ty)).collect())
            }
            Type::Array(..) => ExprKind::Construct(Vec::new()),
            Type::Void | Type::Pointer(_) | Type::Opaque(_) => ExprKind::Null,
        };
        Expr::new(kind, ty.clone())
    }
}
