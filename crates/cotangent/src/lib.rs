//! The compiler: Clang's JSON in, source text or diagnostics out.
