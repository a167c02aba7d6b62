//! What changes without being an argument of a launch: a table of the device that the host fills, and memory that host and
//! device share.

use super::super::features::Feature;
use super::kernel::Want;
use super::launch::Given;
use super::{Buffer, Ctx};
use crate::check::random_kernels::tree::{Kind, Node};

impl Ctx {
    /// The host fills a table before a launch that reads it. It carries no derivatives, so nobody names it.
    pub(super) fn setting(&mut self) -> Vec<Node> {
        if self.loops == 0 && self.chance(70) {
            return self.looped(Ctx::setting);
        }
        let Some(output) = self.pick_buffer(|it| it.is_mutable) else { return Vec::new() };
        let Some(input) = self.pick_buffer(|it| it.name != output.name) else { return Vec::new() };
        self.feature(Feature::Setting);
        let setting = match self.settings.last().cloned() {
            Some(known) if self.chance(60) => known,
            _ => self.new_setting(),
        };
        let table = self.name('v');
        let counter = self.wholes.iter().rfind(|whole| whole.is_counter).map(|whole| whole.name.clone());
        let entry = |ctx: &mut Ctx| match &counter {
            Some(counter) if ctx.chance(70) => format!("0.{} * ({counter} + 1)", 1 + ctx.below(2)),
            _ => format!("0.{}", 2 + ctx.below(7)),
        };
        let entries = [entry(self), entry(self), entry(self)].join(", ");
        let mut all = self.waits(0, &[], std::slice::from_ref(&setting));
        let pattern =
            format!("double #{table}#[3] = {{{entries}}}; cudaMemcpyToSymbol({setting}, {table}, 3 * sizeof(double));");
        all.push(self.statement(&pattern, Vec::new()));
        self.read_setting = Some(setting);
        let kernel = self.new_kernel(Want::Update { inputs: 1 });
        self.read_setting = None;
        let (count, count_text) = self.count(input.count.min(output.count));
        let stream = self.any_stream();
        let given = Given {
            inputs: vec![self.at_offset(&input, count)],
            output: self.at_offset(&output, count),
            count,
            count_text,
            stream,
            ..Given::default()
        };
        all.extend(self.launch_of(&kernel, &given, &[input.name], &[output.name]));
        all
    }

    fn new_setting(&mut self) -> String {
        let name = self.name('v');
        let space = self.one_of(&["__constant__", "__constant__", "__device__"]);
        let node = self.node(Kind::Global, &format!("{space} double #{name}#[3];"), Vec::new());
        self.globals.push(node);
        self.settings.push(name.clone());
        name
    }

    /// An array that the host and kernels work on in turn.
    pub(super) fn managed(&mut self) -> Vec<Node> {
        if self.loops == 0 && self.chance(30) {
            return self.looped(Ctx::managed);
        }
        let mut all = self.settled();
        let marks = self.enter();
        self.feature(Feature::Managed);
        self.group += 1;
        let (name, (length, count)) = (self.name('v'), self.length.clone());
        let pattern = format!("double* #{name}#; cudaMallocManaged(&{name}, {length} * sizeof(double));");
        all.push(self.statement(&pattern, Vec::new()));
        let atoms = self.scalar_atoms();
        all.push(self.on_host(&name, &atoms));
        let buffer = Buffer { name: name.clone(), count, is_mutable: true, group: self.group };
        self.buffers.push(buffer.clone());
        for _ in 0..1 + self.below(2) {
            let Some(other) = self.pick_buffer(|it| it.is_mutable && it.name != name) else { break };
            let (one, two) = (self.any_stream(), self.any_stream());
            all.extend(self.launch_map(&other, &buffer, one));
            self.uses.clear();
            all.push(self.node(Kind::Fixed, "cudaDeviceSynchronize();", Vec::new()));
            let element = format!("{name}[0]");
            all.push(self.on_host(&name, &[element]));
            all.extend(self.launch_map(&buffer, &other, two));
            self.uses.clear();
            all.push(self.node(Kind::Fixed, "cudaDeviceSynchronize();", Vec::new()));
        }
        all.push(self.node(Kind::Fixed, &format!("cudaFree({name});"), Vec::new()));
        self.leave(marks);
        all
    }

    /// The host computes every element anew, from itself and others.
    fn on_host(&mut self, name: &str, atoms: &[String]) -> Node {
        let counter = self.name('v');
        let is_first = !atoms.contains(&format!("{name}[0]"));
        let mut atoms = atoms.to_vec();
        if !is_first {
            atoms.extend([format!("{name}[{counter}]"), format!("{name}[{counter}]")]);
        }
        let value = self.expr(&atoms, 2);
        let length = self.length.0.clone();
        let pattern = format!("for (int #{counter}# = 0; {counter} < {length}; ++{counter}) {name}[{counter}] = $;");
        self.node(if is_first { Kind::Fixed } else { Kind::Statement }, &pattern, vec![value])
    }
}
