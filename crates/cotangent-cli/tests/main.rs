//! The tests of the command, as one program: linking each by itself took most of a build.

mod against;
mod alone;
mod api;
mod cc;
mod check_command;
mod checkpoints;
mod cmake;
mod command;
mod deterministic;
mod ending;
mod examples;
mod large;
mod long_functions;
mod manual;
mod metadata;
mod nvcc;
mod operators;
mod pages;
mod printed;
mod random;
mod rules;
mod selftest;
mod several_files;
mod tape;
mod tour;
mod trust;
