//! Tests of the options of other programs.

use super::counterpart::Counterpart;
use super::misread::FLAGS;
use super::rows::all;
use super::*;

mod commands;

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
    // Those of the parser itself.
    let is_parsers = |word: &str| ["--help", "--version"].contains(&word);
    let exists = |word: &str| is_parsers(word) || typed.iter().any(|(option, _)| option == word);
    let mut advices: Vec<_> = all().map(|(_, option)| option.instead).collect();
    advices.dedup();
    let advice = advices.into_iter().chain(FLAGS.iter().map(|(_, advice, _)| *advice));
    let mut suggested = 0;
    for advice in advice {
        let words = advice.split([' ', '\'', '"', ',', ';', ':']);
        for word in words.filter(|word| word.starts_with('-')) {
            assert!(exists(word), "{word} in {advice:?}");
            suggested += 1;
        }
    }
    assert!(suggested > 80, "{suggested}");
    for (name, _) in all() {
        assert!(!exists(name), "{name} exists");
    }
    for (letter, ..) in FLAGS {
        assert!(exists(&format!("-{letter}")), "{letter}");
    }
}

#[test]
fn a_counterpart_is_an_option_that_takes_a_value_where_one_is_given() {
    let typed = typed();
    for (_, option) in all() {
        let word = match option.counterpart {
            Counterpart::Option(word) => word,
            Counterpart::Words(words) | Counterpart::WordsForValue(words) => {
                words.split(' ').next().expect("a word")
            }
            _ => continue,
        };
        let typed = typed.iter().find(|(option, _)| option == word);
        let takes_value = typed.unwrap_or_else(|| panic!("{word}")).1;
        assert!(takes_value || !matches!(option.counterpart, Counterpart::Option(_)), "{word}");
    }
}

#[test]
fn no_option_has_two_answers() {
    let mut names: Vec<_> = all().map(|(name, _)| name).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(twice, None);
}

/// What is told of the words of a line, with no variables and no terminals.
fn told(line: &str) -> Option<String> {
    let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
    let environment = Environment {
        variable: |_| None,
        stdin_is_terminal: false,
        stdout_is_terminal: false,
        stderr_columns: None,
    };
    said_in(&words, &environment)
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
        ("-i urls.txt -d downloads", "-d downloads would be sent as content here: write '--save"),
        ("-ddownloads --input=urls.txt", "-d downloads would be sent as content here"),
        ("-debug", "fetch has no -debug: write '-f jsonl'"),
        ("-deny 10.0.0.0/8", "fetch has no -deny: choose hosts in the list"),
        ("-oa", "fetch has no -oa: write '-f FORMAT -o FILE'"),
        ("-dashboard", "fetch has no -dashboard: leave it out"),
        ("-fd", "fetch has no -fd: write '--dedupe'"),
        ("-sni a.example", "fetch has no -sni: write the name into the URL"),
        ("-tlsi", "fetch has no -tlsi: leave it out"),
        ("-version", "fetch has no -version: write 'stoop --version'"),
        ("-help", "fetch has no -help: write '--help'"),
        ("--cut-dirs=1", "fetch has no --cut-dirs: write '--save DIR'"),
        ("--accept '*.gif'", "fetch has no --accept: choose URLs in the list"),
        ("--bind-address 127.0.0.1", "fetch has no --bind-address: leave it out"),
        ("--http3 http://a/", "fetch has no --http3: leave it out"),
        ("--tlsv1.2 http://a/", "fetch has no --tlsv1.2: leave it out"),
        ("-B http://a/", "fetch has no -B: write whole URLs"),
        ("--url_list=a.parquet", "fetch has no --url_list: write '-i FILE'"),
        ("--url_col=URL", "fetch has no --url_col: write '--url-column COLUMN'"),
        ("--check-certificate=true", "fetch has no --check-certificate: leave it out"),
        ("-u me http://a/", "fetch has no -u: write user and password into the URL"),
        (
            "-O a.html http://a/",
            "fetch has no -O: write '--save DIR' for the content, or 'stoop get",
        ),
        ("-d new -j 16 -i urls", "-d new would be sent as content here: write '--save"),
        ("-t 50 -sc -i urls", "-t is --timeout <SECONDS> here; for 50 URLs at once"),
        ("-t 3 -nc -i urls", "-t is --timeout <SECONDS> here; for 3 tries write '--retry 2'"),
        ("-t 1 -nc -i urls", "-t is --timeout <SECONDS> here; for one try leave it out"),
        ("-t 0 -nc -i urls", "-t is --timeout <SECONDS> here; for 0, tries without end, there is"),
        ("-t 2 -T 10 -i urls", "-t is --timeout <SECONDS> here; for 2 tries write '--retry 1'"),
        ("-t 2 --waitretry 1 -i urls", "-t is --timeout <SECONDS> here; for 2 tries"),
        ("-o a.html -sL http://a/", "-o is --output <FILE> here, for the lines; for content write"),
        ("-o a.bin -j 4 -i urls", "-o is --output <FILE> here, for the lines"),
        ("--output=a -L http://a/", "-o is --output <FILE> here, for the lines"),
        ("-fs http://a/", "-f is --format <FORMAT> here; to end with"),
        ("-fs nothing http://a/", "fetch has no -fs: write '--skip-text REGEX'"),
        ("-m 5 -j 4 -i urls", "fetch has no -m: write '--retry N', with one less"),
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
        "-d {} -i urls",
        "-d [1] -i urls",
        "-d a&b -i urls",
        "-d @file -i urls",
        "-d -1 -i urls",
        "-d text -X PUT -i urls",
        "--data-raw text -i urls",
        "-d text http://a/",
        "--help",
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
        "-Io a.csv http://a/",
        "-If csv -o a.csv http://a/",
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
