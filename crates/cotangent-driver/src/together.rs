//! Programs of several files: the others are read after the first, as if it included them at its end.

use std::path::Path;

use cotangent::clang::changed_declaration;
use cotangent::diagnostic::{Diagnostic, OTHER_MEANING};

use crate::error::DriverError;
use crate::flags::ParseFlags;
use crate::parse::Pass;
use crate::reading::{Failure, Input, Passes, check_readable, read_pass_alone};
use crate::source_text::source_text;
use crate::tools::Tools;

/// The text of a program's first file with its other files after it; none if it has no others.
pub(crate) fn text_with_others(file: &Path, flags: &ParseFlags) -> Result<Option<String>, DriverError> {
    if flags.others.is_empty() {
        return Ok(None);
    }
    let mut text = source_text(file).map_err(DriverError::file("read", file))?.text;
    for other in &flags.others {
        check_readable(other)?;
        let path = std::path::absolute(other).map_err(DriverError::file("find", other))?;
        text += &format!("\n#include \"{}\"", path.display());
    }
    Ok(Some(text + "\n"))
}

/// Refuses a program one of whose other files means something else after those before it.
pub(crate) fn check_others(tools: &Tools, input: &Input<'_>, passes: &Passes) -> Result<(), Failure> {
    let flags = ParseFlags { others: Vec::new(), ..input.flags.clone() };
    for other in &input.flags.others {
        let file = std::path::absolute(other).map_err(DriverError::file("find", other))?;
        let alone = Input { file: &file, flags: &flags, ..input.clone() };
        for (pass, together) in [(Pass::Host, &passes.host), (Pass::Device, &passes.device)] {
            let ast = read_pass_alone(tools, &alone, pass)?;
            if let Some(span) = changed_declaration(&ast, together) {
                let message = "this means something else after the files that are named before it";
                let found =
                    Diagnostic::new(OTHER_MEANING, span, message, "not the same as when its file is read alone").help(
                        "look for macros, `using namespace` and overloads of the other files, or name this file first",
                    );
                return Err(Failure::refused(&[found], &ast.sources, input.colour));
            }
        }
    }
    Ok(())
}
