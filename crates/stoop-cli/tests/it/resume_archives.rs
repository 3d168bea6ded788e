//! Archives of runs that are killed: what their records refer to is there.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::resume::{LoggingServer, Runs, times, urls_of_json};

/// The head of a record.
type Head = BTreeMap<String, String>;

/// The heads of the records of an archive without compression.
fn heads(archive: &[u8]) -> Vec<Head> {
    let (mut heads, mut rest) = (Vec::new(), archive);
    while !rest.is_empty() {
        let end = rest.windows(4).position(|at| at == b"\r\n\r\n").expect("a head");
        let text = std::str::from_utf8(&rest[..end]).expect("text");
        let head: Head = text
            .lines()
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let length: usize = head["Content-Length"].parse().expect("a number");
        rest = rest[end + 4 + length..].strip_prefix(b"\r\n\r\n").expect("the end of a record");
        heads.push(head);
    }
    heads
}

/// The archives of a run, in their order.
fn archives(runs: &Runs) -> Vec<PathBuf> {
    let files = fs::read_dir(runs.path("run")).expect("a folder").flatten();
    let mut files: Vec<_> = files
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "warc"))
        .collect();
    files.sort();
    files
}

fn of_kind<'a>(heads: &'a [Head], kind: &str) -> Vec<&'a Head> {
    heads.iter().filter(|head| head["WARC-Type"] == kind).collect()
}

#[test]
fn what_records_refer_to_is_there_however_often_a_run_is_killed() {
    let server = LoggingServer::start();
    let all: Vec<_> = (0..400).map(|n| server.url(&format!("/same/{n}"))).collect();
    let (urls, more) = all.split_at(360);
    for (name, output, seed) in
        [("folder", "--file-size 20KiB", 3), ("one", "-o run/crawl.warc", 4)]
    {
        let options = format!("-f warc --revisits --compression none {output}");
        let runs = Runs::new(&format!("revisits-{name}"), urls, &options);
        for time in times(seed).take(4) {
            runs.start_and_kill(time);
        }
        runs.finish("");
        let mut counts = Vec::new();
        for list in [urls, &all] {
            let archive: Vec<u8> =
                archives(&runs).iter().flat_map(|path| fs::read(path).expect("written")).collect();
            let heads = heads(&archive);
            let mut found = urls_of_json(&archive);
            found.sort();
            let mut expected = list.to_vec();
            expected.sort();
            assert_eq!(found, expected, "{name}: each once");
            let (responses, revisits) = (of_kind(&heads, "response"), of_kind(&heads, "revisit"));
            assert_eq!(responses.len() + revisits.len(), list.len(), "{name}");
            for revisit in &revisits {
                let id = &revisit["WARC-Refers-To"];
                let original = responses.iter().find(|head| head["WARC-Record-ID"] == *id);
                let original = original.unwrap_or_else(|| panic!("{name}: there is no {id}"));
                for (of_revisit, of_original) in [
                    ("WARC-Refers-To-Target-URI", "WARC-Target-URI"),
                    ("WARC-Refers-To-Date", "WARC-Date"),
                    ("WARC-Payload-Digest", "WARC-Payload-Digest"),
                ] {
                    assert_eq!(revisit[of_revisit], original[of_original], "{name}");
                }
            }
            counts.push((responses.len(), revisits.len()));
            if list.len() < all.len() {
                runs.write_list(&all);
                runs.finish("");
            }
        }
        // What was fetched at last has the content of before, which a run that goes on knows.
        let [(before, some), (after, revisits)] = counts[..] else { panic!("{counts:?}") };
        assert_eq!((after, revisits), (before, some + more.len()), "{name}");
    }
}
