//! A random kernel as a tree that can be printed, and made smaller in ways that keep it a valid program: whatever may go
//! (statements, arguments of functions, expressions) is a node, and names are unique, so that what is used but no longer
//! declared is seen without a compiler.

use std::collections::HashSet;
use std::fmt::Write;

/// What a node is to whoever makes the kernel smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Statements in braces.
    Block,
    /// It can go.
    Statement,
    /// A statement with a block that `break` and `continue` can be in.
    Loop,
    /// A statement with blocks that `break` can be in.
    Switch,
    /// It stays as long as the block that it is in.
    Fixed,
    /// A function or struct, which can go if nothing uses it.
    Global,
    /// An expression that a literal or one of its own parts can replace.
    Float,
    /// An expression that 0 can replace.
    Int,
    /// An expression that `true` or `false` can replace.
    Condition,
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) id: u32,
    pub(crate) kind: Kind,
    pub(crate) parts: Vec<Part>,
}

#[derive(Debug, Clone)]
pub(crate) enum Part {
    Text(String),
    /// A name that is declared here.
    Define(String),
    Node(Node),
}

/// A parameter of the kernel and the argument for it, in the form of `cotangent check --args`.
#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub(crate) ty: String,
    pub(crate) name: String,
    pub(crate) argument: String,
}

/// A kernel and what it uses. In its text `@` ends the names of functions and structs; an ending takes its place, so that
/// many kernels stand in one file.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    pub(crate) seed: u64,
    pub(crate) globals: Vec<Node>,
    pub(crate) params: Vec<Param>,
    pub(crate) body: Node,
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
}

/// One way to make a kernel smaller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    Delete(u32),
    /// A statement by the statements in its blocks.
    Unwrap(u32),
    Replace(u32, &'static str),
    /// An expression by one of its parts.
    Hoist(u32, u32),
    Parameter(String),
}

impl Kernel {
    pub(crate) fn name(ending: &str) -> String {
        format!("kernel{ending}")
    }

    /// The kernel as CUDA.
    pub(crate) fn text(&self, ending: &str) -> String {
        let mut text = String::new();
        for global in &self.globals {
            print(global, 0, &mut text);
        }
        let params: Vec<String> = self.params.iter().map(|param| format!("{} {}", param.ty, param.name)).collect();
        let _ = write!(text, "__global__ void kernel@({}) {{", params.join(", "));
        print(&self.body, 0, &mut text);
        text.push_str("\n}\n");
        text.replace('@', ending)
    }

    /// The arguments, as `cotangent check` takes them.
    pub(crate) fn arguments(&self) -> String {
        let arguments: Vec<&str> = self.params.iter().map(|param| &*param.argument).collect();
        arguments.join(", ")
    }

    /// As a file of `fixtures/grad`.
    pub(crate) fn fixture(&self, comment: &str) -> String {
        let is_named = |param: &&Param| !matches!(&*param.ty, "int" | "const int*");
        let named: Vec<&str> = self.params.iter().filter(is_named).map(|param| &*param.name).collect();
        let comment: String = comment.lines().map(|line| format!("// {}\n", line.trim_end())).collect();
        let (blocks, threads, arguments) = (self.blocks, self.threads, self.arguments().replace('@', ""));
        format!(
            "{comment}// seed {}\n// grad: kernel wrt \"{}\"\n// run: kernel<<<{blocks}, {threads}>>>({arguments})\n{}",
            self.seed,
            named.join(", "),
            self.text("")
        )
    }

    pub(crate) fn edited(&self, edits: &[Edit]) -> Kernel {
        let mut kernel = self.clone();
        kernel.globals.retain(|global| !edits.contains(&Edit::Delete(global.id)));
        kernel.params.retain(|param| !edits.contains(&Edit::Parameter(param.name.clone())));
        kernel.globals.iter_mut().chain([&mut kernel.body]).for_each(|node| edit(node, edits));
        kernel
    }

    /// All single edits after which every name that is used is still declared.
    pub(crate) fn edits(&self) -> Vec<Edit> {
        let mut edits: Vec<Edit> = self.params.iter().map(|param| Edit::Parameter(param.name.clone())).collect();
        self.globals.iter().chain([&self.body]).for_each(|node| edits_of(node, &mut edits));
        edits.retain(|edit| self.edited(std::slice::from_ref(edit)).is_valid());
        edits
    }

    /// Whether every name is declared before it is used, and every `break` is in something.
    pub(crate) fn is_valid(&self) -> bool {
        let mut scope = Scope::default();
        let globals = self.globals.iter().all(|global| scope.accepts(global, 0, 0));
        scope.names.extend(self.params.iter().map(|param| param.name.clone()));
        let types = self.params.iter().all(|param| scope.knows(&param.ty));
        globals && types && scope.accepts(&self.body, 0, 0)
    }

    /// How much there is of it.
    pub(crate) fn size(&self) -> usize {
        self.text("").len()
    }
}

pub(crate) fn print(node: &Node, indent: usize, text: &mut String) {
    for part in &node.parts {
        match part {
            Part::Text(own) => text.push_str(&own.replace('\n', &format!("\n{:indent$}", ""))),
            Part::Define(name) => text.push_str(name),
            Part::Node(child) if node.kind == Kind::Block => {
                let _ = write!(text, "\n{:indent$}  ", "");
                print(child, indent + 2, text);
            }
            Part::Node(child) if child.kind == Kind::Block => {
                text.push('{');
                print(child, indent, text);
                let _ = write!(text, "\n{:indent$}}}", "");
            }
            Part::Node(child) => print(child, indent, text),
        }
    }
    if node.kind == Kind::Global {
        text.push('\n');
    }
}

/// What a statement is replaced by when it goes but its blocks stay.
fn inner(node: &Node) -> Vec<Part> {
    let blocks = node.parts.iter().filter_map(|part| match part {
        Part::Node(child) if child.kind == Kind::Block => Some(child),
        Part::Node(_) | Part::Text(_) | Part::Define(_) => None,
    });
    let parts = blocks.flat_map(|block| block.parts.iter().cloned());
    parts.filter(|part| !matches!(part, Part::Node(child) if child.kind == Kind::Fixed)).collect()
}

pub(crate) fn edit(node: &mut Node, edits: &[Edit]) {
    let mut parts = Vec::new();
    for part in std::mem::take(&mut node.parts) {
        let Part::Node(child) = part else {
            parts.push(part);
            continue;
        };
        let id = child.id;
        let own = edits.iter().find(|edit| match edit {
            Edit::Delete(of) | Edit::Unwrap(of) | Edit::Replace(of, _) | Edit::Hoist(of, _) => *of == id,
            Edit::Parameter(_) => false,
        });
        match own {
            Some(Edit::Delete(_)) => {}
            Some(Edit::Unwrap(_)) => parts.extend(inner(&child)),
            Some(Edit::Replace(_, text)) => {
                parts.push(Part::Node(Node { parts: vec![Part::Text((*text).to_owned())], ..child }));
            }
            Some(Edit::Hoist(_, of)) => {
                let found = child.parts.iter().find_map(|part| match part {
                    Part::Node(inner) if inner.id == *of => Some(inner.clone()),
                    Part::Node(_) | Part::Text(_) | Part::Define(_) => None,
                });
                parts.push(Part::Node(found.unwrap_or(child)));
            }
            Some(Edit::Parameter(_)) | None => parts.push(Part::Node(child)),
        }
    }
    for part in &mut parts {
        if let Part::Node(child) = part {
            edit(child, edits);
        }
    }
    node.parts = parts;
}

pub(crate) fn edits_of(node: &Node, edits: &mut Vec<Edit>) {
    let is = |text: &str| matches!(node.parts.as_slice(), [Part::Text(own)] if own == text);
    match node.kind {
        Kind::Statement | Kind::Loop | Kind::Switch => {
            edits.push(Edit::Delete(node.id));
            if node.parts.iter().any(|part| matches!(part, Part::Node(child) if child.kind == Kind::Block)) {
                edits.push(Edit::Unwrap(node.id));
            }
        }
        Kind::Global => edits.push(Edit::Delete(node.id)),
        Kind::Float if !is("0.5f") && !is("1.0f") => {
            edits.push(Edit::Replace(node.id, "0.5f"));
            for part in &node.parts {
                if let Part::Node(child) = part
                    && child.kind == Kind::Float
                {
                    edits.push(Edit::Hoist(node.id, child.id));
                }
            }
        }
        Kind::Int if !is("0") => edits.push(Edit::Replace(node.id, "0")),
        Kind::Condition if !is("true") && !is("false") => {
            edits.push(Edit::Replace(node.id, "true"));
            edits.push(Edit::Replace(node.id, "false"));
        }
        Kind::Block | Kind::Fixed | Kind::Float | Kind::Int | Kind::Condition => {}
    }
    for part in &node.parts {
        if let Part::Node(child) = part {
            edits_of(child, edits);
        }
    }
}

/// The names that are declared so far. Blocks need not end scopes: names are unique, and only what a block declares for
/// itself is taken out of it.
#[derive(Default)]
pub(crate) struct Scope {
    pub(crate) names: HashSet<String>,
}

impl Scope {
    pub(crate) fn accepts(&mut self, node: &Node, loops: usize, switches: usize) -> bool {
        let (loops, switches) = match node.kind {
            Kind::Loop => (loops + 1, switches),
            Kind::Switch => (loops, switches + 1),
            Kind::Block | Kind::Statement | Kind::Fixed | Kind::Global => (loops, switches),
            Kind::Float | Kind::Int | Kind::Condition => (loops, switches),
        };
        node.parts.iter().all(|part| match part {
            Part::Define(name) => {
                self.names.insert(name.clone());
                true
            }
            Part::Text(text) => {
                self.knows(text)
                    && (loops > 0 || !text.contains("continue"))
                    && (loops + switches > 0 || !text.contains("break"))
            }
            Part::Node(child) => self.accepts(child, loops, switches),
        })
    }

    /// Whether the names in a text, a letter and digits, are declared.
    pub(crate) fn knows(&self, text: &str) -> bool {
        let words = text.split(|character: char| !character.is_alphanumeric() && character != '_' && character != '@');
        words.filter(|word| is_name(word)).all(|word| self.names.contains(word))
    }
}

/// Names are `v3`, `f0@`, `k2`, `S1@`.
fn is_name(word: &str) -> bool {
    let digits = word.strip_prefix(['v', 'f', 'k', 'S']).map(|rest| rest.trim_end_matches('@'));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
}
