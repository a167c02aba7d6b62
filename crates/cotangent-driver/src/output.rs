//! Files that the command writes for its user. One that is read by the same call is never written to, a file is written
//! as a whole or not at all, and only if its contents change, so that make does not build again what depends on it.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::DriverError;

/// A place to write to that is none of the files that are read.
#[derive(Debug, Clone)]
pub struct Output {
    path: PathBuf,
}

impl Output {
    /// Refuses a path that is one of the inputs, under whatever name, and one that is a folder.
    pub fn apart_from(path: &Path, inputs: &[&Path]) -> Result<Self, DriverError> {
        if path.is_dir() {
            return Err(DriverError::OutputIsFolder { path: path.to_path_buf() });
        }
        match inputs.iter().find(|input| is_same_file(path, input)) {
            Some(input) => {
                Err(DriverError::OutputIsInput { path: path.to_path_buf(), input: Path::new(input).to_path_buf() })
            }
            None => Ok(Self { path: path.to_path_buf() }),
        }
    }

    /// Refuses files that the input turned out to include.
    pub fn check_apart_from<'a>(&self, mut included: impl Iterator<Item = &'a Path>) -> Result<(), DriverError> {
        match included.find(|file| is_same_file(&self.path, file)) {
            Some(_) => Err(DriverError::OutputIsIncluded { path: self.path.clone() }),
            None => Ok(()),
        }
    }

    /// Writes the text, if the file does not hold it already.
    pub fn write(&self, text: &str) -> Result<(), DriverError> {
        self.try_write(text.as_bytes()).map_err(DriverError::file("write", &self.path))
    }

    fn try_write(&self, text: &[u8]) -> io::Result<()> {
        // A link stays a link: what it leads to is written.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| end_of_link(&self.path));
        let mut options = tempfile::Builder::new();
        let options = options.prefix(".cotangent-");
        let permissions = match fs::metadata(&path) {
            // A pipe, a terminal, /dev/null.
            Ok(found) if !found.is_file() => return fs::write(&path, text),
            Ok(found) => {
                if fs::read(&path).is_ok_and(|present| present == text) {
                    return Ok(());
                }
                // A file that may not be written to is not replaced either.
                fs::OpenOptions::new().write(true).open(&path)?;
                Some(found.permissions())
            }
            // As for every new file: the process's mask is applied.
            Err(_) => {
                options.permissions(fs::Permissions::from_mode(0o666));
                None
            }
        };
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        // Its own error would name a file that the user knows nothing of.
        fs::metadata(folder)?;
        let mut scratch = options.tempfile_in(folder).map_err(|error| io::Error::from(error.kind()))?;
        scratch.write_all(text)?;
        if let Some(permissions) = permissions {
            scratch.as_file().set_permissions(permissions)?;
        }
        scratch.persist(&path).map(|_| ()).map_err(|error| error.error)
    }
}

/// Whether two names lead to one file: another spelling, a link, a second name.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Where a link leads to that leads to no file yet.
fn end_of_link(path: &Path) -> PathBuf {
    match fs::read_link(path) {
        Ok(target) => path.parent().unwrap_or(Path::new("")).join(target),
        Err(_) => path.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with `input.cu`.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("input.cu");
        fs::write(&input, "mine").unwrap();
        (folder, input)
    }

    fn write(path: &Path, text: &str) -> Result<(), DriverError> {
        Output::apart_from(path, &[])?.write(text)
    }

    #[test]
    fn an_input_is_refused_under_every_name() {
        let (folder, input) = folder();
        let [link, second, new] = ["link.cu", "second.cu", "new.cu"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink(&input, &link).unwrap();
        fs::hard_link(&input, &second).unwrap();
        let spelled = folder.path().join(".").join("..").join(folder.path().file_name().unwrap()).join("input.cu");
        for path in [&input, &link, &second, &spelled] {
            let error = Output::apart_from(path, &[&input]).unwrap_err();
            assert!(matches!(error, DriverError::OutputIsInput { .. }), "{error}");
        }
        assert!(Output::apart_from(&new, &[&input]).is_ok());
        let error = Output::apart_from(folder.path(), &[&input]).unwrap_err();
        assert!(matches!(error, DriverError::OutputIsFolder { .. }), "{error}");
    }

    #[test]
    fn an_included_file_is_refused() {
        let (folder, input) = folder();
        let output = Output::apart_from(&input, &[]).unwrap();
        assert!(output.check_apart_from([folder.path().join("other").as_path()].into_iter()).is_ok());
        let error = output.check_apart_from([input.as_path()].into_iter()).unwrap_err();
        assert!(matches!(error, DriverError::OutputIsIncluded { .. }), "{error}");
    }

    #[test]
    fn a_file_with_the_same_text_is_not_touched() {
        let (_folder, file) = folder();
        let before = fs::metadata(&file).unwrap();
        write(&file, "mine").unwrap();
        let after = fs::metadata(&file).unwrap();
        assert_eq!((before.ino(), before.modified().unwrap()), (after.ino(), after.modified().unwrap()));
        write(&file, "other").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "other");
    }

    /// Whoever has the old file open reads it to its end.
    #[test]
    fn a_file_is_replaced_as_a_whole_with_its_permissions() {
        let (folder, file) = folder();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let mut open = fs::File::open(&file).unwrap();
        write(&file, "other").unwrap();
        let mut old = String::new();
        io::Read::read_to_string(&mut open, &mut old).unwrap();
        assert_eq!(old, "mine");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn links_and_devices_stay_what_they_are() {
        let (folder, file) = folder();
        let [link, dangling] = ["link", "dangling"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink("input.cu", &link).unwrap();
        std::os::unix::fs::symlink("new.cu", &dangling).unwrap();
        write(&link, "through").unwrap();
        write(&dangling, "new").unwrap();
        write(Path::new("/dev/null"), "gone").unwrap();
        assert!(link.is_symlink() && dangling.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "through");
        assert_eq!(fs::read_to_string(folder.path().join("new.cu")).unwrap(), "new");
    }

    #[test]
    fn a_place_that_is_not_there_is_named() {
        let error = write(Path::new("/no/such/folder/x.cuh"), "text").unwrap_err().to_string();
        assert!(error.starts_with("cannot write /no/such/folder/x.cuh: "), "{error}");
        assert!(!error.contains(".cotangent-"), "{error}");
    }
}
