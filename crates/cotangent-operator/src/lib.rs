//! From a kernel's derivatives and a statement of shapes to a PyTorch operator: the sources of a small project, as text.
//!
//! The project has the kernels with functions that launch them (`kernels`), the operator with its backward and the backward of that in C++
//! (`operator`), and what Python needs (`package`). What each argument of a launch is comes from the metadata of the derivatives (`arguments`).

mod arguments;
mod expression;
mod kernels;
mod operator;
mod package;
mod statement;
mod version;
mod wrong;

pub use expression::Expression;
pub use statement::{Launch, Statement};
pub use version::{Level, SCALARS, Scalar, Version, names_of_second};
pub use wrong::Wrong;

/// A file of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name in the project's folder.
    pub name: String,
    /// What it holds.
    pub text: String,
}

/// The project of an operator, whose kernel the versions have for each type of data. `source` is the name of the file that it comes from.
pub fn project(statement: &Statement, versions: &[Version], source: &str) -> Result<Vec<File>, Wrong> {
    let operator = arguments::Operator::of(statement, versions)?;
    let file = |name: &str, text: String| File { name: name.to_owned(), text };
    let mut files = vec![
        file("kernels.h", kernels::header(&operator)),
        file("forward.cu", kernels::forward(&operator, versions, source)),
        file("backward.cu", kernels::backward(&operator, versions, source)),
    ];
    if operator.twice.is_some() {
        files.push(file("backward_backward.cu", kernels::twice(&operator, versions, source)));
    }
    files.push(file("operator.cpp", operator::text(&operator, source)));
    files.push(file("__init__.py", package::init(&operator, source)));
    files.push(file("build.py", package::build(&operator)));
    files.push(file(&format!("test_{}.py", operator.statement.name), package::test(&operator)));
    Ok(files)
}
