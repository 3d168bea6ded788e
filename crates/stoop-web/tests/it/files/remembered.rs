//! What is remembered of files, and for how long.

use std::fs;
use std::time::Duration;

use stoop_web::FileCache;

use super::tree::{Tree, client, clients, get, send};
use crate::kit::field;

/// A file takes the place of another at once, as those who deploy do it.
fn replace(tree: &Tree, path: &str, content: &[u8]) {
    tree.write("new", content);
    fs::rename(tree.path("new"), tree.path(path)).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_file_that_was_replaced_is_sent_once_the_old_one_has_expired() {
    let large = |byte: u8| vec![byte; 40_000];
    let tree = Tree::new(&[("small", b"old"), ("large", &large(b'o'))]);
    let client = client(tree.files());
    let always = super::tree::client(tree.files().cache(FileCache::new().validity(Duration::MAX)));
    assert_eq!(get(&always, "/small", &[]).await, (200, "old".to_owned()));
    let tag = field(&send(&client, "GET", "/small", &[]).await, "etag").to_owned();
    assert_eq!(get(&client, "/large", &[]).await.1.as_bytes(), large(b'o'));
    replace(&tree, "small", b"newer");
    replace(&tree, "large", &large(b'n'));
    assert_eq!(get(&client, "/small", &[]).await, (200, "old".to_owned()));
    assert_eq!(get(&client, "/large", &[]).await.1.as_bytes(), large(b'o'));
    tokio::time::advance(Duration::from_millis(1_001)).await;
    assert_eq!(get(&client, "/small", &[("if-none-match", &tag)]).await, (200, "newer".to_owned()));
    assert_eq!(get(&always, "/small", &[]).await, (200, "old".to_owned()));
    assert_eq!(get(&client, "/large", &[]).await.1.as_bytes(), large(b'n'));
}

#[tokio::test(start_paused = true)]
async fn that_nothing_is_there_is_remembered_as_long() {
    let tree = Tree::new(&[]);
    let client = client(tree.files().cache(FileCache::new().validity(Duration::from_secs(60))));
    assert_eq!(get(&client, "/a", &[]).await.0, 404);
    tree.write("a", b"there");
    tokio::time::advance(Duration::from_secs(59)).await;
    assert_eq!(get(&client, "/a", &[]).await.0, 404);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(get(&client, "/a", &[]).await, (200, "there".to_owned()));
    fs::remove_file(tree.path("a")).unwrap();
    assert_eq!(get(&client, "/a", &[]).await, (200, "there".to_owned()));
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(get(&client, "/a", &[]).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn without_memory_each_answer_is_what_is_there() {
    let tree = Tree::new(&[("a", b"old")]);
    for files in [
        tree.files().without_cache(),
        tree.files().cache(FileCache::new().entries_max(0)),
        tree.files().cache(FileCache::new().bytes_max(0)),
        tree.files().cache(FileCache::new().validity(Duration::ZERO)),
    ] {
        replace(&tree, "a", b"old");
        for client in clients(&files) {
            for content in ["old", "new", "old"] {
                replace(&tree, "a", content.as_bytes());
                assert_eq!(get(&client, "/a", &[]).await, (200, content.to_owned()));
            }
        }
    }
}

/// How many descriptors of this process are of files below a directory, deleted ones included.
#[cfg(target_os = "linux")]
fn open_below(tree: &Tree) -> usize {
    let below = fs::canonicalize(tree.path("")).unwrap();
    let descriptors = fs::read_dir("/proc/self/fd").unwrap();
    let paths = descriptors.filter_map(|descriptor| fs::read_link(descriptor.ok()?.path()).ok());
    // The directory itself is open.
    paths.filter(|path| path.starts_with(&below) && *path != below).count()
}

/// A file that was deleted has its space until it is closed.
#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn a_file_is_closed_in_time_without_another_request() {
    let content = vec![b'x'; 40_000];
    let tree = Tree::new(&[("a", &content), ("b", &content)]);
    let short = FileCache::new().validity(Duration::from_millis(10));
    for (cache, closed_after) in [(FileCache::new(), 2_001), (short, 1_011)] {
        let client = client(tree.files().cache(cache));
        for round in 0..2 {
            for path in ["/a", "/b"] {
                assert_eq!(get(&client, path, &[]).await.1.as_bytes(), content);
            }
            assert_eq!(open_below(&tree), 2, "{round}: they are remembered");
            tokio::time::sleep(Duration::from_millis(closed_after)).await;
            assert_eq!(open_below(&tree), 0, "{round}: nothing was asked for meanwhile");
        }
    }
    let always = client(tree.files().cache(FileCache::new().validity(Duration::MAX)));
    assert_eq!(get(&always, "/a", &[]).await.1.as_bytes(), content);
    tokio::time::sleep(Duration::from_secs(3 * 24 * 3600)).await;
    assert_eq!(open_below(&tree), 1, "it is always valid");
    drop(always);
}

/// RFC 9110 §8.8.1: stores of packages give all files the same time, and then something else tells them apart.
#[tokio::test]
async fn a_file_without_a_time_has_a_tag_that_changes_with_it() {
    let tree = Tree::new(&[]);
    let client = client(tree.files().without_cache());
    let mut tags = std::collections::BTreeSet::new();
    for content in [b"old", b"new"] {
        tree.write("next", content);
        let file = fs::File::options().write(true).open(tree.path("next")).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        fs::rename(tree.path("next"), tree.path("a")).unwrap();
        let response = send(&client, "GET", "/a", &[]).await;
        assert_eq!(field(&response, "last-modified"), "");
        tags.insert(field(&response, "etag").to_owned());
    }
    assert_eq!(tags.len(), 2, "{tags:?}");
}

/// RFC 9110 §8.8.2.1.
#[tokio::test]
async fn a_last_modified_is_never_later_than_the_response() {
    let tree = Tree::new(&[("a", b"content")]);
    let file = fs::File::options().write(true).open(tree.path("a")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(32_503_680_000)).unwrap();
    let response = send(&client(tree.files()), "GET", "/a", &[]).await;
    assert!(!field(&response, "last-modified").contains(" 3000 "));
    assert!(!field(&response, "last-modified").is_empty());
}

/// A list takes long to read and to write; a page shows the path that it is of, and JSON has none.
#[tokio::test]
async fn a_list_is_remembered_in_each_form_as_long_as_a_file() {
    let json = [("accept", "application/json")];
    let tree = Tree::new(&[("dir/a", b"")]);
    let hour = FileCache::new().validity(Duration::from_secs(3_600));
    let lists = tree.files().listing(10).cache(hour.clone());
    let client = client(lists.clone());
    let page = get(&client, "/dir/", &[]).await;
    let entries = get(&client, "/dir/", &json).await;
    assert!(page.1.contains("./a\"") && entries.1.contains("\"./a\""), "{page:?} {entries:?}");
    tree.write("dir/b", b"");
    assert_eq!(get(&client, "/dir/", &[]).await, page);
    assert_eq!(get(&client, "/dir/", &json).await, entries);
    let head = send(&client, "GET", "/dir/", &json).await;
    assert_eq!(field(&head, "content-type"), "application/json");
    // The same path in another spelling.
    assert_eq!(get(&client, "/di%72/", &[]).await, page);
    assert_eq!(get(&client, "/%64ir/", &json).await, entries);
    let small = lists.cache(hour.clone().bytes_max(100));
    let small = super::tree::client(small);
    assert!(get(&small, "/dir/", &[]).await.1.contains("./b\""));
    fs::remove_file(tree.path("dir/b")).unwrap();
    assert!(!get(&small, "/dir/", &[]).await.1.contains("./b\""), "it is too large to be kept");
    assert_eq!(get(&client, "/dir/", &[]).await, page);
}
