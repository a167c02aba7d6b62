//! The table of compiler flags: every flag of nvcc, and those of Clang and GCC that stand in people's build files.
//! The manual's page is printed from it. Rows are in the order of nvcc's own help.

/// One row.
pub(super) struct Flag {
    /// Its spellings. Where the flag is passed on they mean the same, and the first is Clang's; elsewhere one row may
    /// hold several flags with the same fate.
    pub(super) names: &'static [&'static str],
    pub(super) takes: Takes,
    pub(super) treatment: Treatment,
    /// For the manual; for a refused flag, the way out.
    pub(super) note: &'static str,
}

impl Flag {
    /// Whether a value follows, in the same word or the next.
    pub(super) fn wants_value(&self) -> bool {
        matches!(self.takes, Value | Attached)
    }
}

/// What follows the name of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// Nothing: `-lineinfo`.
    Nothing,
    /// A value: `-std c++17`, `-std=c++17`.
    Value,
    /// A value, which may be glued to the short name: `-I dir`, `-I=dir`, `-Idir`.
    Attached,
    /// The rest of the word belongs to the name, as in `-Wno-unused`: a family of flags.
    Rest,
}

/// What becomes of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Given to Clang as it is.
    Pass(To),
    /// Given to Clang in another form.
    Translate(Translation),
    /// Without influence on what the program means.
    Ignore,
    /// Set aside, and the user is told.
    IgnoreAndTell,
    /// An error.
    Refuse,
    /// Refused where Cotangent compiles; left to the compiler where `cotangent cc` calls one.
    Leave,
}

/// When Clang gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    /// Whenever it reads the text.
    Reading,
    /// When it compiles for the CPU.
    Compiling,
    /// When it links.
    Linking,
}

/// The forms that need more than passing on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Translation {
    /// Defines a macro, as nvcc does.
    Define(&'static str),
    /// Defines a macro if the value is `true`.
    DefineIfTrue(&'static str),
    /// Clang's name for it and the value, in one word.
    Equals(To, &'static str),
    Standard,
    Language,
    Optimize,
    DefaultStream,
    Architecture,
    GenerateCode,
    HostOptions,
    Library,
    LinkerOptions,
}

const fn pass(to: To, takes: Takes, names: &'static [&'static str], note: &'static str) -> Flag {
    Flag { names, takes, treatment: Treatment::Pass(to), note }
}

const fn translate(how: Translation, takes: Takes, names: &'static [&'static str], note: &'static str) -> Flag {
    Flag { names, takes, treatment: Treatment::Translate(how), note }
}

const fn ignore(takes: Takes, names: &'static [&'static str], note: &'static str) -> Flag {
    Flag { names, takes, treatment: Treatment::Ignore, note }
}

const fn tell(takes: Takes, names: &'static [&'static str], note: &'static str) -> Flag {
    Flag { names, takes, treatment: Treatment::IgnoreAndTell, note }
}

const fn refuse(takes: Takes, names: &'static [&'static str], note: &'static str) -> Flag {
    Flag { names, takes, treatment: Treatment::Refuse, note }
}

const fn leave(takes: Takes, names: &'static [&'static str], note: &'static str) -> Flag {
    Flag { names, takes, treatment: Treatment::Leave, note }
}

const CALL_NVCC: &str = "Call nvcc itself for this, on the original or on what `cotangent print` writes.";
const NO_PRODUCT: &str = "Cotangent decides itself which files it makes.";
const HOW_NVCC_WORKS: &str = "How nvcc does its work; the program means the same.";
const MACHINE_CODE: &str = "Only about the machine code for the GPU.";
const WARNINGS: &str = "Only about nvcc's warnings.";
const ROUNDING: &str =
    "The text stays the same and the CPU computes with IEEE rounding; the GPU's results may differ in the last digits.";

use Takes::{Attached, Nothing, Rest, Value};
use To::{Compiling, Linking, Reading};

/// The rows.
#[rustfmt::skip]
pub(super) const FLAGS: &[Flag] = &[
    // Which product is wanted.
    leave(Nothing, &["--cuda", "-cuda", "--cubin", "-cubin", "--fatbin", "-fatbin", "--ptx", "-ptx", "--optix-ir", "-optix-ir", "--ltoir", "-ltoir"], CALL_NVCC),
    refuse(Nothing, &["--enable-tile", "-enable-tile", "--tile-only", "-tile-only", "--tilebc", "-tilebc", "--tilecubin", "-tilecubin", "--tilefatbin", "-tilefatbin"], "Tile programs are not CUDA C++ with threads; Cotangent reads the latter."),
    ignore(Nothing, &["--simt-only", "-simt-only"], HOW_NVCC_WORKS),
    ignore(Value, &["--tileiras-options", "-Xtileiras"], MACHINE_CODE),
    leave(Nothing, &["-E", "--preprocess", "-M", "--generate-dependencies", "-MM", "--generate-nonsystem-dependencies"], CALL_NVCC),
    ignore(Nothing, &["-MD", "--generate-dependencies-with-compile", "-MMD", "--generate-nonsystem-dependencies-with-compile", "-MP", "--generate-dependency-targets"], NO_PRODUCT),
    ignore(Value, &["-MF", "--dependency-output", "-MT", "--dependency-target-name", "-MQ"], NO_PRODUCT),
    ignore(Nothing, &["-c", "--compile", "-dc", "--device-c", "-dw", "--device-w", "-link", "--link", "--shared", "-shared"], NO_PRODUCT),
    leave(Nothing, &["-dlink", "--device-link", "-lib", "--lib", "-r", "--relocatable-link"], CALL_NVCC),
    leave(Nothing, &["-run", "--run"], "Use `cotangent run`."),
    leave(Value, &["-run-args", "--run-args"], "Use `cotangent run FILE --args …`."),
    ignore(Value, &["-o", "--output-file", "-odir", "--output-directory"], NO_PRODUCT),
    ignore(Nothing, &["-objtemp", "--objdir-as-tempdir"], NO_PRODUCT),

    // What the text says.
    pass(Reading, Value, &["-include", "--pre-include"], "The file is read first."),
    pass(Reading, Attached, &["-D", "--define-macro"], "Defines a macro."),
    pass(Reading, Attached, &["-U", "--undefine-macro"], "Undefines a macro."),
    pass(Reading, Attached, &["-I", "--include-path"], "Cotangent's own CUDA headers are searched before it."),
    pass(Reading, Value, &["-isystem", "--system-include"], "Cotangent's own CUDA headers are searched before it."),
    pass(Reading, Value, &["-iquote"], "A flag of Clang and GCC."),
    pass(Reading, Value, &["-idirafter"], "A flag of Clang and GCC."),
    translate(Translation::Standard, Value, &["-std", "--std"], "Without it C++17, as with nvcc."),
    translate(Translation::Language, Value, &["-x", "--x"], "Only `cu`."),
    translate(Translation::Define("__CUDACC_RELAXED_CONSTEXPR__"), Nothing, &["--expt-relaxed-constexpr", "-expt-relaxed-constexpr"], "Clang always allows it; the macro is defined."),
    translate(Translation::Define("__CUDACC_EXTENDED_LAMBDA__"), Nothing, &["--extended-lambda", "-extended-lambda", "--expt-extended-lambda", "-expt-extended-lambda"], "Clang always allows it; the macro is defined."),
    translate(Translation::Define("__CUDACC_DEBUG__"), Nothing, &["-G", "--device-debug"], "The macro is defined."),
    translate(Translation::DefineIfTrue("__CUDACC_RDC__"), Value, &["-rdc", "--relocatable-device-code"], "One file is read at a time; the macro is defined."),
    translate(Translation::DefaultStream, Value, &["-default-stream", "--default-stream"], "`per-thread` defines CUDA_API_PER_THREAD_DEFAULT_STREAM."),
    ignore(Nothing, &["-nohdinitlist", "--no-host-device-initializer-list", "-nohdmoveforward", "--no-host-device-move-forward"], "Clang decides which library functions may be called on the device."),
    ignore(Nothing, &["-restrict", "--restrict"], "Only an assumption for the optimizer."),
    ignore(Value, &["-ftemplate-backtrace-limit", "--ftemplate-backtrace-limit"], WARNINGS),
    translate(Translation::Equals(Reading, "-ftemplate-depth"), Value, &["-ftemplate-depth", "--ftemplate-depth"], "How deep templates may nest."),
    translate(Translation::Equals(Reading, "-stdlib"), Value, &["-stdlib", "--stdlib"], "The C++ library."),
    ignore(Nothing, &["-noeh", "--no-exceptions"], "Exceptions stay allowed in host code."),
    ignore(Nothing, &["-utf-8", "--utf-8"], "Clang reads UTF-8."),
    refuse(Attached, &["-optf", "--options-file"], "Write the flags of that file on the command line: -- $(cat FILE)."),

    // Architectures.
    translate(Translation::Architecture, Value, &["-arch", "--gpu-architecture", "--cuda-gpu-arch", "--offload-arch"], "The device code is read as this architecture sees it (`__CUDA_ARCH__`). Without it sm_80."),
    translate(Translation::GenerateCode, Value, &["-gencode", "--generate-code"], "As -arch; several must all see the same program."),
    ignore(Value, &["-code", "--gpu-code"], MACHINE_CODE),
    ignore(Nothing, &["-m64", "--m64"], "The only choice."),
    ignore(Value, &["-m", "--machine"], "The only choice is 64."),

    // Arithmetic on the GPU.
    tell(Nothing, &["-use_fast_math", "--use_fast_math"], ROUNDING),
    tell(Value, &["-ftz", "--ftz", "-prec-div", "--prec-div", "-prec-sqrt", "--prec-sqrt"], ROUNDING),
    ignore(Value, &["-fmad", "--fmad"], "The CPU never contracts a product and a sum, so that results can be compared bit for bit."),

    // The host compiler and the linker.
    translate(Translation::Optimize, Attached, &["-O", "--optimize"], "The level for the CPU. Without it -O2."),
    pass(Compiling, Nothing, &["-g", "--debug"], "Debug information for the CPU program."),
    ignore(Nothing, &["-pg", "--profile"], "Cotangent does not profile."),
    translate(Translation::HostOptions, Value, &["-Xcompiler", "--compiler-options"], "Given to Clang, which is the host compiler here."),
    translate(Translation::LinkerOptions, Value, &["-Xlinker", "--linker-options"], "Given to the linker."),
    translate(Translation::Library, Attached, &["-l", "--library"], "Linked into the CPU program; left out for CUDA's own runtime and driver, which Cotangent replaces."),
    pass(Linking, Attached, &["-L", "--library-path"], "Searched for libraries."),
    ignore(Value, &["-ccbin", "--compiler-bindir"], "Clang 19 compiles for the CPU."),
    ignore(Nothing, &["-allow-unsupported-compiler", "--allow-unsupported-compiler"], "Clang 19 compiles for the CPU."),
    ignore(Nothing, &["-forward-unknown-to-host-compiler", "--forward-unknown-to-host-compiler", "-forward-unknown-to-host-linker", "--forward-unknown-to-host-linker", "-forward-unknown-opts", "--forward-unknown-opts"], "Host flags of GCC and Clang are taken as they are, see below; others go after -Xcompiler."),
    ignore(Value, &["-cudart", "--cudart", "-cudadevrt", "--cudadevrt"], "Cotangent brings its own runtime."),
    ignore(Value, &["-arbin", "--archiver-binary", "-Xarchive", "--archive-options", "-ldir", "--libdevice-directory", "-target-dir", "--target-directory"], HOW_NVCC_WORKS),
    ignore(Value, &["-hls", "--host-linker-script"], HOW_NVCC_WORKS),
    ignore(Nothing, &["-aug-hls", "--augment-host-linker-script", "-nodlink", "--no-device-link"], HOW_NVCC_WORKS),

    // Code generation for the GPU.
    ignore(Nothing, &["-lineinfo", "--generate-line-info", "-src-in-ptx", "--source-in-ptx", "-keep-device-functions", "--keep-device-functions", "-extra-device-vectorization", "--extra-device-vectorization", "-prune", "--prune"], MACHINE_CODE),
    ignore(Value, &["-maxrregcount", "--maxrregcount", "-Xptxas", "--ptxas-options", "-Xnvlink", "--nvlink-options", "-Xnvprune", "--nvprune-options", "-Xcicc", "-dopt", "--dopt", "-opt-info", "--optimization-info", "-Ofc", "--Ofast-compile", "-e", "--entries", "-jtd", "--jump-table-density", "-apply-controls", "--apply-controls"], MACHINE_CODE),
    ignore(Value, &["-Xcudafe"], WARNINGS),
    ignore(Nothing, &["-dlto", "--dlink-time-opt", "-lto", "--lto", "-gen-opt-lto", "--gen-opt-lto", "-ewp", "--extensible-whole-program", "-no-compress", "--no-compress", "-reloc-ptx", "--relocatable-ptx", "-skip-ptx-semantics-check", "--skip-ptx-semantics-check", "-astoolspatch", "--compile-as-tools-patch"], MACHINE_CODE),
    ignore(Value, &["-static-global-template-stub", "--static-global-template-stub", "-device-entity-has-hidden-visibility", "--device-entity-has-hidden-visibility", "-device-stack-protector", "--device-stack-protector", "-compress-mode", "--compress-mode", "-fdevice-sanitize", "--fdevice-sanitize"], MACHINE_CODE),

    // How nvcc works.
    ignore(Nothing, &["-noprof", "--dont-use-profile", "-dryrun", "--dryrun", "-v", "--verbose", "-v2", "--verbose2", "-keep", "--keep", "-save-temps", "--save-temps", "-clean", "--clean-targets", "-use-local-env", "--use-local-env", "-force-cl-env-setup", "--force-cl-env-setup", "--no-align-double", "-fdevice-syntax-only", "--fdevice-syntax-only", "-concat", "--concat", "-jobserver", "--jobserver", "-res-usage", "--resource-usage", "-qpp-config", "--qpp-config", "-safety-compat", "--safety-compatibility"], HOW_NVCC_WORKS),
    ignore(Attached, &["-t", "--threads"], HOW_NVCC_WORKS),
    ignore(Value, &["-split-compile", "--split-compile", "-split-compile-extended", "--split-compile-extended", "-keep-dir", "--keep-dir", "-time", "--time", "-fdevice-time-trace", "--fdevice-time-trace", "-idp", "--input-drive-prefix", "-ddp", "--dependency-drive-prefix", "-dp", "--drive-prefix", "-frandom-seed", "--frandom-seed"], HOW_NVCC_WORKS),
    leave(Nothing, &["-code-ls", "--list-gpu-code", "-arch-ls", "--list-gpu-arch", "-h", "--help", "-V", "--version"], "Ask nvcc, or `cotangent doctor` for what was found."),

    // Warnings.
    ignore(Nothing, &["-w", "--disable-warnings"], "Cotangent reports errors only."),
    ignore(Nothing, &["-Wreorder", "--Wreorder", "-Wdefault-stream-launch", "--Wdefault-stream-launch", "-Wmissing-launch-bounds", "--Wmissing-launch-bounds", "-Wext-lambda-captures-this", "--Wext-lambda-captures-this", "-Wno-deprecated-declarations", "--Wno-deprecated-declarations", "-Wno-deprecated-gpu-targets", "--Wno-deprecated-gpu-targets", "-Wconversion", "--Wconversion"], WARNINGS),
    ignore(Value, &["-Werror", "--Werror", "-diag-error", "--diag-error", "-diag-suppress", "--diag-suppress", "-diag-warn", "--diag-warn", "-brief-diag", "--brief-diagnostics", "-fmax-errors", "--fmax-errors"], WARNINGS),
    ignore(Nothing, &["-err-no", "--display-error-number", "-no-err-no", "--no-display-error-number"], WARNINGS),

    // Flags of Clang and GCC that stand in build files beside nvcc's.
    pass(Linking, Rest, &["-Wl,"], "Given to the linker."),
    ignore(Rest, &["-W", "-pedantic"], "Cotangent reports errors only."),
    pass(Compiling, Rest, &["-f", "-m", "-g"], "For the CPU program; `-ffast-math` and its like make results differ from the GPU's."),
    pass(Compiling, Nothing, &["-pthread"], "For the CPU program."),
    ignore(Nothing, &["-rdynamic"], NO_PRODUCT),
    leave(Value, &["--cuda-path"], "Give it to Cotangent, before `--`: cotangent print --cuda-path DIR …"),
    leave(Value, &["-Xclang", "-Xcuda-ptxas", "-Xcuda-fatbinary"], "Cotangent itself tells Clang what to do."),
    leave(Nothing, &["-S", "-emit-llvm", "--cuda-device-only", "--cuda-host-only", "-nocudalib", "--no-cuda-version-check"], "Cotangent itself tells Clang what to do."),
];
