//! Additions of the threads of a block to the elements of a shared array, turned around: each thread takes some elements,
//! and sums what all threads add to them. No addition is atomic then.
//!
//! A thread must be able to compute what another one adds (`additions`): private numbers are handed over through shared memory
//! (`scratch`). It must be known which threads add to an element (`solution`); then their additions are summed there (`piece`).
//! All threads of the block must come to the statement, since they meet before the sums and after them.

mod additions;
mod own;
mod piece;
mod scratch;
mod solution;

use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow;

use additions::{Addition, Known, additions};
use own::{Kept, declare_kept, is_own, own_axes, replace, uses as uses_of};
use piece::{Piece, Vars, piece};
use scratch::Scratch;
use solution::{solution, values};

use super::elements::{
    barrier, builtin, element_count, nth_element, number_in_shape, thread_count, thread_number, uint,
};
use super::locals::{NewLocals, assign, constant, declare, without_spans};
use super::together::{SHARED_BYTES, is_for_all};
use super::{AdjointParam, Fact, Trust};
use crate::analysis::Uniform;
use crate::analysis::block_shape::{Shape, Shapes};
use crate::analysis::locals::locals;
use crate::analysis::ordering::{called, is_barrier, is_without_jumps};
use crate::analysis::root::{Root, Roots};
use crate::analysis::shared::{STATIC_SHARED_LIMIT, static_shared_bytes};
use crate::ir::walk::{self, Node, NodeMut, PartMut};
use crate::ir::{
    Axis, BarrierKind, BinaryOp, Block, Builtin, Expr, For, Function, FunctionId, LocalId, Module, Place, Space, Stmt,
    StmtKind, Storage, Type,
};

/// How many additions a thread must make at one place, so that sums are worth their barriers.
const MIN_ADDITIONS: i128 = 4;

/// How often a loop runs of which that is not known.
const USUAL_ITERATIONS: i128 = 8;

/// What stands above the numbers that threads hand over.
const HANDED: &str = "for the threads that gather";

/// Has the threads of a kernel gather what they would add atomically to shared arrays.
pub(super) fn gather_tiles(module: &mut Module, id: FunctionId, adjoints: &[AdjointParam], trust: Trust) {
    let original = &module.functions[id];
    let is_able = original.space == Space::Kernel
        && is_without_jumps(original)
        // How much memory is left beside dynamic shared memory only the launch tells.
        && original.locals.iter().all(|local| local.storage != Storage::DynamicShared)
        && !is_ordered_otherwise(module, id)
        && trust.doubted != Some(Fact::Together);
    if is_able && let Some(gathered) = gathered(module, original, adjoints) {
        module.functions[id] = gathered;
    }
}

/// Whether threads may wait for each other other than at barriers: then memory may change between two of them.
fn is_ordered_otherwise(module: &Module, id: FunctionId) -> bool {
    let mut is_found = false;
    for function in called(module, id).into_iter().chain([id]) {
        walk::each_stmt(&module.functions[function].body, &mut |stmt| {
            is_found |= match &stmt.kind {
                StmtKind::Barrier { kind, .. } => !kind.is_meeting(),
                StmtKind::Atomic { into, .. } => into.is_some(),
                StmtKind::Opaque { .. } => true,
                StmtKind::Declare { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Accumulate { .. }
                | StmtKind::Call { .. }
                | StmtKind::If { .. }
                | StmtKind::For(_)
                | StmtKind::While { .. }
                | StmtKind::Switch { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Collective { .. }
                | StmtKind::Launch(_)
                | StmtKind::Runtime { .. }
                | StmtKind::Push { .. }
                | StmtKind::Pop { .. } => false,
            };
        });
    }
    is_found
}

fn gathered(module: &Module, original: &Function, adjoints: &[AdjointParam]) -> Option<Function> {
    let uses = locals(original);
    let mut begun_later = HashSet::new();
    walk::each_stmt(&original.body, &mut |stmt| {
        if let StmtKind::Declare { local, init: None } = stmt.kind {
            begun_later.insert(local);
        }
    });
    let known = Known {
        begun_later,
        function: original,
        uses: &uses,
        roots: Roots::new(module, original, &uses),
        uniform: Uniform::in_module(module, original),
        adjoints: adjoints.iter().map(|param| Root::Param(param.adjoint)).collect(),
    };
    let shapes = Shapes::new(module, original, &uses, adjoints);
    let mut names = NewLocals::new(module, original);
    let mut function = original.clone();
    let scratch = Scratch::new(&mut function, &mut names);
    let free = STATIC_SHARED_LIMIT.checked_sub(static_shared_bytes(module, original) + SHARED_BYTES)?;
    let mut added = Vec::new();
    let mut number = |wanted: &str, value: Expr| {
        let is_it = |stmt: &&Stmt| matches!(&stmt.kind, StmtKind::Declare { init: Some(init), .. } if without_spans(init) == value);
        original.body.iter().find(is_it).and_then(walk::declared_local).unwrap_or_else(|| {
            let local = names.add(&mut function, wanted, Type::UINT);
            added.push(declare(local, Some(value.clone())));
            local
        })
    };
    let numbers = [number("_thread", thread_number()), number("_threads", thread_count())];
    let shape = Shape::default();
    let mut ctx = Ctx {
        module,
        known: &known,
        shapes: &shapes,
        shape,
        names,
        function,
        scratch,
        free,
        numbers,
        kept: Vec::new(),
        threads: Some(0),
    };
    let mut body = original.body.clone();
    ctx.block(&mut body);
    if body == original.body {
        return None;
    }
    let Ctx { mut function, scratch, kept, threads, .. } = ctx;
    declare_kept(&mut body, &function, &kept);
    let is_shared = |stmt: &&Stmt| {
        walk::declared_local(stmt).is_some_and(|local| function.locals[local].storage != Storage::Private)
    };
    let begin = body.iter().take_while(is_shared).count();
    let arrays = scratch.used();
    if let Some(threads) = threads {
        arrays.iter().for_each(|array| shorten(&mut function, &mut body, *array, threads));
    }
    body.splice(begin..begin, arrays.into_iter().map(|array| declare(array, None)).chain(added));
    // Where the shape of blocks is known, nobody may ask for the number of the thread.
    for number in numbers.into_iter().rev() {
        let position = body.iter().position(|stmt| walk::declared_local(stmt) == Some(number));
        if let Some(position) = position.filter(|position| !walk::mentions(&body[position + 1..], number)) {
            body.remove(position);
        }
    }
    function.body = body;
    Some(function)
}

/// Makes an array that threads hand numbers over in no longer than there are threads.
fn shorten(function: &mut Function, body: &mut Block, array: LocalId, threads: u64) {
    let Type::Array(element, length) = function.locals[array].ty.clone() else { return };
    let ty = Type::Array(element, length.min(threads));
    function.locals[array].ty = ty.clone();
    let _ = walk::visit_block_mut(body, &mut |node| {
        if let NodeMut::Place(place) = node
            && place.as_local() == Some(array)
        {
            place.ty = ty.clone();
        }
        ControlFlow::<()>::Continue(())
    });
}

struct Ctx<'a> {
    module: &'a Module,
    known: &'a Known<'a>,
    shapes: &'a Shapes<'a>,
    /// What is known of blocks where it is looked.
    shape: Shape,
    names: NewLocals,
    /// The function with the new variables; its body is not looked at.
    function: Function,
    scratch: Scratch,
    /// How much static shared memory there may be for these, in bytes.
    free: u64,
    /// The number of the thread, and of threads in the block.
    numbers: [LocalId; 2],
    /// Arrays of which each thread touches one element.
    kept: Vec<Kept>,
    /// The most threads that hand over numbers, if it is known wherever they do.
    threads: Option<u64>,
}

/// What stands in the place of a statement's additions.
struct Sums {
    targets: Vec<Root>,
    loops: Block,
    /// Whether they are made of memory that blocks share.
    is_of_global: bool,
    /// What is left of the statement.
    rest: Option<Stmt>,
}

impl Ctx<'_> {
    /// A block that all threads of a block of the launch run, equally often.
    fn block(&mut self, block: &mut Block) {
        let mut out = Block::new();
        let outside = self.shape;
        self.shapes.learn(&mut self.shape, block);
        let mut gathered = Vec::new();
        let before = block.clone();
        // Whether sums were written, and no barrier since; then the barrier that came.
        let (mut is_open, mut closed) = (false, None);
        let mut rest: VecDeque<Stmt> = std::mem::take(block).into();
        while let Some(mut stmt) = rest.pop_front() {
            if is_open && is_barrier(&stmt) {
                (is_open, closed) = (false, Some(out.len()));
            }
            if let Some(sums) = self.sums(&stmt) {
                let met = self.meeting_before(&out, &sums.targets);
                let met = met.filter(|met| sums.rest.is_none() && closed != Some(*met));
                let handed = self.handed();
                out.extend(sums.rest);
                match met {
                    Some(position) => drop(out.splice(position..position, handed)),
                    None => out.extend(handed.into_iter().chain([barrier()])),
                }
                gathered.extend(sums.targets.iter().filter_map(|target| match target {
                    Root::Shared(array) => Some(*array),
                    Root::Private(_) | Root::Param(_) | Root::Behind(_) | Root::Global(_) | Root::Unknown => None,
                }));
                out.extend(sums.loops);
                is_open = self.is_met_before_shared(&rest, sums.is_of_global);
                if !is_open {
                    closed = Some(out.len());
                    out.push(barrier());
                }
                continue;
            }
            if is_for_all(&self.known.uniform, self.known.uses, &stmt) {
                let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
                    if let PartMut::Block(inner) = part {
                        self.block(inner);
                    }
                    ControlFlow::<()>::Continue(())
                });
            }
            out.push(stmt);
        }
        for array in gathered {
            self.keep_own(array, &before, &mut out);
        }
        self.shape = outside;
        *block = out;
    }

    /// Has a variable stand for each thread's element of an array, if a block alone uses the array, and threads touch no other
    /// elements now.
    fn keep_own(&mut self, array: LocalId, before: &Block, block: &mut Block) {
        let entry = self.function.locals[array].clone();
        let Some(own) = own_axes(&entry.ty, &self.shape) else { return };
        let is_used_here = uses_of(&self.known.function.body, array) == walk::count_mentions(before, array);
        if is_used_here && is_own(&self.function, block, array, &own) {
            let variable = self.names.add(&mut self.function, &entry.name, entry.ty.innermost_element().clone());
            self.kept.push((array, variable));
            replace(block, (array, variable));
        }
    }

    /// Whether a barrier comes before statements that look at shared memory, or, if the sums were made of memory that blocks
    /// share, before any that change such.
    fn is_met_before_shared(&self, rest: &VecDeque<Stmt>, is_of_global: bool) -> bool {
        let Some(end) = rest.iter().position(is_barrier) else { return false };
        let is_shared = |root: &Root| matches!(root, Root::Shared(_) | Root::Unknown);
        rest.iter().take(end).all(|stmt| {
            walk::visit_block(std::slice::from_ref(stmt), &mut |node| {
                let is_apart = match node {
                    Node::Stmt(stmt) => {
                        let is_plain = matches!(
                            stmt.kind,
                            StmtKind::Declare { .. } | StmtKind::Assign { .. } | StmtKind::If { .. } | StmtKind::For(_)
                        );
                        let mut written = walk::written_places(stmt).into_iter();
                        is_plain && !(is_of_global && written.any(|place| walk::own_variable(place).is_none()))
                    }
                    Node::Place(place) => !self.known.roots.place(place).iter().any(is_shared),
                    Node::Expr(_) => true,
                };
                if is_apart { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
            .is_continue()
        })
    }

    /// The position of a barrier before the end of a block that the threads can as well meet at: since then they have only
    /// computed what is not handed over, and not looked at what is added to.
    fn meeting_before(&self, block: &[Stmt], targets: &[Root]) -> Option<usize> {
        let is_apart = |local: LocalId, init: &Option<Expr>| {
            let is_handed = self.scratch.handed.iter().any(|(_, value)| walk::expr_mentions(value, local));
            let reads = init.as_ref().is_some_and(|init| {
                walk::loads_any(init, &mut |place| {
                    let roots = self.known.roots.place(place);
                    roots.contains(&Root::Unknown) || targets.iter().any(|target| roots.contains(target))
                })
            });
            !is_handed && !reads
        };
        let position = block
            .iter()
            .rposition(|stmt| !matches!(&stmt.kind, StmtKind::Declare { local, init } if is_apart(*local, init)))?;
        let is_plain = matches!(block[position].kind, StmtKind::Barrier { kind: BarrierKind::Block, .. });
        is_plain.then_some(position)
    }

    /// The sums in the place of a statement's additions.
    fn sums(&mut self, stmt: &Stmt) -> Option<Sums> {
        self.scratch.handed.clear();
        let known = self.known;
        let shape = self.shape;
        let is_wanted = |addition: &Addition| {
            let is_own = own_axes(&known.function.locals[addition.target].ty, &shape).is_some();
            solution(known.function, addition, is_own).is_some()
        };
        let (found, rest) = additions(known, stmt, &mut self.scratch, &is_wanted)?;
        let count: i128 = found.iter().map(additions_of_thread).sum();
        if count < MIN_ADDITIONS || self.scratch.bytes(self.module) > self.free {
            return None;
        }
        let mut sums = Sums { targets: Vec::new(), loops: Block::new(), is_of_global: false, rest };
        for addition in &found {
            let of_global = &mut |place: &Place| walk::own_variable(place).is_none();
            let parts = addition.conds.iter().chain([&addition.value]);
            sums.is_of_global |= parts.into_iter().any(|part| walk::loads_any(part, of_global));
            if !sums.targets.contains(&Root::Shared(addition.target)) {
                let to_it: Vec<&Addition> = found.iter().filter(|other| other.target == addition.target).collect();
                sums.loops.extend(self.sum(addition.target, &to_it));
                sums.targets.push(Root::Shared(addition.target));
            }
        }
        Some(sums)
    }

    /// The statements by which each thread hands over its numbers.
    fn handed(&mut self) -> Block {
        let extents = self.shape.extents();
        let count = extents.map(|extents| extents.into_iter().product::<u64>());
        if !self.scratch.handed.is_empty() {
            self.threads = self.threads.zip(count).map(|(most, count)| most.max(count));
        }
        let thread = match extents {
            Some(extents) => number_in_shape(coordinates(), extents),
            None => Expr::load(Place::local(self.numbers[0], Type::UINT)),
        };
        let handed = self.scratch.take().into_iter();
        let mut stores: Block =
            handed.map(|(array, value)| assign(self.scratch.place(array).index(thread.clone()), value)).collect();
        if let Some(first) = stores.first_mut() {
            first.note = Some(HANDED.into());
        }
        stores
    }

    /// The statements by which each thread sums what is added to its elements of an array.
    fn sum(&mut self, target: LocalId, additions: &[&Addition]) -> Block {
        let [thread, threads] = self.numbers.map(|number| Expr::load(Place::local(number, Type::UINT)));
        let array = Place::local(target, self.function.locals[target].ty.clone());
        let count = element_count(&array.ty);
        let own: Option<Vec<Expr>> = own_axes(&array.ty, &self.shape)
            .map(|axes| axes.into_iter().map(|axis| builtin(Builtin::ThreadIdx(axis))).collect());
        let mut vars = Vars { function: &mut self.function, names: &mut self.names, shape: self.shape };
        let counter = vars.add("_k", Type::UINT);
        let number = Expr::load(Place::local(counter, Type::UINT));
        let mut element = match &own {
            Some(indices) => indices.iter().fold(array.clone(), |place, index| place.index(index.clone())),
            None => nth_element(array.clone(), number.clone(), count),
        };
        let total = Place::local(vars.add("_sum", element.ty.clone()), element.ty.clone());
        let number = own.clone().unwrap_or_else(|| vec![number]);
        let mut pieces: Vec<Piece> =
            additions.iter().map(|addition| piece(&mut vars, addition, &number, &total)).collect();
        // What one addition finds about the element holds for the whole.
        let around = if let [only] = &mut pieces[..] { Some(std::mem::take(&mut only.around)) } else { None };
        if let [Piece { names: Some(indices), .. }] = &pieces[..] {
            element = indices.iter().fold(array, |place, index| place.index(index.clone()));
        }
        let mut body = vec![declare(total.as_local().unwrap_or(counter), Some(constant(0.0, &element.ty)))];
        body.extend(pieces.into_iter().flat_map(|piece| piece.around.around(piece.sum)));
        let value = Expr::binary(BinaryOp::Add, Expr::load(element.clone()), Expr::load(total));
        body.push(assign(element, value));
        let mut body = around.unwrap_or_default().around(body);
        if own.is_none() {
            let (test, step) = (BinaryOp::Less, BinaryOp::Add);
            let head = For { counter, from: thread, test, to: uint(count), step, by: threads, unroll: None, body };
            body = vec![Stmt::new(StmtKind::For(Box::new(head)))];
        }
        let name = self.function.local_name(target);
        if let Some(first) = body.first_mut() {
            first.note = Some(format!("each element of {name} gathers what threads add to it").into());
        }
        body
    }
}

/// The coordinates of the thread.
fn coordinates() -> [Expr; 3] {
    Axis::ALL.map(|axis| builtin(Builtin::ThreadIdx(axis)))
}

/// How many additions a thread makes, or usually makes.
fn additions_of_thread(addition: &Addition) -> i128 {
    let iterations = |head: &For| values(head).map_or(USUAL_ITERATIONS, |[first, last]| (last - first + 1).max(0));
    addition.loops.iter().map(iterations).fold(1, i128::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{order, text, validate};
    use expect_test::expect;

    /// A kernel before and after.
    fn gathered(body: &str) -> [String; 2] {
        let text = format!("kernel k(x: const float*, n: int, d_x: float*) {{ {body} }}");
        let mut module = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let before = text::print(&module);
        gather_tiles(&mut module, FunctionId(0), &[], Trust::default());
        let function = &mut module.functions[FunctionId(0)];
        let all = std::mem::take(&mut function.locals);
        function.locals = order::declared_only(&mut function.params, all, &mut function.body);
        assert_eq!(validate(&module), Ok(()));
        [before, text::print(&module)]
    }

    #[test]
    fn each_element_sums_what_its_row_of_threads_adds() {
        let [_, after] = gathered(
            "let shared d_s: float[4][8]; let shared s: float[8];
             let r: float = x[threadIdx.x];
             barrier block;
             for k: int = 0; k < n; k += 1 { atomic add(d_s[threadIdx.y][k], (r * s[threadIdx.x])); }
             barrier block;",
        );
        expect![[r#"
            kernel k(x: const float*, n: int, d_x: float*) {
              let shared d_s: float[4][8];
              let shared s: float[8];
              let shared _of_all: float[1024];
              let _thread: unsigned int = (threadIdx.x + (blockDim.x * (threadIdx.y + (blockDim.y * threadIdx.z))));
              let _threads: unsigned int = ((blockDim.x * blockDim.y) * blockDim.z);
              let r: float = x[threadIdx.x];
              _of_all[_thread] = r;
              barrier block;
              for _k: unsigned int = _thread; _k < 32u; _k += _threads {
                let _y: unsigned int = (_k / 8u);
                let k_1: int = ((_k % 8u) as int);
                if ((_y < blockDim.y) && (k_1 < n)) {
                  let _sum: float = 0.0f;
                  for _z: unsigned int = 0u; _z < blockDim.z; _z += 1u {
                    for _x: unsigned int = 0u; _x < blockDim.x; _x += 1u {
                      _sum = (_sum + (_of_all[(_x + (blockDim.x * (_y + (blockDim.y * _z))))] * s[_x]));
                    }
                  }
                  d_s[_y][k_1] = (d_s[_y][k_1] + _sum);
                }
              }
              barrier block;
            }
        "#]]
        .assert_eq(&after);
    }

    #[test]
    fn barriers_stand_on_both_sides_of_sums() {
        let [_, after] = gathered(
            "let shared d_s: float[8]; let shared s: float[8];
             let r: float = x[threadIdx.x];
             s[threadIdx.x] = r;
             for k: int = 0; k < 5; k += 1 { atomic add(d_s[((threadIdx.x as int) + k)], r); }
             for k_1: int = 0; k_1 < 5; k_1 += 1 { atomic add(d_s[((threadIdx.x as int) + k_1)], (r * s[k_1])); }
             s[threadIdx.x] = 0.0f;",
        );
        expect![[r#"
            kernel k(x: const float*, n: int, d_x: float*) {
              let shared d_s: float[8];
              let shared s: float[8];
              let shared _of_all: float[1024];
              let _thread: unsigned int = (threadIdx.x + (blockDim.x * (threadIdx.y + (blockDim.y * threadIdx.z))));
              let _threads: unsigned int = ((blockDim.x * blockDim.y) * blockDim.z);
              let r: float = x[threadIdx.x];
              s[threadIdx.x] = r;
              _of_all[_thread] = r;
              barrier block;
              for _k: unsigned int = _thread; _k < 8u; _k += _threads {
                let _sum: float = 0.0f;
                for k_2: int = 0; k_2 < 5; k_2 += 1 {
                  let _x: unsigned int = (_k - (k_2 as unsigned int));
                  if (_x < blockDim.x) {
                    for _z: unsigned int = 0u; _z < blockDim.z; _z += 1u {
                      for _y: unsigned int = 0u; _y < blockDim.y; _y += 1u {
                        _sum = (_sum + _of_all[(_x + (blockDim.x * (_y + (blockDim.y * _z))))]);
                      }
                    }
                  }
                }
                d_s[_k] = (d_s[_k] + _sum);
              }
              barrier block;
              _of_all[_thread] = r;
              barrier block;
              for _k_1: unsigned int = _thread; _k_1 < 8u; _k_1 += _threads {
                let _sum_1: float = 0.0f;
                for k_1_1: int = 0; k_1_1 < 5; k_1_1 += 1 {
                  let _x_1: unsigned int = (_k_1 - (k_1_1 as unsigned int));
                  if (_x_1 < blockDim.x) {
                    for _z_1: unsigned int = 0u; _z_1 < blockDim.z; _z_1 += 1u {
                      for _y_1: unsigned int = 0u; _y_1 < blockDim.y; _y_1 += 1u {
                        _sum_1 = (_sum_1 + (_of_all[(_x_1 + (blockDim.x * (_y_1 + (blockDim.y * _z_1))))] * s[k_1_1]));
                      }
                    }
                  }
                }
                d_s[_k_1] = (d_s[_k_1] + _sum_1);
              }
              barrier block;
              s[threadIdx.x] = 0.0f;
            }
        "#]]
        .assert_eq(&after);
    }

    #[test]
    fn what_stays_atomic_comes_before_the_sums() {
        let [_, after] = gathered(
            "let shared d_s: float[8];
             let r: float = x[threadIdx.x];
             barrier block;
             for k: int = 0; k < 5; k += 1 {
               atomic add(d_s[((threadIdx.x as int) + k)], r);
               atomic add(d_s[((threadIdx.x as int) / 2)], x[k]);
             }
             barrier block;",
        );
        let [atomic, sums] = ["atomic add", "for _k"].map(|words| after.find(words).expect("there are both"));
        let between = after.get(atomic..sums).expect("the atomic comes first");
        assert!(between.contains("barrier block") && between.contains("_of_all[_thread] = r"), "{after}");
    }

    #[test]
    fn what_not_all_threads_do_or_what_is_not_known_stays() {
        let guarded = "if ((threadIdx.x as int) < 3) { barrier block; for k: int = 0; k < 5; k += 1 { atomic add(d_s[((threadIdx.x as int) + k)], r); } }";
        let changed =
            "for k: int = 0; k < 5; k += 1 { s[threadIdx.x] = r; atomic add(d_s[((threadIdx.x as int) + k)], s[k]); }";
        let looked_at =
            "for k: int = 0; k < 5; k += 1 { r = d_s[0]; atomic add(d_s[((threadIdx.x as int) + k)], 1.0f); }";
        let other_index = "for k: int = 0; k < 5; k += 1 { atomic add(d_s[(((threadIdx.x as int) / 2) + k)], r); }";
        let own_number =
            "for k: int = 0; k < 5; k += 1 { r = (r * 2.0f); atomic add(d_s[((threadIdx.x as int) + k)], r); }";
        let same_element = "for k: int = 0; k < 5; k += 1 { atomic add(d_s[threadIdx.x], (r * s[k])); }";
        let few = "for k: int = 0; k < 3; k += 1 { atomic add(d_s[((threadIdx.x as int) + k)], r); }";
        let fenced = "barrier fence; for k: int = 0; k < 5; k += 1 { atomic add(d_s[((threadIdx.x as int) + k)], r); }";
        let dynamic = "let dynamic all: float[0]; for k: int = 0; k < 5; k += 1 { atomic add(d_s[((threadIdx.x as int) + k)], r); }";
        let no_value = "let q: float; if (n > 3) { q = 1.0f; } if (n > (threadIdx.x as int)) { for k: int = 0; k < 5; k += 1 { atomic add(d_s[((threadIdx.x as int) + k)], q); } }";
        for stmt in [guarded, changed, looked_at, other_index, own_number, same_element, few, fenced, dynamic, no_value]
        {
            let [before, after] = gathered(&format!(
                "let shared d_s: float[8]; let shared s: float[8]; let r: float = x[threadIdx.x]; {stmt}"
            ));
            assert_eq!(after, before);
        }
    }
}
