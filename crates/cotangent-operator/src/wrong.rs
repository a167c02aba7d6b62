//! Why no operator can be made.

/// Why a statement fits no operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// A text that is no expression.
    #[error("`{0}` is no expression of sizes\n  Names and whole numbers are, with + - * / % and parentheses.")]
    Expression(String),
    /// An array without sizes.
    #[error("the sizes of `{0}` are missing\n  State them: --size '{0}=B C H W'")]
    NoSizes(String),
    /// Sizes or a value of what is no such parameter.
    #[error("`{0}` is stated, and the kernel has no such {1}")]
    NoParameter(String, &'static str),
    /// A result that is none.
    #[error("`{0}` is stated to be a result, and the function stores nothing there")]
    OutputIsRead(String),
    /// A name that nothing tells.
    #[error("`{name}` in the {of} is known from no array that the operator takes, and is no number that it takes")]
    UnknownName { name: String, of: String },
    /// An element that no tensor has.
    #[error("`{param}` is an array of `{element}`, which no tensor holds")]
    Element { param: String, element: String },
    /// A vector whose numbers the sizes do not have.
    #[error("`{param}` is an array of `{element}`, so the last of its sizes is {width}: --size '{param}=N, {width}'")]
    Width { param: String, element: String, width: usize },
    /// A number that no operator takes.
    #[error(
        "`{param}` is a `{ty}`, which no operator takes\n  A number whose value follows from sizes is stated: --value '{param}=…'"
    )]
    Number { param: String, ty: String },
    /// Kernels for types of data that differ in more than that.
    #[error("the kernels for {0} and {1} have different parameters or derivatives")]
    VersionsDiffer(&'static str, &'static str),
    /// A type of data that nothing tells.
    #[error("the operator has versions for {0}, and no array that it takes has elements of that type to choose by")]
    NoTypeOfData(String),
    /// Variables of the device, of which the operator has copies of its own.
    #[error(
        "it uses variables of the device, and nothing sets them in an operator: {0}\n  Make them parameters, which the operator takes as tensors."
    )]
    Variables(String),
    /// A kernel that nobody launches.
    #[error("the launch of the kernel is missing\n  State it: --grid '(N + 127) / 128' --block 128")]
    NoLaunch,
    /// A function of the host that is launched.
    #[error("`{0}` is a function of the host, which launches by itself: no --grid, --block or --shared is wanted")]
    LaunchOfHost(String),
    /// Nothing to differentiate.
    #[error("it stores to no array of floating values, so the operator has no result")]
    NoResult,
    /// A text that stands only in its program.
    #[error("it needs the text of its program, for it uses classes that are not read; no operator can be made of it")]
    NeedsProgram,
}
