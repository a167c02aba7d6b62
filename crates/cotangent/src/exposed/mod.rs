//! Variables of a host function as its inputs and outputs: `main` and functions like it have no parameters for them.
//!
//! The function gets parameters, in a copy of the user's text with a few edits at Clang's offsets. For an input `v`,
//! `v_change` is added to what the last copy or fill from outside put into `v`; the caller passes zeros, and the derivative
//! is the one at the program's own input. For an output `v`, `v_result` receives what the first copy to the host reads. Where
//! the program neither fills nor reads it, `v@12` says where: after the statement of that line for an input, before it for an
//! output, all of the memory that was allocated for it. What comes after the last output is left out, but for what frees.
//! What is differentiated, and what is run as the oracle, is the edited text: a function like any other.

mod rest;

use crate::clang::{Ast, Kind, Node, NodeId};
use crate::diagnostic::{self, Diagnostic};
use crate::direct::{Edit, apply};
use crate::source::{FileId, Span};

/// A function and the variables of it that are named.
#[derive(Clone, Copy, Debug)]
pub struct Variables<'a> {
    /// The function, by its name.
    pub function: &'a str,
    /// Its inputs: parameters, and variables of it.
    pub inputs: &'a [String],
    /// Its outputs, variables of it.
    pub outputs: &'a [String],
}

/// A text in which the variables are parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exposed {
    /// In place of the main file's.
    pub text: String,
    /// The function's name there.
    pub function: String,
    /// The parameters that stand for the inputs, then those for the outputs.
    pub wrt: Vec<String>,
}

/// No function but `main` may have its name, and it may have no parameters of ours: it is called otherwise. So is a function
/// that is declared elsewhere without them.
const MAIN: &str = "main";
const OTHERWISE: &str = "_program";

/// Adds a change to an array of the device. In the user's file, as what is differentiated is all in one text.
const CHANGE: &str = "template <class Number> __global__ void cotangent_change(Number* to, const Number* change, \
    unsigned long long count) { unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; \
    if (i < count) to[i] += change[i]; } ";

/// The calls that bring numbers to an array of the device, or back.
const COPIES: &[Copy] = &[
    Copy { call: "cudaMemcpy", source: Some(1), stream: None },
    Copy { call: "cudaMemcpyAsync", source: Some(1), stream: Some(4) },
    Copy { call: "cudaMemset", source: None, stream: None },
    Copy { call: "cudaMemsetAsync", source: None, stream: Some(3) },
];

/// A call whose first argument is written, and whose third is how many bytes.
struct Copy {
    call: &'static str,
    /// The argument that is read.
    source: Option<usize>,
    stream: Option<usize>,
}

/// The calls that allocate memory of the device: at the first argument, so many bytes as the second says.
const ALLOCATIONS: &[&str] = &["cudaMalloc", "cudaMallocManaged", "cudaMallocAsync"];

const BYTES: usize = 2;
const KIND: usize = 3;

/// The user's text with variables of a host function as parameters.
///
/// # Errors
/// A function or variable that is not there, or a variable that nothing fills from outside or reads back.
pub fn expose(host: &Ast, main: FileId, variables: Variables<'_>) -> Result<Exposed, Vec<Diagnostic>> {
    let Found { function, body, holder, is_declared } =
        find(host, main, variables.function).map_err(|found| vec![*found])?;
    let text = host.sources.files.get(main).and_then(|file| file.text.as_deref()).unwrap_or_default();
    let mut editor = Editor { host, text, body, params: Vec::new(), edits: Vec::new(), wrt: Vec::new(), last: 0 };
    let params: Vec<&str> = function.children(Kind::ParmVarDecl).map(Node::name).collect();
    let mut problems = Vec::new();
    for name in variables.inputs {
        match params.contains(&name.as_str()) {
            true => editor.wrt.push(name.clone()),
            false => problems.extend(editor.input(name).err()),
        }
    }
    for name in variables.outputs {
        problems.extend(editor.output(name).err());
    }
    if !problems.is_empty() {
        return Err(problems.into_iter().map(|problem| *problem).collect());
    }
    let is_main = function.name() == MAIN;
    // A pointer is nothing that can be seeded, and what it points to may be returned as an output: null is returned instead.
    let is_pointer = function.ty().split('(').next().is_some_and(|result| result.trim_end().ends_with('*'));
    if is_main || is_pointer || function.ty().starts_with("void ") {
        editor.leave_out_the_rest();
    }
    if is_pointer {
        editor.return_null();
    }
    let Editor { params: added, mut edits, wrt, .. } = editor;
    // Other functions may call it as it was. Where it is declared too, what they call is defined after it.
    let default = if is_main { "" } else { " = 0" };
    let added: Vec<String> = added.into_iter().map(|param| param + default).collect();
    let added = added.join(", ");
    let head = &text[function.span.start as usize..body.span.start as usize];
    let (Some(close), Some(name)) = (head.rfind(')'), head.find(function.name())) else {
        let message = format!("the parameters of `{}` cannot be found in the text", function.name());
        return Err(vec![Diagnostic::new(
            diagnostic::NOT_DIFFERENTIABLE,
            function.span,
            message,
            "a macro writes them",
        )]);
    };
    let start = function.span.start as usize;
    let separator = if params.is_empty() { "" } else { ", " };
    // `f(void)` has no parameter to stand before ours.
    let open = head[..close].rfind('(').map_or(close, |open| open + 1);
    let from = if params.is_empty() { open } else { close };
    edits.push(Edit { start: start + from, end: start + close, text: format!("{separator}{added}") });
    if is_main || is_pointer {
        // What said it may be left out; and `main` need not say it but under its own name.
        let end = body.span.end as usize - 1;
        edits.push(Edit { start: end, end, text: " return 0; ".to_owned() });
    }
    if is_main || is_declared {
        let end = start + name + function.name().len();
        edits.push(Edit { start: end, end, text: OTHERWISE.to_owned() });
    }
    if is_declared {
        let end = body.span.end as usize;
        let text = format!(" {head}{{ return {}{OTHERWISE}({}); }}", function.name(), params.join(", "));
        edits.push(Edit { start: end, end, text });
    }
    edits.push(Edit { start: holder as usize, end: holder as usize, text: CHANGE.to_owned() });
    let otherwise = if is_main || is_declared { OTHERWISE } else { "" };
    let (called, types) = variables.function.split_at(variables.function.find('(').unwrap_or(variables.function.len()));
    Ok(Exposed { text: apply(text, edits), function: format!("{called}{otherwise}{types}"), wrt })
}

struct Found<'a> {
    function: &'a Node,
    body: &'a Node,
    /// Where the outermost declaration around it begins.
    holder: u32,
    /// Whether it is declared elsewhere too.
    is_declared: bool,
}

type Problem = Box<Diagnostic>;

fn problem(span: Span, message: String, label: &str) -> Diagnostic {
    Diagnostic::new(diagnostic::NOT_DIFFERENTIABLE, span, message, label)
}

/// The function of that name, which the main file defines.
fn find<'a>(host: &'a Ast, main: FileId, name: &str) -> Result<Found<'a>, Problem> {
    let (mut found, mut is_declared) = (Vec::new(), false);
    for declaration in &host.declarations {
        collect(declaration, "", &mut |full_name, function| {
            let means = full_name == name || full_name.ends_with(&format!("::{name}"));
            let body = function.child(Kind::CompoundStmt);
            is_declared |= means && body.is_none();
            if let Some(body) = body.filter(|_| means && function.span.file == main) {
                found.push(Found { function, body, holder: declaration.span.start, is_declared: false });
            }
        });
    }
    match found.len() {
        1 => Ok(Found { is_declared, ..found.remove(0) }),
        0 => {
            let message = format!("the file defines no host function `{name}`");
            let help = "`--of` is for functions of the main file that are no templates";
            Err(Box::new(Diagnostic::new(diagnostic::NOT_FOUND, Span::NONE, message, "").help(help)))
        }
        _ => {
            let message = format!("`{name}` means several functions");
            let help = "`--of` takes a function by its name alone: give it with its namespace";
            Err(Box::new(Diagnostic::new(diagnostic::AMBIGUOUS, Span::NONE, message, "").help(help)))
        }
    }
}

/// The functions of a declaration that are no templates and no members.
fn collect<'a>(node: &'a Node, scope: &str, visit: &mut dyn FnMut(&str, &'a Node)) {
    match node.kind {
        Kind::FunctionDecl if !node.has(Kind::CUDAGlobalAttr) => visit(&format!("{scope}{}", node.name()), node),
        Kind::NamespaceDecl => {
            let inside = format!("{scope}{}::", node.name());
            node.inner.iter().for_each(|inner| collect(inner, &inside, visit));
        }
        Kind::LinkageSpecDecl => node.inner.iter().for_each(|inner| collect(inner, scope, visit)),
        _ => {}
    }
}

/// What becomes of the text.
struct Editor<'a> {
    host: &'a Ast,
    text: &'a str,
    body: &'a Node,
    /// The parameters that are added.
    params: Vec<String>,
    edits: Vec<Edit>,
    wrt: Vec<String>,
    /// Where the last output is taken.
    last: u32,
}

impl<'a> Editor<'a> {
    /// Lets a parameter change a variable after its last fill from outside.
    fn input(&mut self, written: &str) -> Result<(), Problem> {
        let named = self.named(written)?;
        let Named { name, variable, number, .. } = named;
        let Place { statement, array, bytes, stream } = match named.line {
            Some(line) => self.at_line(&named, line)?,
            None => {
                let fills = self.transfers(&|copy, args| {
                    let is_from_outside = copy.source.is_none() || has_kind(args, &["HostToDevice", "Default"]);
                    is_from_outside && args.first().is_some_and(|to| mentions(to, variable.id))
                })?;
                let fill = fills.last().map(|fill| self.place(fill, 0));
                fill.ok_or_else(|| {
                    let message = format!("nothing fills `{name}` from outside");
                    let label = "neither a copy from the host nor `cudaMemset` writes to it";
                    let help = format!("say after which line it is the input: `--wrt {name}@LINE`");
                    problem(variable.span, message, label).help(help)
                })?
            }
        };
        let count = format!("({bytes}) / sizeof({number})");
        let stream = stream.map(|stream| format!(", 0, {stream}")).unwrap_or_default();
        let text = format!(
            " ::cotangent_change<{number}><<<({count} + 255) / 256, 256{stream}>>>(({number}*)({array}), {name}_change, {count});"
        );
        let end = self.end_of(statement);
        self.edits.push(Edit { start: end, end, text });
        self.parameter(format!("const {number}* {name}_change"), format!("{name}_change"));
        Ok(())
    }

    /// Copies a variable to a parameter before it is first read back.
    fn output(&mut self, written: &str) -> Result<(), Problem> {
        let named = self.named(written)?;
        let Named { name, variable, number, .. } = named;
        let Place { statement, array, bytes, stream } = match named.line {
            Some(line) => self.at_line(&named, line)?,
            None => {
                let reads = self.transfers(&|copy, args| {
                    let from = copy.source.and_then(|source| args.get(source));
                    from.is_some_and(|from| mentions(from, variable.id)) && has_kind(args, &["DeviceToHost", "Default"])
                })?;
                let read = reads.first().map(|read| self.place(read, 1));
                read.ok_or_else(|| {
                    let message = format!("nothing reads `{name}` back");
                    let help = format!("say before which line it is the output: `--of {name}@LINE`");
                    problem(variable.span, message, "it is never copied to the host").help(help)
                })?
            }
        };
        let rest = format!("({name}_result, {array}, {bytes}, cudaMemcpyDeviceToDevice");
        let text = match stream {
            Some(stream) => format!("cudaMemcpyAsync{rest}, {stream}); "),
            None => format!("cudaMemcpy{rest}); "),
        };
        let start = statement.span.start as usize;
        self.last = self.last.max(statement.span.start);
        self.edits.push(Edit { start, end: start, text });
        self.parameter(format!("{number}* {name}_result"), format!("{name}_result"));
        Ok(())
    }

    /// Leaves out what comes after the last output, if no input comes there.
    fn leave_out_the_rest(&mut self) {
        if self.edits.iter().any(|edit| edit.start > self.last as usize) {
            return;
        }
        for statement in rest::rest(self.body, self.last) {
            let (start, end) = (statement.span.start as usize, self.end_of(statement));
            self.edits.push(Edit { start, end, text: String::new() });
        }
    }

    /// Returns null wherever the function returns something.
    fn return_null(&mut self) {
        let mut returns = Vec::new();
        statements(self.body, self.body, &mut |_, node| {
            if node.kind == Kind::ReturnStmt {
                returns.push(Edit {
                    start: node.span.start as usize,
                    end: self.end_of(node),
                    text: "return 0;".to_owned(),
                });
            }
        });
        returns.retain(|new| !self.edits.iter().any(|edit| (edit.start..edit.end).contains(&new.start)));
        self.edits.extend(returns);
    }

    /// A variable as the user names it, `v` or `v@12`.
    fn named<'n>(&self, written: &'n str) -> Result<Named<'n, 'a>, Problem> {
        let (name, line) = match written.split_once('@') {
            Some((name, line)) => (
                name,
                Some(line.parse().map_err(|_| {
                    problem(self.body.span, format!("`{line}` in `{written}` is no line"), "of this function")
                })?),
            ),
            None => (written, None),
        };
        let variable = self.variable(name)?;
        Ok(Named { name, line, variable, number: self.number(variable)? })
    }

    /// Where a copy or fill stands, with the array that is its argument of that number.
    fn place(&self, transfer: &Transfer<'a>, array: usize) -> Place<'a> {
        Place {
            statement: transfer.statement,
            array: transfer.args[array],
            bytes: transfer.args[BYTES],
            stream: transfer.copy.stream.and_then(|stream| transfer.args.get(stream).copied()),
        }
    }

    /// The statement of a line, and all of a variable's memory.
    fn at_line(&self, named: &Named<'_, 'a>, line: usize) -> Result<Place<'a>, Problem> {
        let line_of = |node: &Node| self.text[..node.span.start as usize].matches('\n').count() + 1;
        let mut found = None;
        let mut sizes = Vec::new();
        statements(self.body, self.body, &mut |statement, node| {
            if std::ptr::eq(statement, node) && line_of(statement) == line && !std::ptr::eq(statement, self.body) {
                found = found.or(Some(statement));
            }
            let is_allocation = node.kind == Kind::CallExpr
                && node.inner.first().is_some_and(|callee| ALLOCATIONS.iter().any(|name| names(callee, name)));
            if is_allocation && node.inner.get(1).is_some_and(|to| mentions(to, named.variable.id)) {
                sizes.push(node.inner.first().and_then(|callee| self.arguments(callee)?.get(1).copied()));
            }
        });
        let statement = found.ok_or_else(|| {
            problem(self.body.span, format!("no statement of the function begins on line {line}"), "in here")
        })?;
        sizes.dedup();
        let [Some(bytes)] = sizes[..] else {
            let message = format!("how much memory `{}` has is not known", named.name);
            let label = "no `cudaMalloc` of this function is given its address, or several are";
            return Err(problem(named.variable.span, message, label).into());
        };
        Ok(Place { statement, array: named.variable.name(), bytes, stream: None })
    }

    /// What a variable of the device points to, if that is numbers.
    fn number(&self, variable: &'a Node) -> Result<&'a str, Problem> {
        let pointee = variable.ty().trim_end_matches("__restrict").trim_end().strip_suffix('*').map(str::trim);
        let mut meant = pointee.unwrap_or_default();
        while let Some(alias) = self.host.declarations.iter().find(|node| {
            matches!(node.kind, Kind::TypedefDecl | Kind::TypeAliasDecl) && node.name() == meant && node.ty() != meant
        }) {
            meant = alias.ty();
        }
        if ["float", "double", "__half", "__nv_bfloat16"].contains(&meant) {
            return Ok(pointee.unwrap_or_default());
        }
        let message = format!("`{}` is no pointer to floating numbers", variable.name());
        let help = "name an array of `float`, `double`, `__half` or `__nv_bfloat16` on the device";
        Err(problem(variable.span, message, &format!("it is a `{}`", variable.ty())).help(help).into())
    }

    fn parameter(&mut self, declaration: String, name: String) {
        self.params.push(declaration);
        self.wrt.push(name);
    }

    /// The one variable of that name in the function.
    fn variable(&self, name: &str) -> Result<&'a Node, Problem> {
        let mut found = Vec::new();
        each(self.body, &mut |node| {
            if node.kind == Kind::VarDecl && node.name() == name {
                found.push(node);
            }
        });
        match found.as_slice() {
            [variable] => Ok(variable),
            [] => Err(problem(self.body.span, format!("the function has no variable `{name}`"), "in here").into()),
            [_, second, ..] => {
                Err(problem(second.span, format!("the function has several variables `{name}`"), "one of them").into())
            }
        }
    }

    /// The copies and fills that are wanted, in the order of the text.
    ///
    /// # Errors
    /// One that a macro writes: what it copies is not known, and it may be the one that is meant.
    fn transfers(&self, is_wanted: &dyn Fn(&Copy, &[&Node]) -> bool) -> Result<Vec<Transfer<'a>>, Problem> {
        let mut found = Vec::new();
        let mut hidden = None;
        statements(self.body, self.body, &mut |statement, node| {
            let Some((callee, args)) = node.inner.split_first().filter(|_| node.kind == Kind::CallExpr) else { return };
            let Some(copy) = COPIES.iter().find(|copy| names(callee, copy.call)) else { return };
            if !is_wanted(copy, &args.iter().collect::<Vec<_>>()) {
                return;
            }
            match self.arguments(callee).filter(|args| args.len() > BYTES) {
                Some(args) => found.push(Transfer { copy, statement, args }),
                None => hidden = Some(statement.span),
            }
        });
        let help = "say where the variable is input or output: `v@LINE`";
        match hidden {
            Some(span) => Err(problem(span, "a macro writes this copy".to_owned(), "used here").help(help).into()),
            None => Ok(found),
        }
    }

    /// The arguments of a call as the user wrote them, who may have written the call as the argument of a macro; none if a
    /// macro has the call itself.
    fn arguments(&self, callee: &Node) -> Option<Vec<&'a str>> {
        let start = callee.spelling.as_deref().unwrap_or(&callee.span).start;
        let is_here = (self.body.span.start..self.body.span.end).contains(&start);
        let text = self.text.get(start as usize..).filter(|_| is_here)?;
        let text = &text[text.find('(')? + 1..];
        let mut args = Vec::new();
        let (mut from, mut depth) = (0, 0);
        for (at, character) in text.char_indices() {
            match character {
                '(' | '[' | '{' => depth += 1,
                ',' | ')' if depth == 0 => {
                    args.push(text[from..at].trim());
                    from = at + 1;
                    if character == ')' {
                        return Some(args);
                    }
                }
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// Where the next statement may stand.
    fn end_of(&self, statement: &Node) -> usize {
        let end = statement.span.end as usize;
        let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        // What a macro ends has its arguments after the name.
        let last_word = self.text[..end].trim_end_matches(is_of_name).len();
        let end = if statement.spelling.is_some() { end_of_macro(self.text, last_word) } else { end };
        let rest = &self.text[end..];
        let blank = rest.len() - rest.trim_start().len();
        if rest[blank..].starts_with(';') { end + blank + 1 } else { end }
    }
}

/// A variable that is named.
struct Named<'n, 'a> {
    name: &'n str,
    /// Where the user says that it is input or output.
    line: Option<usize>,
    variable: &'a Node,
    /// The type of its elements, as the program spells it.
    number: &'a str,
}

/// Where a variable is input or output.
struct Place<'a> {
    /// The statement after or before which that is.
    statement: &'a Node,
    /// What is meant of it.
    array: &'a str,
    bytes: &'a str,
    stream: Option<&'a str>,
}

/// A copy or fill.
struct Transfer<'a> {
    copy: &'static Copy,
    /// The statement of a block that it is in.
    statement: &'a Node,
    args: Vec<&'a str>,
}

/// Visits a node and all that is in it.
fn each<'a>(node: &'a Node, visit: &mut dyn FnMut(&'a Node)) {
    visit(node);
    node.inner.iter().for_each(|inner| each(inner, visit));
}

/// The end of the use of a macro: after its arguments, if it has any.
fn end_of_macro(text: &str, start: usize) -> usize {
    let name = text[start..].find(|character: char| !character.is_alphanumeric() && character != '_');
    let after_name = start + name.unwrap_or(0);
    let mut depth = 0;
    for (at, character) in text[after_name..].char_indices() {
        match character {
            '(' => depth += 1,
            ')' if depth == 1 => return after_name + at + 1,
            ')' => depth -= 1,
            _ if depth == 0 && !character.is_whitespace() => break,
            _ => {}
        }
    }
    after_name
}

/// Visits all nodes of a block, each with the statement of the innermost block that it is in. A block that a macro writes is
/// part of its statement, and lambdas are other functions.
fn statements<'a>(node: &'a Node, statement: &'a Node, visit: &mut dyn FnMut(&'a Node, &'a Node)) {
    visit(statement, node);
    for inner in node.inner.iter().filter(|inner| inner.kind != Kind::LambdaExpr) {
        let is_block = node.kind == Kind::CompoundStmt && node.spelling.is_none();
        let statement = if is_block { inner } else { statement };
        statements(inner, statement, visit);
    }
}

fn referenced(node: &Node) -> Option<&str> {
    node.data.referenced_decl.as_ref().filter(|_| node.kind == Kind::DeclRefExpr)?.name.as_deref()
}

/// Whether a copy goes in one of these directions.
fn has_kind(args: &[&Node], kinds: &[&str]) -> bool {
    let is_kind = |name: &str| name.strip_prefix("cudaMemcpy").is_some_and(|kind| kinds.contains(&kind));
    let mut found = false;
    if let Some(kind) = args.get(KIND) {
        each(kind, &mut |node| found |= referenced(node).is_some_and(is_kind));
    }
    found
}

/// Whether a callee is the function of that name.
fn names(callee: &Node, name: &str) -> bool {
    let mut found = false;
    each(callee, &mut |node| found |= referenced(node) == Some(name));
    found
}

/// Whether an expression mentions a variable.
fn mentions(node: &Node, variable: NodeId) -> bool {
    let mut found = false;
    each(node, &mut |node| found |= node.data.referenced_decl.as_ref().is_some_and(|it| it.id == variable));
    found
}
