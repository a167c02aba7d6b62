//! A random program as a tree that can be printed, and made smaller in ways that keep it a valid program. The nodes are
//! those of random kernels. When a name goes, all statements that use it go too.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;

use super::features::Feature;
use crate::check::random_kernels::tree::{Edit, Kind, Node, Part, Scope, edit, edits_of, print};

/// What the oracle passes for a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Argument {
    /// An array on the device of so many numbers.
    Device(usize),
    /// An array on the host.
    Host(usize),
    /// A number.
    Number,
    Int(i64),
    /// Constant halves on the device.
    Halves(usize),
}

#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub(crate) ty: &'static str,
    pub(crate) name: String,
    pub(crate) argument: Argument,
}

/// A variable of the device that carries derivatives: the node that declares it, its name and how many numbers it has.
#[derive(Debug, Clone)]
pub(crate) struct Symbol {
    pub(crate) node: u32,
    pub(crate) name: String,
    pub(crate) count: usize,
    /// Kernels cannot write it.
    pub(crate) is_constant: bool,
}

/// A host function and what it uses.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) seed: u64,
    pub(crate) globals: Vec<Node>,
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) params: Vec<Param>,
    pub(crate) body: Node,
    /// The expression that it returns, if any.
    pub(crate) result: Option<Node>,
    pub(crate) features: BTreeSet<Feature>,
}

/// The oracle, which every file begins with.
pub(crate) const ORACLE: &str = include_str!("oracle.hpp");

/// A file of programs, and at which line each begins.
pub(crate) fn file_of(programs: &[Program]) -> (String, Vec<usize>) {
    let mut text = ORACLE.to_owned();
    let mut lines = Vec::new();
    for (index, program) in programs.iter().enumerate() {
        lines.push(text.matches('\n').count() + 1);
        text.push_str(&program.text(&name_of(index)));
    }
    text.push_str("\nint main(int argc, char** argv) {\n  return oracle::run({\n");
    for index in 0..programs.len() {
        let name = name_of(index);
        let _ = writeln!(text, "    {{\"{name}\", check_{name}}},");
    }
    text.push_str("  }, argc, argv);\n}\n");
    (text, lines)
}

/// The name of the namespace of a program in a file.
pub(crate) fn name_of(index: usize) -> String {
    format!("p{index}")
}

impl Program {
    /// The function in a namespace, and what compares its gradient.
    fn text(&self, name: &str) -> String {
        let mut text = format!("\nnamespace {name} {{\n");
        for global in &self.globals {
            print(global, 0, &mut text);
            text.push('\n');
        }
        let params: Vec<String> = self.params.iter().map(|param| format!("{} {}", param.ty, param.name)).collect();
        let ty = if self.result.is_some() { "double" } else { "void" };
        let _ = write!(text, "{ty} f({}) {{", params.join(", "));
        print(&self.body, 0, &mut text);
        if let Some(result) = &self.result {
            text.push_str("\n  return ");
            print(result, 2, &mut text);
            text.push(';');
        }
        let _ = write!(text, "\n}}\n}}  // namespace {name}\n\n{}", self.caller(name));
        text.replace('@', "")
    }

    fn caller(&self, name: &str) -> String {
        let mut text = format!("static void check_{name}() {{\n  oracle::Case o({}ull);\n", self.seed);
        let (mut arguments, mut names, mut adjoints) = (Vec::new(), Vec::new(), Vec::new());
        for Param { name, argument, .. } in &self.params {
            let place = match argument {
                Argument::Device(count) => format!("auto& {name} = o.device(\"{name}\", {count});"),
                Argument::Host(count) => format!("auto& {name} = o.host(\"{name}\", {count});"),
                Argument::Number => format!("auto& {name} = o.host(\"{name}\", 1);"),
                Argument::Int(value) => format!("int {name} = {value};"),
                Argument::Halves(count) => format!("const __half* {name} = o.halves({count});"),
            };
            let _ = writeln!(text, "  {place}");
            match argument {
                Argument::Int(_) | Argument::Halves(_) => arguments.push(name.clone()),
                Argument::Number => arguments.push(format!("*{name}.p")),
                Argument::Device(_) | Argument::Host(_) => arguments.push(format!("{name}.p")),
            }
            if !matches!(argument, Argument::Int(_) | Argument::Halves(_)) {
                names.push(name.clone());
                adjoints.push(format!("{name}.d"));
            }
        }
        for Symbol { name: symbol, count, .. } in self.live_symbols() {
            let _ = writeln!(text, "  void* at_{symbol};\n  cudaGetSymbolAddress(&at_{symbol}, {name}::{symbol});");
            let _ = writeln!(text, "  auto& {symbol} = o.variable(\"{symbol}\", {count}, (double*)at_{symbol});");
            names.push(format!("{name}::{symbol}"));
            adjoints.push(format!("{symbol}.d"));
        }
        let (plain, names) = (arguments.join(", "), names.join(", "));
        arguments.extend(adjoints);
        let all = arguments.join(", ");
        let _ = writeln!(text, "  auto g = cotangent::gradient({name}::f, \"{names}\");");
        let (plain, gradient) = match self.result {
            Some(_) => (format!("return {name}::f({plain});"), format!("return g.execute({all});")),
            None => (format!("{name}::f({plain}); return 0.0;"), format!("g.execute({all}); return 0.0;")),
        };
        let _ = write!(text, "  o.compare([&] {{ {plain} }}, [&] {{ {gradient} }});\n}}\n");
        text
    }

    fn live_symbols(&self) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter().filter(|symbol| self.globals.iter().any(|global| global.id == symbol.node))
    }

    /// The program alone in a file, with a comment.
    pub(crate) fn file(&self, comment: &str) -> String {
        let comment: String = comment.lines().map(|line| format!("// {}\n", line.trim_end())).collect();
        let (text, _) = file_of(std::slice::from_ref(self));
        format!("{comment}// seed {}; cotangent run --check\n{text}", self.seed)
    }

    /// The program without the oracle, with a comment.
    pub(crate) fn shown(&self, comment: &str) -> String {
        let comment: String = comment.lines().map(|line| format!("// {}\n", line.trim_end())).collect();
        format!("{comment}// seed {}{}", self.seed, self.text(&name_of(0)))
    }

    /// How much there is of it.
    pub(crate) fn size(&self) -> usize {
        self.text("p").len()
    }

    /// The program after edits, without what uses names that are gone; none if nothing sensible is left.
    pub(crate) fn edited(&self, edits: &[Edit]) -> Option<Program> {
        let mut program = self.clone();
        program.globals.retain(|global| !edits.contains(&Edit::Delete(global.id)));
        program.params.retain(|param| !edits.contains(&Edit::Parameter(param.name.clone())));
        let roots = program.globals.iter_mut().chain([&mut program.body]).chain(program.result.as_mut());
        roots.for_each(|node| edit(node, edits));
        if edits.iter().any(|edit| self.result.as_ref().is_some_and(|result| *edit == Edit::Delete(result.id))) {
            program.result = None;
        }
        // Whatever uses a name that is gone goes, and with it its own names.
        for _ in 0..20 {
            if program.is_valid() {
                program.prune();
                let has_active = program
                    .params
                    .iter()
                    .any(|param| matches!(param.argument, Argument::Device(_) | Argument::Host(_) | Argument::Number));
                return has_active.then_some(program);
            }
            let mut scope = Scope::default();
            program.globals.retain_mut(|global| {
                let known = scope.names.clone();
                let is_kept = keep(global, &mut scope);
                if !is_kept {
                    scope.names = known;
                }
                is_kept
            });
            scope.names.extend(program.params.iter().map(|param| param.name.clone()));
            keep(&mut program.body, &mut scope);
            if program.result.as_mut().is_some_and(|result| !keep(result, &mut scope)) {
                program.result = None;
            }
        }
        None
    }

    /// Takes out functions, structs and variables that nothing uses.
    pub(crate) fn prune(&mut self) {
        loop {
            let mut used = HashSet::new();
            let roots = self.globals.iter().chain([&self.body]).chain(self.result.as_ref());
            roots.for_each(|node| words(node, &mut used));
            let before = self.globals.len();
            self.globals.retain(|global| {
                let own = global.parts.iter().find_map(|part| match part {
                    Part::Define(name) => Some(name),
                    Part::Text(_) | Part::Node(_) => None,
                });
                own.is_none_or(|own| used.contains(own))
            });
            if self.globals.len() == before {
                return;
            }
        }
    }

    fn is_valid(&self) -> bool {
        let mut scope = Scope::default();
        let globals = self.globals.iter().all(|global| scope.accepts(global, 0, 0));
        scope.names.extend(self.params.iter().map(|param| param.name.clone()));
        globals && scope.accepts(&self.body, 0, 0) && self.result.as_ref().is_none_or(|it| scope.accepts(it, 0, 0))
    }

    /// All single edits after which something sensible is left, those that take most away first.
    pub(crate) fn edits(&self) -> Vec<(Edit, Program)> {
        let mut edits: Vec<Edit> = self.params.iter().map(|param| Edit::Parameter(param.name.clone())).collect();
        let roots = self.globals.iter().chain([&self.body]).chain(self.result.as_ref());
        roots.for_each(|node| edits_of(node, &mut edits));
        edits.extend(self.result.iter().map(|result| Edit::Delete(result.id)));
        let tried = edits.into_iter().filter_map(|edit| {
            let program = self.edited(std::slice::from_ref(&edit))?;
            (program.size() < self.size()).then_some((edit, program))
        });
        let mut tried: Vec<(Edit, Program)> = tried.collect();
        tried.sort_by_key(|(_, program)| program.size());
        tried
    }
}

/// All words of a node's text, but for what it declares.
fn words(node: &Node, used: &mut HashSet<String>) {
    for part in &node.parts {
        match part {
            Part::Text(text) => used.extend(text.split(|it: char| !it.is_alphanumeric()).map(str::to_owned)),
            Part::Node(child) => words(child, used),
            Part::Define(_) => {}
        }
    }
}

/// Takes out of a node whatever uses unknown names; whether the node itself can stay.
fn keep(node: &mut Node, scope: &mut Scope) -> bool {
    let is_block = node.kind == Kind::Block;
    let mut stays = true;
    node.parts.retain_mut(|part| match part {
        Part::Define(name) => {
            scope.names.insert(name.clone());
            true
        }
        Part::Text(text) => {
            stays &= scope.knows(text);
            true
        }
        Part::Node(child) => {
            let known = scope.names.clone();
            let is_kept = keep(child, scope);
            if !is_kept {
                scope.names = known;
            }
            stays &= is_kept || is_block;
            is_kept || !is_block
        }
    });
    stays || is_block
}
