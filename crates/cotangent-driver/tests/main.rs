//! The tests of the driver, as one program: linking each by itself took most of a build.

mod compile;
mod headers;
mod manual;
mod parse;
mod precompiled;
mod read;
mod toolkit;
