//! Lists the fixtures of gradients, so that the command can carry them for `cotangent selftest`. `embedded` has links to
//! folders at the root of the workspace; `cargo package` follows them.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What is printed for a fixture lies beside it, and is not carried.
const PRINTED: [&str; 2] = [".grad.cu", ".forward.cu"];

/// The folder of those that have no gradient.
const REFUSED: &str = "refused";

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let folder = manifest.join("embedded/grad");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for feature in entries(&folder)?.into_iter().filter(|path| path.is_dir() && !path.ends_with(REFUSED)) {
        files.extend(entries(&feature)?.into_iter().filter(|path| is_fixture(path)));
    }
    files.sort_by(|one, other| one.file_stem().cmp(&other.file_stem()));
    let mut table = String::from("&[\n");
    for file in &files {
        let name = file.file_stem().expect("a file has a name").display().to_string();
        let path = file.display().to_string();
        writeln!(table, "    ({name:?}, include_str!({path:?})),").expect("strings take all text");
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    fs::write(out.join("fixtures.rs"), table)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

fn is_fixture(path: &Path) -> bool {
    let name = path.display().to_string();
    name.ends_with(".cu") && !PRINTED.iter().any(|suffix| name.ends_with(suffix))
}
