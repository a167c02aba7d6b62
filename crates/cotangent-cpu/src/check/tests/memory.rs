//! Accesses of kernels to addresses that they may not use.

use super::super::{Access, AccessKind, Actor, Space, Verdict};
use super::{DEVICE, DYNAMIC_SHARED, HOST, STACK, World, allocate_filled};

#[test]
fn inside_the_allocation_is_fine_and_one_past_it_is_out_of_bounds() {
    let mut world = World::new();
    world.launch(1, 128);
    assert_eq!(world.read(99, DEVICE + 396, 12), Verdict::Continue);
    world.expect(&[]);
    assert_eq!(world.read(100, DEVICE + 400, 12), Verdict::Fatal);
    assert_eq!(world.read(100, DEVICE - 4, 13), Verdict::Fatal);
    // The last byte of eight is outside.
    assert_eq!(world.access(0, AccessKind::Write, DEVICE + 396 - 4, 16, 14), Verdict::Fatal);
    world.expect(&[("X0101", 12, None), ("X0101", 13, None), ("X0101", 14, None)]);
    let findings = world.checker.findings().list();
    let offsets: Vec<i64> = findings.iter().map(|it| it.memory.as_ref().unwrap().bytes.start).collect();
    assert_eq!(offsets, [400, -4, 392]);
    assert_eq!(findings[0].primary.actor, Actor::Thread { block: [0; 3], thread: [100, 0, 0] });
    assert_eq!(findings[0].message, "read of device memory out of bounds");
}

#[test]
fn far_outside_is_out_of_bounds_only_in_the_arena() {
    let mut world = World::new();
    world.launch(1, 1);
    assert_eq!(world.read(0, DEVICE + 0x8000, 12), Verdict::Fatal);
    world.checker.arena(DEVICE..DEVICE + 0x1_0000);
    assert_eq!(world.read(0, DEVICE + 0x8000, 13), Verdict::Fatal);
    world.expect(&[("X0103", 12, None), ("X0101", 13, None)]);
}

#[test]
fn an_empty_allocation_is_out_of_bounds_everywhere() {
    let mut world = World::new();
    let site = world.line(31);
    world.checker.allocate(DEVICE + 0x1000, 0, Space::Device, site);
    world.launch(1, 1);
    assert_eq!(world.read(0, DEVICE + 0x1000, 12), Verdict::Fatal);
    world.expect(&[("X0101", 12, None)]);
    assert_eq!(world.checker.findings().list()[0].memory.as_ref().unwrap().allocated, site);
    world.checker.end_launch();
    let site = world.line(50);
    assert_eq!(world.checker.free(DEVICE + 0x1000, site), Verdict::Continue);
}

#[test]
fn use_after_free_names_the_free() {
    let mut world = World::new();
    world.launch(1, 1);
    assert_eq!(world.read(0, DEVICE, 12), Verdict::Continue);
    world.checker.end_launch();
    let site = world.line(50);
    assert_eq!(world.checker.free(DEVICE, site), Verdict::Continue);
    world.launch(1, 1);
    assert_eq!(world.read(0, DEVICE, 12), Verdict::Fatal);
    world.expect(&[("X0102", 12, Some(50))]);
}

#[test]
fn memory_handed_out_again_is_usable() {
    let mut world = World::new();
    let site = world.line(50);
    assert_eq!(world.checker.free(DEVICE, site), Verdict::Continue);
    allocate_filled(&mut world.checker, DEVICE - 8, 16, site);
    world.launch(1, 1);
    assert_eq!(world.read(0, DEVICE, 12), Verdict::Continue);
    assert_eq!(world.read(0, DEVICE + 8, 13), Verdict::Fatal);
    world.expect(&[("X0101", 13, None)]);
}

#[test]
fn host_and_null_pointers() {
    let mut world = World::new();
    world.launch(1, 1);
    assert_eq!(world.read(0, HOST, 12), Verdict::Fatal);
    assert_eq!(world.write(0, 16, 13), Verdict::Fatal);
    world.expect(&[("X0103", 12, None), ("X0108", 13, None)]);
}

#[test]
fn managed_and_pinned_memory_and_symbols_are_no_host_memory() {
    let mut world = World::new();
    let site = world.line(31);
    world.checker.allocate(HOST, 16, Space::Managed, site);
    world.checker.allocate(HOST + 64, 16, Space::Pinned, site);
    world.checker.symbol(HOST + 128, 16, "table", Space::Device);
    world.launch(1, 1);
    for (offset, line) in [(0, 12), (64, 13), (128, 14)] {
        assert_eq!(world.write(0, HOST + offset, line), Verdict::Continue);
    }
    world.expect(&[]);
    assert_eq!(world.write(0, HOST + 144, 15), Verdict::Fatal);
    let note = world.checker.findings().list()[0].memory.clone().unwrap();
    assert_eq!((note.name.as_deref(), note.bytes.start), (Some("table"), 16));
}

#[test]
fn constant_data_may_be_read_only() {
    let mut world = World::new();
    world.checker.readonly(HOST..HOST + 4096);
    world.checker.symbol(HOST + 64, 16, "coefficients", Space::Constant);
    world.launch(1, 1);
    for address in [HOST, HOST + 64] {
        assert_eq!(world.read(0, address, 12), Verdict::Continue);
        assert_eq!(world.write(0, address, 13), Verdict::Fatal);
    }
    world.expect(&[("X0109", 13, None)]);
    assert_eq!(world.checker.findings().list()[0].count, 2);
}

#[test]
fn misaligned_unless_the_compiler_knows() {
    let mut world = World::new();
    world.launch(1, 1);
    assert_eq!(world.access(0, AccessKind::Read, DEVICE + 16, 16, 12), Verdict::Continue);
    assert_eq!(world.access(0, AccessKind::Read, DEVICE + 4, 16, 13), Verdict::Fatal);
    let site = world.line(14);
    let access = Access { address: DEVICE + 4, size: 16, kind: AccessKind::Read, alignment: 1, site };
    assert_eq!(world.checker.access(0, access), Verdict::Continue);
    world.expect(&[("X0107", 13, None)]);
}

#[test]
fn the_own_stack_and_ignored_memory_are_free() {
    let mut world = World::new();
    world.checker.ignore(HOST..HOST + 8);
    world.launch(1, 2);
    for thread in 0..2 {
        assert_eq!(world.write(thread, STACK + 128, 12), Verdict::Continue);
        assert_eq!(world.write(thread, HOST + 4, 13), Verdict::Continue);
    }
    world.expect(&[]);
    // The stack of another coroutine is not this thread's local memory.
    world.checker.begin_thread(STACK + 8192..STACK + 12288);
    assert_eq!(world.write(1, STACK + 128, 14), Verdict::Fatal);
    world.expect(&[("X0103", 14, None)]);
}

#[test]
fn beyond_the_dynamic_shared_memory_of_the_launch() {
    let mut world = World::new();
    world.launch(1, 32);
    assert_eq!(world.write(0, DYNAMIC_SHARED + 60, 12), Verdict::Continue);
    assert_eq!(world.write(0, DYNAMIC_SHARED + 512, 13), Verdict::Fatal);
    world.expect(&[("X0101", 13, None)]);
    assert_eq!(world.checker.findings().list()[0].message, "write of dynamic shared memory out of bounds");
}

#[test]
fn an_allocation_in_a_small_table_is_found_among_many() {
    let mut world = World::new();
    for index in (0..1000).rev() {
        let site = world.line(index);
        allocate_filled(&mut world.checker, HOST + index as usize * 0x100, 0x80, site);
    }
    world.launch(1, 1);
    for index in 0..1000 {
        assert_eq!(world.read(0, HOST + index * 0x100 + 0x7c, 12), Verdict::Continue);
        assert_eq!(world.read(0, HOST + index * 0x100 + 0x80, index as u32 + 1), Verdict::Fatal);
    }
    let notes = world.checker.findings().list().iter().map(|it| it.memory.as_ref().unwrap().allocated);
    assert!(notes.enumerate().all(|(index, site)| site == world.line(index as u32)));
    assert_eq!(world.checker.findings().list().len(), 100);
    assert_eq!(world.checker.findings().beyond_limit(), 900);
    assert_eq!(world.checker.findings().error_count(), 1000);
}

#[test]
fn device_memory_is_read_only_after_something_wrote_it() {
    let mut world = World::new();
    let (base, site) = (DEVICE + 0x1000, world.line(31));
    world.checker.allocate(base, 64, Space::Device, site);
    world.launch(1, 32);
    let _ = world.write(0, base, 12);
    let _ = world.read(0, base, 13);
    let _ = world.read(0, base + 4, 14);
    let _ = world.atomic(0, base + 8, 15);
    world.expect(&[("X0208", 14, None), ("X0208", 15, None)]);
}

#[test]
fn variables_and_managed_memory_have_a_content() {
    let mut world = World::new();
    let (base, site) = (DEVICE + 0x1000, world.line(31));
    world.checker.allocate(base, 64, Space::Managed, site);
    world.checker.symbol(base + 0x100, 64, "table", Space::Device);
    world.launch(1, 32);
    let _ = world.read(0, base, 12);
    let _ = world.read(0, base + 0x100, 13);
    world.expect(&[]);
}
