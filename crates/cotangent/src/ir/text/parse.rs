//! Reads records, variables, functions and types from the text form.
//!
//! The parser knows the type of every name that it meets, so it can tell `pointer[i]` from `array[i]`; other than that
//! it does not ask whether the module is valid. A record or function may be mentioned before it is defined, which
//! `validate` judges: when a name is not known yet, the names of the whole text are collected.

use std::collections::{HashMap, HashSet};

use super::lex::{Lexer, Token, TokenKind};
use super::words::{FLOAT_TYPES, GLOBAL_STORAGES, INT_TYPE_WORDS, Numbering, SPACES, STORAGES, Words};
use super::{ParseError, words};
use crate::index::{Id, IdVec};
use crate::ir::scope::Visible;
use crate::ir::{
    Field, Function, FunctionId, Global, GlobalId, IntKind, LaunchBounds, Local, LocalId, MAX_DEPTH, MAX_TYPE_DEPTH,
    Module, Name, PointerType, Record, RecordId, Rule, RuleKind, Space, Storage, Type,
};
use crate::source::Span;

/// One token of look-ahead, and what was read so far.
pub(super) struct Parser<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    pub(super) token: Token<'t>,
    names: HashSet<Name>,
    depth: usize,
    pub(super) module: Module,
    records: HashMap<Name, RecordId>,
    pub(super) globals: HashMap<Name, GlobalId>,
    functions: HashMap<Name, FunctionId>,
    are_names_collected: bool,
    pub(super) locals: HashMap<LocalId, Local>,
    numbering: Numbering,
    pub(super) visible: Visible,
}

impl<'t> Parser<'t> {
    /// A parser at the beginning of the text.
    pub(super) fn new(text: &'t str) -> Result<Parser<'t>, ParseError> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        Ok(Parser {
            text,
            lexer,
            token,
            names: HashSet::new(),
            depth: 0,
            module: Module::default(),
            records: HashMap::new(),
            globals: HashMap::new(),
            functions: HashMap::new(),
            are_names_collected: false,
            locals: HashMap::new(),
            numbering: Numbering::default(),
            visible: Visible::default(),
        })
    }

    /// Gives ids to all records and functions, which are named after a keyword outside all brackets.
    fn collect_names(&mut self) -> Result<(), ParseError> {
        if std::mem::replace(&mut self.are_names_collected, true) {
            return Ok(());
        }
        let mut lexer = Lexer::new(self.text);
        let mut nesting = 0i64;
        let mut before = "";
        let (mut record_count, mut function_count) = (0, 0);
        loop {
            let token = lexer.next()?;
            match (token.kind, token.text) {
                (TokenKind::End, _) => return Ok(()),
                (TokenKind::Symbol, "{" | "(" | "[") => nesting += 1,
                (TokenKind::Symbol, "}" | ")" | "]") => nesting -= 1,
                _ => {}
            }
            let is_name = nesting == 0 && is_name(token);
            if is_name && before == "record" {
                let name = self.name_of(token)?;
                self.records.entry(name).or_insert(RecordId::new(record_count));
                record_count += 1;
            } else if is_name && words::value(SPACES, before).is_some() {
                // A variable's storage may be the same word as a function's space; a parenthesis makes the difference.
                let after = lexer.clone().next()?;
                if after.kind == TokenKind::Symbol && after.text == "(" {
                    let name = self.name_of(token)?;
                    self.functions.entry(name).or_insert(FunctionId::new(function_count));
                    function_count += 1;
                }
            }
            before = if nesting == 0 && token.is_word() { token.text } else { "" };
        }
    }

    /// Everything up to the end of the text.
    pub(super) fn module(mut self) -> Result<Module, ParseError> {
        while self.token.kind != TokenKind::End {
            let is_builtin = self.accept_word("builtin")?;
            if is_builtin || self.is_word("record") {
                self.record(is_builtin)?;
                continue;
            }
            if self.accept_word("rule")? {
                self.rule()?;
                continue;
            }
            let is_extern = self.accept_word("extern")?;
            let keyword = self.token;
            let space = words::value(SPACES, keyword.text);
            let storage = words::value(GLOBAL_STORAGES, keyword.text);
            if !keyword.is_word() || (space.is_none() && storage.is_none()) {
                return Err(self.expected("a record, a variable, a function or a rule"));
            }
            self.advance()?;
            let name = self.name("a name")?;
            match (space, storage) {
                (Some(space), _) if self.is_symbol("(") && !is_extern => self.function(name, space)?,
                (_, Some(storage)) => {
                    self.symbol(":")?;
                    let ty = self.ty()?;
                    let align = self.alignment()?;
                    let init = if self.accept("=")? { Some(self.expr()?) } else { None };
                    self.symbol(";")?;
                    let global = Global { name: name.clone(), ty, storage, is_extern, align, init, span: Span::NONE };
                    let id = self.module.globals.push(global);
                    self.globals.entry(name).or_insert(id);
                }
                (_, None) => return Err(self.expected("`(`")),
            }
        }
        Ok(self.module)
    }

    fn record(&mut self, is_builtin: bool) -> Result<(), ParseError> {
        self.keyword("record")?;
        let name = self.name("a record's name")?;
        self.records.entry(name.clone()).or_insert(RecordId::new(self.module.records.len()));
        let align = self.alignment()?;
        self.symbol("{")?;
        let mut fields = Vec::new();
        while !self.accept("}")? {
            if !fields.is_empty() {
                self.symbol(",")?;
            }
            let name = self.name("a field")?;
            self.symbol(":")?;
            fields.push(Field { name, ty: self.ty()? });
        }
        self.module.records.push(Record { name, fields, is_builtin, align, span: Span::NONE });
        Ok(())
    }

    /// Which functions are meant is known when all were read.
    fn rule(&mut self) -> Result<(), ParseError> {
        let function = self.function_name()?;
        self.symbol(":")?;
        let kind = if self.accept_word("pullback")? {
            RuleKind::Pullback(self.function_name()?)
        } else if self.accept_word("split")? {
            let augmented = self.function_name()?;
            self.symbol(",")?;
            RuleKind::Split { augmented, reverse: self.function_name()? }
        } else if self.accept_word("pushforward")? {
            RuleKind::Pushforward(self.function_name()?)
        } else {
            self.keyword("constant")?;
            RuleKind::Constant
        };
        self.symbol(";")?;
        self.module.rules.push(Rule { function, kind, span: Span::NONE });
        Ok(())
    }

    fn function(&mut self, name: Name, space: Space) -> Result<(), ParseError> {
        self.functions.entry(name.clone()).or_insert(FunctionId::new(self.module.functions.len()));
        self.locals = HashMap::new();
        self.numbering = Numbering::default();
        self.visible = Visible::default();
        self.symbol("(")?;
        let mut params = Vec::new();
        while !self.accept(")")? {
            if !params.is_empty() {
                self.symbol(",")?;
            }
            let param = self.declaration()?;
            self.make_visible(param);
            params.push(param);
        }
        let result = if self.accept("->")? { self.ty()? } else { Type::Void };
        let mut launch_bounds = None;
        if self.accept_word("bounds")? {
            let max_threads = self.integer("a number of threads")?;
            let min_blocks = if self.accept(",")? { Some(self.integer("a number of blocks")?) } else { None };
            launch_bounds = Some(LaunchBounds { max_threads, min_blocks });
        }
        let is_extern_c = self.accept_word("extern")?;
        self.symbol("{")?;
        while self.accept_word("unused")? {
            self.declaration()?;
            self.symbol(";")?;
        }
        let body = self.statements_to_brace()?;
        let locals = self.finish_locals()?;
        let span = Span::NONE;
        let function =
            Function { name, space, params, result, locals, body, launch_bounds, is_extern_c, span, note: None };
        self.module.functions.push(function);
        Ok(())
    }

    /// The table of locals, which must have no gaps.
    fn finish_locals(&mut self) -> Result<IdVec<LocalId, Local>, ParseError> {
        let mut found = std::mem::take(&mut self.locals);
        let mut locals = IdVec::new();
        while let Some(local) = found.remove(&LocalId::new(locals.len())) {
            locals.push(local);
        }
        if found.is_empty() {
            return Ok(locals);
        }
        Err(self.error(format!("the function above has no local #{}, but locals of higher numbers", locals.len())))
    }

    /// `[shared|dynamic] name[#number]: type [align bytes]`. The name becomes visible by `make_visible`.
    pub(super) fn declaration(&mut self) -> Result<LocalId, ParseError> {
        let storage = self.accept_one_of(STORAGES)?.unwrap_or(Storage::Private);
        let name = self.name("the name of a local")?;
        let number = if self.accept("#")? { self.integer("a local's number")? } else { self.numbering.lowest_free() };
        if !self.numbering.take(number) {
            return Err(self.error(format!("there are two locals with the number {number}")));
        }
        self.symbol(":")?;
        let ty = self.ty()?;
        let align = self.alignment()?;
        let id = LocalId(number);
        self.locals.insert(id, Local { name, ty, storage, align, span: Span::NONE });
        Ok(id)
    }

    /// `align 16`, or nothing.
    fn alignment(&mut self) -> Result<Option<u32>, ParseError> {
        if self.accept_word("align")? { self.integer("an alignment").map(Some) } else { Ok(None) }
    }

    /// From here to the end of its block, the local is what its name means.
    pub(super) fn make_visible(&mut self, id: LocalId) {
        let name = self.locals[&id].name.clone();
        self.visible.declare(name, id);
    }

    /// A type; `push_type` says how it is written.
    pub(super) fn ty(&mut self) -> Result<Type, ParseError> {
        let (mut is_const, mut is_volatile) = self.qualifiers()?;
        let mut ty = self.base_type()?;
        let mut layers = 0;
        loop {
            let mut lengths = Vec::new();
            while self.accept("[")? {
                lengths.push(self.integer::<u64>("an array's length")?);
                self.symbol("]")?;
                self.check_layers(layers + lengths.len())?;
            }
            layers += lengths.len() + 1;
            for length in lengths.into_iter().rev() {
                ty = Type::Array(Box::new(ty), length);
            }
            if !(is_const || is_volatile) {
                (is_const, is_volatile) = self.qualifiers()?;
            }
            let is_reference = self.is_symbol("&");
            if !is_reference && !self.is_symbol("*") {
                break;
            }
            self.check_layers(layers)?;
            self.advance()?;
            let is_restrict = self.accept_word("restrict")?;
            ty = Type::Pointer(Box::new(PointerType { pointee: ty, is_const, is_restrict, is_volatile, is_reference }));
            (is_const, is_volatile) = (false, false);
        }
        if is_const || is_volatile { Err(self.expected("`*` or `&` after a qualified type")) } else { Ok(ty) }
    }

    fn check_layers(&self, layers: usize) -> Result<(), ParseError> {
        if layers <= MAX_TYPE_DEPTH {
            return Ok(());
        }
        Err(self.error(format!("expected a type of at most {MAX_TYPE_DEPTH} pointers and arrays")))
    }

    fn qualifiers(&mut self) -> Result<(bool, bool), ParseError> {
        Ok((self.accept_word("const")?, self.accept_word("volatile")?))
    }

    fn base_type(&mut self) -> Result<Type, ParseError> {
        if self.accept_word("void")? {
            return Ok(Type::Void);
        }
        if self.accept_word("bool")? {
            return Ok(Type::Bool);
        }
        if self.accept_word("opaque")? {
            return Ok(Type::Opaque(self.name("the name of an opaque type")?));
        }
        if let Some(kind) = self.accept_one_of(FLOAT_TYPES)? {
            return Ok(Type::Float(kind));
        }
        let start = self.token;
        let mut spelling = String::new();
        while self.token.is_word() && INT_TYPE_WORDS.contains(&self.token.text) && spelling.len() < 32 {
            spelling.push_str(if spelling.is_empty() { "" } else { " " });
            spelling.push_str(self.token.text);
            self.advance()?;
        }
        if !spelling.is_empty() {
            let kind = IntKind::ALL.into_iter().find(|kind| kind.spelling() == spelling);
            let message = || self.lexer.error(start.offset, format!("expected an integer type, found `{spelling}`"));
            return kind.map(Type::Int).ok_or_else(message);
        }
        let name = self.name("a type")?;
        if !self.records.contains_key(&name) {
            self.collect_names()?;
        }
        let message = || self.lexer.error(start.offset, format!("expected a type, found the unknown name `{name}`"));
        self.records.get(&name).map(|&id| Type::Record(id)).ok_or_else(message)
    }

    /// A function that was or will be defined.
    pub(super) fn function_name(&mut self) -> Result<FunctionId, ParseError> {
        let offset = self.token.offset;
        let name = self.name("a function's name")?;
        if !self.functions.contains_key(&name) {
            self.collect_names()?;
        }
        let unknown = || self.lexer.error(offset, format!("expected a function, found the unknown name `{name}`"));
        self.functions.get(&name).copied().ok_or_else(unknown)
    }

    /// Counts one level of nesting; `leave` ends it. One more than valid modules have, for the parentheses around a
    /// negated constant.
    pub(super) fn enter(&mut self) -> Result<(), ParseError> {
        self.depth += 1;
        self.check_depth(self.depth.saturating_sub(2))
    }

    /// Ends a level of nesting. After an error nothing needs to be ended.
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// An error if a tree is too high.
    pub(super) fn check_depth(&self, depth: usize) -> Result<(), ParseError> {
        if depth <= MAX_DEPTH {
            return Ok(());
        }
        Err(self.error(format!("expected at most {MAX_DEPTH} levels of nesting")))
    }

    /// Goes to the next token.
    pub(super) fn advance(&mut self) -> Result<(), ParseError> {
        self.token = self.lexer.next()?;
        Ok(())
    }

    /// The token after this one.
    pub(super) fn peek(&self) -> Result<Token<'t>, ParseError> {
        self.lexer.clone().next()
    }

    /// Whether the token is that operator or bracket.
    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        self.token.kind == TokenKind::Symbol && self.token.text == symbol
    }

    /// Whether the token is that reserved word.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.token.is_word() && self.token.text == word
    }

    /// Passes an operator or bracket if it is there.
    pub(super) fn accept(&mut self, symbol: &str) -> Result<bool, ParseError> {
        let is_there = self.is_symbol(symbol);
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    /// Passes a word if it is there.
    pub(super) fn accept_word(&mut self, word: &str) -> Result<bool, ParseError> {
        let is_there = self.is_word(word);
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    /// Passes a word of the table if one is there.
    pub(super) fn accept_one_of<T: Copy>(&mut self, words: Words<T>) -> Result<Option<T>, ParseError> {
        let found = if self.token.is_word() { words::value(words, self.token.text) } else { None };
        if found.is_some() {
            self.advance()?;
        }
        Ok(found)
    }

    /// Passes a word of the table.
    pub(super) fn one_of<T: Copy>(&mut self, words: Words<T>, what: &str) -> Result<T, ParseError> {
        self.accept_one_of(words)?.ok_or_else(|| self.expected(what))
    }

    /// Passes an operator or bracket.
    pub(super) fn symbol(&mut self, symbol: &str) -> Result<(), ParseError> {
        if self.accept(symbol)? { Ok(()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }

    /// Passes a word.
    pub(super) fn keyword(&mut self, word: &str) -> Result<(), ParseError> {
        if self.accept_word(word)? { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// Passes a name.
    pub(super) fn name(&mut self, what: &str) -> Result<Name, ParseError> {
        if !is_name(self.token) {
            return Err(self.expected(what));
        }
        let name = self.name_of(self.token)?;
        self.advance()?;
        Ok(name)
    }

    fn name_of(&mut self, token: Token<'_>) -> Result<Name, ParseError> {
        let unquoted;
        let text = if token.kind == TokenKind::Quoted {
            unquoted = words::unescape(token.text).map_err(|message| self.lexer.error(token.offset, message))?;
            &*unquoted
        } else {
            token.text
        };
        if let Some(known) = self.names.get(text) {
            return Ok(known.clone());
        }
        let name: Name = text.into();
        self.names.insert(name.clone());
        Ok(name)
    }

    /// Passes a whole number without a suffix.
    pub(super) fn integer<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, ParseError> {
        let parsed = if self.token.kind == TokenKind::Number { self.token.text.parse().ok() } else { None };
        let Some(number) = parsed else { return Err(self.expected(&format!("{what} that fits"))) };
        self.advance()?;
        Ok(number)
    }

    /// An error at this token.
    pub(super) fn error(&self, message: impl Into<String>) -> ParseError {
        self.lexer.error(self.token.offset, message)
    }

    /// An error at this token: what was expected, and what is there instead.
    pub(super) fn expected(&self, what: &str) -> ParseError {
        self.expected_at(self.token, what)
    }

    /// The same at an earlier token.
    pub(super) fn expected_at(&self, token: Token<'_>, what: &str) -> ParseError {
        let shown: String = token.text.chars().take(40).collect();
        let found = match token.kind {
            TokenKind::End => "the end of the text".to_owned(),
            TokenKind::Text => "a string".to_owned(),
            TokenKind::Quoted => format!("the name `{shown}`"),
            TokenKind::Keyword => format!("the keyword `{shown}`"),
            TokenKind::Word | TokenKind::Number | TokenKind::Symbol => format!("`{shown}`"),
        };
        self.lexer.error(token.offset, format!("expected {what}, found {found}"))
    }
}

fn is_name(token: Token<'_>) -> bool {
    matches!(token.kind, TokenKind::Word | TokenKind::Quoted)
}
