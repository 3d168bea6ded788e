//! Typical messages, with invented names and secrets.

/// The field value of Date in responses.
pub(crate) const DATE: &[u8; 29] = b"Sat, 21 Nov 2026 12:00:00 GMT";

/// The request of `curl http://example.com/`.
pub(crate) const CURL: &[u8] =
    b"GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: curl/8.14.1\r\nAccept: */*\r\n\r\n";

/// The request of a browser for a page, with a cookie of medium length.
pub(crate) const BROWSER: &[u8] = b"\
GET /articles/2026/11/how-falcons-dive?ref=front&page=2 HTTP/1.1\r\n\
Host: www.example.com\r\n\
User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
Accept-Language: en-US,en;q=0.5\r\n\
Accept-Encoding: gzip, deflate, br, zstd\r\n\
Referer: https://www.example.com/\r\n\
Connection: keep-alive\r\n\
Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=essential\r\n\
Upgrade-Insecure-Requests: 1\r\n\
Sec-Fetch-Dest: document\r\n\
Sec-Fetch-Mode: navigate\r\n\
Sec-Fetch-Site: same-origin\r\n\
Priority: u=0, i\r\n\
\r\n";

/// The request of a program to an API, with its content.
pub(crate) const API: &[u8] = b"\
POST /v2/orders HTTP/1.1\r\n\
Host: api.example.com\r\n\
Authorization: Bearer 0123456789abcdef0123456789abcdef0123456789abcdef\r\n\
Content-Type: application/json\r\n\
Accept: application/json\r\n\
User-Agent: orders/1.4\r\n\
X-Request-Id: 3f2b8c1e-77aa-4f0e-9d7c-5a1b2c3d4e5f\r\n\
Content-Length: 27\r\n\
\r\n\
{\"item\":\"perch\",\"count\":12}";

/// The response of an API.
pub(crate) const ANSWER: &[u8] = b"\
HTTP/1.1 200 OK\r\n\
Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n\
Content-Type: application/json\r\n\
Content-Length: 27\r\n\
Server: example\r\n\
\r\n\
{\"item\":\"perch\",\"count\":12}";

/// The response of a content delivery network.
pub(crate) const CDN: &[u8] = b"\
HTTP/1.1 200 OK\r\n\
Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n\
Content-Type: text/html; charset=utf-8\r\n\
Content-Length: 5\r\n\
Connection: keep-alive\r\n\
Cache-Control: public, max-age=300, s-maxage=600, stale-while-revalidate=60\r\n\
Content-Language: en\r\n\
ETag: W/\"0123456789abcdef0123456789abcdef\"\r\n\
Last-Modified: Fri, 20 Nov 2026 08:15:30 GMT\r\n\
Vary: Accept-Encoding, Cookie\r\n\
Age: 127\r\n\
Via: 1.1 cache-a (example), 1.1 cache-b (example)\r\n\
X-Cache: hit, hit\r\n\
X-Cache-Hits: 14, 3\r\n\
X-Served-By: cache-a-17, cache-b-4\r\n\
Strict-Transport-Security: max-age=63072000; includeSubDomains; preload\r\n\
X-Content-Type-Options: nosniff\r\n\
X-Frame-Options: SAMEORIGIN\r\n\
Referrer-Policy: strict-origin-when-cross-origin\r\n\
Set-Cookie: visit=0123456789abcdef; Path=/; Max-Age=86400; Secure; HttpOnly; SameSite=Lax\r\n\
Accept-Ranges: bytes\r\n\
\r\n\
hello";

/// A request with content in 64 chunks of 1 KiB.
pub(crate) fn chunked() -> Vec<u8> {
    let mut wire =
        b"POST /up HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..64 {
        wire.extend_from_slice(b"400\r\n");
        wire.resize(wire.len() + 1024, b'x');
        wire.extend_from_slice(b"\r\n");
    }
    wire.extend_from_slice(b"0\r\n\r\n");
    wire
}
