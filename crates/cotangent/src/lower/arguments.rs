//! The template arguments of an instantiation, as types and requests spell them, and the record that a spelling means.
//!
//! Clang's dump has values as numbers, `true` as -1 and an enumerator by its value, and of an argument that is a template
//! it has nothing. The parameters of the template tell what the numbers are. Which record a type means that leaves
//! arguments out, or that names a template, is told by the members that are taken of objects of that type.

use std::collections::HashMap;

use super::arithmetic;
use super::declarations::Declarations;
use crate::clang::types::{self, Spelled};
use crate::clang::{Kind, Node, NodeId, Value};

/// How an argument begins that the dump does not name: a template. The number of the instantiation follows.
const UNNAMED: char = '?';

/// The template that an instantiation is of, and which of its instantiations it is.
#[derive(Clone, Copy)]
pub(super) struct Instantiated<'a> {
    template: &'a Node,
    number: usize,
}

/// What the members that are taken of objects tell about the spellings of their types.
#[derive(Default)]
pub(super) struct Uses<'a> {
    records: HashMap<String, Option<NodeId>>,
    spellings: HashMap<NodeId, String>,
    /// What names stand for; nothing if two scopes have different ones of the same spelling.
    meant: HashMap<String, Option<&'a str>>,
}

impl<'a> Declarations<'a> {
    /// Notes of which template the instantiations below it are.
    pub(super) fn note_instantiations(&mut self, template: &'a Node) {
        for (number, node) in template.inner.iter().enumerate() {
            self.instantiated.entry(node.id).or_insert(Instantiated { template, number });
        }
    }

    /// The template arguments of an instantiation.
    pub(super) fn template_arguments(&self, node: &Node) -> Vec<String> {
        let instantiated = self.instantiated.get(&node.id);
        let mut parameters = instantiated.into_iter().flat_map(|known| parameters(known.template));
        let mut arguments = Vec::new();
        for argument in node.children(Kind::TemplateArgument) {
            self.spell(argument, parameters.next(), instantiated, &mut arguments);
        }
        let used = self.uses.spellings.get(&node.id).and_then(|spelling| types::template_arguments(spelling));
        if let Some((_, used)) = used {
            // Those that have their default value are left out of the spelling.
            for (own, used) in arguments.iter_mut().zip(used).filter(|(own, _)| is_unnamed(own)) {
                *own = used.to_owned();
            }
        }
        arguments
    }

    fn spell(
        &self,
        argument: &Node,
        parameter: Option<&Node>,
        instantiated: Option<&Instantiated<'_>>,
        arguments: &mut Vec<String>,
    ) {
        let named = argument.data.decl.as_ref().and_then(|declaration| declaration.name.as_deref());
        match (&argument.data.ty, &argument.data.value) {
            (_, Some(Value::Text(text))) => arguments.push(text.to_string()),
            (_, Some(Value::Number(number))) => {
                let known = instantiated.zip(parameter);
                let name = known.and_then(|(known, parameter)| {
                    let earlier = parameters(known.template).position(|earlier| earlier.name() == parameter.ty());
                    let ty = earlier.and_then(|earlier| arguments.get(earlier)).map_or(parameter.ty(), String::as_str);
                    self.name_of_value(ty, *number)
                });
                arguments.push(name.unwrap_or_else(|| number.to_string()));
            }
            (_, Some(Value::Bool(truth))) => arguments.push(truth.to_string()),
            (Some(ty), None) => arguments.push(ty.0.to_string()),
            (None, None) if named.is_some() => arguments.extend(named.map(str::to_owned)),
            (None, None) if argument.has(Kind::TemplateArgument) => {
                // A parameter pack.
                for inner in argument.children(Kind::TemplateArgument) {
                    self.spell(inner, parameter, instantiated, arguments);
                }
            }
            (None, None) => {
                let is_template = parameter.is_some_and(|node| node.kind == Kind::TemplateTemplateParmDecl);
                let number = instantiated.filter(|_| is_template).map(|known| known.number);
                arguments.extend(number.map(|number| format!("{UNNAMED}{number}")));
            }
        }
    }

    /// `true`, or the enumerator, if the type has names for its values.
    fn name_of_value(&self, ty: &str, value: i64) -> Option<String> {
        if ty == "bool" {
            return Some((value != 0).to_string());
        }
        let full = self.enumeration(ty).is_none().then(|| self.unique_full_name(ty)).flatten();
        let enumeration = self.enumeration(full.as_deref().unwrap_or(ty))?;
        let has_value = |node: &&Node| self.enumerator(node.id) == Some(i128::from(value));
        let name = enumeration.children(Kind::EnumConstantDecl).find(has_value)?.name();
        let scope = &self.scope(self.get(enumeration.id)?).spelling;
        let own = if enumeration.data.scoped_enum_tag.is_some() { enumeration.name() } else { "" };
        Some(if own.is_empty() { format!("{scope}{name}") } else { format!("{scope}{own}::{name}") })
    }

    /// The enumerator that Clang spells as a number, `(Order)1U`, and the value of arithmetic; other arguments as they are.
    fn evaluated(&self, argument: &str) -> String {
        let parts = argument.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let value = parts.and_then(|(ty, value)| Some((ty, value.trim_end_matches(['U', 'L']).parse().ok()?)));
        let name = value.and_then(|(ty, value)| self.name_of_value(ty, value));
        let number = || arithmetic::value(argument).map(|value| value.to_string());
        name.or_else(number).unwrap_or_else(|| argument.to_owned())
    }

    /// Learns which record the type of an object is from each member that is taken of it.
    pub(super) fn learn_uses(&mut self) {
        for (spelling, member) in std::mem::take(&mut self.members_taken) {
            let Some(record) = self.get(member).and_then(|declared| declared.record) else { continue };
            let Some(name) = types::parse(spelling).and_then(record_name) else { continue };
            self.uses.spellings.entry(record).or_insert_with(|| name.clone());
            let known = self.uses.records.entry(name).or_insert(Some(record));
            if *known != Some(record) {
                *known = None;
            }
        }
        for (written, meant) in std::mem::take(&mut self.spelled) {
            let (Some(Spelled::Named(named)), Some(target)) = (types::parse(written), types::parse(meant)) else {
                continue;
            };
            // Qualifiers that the name itself stands for would be lost behind a pointer.
            if (named.is_const, named.is_volatile) != (target.is_const(), target.is_volatile()) {
                continue;
            }
            let meant = without_qualifiers(meant);
            let known = self.uses.meant.entry(named.name).or_insert(Some(meant));
            if *known != Some(meant) {
                *known = None;
            }
        }
    }

    /// What a name with template arguments stands for, `Image<float>::Pixel` or `Vector<3>`, as Clang says where something is of
    /// that type. It does not say so behind a pointer or a reference.
    pub(super) fn meant(&self, name: &str) -> Option<&'a str> {
        self.uses.meant.get(name).copied().flatten()
    }

    /// The instantiation of a class template that types spell like this, where no record has exactly that spelling.
    pub(super) fn instantiation(&self, spelling: &str) -> Option<NodeId> {
        if let Some(Some(record)) = self.uses.records.get(spelling) {
            return Some(*record);
        }
        let (base, arguments) = types::template_arguments(spelling)?;
        let arguments: Vec<String> = arguments.into_iter().map(|argument| self.evaluated(argument)).collect();
        let nodes = self.specializations(base).iter().filter_map(|id| self.get(*id)).map(|declared| declared.node);
        let mut fitting = nodes.filter(|node| {
            let own = self.template_arguments(node);
            own.len() >= arguments.len() && own.iter().zip(&arguments).all(|(own, used)| is_same_argument(own, used))
        });
        let first = fitting.next()?;
        // Several fit where arguments are left out. A record is plain data: those of the same fields are alike. One that is
        // only declared may be meant too.
        let is_certain = first.data.complete_definition && fitting.all(|other| fields(other) == fields(first));
        is_certain.then_some(first.id)
    }
}

/// The parameters of a template.
fn parameters(template: &Node) -> impl Iterator<Item = &Node> {
    template.inner.iter().filter(|node| {
        matches!(node.kind, Kind::TemplateTypeParmDecl | Kind::NonTypeTemplateParmDecl | Kind::TemplateTemplateParmDecl)
    })
}

/// A spelling without `const` and `volatile` of the outermost level.
fn without_qualifiers(spelling: &str) -> &str {
    if let Some((before, "const" | "volatile" | "")) = spelling.rsplit_once(['*', '&']) {
        return &spelling[..=before.len()];
    }
    spelling.trim_start_matches("const ").trim_start_matches("volatile ")
}

/// The name of the record that a type is, or points to.
fn record_name(spelled: Spelled) -> Option<String> {
    match spelled {
        Spelled::Named(named) => Some(named.name),
        Spelled::Pointer { pointee, .. } => record_name(*pointee),
        Spelled::Array { .. } | Spelled::Function { .. } => None,
    }
}

/// The base classes and fields of a record, as its declaration spells them.
pub(super) fn fields(node: &Node) -> Vec<(&str, &str)> {
    let bases = node.data.bases.iter().map(|base| ("", &*base.ty.0));
    bases.chain(node.children(Kind::FieldDecl).map(|field| (field.name(), field.ty()))).collect()
}

/// Whether an argument is a template whose name is not known.
pub(super) fn is_unnamed(argument: &str) -> bool {
    argument.starts_with(UNNAMED)
}

/// Whether a template argument of an instantiation is the one that a type spells: `3U` is `3`. Of a parameter whose type
/// is `auto`, `true` is -1.
pub(super) fn is_same_argument(own: &str, spelled: &str) -> bool {
    let (own, spelled) = (loosely(own), loosely(spelled));
    is_unnamed(&own)
        || own == spelled
        || spelled == "true" && matches!(&*own, "1" | "-1")
        || spelled == "false" && own == "0"
}

/// An argument without what Clang spells in several ways.
fn loosely(argument: &str) -> String {
    match argument {
        _ if argument.starts_with(|first: char| first.is_ascii_digit()) => {
            argument.trim_end_matches(['u', 'U', 'l', 'L']).to_owned()
        }
        // Clang leaves out the scopes that were left out in the text, and a function may be written with its `&`.
        _ => argument.rsplit("::").next().unwrap_or(argument).trim_start_matches('&').replace(' ', ""),
    }
}
