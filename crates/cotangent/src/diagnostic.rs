//! What is wrong with the user's program, as data: a code, a place, a message and a way out.

use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::Serialize;

use crate::source::{Sources, Span};

/// One finding about the user's program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Its stable code, which names a page of the manual.
    pub code: Code,
    /// What is wrong, in one line, starting in lower case.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to say under the caret.
    pub label: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Whether the user need not act upon it: what was asked for is there all the same.
    pub is_note: bool,
}

/// A stable code with its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    /// As printed: `C0101`.
    pub id: &'static str,
    /// What it stands for, as the manual's headline.
    pub title: &'static str,
}

/// Declares the codes and the list of all of them.
macro_rules! codes {
    ($($name:ident = $id:literal, $title:literal;)*) => {
        $(
            #[doc = $title]
            pub const $name: Code = Code { id: $id, title: $title };
        )*
        /// Every code, in order.
        pub const CODES: &[Code] = &[$($name),*];
    };
}

codes! {
    NOT_FOUND = "C0001", "the requested function is not in the file";
    AMBIGUOUS = "C0002", "the requested name means several functions";
    BROKEN_DUMP = "C0003", "Clang's dump could not be read";
    UNSUPPORTED_TYPE = "C0101", "a type that is not supported";
    UNSUPPORTED_STATEMENT = "C0102", "a statement that is not supported";
    UNSUPPORTED_EXPRESSION = "C0103", "an expression that is not supported";
    UNSUPPORTED_DECLARATION = "C0104", "a declaration that is not supported";
    NO_BODY = "C0105", "a function without a body";
    RECURSION = "C0106", "a function that calls itself";
    UNSUPPORTED_CALL = "C0107", "a call that is not supported";
    TOO_DEEP = "C0108", "code nested too deeply";
    OTHER_MEANING = "C0109", "a file that means something else after another";
    NOT_DIFFERENTIABLE = "C0201", "a parameter that cannot be named";
    CONSTANT_MEMORY = "C0202", "an active value is stored to what is constant";
    MIXED_POINTER = "C0203", "a pointer to active and to constant memory";
    NO_DERIVATIVE = "C0204", "an operation that has no derivative, or none yet";
    TAKEN_NAME = "C0205", "the name of a derivative is taken";
    THREADS_ACTIVE = "C0206", "threads exchange active values";
    UNKNOWN_POINTER = "C0207", "a pointer to unknown memory on an active path";
    CANNOT_RECORD = "C0208", "a value that can be neither computed again nor recorded";
    SHARED_STORE = "C0209", "an active element that all threads of a block store to";
    RULE_SIGNATURE = "C0210", "a rule whose signature does not fit";
    RULE_CONFLICT = "C0211", "a rule that cannot hold";
    RECORD_SIZE = "C0212", "a record whose size cannot be told before the launch";
    NOT_CONVERGENT = "C0213", "threads that return between barriers";
    NO_SEED = "C0214", "a derivative that has no seed";
    UNNAMED_OUTPUT = "C0215", "an active output that is not named";
    SHARED_LIMIT = "C0216", "a derivative with more shared memory than a block has";
    ORDER_OF_ADDITIONS = "C0217", "additions whose order is not fixed";
    RECORD_BUDGET = "C0218", "a loop that records more than its budget";
    CANNOT_REPEAT = "C0219", "a loop that cannot be run again from checkpoints";
    REQUEST_IN_HEADER = "C0301", "a request in a header";
    REQUEST_IN_MACRO = "C0302", "a request in a macro";
    REQUEST_IN_TEMPLATE = "C0303", "a request in a template";
    REQUEST_NAMES = "C0304", "a request whose names are no literal";
    REQUEST_OF_NO_FUNCTION = "C0305", "a request that does not say which function";
    REQUEST_RESULT = "C0306", "a request for a function whose result has no name";
    REQUEST_BUDGET = "C0307", "a budget for what has no checkpoints";
    INTERNAL = "C0999", "a contradiction inside Cotangent";
}

impl Diagnostic {
    /// A diagnostic without a help line.
    pub fn new(code: Code, span: Span, message: impl Into<String>, label: impl Into<String>) -> Diagnostic {
        Diagnostic { code, message: message.into(), span, label: label.into(), help: None, is_note: false }
    }

    /// The same as a note.
    pub fn noted(mut self) -> Diagnostic {
        self.is_note = true;
        self
    }

    /// The same with a way out.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}

/// Why a program is refused, as it is shown, and as data for programs that show it in their own way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// As [`render`] has them.
    pub text: String,
    /// In the same order.
    pub found: Vec<Located>,
}

/// A finding with its place as editors count it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Located {
    /// The stable code.
    pub code: &'static str,
    /// What is wrong, in one line.
    pub message: String,
    /// The file, as the program names it; none if the finding is about the whole.
    pub file: Option<String>,
    /// Counted from 1.
    pub line: Option<usize>,
    /// In characters, counted from 1.
    pub column: Option<usize>,
    /// What is said under the caret.
    pub label: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Refusal {
    /// Shows findings about a program.
    pub fn of(diagnostics: &[Diagnostic], sources: &Sources, colour: bool) -> Refusal {
        let found = diagnostics.iter().map(|diagnostic| locate(diagnostic, sources)).collect();
        Refusal { text: render(diagnostics, sources, colour), found }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

fn locate(diagnostic: &Diagnostic, sources: &Sources) -> Located {
    let file = sources.files.get(diagnostic.span.file);
    let before = file.and_then(|file| file.text.as_deref()?.get(..diagnostic.span.start as usize));
    let column = |text: &str| text.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Located {
        code: diagnostic.code.id,
        message: diagnostic.message.clone(),
        file: file.map(|file| file.name.to_string()),
        line: before.map(|text| text.matches('\n').count() + 1),
        column: before.map(column),
        label: diagnostic.label.clone(),
        help: diagnostic.help.clone(),
    }
}

/// Renders diagnostics for a terminal, with the lines they speak of.
pub fn render(diagnostics: &[Diagnostic], sources: &Sources, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&render_one(diagnostic, sources, &renderer));
        out.push_str("\n\n");
    }
    out
}

fn render_one(diagnostic: &Diagnostic, sources: &Sources, renderer: &Renderer) -> String {
    let level = if diagnostic.is_note { Level::NOTE } else { Level::ERROR };
    let title = level.primary_title(&*diagnostic.message).id(diagnostic.code.id);
    let file = sources.files.get(diagnostic.span.file);
    let mut group = Group::with_title(title);
    if let Some(file) = file {
        if let Some(text) = &file.text {
            let end = (diagnostic.span.end as usize).min(text.len());
            let start = (diagnostic.span.start as usize).min(end);
            let annotation = AnnotationKind::Primary.span(start..end).label(&*diagnostic.label);
            group = group.element(Snippet::source(&**text).path(&*file.name).annotation(annotation));
        } else {
            group = group.element(
                Level::NOTE.message(format!("{} at {}, offset {}", diagnostic.label, file.name, diagnostic.span.start)),
            );
        }
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(&**help));
    }
    renderer.render(&[group])
}
