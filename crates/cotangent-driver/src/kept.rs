//! What Clang has made of files, kept in the cache folder for the next time: dumps, and precompiled headers.
//!
//! An entry is a folder with two files. `facts` says what was asked and which files were read, with their sizes and
//! times; `payload` is what came out. An entry that does not fit in any respect is as good as none.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::environment::Environment;

/// How much all entries together may take. The one that was not used for the longest time goes first.
const LIMIT_BYTES: u64 = 2 << 30;

/// The first line of `facts`; another layout has another one.
const LAYOUT: &str = "cotangent kept 1";

/// A place for what a question's answer was, whether or not it is there.
pub(crate) struct Kept {
    folder: PathBuf,
    /// The whole question.
    question: String,
}

/// What an answer depends on.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadFiles {
    /// The files that were read.
    pub(crate) files: Vec<PathBuf>,
    /// The folders in which they were looked for, in order.
    pub(crate) folders: Vec<PathBuf>,
}

impl Kept {
    /// The place for the answer to a question; none without a cache folder.
    pub(crate) fn new(environment: &Environment, question: String) -> Option<Kept> {
        let hash = |seed: u8| hash_of(&(seed, &question));
        let folder = folder(environment)?.join(format!("{:016x}{:016x}", hash(0), hash(1)));
        Some(Kept { folder, question })
    }

    /// The answer, if it is there, whole and still true.
    pub(crate) fn get(&self) -> Option<Vec<u8>> {
        let facts = fs::read_to_string(self.folder.join("facts")).ok()?;
        let rest = facts.strip_prefix(LAYOUT)?.strip_prefix('\n')?;
        let (checksum, rest) = rest.split_once('\n')?;
        let question = rest.strip_prefix(&*self.question)?;
        let read: ReadFiles = question.strip_prefix('\n').and_then(parse_files)?;
        if state(&read)? != question.strip_prefix('\n')? {
            return None;
        }
        let payload = fs::read(self.payload()).ok()?;
        if checksum != format!("{:016x}", hash_of(&payload)) {
            return None;
        }
        // For the order in which entries go. If it cannot be written, this one goes earlier.
        let _ = fs::File::options()
            .append(true)
            .open(self.folder.join("facts"))
            .and_then(|file| file.set_modified(SystemTime::now()));
        Some(payload)
    }

    /// The file with the answer, which is there after a `get` or `put` that succeeded.
    pub(crate) fn payload(&self) -> PathBuf {
        self.folder.join("payload")
    }

    /// What the answer depends on, as it was put.
    pub(crate) fn read_files(&self) -> Option<ReadFiles> {
        let facts = fs::read_to_string(self.folder.join("facts")).ok()?;
        let (_, rest) = facts.strip_prefix(LAYOUT)?.strip_prefix('\n')?.split_once('\n')?;
        parse_files(rest.strip_prefix(&*self.question)?.strip_prefix('\n')?)
    }

    /// Keeps an answer. Nothing is kept if a file changed since `began`, as nobody knows which text Clang saw. That it cannot
    /// be written is no error: the next one asks Clang again.
    pub(crate) fn put(&self, payload: &[u8], read: &ReadFiles, began: SystemTime) -> Option<()> {
        let root = self.folder.parent()?;
        // What lies there is ours, written a moment ago perhaps, under names made of the contents.
        let is_old = |path: &PathBuf| {
            path.starts_with(root) || path.metadata().and_then(|data| data.modified()).is_ok_and(|time| time < began)
        };
        if !read.files.iter().all(is_old) {
            return None;
        }
        fs::create_dir_all(root).ok()?;
        let scratch = tempfile::Builder::new().prefix("new-").tempdir_in(root).ok()?;
        let facts = format!("{LAYOUT}\n{:016x}\n{}\n{}", hash_of(payload), self.question, state(read)?);
        fs::write(scratch.path().join("payload"), payload).ok()?;
        fs::write(scratch.path().join("facts"), facts).ok()?;
        // Somebody who was faster may be using theirs.
        if self.get().is_some() {
            return Some(());
        }
        // A stale one.
        let _ = fs::remove_dir_all(&self.folder);
        fs::rename(scratch.path(), &self.folder).ok()?;
        let _ = scratch.keep();
        drop_oldest(root, LIMIT_BYTES, &self.folder);
        Some(())
    }
}

/// Where entries are.
pub(crate) fn folder(environment: &Environment) -> Option<PathBuf> {
    environment.cache.as_ref().map(|cache| cache.join("read"))
}

/// A number for a value.
pub(crate) fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The files and folders with all that must stay as it is: sizes, times, and which names an earlier folder has too. A
/// header that is found earlier than the one that was read changes the last.
fn state(read: &ReadFiles) -> Option<String> {
    let mut text = String::new();
    for folder in &read.folders {
        text.push_str(&format!("folder {}\n", folder.to_str()?));
    }
    for file in &read.files {
        let data = file.metadata().ok()?;
        let time = data.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos();
        // Which folder it was found by is not known, where one is in another.
        let homes = read.folders.iter().enumerate().filter_map(|(at, home)| Some((at, file.strip_prefix(home).ok()?)));
        let earlier = homes.flat_map(|(at, name)| read.folders[..at].iter().map(move |folder| folder.join(name)));
        let hidden = earlier.filter(|path| path.exists()).count();
        text.push_str(&format!("file {} {time} {hidden} {}\n", data.len(), file.to_str()?));
    }
    Some(text)
}

fn parse_files(text: &str) -> Option<ReadFiles> {
    let mut read = ReadFiles::default();
    for line in text.lines() {
        match line.split_once(' ')? {
            ("folder", path) => read.folders.push(PathBuf::from(path)),
            ("file", rest) => read.files.push(PathBuf::from(rest.splitn(4, ' ').nth(3)?)),
            _ => return None,
        }
    }
    Some(read)
}

/// Removes what was not used for the longest time, until the rest is within the limit.
fn drop_oldest(root: &Path, limit: u64, newest: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    let mut found: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let used = path.join("facts").metadata().ok()?.modified().ok()?;
            Some((used, path.join("payload").metadata().ok()?.len(), path))
        })
        .collect();
    found.sort();
    let mut total: u64 = found.iter().map(|(_, size, _)| size).sum();
    for (_, size, path) in found {
        if total <= limit {
            return;
        }
        if path != newest && fs::remove_dir_all(&path).is_ok() {
            total -= size;
        }
    }
}

/// The files in a list that Clang wrote with `-MD`: a rule for `make`.
pub(crate) fn files_of_rule(rule: &str) -> Vec<PathBuf> {
    let rule = rule.replace("\\\n", " ");
    let Some((_, list)) = rule.split_once(": ") else { return Vec::new() };
    let mut files = Vec::new();
    let mut name = String::new();
    let mut letters = list.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some(next @ (' ' | '#'))) | ('$', Some(next @ '$')) => {
                name.push(*next);
                letters.next();
            }
            (' ' | '\n', _) => files.extend((!name.is_empty()).then(|| PathBuf::from(std::mem::take(&mut name)))),
            _ => name.push(letter),
        }
    }
    files.extend((!name.is_empty()).then(|| PathBuf::from(name)));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a header in the second of two folders, and an answer that depends on it.
    fn with_answer(check: impl FnOnce(&Path, &Kept)) {
        let root = tempfile::tempdir().unwrap();
        let folders = ["", "first", "second"].map(|name| root.path().join(name));
        folders.iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
        let header = folders[2].join("a b.h");
        fs::write(&header, "int x;").unwrap();
        fs::File::options().append(true).open(&header).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let environment = Environment { cache: Some(root.path().join("cache")), ..Environment::default() };
        let kept = Kept::new(&environment, "what\nis it?".to_owned()).unwrap();
        let read = ReadFiles { files: vec![header], folders: folders.to_vec() };
        assert_eq!(kept.get(), None);
        kept.put(b"this", &read, SystemTime::now()).unwrap();
        assert_eq!(kept.get().as_deref(), Some(&b"this"[..]));
        check(root.path(), &kept);
    }

    #[test]
    fn a_changed_header_makes_it_stale() {
        with_answer(|root, kept| {
            fs::write(root.join("second/a b.h"), "int y;").unwrap();
            assert_eq!(kept.get(), None);
        });
    }

    #[test]
    fn a_header_in_an_earlier_folder_makes_it_stale() {
        with_answer(|root, kept| {
            fs::write(root.join("first/a b.h"), "int x;").unwrap();
            assert_eq!(kept.get(), None);
        });
    }

    #[test]
    fn a_damaged_answer_is_none() {
        with_answer(|_, kept| {
            fs::write(kept.payload(), "that").unwrap();
            assert_eq!(kept.get(), None);
            fs::write(kept.folder.join("facts"), "?").unwrap();
            assert_eq!(kept.get(), None);
        });
    }

    #[test]
    fn a_file_that_changed_while_clang_read_is_not_kept() {
        with_answer(|root, kept| {
            let read = ReadFiles { files: vec![root.join("second/a b.h")], folders: Vec::new() };
            assert_eq!(kept.put(b"those", &read, SystemTime::UNIX_EPOCH), None);
        });
    }

    #[test]
    fn the_oldest_goes_first() {
        with_answer(|_, kept| {
            let root = kept.folder.parent().unwrap();
            let other = root.join("other");
            fs::create_dir(&other).unwrap();
            fs::write(other.join("payload"), "12345").unwrap();
            fs::write(other.join("facts"), "").unwrap();
            drop_oldest(root, 6, &other);
            assert!(other.is_dir());
            assert_eq!(kept.get(), None);
        });
    }

    #[test]
    fn names_in_a_rule_may_have_blanks() {
        let rule = "program.o: /a/b.cu \\\n  /c\\ d/e.h /f/g$$.h\n";
        assert_eq!(files_of_rule(rule), ["/a/b.cu", "/c d/e.h", "/f/g$.h"].map(PathBuf::from));
    }
}
