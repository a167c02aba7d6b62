//! `cotangent where`: the folders of what the command carries, for editors and build systems.

use anyhow::Result;
use cotangent_driver::Environment;
use cotangent_driver::headers::Headers;

use crate::arguments::Place;
use crate::exit;
use crate::linked;

pub(crate) fn print(place: Place) -> Result<u8> {
    let environment = Environment::of_process();
    let folder = match place {
        Place::Include => Headers::materialise(&environment)?.root().to_path_buf(),
        Place::Cmake => Headers::materialise(&environment)?.cmake(),
        Place::Cudart => linked::library(&environment)?,
        Place::Tape => linked::tape(&environment)?,
    };
    println!("{}", folder.display());
    Ok(exit::SUCCESS)
}
