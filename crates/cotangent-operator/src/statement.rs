//! What the user states of an operator: sizes, values and the launch.

use crate::expression::Expression;

/// What the user states.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The library of operators, as PyTorch calls it: `demo` in `demo::sample`.
    pub space: String,
    /// The operator's name.
    pub name: String,
    /// The sizes of arrays, by parameter. A name that is a size by itself is what the array has there.
    pub sizes: Vec<(String, Vec<Expression>)>,
    /// The values of numbers, by parameter. A number without one is an argument of the operator.
    pub values: Vec<(String, Expression)>,
    /// Arrays that begin with zeros and go out, although the function reads what it has stored there.
    pub outputs: Vec<String>,
    /// How the kernel is launched; a function of the host launches by itself.
    pub launch: Option<Launch>,
}

/// How a kernel is launched.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Blocks; one to three numbers.
    pub grid: Vec<Expression>,
    /// Threads of a block.
    pub block: Vec<Expression>,
    /// Bytes of dynamic shared memory.
    pub shared: Expression,
}
