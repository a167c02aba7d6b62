//! An index of one pass's declarations: by Clang's id, by linker name, by spelling.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::arguments::{Instantiated, Uses};
use crate::clang::{Ast, Kind, Node, NodeId, TypeName, Value};
use crate::source::{FileId, Sources, Span};

/// A declaration and where it belongs.
#[derive(Clone, Copy)]
pub(super) struct Declared<'a> {
    /// The declaration.
    pub(super) node: &'a Node,
    /// The innermost record it is a member of.
    pub(super) record: Option<NodeId>,
    /// The namespaces and records around it, as an index into `Declarations::scopes`.
    pub(super) scope: usize,
}

/// The declarations of one pass.
pub(super) struct Declarations<'a> {
    by_id: HashMap<NodeId, Declared<'a>>,
    /// Definitions of functions, by linker name.
    definitions: HashMap<&'a str, NodeId>,
    /// Definitions of variables outside functions, by linker name.
    variables: HashMap<&'a str, NodeId>,
    /// Records that are complete, by the spelling that types use.
    records: HashMap<String, Vec<NodeId>>,
    /// Instantiations of class templates, by the spelling without arguments.
    specializations: HashMap<String, Vec<NodeId>>,
    /// What typedefs stand for, by the spelling that types use.
    aliases: HashMap<String, &'a str>,
    /// Namespaces, and names for them, by the spelling that types use, with a trailing `::`.
    namespaces: HashMap<NodeId, String>,
    namespace_aliases: HashMap<String, String>,
    /// Enumerations, by the spelling that types use.
    enumerations: HashMap<String, NodeId>,
    /// Values of enumerators.
    enumerators: HashMap<NodeId, i128>,
    /// Positions of fields in their record, a base class counted first.
    fields: HashMap<NodeId, u32>,
    /// Names that typedefs give to records and enumerations without one.
    typedef_names: HashMap<NodeId, &'a str>,
    /// Lambda expressions, by their record.
    lambdas: HashMap<NodeId, &'a Node>,
    /// Instantiations, by their declaration.
    pub(super) instantiated: HashMap<NodeId, Instantiated<'a>>,
    /// Types of objects of which a member is taken, and the member.
    pub(super) members_taken: Vec<(&'a str, NodeId)>,
    /// What is learned of those.
    pub(super) uses: Uses<'a>,
    /// Types as the program spells them where Clang says what they are.
    pub(super) spelled: BTreeSet<(&'a str, &'a str)>,
    /// What is declared inside of functions.
    local: HashSet<NodeId>,
    /// How many functions are around what is being visited.
    function_depth: usize,
    sources: &'a Sources,
    /// The file that was given to Clang: the last declaration stands in it.
    pub(super) main_file: Option<FileId>,
    /// Functions with a body in the order they stand in the file.
    pub(super) functions: Vec<NodeId>,
    /// Rules that the program states, in the order they stand in the file.
    pub(super) registrations: Vec<Registration<'a>>,
    /// Names of scopes: `geo::`, `geo::Vec<float, 3>::`.
    pub(super) scopes: Vec<Scope>,
}

/// A rule that the program states, by an alias of one of the types of `cotangent/rules.hpp`.
#[derive(Clone)]
pub(super) struct Registration<'a> {
    /// The alias.
    pub(super) node: &'a Node,
    /// The name of the type: what is said.
    pub(super) word: &'a str,
    /// The functions that are its arguments.
    pub(super) functions: Vec<NodeId>,
}

/// Namespaces and records around a declaration.
#[derive(Clone, Default)]
pub(super) struct Scope {
    /// As types spell it, with a trailing `::` unless empty.
    pub(super) spelling: String,
    /// The namespaces alone, with a trailing `::` unless empty.
    pub(super) namespaces: String,
}

impl<'a> Declarations<'a> {
    /// Indexes a translation unit.
    pub(super) fn new(ast: &'a Ast) -> Declarations<'a> {
        let mut index = Declarations {
            by_id: HashMap::new(),
            definitions: HashMap::new(),
            variables: HashMap::new(),
            records: HashMap::new(),
            specializations: HashMap::new(),
            aliases: HashMap::new(),
            namespaces: HashMap::new(),
            namespace_aliases: HashMap::new(),
            enumerations: HashMap::new(),
            enumerators: HashMap::new(),
            fields: HashMap::new(),
            typedef_names: HashMap::new(),
            lambdas: HashMap::new(),
            instantiated: HashMap::new(),
            members_taken: Vec::new(),
            uses: Uses::default(),
            spelled: BTreeSet::new(),
            local: HashSet::new(),
            function_depth: 0,
            sources: &ast.sources,
            main_file: main_file(ast),
            functions: Vec::new(),
            registrations: Vec::new(),
            scopes: vec![Scope::default()],
        };
        for node in &ast.declarations {
            index.visit(node, 0, None, false);
        }
        index.learn_uses();
        index
    }

    /// The declaration with that id.
    pub(super) fn get(&self, id: NodeId) -> Option<Declared<'a>> {
        self.by_id.get(&id).copied()
    }

    /// All declarations that have been indexed, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = Declared<'a>> {
        self.by_id.values().copied()
    }

    /// Whether a declaration stands inside of a function.
    pub(super) fn is_local(&self, id: NodeId) -> bool {
        self.local.contains(&id)
    }

    /// The definition of a function: the declaration itself, or the one with a body and the same linker name.
    pub(super) fn definition(&self, id: NodeId) -> Option<NodeId> {
        let declared = self.get(id)?;
        if declared.node.has(Kind::CompoundStmt) {
            return Some(id);
        }
        self.by_linker_name(declared.node.data.mangled_name.as_deref()?)
    }

    /// The function with a body of that linker name.
    pub(super) fn by_linker_name(&self, name: &str) -> Option<NodeId> {
        self.definitions.get(name).copied()
    }

    /// The definition of a variable that is declared `extern`, if a file that is read has it.
    pub(super) fn defined_variable(&self, name: &str) -> Option<NodeId> {
        self.variables.get(name).copied()
    }

    /// The records that types spell like this: usually one; lambdas of several instantiations share a spelling.
    pub(super) fn records(&self, spelling: &str) -> &[NodeId] {
        self.records.get(spelling).map_or(&[], Vec::as_slice)
    }

    /// The full name of the only type whose last name this is. The standard library's are asked only for names of their own.
    pub(super) fn unique_full_name(&self, name: &str) -> Option<String> {
        // Arguments of templates are compared later, and more loosely.
        let (base, arguments) = name.split_at(name.find('<').unwrap_or(name.len()));
        let ending = format!("::{base}");
        let plain = self.records.keys().chain(self.enumerations.keys()).chain(self.aliases.keys());
        let names = plain.chain(self.specializations.keys()).filter(|full| full.ends_with(&ending));
        let (of_library, own): (Vec<_>, Vec<_>) = names.partition(|full| full.starts_with("std::"));
        let names = if own.is_empty() { of_library } else { own };
        let (found, others) = names.split_first()?;
        others.iter().all(|full| full == found).then(|| format!("{found}{arguments}"))
    }

    /// The instantiations of a class template.
    pub(super) fn specializations(&self, template: &str) -> &[NodeId] {
        self.specializations.get(template).map_or(&[], Vec::as_slice)
    }

    /// What a typedef stands for.
    pub(super) fn alias(&self, spelling: &str) -> Option<&'a str> {
        self.aliases.get(spelling).copied()
    }

    /// The name with the namespace itself in the place of another name for it.
    pub(super) fn without_namespace_alias(&self, spelling: &str) -> Option<String> {
        let end = spelling.find('<').unwrap_or(spelling.len());
        let ends = spelling[..end].match_indices("::").map(|(at, colons)| at + colons.len());
        ends.into_iter().find_map(|end| {
            let (scope, rest) = spelling.split_at(end);
            self.namespace_aliases.get(scope).map(|meant| format!("{meant}{rest}"))
        })
    }

    /// The enumeration that types spell like this.
    pub(super) fn enumeration(&self, spelling: &str) -> Option<&'a Node> {
        self.enumerations.get(spelling).and_then(|id| self.get(*id)).map(|declared| declared.node)
    }

    /// The value of an enumerator.
    pub(super) fn enumerator(&self, id: NodeId) -> Option<i128> {
        self.enumerators.get(&id).copied()
    }

    /// The position of a field in its record.
    pub(super) fn field(&self, id: NodeId) -> Option<u32> {
        self.fields.get(&id).copied()
    }

    /// The members' type, if a record is a union in which all have the same: it is a variable of that type.
    pub(super) fn union_of_one_type(&self, record: NodeId) -> Option<&'a Node> {
        self.get(record).and_then(|declared| union_of_one_type(declared.node))
    }

    /// The name of a record, its own or the one that a typedef gives it.
    pub(super) fn name_of(&self, node: &'a Node) -> &'a str {
        self.typedef_names.get(&node.id).copied().unwrap_or(node.name())
    }

    /// The lambda expression that a record is the class of.
    pub(super) fn lambda(&self, record: NodeId) -> Option<&'a Node> {
        self.lambdas.get(&record).copied()
    }

    /// The name of the file that a span is in.
    pub(super) fn file_name(&self, span: Span) -> &'a str {
        self.sources.files.get(span.file).map_or("", |file| &file.name)
    }

    /// The text under a span, if its file was read.
    pub(super) fn text(&self, span: Span) -> Option<&'a str> {
        self.sources.text(span)
    }

    /// Whether a file of the program has this name.
    pub(super) fn is_file(&self, name: &str) -> bool {
        self.sources.files.iter().any(|file| &*file.name == name)
    }

    /// The whole text of the file that a span is in.
    pub(super) fn text_of_file(&self, span: Span) -> Option<&'a str> {
        self.sources.files.get(span.file)?.text.as_deref()
    }

    /// The scope of a declaration.
    pub(super) fn scope(&self, declared: Declared<'_>) -> &Scope {
        &self.scopes[declared.scope]
    }

    fn visit(&mut self, node: &'a Node, scope: usize, record: Option<NodeId>, in_pattern: bool) {
        if let (Some(TypeName(meant, Some(written))), false) = (&node.data.ty, in_pattern) {
            self.spelled.insert((written, meant));
        }
        match node.kind {
            Kind::NamespaceDecl => {
                let inner = self.enter(scope, node.name(), true);
                self.namespaces.insert(node.id, self.scopes[inner].spelling.clone());
                self.visit_all(&node.inner, inner, None, in_pattern);
            }
            Kind::CXXRecordDecl | Kind::ClassTemplateSpecializationDecl => {
                self.visit_record(node, scope, record, in_pattern)
            }
            Kind::ClassTemplatePartialSpecializationDecl => self.visit_all(&node.inner, scope, record, true),
            Kind::NamespaceAliasDecl => {
                if let Some(meant) = &node.data.aliased_namespace
                    && let Some(spelling) = self.namespaces.get(&meant.id)
                {
                    let alias = format!("{}{}::", self.scopes[scope].spelling, node.name());
                    let spelling = spelling.clone();
                    self.namespaces.insert(node.id, spelling.clone());
                    self.namespace_aliases.insert(alias, spelling);
                }
            }
            Kind::ClassTemplateDecl | Kind::FunctionTemplateDecl | Kind::VarTemplateDecl => {
                self.note_instantiations(node);
                // The first declaration is the pattern; its instantiations follow.
                let mut is_pattern = true;
                for child in &node.inner {
                    match child.kind {
                        Kind::CXXRecordDecl
                        | Kind::FunctionDecl
                        | Kind::CXXMethodDecl
                        | Kind::CXXConstructorDecl
                        | Kind::CXXConversionDecl
                        | Kind::VarDecl => {
                            self.visit(child, scope, record, in_pattern || is_pattern);
                            is_pattern = false;
                        }
                        _ => self.visit(child, scope, record, in_pattern),
                    }
                }
            }
            Kind::FunctionDecl
            | Kind::CXXMethodDecl
            | Kind::CXXConstructorDecl
            | Kind::CXXDestructorDecl
            | Kind::CXXConversionDecl => self.visit_function(node, scope, record, in_pattern),
            Kind::TypedefDecl | Kind::TypeAliasDecl if !in_pattern => {
                self.registrations.extend(registration(node));
                let full = format!("{}{}", self.scopes[scope].spelling, node.name());
                self.name_by_typedef(node, &full);
                // `typedef struct A A;` says nothing.
                let target =
                    node.ty().trim_start_matches("struct ").trim_start_matches("union ").trim_start_matches("enum ");
                if target != node.name() && target != full {
                    self.aliases.insert(full, node.ty());
                }
            }
            Kind::LambdaExpr => {
                if let Some(record) = node.child(Kind::CXXRecordDecl) {
                    self.lambdas.insert(record.id, node);
                    if !in_pattern {
                        self.records.entry(node.ty().to_owned()).or_default().push(record.id);
                    }
                }
                self.visit_all(&node.inner, scope, None, in_pattern);
            }
            Kind::EnumDecl => self.visit_enumeration(node, scope, record),
            Kind::MemberExpr => {
                if let (Some(object), Some(member), false) =
                    (node.inner.first(), node.data.referenced_member_decl, in_pattern)
                    && object.ty().contains('<')
                {
                    self.members_taken.push((object.ty(), member));
                }
                self.visit_all(&node.inner, scope, record, in_pattern);
            }
            Kind::VarDecl | Kind::VarTemplateSpecializationDecl | Kind::ParmVarDecl => {
                self.insert(node, scope, record);
                if self.function_depth == 0
                    && !is_only_declared(node)
                    && let Some(name) = node.data.mangled_name.as_deref()
                {
                    self.variables.entry(name).or_insert(node.id);
                }
                self.visit_all(&node.inner, scope, None, in_pattern);
            }
            _ => self.visit_all(&node.inner, scope, record, in_pattern),
        }
    }

    fn visit_all(&mut self, nodes: &'a [Node], scope: usize, record: Option<NodeId>, in_pattern: bool) {
        for node in nodes {
            self.visit(node, scope, record, in_pattern);
        }
    }

    fn visit_function(&mut self, node: &'a Node, scope: usize, record: Option<NodeId>, in_pattern: bool) {
        // A member defined outside its class stands in another scope than it belongs to.
        let home = node.data.previous_decl.and_then(|id| self.get(id));
        let (scope, record) = home.map_or((scope, record), |home| (home.scope, home.record));
        self.insert(node, scope, record);
        if node.has(Kind::CompoundStmt) && !in_pattern {
            if let Some(name) = node.data.mangled_name.as_deref() {
                self.definitions.entry(name).or_insert(node.id);
            }
            if !self.functions.contains(&node.id) {
                self.functions.push(node.id);
            }
        }
        self.function_depth += 1;
        self.visit_all(&node.inner, scope, None, in_pattern);
        self.function_depth -= 1;
    }

    fn visit_record(&mut self, node: &'a Node, scope: usize, record: Option<NodeId>, in_pattern: bool) {
        if node.data.is_implicit && !node.data.complete_definition {
            return;
        }
        self.insert(node, scope, record);
        let spelling = self.record_spelling(node);
        if node.kind == Kind::ClassTemplateSpecializationDecl && !in_pattern {
            let template = format!("{}{}", self.scopes[scope].spelling, node.name());
            let known = self.specializations.entry(template).or_default();
            if !known.contains(&node.id) {
                known.push(node.id);
            }
        }
        if node.data.complete_definition && !in_pattern {
            let full = format!("{}{spelling}", self.scopes[scope].spelling);
            let known = self.records.entry(full).or_default();
            if !known.contains(&node.id) {
                known.push(node.id);
            }
            let bases = u32::try_from(node.data.bases.len()).unwrap_or(u32::MAX);
            for (position, field) in (bases..).zip(node.children(Kind::FieldDecl)) {
                self.fields.insert(field.id, position);
                self.by_id.insert(field.id, Declared { node: field, record: Some(node.id), scope });
            }
        }
        let inner = self.enter(scope, &spelling, false);
        self.visit_all(&node.inner, inner, Some(node.id), in_pattern);
        if !in_pattern {
            self.name_unions_without_name(node);
        }
    }

    /// A union without a name is known by where it stands. What is in it is a member of the record.
    fn name_unions_without_name(&mut self, node: &'a Node) {
        let mut inner_record = None;
        for child in &node.inner {
            match child.kind {
                Kind::CXXRecordDecl if child.name().is_empty() => inner_record = Some(child),
                Kind::FieldDecl if child.name().is_empty() => {
                    let union = inner_record.filter(|inner| union_of_one_type(inner).is_some());
                    let (Some(union), Some(position)) = (union, self.field(child.id)) else { continue };
                    self.records.entry(child.ty().to_owned()).or_default().push(union.id);
                    self.fields.extend(union.children(Kind::FieldDecl).map(|member| (member.id, position)));
                }
                _ => {}
            }
        }
    }

    /// How types spell a record, without its scope: `Vec<float, 3>`.
    fn record_spelling(&self, node: &Node) -> String {
        if node.kind == Kind::ClassTemplateSpecializationDecl {
            return format!("{}<{}>", node.name(), self.template_arguments(node).join(", "));
        }
        node.name().to_owned()
    }

    /// `typedef struct { … } A;` names the record.
    fn name_by_typedef(&mut self, node: &'a Node, full: &str) {
        let Some(id) = node.inner.iter().find_map(type_declaration) else { return };
        let Some(declared) = self.get(id).filter(|declared| declared.node.name().is_empty()) else { return };
        // The first of several is its name, as it is for the linker.
        self.typedef_names.entry(id).or_insert(node.name());
        if declared.node.kind == Kind::EnumDecl {
            self.enumerations.insert(full.to_owned(), id);
        } else if declared.node.data.complete_definition {
            self.records.entry(full.to_owned()).or_default().push(id);
        }
    }

    fn visit_enumeration(&mut self, node: &'a Node, scope: usize, record: Option<NodeId>) {
        self.insert(node, scope, record);
        self.enumerations.insert(format!("{}{}", self.scopes[scope].spelling, node.name()), node.id);
        let mut next = Some(0);
        for enumerator in node.children(Kind::EnumConstantDecl) {
            // What is stated but not known yet, in a template, is no value, and neither are those that count on from it.
            let value = match enumerator.inner.iter().find(|child| !child.ty().is_empty()) {
                Some(stated) => constant(stated),
                None => next,
            };
            next = value.map(|value| value + 1);
            if let Some(value) = value {
                self.enumerators.insert(enumerator.id, value);
            }
        }
    }

    fn insert(&mut self, node: &'a Node, scope: usize, record: Option<NodeId>) {
        if self.function_depth > 0 {
            self.local.insert(node.id);
        }
        let declared = Declared { node, record, scope };
        let entry = self.by_id.entry(node.id).or_insert(declared);
        // An instantiation that the text asks for is mentioned at its template, and stands where the text has it.
        let is_defined = |node: &Node| node.has(Kind::CompoundStmt) || node.data.complete_definition;
        if !is_defined(entry.node) && is_defined(node) {
            *entry = declared;
        }
    }

    fn enter(&mut self, outer: usize, name: &str, is_namespace: bool) -> usize {
        let mut scope = self.scopes[outer].clone();
        let name = if name.is_empty() && is_namespace { "(anonymous namespace)" } else { name };
        scope.spelling.push_str(name);
        scope.spelling.push_str("::");
        if is_namespace && name != "(anonymous namespace)" {
            scope.namespaces.push_str(name);
            scope.namespaces.push_str("::");
        }
        self.scopes.push(scope);
        self.scopes.len() - 1
    }
}

/// The file that the last declaration stands in. A file without any has only those that are always read before it.
fn main_file(ast: &Ast) -> Option<FileId> {
    let file = ast.declarations.last()?.span.file;
    let is_always_read = ast.sources.files.get(file).is_some_and(|file| file.name.ends_with("/vector_functions.h"));
    (!is_always_read).then_some(file)
}

/// The value that Clang computed for a constant. It stands below the conversion to the enumeration's type, if there is one.
fn constant(node: &Node) -> Option<i128> {
    match (&node.data.value, node.kind) {
        (Some(Value::Text(text)), _) => text.parse().ok(),
        (Some(Value::Number(number)), _) => Some(i128::from(*number)),
        (None, Kind::ImplicitCastExpr | Kind::ConstantExpr) => node.inner.first().and_then(constant),
        (Some(Value::Bool(_)) | None, _) => None,
    }
}

/// The rule that an alias states.
fn registration(node: &Node) -> Option<Registration<'_>> {
    if !node.name().starts_with("cotangent_rule_") {
        return None;
    }
    let (word, _) = node.ty().trim_start_matches("::").strip_prefix("cotangent::")?.split_once('<')?;
    let mut functions = Vec::new();
    arguments(node, &mut functions);
    Some(Registration { node, word, functions })
}

/// The functions that are template arguments, in order.
fn arguments(node: &Node, functions: &mut Vec<NodeId>) {
    for child in &node.inner {
        if child.kind == Kind::TemplateArgument {
            functions.extend(named_function(child));
        } else {
            arguments(child, functions);
        }
    }
}

/// The function that an expression names.
pub(super) fn named_function(node: &Node) -> Option<NodeId> {
    match &node.data.referenced_decl {
        Some(reference) if node.kind == Kind::DeclRefExpr => Some(reference.id),
        _ => node.inner.iter().find_map(named_function),
    }
}

/// The first member of a union in which all are of one type, and which has no functions of its own.
fn union_of_one_type(node: &Node) -> Option<&Node> {
    let is_union = node.data.tag_used.as_deref() == Some("union") && node.data.complete_definition;
    let first = node.child(Kind::FieldDecl).filter(|_| is_union)?;
    let is_same = |child: &Node| match child.kind {
        Kind::FieldDecl => child.ty() == first.ty() && !child.data.is_bitfield,
        Kind::CXXMethodDecl | Kind::CXXConstructorDecl | Kind::CXXDestructorDecl => child.data.is_implicit,
        _ => true,
    };
    node.inner.iter().all(is_same).then_some(first)
}

/// The record or enumeration that a type node is, and not a pointer to it or another name for it.
fn type_declaration(node: &Node) -> Option<NodeId> {
    match (node.kind, &node.data.decl) {
        (Kind::RecordType | Kind::EnumType, Some(declaration)) => Some(declaration.id),
        (Kind::ElaboratedType, _) => node.inner.iter().find_map(type_declaration),
        _ => None,
    }
}

/// Whether a variable is declared and not defined: `extern int n;`.
pub(super) fn is_only_declared(variable: &Node) -> bool {
    variable.data.storage_class.as_deref() == Some("extern") && variable.data.init.is_none()
}
