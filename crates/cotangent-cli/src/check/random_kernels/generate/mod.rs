//! Makes random kernels that are fit for a check of derivatives: they end, stay in bounds and have no races whatever the
//! seed, and their numbers and slopes stay small, so that differences mean something.
//!
//! How slopes stay small: each expression has a bound of its value and of its slope. What is assigned is scaled until
//! the product of slopes over everything that a thread executes stays below a budget.

mod expr;
mod function;
mod stmt;
mod together;

use super::super::random::Random;
use super::tree::{Kernel, Kind, Node, Param, Part};

/// The kernel of a seed: the same for ever on all machines.
pub(crate) fn generate(seed: u64) -> Kernel {
    let mut ctx = Ctx::new(seed);
    let records = ctx.below(3);
    (0..records).for_each(|_| ctx.record());
    let functions = [0, 0, 1, 1, 2, 3][ctx.below(6)];
    (0..functions).for_each(|_| ctx.function());
    ctx.kernel()
}

/// The group of local variables.
const LOCAL: usize = 0;
/// The group of the kernel's arrays.
const GLOBAL: usize = 1;

/// The two types of floating numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Float {
    Single,
    Double,
}

impl Float {
    fn spelling(self) -> &'static str {
        match self {
            Float::Single => "float",
            Float::Double => "double",
        }
    }
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Scalar(Float),
    /// A whole number from 0 to below this.
    Int(usize),
    Array(Float, usize),
    Matrix(Float, usize, usize),
    /// To so many elements.
    Pointer(Float, usize),
    Record(usize),
}

#[derive(Debug, Clone)]
struct Variable {
    name: String,
    shape: Shape,
    /// Whether it, or what it points to, can be assigned to.
    is_mutable: bool,
    /// The block that declares it.
    block: u32,
    /// Pointers of one group may take each other's values: to a thread's own memory, to the kernel's arrays, or to
    /// whatever one parameter of a device function points to.
    group: usize,
}

/// A field of a struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Scalar(Float),
    Array(Float, usize),
}

/// What a parameter of a device function is.
#[derive(Debug, Clone, PartialEq)]
struct Formal {
    shape: Shape,
    passing: Passing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passing {
    Value,
    ConstReference,
    Reference,
    ConstPointer,
    Pointer,
}

/// A device function that can be called.
#[derive(Debug, Clone)]
struct Device {
    name: String,
    formals: Vec<Formal>,
    result: Option<Shape>,
}

/// An expression with a bound of its value and of its slope.
struct Value {
    node: Node,
    bound: f64,
    slope: f64,
}

/// A thread's own elements of the output: the array, how the position of the first is written, and how many there are.
#[derive(Debug, Clone)]
struct Own {
    array: String,
    first: String,
    count: usize,
    float: Float,
}

/// What is known while a kernel is made.
struct Ctx {
    seed: u64,
    random: Random,
    next_id: u32,
    next_name: usize,
    globals: Vec<Node>,
    records: Vec<Vec<Field>>,
    devices: Vec<Device>,
    scope: Vec<Variable>,
    own: Option<Own>,
    /// How often what is made now is executed at most.
    trips: usize,
    /// What `break`, `continue` and `return` may do here.
    in_loop: bool,
    in_switch: bool,
    result: Option<Shape>,
    in_kernel: bool,
    /// Whether the threads of a block may work together: then none of them returns early.
    is_together: bool,
    block: u32,
    depth: usize,
    /// How many more statements there can be.
    statements: usize,
    /// The logarithm of how much slopes may still grow.
    budget: f64,
}

impl Ctx {
    fn new(seed: u64) -> Ctx {
        Ctx {
            seed,
            random: Random::new(seed ^ 0x5eed_0000_0000),
            next_id: 0,
            next_name: 0,
            globals: Vec::new(),
            records: Vec::new(),
            devices: Vec::new(),
            scope: Vec::new(),
            own: None,
            trips: 1,
            in_loop: false,
            in_switch: false,
            result: None,
            in_kernel: false,
            is_together: false,
            block: 0,
            depth: 0,
            statements: 0,
            budget: 0.0,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as i128) as usize
    }

    /// True in so many of a hundred cases.
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn float(&mut self) -> Float {
        if self.chance(70) { Float::Single } else { Float::Double }
    }

    fn node(&mut self, kind: Kind, parts: Vec<Part>) -> Node {
        self.next_id += 1;
        Node { id: self.next_id, kind, parts }
    }

    fn name(&mut self) -> String {
        self.next_name += 1;
        format!("v{}", self.next_name)
    }

    fn declare(&mut self, name: &str, shape: Shape, is_mutable: bool) {
        self.scope.push(Variable { name: name.to_owned(), shape, is_mutable, block: self.block, group: LOCAL });
    }

    /// Says which group the last variable is of.
    fn in_group(&mut self, group: usize) {
        if let Some(variable) = self.scope.last_mut() {
            variable.group = group;
        }
    }

    /// A variable of a kind, if there is one.
    fn pick(&mut self, accept: impl Fn(&Variable) -> bool) -> Option<Variable> {
        let fit: Vec<usize> = (0..self.scope.len()).filter(|index| accept(&self.scope[*index])).collect();
        // What was declared last is used most.
        let recent = if self.chance(40) { fit.len().saturating_sub(3) } else { 0 };
        let chosen = fit.get(recent + self.below((fit.len() - recent).max(1)))?;
        Some(self.scope[*chosen].clone())
    }

    fn record(&mut self) {
        let count = 1 + self.below(3);
        let mut fields = Vec::new();
        for _ in 0..count {
            let float = self.float();
            fields.push(if self.chance(25) { Field::Array(float, 2 + self.below(2)) } else { Field::Scalar(float) });
        }
        let name = format!("S{}@", self.records.len());
        let mut parts = vec![text("struct "), Part::Define(name), text(" {")];
        for (index, field) in fields.iter().enumerate() {
            parts.push(text(match field {
                Field::Scalar(float) => format!(" {} m{index};", float.spelling()),
                Field::Array(float, count) => format!(" {} m{index}[{count}];", float.spelling()),
            }));
        }
        parts.push(text(" };"));
        let record = self.node(Kind::Global, parts);
        self.globals.push(record);
        self.records.push(fields);
    }

    fn kernel(mut self) -> Kernel {
        self.is_together = self.chance(40);
        // Groups of threads that exchange are whole.
        let (blocks, threads) =
            if self.is_together { [(1, 8), (2, 4)][self.below(2)] } else { [(1, 6), (2, 4), (3, 2)][self.below(3)] };
        let count = (blocks * threads) as usize;
        let mut params = Vec::new();
        let per_thread = 1 + self.below(3);
        let is_strided = !self.is_together && self.chance(25);
        let items = if is_strided { count + self.below(count + 1) } else { count };
        let out_type = self.float();
        let out = self.name();
        params.push(Param {
            ty: format!("{}*", out_type.spelling()),
            name: out.clone(),
            argument: format!("in<{}>({})", out_type.spelling(), items * per_thread),
        });
        self.kernel_inputs(&mut params);
        let limit = self.name();
        // Some threads may have nothing to do.
        let limited = if is_strided || self.is_together { items } else { items - self.below(3) };
        params.push(Param { ty: "int".to_owned(), name: limit.clone(), argument: limited.to_string() });
        self.declare(&limit, Shape::Int(64), false);

        let index = self.name();
        let start = "blockIdx.x * blockDim.x + threadIdx.x";
        let first = if per_thread == 1 { index.clone() } else { format!("{index} * {per_thread}") };
        let own = Own { array: out, first, count: per_thread, float: out_type };
        self.in_kernel = true;
        self.statements = 4 + self.below(12);
        self.budget = 3.0;
        let body = if is_strided {
            self.declare(&index, Shape::Int(64), false);
            self.own = Some(own);
            self.trips = 2;
            self.in_loop = true;
            let block = self.body();
            let head = format!(" = {start}; {index} < {limit}; {index} += blockDim.x * gridDim.x) ");
            let parts = vec![text("for (int "), Part::Define(index), text(head), Part::Node(block)];
            let stride = self.node(Kind::Loop, parts);
            self.node(Kind::Block, vec![Part::Node(stride)])
        } else {
            let parts = vec![text("int "), Part::Define(index.clone()), text(format!(" = {start};"))];
            let declaration = self.node(Kind::Fixed, parts);
            let guard = self.node(Kind::Fixed, vec![text(format!("if ({index} >= {limit}) return;"))]);
            self.declare(&index, Shape::Int(64), false);
            self.own = Some(own);
            let mut body = self.body();
            body.parts.splice(0..0, [Part::Node(declaration), Part::Node(guard)]);
            body
        };
        Kernel { seed: self.seed, globals: self.globals, params, body, blocks, threads }
    }

    fn kernel_inputs(&mut self, params: &mut Vec<Param>) {
        for _ in 0..1 + self.below(3) {
            let float = self.float();
            let spelling = float.spelling();
            let name = self.name();
            let (shape, ty, argument) = match self.below(10) {
                0..=5 => {
                    let length = 4 + self.below(9);
                    (Shape::Pointer(float, length), format!("const {spelling}*"), format!("in<{spelling}>({length})"))
                }
                kind if kind < 8 || self.records.is_empty() => {
                    let argument = self.argument(Field::Scalar(float));
                    (Shape::Scalar(float), spelling.to_owned(), argument)
                }
                _ => {
                    let record = self.below(self.records.len());
                    let fields: Vec<String> =
                        self.records[record].clone().into_iter().map(|field| self.argument(field)).collect();
                    (Shape::Record(record), format!("S{record}@"), format!("S{record}@{{{}}}", fields.join(", ")))
                }
            };
            // Parameters by value are variables too.
            let is_mutable = !matches!(shape, Shape::Pointer(..));
            self.declare(&name, shape, is_mutable);
            self.in_group(if is_mutable { LOCAL } else { GLOBAL });
            params.push(Param { ty, name, argument });
        }
    }

    /// The argument for a field of a struct by value; no two are equal, or the first sample would be on a kink.
    fn argument(&mut self, field: Field) -> String {
        match field {
            Field::Scalar(_) => format!("0.{}f", 2000 + self.below(8000)),
            Field::Array(float, count) => {
                let elements: Vec<String> = (0..count).map(|_| self.argument(Field::Scalar(float))).collect();
                format!("{{{}}}", elements.join(", "))
            }
        }
    }
}

fn text(text: impl Into<String>) -> Part {
    Part::Text(text.into())
}
