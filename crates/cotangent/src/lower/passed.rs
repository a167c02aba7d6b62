//! Host code that is passed through: kept in the derivative as it stands in the text.
//!
//! Timing, files, messages, functions of other files: lowering cannot read them, and need not, as long as nothing active is
//! handed to them; derivatives look at that. What is passed through may read the function's variables, and change those that
//! it is given by address. It must not launch, jump, or name what only the program's own file has: the derivative may be
//! printed without that file.

use std::collections::BTreeSet;

use super::apart::is_text as is_text_of_program;
use super::body::{Binding, Body};
use super::constant::convert;
use super::context::{Lowered, Pass, Problem};
use super::intrinsic::quoted_literal;
use super::stmt::initializer;
use crate::clang::{Kind, Node, NodeId, is_not_system};
use crate::diagnostic::BROKEN_DUMP;
use crate::ir::{Expr, FILE_NAME, IntKind, LocalId, Name, OpaqueArg, Place, StmtKind, Type, Unread};
use crate::source::Span;

/// How functions of CUDA's libraries begin: they may reach memory of the device without being handed it.
const LIBRARIES: &[&str] = &["cuda", "cublas", "cufft", "curand", "cusparse", "cusolver", "cudnn", "nccl", "MPI_"];

/// Whether a function is one of CUDA's libraries, or of its driver (`cuMemAlloc`).
pub(super) fn is_of_library(name: &str) -> bool {
    let of_driver = name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|first: char| first.is_uppercase()));
    of_driver || LIBRARIES.iter().any(|start| name.starts_with(start))
}

/// Headers that a derivative includes by itself.
const OWN_HEADERS: &[&str] = &["<cuda", "<cotangent/", "<cooperative_groups", "<device_", "<vector_", "<host_"];

/// What is known of a piece of text.
#[derive(Default)]
struct Passage {
    /// The variables in it, by where they stand.
    variables: Vec<(Span, OpaqueArg)>,
    /// Declarations of functions that other files define.
    declared: BTreeSet<Name>,
    /// Whether it names what only the program has: its text must stand before the derivative.
    is_own: bool,
    /// Whether what is looked at may not be evaluated.
    is_conditional: bool,
}

/// Whose functions may give a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Those of the standard library alone: a text of theirs is their own, or a part of what they are handed.
    Library,
    /// Those of the program alone: numbers of theirs are in memory that such code has made or is handed.
    Program,
    /// Those of other files too.
    Anywhere,
}

impl Origin {
    fn of(ty: &Type) -> Origin {
        match ty {
            ty if is_text(ty) => Origin::Library,
            ty if is_memory(ty) => Origin::Program,
            _ => Origin::Anywhere,
        }
    }
}

impl<'a> Body<'_, 'a> {
    /// Passes an expression statement through that could not be lowered; else what the problem was.
    pub(super) fn pass_effect(&mut self, node: &'a Node, problem: Problem) -> Lowered<()> {
        let Some(args) = self.passage(node, Origin::Anywhere, &problem) else { return Err(problem) };
        self.emit(StmtKind::Opaque { code: Unread::Passed, args, into: None });
        Ok(())
    }

    /// Passes an expression through whose value is a number, a text or a handle; else what the problem was.
    pub(super) fn pass_value(&mut self, node: &'a Node, problem: Problem) -> Lowered<Expr> {
        if self.pass != Pass::Host || node.is_glvalue() {
            return Err(problem);
        }
        let ty = match self.context.node_type(self.pass, node) {
            Ok(ty) if is_number(&ty) || is_handle(&ty) || is_text(&ty) || is_memory(&ty) => ty,
            Ok(_) | Err(_) => return Err(problem),
        };
        let from = Origin::of(&ty);
        let Some(args) = self.passage(node, from, &problem).or_else(|| Some(vec![self.text_of_program(node)?])) else {
            return Err(problem);
        };
        let local = self.new_temporary(ty);
        self.declare_passed(local, args);
        Ok(Expr::load(self.local_place(local)))
    }

    /// A text of the program as Clang spells it. The name of a file is that of the derivative's file there.
    fn text_of_program(&self, node: &Node) -> Option<OpaqueArg> {
        let text = quoted_literal(node).filter(|text| text.starts_with('"'))?;
        let is_name = self.context.declarations(self.pass).is_file(text.trim_matches('"'));
        Some(OpaqueArg::Text(if is_name { FILE_NAME } else { text }.into()))
    }

    /// The name of a function of C's library that a macro stands for, as it is written there: `std::` is a part of a name.
    fn name_of_library(&self, node: &Node) -> Option<OpaqueArg> {
        let callee = if node.kind == Kind::ImplicitCastExpr { node.inner.first()? } else { node };
        let reference = callee.data.referenced_decl.as_ref().filter(|it| it.kind == Kind::FunctionDecl)?;
        let name = reference.name.as_deref().filter(|name| !is_of_library(name) && !self.is_own(reference.id))?;
        let written = self.text(*callee.spelling.as_deref()?)?;
        (written == name).then(|| OpaqueArg::Text(name.into()))
    }

    /// Whether no more of an expression comes from a macro than the name that it begins with, as far as that tells.
    fn begins_with_macro(&self, node: &Node) -> bool {
        let mut first = node;
        while let Some(inner) = first.inner.first() {
            first = inner;
        }
        first.span.end < node.span.end
            && self.text(first.span).is_some_and(is_word)
            && self.name_of_library(first).is_some()
    }

    /// Declares a variable that begins with what is passed through.
    pub(super) fn declare_passed(&mut self, local: LocalId, args: Vec<OpaqueArg>) {
        self.emit(StmtKind::Declare { local, init: None });
        let into = Some(self.local_place(local));
        self.emit(StmtKind::Opaque { code: Unread::Passed, args, into });
    }

    /// Takes back what was passed through last, if that is the whole of a value: it can go where the value goes.
    pub(super) fn take_passed(&mut self, value: &Expr) -> Option<Vec<OpaqueArg>> {
        let [.., first, last] = self.block.as_slice() else { return None };
        let StmtKind::Declare { local, init: None } = first.kind else { return None };
        let StmtKind::Opaque { code: Unread::Passed, args, into: Some(into) } = &last.kind else { return None };
        if value.as_local() != Some(local) || into.as_local() != Some(local) || !self.locals[local].name.is_empty() {
            return None;
        }
        let args = args.clone();
        self.block.truncate(self.block.len() - 2);
        Some(args)
    }

    /// Passes a variable through whose type or initial value is not read; else what the problem was.
    pub(super) fn pass_variable(&mut self, node: &'a Node, problem: Problem) -> Lowered<()> {
        let is_plain = node.data.storage_class.is_none() && node.spelling.is_none();
        let is_vector = self.context.vector_elements(self.pass, node.ty()).is_some();
        if self.pass != Pass::Host || !is_plain || is_vector {
            return Err(problem);
        }
        let ty = match self.context.node_type(self.pass, node) {
            Ok(ty) if is_number(&ty) || is_handle(&ty) || is_text(&ty) || is_memory(&ty) => ty,
            Err(_) if !node.ty().contains(['&', '*', '(', '[']) => {
                match self.context.unread_class(self.pass, node.ty()) {
                    Some(class) => Type::Opaque(class.name),
                    None if self.names_own_type(node.ty()) => return Err(problem),
                    None => Type::Opaque(self.name_of_class(node).into()),
                }
            }
            Ok(_) | Err(_) => return Err(problem),
        };
        let from = Origin::of(&ty);
        let init = node.data.init.as_ref().and_then(|_| initializer(node));
        let args = match init.filter(|init| init.kind != Kind::CXXConstructExpr || !init.inner.is_empty()) {
            None => None,
            Some(init) => match (self.passage(init, from, &problem), &ty) {
                (None, _) => return Err(problem),
                (Some(args), Type::Opaque(class)) => Some(self.constructed(args, node, class)),
                (Some(args), _) => Some(args),
            },
        };
        let local = self.bind_local(node, ty);
        match args {
            Some(args) => self.declare_passed(local, args),
            None => self.emit(StmtKind::Declare { local, init: None }),
        }
        Ok(())
    }

    /// What the class of a variable is called. One that shares its name with something else must be called `struct timezone`.
    fn name_of_class(&self, node: &Node) -> String {
        let is_called_struct = self.text(node.span).is_some_and(|text| text.starts_with("struct "));
        let word = if is_called_struct { "struct " } else { "" };
        format!("{word}{}", node.ty().trim_start_matches("const ").trim_start_matches("struct "))
    }

    /// The initial value of a variable as an expression: `T v(x)` and `T v{x}` give `T(x)` and `T{x}`.
    fn constructed(&self, mut args: Vec<OpaqueArg>, node: &Node, class: &str) -> Vec<OpaqueArg> {
        let class = class.trim_start_matches("struct ");
        let text = self.text(node.span).unwrap_or_default();
        let is_deduced = ["auto ", "const auto "].iter().any(|word| text.starts_with(word));
        let first = match args.first() {
            Some(OpaqueArg::Text(first)) => first.clone(),
            Some(OpaqueArg::Value(_) | OpaqueArg::Variable(_)) | None => "".into(),
        };
        let rest = first.strip_prefix(node.name()).map(str::trim_start).filter(|rest| rest.starts_with(['(', '{']));
        if let Some(rest) = rest {
            args[0] = OpaqueArg::Text(format!("{class}{rest}").into());
        } else if first.starts_with('{') {
            args[0] = OpaqueArg::Text(format!("{class}{first}").into());
        } else if !is_deduced {
            args.insert(0, OpaqueArg::Text(format!("{class}(").into()));
            args.push(OpaqueArg::Text(")".into()));
        }
        joined(args)
    }

    /// The text of an expression in pieces, with the variables between them; none if it cannot be passed through.
    fn passage(&mut self, node: &'a Node, from: Origin, problem: &Problem) -> Option<Vec<OpaqueArg>> {
        let is_news = matches!(problem, Problem::New(found) if found.code != BROKEN_DUMP);
        if self.pass != Pass::Host || self.inlining > 0 || !is_news {
            return None;
        }
        let mut passage = Passage::default();
        self.look(node, false, &mut passage)?;
        let hands_over =
            |arg: &OpaqueArg| matches!(arg.variable(), Some(place) if !matches!(place.ty, Type::Opaque(_)));
        // A function of another file, or of this, may keep the address; one of C's library does not.
        let is_handed = passage.variables.iter().any(|(_, arg)| hands_over(arg));
        let is_refused = match from {
            Origin::Library => passage.is_own || !passage.declared.is_empty(),
            Origin::Program => !passage.is_own || is_handed,
            Origin::Anywhere => is_handed && (passage.is_own || !passage.declared.is_empty()),
        };
        if is_refused || passage.is_own && !(self.context.scope.is_empty() && self.context.stays_apart(node)) {
            return None;
        }
        self.context.module.needs_program |= passage.is_own;
        let args = self.pieces(node.span, passage.variables)?;
        let opening = self.opening(node.span);
        let preamble = &mut self.context.module.preamble;
        preamble.extend(opening.into_iter().chain(passage.declared));
        Some(args)
    }

    /// Collects the variables of an expression; none if something in it must be read.
    fn look(&mut self, node: &'a Node, is_read: bool, passage: &mut Passage) -> Option<()> {
        let file = |span: &Span| self.context.declarations(self.pass).file_name(*span);
        let is_own_macro = node.spelling.as_deref().is_some_and(|spelled| is_not_system(file(spelled)))
            && !self.begins_with_macro(node);
        let is_load = node.kind == Kind::ImplicitCastExpr && node.data.cast_kind.as_deref() == Some("LValueToRValue");
        let is_in_parentheses = is_read && node.kind == Kind::ParenExpr;
        let is_element = is_load && node.inner.first().is_some_and(|inner| inner.kind != Kind::DeclRefExpr);
        if (is_own_macro || is_element)
            && !passage.is_conditional
            && let Some(value) = self.read_part(node)
        {
            passage.variables.push((node.span, OpaqueArg::Value(value)));
            return Some(());
        }
        // What a macro of the program stands for is not there in the derivative, but for a text and a name of C's library.
        if is_own_macro {
            let text = self.text_of_program(node).or_else(|| self.name_of_library(node));
            let text = text.filter(|_| self.text(node.span).is_some_and(is_word))?;
            passage.variables.push((node.span, text));
            return Some(());
        }
        if !is_read && let Some(part) = self.part_in_place(node) {
            passage.variables.push((node.span, part));
            return Some(());
        }
        let is_made = !matches!(node.kind, Kind::DeclRefExpr | Kind::ImplicitCastExpr | Kind::MemberExpr);
        passage.is_own |= is_made && self.names_own_type(node.ty());
        match node.kind {
            Kind::CUDAKernelCallExpr | Kind::CXXThisExpr | Kind::LambdaExpr => return None,
            Kind::DeclRefExpr => return self.look_at_name(node, is_read, passage),
            Kind::MemberExpr => {
                passage.is_own |= node.data.referenced_member_decl.is_some_and(|member| self.is_own(member));
            }
            _ => {}
        }
        // What stands after `&&` is read only if what stands before is true.
        let outer = passage.is_conditional;
        passage.is_conditional |= node.kind == Kind::ConditionalOperator || matches!(node.opcode(), "&&" | "||");
        let found = node.inner.iter().try_for_each(|inner| self.look(inner, is_load || is_in_parentheses, passage));
        passage.is_conditional = outer;
        found
    }

    /// The value of a part that lowering can read, in a variable: `sizes[0]`, a number that a macro names, `*handle`.
    fn read_part(&mut self, node: &'a Node) -> Option<Expr> {
        let stands_alone = node.spelling.is_none() || self.text(node.span).is_some_and(is_word);
        let ty = self.context.node_type(self.pass, node).ok().filter(|ty| is_number(ty) || is_handle(ty))?;
        if !stands_alone || node.is_glvalue() {
            return None;
        }
        let before = self.block.len();
        match self.value_unspanned(node) {
            Ok(value) => Some(self.keep(convert(value, ty))),
            Err(_) => {
                self.block.truncate(before);
                None
            }
        }
    }

    /// An element or a field that is a number, or an array of numbers, if lowering can read it without a statement of its own:
    /// it stands where it stood, so its index is computed when it was.
    fn part_in_place(&mut self, node: &'a Node) -> Option<OpaqueArg> {
        let is_pointed_to = node.kind == Kind::UnaryOperator && node.opcode() == "*";
        let is_place = is_pointed_to || matches!(node.kind, Kind::ArraySubscriptExpr | Kind::MemberExpr);
        let is_array = node.data.cast_kind.as_deref() == Some("ArrayToPointerDecay");
        // A part of a text that nobody changes: `&name[5]`.
        let is_address = node.kind == Kind::UnaryOperator && node.opcode() == "&" && node.ty() == "const char *";
        if node.spelling.is_some() || !(is_array || is_address || is_place && node.is_glvalue()) {
            return None;
        }
        let before = self.block.len();
        let part = if is_array || is_address {
            let address = self.value_unspanned(node).ok();
            address.filter(|address| address.ty.pointee().is_some_and(is_number)).map(OpaqueArg::Value)
        } else {
            self.place(node).ok().filter(|place| is_number(&place.ty)).map(OpaqueArg::Variable)
        };
        let is_pure = self.block.len() == before;
        self.block.truncate(before);
        part.filter(|_| is_pure)
    }

    fn look_at_name(&mut self, node: &'a Node, is_read: bool, passage: &mut Passage) -> Option<()> {
        let reference = node.data.referenced_decl.as_ref()?;
        let name = reference.name.as_deref().unwrap_or_default();
        if let Some(binding) = self.bindings.get(&reference.id) {
            let Binding::Local(local) = binding else { return None };
            let place = self.local_place(*local);
            let is_written_out = node.spelling.is_none() && self.text(node.span) == Some(name);
            let arg = handed_over(place, is_read).filter(|_| is_written_out)?;
            passage.variables.push((node.span, arg));
            return Some(());
        }
        match (self.context.declarations(self.pass).get(reference.id), is_of_library(name)) {
            (_, true) => None,
            // The standard library's declarations are not read.
            (None, false) => Some(()),
            (Some(_), false) if self.context.declarations(self.pass).definition(reference.id).is_some() => {
                passage.is_own = true;
                Some(())
            }
            (Some(declared), false) if is_text_of_program(declared.node) => {
                passage.is_own = true;
                Some(())
            }
            (Some(declared), false) => {
                let declarations = self.context.declarations(self.pass);
                let is_free =
                    declared.node.kind == Kind::FunctionDecl && declarations.scope(declared).spelling.is_empty();
                if !is_free || declared.node.spelling.is_some() {
                    return None;
                }
                let text = self.text(declared.node.span)?.trim_start_matches("extern ").to_owned();
                let linkage =
                    if declared.node.data.mangled_name.as_deref() == Some(name) { "extern \"C\" " } else { "" };
                passage.declared.insert(format!("{linkage}{};", in_one_line(&text)?).into());
                Some(())
            }
        }
    }

    /// Whether the program declares something, and not the standard library.
    fn is_own(&self, id: NodeId) -> bool {
        self.context.declarations(self.pass).get(id).is_some()
    }

    /// Whether a type is made of types of the program.
    fn names_own_type(&self, spelling: &str) -> bool {
        let words = spelling.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':');
        words.filter(|word| !word.is_empty()).any(|word| self.context.find_record(self.pass, word).is_some())
    }

    fn text(&self, span: Span) -> Option<&'a str> {
        self.context.declarations(self.pass).text(span)
    }

    /// What the file of a span says before its functions: the headers of the standard library, and that its names are used
    /// without `std::`.
    fn opening(&self, span: Span) -> Vec<Name> {
        let text = self.context.declarations(self.pass).text_of_file(span).unwrap_or_default();
        let opened = text.lines().map(str::trim).find(|line| *line == "using namespace std;");
        included_headers(text).into_iter().chain(opened.map(Name::from)).collect()
    }

    fn pieces(&self, span: Span, mut variables: Vec<(Span, OpaqueArg)>) -> Option<Vec<OpaqueArg>> {
        variables.sort_by_key(|(at, _)| at.start);
        let mut pieces = Vec::new();
        let mut start = span.start;
        for (at, arg) in variables {
            if at.file != span.file || at.start < start {
                return None;
            }
            push_text(&mut pieces, self.text(Span { start, end: at.start, ..span })?)?;
            pieces.push(arg);
            start = at.end;
        }
        push_text(&mut pieces, self.text(Span { start, ..span })?)?;
        Some(joined(pieces))
    }
}

/// The headers that a text includes in angle brackets. One that stands under a condition may be of another system, and is
/// included where there is one.
fn included_headers(text: &str) -> Vec<Name> {
    let mut found = Vec::new();
    // Of each condition that is open, whether it tells anything: a guard against including the file twice does not.
    let mut conditions: Vec<bool> = Vec::new();
    let mut directives = text.lines().filter_map(directive).peekable();
    while let Some((word, rest)) = directives.next() {
        match word {
            "if" | "ifdef" => conditions.push(true),
            "ifndef" => {
                conditions.push(directives.peek().is_none_or(|(word, name)| *word != "define" || *name != rest));
            }
            "endif" => {
                conditions.pop();
            }
            "include" => {
                let header = rest.find('>').filter(|_| rest.starts_with('<')).map(|end| &rest[..=end]);
                let header = header.filter(|header| !OWN_HEADERS.iter().any(|own| header.starts_with(own)));
                found.extend(header.map(|header| match conditions.contains(&true) {
                    true => format!("#if __has_include({header})\n#include {header}\n#endif").into(),
                    false => Name::from(header),
                }));
            }
            _ => {}
        }
    }
    found
}

/// The word after `#` in a line, and what follows it.
fn directive(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start().strip_prefix('#')?.trim_start();
    let end = line.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(line.len());
    Some((&line[..end], line[end..].trim()))
}

fn is_word(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Bool | Type::Int(_) | Type::Float(_))
}

/// Whether a type is a pointer to something that only other code knows: `FILE*`. What streams are waited for must be read.
fn is_handle(ty: &Type) -> bool {
    let is_cuda = |name: &str| name.starts_with("CU") || name.starts_with("cu");
    matches!(ty.pointee(), Some(Type::Opaque(name)) if !is_cuda(name)) && !ty.is_reference()
}

/// Whether a type is a pointer to numbers.
fn is_memory(ty: &Type) -> bool {
    matches!(ty.pointee(), Some(Type::Bool | Type::Int(_) | Type::Float(_))) && !ty.is_reference() && !is_text(ty)
}

/// Whether a type is a pointer to characters.
fn is_text(ty: &Type) -> bool {
    matches!(ty.pointee(), Some(Type::Int(IntKind::Char))) && !ty.is_reference()
}

/// How a variable is handed over, if it may be.
fn handed_over(place: Place, is_read: bool) -> Option<OpaqueArg> {
    let is_plain = match &place.ty {
        Type::Opaque(_) => return Some(OpaqueArg::Variable(place)),
        Type::Pointer(pointer) if pointer.is_reference && matches!(pointer.pointee, Type::Opaque(_)) => {
            return Some(OpaqueArg::Variable(Place::deref(Expr::load(place))));
        }
        ty if is_handle(ty) || is_text(ty) && !is_read => true,
        Type::Bool | Type::Int(_) | Type::Float(_) => true,
        // What is behind a pointer to pointers would be lost; the words of the command line are no pointers of interest.
        Type::Pointer(pointer) if is_read && !pointer.is_reference => {
            let is_word = |ty: &Type| matches!(ty.pointee(), Some(Type::Int(_)));
            !pointer.pointee.is_pointer() || is_word(&pointer.pointee)
        }
        Type::Pointer(_) | Type::Void | Type::Array(..) | Type::Record(_) => false,
    };
    let arg = if is_read { OpaqueArg::Value(Expr::load(place)) } else { OpaqueArg::Variable(place) };
    is_plain.then_some(arg)
}

/// The same with one text where several follow each other.
fn joined(args: Vec<OpaqueArg>) -> Vec<OpaqueArg> {
    let mut found: Vec<OpaqueArg> = Vec::new();
    for arg in args {
        match (found.last_mut(), arg) {
            (Some(OpaqueArg::Text(before)), OpaqueArg::Text(text)) => *before = format!("{before}{text}").into(),
            (_, arg) => found.push(arg),
        }
    }
    found
}

fn push_text(pieces: &mut Vec<OpaqueArg>, text: &str) -> Option<()> {
    if !text.is_empty() {
        pieces.push(OpaqueArg::Text(in_one_line(text)?.into()));
    }
    Some(())
}

/// A text without line breaks; none if it has comments or directives.
fn in_one_line(text: &str) -> Option<String> {
    if !text.contains('\n') {
        return Some(text.to_owned());
    }
    let is_plain = !text.contains("//") && !text.contains("/*") && !text.contains('#');
    is_plain.then(|| text.lines().map(str::trim).collect::<Vec<_>>().join(" "))
}
