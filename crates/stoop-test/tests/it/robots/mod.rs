//! The decisions of `stoop_fetch::robots` beside those of protego, which Scrapy asks: over random files, the same
//! but for the differences that are listed.

mod differences;
mod files;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use stoop_fetch::robots::RobotsTxt;

use self::differences::DIFFERENCES;
use self::files::{Case, case};
use crate::corpora::skipped;
use crate::programs::{are_missing, run};

/// Where `cargo xtask test --only install` keeps it.
const PROTEGO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/protego");

const FILES: u64 = 10_000;

/// For each case, whether each of its paths is allowed.
type Decisions = Vec<Vec<bool>>;

fn ours(cases: &[Case]) -> Decisions {
    let decide = |case: &Case| {
        let robots = RobotsTxt::parse(&case.file, case.agent);
        case.paths.iter().map(|path| robots.is_allowed(path)).collect()
    };
    cases.iter().map(decide).collect()
}

async fn protegos(cases: &[Case]) -> Decisions {
    let mut input = String::new();
    for case in cases {
        let file: String = case.file.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        let json = serde_json::json!({ "file": file, "agent": case.agent, "paths": case.paths });
        let _ = writeln!(input, "{json}");
    }
    let arguments = ["-c", include_str!("peer.py"), PROTEGO].map(str::to_owned);
    let output = run("python3", &arguments, input.as_bytes()).await.text();
    let decisions: Decisions =
        output.lines().map(|line| line.bytes().map(|byte| byte == b'1').collect()).collect();
    assert_eq!(decisions.len(), cases.len());
    decisions
}

#[tokio::test]
async fn robots_are_read_as_protego_reads_them_but_for_the_listed_differences() {
    const NAME: &str = "robots_are_read_as_protego_reads_them";
    if are_missing(NAME, &["python3"]) {
        return;
    }
    if !Path::new(PROTEGO).join("protego-0.7.0.dist-info").is_dir() {
        skipped(NAME, "needs protego 0.7.0 (cargo xtask test --only install)");
        return;
    }
    let cases: Vec<Case> = (0..FILES).map(case).collect();
    let (own, other) = (ours(&cases), protegos(&cases).await);
    assert!(own.iter().flatten().filter(|is_allowed| !**is_allowed).count() > 10_000);

    // Each case that is decided otherwise in each rewriting, and in all of them.
    let mut rewritten = Vec::new();
    let differ = (0..cases.len()).filter(|at| own[*at] != other[*at]).collect::<Vec<_>>();
    for at in &differ {
        let each = DIFFERENCES.iter().map(|difference| (difference.rewrite)(&cases[*at]));
        let all = DIFFERENCES.iter().fold(cases[*at].clone(), |case, it| (it.rewrite)(&case));
        rewritten.extend(each.chain([all]));
    }
    let (own_rewritten, other_rewritten) = (ours(&rewritten), protegos(&rewritten).await);
    let (mut counts, mut unexplained) = (BTreeMap::new(), Vec::new());
    let per_case = DIFFERENCES.len() + 1;
    for (index, at) in differ.iter().enumerate() {
        let case = &cases[*at];
        for path in (0..case.paths.len()).filter(|path| own[*at][*path] != other[*at][*path]) {
            let explains = |rewriting: &usize| {
                let place = index * per_case + rewriting;
                let (ours, protegos) = (own_rewritten[place][path], other_rewritten[place][path]);
                ours == own[*at][path] && protegos == ours
            };
            match (0..per_case).find(explains) {
                Some(rewriting) => *counts.entry(rewriting).or_insert(0) += 1,
                None => unexplained.push((*at, path)),
            }
        }
    }
    println!("{} files of {FILES} are read otherwise, in decisions:", differ.len());
    for (rewriting, count) in &counts {
        println!(
            "{count}: {}",
            DIFFERENCES.get(*rewriting).map_or("several of these", |it| it.name)
        );
    }
    for (at, path) in unexplained.iter().take(5) {
        let case = &cases[*at];
        let (file, path) = (case.file.escape_ascii(), &case.paths[*path]);
        println!("{at}: {path} for {}: {file}", case.agent);
    }
    assert!(unexplained.is_empty(), "{} decisions", unexplained.len());
    for (index, difference) in DIFFERENCES.iter().enumerate() {
        assert!(counts.contains_key(&index), "nothing is as in: {}", difference.name);
    }
}
