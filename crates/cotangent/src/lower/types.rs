//! Types and records.

use super::context::{Context, Lowered, Pass, broken, problem, problem_with_help};
use super::names::identifier;
use crate::clang::types::{Named, Spelled, parse, template_arguments};
use crate::clang::{Kind, Node, NodeId};
use crate::diagnostic;
use crate::ir::{Field, FloatKind, IntKind, PointerType, Record, RecordId, Type};
use crate::source::Span;

/// Records that CUDA's own headers declare: `float3` and its like, and `dim3`.
const VECTOR_ELEMENTS: &[&str] =
    &["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong", "ulonglong", "float", "double"];

/// Whether CUDA's headers declare a record of that name.
pub(super) fn is_builtin_record(name: &str) -> bool {
    let vector = VECTOR_ELEMENTS
        .iter()
        .any(|element| name.strip_prefix(element).is_some_and(|count| matches!(count, "1" | "2" | "3" | "4")));
    vector || name == "dim3"
}

impl<'a> Context<'a> {
    /// The type that a spelling means.
    pub(super) fn type_of(&mut self, pass: Pass, spelling: &str, span: Span) -> Lowered<Type> {
        match parse(spelling) {
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
        self.type_of(pass, node.ty(), node.span)
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
            && self.find_record(pass, &named.name).is_none()
            && self.declarations(pass).enumeration(&named.name).is_none()
        {
            return Ok(Type::Opaque(named.name.as_str().into()));
        }
        self.spelled_type(pass, pointee, span)
    }

    fn named_type(&mut self, pass: Pass, named: &Named, span: Span) -> Lowered<Type> {
        if let Some(ty) = scalar(&named.name) {
            return Ok(ty);
        }
        if let Some(id) = self.find_record(pass, &named.name) {
            return self.record(pass, id, span).map(Type::Record);
        }
        if let Some(enumeration) = self.declarations(pass).enumeration(&named.name) {
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
        problem_with_help(
            diagnostic::UNSUPPORTED_TYPE,
            span,
            format!("the type `{}` is not supported", named.name),
            "of this type",
            "use numbers, pointers, arrays and structs of them in the function that is read",
        )
    }

    /// The record that a name in a type means.
    pub(super) fn find_record(&self, pass: Pass, name: &str) -> Option<NodeId> {
        if let Some(lambda) = self.lambdas.get(&(pass, name.to_owned())) {
            return Some(*lambda);
        }
        let declarations = self.declarations(pass);
        if let [first, ..] = declarations.records(name) {
            return Some(*first);
        }
        // Clang spells values of template arguments in several ways; compare them loosely.
        let (base, arguments) = template_arguments(name)?;
        let loose: Vec<String> = arguments.iter().map(|argument| loosely(argument)).collect();
        declarations.specializations(base).iter().copied().find(|id| {
            let node = declarations.get(*id).map(|declared| declared.node);
            node.is_some_and(|node| {
                let own: Vec<String> =
                    super::declarations::template_arguments(node).iter().map(|argument| loosely(argument)).collect();
                own == loose
            })
        })
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
        let arguments = super::declarations::template_arguments(node);
        let plain = if arguments.is_empty() {
            node.name().to_owned()
        } else {
            format!("{}<{}>", node.name(), arguments.join(", "))
        };
        let wanted = format!("{}{}", scope.namespaces, identifier(&format!("{members}{plain}")));
        if node.data.tag_used.as_deref() == Some("union") {
            return problem_with_help(
                diagnostic::UNSUPPORTED_TYPE,
                node.span,
                format!("the union `{plain}` is not supported"),
                "a union",
                "use a struct, or `__float_as_int` and its like to look at bits",
            );
        }
        let fields = self.fields(pass, node)?;
        self.add_record(pass, id, &wanted, fields, node)
    }

    pub(super) fn add_record(
        &mut self,
        pass: Pass,
        id: NodeId,
        wanted: &str,
        fields: Vec<Field>,
        node: &Node,
    ) -> Lowered<RecordId> {
        let is_builtin = is_builtin_record(wanted);
        // The other pass may have the same record already.
        let known =
            self.module.records.entries().find(|(_, record)| &*record.name == wanted && record.fields == fields);
        let record = match known.map(|(record, _)| record) {
            Some(record) => record,
            None => {
                let name = self.claim(wanted);
                let align = alignment(node);
                self.module.records.push(Record { name, fields, is_builtin, align, span: node.span })
            }
        };
        self.records.insert((pass, id), record);
        Ok(record)
    }

    fn fields(&mut self, pass: Pass, node: &Node) -> Lowered<Vec<Field>> {
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
            let mut ty = self.node_type(pass, field)?;
            if let Type::Pointer(pointer) = &mut ty {
                // A record is plain data: a reference member is a pointer in it.
                pointer.is_reference = false;
            }
            fields.push(Field { name: field.name().into(), ty });
        }
        Ok(fields)
    }
}

/// The alignment that a record asks for.
fn alignment(node: &Node) -> Option<u32> {
    let attribute = node.child(Kind::AlignedAttr)?;
    let constant = attribute.inner.iter().find_map(super::constant::constant_value)?;
    u32::try_from(constant).ok()
}

fn underlying_type(context: &Context<'_>, pass: Pass, enumeration: &Node) -> Type {
    let declarations = context.declarations(pass);
    let mut values = enumeration.children(Kind::EnumConstantDecl).filter_map(|node| declarations.enumerator(node.id));
    if values.any(|value| value < 0) { Type::INT } else { Type::UINT }
}

/// `3U` and `3`, `true` and `1` are the same argument.
fn loosely(argument: &str) -> String {
    match argument {
        "true" | "-1" => "1".to_owned(),
        "false" => "0".to_owned(),
        _ if argument.starts_with(|first: char| first.is_ascii_digit()) => {
            argument.trim_end_matches(['u', 'U', 'l', 'L']).to_owned()
        }
        _ => argument.replace(' ', ""),
    }
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
        "std::nullptr_t" | "nullptr_t" => Type::pointer(Type::Void),
        _ => return IntKind::ALL.into_iter().find(|kind| kind.spelling() == name).map(Type::Int),
    };
    Some(ty)
}
