//! Races by hand: each kind found, and not found once it is corrected.

use std::cell::Cell;

use super::super::{AccessKind, Actor, Options, Site};
use super::{DEVICE, STATIC_SHARED, World};

thread_local! {
    /// What the one element holds that is looked at.
    static ELEMENT: Cell<u32> = const { Cell::new(0) };
}

/// Threads 3, 4 and 5 store these values to one element, unordered.
fn stores_of(values: [u32; 3]) -> World {
    let peek = |_| ELEMENT.get().to_ne_bytes().to_vec();
    let mut world = World::with(Options { peek: Some(peek), ..Options::default() });
    world.launch(1, 128);
    for (thread, value) in (3..).zip(values) {
        let _ = world.write(thread, DEVICE, 10 + thread);
        ELEMENT.set(value);
    }
    world.checker.end_launch();
    world
}

#[test]
fn stores_of_the_same_value_are_a_note() {
    let world = stores_of([1, 1, 1]);
    world.expect(&[("X0210", 13, Some(14)), ("X0210", 14, Some(15))]);
    assert_eq!(world.checker.findings().error_count(), 0);
}

#[test]
fn stores_of_other_values_are_races_wherever_they_stand() {
    stores_of([1, 1, 2]).expect(&[("X0210", 13, Some(14)), ("X0203", 14, Some(15))]);
    stores_of([2, 1, 1]).expect(&[("X0203", 13, Some(14)), ("X0210", 14, Some(15))]);
}

#[test]
fn a_read_beside_a_store_of_the_same_value_is_a_race() {
    let peek = |_| vec![1, 0, 0, 0];
    let mut world = World::with(Options { peek: Some(peek), ..Options::default() });
    world.launch(1, 128);
    let _ = world.write(3, DEVICE, 12);
    let _ = world.read(4, DEVICE, 13);
    world.expect(&[("X0203", 12, Some(13))]);
}

#[test]
fn two_threads_write_one_element() {
    let mut world = World::new();
    world.launch(1, 128);
    let _ = world.write(3, DEVICE, 12);
    let _ = world.write(4, DEVICE, 12);
    world.expect(&[("X0203", 12, Some(12))]);
    let finding = &world.checker.findings().list()[0];
    assert_eq!(finding.primary.actor, Actor::Thread { block: [0; 3], thread: [3, 0, 0] });
    assert_eq!(finding.secondary.as_ref().unwrap().actor, Actor::Thread { block: [0; 3], thread: [4, 0, 0] });
    assert_eq!(finding.memory.as_ref().unwrap().allocated, world.line(30));
}

#[test]
fn each_thread_its_own_element_is_no_race() {
    let mut world = World::new();
    world.launch(2, 32);
    for block in 0..2 {
        for thread in 0..32 {
            let address = DEVICE + 4 * (block * 32 + thread) as usize;
            let _ = world.read(thread, address, 11);
            let _ = world.write(thread, address, 12);
        }
        world.next_block(1);
    }
    world.expect(&[]);
}

#[test]
fn a_barrier_orders_and_its_absence_is_a_race_on_shared_memory() {
    for with_barrier in [true, false] {
        let mut world = World::new();
        world.launch(1, 64);
        let _ = world.write(0, STATIC_SHARED, 12);
        if with_barrier {
            world.checker.barrier();
        }
        let _ = world.read(40, STATIC_SHARED, 13);
        let expected: &[_] = if with_barrier { &[] } else { &[("X0202", 12, Some(13))] };
        world.expect(expected);
    }
}

#[test]
fn a_write_after_many_readers_is_caught_whoever_writes() {
    for writer in [0, 1, 31, 40] {
        let mut world = World::new();
        world.launch(1, 64);
        for thread in 0..64 {
            let _ = world.read(thread, DEVICE, 12);
        }
        let _ = world.write(writer, DEVICE, 13);
        world.expect(&[("X0203", 12, Some(13))]);
    }
}

#[test]
fn syncwarp_orders_the_lanes_of_its_mask_only() {
    for (mask, raced) in [(u32::MAX, false), (0x3, false), (0x5, true), (0, true)] {
        let mut world = World::new();
        world.launch(1, 32);
        let _ = world.write(0, STATIC_SHARED, 12);
        world.checker.warp_sync(0, mask);
        let _ = world.read(1, STATIC_SHARED, 13);
        assert_eq!(world.codes(), if raced { vec!["X0202"] } else { vec![] }, "mask {mask:#x}");
    }
}

#[test]
fn syncwarp_of_half_a_warp_leaves_the_readers_of_the_other_half() {
    let mut world = World::new();
    world.launch(1, 32);
    for thread in 0..32 {
        let _ = world.read(thread, DEVICE, 12);
    }
    world.checker.warp_sync(0, 0xffff);
    let _ = world.write(0, DEVICE, 13);
    world.expect(&[("X0203", 12, Some(13))]);
    let other = world.checker.findings().list()[0].primary.actor;
    assert_eq!(other, Actor::Thread { block: [0; 3], thread: [16, 0, 0] });
}

#[test]
fn syncwarp_does_not_order_other_warps() {
    let mut world = World::new();
    world.launch(1, 64);
    let _ = world.write(0, DEVICE, 12);
    world.checker.warp_sync(0, u32::MAX);
    world.checker.warp_sync(1, u32::MAX);
    let _ = world.read(32, DEVICE, 13);
    world.expect(&[("X0203", 12, Some(13))]);
}

#[test]
fn atomics_race_with_plain_accesses_but_not_with_each_other() {
    let mut world = World::new();
    world.launch(1, 64);
    for thread in 0..64 {
        let _ = world.atomic(thread, DEVICE, 12);
    }
    world.expect(&[]);
    let _ = world.read(5, DEVICE, 13);
    world.expect(&[("X0203", 12, Some(13))]);
    let _ = world.write(5, DEVICE + 4, 14);
    let _ = world.atomic(6, DEVICE + 4, 15);
    world.expect(&[("X0203", 12, Some(13)), ("X0203", 14, Some(15))]);
}

#[test]
fn blocks_that_write_the_same_element() {
    let mut world = World::new();
    world.launch(2, 32);
    let _ = world.write(0, DEVICE, 12);
    world.checker.barrier();
    world.next_block(1);
    let _ = world.write(0, DEVICE, 12);
    world.expect(&[("X0204", 12, Some(12))]);
    let finding = &world.checker.findings().list()[0];
    assert_eq!(finding.primary.actor, Actor::Thread { block: [0, 0, 0], thread: [0; 3] });
    assert_eq!(finding.secondary.as_ref().unwrap().actor, Actor::Thread { block: [1, 0, 0], thread: [0; 3] });
}

#[test]
fn a_block_that_reads_what_another_writes_in_whichever_order_they_run() {
    for writer_first in [true, false] {
        let mut world = World::new();
        world.launch(2, 32);
        let access = |world: &mut World, write: bool| {
            let _ = if write { world.write(0, DEVICE, 12) } else { world.read(0, DEVICE, 13) };
        };
        access(&mut world, writer_first);
        world.next_block(1);
        access(&mut world, !writer_first);
        assert_eq!(world.codes(), ["X0205"]);
    }
}

#[test]
fn atomics_of_all_blocks_are_fine_but_a_plain_read_of_the_sum_is_not() {
    let mut world = World::new();
    world.launch(2, 32);
    let _ = world.atomic(0, DEVICE, 12);
    world.next_block(1);
    let _ = world.atomic(0, DEVICE, 12);
    world.expect(&[]);
    world.checker.barrier();
    let _ = world.read(0, DEVICE, 13);
    world.expect(&[("X0205", 12, Some(13))]);
}

#[test]
fn launches_are_ordered() {
    let mut world = World::new();
    for _ in 0..3 {
        world.launch(1, 32);
        let _ = world.write(0, DEVICE, 12);
        world.checker.end_launch();
        world.launch(1, 32);
        let _ = world.read(1, DEVICE, 13);
        world.checker.end_launch();
    }
    world.expect(&[]);
}

#[test]
fn shared_memory_of_different_blocks_is_different_memory() {
    let mut world = World::new();
    world.launch(2, 32);
    let _ = world.write(0, STATIC_SHARED, 12);
    world.next_block(1);
    let _ = world.write(1, STATIC_SHARED, 12);
    world.expect(&[]);
}

#[test]
fn neighbouring_bytes_are_no_race_even_after_the_word_was_used_whole() {
    let mut world = World::new();
    world.launch(1, 32);
    let _ = world.write(0, DEVICE, 11);
    world.checker.barrier();
    for thread in 0..4 {
        let _ = world.access(thread, AccessKind::Write, DEVICE + thread as usize, 1, 12);
    }
    world.expect(&[]);
    let _ = world.access(5, AccessKind::Read, DEVICE, 4, 13);
    world.expect(&[("X0203", 12, Some(13))]);
}

#[test]
fn a_wide_access_is_compared_in_all_its_parts() {
    let mut world = World::new();
    world.launch(1, 32);
    let _ = world.write(0, DEVICE + 12, 12);
    let _ = world.access(1, AccessKind::Read, DEVICE, 16, 13);
    world.expect(&[("X0203", 12, Some(13))]);
}

#[test]
fn repeated_findings_are_counted_and_the_order_of_a_pair_does_not_matter() {
    let mut world = World::new();
    world.launch(1, 32);
    for element in 0..10 {
        let (first, second) = if element % 2 == 0 { (12, 13) } else { (13, 12) };
        let _ = world.write(0, DEVICE + 4 * element, first);
        let _ = world.write(1, DEVICE + 4 * element, second);
    }
    world.expect(&[("X0203", 12, Some(13))]);
    assert_eq!(world.checker.findings().list()[0].count, 10);
}

#[test]
fn the_read_only_cache_conflicts_with_every_write_of_the_launch() {
    for is_write_first in [true, false] {
        let mut world = World::new();
        world.launch(1, 64);
        for (position, is_write) in [is_write_first, !is_write_first].into_iter().enumerate() {
            let kind = if is_write { AccessKind::Write } else { AccessKind::CachedRead };
            let _ = world.access(0, kind, DEVICE, 4, 12 + position as u32);
            world.checker.barrier();
        }
        world.expect(&[("X0209", 12, Some(13))]);
    }
    let mut world = World::new();
    world.launch(1, 64);
    let _ = world.write(0, DEVICE, 12);
    world.checker.end_launch();
    world.launch(1, 64);
    let _ = world.access(1, AccessKind::CachedRead, DEVICE, 4, 13);
    let _ = world.read(2, DEVICE, 14);
    world.expect(&[]);
}

#[test]
fn coordinates_are_those_of_the_launch() {
    let mut world = World::new();
    let site = Site::Unknown;
    world.checker.begin_launch("kernel", [2, 3, 4], [4, 2, 3], site);
    world.block(0);
    world.checker.begin_block([1, 2, 3], super::SharedMemory::default());
    assert_eq!(world.checker.actor(4 * 2 * 2 + 4 + 3), Actor::Thread { block: [1, 2, 3], thread: [3, 1, 2] });
}

#[test]
fn shadow_memory_above_the_limit_is_given_back_between_launches() {
    let mut world = World::new();
    world.checker.options.shadow_limit = 0;
    for _ in 0..3 {
        world.launch(1, 32);
        let _ = world.write(0, DEVICE, 12);
        let _ = world.write(1, DEVICE, 13);
        world.checker.end_launch();
    }
    world.expect(&[("X0203", 12, Some(13))]);
    assert_eq!(world.checker.findings().list()[0].count, 3);
}
