//! The tape library: stores what a reverse sweep will want back, last in first out.
