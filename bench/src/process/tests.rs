use super::*;
use crate::cores::{Cores, Placement};

/// Held by tests that start processes, and by those that measure this one with its descendants.
pub(crate) static DESCENDANTS: Mutex<()> = Mutex::new(());

#[test]
fn the_first_error_of_a_command_is_found_in_different_formats() {
    assert_eq!(first_error(b"Compiling\nerror: no\nmore\n"), "error: no");
    assert_eq!(first_error(b"building\n/usr/bin/ld: no\n\n"), "/usr/bin/ld: no");
    assert_eq!(first_error(b""), "no error text");
}

/// In a process of its own, as other tests have children.
#[test]
#[ignore = "run by `adopted_processes_are_stopped`"]
fn adopts_and_stops() {
    let _alone = DESCENDANTS.lock();
    // SAFETY: this option takes one number and changes only who adopts orphans.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) }, 0);
    let cores = Cores::detect().unwrap().set(Placement::Anywhere);
    let start = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", line]).stdout(Stdio::null());
        Process::start(command, cores, "sh").unwrap()
    };
    let own = start("exec sleep 60");
    let parent = start("sleep 60 & exec sleep 60");
    let orphan = loop {
        if let [_, orphan] = *usage::tree(parent.pid()) {
            break orphan;
        }
        std::thread::sleep(POLL);
    };
    parent.signal(libc::SIGKILL);
    parent.wait(Duration::from_secs(10), POLL, |_| {}).unwrap();
    assert!(usage::is_alive(orphan));
    stop_adopted();
    assert!(!usage::is_alive(orphan));
    assert!(usage::is_alive(own.pid()));
}

#[test]
fn adopted_processes_are_stopped() {
    let _alone = DESCENDANTS.lock();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "process::tests::adopts_and_stops"]);
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
}
