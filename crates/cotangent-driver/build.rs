//! Lists the headers of `include/` and the CMake package, so that the library can carry them: the command works after
//! `cargo install` alone. Both here are links to folders at the root of the workspace; `cargo package` follows them.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let mut table = String::from("&[\n");
    for (folder, base) in [("include", "include"), ("cmake", "")] {
        let folder = manifest.join(folder);
        println!("cargo:rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        list(&folder, &mut files)?;
        files.sort();
        for file in &files {
            let name = file.strip_prefix(manifest.join(base)).expect("listed from there").display().to_string();
            let path = file.display().to_string();
            writeln!(table, "    ({name:?}, include_str!({path:?})),").expect("strings take all text");
        }
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    fs::write(out.join("headers.rs"), table)
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
