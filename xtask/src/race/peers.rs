//! Other tools that take part in the race where they are installed: what a file that uses one needs.

use std::fs;
use std::path::PathBuf;

use super::cpu::sources;

/// Where the peers are, as the command line says.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Peers {
    /// The folder into which Clad is installed: `lib/clad.so` and `include/clad` are in it.
    #[arg(long, value_name = "FOLDER")]
    clad: Option<PathBuf>,
    /// Enzyme's plugin for Clang 19, `ClangEnzyme-19.so`.
    #[arg(long, value_name = "FILE")]
    enzyme: Option<PathBuf>,
}

/// One of them.
pub(super) struct Peer {
    pub(super) name: &'static str,
    /// The folder of its calls, in `xtask/race/cpu`.
    folder: &'static str,
    /// Words for Clang; none if it is not installed.
    flags: Option<Vec<String>>,
}

impl Peers {
    pub(super) fn all(&self) -> [Peer; 2] {
        let clad = self.clad.as_ref().map(|folder| {
            let plugin = folder.join("lib/clad.so");
            // Assertions in its tape would be ours: the headers that run kernels define `assert`.
            let include = folder.join("include");
            vec![format!("-fplugin={}", plugin.display()), format!("-I{}", include.display()), "-DNDEBUG".to_owned()]
        });
        let enzyme = self.enzyme.as_ref().map(|plugin| vec![format!("-fplugin={}", plugin.display())]);
        [Peer { name: "Clad", folder: "clad", flags: clad }, Peer { name: "Enzyme", folder: "enzyme", flags: enzyme }]
    }
}

impl Peer {
    /// The text that calls it for a work, with the work's own, and words for the compiler; or why there is none.
    pub(super) fn contestant(&self, work: &str) -> Result<(String, Vec<String>), String> {
        let flags = self.flags.clone().ok_or("not installed")?;
        let read = |folder: &str| {
            let path = sources().join(folder).join(format!("{work}.h"));
            fs::read_to_string(&path).map_err(|_| format!("there is no {folder}/{work}.h"))
        };
        Ok((format!("{}{}", read("primal")?, read(self.folder)?), flags))
    }
}
