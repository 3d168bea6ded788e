//! `curl --parallel` under the contract of `stoop fetch`, with its input and its output translated.
//!
//! URLs come on standard input, and curl gets them as a config file on its standard input; each line that
//! curl writes becomes `url,code,start_time,duration,length`. curl has one thread and one pool, uses
//! HTTP/1.1 here unless HTTP/2 is allowed by an option, requests no compression and follows ten redirects.
//! It reads all of its config before it starts, and runs at most 300 transfers at once, whatever its options
//! are. As Debian builds it, it uses the system's resolver, and has no option for another name server.
//!
//! The cost of this program is part of the figures, and small compared with curl's: a line is copied twice.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use jiff::Timestamp;

/// The line that curl writes for each URL. Its errors are numbers, since their texts may contain any
/// characters.
const WRITTEN: &str = "%{exitcode} %{http_code} %{time_total} %{size_download} %{url}\\n";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the lines may close the output.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("curl: {error}; are curl and stdbuf installed?");
            ExitCode::from(3)
        }
    }
}

fn run() -> io::Result<()> {
    // Without stdbuf, curl's lines would be buffered, and their times wrong.
    let mut curl = Command::new("stdbuf")
        .args(["-oL", "curl", "--disable", "--config", "-"])
        .args(["--parallel", "--silent", "--http1.1", "--globoff", "--location"])
        .args(["--max-redirs", "10", "--noproxy", "*", "--proto-default", "https"])
        .args(translate_options(std::env::args().skip(1)).map_err(io::Error::other)?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // It shows its progress there, even with --silent.
        .stderr(Stdio::null())
        .spawn()?;
    let config = curl.stdin.take().ok_or_else(|| io::Error::other("no standard input"))?;
    let lines = curl.stdout.take().ok_or_else(|| io::Error::other("no standard output"))?;
    let writer = std::thread::spawn(move || write_config(config));
    let mut output = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    for line in BufReader::new(lines).lines() {
        if let Some(line) = line_of(&line?, Timestamp::now()) {
            output.write_all(line.as_bytes())?;
        }
    }
    output.flush()?;
    // Its status is that of the last failed transfer, which has a line.
    curl.wait()?;
    writer.join().map_err(|_| io::Error::other("the config could not be written"))?
}

/// Translates the options of the contract to those of curl.
fn translate_options(words: impl Iterator<Item = String>) -> Result<Vec<String>, String> {
    let rename = |word: String| match word.as_str() {
        "--concurrency" => "--parallel-max".to_owned(),
        "--timeout" => "--max-time".to_owned(),
        _ => word,
    };
    let words: Vec<String> = words.map(rename).collect();
    if !words.len().is_multiple_of(2) {
        let usage =
            "--concurrency N --timeout SECONDS --user-agent TEXT [--cacert FILE] [--http2 true]";
        return Err(format!("usage: {usage}"));
    }
    // In curl this option has no value, and the last option for a version counts.
    let is_switch = |pair: &[String]| pair == ["--http2", "true"];
    Ok(words
        .chunks(2)
        .flat_map(|pair| &pair[..if is_switch(pair) { 1 } else { 2 }])
        .cloned()
        .collect())
}

fn write_config(config: impl Write) -> io::Result<()> {
    let mut config = BufWriter::new(config);
    writeln!(config, "write-out = \"{WRITTEN}\"")?;
    for line in io::stdin().lines() {
        let line = line?;
        let target = line.trim();
        if !target.is_empty() && !target.starts_with('#') {
            let quoted = target.replace('\\', "\\\\").replace('"', "\\\"");
            writeln!(config, "url = \"{quoted}\"\noutput = \"/dev/null\"")?;
        }
    }
    config.flush()
}

/// The line of the contract for a line that curl wrote at `end`.
fn line_of(written: &str, end: Timestamp) -> Option<String> {
    let mut fields = written.splitn(5, ' ');
    let mut field = || fields.next();
    let (exit, status, seconds, bytes, url) = (field()?, field()?, field()?, field()?, field()?);
    let duration = Duration::from_secs_f64(seconds.parse().ok()?);
    let start = end.checked_sub(duration).ok()?;
    let (code, length) = match exit {
        "0" => (status.to_owned(), bytes),
        "28" => ("timeout".to_owned(), "0"),
        "47" => ("redirect_limit".to_owned(), "0"),
        "3" => ("invalid_url".to_owned(), "0"),
        number => (format!("curl {number}"), "0"),
    };
    let url = match url.contains([',', '"']) {
        true => format!("\"{}\"", url.replace('"', "\"\"")),
        false => url.to_owned(),
    };
    Some(format!("{url},{code},{start:.3},{},{length}\n", duration.as_millis()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_renamed_and_http2_has_no_value() {
        let words = ["--concurrency", "7", "--http2", "true", "--timeout", "5"];
        let translated = translate_options(words.map(str::to_owned).into_iter()).unwrap();
        assert_eq!(translated, ["--parallel-max", "7", "--http2", "--max-time", "5"]);
    }

    #[test]
    fn a_line_of_curl_becomes_a_line_of_the_contract() {
        let end: Timestamp = "2026-11-22T00:00:10.500Z".parse().unwrap();
        let line = |written| line_of(written, end).unwrap();
        assert_eq!(
            line("0 200 0.250000 13 http://a/b,c"),
            "\"http://a/b,c\",200,2026-11-22T00:00:10.250Z,250,13\n"
        );
        assert_eq!(
            line("28 000 5.000000 7 http://a/"),
            "http://a/,timeout,2026-11-22T00:00:05.500Z,5000,0\n"
        );
        assert_eq!(line_of("nonsense", end), None);
    }
}
