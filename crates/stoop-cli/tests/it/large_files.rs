//! Content that is longer than the memory for it: saved while it arrives, whole or not at all.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::thread;

use serde_json::Value;

use crate::content::Folder;
use crate::server::next_path;
use crate::stoop::{
    CommandResult, feed, finish, finish_watched, kill, run, stoop, stoop_in_shell, wait_for,
};

const MIB: usize = 1 << 20;

/// A server of content in which no two blocks are the same. `/whole/MIB`, `/404/MIB`, `/noise/MIB`, which cannot be compressed
/// and is 1 MiB over and over, and of half of the content that they announce `/short/MIB`, which closes the connection
/// then, and `/silent/MIB`, which does not.
struct LargeServer(SocketAddr);

impl LargeServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || serve(&stream));
            }
        });
        Self(address)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0)
    }
}

fn serve(mut stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let path = next_path(&mut reader)?;
        let (kind, length) = path[1..].split_once('/').expect("a kind and a length");
        let length = length.split('?').next().expect("a number");
        let length = length.parse::<usize>().expect("a number") * MIB;
        let status = if kind == "404" { "404 Gone" } else { "200 OK" };
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n").ok()?;
        let is_whole = kind != "short" && kind != "silent";
        let sent = if is_whole { length } else { length / 2 };
        for at in (0..sent).step_by(MIB) {
            if kind == "noise" {
                stream.write_all(noise()).ok()?;
            } else {
                stream.write_all(&content(at..(at + MIB).min(sent))).ok()?;
            }
        }
        if kind == "silent" {
            // Until the client is gone.
            let _ = reader.read_line(&mut String::new());
        }
        is_whole.then_some(())?;
    }
}

/// A part of the content: blocks of 1 KiB, each of which begins with its number.
fn content(part: std::ops::Range<usize>) -> Vec<u8> {
    let mut content = Vec::with_capacity(part.len() + 1024);
    for number in part.start as u32 / 1024..part.end.div_ceil(1024) as u32 {
        content.extend_from_slice(&number.to_le_bytes());
        content.resize(content.len() + 1020, (number % 251) as u8);
    }
    content.truncate(part.len());
    content
}

/// 1 MiB that cannot be compressed.
fn noise() -> &'static [u8] {
    static NOISE: OnceLock<Vec<u8>> = OnceLock::new();
    NOISE.get_or_init(|| {
        let mut state = 1_u64;
        let words = (0..MIB / 8).flat_map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
        });
        words.collect()
    })
}

fn save(folder: &Path, options: &str) -> Command {
    let mut command = stoop(&format!("fetch -f jsonl -t 60 --summary none {options}"));
    command.arg("--save").arg(folder);
    command
}

fn records(ran: &CommandResult) -> Vec<Value> {
    let text = String::from_utf8_lossy(&ran.stdout);
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What another program says is the SHA-256 of a file.
fn sha256sum(path: &Path) -> String {
    let ran = Command::new("sha256sum").arg(path).output().expect("it is there");
    String::from_utf8(ran.stdout).expect("text")[..64].to_owned()
}

#[test]
fn content_of_64_mib_is_saved_in_little_memory() {
    let server = LargeServer::start();
    let (large, small) = (content(0..64 * MIB), content(0..2 * MIB));
    for (names, digest) in [("hash", "blake3"), ("url", "sha256")] {
        let folder = Folder::new(&format!("large-{names}"));
        let urls = ["/whole/64", "/whole/2", "/whole/2#again"].map(|path| server.url(path));
        let options =
            format!("-c 1 --save-as {names} --digest {digest} --extract type,title,favicon");
        let mut child = save(&folder.0, &options).spawn().expect("it runs");
        feed(&mut child, urls.join("\n"));
        let (ran, peak_kib) = finish_watched(child);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(peak_kib < 56 << 10, "{names}: {peak_kib} KiB");
        assert!(!folder.0.join(".partial").exists());
        let files = folder.files();
        assert_eq!(files.len(), 2, "{:?}", files.keys());
        let records = records(&ran);
        assert_eq!(records.len(), 3);
        for (record, expected) in records.iter().zip([&large, &small, &small]) {
            let name = record["saved"].as_str().expect("saved");
            assert!(files[name] == *expected, "{name}");
            assert_eq!(record["body_bytes"], expected.len());
            let told = record[digest].as_str().expect("told");
            match names {
                "hash" => assert_eq!(name.rsplit('/').next(), Some(told)),
                _ => assert_eq!(told, sha256sum(&folder.0.join(name))),
            }
            assert_eq!(record["sniffed_type"], "application/octet-stream");
            assert!(record["favicon_hash"].is_null());
        }
    }
}

#[test]
fn digests_alone_take_little_memory() {
    let server = LargeServer::start();
    let line = "fetch -f jsonl -t 60 --summary none --digest blake3";
    let mut child = stoop(line).spawn().expect("it runs");
    feed(&mut child, server.url("/whole/64"));
    let (ran, peak_kib) = finish_watched(child);
    let expected = blake3::hash(&content(0..64 * MIB));
    assert_eq!(records(&ran)[0]["blake3"], expected.to_hex().as_str());
    assert!(peak_kib < 56 << 10, "{peak_kib} KiB");
}

/// Of 32 MiB for content, archives of content of 4 MiB took up to 180: it was copied to what is written, and there once
/// more while that was written.
#[test]
#[cfg(target_os = "linux")]
fn archives_of_long_content_take_little_more_memory_than_there_is_for_content() {
    let server = LargeServer::start();
    let folder = Folder::new("large-memory");
    fs::create_dir(&folder.0).expect("writable");
    // To compress takes a program for debugging long.
    for (format, count, max_mib) in [
        ("tar", 60, 64),
        ("tar --content-memory 8MiB", 60, 36),
        ("warc --compression none", 60, 84),
        ("warc", 15, 96),
    ] {
        let urls: Vec<_> = (0..count).map(|n| server.url(&format!("/noise/4?{n}"))).collect();
        let archive = folder.0.join("archive");
        let mut command = stoop(&format!("fetch -t 60 --summary none -f {format} -o"));
        let mut child = command.arg(&archive).spawn().expect("it runs");
        feed(&mut child, urls.join("\n"));
        let (ran, peak_kib) = crate::stoop::finish_watching(child, crate::stoop::anonymous_kib);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let length = fs::metadata(&archive).expect("written").len();
        assert!(length > count * 4 * MIB as u64, "{format}: {length}");
        assert!(peak_kib > 0 && peak_kib < max_mib << 10, "{format}: {peak_kib} KiB");
    }
}

#[test]
fn what_did_not_come_as_a_whole_leaves_no_file_unless_it_is_cut_as_asked() {
    let server = LargeServer::start();
    let folder = Folder::new("large-short");
    let urls = [server.url("/short/8"), server.url("/404/8"), server.url("/whole/80")].join("\n");
    let ran = run(save(&folder.0, "-c 1"), &*urls);
    let said = records(&ran);
    assert_eq!((said.len(), &said[0]["error_kind"]), (3, &"closed_early".into()));
    assert_eq!(said[0]["truncated"], "disconnect");
    assert_eq!((&said[1]["status"], &said[1]["body_bytes"]), (&404.into(), &(8 * MIB).into()));
    assert_eq!(said[2]["error_kind"], "body_too_large");
    assert!(said.iter().all(|record| record["saved"].is_null()));
    assert_eq!((folder.files().len(), folder.0.join(".partial").exists()), (0, false));
    let options = "-c 1 --save-as url --save-errors --max-body 2500000 --truncate";
    let ran = run(save(&folder.0, options), &*urls);
    let said = records(&ran);
    assert!(said.iter().all(|record| record["truncated"] == "length"), "{said:?}");
    let files = folder.files();
    assert_eq!(files.len(), 3, "{:?}", files.keys());
    assert!(files.values().all(|file| *file == content(0..2_500_000)));
}

#[test]
fn a_signal_leaves_nothing_of_what_is_not_whole() {
    let server = LargeServer::start();
    let folder = Folder::new("large-signal");
    let mut child = save(&folder.0, "-c 2").spawn().expect("it runs");
    feed(&mut child, [server.url("/silent/8"), server.url("/silent/16")].join("\n"));
    let partial = folder.0.join(".partial");
    wait_for("two files that are being written", || {
        // The run has a folder of its own there.
        let runs = fs::read_dir(&partial).into_iter().flatten().flatten();
        let files = runs.flat_map(|run| fs::read_dir(run.path()).into_iter().flatten().flatten());
        let lengths = files.map(|file| file.metadata().map_or(0, |about| about.len()));
        lengths.filter(|length| *length > MIB as u64).count() == 2
    });
    kill(&child, "-INT");
    let ran = finish(child);
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let said = records(&ran);
    assert!(said.len() == 2 && said.iter().all(|record| record["error_kind"] == "cancelled"));
    assert_eq!((folder.files().len(), partial.exists()), (0, false));
}

/// A file may have no more than 3 MiB here, which is as if the disk were full.
#[test]
fn a_disk_that_takes_no_more_ends_the_run_and_a_run_that_can_be_resumed_goes_on() {
    let server = LargeServer::start();
    let folder = Folder::new("large-full");
    fs::create_dir(&folder.0).expect("writable");
    let list = folder.0.join("urls");
    fs::write(&list, [server.url("/whole/2"), server.url("/whole/8")].join("\n"))
        .expect("writable");
    let line = format!("fetch -c 1 -f jsonl -t 60 --save {0}/all -i {0}/urls", folder.0.display());
    let full = "trap '' XFSZ; ulimit -f 3072";
    for filter in ["", "--match-length 1MiB-"] {
        let ran =
            finish(stoop_in_shell(full, &format!("{line} {filter}"), "").spawn().expect("runs"));
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        let said = records(&ran);
        let failed = said.iter().find(|record| record["error_kind"] == "save_failed");
        if filter.is_empty() {
            let failed = failed.expect("it has its record");
            assert!(failed["error"].as_str().expect("text").contains("cannot save"), "{failed}");
            assert_eq!(failed["status"], 200);
        }
        assert!(ran.stderr.contains("cannot save"), "{}", ran.stderr);
        let saved = said.iter().filter(|record| record["saved"].is_string()).count();
        assert_eq!(saved, 1);
        assert_eq!(folder.files().len(), 2, "the list, and what is whole");
        assert!(!folder.0.join("all/.partial").exists());
    }
    let line = format!("{line} --run {}/run", folder.0.display());
    let ran = finish(stoop_in_shell(full, &line, "").spawn().expect("runs"));
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let ran = run(stoop(&line), "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let files = folder.files();
    let saved = files.iter().filter(|(name, _)| name.starts_with("all/"));
    let mut lengths: Vec<_> = saved.map(|(_, file)| file.len()).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [2 * MIB, 8 * MIB]);
}

#[test]
fn filters_and_formats_that_look_at_content_go_on_working() {
    let server = LargeServer::start();
    let url = server.url("/whole/4");
    // The block 0x205 is in the first MiB, and the block 0xbff is not.
    for (options, expected) in [
        ("--match-length=-1MiB", 0),
        ("--skip-code 200", 0),
        (r"--match-text (?-u)\x05\x02\x00\x00", 1),
        (r"--match-text (?-u)\xff\x0b\x00\x00", 0),
    ] {
        let folder = Folder::new("large-filter");
        let ran = run(save(&folder.0, options), &*url);
        assert_eq!((ran.code, records(&ran).len()), (Some(0), expected), "{options}");
        assert_eq!(folder.files().len(), expected, "{options}: {}", ran.stderr);
        assert!(!folder.0.join(".partial").exists());
    }
    // What looks at content without saving it sees all of it.
    let line = r"fetch -f jsonl --summary none --match-text (?-u)\xff\x0b\x00\x00";
    assert_eq!(records(&run(stoop(line), &*url)).len(), 1);
    let both = Folder::new("large-archive");
    let mut command = stoop("fetch -f warc --compression none --summary none --save-as url --save");
    command.arg(&both.0).arg("-o").arg(both.0.join("a.warc"));
    fs::create_dir(&both.0).expect("writable");
    assert_eq!(run(command, &*url).code, Some(0));
    let files = both.files();
    let expected = content(0..4 * MIB);
    // The archive has its index beside it.
    assert_eq!(files.len(), 3, "{:?}", files.keys());
    assert!(files.iter().any(|(name, file)| name.ends_with("/whole/4") && *file == expected));
    let archive = &files["a.warc"];
    assert!(memchr::memmem::find(archive, &expected).is_some());
}

/// The progress told how many URLs are done, which is none for hours.
#[cfg(target_os = "linux")]
#[test]
fn the_progress_stood_still_while_a_long_file_arrived() {
    let server = LargeServer::start();
    let folder = Folder::new("large-progress");
    let (folder, url) = (folder.0.display(), server.url("/silent/4"));
    let line = format!("fetch -t 5 --summary none --save {folder} {url}");
    let Some(text) = crate::terminal::run_on_terminal(120, &[], &line) else { return };
    assert!(text.contains(" done, 0/s, 2.0 MiB at "), "{text:?}");
}

#[test]
fn the_summary_tells_how_much_content_came() {
    let server = LargeServer::start();
    let urls = [server.url("/whole/2"), server.url("/404/1"), server.url("/short/2")].join("\n");
    let ran = run(stoop("fetch --summary table"), urls);
    assert!(ran.stderr.contains("\n 3.0 MiB  of content, "), "{}", ran.stderr);
    let ran = run(stoop("report"), ran.stdout);
    let text = String::from_utf8(ran.stdout).expect("text");
    assert!(text.contains("\n 3.0 MiB  of content, "), "{text}");
}
