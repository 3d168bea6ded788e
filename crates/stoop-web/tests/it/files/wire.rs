//! Heads as they are on the wire, over sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use stoop::{Client, ServerHandle, Versions};
use stoop_web::{Files, Router};

use super::tree::{Tree, get};

/// A server of these files alone.
pub(super) struct Server(Option<ServerHandle>);

impl Server {
    pub(super) fn start(files: Files) -> Self {
        Self::of(Router::new().fallback(files))
    }

    pub(super) fn of(router: Router) -> Self {
        let app = router.build().unwrap();
        Self(Some(stoop::Server::listen("127.0.0.1:0").unwrap().workers(1).run(app).unwrap()))
    }

    fn port(&self) -> u16 {
        self.0.as_ref().unwrap().port()
    }

    /// All that is answered to a request, without its date, until the connection is closed.
    pub(super) fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let lines = answer.split_inclusive("\r\n").filter(|line| !line.starts_with("date: "));
        lines.collect()
    }
}

#[test]
fn a_file_a_part_of_it_and_what_has_not_changed() {
    let tree = Tree::new(&[("a.txt", b"0123456789")]);
    let server = Server::start(tree.files().cache_control("no-cache").unwrap());
    let file = "content-type: text/plain; charset=utf-8\r\n\
                x-content-type-options: nosniff\r\n\
                accept-ranges: bytes\r\n\
                last-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
                etag: \"a-2ebc98a1.1dcd6500\"\r\n\
                cache-control: no-cache\r\n";
    for (fields, answer) in [
        ("", format!("HTTP/1.1 200 OK\r\n{file}content-length: 10\r\n\r\n0123456789")),
        (
            "range: bytes=-2\r\n",
            format!(
                "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes 8-9/10\r\n{file}\
                 content-length: 2\r\n\r\n89"
            ),
        ),
        (
            "range: bytes=10-\r\n",
            "HTTP/1.1 416 Range Not Satisfiable\r\ncontent-range: bytes */10\r\n\
             content-type: text/plain; charset=utf-8\r\ncontent-length: 81\r\n\r\n\
             416 Range Not Satisfiable: no byte of it is there, or it asks for too many parts\n"
                .to_owned(),
        ),
        (
            "if-none-match: *\r\n",
            "HTTP/1.1 304 Not Modified\r\netag: \"a-2ebc98a1.1dcd6500\"\r\n\
             cache-control: no-cache\r\n\r\n"
                .to_owned(),
        ),
        (
            "if-match: \"x\"\r\n",
            "HTTP/1.1 412 Precondition Failed\r\ncontent-type: text/plain; charset=utf-8\r\n\
             content-length: 81\r\n\r\n\
             412 Precondition Failed: the file is not as If-Match or If-Unmodified-Since says\n"
                .to_owned(),
        ),
    ] {
        let request = format!("GET /a.txt HTTP/1.1\r\nhost: a.test\r\n{fields}\r\n");
        assert_eq!(server.ask(&request), answer, "{fields}");
        // RFC 9110 §9.3.2, §14.2: the same without its content, and without a range.
        let head = server.ask(&request.replacen("GET", "HEAD", 1));
        if !fields.starts_with("range") {
            assert!(answer.starts_with(&head) && head.ends_with("\r\n\r\n"), "{head}");
        }
    }
}

#[tokio::test]
async fn large_files_and_parts_of_them_come_whole_over_sockets() {
    let large: String = (0..60_000).map(|line| format!("line {line}\n")).collect();
    let tree = Tree::new(&[("large.txt", large.as_bytes())]);
    let server = Server::start(tree.files());
    for versions in [Versions::Http1, Versions::Http2] {
        let address = format!("127.0.0.1:{}", server.port());
        let client = Client::builder().versions(versions).connect_to("a.test:80", &address);
        let client = client.unwrap().build().unwrap();
        for _ in 0..2 {
            assert_eq!(get(&client, "/large.txt", &[]).await, (200, large.clone()));
            let part = get(&client, "/large.txt", &[("range", "bytes=100000-499999")]).await;
            assert_eq!(part, (206, large[100_000..500_000].to_owned()));
            let range = [("range", "bytes=0-99999,300000-399999")];
            let (status, content) = get(&client, "/large.txt", &range).await;
            assert_eq!(status, 206);
            assert!(
                content.contains(&large[..100_000]) && content.contains(&large[300_000..400_000])
            );
        }
    }
}
