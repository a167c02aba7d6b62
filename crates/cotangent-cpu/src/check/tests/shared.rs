//! Uninitialised shared memory.

use super::super::{AccessKind, Copy, Verdict};
use super::{DEVICE, DYNAMIC_SHARED, STATIC_SHARED, World};

fn copy(world: &mut World, thread: u32, destination: usize, source: usize, size: usize, line: u32) {
    let site = world.line(line);
    let verdict = world.checker.copy(thread, Copy { destination, source, size, site });
    assert_eq!(verdict, Verdict::Continue);
}

#[test]
fn read_before_the_first_write_of_the_block() {
    for base in [STATIC_SHARED, DYNAMIC_SHARED] {
        let mut world = World::new();
        world.launch(2, 32);
        let _ = world.write(0, base, 12);
        let _ = world.read(0, base, 13);
        world.expect(&[]);
        let _ = world.read(0, base + 4, 14);
        world.expect(&[("X0201", 14, None)]);
        // What an earlier block wrote is not there for the next.
        world.next_block(1);
        let _ = world.read(0, base, 15);
        world.expect(&[("X0201", 14, None), ("X0201", 15, None)]);
    }
}

#[test]
fn an_atomic_reads_what_it_changes() {
    let mut world = World::new();
    world.launch(1, 32);
    let _ = world.atomic(0, STATIC_SHARED, 12);
    world.expect(&[("X0201", 12, None)]);
}

#[test]
fn bytes_are_told_apart() {
    let mut world = World::new();
    world.launch(1, 32);
    let _ = world.access(0, AccessKind::Write, STATIC_SHARED + 1, 1, 12);
    let _ = world.access(0, AccessKind::Read, STATIC_SHARED + 1, 1, 13);
    world.expect(&[]);
    let _ = world.access(0, AccessKind::Read, STATIC_SHARED + 2, 1, 14);
    world.expect(&[("X0201", 14, None)]);
}

#[test]
fn one_missing_element_of_a_vector_is_found() {
    let mut world = World::new();
    world.launch(1, 32);
    for element in [0, 1, 3] {
        let _ = world.write(0, STATIC_SHARED + 4 * element, 12);
    }
    let _ = world.access(0, AccessKind::Read, STATIC_SHARED, 16, 13);
    world.expect(&[("X0201", 13, None)]);
    let _ = world.write(0, STATIC_SHARED + 8, 12);
    let _ = world.access(0, AccessKind::Read, STATIC_SHARED, 16, 14);
    world.expect(&[("X0201", 13, None)]);
}

/// `struct { char tag; int value; }` has three bytes that nobody writes.
#[test]
fn padding_is_copied_without_a_finding() {
    let mut world = World::new();
    world.launch(1, 32);
    let _ = world.access(0, AccessKind::Write, STATIC_SHARED, 1, 12);
    let _ = world.access(0, AccessKind::Write, STATIC_SHARED + 4, 4, 12);
    // As the compiler may do it: one wide load, or memcpy.
    let _ = world.access(0, AccessKind::Read, STATIC_SHARED, 8, 13);
    copy(&mut world, 0, STATIC_SHARED + 16, STATIC_SHARED, 8, 14);
    copy(&mut world, 0, DEVICE, STATIC_SHARED, 8, 15);
    world.expect(&[]);
    // The copy is as initialised as its source.
    let _ = world.access(0, AccessKind::Read, STATIC_SHARED + 16, 1, 16);
    let _ = world.access(0, AccessKind::Read, STATIC_SHARED + 20, 4, 16);
    world.expect(&[]);
    let _ = world.access(0, AccessKind::Read, STATIC_SHARED + 17, 1, 17);
    world.expect(&[("X0201", 17, None)]);
}

#[test]
fn a_copy_from_other_memory_initialises() {
    let mut world = World::new();
    world.launch(1, 32);
    copy(&mut world, 0, STATIC_SHARED, DEVICE, 16, 12);
    let _ = world.access(0, AccessKind::Read, STATIC_SHARED, 16, 13);
    world.expect(&[]);
}

#[test]
fn a_copy_out_of_bounds_is_fatal_on_either_side() {
    let mut world = World::new();
    world.launch(1, 32);
    let site = world.line(12);
    let outside = Copy { destination: STATIC_SHARED, source: DEVICE + 396, size: 8, site };
    assert_eq!(world.checker.copy(0, outside), Verdict::Fatal);
    let site = world.line(13);
    let outside = Copy { destination: DEVICE + 396, source: STATIC_SHARED, size: 8, site };
    assert_eq!(world.checker.copy(0, outside), Verdict::Fatal);
    world.expect(&[("X0101", 12, None), ("X0101", 13, None)]);
}
