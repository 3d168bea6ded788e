//! Tests of content that is received, in memory and in files.

use std::fs;
use std::path::{Path, PathBuf};

use stoop::{Body, StatusCode};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::*;
use crate::digests::Digests;
use crate::save::SaveFolder;

const MIB: usize = 1 << 20;

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let process = std::process::id();
        let path = std::env::temp_dir().join(format!("stoop-collect-{process}-{name}"));
        fs::create_dir_all(&path).expect("writable");
        Self(path)
    }

    /// What its unnamed files have.
    fn unnamed(&self) -> Vec<Vec<u8>> {
        let Ok(runs) = fs::read_dir(self.0.join(".partial")) else { return Vec::new() };
        let files =
            runs.flat_map(|run| fs::read_dir(run.expect("there").path()).expect("a folder"));
        files.map(|file| fs::read(file.expect("there").path()).expect("readable")).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn save(folder: &Path) -> SaveFolder {
    let mut save = SaveFolder::new(folder);
    save.prepare().expect("writable");
    save
}

fn collector(folder: &Path, memory: usize) -> Collector {
    let digests = Digests { blake3: false, sha256: true };
    Collector {
        budget: Arc::new(BodyBudget::new(memory)),
        cut_at: None,
        has_exchanges: false,
        keep_max: usize::MAX,
        spilling: Some(SpillSettings::new(Some(save(folder)), digests, 10)),
    }
}

/// Content in which no two places look the same.
fn content(length: usize) -> Vec<u8> {
    (0..length as u32 / 4 + 1).flat_map(u32::to_le_bytes).take(length).collect()
}

/// Receives `content` in pieces of `piece` bytes, and an error behind it if it has one.
async fn collect(
    collector: &Collector,
    content: &[u8],
    piece: usize,
    has_error: bool,
    status: StatusCode,
) -> Collected {
    let (sender, body) = Body::channel(1);
    let mut response = Response::new(body).with_status(status);
    let send = async move {
        for piece in content.chunks(piece) {
            if sender.send(piece.to_vec()).await.is_err() {
                return;
            }
        }
        if !has_error {
            sender.finish().await.expect("it is received");
        }
    };
    let receive = async move {
        let collected = collector.collect(&mut response, ContentReader::new(None), None, &()).await;
        drop(response);
        collected
    };
    tokio::join!(receive, send).0
}

#[tokio::test]
async fn long_content_is_in_a_file_and_short_content_is_not() {
    let folder = Folder::new("long");
    let collector = collector(&folder.0, 32 * MIB);
    for (length, piece) in
        [(MIB, 10_000), (MIB + 1, 10_000), (3 * MIB + 77, 4096), (4 * MIB, 600_000)]
    {
        let content = content(length);
        let collected = collect(&collector, &content, piece, false, StatusCode::OK).await;
        let capture = &collected.capture;
        assert_eq!((collected.received, collected.fault.is_none()), (length as u64, true));
        if length <= MIB {
            assert!(capture.spilled().is_none());
            assert_eq!(capture.content, content);
            continue;
        }
        assert_eq!(capture.content, content[..10]);
        let spilled = capture.spilled().expect("too long for memory");
        assert_eq!(spilled.length, length as u64);
        assert_eq!(spilled.blake3, Some(blake3::hash(&content)), "the name of the file");
        assert_eq!(spilled.sha256, Some(crate::digests::sha256(&content)));
        assert!(folder.unnamed() == [content]);
        assert!(collector.budget.is_ample(15 * MIB));
        drop(collected);
        assert_eq!(folder.unnamed().len(), 0, "no name was given to it");
    }
}

#[tokio::test]
async fn nothing_waits_where_memory_is_short() {
    let folder = Folder::new("short");
    let collector = collector(&folder.0, 64 << 10);
    let contents: Vec<_> = (0..5).map(|n| content(200_000 + n)).collect();
    let receive = |n: usize| collect(&collector, &contents[n], 30_000, false, StatusCode::OK);
    let all = tokio::join!(receive(0), receive(1), receive(2), receive(3), receive(4));
    let all = [all.0, all.1, all.2, all.3, all.4];
    let mut files = folder.unnamed();
    files.sort_by_key(Vec::len);
    assert!(files == contents);
    drop(all);
    assert_eq!(folder.unnamed().len(), 0);
    let mut reservation = Reservation::default();
    assert_eq!(collector.budget.grow(&mut reservation, 64 << 10), Ok(()), "all was given back");
}

/// What is looked at is in memory before the rest is written, however little room there is.
#[tokio::test]
async fn the_beginning_that_is_looked_at_is_whole_where_memory_is_short() {
    let folder = Folder::new("beginning");
    let mut collector = collector(&folder.0, 64 << 10);
    for beginning_max in [200_000, MIB + 1] {
        let saved = Some(save(&folder.0));
        collector.spilling = Some(SpillSettings::new(saved, Digests::default(), beginning_max));
        let contents: Vec<_> = (0..5).map(|n| content(400_000 * n + 1)).collect();
        let receive = async |n: usize| {
            let all = &contents[n];
            // Its memory is given back where this ends, as it is once a record is written.
            let Collected { capture, .. } =
                collect(&collector, all, 30_000, false, StatusCode::OK).await;
            let length = all.len().min(beginning_max);
            assert!(capture.content == all[..length] || capture.content == *all, "{n}");
            assert!(capture.spilled().is_none_or(|spilled| spilled.length == all.len() as u64));
        };
        tokio::join!(receive(0), receive(1), receive(2), receive(3), receive(4));
    }
}

/// One whose server sends no more holds little that others could have.
#[tokio::test]
async fn content_goes_to_its_file_early_where_a_quarter_of_memory_is_taken() {
    let folder = Folder::new("early");
    let collector = collector(&folder.0, 4 * MIB);
    let mut others = Reservation::default();
    let content = content(900_000);
    for is_burdened in [false, true] {
        assert_eq!(collector.budget.is_burdened(), is_burdened);
        let collected = collect(&collector, &content, 30_000, false, StatusCode::OK).await;
        assert_eq!(collected.capture.spilled().is_some(), is_burdened);
        collector.budget.grow(&mut others, MIB + 4096).expect("room");
    }
}

/// There is room for some blocks. It is given to some, and not promised to all.
#[tokio::test]
async fn many_that_go_to_their_files_at_once_do_not_wait_for_each_other() {
    const COUNT: usize = 10;
    let folder = Folder::new("at-once");
    let collector = Arc::new(collector(&folder.0, 2 * MIB));
    let (have_begun, are_written) = (Arc::new(Barrier::new(COUNT)), Arc::new(Barrier::new(COUNT)));
    let mut receiving = JoinSet::new();
    for _ in 0..COUNT {
        let collector = Arc::clone(&collector);
        let barriers = (Arc::clone(&have_begun), Arc::clone(&are_written));
        receiving.spawn(async move {
            let (sender, body) = Body::channel(1);
            let mut response = Response::new(body);
            let send = async move {
                // Each is taken before the one behind it is sent.
                for length in [60_000, 1] {
                    sender.send(vec![0; length]).await.expect("it is received");
                }
                barriers.0.wait().await;
                for length in [10_000, 1, 1] {
                    sender.send(vec![0; length]).await.expect("it is received");
                }
                barriers.1.wait().await;
                sender.finish().await.expect("it is received");
            };
            let collected = tokio::join!(
                collector.collect(&mut response, ContentReader::new(None), None, &()),
                send
            )
            .0;
            collected.capture.spilled().expect("a quarter of memory was taken").length
        });
    }
    let lengths = tokio::time::timeout(Duration::from_secs(60), receiving.join_all()).await;
    assert_eq!(lengths.expect("none waits for another"), [70_003; COUNT]);
}

#[tokio::test]
async fn of_what_is_not_saved_there_is_no_file() {
    let folder = Folder::new("unsaved");
    let mut collector = collector(&folder.0, 32 * MIB);
    let content = content(2 * MIB);
    let failed = collect(&collector, &content, 50_000, true, StatusCode::OK).await;
    assert_eq!(failed.capture.truncated, Some(Truncated::Disconnect));
    let digest = Some(crate::digests::sha256(&content));
    assert_eq!(failed.capture.spilled().expect("too long for memory").sha256, digest);
    assert!(failed.fault.is_some() && folder.unnamed().is_empty());
    let missing = collect(&collector, &content, 50_000, false, StatusCode::NOT_FOUND).await;
    let spilled = missing.capture.spilled().expect("it has a digest");
    assert_eq!((&spilled.sha256, spilled.file.is_none()), (&digest, true));
    assert_eq!(missing.capture.content, content[..10]);
    collector.cut_at = Some(MIB as u64 + 5);
    let cut = collect(&collector, &content, 50_000, false, StatusCode::OK).await;
    assert_eq!(cut.capture.truncated, Some(Truncated::Length));
    assert!(folder.unnamed() == [&content[..MIB + 5]]);
    let folder_of = save(&folder.0);
    collector.spilling = Some(SpillSettings::new(Some(folder_of), Digests::default(), 10));
    let missing = collect(&collector, &content, 50_000, false, StatusCode::NOT_FOUND).await;
    assert!(missing.capture.spilled().is_none());
    assert_eq!(
        (missing.received, missing.capture.content),
        (MIB as u64 + 5, content[..10].to_vec().into())
    );
}

#[tokio::test]
async fn content_that_cannot_be_written_says_why() {
    let folder = Folder::new("unwritable");
    let collector = collector(&folder.0, 32 * MIB);
    fs::remove_dir_all(folder.0.join(".partial")).expect("there");
    fs::write(folder.0.join(".partial"), "no folder").expect("writable");
    let collected = collect(&collector, &content(2 * MIB), 50_000, false, StatusCode::OK).await;
    let error = collected.capture.spill_error().expect("there is no place for it");
    assert!(error.to_string().contains("cannot save"), "{error}");
    assert!(collected.received < 2 << 20, "nothing more was asked for");
}
