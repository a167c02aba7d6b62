//! The text of findings.

use std::path::Path;

use super::super::{Checker, Options, Site, Symbolizer, render};
use super::{DEVICE, World, allocate_filled};

fn no_symbols() -> Symbolizer {
    Symbolizer::new(Path::new("/nonexistent/prog.so"), 0, Vec::new())
}

#[test]
fn nothing_found_is_no_text() {
    assert_eq!(render(&World::new().checker, &mut no_symbols()), "");
}

#[test]
fn a_race_with_source_lines_and_the_name_of_the_allocation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prog.cu");
    let source =
        "\n    float* d_out;\n    cudaMalloc((void**)&d_out, 400);\n        out[0] = x[i];\n    float y = out[0];\n";
    std::fs::write(&path, source).unwrap();
    let name = path.to_str().unwrap();

    let mut checker = Checker::new(Options::default());
    let file = checker.file(name);
    allocate_filled(&mut checker, DEVICE, 400, Site::Line { file, line: 3 });
    let mut world = World { checker, file };
    world.launch(1, 128);
    let _ = world.write(3, DEVICE, 4);
    let _ = world.write(4, DEVICE, 4);
    let _ = world.write(5, DEVICE, 4);
    let _ = world.read(9, DEVICE, 5);
    let text = render(&world.checker, &mut no_symbols()).replace(name, "prog.cu");
    assert_eq!(
        text,
        "\
error[X0203]: race on device memory
  --> prog.cu:4  write by thread (3,0,0) of block (0,0,0)
   |     out[0] = x[i];
  --> prog.cu:4  write by thread (4,0,0) of block (0,0,0), no barrier and no __syncwarp in between
   = memory: `d_out`, 4 bytes at offset 0 of 400 allocated at prog.cu:3
   = launch: kernel<<<(1,1,1), (128,1,1)>>> at prog.cu:40
   = occurred 2 times
   = help: give each thread its own element, put `__syncthreads()` between the accesses, or use an atomic for both

error[X0203]: race on device memory
  --> prog.cu:4  write by thread (5,0,0) of block (0,0,0)
   |     out[0] = x[i];
  --> prog.cu:5  read by thread (9,0,0) of block (0,0,0), no barrier and no __syncwarp in between
   |     float y = out[0];
   = memory: `d_out`, 4 bytes at offset 0 of 400 allocated at prog.cu:3
   = launch: kernel<<<(1,1,1), (128,1,1)>>> at prog.cu:40
   = help: give each thread its own element, put `__syncthreads()` between the accesses, or use an atomic for both

check: 2 errors, 0 notes
"
    );
}

#[test]
fn without_debug_information_addresses_are_shown_and_the_reason_is_given() {
    let mut world = World::new();
    world.launch(1, 1);
    let access = super::Access {
        address: DEVICE + 400,
        size: 4,
        kind: super::AccessKind::Read,
        alignment: 4,
        site: Site::Address(0x1234),
    };
    let _ = world.checker.access(0, access);
    let text = render(&world.checker, &mut no_symbols());
    assert!(text.contains("--> address 0x1234  read of 4 bytes by thread (0,0,0) of block (0,0,0)"), "{text}");
    assert!(
        text.contains("   = memory: device memory, 4 bytes at offset 400 of 400 allocated at prog.cu:30"),
        "{text}"
    );
    assert!(text.contains("check: no source lines: cannot read /nonexistent/prog.so"), "{text}");
}
