//! Handshakes with other implementations: openssl's client and server, and curl, where installed.
#![cfg(any(feature = "tls", feature = "tls-ring"))]

mod tls_support;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use stoop_io::{ServerTls, Tcp, Tls, TlsVersion, Transport};
use tls_support::*;
use tokio::net::TcpListener;

/// Whether a program can be run.
fn is_here(program: &str, argument: &str) -> bool {
    let here = Command::new(program).arg(argument).stdout(Stdio::null()).status().is_ok();
    if !here {
        eprintln!("skipped: no {program}");
    }
    here
}

/// A folder with `ca.pem`, `chain.pem` and `key.pem`; gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, ca: &Ca) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-io-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let identity = ca.issue(&["localhost"]);
        for (file, text) in
            [("ca.pem", &ca.pem), ("chain.pem", &identity.chain), ("key.pem", &identity.key)]
        {
            std::fs::write(path.join(file), text).unwrap();
        }
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn server(&self) -> ServerTls {
        let (chain, key) = (self.file("chain.pem"), self.file("key.pem"));
        ServerTls::builder().certificate_files(chain, key).build().unwrap()
    }

    /// Starts openssl's client, which trusts `ca.pem`. Returns it, and our end of its connection after the handshake.
    async fn openssls_client(&self, tls: &ServerTls, arguments: &[&str]) -> (Killed, Tls) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let client = Command::new("openssl")
            .arg("s_client")
            .args(arguments)
            .args(["-connect", &address, "-CAfile", &self.file("ca.pem")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map(Killed)
            .unwrap();
        let (stream, peer) = listener.accept().await.unwrap();
        let mut server = tls.accept(Tcp::new(stream, peer)).unwrap();
        handshake(&mut server).await.unwrap();
        (client, server)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A child that does not outlive its test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn openssls_client_connects_to_our_server() {
    if !is_here("openssl", "version") {
        return;
    }
    let folder = Folder::new("s_client", &Ca::new("test"));
    let tls = folder.server();
    for (version, expected) in [("-tls1_2", TlsVersion::V1_2), ("-tls1_3", TlsVersion::V1_3)] {
        let named = ["-quiet", "-verify_return_error", "-servername", "localhost"];
        let arguments = [&named[..], &[version, "-alpn", "http/1.1"]].concat();
        let (mut client, mut server) = folder.openssls_client(&tls, &arguments).await;
        assert_eq!(server.version(), Some(expected));
        assert_eq!(server.alpn(), Some(&b"http/1.1"[..]));
        client.0.stdin.as_mut().unwrap().write_all(b"ping\n").unwrap();
        assert_eq!(receive(&mut server, 5).await.unwrap(), b"ping\n");
        let answer = pattern(100_000);
        send(&mut server, &answer).await.unwrap();
        shutdown(&mut server).await.unwrap();
        let mut got = Vec::new();
        client.0.stdout.take().unwrap().read_to_end(&mut got).unwrap();
        assert!(got == answer, "{} bytes came", got.len());
    }
}

/// Whatever the client prefers: RFC 8446 §4.1.3.
#[tokio::test]
async fn openssls_client_gets_aes_128_where_it_offers_it() {
    if !is_here("openssl", "version") {
        return;
    }
    let folder = Folder::new("ciphers", &Ca::new("test"));
    let tls = folder.server();
    let both = "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256";
    for (version, list, offered, chosen) in [
        (
            "-tls1_3",
            "-ciphersuites",
            "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256",
            "TLS_AES_128_GCM_SHA256",
        ),
        ("-tls1_3", "-ciphersuites", "TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
        ("-tls1_2", "-cipher", both, "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("-tls1_2", "-cipher", &both[..29], "ECDHE-ECDSA-AES256-GCM-SHA384"),
    ] {
        let arguments = ["-brief", version, list, offered];
        let (mut client, mut server) = folder.openssls_client(&tls, &arguments).await;
        shutdown(&mut server).await.unwrap();
        drop(server);
        let mut said = String::new();
        client.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains(&format!("Ciphersuite: {chosen}")), "{said}");
    }
}

#[tokio::test]
async fn openssls_client_changes_its_keys() {
    if !is_here("openssl", "version") {
        return;
    }
    let folder = Folder::new("key_update", &Ca::new("test"));
    let (mut client, mut server) = folder.openssls_client(&folder.server(), &["-tls1_3"]).await;
    for line in [&b"one\n"[..], b"two\n", b"three\n"] {
        let stdin = client.0.stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        assert_eq!(receive(&mut server, line.len()).await.unwrap(), line);
        send(&mut server, line).await.unwrap();
        // "K": new keys for what it sends, and a request for ours. It reads its commands alone.
        client.0.stdin.as_mut().unwrap().write_all(b"K\n").unwrap();
        tokio::select! {
            _ = fill(&mut server, 100) => panic!("a key update is no data"),
            () = tokio::time::sleep(std::time::Duration::from_millis(100)) => {}
        }
        // Our own new keys go before this.
        send(&mut server, b"still here\n").await.unwrap();
    }
    shutdown(&mut server).await.unwrap();
    let mut said = String::new();
    client.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said.matches("still here").count(), 3, "{said}");
}

#[tokio::test]
async fn our_client_connects_to_openssls_server() {
    if !is_here("openssl", "version") {
        return;
    }
    let ca = Ca::new("test");
    let folder = Folder::new("s_server", &ca);
    let tls = ca.client().build().unwrap();
    for (version, expected) in [("-tls1_2", TlsVersion::V1_2), ("-tls1_3", TlsVersion::V1_3)] {
        let mut server = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-rev", version])
            .args(["-cert", &folder.file("chain.pem"), "-key", &folder.file("key.pem")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map(Killed)
            .unwrap();
        // It says "ACCEPT 127.0.0.1:port" when it listens.
        let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
        let said = lines.by_ref().map_while(Result::ok).find(|line| line.starts_with("ACCEPT"));
        let Some(address) = said.as_deref().and_then(|line| line.strip_prefix("ACCEPT ")) else {
            return eprintln!("skipped: this openssl does not say where it listens");
        };
        for resumed in [false, true] {
            let tcp = Tcp::connect(address.parse().unwrap()).await.unwrap();
            let mut client = tls.connect(tcp, "localhost").unwrap();
            handshake(&mut client).await.unwrap();
            assert_eq!((client.version(), client.is_resumed()), (Some(expected), resumed));
            // It sends every line back in reverse.
            send(&mut client, b"drawer\n").await.unwrap();
            assert_eq!(receive(&mut client, 7).await.unwrap(), b"reward\n");
            shutdown(&mut client).await.unwrap();
        }
    }
}

#[tokio::test]
async fn curl_connects_to_our_server() {
    if !is_here("curl", "--version") {
        return;
    }
    let folder = Folder::new("curl", &Ca::new("test"));
    let tls = folder.server();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let curl = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "10", "--noproxy", "*"])
        .args(["--cacert", &folder.file("ca.pem")])
        .args(["--resolve", &format!("localhost:{port}:127.0.0.1")])
        .arg(format!("https://localhost:{port}/"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (stream, peer) = listener.accept().await.unwrap();
    let mut server = tls.accept(Tcp::new(stream, peer)).unwrap();
    handshake(&mut server).await.unwrap();
    fill(&mut server, 10_000).await.unwrap();
    assert!(server.received().starts_with(b"GET / HTTP/1.1\r\n"));
    // An answer that ends where the stream does: close_notify makes it complete.
    send(&mut server, b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello").await.unwrap();
    shutdown(&mut server).await.unwrap();
    let answer = curl.wait_with_output().unwrap();
    assert!(answer.status.success());
    assert_eq!(answer.stdout, b"hello");
}
