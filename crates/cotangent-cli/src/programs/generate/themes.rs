//! What a statement of the host may be, and those that are neither loops, memory nor streams: swaps, structs, and one
//! array that is given twice.

use super::super::features::Feature;
use super::Ctx;
use super::kernel::Want;
use super::launch::Given;
use crate::check::random_kernels::tree::Node;

/// Loops may be nested so deeply.
const DEEPEST: usize = 2;

/// What a statement may be, and how often of all.
const THEMES: &[(Theme, usize)] = &[
    (Ctx::launch, 10),
    (Ctx::some_in_loop, 16),
    (Ctx::conditional, 9),
    (Ctx::leapfrog, 5),
    (Ctx::layers, 5),
    (Ctx::read_back, 4),
    (Ctx::feedback, 7),
    (Ctx::variable, 7),
    (Ctx::arithmetic, 6),
    (Ctx::swap, 9),
    (Ctx::copy, 6),
    (Ctx::copy_rows, 4),
    (Ctx::fill, 7),
    (Ctx::temporary, 8),
    (Ctx::host_memory, 11),
    (Ctx::with_streams, 7),
    (Ctx::helper, 14),
    (Ctx::record, 7),
    (Ctx::one_root, 8),
    (Ctx::halves, 4),
    (Ctx::setting, 5),
    (Ctx::managed, 5),
];

type Theme = fn(&mut Ctx) -> Vec<Node>;

impl Ctx {
    /// Some statements.
    pub(super) fn theme(&mut self) -> Vec<Node> {
        self.statements = self.statements.saturating_sub(1);
        let total: usize = THEMES.iter().map(|(_, weight)| weight).sum();
        let mut chosen = self.below(total);
        let theme = THEMES.iter().find(|(_, weight)| {
            let is_it = chosen < *weight;
            chosen = chosen.saturating_sub(*weight);
            is_it
        });
        // Deep inside only launches are left.
        let is_deep = self.loops >= DEEPEST || self.blocks > 12;
        match theme {
            Some((theme, _)) if !is_deep => theme(self),
            _ if self.chance(50) => self.feedback(),
            _ => self.launch(),
        }
    }

    /// Statements that may be in streams.
    pub(super) fn step_in_streams(&mut self) -> Vec<Node> {
        match self.below(6) {
            0 => self.copy(),
            1 => self.fill(),
            2 => self.copy_rows(),
            3 if self.loops < DEEPEST => self.looped(|ctx| {
                let mut all = ctx.launch();
                all.extend(ctx.launch());
                all
            }),
            _ => self.launch(),
        }
    }

    /// Two arrays change places.
    pub(super) fn swap(&mut self) -> Vec<Node> {
        let Some(first) = self.pick_buffer(|it| it.is_mutable) else { return Vec::new() };
        let second = self.pick_buffer(|it| {
            it.is_mutable && it.name != first.name && it.group == first.group && it.count == first.count
        });
        let Some(second) = second else { return self.launch() };
        let (one, other) = (&first.name, &second.name);
        let (of_one, of_other) = (self.uses.remove(one), self.uses.remove(other));
        self.uses.extend(of_one.map(|found| (other.clone(), found)));
        self.uses.extend(of_other.map(|found| (one.clone(), found)));
        let mut all = Vec::new();
        if self.chance(50) {
            self.feature(Feature::SwapOfLibrary);
            all.push(self.statement(&format!("std::swap({one}, {other});"), Vec::new()));
        } else {
            self.feature(Feature::SwapByHand);
            let third = self.name('v');
            let pattern = format!("double* #{third}# = {one}; {one} = {other}; {other} = {third};");
            all.push(self.statement(&pattern, Vec::new()));
        }
        if self.chance(60) {
            let stream = self.any_stream();
            let Some(first) = self.buffers.iter().find(|it| it.name == *one).cloned() else { return all };
            all.splice(0..0, self.launch_map(&second, &first, stream));
        }
        all
    }

    /// A launch with a struct of pointers.
    pub(super) fn record(&mut self) -> Vec<Node> {
        let Some(output) = self.pick_buffer(|it| it.is_mutable) else { return Vec::new() };
        let Some(input) = self.pick_buffer(|it| it.name != output.name) else { return Vec::new() };
        self.feature(Feature::RecordOfPointers);
        let kernel = self.kernel(Want::Record);
        let ty = kernel.record.clone().unwrap_or_default();
        let record = self.name('v');
        let (count, count_text) = self.count(input.count.min(output.count));
        let (to, from) = (self.at_offset(&output, count), self.at_offset(&input, count));
        let value = self.number_argument();
        let pattern = if self.chance(50) {
            format!("{ty} #{record}# = {{{to}, {from}, $, {count_text}}};")
        } else {
            self.feature(Feature::RecordMembers);
            format!(
                "{ty} #{record}#; {record}.out = {to}; {record}.in = {from}; {record}.c = $; {record}.n = {count_text};"
            )
        };
        let mut all = vec![self.statement(&pattern, vec![value])];
        let stream = self.any_stream();
        let (reads, writes) = ([input.name.clone()], [output.name.clone()]);
        let given = Given { count, count_text, record: record.clone(), stream, ..Given::default() };
        all.extend(self.launch_of(&kernel, &given, &reads, &writes));
        if self.chance(40) {
            self.feature(Feature::RecordMembers);
            let value = self.number_argument();
            all.push(self.statement(&format!("{record}.c = 0.5 * {record}.c + 0.4 * $;"), vec![value]));
            all.extend(self.launch_of(&kernel, &given, &reads, &writes));
        }
        all
    }

    /// One array is given to a kernel twice, at two offsets or the same.
    pub(super) fn one_root(&mut self) -> Vec<Node> {
        let Some(array) = self.pick_buffer(|_| true) else { return Vec::new() };
        let name = array.name.clone();
        let stream = self.any_stream();
        let reads = self.chance(60) || !array.is_mutable;
        if reads {
            let Some(output) = self.pick_buffer(|it| it.is_mutable && it.name != name) else { return Vec::new() };
            let kernel = self.kernel(Want::Map { inputs: 2 });
            let offset = if self.chance(60) { 1 + self.below(2) } else { 0 };
            self.feature(if offset == 0 { Feature::SameArrayTwice } else { Feature::OneRootRead });
            let count = (array.count - offset).min(output.count);
            let second = if offset == 0 { name.clone() } else { format!("{name} + {offset}") };
            let mut inputs = vec![name.clone(), second];
            if self.chance(50) {
                inputs.reverse();
            }
            let given = Given {
                inputs,
                output: output.name.clone(),
                count,
                count_text: count.to_string(),
                stream,
                ..Given::default()
            };
            return self.launch_of(&kernel, &given, &[name], &[output.name]);
        }
        self.feature(Feature::OneRootWritten);
        let is_apart = self.chance(50);
        let want = if is_apart { Want::Map { inputs: 1 } } else { Want::Sequential };
        let kernel = self.kernel(want);
        let offset = if is_apart { array.count.div_ceil(2) } else { 1 + self.below(2) };
        let count = array.count - offset;
        let (mut input, mut output) = (name.clone(), format!("{name} + {offset}"));
        if self.chance(50) {
            std::mem::swap(&mut input, &mut output);
        }
        let (inputs, count_text) = (vec![input], count.to_string());
        let given = Given { inputs, output, count, count_text, stream, ..Given::default() };
        self.launch_of(&kernel, &given, &[], &[name])
    }

    /// A launch with a table of halves.
    pub(super) fn halves(&mut self) -> Vec<Node> {
        let Some(output) = self.pick_buffer(|it| it.is_mutable) else { return Vec::new() };
        let stream = self.any_stream();
        self.launch_on(Want::Halves, &output, stream)
    }
}
