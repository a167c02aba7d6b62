//! `cotangent where`: the folders of what the command carries, for editors and build systems.

use anyhow::{Context, Result};
use cotangent_driver::headers::Headers;
use cotangent_driver::{Environment, cudart};

use crate::arguments::Place;
use crate::exit;

pub(crate) fn print(place: Place) -> Result<u8> {
    let environment = Environment::of_process();
    let folder = match place {
        Place::Include => Headers::materialise(&environment)?.root().to_path_buf(),
        Place::Cmake => Headers::materialise(&environment)?.cmake(),
        Place::Cudart => {
            let this_command = std::env::current_exe().context("cannot find this command's own file")?;
            cudart::folder(&environment, &this_command)?
        }
    };
    println!("{}", folder.display());
    Ok(exit::SUCCESS)
}
