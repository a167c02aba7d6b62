//! The user's own text for the CPU: launches, dynamic shared memory and the alignment of arrays edited where Clang says
//! they stand.
//!
//! Everything else stays as it is, and no line is added or taken away, so that a program run this way is the oracle
//! for what is printed, and its line numbers are the user's. What remains is done by headers: `__global__` and its
//! kin are macros there, `threadIdx` is a variable of the running thread.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::clang::{Ast, Kind, Node, NodeId, types};
use crate::source::{FileId, Span};

/// The macro of the CPU headers that gives an array the alignment of its elements; see `include/cpu/host_defines.h`.
const DECLARED_ALIGNMENT: &str = "COTANGENT_DECLARED_ALIGNMENT";

/// A file of the program with its edits made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditedFile {
    /// Which file.
    pub file: FileId,
    /// Its text.
    pub text: String,
}

/// The program with its edits made.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Edited {
    /// The files that differ from the user's.
    pub files: Vec<EditedFile>,
    /// Where printed kernels were wanted: the launches that run the user's own, and why.
    pub kept: Vec<KeptLaunch>,
}

/// A launch that runs the user's own kernel although printed ones were wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptLaunch {
    /// Where it stands.
    pub span: Span,
    /// Why it was kept.
    pub reason: String,
}

/// How launches are edited.
#[derive(Clone, Copy)]
pub enum Kernels<'p> {
    /// The user's own kernels run.
    Direct,
    /// The printed ones run where there is one: by linker name, the name by which it is registered, or why it is not.
    Printed {
        kernels: &'p BTreeMap<String, Result<String, String>>,
        /// Before a device variable's name, in the label by which the printed kernels reach it.
        variable_label: &'p str,
    },
}

/// Replaces a range of a file's text.
pub(crate) struct Edit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) text: String,
}

/// How a launch names its kernel.
#[derive(Clone, PartialEq, Eq)]
enum Form {
    /// One function, by a pointer; its parameters' types are known and arguments convert to them.
    Function,
    /// Whatever the call means there: template arguments are deduced or depend on the context.
    Call,
    /// A printed kernel: its registered name, and what gives its parameters' types.
    Printed(String, Signature),
    /// Not decided: the kernel depends on the arguments of the template around. Its instantiations decide.
    Dependent,
    /// The user's kernel, as [`Form::Call`], although printed ones were wanted.
    Kept(String),
}

/// How a launch of a printed kernel knows the types that its arguments convert to.
#[derive(Clone, PartialEq, Eq)]
enum Signature {
    /// From the user's kernel, whose name means one function.
    OfName,
    /// It is spelled.
    Spelled(String),
}

/// A launch in the text.
struct Launch {
    /// Where the kernel's name begins.
    start: usize,
    form: Form,
}

/// Edits the files that were read. `main` gets the registration of device variables at its end.
pub fn edit(ast: &Ast, main: FileId, kernels: Kernels<'_>) -> Edited {
    let mut collector = Collector::new(ast, kernels);
    collector.count_functions(&ast.declarations, "");
    for node in &ast.declarations {
        collector.visit(node, "", false, false);
    }
    let mut edits: BTreeMap<FileId, Vec<Edit>> = BTreeMap::new();
    let mut kept = Vec::new();
    for ((file, open), launch) in &collector.launches {
        if let Some(text) = collector.text(*file) {
            edits.entry(*file).or_default().extend(launch_edits(text, *open, launch));
        }
        if let Form::Kept(reason) = &launch.form {
            let span = Span { file: *file, start: launch.start as u32, end: *open as u32 };
            kept.push(KeptLaunch { span, reason: reason.clone() });
        }
    }
    for ((file, start), (end, replacement)) in collector.shared {
        edits.entry(file).or_default().push(Edit { start, end, text: replacement });
    }
    for ((file, at), element) in collector.elements {
        let text = element.map(|element| format!(" {DECLARED_ALIGNMENT}({element})"));
        edits.entry(file).or_default().extend(text.map(|text| Edit { start: at, end: at, text }));
    }
    for ((file, start), end) in collector.casts {
        let before = Edit { start, end: start, text: "::cotangent::placed(".to_owned() };
        edits.entry(file).or_default().extend([before, Edit { start: end, end, text: ")".to_owned() }]);
    }
    edits.entry(main).or_default();
    let mut files = Vec::new();
    for (file, edits) in edits {
        let Some(text) = ast.sources.files.get(file).and_then(|file| file.text.as_deref()) else { continue };
        let mut text = apply(text, edits);
        if file == main {
            text.push_str(&registrations(&collector.symbols));
            if let Kernels::Printed { variable_label, .. } = kernels {
                text.push_str(&references(&collector.symbols, variable_label));
            }
        }
        files.push(EditedFile { file, text });
    }
    Edited { files, kept }
}

/// The names of the device variables that [`edit`] registers.
pub fn symbols(ast: &Ast) -> Vec<String> {
    let mut collector = Collector::new(ast, Kernels::Direct);
    ast.declarations.iter().for_each(|node| collector.visit(node, "", false, false));
    collector.symbols.into_iter().map(|symbol| symbol.name).collect()
}

/// A function as a launch may name it.
struct DeclaredFunction {
    /// On the device.
    linker_name: String,
    is_global: bool,
}

struct Collector<'a, 'p> {
    ast: &'a Ast,
    kernels: Kernels<'p>,
    /// How many functions have a name, templates apart: an overloaded one has no single address.
    functions: HashMap<&'a str, HashSet<&'a str>>,
    /// The templates of functions by name: how many parameters each has.
    templates: HashMap<&'a str, Vec<usize>>,
    /// What is known of each function, by Clang's id.
    declared: HashMap<NodeId, DeclaredFunction>,
    /// By the place of `<<<`.
    launches: BTreeMap<(FileId, usize), Launch>,
    shared: BTreeMap<(FileId, usize), (usize, String)>,
    /// By the end of an array's name, the type of its elements; none if it is not always the same.
    elements: BTreeMap<(FileId, usize), Option<&'a str>>,
    /// Variables of blocks and of the device, by Clang's id.
    variables: HashSet<NodeId>,
    /// Pointers to them that are cast: where they begin, and their ends.
    casts: BTreeMap<(FileId, usize), usize>,
    symbols: Vec<Symbol>,
}

/// A variable in device memory.
#[derive(PartialEq, Eq)]
struct Symbol {
    name: String,
    /// The end of a `COTANGENT_SPACE_` of `abi.h`.
    space: &'static str,
}

impl<'a, 'p> Collector<'a, 'p> {
    fn new(ast: &'a Ast, kernels: Kernels<'p>) -> Self {
        Collector {
            ast,
            kernels,
            functions: HashMap::new(),
            templates: HashMap::new(),
            declared: HashMap::new(),
            launches: BTreeMap::new(),
            shared: BTreeMap::new(),
            elements: BTreeMap::new(),
            variables: HashSet::new(),
            casts: BTreeMap::new(),
            symbols: Vec::new(),
        }
    }

    fn text(&self, file: FileId) -> Option<&'a str> {
        self.ast.sources.files.get(file)?.text.as_deref()
    }

    fn count_functions(&mut self, nodes: &'a [Node], namespace: &'a str) {
        for node in nodes {
            match node.kind {
                Kind::FunctionDecl => {
                    let linker_name = self.declare(node, namespace);
                    self.functions.entry(node.name()).or_default().insert(linker_name);
                }
                Kind::FunctionTemplateDecl => {
                    // Its parameters, its pattern, its instantiations. A later declaration repeats the parameters.
                    let parameters = node.inner.iter().take_while(|child| child.kind != Kind::FunctionDecl).count();
                    let known = self.templates.entry(node.name()).or_default();
                    if !known.contains(&parameters) {
                        known.push(parameters);
                    }
                    for instantiation in node.children(Kind::FunctionDecl) {
                        self.declare(instantiation, namespace);
                    }
                }
                Kind::NamespaceDecl => self.count_functions(&node.inner, node.name()),
                Kind::LinkageSpecDecl => self.count_functions(&node.inner, namespace),
                _ => {}
            }
        }
    }

    /// Notes a function; its linker name.
    fn declare(&mut self, node: &'a Node, namespace: &str) -> &'a str {
        let linker_name = node.data.mangled_name.as_deref().unwrap_or(node.name());
        let declared = DeclaredFunction { linker_name: linker_name.to_owned(), is_global: namespace.is_empty() };
        self.declared.insert(node.id, declared);
        linker_name
    }

    fn visit(&mut self, node: &'a Node, scope: &str, in_function: bool, in_pattern: bool) {
        let is_function = matches!(
            node.kind,
            Kind::FunctionDecl
                | Kind::CXXMethodDecl
                | Kind::CXXConstructorDecl
                | Kind::CXXDestructorDecl
                | Kind::LambdaExpr
        );
        let mut inner_scope = None;
        match node.kind {
            Kind::CUDAKernelCallExpr => self.launch(node),
            Kind::CXXReinterpretCastExpr | Kind::CStyleCastExpr if node.ty().ends_with('*') => self.cast(node),
            Kind::VarDecl if node.has(Kind::CUDASharedAttr) => {
                self.dynamic_shared(node, in_function);
                self.declared_alignment(node, in_pattern);
            }
            Kind::VarDecl if !in_function && !in_pattern => {
                self.symbol(node, scope);
                if [Kind::CUDADeviceAttr, Kind::CUDAConstantAttr].iter().any(|kind| node.has(*kind)) {
                    self.declared_alignment(node, in_pattern);
                }
            }
            Kind::NamespaceDecl if !node.name().is_empty() => inner_scope = Some(format!("{scope}{}::", node.name())),
            Kind::CXXRecordDecl => inner_scope = Some(format!("{scope}{}::", node.name())),
            _ => {}
        }
        let is_template =
            matches!(node.kind, Kind::FunctionTemplateDecl | Kind::ClassTemplateDecl | Kind::VarTemplateDecl);
        let scope = inner_scope.as_deref().unwrap_or(scope);
        for child in &node.inner {
            self.visit(child, scope, in_function || is_function, in_pattern || is_template);
        }
    }

    fn launch(&mut self, node: &'a Node) {
        // What stands between <<< and >>> is the second child, and is in a macro's own text if they are.
        let [callee, configuration, ..] = node.inner.as_slice() else { return };
        let (span, open) = (spelled(node), spelled(configuration));
        let Some(text) = self.text(open.file) else { return };
        let (file, open) = (open.file, open.start as usize);
        if !text.get(open..).is_some_and(|text| text.starts_with("<<<")) {
            return;
        }
        // The kernel may be an argument of the macro that has the `<<<`; its parameter is what stands there.
        let is_beside = span.file == file && (span.start as usize) < open;
        let start = if is_beside { span.start as usize } else { start_of_callee(text, open) };
        let form = self.form(find_name(callee), &text[start..open]);
        let different = self.kept("instantiations of its template launch different kernels");
        let known = self.launches.entry((file, open)).or_insert(Launch { start, form: Form::Dependent });
        if known.form == Form::Dependent {
            known.form = form;
        } else if form != Form::Dependent && known.form != form {
            known.form = different;
        }
    }

    fn form(&self, name: Option<&Node>, callee: &str) -> Form {
        let reference = name.and_then(|name| name.data.referenced_decl.as_ref());
        let direct = self.direct_form(reference.and_then(|reference| reference.name.as_deref()), callee);
        let Kernels::Printed { kernels: printed, .. } = self.kernels else { return direct };
        let Some((name, reference)) = name.zip(reference) else { return Form::Dependent };
        // A pointer to a kernel, or something else that only the running program knows.
        let Some(declared) = self.declared.get(&reference.id) else {
            return self.kept("which kernel it launches is known only when it runs");
        };
        let registered = match printed.get(&declared.linker_name) {
            Some(Ok(registered)) => registered.clone(),
            Some(Err(reason)) => return Form::Kept(reason.clone()),
            None => return self.kept("its kernel was not found"),
        };
        let ty = name.ty();
        if direct == Form::Function {
            Form::Printed(registered, Signature::OfName)
        } else if is_writable(ty) && (declared.is_global || !names_a_record(ty)) {
            Form::Printed(registered, Signature::Spelled(ty.to_owned()))
        } else {
            self.kept(&format!("the type of its kernel, `{ty}`, cannot be written there"))
        }
    }

    /// How the user's own kernel is launched.
    fn direct_form(&self, name: Option<&str>, callee: &str) -> Form {
        if let Some((name, arguments)) = callee.split_once('<') {
            return if self.is_complete(name, arguments) { Form::Function } else { Form::Call };
        }
        let is_single = name.is_some_and(|name| {
            self.functions.get(name).is_some_and(|all| all.len() == 1) && !self.templates.contains_key(name)
        });
        if is_single { Form::Function } else { Form::Call }
    }

    /// Whether a template's name with these arguments, `T, 3>`, means one function wherever it stands.
    fn is_complete(&self, name: &str, arguments: &str) -> bool {
        let name = name.rsplit("::").next().unwrap_or(name).trim();
        let written = count_arguments(arguments.trim_end().trim_end_matches('>'));
        self.templates.get(name).is_some_and(|parameters| *parameters == [written])
            && !self.functions.contains_key(name)
            && !arguments.contains("...")
    }

    /// A launch of the user's own kernel, for a reason that matters only where printed ones are wanted.
    fn kept(&self, reason: &str) -> Form {
        match self.kernels {
            Kernels::Direct => Form::Call,
            Kernels::Printed { .. } => Form::Kept(reason.to_owned()),
        }
    }

    fn dynamic_shared(&mut self, node: &'a Node, in_function: bool) {
        if node.data.storage_class.as_deref() != Some("extern") {
            return;
        }
        let span = spelled(node);
        if self.text(span.file).is_none() {
            return;
        }
        let element = node.ty().trim_end().trim_end_matches("[]").trim_end();
        let name = node.name();
        let count = format!("COTANGENT_MAX_DYNAMIC_SHARED / sizeof({element})");
        let storage = if in_function { "" } else { "static thread_local " };
        let text = format!(
            "{storage}{element} (&{name})[{count}] = *reinterpret_cast<{element} (*)[{count}]>(::cotangent::dynamic_shared())"
        );
        self.shared.entry((span.file, span.start as usize)).or_insert((span.end as usize, text));
    }

    /// Has an array get the alignment that it declares. Clang gives long ones more, which a GPU does not.
    fn declared_alignment(&mut self, node: &'a Node, in_pattern: bool) {
        self.variables.insert(node.id);
        let Some(name) = node.data.name_span.as_deref() else { return };
        let (at, ty) = (name.end as usize, node.ty());
        // An array whose type has a name of its own may have the alignment of that name.
        let follows = self.text(name.file).and_then(|text| text.get(at..)).unwrap_or("").trim_start();
        let is_array = follows.starts_with('[') && ty.ends_with(']');
        let is_writable = !["(lambda", "(unnamed", "(anonymous"].iter().any(|part| ty.contains(part));
        if node.data.storage_class.as_deref() == Some("extern") || !is_array || !is_writable {
            return;
        }
        let element = element_of(ty);
        // The pattern of a template comes before its instantiations. Elsewhere a file is included twice.
        let known = self.elements.entry((name.file, at)).or_insert(Some(element));
        if !in_pattern && *known != Some(element) {
            *known = None;
        }
    }

    /// Behind a cast, Clang takes a pointer to a variable to be aligned as the variable is.
    fn cast(&mut self, node: &'a Node) {
        let Some(operand) = node.inner.last().filter(|operand| names_one_of(operand, &self.variables)) else { return };
        let (whole, inner) = (spelled(node), spelled(operand));
        // In a macro the operand may be an argument, which stands elsewhere.
        let is_inside = whole.file == inner.file && whole.start < inner.start && inner.end <= whole.end;
        if is_inside && self.text(inner.file).is_some() {
            self.casts.entry((inner.file, inner.start as usize)).or_insert(inner.end as usize);
        }
    }

    fn symbol(&mut self, node: &'a Node, scope: &str) {
        // Our headers mark managed variables by an annotation, a toolkit's by the attribute; they are `__device__` too.
        const SPACES: [(Kind, &str); 4] = [
            (Kind::CUDAConstantAttr, "CONSTANT"),
            (Kind::HIPManagedAttr, "MANAGED"),
            (Kind::AnnotateAttr, "MANAGED"),
            (Kind::CUDADeviceAttr, "DEVICE"),
        ];
        let Some((_, space)) = SPACES.iter().find(|(kind, _)| node.has(*kind)) else { return };
        let is_declared_only = node.data.storage_class.as_deref() == Some("extern");
        if !node.data.constexpr && !is_declared_only && self.text(node.span.file).is_some() {
            let symbol = Symbol { name: format!("{scope}{}", node.name()), space };
            if !self.symbols.contains(&symbol) {
                self.symbols.push(symbol);
            }
        }
    }
}

/// Whether an expression names one of these declarations.
fn names_one_of(node: &Node, declarations: &HashSet<NodeId>) -> bool {
    let reference = node.data.referenced_decl.as_ref().filter(|_| node.kind == Kind::DeclRefExpr);
    reference.is_some_and(|reference| declarations.contains(&reference.id))
        || node.inner.iter().any(|child| names_one_of(child, declarations))
}

/// The type of what an array `T[2][3]` is made of.
fn element_of(ty: &str) -> &str {
    let mut element = ty.trim_end();
    while element.ends_with(']') {
        let mut depth = 0usize;
        let open = element.bytes().rposition(|byte| {
            match byte {
                b']' => depth += 1,
                b'[' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        element = element[..open.unwrap_or(0)].trim_end();
    }
    element
}

/// Where the text of a node stands itself, also in a macro.
fn spelled(node: &Node) -> Span {
    node.spelling.as_deref().copied().unwrap_or(node.span)
}

fn find_name(node: &Node) -> Option<&Node> {
    match node.kind {
        Kind::DeclRefExpr => Some(node),
        Kind::ImplicitCastExpr | Kind::ParenExpr => node.inner.first().and_then(find_name),
        _ => None,
    }
}

/// Where the name before a `<<<` begins: `kernel`, `a::kernel<T>`, `(kernel)`.
fn start_of_callee(text: &str, open: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = text[..open].trim_end_matches(|c: char| c.is_whitespace() || c == '\\').len();
    let mut depth = 0usize;
    while at > 0 {
        match bytes[at - 1] {
            b')' | b'>' => depth += 1,
            b'(' | b'<' if depth > 0 => depth -= 1,
            byte if depth > 0 || byte == b'_' || byte == b':' || byte.is_ascii_alphanumeric() => {}
            _ => break,
        }
        at -= 1;
    }
    at
}

/// How many arguments stand between `<` and `>`.
fn count_arguments(text: &str) -> usize {
    let mut depth = 0i32;
    let mut commas = 0;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' => depth -= 1,
            b',' if depth == 0 => commas += 1,
            _ => {}
        }
    }
    if text.trim().is_empty() { 0 } else { commas + 1 }
}

/// `k<<<a, b>>>(c)` becomes `launch(k, a, b)(c)`.
fn launch_edits(text: &str, open: usize, launch: &Launch) -> Vec<Edit> {
    let Some(close) = closing(text, open + 3) else { return Vec::new() };
    let Launch { start, form } = launch;
    let start = *start;
    let callee = &text[start..open];
    let head = match form {
        Form::Function => format!("::cotangent::launch({}", callee.trim_end()),
        Form::Call | Form::Dependent | Form::Kept(_) => {
            format!("::cotangent::launch([&](auto&&... _arguments) {{ {}(_arguments...); }}", callee.trim_end())
        }
        Form::Printed(name, Signature::OfName) => {
            format!("::cotangent::launch_printed({}, \"{name}\"", callee.trim_end())
        }
        Form::Printed(name, Signature::Spelled(ty)) => {
            format!("::cotangent::launch_printed<{}>(nullptr, \"{name}\"", printed_type(ty))
        }
    };
    // Lines inside what is replaced stay, so that line numbers do.
    let lines: String = callee.chars().filter(|character| *character == '\n').collect();
    vec![
        Edit { start, end: open + 3, text: format!("{head}, {lines}") },
        Edit { start: close, end: close + 3, text: ")".to_owned() },
    ]
}

/// A kernel's type without `__restrict`, which is no part of it.
fn printed_type(ty: &str) -> String {
    ty.replace("__restrict", "")
}

/// The `>>>` that ends a configuration: outside parentheses, strings and comments.
fn closing(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0i32;
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            quote @ (b'"' | b'\'') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at += 2;
                while at + 1 < bytes.len() && &bytes[at..at + 2] != b"*/" {
                    at += 1;
                }
                at += 1;
            }
            b'>' if depth == 0 && bytes[at..].starts_with(b">>>") => return Some(at),
            _ => {}
        }
        if depth < 0 {
            return None;
        }
        at += 1;
    }
    None
}

/// The text with its edits made.
pub(crate) fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        // A launch inside the arguments of another is edited piece by piece, which leaves no overlap.
        let Some(between) = text.get(at..edit.start) else { continue };
        out.push_str(between);
        out.push_str(&edit.text);
        at = edit.end;
    }
    out.push_str(text.get(at..).unwrap_or(""));
    out
}

fn registrations(symbols: &[Symbol]) -> String {
    let mut out = String::new();
    for (number, Symbol { name, space }) in symbols.iter().enumerate() {
        if number == 0 {
            out.push('\n');
        }
        out.push_str(&format!(
            "static ::cotangent::Symbol _cotangent_symbol_{number}(&{name}, sizeof({name}), \"{name}\", COTANGENT_SPACE_{space});\n"
        ));
    }
    out
}

/// References by which the printed kernels reach the variables, whatever their linkage.
fn references(symbols: &[Symbol], variable_label: &str) -> String {
    let reference = |(number, Symbol { name, .. }): (usize, &Symbol)| {
        format!("decltype({name})& _cotangent_variable_{number} __asm__(\"{variable_label}{name}\") = {name};\n")
    };
    symbols.iter().enumerate().map(reference).collect()
}

/// The kernels that a program launches: their linker names on the device, in the order of the text. `ast` is the host's.
pub fn launched_kernels(ast: &Ast) -> Vec<String> {
    fn visit(node: &Node, names: &HashMap<NodeId, String>, found: &mut Vec<String>) {
        if node.kind == Kind::CUDAKernelCallExpr
            && let Some(reference) =
                node.inner.first().and_then(find_name).and_then(|name| name.data.referenced_decl.as_ref())
            && let Some(linker_name) = names.get(&reference.id)
            && !found.contains(linker_name)
        {
            found.push(linker_name.clone());
        }
        node.inner.iter().for_each(|child| visit(child, names, found));
    }
    fn collect(nodes: &[Node], names: &mut HashMap<NodeId, String>) {
        for node in nodes {
            if let Some(linker_name) = node.data.mangled_name.as_deref().filter(|_| node.kind == Kind::FunctionDecl) {
                names.insert(node.id, linker_name.to_owned());
            }
            collect(&node.inner, names);
        }
    }
    let mut names = HashMap::new();
    collect(&ast.declarations, &mut names);
    let mut found = Vec::new();
    ast.declarations.iter().for_each(|node| visit(node, &names, &mut found));
    found
}

/// Whether a type's spelling can be written in the user's text again; a lambda's cannot.
pub fn is_writable(ty: &str) -> bool {
    types::parse(ty).is_some() && !ty.contains("(lambda") && !ty.contains("(unnamed") && !ty.contains("(anonymous")
}

/// Whether a type mentions more than what C++ has of itself: a name that means something only in its own scope.
fn names_a_record(ty: &str) -> bool {
    const WORDS: &[&str] = &[
        "void",
        "bool",
        "char",
        "short",
        "int",
        "long",
        "float",
        "double",
        "signed",
        "unsigned",
        "const",
        "volatile",
        "__restrict",
        "size_t",
    ];
    let words = ty.split(|character: char| !character.is_alphanumeric() && character != '_');
    words.filter(|word| !word.is_empty()).any(|word| !WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(text: &str, form: Form) -> String {
        let open = text.find("<<<").expect("a launch");
        let start = start_of_callee(text, open);
        apply(text, launch_edits(text, open, &Launch { start, form }))
    }

    #[test]
    fn launches() {
        assert_eq!(launch("k<<<1, dim3(2, 3)>>>(x);", Form::Function), "::cotangent::launch(k, 1, dim3(2, 3))(x);");
        assert_eq!(
            launch("k<float> <<<f(\">>>\"), b /* >>> */, 0, s>>>(x, y);", Form::Call),
            "::cotangent::launch([&](auto&&... _arguments) { k<float>(_arguments...); }, f(\">>>\"), b /* >>> */, 0, s)(x, y);"
        );
        assert_eq!(
            launch("k<<<1, 2>>>(x);", Form::Printed("k".into(), Signature::Spelled("void (float *__restrict)".into()))),
            "::cotangent::launch_printed<void (float *)>(nullptr, \"k\", 1, 2)(x);"
        );
        assert_eq!(
            launch("k<<<1, 2>>>(x);", Form::Printed("geo::k".into(), Signature::OfName)),
            "::cotangent::launch_printed(k, \"geo::k\", 1, 2)(x);"
        );
    }

    #[test]
    fn names_of_kernels() {
        for text in ["k", "a::k<T, f(3)>", "(k)", "k \\\n  "] {
            let before = format!("x = 1; {text}");
            assert_eq!(&before[start_of_callee(&before, before.len())..], text);
        }
        assert_eq!(["", "T", "T, f(1, 2)", "V<A, B>, 3, x[0]"].map(count_arguments), [0, 1, 2, 3]);
    }

    #[test]
    fn a_launch_over_lines_keeps_its_lines() {
        let text = "k\n  <<<1,\n 2>>>\n(x);";
        let edited = launch(text, Form::Function);
        assert_eq!(edited.matches('\n').count(), text.matches('\n').count());
    }
}
