//! The derivatives that a program asks for in its own text, by `cotangent/cotangent.hpp`: `find` looks for the requests in
//! Clang's tree, `answer` puts types of their own in their places and the derivatives after the text.

mod answer;
mod find;

pub use answer::{Answer, answered};
pub use find::{Direction, Request, Side, find, is_used};

/// What messages call the place of the derivatives after a file's own text. It is no file.
pub fn place_of_derivatives(file: &str) -> String {
    format!("{file} (derivatives)")
}
