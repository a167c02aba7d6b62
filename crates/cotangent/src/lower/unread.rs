//! Functions with a rule whose bodies lowering cannot read: inline assembly, textures, libraries, recursion, bodies in other
//! files.
//!
//! What has a rule need not be understood: derivatives call what the rule names, and the function itself by its name. Of its
//! body they must know what it may change, and whether threads meet in it. What it may change is told by its parameters
//! (`Unread::Body`), and by the variables that it mentions; that it changes nothing else is what stating a rule promises.

use std::collections::{HashMap, HashSet};

use super::body::Body;
use super::context::{Context, Lowered, Pass, Problem, Progress};
use super::declarations::Declared;
use crate::clang::{Kind, Node, NodeId, is_not_system};
use crate::ir::{
    Expr, Function, FunctionId, Global, GlobalStorage, Name, OpaqueArg, Place, PlaceKind, Space, Stmt, StmtKind, Unread,
};

/// Words in the names of functions, and in assembly, at which threads wait for each other or order what they write.
const MEETINGS: &[&str] = &["sync", "barrier", "bar.", "fence", "membar", "arrive", "wait"];

/// What is in the path of the headers that we ship, which printed texts have as well.
const OUR_HEADERS: &str = "/headers-";

/// What lowering had done before it came to a function that it may not be able to read.
pub(super) struct Before {
    problems: usize,
    functions: usize,
    known: HashMap<(Pass, NodeId), Progress>,
    taken: HashSet<Name>,
}

impl<'a> Context<'a> {
    /// Notes which functions the program states rules about: those need not be read.
    pub(super) fn note_rules(&mut self) {
        for registration in self.device.registrations.clone() {
            self.ruled.extend(registration.functions.iter().map(|id| self.device.definition(*id).unwrap_or(*id)));
        }
    }

    /// The declaration by which a function is known that has a rule, or is named by one.
    pub(super) fn with_rule(&self, pass: Pass, id: NodeId) -> Option<NodeId> {
        if pass != Pass::Device {
            return None;
        }
        if let Some(definition) = self.device.definition(id) {
            return self.ruled.contains(&definition).then_some(definition);
        }
        let linker_name = |id: NodeId| self.device.get(id)?.node.data.mangled_name.as_deref();
        let name = linker_name(id)?;
        self.ruled.iter().copied().find(|ruled| linker_name(*ruled) == Some(name))
    }

    /// What to go back to if a function cannot be read; nothing if it must be.
    pub(super) fn may_stay_unread(&self, pass: Pass, id: NodeId) -> Option<Before> {
        let is_ruled = pass == Pass::Device && self.ruled.contains(&id) && !self.asked.contains(&id);
        is_ruled.then(|| Before {
            problems: self.problems(),
            functions: self.module.functions.len(),
            known: self.functions.clone(),
            taken: self.taken.clone(),
        })
    }

    /// The function without its body, in the place of what could not be lowered; else what the problem was.
    pub(super) fn unread_function(&mut self, id: NodeId, before: Before, problem: Problem) -> Lowered<FunctionId> {
        let declared = self.device.get(id).filter(|declared| declared.node.kind == Kind::FunctionDecl);
        let Some(declared) = declared else { return Err(problem) };
        self.forget_problems(before.problems);
        self.forget_functions(before.functions);
        self.functions = before.known;
        let records = self.module.records.iter().map(|record| &record.name);
        let globals = self.module.globals.iter().map(|global| &global.name);
        self.taken = before.taken.iter().chain(records).chain(globals).cloned().collect();
        let scope = self.device.scope(declared).spelling.clone();
        let outer = std::mem::replace(&mut self.scope, scope);
        let made = self.unread_in_scope(declared);
        self.scope = outer;
        made
    }

    fn unread_in_scope(&mut self, declared: Declared<'a>) -> Lowered<FunctionId> {
        let node = declared.node;
        let name = self.function_name(Pass::Device, declared)?;
        let mentioned = self.mentioned(node);
        let mut body = Body::new(self, Pass::Device, node.span);
        let params = body.parameters(declared, None)?;
        let result = body.result_type(node)?;
        let mut args = Vec::new();
        for param in &params {
            args.push(OpaqueArg::Value(Expr::load(Place::local(*param, body.locals[*param].ty.clone()))));
        }
        for (id, at) in mentioned.variables {
            let global = body.global(id, at)?;
            let Global { ty, storage, .. } = &body.context.module.globals[global];
            let place = Place::new(PlaceKind::Global(global), ty.clone());
            args.push(match storage {
                GlobalStorage::Constant | GlobalStorage::Constexpr => OpaqueArg::Value(Expr::address_of(place)),
                GlobalStorage::Device | GlobalStorage::Managed | GlobalStorage::Host => OpaqueArg::Variable(place),
            });
        }
        let locals = body.locals;
        let names_kept = params.iter().map(|param| &*locals[*param].name).eq(names_of_parameters(node));
        let spelling = self.spelling(declared);
        let is_template = !self.device.template_arguments(node).is_empty();
        let own_text = node.child(Kind::CompoundStmt).and_then(|body| self.device.text(body.span));
        let text = match own_text {
            // The text of a template is not that of an instantiation.
            _ if is_template => {
                let names: Vec<&str> = params.iter().map(|param| &*locals[*param].name).collect();
                format!("{{\n  return {spelling}({});\n}}", names.join(", "))
            }
            Some(text) if mentioned.is_alone && names_kept && text.starts_with('{') => text.to_owned(),
            Some(_) | None => String::new(),
        };
        args.insert(0, OpaqueArg::Text(text.into()));
        let code = Unread::Body { spelling: spelling.into(), meets: mentioned.meets || own_text.is_none() };
        let stmt = Stmt::new(StmtKind::Opaque { code, args, into: None }).at(node.span);
        let (body, span) = (vec![stmt], node.span);
        let space = Space::Device;
        Ok(self.add(Function {
            name,
            space,
            params,
            result,
            locals,
            body,
            launch_bounds: None,
            is_extern_c: false,
            span,
            note: None,
        }))
    }

    /// How the program calls the function, from outside of all namespaces.
    fn spelling(&self, declared: Declared<'a>) -> String {
        let arguments = self.device.template_arguments(declared.node);
        let arguments = if arguments.is_empty() { String::new() } else { format!("<{}>", arguments.join(", ")) };
        let scope = self.device.scope(declared).namespaces.clone();
        format!("::{scope}{}{arguments}", declared.node.name())
    }

    /// What a function mentions, itself and by what it calls.
    fn mentioned(&self, node: &'a Node) -> Mentioned<'a> {
        let mut found = Mentioned { function: node.id, variables: Vec::new(), is_alone: true, meets: false };
        let mut seen = HashSet::from([node.id]);
        let mut open = vec![node];
        while let Some(function) = open.pop() {
            let Some(body) = function.child(Kind::CompoundStmt) else { continue };
            self.mentions_of(body, &mut found, &mut |id, callee: &'a Node| {
                if seen.insert(id) {
                    open.push(callee);
                }
            });
        }
        found
    }

    fn mentions_of(&self, node: &'a Node, found: &mut Mentioned<'a>, call: &mut dyn FnMut(NodeId, &'a Node)) {
        let is_own = |id: NodeId| {
            let declared = self.device.get(id).filter(|_| !self.device.is_local(id))?;
            let file = self.device.file_name(declared.node.span);
            (is_not_system(file) && !file.contains(OUR_HEADERS)).then_some(declared)
        };
        if node.spelling.is_some() {
            found.is_alone = false;
        }
        if node.kind == Kind::GCCAsmStmt {
            let text = self.device.text(node.span).unwrap_or("sync");
            found.meets |= MEETINGS.iter().any(|word| text.contains(word));
        }
        if let Some(reference) = &node.data.referenced_decl {
            let name = reference.name.as_deref().unwrap_or_default();
            let is_function = reference.kind != Kind::VarDecl && reference.kind != Kind::ParmVarDecl;
            found.meets |= is_function && MEETINGS.iter().any(|word| name.contains(word));
            let is_itself = self.device.definition(reference.id) == Some(found.function);
            if let Some(declared) = is_own(reference.id).filter(|_| !is_itself) {
                if declared.node.kind == Kind::VarDecl && !found.variables.iter().any(|(id, _)| *id == reference.id) {
                    found.variables.push((reference.id, node));
                }
                found.is_alone &= declared.node.kind == Kind::ParmVarDecl;
            }
            if let Some(definition) = self.device.definition(reference.id).and_then(|id| self.device.get(id)) {
                call(definition.node.id, definition.node);
            }
        }
        if let Some(member) = node.data.referenced_member_decl {
            found.is_alone &= is_own(member).is_none();
            if let Some(definition) = self.device.definition(member).and_then(|id| self.device.get(id)) {
                found.meets |= MEETINGS.iter().any(|word| definition.node.name().contains(word));
                call(definition.node.id, definition.node);
            }
        }
        node.inner.iter().for_each(|inner| self.mentions_of(inner, found, call));
    }
}

/// What a function mentions, itself and by what it calls.
struct Mentioned<'a> {
    /// The function.
    function: NodeId,
    /// Variables outside functions, and where.
    variables: Vec<(NodeId, &'a Node)>,
    /// Whether its text needs nothing that only the program has.
    is_alone: bool,
    /// Whether threads may wait for each other.
    meets: bool,
}

fn names_of_parameters(node: &Node) -> impl Iterator<Item = &str> {
    node.children(Kind::ParmVarDecl).map(Node::name)
}
