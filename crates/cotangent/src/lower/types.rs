//! Types and records.

use super::arguments::{fields, is_unnamed};
use super::context::{Context, Lowered, Pass, broken, problem, problem_with_help};
use super::declarations::Declared;
use super::names::{identifier, word_for};
use crate::clang::types::{Named, Spelled, parse};
use crate::clang::{Kind, Node, NodeId};
use crate::diagnostic;
use crate::ir::layout::has_padding;
use crate::ir::{Field, FloatKind, IntKind, PointerType, Record, RecordId, Type};
use crate::rules::{FREES, STEPS, TAPE};
use crate::source::Span;

/// Records that CUDA's own headers declare: `float3` and its like, pairs of half precision, and `dim3`.
const VECTOR_ELEMENTS: &[&str] =
    &["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong", "ulonglong", "float", "double"];

/// Integer types of the standard library's headers, which are not read.
const STANDARD_ALIASES: &[(&str, IntKind)] = &[
    ("size_t", IntKind::UnsignedLong),
    ("ssize_t", IntKind::Long),
    ("ptrdiff_t", IntKind::Long),
    ("intptr_t", IntKind::Long),
    ("uintptr_t", IntKind::UnsignedLong),
    ("int8_t", IntKind::SignedChar),
    ("uint8_t", IntKind::UnsignedChar),
    ("int16_t", IntKind::Short),
    ("uint16_t", IntKind::UnsignedShort),
    ("int32_t", IntKind::Int),
    ("uint32_t", IntKind::UnsignedInt),
    ("int64_t", IntKind::Long),
    ("uint64_t", IntKind::UnsignedLong),
    ("uint", IntKind::UnsignedInt),
    ("ushort", IntKind::UnsignedShort),
    ("ulong", IntKind::UnsignedLong),
    ("clock_t", IntKind::Long),
    ("time_t", IntKind::Long),
];

/// The headers of CUDA that declare the runtime's structs, `cudaDeviceProp` and its like.
const RUNTIME_HEADERS: &[&str] = &["driver_types.h", "surface_types.h", "texture_types.h"];

/// How many typedefs and records may lie inside one another.
const MAX_TYPE_DEPTH: usize = 64;

/// Whether CUDA's headers declare a record of that name.
pub(super) fn is_builtin_record(name: &str) -> bool {
    let vector = VECTOR_ELEMENTS
        .iter()
        .any(|element| name.strip_prefix(element).is_some_and(|count| matches!(count, "1" | "2" | "3" | "4")));
    vector || matches!(name, "dim3" | "__half2" | "__nv_bfloat162")
}

/// The vector of the same size and alignment, for memory that is declared to copy so many bytes at once.
fn vector_like(storage: &str) -> Option<&'static str> {
    match storage {
        "std::aligned_storage<8, 8>::type" => Some("int2"),
        "std::aligned_storage<16, 16>::type" => Some("int4"),
        _ => None,
    }
}

impl<'a> Context<'a> {
    /// The type that a spelling means.
    pub(super) fn type_of(&mut self, pass: Pass, spelling: &str, span: Span) -> Lowered<Type> {
        self.type_depth += 1;
        let ty = self.type_at_depth(pass, spelling, span);
        self.type_depth -= 1;
        ty
    }

    fn type_at_depth(&mut self, pass: Pass, spelling: &str, span: Span) -> Lowered<Type> {
        match parse(spelling) {
            Some(_) if self.type_depth > MAX_TYPE_DEPTH => problem(
                diagnostic::TOO_DEEP,
                span,
                format!("the type `{spelling}` is nested too deeply"),
                "of this type",
            ),
            Some(spelled) => self.spelled_type(pass, &spelled, span),
            None => problem(
                diagnostic::UNSUPPORTED_TYPE,
                span,
                format!("the type `{spelling}` is not supported"),
                "of this type",
            ),
        }
    }

    /// The type of a node, `const` and `volatile` of the outermost level left out.
    pub(super) fn node_type(&mut self, pass: Pass, node: &Node) -> Lowered<Type> {
        let ty = self.type_of(pass, node.ty(), node.span)?;
        // No call returns an array. Where `T` is `float[3]`, Clang spells `T*` as `float *[3]`.
        match ty {
            Type::Array(element, count) if node.kind == Kind::CallExpr && element.is_pointer() => {
                let pointee = element.pointee().cloned().unwrap_or(Type::Void);
                Ok(Type::pointer(Type::Array(Box::new(pointee), count)))
            }
            ty => Ok(ty),
        }
    }

    /// The type that a parsed spelling means.
    pub(super) fn spelled_type(&mut self, pass: Pass, spelled: &Spelled, span: Span) -> Lowered<Type> {
        match spelled {
            Spelled::Named(named) => self.named_type(pass, named, span),
            Spelled::Pointer { pointee, is_restrict, is_reference, .. } => {
                if matches!(**pointee, Spelled::Function { .. }) {
                    return problem_with_help(
                        diagnostic::UNSUPPORTED_TYPE,
                        span,
                        "pointers to functions are not supported",
                        "of a pointer to a function",
                        "pass a functor or a lambda as a template argument instead",
                    );
                }
                Ok(Type::Pointer(Box::new(PointerType {
                    pointee: self.pointee_type(pass, pointee, span)?,
                    is_const: pointee.is_const(),
                    is_restrict: *is_restrict,
                    is_volatile: pointee.is_volatile(),
                    is_reference: *is_reference,
                })))
            }
            Spelled::Array { element, length } => {
                Ok(Type::Array(Box::new(self.spelled_type(pass, element, span)?), length.unwrap_or(0)))
            }
            Spelled::Function { .. } => {
                problem(diagnostic::UNSUPPORTED_TYPE, span, "function types are not supported", "of a function type")
            }
        }
    }

    /// As `spelled_type`, but a record that is only declared is opaque: a handle.
    fn pointee_type(&mut self, pass: Pass, pointee: &Spelled, span: Span) -> Lowered<Type> {
        if let Spelled::Named(named) = pointee
            && scalar(&named.name).is_none()
            // No handle is a template's.
            && !named.name.contains('<')
            && self.find_record(pass, &named.name).is_none()
            && self.find_enumeration(pass, &named.name).is_none()
            && self.find_alias(pass, &named.name).is_none()
        {
            return Ok(Type::Opaque(named.name.as_str().into()));
        }
        if let Spelled::Named(named) = pointee
            && let Some(class) = self.unread_class(pass, &named.name)
        {
            return Ok(Type::Opaque(class.name));
        }
        self.spelled_type(pass, pointee, span)
    }

    fn named_type(&mut self, pass: Pass, named: &Named, span: Span) -> Lowered<Type> {
        if let Some(ty) = scalar(&named.name) {
            return Ok(ty);
        }
        if let Some(vector) = vector_like(&named.name) {
            return self.type_of(pass, vector, span);
        }
        if [TAPE, FREES, STEPS].contains(&&*named.name) {
            return Ok(Type::Opaque(named.name.as_str().into()));
        }
        if let Some(id) = self.find_record(pass, &named.name) {
            if let Some(member) = self.declarations(pass).union_of_one_type(id) {
                return self.node_type(pass, member);
            }
            return self.record(pass, id, span).map(Type::Record);
        }
        if let Some(alias) = self.find_alias(pass, &named.name) {
            return self.type_of(pass, alias, span);
        }
        if let Some(enumeration) = self.find_enumeration(pass, &named.name) {
            if enumeration.name().starts_with("cuda") {
                return Ok(Type::Opaque(named.name.as_str().into()));
            }
            return match &enumeration.data.fixed_underlying_type {
                Some(underlying) => {
                    let underlying = underlying.0.clone();
                    self.type_of(pass, &underlying, span)
                }
                // Clang gives an enumeration without a stated type `unsigned int` unless a value is negative.
                None => Ok(underlying_type(self, pass, enumeration)),
            };
        }
        let help = if self.vector_elements(pass, &named.name).is_some() {
            "a `std::vector` is read as a variable, or as a parameter by reference: hand it on so, or `v.data()` and `v.size()`"
        } else if named.name.starts_with("__gnu_cxx::__normal_iterator") {
            "use an index, or `for (T x : v)`, instead of an iterator"
        } else {
            "use numbers, pointers, arrays and structs of them in the function that is read"
        };
        let message = format!("the type `{}` is not supported", named.name);
        problem_with_help(diagnostic::UNSUPPORTED_TYPE, span, message, "of this type", help)
    }

    /// What a name means in the scope that is being lowered: with the names of the scopes around it in front, the
    /// innermost first.
    fn in_scope<T>(&self, pass: Pass, name: &str, look_up: impl Fn(&str) -> Option<T>) -> Option<T> {
        let mut scope = self.scope.as_str();
        loop {
            let full = format!("{scope}{name}");
            let meant = self.declarations(pass).without_namespace_alias(&full);
            if let Some(found) = look_up(&full).or_else(|| look_up(&meant?)) {
                return Some(found);
            }
            if scope.is_empty() {
                // Clang spells a name as it was written, which may have been in another scope than this.
                return self.declarations(pass).unique_full_name(name).and_then(|full| look_up(&full));
            }
            let parent = scope.trim_end_matches(':');
            scope = &scope[..outer_scope(parent)];
        }
    }

    /// What the alias of a name in a type stands for.
    pub(super) fn find_alias(&self, pass: Pass, name: &str) -> Option<&'a str> {
        let declarations = self.declarations(pass);
        let alias = self.in_scope(pass, name, |name| declarations.alias(name)).or_else(|| declarations.meant(name));
        alias.filter(|alias| *alias != name)
    }

    fn find_enumeration(&self, pass: Pass, name: &str) -> Option<&'a Node> {
        self.in_scope(pass, name, |name| self.declarations(pass).enumeration(name))
    }

    /// The record that a name in a type means.
    pub(super) fn find_record(&self, pass: Pass, name: &str) -> Option<NodeId> {
        self.in_scope(pass, name, |name| self.record_named(pass, name))
    }

    fn record_named(&self, pass: Pass, name: &str) -> Option<NodeId> {
        if let Some(lambda) = self.lambdas.get(&(pass, name.to_owned())) {
            return Some(*lambda);
        }
        let declarations = self.declarations(pass);
        if let [first, ..] = declarations.records(name) {
            return Some(*first);
        }
        declarations.instantiation(name)
    }

    /// The record of the module for a declaration, lowered on first use.
    pub(super) fn record(&mut self, pass: Pass, id: NodeId, span: Span) -> Lowered<RecordId> {
        if let Some(known) = self.records.get(&(pass, id)) {
            return Ok(*known);
        }
        if let Some(lambda) = self.declarations(pass).lambda(id) {
            return self.lambda_record(pass, id, lambda);
        }
        let Some(declared) = self.declarations(pass).get(id) else {
            return broken(span, "a record that it does not declare");
        };
        let node = declared.node;
        let scope = self.declarations(pass).scope(declared).clone();
        let members = scope.spelling.strip_prefix(&*scope.namespaces).unwrap_or(&scope.spelling);
        let arguments = self.declarations(pass).template_arguments(node);
        let own_name = self.declarations(pass).name_of(node).to_owned();
        let plain =
            if arguments.is_empty() { own_name.clone() } else { format!("{own_name}<{}>", arguments.join(", ")) };
        let named = arguments.iter().filter(|argument| !is_unnamed(argument));
        let words: Vec<String> = named.map(|argument| word_for(argument)).collect();
        let members = identifier_or_nothing(members);
        let wanted = [vec![members, identifier(&own_name)], words].concat();
        let wanted: Vec<String> = wanted.into_iter().filter(|word| !word.is_empty()).collect();
        let wanted = format!("{}{}", scope.namespaces, wanted.join("_"));
        if node.data.tag_used.as_deref() == Some("union") {
            return problem_with_help(
                diagnostic::UNSUPPORTED_TYPE,
                node.span,
                format!("the union `{plain}` is not supported"),
                "a union",
                "use a struct, or `__float_as_int` and its like to look at bits",
            );
        }
        if let Some(method) = node.children(Kind::CXXMethodDecl).find(|method| method.data.is_virtual) {
            return problem_with_help(
                diagnostic::UNSUPPORTED_TYPE,
                method.span,
                format!("`{plain}` has the virtual function `{}`", method.name()),
                "chosen at run time",
                "choose the function by a template argument or a `switch`",
            );
        }
        let record = self.add_record(pass, id, &wanted, node);
        if !self.module.records[record].fields.is_empty() {
            return Ok(record);
        }
        // The record is known before its fields are: they may point to it.
        let outer = std::mem::replace(&mut self.scope, format!("{}{plain}::", scope.spelling));
        let fields = self.fields(pass, node);
        self.scope = outer;
        let fields = fields?;
        self.refuse_packing(node, &plain, &fields)?;
        if has_own_destructor(node) || fields.iter().any(|field| self.has_destructor(&field.ty)) {
            self.destructors.insert(record);
        }
        self.module.records[record].fields = fields;
        Ok(record)
    }

    /// Refuses a record whose fields lie elsewhere than in a record that is printed with the same fields.
    fn refuse_packing(&self, node: &Node, name: &str, fields: &[Field]) -> Lowered<()> {
        let is_packed = node.has(Kind::PackedAttr) || node.has(Kind::MaxFieldAlignmentAttr);
        let moved =
            node.children(Kind::FieldDecl).find(|field| field.has(Kind::AlignedAttr) || field.has(Kind::PackedAttr));
        let (span, label) = match moved {
            Some(field) => (field.span, "an alignment of its own"),
            None if is_packed && has_padding(&self.module, fields) => (node.span, "packed"),
            None => return Ok(()),
        };
        problem_with_help(
            diagnostic::UNSUPPORTED_TYPE,
            span,
            format!("the layout of `{name}` is not supported"),
            label,
            "order the fields by size, or name the bytes between them, so that they lie where they do without it",
        )
    }

    /// Whether a value of the type runs a destructor of the user's at the end of its life.
    pub(super) fn has_destructor(&self, ty: &Type) -> bool {
        match ty {
            Type::Record(record) => self.destructors.contains(record),
            Type::Array(element, _) => self.has_destructor(element),
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Pointer(_) | Type::Opaque(_) => false,
        }
    }

    /// Adds a record without fields, or finds the one that the other pass has added for the same declaration.
    pub(super) fn add_record(&mut self, pass: Pass, id: NodeId, wanted: &str, node: &Node) -> RecordId {
        let header = self.declarations(pass).file_name(node.span).rsplit('/').next().unwrap_or("");
        let is_builtin = is_builtin_record(wanted) || RUNTIME_HEADERS.contains(&header);
        let span = node.span;
        // Instantiations of a template stand at the same place. Those whose names are alike differ in their fields.
        let key = (span, wanted.to_owned(), format!("{:?}", fields(node)));
        let known = self.same_records.get(&key).copied().filter(|_| !span.is_none());
        let record = known.unwrap_or_else(|| {
            let name = self.claim(wanted);
            let align = alignment(node);
            self.module.records.push(Record { name, fields: Vec::new(), is_builtin, align, span })
        });
        self.same_records.insert(key, record);
        self.records.insert((pass, id), record);
        record
    }

    /// The name of a field; of a union without a name, that of its first member.
    fn field_name(&self, pass: Pass, field: &'a Node) -> &'a str {
        let record = if field.name().is_empty() { self.find_record(pass, field.ty()) } else { None };
        let member = record.and_then(|record| self.declarations(pass).union_of_one_type(record));
        member.unwrap_or(field).name()
    }

    fn fields(&mut self, pass: Pass, node: &'a Node) -> Lowered<Vec<Field>> {
        let mut fields = Vec::new();
        if node.data.bases.len() > 1 {
            return problem(
                diagnostic::UNSUPPORTED_TYPE,
                node.span,
                format!("`{}` has several base classes", node.name()),
                "only one base class is supported",
            );
        }
        for base in &node.data.bases {
            fields.push(Field { name: "base".into(), ty: self.type_of(pass, &base.ty.0, node.span)? });
        }
        for field in node.children(Kind::FieldDecl) {
            if field.data.is_bitfield {
                return problem_with_help(
                    diagnostic::UNSUPPORTED_TYPE,
                    field.span,
                    format!("the bit-field `{}` is not supported", field.name()),
                    "a bit-field",
                    "use a whole integer and shifts",
                );
            }
            refuse_volatile(field)?;
            let mut ty = match self.vector_of_handles(pass, field)? {
                Some(vector) => vector,
                None => self.node_type(pass, field)?,
            };
            if let Type::Pointer(pointer) = &mut ty {
                // A record is plain data: a reference member is a pointer in it.
                pointer.is_reference = false;
            }
            fields.push(Field { name: self.field_name(pass, field).into(), ty });
        }
        Ok(fields)
    }
}

/// Refuses what threads share and is itself `volatile`: variables of the IR are not, so the order that it keeps would be
/// lost. Pointers to `volatile` are kept.
pub(super) fn refuse_volatile(node: &Node) -> Lowered<()> {
    if !parse(node.ty()).is_some_and(|spelled| spelled.is_volatile()) {
        return Ok(());
    }
    problem_with_help(
        diagnostic::UNSUPPORTED_DECLARATION,
        node.span,
        format!("`{}` is `volatile` and shared by threads, which is not supported", node.name()),
        "declared here",
        "declare it without `volatile`, and meet with `__syncwarp()` or `__syncthreads()` before others read what was \
         stored; or access it through a pointer to `volatile`",
    )
}

/// Whether a parameter, field or result is of an enumeration, which is an integer in the IR.
pub(super) fn has_enumeration(context: &mut Context<'_>, pass: Pass, declared: Declared<'_>) -> bool {
    let scope = context.declarations(pass).scope(declared).spelling.clone();
    let outer = std::mem::replace(&mut context.scope, scope);
    let node = declared.node;
    let parts = node.inner.iter().filter(|part| matches!(part.kind, Kind::ParmVarDecl | Kind::FieldDecl));
    let mut spelled: Vec<Option<Spelled>> = parts.map(|part| parse(part.ty())).collect();
    if let Some(Spelled::Function { result, .. }) = parse(node.ty()) {
        spelled.push(Some(*result));
    }
    let found = spelled.iter().flatten().any(|spelled| is_enumeration(context, pass, spelled, 0));
    context.scope = outer;
    found
}

fn is_enumeration(context: &Context<'_>, pass: Pass, spelled: &Spelled, depth: usize) -> bool {
    match spelled {
        Spelled::Named(named) if scalar(&named.name).is_some() => false,
        Spelled::Named(named) => match context.find_alias(pass, &named.name).and_then(parse) {
            Some(alias) if depth < MAX_TYPE_DEPTH => is_enumeration(context, pass, &alias, depth + 1),
            _ => context.find_enumeration(pass, &named.name).is_some(),
        },
        Spelled::Pointer { pointee, .. } => is_enumeration(context, pass, pointee, depth),
        Spelled::Array { element, .. } => is_enumeration(context, pass, element, depth),
        Spelled::Function { .. } => false,
    }
}

/// The records around another as a part of its name.
fn identifier_or_nothing(scope: &str) -> String {
    if scope.is_empty() { String::new() } else { identifier(scope) }
}

/// The alignment that the declaration of a record or variable asks for.
pub(super) fn alignment(node: &Node) -> Option<u32> {
    let attribute = node.child(Kind::AlignedAttr)?;
    let constant = attribute.inner.iter().find_map(super::constant::constant_value)?;
    u32::try_from(constant).ok()
}

fn underlying_type(context: &Context<'_>, pass: Pass, enumeration: &Node) -> Type {
    let declarations = context.declarations(pass);
    let mut values = enumeration.children(Kind::EnumConstantDecl).filter_map(|node| declarations.enumerator(node.id));
    if values.any(|value| value < 0) { Type::INT } else { Type::UINT }
}

/// Whether a record was written with a destructor that does something.
fn has_own_destructor(node: &Node) -> bool {
    node.children(Kind::CXXDestructorDecl).any(|destructor| {
        let is_written = !destructor.data.is_implicit && destructor.data.explicitly_defaulted.is_none();
        is_written && destructor.child(Kind::CompoundStmt).is_none_or(|body| !body.inner.is_empty())
    })
}

/// The scalar type of that name.
fn scalar(name: &str) -> Option<Type> {
    let ty = match name {
        "void" => Type::Void,
        "bool" | "_Bool" => Type::Bool,
        "float" => Type::FLOAT,
        "double" => Type::DOUBLE,
        "__half" => Type::Float(FloatKind::Half),
        "__nv_bfloat16" => Type::Float(FloatKind::BFloat),
        _ if STANDARD_ALIASES.iter().any(|(alias, _)| *alias == name.trim_start_matches("std::")) => {
            let (_, kind) = STANDARD_ALIASES.iter().find(|(alias, _)| *alias == name.trim_start_matches("std::"))?;
            Type::Int(*kind)
        }
        "std::nullptr_t" | "nullptr_t" => Type::pointer(Type::Void),
        _ => return IntKind::ALL.into_iter().find(|kind| kind.spelling() == name).map(Type::Int),
    };
    Some(ty)
}

/// Where the last name of a scope begins; `::` inside template arguments separates nothing.
fn outer_scope(scope: &str) -> usize {
    let mut depth = 0usize;
    let bytes = scope.as_bytes();
    for at in (1..bytes.len()).rev() {
        match bytes[at] {
            b'>' | b')' => depth += 1,
            b'<' | b'(' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && bytes[at - 1] == b':' => return at + 1,
            _ => {}
        }
    }
    0
}
