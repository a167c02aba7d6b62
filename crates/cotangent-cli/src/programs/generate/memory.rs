//! Memory of the device and of the host, copies and fills.

use super::super::features::Feature;
use super::{Buffer, Ctx};
use crate::check::random_kernels::tree::{Kind, Node};

impl Ctx {
    /// Arrays for the whole function, and what frees them.
    pub(super) fn working_arrays(&mut self) -> (Vec<Node>, Vec<Node>) {
        let (mut all, mut frees) = (Vec::new(), Vec::new());
        let common = self.one_of(&[1, 1, 2]);
        for _ in 0..[1, 2, 2][self.below(3)] {
            let factor = if self.chance(75) { common } else { self.one_of(&[1, 2]) };
            let (declared, buffer, free) = self.device_array(factor, 1);
            all.extend(declared);
            frees.push(free);
            self.buffers.push(buffer);
        }
        frees.reverse();
        (all, frees)
    }

    /// A new array on the device with values in it, and what frees it.
    fn device_array(&mut self, factor: usize, group: u32) -> (Vec<Node>, Buffer, Node) {
        let name = self.name('v');
        let (length, count) = (self.length.0.clone(), factor * self.length.1);
        let bytes = if factor == 1 {
            format!("{length} * sizeof(double)")
        } else {
            format!("{factor} * {length} * sizeof(double)")
        };
        let in_loop = self.loops > 0;
        let stream = self.any_stream();
        let text = self.stream_name(stream);
        let source = self.pick_buffer(|it| it.count >= count);
        let (allocate, free) = match self.below(10) {
            0..=4 => {
                if in_loop {
                    self.feature(Feature::MallocInLoop);
                }
                (format!("cudaMalloc(&{name}, {bytes});"), format!("cudaFree({name});"))
            }
            5 => (format!("cudaMallocManaged(&{name}, {bytes});"), format!("cudaFree({name});")),
            _ => {
                if in_loop {
                    self.feature(Feature::MallocAsyncInLoop);
                }
                (format!("cudaMallocAsync(&{name}, {bytes}, {text});"), format!("cudaFreeAsync({name}, {text});"))
            }
        };
        let is_async = allocate.contains("Async");
        let stream = if is_async { stream } else { 0 };
        let reads: Vec<String> = source.iter().map(|it| it.name.clone()).collect();
        let copied = source.filter(|_| self.chance(60));
        let mut all = self.waits(stream, if copied.is_some() { &reads } else { &[] }, std::slice::from_ref(&name));
        let fill = match (copied, is_async) {
            (Some(source), true) => {
                format!("cudaMemcpyAsync({name}, {}, {bytes}, cudaMemcpyDeviceToDevice, {text});", source.name)
            }
            (Some(source), false) => format!("cudaMemcpy({name}, {}, {bytes}, cudaMemcpyDeviceToDevice);", source.name),
            (None, true) => {
                self.feature(Feature::FillAsync);
                format!("cudaMemsetAsync({name}, 0, {bytes}, {text});")
            }
            (None, false) => {
                self.feature(Feature::Fill);
                format!("cudaMemset({name}, 0, {bytes});")
            }
        };
        all.push(self.statement(&format!("double* #{name}#; {allocate} {fill}"), Vec::new()));
        let free = self.node(Kind::Fixed, &free, Vec::new());
        (all, Buffer { name, count, is_mutable: true, group }, free)
    }

    /// An array that lives for a few launches.
    pub(super) fn temporary(&mut self) -> Vec<Node> {
        if self.loops == 0 && !self.in_helper && self.chance(60) {
            return self.looped(Ctx::temporary);
        }
        let marks = self.enter();
        self.group += 1;
        let (mut all, buffer, free) = self.device_array(1, self.group);
        self.buffers.push(buffer.clone());
        let stream = self.any_stream();
        let input = self.pick_buffer(|it| it.name != buffer.name);
        if let Some(input) = input {
            all.extend(self.launch_map(&input, &buffer, stream));
        }
        let output = self.pick_buffer(|it| it.is_mutable && it.name != buffer.name);
        if let Some(output) = output {
            let stream = self.any_stream();
            all.extend(self.launch_map(&buffer, &output, stream));
        }
        all.extend(self.settled());
        all.push(free);
        self.leave(marks);
        all
    }

    /// Numbers go to memory of the host, change there, and go back.
    pub(super) fn host_memory(&mut self) -> Vec<Node> {
        if self.loops == 0 && self.chance(65) {
            return self.looped(Ctx::host_memory);
        }
        let count = 2 + self.below(self.length.1 - 2);
        let Some(from) = self.pick_buffer(|it| it.count >= count) else { return Vec::new() };
        let Some(to) = self.pick_buffer(|it| it.is_mutable && it.count >= count) else { return Vec::new() };
        let name = self.name('v');
        let bytes = format!("{count} * sizeof(double)");
        let mut data = name.clone();
        let (declared, free, feature) = match self.below(5) {
            0 => (
                format!("double* #{name}# = (double*)malloc({bytes});"),
                format!("free({name});"),
                Feature::HostMallocInLoop,
            ),
            1 => (format!("double* #{name}# = new double[{count}];"), format!("delete[] {name};"), Feature::NewInLoop),
            2 | 3 => {
                data = format!("{name}.data()");
                (format!("std::vector<double> #{name}#({count});"), String::new(), Feature::VectorInLoop)
            }
            _ => (format!("double #{name}#[{count}];"), String::new(), Feature::ReadBackArray),
        };
        if self.loops > 0 || feature == Feature::ReadBackArray {
            self.feature(feature);
        }
        self.feature(Feature::ReadBackArray);
        let mut all = self.waits(0, std::slice::from_ref(&from.name), &[]);
        let source = self.at_offset(&from, count);
        all.push(self.statement(
            &format!("{declared} cudaMemcpy({data}, {source}, {bytes}, cudaMemcpyDeviceToHost);"),
            Vec::new(),
        ));
        self.host_waited_for(0);
        let counter = self.name('v');
        let mut atoms = self.scalar_atoms();
        atoms.extend([format!("{name}[{counter}]"), format!("{name}[{counter}]"), format!("{name}[0]")]);
        let value = self.expr(&atoms, 2);
        self.feature(Feature::HostArithmetic);
        let pattern = format!("for (int #{counter}# = 0; {counter} < {count}; ++{counter}) {name}[{counter}] = $;");
        all.push(self.statement(&pattern, vec![value]));
        all.extend(self.waits(0, &[], std::slice::from_ref(&to.name)));
        let target = self.at_offset(&to, count);
        self.feature(Feature::PartialCopy);
        all.push(
            self.statement(&format!("cudaMemcpy({target}, {data}, {bytes}, cudaMemcpyHostToDevice);"), Vec::new()),
        );
        if !free.is_empty() {
            all.push(self.node(Kind::Fixed, &free, Vec::new()));
        }
        all
    }

    /// A copy on the device, or between it and an array of the host.
    pub(super) fn copy(&mut self) -> Vec<Node> {
        let count = 2 + self.below(self.length.1 - 1);
        let Some(to) = self.pick_buffer(|it| it.is_mutable) else { return Vec::new() };
        let host = self.host_buffers.first().cloned().filter(|_| self.chance(50));
        if let Some(host) = host.filter(|it| it.count >= count) {
            self.feature(Feature::PartialCopy);
            if host.is_mutable && self.chance(50) {
                let Some(from) = self.pick_buffer(|_| true) else { return Vec::new() };
                let mut all = self.waits(0, std::slice::from_ref(&from.name), &[]);
                let (target, source) = (self.at_offset(&host, count), self.at_offset(&from, count));
                let call = format!("cudaMemcpy({target}, {source}, {count} * sizeof(double), cudaMemcpyDeviceToHost);");
                all.push(self.statement(&call, Vec::new()));
                self.host_waited_for(0);
                return all;
            }
            let mut all = self.waits(0, &[], std::slice::from_ref(&to.name));
            let (target, source) = (self.at_offset(&to, count), self.at_offset(&host, count));
            let call = format!("cudaMemcpy({target}, {source}, {count} * sizeof(double), cudaMemcpyHostToDevice);");
            all.push(self.statement(&call, Vec::new()));
            return all;
        }
        let Some(from) = self.pick_buffer(|it| it.name != to.name) else { return Vec::new() };
        self.feature(Feature::DeviceCopy);
        if count < from.count.max(to.count) {
            self.feature(Feature::PartialCopy);
        }
        let stream = self.any_stream();
        let mut all = self.waits(stream, std::slice::from_ref(&from.name), std::slice::from_ref(&to.name));
        let (target, source) = (self.at_offset(&to, count), self.at_offset(&from, count));
        let kind = self.one_of(&["cudaMemcpyDeviceToDevice", "cudaMemcpyDeviceToDevice", "cudaMemcpyDefault"]);
        let call = match stream {
            0 => format!("cudaMemcpy({target}, {source}, {count} * sizeof(double), {kind});"),
            _ => {
                let stream = self.stream_name(stream);
                format!("cudaMemcpyAsync({target}, {source}, {count} * sizeof(double), {kind}, {stream});")
            }
        };
        all.push(self.statement(&call, Vec::new()));
        all
    }

    /// Rows with a pitch that fit into so many elements: width, height and pitch.
    fn rows(&mut self, count: usize) -> (usize, usize, usize) {
        let width = 1 + self.below(2);
        let pitch = width + self.below(2);
        let most = (count - width) / pitch + 1;
        (width, (1 + self.below(most)).min(3), pitch)
    }

    /// A copy of rows.
    pub(super) fn copy_rows(&mut self) -> Vec<Node> {
        let Some(to) = self.pick_buffer(|it| it.is_mutable) else { return Vec::new() };
        let Some(from) = self.pick_buffer(|it| it.name != to.name) else { return Vec::new() };
        self.feature(Feature::RowsCopy);
        let (width, height, pitch) = self.rows(to.count.min(from.count));
        let stream = self.any_stream();
        let mut all = self.waits(stream, std::slice::from_ref(&from.name), std::slice::from_ref(&to.name));
        let size = "sizeof(double)";
        let rows =
            format!("{}, {pitch} * {size}, {}, {pitch} * {size}, {width} * {size}, {height}", to.name, from.name);
        let call = match stream {
            0 => format!("cudaMemcpy2D({rows}, cudaMemcpyDeviceToDevice);"),
            _ => format!("cudaMemcpy2DAsync({rows}, cudaMemcpyDeviceToDevice, {});", self.stream_name(stream)),
        };
        all.push(self.statement(&call, Vec::new()));
        all
    }

    /// A part of an array becomes zero.
    pub(super) fn fill(&mut self) -> Vec<Node> {
        let Some(to) = self.pick_buffer(|it| it.is_mutable) else { return Vec::new() };
        let stream = self.any_stream();
        let mut all = self.waits(stream, &[], std::slice::from_ref(&to.name));
        let text = self.stream_name(stream);
        let count = 1 + self.below(2);
        let target = self.at_offset(&to, count);
        let call = match self.below(10) {
            0..=4 if stream == 0 => {
                self.feature(Feature::Fill);
                format!("cudaMemset({target}, 0, {count} * sizeof(double));")
            }
            5..=7 => {
                self.feature(Feature::FillRows);
                let (width, height, pitch) = self.rows(to.count);
                let size = "sizeof(double)";
                let rows = format!("{}, {pitch} * {size}, 0, {width} * {size}, {height}", to.name);
                match stream {
                    0 => format!("cudaMemset2D({rows});"),
                    _ => format!("cudaMemset2DAsync({rows}, {text});"),
                }
            }
            _ => {
                self.feature(Feature::FillAsync);
                format!("cudaMemsetAsync({target}, 0, {count} * sizeof(double), {text});")
            }
        };
        all.push(self.statement(&call, Vec::new()));
        all
    }
}
