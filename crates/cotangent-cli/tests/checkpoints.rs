//! Loops that are run again from checkpoints: the same bits whatever the budget, as many steps as the schedule's formula says,
//! and errors instead of wrong numbers.

use std::fs;
use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use cotangent_tape::schedule::Revolve;

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checkpoints").join(name)
}

/// A program whose derivative is printed with fixed orders of additions, in a folder of its own.
struct Printed {
    name: &'static str,
    folder: tempfile::TempDir,
    has_checkpoints: bool,
}

/// What a run has said.
#[derive(Debug, PartialEq)]
struct Said {
    bits: String,
    total: String,
    run: Option<Run>,
}

#[derive(Debug, PartialEq, Clone, Copy)]
struct Run {
    steps: u128,
    state_bytes: usize,
    in_memory: usize,
    pinned: usize,
    on_disk: usize,
}

impl Printed {
    fn new(name: &'static str, wrt: &str, has_checkpoints: bool) -> Printed {
        Printed::of(name, &["--fn", name, "--wrt", wrt, "--deterministic"], has_checkpoints)
    }

    fn of(name: &'static str, words: &[&str], has_checkpoints: bool) -> Printed {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
        command.arg("grad").arg(program(&format!("{name}.cu"))).args(words);
        command.args(has_checkpoints.then_some("--checkpoint")).arg("-o").arg(folder.path().join("derivative.cu"));
        succeeds(&mut command);
        for file in [format!("{name}_main.cu"), "said.hpp".to_owned()] {
            fs::copy(program(&file), folder.path().join(&file)).unwrap();
        }
        Printed { name, folder, has_checkpoints }
    }

    fn output(&self, args: &[&str], environment: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
        command.arg("run").arg(self.folder.path().join(format!("{}_main.cu", self.name))).arg("--args").args(args);
        command.arg("--").args(self.has_checkpoints.then_some("-DWITH_STEPS"));
        command
            .env_remove("COTANGENT_BUDGET")
            .env_remove("COTANGENT_PINNED")
            .env_remove("COTANGENT_DISK")
            .env_remove("COTANGENT_DISK_COST")
            .env_remove("COTANGENT_COMPRESS")
            .envs(environment.iter().copied());
        command.output().unwrap()
    }

    fn run(&self, args: &[&str], environment: &[(&str, &str)]) -> Said {
        let output = self.output(args, environment);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {errors}", self.name);
        let text = String::from_utf8_lossy(&output.stdout);
        let bits = text.lines().find(|line| line.starts_with("bits ")).expect("the program says its bits").to_owned();
        assert!(!bits.ends_with("none"), "{bits}");
        let total = text.lines().find(|line| line.starts_with("total ")).unwrap_or_default().to_owned();
        let numbers = |line: &str| -> Vec<u128> {
            line.split(|letter: char| !letter.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
        };
        let run = text.lines().find(|line| line.starts_with("run ")).map(|line| match numbers(line)[..] {
            [steps, state, memory, pinned, disk] => Run {
                steps,
                state_bytes: state as usize,
                in_memory: memory as usize,
                pinned: pinned as usize,
                on_disk: disk as usize,
            },
            _ => panic!("{line}"),
        });
        Said { bits, total, run }
    }
}

impl Said {
    /// The numbers of a program that does not compare bits.
    fn numbers(&self) -> Vec<f64> {
        self.total.split(' ').skip(1).map(|word| word.parse().unwrap()).collect()
    }
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// All steps that a loop of so many steps runs within so many states: what follows it counts as a step, and each step is run
/// once more to record it.
fn formula(steps: u64, states: usize) -> u128 {
    Revolve::advances(steps + 1, NonZeroUsize::new(states).unwrap()) + u128::from(steps)
}

fn same_bits(name: &'static str, wrt: &str) {
    let plain = Printed::new(name, wrt, false).run(&["60", "100"], &[]);
    let with_checkpoints = Printed::new(name, wrt, true);
    let all = with_checkpoints.run(&["60", "100"], &[]);
    assert_eq!(plain.bits, all.bits);
    let run = all.run.unwrap();
    assert_eq!(run.steps, formula(100, 101));
    for states in [1, 2, 7, 30] {
        // One more for what a step records.
        let budget = ((states + 1) * run.state_bytes).to_string();
        let within =
            with_checkpoints.run(&["60", "100"], &[("COTANGENT_BUDGET", &budget), ("COTANGENT_CHECK_STEPS", "1")]);
        assert_eq!(plain.bits, within.bits, "{states} states");
        let found = within.run.unwrap();
        assert_eq!((found.steps, found.in_memory), (formula(100, states), states), "{states} states");
    }
}

#[test]
fn a_wave_has_the_same_gradient_within_any_budget() {
    same_bits("wave", "start,stiffness,end,step");
}

#[test]
fn burgers_has_the_same_gradient_within_any_budget() {
    same_bits("burgers", "start,end,step,viscosity");
}

/// A loop that a condition ends: its schedule does not know the length, and runs at most half as many steps again as one that does.
#[test]
fn a_solve_that_ends_by_its_residual_has_the_same_gradient_within_any_budget() {
    let wrt = "stiffness,load,x";
    let plain = Printed::new("solve", wrt, false).run(&["80", "1e-5"], &[]);
    let with_checkpoints = Printed::new("solve", wrt, true);
    let all = with_checkpoints.run(&["80", "1e-5"], &[]);
    assert_eq!(plain.bits, all.bits);
    let run = all.run.unwrap();
    // Each iteration once, once more to record it; and none again.
    let iterations = u64::try_from(run.steps / 2).unwrap();
    assert!(iterations > 20, "{iterations}");
    for states in [1, 2, 5, 12] {
        let budget = ((states + 1) * run.state_bytes).to_string();
        let within =
            with_checkpoints.run(&["80", "1e-5"], &[("COTANGENT_BUDGET", &budget), ("COTANGENT_CHECK_STEPS", "1")]);
        assert_eq!(plain.bits, within.bits, "{states} states");
        let (found, best) = (within.run.unwrap(), formula(iterations, states));
        assert!(found.in_memory <= states, "{found:?}");
        assert!(found.steps <= best + best / 2 + u128::from(iterations), "{states} states: {found:?}, {best}");
    }
}

#[test]
fn a_budget_that_is_too_small_says_how_much_is_needed() {
    let wave = Printed::new("wave", "start,stiffness,end,step", true);
    for (budget, said) in
        [("100", "bytes are needed"), ("two", "is no number of bytes"), ("-1", "is no number of bytes")]
    {
        let output = wave.output(&["60", "100"], &[("COTANGENT_BUDGET", budget)]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(said), "{budget}: {errors}");
    }
}

/// Arrays that an allocator hands out of one allocation: an array ends where the next one begins, and its adjoint stays as it is when
/// a state is taken back.
#[test]
fn arrays_of_one_allocation_keep_their_adjoints() {
    let words = ["--fn", "evolve"];
    let plain = Printed::of("pool", &words, false).run(&["60", "100"], &[]);
    let pool = Printed::of("pool", &words, true);
    for budget in ["4000", "60kB"] {
        for args in [&["60", "100"][..], &["60", "100", "apart"]] {
            let found = pool.run(args, &[("COTANGENT_BUDGET", budget)]);
            assert_eq!(plain.bits, found.bits, "{budget} {args:?}");
            assert_eq!(found.run.unwrap().state_bytes, 256, "{budget} {args:?}");
        }
    }
}

/// What the loop's body states is not believed blindly: memory that the steps change beyond it is an error, not a wrong number.
#[test]
fn a_checkpoint_that_states_too_little_is_an_error() {
    let stated = Printed::of("stated", &["--fn", "evolve"], true);
    let right = stated.run(&["64", "70", "64"], &[("COTANGENT_BUDGET", "3000")]);
    let plain = Printed::of("stated", &["--fn", "evolve"], false).run(&["64", "70", "64"], &[]);
    assert_eq!(plain.bits, right.bits);
    for (array, said) in [("32", "begins with another state"), ("63", "begins with another state")] {
        let output = stated.output(&["64", "70", array], &[("COTANGENT_BUDGET", "3000")]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(said), "{array}: {errors}");
    }
}

/// Sums that threads add atomically differ in their last bits from one run of a step to the next. The host goes the ways that it went first,
/// and the gradient differs no more than such sums do.
#[test]
fn rounding_does_not_change_the_way_of_a_step_that_is_run_again() {
    let words = ["--fn", "rounded", "--wrt", "u, force"];
    let plain = Printed::of("rounded", &words, false).run(&["20000", "1e-3"], &[]);
    let rounded = Printed::of("rounded", &words, true);
    let all = rounded.run(&["20000", "1e-3"], &[]);
    let iterations = all.run.unwrap().steps / 2;
    assert!(iterations > 20, "{iterations}");
    let within = rounded.run(&["20000", "1e-3"], &[("COTANGENT_BUDGET", "400kB")]);
    assert!(within.run.unwrap().steps > 3 * iterations, "{within:?}");
    assert_ne!(all.bits, within.bits, "nothing was rounded otherwise");
    for found in [&all, &within] {
        let (own, others) = (plain.numbers(), found.numbers());
        assert_eq!(own[1], others[1], "the program went other ways");
        assert!((own[0] - others[0]).abs() < 1e-4 * own[0].abs(), "{own:?} {others:?}");
    }
}

/// Twenty states of 160 kB in memory, and more on disk.
#[test]
fn states_go_on_to_disk_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let disk = format!("{}:40MB", folder.path().display());
    let wrt = "start,stiffness,end,step";
    let plain = Printed::new("wave", wrt, false).run(&["20000", "150"], &[]);
    let wave = Printed::new("wave", wrt, true);
    let within = wave.run(
        &["20000", "150"],
        &[("COTANGENT_BUDGET", "4MiB"), ("COTANGENT_DISK", &disk), ("COTANGENT_DISK_COST", "0")],
    );
    assert_eq!(plain.bits, within.bits);
    let run = within.run.unwrap();
    assert!(run.on_disk > 20 && run.in_memory < 22, "{run:?}");
    let compressed = wave.run(
        &["20000", "150"],
        &[
            ("COTANGENT_BUDGET", "8MiB"),
            ("COTANGENT_DISK", &disk),
            ("COTANGENT_DISK_COST", "0"),
            ("COTANGENT_COMPRESS", "1"),
        ],
    );
    assert_eq!(plain.bits, compressed.bits);
    assert!(compressed.run.unwrap().on_disk > 20, "{compressed:?}");
    let without = wave.run(&["20000", "150"], &[("COTANGENT_BUDGET", "4MiB")]).run.unwrap();
    assert!(run.steps < without.steps, "{run:?} {without:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
}

/// Five states of 160 kB on the device, thirteen in pinned memory, which are those that are wanted last, and more on disk.
#[test]
fn states_go_on_to_pinned_memory_and_come_back() {
    let wrt = "start,stiffness,end,step";
    let plain = Printed::new("wave", wrt, false).run(&["20000", "150"], &[]);
    let wave = Printed::new("wave", wrt, true);
    let memory = [("COTANGENT_BUDGET", "1.3MB"), ("COTANGENT_PINNED", "3.5MiB")];
    let within = wave.run(&["20000", "150"], &memory);
    assert_eq!(plain.bits, within.bits);
    let run = within.run.unwrap();
    // A state takes four chunks of 64 KiB, and two chunks are on their way.
    assert_eq!((run.in_memory, run.pinned, run.on_disk), (5, 13, 0));
    assert_eq!(run.steps, formula(150, 18));
    let folder = tempfile::tempdir().unwrap();
    let disk = format!("{}:40MB", folder.path().display());
    let layers = [("COTANGENT_BUDGET", "4MiB"), ("COTANGENT_PINNED", "3MiB"), ("COTANGENT_DISK", &disk)];
    let all = wave.run(&["20000", "150"], &[&layers[..], &[("COTANGENT_DISK_COST", "0")]].concat());
    assert_eq!(plain.bits, all.bits);
    let run = all.run.unwrap();
    assert!(run.pinned > 5 && run.on_disk > 20, "{run:?}");
}

/// A function, the environment, and the least number of states in memory, pinned and on disk.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], [u128; 3]);

/// On each schedule, and with states in each place that there is.
#[test]
fn what_the_gradient_leaves_of_the_function_falls_with_the_square_of_the_distance() {
    let folder = tempfile::tempdir().unwrap();
    let built = folder.path().join("taylor");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    succeeds(command.arg("build").arg(program("taylor.cu")).arg("-o").arg(&built));
    let disk = format!("{}:40MB", folder.path().display());
    let on_disk = [("COTANGENT_BUDGET", "6MiB"), ("COTANGENT_DISK", &*disk), ("COTANGENT_DISK_COST", "0")];
    let compressed = [&on_disk[..], &[("COTANGENT_COMPRESS", "1")]].concat();
    let cases: [Case<'_>; 6] = [
        ("1", &[("COTANGENT_BUDGET", "5 states")], [5, 0, 0]),
        ("1", &[], [100, 0, 0]),
        ("1", &[("COTANGENT_BUDGET", "1.3MB"), ("COTANGENT_PINNED", "3MiB")], [2, 5, 0]),
        ("1", &on_disk, [3, 0, 40]),
        ("1", &compressed, [3, 0, 40]),
        ("2", &[("COTANGENT_BUDGET", "5 states")], [5, 0, 0]),
    ];
    for (schedule, environment, least) in cases {
        let said = succeeds(
            Command::new(&built).arg(schedule).env_remove("COTANGENT_BUDGET").envs(environment.iter().copied()),
        );
        let orders: Vec<f64> =
            said.lines().filter_map(|line| line.strip_prefix("order ")).map(|order| order.parse().unwrap()).collect();
        assert_eq!(orders.len(), 4, "{said}");
        assert!(orders.iter().all(|order| (order - 2.0).abs() < 0.1), "{environment:?}: {said}");
        let counts: Vec<u128> = said
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|word| word.parse().ok())
            .collect::<Vec<_>>()
            .split_off(8);
        let [steps, places @ ..] = &counts[..] else { panic!("{said}") };
        assert!(
            *steps >= 240 && places.iter().zip(least).all(|(count, least)| *count >= least),
            "{environment:?}: {said}"
        );
    }
}

/// Whoever stops a program gets all of it back: nothing is left in the folder.
#[test]
fn an_interrupt_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let disk = format!("{}:400MB", folder.path().display());
    let wave = Printed::new("wave", "start,stiffness,end,step", true);
    let built = wave.folder.path().join("program");
    let main = wave.folder.path().join("wave_main.cu");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    succeeds(command.arg("build").arg(main).arg("-o").arg(&built).args(["--", "-DWITH_STEPS"]));
    let mut running = Command::new(&built)
        .args(["20000", "1000000"])
        .envs([
            ("COTANGENT_BUDGET", "4MiB"),
            ("COTANGENT_DISK", &*disk),
            ("COTANGENT_DISK_COST", "0"),
            ("COTANGENT_PROGRESS", "1"),
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It has said that states are on disk.
    let lines = BufReader::new(running.stderr.take().unwrap()).lines().map_while(Result::ok);
    let is_there = lines.into_iter().any(|line| !line.contains(" 0.0 MiB on disk"));
    assert!(is_there, "no state went to disk");
    succeeds(Command::new("kill").args(["-INT", &running.id().to_string()]));
    let ended = running.wait().unwrap();
    assert_eq!(ended.signal(), Some(2), "{ended}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
}

/// Where the device has no memory left for them, states are in pinned memory. Where there is not even enough for what a step records, the gradient ends with
/// an error.
#[test]
fn a_device_without_memory_for_its_states_takes_pinned_memory() {
    let pool = Printed::of("pool", &["--fn", "evolve"], true);
    let plenty = pool.run(&["20000", "150"], &[("COTANGENT_BUDGET", "30 states")]);
    // Four arrays of 80 kB, and room for some of the states, which have as much.
    let little =
        pool.run(&["20000", "150"], &[("COTANGENT_BUDGET", "30 states"), ("COTANGENT_DEVICE_MEMORY", "1500000")]);
    assert_eq!(plenty.bits, little.bits);
    assert_eq!(plenty.run.unwrap().steps, little.run.unwrap().steps);
    let memory = [("COTANGENT_BUDGET", "30 states"), ("COTANGENT_DEVICE_MEMORY", "320000")];
    let output = pool.output(&["20000", "150"], &memory);
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!output.status.success() && !said.contains("bits") && errors.contains("out of memory"), "{said}{errors}");
}

#[test]
fn a_disk_that_is_full_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let disk = format!("{}:40MB", folder.path().display());
    let wave = Printed::new("wave", "start,stiffness,end,step", true);
    let environment = [("COTANGENT_BUDGET", "4MiB"), ("COTANGENT_DISK", &*disk), ("COTANGENT_DISK_COST", "0")];
    let output = wave.output(&["20000", "150", "1000000"], &environment);
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!output.status.success() && !said.contains("bits"), "{said}");
    assert!(errors.contains("no room on disk"), "{errors}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
}

#[test]
fn a_disk_that_is_misspelt_is_an_error() {
    let wave = Printed::new("wave", "start,stiffness,end,step", true);
    for (disk, said) in [("/tmp", "names no folder and size"), ("/nowhere/at/all:40MB", "/nowhere/at/all")] {
        let output = wave.output(&["200", "10"], &[("COTANGENT_BUDGET", "4MiB"), ("COTANGENT_DISK", disk)]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(said), "{disk}: {errors}");
    }
}

#[test]
fn progress_is_told_once_a_second_or_less() {
    let wave = Printed::new("wave", "start,stiffness,end,step", true);
    let output = wave.output(&["20000", "150"], &[("COTANGENT_BUDGET", "1MB"), ("COTANGENT_PROGRESS", "1")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    for line in errors.lines().filter(|line| line.starts_with("cotangent:")) {
        assert!(line.contains("step") && line.contains("of 150") && line.contains("MiB in memory"), "{line}");
    }
}

/// Through the API: the example, whose exit code says whether a difference of the program agrees.
#[test]
fn a_request_states_its_budget() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/checkpoints/wave.cu");
    command.arg("run").arg(example).args(["--args", "500", "200", "60kB"]);
    let output = command.env_remove("COTANGENT_BUDGET").output().unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.starts_with("slope "), "{said}{errors}");
    // 60 kB are fourteen states of 4 kB, one of which is for what a step records.
    assert!(errors.contains("states of 4096 bytes, 13 at most"), "{errors}");
}
