//! Tests of the summary computed from lines.

use std::sync::atomic::Ordering::SeqCst;

use crate::resume::{LoggingServer, Runs};
use crate::server::{Server, refusing};
use crate::stoop::{run, stoop};

#[test]
fn a_report_of_the_lines_is_the_summary_of_the_run() {
    let server = Server::start();
    let mut input: String = (0..50).map(|n| server.url(&format!("/ok/{n}?1,2")) + "\n").collect();
    for path in ["/status/404", "/status/500", "/close", "/delay/30"] {
        input += &(server.url(path) + "\n");
    }
    input += &format!("http://{}/\n\"quoted, url\n", refusing());
    for format in ["csv", "jsonl"] {
        let fetched = run(stoop(&format!("fetch --summary json -f {format}")), input.clone());
        let reported = run(stoop("report --format json"), fetched.stdout.clone());
        assert_eq!(reported.code, Some(0), "{}", reported.stderr);
        let mut report: serde_json::Value =
            serde_json::from_slice(&reported.stdout).expect("one object");
        for label in ["language", "method", "concurrency"] {
            report.as_object_mut().expect("an object").remove(label);
        }
        assert_eq!(report, fetched.summary(), "{format}");
    }
}

#[test]
fn malformed_lines_are_named_and_the_others_counted() {
    let lines = "http://a/,200,2026-11-21T20:54:55.000Z,10,5\nwhat\nhttp://b/,200,2026-11";
    let ran = run(stoop("report"), lines);
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("standard input, line 2: fewer than 5 columns"), "{}", ran.stderr);
    assert!(ran.stderr.contains("standard input, line 3: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 malformed lines were left out"), "{}", ran.stderr);
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(text.contains("│         1 │"), "{text}");
}

#[test]
fn a_report_of_several_files_is_the_table_of_the_comparison() {
    let folder = std::env::temp_dir().join(format!("stoop-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    let line = |ms: u64| format!("http://a/,200,2026-11-21T20:54:55.000Z,{ms},5\n");
    let names = ["slow-lib-50.csv", "quick-lib-150.csv"];
    for (name, ms) in names.iter().zip([2000, 1000]) {
        std::fs::write(folder.join(name), line(ms)).expect("writable");
    }
    let paths = names.map(|name| folder.join(name).display().to_string()).join(" ");
    let table = run(stoop(&format!("report {paths}")), "");
    let labelled = run(stoop(&format!("report {paths} --label A,b,1 --label C,d,2")), "");
    let unequal = run(stoop(&format!("report {paths} --label A,b,1")), "");
    let missing = run(stoop(&format!("report {paths} /nowhere")), "");
    std::fs::remove_dir_all(&folder).expect("ours");

    let text = String::from_utf8_lossy(&table.stdout).into_owned();
    let rows: Vec<_> = text.lines().collect();
    assert!(rows[1].starts_with("│ language │ method │ concurrency │ totalUrls │"), "{text}");
    assert!(rows[3].starts_with("│ quick    │ lib    │         150 │         1 │ 1000"), "{text}");
    assert!(rows[4].starts_with("│ slow     │ lib    │          50 │         1 │ 2000"), "{text}");
    let text = String::from_utf8_lossy(&labelled.stdout).into_owned();
    assert!(text.lines().nth(3).is_some_and(|row| row.starts_with("│ C ")), "{text}");
    assert_eq!(unequal.code, Some(2));
    assert_eq!(missing.code, Some(3));
}

#[test]
fn a_report_of_a_folder_is_that_of_the_files_that_its_manifests_list() {
    let server = Server::start();
    let input: String = (0..60).map(|n| server.url(&format!("/ok/{n}")) + "\n").collect();
    let folder = std::env::temp_dir().join(format!("stoop-report-of-{}", std::process::id()));
    let report = || {
        let mut command = stoop("report --format json");
        command.arg(&folder);
        run(command, "")
    };
    for (at, format) in ["csv --csv-header", "jsonl", "warc"].into_iter().enumerate() {
        let _ = std::fs::remove_dir_all(&folder);
        let mut command = stoop(&format!("fetch --summary json --file-size 2KiB -f {format} -o"));
        command.arg(folder.join(""));
        let fetched = run(command, input.clone());
        assert_eq!(fetched.code, Some(0), "{}", fetched.stderr);
        let reported = report();
        if at == 2 {
            assert_eq!(reported.code, Some(3));
            assert!(reported.stderr.contains("has no lines"), "{}", reported.stderr);
            break;
        }
        assert_eq!((reported.code, reported.stderr.as_str()), (Some(0), ""), "{format}");
        let report_of: serde_json::Value =
            serde_json::from_slice(&reported.stdout).expect("one object");
        assert_eq!(report_of["totalUrls"], 60, "{format}");
        assert_eq!(report_of["time"], fetched.summary()["time"], "{format}");
        // What is being written is told of, and what was changed is an error.
        let part = format!("part-00000.{}", &format[..format.find(' ').unwrap_or(format.len())]);
        std::fs::write(folder.join(format!("{part}.partial")), "half a li").expect("writable");
        let reported = report();
        assert_eq!(reported.code, Some(0));
        assert!(reported.stderr.contains("1 file is not complete"), "{}", reported.stderr);
        std::fs::write(folder.join(&part), "").expect("writable");
        let reported = report();
        assert_eq!((reported.code, reported.stdout.len()), (Some(3), 0));
        let text = reported.stderr;
        assert!(text.contains(&part) && text.contains("not as it was written"), "{text}");
    }
    let manifest = folder.join("part.manifest");
    let outside = "{\"file\":\"../lines.csv\",\"records\":1,\"bytes\":1}\n";
    std::fs::write(manifest, outside).expect("writable");
    let told = report().stderr;
    assert!(told.contains("../lines.csv, which is not in its folder"), "{told}");
    for entry in std::fs::read_dir(&folder).expect("there").flatten() {
        if entry.file_name().to_string_lossy().ends_with(".manifest") {
            std::fs::remove_file(entry.path()).expect("ours");
        }
    }
    let reported = report();
    std::fs::remove_dir_all(&folder).expect("ours");
    assert_eq!(reported.code, Some(3));
    assert!(reported.stderr.contains("has no manifest"), "{}", reported.stderr);
}

/// The figures of a report of `path`, and what it says on standard error.
#[track_caller]
fn figures(path: &std::path::Path) -> (serde_json::Value, String) {
    let mut command = stoop("report --format json");
    command.arg(path);
    let reported = run(command, "");
    assert_eq!(reported.code, Some(0), "{}", reported.stderr);
    (serde_json::from_slice(&reported.stdout).expect("one object"), reported.stderr)
}

/// They were counted with each line that they had.
#[test]
fn urls_that_were_fetched_again_count_once_by_their_last_line() {
    let server = LoggingServer::start();
    for format in ["csv", "jsonl"] {
        server.is_ill.store(true, SeqCst);
        let mut urls = server.urls(50);
        // Twice in the list, and as often in the report.
        urls.extend(["/3", "/3", "/4"].map(|path| server.url(path)));
        let runs = Runs::new(&format!("report-{format}"), &urls, &format!("-f {format}"));
        runs.finish("");
        runs.finish("--retry-failed");
        let (of_ill, told) = figures(&runs.path("run"));
        assert_eq!((&of_ill["totalUrls"], &of_ill["5xx"]), (&53.into(), &7.into()), "{told}");
        server.is_ill.store(false, SeqCst);
        runs.finish("--retry-failed 5xx");
        let (report, told) = figures(&runs.path("run"));
        let counts = ["totalUrls", "2xx", "5xx"].map(|name| report[name].as_u64());
        assert_eq!(counts, [Some(53), Some(53), Some(0)], "{format}: {told}");
        assert!(told.contains("14 lines are not counted"), "{told}");
    }
}

#[test]
fn lines_of_one_file_that_may_be_repeats_are_counted_and_told() {
    let server = LoggingServer::start();
    server.is_ill.store(true, SeqCst);
    let runs = Runs::new("report-file", &server.urls(20), "-f csv -o out.csv");
    runs.finish("");
    assert_eq!(figures(&runs.path("out.csv")).1, "");
    server.is_ill.store(false, SeqCst);
    runs.finish("--retry-failed");
    let (report, told) = figures(&runs.path("out.csv"));
    assert_eq!(report["totalUrls"], 22);
    assert!(told.contains("2 lines are of a URL whose line before failed"), "{told}");
    assert!(told.contains("all are counted"), "{told}");
}

/// The lines were malformed, each of them.
#[test]
fn lines_that_gzip_has_compressed_are_decompressed() {
    let folder = std::env::temp_dir().join(format!("stoop-report-gz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    let file = folder.join("go-net_http-12.csv.gz");
    let lines = "http://a/,200,2026-11-21T20:54:55.000Z,10,5\n".repeat(3);
    // One block that is not compressed (RFC 1951 §3.2.4), of 135 bytes; its CRC-32 is that of RFC 1952 §8.
    let length = u16::try_from(lines.len()).expect("short");
    let mut packed = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01".to_vec();
    packed.extend(length.to_le_bytes());
    packed.extend((!length).to_le_bytes());
    packed.extend(lines.as_bytes());
    packed.extend(crc32(lines.as_bytes()).to_le_bytes());
    packed.extend(u32::from(length).to_le_bytes());
    std::fs::write(&file, &packed).expect("writable");
    let file = file.display().to_string();
    let (report, told) = figures(std::path::Path::new(&file));
    let piped = run(stoop("report --format json"), packed.clone());
    std::fs::write(&file, &packed[..packed.len() - 9]).expect("writable");
    let broken = run(stoop(&format!("report {file}")), "");
    std::fs::write(&file, b"\xfd7zXZ\0").expect("writable");
    let foreign = run(stoop(&format!("report {file}")), "");
    std::fs::remove_dir_all(&folder).expect("ours");
    assert_eq!((&report["totalUrls"], &report["2xx"]), (&3.into(), &3.into()), "{told}");
    let label = ["language", "method", "concurrency"].map(|name| &report[name]);
    assert_eq!(label, [&"go".into(), &"net_http".into(), &12.into()] as [&serde_json::Value; 3]);
    assert!(String::from_utf8_lossy(&piped.stdout).contains("\"totalUrls\":3"), "{piped:?}");
    assert_eq!((broken.code, broken.stdout.len()), (Some(3), 0), "{}", broken.stderr);
    assert!(foreign.stderr.contains("xz -dc FILE |"), "{}", foreign.stderr);
}

/// RFC 1952 §8.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}

#[test]
fn several_runs_of_a_folder_are_told() {
    let server = Server::start();
    let folder = std::env::temp_dir().join(format!("stoop-report-runs-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    for path in ["/ok/1", "/ok/2"] {
        let mut command = stoop("fetch -f jsonl -o");
        command.arg(folder.join(""));
        assert_eq!(run(command, server.url(path) + "\n").code, Some(0));
    }
    let (report, told) = figures(&folder);
    std::fs::remove_dir_all(&folder).expect("ours");
    assert_eq!(report["totalUrls"], 2);
    assert!(told.contains("has the files of 2 runs, which are counted together"), "{told}");
    assert!(told.contains("part-00001.jsonl"), "{told}");
}
