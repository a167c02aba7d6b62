//! Statements in which the threads of a block work together: shared arrays, barriers, shuffles, atomics.
//!
//! They stand where all threads of a block come by: in the kernel itself, or in loops of its own that nothing leaves. Each
//! begins and ends with a barrier, so that what one does with shared memory is apart from what the next one does.

use super::super::tree::{Kind, Part};
use super::{Ctx, Float, Shape, text};

/// How many elements a shared array has: at least as many as a block has threads.
const LENGTH: usize = 8;

/// The lanes that a kernel has: blocks are parts of one warp.
const MASK: &str = "(1u << blockDim.x) - 1u";

impl Ctx {
    /// A statement of all threads.
    pub(super) fn together(&mut self, parts: &mut Vec<Part>) {
        self.statements = self.statements.saturating_sub(1);
        match self.below(12) {
            0..=2 => self.exchange(parts),
            3 | 4 => self.tree(parts),
            5 | 6 => self.tiles(parts),
            7 | 8 => self.shuffle(parts),
            9 => self.shuffled_sum(parts),
            10 => self.shared_sum(parts),
            _ => self.rounds(parts),
        }
    }

    /// A value of the thread, as text to be put into a statement.
    fn given(&mut self) -> Part {
        let value = self.value(2);
        let value = self.tamed(value, false);
        Part::Node(value.node)
    }

    /// `__shared__ float s[8];` and a barrier; returns the array's name.
    fn shared_array(&mut self, float: Float, own: &mut Vec<Part>) -> String {
        let name = self.name();
        own.push(text(format!("__shared__ {} ", float.spelling())));
        own.extend([Part::Define(name.clone()), text(format!("[{LENGTH}]; __syncthreads(); "))]);
        name
    }

    /// A new variable with a value that threads made together.
    fn result(&mut self, float: Float, value: String, own: &mut Vec<Part>) {
        let name = self.name();
        own.push(text(format!("{} ", float.spelling())));
        own.extend([Part::Define(name.clone()), text(format!(" = {value};"))]);
        self.declare(&name, Shape::Scalar(float), true);
    }

    /// Each thread stores a value and reads that of others.
    fn exchange(&mut self, parts: &mut Vec<Part>) {
        let float = self.float();
        let mut own = Vec::new();
        let array = self.shared_array(float, &mut own);
        own.push(text(format!("{array}[threadIdx.x] = ")));
        own.push(self.given());
        own.push(text("; __syncthreads(); "));
        let distance = self.below(LENGTH);
        let other = format!("{array}[(threadIdx.x + {distance}) % blockDim.x]");
        let value = match self.below(3) {
            0 => other,
            1 => format!("0.5f * ({other} + {array}[threadIdx.x ^ 1] * {array}[threadIdx.x])"),
            _ => format!("sinf({other}) * {array}[0]"),
        };
        self.result(float, value, &mut own);
        self.push(parts, Kind::Statement, own);
    }

    /// A reduction by halves.
    fn tree(&mut self, parts: &mut Vec<Part>) {
        let float = self.float();
        let mut own = Vec::new();
        let array = self.shared_array(float, &mut own);
        own.push(text(format!("{array}[threadIdx.x] = ")));
        own.push(self.given());
        let counter = self.name();
        let (mine, other) = (format!("{array}[threadIdx.x]"), format!("{array}[threadIdx.x + {counter}]"));
        let step = match self.below(4) {
            0 => format!("{mine} += {other}"),
            1 => format!("{mine} = fmaxf({mine}, {other} + 0.001f)"),
            2 => format!("{mine} = {mine} * cosf({other}) + 0.3f * {other}"),
            _ => format!("{mine} = 0.5f * ({mine} + {other})"),
        };
        let by = ["/= 2", ">>= 1"][self.below(2)];
        own.extend([text("; __syncthreads(); for (int "), Part::Define(counter.clone())]);
        own.push(text(format!(
            " = blockDim.x / 2; {counter} > 0; {counter} {by}) {{ if (threadIdx.x < {counter}) {step}; __syncthreads(); }} "
        )));
        self.result(float, format!("0.2f * {array}[0]"), &mut own);
        self.push(parts, Kind::Statement, own);
    }

    /// A sum over tiles that all threads fill.
    fn tiles(&mut self, parts: &mut Vec<Part>) {
        let float = self.float();
        let mut own = Vec::new();
        let array = self.shared_array(float, &mut own);
        let (tile, inner) = (self.name(), self.name());
        self.result(float, "0.0f".to_owned(), &mut own);
        let sum = self.scope.last().map(|variable| variable.name.clone()).unwrap_or_default();
        let count = 2 + self.below(2);
        self.declare(&tile, Shape::Int(count), false);
        self.trips *= count;
        let value = self.given();
        self.trips /= count;
        self.scope.pop();
        own.extend([text(" for (int "), Part::Define(tile.clone())]);
        own.push(text(format!(" = 0; {tile} < {count}; ++{tile}) {{ ")));
        let guard = match self.below(3) {
            0 => format!("{array}[threadIdx.x] = threadIdx.x + {tile} < 5 ? "),
            _ => format!("{array}[threadIdx.x] = true ? "),
        };
        own.extend([text(guard), value, text(" : 0.0f; __syncthreads(); for (int "), Part::Define(inner.clone())]);
        own.push(text(format!(
            " = 0; {inner} < blockDim.x; ++{inner}) {sum} += 0.05f * {array}[{inner}] * {array}[threadIdx.x]; __syncthreads(); }}"
        )));
        self.push(parts, Kind::Statement, own);
    }

    /// One of the four shuffles, in groups of two, four or all.
    fn shuffle(&mut self, parts: &mut Vec<Part>) {
        let float = self.float();
        let value = self.name();
        let mut own = vec![text(format!("{} ", float.spelling())), Part::Define(value.clone()), text(" = ")];
        own.push(self.given());
        own.push(text("; "));
        let width = ["2", "4", "(int)blockDim.x"][self.below(3)];
        let by = 1 + self.below(3);
        let taken = match self.below(5) {
            0 => format!("__shfl_down_sync({MASK}, {value}, {by}, {width})"),
            1 => format!("__shfl_up_sync({MASK}, {value}, {by}, {width})"),
            2 => format!("__shfl_xor_sync({MASK}, {value}, 1, {width})"),
            3 => format!("__shfl_sync({MASK}, {value}, {by}, {width})"),
            _ => format!("__shfl_sync({MASK}, {value}, (threadIdx.x * {by}) % blockDim.x)"),
        };
        self.result(float, taken, &mut own);
        self.push(parts, Kind::Statement, own);
    }

    /// A sum of the block by shuffles: known to the first thread, or to all.
    fn shuffled_sum(&mut self, parts: &mut Vec<Part>) {
        let float = self.float();
        let (sum, counter) = (self.name(), self.name());
        let mut own = vec![text(format!("{} ", float.spelling())), Part::Define(sum.clone()), text(" = 0.2f * (")];
        own.push(self.given());
        let shuffle = ["__shfl_down_sync", "__shfl_xor_sync"][self.below(2)];
        own.extend([text("); for (int "), Part::Define(counter.clone())]);
        own.push(text(format!(
            " = 2; {counter} > 0; {counter} /= 2) {sum} += {shuffle}({MASK}, {sum}, {counter}, 4);"
        )));
        self.declare(&sum, Shape::Scalar(float), true);
        self.push(parts, Kind::Statement, own);
    }

    /// Two sums in shared memory that all threads add to.
    fn shared_sum(&mut self, parts: &mut Vec<Part>) {
        let float = self.float();
        let mut own = Vec::new();
        let array = self.shared_array(float, &mut own);
        own.push(text(format!(
            "if (threadIdx.x < 2) {array}[threadIdx.x] = 0.1f; __syncthreads(); atomicAdd(&{array}[threadIdx.x % 2], 0.2f * ("
        )));
        own.push(self.given());
        own.push(text(")); __syncthreads(); "));
        self.result(float, format!("{array}[(threadIdx.x / 2) % 2]"), &mut own);
        self.push(parts, Kind::Statement, own);
    }

    /// A loop that all threads run equally often, with anything in it.
    fn rounds(&mut self, parts: &mut Vec<Part>) {
        let counter = self.name();
        let count = 2 + self.below(2);
        let saved = (self.scope.len(), self.in_loop, self.in_switch, self.block);
        self.declare(&counter, Shape::Int(count), false);
        self.trips *= count;
        (self.in_loop, self.in_switch) = (false, false);
        self.next_id += 1;
        let id = self.next_id;
        self.block = id;
        self.depth += 1;
        let mut inner = Vec::new();
        self.exchange(&mut inner);
        for _ in 0..1 + self.below(2) {
            self.statement(&mut inner);
        }
        if self.chance(50) {
            self.together(&mut inner);
        }
        self.assign(&mut inner);
        self.depth -= 1;
        self.trips /= count;
        self.scope.truncate(saved.0);
        (self.in_loop, self.in_switch, self.block) = (saved.1, saved.2, saved.3);
        let block = super::Node { id, kind: Kind::Block, parts: inner };
        let head = format!(" = 0; {counter} < {count}; ++{counter}) ");
        let own = vec![text("for (int "), Part::Define(counter), text(head), Part::Node(block)];
        self.push(parts, Kind::Loop, own);
    }
}
