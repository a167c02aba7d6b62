//! Makes random host functions that are fit for a check of derivatives: they end, stay in bounds, have no races and leave
//! nothing uninitialised whatever the seed, and their numbers and slopes stay of order one, so that differences mean
//! something.
//!
//! Streams are kept in order by a record of who used an array last (`streams`): what would be a race is preceded by a wait.

mod device;
mod expr;
mod helper;
mod kernel;
mod launch;
mod loops;
mod memory;
mod readback;
mod streams;
mod themes;
mod unseen;

use std::collections::{BTreeMap, BTreeSet};

use self::kernel::{Kernel, Want};
use self::streams::{Stream, Use};
use super::features::Feature;
use super::tree::{Argument, Param, Program, Symbol};
use crate::check::random::Random;
use crate::check::random_kernels::tree::{Kind, Node, Part};

/// The program of a seed: the same for ever on all machines.
pub(crate) fn generate(seed: u64) -> Program {
    let mut ctx = Ctx::new(seed);
    ctx.parameters();
    let body = ctx.function();
    let result = ctx.chance(20).then(|| {
        ctx.feature(Feature::ReturnedValue);
        let atoms = ctx.scalar_atoms();
        ctx.expr(&atoms, 1)
    });
    if ctx.launches > 1 {
        ctx.feature(Feature::SeveralLaunches);
    }
    let mut program = Program {
        seed,
        globals: ctx.globals,
        symbols: ctx.symbols,
        params: ctx.params,
        body,
        result,
        features: ctx.features,
    };
    program.prune();
    program
}

/// An array that host code can name.
#[derive(Debug, Clone, PartialEq)]
struct Buffer {
    name: String,
    count: usize,
    is_mutable: bool,
    /// Buffers of one group may change places: those that one block allocates, or the parameters.
    group: u32,
}

/// A whole number that host code can name, and its least and largest value.
#[derive(Debug, Clone, PartialEq)]
struct Whole {
    name: String,
    least: i64,
    most: i64,
    is_counter: bool,
}

/// A number of the host.
#[derive(Debug, Clone, PartialEq)]
struct Scalar {
    name: String,
    is_mutable: bool,
    is_read_back: bool,
}

/// What is known while a program is made.
struct Ctx {
    random: Random,
    next_id: u32,
    next_name: usize,
    globals: Vec<Node>,
    symbols: Vec<Symbol>,
    /// Tables of the device that carry no derivatives, and the one that a kernel which is made is to read.
    settings: Vec<String>,
    read_setting: Option<String>,
    params: Vec<Param>,
    features: BTreeSet<Feature>,
    kernels: Vec<Kernel>,
    /// Arrays on the device, and on the host.
    buffers: Vec<Buffer>,
    host_buffers: Vec<Buffer>,
    scalars: Vec<Scalar>,
    wholes: Vec<Whole>,
    halves: Vec<Buffer>,
    streams: Vec<Stream>,
    uses: BTreeMap<String, Use>,
    /// The name of the parameter that is the length of most arrays, and its value.
    length: (String, usize),
    loops: usize,
    blocks: u32,
    group: u32,
    launches: usize,
    /// How many more statements there can be.
    statements: usize,
    /// Whether a kernel that is made may use variables of the device.
    in_helper: bool,
}

impl Ctx {
    fn new(seed: u64) -> Ctx {
        Ctx {
            random: Random::new(seed ^ 0x0009_0067_a300),
            next_id: 0,
            next_name: 0,
            globals: Vec::new(),
            symbols: Vec::new(),
            settings: Vec::new(),
            read_setting: None,
            params: Vec::new(),
            features: BTreeSet::new(),
            kernels: Vec::new(),
            buffers: Vec::new(),
            host_buffers: Vec::new(),
            scalars: Vec::new(),
            wholes: Vec::new(),
            halves: Vec::new(),
            streams: Vec::new(),
            uses: BTreeMap::new(),
            length: (String::new(), 0),
            loops: 0,
            blocks: 0,
            group: 0,
            launches: 0,
            statements: 0,
            in_helper: false,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as i128) as usize
    }

    /// True in so many of a hundred cases.
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn one_of<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    fn feature(&mut self, feature: Feature) {
        self.features.insert(feature);
    }

    fn name(&mut self, prefix: char) -> String {
        self.next_name += 1;
        format!("{prefix}{}", self.next_name)
    }

    /// A node of a text in which `#v1#` is a name that is declared, and `$` the next of the parts.
    fn node(&mut self, kind: Kind, pattern: &str, inner: Vec<Node>) -> Node {
        self.next_id += 1;
        let id = self.next_id;
        let mut parts = Vec::new();
        let mut inner = inner.into_iter();
        for (position, piece) in pattern.split('#').enumerate() {
            if position % 2 == 1 {
                parts.push(Part::Define(piece.to_owned()));
                continue;
            }
            for (position, text) in piece.split('$').enumerate() {
                if position > 0 {
                    parts.extend(inner.next().map(Part::Node));
                }
                if !text.is_empty() {
                    parts.push(Part::Text(text.to_owned()));
                }
            }
        }
        Node { id, kind, parts }
    }

    /// A statement that can go.
    fn statement(&mut self, pattern: &str, inner: Vec<Node>) -> Node {
        self.node(Kind::Statement, pattern, inner)
    }

    /// Statements in braces.
    fn block(&mut self, statements: Vec<Node>) -> Node {
        self.next_id += 1;
        Node { id: self.next_id, kind: Kind::Block, parts: statements.into_iter().map(Part::Node).collect() }
    }

    fn parameter(&mut self, ty: &'static str, argument: Argument) -> String {
        let name = self.name('v');
        self.params.push(Param { ty, name: name.clone(), argument });
        name
    }

    fn parameters(&mut self) {
        let length = 4 + self.below(5);
        for position in 0..2 + self.below(2) {
            let count = length * [1, 1, 2, 3][self.below(4)];
            // At least one array is written.
            let is_mutable = position == 0 || self.chance(55);
            let ty = if is_mutable { "double*" } else { "const double*" };
            let name = self.parameter(ty, Argument::Device(count));
            self.buffers.push(Buffer { name, count, is_mutable, group: 0 });
        }
        if self.chance(15) {
            self.feature(Feature::HostParameter);
            let is_mutable = self.chance(60);
            let ty = if is_mutable { "double*" } else { "const double*" };
            let name = self.parameter(ty, Argument::Host(length));
            self.host_buffers.push(Buffer { name, count: length, is_mutable, group: 0 });
        }
        for _ in 0..1 + self.below(2) {
            let name = self.parameter("double", Argument::Number);
            self.scalars.push(Scalar { name, is_mutable: false, is_read_back: false });
        }
        let name = self.parameter("int", Argument::Int(length as i64));
        self.length = (name.clone(), length);
        self.wholes.push(Whole { name, least: length as i64, most: length as i64, is_counter: false });
        if self.chance(50) {
            let value = 2 + self.below(2) as i64;
            let name = self.parameter("int", Argument::Int(value));
            self.wholes.push(Whole { name, least: value, most: value, is_counter: false });
        }
        for index in (1..self.params.len()).rev() {
            let other = self.below(index + 1);
            self.params.swap(index, other);
        }
    }

    fn function(&mut self) -> Node {
        self.statements = 5 + self.below(5);
        self.group = 1;
        let (mut all, frees) = self.working_arrays();
        while self.statements > 0 {
            all.extend(self.theme());
        }
        // Something always comes out of what the caller can see.
        if let Some(output) = self.buffers.iter().find(|it| it.is_mutable && it.group == 0).cloned() {
            all.extend(self.launch_on(Want::Update { inputs: 1 }, &output, 0));
        }
        all.extend(self.settled());
        all.extend(frees);
        self.block(all)
    }

    /// What is in scope now; see [`Ctx::leave`].
    fn enter(&mut self) -> [usize; 6] {
        self.blocks += 1;
        [
            self.buffers.len(),
            self.host_buffers.len(),
            self.scalars.len(),
            self.wholes.len(),
            self.halves.len(),
            self.streams.len(),
        ]
    }

    /// Forgets what was declared since.
    fn leave(&mut self, marks: [usize; 6]) {
        let [buffers, host_buffers, scalars, wholes, halves, streams] = marks;
        self.buffers.truncate(buffers);
        self.host_buffers.truncate(host_buffers);
        self.scalars.truncate(scalars);
        self.wholes.truncate(wholes);
        self.halves.truncate(halves);
        self.streams.truncate(streams);
    }
}
