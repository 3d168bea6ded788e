//! Behind curl, nginx and HAProxy as load balancers: who is taken for the client.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;

use super::peers::{STREAM_MODULE, are_missing, curl, free_ports, haproxy, nginx};
use super::{Folder, Served};
use crate::stoop::wait_for;

/// Where a client comes from, which is not where a proxy does.
const CLIENT: &str = "127.0.0.2";

/// A server with a log of its clients.
struct Logging {
    folder: Folder,
    served: Served,
    log: PathBuf,
    lines: usize,
}

impl Logging {
    fn start(options: &str) -> Self {
        let folder = Folder::new(&[("f", "content")]);
        let log = folder.path().join("access.log");
        let to_log = format!("--access-log json --access-log-file {}", log.display());
        let served = Served::start(&folder, &format!("{to_log} {options}"));
        Self { folder, served, log, lines: 0 }
    }

    /// The address and port of the client of the next request.
    fn peer(&mut self) -> String {
        let mut line = String::new();
        wait_for("a line", || {
            let lines = std::fs::read_to_string(&self.log).unwrap();
            let mut whole = lines.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            line = whole.nth(self.lines).unwrap_or_default().to_owned();
            !line.is_empty()
        });
        self.lines += 1;
        let entry: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(entry["status"], 200, "{line}");
        entry["peer"].as_str().unwrap().to_owned()
    }

    /// Asks by curl through a proxy on that port. Expects the content, and that the log has the client's address and
    /// port, if the proxy tells it.
    fn ask(&mut self, what: &str, url: &str, more: &[&str], has_port: bool) {
        let from = ["--interface", CLIENT, "-w", "\n%{local_ip}:%{local_port}", url];
        let said = curl(&[more, &from].concat());
        let (content, client) = said.split_once('\n').unwrap();
        assert_eq!(content, "content", "{what}");
        let peer = self.peer();
        match has_port {
            true => assert_eq!(peer, client, "{what}"),
            false => assert_eq!(peer, format!("{CLIENT}:0"), "{what}"),
        }
    }
}

/// Passes bytes on from a port, which it returns, from another address.
fn relay(to: &str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let to = to.to_owned();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(&to).unwrap());
            for (mut from, mut into) in [
                (client.try_clone().unwrap(), server.try_clone().unwrap()),
                (server.try_clone().unwrap(), client.try_clone().unwrap()),
            ] {
                thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut into);
                    let _ = into.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
    port
}

/// curl writes version 1, with its own end of the connection.
#[test]
fn curls_header_names_the_client() {
    if are_missing("proxies::curl", &["curl"]) {
        return;
    }
    for (tls, scheme) in [("", "http"), ("--tls-self-signed", "https")] {
        let mut logging = Logging::start(&format!("--proxy-protocol 127.0.0.1 {tls}"));
        let url = format!("{scheme}://127.0.0.1:{}/f", relay(&logging.served.authority));
        for version in ["--http1.1", "--http2"] {
            let more = ["-k", version, "--haproxy-protocol"];
            logging.ask(&format!("{scheme} {version}"), &url, &more, true);
        }
    }
}

#[test]
fn haproxys_headers_of_both_versions_name_the_client() {
    if are_missing("proxies::haproxy", &["curl", "haproxy"]) {
        return;
    }
    for (tls, scheme) in [("", "http"), ("--tls-self-signed", "https")] {
        let mut logging = Logging::start(&format!("--proxy-protocol 127.0.0.1 {tls}"));
        let ports: [u16; 3] = free_ports();
        let sends =
            ["send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options unique-id,crc32c"];
        let sections: String = ports
            .iter()
            .zip(sends)
            .map(|(port, send)| {
                let server = &logging.served.authority;
                format!(
                    "listen to_{port}\n  mode tcp\n  bind 127.0.0.1:{port}\n  unique-id-format %ci-%cp\n  \
                     server one {server} {send}\n"
                )
            })
            .collect();
        let _haproxy = haproxy(&logging.folder, &sections, &ports);
        for (port, send) in ports.iter().zip(sends) {
            let url = format!("{scheme}://127.0.0.1:{port}/f");
            logging.ask(&format!("{scheme} {send}"), &url, &["-k"], true);
        }
    }
}

/// What a client writes itself is no news of it.
#[test]
fn haproxys_fields_name_the_client() {
    if are_missing("proxies::haproxy", &["curl", "haproxy"]) {
        return;
    }
    for (option, setting) in [
        ("--trust-x-forwarded 127.0.0.1", "option forwardfor"),
        ("--trust-forwarded 127.0.0.1", "http-request add-header Forwarded for=%[src];proto=http"),
    ] {
        let mut logging = Logging::start(option);
        let [port] = free_ports();
        let section = format!(
            "listen one\n  mode http\n  bind 127.0.0.1:{port}\n  {setting}\n  server one {}\n",
            logging.served.authority
        );
        let _haproxy = haproxy(&logging.folder, &section, &[port]);
        let url = format!("http://127.0.0.1:{port}/f");
        let spoofed = ["-H", "x-forwarded-for: 192.0.2.9", "-H", "forwarded: for=192.0.2.9"];
        for more in [&[][..], &spoofed] {
            logging.ask(&format!("{setting} {more:?}"), &url, more, false);
        }
    }
}

#[test]
fn nginxs_header_names_the_client() {
    if are_missing("proxies::nginx_stream", &["curl", "nginx", STREAM_MODULE]) {
        return;
    }
    for (tls, scheme) in [("", "http"), ("--tls-self-signed", "https")] {
        let mut logging = Logging::start(&format!("--proxy-protocol 127.0.0.1 {tls}"));
        let [port] = free_ports();
        let server = &logging.served.authority;
        let block = format!(
            "stream {{ server {{ listen 127.0.0.1:{port}; proxy_pass {server}; proxy_protocol on; }} }}"
        );
        let block = format!("load_module {STREAM_MODULE};\n{block}");
        let _nginx = nginx(&logging.folder, &block, &[port]);
        let url = format!("{scheme}://127.0.0.1:{port}/f");
        logging.ask(scheme, &url, &["-k"], true);
    }
}

#[test]
fn nginxs_fields_name_the_client() {
    if are_missing("proxies::nginx", &["curl", "nginx"]) {
        return;
    }
    for (option, setting) in [
        ("--trust-x-forwarded 127.0.0.1", "X-Forwarded-For $proxy_add_x_forwarded_for"),
        ("--trust-x-forwarded 127.0.0.1", "X-Forwarded-For $remote_addr"),
        ("--trust-forwarded 127.0.0.1", "Forwarded \"for=$remote_addr;proto=$scheme\""),
    ] {
        let mut logging = Logging::start(option);
        let [port] = free_ports();
        let (server, path) = (&logging.served.authority, logging.folder.path().display());
        let folders: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {path}/{name}; "))
            .concat();
        let block = format!(
            "http {{ access_log off; {folders} server {{ listen 127.0.0.1:{port}; \
             location / {{ proxy_pass http://{server}; proxy_set_header {setting}; }} }} }}"
        );
        let _nginx = nginx(&logging.folder, &block, &[port]);
        let url = format!("http://127.0.0.1:{port}/f");
        for more in [&[][..], &["-H", "x-forwarded-for: 192.0.2.9"]] {
            logging.ask(&format!("{setting} {more:?}"), &url, more, false);
        }
    }
}
