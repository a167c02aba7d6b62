//! Text tests of passes that are not public: the files of `tests/texts`, one folder a pass.
//!
//! `tests/texts/file.rs` says what such a file looks like, and is the same for those of public passes.

use std::collections::{BTreeSet, HashSet};

#[path = "../../tests/texts/file.rs"]
mod file;

use self::file::{INSIDE, Options, Room, printed};
use super::gather::gather;
use super::normalize::{
    Inlining, address_taken, counted_loops, gather_shared, inline_calls, loops_without_numbers, masks_of_those_present,
    name_pointers, normal_form, pointers_to_indices, remove_jumps, results_of_runtime, split_records, stores_of_warps,
};
use super::simplify::simplify;
use super::sizes::slots;
use super::{AdjointParam, Trust};
use crate::ir;
use crate::ir::{Function, FunctionId, LocalId, Module, Stmt, StmtKind, order, text};

/// All rooms, each with its test below.
const ROOMS: &[Room] = &[
    room("addresses", addresses),
    room("counted", |module, options| changed(module, options, |_, function| counted_loops(function))),
    room("counters", |module, options| changed(module, options, loops_without_numbers)),
    room("gather", gathered),
    room("inline", inlined),
    room("jumps", |module, options| changed(module, options, remove_jumps)),
    room("lanes", |module, options| changed(module, options, masks_of_those_present)),
    room("pointers", |module, options| changed(module, options, pointers_to_indices)),
    room("records", |module, options| changed(module, options, split_records)),
    room("references", |module, options| changed(module, options, name_pointers)),
    room("runtime", |module, options| changed(module, options, results_of_runtime)),
    room("shared", |module, options| changed(module, options, |_, function| gather_shared(function))),
    room("simplify", |module, options| changed(module, options, |_, function| simplify(function))),
    room("sizes", sizes),
    room("warp_stores", |module, options| changed(module, options, stores_of_warps)),
];

const fn room(name: &'static str, run: fn(Module, &Options) -> Result<String, String>) -> Room {
    Room { name, options: &["function="], run }
}

/// A test for each room.
macro_rules! tests {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        /// The rooms that have a test.
        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

tests! { addresses_ counted counters gather_ inline jumps lanes pointers records references runtime shared simplify_ sizes_ warp_stores }

/// Runs all files of a room; what fails is shown together. A pass has the name of its room, so its test may end in `_`.
fn check(test: &str) {
    let name = test.trim_end_matches('_');
    let room = ROOMS.iter().find(|room| room.name == name).expect("the test is named for a room");
    let paths = file::files(name).expect("the room has a folder");
    assert!(!paths.is_empty(), "the room is empty");
    let mut failures = Vec::new();
    for path in paths {
        println!("{}", path.display());
        failures.extend(file::check(room, &path).err());
    }
    assert!(failures.is_empty(), "{} texts are not as expected\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn every_room_has_a_test() {
    let rooms: Vec<&str> = ROOMS.iter().map(|room| room.name).collect();
    let tested: Vec<&str> = TESTED.iter().map(|name| name.trim_end_matches('_')).collect();
    assert_eq!((rooms.as_slice(), tested.as_slice()), (INSIDE, INSIDE));
}

#[test]
fn what_is_misspelt_is_an_error() {
    assert_eq!(file::mistakes(&ROOMS[0]), Ok(()));
}

/// The function of an option; without one, the last of the module.
fn function(module: &Module, options: &Options) -> Result<FunctionId, String> {
    match options.get("function") {
        Some(name) => module.function(name).ok_or_else(|| format!("there is no function `{name}`")),
        None => module.functions.ids().last().ok_or_else(|| "there is no function".to_owned()),
    }
}

/// The module after a pass over one function. Locals are numbered anew, so that the text has no numbers.
fn changed(mut module: Module, options: &Options, pass: impl FnOnce(&Module, &mut Function)) -> Result<String, String> {
    let id = function(&module, options)?;
    let mut function = module.functions[id].clone();
    pass(&module, &mut function);
    let locals = std::mem::take(&mut function.locals);
    function.locals = order::declared_only(&mut function.params, locals, &mut function.body);
    module.functions[id] = function;
    printed(&module)
}

/// The caller after its callees have their normal form.
fn inlined(mut module: Module, options: &Options) -> Result<String, String> {
    let id = function(&module, options)?;
    let mut known = Inlining::new(HashSet::new());
    for callee in module.functions.ids().take_while(|callee| *callee != id).collect::<Vec<_>>() {
        let normal = normal_form(&module, callee, module.functions[callee].clone(), &mut known, Trust::default());
        module.functions[callee] = normal.map_err(|found| format!("{found:#?}"))?;
    }
    changed(module, options, |module, function| {
        inline_calls(module, &mut known, function);
        // Its stage does both: a function that is called twice has left its declarations twice.
        gather_shared(function);
    })
}

/// The variables whose addresses are kept.
fn addresses(module: Module, options: &Options) -> Result<String, String> {
    let function = &module.functions[function(&module, options)?];
    let names: BTreeSet<&str> = address_taken(function).into_iter().map(|local| function.local_name(local)).collect();
    let names: Vec<&str> = names.into_iter().collect();
    Ok(format!("kept: {}\n", if names.is_empty() { "none".to_owned() } else { names.join(", ") }))
}

/// The kernels that are launched in the place of one whose adjoints `d_x` are those of parameters `x`, and where they are.
fn gathered(mut module: Module, options: &Options) -> Result<String, String> {
    let id = function(&module, options)?;
    let kernel = module.functions[id].clone();
    let named = |name: &str| kernel.params.iter().copied().find(|param| kernel.local_name(*param) == name);
    let adjoint = |param: &LocalId| {
        let primal = named(kernel.local_name(*param).strip_prefix("d_")?)?;
        let (is_shared, is_anywhere, is_contended) = (true, false, false);
        Some(AdjointParam { adjoint: *param, primal, is_shared, is_anywhere, is_contended })
    };
    let adjoints: Vec<AdjointParam> = kernel.params.iter().filter_map(adjoint).collect();
    let Some(made) = gather(&mut module, id, &adjoints, &HashSet::new(), Trust::default()) else {
        return Ok("nothing is gathered\n".into());
    };
    let mut said = String::new();
    for part in &made.parts {
        said += &format!("{}\n", module.functions[*part].name);
    }
    let launcher = &module.functions[made.launcher];
    if let Some(StmtKind::If { cond, .. }) = launcher.body.last().map(|stmt| &stmt.kind) {
        said += &text::print_stmt(&module, launcher, &Stmt::new(StmtKind::Return(Some(cond.clone()))));
    }
    Ok(said)
}

/// The formula in the place of a kernel that counts.
fn sizes(module: Module, options: &Options) -> Result<String, String> {
    let function = &module.functions[function(&module, options)?];
    let formula = slots(&module, function).map(|slots| Stmt::new(StmtKind::Return(Some(slots))));
    Ok(formula.map_or("counted\n".to_owned(), |formula| text::print_stmt(&module, function, &formula)))
}
