//! Messages as real programs send them, which must be read. They are written in the manner of those
//! programs, and not copied.

use http::Method;
use stoop_test::feed::{ResponseEnd, SentRequest, accepted};

/// A browser sends many and long fields.
#[test]
fn a_browsers_request_is_read() {
    let request = accepted(
        b"GET /search?q=a+b&tags[]=x|y&filter={\"a\":1} HTTP/1.1\r\n\
          Host: www.example.com\r\n\
          User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0\r\n\
          Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
          Accept-Language: de,en-US;q=0.7,en;q=0.3\r\n\
          Accept-Encoding: gzip, deflate, br, zstd\r\n\
          DNT: 1\r\n\
          Sec-GPC: 1\r\n\
          Connection: keep-alive\r\n\
          Cookie: session=\"a b, c\"; theme=dark; _x=GS1.1.17000; empty=; utf=\xc3\xa4\r\n\
          Upgrade-Insecure-Requests: 1\r\n\
          Sec-Fetch-Dest: document\r\n\
          Sec-CH-UA: \"Chromium\";v=\"142\", \"Not_A Brand\";v=\"99\"\r\n\
          If-None-Match: W/\"5f-18c\"\r\n\
          Priority: u=0, i\r\n\r\n",
    );
    assert_eq!(request.head.path(), "/search");
    assert_eq!(request.head.fields().len(), 14);
}

/// A form, as browsers post it.
#[test]
fn a_posted_form_is_read() {
    let content = "------x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n------x--\r\n";
    let wire = format!(
        "POST /form HTTP/1.1\r\nHost: a:8080\r\nContent-Type: multipart/form-data; boundary=----x\r\n\
         Content-Length: {}\r\nOrigin: null\r\nReferer: http://a:8080/form?x=1\r\n\r\n{content}",
        content.len()
    );
    assert_eq!(accepted(wire.as_bytes()).body, content.as_bytes());
}

/// Uploads, and requests through a proxy.
#[test]
fn requests_of_a_command_line_client_are_read() {
    accepted(
        b"GET / HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/8.14.1\r\nAccept: */*\r\n\r\n",
    );
    accepted(b"HEAD / HTTP/1.0\r\nHost: a\r\nUser-Agent: curl/8.14.1\r\nAccept: */*\r\n\r\n");
    accepted(
        b"PUT /up HTTP/1.1\r\nHost: a\r\nUser-Agent: curl/8.14.1\r\nAccept: */*\r\n\
          Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    );
    accepted(
        b"GET http://a/ HTTP/1.1\r\nHost: a\r\nUser-Agent: curl/8.14.1\r\nAccept: */*\r\n\
          Proxy-Connection: Keep-Alive\r\n\r\n",
    );
    accepted(
        b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nUser-Agent: curl/8.14.1\r\n\
          Proxy-Connection: Keep-Alive\r\n\r\n",
    );
    accepted(
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
          HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n",
    );
}

/// A load generator that speaks HTTP/1.0 and asks for keep-alive.
#[test]
fn an_http_1_0_load_generators_request_is_read() {
    accepted(
        b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nHost: 127.0.0.1:80\r\n\
          User-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n",
    );
}

/// Proxies add fields, and write names in lower case.
#[test]
fn requests_by_way_of_proxies_are_read() {
    accepted(
        b"GET /a%2Fb/../c HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 192.0.2.1, 2001:db8::1\r\n\
          forwarded: for=\"[2001:db8::1]\";proto=https\r\nvia: 1.1 x, 1.0 y (z)\r\n\
          x-request-id: 0\r\nx-real-ip:192.0.2.1\r\ncdn-loop: x\r\nconnection:\r\n\r\n",
    );
    accepted(b"GET http://a/x HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic dTpw\r\nTE: trailers\r\n\r\n");
    accepted(b"OPTIONS * HTTP/1.0\r\nUser-Agent: Apache (internal dummy connection)\r\n\r\n");
}

/// A health check sends as little as it may.
#[test]
fn a_health_checks_request_is_read() {
    accepted(b"GET / HTTP/1.1\r\nHost:\r\n\r\n");
    accepted(b"OPTIONS / HTTP/1.0\r\n\r\n");
    accepted(b"GET /healthz HTTP/1.1\r\nHost: [::1]:8080\r\nUser-Agent: kube-probe/1.31\r\n\r\n");
}

/// Methods of WebDAV and UPnP.
#[test]
fn requests_with_rare_methods_are_read() {
    accepted(b"PROPFIND /d/ HTTP/1.1\r\nHost: a\r\nDepth: 1\r\nContent-Length: 2\r\n\r\n<>");
    accepted(
        b"M-SEARCH /x HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\nMAN: \"ssdp:discover\"\r\n\r\n",
    );
    accepted(b"REPORT /r HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n");
}

/// The response has many fields and chunked content.
#[test]
fn a_response_of_a_modern_server_is_read() {
    let read = SentRequest::new(Method::GET).accepts(
        b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sat, 21 Nov 2026 21:00:00 GMT\r\n\
          Content-Type: text/html; charset=utf-8\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\
          Vary: Accept-Encoding\r\nSet-Cookie: a=b; Path=/; HttpOnly\r\nSet-Cookie: c=d\r\n\
          Link: </x>; rel=preload, </y>; rel=next\r\nAlt-Svc: h3=\":443\"; ma=86400\r\n\
          NEL: {\"report_to\":\"x\",\"max_age\":1}\r\n\r\n6\r\nhello\n\r\n0\r\n\r\n",
    );
    assert_eq!((&read.body[..], read.is_reusable), (&b"hello\n"[..], true));
    assert_eq!(read.head.unwrap().fields().all("set-cookie").count(), 2);
}

/// Old servers: RFC 9112 §2.2, §4, §5.1, §5.2, §9.3.
#[test]
fn responses_of_old_servers_are_read() {
    let get = SentRequest::new(Method::GET);
    let read = get.reads_to_end(b"HTTP/1.0 200\nContent-type: text/html\n\n<html>");
    assert_eq!((&read.body[..], read.ended), (&b"<html>"[..], ResponseEnd::WithConnection));

    let read = get.accepts(
        b"HTTP/1.0 200 Document follows\r\nServer: CERN/3.0\r\nConnection: Keep-Alive\r\n\
          Keep-Alive: timeout=15, max=100\r\nContent-Length: 2\r\n\r\nhi",
    );
    assert!(read.is_reusable);
    let read = get.accepts(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    assert!(!read.is_reusable);

    let read = get.accepts(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5   \r\nhello\r\n00000000\r\n\r\n",
    );
    assert_eq!(read.body, b"hello");

    let read = get.accepts(
        b"HTTP/1.1 200 OK\r\nContent-Type: multipart/x;\r\n\tboundary=\"y\"\r\n\
          X-Powered-By : something\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
    );
    assert_eq!(read.body, b"hi");
    assert_eq!(
        read.head.unwrap().fields().first("content-type"),
        Some(&b"multipart/x;  \tboundary=\"y\""[..])
    );
}

/// Values of fields are not interpreted.
#[test]
fn odd_but_legal_fields_are_read() {
    let read = SentRequest::new(Method::GET).accepts(
        b"HTTP/1.1 302 Found\r\nLocation: /\xe4?q=\xff\r\nX-Empty:\r\nX-Quote: \"unclosed\r\n\
          X-Colon:::\r\n_underscore: 1\r\n0: 0\r\nContent-Length: 0\r\n\r\n",
    );
    assert_eq!(read.head.unwrap().fields().first("location"), Some(&b"/\xe4?q=\xff"[..]));
}
