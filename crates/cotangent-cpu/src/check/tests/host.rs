//! What the host does: frees, accesses, copies, and what the executor reports itself.

use super::super::{Access, AccessKind, Actor, Code, Event, Side, Space, Verdict};
use super::{DEVICE, HOST, World};

fn host(world: &mut World, kind: AccessKind, address: usize, line: u32) -> Verdict {
    let site = world.line(line);
    world.checker.host_access(Access { address, size: 4, kind, alignment: 4, site })
}

fn transfer(world: &mut World, side: Side, address: usize, size: usize, line: u32) -> Verdict {
    let site = world.line(line);
    world.checker.transfer(side, Access { address, size, kind: AccessKind::Read, alignment: 1, site })
}

#[test]
fn double_free_and_free_of_something_else() {
    let mut world = World::new();
    let [first, second, inside, unknown] = [50, 51, 52, 53].map(|line| world.line(line));
    world.checker.symbol(HOST, 16, "table", Space::Device);
    world.checker.allocate(DEVICE + 0x1000, 64, Space::Managed, first);
    assert_eq!(world.checker.free(0, first), Verdict::Continue);
    assert_eq!(world.checker.free(DEVICE, first), Verdict::Continue);
    world.expect(&[]);
    assert_eq!(world.checker.free(DEVICE, second), Verdict::Fatal);
    assert_eq!(world.checker.free(DEVICE + 0x1010, inside), Verdict::Fatal);
    assert_eq!(world.checker.free(HOST + 0x1000, unknown), Verdict::Fatal);
    world.expect(&[("X0105", 51, Some(50)), ("X0106", 52, None), ("X0106", 53, None)]);
    assert_eq!(world.checker.free(DEVICE + 0x1000, first), Verdict::Continue);
    assert_eq!(world.checker.free(HOST, first), Verdict::Fatal, "a variable cannot be freed");
}

#[test]
fn the_host_may_touch_its_own_and_managed_memory_only() {
    let mut world = World::new();
    let site = world.line(31);
    world.checker.allocate(DEVICE + 0x1000, 64, Space::Managed, site);
    world.checker.symbol(DEVICE + 0x2000, 64, "counter", Space::Device);
    assert_eq!(host(&mut world, AccessKind::Write, HOST, 12), Verdict::Continue);
    assert_eq!(host(&mut world, AccessKind::Write, DEVICE + 0x800, 12), Verdict::Continue);
    assert_eq!(host(&mut world, AccessKind::Write, DEVICE + 0x1000, 12), Verdict::Continue);
    world.expect(&[]);
    assert_eq!(host(&mut world, AccessKind::Read, DEVICE, 13), Verdict::Fatal);
    assert_eq!(host(&mut world, AccessKind::Read, DEVICE + 0x2000, 14), Verdict::Fatal);
    world.expect(&[("X0104", 13, None), ("X0104", 14, None)]);
    let site = world.line(50);
    assert_eq!(world.checker.free(DEVICE + 0x1000, site), Verdict::Continue);
    assert_eq!(host(&mut world, AccessKind::Read, DEVICE + 0x1000, 15), Verdict::Fatal);
    assert_eq!(world.codes(), ["X0104", "X0104", "X0102"]);
    assert_eq!(world.checker.findings().list()[2].primary.actor, Actor::Host);
}

#[test]
fn copies_stay_in_their_allocation_and_on_their_side() {
    let mut world = World::new();
    assert_eq!(transfer(&mut world, Side::Device, DEVICE, 400, 12), Verdict::Continue);
    assert_eq!(transfer(&mut world, Side::Host, HOST, 400, 12), Verdict::Continue);
    assert_eq!(transfer(&mut world, Side::Device, HOST, 0, 12), Verdict::Continue);
    world.expect(&[]);
    assert_eq!(transfer(&mut world, Side::Device, DEVICE + 4, 400, 13), Verdict::Fatal);
    assert_eq!(transfer(&mut world, Side::Device, HOST, 400, 14), Verdict::Fatal);
    assert_eq!(transfer(&mut world, Side::Host, DEVICE, 400, 15), Verdict::Fatal);
    world.expect(&[("X0101", 13, None), ("X0103", 14, None), ("X0104", 15, None)]);
}

#[test]
fn what_the_executor_reports_is_deduplicated_and_carries_the_launch() {
    let mut world = World::new();
    world.launch(1, 64);
    for _ in 0..3 {
        let event = |world: &World, line, thread| Event {
            site: world.line(line),
            what: "waits at __syncthreads()".to_owned(),
            actor: world.checker.actor(thread),
            remark: String::new(),
        };
        let (first, second) = (event(&world, 12, 0), event(&world, 15, 33));
        world.checker.report(Code::DivergentBarrier, None, first, Some(second));
    }
    let event =
        Event { site: world.line(12), what: "waits".to_owned(), actor: world.checker.actor(0), remark: String::new() };
    world.checker.report(Code::ReturnedThreads, Some("3 threads have returned".to_owned()), event, None);
    world.expect(&[("X0301", 12, Some(15)), ("X0303", 12, None)]);
    let findings = world.checker.findings();
    assert_eq!(findings.list()[0].count, 3);
    assert_eq!(findings.list()[0].launch.as_ref().unwrap().kernel, "kernel");
    assert_eq!(findings.error_count(), 1, "a note is no error");
}
