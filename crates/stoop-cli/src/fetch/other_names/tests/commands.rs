//! Tests of the commands that are told for those of other programs.

use super::*;

/// Each was told alone, so that the command was run once for each of them.
#[test]
fn all_options_of_a_command_are_told_at_once_with_the_command_as_it_is_here() {
    for (line, names, written) in [
        (
            "-l hosts.txt -sc -title -td -json -o out",
            "-l -sc -title -td -json",
            Some(
                "-i hosts.txt -o out --http-fallback --insecure --max-redirects 0 -f jsonl --extract title",
            ),
        ),
        (
            "-i list -P dir -c --tries=3 -w 1",
            "-P -c --tries -w",
            Some(
                "-i list --save dir --run FOLDER --retry 2 --host-interval 1 --save-as url --max-body none -t 3600 \
                 --read-timeout 30",
            ),
        ),
        (
            "-i list -d dir -j 16 -x 4 -k1M -s16",
            "-d -j -x -k -s",
            Some(
                "-i list --save dir -c 16 --per-host 4 --save-as url --max-body none -t 3600 --read-timeout 30",
            ),
        ),
        ("-Z --parallel-max 50 -K list", "-Z --parallel-max -K", None),
        ("-sSLk -m 10 http://a/", "-s -S -L -k -m", Some("-q --insecure -t 10 http://a/")),
        ("-fsSL http://a/", "-f -s -S -L", Some("--fail -q http://a/")),
        ("-sSfL http://a/", "-s -S -f -L", Some("-q --fail http://a/")),
        (
            "-L -O http://a/1",
            "-L -O",
            Some("http://a/1 --save . --save-as url --max-body none -t 3600 --read-timeout 30"),
        ),
        ("-O a.html http://a/1", "-O", None),
        ("-O - http://a/1", "-O", None),
        ("-qO- http://a/1", "-O", None),
        ("-k -d password=1 http://a/", "-k", None),
        ("-w %{http_code} http://a/", "-w", None),
        ("-k -U other/1 http://a/?b", "-k -U", Some("--insecure -A other/1 'http://a/?b'")),
        ("-sc -ip -p 80 http://a/", "-sc -ip -p", None),
        (
            "-u a.example -title -server -tls-grab -f jsonl",
            "-u -title",
            Some(
                "-f jsonl --http-fallback --insecure --max-redirects 0 --extract title,server,tls a.example",
            ),
        ),
        ("-l list -fr -nf -mc 200", "-l -fr -nf -mc", Some("-i list --match-code 200 --insecure")),
        (
            "-i list -P d -T 60 --max-body 1k",
            "-P -T",
            Some("-i list --save d -t 60 --max-body 1k --save-as url --read-timeout 30"),
        ),
        ("-l list -sc -nope", "-l -sc", None),
        (
            "-l list -http2 -hash sha256",
            "-l -http2 -hash",
            Some("-i list --digest sha256 --http-fallback --insecure --max-redirects 0 -f jsonl"),
        ),
        ("-k -H Authorization:x http://a/", "-k", None),
        (
            "-l hosts.txt -t 10",
            "-l -t",
            Some("-i hosts.txt -c 10 --http-fallback --insecure --max-redirects 0"),
        ),
        (
            "-l hosts.txt -ob -sr",
            "-l -ob -sr",
            Some(
                "-i hosts.txt --http-fallback --insecure --max-redirects 0 --save . --save-as url --max-body none -t 3600 \
             --read-timeout 30",
            ),
        ),
        (
            "-x16 -s16 --file-allocation=none http://a/",
            "-x -s --file-allocation",
            Some(
                "--per-host 16 http://a/ --save . --save-as url --max-body none -t 3600 --read-timeout 30",
            ),
        ),
        (
            "-OJL http://a/",
            "-O -J -L",
            Some("http://a/ --save . --save-as url --max-body none -t 3600 --read-timeout 30"),
        ),
        // A user, and no host.
        ("-u me http://a/", "-u", None),
        ("-up", "-up", None),
        ("-b jar.txt -c jar.txt http://a/", "-b -c", None),
        ("-sL -c jar http://a/", "-s -L -c", Some("-q --cookie-jar jar http://a/")),
        ("-sLi http://a/", "-s -L -i", None),
        ("-Q5m -i list", "-Q", None),
        ("-k -- -x", "-k", Some("--insecure -- -x")),
        // Words behind -- are URLs, whatever they are.
        (
            "-P d -u b.example -- http://a/ -k",
            "-P -u",
            Some(
                "--save d --save-as url --max-body none -t 3600 --read-timeout 30 b.example -- http://a/ -k",
            ),
        ),
        (
            "-T 10 -t 2 -i list",
            "-T -t",
            Some(
                "-t 10 --retry 1 -i list --save . --save-as url --max-body none --read-timeout 30",
            ),
        ),
        (
            "-i list -m 5 -j 4 --max-overall-download-limit=1M",
            "-m -j --max-overall-download-limit",
            Some(
                "-i list --retry 4 -c 4 --max-bandwidth 1M --save . --save-as url --max-body none -t 3600 --read-timeout 30",
            ),
        ),
        (
            "--max-tries=1 -i list",
            "--max-tries",
            Some("-i list --save . --save-as url --max-body none -t 3600 --read-timeout 30"),
        ),
        (
            "-i urls.txt -d downloads",
            "-d",
            Some(
                "-i urls.txt --save downloads --save-as url --max-body none -t 3600 --read-timeout 30",
            ),
        ),
        (
            "--proto =https --tlsv1.2 -sSf http://a/",
            "--proto --tlsv1.2 -s -S -f",
            Some("-q --fail http://a/"),
        ),
        ("--tries=0 -i list", "--tries", None),
        ("-t 0 -w 1 -i list", "-t -w", None),
        ("-i list -l 2 -nc", "-l -nc", None),
        ("--spider -i list", "--spider", Some("-I -i list")),
        ("-sL -o a.html http://a/", "-s -L -o", None),
        ("-fsSLo a.html http://a/", "-f -s -S -L -o", None),
        ("-sSLo a.html http://a/", "-s -S -L -o", None),
        ("-fo a.html http://a/", "-f -o", None),
        ("-If csv -o a.csv -k http://a/", "-k", Some("-If csv -o a.csv --insecure http://a/")),
        ("-Io a.csv -k http://a/", "-k", Some("-Io a.csv --insecure http://a/")),
        (
            "-l hosts.txt -nc",
            "-l -nc",
            Some("-i hosts.txt --http-fallback --insecure --max-redirects 0"),
        ),
        ("-fs http://a/", "-f -s", Some("--fail -q http://a/")),
        ("-s -S http://a/", "-s -S", Some("-q http://a/")),
        (
            "-l list -rstr 1k",
            "-l -rstr",
            Some("-i list --max-body 1k --truncate --http-fallback --insecure --max-redirects 0"),
        ),
    ] {
        let said = told(line).unwrap_or_else(|| panic!("{line}"));
        let (lines, command) = match said.split_once("\nSo it is written here") {
            Some((lines, rest)) => (lines, rest.split_once(":\n  stoop fetch ").map(|it| it.1)),
            None => (said.as_str(), None),
        };
        for (at, name) in names.split(' ').enumerate() {
            let line = lines.lines().nth(at).unwrap_or_default();
            let is_told = line.starts_with(&format!("fetch has no {name}: "))
                || line.starts_with(&format!("{name} "))
                || line.contains(&format!("if {name} was meant"));
            assert!(is_told, "{name} in {said}");
        }
        assert_eq!(command, written, "{line}");
    }
    let said = told("-sc -json").expect("two");
    assert!(said.contains("\nfetch has no -json: see -sc\n"), "{said}");
}

/// What is written for a command, and what the guide has beside it, are the same options.
#[test]
fn the_guide_has_the_commands_that_are_told() {
    let guide = include_str!("../../../../../stoop/docs/fetching.md");
    let mut rows = 0;
    for row in guide.lines().filter_map(|line| line.strip_prefix("| `")) {
        let mut cells = row.split("` | `");
        let (Some(theirs), Some(ours)) = (cells.next(), cells.next()) else { continue };
        let theirs = ["httpx ", "aria2c ", "wget "].iter().find_map(|it| theirs.strip_prefix(it));
        let ours = ours.strip_prefix("stoop fetch ").and_then(|it| it.split('`').next());
        let (Some(theirs), Some(ours)) = (theirs, ours) else { continue };
        let said = told(theirs).unwrap_or_else(|| panic!("{theirs}"));
        let Some((_, written)) = said.split_once("\n  stoop fetch ") else { continue };
        let sorted = |command: &str| {
            let mut words: Vec<_> = command.split(' ').map(str::to_owned).collect();
            words.sort_unstable();
            words
        };
        assert_eq!(sorted(written), sorted(ours), "{theirs}");
        rows += 1;
    }
    assert_eq!(rows, 4, "httpx twice, wget and aria2");
}

/// A command that cannot be run as it is told is not told: the options are.
#[test]
fn a_command_is_told_only_if_it_is_accepted() {
    for line in [
        // With a mask it is another command.
        "-k -d @file http://a/",
        "-k -H @headers http://a/",
        "-k http://u:p@h/",
        // The last of two holds.
        "-i urls.txt -l aria.log",
        "-k -A me/1 -U other/1 http://a/",
        "-m 5 -timeout 6 http://a/",
        // The parser of options takes them, and the plan does not.
        "-csv -title http://a/",
        "-title -o r.csv http://a/",
        "-csv -o x.jsonl http://a/",
        "-hash md5 -o r.csv http://a/",
        // A file of this crate, where tests run.
        "-threads 50 Cargo.toml",
    ] {
        let said = told(line).unwrap_or_else(|| panic!("{line}"));
        assert!(!said.contains("stoop fetch -") && !said.contains("written here"), "{said}");
    }
    let environment = Environment {
        variable: |_| None,
        stdin_is_terminal: false,
        stdout_is_terminal: true,
        stderr_columns: None,
    };
    let words = |agent: &str| ["-k", "-A", agent, "http://a/"].map(str::to_owned);
    let said = |agent: &str| said_in(&words(agent), &environment).expect("-k");
    assert!(said("bot me").ends_with("stoop fetch --insecure -A 'bot me' http://a/"));
    // The last one stands for what is no UTF-8.
    for changed in ["bot me@x.org", "bot\u{7f}", "bot\u{fffd}"] {
        assert!(!said(changed).contains("written here"), "{}", said(changed));
    }
}

#[test]
fn words_are_quoted_as_a_shell_reads_them() {
    for (word, quoted) in
        [("a/b.c:1", "a/b.c:1"), ("", "''"), ("it's", r"'it'\''s'"), ("a b", "'a b'"), ("~", "'~'")]
    {
        assert_eq!(command::quoted(word), quoted);
    }
}
