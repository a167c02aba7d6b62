//! Tests of the checker as a whole.
