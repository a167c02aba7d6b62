//! Statements of kernels, the functions that they call, and structs.

use super::super::features::Feature;
use super::super::tree::Symbol;
use super::Ctx;
use super::kernel::Parts;
use crate::check::random_kernels::tree::{Kind, Node};

impl Ctx {
    /// A few statements of a thread; what they compute is one more part of expressions.
    pub(super) fn device_statement(&mut self, parts: &Parts, atoms: &mut Vec<String>) -> Vec<Node> {
        let real = parts.real;
        let name = self.name('v');
        let value = self.expr(atoms, 2);
        let declared = self.statement(&format!("{real} #{name}# = $;"), vec![value]);
        let mut all = vec![declared];
        match self.below(9) {
            0 => {
                let other = self.expr(atoms, 1);
                let condition = self.device_condition(parts);
                all.push(self.statement(&format!("if ({condition}) {name} = $;"), vec![other]));
            }
            1 => {
                let other = self.expr(atoms, 1);
                let counter = self.name('v');
                let trips = if real == "T" { "N" } else { "3" };
                let pattern = format!(
                    "for (int #{counter}# = 0; {counter} < {trips}; ++{counter}) {name} = 0.6 * {name} * $ + 0.1 * {counter};"
                );
                all.push(self.statement(&pattern, vec![other]));
            }
            2 => {
                self.feature(Feature::Lambda);
                let (lambda, formal) = (self.name('v'), self.name('v'));
                let mut inner = atoms.clone();
                inner.push(formal.clone());
                inner.push(formal.clone());
                let value = self.expr(&inner, 2);
                let capture = self.one_of(&["&", "="]);
                let pattern = format!("auto #{lambda}# = [{capture}]({real} #{formal}#) {{ return $; }};");
                all.push(self.statement(&pattern, vec![value]));
                atoms.push(format!("{lambda}({name})"));
            }
            3 | 4 => all.push(self.call_by_reference(&name, parts, atoms)),
            5 | 6 if !parts.inputs.is_empty() => all.push(self.call_with_pointer(&name, parts)),
            7 => {
                let function = self.value_function();
                atoms.push(format!("{function}({name}, {})", self.one_of(atoms)));
            }
            _ => {}
        }
        atoms.push(name);
        all
    }

    fn device_condition(&mut self, parts: &Parts) -> String {
        let index = &parts.index;
        match (self.below(3), parts.inputs.first()) {
            (0, Some(input)) => format!("{input}[{index}] > 0.{}", 30 + self.below(40)),
            (1, _) => format!("{index} > 1"),
            _ => format!("{index} % 2 == 0"),
        }
    }

    /// Adds a function to the file.
    fn global(&mut self, pattern: &str, inner: Vec<Node>) {
        let node = self.node(Kind::Global, pattern, inner);
        self.globals.push(node);
    }

    /// A function of numbers.
    pub(super) fn value_function(&mut self) -> String {
        let (name, a, b) = (self.name('f'), self.name('v'), self.name('v'));
        let value = self.expr(&[a.clone(), b.clone()], 2);
        if self.chance(40) {
            self.feature(Feature::Template);
            let pattern =
                format!("template <typename T> __host__ __device__ T #{name}#(T #{a}#, T #{b}#) {{ return $; }}");
            self.global(&pattern, vec![value]);
        } else {
            let pattern = format!("__host__ __device__ double #{name}#(double #{a}#, double #{b}#) {{ return $; }}");
            self.global(&pattern, vec![value]);
        }
        name
    }

    /// A call of a function that changes a number of the thread's.
    fn call_by_reference(&mut self, target: &str, parts: &Parts, atoms: &[String]) -> Node {
        let (name, a, b) = (self.name('f'), self.name('v'), self.name('v'));
        let argument = self.expr(atoms, 1);
        if self.chance(50) {
            self.feature(Feature::DeviceReference);
            let value = self.expr(&[a.clone(), b.clone()], 2);
            let pattern = format!("__device__ void #{name}#(double #{a}#, double& #{b}#) {{ {b} = $; }}");
            self.global(&pattern, vec![value]);
            return self.statement(&format!("{name}($, {target});"), vec![argument]);
        }
        self.feature(Feature::DeviceOutPointer);
        let value = self.expr(&[a.clone(), format!("*{b}")], 2);
        let pattern = format!("__device__ void #{name}#(const double& #{a}#, double* #{b}#) {{ *{b} = $; }}");
        self.global(&pattern, vec![value]);
        let _ = parts;
        self.statement(&format!("{name}($, &{target});"), vec![argument])
    }

    /// A call of a function that takes a pointer to an input, by value or by reference, and may move it.
    fn call_with_pointer(&mut self, target: &str, parts: &Parts) -> Node {
        let input = self.one_of(&parts.inputs);
        let (name, p, i, pointer) = (self.name('f'), self.name('v'), self.name('v'), self.name('v'));
        let (index, real) = (&parts.index, parts.real);
        if self.chance(30) {
            let value = self.expr(&[format!("{p}[{i}]"), format!("{p}[0]")], 2);
            let pattern = format!("__device__ double #{name}#(const double* #{p}#, int #{i}#) {{ return $; }}");
            self.global(&pattern, vec![value]);
            return self.statement(&format!("{target} = 0.5 * {target} + {name}({input}, {index});"), Vec::new());
        }
        self.feature(Feature::DevicePointerReference);
        if self.chance(50) {
            let value = self.expr(&[format!("{p}[{i}]")], 2);
            let pattern = format!("__device__ double #{name}#(const double*& #{p}#, int #{i}#) {{ return $; }}");
            self.global(&pattern, vec![value]);
            let call =
                format!("const {real}* #{pointer}# = {input}; {target} = 0.5 * {target} + {name}({pointer}, {index});");
            return self.statement(&call, Vec::new());
        }
        // It moves the pointer, and what it points to then is used.
        let value = self.expr(&[format!("{p}[0]")], 2);
        let pattern =
            format!("__device__ double #{name}#(const double*& #{p}#, int #{i}#) {{ {p} = {p} + {i}; return $; }}");
        self.global(&pattern, vec![value]);
        let call = format!(
            "const {real}* #{pointer}# = {input}; {target} = 0.5 * {name}({pointer}, {index}) + 0.3 * {pointer}[0];"
        );
        self.statement(&call, Vec::new())
    }

    /// A struct with pointers.
    pub(super) fn record_type(&mut self) -> String {
        let name = self.name('S');
        let pattern = format!("struct #{name}# {{ double* out; const double* in; double c; int n; }};");
        self.global(&pattern, Vec::new());
        name
    }

    /// A struct of numbers.
    pub(super) fn numbers_type(&mut self) -> String {
        let name = self.name('S');
        let pattern = format!("struct #{name}# {{ double a; double b; }};");
        self.global(&pattern, Vec::new());
        name
    }

    /// What a kernel can read of a variable of the device.
    pub(super) fn symbol_atoms(&mut self, parts: &Parts) -> Vec<String> {
        self.feature(Feature::DeviceVariable);
        let Symbol { name, count, .. } = self.symbol();
        let index = &parts.index;
        vec![if count == 1 { name } else { format!("{name}[{index} % {count}]") }; 2]
    }

    /// A variable of the device, one that there is already or a new one.
    pub(super) fn symbol(&mut self) -> Symbol {
        if !self.symbols.is_empty() && self.chance(60) {
            return self.one_of(&self.symbols.clone());
        }
        let is_constant = self.chance(35);
        self.new_symbol(is_constant)
    }

    pub(super) fn new_symbol(&mut self, is_constant: bool) -> Symbol {
        let name = self.name('v');
        let count = [1, 3][self.below(2)];
        let space = if is_constant { "__constant__" } else { "__device__" };
        let pattern = match count {
            1 => format!("{space} double #{name}#;"),
            _ => format!("{space} double #{name}#[{count}];"),
        };
        let node = self.node(Kind::Global, &pattern, Vec::new());
        let symbol = Symbol { node: node.id, name, count, is_constant };
        self.globals.push(node);
        self.symbols.push(symbol.clone());
        symbol
    }
}
