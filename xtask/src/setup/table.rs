//! What `cargo xtask setup` installs from Debian and with rustup, and how it is seen to be there already. `tidy/needs.rs`
//! compares this table with what tests and steps use, so that the gate also passes on a machine where only setup was run.

use Kind::{File, Library, Program, PythonModule, Sanitizer};

/// What kind of thing a test or a step uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A program, found on `PATH`.
    Program,
    /// What Clang links for this `-fsanitize=`.
    Sanitizer,
    /// A library that is linked with `-l`.
    Library,
    /// A module of Python's own that Debian packages apart.
    PythonModule,
    /// A file that no program is named after.
    File,
    /// A subcommand of cargo.
    CargoSubcommand,
}

/// A Debian package.
pub(crate) struct Package {
    pub(crate) name: &'static str,
    /// What it is wanted for, itself or through packages that it needs. It is installed if one of them is missing.
    pub(crate) brings: &'static [(Kind, &'static str)],
}

/// What is wanted of the system. Those that every Debian has are here too, so that one list has all.
pub(crate) const PACKAGES: &[Package] = &[
    Package { name: "clang-19", brings: &[(Program, "clang-19"), (Program, "clang++-19")] },
    // Clang's package only recommends it.
    Package {
        name: "libclang-rt-19-dev",
        brings: &[(Sanitizer, "address"), (Sanitizer, "undefined"), (Sanitizer, "alignment"), (Sanitizer, "thread")],
    },
    // The linker of Rust, the host compiler of nvcc, and the C and C++ libraries that Clang uses.
    Package {
        name: "g++",
        brings: &[
            (Program, "g++"),
            (Program, "gcc"),
            (Program, "ld.bfd"),
            (Library, "pthread"),
            (Library, "dl"),
            (Library, "m"),
        ],
    },
    Package { name: "python3-venv", brings: &[(Program, "python3"), (PythonModule, "ensurepip")] },
    Package { name: "git", brings: &[(Program, "git")] },
    Package { name: "cmake", brings: &[(Program, "cmake")] },
    Package { name: "make", brings: &[(Program, "make")] },
    Package { name: "pkg-config", brings: &[(Program, "pkg-config")] },
    Package { name: "curl", brings: &[(Program, "curl")] },
    Package { name: "ca-certificates", brings: &[(File, "/etc/ssl/certs/ca-certificates.crt")] },
    Package { name: "tar", brings: &[(Program, "tar")] },
    Package { name: "bash", brings: &[(Program, "bash")] },
    Package {
        name: "coreutils",
        brings: &[(Program, "id"), (Program, "env"), (Program, "mkfifo"), (Program, "timeout"), (Program, "date")],
    },
    Package { name: "procps", brings: &[(Program, "kill")] },
];

/// Subcommands of cargo that are not in every installation, and what brings them: a component of rustup, or a package.
pub(crate) const CARGO_SUBCOMMANDS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy"), ("nextest", NEXTEST)];

/// The test runner's package.
pub(crate) const NEXTEST: &str = "cargo-nextest";

/// Programs that are looked for and may be missing, and why that is no harm.
pub(crate) const OPTIONAL: &[(&str, &str)] = &[
    ("apt-get", "without it setup says what to install by hand"),
    ("cargo", "whoever runs setup has it"),
    ("cargo-deny", "the gate leaves its step out"),
    ("cargo-nextest", "setup installs it from its own site, or builds it"),
    ("clang++", "another name for Clang 19, tried after `clang++-19`"),
    ("date", "every Unix has it, and only a page of figures asks"),
    ("nvcc", "setup installs it from PyPI, into the cache"),
    ("nvidia-smi", "without it there is no GPU"),
    ("rustup", "without it setup says which components to install by hand"),
];
