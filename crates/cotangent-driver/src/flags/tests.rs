//! What flags become, and that the table covers nvcc's own list.

use super::*;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn flags(line: &str) -> ParseFlags {
    read(&words(line)).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn error(line: &str) -> FlagError {
    read(&words(line)).expect_err(line)
}

#[test]
fn the_ways_to_write_a_value() {
    for line in ["-Ia", "-I a", "-I=a", "--include-path a", "--include-path=a"] {
        assert_eq!(flags(line).clang_args, ["-Ia"], "{line}");
    }
    for line in ["-isystem a", "-isystem=a"] {
        assert_eq!(flags(line).clang_args, ["-isystem", "a"], "{line}");
    }
    for line in ["-std=c++20", "-std c++20", "--std=c++20"] {
        assert_eq!(flags(line).clang_args, ["-std=c++20"], "{line}");
    }
    for line in ["-O3", "-O 3", "-O=3", "--optimize 3", "-O5"] {
        assert_eq!(flags(line).cpu_args, ["-O3"], "{line}");
    }
}

#[test]
fn lists_are_split_as_nvcc_splits_them() {
    assert_eq!(flags("-Ia,b").clang_args, ["-Ia", "-Ib"]);
    assert_eq!(flags(r"-DA=f(1\,2)").clang_args, ["-DA=f(1,2)"]);
    assert_eq!(flags(r#"-DA="1,2""#).clang_args, [r#"-DA="1,2""#]);
    assert_eq!(flags("-include a.h,b.h").clang_args, ["-include", "a.h", "-include", "b.h"]);
}

#[test]
fn a_whole_name_wins_over_a_prefix() {
    assert_eq!(flags("-lineinfo"), ParseFlags::default());
    assert_eq!(flags("-lm -lcudart").link_args, ["-lm"]);
    assert_eq!(flags("-gencode arch=compute_80,code=sm_80").cpu_args, [""; 0]);
    assert_eq!(flags("-g").cpu_args, ["-g"]);
    assert_eq!(flags("-m64"), ParseFlags::default());
    assert_eq!(flags("-march=native").cpu_args, ["-march=native"]);
    assert_eq!(flags("-fopenmp").cpu_args, ["-fopenmp"]);
    assert_eq!(flags("-Wl,-z,now").link_args, ["-Wl,-z,now"]);
}

#[test]
fn architectures_are_collected_once() {
    let line = "-gencode arch=compute_80,code=[sm_80,compute_80] -gencode=arch=compute_90a,code=sm_90a -arch=sm_80";
    let archs: Vec<String> = flags(line).archs.iter().map(Arch::to_string).collect();
    assert_eq!(archs, ["sm_80", "sm_90a"]);
    assert_eq!(flags("").arch().to_string(), "sm_80");
    assert_eq!(flags("-arch=native").notes.len(), 1);
}

#[test]
fn host_options_go_where_they_matter() {
    let flags = flags("-Xcompiler -Wall,-DX=1,-O3 -Xcompiler=-fopenmp -Xlinker -z,now -lm -Ldir libx.a");
    assert_eq!(flags.clang_args, ["-DX=1"]);
    assert_eq!(flags.cpu_args, ["-Wall", "-O3", "-fopenmp"]);
    assert_eq!(flags.link_args, ["-Xlinker", "-z", "-Xlinker", "now", "-lm", "-Ldir", "libx.a"]);
}

#[test]
fn macros_follow_nvcc() {
    let flags = flags("--extended-lambda --expt-relaxed-constexpr -G -rdc=true -default-stream per-thread");
    let expected = [
        "-D__CUDACC_EXTENDED_LAMBDA__",
        "-D__CUDACC_RELAXED_CONSTEXPR__",
        "-D__CUDACC_DEBUG__",
        "-D__CUDACC_RDC__",
        "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1",
    ];
    assert_eq!(flags.clang_args, expected);
}

#[test]
fn fast_math_is_set_aside_with_a_note() {
    let flags = flags("--use_fast_math");
    assert_eq!(flags.clang_args, [""; 0]);
    assert_eq!(flags.notes[0].flag, "--use_fast_math");
}

#[test]
fn refusals_name_the_flag_and_the_way_out() {
    assert!(matches!(error("--ptx"), FlagError::Refused { flag, .. } if flag == "--ptx"));
    assert!(error("--run").to_string().contains("cotangent run"));
    assert_eq!(error("-I"), FlagError::MissingValue { flag: "-I".into() });
    assert!(matches!(error("-std=c++98"), FlagError::BadValue { .. }));
    assert!(matches!(error("-rdc=maybe"), FlagError::BadValue { .. }));
    assert!(matches!(error("-x c++"), FlagError::BadValue { .. }));
    assert!(matches!(error("other.cu"), FlagError::NotAFlag { word } if word == "other.cu"));
}

#[test]
fn an_unknown_flag_is_refused_with_the_nearest() {
    for (written, meant) in [
        ("--use-fast-math", "-use_fast_math"),
        ("--relaxed-constexpr", "--expt-relaxed-constexpr"),
        ("--extended-lambdas", "--extended-lambda"),
        ("--maxregcount", "-maxrregcount"),
    ] {
        assert_eq!(error(written), FlagError::Unknown { flag: written.into(), nearest: Some(meant) });
    }
    assert!(matches!(error("--librarym"), FlagError::Unknown { .. }));
    assert!(matches!(error("--zzzzzz"), FlagError::Unknown { nearest: None, .. }));
}

#[test]
fn no_spelling_occurs_twice() {
    // A flag may share its name with the family that begins with it: `-g` and `-gdwarf-5`.
    let named = |flag: &'static Flag| flag.names.iter().map(|name| (*name, flag.takes == Takes::Rest));
    let mut names: Vec<(&str, bool)> = FLAGS.iter().flat_map(named).collect();
    names.sort_unstable();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn every_flag_of_nvcc_is_in_the_table() {
    let environment = crate::environment::Environment::of_process();
    let nvcc = crate::tools::find_nvcc(&environment).expect("nvcc is installed by `cargo xtask setup`");
    let help = std::process::Command::new(nvcc.path).arg("--help").output().unwrap();
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let mut listed = 0;
    for line in help.lines().filter(|line| line.starts_with("--")) {
        let long = line.split_whitespace().next().unwrap();
        let short = line.split_once("(-").and_then(|(_, rest)| rest.split(')').next());
        for name in std::iter::once(long.to_owned()).chain(short.map(|name| format!("-{name}"))) {
            listed += 1;
            assert!(FLAGS.iter().any(|flag| flag.names.contains(&name.as_str())), "{name} is not in the table");
        }
    }
    assert!(listed > 200, "nvcc's help lists only {listed} flags; has its form changed?");
}
