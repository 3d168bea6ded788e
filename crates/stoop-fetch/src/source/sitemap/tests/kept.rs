//! Sitemaps of an index in a run with a folder, which goes on.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::*;
use crate::RunFolder;

const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// What a site has, by URL; all else fails.
type Site = [(&'static str, Vec<u8>)];

fn sitemap(pages: &[&str]) -> Vec<u8> {
    let pages = pages.iter().map(|page| format!("<url><loc>{page}</loc></url>"));
    format!("<urlset>{}</urlset>", pages.collect::<String>()).into_bytes()
}

fn index(urls: &[&str]) -> Vec<u8> {
    let entries = urls.iter().map(|url| format!("<sitemap><loc>{url}</loc></sitemap>"));
    format!("<sitemapindex>{}</sitemapindex>", entries.collect::<String>()).into_bytes()
}

/// A folder of a run, and the sitemaps that were opened.
struct Folder {
    path: PathBuf,
    opened: Arc<Mutex<Vec<String>>>,
}

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("stoop-kept-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        Self { path, opened: Arc::default() }
    }

    /// The first `most` jobs of an index, each with its fault, and how the reading ended.
    fn read(&self, index: &[u8], site: &Site, most: usize) -> (Vec<String>, io::Result<()>) {
        let folder = RunFolder::open(&self.path, [("a", "b")]).expect("a folder");
        let (site, opened) = (site.to_vec(), Arc::clone(&self.opened));
        let source = Sitemap::new(SmallReads(index.to_vec().into(), 7)).open_nested(move |url| {
            opened.lock().expect("no panic").push(url.to_owned());
            let found = site.iter().find(|(name, _)| *name == url);
            let (_, bytes) = found.ok_or_else(|| io::Error::other("404"))?;
            match bytes.is_empty() {
                true => Err(ErrorKind::Interrupted.into()),
                false => Ok(Box::new(SmallReads(bytes.clone().into(), 7))),
            }
        });
        let mut source = source.keep_in(&folder).expect("readable");
        let mut jobs = Vec::new();
        let mut take = |job: Job<'_>| {
            if jobs.len() == most {
                return ControlFlow::Break(());
            }
            let fault = job.options.and_then(|options| options.fault);
            let fault = fault.map_or_else(String::new, |fault| format!(" ({fault})"));
            jobs.push(String::from_utf8_lossy(job.url).into_owned() + &fault);
            ControlFlow::Continue(())
        };
        let ended = loop {
            match source.read(&mut take) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        (jobs, ended)
    }

    #[track_caller]
    fn check(&self, index: &[u8], site: &Site, jobs: &[&str], opened: &[&str]) {
        let (seen, ended) = self.read(index, site, usize::MAX);
        ended.expect("readable");
        assert_eq!(seen, jobs);
        assert_eq!(self.take_opened(), opened);
    }

    fn take_opened(&self) -> Vec<String> {
        std::mem::take(&mut *self.opened.lock().expect("no panic"))
    }

    fn kept(&self) -> PathBuf {
        self.path.join("stoop.sitemaps")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn begin(path: &Path) -> Vec<u8> {
    fs::read(path).expect("written")[..4].to_vec()
}

#[test]
fn what_was_read_is_the_same_again_and_what_failed_is_tried_again_behind_it() {
    let folder = Folder::new("again");
    let three = index(&["a", "b", "c"]);
    let (a, c) = (("a", sitemap(&["a1", "a2"])), ("c", COMPRESSED.to_vec()));
    let failed = "b (the sitemap cannot be read: 404)";
    let before = ["a1", "a2", failed, "/x"];
    folder.check(&three, &[a, c], &before, &["a", "b", "c"]);
    assert_eq!(begin(&folder.kept().join("000001.sitemap")), ZSTD);
    assert_eq!(begin(&folder.kept().join("000003.sitemap"))[..2], [0x1f, 0x8b]);
    // What fails again has no second record.
    folder.check(&three, &[], &before, &["b"]);
    let site = vec![("a", sitemap(&["other"])), ("b", sitemap(&["b1"])), ("d", sitemap(&["d1"]))];
    let late = [&before[..], &["b1"]].concat();
    folder.check(&three, &site, &late, &["b"]);
    folder.check(&three, &[], &late, &[]);
    let four = index(&["a", "b", "c", "d"]);
    folder.check(&four, &site, &[&late[..], &["d1"]].concat(), &["d"]);
}

#[test]
fn a_password_is_not_kept_and_may_change() {
    let folder = Folder::new("password");
    let two = |password| {
        index(
            &["a", "b"]
                .map(|name| format!("http://u:{password}@h/{name}"))
                .each_ref()
                .map(|it| &**it),
        )
    };
    let (a, b) = (("http://u:one@h/a", sitemap(&["a1"])), ("http://u:two@h/b", sitemap(&["b1"])));
    let (jobs, ended) = folder.read(&two("one"), &[a], usize::MAX);
    ended.expect("readable");
    assert_eq!((jobs.len(), folder.take_opened().len()), (2, 2));
    let list = fs::read_to_string(folder.kept().join("list")).expect("written");
    assert!(list.contains("http://u:***@h/b") && !list.contains("one"), "{list}");
    let (jobs, ended) = folder.read(&two("two"), &[b], usize::MAX);
    ended.expect("readable");
    assert_eq!(folder.take_opened(), ["http://u:two@h/b"]);
    assert_eq!((&*jobs[0], &*jobs[2], jobs.len()), ("a1", "b1", 3));
    let (again, ended) = folder.read(&two("three"), &[], usize::MAX);
    ended.expect("readable");
    assert_eq!((again.len(), folder.take_opened().len()), (3, 0));
}

#[test]
fn an_end_at_any_job_changes_nothing_but_what_is_opened() {
    let index = [index(&["a", "b"]), sitemap(&["p"]), index(&["c", "d"])].concat();
    let site = vec![
        ("a", sitemap(&["a1", "a2"])),
        ("c", b"<urlset><url><loc>c1</loc></url><url>".to_vec()),
        ("d", b"<!DOCTYPE html><html><p>Soon!".to_vec()),
    ];
    let better = vec![("b", sitemap(&["b1", "b2"])), ("d", sitemap(&["d1"]))];
    let better = [site[..2].to_vec(), better].concat();
    let begin = ["a1", "a2", "b (the sitemap cannot be read: 404)", "p", "c1"];
    let broken = "c (the sitemap cannot be read: byte 37: the input ends within an element)";
    let page = "d (the sitemap cannot be read: byte 15: the document is a <html>, and no <urlset>, <sitemapindex>, \
        <rss> or <feed>)";
    let all = [&begin[..], &[broken, page]].concat();
    let late = [&all[..], &["b1", "b2", "d1"]].concat();
    for most in 0..=all.len() {
        for then in most..late.len() {
            let folder = Folder::new("any");
            assert_eq!(folder.read(&index, &site, most).0, all[..most]);
            let (jobs, _) = folder.read(&index, &site, all.len());
            assert_eq!(jobs, all);
            let opened = folder.take_opened();
            let times = |url: &str| opened.iter().filter(|opened| *opened == url).count();
            assert_eq!((times("a"), times("c")), (1, 1), "{most}: {opened:?}");
            assert_eq!(folder.read(&index, &better, then).0, late[..then]);
            folder.read(&index, &better, usize::MAX).1.expect("readable");
            folder.take_opened();
            folder.check(&index, &[], &late, &[]);
        }
    }
}

#[test]
fn a_source_that_is_interrupted_ends_without_a_job_and_goes_on_there() {
    let folder = Folder::new("interrupted");
    let two = index(&["a", "b"]);
    let a = ("a", sitemap(&["a1"]));
    folder.check(&two, &[a.clone(), ("b", Vec::new())], &["a1"], &["a", "b"]);
    folder.check(&two, &[a, ("b", sitemap(&["b1"]))], &["a1", "b1"], &["b"]);
}

#[test]
fn another_index_is_noticed() {
    let folder = Folder::new("changed");
    let site = vec![("a", sitemap(&["a1"])), ("b", sitemap(&["b1"])), ("c", sitemap(&["c1"]))];
    folder.check(&index(&["a", "b"]), &site, &["a1", "b1"], &["a", "b"]);
    for (urls, end) in [
        (&["a", "c"][..], "it named b where it names c now"),
        (&["b"], "it named a where it names b now"),
        (&["a"], "it named b, and does not any more"),
        (&[], "it named a, and does not any more"),
    ] {
        let (_, ended) = folder.read(&index(urls), &site, usize::MAX);
        let error = ended.expect_err("another index").to_string();
        let begin =
            format!("the index has changed since the run in {} began: ", folder.path.display());
        assert_eq!(error, begin + end);
    }
}

#[test]
fn a_line_of_the_list_that_is_torn_is_as_if_it_were_not_there() {
    let folder = Folder::new("torn");
    let two = index(&["a", "b"]);
    let site = vec![("a", sitemap(&["a1"])), ("b", sitemap(&["b1"]))];
    folder.check(&two, &site, &["a1", "b1"], &["a", "b"]);
    let list = folder.kept().join("list");
    let text = fs::read(&list).expect("written");
    fs::write(&list, &text[..text.len() - 2]).expect("writable");
    folder.check(&two, &site, &["a1", "b1"], &["b"]);
    assert_eq!(fs::read(&list).expect("written"), text);
    fs::write(&list, "{}\n").expect("writable");
    let run = RunFolder::open(&folder.path, [("a", "b")]).expect("a folder");
    let error = Sitemap::new(&two[..]).keep_in(&run).expect_err("no list").to_string();
    assert!(error.contains("missing field `url`"), "{error}");
}

/// `gzip -n` of `<urlset><url><loc>/x</loc></url></urlset>`.
const COMPRESSED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xb3\x29\x2d\xca\x29\x4e\x2d\xb1\xb3\x01\xd2\x76\x36\x39\
    \xf9\xc9\x76\xfa\x15\x36\xfa\x20\xda\x46\x1f\x2c\xa4\x0f\x55\x00\x00\x3d\xcc\xab\xc8\x29\x00\x00\x00";
