//! What Cotangent prints, got in this process: the gradients that take part in the race.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use cotangent_driver::Tools;
use cotangent_driver::derivative::{Extent, Mode, Wanted, print_derivative};
use cotangent_driver::flags::ParseFlags;
use cotangent_driver::program::Input;

/// A gradient as printed.
pub(super) struct Printed {
    pub(super) text: String,
    /// The function that is called; which parameters are active may be part of its name.
    pub(super) name: String,
}

/// Which form of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shape<'a> {
    /// What `--rollback` names.
    pub(super) rolled_back: Option<&'a str>,
    /// `--split`: two functions with a record between them.
    pub(super) is_split: bool,
    /// To be included after the function, instead of with all that it needs.
    pub(super) is_header: bool,
}

/// The gradient of a function of a file; none named means all parameters that have one.
pub(super) fn gradient(tools: &Tools, file: &Path, function: &str, wrt: &[&str], shape: Shape<'_>) -> Result<Printed> {
    let flags = ParseFlags::default();
    let input = Input { file, flags: &flags, cuda_path: None, colour: false };
    let wrt: Vec<String> = wrt.iter().map(|&name| name.to_owned()).collect();
    let rolled_back: Vec<String> = shape.rolled_back.iter().map(|&name| name.to_owned()).collect();
    let wanted = Wanted {
        rolled_back: &rolled_back,
        split: shape.is_split.then_some(&[]),
        ..Wanted::new(function, (!wrt.is_empty()).then_some(&wrt))
    };
    let extent = if shape.is_header { Extent::Header } else { Extent::Standalone };
    let printed = print_derivative(tools, &input, &wanted, Mode::Reverse, extent, None);
    let text = printed.map_err(|failure| anyhow!("{}: {failure}", file.display()))?.text;
    let marker = if shape.is_split { "_reverse" } else { "_grad" };
    let name = defined(&text, &format!("{function}{marker}"));
    let name = name.with_context(|| format!("no function `{function}{marker}` is printed for {}", file.display()))?;
    Ok(Printed { text, name })
}

/// The first name in a text that begins with this, has digits at most behind it, and is followed by a parameter list.
fn defined(text: &str, beginning: &str) -> Option<String> {
    text.match_indices(beginning).find_map(|(at, _)| {
        let rest = &text[at + beginning.len()..];
        let suffix: String = rest.chars().take_while(|&c| c == '_' || c.is_ascii_digit()).collect();
        let is_whole = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        (is_whole && rest[suffix.len()..].starts_with('(')).then(|| format!("{beginning}{suffix}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_gradient_is_found_with_its_digits() {
        let text = "void g_f_grad(int);\ndouble f_grad_slots(int);\ndouble f_grad_0_1(double* x) {}";
        assert_eq!(defined(text, "f_grad").as_deref(), Some("f_grad_0_1"));
        assert_eq!(defined("int f_gradual(int);", "f_grad"), None);
    }
}
