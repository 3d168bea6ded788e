//! What keeps it from serving: each with its exit code, and what to do.

use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::process::Stdio;

use super::{Folder, command};
use crate::stoop::{CommandResult, run, stoop};

fn refused(options: &str) -> CommandResult {
    run(command(&Folder::new(&[]), options), "")
}

#[test]
fn what_is_wrong_on_the_command_line_ends_with_2() {
    for (options, expected) in [
        ("-l nowhere", "write HOST:PORT, a PORT of 127.0.0.1, or unix:PATH"),
        ("--auth ada", "--auth-new"),
        ("--auth ada:plain", "the hash is none of bcrypt"),
        ("--auth ada:b0", "put it between single quotes"),
        ("--unix-mode 999", "permissions are octal digits, from 000 to 777, such as 660"),
        ("--unix-mode +66", "permissions are octal digits"),
        ("--workers 0", "must be a whole number from 1 to 1024"),
        ("--access-log xml", "common, combined, json"),
        ("--tls cert.pem key.pem --tls-self-signed", "cannot be used with"),
        ("-l https://127.0.0.1:0", "https://127.0.0.1:0: needs a certificate: --tls CERT KEY"),
        ("--port 9000", "write '-l 9000', or '-l 0.0.0.0:9000'"),
        ("-p 9000", "write '-l 9000'"),
        ("--bind 127.0.0.1", "write '-l 127.0.0.1:8080'"),
        ("-b ::1", "write '-l [::1]:8080'"),
        ("--bind 127.0.0.1:9000", "write '-l 127.0.0.1:9000'"),
        ("--bind 9000", "write '-l 9000'\n"),
        ("--host 0.0.0.0", "write '-l 0.0.0.0:8080'"),
        ("-p HTTP/1.1", "write '-l PORT'"),
        ("-d public", "the directory needs no option: 'stoop serve public'"),
        ("--root public", "the directory needs no option: 'stoop serve public'"),
        ("--gzip", "there is no --gzip: write '--compress'"),
        ("--browse", "there is no --browse: write '--listing'"),
        ("--tls-cert a --tls-key b", "there is no --tls-cert: write '--tls CERT KEY'"),
        ("-c nginx.conf", "there is no -c: write '--config FILE'"),
        ("9000", "did you mean '-l 9000'?"),
        ("0.0.0.0:80", "did you mean '-l 0.0.0.0:80'?"),
        ("photos", "one directory is served"),
        ("--listing=yes", "--listing[=<true|false>]"),
    ] {
        let result = refused(options);
        assert_eq!(result.code, Some(2), "{options}: {result:?}");
        assert!(result.stderr.contains(expected), "{options}: {}", result.stderr);
        assert!(result.stdout.is_empty() && !result.stderr.contains("plain\n"), "{result:?}");
    }
}

#[test]
fn what_cannot_be_read_or_listened_on_ends_with_3() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("-l {}", taken.local_addr().unwrap());
    for (options, expected) in [
        (&*taken, "in use"),
        ("--tls none.pem none.pem", "none.pem"),
        ("--config none.toml", "cannot read none.toml"),
        ("-l http://name.invalid:1", "name.invalid"),
    ] {
        let result = refused(options);
        assert_eq!(result.code, Some(3), "{options}: {result:?}");
        assert!(result.stderr.contains(expected), "{options}: {}", result.stderr);
    }
    let result = run(stoop("serve /nowhere/at/all -l 127.0.0.1:0"), "");
    assert_eq!(result.code, Some(3));
    assert!(result.stderr.contains("/nowhere/at/all"), "{}", result.stderr);
    let result = run(stoop("serve 65001 -l 127.0.0.1:0"), "");
    assert_eq!(result.code, Some(3));
    assert!(result.stderr.contains("; did you mean '-l 65001'?"), "{}", result.stderr);
    let result = run(stoop("serve localhost:65001 -l 127.0.0.1:0"), "");
    assert!(result.stderr.contains("; did you mean '-l localhost:65001'?"), "{}", result.stderr);
}

#[test]
fn what_is_well_can_be_checked_without_serving() {
    let folder =
        Folder::new(&[("serve.toml", "listing = true\n"), ("wrong.toml", "listng = true\n")]);
    let config = |name: &str| format!("--check --config {}", folder.path().join(name).display());
    let well = run(command(&folder, &config("serve.toml")), "");
    assert_eq!((well.code, &*well.stderr), (Some(0), ""));
    let said = String::from_utf8_lossy(&well.stdout);
    assert!(
        said.contains("can be served as asked\nnot checked: whether its places are free"),
        "{said}"
    );
    let wrong = run(command(&folder, &config("wrong.toml")), "");
    assert_eq!(wrong.code, Some(2));
    let place = format!("{}:1:1: ", folder.path().join("wrong.toml").display());
    let expected = format!("{place}unknown name \"listng\": did you mean \"listing\"?\n");
    assert!(wrong.stderr.contains(&expected), "{}", wrong.stderr);
    let twice = run(command(&folder, "--check -l 1 -l 127.0.0.1:1"), "");
    assert_eq!(twice.code, Some(2), "{twice:?}");
    let nowhere = run(command(&folder, "--check -l unix:/nowhere/at/all/socket"), "");
    assert_eq!(nowhere.code, Some(3), "{nowhere:?}");
    for place in ["70000", "https://127.0.0.1:0"] {
        let wrong = run(command(&folder, &format!("--check -l {place}")), "");
        assert_eq!(wrong.code, Some(2), "{place}");
        assert!(wrong.stderr.contains(&format!("--listen {place}: ")), "{}", wrong.stderr);
    }
}

/// What keeps it from serving keeps the check from finding nothing, all at once; and the check makes no file.
#[test]
fn a_check_finds_all_that_a_start_would_fail_by() {
    let made = run(stoop("serve --auth-new ada"), "x\n");
    let hash = String::from_utf8(made.stdout).unwrap();
    let hash = hash.trim().strip_prefix("ada:").unwrap().to_owned();
    let folder = Folder::new(&[("cert.pem", "none"), ("key.pem", "none"), (".key.pem", "none")]);
    let at = folder.path().display();
    for (target, link) in [(".", "here"), ("nowhere/log", "lost"), ("made/", "to-folder")] {
        symlink(target, folder.path().join(link)).unwrap();
    }
    let findings: &[(&str, &str)] = &[
        ("-l 127.0.0.1:99999", "--listen 127.0.0.1:99999: "),
        ("-l 0.0.0.0:65001 -l 127.0.0.1:65001", "0.0.0.0:65001 has that port already"),
        ("-l unix:/nowhere/at/all/socket", "/nowhere/at/all: No such file"),
        (
            "--access-log-file /nowhere/at/all/log",
            "cannot open /nowhere/at/all/log: /nowhere/at/all: ",
        ),
        (&format!("--tls {at}/none.pem {at}/none.key"), "none.pem"),
        (&format!("--tls {at}/cert.pem {at}/.key.pem"), "cannot speak TLS: "),
        (
            &format!("--tls {at}/cert.pem {at}/key.pem"),
            "/key.pem: it is in the directory that is served, where all clients could read the key",
        ),
        ("--auth ada:$2b$10$short", "--auth ada: the hash is none of bcrypt"),
        (
            &format!("--auth ada:{}", hash.replacen("$10$", "$03$", 1)),
            "--auth ada: the hash has a cost below 4",
        ),
        (&format!("--auth ada:{}!", &hash[..59]), "--auth ada: the hash is none of bcrypt"),
        (&format!("--auth ada:{hash} --auth ada:{hash}"), "--auth ada: is given twice"),
        (
            "-l 127.0.0.1:65001 -l [::ffff:127.0.0.1]:65001",
            "--listen [::ffff:127.0.0.1]:65001: 127.0.0.1:65001 has that port already",
        ),
        (&format!("-l unix:{at}/s -l unix:{at}/here/s"), "here/s: is given twice"),
        (&format!("-l unix:{at}/s/"), "that is the name of a directory"),
        (&format!("--access-log-file {at}/lost"), "/lost: "),
        (&format!("--access-log-file {at}/to-folder"), "that is the name of a directory"),
        (&format!("--access-log-file {at}/none/"), "that is the name of a directory"),
        (&format!("--access-log-file {at}/none/."), "that is the name of a directory"),
    ];
    for (options, expected) in findings {
        let checked = run(command(&folder, &format!("--check {options}")), "");
        assert!(checked.stderr.contains(expected), "{options}: {}", checked.stderr);
        assert!(checked.stdout.is_empty(), "{options}: {checked:?}");
        let started = run(command(&folder, options), "");
        for ended in [checked.code, started.code] {
            assert!(matches!(ended, Some(2 | 3)), "{options}: {checked:?} {started:?}");
        }
    }
    let together = [0, 2, 3, 4, 7, 10].map(|index| findings[index]);
    let options: Vec<_> = together.iter().map(|(options, _)| *options).collect();
    let directory = folder.path().join("none");
    let mut check = stoop("serve --check");
    check.arg(&directory).args(options.join(" ").split_whitespace());
    let checked = run(check, "");
    assert_eq!(checked.code, Some(2), "{checked:?}");
    for (_, expected) in together {
        assert!(checked.stderr.contains(expected), "{expected}: {}", checked.stderr);
    }
    assert!(
        checked.stderr.contains(&format!("cannot serve {}", directory.display())),
        "{checked:?}"
    );
    let log = folder.path().join("access.log");
    let options = format!("--check --access-log-file {}", log.display());
    assert_eq!(run(command(&folder, &options), "").code, Some(0));
    assert!(!log.exists(), "it belongs to the user who serves, and not to the one who checks");
    // A start would make the file that the link leads to.
    let link = folder.path().join("link");
    symlink(&log, &link).unwrap();
    let options = format!("--check --access-log-file {}", link.display());
    assert_eq!(run(command(&folder, &options), "").code, Some(0));
}

/// A server starts without the page, which may be built later: what it says then is `there is no index.html in it`.
#[test]
fn a_check_misses_the_page_of_an_application() {
    let folder = Folder::new(&[("a.txt", "a")]);
    let check = |options: &str| run(command(&folder, &format!("--check {options}")), "");
    let missing = check("--spa");
    assert_eq!(missing.code, Some(3), "{missing:?}");
    let place = folder.path().display();
    let expected =
        format!("--spa has no index.html to answer by in {place}: there is no such file\n");
    assert!(missing.stderr.ends_with(&expected), "{}", missing.stderr);
    assert_eq!(check("--spa=false").code, Some(0));
    folder.write(".build/index.html", "home");
    symlink(".build/index.html", folder.path().join("index.html")).unwrap();
    for (options, code) in
        [("--spa", 3), ("--spa --hidden", 0), ("--spa --hidden --symlinks refuse", 3)]
    {
        assert_eq!(check(options).code, Some(code), "{options}");
    }
    std::fs::remove_file(folder.path().join("index.html")).unwrap();
    folder.write("index.html", "home");
    assert_eq!(check("--spa --symlinks refuse").code, Some(0));
}

#[test]
fn a_hash_is_made_of_a_password() {
    let made = run(stoop("serve --auth-new ada"), "secret\n");
    let hash = String::from_utf8(made.stdout).unwrap();
    assert!(hash.starts_with("ada:$2b$10$") && hash.ends_with('\n'), "{hash}");
    for (name, password) in [("ada", ""), ("ada", "\n"), ("a:b", "secret")] {
        let refused = run(stoop(&format!("serve --auth-new {name}")), password);
        assert_eq!(refused.code, Some(2), "{name:?} {password:?}");
        assert!(refused.stdout.is_empty() && !refused.stderr.contains("secret"));
    }
    let long = run(stoop("serve --auth-new ada"), "x".repeat(73));
    assert_eq!(long.code, Some(2));
}

/// At a terminal, by util-linux' `script`.
#[test]
fn a_password_is_asked_for_at_a_terminal_and_not_shown() {
    let binary = env!("CARGO_BIN_EXE_stoop");
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &format!("'{binary}' serve --auth-new ada"), "/dev/null"]);
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = script.spawn() else {
        return crate::stoop::skip("serve::refusals::a_password_at_a_terminal", "needs script");
    };
    let mut output = child.stdout.take().unwrap();
    let mut said = Vec::new();
    let asks = "the password of ada, which is not shown: ";
    while !said.ends_with(asks.as_bytes()) {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        said.push(byte[0]);
    }
    child.stdin.as_ref().unwrap().write_all(b"open sesame\n").unwrap();
    output.read_to_end(&mut said).unwrap();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(child.wait().unwrap().success(), "{said}");
    assert!(said.contains("ada:$2b$10$") && !said.contains("sesame"), "{said}");
}
