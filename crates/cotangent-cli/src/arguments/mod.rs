//! The command line. Words after `--` are compiler flags and nothing else is; words after `--args` are the
//! program's. Both are cut off before anything is interpreted, so that neither can be taken for the other.

mod check;
mod operator;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use cotangent::transform::RecordBudget;

pub(crate) use self::check::{Check, Target, planners};
pub(crate) use self::operator::Operator;

/// CUDA C++ in, CUDA C++ out, and it runs on a CPU.
///
/// Cotangent reads CUDA programs with Clang 19. It needs no GPU and no CUDA toolkit.
#[derive(Debug, Parser)]
#[command(name = "cotangent", version, after_help = EXIT_CODES, after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// When to use colours. NO_COLOR in the environment turns them off too.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,

    #[command(subcommand)]
    pub(crate) task: Task,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Print a function and all it needs, as one file that compiles
    Print(Print),
    /// Differentiate a kernel, a device function or a host function
    ///
    /// Prints the derivative of `f` with all it needs as one CUDA file.
    ///
    /// Reverse mode: `f_grad` has the parameters of `f`, then an adjoint for each parameter named. On entry an adjoint
    /// holds the derivatives with respect to the final contents of its parameter, on exit with respect to the initial
    /// contents. A gradient that must record is launched by `f_grad_launch`, and so is one that has several kernels to choose from.
    ///
    /// Forward mode: `f_pushforward` has a tangent for each, and computes how all outputs change along them.
    ///
    /// Parameters that are not named are constant.
    Grad(Grad),
    /// Check the derivatives of a kernel, a device function or a host function on the CPU
    ///
    /// The function's own text is run at points around random inputs, and forward mode is compared with the
    /// differences, in a build where float is double. Reverse mode is compared with forward mode, and both with runs
    /// in native precision and with threads in other orders. The exit code is 1 if a derivative is wrong.
    Check(Check),
    /// Call nvcc or Clang on files that ask for gradients in their own text
    ///
    /// Stands in front of a compiler's command line, as ccache does. CUDA files in it that include
    /// <cotangent/cotangent.hpp> are compiled with the gradients that they ask for; messages, debug information and
    /// dependency files name your own file. All else is as without `cotangent cc`: a line without such a file is handed
    /// to the compiler untouched.
    Cc(Cc),
    /// Compile a CUDA program for the CPU and run it
    ///
    /// No GPU is needed. The exit code is the program's own; a program that a signal ends gives 128 plus the signal's
    /// number. With --check it is 1 if the program succeeded and something was found.
    Run(Run),
    /// Compile a CUDA program for the CPU and keep it
    ///
    /// The program runs by itself, or with --shared is a library for other programs, with debug information. No GPU is
    /// needed. The CUDA runtime that it uses is `cotangent where cudart`, and the tape library, if it uses it, `cotangent where
    /// tape`; both must stay where they are.
    Build(Build),
    /// Make a PyTorch operator of a kernel: the sources of a small project, with autograd, to build and to commit
    ///
    /// The project has the kernel and its gradients as CUDA C++, the operator in C++, its Python module, a build file and a
    /// test. On the CPU the kernels run by the executor; for GPUs they are compiled by nvcc.
    #[command(after_help = operator::TORCH)]
    Torch(Operator),
    /// Make a JAX operator of a kernel: the sources of a small project, with its derivatives, to build and to commit
    ///
    /// The project has the kernel and its gradients as CUDA C++, handlers for XLA's foreign function interface, a Python module
    /// with the rules of its derivatives, a build file and a test. On the CPU the kernels run by the executor; for GPUs they are
    /// compiled by nvcc.
    #[command(after_help = operator::JAX)]
    Jax(Operator),
    /// Try the whole tool on this machine: with nvcc, and with --gpu on the GPU
    ///
    /// The command carries over three hundred small programs: kernels, device functions and host functions, and examples.
    /// Each is differentiated, compiled with your nvcc, run, and compared with the CPU's numbers, which are themselves
    /// compared with finite differences. With --gpu they run on your GPU, linked against NVIDIA's own runtime; without it
    /// nvcc's PTX is executed on the CPU, so that it can be tried anywhere.
    ///
    /// What came of it is written to one file of plain text: the versions of everything, one line a program, and for those
    /// that do not agree all that was said. If something is wrong, that file is what to send.
    Selftest(Selftest),
    /// Print the folder of something that Cotangent brings
    Where {
        /// What is looked for
        what: Place,
    },
    /// Say which tools were found and what is missing
    Doctor,
}

impl Task {
    /// Whether what it finds is wanted as JSON.
    pub(crate) fn is_json(&self) -> bool {
        match self {
            Task::Check(options) => options.json,
            Task::Torch(options) | Task::Jax(options) => options.json,
            Task::Print(_) | Task::Grad(_) | Task::Run(_) | Task::Build(_) | Task::Cc(_) => false,
            Task::Selftest(_) | Task::Where { .. } | Task::Doctor => false,
        }
    }

    /// The program that the task reads, and the flags by which it does.
    pub(crate) fn file_and_flags(&mut self) -> Option<(&mut PathBuf, &mut Vec<String>)> {
        match self {
            Task::Print(options) => Some((&mut options.file, &mut options.reading.flags)),
            Task::Grad(options) => Some((&mut options.what.file, &mut options.reading.flags)),
            Task::Check(options) => Some((&mut options.what.file, &mut options.reading.flags)),
            Task::Run(options) => Some((&mut options.file, &mut options.reading.flags)),
            Task::Build(options) => Some((&mut options.file, &mut options.reading.flags)),
            Task::Torch(options) | Task::Jax(options) => Some((&mut options.file, &mut options.reading.flags)),
            Task::Cc(_) | Task::Selftest(_) | Task::Where { .. } | Task::Doctor => None,
        }
    }
}

/// `cotangent print`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cotangent print saxpy.cu --fn saxpy
  cotangent print filter.cu --fn 'image::blur<float, 3>' --dialect cpu
  cotangent print solver.cu --fn step --ir -- -I include -DN=64 -std=c++20")]
pub(crate) struct Print {
    /// The CUDA file, or `-` for standard input
    pub(crate) file: PathBuf,

    /// The function: `name`, `space::name`, `name<float, 128>`, `name(int, float*)`. A template is instantiated with
    /// the arguments given, whether the file does so or not
    #[arg(long = "fn", value_name = "NAME")]
    pub(crate) function: String,

    /// The language to print
    #[arg(long, value_enum, default_value_t = Dialect::Cuda)]
    pub(crate) dialect: Dialect,

    /// Print the intermediate form instead of C++
    #[arg(long, conflicts_with = "dialect")]
    pub(crate) ir: bool,

    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    /// CUDA C++, for nvcc and Clang
    Cuda,
    /// C++ against Cotangent's headers, for the CPU
    Cpu,
}

/// `cotangent grad`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cotangent grad saxpy.cu --fn saxpy                       with respect to all that can be
  cotangent grad saxpy.cu --fn saxpy --wrt 'out, in' -o saxpy_grad.cuh
  cotangent grad filter.cu --fn 'image::blur<float, 3>' --wrt in --mode forward -- -I include
  cotangent grad step.cu --fn step --split --save u        the reverse sweep runs when u has changed
  cotangent grad step.cu --fn step --plan                  why is this value recorded?
  cotangent grad heat.cu --fn main --wrt d_in --of d_out   a program: d_in is filled, d_out is read back")]
pub(crate) struct Grad {
    #[command(flatten)]
    pub(crate) what: Differentiated,

    /// The direction in which derivatives are propagated
    #[arg(long, value_enum, default_value_t = Mode::Reverse)]
    pub(crate) mode: Mode,

    /// Write to this file instead of standard output. A header (.cuh, .h, .hpp, .hh, .inl) gets the derivatives only,
    /// to be included after the function; any other file, and standard output, all that they need too
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write all that the derivatives need, also to a header
    #[arg(long)]
    pub(crate) standalone: bool,

    /// For whom the text is. `nvrtc`: what runs on the device, with no header, kernels under their own names, and the record an
    /// argument; nothing that a function of the host would choose
    #[arg(long, value_enum, default_value_t = TextTarget::Nvcc, conflicts_with_all = ["mode", "deterministic"])]
    pub(crate) target: TextTarget,

    /// Write what a program that calls the derivative must know to this file, as JSON: functions, parameters in order, what each
    /// adjoint holds before, the size of the record
    #[arg(long, value_name = "FILE", conflicts_with = "plan")]
    pub(crate) metadata: Option<PathBuf>,

    /// Instead of the gradient, print where its reverse sweep gets each value from and how each loop is turned around, and
    /// why that is right
    #[arg(long, conflicts_with_all = ["standalone", "mode"])]
    pub(crate) plan: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// What is differentiated.
#[derive(Debug, Args)]
pub(crate) struct Differentiated {
    /// The CUDA file with the function, or `-` for standard input
    pub(crate) file: PathBuf,

    /// Other files of the program, which have bodies of functions, kernels and variables that the function needs
    #[arg(value_name = "OTHER")]
    pub(crate) others: Vec<PathBuf>,

    /// The function: `name`, `space::name`, `name<float, 128>`, `name(int, float*)`
    #[arg(long = "fn", value_name = "NAME")]
    pub(crate) function: String,

    /// The parameters to differentiate with respect to, inputs and outputs alike, and variables of the device,
    /// separated by commas [default: all parameters with floating values]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) wrt: Option<Vec<String>>,

    /// Outputs that are variables of a host function, separated by commas: arrays of the device, as they are before they
    /// are first copied to the host, or before line 160: `u@160`. Names in `--wrt` may be variables then: as they are
    /// after they are last filled from outside, or after line 130: `u@130`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "wrt", conflicts_with = "split")]
    pub(crate) of: Vec<String>,

    /// Reverse mode of a kernel or a host function in two functions, `f_augmented` and `f_reverse`, with a record between them:
    /// memory for a kernel, a `cotangent::Tape` for a host function
    #[arg(long)]
    pub(crate) split: bool,

    /// Arrays whose values are recorded because they may change between `f_augmented` and `f_reverse`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "split")]
    pub(crate) save: Vec<String>,

    /// Arrays that end as they were before the call, every store to them taken back
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "split")]
    pub(crate) rollback: Vec<String>,

    /// Slots of the record for each thread, for kernels whose need cannot be counted before the launch
    #[arg(long, value_name = "N")]
    pub(crate) record_slots: Option<u32>,

    /// Bytes that a thread of a kernel may record for each iteration of a loop, such as 0.25: iterations that need more are
    /// computed again, in stretches of at most 64 and stretches of those, and the derivative runs the loop once or twice more
    #[arg(long, value_name = "BYTES")]
    pub(crate) record_budget: Option<RecordBudget>,

    /// Loops of a host function keep their state at some steps only, and the steps between are run again: within the memory that
    /// COTANGENT_BUDGET states when the program runs, such as 2GiB
    #[arg(long, conflicts_with_all = ["split", "rollback", "pure"])]
    pub(crate) checkpoint: bool,

    /// Adjoints of `__half` and `__nv_bfloat16` arrays as `float`, in reverse mode, instead of in the arrays' own type
    #[arg(long)]
    pub(crate) wide_adjoints: bool,

    /// The same bits at every run: what threads add to one place is added by a second launch, in a fixed order, or refused. A
    /// kernel's derivative is launched by `f_grad_launch` then
    #[arg(long)]
    pub(crate) deterministic: bool,

    /// The form that frameworks want, of a kernel or a host function: `f_vjp` leaves incoming cotangents as they are, and writes gradients
    /// instead of adding to them. It takes a gradient for each array that the function only reads, a cotangent for one that it
    /// only stores to, both for one that it reads and stores to, and the number of elements where it clears or copies
    #[arg(long)]
    pub(crate) pure: bool,
}

impl Differentiated {
    /// The names, without the blanks around them.
    pub(crate) fn names(&self) -> Option<Vec<String>> {
        self.wrt.as_deref().map(trimmed)
    }

    /// The variables that are outputs.
    pub(crate) fn outputs(&self) -> Vec<String> {
        trimmed(&self.of)
    }

    /// What is recorded between the two functions of the split form.
    pub(crate) fn saved(&self) -> Option<Vec<String>> {
        self.split.then(|| trimmed(&self.save))
    }

    /// What ends as it was.
    pub(crate) fn rolled_back(&self) -> Vec<String> {
        trimmed(&self.rollback)
    }
}

fn trimmed(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.trim().to_owned()).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Adjoints: one call gives the derivatives of one number with respect to all parameters
    Reverse,
    /// Tangents: one call gives the derivatives of all outputs along one direction
    Forward,
}

/// For whom a derivative is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextTarget {
    /// A file or a header for nvcc
    Nvcc,
    /// Device code for NVRTC
    Nvrtc,
}

/// `cotangent run`.
#[derive(Debug, Args)]
#[command(override_usage = "cotangent run [OPTIONS] <FILE> [OTHER]... [--args WORD…] [-- FLAGS…]")]
#[command(after_help = "\
Examples:
  cotangent run program.cu
  cotangent run program.cu grid.cu                    a program of two files
  cotangent run program.cu --check                    find races and bad accesses
  cotangent run program.cu --args input.txt -v        words for the program
  cotangent run program.cu -- -std=c++20 -I include   words for the compiler
  cotangent run program.cu --args 100 -- -O3          both, in this order")]
pub(crate) struct Run {
    /// The CUDA file, or `-` for standard input
    pub(crate) file: PathBuf,

    /// Other files of the program, each compiled by itself
    #[arg(value_name = "OTHER", conflicts_with = "printed")]
    pub(crate) others: Vec<PathBuf>,

    /// Check every access to memory and every barrier while the program runs
    #[arg(long)]
    pub(crate) check: bool,

    /// Run what Cotangent prints for the program instead of the program's own text
    #[arg(long)]
    pub(crate) printed: bool,

    /// Run what nvcc makes of the program: its PTX, executed on the CPU with a CUDA runtime of Cotangent's
    #[arg(long, conflicts_with_all = ["printed", "cuda_path", "database"])]
    pub(crate) nvcc: bool,

    /// Run what nvcc makes of the program on the GPU of this machine
    #[arg(long, conflicts_with_all = ["printed", "cuda_path", "database", "nvcc", "check", "seed", "threads"])]
    pub(crate) gpu: bool,

    /// Permute the order of blocks and threads; 0 is the natural order
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// How many processors run blocks; 0 for all
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Words for the program: all up to `--` or the end
    #[arg(long, value_name = "WORD", num_args = 0.., allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}

/// `cotangent build`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cotangent build program.cu -o program
  cotangent build program.cu grid.cu -o program -- -I include -O3
  cotangent build step.cu -o libstep.so --shared")]
pub(crate) struct Build {
    /// The CUDA file, or `-` for standard input
    pub(crate) file: PathBuf,

    /// Other files of the program, each compiled by itself
    #[arg(value_name = "OTHER")]
    pub(crate) others: Vec<PathBuf>,

    /// The program that is written
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Make a shared library
    #[arg(long)]
    pub(crate) shared: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// `cotangent selftest`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cotangent selftest --gpu                  all programs, on the GPU
  cotangent selftest --gpu shared atomic    those with either word in their name
  cotangent selftest --gpu --arch sm_90     for an architecture that you name
  cotangent selftest example_               the examples, without a GPU

Exit codes:
  0  all programs agree with the CPU's numbers
  1  some do not; the report says which, and why
  2  the command line is at fault
  3  the machine is: no GPU, no nvcc, no Clang

CUDA_VISIBLE_DEVICES=1 chooses another GPU; the first is used.")]
pub(crate) struct Selftest {
    /// Only programs with one of these words in their name
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// Run on the GPU of this machine
    #[arg(long)]
    pub(crate) gpu: bool,

    /// The architecture to compile for, such as sm_90 [default: that of the GPU]
    #[arg(long, value_name = "ARCH", requires = "gpu")]
    pub(crate) arch: Option<String>,

    /// Where the report is written
    #[arg(long, value_name = "FILE", default_value = "cotangent-selftest.txt")]
    pub(crate) report: PathBuf,

    /// How many programs are built at a time; one at a time is on the GPU [default: one for each processor]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// List the programs, and try none
    #[arg(long)]
    pub(crate) list: bool,

    /// The .cu files of this folder instead of the programs that the command carries
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) programs: Option<PathBuf>,
}

impl Selftest {
    /// How many programs are tried at a time.
    pub(crate) fn jobs(&self) -> usize {
        self.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, usize::from)
    }
}

/// Calls nvcc or Clang on files that ask for gradients in their own text.
#[derive(Debug, Args)]
#[command(override_usage = "cotangent cc <COMPILER> [WORDS]…")]
#[command(after_help = "\
Examples:
  cotangent cc nvcc -arch=sm_80 -c step.cu -o step.o
  cmake -DCMAKE_CUDA_COMPILER_LAUNCHER='cotangent;cc' …      all files of a CMake project
  make NVCC='cotangent cc nvcc'                              a makefile that calls $(NVCC)
  PYTORCH_NVCC='cotangent cc nvcc' python setup.py install   an extension of PyTorch

The flags by which a file is read (-I, -D, -std, -arch, …) are taken from the line, from files of
words in it (--options-file, @file), and from NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS. A flag that
Cotangent does not know is an error only for files that use it.

The exit code is the compiler's, or that of other commands if a request cannot be answered.")]
pub(crate) struct Cc {
    /// The compiler (nvcc, clang++, or a path to one) and all its words. A plain nvcc that is not on PATH is the one
    /// that `cotangent doctor` finds
    #[arg(required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    pub(crate) command: Vec<OsString>,
}

/// What Cotangent brings, unpacked in the cache folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Place {
    /// The headers that programs include, for editors
    Include,
    /// The CMake package: cmake -DCotangent_DIR=$(cotangent where cmake) …
    Cmake,
    /// The CUDA runtime, and the driver, that execute PTX on the CPU, as a folder for -L and LD_LIBRARY_PATH
    Cudart,
    /// The tape library, as a folder for -L and PKG_CONFIG_PATH, whose packages are cotangent-tape and cotangent-tape-static
    Tape,
}

/// How the user's file is read.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// Read the headers of this CUDA toolkit (12 or older) instead of Cotangent's own
    #[arg(long, value_name = "DIR")]
    pub(crate) cuda_path: Option<PathBuf>,

    /// Take flags from this compilation database, compile_commands.json or its folder, and the other files of the program
    /// unless some are named
    #[arg(short = 'p', long, value_name = "PATH")]
    pub(crate) database: Option<PathBuf>,

    /// Compiler flags, as for nvcc: -I, -D, -std, -gencode, -Xcompiler, …
    #[arg(last = true, value_name = "FLAGS")]
    pub(crate) flags: Vec<String>,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  the program is at fault: diagnostics, or --check found something
  2  the command line is
  3  the machine is: something is missing or cannot be read
  `run` passes on the program's own exit code, `cc` the compiler's.";

const EXAMPLES: &str = "\
Examples:
  cotangent run program.cu --check
  cotangent print saxpy.cu --fn saxpy --dialect cpu -- -I include
  cotangent grad saxpy.cu --fn saxpy --wrt 'out, in'
  cotangent cc nvcc -c step.cu -o step.o
  cotangent doctor

Exit codes:
  0  success
  1  the program is at fault: diagnostics, or --check found something
  2  the command line is
  3  the machine is: something is missing or cannot be read
  `run` passes on the program's own exit code, `cc` the compiler's.

Environment:
  COTANGENT_CLANG  the clang++ to use, of version 19
  COTANGENT_CACHE  where headers are unpacked; ~/.cache/cotangent if unset
  CUDA_HOME        a CUDA toolkit, for nvcc
  NO_COLOR         no colours
  COTANGENT_COUNT_WAITS    `run` says at the end how often the host has waited
  COTANGENT_DEVICE_MEMORY  bytes of the GPU that `run` stands for, for programs that are to run out of them";

impl Arguments {
    /// Reads the command line; on a mistake, or when help is asked for, prints and ends the process.
    pub(crate) fn from_words(words: Vec<OsString>) -> Self {
        Self::try_from_words(words).unwrap_or_else(|error| error.exit())
    }

    fn try_from_words(mut words: Vec<OsString>) -> Result<Self, clap::Error> {
        // Every word after the compiler is the compiler's.
        if words.get(1).is_some_and(|word| word == "cc") {
            return Self::try_parse_from(words);
        }
        // `--args` takes every word, so clap must not see what follows `--`.
        let flags = match words.iter().position(|word| word == "--") {
            Some(position) => words.split_off(position),
            None => Vec::new(),
        };
        let has_args = words.iter().any(|word| word == "--args");
        if !has_args {
            words.extend(flags.iter().cloned());
        }
        let mut arguments = Self::try_parse_from(words)?;
        if has_args {
            let text = |word: OsString| word.to_string_lossy().into_owned();
            let flags = flags.into_iter().skip(1).map(text).collect();
            match &mut arguments.task {
                Task::Run(Run { reading, .. }) | Task::Check(Check { reading, .. }) => reading.flags = flags,
                Task::Print(_)
                | Task::Build(_)
                | Task::Torch(_)
                | Task::Jax(_)
                | Task::Grad(_)
                | Task::Cc(_)
                | Task::Selftest(_)
                | Task::Where { .. }
                | Task::Doctor => {}
            }
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_from_words(line.split(' ').map(OsString::from).collect())
    }

    fn run(line: &str) -> Run {
        match parse(line).unwrap_or_else(|error| panic!("{line}: {error}")).task {
            Task::Run(run) => run,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn program_words_and_compiler_flags_are_apart() {
        let both = run("cotangent run a.cu --check --args -n 5 --check out -- -O3 --args -I x");
        assert_eq!(both.args, ["-n", "5", "--check", "out"]);
        assert_eq!(both.reading.flags, ["-O3", "--args", "-I", "x"]);
        assert!(both.check);

        let words_only = run("cotangent run a.cu --args --threads 3");
        assert_eq!((words_only.args.len(), words_only.threads), (2, 0));
        assert_eq!(words_only.reading.flags, [""; 0]);

        let flags_only = run("cotangent run a.cu --seed 7 -- -DN=4 --args");
        assert_eq!(flags_only.seed, 7);
        assert_eq!(flags_only.args.len(), 0);
        assert_eq!(flags_only.reading.flags, ["-DN=4", "--args"]);
    }

    #[test]
    fn all_words_behind_the_compiler_are_its_own() {
        let line = "cotangent cc nvcc --help -h --color=never --version -- --args -c x.cu";
        match parse(line).unwrap().task {
            Task::Cc(cc) => assert_eq!(cc.command, line.split(' ').skip(2).collect::<Vec<_>>()),
            other => panic!("{other:?}"),
        }
        assert!(parse("cotangent cc").is_err());
    }

    #[test]
    fn compiler_flags_are_not_guessed_without_the_separator() {
        assert!(parse("cotangent run a.cu -O3").is_err());
        assert!(parse("cotangent print a.cu --fn f -I x").is_err());
        assert!(parse("cotangent print a.cu").is_err());
        assert!(parse("cotangent print a.cu --fn f --ir --dialect cpu").is_err());
    }
}
