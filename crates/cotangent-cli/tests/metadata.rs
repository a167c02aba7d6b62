//! What `--metadata` says of a derivative, and `--target nvrtc` beside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/grad").join(name)
}

/// The call, and the metadata if there is any.
fn grad(file: &Path, words: &[&str]) -> (Output, Option<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("metadata.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    let output = command.arg("grad").arg(file).args(words).arg("--metadata").arg(&path).output().unwrap();
    let metadata = std::fs::read(path).ok().map(|text| serde_json::from_slice(&text).unwrap());
    (output, metadata)
}

/// What a formula gives.
fn value(formula: &Value, names: &Value) -> i64 {
    let Value::Array(list) = formula else {
        return formula.as_i64().unwrap_or_else(|| names[formula.as_str().unwrap()].as_i64().unwrap());
    };
    let of = |at: usize| value(&list[at], names);
    match list[0].as_str().unwrap() {
        "?" => of(if of(1) != 0 { 2 } else { 3 }),
        "*" => (1..list.len()).map(of).product(),
        "+" => (1..list.len()).map(of).sum(),
        ">" => i64::from(of(1) > of(2)),
        other => panic!("the operation {other}"),
    }
}

#[test]
fn the_split_form_for_nvrtc_is_described() {
    let file = fixture("pure/pure_split.cu");
    let words = ["--fn", "recurrence", "--wrt", "x,a,y", "--split", "--pure", "--target", "nvrtc"];
    let (output, metadata) = grad(&file, &words);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("#include") && text.contains("extern \"C\" __global__ void recurrence_reverse("), "{text}");
    let metadata = metadata.unwrap();
    let before = |name: &str, before: &str| json!({"of": name, "name": format!("_d_{name}"), "element": "float", "before": before});
    assert_eq!(metadata["form"], "split");
    assert_eq!(metadata["adjoints"], json!([before("x", "zero"), before("a", "zero"), before("y", "cotangent")]));
    assert_eq!(metadata["read_after"], json!(["x", "a"]));
    let functions = metadata["functions"].as_array().unwrap();
    let named: Vec<_> = functions.iter().map(|function| [&function["name"], &function["does"]]).collect();
    assert_eq!(json!(named), json!([["recurrence_augmented", "forward"], ["recurrence_reverse", "reverse"]]));
    let sizes = json!({"steps": 6, "grid.x": 2, "grid.y": 1, "grid.z": 1, "block.x": 4, "block.y": 1, "block.z": 1});
    assert_eq!(value(&metadata["record"]["bytes"], &sizes), 4 * (6 + 1) * 8);
}

#[test]
fn cotangents_that_change_are_copied_and_those_of_both_begin_gradients() {
    let before = |file: &str, name: &str, words: &[&str]| {
        let (_, metadata) = grad(&fixture(file), &[&["--fn", name, "--target", "nvrtc"], words].concat());
        let adjoints = metadata.unwrap()["adjoints"].as_array().unwrap().clone();
        adjoints.iter().map(|adjoint| adjoint["before"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(before("pure/pure_stored_twice.cu", "clipped", &["--pure"]), ["zero", "copy"]);
    assert_eq!(before("pure/pure_in_place.cu", "settle", &["--pure"]), ["gradient", "zero"]);
    assert_eq!(before("pure/pure_in_place.cu", "settle", &[]), ["adjoint", "adjoint"]);
}

#[test]
fn functions_of_the_host_have_no_text_for_nvrtc() {
    let (output, metadata) = grad(&fixture("host/host_swap.cu"), &["--fn", "evolve", "--target", "nvrtc"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("error[C0201]: `evolve` is a function of the host"), "{said}");
    assert_eq!(metadata, None);
}

#[test]
fn a_record_with_a_limit_is_described() {
    let file = fixture("../../examples/operators/splats.cu");
    let (output, metadata) = grad(&file, &["--fn", "composite<float>", "--record-slots", "8"]);
    let metadata = metadata.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let names = json!({"grid.x": 2, "grid.y": 3, "grid.z": 1, "block.x": 8, "block.y": 4, "block.z": 1});
    assert_eq!(value(&metadata["record"]["bytes"], &names), 4 * 8 * 6 * 32);
}
