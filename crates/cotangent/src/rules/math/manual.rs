//! The manual's page of functions, printed from the table so that it cannot be wrong.

use std::fmt::Write;

use super::table::{Class, Entry, TABLE};

/// The page, in Markdown.
pub fn page() -> String {
    let mut page = String::from(
        "# Functions\n\n\
         The functions of CUDA that a program may call, and their derivatives. `y` is the function's own result. This \
         page is printed by `cargo xtask docs` from the table that the compiler uses \
         (`crates/cotangent/src/rules/math/table.rs`); change it there.\n\n\
         Derivatives are computed in the precision of the call. Those of a fast approximation (`__sinf`) are made of \
         fast approximations where there are such. Rounding modes (`_rn`, `_rz`, `_ru`, `_rd`) have no influence on \
         derivatives. At a kink or a jump, where there is no derivative, the one that is given is a convention; the \
         last column says which. `pi`, `ln2`, `log2e` and their like are constants. Formulas are as C++ has them, so a comparison with NaN does not hold.\n\n\
         Derivatives of functions of half precision (`hsin`) are computed in `float`. Functions on pairs (`__hfma2`, \
         `h2sin`) are read as those on their numbers, and those that an operator or a conversion spells too (`__hadd`, \
         `__float2half`) as that.\n\n\
         `sincos`, `sincospi` and `modf` are read as the functions that give their results.\n",
    );
    for (title, entries) in TABLE {
        let _ = write!(page, "\n## {title}\n\n");
        match entries[0].class {
            Class::Derivative(..) => page += "| function | derivatives | remark |\n| --- | --- | --- |\n",
            Class::Inactive | Class::Refused(_) => page += "| function | why |\n| --- | --- |\n",
        }
        for entry in *entries {
            let _ = match entry.class {
                Class::Derivative(parameters, partials) => {
                    writeln!(page, "| {} | {} | {} |", names(entry, parameters), formulas(entry, partials), entry.note)
                }
                Class::Inactive => writeln!(page, "| {} | {} |", names(entry, ""), entry.note),
                Class::Refused(reason) => writeln!(page, "| {} | {reason} |", names(entry, "")),
            };
        }
    }
    page
}

/// The names, the first with its parameters.
fn names(entry: &Entry, parameters: &str) -> String {
    let plain = [entry.name, entry.f32, entry.fast].into_iter().chain(entry.also.iter().copied());
    let mut names: Vec<String> = plain.filter(|name| !name.is_empty()).map(str::to_owned).collect();
    names.extend(entry.rounded.iter().chain(entry.rounded_f32).map(|name| format!("{name}_r…")));
    names.extend(entry.half.iter().map(|name| (*name).to_owned()));
    let rounded_half = entry.rounded_half.iter();
    names.extend(rounded_half.flat_map(|name| ["half", "bfloat16"].map(|ty| format!("{}_r…", name.replace('#', ty)))));
    if !parameters.is_empty()
        && let Some(first) = names.first_mut()
    {
        *first = format!("{first}({parameters})");
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// The derivative in each argument that is no integer.
fn formulas(entry: &Entry, partials: &[&str]) -> String {
    let arguments = entry.parameters().into_iter().zip(partials).filter(|((_, is_integer), _)| !is_integer);
    let formulas: Vec<String> =
        arguments.map(|((name, _), formula)| format!("∂/∂{name}: `{}`", formula.replace('|', "\\|"))).collect();
    formulas.join("<br>")
}
