//! From a kernel's derivatives and a statement of shapes to an operator for PyTorch or JAX: the sources of a small project, as text.
//!
//! What each argument of a launch is comes from the metadata of the derivatives (`arguments`); from that follows what the operator, its
//! backward and the backward of that launch, and in which memory (`calls`). The project has the kernels with functions that launch them
//! (`kernels`), and what a framework wants around them (`torch`, `jax`, and `package` for what these have in common).

mod arguments;
mod calls;
mod expression;
mod jax;
mod kernels;

mod package;
mod statement;
mod torch;
mod version;
mod wrong;

pub use arguments::scalar_of;
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

/// For whom an operator is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framework {
    Torch,
    Jax,
}

/// The project of an operator, whose kernel the versions have for each type of data. `source` is the name of the file that it comes from.
pub fn project(
    framework: Framework,
    statement: &Statement,
    versions: &[Version],
    source: &str,
) -> Result<Vec<File>, Wrong> {
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
    let test = format!("test_{}.py", operator.statement.name);
    files.extend(match framework {
        Framework::Torch => [
            file("operator.cpp", torch::text(&operator, source)),
            file("__init__.py", torch::init(&operator, source)),
            file("build.py", package::build(&operator, torch::FRAMEWORK)),
            file(&test, torch::test(&operator)),
        ],
        Framework::Jax => [
            file("handlers.cpp", jax::handlers(&operator, source)),
            file("__init__.py", jax::init(&operator, source)),
            file("build.py", package::build(&operator, jax::FRAMEWORK)),
            file(&test, jax::test(&operator)),
        ],
    });
    Ok(files)
}
