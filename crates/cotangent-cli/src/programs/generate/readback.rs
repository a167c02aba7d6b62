//! Values that come back from the device, variables of the device, and what the host computes with them.

use super::super::features::Feature;
use super::kernel::Want;
use super::{Ctx, Scalar};
use crate::check::random_kernels::tree::{Kind, Node};

impl Ctx {
    /// A number or a few come back.
    pub(super) fn read_back(&mut self) -> Vec<Node> {
        let mut all = Vec::new();
        let Some(from) = self.pick_buffer(|_| true) else { return all };
        if from.is_mutable && self.chance(50) {
            let stream = self.any_stream();
            all.extend(self.launch_on(Want::Reduce, &from, stream));
        }
        if self.loops > 0 {
            self.feature(Feature::ReadBackInLoop);
        }
        let stream = self.any_stream();
        all.extend(self.waits(stream, std::slice::from_ref(&from.name), &[]));
        let count = if self.chance(65) { 1 } else { 2 + self.below(2) };
        let (source, name) = (self.at_offset(&from, count), self.name('v'));
        let copy = |target: String, bytes: &str, stream: Option<String>| match stream {
            None => format!("cudaMemcpy({target}, {source}, {bytes}, cudaMemcpyDeviceToHost);"),
            Some(stream) => format!(
                "cudaMemcpyAsync({target}, {source}, {bytes}, cudaMemcpyDeviceToHost, {stream}); cudaStreamSynchronize({stream});"
            ),
        };
        self.host_waited_for(stream);
        let stream = (stream > 0).then(|| self.stream_name(stream));
        if count == 1 {
            self.feature(Feature::ReadBackScalar);
            let declared = self.one_of(&[format!("double #{name}#;"), format!("double #{name}# = 0.0;")]);
            let call = copy(format!("&{name}"), "sizeof(double)", stream);
            all.push(self.statement(&format!("{declared} {call}"), Vec::new()));
            self.scalars.push(Scalar { name, is_mutable: true, is_read_back: true });
        } else {
            self.feature(Feature::ReadBackArray);
            let call = copy(name.clone(), &format!("{count} * sizeof(double)"), stream);
            all.push(self.statement(&format!("double #{name}#[{count}]; {call}"), Vec::new()));
            let position = self.below(count);
            self.scalars.push(Scalar { name: format!("{name}[0]"), is_mutable: true, is_read_back: true });
            self.scalars.push(Scalar { name: format!("{name}[{position}]"), is_mutable: true, is_read_back: true });
        }
        all
    }

    /// A number comes back, and the next launch takes it.
    pub(super) fn feedback(&mut self) -> Vec<Node> {
        let mut all = self.read_back();
        if self.chance(40) {
            all.extend(self.arithmetic());
        }
        if self.chance(25) {
            all.extend(self.conditional());
        }
        let Some(output) = self.pick_buffer(|it| it.is_mutable) else { return all };
        let want = self.one_of(&[Want::Map { inputs: 1 }, Want::Update { inputs: 1 }, Want::Update { inputs: 0 }]);
        let stream = self.any_stream();
        all.extend(self.launch_on(want, &output, stream));
        all
    }

    /// The host computes.
    pub(super) fn arithmetic(&mut self) -> Vec<Node> {
        self.feature(Feature::HostArithmetic);
        let atoms = self.scalar_atoms();
        let value = self.expr(&atoms, 2);
        let changing: Vec<String> = self.scalars.iter().filter(|it| it.is_mutable).map(|it| it.name.clone()).collect();
        if !changing.is_empty() && self.chance(60) {
            let name = self.one_of(&changing);
            let form = self.one_of(&["@ = 0.5 * @ + 0.4 * $;", "@ += 0.2 * $;", "@ = $;", "@ *= 0.8 - 0.3 * $;"]);
            return vec![self.statement(&form.replace('@', &name), vec![value])];
        }
        let name = self.name('v');
        let mut inner = vec![value];
        let mut pattern = format!("double #{name}# = $;");
        if self.chance(25) {
            let function = self.value_function();
            inner.push(self.expr(&atoms, 1));
            pattern = format!("double #{name}# = {function}($, $);");
        }
        let node = self.statement(&pattern, inner);
        self.scalars.push(Scalar { name, is_mutable: true, is_read_back: false });
        vec![node]
    }

    /// A variable of the device is read or written.
    pub(super) fn variable(&mut self) -> Vec<Node> {
        let mut all = Vec::new();
        if self.chance(50) {
            // A number goes there.
            let symbol = self.symbol();
            self.feature(Feature::ToSymbol);
            all.extend(self.waits(0, &[], std::slice::from_ref(&symbol.name)));
            let source = self.name('v');
            let atoms = self.scalar_atoms();
            let value = self.expr(&atoms, 1);
            let offset = if symbol.count > 1 { ", sizeof(double)" } else { "" };
            let pattern = format!(
                "double #{source}# = $; cudaMemcpyToSymbol({}, &{source}, sizeof(double){offset});",
                symbol.name
            );
            all.push(self.statement(&pattern, vec![value]));
            self.scalars.push(Scalar { name: source, is_mutable: true, is_read_back: false });
        }
        let symbol = match self.symbols.iter().find(|it| !it.is_constant).cloned() {
            Some(symbol) => symbol,
            None => self.new_symbol(false),
        };
        let place = if symbol.count > 1 {
            format!("{}[{}]", symbol.name, self.below(symbol.count))
        } else {
            symbol.name.clone()
        };
        let Some(from) = self.pick_buffer(|it| it.count > 1) else { return all };
        let (kernel, input) = (self.name('k'), self.name('v'));
        let atoms = [format!("{input}[0]"), format!("{input}[1]"), place.clone()];
        let value = self.expr(&atoms, 2);
        let store = self.node(Kind::Fixed, &format!("if (threadIdx.x == 0) {place} = $;"), vec![value]);
        let body = self.block(vec![store]);
        let global =
            self.node(Kind::Global, &format!("__global__ void #{kernel}#(const double* #{input}#) $"), vec![body]);
        self.globals.push(global);
        self.feature(Feature::DeviceVariable);
        all.extend(self.waits(0, std::slice::from_ref(&from.name), std::slice::from_ref(&symbol.name)));
        let source = self.at_offset(&from, 2);
        self.launches += 1;
        all.push(self.statement(&format!("{kernel}<<<1, 4>>>({source});"), Vec::new()));
        if self.chance(75) {
            self.feature(Feature::FromSymbol);
            if self.loops > 0 {
                self.feature(Feature::ReadBackInLoop);
            }
            let name = self.name('v');
            let offset = if symbol.count > 1 { ", 2 * sizeof(double)" } else { "" };
            let pattern =
                format!("double #{name}#; cudaMemcpyFromSymbol(&{name}, {}, sizeof(double){offset});", symbol.name);
            all.push(self.statement(&pattern, Vec::new()));
            self.scalars.push(Scalar { name, is_mutable: true, is_read_back: true });
            all.extend(self.launch());
        }
        all
    }
}
