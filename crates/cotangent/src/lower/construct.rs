//! Values of records and arrays: initialiser lists and constructors.

use super::body::{Binding, Body};
use super::constant::convert;
use super::context::{Lowered, broken, problem_with_help};
use super::declarations::Declared;
use super::intrinsic::{quoted_literal, string_literal};
use super::loops::is_written;
use crate::clang::{Kind, Node, NodeId};
use crate::diagnostic;
use crate::ir::{Expr, ExprKind, FunctionId, IntKind, Place, StmtKind, Type};

/// How many functions may be lowered in place of their calls inside one another.
pub(super) const MAX_INLINING: usize = 32;

/// How many elements an array may have that is copied as a whole.
const MAX_COPIED: u64 = 64;

/// A constructor that must run, and its arguments.
pub(super) struct ConstructorCall {
    function: FunctionId,
    args: Vec<Expr>,
}

impl<'a> Body<'_, 'a> {
    /// The initial value that an initialiser gives a variable of a type; `None` leaves it without one.
    pub(super) fn initial_value(&mut self, node: &'a Node, ty: &Type) -> Lowered<Option<Expr>> {
        match node.kind {
            Kind::InitListExpr => self.list_value(node, ty).map(Some),
            Kind::ImplicitValueInitExpr | Kind::CXXScalarValueInitExpr => {
                Ok(Some(self.context.module.zero(ty).at(node.span)))
            }
            Kind::ExprWithCleanups | Kind::ParenExpr | Kind::CXXBindTemporaryExpr | Kind::ConstantExpr => {
                match node.inner.last() {
                    Some(inner) => self.initial_value(inner, ty),
                    None => broken(node.span, "an empty initial value"),
                }
            }
            Kind::CXXConstructExpr if node.inner.is_empty() && node.data.zeroing && self.is_of_half(ty) => {
                Ok(Some(self.context.module.zero(ty).at(node.span)))
            }
            Kind::CXXConstructExpr
                if node.inner.is_empty() && matches!(ty, Type::Record(_) | Type::Array(..) | Type::Float(_)) =>
            {
                self.default_value(node, ty)
            }
            Kind::ArrayInitLoopExpr => self.copied_array(node, ty).map(Some),
            Kind::StringLiteral => match plain_letters(node) {
                Some(letters) => Ok(Some(Expr::new(ExprKind::Construct(letters), ty.clone()).at(node.span))),
                None => problem_with_help(
                    diagnostic::UNSUPPORTED_EXPRESSION,
                    node.span,
                    "an array of characters that are not of ASCII is not supported",
                    "a string",
                    "point to the text: `const char* name = \"...\"`",
                ),
            },
            _ if ty.is_pointer() && node.is_glvalue() => {
                // A member that is a reference is a pointer in the record.
                let place = self.place(node)?;
                Ok(Some(self.address(place, ty.clone())))
            }
            _ => {
                let value = self.value(node)?;
                Ok(Some(convert(value, ty.clone())))
            }
        }
    }

    /// As `initial_value`, for a variable outside functions: it must be constant.
    pub(super) fn constant_initial_value(&mut self, node: &'a Node, ty: &Type) -> Lowered<Option<Expr>> {
        let (value, block) = self.nested(|body| body.initial_value(node, ty));
        if !block.is_empty() {
            return problem_with_help(
                diagnostic::UNSUPPORTED_DECLARATION,
                node.span,
                "this initial value is computed by calls",
                "not a plain constant",
                "write the constant, or set the variable at run time",
            );
        }
        value
    }

    /// The copy of an array, element by element: of a structured binding, or of a record that holds one.
    fn copied_array(&mut self, node: &'a Node, ty: &Type) -> Lowered<Expr> {
        let source = node.inner.first().filter(|source| source.kind == Kind::OpaqueValueExpr);
        let (Some(source), Type::Array(element, length)) = (source.and_then(|source| source.inner.first()), ty) else {
            return broken(node.span, "a copy of what is no array");
        };
        if matches!(**element, Type::Array(..)) || *length > MAX_COPIED {
            return problem_with_help(
                diagnostic::UNSUPPORTED_EXPRESSION,
                node.span,
                "the copy of this array is not supported",
                "copied here",
                "refer to it with `auto&`, or copy its elements in a loop",
            );
        }
        let place = self.place(source)?;
        let indices = 0..i32::try_from(*length).unwrap_or(0);
        let values = indices.map(|index| Expr::load(place.clone().index(Expr::int(index.into())))).collect();
        Ok(Expr::new(ExprKind::Construct(values), ty.clone()).at(node.span))
    }

    fn list_value(&mut self, node: &'a Node, ty: &Type) -> Lowered<Expr> {
        // With a filler, the list holds it first and then the given elements.
        let given: &'a [Node] = match node.data.array_filler.as_slice() {
            [] => &node.inner,
            [_, elements @ ..] => elements,
        };
        let types: Vec<Type> = match ty {
            Type::Array(element, _) => vec![(**element).clone(); given.len()],
            Type::Record(record) => {
                self.context.module.records[*record].fields.iter().map(|field| field.ty.clone()).collect()
            }
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Pointer(_) | Type::Opaque(_) => match given
            {
                [] => return Ok(self.context.module.zero(ty)),
                [only] => {
                    let value = self.value(only)?;
                    return Ok(convert(value, ty.clone()));
                }
                _ => return broken(node.span, "a list for a single value"),
            },
        };
        if given.len() > types.len() {
            return broken(node.span, "a list that is longer than what it initialises");
        }
        let mut values: Vec<Expr> = Vec::new();
        for (element, ty) in given.iter().zip(&types) {
            let before = self.block.len();
            let value = match self.initial_value(element, ty)? {
                Some(value) => value,
                None => self.context.module.zero(ty),
            };
            self.protect(before, &mut values);
            values.push(value);
        }
        // What is zero at the end need not be given.
        while values.last().is_some_and(Expr::is_zero_fill) && matches!(ty, Type::Array(..)) {
            values.pop();
        }
        Ok(Expr::new(ExprKind::Construct(values), ty.clone()).at(node.span))
    }

    /// A record made by a constructor without arguments that Clang wrote: nothing, or the members' own values.
    fn default_value(&mut self, node: &'a Node, ty: &Type) -> Lowered<Option<Expr>> {
        let Type::Record(record) = ty else { return Ok(None) };
        let is_builtin = self.context.module.records[*record].is_builtin;
        // What a struct of CUDA's own holds, the compiler that builds the program knows better.
        let is_trivial = self.constructor(node).is_some_and(|constructor| constructor.node.data.is_implicit);
        if self.is_of_half(ty) || is_builtin && is_trivial {
            return Ok(None);
        }
        if let Some(constructed) = self.constructor_call(node)? {
            let local = self.new_temporary(ty.clone());
            self.emit(StmtKind::Declare { local, init: None });
            let place = self.local_place(local);
            self.run_constructor(constructed, place.clone())?;
            return Ok(Some(Expr::load(place)));
        }
        let Some(constructor) = self.constructor(node) else { return Ok(None) };
        self.simple_constructor(constructor, &[])
    }

    /// The value of `T(args)`.
    pub(super) fn constructed_value(&mut self, node: &'a Node) -> Lowered<Expr> {
        let ty = self.context.node_type(self.pass, node)?;
        self.refuse_destructor(&ty, node)?;
        if let [source] = node.inner.as_slice()
            && self.is_plain_copy(node)
        {
            return if source.is_glvalue() { self.place(source).map(Expr::load) } else { self.value(source) };
        }
        if let Some(value) = self.half_constructor(node, &ty)? {
            return Ok(value);
        }
        if let Some(constructor) = self.constructor(node)
            && is_simple(constructor.node)
        {
            let args: Vec<&Node> = node.inner.iter().collect();
            let args = self.arguments(&args, constructor.node)?;
            if let Some(value) = self.simple_constructor(constructor, &args)? {
                return Ok(value);
            }
        }
        let local = self.new_temporary(ty.clone());
        if let Some(constructed) = self.constructor_call(node)? {
            self.emit(StmtKind::Declare { local, init: None });
            let place = self.local_place(local);
            self.run_constructor(constructed, place.clone())?;
            return Ok(Expr::load(place));
        }
        // `T()` and `T{}` without a constructor of the user's are zero.
        Ok(self.context.module.zero(&ty))
    }

    /// The constructor call that an initialiser is, if one has to run as a function.
    pub(super) fn constructor_call(&mut self, node: &'a Node) -> Lowered<Option<ConstructorCall>> {
        let node = match node.kind {
            Kind::CXXConstructExpr | Kind::CXXTemporaryObjectExpr => node,
            Kind::ExprWithCleanups | Kind::CXXBindTemporaryExpr | Kind::CXXFunctionalCastExpr => {
                return match node.inner.first() {
                    Some(inner) => self.constructor_call(inner),
                    None => Ok(None),
                };
            }
            _ => return Ok(None),
        };
        let Some(constructor) = self.constructor(node) else { return Ok(None) };
        if self.is_plain_copy(node) || is_simple(constructor.node) || is_trivial(constructor.node) {
            return Ok(None);
        }
        let function = self.context.function(self.pass, constructor.node.id, node.span)?;
        let args: Vec<&Node> = node.inner.iter().collect();
        let args = self.arguments(&args, constructor.node)?;
        Ok(Some(ConstructorCall { function, args }))
    }

    /// Runs a constructor on a place.
    pub(super) fn run_constructor(&mut self, call: ConstructorCall, place: Place) -> Lowered<()> {
        self.note_address(&place);
        let object = Expr::new(ExprKind::AddressOf(place.clone()), Type::reference(place.ty.clone())).at(self.span);
        let mut args = vec![object];
        args.extend(call.args);
        self.emit(StmtKind::Call { into: None, function: call.function, args });
        Ok(())
    }

    /// The constructor that a construction calls: of that record, with that signature.
    fn constructor(&mut self, node: &'a Node) -> Option<Declared<'a>> {
        let signature = node.data.ctor_type.as_ref()?;
        let ty = crate::clang::types::parse(node.ty())?.unqualified();
        let crate::clang::types::Spelled::Named(named) = ty else { return None };
        let record = self.context.find_record(self.pass, &named.name)?;
        let record = self.context.declarations(self.pass).get(record)?.node;
        let own = record.children(Kind::CXXConstructorDecl).chain(
            record
                .children(Kind::FunctionTemplateDecl)
                .flat_map(|template| template.children(Kind::CXXConstructorDecl)),
        );
        let found = own.into_iter().find(|candidate| candidate.ty() == &*signature.0)?.id;
        let definition = self.context.declarations(self.pass).definition(found).unwrap_or(found);
        self.context.declarations(self.pass).get(definition)
    }

    /// Whether a construction only copies: a copy or move constructor that the user did not write.
    fn is_plain_copy(&mut self, node: &'a Node) -> bool {
        let [source] = node.inner.as_slice() else { return false };
        let same = |text: &str| text.trim_start_matches("const ").trim().to_owned();
        let is_copy =
            node.data.ctor_type.as_ref().is_some_and(|ty| ty.0.contains('&')) && same(source.ty()) == same(node.ty());
        let written = self.constructor(node).is_some_and(|constructor| {
            !constructor.node.data.is_implicit && constructor.node.data.explicitly_defaulted.is_none()
        });
        is_copy && !written
    }

    /// The value that a constructor without statements gives, its initialisers evaluated with the arguments.
    fn simple_constructor(&mut self, constructor: Declared<'a>, args: &[Expr]) -> Lowered<Option<Expr>> {
        let Some(record) = constructor.record else { return Ok(None) };
        let record_id = self.context.record(self.pass, record, constructor.node.span)?;
        let fields: Vec<Type> =
            self.context.module.records[record_id].fields.iter().map(|field| field.ty.clone()).collect();
        let initializers: Vec<&'a Node> = constructor.node.children(Kind::CXXCtorInitializer).collect();
        let has_values = initializers.iter().any(|initializer| !is_empty_base(initializer));
        if !has_values {
            return Ok(None);
        }
        if self.inlining >= MAX_INLINING {
            return broken(constructor.node.span, "constructors inside one another without end");
        }
        self.inlining += 1;
        self.bind_parameters(constructor.node, args);
        let mut values: Vec<Option<Expr>> = vec![None; fields.len()];
        let mut result = Ok(());
        for initializer in initializers {
            result = self.field_initializer(initializer, &fields, &mut values);
            if result.is_err() {
                break;
            }
        }
        self.inlining -= 1;
        result?;
        let values = values
            .into_iter()
            .zip(&fields)
            .map(|(value, ty)| value.unwrap_or_else(|| self.context.module.zero(ty)))
            .collect();
        Ok(Some(Expr::new(ExprKind::Construct(values), Type::Record(record_id)).at(self.span)))
    }

    fn field_initializer(&mut self, node: &'a Node, fields: &[Type], values: &mut [Option<Expr>]) -> Lowered<()> {
        let position = match &node.data.any_init {
            Some(field) => self.context.declarations(self.pass).field(field.id).unwrap_or(u32::MAX) as usize,
            None => 0,
        };
        let (Some(ty), Some(init)) = (fields.get(position), self.initializer_of(node)) else {
            return if is_empty_base(node) { Ok(()) } else { broken(node.span, "an initialiser of nothing") };
        };
        let before = self.block.len();
        let value = self.initial_value(init, ty)?;
        self.protect(before, values.iter_mut().flatten());
        values[position] = value;
        Ok(())
    }

    /// The expression of a constructor's initialiser; a member's own value is in its declaration.
    fn initializer_of(&self, node: &'a Node) -> Option<&'a Node> {
        let init = node.inner.first()?;
        if init.kind != Kind::CXXDefaultInitExpr {
            return Some(init);
        }
        let field = node.data.any_init.as_ref()?;
        let declared = self.context.declarations(self.pass).get(field.id)?;
        declared.node.inner.iter().rfind(|child| !child.ty().is_empty())
    }

    /// The initialisers of a constructor that is lowered as a function: assignments to the fields of `self`.
    pub(super) fn initializers(&mut self, constructor: Declared<'a>) -> Lowered<()> {
        let Some(this) = self.this.clone() else { return broken(constructor.node.span, "a constructor of nothing") };
        for initializer in constructor.node.children(Kind::CXXCtorInitializer) {
            let Type::Record(record) = this.ty else {
                return broken(initializer.span, "a constructor of what is no record");
            };
            let position = match &initializer.data.any_init {
                Some(field) => self.context.declarations(self.pass).field(field.id).unwrap_or(u32::MAX),
                None => 0,
            };
            let ty = self.context.module.records[record].fields.get(position as usize).map(|field| field.ty.clone());
            let (Some(ty), Some(init)) = (ty, self.initializer_of(initializer)) else { continue };
            let place = this.clone().field(position, ty.clone());
            if let Some(constructed) = self.constructor_call(init)? {
                self.run_constructor(constructed, place)?;
                continue;
            }
            if let Some(value) = self.initial_value(init, &ty)? {
                self.store_initial(place, value);
            }
        }
        Ok(())
    }

    /// Stores an initial value; arrays element by element, since the IR assigns no arrays.
    fn store_initial(&mut self, place: Place, value: Expr) {
        let (Type::Array(element, length), ExprKind::Construct(values)) = (&place.ty, &value.kind) else {
            self.emit(StmtKind::Assign { place, value });
            return;
        };
        for index in 0..*length {
            let given = usize::try_from(index).ok().and_then(|index| values.get(index)).cloned();
            let value = given.unwrap_or_else(|| self.context.module.zero(element));
            let index = Expr::int(i64::try_from(index).unwrap_or(i64::MAX));
            self.store_initial(place.clone().index(index), value);
        }
    }

    /// Binds the parameters of a function that is lowered in place to its arguments.
    pub(super) fn bind_parameters(&mut self, function: &'a Node, args: &[Expr]) {
        let mut args = args.iter();
        for param in function.children(Kind::ParmVarDecl) {
            let Some(arg) = args.next() else { return };
            let binding = if self.context.is_vector_parameter(self.pass, param) {
                let Some(size) = args.next() else { return };
                self.bound_vector(arg, size)
            } else if arg.ty.is_reference() {
                Binding::Place(arg.as_address().cloned().unwrap_or_else(|| Place::deref(arg.clone())))
            } else {
                Binding::Value(arg.clone())
            };
            self.bindings.insert(param.id, binding);
        }
    }

    /// Refuses a variable or temporary whose type has a destructor of the user's.
    pub(super) fn refuse_destructor(&mut self, ty: &Type, node: &Node) -> Lowered<()> {
        if !self.context.has_destructor(ty) {
            return Ok(());
        }
        problem_with_help(
            diagnostic::UNSUPPORTED_DECLARATION,
            node.span,
            "this value has a destructor",
            "made here",
            "call a function at the end instead",
        )
    }
}

/// Whether a constructor has no statements: its initialisers say it all, and neither look at the object nor change
/// the parameters.
fn is_simple(constructor: &Node) -> bool {
    let params: Vec<NodeId> = constructor.children(Kind::ParmVarDecl).map(|param| param.id).collect();
    let is_pure =
        |initializer: &Node| !mentions_this(initializer) && !params.iter().any(|param| is_written(initializer, *param));
    constructor.children(Kind::CXXCtorInitializer).all(is_pure)
        && constructor.child(Kind::CompoundStmt).is_some_and(|body| body.inner.is_empty())
        && constructor.children(Kind::CXXCtorInitializer).any(|initializer| !is_empty_base(initializer))
}

fn mentions_this(node: &Node) -> bool {
    node.kind == Kind::CXXThisExpr || node.inner.iter().any(mentions_this)
}

/// Whether a constructor does nothing.
fn is_trivial(constructor: &Node) -> bool {
    let does_nothing = constructor.child(Kind::CompoundStmt).is_none_or(|body| body.inner.is_empty());
    does_nothing && constructor.children(Kind::CXXCtorInitializer).all(is_empty_base)
}

/// Whether an initialiser only runs a base class's constructor without arguments.
fn is_empty_base(initializer: &Node) -> bool {
    initializer.data.any_init.is_none()
        && initializer.inner.first().is_some_and(|init| init.kind == Kind::CXXConstructExpr && init.inner.is_empty())
}

/// The letters of a text that an array begins with, without the zeros at its end.
fn plain_letters(node: &Node) -> Option<Vec<Expr>> {
    let is_plain = |quoted: &str| quoted.starts_with('"') && !quoted.contains("\\x") && !quoted.contains("\\u");
    let text = string_literal(node).filter(|text| text.is_ascii() && quoted_literal(node).is_some_and(is_plain))?;
    let letter = |letter: u8| Expr::new(ExprKind::Int(letter.into()), Type::Int(IntKind::Char));
    Some(text.trim_end_matches('\0').bytes().map(letter).collect())
}
