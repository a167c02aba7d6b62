//! The tape library, which is installed beside the command: a folder in which compilers, pkg-config and CMake find it, and the
//! words that link a program with it if the program uses it.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::cudart::beside;
use crate::environment::Environment;
use crate::error::DriverError;
use crate::headers::Headers;

/// The libraries as cargo names them.
const SHARED: &str = "libcotangent_tape.so";
const STATIC: &str = "libcotangent_tape.a";

/// The library as linkers name it.
const NAME: &str = "cotangent_tape";

/// What the static library needs of the system's.
const SYSTEM: &str = "-lpthread -ldl -lm";

/// A folder with the library, for `-L`, and descriptions of it for pkg-config. `command` is this command's own file: the libraries are
/// installed beside it.
pub fn folder(environment: &Environment, command: &Path) -> Result<PathBuf, DriverError> {
    let shared = beside(command, SHARED).ok_or_else(|| DriverError::TapeMissing { command: command.to_path_buf() })?;
    let archive = beside(command, STATIC);
    let headers = Headers::materialise(environment)?;
    let mut hasher = DefaultHasher::new();
    (&shared, &archive, headers.root()).hash(&mut hasher);
    let cache = environment.cache()?;
    let folder = cache.join(format!("tape-{:016x}", hasher.finish()));
    if folder.is_dir() {
        return Ok(folder);
    }
    // It gets its name when it is whole, so that no other process ever sees half of it.
    let scratch = tempfile::Builder::new().prefix("tape-").tempdir_in(cache);
    let scratch = scratch.map_err(DriverError::file("write in the cache folder", cache))?;
    let link = |library: &Path, name: &str| {
        let link = scratch.path().join(name);
        symlink(library, &link).map_err(DriverError::file("make", &link))
    };
    let describe = |name: &str, libraries: &str| {
        let file = scratch.path().join(format!("{name}.pc"));
        let text = description(name, &folder, headers.root(), libraries);
        fs::write(&file, text).map_err(DriverError::file("write", &file))
    };
    link(&shared, SHARED)?;
    // The folder is none that the system searches.
    describe("cotangent-tape", &format!("-L${{libdir}} -l{NAME} -Wl,-rpath,${{libdir}}"))?;
    if let Some(archive) = archive {
        link(&archive, STATIC)?;
        // By its file: with `-l` linkers would prefer the other.
        describe("cotangent-tape-static", &format!("${{libdir}}/{STATIC} {SYSTEM}"))?;
    }
    match fs::rename(scratch.path(), &folder) {
        Ok(()) => {
            // The folder has its name now and stays.
            let _ = scratch.keep();
        }
        // Somebody else was faster; theirs is the same.
        Err(_) if folder.is_dir() => {}
        Err(error) => return Err(DriverError::file("make", &folder)(error)),
    }
    Ok(folder)
}

/// What pkg-config reads.
fn description(name: &str, libraries: &Path, headers: &Path, words: &str) -> String {
    format!(
        "libdir={}\n\
         includedir={}\n\
         \n\
         Name: {name}\n\
         Description: Storage for what a reverse sweep will want back, last in first out\n\
         Version: {}\n\
         Cflags: -I${{includedir}}\n\
         Libs: {words}\n",
        libraries.display(),
        headers.display(),
        env!("CARGO_PKG_VERSION"),
    )
}

/// Words for the linker, by way of Clang or nvcc: the library, if something that comes before them uses it.
pub fn link_words(folder: &Path) -> Vec<String> {
    let (searched, library, found) =
        (format!("-L{}", folder.display()), format!("-l{NAME}"), folder.display().to_string());
    let words = ["--push-state", "--as-needed", &searched, &library, "-rpath", &found, "--pop-state"];
    words.iter().flat_map(|word| ["-Xlinker", word]).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_has_what_is_beside_the_command() {
        let place = tempfile::tempdir().unwrap();
        let environment = Environment { cache: Some(place.path().join("cache")), ..Environment::default() };
        let command = place.path().join("cotangent");
        fs::write(&command, "").unwrap();
        let missing = folder(&environment, &command).unwrap_err();
        assert!(missing.to_string().contains("cargo build -p cotangent-tape"), "{missing}");

        let names = |folder: &Path| {
            let entries = fs::read_dir(folder).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        fs::write(place.path().join(SHARED), "shared").unwrap();
        let first = folder(&environment, &command).unwrap();
        assert_eq!(names(&first), ["cotangent-tape.pc", SHARED]);
        fs::write(place.path().join(STATIC), "static").unwrap();
        let second = folder(&environment, &command).unwrap();
        assert_eq!(names(&second), ["cotangent-tape-static.pc", "cotangent-tape.pc", STATIC, SHARED]);
        assert_eq!(fs::read_to_string(second.join(STATIC)).unwrap(), "static");
        // What is there is used again.
        assert_eq!(folder(&environment, &command).unwrap(), second);
    }
}
