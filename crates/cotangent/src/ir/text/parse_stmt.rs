//! Reads statements from the text form.

use super::ParseError;
use super::lex::TokenKind;
use super::parse::Parser;
use super::words::{ATOMICS, BARRIERS, BINARY_OPS, COLLECTIVES, SCOPES, unescape, value};
use crate::ir::{
    BinaryOp, Block, Case, Expr, For, Launch, LocalId, LoopTest, Name, OpaqueArg, Place, Scope, Stmt, StmtKind, Unread,
    Unroll,
};

/// What may stand alone or after `place =`.
const OPERATIONS: &[&str] = &["call", "runtime", "opaque", "passed", "unread", "barrier", "collective", "atomic"];

impl Parser<'_> {
    /// Statements up to the brace that ends them, and the brace.
    pub(super) fn statements_to_brace(&mut self) -> Result<Block, ParseError> {
        let start = self.visible.enter();
        let mut block = Vec::new();
        while !self.accept("}")? {
            block.push(self.stmt()?);
        }
        self.visible.leave(start);
        Ok(block)
    }

    fn block(&mut self) -> Result<Block, ParseError> {
        self.symbol("{")?;
        self.statements_to_brace()
    }

    fn stmt(&mut self) -> Result<Stmt, ParseError> {
        self.enter()?;
        let keyword = if self.token.kind == TokenKind::Keyword { self.token.text } else { "" };
        let kind = match keyword {
            "if" => self.if_stmt()?,
            "for" => self.for_stmt()?,
            "while" => {
                self.advance()?;
                StmtKind::While { cond: self.expr()?, body: self.block()?, test: LoopTest::Before }
            }
            "switch" => self.switch_stmt()?,
            _ => {
                let kind = self.simple_stmt(keyword)?;
                self.symbol(";")?;
                kind
            }
        };
        self.leave();
        Ok(Stmt::new(kind))
    }

    /// A statement that ends in a semicolon.
    fn simple_stmt(&mut self, keyword: &str) -> Result<StmtKind, ParseError> {
        match keyword {
            "let" => {
                self.advance()?;
                let local = self.declaration()?;
                let init = if self.accept("=")? { Some(self.expr()?) } else { None };
                self.make_visible(local);
                Ok(StmtKind::Declare { local, init })
            }
            "do" => {
                self.advance()?;
                let body = self.block()?;
                self.keyword("while")?;
                Ok(StmtKind::While { cond: self.expr()?, body, test: LoopTest::After })
            }
            "break" => {
                self.advance()?;
                Ok(StmtKind::Break)
            }
            "continue" => {
                self.advance()?;
                Ok(StmtKind::Continue)
            }
            "return" => {
                self.advance()?;
                let value = if self.is_symbol(";") { None } else { Some(self.expr()?) };
                Ok(StmtKind::Return(value))
            }
            "launch" => self.launch(),
            "push" => {
                self.advance()?;
                let value = self.expr()?;
                self.keyword("to")?;
                Ok(StmtKind::Push { record: self.local_name()?, value })
            }
            "pop" => {
                self.advance()?;
                let into = self.place()?;
                self.keyword("from")?;
                Ok(StmtKind::Pop { record: self.local_name()?, into })
            }
            _ if OPERATIONS.contains(&keyword) => self.operation(None),
            _ => self.store(),
        }
    }

    /// `place = …` or `place += …`.
    fn store(&mut self) -> Result<StmtKind, ParseError> {
        let place = self.place()?;
        if self.accept("+=")? {
            return Ok(StmtKind::Accumulate { place, value: self.expr()? });
        }
        self.symbol("=")?;
        if self.token.kind == TokenKind::Keyword && OPERATIONS.contains(&self.token.text) {
            return self.operation(Some(place));
        }
        Ok(StmtKind::Assign { place, value: self.expr()? })
    }

    /// One of `OPERATIONS`.
    fn operation(&mut self, into: Option<Place>) -> Result<StmtKind, ParseError> {
        let keyword = self.token.text;
        self.advance()?;
        match keyword {
            "call" => Ok(StmtKind::Call { into, function: self.function_name()?, args: self.args()? }),
            "runtime" => {
                let call = self.name("the name of a runtime function")?;
                Ok(StmtKind::Runtime { call, args: self.args()?, into })
            }
            "opaque" => {
                let code = Unread::Call(self.name("the name of a function")?);
                Ok(StmtKind::Opaque { code, args: self.opaque_args()?, into })
            }
            "passed" => Ok(StmtKind::Opaque { code: Unread::Passed, args: self.opaque_args()?, into }),
            "unread" => {
                let meets = self.accept_word("meeting")?;
                let spelling = self.quoted()?.ok_or_else(|| self.expected("how the function is called"))?;
                Ok(StmtKind::Opaque { code: Unread::Body { spelling, meets }, args: self.opaque_args()?, into })
            }
            "barrier" => {
                let kind = self.one_of(BARRIERS, "a kind of barrier")?;
                Ok(StmtKind::Barrier { kind, argument: self.expr_between("(", ")")?, into })
            }
            "collective" => {
                let op = self.one_of(COLLECTIVES, "a collective operation")?;
                let mask = self.expr_between("[", "]")?;
                Ok(StmtKind::Collective { op, mask, args: self.args()?, into })
            }
            _ => self.atomic(into),
        }
    }

    /// An expression in brackets, or nothing.
    fn expr_between(&mut self, open: &str, close: &str) -> Result<Option<Expr>, ParseError> {
        if !self.accept(open)? {
            return Ok(None);
        }
        let expr = self.expr()?;
        self.symbol(close)?;
        Ok(Some(expr))
    }

    fn atomic(&mut self, into: Option<Place>) -> Result<StmtKind, ParseError> {
        let scope = self.accept_one_of(SCOPES)?.unwrap_or(Scope::Device);
        let op = self.one_of(ATOMICS, "an atomic operation")?;
        self.symbol("(")?;
        let place = self.place()?;
        self.symbol(",")?;
        let mut value = self.expr()?;
        let mut compare = None;
        if self.accept(",")? {
            compare = Some(std::mem::replace(&mut value, self.expr()?));
        }
        self.symbol(")")?;
        Ok(StmtKind::Atomic { op, scope, place, value, compare, into })
    }

    fn if_stmt(&mut self) -> Result<StmtKind, ParseError> {
        self.keyword("if")?;
        let cond = self.expr()?;
        let then_block = self.block()?;
        let mut else_block = Vec::new();
        if self.accept_word("else")? {
            else_block = if self.is_word("if") { vec![self.stmt()?] } else { self.block()? };
        }
        Ok(StmtKind::If { cond, then_block, else_block })
    }

    fn for_stmt(&mut self) -> Result<StmtKind, ParseError> {
        self.keyword("for")?;
        let start = self.visible.enter();
        let counter = self.declaration()?;
        self.symbol("=")?;
        let from = self.expr()?;
        self.make_visible(counter);
        self.symbol(";")?;
        self.counter_again(counter)?;
        let test = self.loop_operator("")?;
        let to = self.expr()?;
        self.symbol(";")?;
        self.counter_again(counter)?;
        let mut step = self.loop_operator("=")?;
        if step == BinaryOp::Add && self.locals[&counter].ty.is_pointer() {
            step = BinaryOp::Offset;
        }
        let by = self.expr()?;
        let unroll = if self.accept_word("unroll")? { Some(self.unroll()?) } else { None };
        let body = self.block()?;
        self.visible.leave(start);
        Ok(StmtKind::For(Box::new(For { counter, from, test, to, step, by, unroll, body })))
    }

    fn unroll(&mut self) -> Result<Unroll, ParseError> {
        Ok(if self.is_symbol("{") { Unroll::Whole } else { Unroll::By(self.integer("a number of iterations")?) })
    }

    fn counter_again(&mut self, counter: LocalId) -> Result<(), ParseError> {
        let token = self.token;
        if self.local_name()? == counter { Ok(()) } else { Err(self.expected_at(token, "the loop's counter")) }
    }

    /// A binary operator with something after it: `=` makes it a step.
    fn loop_operator(&mut self, after: &str) -> Result<BinaryOp, ParseError> {
        let text = if self.token.kind == TokenKind::Symbol { self.token.text.strip_suffix(after) } else { None };
        let op = text.and_then(|text| value(BINARY_OPS, text)).ok_or_else(|| self.expected("an operator"))?;
        self.advance()?;
        Ok(op)
    }

    fn switch_stmt(&mut self) -> Result<StmtKind, ParseError> {
        self.keyword("switch")?;
        let value = self.expr()?;
        self.symbol("{")?;
        let mut cases = Vec::new();
        while !self.accept("}")? {
            self.keyword("case")?;
            let mut case = Case { values: Vec::new(), is_default: false, body: Vec::new() };
            while !self.is_symbol("{") {
                if case.is_default || !case.values.is_empty() {
                    self.symbol(",")?;
                }
                if self.accept_word("default")? {
                    case.is_default = true;
                } else {
                    case.values.push(self.case_value()?);
                }
            }
            case.body = self.block()?;
            cases.push(case);
        }
        Ok(StmtKind::Switch { value, cases })
    }

    fn case_value(&mut self) -> Result<i128, ParseError> {
        let is_negative = self.accept("-")?;
        let magnitude: i128 = self.integer("a case's value")?;
        Ok(if is_negative { -magnitude } else { magnitude })
    }

    fn launch(&mut self) -> Result<StmtKind, ParseError> {
        self.keyword("launch")?;
        let kernel = self.function_name()?;
        self.symbol("<<<")?;
        let grid = self.extents()?;
        self.symbol(",")?;
        let block = self.extents()?;
        let (mut shared, mut stream, mut is_checked) = (None, None, false);
        while !self.accept(">>>")? {
            self.symbol(",")?;
            if self.accept_word("checked")? {
                is_checked = true;
                continue;
            }
            let is_shared = self.accept_word("shared")?;
            if !is_shared {
                self.keyword("stream")?;
            }
            self.symbol(":")?;
            let value = Some(self.expr()?);
            *(if is_shared { &mut shared } else { &mut stream }) = value;
        }
        let args = self.args()?;
        Ok(StmtKind::Launch(Box::new(Launch { kernel, is_checked, grid, block, shared, stream, args })))
    }

    fn extents(&mut self) -> Result<[Expr; 3], ParseError> {
        self.symbol("[")?;
        let x = self.expr()?;
        self.symbol(",")?;
        let y = self.expr()?;
        self.symbol(",")?;
        let z = self.expr()?;
        self.symbol("]")?;
        Ok([x, y, z])
    }

    fn opaque_args(&mut self) -> Result<Vec<OpaqueArg>, ParseError> {
        self.symbol("(")?;
        let mut args = Vec::new();
        while !self.accept(")")? {
            if !args.is_empty() {
                self.symbol(",")?;
            }
            if let Some(text) = self.quoted()? {
                args.push(OpaqueArg::Text(text));
            } else if self.accept_word("changed")? {
                args.push(OpaqueArg::Variable(self.place()?));
            } else {
                args.push(OpaqueArg::Value(self.expr()?));
            }
        }
        Ok(args)
    }

    /// A text in quotation marks, if there is one.
    fn quoted(&mut self) -> Result<Option<Name>, ParseError> {
        if self.token.kind != TokenKind::Text {
            return Ok(None);
        }
        let text = unescape(self.token.text).map_err(|message| self.error(message))?;
        self.advance()?;
        Ok(Some(text.into()))
    }

    fn local_name(&mut self) -> Result<LocalId, ParseError> {
        let token = self.token;
        let name = self.name("a local variable")?;
        self.visible.get(&name).ok_or_else(|| self.expected_at(token, "a local variable"))
    }
}
