//! Functions of the host that the function calls: by value, by pointer, by reference, with out-parameters and results.

use super::super::features::Feature;
use super::kernel::Want;
use super::{Buffer, Ctx, Scalar, Whole};
use crate::check::random_kernels::tree::{Kind, Node};

impl Ctx {
    /// A call of a new function.
    pub(super) fn helper(&mut self) -> Vec<Node> {
        match self.below(8) {
            0 | 1 => self.helper_of_launches(),
            2..=4 => self.helper_of_pointers(),
            _ => self.helper_that_reads(),
        }
    }

    /// It launches.
    fn helper_of_launches(&mut self) -> Vec<Node> {
        let Some(output) = self.pick_buffer(|it| it.is_mutable) else { return Vec::new() };
        let Some(input) = self.pick_buffer(|it| it.name != output.name) else { return Vec::new() };
        let length = self.length.1;
        let name = self.name('f');
        let formals = [self.name('v'), self.name('v'), self.name('v'), self.name('v')];
        let [to, from, number, count] = formals;
        let by_reference = self.chance(40);
        self.feature(if by_reference { Feature::HelperByReference } else { Feature::HelperByValue });
        let body = self.apart(|ctx| {
            ctx.length = (count.clone(), length);
            ctx.buffers.push(Buffer { name: to.clone(), count: length, is_mutable: true, group: 0 });
            ctx.buffers.push(Buffer { name: from.clone(), count: length, is_mutable: false, group: 0 });
            ctx.scalars.push(Scalar { name: number.clone(), is_mutable: by_reference, is_read_back: false });
            let (least, most) = (length as i64, length as i64);
            ctx.wholes.push(Whole { name: count.clone(), least, most, is_counter: false });
            let mut body = Vec::new();
            for _ in 0..1 + ctx.below(2) {
                let target = Buffer { name: to.clone(), count: length, is_mutable: true, group: 0 };
                let want =
                    ctx.one_of(&[Want::Map { inputs: 1 }, Want::Update { inputs: 1 }, Want::Update { inputs: 0 }]);
                body.extend(ctx.launch_on(want, &target, 0));
            }
            if ctx.chance(25) {
                let inner = ctx.temporary();
                body.extend(inner);
            }
            if by_reference {
                let atoms = [number.clone()];
                let value = ctx.expr(&atoms, 2);
                body.push(ctx.statement(&format!("{number} = 0.6 * $;"), vec![value]));
            }
            body
        });
        let reference = if by_reference { "double&" } else { "double" };
        let pattern = format!(
            "static void #{name}#(double* #{to}#, const double* #{from}#, {reference} #{number}#, int #{count}#) $"
        );
        let global = self.node(Kind::Global, &pattern, vec![body]);
        self.globals.push(global);
        let mut reads = vec![input.name.clone()];
        reads.extend(self.symbols.iter().map(|symbol| symbol.name.clone()));
        let mut all = self.waits(0, &reads, std::slice::from_ref(&output.name));
        let (target, source) = (self.at_offset(&output, length), self.at_offset(&input, length));
        let length = self.length.0.clone();
        if !by_reference {
            let value = self.number_argument();
            all.push(self.statement(&format!("{name}({target}, {source}, $, {length});"), vec![value]));
            return all;
        }
        let changing: Vec<String> = self.scalars.iter().filter(|it| it.is_mutable).map(|it| it.name.clone()).collect();
        let number = if changing.is_empty() || self.chance(40) {
            let number = self.name('v');
            let value = self.number_argument();
            all.push(self.statement(&format!("double #{number}# = $;"), vec![value]));
            self.scalars.push(Scalar { name: number.clone(), is_mutable: true, is_read_back: false });
            number
        } else {
            self.one_of(&changing)
        };
        all.push(self.statement(&format!("{name}({target}, {source}, {number}, {length});"), Vec::new()));
        all
    }

    /// It exchanges two pointers, or gives one the value of another for a launch.
    fn helper_of_pointers(&mut self) -> Vec<Node> {
        let Some(first) = self.pick_buffer(|it| it.is_mutable) else { return Vec::new() };
        let second = self.pick_buffer(|it| {
            it.is_mutable && it.name != first.name && it.group == first.group && it.count == first.count
        });
        let Some(second) = second else { return self.helper_of_launches() };
        self.feature(Feature::HelperPointerReference);
        let (name, one, other, third) = (self.name('f'), self.name('v'), self.name('v'), self.name('v'));
        let exchange = self.one_of(&[
            format!("std::swap({one}, {other});"),
            format!("double* #{third}# = {one}; {one} = {other}; {other} = {third};"),
        ]);
        let pattern = format!("static void #{name}#(double*& #{one}#, double*& #{other}#) {{ {exchange} }}");
        let global = self.node(Kind::Global, &pattern, Vec::new());
        self.globals.push(global);
        let stream = self.any_stream();
        let mut all = self.launch_map(&second, &first, stream);
        let (of_one, of_other) = (self.uses.remove(&first.name), self.uses.remove(&second.name));
        self.uses.extend(of_one.map(|found| (second.name.clone(), found)));
        self.uses.extend(of_other.map(|found| (first.name.clone(), found)));
        all.push(self.statement(&format!("{name}({}, {});", first.name, second.name), Vec::new()));
        all
    }

    /// It brings a number back: as its result, or through a pointer or a reference.
    fn helper_that_reads(&mut self) -> Vec<Node> {
        let Some(from) = self.pick_buffer(|_| true) else { return Vec::new() };
        let (name, array, number) = (self.name('f'), self.name('v'), self.name('v'));
        let offset = self.below(2);
        let source = if offset == 0 { array.clone() } else { format!("{array} + {offset}") };
        let copy = |to: &str| format!("cudaMemcpy({to}, {source}, sizeof(double), cudaMemcpyDeviceToHost);");
        let value = self.expr(std::slice::from_ref(&number), 2);
        let result = self.name('v');
        let (pattern, call) = match self.below(3) {
            0 => {
                self.feature(Feature::HelperResult);
                let body = format!("{{ double #{number}#; {} return $; }}", copy(&format!("&{number}")));
                let pattern = format!("static double #{name}#(const double* #{array}#) {body}");
                (pattern, format!("double #{result}# = {name}(ARRAY);"))
            }
            1 => {
                self.feature(Feature::HelperByReference);
                let body = format!("{{ {} {number} = $; }}", copy(&format!("&{number}")));
                let pattern = format!("static void #{name}#(const double* #{array}#, double& #{number}#) {body}");
                (pattern, format!("double #{result}# = 0.5; {name}(ARRAY, {result});"))
            }
            _ => {
                self.feature(Feature::HelperOutParameter);
                let body = format!("{{ {} *{number} = 0.8 * *{number} + 0.1; }}", copy(&number));
                let pattern = format!("static void #{name}#(const double* #{array}#, double* #{number}#) {body}");
                (pattern, format!("double #{result}#; {name}(ARRAY, &{result});"))
            }
        };
        let global = self.node(Kind::Global, &pattern, vec![value]);
        self.globals.push(global);
        if self.loops > 0 {
            self.feature(Feature::ReadBackInLoop);
        }
        let mut all = self.waits(0, std::slice::from_ref(&from.name), &[]);
        let source = self.at_offset(&from, 2);
        all.push(self.statement(&call.replace("ARRAY", &source), Vec::new()));
        self.scalars.push(Scalar { name: result, is_mutable: true, is_read_back: true });
        all.extend(self.launch());
        all
    }

    /// Makes a body that knows nothing of what is around.
    fn apart(&mut self, make: impl FnOnce(&mut Ctx) -> Vec<Node>) -> Node {
        let kept = (
            std::mem::take(&mut self.buffers),
            std::mem::take(&mut self.host_buffers),
            std::mem::take(&mut self.scalars),
            std::mem::take(&mut self.wholes),
            std::mem::take(&mut self.streams),
            std::mem::take(&mut self.uses),
            self.length.clone(),
            self.in_helper,
        );
        self.in_helper = true;
        let body = make(self);
        let body = self.block(body);
        (
            self.buffers,
            self.host_buffers,
            self.scalars,
            self.wholes,
            self.streams,
            self.uses,
            self.length,
            self.in_helper,
        ) = kept;
        body
    }
}
