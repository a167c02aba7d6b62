//! The compiler: Clang's JSON in, source text or diagnostics out.
//!
//! Pure: it reads no file, starts no process, asks neither clock nor environment. Whoever calls it does.

pub mod analysis;
pub mod clang;
pub mod diagnostic;
pub mod direct;
pub mod emit;
pub mod exposed;
pub mod index;
pub mod ir;
pub mod lower;
pub mod requests;
pub mod rules;
pub mod source;
pub mod transform;
