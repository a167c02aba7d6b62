//! `--deterministic`: what the threads or blocks of a kernel add to one place is stored first, each to a cell of its own, and a second
//! launch adds the cells in their order.
//!
//! ```text
//! cotangent::add_together(_d_a, _sum);     becomes     cotangent::add_together(&_d_a_parts[_block], _sum);
//! ```
//!
//! Each cell has one adder, so its bits do not depend on who comes first. The host function that launches the kernel allocates the
//! cells, launches `add_in_order` after it, and frees them. Three things must be so. Nobody looks at the adjoint in the kernel, since it
//! is added to later: the parameter is mentioned by such additions only. A thread comes to the statement as often as is known before
//! the launch: it stands in no loop but those with a constant number of iterations. And no other stream adds there meanwhile.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use super::deterministic::reached;
use super::launch;
use super::locals::{assign, declare};
use super::numbering::{grid_block, grid_blocks, grid_thread, grid_threads, product};
use super::privatize::fresh;
use super::runtime_calls::null_stream;
use super::taken_name::free_name;
use super::together::values_from_zero;
use crate::ir::walk::{self, PartMut};
use crate::ir::{
    AtomicOp, Axis, BinaryOp, Block, Builtin, Expr, ExprKind, FloatKind, Function, FunctionId, Launch, LocalId, Module,
    Name, Place, PlaceKind, Scope, Space, Stmt, StmtKind, Type, order, text,
};

/// By kernel, the parameters that are only added to, so that this can be done later.
pub(super) type Deferred = BTreeMap<FunctionId, BTreeSet<LocalId>>;

/// What stands above an addition to a cell.
const NOTE: &str = "in a cell of its own: a second launch adds them in their order";

/// The threads that add what goes to places which are known only when the kernel has run. A place belongs to one of them.
const ADDERS: i128 = 256;

/// How often a thread may come to a statement: each time takes a cell of each thread, or of each block.
const MOST_TIMES: u64 = 64;

/// The kernels that add cells, for one type of numbers.
const KERNELS: [(&str, &str); 2] = [
    (
        "add_in_order",
        "kernel add_in_order(to: T*, parts: T*, count: long) {
           let sum: T = 0.0;
           for k: long = 0l; k < count; k += 1l { sum = (sum + parts[k]); }
           if (sum != 0.0) { *to = (*to + sum); }
         }",
    ),
    (
        "add_at_places",
        "kernel add_at_places(to: T*, places: long*, parts: T*, count: long) {
           let adder: long = (threadIdx.x as long);
           for k: long = 0l; k < count; k += 1l {
             let place: long = places[k];
             if (((place & 255l) == adder) && (parts[k] != 0.0)) { to[place] = (to[place] + parts[k]); }
           }
         }",
    ),
];

/// The parameters of kernels that can be added to later. In `contended` kernels other streams may add too.
pub(super) fn deferrable(module: &Module, roots: &[FunctionId], contended: &HashSet<FunctionId>) -> Deferred {
    let kernels = reached(module, roots).into_iter().filter(|id| module.functions[*id].space == Space::Kernel);
    let able = kernels.filter(|id| !contended.contains(id));
    able.map(|id| (id, only_added_to(&module.functions[id]))).filter(|(_, params)| !params.is_empty()).collect()
}

/// The parameter that a statement adds to atomically.
pub(super) fn added_to(stmt: &Stmt) -> Option<(LocalId, &Expr)> {
    let StmtKind::Atomic { op: AtomicOp::Add, place, into: None, .. } = &stmt.kind else { return None };
    let PlaceKind::Element(pointer, index) = &place.kind else { return None };
    let is_able = matches!(place.ty, Type::Float(FloatKind::Float | FloatKind::Double));
    pointer.as_local().filter(|_| is_able).map(|param| (param, &**index))
}

fn only_added_to(kernel: &Function) -> BTreeSet<LocalId> {
    let mut mentions: HashMap<LocalId, usize> = HashMap::new();
    walk::each_place(&kernel.body, &mut |place| {
        place.as_local().into_iter().for_each(|local| *mentions.entry(local).or_default() += 1);
    });
    let mut additions: HashMap<LocalId, usize> = HashMap::new();
    count_additions(&kernel.body, MOST_TIMES, &mut additions);
    let is_only = |param: &LocalId| additions.contains_key(param) && additions.get(param) == mentions.get(param);
    kernel.params.iter().copied().filter(is_only).collect()
}

/// Counts the additions that run as often as is known, and at most so many times.
fn count_additions(block: &[Stmt], most: u64, counts: &mut HashMap<LocalId, usize>) {
    for stmt in block {
        added_to(stmt).into_iter().for_each(|(param, _)| *counts.entry(param).or_default() += 1);
        let times = if let StmtKind::For(head) = &stmt.kind {
            values_from_zero(head)
        } else {
            (!stmt.kind.is_loop()).then_some(1)
        };
        let Some(times) = times.filter(|times| *times <= most) else { continue };
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let walk::Part::Block(inner) = part {
                count_additions(inner, most / times.max(1), counts);
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

/// Has second launches make what is deferred. Returns the host function that launches a kernel of `roots`, if it needs one now.
pub(super) fn add_in_order(module: &mut Module, roots: &[FunctionId], deferred: &Deferred) -> Option<FunctionId> {
    let hosts: Vec<FunctionId> =
        reached(module, roots).into_iter().filter(|id| module.functions[*id].space == Space::Host).collect();
    let bare = roots.iter().find(|root| deferred.contains_key(root) && hosts.is_empty());
    let launcher = bare.map(|kernel| launch::add_plain_launcher(module, *kernel));
    let mut cells: HashMap<FunctionId, Vec<Cells>> = HashMap::new();
    for (id, params) in deferred {
        let mut function = module.functions[*id].clone();
        cells.insert(*id, with_cells(&mut function, params));
        module.functions.set(*id, function);
    }
    let mut adders = HashMap::new();
    for host in hosts.into_iter().chain(launcher) {
        let mut function = module.functions[host].clone();
        let mut names = function.locals.iter().map(|local| local.name.clone()).collect();
        let mut body = std::mem::take(&mut function.body);
        let mut hosting =
            Hosting { module, cells: &cells, adders: &mut adders, function: &mut function, names: &mut names };
        hosting.block(&mut body);
        function.body = body;
        renumber(&mut function);
        module.functions.set(host, function);
    }
    launcher
}

/// The cells of one statement.
struct Cells {
    /// The position of the parameter that is added to.
    target: usize,
    name: Name,
    ty: Type,
    /// Whether each block has one, or each thread.
    is_of_block: bool,
    /// How often the statement runs.
    times: u64,
    /// Where all of them are added; none if each has a place.
    place: Option<Expr>,
}

impl Cells {
    /// How many a launch needs.
    fn count(&self, launch: &Launch) -> Expr {
        let threads: &[Expr] = if self.is_of_block { &[] } else { &launch.block };
        let extents = || launch.grid.iter().chain(threads);
        let constant = extents().filter_map(Expr::as_int).product::<i128>() * i128::from(self.times);
        let others = extents().filter(|extent| extent.as_int().is_none());
        let others: Vec<Expr> = others.map(|extent| Expr::cast(extent.clone(), Type::LONG)).collect();
        let is_needed = constant != 1 || others.is_empty();
        product(others.into_iter().chain(is_needed.then(|| Expr::new(ExprKind::Int(constant), Type::LONG))))
    }
}

/// Gives the additions of a kernel cells of their own.
fn with_cells(kernel: &mut Function, params: &BTreeSet<LocalId>) -> Vec<Cells> {
    let names = kernel.locals.iter().map(|local| local.name.clone()).collect();
    let mut body = std::mem::take(&mut kernel.body);
    let mut giving = Giving { kernel, params, names, cells: Vec::new(), numbers: BTreeMap::new() };
    giving.block(&mut body, &mut Vec::new());
    let Giving { cells, numbers, .. } = giving;
    let numbers = numbers.into_iter().map(|(number, local)| declare(local, Some(number.value())));
    kernel.body = numbers.chain(body).collect();
    renumber(kernel);
    cells
}

/// A number that tells which cell is meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Number {
    Blocks,
    Block,
    Threads,
    Thread,
}

impl Number {
    fn name(self) -> &'static str {
        match self {
            Number::Blocks => "_blocks",
            Number::Block => "_block",
            Number::Threads => "_threads",
            Number::Thread => "_thread",
        }
    }

    fn value(self) -> Expr {
        match self {
            Number::Blocks => grid_blocks(),
            Number::Block => grid_block(),
            Number::Threads => grid_threads(),
            Number::Thread => grid_thread(),
        }
    }
}

struct Giving<'k> {
    kernel: &'k mut Function,
    params: &'k BTreeSet<LocalId>,
    names: HashSet<Name>,
    cells: Vec<Cells>,
    numbers: BTreeMap<Number, LocalId>,
}

impl Giving<'_> {
    /// `around` are the counters of the loops around, with the number of their values.
    fn block(&mut self, block: &mut Block, around: &mut Vec<(LocalId, u64)>) {
        for mut stmt in std::mem::take(block) {
            if let Some((param, _)) = added_to(&stmt).filter(|(param, _)| self.params.contains(param)) {
                block.extend(self.stored(param, stmt, around));
                continue;
            }
            let counter = if let StmtKind::For(head) = &stmt.kind {
                values_from_zero(head).map(|count| (head.counter, count))
            } else {
                None
            };
            around.extend(counter);
            let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
                if let PartMut::Block(inner) = part {
                    self.block(inner, around);
                }
                ControlFlow::<()>::Continue(())
            });
            around.truncate(around.len() - usize::from(counter.is_some()));
            block.push(stmt);
        }
    }

    /// An addition as a store to its cell.
    fn stored(&mut self, param: LocalId, stmt: Stmt, around: &[(LocalId, u64)]) -> Block {
        let StmtKind::Atomic { op, scope, place, value, .. } = stmt.kind else { return Block::new() };
        let PlaceKind::Element(_, index) = place.kind else { return Block::new() };
        let is_of_block = scope == Scope::Together;
        let times = around.iter().map(|(_, count)| count).product();
        let target = self.kernel.params.iter().position(|known| *known == param).unwrap_or_default();
        let name: Name = self.kernel.local_name(param).into();
        let is_constant = index.as_int().is_some();
        let cell = self.cell(is_of_block, around);
        let parts = self.parameter(&format!("{name}_parts"), &place.ty, &cell);
        let mut out = Block::new();
        if !is_constant {
            let places = self.parameter(&format!("{name}_places"), &Type::LONG, &cell);
            let told = assign(places, Expr::cast((*index).clone(), Type::LONG));
            if is_of_block {
                let first = Axis::ALL
                    .map(|axis| Expr::new(ExprKind::Builtin(Builtin::ThreadIdx(axis)), Type::UINT))
                    .into_iter()
                    .reduce(|left, right| Expr::binary(BinaryOp::BitOr, left, right))
                    .map(|all| Expr::binary(BinaryOp::Equal, all, Expr::new(ExprKind::Int(0), Type::UINT)));
                out.extend(
                    first
                        .map(|cond| Stmt::new(StmtKind::If { cond, then_block: vec![told], else_block: Block::new() })),
                );
            } else {
                out.push(told);
            }
        }
        let add = if is_of_block {
            Stmt::new(StmtKind::Atomic { op, scope, place: parts, value, compare: None, into: None })
        } else {
            assign(parts, value)
        };
        out.push(add.at(stmt.span));
        if let Some(first) = out.first_mut() {
            first.note = Some(NOTE.into());
        }
        self.cells.push(Cells { target, name, ty: place.ty, is_of_block, times, place: is_constant.then_some(*index) });
        out
    }

    /// The number of the cell: that of the block or thread, after those of earlier iterations.
    fn cell(&mut self, is_of_block: bool, around: &[(LocalId, u64)]) -> Expr {
        let (one, all) = if is_of_block { (Number::Block, Number::Blocks) } else { (Number::Thread, Number::Threads) };
        let number = self.number(one);
        let long = |value: u64| Expr::new(ExprKind::Int(value.into()), Type::LONG);
        let time = around.iter().fold(None, |before: Option<Expr>, (counter, count)| {
            let ty = self.kernel.locals[*counter].ty.clone();
            let counter = Expr::cast(Expr::load(Place::local(*counter, ty)), Type::LONG);
            Some(match before {
                None => counter,
                Some(before) => {
                    let before = Expr::binary(BinaryOp::Multiply, before, long(*count));
                    Expr::binary(BinaryOp::Add, before, counter)
                }
            })
        });
        match time {
            None => number,
            Some(time) => {
                let before = Expr::binary(BinaryOp::Multiply, time, self.number(all));
                Expr::binary(BinaryOp::Add, before, number)
            }
        }
    }

    fn number(&mut self, number: Number) -> Expr {
        let Giving { kernel, names, numbers, .. } = self;
        let local =
            numbers.entry(number).or_insert_with(|| fresh(number.name(), &Type::LONG, names, &mut kernel.locals));
        Expr::load(Place::local(*local, Type::LONG))
    }

    /// The cell of an array that is a new parameter.
    fn parameter(&mut self, name: &str, element: &Type, cell: &Expr) -> Place {
        let ty = Type::pointer(element.clone());
        let local = fresh(name, &ty, &mut self.names, &mut self.kernel.locals);
        self.kernel.params.push(local);
        Place::element(Expr::load(Place::local(local, ty)), cell.clone())
    }
}

/// Launches in a host function.
struct Hosting<'h> {
    module: &'h mut Module,
    cells: &'h HashMap<FunctionId, Vec<Cells>>,
    /// The kernels that add, by their name and type.
    adders: &'h mut HashMap<(usize, Name), FunctionId>,
    function: &'h mut Function,
    names: &'h mut HashSet<Name>,
}

impl Hosting<'_> {
    fn block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(block) {
            let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
                if let PartMut::Block(inner) = part {
                    self.block(inner);
                }
                ControlFlow::<()>::Continue(())
            });
            if let StmtKind::Launch(launch) = &mut stmt.kind
                && let Some(cells) = self.cells.get(&launch.kernel)
            {
                let mut after = Block::new();
                let mut freed = Block::new();
                for cells in cells {
                    self.one(launch, cells, [block, &mut after, &mut freed]);
                }
                block.push(stmt);
                block.extend(after);
                block.extend(freed);
            } else {
                block.push(stmt);
            }
        }
    }

    /// The memory of some cells, and the launch that adds them.
    fn one(&mut self, launch: &mut Launch, cells: &Cells, [before, after, freed]: [&mut Block; 3]) {
        let stream = launch.stream.clone().unwrap_or_else(null_stream);
        let count = fresh(&format!("{}_cells", cells.name), &Type::LONG, self.names, &mut self.function.locals);
        before.push(declare(count, Some(cells.count(launch))));
        let count = Expr::load(Place::local(count, Type::LONG));
        let mut memory = |word: &str, element: &Type| {
            let ty = Type::pointer(element.clone());
            let local = fresh(&format!("{}_{word}", cells.name), &ty, self.names, &mut self.function.locals);
            let place = Place::local(local, ty.clone());
            let size = Expr::new(ExprKind::SizeOf(element.clone()), Type::SIZE);
            let bytes = Expr::binary(BinaryOp::Multiply, size, Expr::cast(count.clone(), Type::SIZE));
            before.push(declare(local, Some(Expr::new(ExprKind::Null, ty))));
            before.push(runtime(launch::ALLOCATE_ZEROS, vec![Expr::address_of(place.clone()), bytes, stream.clone()]));
            freed.push(runtime(launch::RELEASE, vec![Expr::load(place.clone()), stream.clone()]));
            Expr::load(place)
        };
        let target = launch.args[cells.target].clone();
        let parts = memory("parts", &cells.ty);
        launch.args.push(parts.clone());
        let (kind, threads, args) = match &cells.place {
            Some(index) if index.is_zero() => (0, 1, vec![target, parts, count]),
            Some(index) => {
                let to = Expr::address_of(Place::element(target, index.clone()));
                (0, 1, vec![to, parts, count])
            }
            None => {
                let places = memory("places", &Type::LONG);
                launch.args.push(places.clone());
                (1, ADDERS, vec![target, places, parts, count])
            }
        };
        let kernel = self.adder(kind, &cells.ty);
        let uint = |value: i128| Expr::new(ExprKind::Int(value), Type::UINT);
        let adding = Launch {
            kernel,
            is_checked: false,
            grid: [uint(1), uint(1), uint(1)],
            block: [uint(threads), uint(1), uint(1)],
            shared: None,
            stream: launch.stream.clone(),
            args,
        };
        after.push(Stmt::new(StmtKind::Launch(Box::new(adding))));
    }

    /// A kernel that adds cells of a type.
    fn adder(&mut self, kind: usize, ty: &Type) -> FunctionId {
        let word = if *ty == Type::DOUBLE { "double" } else { "float" };
        let (name, source) = KERNELS[kind];
        *self.adders.entry((kind, word.into())).or_insert_with(|| {
            let source = source.replace("T*", &format!("{word}*")).replace(": T", &format!(": {word}"));
            let zero = if word == "double" { "0.0" } else { "0.0f" };
            let parsed = text::parse(&source.replace("0.0", zero)).expect("the text is well-formed");
            let mut function = parsed.functions.iter().next().expect("the text has a kernel").clone();
            function.name =
                free_name(self.module, if word == "double" { format!("{name}_double") } else { name.to_owned() });
            self.module.functions.push(function)
        })
    }
}

fn runtime(call: &str, args: Vec<Expr>) -> Stmt {
    Stmt::new(StmtKind::Runtime { call: call.into(), args, into: None })
}

/// What is printed lowers to the same module: variables are numbered as they are declared.
fn renumber(function: &mut Function) {
    let locals = std::mem::take(&mut function.locals);
    function.locals = order::declared_only(&mut function.params, locals, &mut function.body);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the parameters of a kernel that can be added to later.
    fn later(body: &str) -> String {
        let source = format!("kernel k(n: int, x: const float*, d_w: float*, d_x: float*) {{ {body} }}");
        let module = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let deferred = deferrable(&module, &[FunctionId(0)], &HashSet::new());
        let kernel = &module.functions[FunctionId(0)];
        deferred.values().flatten().map(|param| kernel.local_name(*param)).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn what_runs_a_known_number_of_times_is_added_later() {
        assert_eq!(later("if (n > 3) { atomic add(*d_w, 1.0f); }"), "d_w");
        assert_eq!(later("for k: int = 0; k < 8; k += 1 { atomic add(d_w[k], x[k]); }"), "d_w");
        assert_eq!(later("for k: int = 0; k < n; k += 1 { atomic add(d_w[k], x[k]); }"), "");
        assert_eq!(later("while (n > 3) { atomic add(*d_w, 1.0f); }"), "");
        let nest = |count: u32| {
            format!(
                "for j: int = 0; j < {count}; j += 1 {{
                   for k: int = 0; k < 8; k += 1 {{ atomic add(d_w[k], x[j]); }}
                 }}"
            )
        };
        assert_eq!(later(&nest(8)), "d_w");
        assert_eq!(later(&nest(9)), "");
    }

    #[test]
    fn what_is_looked_at_is_not_added_later() {
        assert_eq!(later("atomic add(*d_w, 1.0f); atomic add(d_x[n], 2.0f);"), "d_w, d_x");
        assert_eq!(later("atomic add(*d_w, d_x[1]); atomic add(d_x[n], 2.0f);"), "d_w");
        assert_eq!(later("atomic add(*d_w, 1.0f); d_w[1] = 0.0f;"), "");
        assert_eq!(later("atomic add(*d_w, 1.0f); let p: float* = d_w;"), "");
        assert_eq!(later("atomic add(*d_w, 1.0f); while (n > 3) { atomic add(*d_w, 1.0f); }"), "");
    }
}
