//! Text to stand after the user's program, in the same file: what modules have and the program has not.
//!
//! Several modules may share functions; each is printed once. A function that the program has but that cannot be called
//! by its name (an overload, a member, an instantiation) is printed as a copy.

use std::collections::{BTreeMap, BTreeSet};

use super::layout::Lines;
use super::names::{Names, namespace_of, split};
use super::scope::{Program, Scope};
use super::types::type_name;
use super::{Dialect, Kind, Sections, dialect, function, global, record, usage};
use crate::diagnostic::{Diagnostic, TAKEN_NAME};
use crate::ir::{Module, Name, Provided, ProvidedRecord, RecordId, Type};
use crate::source::Span;

/// Text to stand after the user's program.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Behind {
    /// All of it.
    pub text: String,
    /// Structs that stand for types of the program.
    pub copies: Vec<Copied>,
    /// What the program calls otherwise, and the module that needs it.
    clashes: Vec<(usize, Name)>,
}

/// Who else may have printed the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedWith {
    /// All that stands after the program is printed at once.
    Nobody,
    /// Texts that were printed at other times and are included with this one: what they have in common is defined by the
    /// first.
    Headers,
}

/// A struct that stands for a type of the program: the same fields in the same places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copied {
    /// Its name.
    pub name: Name,
    /// The program's type as the program spells it, if it can.
    pub original: Option<String>,
}

impl Behind {
    /// What is said about names that cannot be told apart from the program's own; `spans` are what asks for each of the
    /// modules.
    pub fn problems(&self, spans: &[Span]) -> Vec<Diagnostic> {
        let problem = |(module, name): &(usize, Name)| {
            let span = spans.get(*module).copied().unwrap_or_default();
            let message = format!("`{name}` of the derivative cannot be told apart from the program's own");
            let help = "rename what the program calls so; move a variable that is meant out of its class";
            Diagnostic::new(TAKEN_NAME, span, message, "the derivative of this needs it").help(help)
        };
        self.clashes.iter().map(problem).collect()
    }
}

/// Prints what modules have beyond the program, as CUDA. Functions get other names where different ones of the modules
/// have the same; which ones, the modules tell afterwards.
///
/// The modules must be valid, and come from the program.
pub fn emit_behind(modules: &mut [Module], provided: &Provided, shared_with: SharedWith) -> Behind {
    let mut printer =
        Printer { provided, printed: BTreeMap::new(), declared: BTreeSet::new(), behind: Behind::default(), module: 0 };
    let headers: BTreeSet<&str> = modules.iter().flat_map(usage::headers).collect();
    let mut text = Sections::default();
    for header in headers {
        text.begin(Kind::Header, "");
        text.lines.line(&format!("#include {header}"));
    }
    for (number, module) in modules.iter_mut().enumerate() {
        printer.module = number;
        printer.rename(module);
        // The last is what was asked for; what comes before, others may need as well.
        let last = module.functions.iter().last().map(|function| function.name.clone());
        for item in printer.items(module) {
            text.begin(item.kind, namespace_of(&item.name));
            let is_shared = shared_with == SharedWith::Headers && Some(&item.name) != last.as_ref();
            let is_definition = matches!(item.kind, Kind::Definition | Kind::Variable);
            if is_shared && is_definition {
                text.lines.lines(&guarded(&item));
            } else {
                text.lines.lines(&item.text);
            }
        }
    }
    printer.behind.text = text.finish();
    printer.behind
}

/// A definition that stands back if the same text was there before. Another text of the same name is an error of the
/// compiler's, not a silent choice.
fn guarded(item: &Item) -> String {
    // FNV-1a: the text must not depend on the machine or the day.
    let hash = item
        .text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let word = format!("COTANGENT_{}_{:08x}", item.name.replace("::", "_"), hash >> 32);
    format!("#ifndef {word}\n#define {word}\n{}#endif\n", item.text)
}

/// What is at the top level.
struct Item {
    name: Name,
    kind: Kind,
    text: String,
}

struct Printer<'p> {
    provided: &'p Provided,
    /// The text of every item so far, by its name.
    printed: BTreeMap<Name, String>,
    /// Records that are declared already.
    declared: BTreeSet<Name>,
    behind: Behind,
    /// The number of the module that is being printed.
    module: usize,
}

impl Printer<'_> {
    /// Gives copies of what the program has names that it has not.
    fn rename(&mut self, module: &mut Module) {
        for record in module.records.iter_mut() {
            if let Some(ProvidedRecord::Copied(original)) = self.provided.records.get(&record.name) {
                let name = self.free(&format!("{}_fields", record.name));
                let copied = Copied { name: name.clone(), original: original.clone() };
                if !self.behind.copies.contains(&copied) {
                    self.behind.copies.push(copied);
                }
                record.name = name;
            }
        }
        for function in module.functions.iter_mut() {
            if self.provided.unnamed.contains(&function.name) && self.provided.taken.contains(&function.name) {
                function.name = self.free(&format!("{}_primal", function.name));
            }
        }
    }

    /// The wanted name, or one like it, that the program does not use.
    fn free(&self, wanted: &str) -> Name {
        let mut name = wanted.to_owned();
        while self.provided.taken.contains(name.as_str()) {
            name.push('_');
        }
        name.into()
    }

    fn items(&mut self, module: &mut Module) -> Vec<Item> {
        let mut items = Vec::new();
        let program = program_of(module);
        for id in record::forward_declared(module) {
            let name = &module.records[id].name;
            let is_same = matches!(self.provided.records.get(name), Some(ProvidedRecord::Same(_)));
            if !is_same && self.declared.insert(name.clone()) {
                let text = lines(|lines| record::prototype(&program, lines, id));
                items.push(Item { name: name.clone(), kind: Kind::Declaration, text });
            }
        }
        for (id, record) in module.records.entries().filter(|(_, record)| !record.is_builtin) {
            items.extend(self.record(&program, id, &record.name));
        }
        for variable in module.globals.iter().filter(|variable| !self.provided.globals.contains(&variable.name)) {
            // A variable that code changes is the program's or none.
            if variable.storage != crate::ir::GlobalStorage::Constexpr {
                self.behind.clashes.push((self.module, variable.name.clone()));
                continue;
            }
            let text = lines(|lines| global::definition(&program, lines, variable));
            let text = format!("[[maybe_unused]] static {text}");
            items.extend(self.once(Item { name: variable.name.clone(), kind: Kind::Variable, text }));
        }
        let ids: Vec<_> = module.functions.ids().collect();
        for id in ids {
            if self.provided.functions.contains(&module.functions[id].name) {
                continue;
            }
            let printed = |module: &Module| lines(|lines| function::definition(&program_of(module), lines, id));
            let own_name = module.functions[id].name.clone();
            if self.provided.taken.contains(&own_name) {
                self.behind.clashes.push((self.module, own_name.clone()));
            }
            let mut number = 1;
            let mut text = printed(module);
            while self.printed.get(&module.functions[id].name).is_some_and(|known| *known != text) {
                module.functions[id].name = self.free(&format!("{own_name}_{number}"));
                number += 1;
                text = printed(module);
            }
            items.extend(self.once(Item { name: module.functions[id].name.clone(), kind: Kind::Definition, text }));
        }
        items
    }

    /// A record's definition, or another name for the program's.
    fn record(&mut self, program: &Program<'_>, id: RecordId, name: &Name) -> Option<Item> {
        let (kind, text) = match self.provided.records.get(name) {
            Some(ProvidedRecord::Same(spelling)) if **spelling == **name => return None,
            Some(ProvidedRecord::Same(spelling)) => {
                (Kind::Declaration, format!("using {} = ::{spelling};\n", split(name).1))
            }
            Some(ProvidedRecord::Copied(_)) | None => {
                let mut text = lines(|lines| record::definition(program, lines, id));
                let copied = self.behind.copies.iter().find(|copied| copied.name == *name);
                if let Some(original) = copied.and_then(|copied| copied.original.as_ref()) {
                    let own = split(name).1;
                    let size = format!("sizeof({own}) == sizeof(::{original})");
                    text.push_str(&format!("static_assert({size}, \"{own} stands for {original}\");\n"));
                }
                (Kind::Definition, text)
            }
        };
        self.once(Item { name: name.clone(), kind, text })
    }

    /// The item, unless it was printed already.
    fn once(&mut self, item: Item) -> Option<Item> {
        match self.printed.get(&item.name) {
            None => {
                self.printed.insert(item.name.clone(), item.text.clone());
                Some(item)
            }
            Some(known) => {
                if *known != item.text {
                    self.behind.clashes.push((self.module, item.name));
                }
                None
            }
        }
    }
}

/// What a function returns, as the program writes it in no namespace; nothing if it has no name for it.
pub fn result_type(module: &Module, provided: &Provided, ty: &Type) -> Option<String> {
    let Type::Record(id) = ty else {
        let program = program_of(module);
        return Some(type_name(&Scope::of_item(&program, ""), ty));
    };
    let record = &module.records[*id];
    match provided.records.get(&record.name) {
        Some(ProvidedRecord::Same(spelling)) => Some(format!("::{spelling}")),
        Some(ProvidedRecord::Copied(original)) => original.as_ref().map(|original| format!("::{original}")),
        None => record.is_builtin.then(|| record.name.to_string()),
    }
}

fn program_of(module: &Module) -> Program<'_> {
    Program {
        module,
        spellings: dialect::spellings(Dialect::Cuda),
        usages: usage::usages(module),
        names: Names::among_others(module),
        is_part_of_file: true,
    }
}

fn lines(print: impl FnOnce(&mut Lines)) -> String {
    let mut lines = Lines::default();
    print(&mut lines);
    lines.finish()
}
