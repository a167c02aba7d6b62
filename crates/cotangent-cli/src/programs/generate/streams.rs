//! Streams, and the waits without which a program would race: who used an array last, and who must wait for whom.

use super::super::features::Feature;
use super::{Buffer, Ctx, Scalar};
use crate::check::random_kernels::tree::{Kind, Node};

/// A stream that the function has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) name: String,
    /// Whether it and the default stream wait for each other.
    pub(super) is_blocking: bool,
}

/// The default stream's place in [`Use`]; others are the position in `streams` plus one.
const DEFAULT: usize = 0;

/// Who has used an array and was not yet waited for.
#[derive(Debug, Clone, Default)]
pub(super) struct Use {
    writer: Option<usize>,
    readers: Vec<usize>,
}

impl Ctx {
    /// A stream for the next call: its place, and how it is written in a call.
    pub(super) fn any_stream(&mut self) -> usize {
        if self.streams.is_empty() || self.chance(15) { DEFAULT } else { 1 + self.below(self.streams.len()) }
    }

    pub(super) fn stream_name(&self, stream: usize) -> String {
        match stream {
            DEFAULT => "0".to_owned(),
            stream => self.streams[stream - 1].name.clone(),
        }
    }

    fn is_ordered(&self, one: usize, other: usize) -> bool {
        let is_blocking = |stream: usize| stream == DEFAULT || self.streams[stream - 1].is_blocking;
        one == other || (one == DEFAULT || other == DEFAULT) && is_blocking(one) && is_blocking(other)
    }

    /// The waits that must be before a call in a stream that reads and writes arrays.
    pub(super) fn waits(&mut self, stream: usize, reads: &[String], writes: &[String]) -> Vec<Node> {
        let mut all = Vec::new();
        loop {
            let mut other = None;
            for name in reads.iter().chain(writes) {
                let Some(found) = self.uses.get(name) else { continue };
                let mut conflicts: Vec<usize> = found.writer.into_iter().collect();
                if writes.contains(name) {
                    conflicts.extend(&found.readers);
                }
                other = other.or(conflicts.into_iter().find(|it| !self.is_ordered(*it, stream)));
            }
            let Some(other) = other else { break };
            all.push(self.wait(other, stream));
        }
        for name in writes {
            self.uses.insert(name.clone(), Use { writer: Some(stream), readers: Vec::new() });
        }
        for name in reads {
            let found = self.uses.entry(name.clone()).or_default();
            if !found.readers.contains(&stream) {
                found.readers.push(stream);
            }
        }
        all
    }

    /// Makes a stream wait for another.
    fn wait(&mut self, earlier: usize, later: usize) -> Node {
        let (first, second) = (self.stream_name(earlier), self.stream_name(later));
        match self.below(4) {
            0 => {
                self.uses.clear();
                self.node(Kind::Statement, "cudaDeviceSynchronize();", Vec::new())
            }
            1 => {
                self.host_waited_for(earlier);
                self.statement(&format!("cudaStreamSynchronize({first});"), Vec::new())
            }
            _ => {
                self.feature(Feature::Events);
                // Whoever waits for the later one from now on waits for the earlier one too.
                for found in self.uses.values_mut() {
                    found.writer = found.writer.map(|it| if it == earlier { later } else { it });
                    found.readers.iter_mut().filter(|it| **it == earlier).for_each(|it| *it = later);
                }
                let event = self.name('v');
                let create = self.one_of(&[
                    format!("cudaEventCreate(&{event});"),
                    format!("cudaEventCreateWithFlags(&{event}, cudaEventDisableTiming);"),
                ]);
                let pattern = format!(
                    "cudaEvent_t #{event}#; {create} cudaEventRecord({event}, {first}); cudaStreamWaitEvent({second}, {event}, 0); cudaEventDestroy({event});"
                );
                self.statement(&pattern, Vec::new())
            }
        }
    }

    /// All that a stream was given is done.
    pub(super) fn host_waited_for(&mut self, stream: usize) {
        for found in self.uses.values_mut() {
            found.writer = found.writer.filter(|it| *it != stream);
            found.readers.retain(|it| *it != stream);
        }
    }

    /// Waits for all, if anybody is at work whom later calls would not wait for.
    pub(super) fn settled(&mut self) -> Vec<Node> {
        let is_strict = self.streams.iter().any(|stream| !stream.is_blocking);
        let at_work = |it: &usize| *it != DEFAULT || is_strict;
        let is_busy = self.uses.values().any(|found| found.writer.iter().chain(&found.readers).any(at_work));
        self.uses.clear();
        if !is_busy {
            return Vec::new();
        }
        if self.chance(50) {
            return vec![self.statement("cudaDeviceSynchronize();", Vec::new())];
        }
        let mut names: Vec<String> = self.streams.iter().map(|stream| stream.name.clone()).collect();
        names.extend(is_strict.then(|| "0".to_owned()));
        let calls: Vec<String> = names.iter().map(|name| format!("cudaStreamSynchronize({name});")).collect();
        vec![self.statement(&calls.join(" "), Vec::new())]
    }

    /// Statements with streams of their own.
    pub(super) fn with_streams(&mut self) -> Vec<Node> {
        self.feature(Feature::Streams);
        if self.loops > 0 {
            self.feature(Feature::StreamsInLoop);
        }
        let mut all = self.settled();
        let marks = self.enter();
        let mut ends = Vec::new();
        for _ in 0..1 + self.below(2) + usize::from(self.streams.is_empty()) {
            let name = self.name('v');
            let is_blocking = !self.chance(30);
            let create = if is_blocking {
                format!("cudaStream_t #{name}#; cudaStreamCreate(&{name});")
            } else {
                self.feature(Feature::NonBlockingStreams);
                format!("cudaStream_t #{name}#; cudaStreamCreateWithFlags(&{name}, cudaStreamNonBlocking);")
            };
            all.push(self.node(Kind::Statement, &create, Vec::new()));
            ends.push(self.node(Kind::Fixed, &format!("cudaStreamDestroy({name});"), Vec::new()));
            self.streams.push(Stream { name, is_blocking });
        }
        // What the default stream still does, streams that do not wait for it must wait for.
        if self.streams.iter().any(|stream| !stream.is_blocking) {
            all.push(self.statement("cudaDeviceSynchronize();", Vec::new()));
        }
        match self.below(10) {
            0..=3 => all.extend(self.two_streams()),
            4..=7 => all.extend(self.event_of_two()),
            _ => {}
        }
        all.extend(self.after_copy());
        for _ in 0..1 + self.below(2) {
            all.extend(self.step_in_streams());
        }
        all.extend(self.settled());
        all.extend(ends);
        self.leave(marks);
        all
    }

    /// A stream that does not wait for the default one changes an array which the host has a copy of by then.
    fn after_copy(&mut self) -> Vec<Node> {
        let Some(position) = self.streams.iter().position(|stream| !stream.is_blocking) else { return Vec::new() };
        let Some(array) = self.pick_buffer(|it| it.is_mutable) else { return Vec::new() };
        let Some(other) = self.pick_buffer(|it| it.name != array.name) else { return Vec::new() };
        self.feature(Feature::AfterCopy);
        let mut all = self.waits(DEFAULT, std::slice::from_ref(&array.name), &[]);
        let (source, name) = (self.at_offset(&array, 1), self.name('v'));
        let pattern =
            format!("double #{name}#; cudaMemcpy(&{name}, {source}, sizeof(double), cudaMemcpyDeviceToHost);");
        all.push(self.statement(&pattern, Vec::new()));
        self.host_waited_for(DEFAULT);
        self.scalars.push(Scalar { name, is_mutable: true, is_read_back: true });
        all.extend(self.launch_map(&other, &array, position + 1));
        all
    }

    /// Two streams that wait for one event, each to read what a third has written.
    fn event_of_two(&mut self) -> Vec<Node> {
        let count = self.streams.len();
        let from = self.pick_buffer(|_| true);
        let array = self.pick_buffer(|it| it.is_mutable && from.as_ref().is_some_and(|from| from.name != it.name));
        let (Some(from), Some(array), true) = (from, array, count > 1) else { return Vec::new() };
        let others: Vec<Buffer> =
            self.buffers.iter().filter(|it| it.is_mutable && it.name != array.name).cloned().collect();
        if others.len() < 2 {
            return Vec::new();
        }
        self.feature(Feature::EventOfTwo);
        let (first, second) = (self.one_of(&others), self.one_of(&others));
        let writer = if count > 2 { count - 2 } else { DEFAULT };
        let mut all = self.settled();
        all.extend(self.launch_map(&from, &array, writer));
        let event = self.name('v');
        let (source, one, two) = (self.stream_name(writer), self.stream_name(count - 1), self.stream_name(count));
        let pattern = format!(
            "cudaEvent_t #{event}#; cudaEventCreate(&{event}); cudaEventRecord({event}, {source}); \
             cudaStreamWaitEvent({one}, {event}, 0); cudaStreamWaitEvent({two}, {event}, 0); cudaEventDestroy({event});"
        );
        all.push(self.statement(&pattern, Vec::new()));
        // Both come after the writer now.
        self.uses.clear();
        all.extend(self.launch_map(&array, &first, count - 1));
        all.extend(self.launch_map(&array, &second, count));
        all.extend(self.settled());
        all
    }

    /// Two launches that read one array at once.
    fn two_streams(&mut self) -> Vec<Node> {
        let count = self.streams.len();
        if count < 2 {
            return Vec::new();
        }
        let Some(input) = self.pick_buffer(|_| true) else { return Vec::new() };
        let Some(first) = self.pick_buffer(|it| it.is_mutable && it.name != input.name) else { return Vec::new() };
        let second = self.pick_buffer(|it| it.is_mutable && it.name != input.name && it.name != first.name);
        let Some(second) = second else { return Vec::new() };
        self.feature(Feature::TwoStreamsOneInput);
        let mut all = Vec::new();
        for (position, output) in [first, second].iter().enumerate() {
            let stream = count - position;
            all.extend(self.launch_map(&input, output, stream));
        }
        all
    }
}
