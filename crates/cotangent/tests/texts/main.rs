//! Text tests of the compiler: IR text in, IR text or facts out. No Clang, no process, seconds in total.
//!
//! `file.rs` says what a test looks like, `rooms.rs` which there are. Passes that are not public are tested by the same
//! kind of file in `src/transform/texts.rs`. `cargo xtask bless` writes what is expected anew.

mod file;
mod rooms;

use std::fs;
use std::process::ExitCode;

use cotangent::ir;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = vec![
        Trial::test("what_is_misspelt_is_an_error", || Ok(file::mistakes(&rooms::ROOMS[0])?)),
        Trial::test("every_folder_is_a_room", every_folder_is_a_room),
    ];
    for room in rooms::ROOMS {
        match file::files(room.name) {
            Ok(paths) if !paths.is_empty() => trials.extend(paths.into_iter().map(|path| {
                let name = format!("{}::{}", room.name, path.file_stem().unwrap_or_default().to_string_lossy());
                Trial::test(name, move || Ok(file::check(room, &path)?))
            })),
            Ok(_) => trials.push(Trial::test(room.name, || Err("the room is empty".into()))),
            Err(error) => trials.push(Trial::test(room.name, || Err(error.into()))),
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn every_folder_is_a_room() -> Result<(), Failed> {
    for entry in fs::read_dir(file::root())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_room = rooms::ROOMS.iter().any(|room| room.name == name) || file::INSIDE.contains(&name.as_str());
        if entry.path().is_dir() && !is_room {
            return Err(format!("`{name}` is no room, and its tests would not run").into());
        }
        if entry.path().is_file() && !name.ends_with(".rs") {
            return Err(format!("`{name}` lies in no room, and would not run").into());
        }
    }
    Ok(())
}
