//! Makes kernels. Each works on elements `[0, count)` of its arrays, a thread on its own, so that any arrays that are long
//! enough can be given to it; a kernel of one thread may do more.

use super::super::features::Feature;
use super::Ctx;
use crate::check::random_kernels::tree::{Kind, Node};

/// What a kernel takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Elements are read.
    In,
    /// Elements are written.
    Out,
    /// So many elements are added to or written, whatever the count.
    Few(usize),
    Number,
    Count,
    /// A small whole number.
    Int,
    Halves,
    /// A record: what is written, what is read, a number and the count.
    Record,
    /// A record of two numbers.
    Numbers,
}

/// How threads share the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Line,
    Plane,
    Space,
    Stride,
    /// One thread does all.
    Single,
    /// One block, whose threads work together.
    Together,
}

/// A kernel that can be launched.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    pub(super) name: String,
    /// The arguments of its template.
    pub(super) template: &'static str,
    pub(super) roles: Vec<Role>,
    pub(super) form: Form,
    pub(super) want: Want,
    /// The types of its records.
    pub(super) record: Option<String>,
}

/// What is wanted of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// Out of one or two arrays, and a number perhaps, another.
    Map { inputs: usize },
    /// An array changes in place.
    Update { inputs: usize },
    /// Few numbers from an array.
    Reduce,
    /// One thread goes through an array that may overlap with another.
    Sequential,
    /// All in a struct.
    Record,
    /// With numbers in a struct.
    Numbers,
    /// With a table of halves.
    Halves,
}

impl Want {
    /// How many arrays are read.
    pub(super) fn inputs(self) -> usize {
        match self {
            Want::Map { inputs } | Want::Update { inputs } => inputs,
            Want::Reduce | Want::Sequential | Want::Halves | Want::Numbers => 1,
            Want::Record => 0,
        }
    }
}

/// The position of a thread, by form.
const LINE: &str = "blockIdx.x * blockDim.x + threadIdx.x";
const PLANE: &str =
    "(blockIdx.y * blockDim.y + threadIdx.y) * (gridDim.x * blockDim.x) + blockIdx.x * blockDim.x + threadIdx.x";
const SPACE: &str = "((blockIdx.z * blockDim.z + threadIdx.z) * (gridDim.y * blockDim.y) + blockIdx.y * blockDim.y + \
                     threadIdx.y) * (gridDim.x * blockDim.x) + blockIdx.x * blockDim.x + threadIdx.x";

impl Ctx {
    /// A kernel, one that there is already or a new one.
    pub(super) fn kernel(&mut self, want: Want) -> Kernel {
        let fit: Vec<Kernel> = self.kernels.iter().filter(|kernel| kernel.want == want).cloned().collect();
        if !fit.is_empty() && self.chance(40) {
            return self.one_of(&fit);
        }
        let kernel = self.new_kernel(want);
        self.kernels.push(kernel.clone());
        kernel
    }

    pub(super) fn new_kernel(&mut self, want: Want) -> Kernel {
        let form = match want {
            Want::Sequential => Form::Single,
            Want::Reduce => self.one_of(&[Form::Single, Form::Together, Form::Line, Form::Stride]),
            Want::Map { .. } | Want::Update { .. } | Want::Record | Want::Numbers | Want::Halves => {
                self.one_of(&[Form::Line, Form::Line, Form::Plane, Form::Space, Form::Stride, Form::Together])
            }
        };
        // Templates of a type and a number.
        let is_template = self.chance(25) && want != Want::Record && want != Want::Numbers;
        if is_template {
            self.feature(Feature::Template);
        }
        let mut kernel = Kernel {
            name: self.name('k'),
            template: if is_template { ["<double, 2>", "<double, 3>"][self.below(2)] } else { "" },
            roles: Vec::new(),
            form,
            want,
            record: None,
        };
        let mut parts = Parts { real: if is_template { "T" } else { "double" }, ..Parts::default() };
        self.signature(&mut kernel, &mut parts);
        let body = self.body(&kernel, &mut parts);
        let head = if is_template { "template <typename T, int N> " } else { "" };
        let pattern = format!("{head}__global__ void #{}#({}) $", kernel.name, parts.params.join(", "));
        let node = self.node(Kind::Global, &pattern, vec![body]);
        self.globals.push(node);
        kernel
    }

    /// Chooses parameters.
    fn signature(&mut self, kernel: &mut Kernel, parts: &mut Parts) {
        let real = parts.real;
        let mut add = |ctx: &mut Ctx, role: Role, ty: &str| {
            let name = ctx.name('v');
            parts.params.push(format!("{ty} #{name}#"));
            kernel.roles.push(role);
            name
        };
        let inputs = kernel.want.inputs();
        let mut names = Vec::new();
        for _ in 0..inputs {
            names.push(add(self, Role::In, &format!("const {real}*")));
        }
        let out = match kernel.want {
            Want::Reduce => {
                parts.few = if matches!(kernel.form, Form::Line | Form::Stride) { 1 + self.below(3) } else { 1 };
                add(self, Role::Few(parts.few), &format!("{real}*"))
            }
            Want::Record => {
                let record = self.record_type();
                let name = add(self, Role::Record, &record);
                kernel.record = Some(record);
                parts.count = format!("{name}.n");
                parts.numbers.push(format!("{name}.c"));
                names.push(format!("{name}.in"));
                format!("{name}.out")
            }
            Want::Map { .. } | Want::Update { .. } | Want::Sequential | Want::Numbers | Want::Halves => {
                add(self, Role::Out, &format!("{real}*"))
            }
        };
        if kernel.want == Want::Numbers {
            let record = self.numbers_type();
            let name = add(self, Role::Numbers, &record);
            kernel.record = Some(record);
            parts.numbers.extend([format!("{name}.a"), format!("{name}.b")]);
        }
        if kernel.want == Want::Halves {
            self.feature(Feature::Half);
            parts.half = Some(add(self, Role::Halves, "const __half*"));
        }
        if self.chance(65) && kernel.want != Want::Record {
            let name = add(self, Role::Number, real);
            parts.numbers.push(name);
        }
        if self.chance(20) {
            let name = add(self, Role::Int, "int");
            parts.numbers.push(format!("0.2 * {name}"));
        }
        if kernel.want != Want::Record {
            parts.count = add(self, Role::Count, "int");
        }
        parts.inputs = names;
        parts.out = out;
    }

    fn body(&mut self, kernel: &Kernel, parts: &mut Parts) -> Node {
        let index = self.name('v');
        parts.index = index.clone();
        let count = parts.count.clone();
        let start = match kernel.form {
            Form::Line | Form::Stride => LINE,
            Form::Plane => PLANE,
            Form::Space => SPACE,
            Form::Together => "threadIdx.x",
            Form::Single => "0",
        };
        match kernel.form {
            Form::Plane => self.feature(Feature::Block2D),
            Form::Space => self.feature(Feature::Block3D),
            Form::Stride => self.feature(Feature::GridStride),
            Form::Line | Form::Single | Form::Together => {}
        }
        let declared = format!("int #{index}# = {start};");
        let statements = match kernel.form {
            Form::Line | Form::Plane | Form::Space => {
                let first = self.node(Kind::Fixed, &declared, Vec::new());
                if self.chance(50) {
                    self.feature(Feature::EarlyReturn);
                    let guard = self.node(Kind::Fixed, &format!("if ({index} >= {count}) return;"), Vec::new());
                    let mut all = vec![first, guard];
                    all.extend(self.work(kernel, parts, true));
                    all
                } else {
                    let work = self.work(kernel, parts, false);
                    let work = self.block(work);
                    vec![first, self.node(Kind::Fixed, &format!("if ({index} < {count}) $"), vec![work])]
                }
            }
            Form::Stride => {
                let work = self.work(kernel, parts, false);
                let work = self.block(work);
                let pattern =
                    format!("for (int #{index}# = {start}; {index} < {count}; {index} += gridDim.x * blockDim.x) $");
                vec![self.node(Kind::Fixed, &pattern, vec![work])]
            }
            Form::Single => self.single(kernel, parts),
            Form::Together => self.together(kernel, parts, &declared),
        };
        self.block(statements)
    }

    /// What a thread does for an element.
    fn work(&mut self, kernel: &Kernel, parts: &Parts, may_return: bool) -> Vec<Node> {
        let mut atoms = parts.atoms(kernel.want);
        if !self.in_helper && self.chance(12) {
            atoms.extend(self.symbol_atoms(parts));
        }
        if let Some(setting) = &self.read_setting {
            atoms.extend(vec![format!("{setting}[{} % 3]", parts.index); 3]);
        }
        let mut all = Vec::new();
        for _ in 0..self.below(3) {
            all.extend(self.device_statement(parts, &mut atoms));
        }
        if !parts.inputs.is_empty() && self.chance(12) {
            let (statements, sum) = self.walk(parts);
            all.extend(statements);
            atoms.extend([sum.clone(), sum]);
        }
        let value = self.expr(&atoms, 2);
        let (out, index) = (&parts.out, &parts.index);
        if may_return && kernel.want != Want::Reduce && self.chance(15) {
            self.feature(Feature::EarlyReturn);
            let other = self.expr(&atoms, 1);
            let pattern = format!("if ({index} % 3 == 1) {{ {out}[{index}] = $; return; }}");
            all.push(self.statement(&pattern, vec![other]));
        }
        let pattern = match kernel.want {
            Want::Reduce => {
                self.feature(Feature::AtomicAdd);
                format!("atomicAdd(&{out}[{index} % {}], 0.12 * $);", parts.few)
            }
            Want::Update { .. } => self.one_of(&[
                format!("{out}[{index}] += 0.2 * $;"),
                format!("{out}[{index}] = 0.7 * {out}[{index}] + 0.3 * $;"),
                format!("{out}[{index}] *= 0.9 - 0.2 * $;"),
                format!("{out}[{index}] = {out}[{index}] - 0.15 * $;"),
            ]),
            Want::Map { .. } | Want::Record | Want::Numbers | Want::Halves | Want::Sequential => {
                format!("{out}[{index}] = $;")
            }
        };
        all.push(self.node(Kind::Fixed, &pattern, vec![value]));
        all
    }

    /// A pointer goes through a part of an array, by steps that differ; what it reads is summed.
    fn walk(&mut self, parts: &Parts) -> (Vec<Node>, String) {
        self.feature(Feature::MovingPointer);
        let (index, count, real) = (&parts.index, &parts.count, parts.real);
        let input = self.one_of(&parts.inputs);
        let [pointer, sum, step] = ['v'; 3].map(|letter| self.name(letter));
        let declared = format!("const {real}* #{pointer}# = {input}; {real} #{sum}# = 0.1;");
        let steps = format!(
            "for (int #{step}# = 1; {step} < {count}; ++{step}) {{ {sum} = 0.4 * sin({sum}) + 0.3 * *{pointer} * *{pointer}; {pointer} += ({index} + {step}) % 2; }}"
        );
        let nodes = [declared, steps].map(|text| self.node(Kind::Fixed, &text, Vec::new()));
        (nodes.into(), sum)
    }

    /// One thread goes through all elements.
    fn single(&mut self, kernel: &Kernel, parts: &Parts) -> Vec<Node> {
        let (index, count, out, real) = (&parts.index, &parts.count, &parts.out, parts.real);
        let first = self.node(Kind::Fixed, "if (threadIdx.x != 0) return;", Vec::new());
        let head = format!("for (int #{index}# = 0; {index} < {count}; ++{index}) $");
        if kernel.want == Want::Reduce {
            let sum = self.name('v');
            let declared = self.node(Kind::Fixed, &format!("{real} #{sum}# = 0;"), Vec::new());
            let value = self.expr(&parts.atoms(kernel.want), 2);
            let add = self.node(Kind::Fixed, &format!("{sum} += $;"), vec![value]);
            let add = self.block(vec![add]);
            let all = self.node(Kind::Fixed, &head, vec![add]);
            let store = self.node(Kind::Fixed, &format!("{out}[0] = 0.25 * {sum};"), Vec::new());
            return vec![first, declared, all, store];
        }
        let work = self.work(kernel, parts, false);
        let work = self.block(work);
        vec![first, self.node(Kind::Fixed, &head, vec![work])]
    }

    /// Threads of one block exchange by shared memory.
    fn together(&mut self, kernel: &Kernel, parts: &Parts, declared: &str) -> Vec<Node> {
        self.feature(Feature::SharedMemory);
        let (index, count, out, real) = (&parts.index, &parts.count, &parts.out, parts.real);
        let tile = self.name('v');
        let first = parts.inputs.first().unwrap_or(&parts.out).clone();
        let mut all = vec![
            self.node(Kind::Fixed, &format!("__shared__ {real} #{tile}#[32];"), Vec::new()),
            self.node(Kind::Fixed, declared, Vec::new()),
        ];
        let fill = format!("{tile}[{index}] = {index} < {count} ? {first}[{index}] : {real}(0);");
        all.push(self.node(Kind::Fixed, &fill, Vec::new()));
        all.push(self.node(Kind::Fixed, "__syncthreads();", Vec::new()));
        if kernel.want == Want::Reduce {
            let step = self.name('v');
            let tree = format!(
                "for (int #{step}# = 16; {step} > 0; {step} /= 2) {{ if ({index} < {step}) {tile}[{index}] += 0.5 * sin({tile}[{index} + {step}]); __syncthreads(); }}"
            );
            all.push(self.node(Kind::Fixed, &tree, Vec::new()));
            let store = format!("if ({index} == 0) {out}[0] = 0.6 * {tile}[0];");
            all.push(self.node(Kind::Fixed, &store, Vec::new()));
            return all;
        }
        let mut inner = parts.clone();
        inner.extra.push(format!("{tile}[({index} + 1) % {count}]"));
        inner.extra.push(format!("{tile}[{count} - 1 - {index}]"));
        let work = self.work(kernel, &inner, false);
        let work = self.block(work);
        all.push(self.node(Kind::Fixed, &format!("if ({index} < {count}) $"), vec![work]));
        all
    }
}

/// What a kernel's text is made of.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    pub(super) real: &'static str,
    pub(super) params: Vec<String>,
    pub(super) inputs: Vec<String>,
    pub(super) out: String,
    pub(super) count: String,
    pub(super) index: String,
    pub(super) numbers: Vec<String>,
    pub(super) half: Option<String>,
    pub(super) extra: Vec<String>,
    pub(super) few: usize,
}

impl Parts {
    /// What a thread can compute with.
    pub(super) fn atoms(&self, want: Want) -> Vec<String> {
        let (index, count) = (&self.index, &self.count);
        let mut atoms = self.numbers.clone();
        for input in &self.inputs {
            atoms.push(format!("{input}[{index}]"));
            atoms.push(format!("{input}[({index} + 1) % {count}]"));
            atoms.push(format!("{input}[{count} - 1 - {index}]"));
        }
        if matches!(want, Want::Update { .. }) {
            atoms.push(format!("{}[{index}]", self.out));
        }
        if let Some(half) = &self.half {
            atoms.push(format!("(double)__half2float({half}[{index}])"));
            atoms.push(format!("(double)__half2float(__hmul({half}[{index}], {half}[0]))"));
            atoms.push(format!("(double)(float){half}[{index}]"));
        }
        atoms.extend(self.extra.iter().cloned());
        atoms
    }
}
