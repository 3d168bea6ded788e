//! The commands in the guide's table "From curl": each is run, as a shell reads it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::echo::EchoServer;

/// The page with the table.
const PAGE: &str = include_str!("../../../../stoop/docs/coming_from.md");

/// The rows whose command does more than to send a GET for `/p` and to end with 0: the option, the path of the URL, the
/// exit code, and what the last request had in it.
const EXPECTED: &[(&str, &str, i32, &str)] = &[
    ("-X, --request", "/p", 0, "DELETE /p HTTP/1.1"),
    ("-H, --header", "/p", 0, "x-a: 1"),
    ("-A, --user-agent", "/p", 0, "user-agent: app/1"),
    ("-e, --referer", "/p", 0, "referer: http://b.test/"),
    ("-I, --head", "/p", 0, "HEAD /p HTTP/1.1"),
    ("-r, --range", "/range", 0, "range: bytes=0-99"),
    ("-z, --time-cond", "/p", 0, "if-modified-since: Sun, 06 Nov 1994 00:00:00 GMT"),
    ("-u, --user", "/p", 0, "authorization: Basic bWU6c2VjcmV0"),
    ("--digest", "/digest", 0, "authorization: Digest "),
    ("--oauth2-bearer", "/p", 0, "authorization: Bearer token"),
    ("-n, --netrc", "/p", 0, "authorization: Basic bWU6c2VjcmV0"),
    ("-d, --data", "/p", 0, "[a=1]"),
    ("--data-raw", "/p", 0, "[text]"),
    ("--data-binary @FILE", "/p", 0, "[from a file]"),
    ("--data-urlencode", "/p", 0, "[q=a+b%26c]"),
    ("-G, --get", "/p", 0, "GET /p?q=1 HTTP/1.1"),
    ("--url-query", "/p", 0, "GET /p?q=1%262 HTTP/1.1"),
    ("--json", "/p", 0, "[[1,2]]"),
    ("-F, --form", "/p", 0, "from a file"),
    ("-T, --upload-file", "/p", 0, "PUT /p HTTP/1.1"),
    ("-f, --fail", "/status/404", 22, "GET /status/404 HTTP/1.1"),
    ("--fail-with-body", "/status/404", 22, "GET /status/404 HTTP/1.1"),
    ("--compressed", "/gzip", 0, "gzip"),
    ("-L, --location", "/to//there", 0, "GET /there HTTP/1.1"),
    ("--max-redirs", "/to//to//there", 47, "GET /to//there HTTP/1.1"),
    ("--post301, --post302, --post303", "/to//there", 0, "POST /there HTTP/1.1"),
    ("--location-trusted", "/to//there", 0, "authorization: Basic bWU6c2VjcmV0"),
    ("--retry", "/flaky", 0, "GET /flaky HTTP/1.1"),
    ("-b, --cookie", "/p", 0, "cookie: a=1"),
    ("-b FILE", "/p", 0, "cookie: from=file"),
    ("-c, --cookie-jar", "/cookie", 0, "GET /cookie HTTP/1.1"),
    ("-m, --max-time", "/hang", 28, "GET /hang HTTP/1.1"),
    ("-x, --proxy", "/p", 0, "GET http://127.0.0.1:"),
    ("-U, --proxy-user", "/p", 0, "proxy-authorization: Basic bWU6c2VjcmV0"),
    ("--resolve", "/p", 0, "host: a.test:"),
    ("--connect-to", "/p", 0, "host: a.test"),
    // The server has an IPv4 address.
    ("-6, --ipv6", "/p", 7, ""),
    ("--unix-socket", "/p", 0, "host: a.test"),
    // It does not speak HTTP/2.
    ("--http2-prior-knowledge", "/p", 16, ""),
];

/// Standard output and files that a command leaves, for the rows where that is the effect.
const WRITTEN: &[(&str, &str, &str)] = &[
    ("-o, --output", "out.txt", "GET /p\n"),
    ("-D, --dump-header", "head.txt", "HTTP/1.1 200 OK"),
    ("-c, --cookie-jar", "jar.txt", "\ts\t1"),
    ("-w '%{http_code}'", "", "200"),
    ("-w '%{time_starttransfer}'", "", "0."),
    ("-w '%{remote_ip}'", "", "127.0.0.1"),
    ("--compressed", "", "compressed"),
];

fn folder() -> PathBuf {
    let path = std::env::temp_dir().join(format!("stoop-coming-from-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir(&path).expect("a new folder");
    let key = rcgen::KeyPair::generate().expect("a key");
    let parameters = rcgen::CertificateParams::new(Vec::new()).expect("parameters");
    let certificate = parameters.self_signed(&key).expect("a certificate").pem();
    for (name, content) in [
        ("file.txt", "from a file"),
        ("cookies.txt", "127.0.0.1\tFALSE\t/\tFALSE\t0\tfrom\tfile\n"),
        (".netrc", "machine 127.0.0.1 login me password secret\n"),
        ("ca.pem", &certificate),
        ("cert.pem", &certificate),
        ("key.pem", &key.serialize_pem()),
    ] {
        fs::write(path.join(name), content).expect("room");
    }
    path
}

fn run(command: &str, folder: &Path) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_stoop"));
    let programs = format!("{}:/usr/bin:/bin", program.parent().expect("a folder").display());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).env_clear();
    shell.env("PATH", programs).env("HOME", folder).output().expect("a shell")
}

#[test]
fn each_command_of_the_guides_table_does_what_the_row_says() {
    let server = EchoServer::start();
    let folder = folder();
    let socket = folder.join("socket");
    server.listen_on(&socket);
    let table = PAGE.lines().skip_while(|line| *line != "## From curl");
    let mut options = Vec::new();
    for line in table.filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let option = cells[0].trim_matches('`');
        options.push(option);
        if cells[1] == "–" {
            continue;
        }
        let expected = EXPECTED.iter().find(|(name, ..)| *name == option);
        let (_, path, code, request) =
            expected.copied().unwrap_or(("", "/p", 0, "GET /p HTTP/1.1"));
        let typed = cells[1].trim_matches('`');
        let command = typed
            .replace("URL", &format!("http://{}{path}", server.address))
            .replace("http://a.test/", "http://a.test/p")
            .replace("PROXY", &format!("http://{}", server.address))
            .replace("HOST", "127.0.0.1")
            .replace("ADDRESS", "127.0.0.1")
            .replace("PORT", &server.address.port().to_string())
            .replace("PATH", &socket.display().to_string());
        server.take_seen();
        let output = run(&command, &folder);
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{command}\n{stdout}{stderr}");
        let seen = server.take_seen();
        let seen = seen.last().map(|seen| {
            let fields = seen.fields.iter().map(|(name, value)| format!("{name}: {value}\n"));
            format!("{}\n{}[{}]", seen.line, fields.collect::<String>(), seen.content)
        });
        let seen = seen.unwrap_or_default();
        assert!(seen.contains(request), "{command}\n{seen}");
        for (_, file, content) in WRITTEN.iter().filter(|(name, ..)| *name == option) {
            let written = match *file {
                "" => stdout.clone(),
                file => fs::read_to_string(folder.join(file)).expect("it was written"),
            };
            assert!(written.contains(content), "{command}\n{written}");
        }
    }
    let _ = fs::remove_dir_all(&folder);
    let named = EXPECTED.iter().map(|row| row.0).chain(WRITTEN.iter().map(|row| row.0));
    for option in named {
        assert!(options.contains(&option), "no row for {option}");
    }
}
