//! Functions: signatures, prototypes, bodies, and on the CPU the launchers of kernels.

use super::dialect::{Coordinates, LaunchStyle};
use super::layout::{Lines, comma_separated, unmarked};
use super::names::split;
use super::scope::{Program, Scope};
use super::stmt::block;
use super::types::{declaration, type_name};
use crate::ir::{Function, FunctionId, Space, UnreadBody};

/// The definition of a function; for a kernel on the CPU its launcher too.
pub(super) fn definition(program: &Program<'_>, lines: &mut Lines, id: FunctionId) {
    let function = &program.module.functions[id];
    let scope = Scope::of_function(program, function);
    if let Some(unread) = function.unread_body() {
        return unread_definition(&scope, lines, id, unread);
    }
    if let Some(note) = &function.note {
        lines.line(&format!("// {note}"));
    }
    lines.line(&format!("{} {{", signature(&scope, id)));
    lines.indent();
    block(&scope, lines, &function.body);
    lines.dedent();
    lines.line("}");
    if let Some(launcher) = launcher(&scope, id) {
        lines.blank();
        lines.line(&format!("{} {{", launcher.signature));
        lines.indent();
        launcher.body.iter().for_each(|line| lines.line(line));
        lines.dedent();
        lines.line("}");
    }
}

/// The definition of a function whose body is not read: its own text, or on the CPU a call of what the program has.
fn unread_definition(scope: &Scope<'_>, lines: &mut Lines, id: FunctionId, unread: UnreadBody<'_>) {
    let function = &scope.program.module.functions[id];
    // In the program's own file, what is not printed by its name is called by it.
    let has_program = scope.program.is_part_of_file && unread.text.is_empty();
    let calls = has_program || scope.program.spellings.coordinates != Coordinates::Variables;
    if !calls && !unread.text.is_empty() {
        lines.lines(&format!("{} {}\n", unmarked(&signature(scope, id)), unread.text));
        return;
    }
    if !calls {
        lines.line(&format!("{};", signature(scope, id)));
        return;
    }
    let names: Vec<String> = function.params.iter().map(|param| scope.local(*param).name.to_string()).collect();
    lines.line(&format!("{} {{", signature(scope, id)));
    lines.indent();
    lines.line(&format!("return {}({});", unread.spelling, comma_separated(&names)));
    lines.dedent();
    lines.line("}");
}

/// The declaration of a function that is used before its definition.
pub(super) fn prototype(program: &Program<'_>, lines: &mut Lines, id: FunctionId) {
    let scope = Scope::of_function(program, &program.module.functions[id]);
    lines.line(&format!("{};", signature(&scope, id)));
    if let Some(launcher) = launcher(&scope, id) {
        lines.line(&format!("{};", launcher.signature));
    }
}

/// In a part of a program: the objects that register its kernels under their names, with their launchers.
pub(super) fn registrations(program: &Program<'_>) -> Vec<String> {
    let Some(part) = program.spellings.part else { return Vec::new() };
    let kernels = program.module.functions.entries().filter(|(_, function)| function.space == Space::Kernel);
    kernels
        .enumerate()
        .map(|(number, (id, function))| {
            let launcher = program.launcher_name(id);
            format!("static {} _cotangent_printed_{number}(\"{}\", {launcher});", part.kernel, function.name)
        })
        .collect()
}

fn signature(scope: &Scope<'_>, id: FunctionId) -> String {
    let function = &scope.program.module.functions[id];
    let spellings = scope.program.spellings;
    let space = match function.space {
        Space::Kernel => spellings.kernel,
        Space::Device => spellings.device,
        Space::Host => spellings.host,
    };
    let bounds = if spellings.has_launch_bounds { launch_bounds(function) } else { String::new() };
    let mut params = parameters(scope, function);
    if let Coordinates::Parameter(ty) = spellings.coordinates
        && scope.program.usages[id].uses_coordinates
    {
        params.insert(0, format!("{ty} {}", scope.thread));
    }
    let (_, name) = split(&function.name);
    let result = type_name(scope, &function.result);
    let linkage = match (scope.program.is_part_of_file, function.is_extern_c) {
        (true, _) => "[[maybe_unused]] static ",
        (false, true) => spellings.c_linkage,
        (false, false) => "",
    };
    format!("{linkage}{space}{result} {bounds}{name}({})", comma_separated(&params))
}

fn parameters(scope: &Scope<'_>, function: &Function) -> Vec<String> {
    let parameter = |local| {
        let variable = scope.local(local);
        declaration(scope, &variable.ty, &variable.name)
    };
    function.params.iter().copied().map(parameter).collect()
}

fn launch_bounds(function: &Function) -> String {
    let Some(bounds) = function.launch_bounds else { return String::new() };
    let min_blocks = bounds.min_blocks.map(|blocks| format!(", {blocks}")).unwrap_or_default();
    format!("__launch_bounds__({}{min_blocks}) ", bounds.max_threads)
}

struct Launcher {
    signature: String,
    body: [String; 2],
}

/// A host function that runs a kernel over a grid, for the host code of the module and of its user.
fn launcher(scope: &Scope<'_>, id: FunctionId) -> Option<Launcher> {
    let LaunchStyle::Launcher { plain_loop, coroutines } = scope.program.spellings.launch else { return None };
    let Coordinates::Parameter(thread_type) = scope.program.spellings.coordinates else { return None };
    let function = &scope.program.module.functions[id];
    if function.space != Space::Kernel {
        return None;
    }
    let usage = scope.program.usages[id];
    let names: Vec<&str> = function.params.iter().map(|param| &*scope.local(*param).name).collect();
    let taken = [names.as_slice(), &[split(&function.name).1]].concat();
    let [grid, block, shared, stream, run] =
        ["grid", "block", "shared", "stream", "run"].map(|name| unused(name, &taken));
    let mut params = vec![
        format!("dim3 {grid}"),
        format!("dim3 {block}"),
        format!("size_t {shared}"),
        format!("cudaStream_t {stream}"),
    ];
    params.extend(parameters(scope, function));

    let launcher_name = scope.program.launcher_name(id);
    let kernel = scope.function_name(id);
    let call = if usage.uses_coordinates {
        format!("{thread_type} {0}, auto... args) {{ {kernel}({0}, args...); }}", scope.thread)
    } else {
        format!("{thread_type}, auto... args) {{ {kernel}(args...); }}")
    };
    let launch = if usage.waits { coroutines } else { plain_loop };
    let configuration = [run.clone(), grid, block, shared, stream];
    let arguments: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    Some(Launcher {
        signature: format!("inline void {}({})", split(&launcher_name).1, comma_separated(&params)),
        body: [
            format!("auto {run} = []({call};"),
            format!("{launch}({})({});", comma_separated(&configuration), comma_separated(&arguments)),
        ],
    })
}

fn unused(wanted: &str, taken: &[&str]) -> String {
    let mut name = wanted.to_owned();
    while taken.contains(&name.as_str()) {
        name.push('_');
    }
    name
}
