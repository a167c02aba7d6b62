//! Reads expressions and places from the text form.
//!
//! A place is also a value, the one that it holds, and which of the two is meant only what follows can tell. So an
//! operand is either, together with the height of its tree: postfix operators build high trees without recursion.

use super::ParseError;
use super::lex::TokenKind;
use super::parse::Parser;
use super::words::{AXES, BINARY_OPS, FLOAT_SUFFIXES, INFINITIES, INT_SUFFIXES, value};
use crate::ir::{
    BinaryOp, Builtin, Expr, ExprKind, FloatKind, Name, Place, PlaceKind, PointerType, Real, Type, UnaryOp,
};

/// What was read: a place, or a value that is no place.
enum Operand {
    Place(Place),
    Value(Expr),
}

/// An operand and the height of its tree.
struct Tree {
    operand: Operand,
    height: usize,
}

impl Tree {
    fn leaf(kind: ExprKind, ty: Type) -> Tree {
        Tree { operand: Operand::Value(Expr::new(kind, ty)), height: 1 }
    }

    fn place(kind: PlaceKind, ty: Type, height: usize) -> Tree {
        Tree { operand: Operand::Place(Place::new(kind, ty)), height }
    }

    fn value(expr: Expr, height: usize) -> Tree {
        Tree { operand: Operand::Value(expr), height }
    }

    fn ty(&self) -> &Type {
        match &self.operand {
            Operand::Place(place) => &place.ty,
            Operand::Value(value) => &value.ty,
        }
    }

    fn into_expr(self) -> Expr {
        match self.operand {
            Operand::Place(place) => Expr::load(place),
            Operand::Value(value) => value,
        }
    }
}

impl Parser<'_> {
    /// An expression.
    pub(super) fn expr(&mut self) -> Result<Expr, ParseError> {
        Ok(self.tree()?.into_expr())
    }

    /// A place.
    pub(super) fn place(&mut self) -> Result<Place, ParseError> {
        let token = self.token;
        match self.tree()?.operand {
            Operand::Place(place) => Ok(place),
            Operand::Value(_) => Err(self.expected_at(token, "a place")),
        }
    }

    /// Expressions in parentheses.
    pub(super) fn args(&mut self) -> Result<Vec<Expr>, ParseError> {
        Ok(self.arg_trees()?.0)
    }

    fn arg_trees(&mut self) -> Result<(Vec<Expr>, usize), ParseError> {
        self.symbol("(")?;
        let mut args = Vec::new();
        let mut height = 0;
        while !self.accept(")")? {
            if !args.is_empty() {
                self.symbol(",")?;
            }
            let tree = self.tree()?;
            height = height.max(tree.height);
            args.push(tree.into_expr());
        }
        Ok((args, height))
    }

    fn tree(&mut self) -> Result<Tree, ParseError> {
        self.enter()?;
        let symbol = if self.token.kind == TokenKind::Symbol { self.token.text } else { "" };
        let tree = match symbol {
            "-" => self.negation()?,
            "!" => self.unary(UnaryOp::Not)?,
            "~" => self.unary(UnaryOp::BitNot)?,
            "*" => {
                self.advance()?;
                let pointer = self.tree()?;
                self.element(pointer, Tree::value(Expr::int(0), 1))?
            }
            "&" => self.address_of()?,
            _ => {
                let base = self.primary()?;
                self.postfix(base)?
            }
        };
        self.check_depth(tree.height)?;
        self.leave();
        Ok(tree)
    }

    /// A minus sign before a number is the number's.
    fn negation(&mut self) -> Result<Tree, ParseError> {
        let next = self.peek()?;
        let is_infinity = next.kind == TokenKind::Keyword && value(INFINITIES, next.text).is_some();
        if next.kind != TokenKind::Number && !is_infinity {
            return self.unary(UnaryOp::Negate);
        }
        self.advance()?;
        self.literal("-")
    }

    fn unary(&mut self, op: UnaryOp) -> Result<Tree, ParseError> {
        self.advance()?;
        let operand = self.tree()?;
        let height = operand.height + 1;
        Ok(Tree::value(Expr::unary(op, operand.into_expr()), height))
    }

    fn address_of(&mut self) -> Result<Tree, ParseError> {
        self.advance()?;
        let is_const = self.accept_word("const")?;
        let is_volatile = self.accept_word("volatile")?;
        let is_restrict = self.accept_word("restrict")?;
        let is_reference = self.accept_word("ref")?;
        let token = self.token;
        let tree = self.tree()?;
        let Operand::Place(place) = tree.operand else { return Err(self.expected_at(token, "a place")) };
        let pointee = place.ty.clone();
        let ty = Type::Pointer(Box::new(PointerType { pointee, is_const, is_restrict, is_volatile, is_reference }));
        Ok(Tree::value(Expr::new(ExprKind::AddressOf(place), ty), tree.height + 1))
    }

    fn primary(&mut self) -> Result<Tree, ParseError> {
        match self.token.kind {
            TokenKind::Number => self.literal(""),
            TokenKind::Symbol if self.token.text == "(" => self.parenthesised(),
            TokenKind::Word | TokenKind::Quoted => self.named(),
            TokenKind::Keyword => self.reserved_word(),
            TokenKind::Text | TokenKind::Symbol | TokenKind::End => Err(self.expected("an expression")),
        }
    }

    /// `(a + b)`, `(c ? a : b)`, `(a as type)` or just `(a)`.
    fn parenthesised(&mut self) -> Result<Tree, ParseError> {
        self.symbol("(")?;
        let first = self.tree()?;
        let op = if self.token.kind == TokenKind::Symbol { value(BINARY_OPS, self.token.text) } else { None };
        let tree = if let Some(op) = op {
            self.advance()?;
            let right = self.tree()?;
            let op = pointer_operator(op, first.ty(), right.ty());
            let height = first.height.max(right.height) + 1;
            Tree::value(Expr::binary(op, first.into_expr(), right.into_expr()), height)
        } else if self.accept("?")? {
            let then = self.tree()?;
            self.symbol(":")?;
            let otherwise = self.tree()?;
            let height = first.height.max(then.height).max(otherwise.height) + 1;
            let ty = then.ty().clone();
            let [cond, then, otherwise] = [first, then, otherwise].map(|tree| Box::new(tree.into_expr()));
            Tree::value(Expr::new(ExprKind::Select(cond, then, otherwise), ty), height)
        } else if self.accept_word("as")? {
            let height = first.height + 1;
            let ty = self.ty()?;
            Tree::value(Expr::new(ExprKind::Cast(Box::new(first.into_expr())), ty), height)
        } else {
            first
        };
        if self.accept(")")? { Ok(tree) } else { Err(self.expected("`)` or an operator")) }
    }

    /// A local, a variable or a function from the table of pure ones.
    fn named(&mut self) -> Result<Tree, ParseError> {
        let token = self.token;
        let name = self.name("a name")?;
        if self.is_symbol("(") || self.is_symbol("::<") {
            return self.math(name);
        }
        if let Some(local) = self.visible.get(&name) {
            return Ok(Tree::place(PlaceKind::Local(local), self.locals[&local].ty.clone(), 1));
        }
        let global = *self.globals.get(&name).ok_or_else(|| self.expected_at(token, "a variable"))?;
        Ok(Tree::place(PlaceKind::Global(global), self.module.globals[global].ty.clone(), 1))
    }

    fn math(&mut self, name: Name) -> Result<Tree, ParseError> {
        let mut ty = None;
        if self.accept("::<")? {
            ty = Some(self.ty()?);
            self.symbol(">")?;
        }
        let (args, height) = self.arg_trees()?;
        let ty = ty.or_else(|| args.first().map(|first| first.ty.clone()));
        let ty = ty.ok_or_else(|| self.error(format!("expected the type of the result: `{name}::<type>()`")))?;
        Ok(Tree::value(Expr::new(ExprKind::Math(name, args), ty), height + 1))
    }

    fn reserved_word(&mut self) -> Result<Tree, ParseError> {
        if value(INFINITIES, self.token.text).is_some() {
            return self.literal("");
        }
        let axis_of: Option<fn(_) -> _> = match self.token.text {
            "threadIdx" => Some(Builtin::ThreadIdx),
            "blockIdx" => Some(Builtin::BlockIdx),
            "blockDim" => Some(Builtin::BlockDim),
            "gridDim" => Some(Builtin::GridDim),
            _ => None,
        };
        if let Some(axis_of) = axis_of {
            self.advance()?;
            self.symbol(".")?;
            let axis = self.one_of(AXES, "x, y or z")?;
            return Ok(Tree::leaf(ExprKind::Builtin(axis_of(axis)), Type::UINT));
        }
        if self.accept_word("warpSize")? {
            return Ok(Tree::leaf(ExprKind::Builtin(Builtin::WarpSize), Type::INT));
        }
        if self.accept_word("dynamicSharedBytes")? {
            return Ok(Tree::leaf(ExprKind::Builtin(Builtin::DynamicSharedBytes), Type::UINT));
        }
        if self.accept_word("true")? {
            return Ok(Tree::leaf(ExprKind::Bool(true), Type::Bool));
        }
        if self.accept_word("false")? {
            return Ok(Tree::leaf(ExprKind::Bool(false), Type::Bool));
        }
        if self.accept_word("null")? {
            return Ok(Tree::leaf(ExprKind::Null, self.type_in_parentheses()?));
        }
        if self.accept_word("sizeof")? {
            return Ok(Tree::leaf(ExprKind::SizeOf(self.type_in_parentheses()?), Type::SIZE));
        }
        if self.accept_word("make")? {
            let ty = self.ty()?;
            let (operands, height) = self.arg_trees()?;
            return Ok(Tree::value(Expr::new(ExprKind::Construct(operands), ty), height + 1));
        }
        Err(self.expected("an expression"))
    }

    fn type_in_parentheses(&mut self) -> Result<Type, ParseError> {
        self.symbol("(")?;
        let ty = self.ty()?;
        self.symbol(")")?;
        Ok(ty)
    }

    /// What follows an operand: `[index]`, `.field`, `->field`.
    fn postfix(&mut self, base: Tree) -> Result<Tree, ParseError> {
        let mut tree = base;
        loop {
            if self.accept("[")? {
                let index = self.tree()?;
                self.symbol("]")?;
                tree = self.element(tree, index)?;
            } else if self.accept("->")? {
                let target = self.element(tree, Tree::value(Expr::int(0), 1))?;
                tree = self.field(target)?;
            } else if self.accept(".")? {
                tree = self.field(tree)?;
            } else {
                return Ok(tree);
            }
            self.check_depth(tree.height)?;
        }
    }

    /// An element of an array place, or of what a pointer points to.
    fn element(&mut self, base: Tree, index: Tree) -> Result<Tree, ParseError> {
        let height = base.height.max(index.height) + 1;
        let index = Box::new(index.into_expr());
        let ty = base.ty().clone();
        if let Type::Pointer(pointer) = ty {
            let kind = PlaceKind::Element(Box::new(base.into_expr()), index);
            Ok(Tree::place(kind, pointer.pointee, height))
        } else if let (Type::Array(element, _), Operand::Place(place)) = (ty, base.operand) {
            Ok(Tree::place(PlaceKind::Index(Box::new(place), index), *element, height))
        } else {
            Err(self.error("expected a pointer or an array before this"))
        }
    }

    fn field(&mut self, base: Tree) -> Result<Tree, ParseError> {
        let token = self.token;
        let name = self.name("a field")?;
        let unknown = || self.expected_at(token, "a field of the record before");
        let (Type::Record(id), Operand::Place(place)) = (base.ty().clone(), base.operand) else {
            return Err(unknown());
        };
        let fields = self.module.records.get(id).map_or(&[][..], |record| &record.fields);
        let position = fields.iter().position(|field| field.name == name).ok_or_else(unknown)?;
        let ty = fields[position].ty.clone();
        Ok(Tree::place(PlaceKind::Field(Box::new(place), position as u32), ty, base.height + 1))
    }

    /// A number or an infinity, after a sign that was passed.
    fn literal(&mut self, sign: &str) -> Result<Tree, ParseError> {
        let text = self.token.text;
        let Some((kind, ty)) = literal(sign, text) else {
            return Err(self.expected("a number that fits, with the suffix of its type"));
        };
        self.advance()?;
        Ok(Tree::leaf(kind, ty))
    }
}

/// The operator that a sign means between those types.
fn pointer_operator(op: BinaryOp, left: &Type, right: &Type) -> BinaryOp {
    if op == BinaryOp::Add && left.is_pointer() {
        BinaryOp::Offset
    } else if op == BinaryOp::Subtract && left.is_pointer() && right.is_pointer() {
        BinaryOp::Distance
    } else {
        op
    }
}

fn literal(sign: &str, text: &str) -> Option<(ExprKind, Type)> {
    if let Some(kind) = value(INFINITIES, text) {
        let infinity = if sign.is_empty() { f64::INFINITY } else { f64::NEG_INFINITY };
        return Some((ExprKind::Float(Real(infinity)), Type::Float(kind)));
    }
    if let Some(rest) = text.strip_prefix("0x") {
        let (digits, suffix) = rest.split_at_checked(16)?;
        let is_hexadecimal = sign.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = u64::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal)?;
        return Some((ExprKind::Float(Real(f64::from_bits(bits))), Type::Float(value(FLOAT_SUFFIXES, suffix)?)));
    }
    let digit_count = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_integer = !text[digit_count..].starts_with(['.', 'e']);
    if is_integer {
        let (digits, suffix) = text.split_at(digit_count);
        let number: i128 = format!("{sign}{digits}").parse().ok()?;
        return Some((ExprKind::Int(number), Type::Int(value(INT_SUFFIXES, suffix)?)));
    }
    let suffix_start = text.rfind(|character: char| character.is_ascii_digit())? + 1;
    let (digits, suffix) = text.split_at(suffix_start);
    let kind = value(FLOAT_SUFFIXES, suffix)?;
    let digits = format!("{sign}{digits}");
    let number = match kind {
        FloatKind::Double => digits.parse::<f64>().ok()?,
        FloatKind::Half | FloatKind::BFloat | FloatKind::Float => f64::from(digits.parse::<f32>().ok()?),
    };
    number.is_finite().then_some((ExprKind::Float(Real(number)), Type::Float(kind)))
}
