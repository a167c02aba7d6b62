//! Functions: their names, parameters and bodies.

use std::collections::HashSet;

use super::arguments::is_unnamed;
use super::body::{Binding, Body};
use super::context::{Capture, Context, Lowered, Pass, Problem, Progress, broken, problem, problem_with_help};
use super::declarations::Declared;
use super::names::{identifier, is_reserved, operator_word, word_for};
use crate::clang::types::{Spelled, parse};
use crate::clang::{Kind, Node, NodeId};
use crate::diagnostic;
use crate::index::IdVec;
use crate::ir::{Block, Expr, Function, FunctionId, LaunchBounds, Local, LocalId, Name, Place, Space, Storage, Type};
use crate::source::Span;

/// How deeply calls may nest while lowering; deeper is recursion that was not seen, or machine-made code.
const MAX_CALL_DEPTH: usize = 200;

impl<'a> Context<'a> {
    /// The module's function for a declaration, lowered on first use.
    pub(super) fn function(&mut self, pass: Pass, id: NodeId, call: Span) -> Lowered<FunctionId> {
        let definition = self.declarations(pass).definition(id).or_else(|| self.with_rule(pass, id));
        let Some(definition) = definition else {
            let name = self.declarations(pass).get(id).map_or("?", |declared| declared.node.name()).to_owned();
            return problem_with_help(
                diagnostic::NO_BODY,
                call,
                format!("the body of `{name}` is not in this translation unit"),
                "called here",
                "include the file that defines it",
            );
        };
        match self.functions.get(&(pass, definition)) {
            Some(Progress::Done(function)) => return Ok(*function),
            Some(Progress::Running) => {
                let name =
                    self.declarations(pass).get(definition).map_or("?", |declared| declared.node.name()).to_owned();
                return problem_with_help(
                    diagnostic::RECURSION,
                    call,
                    format!("`{name}` calls itself"),
                    "this call closes the circle",
                    "write the recursion as a loop",
                );
            }
            Some(Progress::Failed) => return Err(Problem::Reported),
            None => {}
        }
        let running = self.functions.values().filter(|progress| **progress == Progress::Running).count();
        if running > MAX_CALL_DEPTH {
            return problem(diagnostic::TOO_DEEP, call, "calls nest too deeply", "at this call");
        }
        let before = self.may_stay_unread(pass, definition);
        self.functions.insert((pass, definition), Progress::Running);
        let lowered = self.lower_function(pass, definition);
        let lowered = match (lowered, before) {
            (Err(problem), Some(before)) => self.unread_function(definition, before, problem),
            (lowered, _) => lowered,
        };
        let result = lowered.map_err(|problem| {
            self.report(problem);
            Problem::Reported
        });
        let progress = result.as_ref().map_or(Progress::Failed, |function| Progress::Done(*function));
        self.functions.insert((pass, definition), progress);
        result
    }

    fn lower_function(&mut self, pass: Pass, id: NodeId) -> Lowered<FunctionId> {
        let Some(declared) = self.declarations(pass).get(id) else {
            return broken(Span::NONE, "a function that it does not declare");
        };
        let scope = self.declarations(pass).scope(declared).spelling.clone();
        let outer = std::mem::replace(&mut self.scope, scope);
        let result = self.lower_in_scope(pass, id, declared);
        self.scope = outer;
        result
    }

    fn lower_in_scope(&mut self, pass: Pass, id: NodeId, declared: Declared<'a>) -> Lowered<FunctionId> {
        let node = declared.node;
        let captures = self.captures.get(&(pass, id)).cloned();
        let name = self.function_name(pass, declared)?;
        let mut body = Body::new(self, pass, node.span);
        let params = body.parameters(declared, captures.as_deref())?;
        body.result = body.result_type(node)?;
        let result = body.result.clone();
        body.lower_body(declared)?;
        let (params, locals, statements) = body.finish(params);
        let space = match pass {
            _ if node.has(Kind::CUDAGlobalAttr) => Space::Kernel,
            Pass::Device => Space::Device,
            Pass::Host => Space::Host,
        };
        let launch_bounds = node.child(Kind::CUDALaunchBoundsAttr).and_then(launch_bounds);
        // What C++ mangles, it marks; `main` is never mangled.
        let is_extern_c = node.data.mangled_name.as_deref() == Some(node.name())
            && name.rsplit("::").next() == Some(node.name())
            && node.name() != "main";
        let (body, span) = (statements, node.span);
        Ok(self.add(Function {
            name,
            space,
            params,
            result,
            locals,
            body,
            launch_bounds,
            is_extern_c,
            span,
            note: None,
        }))
    }

    /// The name in the output: with namespaces, the class of a member, and an instantiation's arguments.
    pub(super) fn function_name(&mut self, pass: Pass, declared: Declared<'a>) -> Lowered<Name> {
        let node = declared.node;
        let namespaces = self.declarations(pass).scope(declared).namespaces.clone();
        let mut base = match node.kind {
            Kind::CXXConstructorDecl => "init".to_owned(),
            _ => operator_word(node.name()).unwrap_or_else(|| identifier(node.name())),
        };
        let is_free_operator = declared.record.is_none() && node.name().starts_with("operator");
        if let Some(record) = declared.record {
            let record = self.record(pass, record, node.span)?;
            let record = &self.module.records[record].name;
            let short = record.rsplit("::").next().unwrap_or(record);
            base = format!("{short}_{base}");
        }
        let arguments = self.declarations(pass).template_arguments(node);
        for argument in arguments.iter().filter(|argument| !is_unnamed(argument)) {
            base = format!("{base}_{}", word_for(argument));
        }
        let wanted = format!("{namespaces}{base}");
        let is_taken = self.taken.contains(wanted.as_str()) || is_reserved(&base);
        if is_free_operator || is_taken {
            // An overload: its parameters tell it apart.
            let params: Vec<String> = node.children(Kind::ParmVarDecl).map(|param| word_for(param.ty())).collect();
            return Ok(self.claim(&format!("{wanted}_{}", params.join("_"))));
        }
        Ok(self.claim(&wanted))
    }
}

impl<'a> Body<'_, 'a> {
    /// Makes the parameters; a member's first is `self`.
    pub(super) fn parameters(&mut self, declared: Declared<'a>, captures: Option<&[Capture]>) -> Lowered<Vec<LocalId>> {
        let node = declared.node;
        let mut params = Vec::new();
        let is_member = node.kind != Kind::FunctionDecl && node.data.storage_class.as_deref() != Some("static");
        if let Some(record) = declared.record.filter(|_| is_member) {
            let record = self.context.record(self.pass, record, node.span)?;
            let mut ty = Type::reference(Type::Record(record));
            if let Type::Pointer(pointer) = &mut ty {
                pointer.is_const = is_const_member(node.ty());
            }
            let local = self.new_local("self", ty, Storage::Private, node.span);
            let object = Place::deref(Expr::load(self.local_place(local)));
            if let Some(captures) = captures {
                self.bind_captures(&object, captures)?;
            } else {
                self.this = Some(object);
            }
            params.push(local);
        }
        for param in node.children(Kind::ParmVarDecl) {
            if self.context.is_vector_parameter(self.pass, param) {
                params.extend(self.vector_parameters(param)?);
                continue;
            }
            let ty = self.context.node_type(self.pass, param)?;
            let name = if param.name().is_empty() { "unused" } else { param.name() };
            let local = self.new_local(name, ty, Storage::Private, param.span);
            self.bindings.insert(param.id, Binding::Local(local));
            params.push(local);
        }
        Ok(params)
    }

    pub(super) fn result_type(&mut self, node: &Node) -> Lowered<Type> {
        if node.kind == Kind::CXXConstructorDecl {
            return Ok(Type::Void);
        }
        match parse(node.ty()) {
            Some(Spelled::Function { result, .. }) => match &*result {
                // `auto f() -> decltype(…)`: what it returns has the type.
                Spelled::Named(named) if named.name == "auto" => match returned(node) {
                    Some(value) => self.context.node_type(self.pass, value),
                    None => Ok(Type::Void),
                },
                _ => self.context.spelled_type(self.pass, &result, node.span),
            },
            _ => broken(node.span, "a function whose type is none"),
        }
    }

    fn lower_body(&mut self, declared: Declared<'a>) -> Lowered<()> {
        let node = declared.node;
        if node.kind == Kind::CXXConstructorDecl {
            self.initializers(declared)?;
        }
        let Some(body) = node.child(Kind::CompoundStmt) else { return broken(node.span, "a function without a body") };
        let before = self.context.problems();
        self.scope(|lowering| lowering.statements(&body.inner));
        if self.context.problems() > before {
            return Err(Problem::Reported);
        }
        Ok(())
    }

    fn finish(mut self, mut params: Vec<LocalId>) -> (Vec<LocalId>, IdVec<LocalId, Local>, Block) {
        let mut statements = std::mem::take(&mut self.prologue);
        statements.append(&mut self.block);
        let mut locals = crate::ir::order::declared_only(&mut params, self.locals, &mut statements);
        name_temporaries(&mut locals);
        super::names_in_use::keep_clear(&mut locals, &statements, &self.context.module);
        (params, locals, statements)
    }
}

/// The first value that a function returns.
fn returned(node: &Node) -> Option<&Node> {
    match node.kind {
        Kind::ReturnStmt => node.inner.first(),
        Kind::LambdaExpr => None,
        _ => node.inner.iter().find_map(returned),
    }
}

/// Names the locals without a name, in the order of their declaration.
fn name_temporaries(locals: &mut IdVec<LocalId, Local>) {
    let taken: HashSet<Name> = locals.iter().map(|local| local.name.clone()).collect();
    let mut names = (1u32..).map(|number| Name::from(format!("_t{number}"))).filter(|name| !taken.contains(name));
    for local in locals.iter_mut().filter(|local| local.name.is_empty()) {
        local.name = names.next().unwrap_or_else(|| "_t".into());
    }
}

/// `__launch_bounds__(threads, blocks)`.
fn launch_bounds(attribute: &Node) -> Option<LaunchBounds> {
    let mut values = attribute.inner.iter().filter_map(super::constant::constant_value);
    let max_threads = u32::try_from(values.next()?).ok()?;
    let min_blocks = values.next().and_then(|blocks| u32::try_from(blocks).ok()).filter(|blocks| *blocks > 0);
    Some(LaunchBounds { max_threads, min_blocks })
}

/// Whether a member function's type ends in `const`.
fn is_const_member(ty: &str) -> bool {
    ty.rsplit(')').next().is_some_and(|qualifiers| qualifiers.split_whitespace().any(|word| word == "const"))
}
