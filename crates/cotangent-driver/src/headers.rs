//! The headers that the library carries, and their copy on disk where Clang can read them. The copy is made once,
//! in the cache folder, under a name made of the contents: an older or newer Cotangent has its own.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::error::DriverError;

/// Path below `include/` and text of every header; and the CMake package, in a folder beside them.
static HEADERS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// The headers on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headers {
    root: PathBuf,
}

impl Headers {
    /// Finds the copy, or makes it.
    pub fn materialise(environment: &Environment) -> Result<Self, DriverError> {
        let cache = environment.cache()?;
        let root = cache.join(format!("headers-{:016x}", fingerprint()));
        if !root.is_dir() {
            write_all(cache, &root)?;
        }
        Ok(Self { root })
    }

    /// The folders to search when Clang parses CUDA, in order.
    pub fn for_parsing(&self) -> [PathBuf; 3] {
        [self.root.join("parse"), self.root.join("common"), self.root.clone()]
    }

    /// The folders to search when compiling for the CPU, in order.
    pub fn for_cpu(&self) -> [PathBuf; 3] {
        [self.root.join("cpu"), self.root.join("common"), self.root.clone()]
    }

    /// The folder of the CMake package.
    pub fn cmake(&self) -> PathBuf {
        self.root.join("cmake")
    }

    /// The folder that holds them all, itself searched for those which users include. What depends on nothing but the headers may be kept beside them.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// The text of a header, by its path below `include/`.
pub(crate) fn text(path: &str) -> Option<&'static str> {
    HEADERS.iter().find(|(name, _)| *name == path).map(|(_, text)| *text)
}

fn fingerprint() -> u64 {
    let mut hasher = DefaultHasher::new();
    HEADERS.hash(&mut hasher);
    hasher.finish()
}

/// Writes into a folder of our own and renames it, so that no other process ever sees half of it.
fn write_all(cache: &Path, root: &Path) -> Result<(), DriverError> {
    fs::create_dir_all(cache).map_err(DriverError::file("make the cache folder", cache))?;
    let scratch = tempfile::Builder::new().prefix("headers-").tempdir_in(cache);
    let scratch = scratch.map_err(DriverError::file("write in the cache folder", cache))?;
    // The folders that Clang is told to search exist even if one is empty.
    for folder in ["parse", "common", "cpu"] {
        let folder = scratch.path().join(folder);
        fs::create_dir_all(&folder).map_err(DriverError::file("make", &folder))?;
    }
    for (name, text) in HEADERS {
        let path = scratch.path().join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(DriverError::file("make", folder))?;
        }
        fs::write(&path, text).map_err(DriverError::file("write", &path))?;
    }
    match fs::rename(scratch.path(), root) {
        Ok(()) => {
            // The folder has its name now and stays.
            let _ = scratch.keep();
            Ok(())
        }
        // Somebody else was faster; theirs is the same.
        Err(_) if root.is_dir() => Ok(()),
        Err(error) => Err(DriverError::file("make", root)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers_in(cache: &Path) -> Headers {
        let environment = Environment { cache: Some(cache.to_path_buf()), ..Environment::default() };
        Headers::materialise(&environment).unwrap()
    }

    #[test]
    fn the_copy_holds_every_header_and_is_made_once() {
        let cache = tempfile::tempdir().unwrap();
        let headers = headers_in(cache.path());
        for (name, text) in HEADERS {
            assert_eq!(fs::read_to_string(headers.root().join(name)).unwrap(), *text, "{name}");
        }
        fs::write(headers.root().join("mark"), "").unwrap();
        assert_eq!(headers_in(cache.path()), headers);
        assert!(headers.root().join("mark").exists(), "the copy was made again");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1, "scratch folders are left");
    }

    #[test]
    fn processes_that_race_for_the_copy_all_get_it() {
        let cache = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(headers_in(cache.path()).root().is_dir()));
            }
        });
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    }
}
