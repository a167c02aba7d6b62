//! Random valid modules, for tests of what must hold of every module.
//!
//! A module is made from a list of numbers, each of which decides one choice. When the list ends every choice is the
//! first, which is the simplest; so proptest makes a failing module smaller by making its list shorter and its numbers
//! smaller, and knows nothing of modules.

mod body;
mod exprs;

use proptest::prelude::{Strategy, any};

use self::body::Body;
use crate::index::{Id, IdVec};
use crate::ir::{
    Expr, Field, FloatKind, Function, FunctionId, Global, GlobalStorage, IntKind, LaunchBounds, Local, LocalId, Module,
    OpaqueArg, Place, PointerType, Record, RecordId, Rule, RuleKind, Space, Stmt, StmtKind, Storage, Type, Unread,
    walk,
};
use crate::source::Span;

/// Valid modules made from at most so many choices.
pub(crate) fn modules(choices: usize) -> impl Strategy<Value = Module> {
    proptest::collection::vec(any::<u32>(), 0..choices).prop_map(|numbers| module(&numbers))
}

/// The valid module that a list of choices stands for.
pub(crate) fn module(numbers: &[u32]) -> Module {
    let mut choices = Choices { numbers, position: 0 };
    let mut module = Module::default();
    for index in 0..choices.below(4) {
        let record = record(&mut choices, &module, index);
        module.records.push(record);
    }
    for index in 0..choices.below(5) {
        let global = global(&mut choices, &module, index);
        module.globals.push(global);
    }
    for index in 0..=choices.below(4) {
        let function = function(&mut choices, &module, index);
        module.functions.push(function);
    }
    rules(&mut choices, &mut module);
    module
}

/// Rules about some of the device's functions.
fn rules(choices: &mut Choices<'_>, module: &mut Module) {
    let device: Vec<FunctionId> =
        module.functions.entries().filter(|(_, found)| found.space == Space::Device).map(|(id, _)| id).collect();
    for function in &device {
        let others: Vec<FunctionId> = device.iter().copied().filter(|other| other != function).collect();
        let kind = match choices.below(6) {
            5 if !others.is_empty() => RuleKind::Pushforward(choices.pick(&others)),
            4 if !others.is_empty() => RuleKind::Pullback(choices.pick(&others)),
            3 if !others.is_empty() => {
                RuleKind::Split { augmented: choices.pick(&others), reverse: choices.pick(&others) }
            }
            2 => RuleKind::Constant,
            _ => continue,
        };
        module.rules.push(Rule { function: *function, kind, span: Span::NONE });
    }
}

/// Names of locals. Some are keywords of the text form, none is mentioned otherwise.
const LOCAL_NAMES: &[&str] = &["x", "i", "value", "let", "kernel", "inf", "größe", "to", "shared", "_d_x", "x_1"];

/// Texts that need care when they are quoted.
pub(super) const TEXTS: &[&str] = &["", "i = %d\n", "\"quoted\" \\ `ticks`", "é\u{1}\t\r", "// no comment"];

/// Decisions, one number each.
pub(super) struct Choices<'n> {
    numbers: &'n [u32],
    position: usize,
}

impl Choices<'_> {
    /// Any number; zero when there are no more.
    pub(super) fn number(&mut self) -> u32 {
        let number = self.numbers.get(self.position).copied().unwrap_or(0);
        self.position += 1;
        number
    }

    /// A number below a limit, which is not zero.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.number() as usize % limit
    }

    /// Mostly false, and false when there are no more numbers.
    pub(super) fn chance(&mut self) -> bool {
        self.below(3) == 2
    }

    /// One of several.
    pub(super) fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    /// The name that a local should have.
    pub(super) fn local_name(&mut self) -> &'static str {
        self.pick(LOCAL_NAMES)
    }

    /// A type of values: no `void`, no array.
    pub(super) fn value_type(&mut self, module: &Module, depth: usize) -> Type {
        let kinds = if depth == 0 { 4 } else { 6 };
        match self.below(kinds) {
            0 => Type::Int(self.pick(&[[IntKind::Int; 11], IntKind::ALL].concat())),
            1 => Type::Float(self.pick(&[FloatKind::Float, FloatKind::Double, FloatKind::Half, FloatKind::BFloat])),
            2 => Type::Bool,
            3 => Type::Opaque(self.pick(&["cudaStream_t", "std::vector<int>", "a `b`"]).into()),
            4 if !module.records.is_empty() => Type::Record(RecordId::new(self.below(module.records.len()))),
            _ => self.pointer_type(module, depth - 1),
        }
    }

    /// A type of variables, which may be an array.
    pub(super) fn object_type(&mut self, module: &Module, depth: usize) -> Type {
        if depth == 0 || !self.chance() {
            return self.value_type(module, depth);
        }
        let element = self.object_type(module, depth - 1);
        let length = 1 + self.below(4) as u64;
        if element.is_reference() { element } else { Type::Array(Box::new(element), length) }
    }

    fn pointer_type(&mut self, module: &Module, depth: usize) -> Type {
        let pointee = if self.below(5) == 4 { Type::Void } else { self.object_type(module, depth) };
        if pointee.is_reference() { pointee } else { self.pointer_to(pointee) }
    }

    /// Any pointer to a type.
    pub(super) fn pointer_to(&mut self, pointee: Type) -> Type {
        Type::Pointer(Box::new(PointerType {
            is_reference: self.chance() && pointee != Type::Void,
            pointee,
            is_const: self.chance(),
            is_restrict: self.chance(),
            is_volatile: self.chance(),
        }))
    }
}

fn record(choices: &mut Choices<'_>, module: &Module, index: usize) -> Record {
    let fields = (0..choices.below(4)).map(|field| {
        // A pointer may point to the record itself, which is not in the module yet.
        let own = Type::pointer(Type::Record(RecordId::new(index)));
        let ty = if choices.chance() { own } else { choices.object_type(module, 2) };
        Field { name: format!("{}{field}", choices.pick(&["x", "base", "let_"])).into(), ty }
    });
    Record {
        fields: fields.collect(),
        name: format!("{}{index}", choices.pick(&["Record", "geo::Record"])).into(),
        is_builtin: choices.chance(),
        align: choices.chance().then_some(16),
        span: Span::NONE,
    }
}

fn global(choices: &mut Choices<'_>, module: &Module, index: usize) -> Global {
    let ty = choices.object_type(module, 2);
    let storages = [
        GlobalStorage::Device,
        GlobalStorage::Constant,
        GlobalStorage::Managed,
        GlobalStorage::Constexpr,
        GlobalStorage::Host,
    ];
    let storage = choices.pick(&storages);
    let has_init = storage == GlobalStorage::Constexpr || choices.chance();
    let is_extern = !has_init && choices.chance();
    let init = has_init.then(|| Body::outside(choices, module).initial_value(&ty, 3));
    let name = format!("{}{index}", choices.pick(&["global", "geo::global"]));
    let align = choices.chance().then_some(16);
    Global { name: name.into(), ty, storage, is_extern, align, init, span: Span::NONE }
}

fn function(choices: &mut Choices<'_>, module: &Module, index: usize) -> Function {
    let space = choices.pick(&[Space::Kernel, Space::Device, Space::Host]);
    let has_result = space != Space::Kernel && choices.chance();
    let result = if has_result { choices.value_type(module, 2) } else { Type::Void };
    let name = format!("{}{index}", choices.pick(&["function", "geo::function"]));
    let mut function = Body::function(choices, module, &name, space, result);
    if space == Space::Kernel && choices.chance() {
        let min_blocks = choices.chance().then(|| choices.number());
        function.launch_bounds = Some(LaunchBounds { max_threads: 1 + choices.below(1024) as u32, min_blocks });
    }
    if space == Space::Device && choices.below(6) == 0 {
        function.body = vec![unread_body(choices, &function)];
    }
    function.is_extern_c = choices.below(4) == 0;
    for _ in 0..choices.below(3) {
        let (name, ty) = (choices.local_name().into(), choices.object_type(module, 1));
        function.locals.push(Local { name, ty, storage: Storage::Private, align: None, span: Span::NONE });
    }
    if choices.chance() {
        reverse_locals(&mut function);
    }
    function
}

/// A body that is not read.
fn unread_body(choices: &mut Choices<'_>, function: &Function) -> Stmt {
    let load = |param: &LocalId| Expr::load(Place::local(*param, function.locals[*param].ty.clone()));
    let params = function.params.iter().map(|param| OpaqueArg::Value(load(param)));
    let args = [OpaqueArg::Text("{ return; }".into())].into_iter().chain(params).collect();
    let code = Unread::Body { spelling: format!("::{}", function.name).into(), meets: choices.chance() };
    Stmt::new(StmtKind::Opaque { code, args, into: None })
}

/// Numbers the locals that are no parameters the other way round.
fn reverse_locals(function: &mut Function) {
    let (params, count) = (function.params.len(), function.locals.len());
    let renumbered =
        |id: LocalId| if id.index() < params { id } else { LocalId::new(count - 1 - (id.index() - params)) };
    let locals: IdVec<LocalId, Local> =
        function.locals.ids().map(|id| function.locals[renumbered(id)].clone()).collect();
    function.locals = locals;
    walk::each_local_mut(&mut function.body, &mut |id| *id = renumbered(*id));
}
