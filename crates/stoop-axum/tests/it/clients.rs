//! The example with curl and nghttp: JSON, events, an upload and ranges, over HTTP/1.1 and over HTTP/2 with TLS; and with
//! slowhttptest.

use std::process::Output;
use std::time::Duration;

use stoop::{Client, Server, ServerHandle, ServerLimits, ServerTls};
use tokio::process::Command;
use tokio::time::timeout;

use super::application;
use super::browser::Folder;

/// Runs a program. None if it is missing, which is reported.
async fn run(program: &str, arguments: &[String]) -> Option<Output> {
    match Command::new(program).args(arguments).output().await {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{program} {arguments:?}: {said}");
            Some(output)
        }
        Err(error) => {
            super::skip("clients", &format!("needs {program}: {error}"));
            None
        }
    }
}

/// The application over TLS, or without, and the folder of its files.
struct Example {
    server: ServerHandle,
    folder: Folder,
    scheme: &'static str,
}

impl Example {
    fn start(name: &str, is_secure: bool) -> Self {
        Self::start_with(name, is_secure, stoop_axum::server_limits())
    }

    fn start_with(name: &str, is_secure: bool, limits: ServerLimits) -> Self {
        let scheme = if is_secure { "https" } else { "http" };
        let folder = Folder::new(&format!("{name}-{scheme}"));
        std::fs::write(folder.0.join("tone.wav"), application::tone()).unwrap();
        std::fs::write(folder.0.join("zeros.bin"), vec![0; 3_000_000]).unwrap();
        std::fs::write(folder.0.join("ada.json"), r#"{"name":"Ada"}"#).unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        std::fs::write(folder.0.join("ca.pem"), &chain).unwrap();
        let tls = ServerTls::builder().certificate_pem(chain, key).build().unwrap();
        let server = Server::listen(format!("{scheme}://127.0.0.1:0").as_str()).unwrap();
        let server = if is_secure { server.tls(tls) } else { server }.limits(limits);
        let handler = stoop_axum::handler(application::application(&folder.0));
        Self { server: server.run_here(handler).unwrap(), folder, scheme }
    }

    /// The output of a program, if there is one, with these arguments, in which `@` is the server and `%` the folder.
    async fn output(&self, program: &str, arguments: &[&str]) -> Option<String> {
        let url = format!("{}://localhost:{}", self.scheme, self.server.port());
        let folder = self.folder.0.display().to_string();
        let mut all = Vec::new();
        if program == "curl" {
            let common = ["-sS", "--noproxy", "*", "--max-time", "30", "--cacert", "%/ca.pem"];
            all.extend(common.map(|word| word.replace('%', &folder)));
        }
        all.extend(arguments.iter().map(|word| match word.strip_prefix('@') {
            Some(path) => format!("{url}{path}"),
            None => word.replace("%/", &format!("{folder}/")),
        }));
        let output = run(program, &all).await?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

const JSON: &str = "content-type: application/json";

const EVENTS: &str = "id: 1\ndata: event 1\n\nid: 2\ndata: event 2\n\nid: 3\ndata: event 3\n\n";

/// What curl does with the example, and what it prints.
const CURL: &[(&[&str], &str)] = &[
    (
        &["-H", JSON, "-d", r#"{"name":"Ada"}"#, "@/api/greet"],
        r#"{"text":"Hello, Ada!","address":"127.0.0.1"}"#,
    ),
    (&["-H", JSON, "-d", "{", "-o", "/dev/null", "-w", "%{http_code}", "@/api/greet"], "400"),
    (&["-d", "{}", "-o", "/dev/null", "-w", "%{http_code}", "@/api/greet"], "415"),
    (&["-o", "/dev/null", "-w", "%{http_code}", "@/api/greet"], "405"),
    (&["-N", "@/events"], EVENTS),
    (&["-F", "file=@%/zeros.bin", "@/upload"], r#"[{"name":"zeros.bin","bytes":3000000}]"#),
    (
        &["-F", "a=1", "-F", "b=@%/ada.json", "@/upload"],
        r#"[{"name":"a","bytes":1},{"name":"ada.json","bytes":14}]"#,
    ),
    (&["-r", "0-3", "-w", " %{http_code}", "@/media/tone.wav"], "RIFF 206"),
    (&["-r", "8-11", "@/media/tone.wav"], "WAVE"),
    (&["-r", "99999-", "-o", "/dev/null", "-w", "%{http_code}", "@/media/tone.wav"], "416"),
    (
        &["-I", "-o", "/dev/null", "-w", "%{http_code} %{size_download}", "@/media/tone.wav"],
        "200 0",
    ),
    (&["-o", "/dev/null", "-w", "%{http_code}", "@/none"], "404"),
];

/// The same of nghttp, which speaks HTTP/2 alone.
const NGHTTP: &[(&[&str], &str)] = &[
    (
        &["-H", JSON, "-d", "%/ada.json", "@/api/greet"],
        r#"{"text":"Hello, Ada!","address":"127.0.0.1"}"#,
    ),
    (&["@/events"], EVENTS),
    (&["-H", "range: bytes=0-3", "@/media/tone.wav"], "RIFF"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn curl_is_answered_over_http1_and_http2() {
    for (is_secure, option, version) in [
        (false, "--http1.1", "1.1"),
        (true, "--http1.1", "1.1"),
        (false, "--http2-prior-knowledge", "2"),
        (true, "--http2", "2"),
    ] {
        let example = Example::start(&format!("curl-{version}"), is_secure);
        let spoken = [option, "-o", "/dev/null", "-w", "%{http_version}", "@/"];
        let Some(spoken) = example.output("curl", &spoken).await else { return };
        assert_eq!(spoken, version, "{option}");
        for (arguments, expected) in CURL {
            let all = [&[option], *arguments].concat();
            assert_eq!(example.output("curl", &all).await.unwrap(), *expected, "{all:?}");
        }
        // curl 7.88 fails to use a connection again that it began with prior knowledge, to whichever server.
        if option != "--http2-prior-knowledge" {
            let nothing = ["-o", "/dev/null", "-o", "/dev/null"];
            let twice = [&[option], &nothing[..], &["-w", "%{num_connects} ", "@/", "@/"]].concat();
            assert_eq!(example.output("curl", &twice).await.unwrap(), "1 0 ", "{option}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nghttp_is_answered() {
    for is_secure in [false, true] {
        let example = Example::start("nghttp", is_secure);
        for (arguments, expected) in NGHTTP {
            let Some(printed) = example.output("nghttp", arguments).await else { return };
            assert_eq!(printed, *expected, "{arguments:?}");
        }
        let log = example.output("nghttp", &["-nv", "@/", "@/media/tone.wav", "@/none"]).await;
        let log = log.unwrap();
        let statuses = [":status: 200", ":status: 404", "content-length: 16044"];
        assert!(statuses.iter().all(|status| log.contains(status)), "{log}");
    }
}

/// Asks for the page until it is cancelled. Each time it is answered soon.
async fn ask_again_and_again(url: &str, answered: &mut u32) {
    let client = Client::new();
    loop {
        let asked = async { client.get(url).await?.text().await };
        let page = timeout(Duration::from_secs(10), asked).await.expect("it is served").unwrap();
        assert!(page.starts_with("<!doctype html>"), "{page}");
        *answered += 1;
    }
}

/// Heads, contents of JSON, and reads of a file, some bytes a second each.
const SLOWLY: [&[&str]; 3] = [
    &["-H", "-i", "1", "-x", "24", "-l", "60", "-u", "@/"],
    &["-B", "-i", "1", "-s", "8192", "-f", "application/json", "-l", "60", "-u", "@/api/greet"],
    &["-X", "-n", "1", "-w", "256", "-y", "512", "-z", "16", "-l", "8", "-u", "@/media/zeros.bin"],
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_clients_are_cut_off_and_the_others_are_served() {
    let mut limits = stoop_axum::server_limits();
    let second = Duration::from_secs(1);
    (limits.time.head, limits.time.body_grace) = (second, second);
    (limits.time.send, limits.time.linger) = (2 * second, second / 2);
    let example = Example::start_with("slow", false, limits);
    let url = format!("http://127.0.0.1:{}/", example.server.port());
    for slowly in SLOWLY {
        let common = ["-c", "100", "-r", "100", "-p", "10"];
        let arguments = [&common[..], slowly].concat();
        let mut answered = 0;
        let printed = tokio::select! {
            printed = example.output("slowhttptest", &arguments) => printed,
            () = ask_again_and_again(&url, &mut answered) => unreachable!("it does not end"),
        };
        let Some(printed) = printed else { return };
        assert!(answered > 20, "{slowly:?}: {answered}");
        // That which reads slowly does not look whether its connections are reset.
        let end =
            if slowly[0] == "-X" { "Hit test time limit" } else { "No open connections left" };
        assert!(printed.contains(end), "{slowly:?}: {printed}");
        // That of the client beside it is kept.
        let ended = async {
            while example.server.stats().open > 1 {
                tokio::time::sleep(second / 100).await;
            }
        };
        timeout(10 * second, ended).await.expect("none of them is left");
    }
}
