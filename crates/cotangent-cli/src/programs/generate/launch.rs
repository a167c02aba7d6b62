//! Launches: which arrays a kernel is given, at which offsets, with which numbers, and how many threads.

use super::super::features::Feature;
use super::super::tree::Argument;
use super::kernel::{Form, Kernel, Role, Want};
use super::{Buffer, Ctx, Whole};
use crate::check::random_kernels::tree::Node;

/// What a kernel is given; numbers are chosen by chance.
#[derive(Debug, Clone, Default)]
pub(super) struct Given {
    /// Arrays that are read, as written in the call, in order.
    pub(super) inputs: Vec<String>,
    /// The array that is written.
    pub(super) output: String,
    pub(super) count: usize,
    /// How the count is written.
    pub(super) count_text: String,
    /// A variable that is a struct, if the kernel takes one.
    pub(super) record: String,
    pub(super) stream: usize,
}

impl Ctx {
    /// An array on the device.
    pub(super) fn pick_buffer(&mut self, accept: impl Fn(&Buffer) -> bool) -> Option<Buffer> {
        let fit: Vec<Buffer> = self.buffers.iter().filter(|buffer| accept(buffer)).cloned().collect();
        (!fit.is_empty()).then(|| self.one_of(&fit))
    }

    /// A launch of some kernel on some arrays.
    pub(super) fn launch(&mut self) -> Vec<Node> {
        let inputs = 1 + self.below(2);
        let want = match self.below(8) {
            0..=2 => Want::Map { inputs },
            3 | 4 => Want::Update { inputs },
            5 => Want::Update { inputs: 0 },
            6 => Want::Numbers,
            _ => Want::Reduce,
        };
        let stream = self.any_stream();
        let Some(output) = self.pick_buffer(|it| it.is_mutable) else { return Vec::new() };
        self.launch_on(want, &output, stream)
    }

    pub(super) fn launch_map(&mut self, input: &Buffer, output: &Buffer, stream: usize) -> Vec<Node> {
        let want = self.one_of(&[Want::Map { inputs: 1 }, Want::Update { inputs: 1 }]);
        let kernel = self.kernel(want);
        let (count, count_text) = self.count(input.count.min(output.count));
        let given = Given {
            inputs: vec![self.at_offset(input, count)],
            output: self.at_offset(output, count),
            count,
            count_text,
            stream,
            ..Given::default()
        };
        self.launch_of(&kernel, &given, std::slice::from_ref(&input.name), std::slice::from_ref(&output.name))
    }

    /// A launch whose output is this array.
    pub(super) fn launch_on(&mut self, want: Want, output: &Buffer, stream: usize) -> Vec<Node> {
        let wanted = want.inputs();
        let mut sources: Vec<Buffer> = Vec::new();
        for _ in 0..wanted {
            let found = self.pick_buffer(|it| it.name != output.name && !sources.contains(it));
            let Some(found) = found else { return Vec::new() };
            sources.push(found);
        }
        let kernel = self.kernel(want);
        let few = kernel.roles.iter().find_map(|role| if let Role::Few(few) = role { Some(*few) } else { None });
        let limit = if few.is_some() { usize::MAX } else { output.count };
        let least = sources.iter().map(|it| it.count).chain([limit]).min().unwrap_or(output.count);
        let (count, count_text) = self.count(least);
        let given = Given {
            inputs: sources.iter().map(|source| self.at_offset(source, count)).collect(),
            output: self.at_offset(output, few.unwrap_or(count)),
            count,
            count_text,
            record: String::new(),
            stream,
        };
        let reads: Vec<String> = sources.into_iter().map(|it| it.name).collect();
        self.launch_of(&kernel, &given, &reads, std::slice::from_ref(&output.name))
    }

    /// A launch of this kernel, after the waits that it needs.
    pub(super) fn launch_of(
        &mut self,
        kernel: &Kernel,
        given: &Given,
        reads: &[String],
        writes: &[String],
    ) -> Vec<Node> {
        let mut all = Vec::new();
        let mut inner = Vec::new();
        let mut arguments = Vec::new();
        let mut inputs = given.inputs.iter();
        for role in &kernel.roles {
            arguments.push(match role {
                Role::In => inputs.next().cloned().unwrap_or_default(),
                Role::Out | Role::Few(_) => given.output.clone(),
                Role::Number => {
                    inner.push(self.number_argument());
                    "$".to_owned()
                }
                Role::Count => given.count_text.clone(),
                Role::Int => self.int_argument(),
                Role::Halves => self.half_table(given.count),
                Role::Record => given.record.clone(),
                Role::Numbers => {
                    let (declared, name) = self.numbers_record(kernel);
                    all.extend(declared);
                    name
                }
            });
        }
        // A kernel may use variables of the device, which streams share.
        let mut reads = reads.to_vec();
        reads.extend(self.symbols.iter().map(|symbol| symbol.name.clone()));
        reads.extend(self.settings.iter().cloned());
        all.extend(self.waits(given.stream, &reads, writes));
        let configuration = self.configuration(kernel.form, given);
        let pattern = format!("{}{}<<<{configuration}>>>({});", kernel.name, kernel.template, arguments.join(", "));
        self.launches += 1;
        all.push(self.statement(&pattern, inner));
        all
    }

    /// A number for a kernel: of the host's numbers and counters.
    pub(super) fn number_argument(&mut self) -> Node {
        let counters: Vec<Whole> = self.wholes.iter().filter(|whole| whole.is_counter).cloned().collect();
        let mut atoms = self.scalar_atoms();
        if !counters.is_empty() && self.chance(45) {
            self.feature(Feature::CounterValue);
            let counter = self.one_of(&counters);
            atoms = vec![format!("0.{} * ({} + 1)", 1 + self.below(2), counter.name)];
        }
        let depth = self.below(2);
        let last = self.scalars.iter().rfind(|scalar| scalar.is_read_back).map(|scalar| scalar.name.clone());
        if let Some(last) = last
            && self.chance(50)
        {
            self.feature(Feature::ReadBackAsArgument);
            return self.expr(&[last], depth);
        }
        self.expr(&atoms, depth)
    }

    fn int_argument(&mut self) -> String {
        let counters: Vec<Whole> = self.wholes.iter().filter(|it| it.is_counter && it.most < 5).cloned().collect();
        if !counters.is_empty() && self.chance(60) {
            self.feature(Feature::CounterValue);
            return self.one_of(&counters).name;
        }
        self.below(4).to_string()
    }

    /// How many elements, at most so many, and how that is written.
    pub(super) fn count(&mut self, most: usize) -> (usize, String) {
        let (name, length) = self.length.clone();
        match self.below(6) {
            0 if most > 2 => {
                let count = 2 + self.below(most.min(length) - 1);
                (count, count.to_string())
            }
            1 if most >= length => (length - 1, format!("{name} - 1")),
            2 if most >= 2 * length => (2 * length, format!("2 * {name}")),
            _ if most >= length => (length, name),
            _ => (most, most.to_string()),
        }
    }

    /// An array at some offset that leaves so many elements.
    pub(super) fn at_offset(&mut self, buffer: &Buffer, count: usize) -> String {
        let room = buffer.count - count;
        let fits = |it: &&Whole| it.is_counter && it.least >= 0 && it.most as usize <= room;
        let counters: Vec<Whole> = self.wholes.iter().filter(fits).cloned().collect();
        if !counters.is_empty() && self.chance(45) {
            self.feature(Feature::CounterOffset);
            return format!("{} + {}", buffer.name, self.one_of(&counters).name);
        }
        if room > 0 && self.chance(40) {
            return format!("{} + {}", buffer.name, 1 + self.below(room));
        }
        buffer.name.clone()
    }

    /// A table of halves.
    fn half_table(&mut self, count: usize) -> String {
        if let Some(table) = self.halves.iter().find(|table| table.count >= count) {
            return table.name.clone();
        }
        let count = 3 * self.length.1;
        let name = self.parameter("const __half*", Argument::Halves(count));
        // A parameter is in scope everywhere.
        self.halves.insert(0, Buffer { name: name.clone(), count, is_mutable: false, group: 0 });
        name
    }

    /// A struct of numbers.
    fn numbers_record(&mut self, kernel: &Kernel) -> (Vec<Node>, String) {
        self.feature(Feature::RecordOfNumbers);
        let (name, record) = (self.name('v'), kernel.record.clone().unwrap_or_default());
        let (a, b) = (self.number_argument(), self.number_argument());
        if self.chance(50) {
            return (vec![self.statement(&format!("{record} #{name}# = {{$, $}};"), vec![a, b])], name);
        }
        self.feature(Feature::RecordMembers);
        let pattern = format!("{record} #{name}#; {name}.a = $; {name}.b = 0.5 * {name}.a + 0.3 * $;");
        (vec![self.statement(&pattern, vec![a, b])], name)
    }

    fn configuration(&mut self, form: Form, given: &Given) -> String {
        let count = given.count;
        let up = |of: usize, size: usize| of.div_ceil(size);
        let (grid, block) = match form {
            Form::Line => {
                let threads = self.one_of(&[2, 4, 8, 32]);
                let is_plain = given.count_text.chars().all(char::is_alphanumeric);
                if is_plain && self.chance(50) {
                    (format!("({} + {}) / {threads}", given.count_text, threads - 1), threads.to_string())
                } else {
                    (up(count, threads).to_string(), threads.to_string())
                }
            }
            Form::Plane => {
                let (x, y, wide) = (2 + self.below(3), 1 + self.below(3), 1 + self.below(2));
                (format!("dim3({wide}, {})", up(count, x * y * wide)), format!("dim3({x}, {y})"))
            }
            Form::Space => {
                let (x, y, z) = (1 + self.below(3), 1 + self.below(2), 2);
                let (wide, high) = (1 + self.below(2), 1 + self.below(2));
                let deep = up(count, x * y * z * wide * high);
                (format!("dim3({wide}, {high}, {deep})"), format!("dim3({x}, {y}, {z})"))
            }
            Form::Stride => ((1 + self.below(2)).to_string(), (1 + self.below(4)).to_string()),
            Form::Single => ("1".to_owned(), self.one_of(&["1", "1", "4"]).to_owned()),
            Form::Together => ("1".to_owned(), "32".to_owned()),
        };
        match given.stream {
            0 => format!("{grid}, {block}"),
            stream => format!("{grid}, {block}, 0, {}", self.stream_name(stream)),
        }
    }
}
