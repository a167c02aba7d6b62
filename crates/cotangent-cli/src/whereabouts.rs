//! `cotangent where`: the folders of what the command carries, for editors and build systems.

use anyhow::Result;
use cotangent_driver::Environment;
use cotangent_driver::headers::Headers;

use crate::arguments::Place;
use crate::exit;

pub(crate) fn print(place: Place) -> Result<u8> {
    let headers = Headers::materialise(&Environment::of_process())?;
    let folder = match place {
        Place::Include => headers.root().to_path_buf(),
        Place::Cmake => headers.cmake(),
    };
    println!("{}", folder.display());
    Ok(exit::SUCCESS)
}
