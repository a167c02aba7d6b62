//! `std::vector` in host code, of numbers or, as a parameter, of structs. A variable is memory of the host and its size; the
//! memory is freed wherever the variable's scope is left. A parameter by reference is a pointer and a size. What would change
//! the size of a vector that has one is refused: then it would be other memory.

use super::body::{Binding, Body, Enclosing, Owned, Vector};
use super::constant::convert;
use super::context::{Context, Lowered, Pass, broken, problem_with_help};
use super::place::element;
use super::prepared::Memory;
use crate::clang::types::{Named, Spelled, parse, template_arguments};
use crate::clang::{Kind, Node};
use crate::diagnostic;
use crate::ir::{
    BinaryOp, Block, Expr, ExprKind, Field, For, LocalId, Place, PointerType, Record, Stmt, StmtKind, Storage, Type,
    UnaryOp, can_reach_end,
};
use crate::source::Span;

/// What a member of a vector gives.
#[derive(Clone, Copy)]
pub(super) enum Member {
    Data,
    Size,
    Empty,
    Element,
    First,
    Last,
    Resize,
}

/// The members that are read.
const MEMBERS: &[(&str, Member)] = &[
    ("data", Member::Data),
    ("size", Member::Size),
    ("empty", Member::Empty),
    ("operator[]", Member::Element),
    ("front", Member::First),
    ("back", Member::Last),
    ("resize", Member::Resize),
];

/// What a vector in a record is made of.
const VECTOR_POINTERS: [&str; 3] = ["first", "last", "end"];
const VECTOR_OF_HANDLES: &str = "vector_of_handles";

/// How many aliases may stand for one another.
const MAX_ALIASES: usize = 32;

const WAY_OUT: &str = "give the vector its size where it is declared, and use `v[i]`, `v.size()` and `v.data()`";

impl Context<'_> {
    /// The spelling of the elements' type, if a type is a vector or a reference to one; and whether the elements are
    /// constant.
    pub(super) fn vector_elements(&self, pass: Pass, spelling: &str) -> Option<(String, bool)> {
        let named = match parse(spelling)? {
            Spelled::Pointer { pointee, is_reference: true, .. } => *pointee,
            named => named,
        };
        let Spelled::Named(mut named) = named else { return None };
        // Clang resolves no names behind a reference. An alias cannot be longer than a chain of all of them.
        for _ in 0..MAX_ALIASES {
            if let Some((name, arguments)) = template_arguments(&named.name) {
                let is_own = || self.find_record(pass, &named.name).is_some();
                let is_plain = arguments.get(1).is_none_or(|allocator| allocator.contains("allocator<"));
                let is_vector = name == "std::vector" || name == "vector" && !is_own();
                return (is_vector && is_plain).then(|| (arguments[0].to_owned(), named.is_const));
            }
            let Some(Spelled::Named(alias)) = parse(self.find_alias(pass, &named.name)?) else { return None };
            named = Named { is_const: named.is_const || alias.is_const, ..alias };
        }
        None
    }

    /// What a field is that is a vector of streams or other handles: the three pointers that the standard libraries of GCC
    /// and LLVM make it of. Vectors of numbers in a class are the class's own matter.
    pub(super) fn vector_of_handles(&mut self, pass: Pass, field: &Node) -> Lowered<Option<Type>> {
        let Some((spelling, false)) = self.vector_elements(pass, field.ty()) else { return Ok(None) };
        if pass != Pass::Host || field.ty().trim_end().ends_with('&') {
            return Ok(None);
        }
        let Ok(element) = self.type_of(pass, &spelling, field.span) else { return Ok(None) };
        if !matches!(element.pointee(), Some(Type::Opaque(_))) {
            return Ok(None);
        }
        let pointer = Type::pointer(element);
        let fields: Vec<Field> =
            VECTOR_POINTERS.iter().map(|name| Field { name: (*name).into(), ty: pointer.clone() }).collect();
        let is_it = |record: &Record| record.name.starts_with(VECTOR_OF_HANDLES) && record.fields == fields;
        let known = self.module.records.entries().find(|(_, record)| is_it(record)).map(|(id, _)| id);
        let record = known.unwrap_or_else(|| {
            let name = self.claim(VECTOR_OF_HANDLES);
            self.module.records.push(Record { name, fields, is_builtin: false, align: None, span: Span::NONE })
        });
        // It frees its memory, and a copy of it has memory of its own.
        self.destructors.insert(record);
        Ok(Some(Type::Record(record)))
    }

    /// Whether a parameter is a vector by reference, which becomes two parameters.
    pub(super) fn is_vector_parameter(&self, pass: Pass, param: &Node) -> bool {
        param.ty().trim_end().ends_with('&') && self.vector_elements(pass, param.ty()).is_some()
    }
}

/// The member of that name, or why there is none.
pub(super) fn member(name: &str, node: &Node) -> Lowered<Member> {
    match MEMBERS.iter().find(|(known, _)| *known == name) {
        Some((_, member)) => Ok(*member),
        None => problem_with_help(
            diagnostic::UNSUPPORTED_CALL,
            node.span,
            format!("`{name}` of a `std::vector` is not supported"),
            "called here",
            WAY_OUT,
        ),
    }
}

impl<'a> Body<'_, 'a> {
    /// `std::vector<T> name…;`
    pub(super) fn vector_variable(&mut self, node: &'a Node, init: Option<&'a Node>) -> Lowered<()> {
        let Some(init) = init.map(constructed) else { return broken(node.span, "a vector without a constructor") };
        if node.ty().trim_end().ends_with('&') {
            let vector = self.vector(init)?;
            self.bindings.insert(node.id, Binding::Vector(vector));
            return Ok(());
        }
        let ty = self.element_type(node)?;
        let args: Vec<&'a Node> = init.inner.iter().filter(|arg| arg.kind != Kind::CXXDefaultArgExpr).collect();
        let signature = init.data.ctor_type.as_ref().map_or("", |signature| &signature.0);
        match args.as_slice() {
            _ if init.kind != Kind::CXXConstructExpr => self.refuse_making(node),
            [] => {
                self.unsized_vectors.insert(node.id, (node, self.scopes.len()));
                Ok(())
            }
            [count, rest @ ..] if signature.starts_with("void (size_type") => {
                self.sized_vector(node, ty, count, rest.first().copied())
            }
            [list] if list.kind == Kind::CXXStdInitializerListExpr => self.listed_vector(node, ty, list),
            [from] if self.context.vector_elements(self.pass, from.ty()).is_some() && from.is_glvalue() => {
                let other = self.vector(from)?;
                self.copied_vector(node, ty, Expr::load(other.data), Expr::load(other.size));
                Ok(())
            }
            [from, to] if is_pointer(from) && is_pointer(to) => {
                let ends = self.values(&[from, to])?;
                let Ok([from, to]) = <[Expr; 2]>::try_from(ends) else { return self.refuse_making(node) };
                let from = if is_settled(&from) { from } else { self.keep(from) };
                let count = distance(&from, to);
                self.copied_vector(node, ty, from, count);
                Ok(())
            }
            _ => self.refuse_making(node),
        }
    }

    fn refuse_making<T>(&self, node: &Node) -> Lowered<T> {
        problem_with_help(
            diagnostic::UNSUPPORTED_DECLARATION,
            node.span,
            format!("this way of making the vector `{}` is not supported", node.name()),
            "declared here",
            "make it with a size, `std::vector<T> v(n)`, with values, `{a, b}`, or of a range of pointers, `v(p, p + n)`",
        )
    }

    /// The type of a vector's elements.
    fn element_type(&mut self, node: &Node) -> Lowered<Type> {
        let Some((spelling, _)) = self.context.vector_elements(self.pass, node.ty()) else {
            return broken(node.span, "a vector of nothing");
        };
        let ty = self.context.type_of(self.pass, &spelling, node.span)?;
        // Whoever made a parameter's structs has run their constructors; those of a variable would have to run here.
        let is_made = node.kind == Kind::ParmVarDecl;
        let is_read = matches!(ty, Type::Int(_) | Type::Float(_)) || is_made && matches!(ty, Type::Record(_));
        if is_read && self.pass == Pass::Host {
            return Ok(ty);
        }
        problem_with_help(
            diagnostic::UNSUPPORTED_TYPE,
            node.span,
            format!("a `std::vector` of `{spelling}` is not supported here"),
            "of this type",
            "use vectors of floating or integer numbers in host code, or of structs as parameters by reference",
        )
    }

    /// `v(count)`, `v(count, value)`, `v.resize(count)`, `v.resize(count, value)`.
    fn sized_vector(&mut self, node: &'a Node, ty: Type, count: &'a Node, fill: Option<&'a Node>) -> Lowered<()> {
        let mut count = self.value(count)?;
        let before = self.block.len();
        let fill = match fill {
            Some(fill) => {
                let value = match super::stmt::temporary(fill) {
                    Some(value) => self.value(value)?,
                    None => self.place(fill).map(Expr::load)?,
                };
                Some(convert(value, ty.clone())).filter(|value| !is_plain_zero(value))
            }
            None => None,
        };
        self.protect(before, [&mut count]);
        let vector = self.new_vector(node, ty, count, "cotangent::vector_zeros", Vec::new());
        if let Some(mut fill) = fill {
            if !is_settled(&fill) {
                fill = self.keep(fill);
            }
            self.fill(&vector, node, |_| fill);
        }
        self.own(node, vector);
        Ok(())
    }

    /// `v{a, b, c}`.
    fn listed_vector(&mut self, node: &'a Node, ty: Type, list: &'a Node) -> Lowered<()> {
        let mut list = list;
        while let (true, Some(inner)) = (list.kind != Kind::InitListExpr, list.inner.first()) {
            list = inner;
        }
        let given: Vec<&'a Node> = list.inner.iter().collect();
        let values = self.values(&given)?;
        let count = Expr::int(i64::try_from(values.len()).unwrap_or(i64::MAX));
        let values = values.into_iter().map(|value| convert(value, ty.clone())).collect();
        let vector = self.new_vector(node, ty, count, "cotangent::vector_memory", values);
        self.own(node, vector);
        Ok(())
    }

    /// A vector with the values of other memory.
    fn copied_vector(&mut self, node: &'a Node, ty: Type, from: Expr, count: Expr) {
        let vector = self.new_vector(node, ty.clone(), count, "cotangent::vector_memory", Vec::new());
        self.fill(&vector, node, |index| convert(Expr::load(element(from, index)), ty));
        self.own(node, vector);
    }

    /// The variables of a new vector, and its memory.
    fn new_vector(&mut self, node: &'a Node, ty: Type, count: Expr, memory: &str, values: Vec<Expr>) -> Vector {
        let name = node.name();
        let size = self.new_local(&format!("{name}_size"), Type::SIZE, Storage::Private, node.span);
        let data = self.new_local(name, Type::pointer(ty.clone()), Storage::Private, node.span);
        let vector = Vector { data: self.local_place(data), size: self.local_place(size) };
        self.emit(StmtKind::Declare { local: size, init: Some(convert(count, Type::SIZE)) });
        self.emit(StmtKind::Declare { local: data, init: None });
        let width = Expr::new(ExprKind::SizeOf(ty), Type::SIZE);
        let bytes = Expr::binary(BinaryOp::Multiply, Expr::load(vector.size.clone()), width).at(node.span);
        let memory = Memory { call: memory.into(), bytes, values };
        self.make_memory(memory, Some(vector.data.clone()));
        vector
    }

    /// Stores to each element of a vector what is told of its index.
    fn fill(&mut self, vector: &Vector, node: &Node, value: impl FnOnce(Expr) -> Expr) {
        self.scopes.push(Default::default());
        let (counter, index) = self.counter(node);
        self.scopes.pop();
        let value = value(index.clone());
        let place = element(Expr::load(vector.data.clone()), index).at(node.span);
        let body = vec![Stmt::new(StmtKind::Assign { place, value }).at(self.span)];
        self.over_elements(vector, counter, body);
    }

    fn counter(&mut self, node: &Node) -> (LocalId, Expr) {
        let counter = self.new_local("i", Type::SIZE, Storage::Private, node.span);
        (counter, Expr::load(self.local_place(counter)))
    }

    fn over_elements(&mut self, vector: &Vector, counter: LocalId, body: Block) {
        let (from, by) = (convert(Expr::int(0), Type::SIZE), convert(Expr::int(1), Type::SIZE));
        let to = Expr::load(vector.size.clone());
        let each = For { counter, from, test: BinaryOp::Less, to, step: BinaryOp::Add, by, unroll: None, body };
        self.emit(StmtKind::For(Box::new(each)));
    }

    /// From here to the end of the scope a name is that vector.
    fn own(&mut self, node: &'a Node, vector: Vector) {
        self.owned.push(Owned { data: vector.data.clone(), loops: self.loops.len() });
        self.bindings.insert(node.id, Binding::Vector(vector));
    }

    /// `for (T x : v) body`; `false`, and nothing changed, if that is no vector.
    pub(super) fn for_each_element(&mut self, range: &'a Node, variable: &'a Node, body: &'a Node) -> Lowered<bool> {
        let range = range.inner.first().filter(|range| self.context.vector_elements(self.pass, range.ty()).is_some());
        let Some(range) = range.and_then(super::stmt::initializer) else { return Ok(false) };
        let vector = self.vector(range)?;
        let Some(variable) = variable.inner.first().filter(|variable| variable.kind == Kind::VarDecl) else {
            return Ok(false);
        };
        let ty = self.context.node_type(self.pass, variable)?;
        if matches!(ty, Type::Record(_)) {
            return problem_with_help(
                diagnostic::UNSUPPORTED_DECLARATION,
                variable.span,
                format!("`{}` is a copy of each struct of a vector", variable.name()),
                "declared here",
                "make it a reference: `for (const T& element : v)`",
            );
        }
        self.scopes.push(Default::default());
        let (counter, index) = self.counter(variable);
        let place = element(Expr::load(vector.data.clone()), index).at(variable.span);
        self.loops.push(Enclosing::Loop(None));
        let ((), block) = self.nested(|lowering| {
            if ty.is_reference() {
                lowering.bindings.insert(variable.id, Binding::Place(place));
            } else {
                let local = lowering.bind_local(variable, ty.clone());
                lowering.emit(StmtKind::Declare { local, init: Some(convert(Expr::load(place), ty)) });
            }
            lowering.flattened(body);
        });
        self.loops.pop();
        self.scopes.pop();
        self.over_elements(&vector, counter, block);
        Ok(true)
    }

    /// The vector that an expression names.
    fn vector(&mut self, node: &'a Node) -> Lowered<Vector> {
        let mut named = node;
        while let (Kind::ParenExpr | Kind::ImplicitCastExpr, [inner]) = (named.kind, named.inner.as_slice()) {
            named = inner;
        }
        let reference = named.data.referenced_decl.as_ref().filter(|_| named.kind == Kind::DeclRefExpr);
        if let Some(Binding::Vector(vector)) = reference.and_then(|reference| self.bindings.get(&reference.id)) {
            return Ok(vector.clone());
        }
        if named.kind == Kind::MemberExpr && named.data.referenced_member_decl.is_some() {
            return self.vector_in_record(named);
        }
        let (message, label) = match reference {
            Some(reference) if self.unsized_vectors.contains_key(&reference.id) => {
                let name = reference.name.as_deref().unwrap_or("this");
                (format!("the vector `{name}` has no size yet"), "used here")
            }
            _ => ("a vector that is no variable of the function is not supported".to_owned(), "this one"),
        };
        problem_with_help(diagnostic::UNSUPPORTED_EXPRESSION, node.span, message, label, WAY_OUT)
    }

    /// A vector that is a field.
    fn vector_in_record(&mut self, node: &'a Node) -> Lowered<Vector> {
        let place = self.place(node)?;
        let fields = match &place.ty {
            Type::Record(record) => self.context.module.records[*record].fields.clone(),
            _ => Vec::new(),
        };
        let [first, last, _] = fields.as_slice() else { return broken(node.span, "a vector that is no record") };
        let data = place.clone().field(0, first.ty.clone()).at(node.span);
        let count = Expr::binary(
            BinaryOp::Distance,
            Expr::load(place.field(1, last.ty.clone()).at(node.span)),
            Expr::load(data.clone()),
        );
        let size = self.place_of_value(convert(count, Type::SIZE));
        Ok(Vector { data, size })
    }

    /// A member of a vector, as a value.
    pub(super) fn vector_value(&mut self, node: &'a Node, member: Member, object: &'a Node) -> Lowered<Expr> {
        let value = match member {
            Member::Data => {
                let ty = self.context.node_type(self.pass, node)?;
                convert(Expr::load(self.vector(object)?.data), ty)
            }
            Member::Size => Expr::load(self.vector(object)?.size),
            Member::Empty => {
                let size = Expr::load(self.vector(object)?.size);
                Expr::unary(UnaryOp::Not, convert(size, Type::Bool))
            }
            Member::Element | Member::First | Member::Last => Expr::load(self.vector_place(node, member, object)?),
            Member::Resize => return broken(node.span, "the value of a change"),
        };
        Ok(value.at(node.span))
    }

    /// An element of a vector.
    pub(super) fn vector_place(&mut self, node: &'a Node, member: Member, object: &'a Node) -> Lowered<Place> {
        let vector = self.vector(object)?;
        let index = match (member, node.inner.get(2)) {
            (Member::Element, Some(index)) => plain_index(self.value(index)?),
            (Member::First, _) => Expr::int(0),
            (Member::Last, _) => {
                let one = convert(Expr::int(1), Type::SIZE);
                Expr::binary(BinaryOp::Subtract, Expr::load(vector.size), one)
            }
            _ => return broken(node.span, "an element without an index"),
        };
        Ok(element(Expr::load(vector.data), index).at(node.span))
    }

    /// `v.resize(count)`, of a vector that has no size yet, in the block that declares it.
    pub(super) fn resize_vector(&mut self, node: &'a Node, object: &'a Node) -> Lowered<()> {
        let reference = object.data.referenced_decl.as_ref().map(|reference| reference.id);
        let declared = reference.and_then(|id| self.unsized_vectors.get(&id).copied());
        let Some((variable, _)) = declared.filter(|(_, depth)| *depth == self.scopes.len()) else {
            return problem_with_help(
                diagnostic::UNSUPPORTED_CALL,
                node.span,
                "`resize` is supported only once, in the block that declares the vector without a size",
                "called here",
                WAY_OUT,
            );
        };
        let ty = self.element_type(variable)?;
        let [_, count, rest @ ..] = node.inner.as_slice() else { return broken(node.span, "a `resize` to nothing") };
        self.sized_vector(variable, ty, count, rest.first())?;
        self.unsized_vectors.remove(&variable.id);
        Ok(())
    }

    /// The two parameters that a vector by reference is.
    pub(super) fn vector_parameters(&mut self, param: &'a Node) -> Lowered<[LocalId; 2]> {
        let pointee = self.element_type(param)?;
        let is_const = self.context.vector_elements(self.pass, param.ty()).is_some_and(|(_, is_const)| is_const);
        let pointer = PointerType { pointee, is_const, is_restrict: false, is_volatile: false, is_reference: false };
        let name = if param.name().is_empty() { "unused" } else { param.name() };
        let data = self.new_local(name, Type::Pointer(Box::new(pointer)), Storage::Private, param.span);
        let size = self.new_local(&format!("{name}_size"), Type::SIZE, Storage::Private, param.span);
        let vector = Vector { data: self.local_place(data), size: self.local_place(size) };
        self.bindings.insert(param.id, Binding::Vector(vector));
        Ok([data, size])
    }

    /// The two arguments that a vector by reference is.
    pub(super) fn vector_arguments(&mut self, node: &'a Node, param: &'a Node) -> Lowered<[Expr; 2]> {
        let vector = self.vector(node)?;
        let mut pointer = Expr::load(vector.data).at(node.span);
        let is_const = self.context.vector_elements(self.pass, param.ty()).is_some_and(|(_, is_const)| is_const);
        if let (Type::Pointer(own), true) = (&pointer.ty, is_const) {
            let ty = Type::Pointer(Box::new(PointerType { is_const, ..(**own).clone() }));
            pointer = convert(pointer, ty);
        }
        Ok([pointer, Expr::load(vector.size).at(node.span)])
    }

    /// What a vector by reference stands for in a function that is lowered in place of its call.
    pub(super) fn bound_vector(&mut self, data: &Expr, size: &Expr) -> Binding {
        let [data, size] = [data, size].map(|value| match value.as_load() {
            Some(place) if place.as_local().is_some() => place.clone(),
            Some(_) | None => self.place_of_value(value.clone()),
        });
        Binding::Vector(Vector { data, size })
    }

    /// Lowers a scope: vectors that are declared in it are freed at its end.
    pub(super) fn scope(&mut self, lower: impl FnOnce(&mut Self)) {
        let outer = self.owned.len();
        lower(self);
        if can_reach_end(&self.block) {
            self.free_vectors(|place, _| place >= outer);
        }
        self.owned.truncate(outer);
    }

    /// Frees the vectors that a `return` leaves behind. What it returns is kept before.
    pub(super) fn free_all_vectors(&mut self, value: Option<Expr>) -> Option<Expr> {
        let value = match value {
            Some(value) if !self.owned.is_empty() && !is_settled(&value) => Some(self.keep(value)),
            value => value,
        };
        self.free_vectors(|_, _| true);
        value
    }

    /// Frees the vectors that are left behind by leaving the loop or switch that so many are around.
    pub(super) fn free_vectors_inside(&mut self, around: usize) {
        self.free_vectors(|_, owned| owned.loops > around);
    }

    fn free_vectors(&mut self, is_left: impl Fn(usize, &Owned) -> bool) {
        let left: Vec<Place> = self
            .owned
            .iter()
            .enumerate()
            .filter(|(place, owned)| is_left(*place, owned))
            .map(|(_, owned)| owned.data.clone())
            .collect();
        for data in left.into_iter().rev() {
            let args = vec![Expr::load(data)];
            self.emit(StmtKind::Runtime { call: "cotangent::free_vector".into(), args, into: None });
        }
    }
}

/// The constructor call in an initialiser.
fn constructed(init: &Node) -> &Node {
    match (init.kind, init.inner.as_slice()) {
        (Kind::ExprWithCleanups | Kind::CXXBindTemporaryExpr, [inner]) => constructed(inner),
        _ => init,
    }
}

/// An index as it was written: the conversion to the vector's own type changes none that is inside.
fn plain_index(index: Expr) -> Expr {
    if let Some(inner) = index.as_cast().filter(|inner| inner.ty.is_integral()) {
        inner.clone()
    } else if let Some(number) = index.as_int().filter(|number| i32::try_from(*number).is_ok()) {
        Expr::new(ExprKind::Int(number), Type::INT)
    } else {
        index
    }
}

/// How many elements lie between two pointers: `n` for `p` and `p + n`.
fn distance(from: &Expr, to: Expr) -> Expr {
    let place = |pointer: &Expr| pointer.as_load().map(|place| place.kind.clone());
    match to.kind {
        ExprKind::Binary(BinaryOp::Offset, base, count) if place(&base).is_some() && place(&base) == place(from) => {
            *count
        }
        kind @ (ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_)) => Expr::binary(BinaryOp::Distance, Expr { kind, ..to }, from.clone()),
    }
}

fn is_pointer(node: &Node) -> bool {
    matches!(parse(node.ty()), Some(Spelled::Pointer { is_reference: false, .. }))
}

/// Whether a value is the same whatever memory holds: a constant, or that of a variable.
fn is_settled(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_)) || value.as_local().is_some()
}

/// Whether a value is made of zero bits.
fn is_plain_zero(value: &Expr) -> bool {
    value.is_zero() || value.is_float_zero()
}
