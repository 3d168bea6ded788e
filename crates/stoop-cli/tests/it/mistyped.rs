//! Tests of arguments that are typed wrongly, and of the messages about them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::server::Server;
use crate::stoop::{run, stoop};

#[test]
fn a_file_of_urls_was_taken_for_a_host() {
    let folder = std::env::temp_dir().join(format!("stoop-guess-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    std::fs::write(folder.join("urls.txt"), "http://127.0.0.1:1/\n").expect("writable");
    let mut command = stoop("fetch urls.txt");
    command.current_dir(&folder);
    let ran = run(command, "");
    let mut explicit = stoop("fetch -t 1 https://urls.txt --dns 127.0.0.77:1");
    explicit.current_dir(&folder);
    let explicit = run(explicit, "");
    std::fs::remove_dir_all(&folder).expect("ours");
    assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0), "{}", ran.stderr);
    assert!(ran.stderr.contains("stoop fetch -i urls.txt"), "{}", ran.stderr);
    assert!(ran.stderr.contains("https://urls.txt"), "{}", ran.stderr);
    assert_eq!((explicit.code, explicit.lines().len()), (Some(0), 1), "{}", explicit.stderr);
}

/// The last list alone was fetched, without a word of the others.
#[test]
fn a_second_list_is_refused_with_how_both_are_read() {
    let folder = std::env::temp_dir().join(format!("stoop-lists-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    for name in ["l1.txt", "l2.txt"] {
        std::fs::write(folder.join(name), "http://127.0.0.1:1/\n").expect("writable");
    }
    let ran = |line: &str| {
        let mut command = stoop(line);
        command.current_dir(&folder);
        run(command, "")
    };
    let cat = "'cat l1.txt l2.txt | stoop fetch' reads all of them";
    let told = [
        ("fetch -i l1.txt -i l2.txt", cat),
        ("fetch -i l1.txt l2.txt", cat),
        ("fetch -i l1.txt http://127.0.0.1:1/", "http://127.0.0.1:1/ beside -i l1.txt"),
    ];
    let told = told.map(|(line, expected)| (ran(line), expected));
    std::fs::remove_dir_all(&folder).expect("ours");
    for (ran, expected) in told {
        assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

#[test]
fn help_was_taken_for_a_host() {
    let ran = run(stoop("fetch help"), "");
    assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0), "{}", ran.stderr);
    assert!(ran.stderr.contains("stoop fetch --help"), "{}", ran.stderr);
}

#[test]
fn a_subcommand_that_is_no_text_was_a_panic() {
    for line in ["", "fetch -x", "get --no-such", "serve --no-such"] {
        let mut command = stoop(line);
        command.arg(OsStr::from_bytes(b"\xff"));
        let ran = run(command, "");
        assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0), "{line}: {}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{line}: {}", ran.stderr);
    }
}

#[test]
fn bare_numbers_were_taken_for_hosts() {
    let server = Server::start();
    let port = server.address.port();
    let wrong = format!("8\n8:{port}\n127.1\n0x7f000001\n2130706433/x\n1.2.3\n8.8.8.8.8\n");
    let ran = run(stoop("fetch -t 1 -f jsonl --dns 127.0.0.77:1"), wrong);
    let rows: Vec<serde_json::Value> = String::from_utf8_lossy(&ran.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("json"))
        .collect();
    assert_eq!(rows.len(), 7);
    for row in rows {
        assert_eq!(row["error_kind"], "invalid_url", "{row}");
    }
    let ran = run(stoop("fetch"), server.url("/ok/1"));
    assert_eq!(ran.codes()[0].1, "200");
    // With a scheme it is a host, as in browsers.
    let ran = run(stoop("fetch"), format!("http://2130706433:{port}/ok/1"));
    assert_eq!(ran.codes()[0].1, "200");
}

/// They were told as a wrong value of --timeout, or as an argument that is not expected.
#[test]
fn options_of_other_programs_get_what_to_write_here() {
    for (options, expected) in [
        ("-l urls.txt", "stoop: fetch has no -l: write '-i FILE'"),
        ("-title -sc", "stoop: fetch has no -title: write '-f jsonl --extract"),
        ("-sc -title", "stoop: fetch has no -sc: leave it out"),
        ("--tries=3", "stoop: fetch has no --tries: write '--retry N'"),
        ("-nc", "stoop: fetch has no -nc: leave it out"),
        ("-ip", "stoop: there is no file p; if -ip was meant: leave it out: '-f jsonl' tells"),
        ("-x 16", "stoop: -x 16: a number is no proxy; '--per-host 16' bounds"),
        ("-c", "stoop: -c is --concurrency <N|auto> here; to go on"),
    ] {
        let ran = run(stoop(&format!("fetch {options}")), "http://127.0.0.1:1/");
        assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0), "{options}: {}", ran.stderr);
        assert!(ran.stderr.starts_with(expected), "{options}: {}", ran.stderr);
        assert!(
            ran.stderr.ends_with("\n\nFor more information, try '--help'.\n"),
            "{}",
            ran.stderr
        );
    }
    // Help that was not asked for, and content that was sent.
    for (options, expected) in [
        ("-hash md5", "stoop: fetch has no -hash: write '--digest sha256'"),
        ("-http2", "stoop: fetch has no -http2: leave it out: HTTP/2 is spoken"),
        ("-delay", "stoop: fetch has no -delay: write '--total-rate N'"),
        ("-d /", "stoop: -d / would be sent as content here: write '--save"),
        ("-x GET", "stoop: -x GET: a method is no proxy"),
    ] {
        let ran = run(stoop(&format!("fetch {options}")), "http://127.0.0.1:1/");
        assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0), "{options}: {}", ran.stderr);
        assert!(ran.stderr.starts_with(expected), "{options}: {}", ran.stderr);
    }
    for options in ["-qh", "-l --help", "-h"] {
        let ran = run(stoop(&format!("fetch {options}")), "");
        let has_help = String::from_utf8_lossy(&ran.stdout).contains("--concurrency");
        assert_eq!(
            (ran.code, has_help),
            if options.starts_with("-l") { (Some(2), false) } else { (Some(0), true) }
        );
    }
    let ran = run(stoop("fetch -c many"), "");
    assert!(ran.stderr.contains("invalid value 'many' for '--concurrency"), "{}", ran.stderr);
}

/// The command was run again for each of them.
#[test]
fn options_of_other_programs_are_told_all_at_once() {
    let ran = run(stoop("fetch -l hosts.txt -sc -title -json -o out"), "");
    assert_eq!(
        ran.stderr,
        "stoop: fetch has no -l: write '-i FILE' for a list; URLs themselves need no option\n\
         fetch has no -sc: leave it out: '-f jsonl' tells status, times, type, address and method of each URL, and what \
         failed\n\
         fetch has no -title: write '-f jsonl --extract title,server,length,chain,tls,favicon', or those of them that are \
         wanted\n\
         fetch has no -json: see -sc\n\
         So it is written here, with http tried after https, and certificates and redirects as httpx has them:\n  \
           stoop fetch -i hosts.txt -o out --http-fallback --insecure --max-redirects 0 -f jsonl --extract title\n\n\
         For more information, try '--help'.\n"
    );
    // What is secret is not told again, and with a mask it is another command.
    let ran =
        run(stoop("fetch -k -proxy http://u:hidden@127.0.0.1:1 http://v:hidden@127.0.0.1:1/"), "");
    assert!(ran.stderr.contains("fetch has no -proxy: write '-x URL'"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("hidden"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("written here"), "{}", ran.stderr);
}

#[test]
fn a_method_in_small_letters_is_sent_and_told() {
    let server = Server::start();
    let ran = run(stoop("fetch --summary none -X get"), server.url("/ok/1"));
    assert_eq!((ran.code, ran.lines().len(), server.requests()), (Some(0), 1, 1));
    assert!(ran.stderr.contains("-X get is sent as it is typed"), "{}", ran.stderr);
    for method in ["CONNECT", "a(b"] {
        let ran = run(stoop(&format!("fetch -X {method}")), server.url("/ok/1"));
        assert_eq!((ran.code, server.requests()), (Some(2), 1), "{}", ran.stderr);
        assert!(ran.stderr.contains(method), "{}", ran.stderr);
    }
}
