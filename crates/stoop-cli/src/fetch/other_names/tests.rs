//! Tests of the options of other programs.

use super::absent::rows;
use super::counterparts::{COUNTERPARTS, Counterpart};
use super::misread::FLAGS;
use super::*;

/// All options as they are typed.
fn typed() -> Vec<(String, bool)> {
    let mut all = Vec::new();
    for arg in options().get_arguments() {
        let takes_value = arg.get_action().takes_values();
        let short = arg.get_short_and_visible_aliases().into_iter().flatten();
        all.extend(short.map(|letter| (format!("-{letter}"), takes_value)));
        let long = arg.get_long_and_visible_aliases().into_iter().flatten();
        all.extend(long.map(|name| (format!("--{name}"), takes_value)));
    }
    all
}

#[test]
fn every_option_that_is_suggested_exists_and_none_that_is_absent() {
    let typed = typed();
    let exists = |word: &str| typed.iter().any(|(option, _)| option == word);
    let advice =
        rows().map(|(_, advice)| *advice).chain(FLAGS.iter().map(|(_, advice, _)| *advice));
    let mut suggested = 0;
    for advice in advice {
        let words = advice.split([' ', '\'', '"', ',', ';', ':']);
        for word in words.filter(|word| word.starts_with('-')) {
            assert!(exists(word), "{word} in {advice:?}");
            suggested += 1;
        }
    }
    assert!(suggested > 80, "{suggested}");
    for name in rows().flat_map(|(names, _)| names.iter()) {
        assert!(!exists(name), "{name} exists");
    }
    for (letter, ..) in FLAGS {
        assert!(exists(&format!("-{letter}")), "{letter}");
    }
}

#[test]
fn a_counterpart_is_an_option_that_takes_a_value_where_one_is_given() {
    let typed = typed();
    for (counterpart, names) in COUNTERPARTS {
        for name in *names {
            assert!(rows().any(|(absent, _)| absent.contains(name)), "nothing is said of {name}");
        }
        let word = match counterpart {
            Counterpart::Option(word) => word,
            Counterpart::Words(words) | Counterpart::WordsForValue(words) => {
                words.split(' ').next().expect("a word")
            }
            _ => continue,
        };
        let option = typed.iter().find(|(option, _)| option == word);
        let takes_value = option.unwrap_or_else(|| panic!("{word}")).1;
        assert!(takes_value || !matches!(counterpart, Counterpart::Option(_)), "{word}");
    }
}

#[test]
fn no_option_has_two_answers() {
    let of_counterparts = COUNTERPARTS.iter().flat_map(|(_, names)| names.iter()).collect();
    for mut names in
        [rows().flat_map(|(names, _)| names.iter()).collect::<Vec<_>>(), of_counterparts]
    {
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None);
    }
}

fn told(line: &str) -> Option<String> {
    let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
    said(&words)
}

#[test]
fn options_of_other_programs_get_what_to_write_here() {
    for (line, expected) in [
        ("-l urls.txt", "fetch has no -l: write '-i FILE'"),
        ("-rl 150 -i urls", "fetch has no -rl: write '--total-rate N'"),
        ("-i urls -sc -title", "fetch has no -sc: leave it out"),
        ("-i urls -title -sc", "fetch has no -title: write '-f jsonl --extract"),
        ("--title", "fetch has no --title: write '-f jsonl --extract"),
        ("-threads 50", "fetch has no -threads: write '-c N'"),
        ("-silent", "fetch has no -silent: write '-q'"),
        ("-json", "fetch has no -json: leave it out: '-f jsonl'"),
        ("-fr", "fetch has no -fr: leave it out"),
        ("--limit-rate 200k https://a/", "fetch has no --limit-rate: write '--max-bandwidth SIZE'"),
        ("--limit-rate=200k", "fetch has no --limit-rate: write '--max-bandwidth SIZE'"),
        (
            "--max-overall-download-limit=1M -i urls",
            "fetch has no --max-overall-download-limit: write '--max-bandwidth SIZE'",
        ),
        ("--max-download-limit=1M", "fetch has no --max-download-limit: write '--max-bandwidth"),
        ("-mc 200", "fetch has no -mc: write '--match-code CODES'"),
        ("-fc 404", "fetch has no -fc: write '--skip-code CODES'"),
        ("-random-agent", "fetch has no -random-agent: write '-A TEXT'"),
        ("-nc -i urls", "fetch has no -nc: leave it out"),
        ("--tries=3", "fetch has no --tries: write '--retry N'"),
        ("-qs -i urls", "fetch has no -s: write '-q'"),
        ("-s16", "fetch has no -s: leave it out: a file comes over one connection"),
        ("-P pages", "fetch has no -P: write '--save DIR'"),
        ("-k https://a/", "fetch has no -k: write '--insecure'"),
        ("-k 1M https://a/", "fetch has no -k: leave it out: a file comes over one connection"),
        ("-k1M", "fetch has no -k: leave it out: a file comes over one connection"),
        ("-Z https://a/", "fetch has no -Z: write '-c N'"),
        ("-u https://a/", "fetch has no -u: write '-i FILE' for a list; URLs themselves need"),
        (
            "-u me:secret https://a/",
            "fetch has no -u: write user and password into the URL, as USER:PASSWORD@",
        ),
        ("--user me:secret -i urls", "fetch has no --user: write user and password into the URL"),
        ("-U me:secret -i urls", "fetch has no -U: write user and password into the URL of '-x'"),
        ("-U agent/1 -i urls -t x", "fetch has no -U: write '-A TEXT' for the User-Agent"),
        ("-vhost", "fetch has no -vhost: leave it out"),
        ("-lc -i urls", "fetch has no -lc: leave it out"),
        ("-ss -i urls", "fetch has no -ss: write '--save DIR'"),
        ("-hash md5 -i urls", "fetch has no -hash: write '--digest sha256'"),
        ("-http2 -i urls", "fetch has no -http2: leave it out"),
        ("-delay 2s -i urls", "fetch has no -delay: write '--total-rate N'"),
        ("-c", "-c is --concurrency <N|auto> here; to go on"),
        ("-c -i urls", "-c is --concurrency <N|auto> here; to go on"),
        ("-r https://a/", "-r is --range <RANGE> here; links are not followed"),
        ("-r -l 2 https://a/", "-r is --range <RANGE> here; links are not followed"),
        ("-r 9.9.9.9 -i urls", "-r is --range <RANGE> here; for name servers"),
        ("-f https://a/", "-f is --format <FORMAT> here; to end with"),
        ("-x 16 -i urls", "-x 16: a number is no proxy; '--per-host 16'"),
        ("-x ALL -i urls", "-x ALL: a method is no proxy; '-X METHOD'"),
        ("-x GET,HEAD -i urls", "-x GET,HEAD: a method is no proxy"),
        ("-d / -i urls", "-d / would be sent as content here: write '--save /'"),
        ("-d new/ -i urls", "-d new/ would be sent as content here: write '--save"),
        ("-d new -j 16 -i urls", "-d new would be sent as content here: write '--save"),
        ("-t 50 -sc -i urls", "-t is --timeout <SECONDS> here; for 50 URLs at once"),
        ("-t 3 -nc -i urls", "-t is --timeout <SECONDS> here; for 3 tries"),
    ] {
        let said = told(line);
        assert!(said.as_deref().is_some_and(|said| said.starts_with(expected)), "{line}: {said:?}");
    }
    // Mistakes of another kind are those of the parser, and what is right is no mistake.
    for line in [
        "-c many",
        "-f xml",
        "-t 0",
        "--concurency 5",
        "-i",
        "-c many -- -nc",
        "-tx",
        "-t 50 -i urls",
        "-d a=b -i urls",
        "-d -title",
        "-d {\"a\":[]} http://a/",
        "-r -500 -i urls",
        "-r 0-1 -i urls",
        "-r --quiet",
        "-x '' -i urls",
        "-x http://p:1 -i urls",
        "--save -k",
        "-H x:y --header=-sc",
        "-qh",
        "-qI4 http://a/",
    ] {
        match line {
            // A value that is missing is followed by an option.
            "--save -k" => assert!(told(line).is_some_and(|said| said.contains("no -k"))),
            _ => assert_eq!(told(line), None, "{line}"),
        }
    }
}

/// httpx has -match-code, which may be typed with two hyphens.
#[test]
fn no_option_of_this_program_is_one_of_another() {
    for (option, takes_value) in typed() {
        let line = if takes_value { format!("{option} 1k") } else { option.clone() };
        assert_eq!(told(&line), None, "{line}");
        if option.starts_with("--") {
            assert_eq!(told(&format!("{option}=1k")), None, "{option}");
        }
    }
}

/// Each was told alone, so that the command was run once for each of them.
#[test]
fn all_options_of_a_command_are_told_at_once_with_the_command_as_it_is_here() {
    for (line, names, written) in [
        (
            "-l hosts.txt -sc -title -td -json -o out",
            "-l -sc -title -td -json",
            Some("-i hosts.txt -o out --http-fallback --max-redirects 0 -f jsonl --extract title"),
        ),
        (
            "-i list -P dir -c --tries=3 -w 1",
            "-P -c --tries -w",
            Some(
                "-i list --save dir --run FOLDER --retry 3 --host-interval 1 --save-as url --max-body none -t 3600 \
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
        ("-k -d password=1 http://a/", "-k", None),
        ("-w %{http_code} http://a/", "-w", None),
        (
            "-k -A me/1 -U other/1 http://a/?b",
            "-k -U",
            Some("--insecure -A me/1 -A other/1 'http://a/?b'"),
        ),
        ("-sc -ip -p 80 http://a/", "-sc -ip -p", None),
        (
            "-u a.example -title -server -tls-grab -f csv",
            "-u -title",
            Some("-f csv --http-fallback --max-redirects 0 --extract title,server,tls a.example"),
        ),
        ("-l list -fr -nf -mc 200", "-l -fr -nf -mc", Some("-i list --match-code 200")),
        (
            "-i list -P d -T 60 --max-body 1k",
            "-P -T",
            Some("-i list --save d -t 60 --max-body 1k --save-as url --read-timeout 30"),
        ),
        ("-l list -sc -nope", "-l -sc", None),
        (
            "-l list -http2 -hash sha256",
            "-l -http2 -hash",
            Some("-i list --digest sha256 --http-fallback --max-redirects 0 -f jsonl"),
        ),
        ("-k -H Authorization:x http://a/", "-k", None),
        ("-k -- -x", "-k", Some("--insecure -- -x")),
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
    let guide = include_str!("../../../../stoop/docs/fetching.md");
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

#[test]
fn words_are_quoted_as_a_shell_reads_them() {
    for (word, quoted) in
        [("a/b.c:1", "a/b.c:1"), ("", "''"), ("it's", r"'it'\''s'"), ("a b", "'a b'"), ("~", "'~'")]
    {
        assert_eq!(command::quoted(word), quoted);
    }
}
