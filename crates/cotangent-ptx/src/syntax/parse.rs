//! The parser: tokens to [`Text`].

use super::lex::{Kind, Token, tokens};
use super::{
    Base, Function, Guard, Initial, Instruction, Number, Operand, StateSpace, Statement, SyntaxError, Text, Variable,
};

/// Scopes that are nested more deeply are refused, so that no text can exhaust the stack.
const MAX_DEPTH: u32 = 200;

/// A variable that is larger is refused: no device has more memory.
const MAX_BYTES: u64 = 1 << 40;

/// Reads a text.
pub(crate) fn parse(text: &str) -> Result<Text<'_>, SyntaxError> {
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0, depth: 0 };
    let mut result = Text::default();
    while parser.at < parser.tokens.len() {
        parser.top_level(&mut result)?;
    }
    Ok(result)
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: u32,
}

type Result<T, E = SyntaxError> = std::result::Result<T, E>;

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Kind<'a>> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |token| token.line)
    }

    fn next(&mut self) -> Option<Kind<'a>> {
        let kind = self.peek();
        self.at += usize::from(kind.is_some());
        kind
    }

    fn is(&self, punctuation: char) -> bool {
        self.peek() == Some(Kind::Punctuation(punctuation))
    }

    fn take(&mut self, punctuation: char) -> bool {
        let found = self.is(punctuation);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, punctuation: char) -> Result<()> {
        if self.take(punctuation) { Ok(()) } else { self.wanted(&format!("`{punctuation}`")) }
    }

    fn wanted<T>(&self, what: &str) -> Result<T> {
        let found = match self.peek() {
            None => String::from("the end"),
            Some(Kind::Word(word)) => format!("`{word}`"),
            Some(Kind::Number(_)) => String::from("a number"),
            Some(Kind::Text(_)) => String::from("a string"),
            Some(Kind::Punctuation(character)) => format!("`{character}`"),
        };
        Err(SyntaxError::new(self.line(), format!("expected {what}, found {found}")))
    }

    fn word(&mut self) -> Result<&'a str> {
        match self.peek() {
            Some(Kind::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            _ => self.wanted("a name"),
        }
    }

    fn integer(&mut self) -> Result<u64> {
        match self.peek() {
            Some(Kind::Number(Number::Integer(value))) => {
                self.at += 1;
                Ok(value)
            }
            _ => self.wanted("an integer"),
        }
    }

    /// What stands between brackets or braces, however nested.
    fn skip_enclosed(&mut self, open: char, close: char) -> Result<()> {
        self.expect(open)?;
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                None => return self.wanted(&format!("`{close}`")),
                Some(Kind::Punctuation(found)) if found == open => depth += 1,
                Some(Kind::Punctuation(found)) if found == close => depth -= 1,
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// One level deeper; the caller counts down again.
    fn enter(&mut self, what: &str) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SyntaxError::new(self.line(), format!("{what} are nested too deeply")));
        }
        Ok(())
    }

    fn skip_line(&mut self) {
        let line = self.line();
        while self.tokens.get(self.at).is_some_and(|token| token.line == line) {
            self.at += 1;
        }
    }

    fn skip_statement(&mut self) {
        while !matches!(self.next(), None | Some(Kind::Punctuation(';'))) {}
    }

    fn top_level(&mut self, text: &mut Text<'a>) -> Result<()> {
        let Some(Kind::Word(word)) = self.peek() else { return self.wanted("a directive") };
        match word {
            ".version" | ".target" | ".address_size" => self.skip_line(),
            ".file" => {
                let line = self.line();
                self.at += 1;
                let number = self.integer()?;
                let Some(Kind::Text(name)) = self.next() else { return self.wanted("a file name") };
                text.files.insert(number, name);
                if self.line() == line {
                    self.skip_line();
                }
            }
            ".loc" => self.skip_line(),
            ".section" => {
                self.at += 1;
                self.word()?;
                self.skip_enclosed('{', '}')?;
            }
            ".pragma" => self.skip_statement(),
            ".alias" => {
                self.at += 1;
                let name = self.word()?;
                self.expect(',')?;
                text.aliases.push((name, self.word()?));
                self.expect(';')?;
            }
            _ => self.linked(text)?,
        }
        Ok(())
    }

    /// A function or variable, with its linkage.
    fn linked(&mut self, text: &mut Text<'a>) -> Result<()> {
        let mut is_extern = false;
        loop {
            let Some(Kind::Word(word)) = self.peek() else { return self.wanted("a function or a variable") };
            match word {
                ".visible" | ".weak" | ".common" => self.at += 1,
                ".extern" => {
                    is_extern = true;
                    self.at += 1;
                }
                ".entry" | ".func" => {
                    self.at += 1;
                    let function = self.function(word == ".entry")?;
                    text.functions.push(function);
                    return Ok(());
                }
                _ => {
                    let variables = self.variables(is_extern)?;
                    text.variables.extend(variables);
                    return Ok(());
                }
            }
        }
    }

    fn function(&mut self, is_kernel: bool) -> Result<Function<'a>> {
        // `.func .noreturn` and the like may stand before the name.
        while matches!(self.peek(), Some(Kind::Word(word)) if word.starts_with('.')) {
            self.at += 1;
        }
        let results = if self.is('(') { self.parameters()? } else { Vec::new() };
        let name = self.word()?;
        let parameters = if self.is('(') { self.parameters()? } else { Vec::new() };
        let mut max_threads = None;
        loop {
            match self.peek() {
                Some(Kind::Punctuation(';')) => {
                    self.at += 1;
                    return Ok(Function { name, is_kernel, results, parameters, max_threads, body: None });
                }
                Some(Kind::Punctuation('{')) => {
                    let body = Some(self.scope()?);
                    return Ok(Function { name, is_kernel, results, parameters, max_threads, body });
                }
                Some(Kind::Word(".maxntid" | ".reqntid")) => {
                    self.at += 1;
                    let mut threads = self.integer()?;
                    while self.take(',') {
                        threads = threads.saturating_mul(self.integer()?);
                    }
                    max_threads = Some(threads);
                }
                Some(Kind::Word(_) | Kind::Number(_) | Kind::Text(_) | Kind::Punctuation(',')) => self.at += 1,
                Some(Kind::Punctuation(_)) | None => return self.wanted("the body of a function"),
            }
        }
    }

    fn parameters(&mut self) -> Result<Vec<Variable<'a>>> {
        self.expect('(')?;
        let mut all = Vec::new();
        while !self.take(')') {
            all.push(self.variable(false)?);
            if !self.take(',') && !self.is(')') {
                return self.wanted("`,` or `)`");
            }
        }
        Ok(all)
    }

    /// One declaration, which may declare several variables.
    fn variables(&mut self, is_extern: bool) -> Result<Vec<Variable<'a>>> {
        let mut all = vec![self.variable(is_extern)?];
        while self.take(',') {
            let mut next = all[0].clone();
            (next.name, next.initial) = (self.word()?, Vec::new());
            self.extent(&mut next)?;
            all.push(next);
        }
        self.expect(';')?;
        Ok(all)
    }

    /// `.global .align 4 .b8 name[12] = {…}`.
    fn variable(&mut self, is_extern: bool) -> Result<Variable<'a>> {
        let (mut space, mut alignment, mut element) = (None, None, None);
        let mut vector = 1;
        let name = loop {
            let word = self.word()?;
            if !word.starts_with('.') {
                break word;
            }
            for part in word.split('.').skip(1) {
                match part {
                    "global" => space = Some(StateSpace::Global),
                    "const" => space = Some(StateSpace::Constant),
                    // A parameter may be a pointer `.ptr .shared`; it is a parameter all the same.
                    "shared" => space = space.or(Some(StateSpace::Shared)),
                    "local" => space = space.or(Some(StateSpace::Local)),
                    "param" => space = Some(StateSpace::Parameter),
                    // Of a register parameter.
                    "reg" => space = Some(StateSpace::Parameter),
                    "align" => {
                        let stated = self.integer()?;
                        if !stated.is_power_of_two() || stated > 4096 {
                            return Err(SyntaxError::new(self.line(), format!("{stated} is no alignment")));
                        }
                        // The alignment of what a pointer points to is not the pointer's.
                        if element.is_none() {
                            alignment = Some(stated);
                        }
                    }
                    "attribute" => self.skip_list()?,
                    "v2" => vector = 2,
                    "v4" => vector = 4,
                    _ => element = scalar_bytes(part).or(element),
                }
            }
        };
        let Some(space) = space else {
            return Err(SyntaxError::new(self.line(), format!("`{name}` is in no known memory")));
        };
        let element_bytes = element.unwrap_or(1) * vector;
        let alignment = alignment.unwrap_or(element_bytes.next_power_of_two());
        let initial = Vec::new();
        let mut variable =
            Variable { name, space, alignment, element_bytes, bytes: Some(element_bytes), is_extern, initial };
        self.extent(&mut variable)?;
        Ok(variable)
    }

    /// `(.managed)`, `(.managed, .unified(19, 95))`: who else may use a variable is known to the runtime.
    fn skip_list(&mut self) -> Result<()> {
        self.expect('(')?;
        while !self.take(')') {
            match self.peek() {
                Some(Kind::Punctuation('(')) => {
                    self.enter("attributes")?;
                    self.skip_list()?;
                    self.depth -= 1;
                }
                Some(_) => self.at += 1,
                None => return self.wanted("`)`"),
            }
        }
        Ok(())
    }

    /// The extents of an array, and the initialiser.
    fn extent(&mut self, variable: &mut Variable<'a>) -> Result<()> {
        let mut bytes = Some(variable.element_bytes);
        while self.take('[') {
            bytes = if self.is(']') { None } else { Some(bytes.unwrap_or(0).saturating_mul(self.integer()?)) };
            self.expect(']')?;
        }
        if bytes.is_some_and(|bytes| bytes > MAX_BYTES) {
            return Err(SyntaxError::new(self.line(), format!("`{}` is too large", variable.name)));
        }
        variable.bytes = bytes;
        if self.take('=') { self.initial(&mut variable.initial) } else { Ok(()) }
    }

    fn initial(&mut self, all: &mut Vec<Initial<'a>>) -> Result<()> {
        match self.peek() {
            // Braces of inner dimensions only group.
            Some(Kind::Punctuation('{')) => {
                self.enter("initialisers")?;
                self.at += 1;
                while !self.take('}') {
                    self.initial(all)?;
                    if !self.take(',') && !self.is('}') {
                        return self.wanted("`,` or `}`");
                    }
                }
                self.depth -= 1;
            }
            Some(Kind::Number(number)) => {
                self.at += 1;
                let bits = bits(number);
                if self.take('(') {
                    // `0xFF00(name)`: one byte of an address.
                    let (name, offset) = self.address_value()?;
                    self.expect(')')?;
                    all.push(Initial::Address { name, offset, shift: bits.trailing_zeros() % 64 });
                } else {
                    all.push(Initial::Bits(bits));
                }
            }
            Some(Kind::Punctuation('-')) => {
                self.at += 1;
                let Some(Kind::Number(number)) = self.next() else { return self.wanted("a number") };
                all.push(Initial::Bits(match number {
                    Number::Integer(value) => value.wrapping_neg(),
                    Number::Single(bits) => u64::from(bits ^ 1 << 31),
                    Number::Double(bits) => bits ^ 1 << 63,
                }));
            }
            _ => {
                let (name, offset) = self.address_value()?;
                all.push(Initial::Address { name, offset, shift: 0 });
            }
        }
        Ok(())
    }

    /// `name`, `generic(name)`, each with an offset.
    fn address_value(&mut self) -> Result<(&'a str, u64)> {
        let mut name = self.word()?;
        if self.take('(') {
            name = self.word()?;
            self.expect(')')?;
        }
        let offset = self.offset()?;
        Ok((name, offset as u64))
    }

    /// `+8`, `+-8`, `-8` or nothing.
    fn offset(&mut self) -> Result<i64> {
        let plus = self.take('+');
        let minus = self.take('-');
        if !plus && !minus {
            return Ok(0);
        }
        let value = self.integer()? as i64;
        Ok(if minus { value.wrapping_neg() } else { value })
    }

    fn scope(&mut self) -> Result<Vec<Statement<'a>>> {
        self.enter("scopes")?;
        self.expect('{')?;
        let mut statements = Vec::new();
        while !self.take('}') {
            self.statement(&mut statements)?;
        }
        self.depth -= 1;
        Ok(statements)
    }

    fn statement(&mut self, all: &mut Vec<Statement<'a>>) -> Result<()> {
        match self.peek() {
            Some(Kind::Punctuation('{')) => all.push(Statement::Scope(self.scope()?)),
            Some(Kind::Punctuation(';')) => self.at += 1,
            Some(Kind::Punctuation('@')) => all.push(Statement::Instruction(self.instruction()?)),
            Some(Kind::Word(".loc")) => all.push(self.place()?),
            Some(Kind::Word(".pragma")) => self.skip_statement(),
            Some(Kind::Word(word)) if word.starts_with(".reg") => self.registers(word, all)?,
            Some(Kind::Word(word)) if word.starts_with('.') => {
                all.extend(self.variables(false)?.into_iter().map(Statement::Variable));
            }
            Some(Kind::Word(word)) => {
                if self.tokens.get(self.at + 1).map(|token| token.kind) == Some(Kind::Punctuation(':')) {
                    self.at += 2;
                    self.labelled(word, all)?;
                } else {
                    all.push(Statement::Instruction(self.instruction()?));
                }
            }
            Some(Kind::Number(_) | Kind::Text(_) | Kind::Punctuation(_)) | None => {
                return self.wanted("an instruction");
            }
        }
        Ok(())
    }

    /// A label, or a list of labels, or the prototype of a call, which says nothing new.
    fn labelled(&mut self, name: &'a str, all: &mut Vec<Statement<'a>>) -> Result<()> {
        match self.peek() {
            Some(Kind::Word(".branchtargets")) => {
                self.at += 1;
                let mut labels = vec![self.word()?];
                while self.take(',') {
                    labels.push(self.word()?);
                }
                self.expect(';')?;
                all.push(Statement::Targets { name, labels });
            }
            Some(Kind::Word(".callprototype" | ".calltargets")) => self.skip_statement(),
            _ => all.push(Statement::Label(name)),
        }
        Ok(())
    }

    /// `.loc file line column, function_name name, inlined_at file line column`: the last place is the user's.
    fn place(&mut self) -> Result<Statement<'a>> {
        let own = self.line();
        self.at += 1;
        let (mut file, mut line) = (self.integer()?, self.integer()?);
        while self.tokens.get(self.at).is_some_and(|token| token.line == own) {
            if self.next() == Some(Kind::Word("inlined_at")) {
                (file, line) = (self.integer()?, self.integer()?);
            }
        }
        Ok(Statement::Place { file, line })
    }

    /// `.reg .b32 %r<5>, a, b;`
    fn registers(&mut self, first: &'a str, all: &mut Vec<Statement<'a>>) -> Result<()> {
        self.at += 1;
        // The type may be glued to the directive.
        if first == ".reg" {
            self.word()?;
        }
        // A vector has one more word before its type; its name is refused where it is used.
        while matches!(self.peek(), Some(Kind::Word(word)) if word.starts_with('.')) {
            self.at += 1;
        }
        loop {
            let name = self.word()?;
            let count = if self.take('<') {
                let count = self.integer()?;
                self.expect('>')?;
                Some(count)
            } else {
                None
            };
            all.push(Statement::Registers { name, count });
            if !self.take(',') {
                return self.expect(';');
            }
        }
    }

    fn instruction(&mut self) -> Result<Instruction<'a>> {
        let start = self.tokens[self.at].offset;
        let guard = if self.take('@') {
            let is_negated = self.take('!');
            Some(Guard { name: self.word()?, is_negated })
        } else {
            None
        };
        let opcode = self.word()?;
        let mut operands = Vec::new();
        while !self.is(';') {
            operands.push(self.operand()?);
            if !self.take(',') && !self.is(';') {
                return self.wanted("`,` or `;`");
            }
        }
        let end = self.tokens[self.at].offset;
        self.at += 1;
        Ok(Instruction { guard, opcode, operands, text: self.text[start..end].trim_end() })
    }

    fn operand(&mut self) -> Result<Operand<'a>> {
        match self.peek() {
            Some(Kind::Punctuation('[')) => self.address(),
            Some(Kind::Punctuation('{')) => Ok(Operand::Vector(self.list('{', '}')?)),
            Some(Kind::Punctuation('(')) => Ok(Operand::List(self.list('(', ')')?)),
            Some(Kind::Punctuation('!')) => {
                self.at += 1;
                self.word().map(Operand::Not)
            }
            Some(Kind::Punctuation('-')) => {
                self.at += 1;
                match self.next() {
                    Some(Kind::Number(Number::Integer(value))) => Ok(Operand::Negative(value)),
                    Some(Kind::Number(Number::Single(bits))) => Ok(Operand::Number(Number::Single(bits ^ 1 << 31))),
                    Some(Kind::Number(Number::Double(bits))) => Ok(Operand::Number(Number::Double(bits ^ 1 << 63))),
                    _ => self.wanted("a number"),
                }
            }
            Some(Kind::Number(number)) => {
                self.at += 1;
                Ok(Operand::Number(number))
            }
            Some(Kind::Word(name)) => {
                self.at += 1;
                if self.take('|') {
                    return Ok(Operand::Pair(name, self.word()?));
                }
                Ok(Operand::Name { name, offset: self.offset()? })
            }
            Some(Kind::Text(_) | Kind::Punctuation(_)) | None => self.wanted("an operand"),
        }
    }

    fn list(&mut self, open: char, close: char) -> Result<Vec<Operand<'a>>> {
        self.enter("lists")?;
        self.expect(open)?;
        let mut all = Vec::new();
        while !self.take(close) {
            all.push(self.operand()?);
            if !self.take(',') && !self.is(close) {
                return self.wanted(&format!("`,` or `{close}`"));
            }
        }
        self.depth -= 1;
        Ok(all)
    }

    fn address(&mut self) -> Result<Operand<'a>> {
        let start = self.at;
        self.at += 1;
        let base = match self.next() {
            Some(Kind::Word(name)) => Base::Name(name),
            Some(Kind::Number(number)) => Base::Number(bits(number)),
            Some(Kind::Text(_) | Kind::Punctuation(_)) | None => return self.wanted("an address"),
        };
        let offset = self.offset()?;
        if self.take(']') {
            return Ok(Operand::Address { base, offset });
        }
        self.at = start;
        self.skip_enclosed('[', ']')?;
        Ok(Operand::Other)
    }
}

fn bits(number: Number) -> u64 {
    match number {
        Number::Integer(value) => value,
        Number::Single(bits) => u64::from(bits),
        Number::Double(bits) => bits,
    }
}

/// Bytes of a fundamental type: `b8` to `b128`, `u`, `s`, `f`.
fn scalar_bytes(name: &str) -> Option<u64> {
    match name {
        "pred" => return Some(1),
        "f16x2" | "bf16x2" => return Some(4),
        "bf16" => return Some(2),
        _ => {}
    }
    let bits = name.strip_prefix(['b', 'u', 's', 'f'])?.parse::<u64>().ok()?;
    matches!(bits, 8 | 16 | 32 | 64 | 128).then_some(bits / 8)
}
