//! The command line of `cotangent check`.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use cotangent::transform::{FACTS, PLANNERS, Trust, passes};

use super::{Differentiated, Reading};

/// `cotangent check`.
#[derive(Debug, Args)]
#[command(override_usage = "cotangent check [OPTIONS] --fn <NAME> <FILE> [OTHER]... [-- FLAGS…]")]
#[command(after_help = "\
Examples:
  cotangent check saxpy.cu --fn saxpy
  cotangent check saxpy.cu --fn saxpy --wrt 'out, in' --launch 2x64
  cotangent check saxpy.cu --fn saxpy --args '128, 0.5f, in<float>(128), out<float>(128)'
  cotangent check scale.cu --fn scale --against scale_backward --against-args 'd_out, a, d_a, n'

Arguments are as in --args, one for each parameter:
  in<T>(n)            n elements with random floats between 0.5 and 1.5
  in<T>(n, -1, 1)     n elements with random floats between these
  out<T>(n)           n elements that are zero
  ints<T>(n, bound)   n random whole numbers below the bound
  range<T>(n)         n elements: 0, 1, 2, …; range<T>(n, 0.5, 0.1) begins with 0.5 and grows by 0.1
  [2, 0, 1]           the elements of an array; [in<T>(8), out<T>(8)] for an array of pointers
  file<T>(\"w.txt\")    the numbers of a file
  0.5f, 3, true       a number
  T{0.5f, 3}          a struct by its fields
  {\"run\", \"64\"}       texts, for the `argv` of `main`

With --against a backward function that you wrote is given the same numbers as the gradient, and
each of its results is compared; where they differ, central differences say who is right. Its
arguments, in --against-args, are C++ in which these are names:
  a, n                the parameters of the function, with what it left in them
  d_out               the adjoint of an array that it writes: random numbers, to be read
  d_a                 the adjoint of an input: zeros, to be written or added to
  out<float>(n)       and other arrays as above, for what only the backward takes
The page docs/check.md has an example, and says what --json prints.

Exit codes:
  0  derivatives are right, and so is the backward function
  1  something is wrong, or the program is at fault
  2  the command line is
  3  the machine is: something is missing or cannot be read")]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) what: Differentiated,

    /// Blocks and threads of a block, such as 2x64 or 2,2x8,8; a third part is dynamic shared memory [default: 2x32, or 1x32 for a kernel that cannot run so]
    #[arg(long, value_name = "GxB")]
    pub(crate) launch: Option<String>,

    /// The function's arguments [default: four elements a thread, integers as many as threads]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,

    /// Compare the gradient with this function, which computes the same; several are called one after another
    #[arg(long, value_name = "NAME", requires = "against_args")]
    pub(crate) against: Vec<String>,

    /// The arguments of that function, once for each
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, requires = "against")]
    pub(crate) against_args: Vec<String>,

    /// Its blocks and threads, once for each [default: those of --launch]
    #[arg(long, value_name = "GxB", requires = "against")]
    pub(crate) against_launch: Vec<String>,

    /// Print what was found as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Choose other random inputs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// At how many points derivatives are compared
    #[arg(long, value_name = "N", default_value_t = 3, hide = true)]
    pub(crate) samples: usize,

    /// Also compile the derivatives with nvcc, execute what it made on the CPU, and compare
    #[arg(long, conflicts_with = "database")]
    pub(crate) nvcc: bool,

    /// Also compile the derivatives with nvcc, run them on the GPU of this machine, and compare
    #[arg(long, conflicts_with_all = ["nvcc", "database"])]
    pub(crate) gpu: bool,

    /// Which derivatives are checked
    #[arg(long, value_enum, default_value_t = Checked::Both)]
    pub(crate) mode: Checked,

    #[command(flatten)]
    pub(crate) believed: Box<Believed>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// What reverse mode believes: tests of its facts have it doubt some.
#[derive(Debug, Args)]
pub(crate) struct Believed {
    /// Replace a fact by its safe answer: the numbers must be the same
    #[arg(long, value_name = "FACT", value_parser = fact_names(), hide = true)]
    doubt: Option<String>,

    /// Replace a fact by the answer one would like: somebody must notice
    #[arg(long, value_name = "FACT", value_parser = fact_names(), hide = true)]
    deny: Option<String>,

    /// Leave out a pass of the normal form: it must be missed, or not matter
    #[arg(long, value_name = "PASS", value_parser = PossibleValuesParser::new(passes()), hide = true)]
    leave_out: Option<String>,

    /// Run this planner alone, or none: the numbers must be the same
    #[arg(long, value_name = "PLANNER", value_parser = PossibleValuesParser::new(planners()), hide = true)]
    only: Option<String>,
}

/// What may be run alone: a planner, or none.
pub(crate) fn planners() -> impl Iterator<Item = &'static str> {
    PLANNERS.into_iter().chain(["none"])
}

fn fact_names() -> PossibleValuesParser {
    PossibleValuesParser::new(FACTS.map(|(name, _)| name))
}

impl Believed {
    pub(crate) fn trust(&self) -> Trust {
        let fact = |name: &Option<String>| FACTS.iter().find(|(known, _)| name.as_deref() == Some(known));
        Trust {
            doubted: fact(&self.doubt).map(|(_, fact)| *fact),
            denied: fact(&self.deny).map(|(_, fact)| *fact),
            left_out: passes().find(|name| self.leave_out.as_deref() == Some(name)),
            only: planners().find(|name| self.only.as_deref() == Some(name)),
            gathers_few: false,
        }
    }
}

impl Check {
    /// Where what nvcc made is to run, if anywhere.
    pub(crate) fn target(&self) -> Option<Target> {
        match (self.gpu, self.nvcc) {
            (true, _) => Some(Target::Gpu),
            (false, true) => Some(Target::Cpu),
            (false, false) => None,
        }
    }
}

/// Where the program runs that nvcc makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Cpu,
    Gpu,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Checked {
    /// Reverse mode, and forward mode, which it is compared with
    Both,
    /// Forward mode alone
    Forward,
}

impl Checked {
    pub(crate) fn forward_only(self) -> bool {
        self == Checked::Forward
    }
}
