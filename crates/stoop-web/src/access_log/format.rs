//! Formats of lines: Apache's common and combined, JSON, and the caller's own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use stoop::{Method, Version};

use super::digits::{put_address, put_ip, put_millis, put_number};
use super::entry::LogEntry;
use super::escape::put_apache;
use crate::json_text::{put_json, put_json_text};

/// The status of a line for an exchange that had none because the client left: nginx's. The formats have no word for
/// none that all their readers understand.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// Room for a line of JSON.
const LINE_BYTES: usize = 512;

/// How an entry becomes a line.
#[derive(Clone)]
pub(super) enum LogFormat {
    Common,
    Combined,
    Json,
    Custom(Arc<CustomFormat>),
}

pub(super) type CustomFormat = dyn Fn(&LogEntry, &mut Vec<u8>) + Send + Sync;

impl LogFormat {
    /// Writes the line of an entry, with its end. False if it cannot: then what was written of it is no line.
    pub(super) fn put(&self, entry: &LogEntry, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Common => put_common_line(entry, out),
            Self::Combined => {
                put_common_line(entry, out);
                for text in [entry.referer(), entry.user_agent()] {
                    out.extend_from_slice(b" \"");
                    put_apache(text.unwrap_or(b"-"), out);
                    out.push(b'"');
                }
            }
            Self::Json => put_json_line(entry, out),
            // The caller's code may panic.
            Self::Custom(put) => {
                if catch_unwind(AssertUnwindSafe(|| put(entry, out))).is_err() {
                    return false;
                }
            }
        }
        out.push(b'\n');
        true
    }
}

/// Apache's `%h %l %u %t "%r" %>s %b`.
fn put_common_line(entry: &LogEntry, out: &mut Vec<u8>) {
    match entry.peer() {
        Some(peer) => put_ip(peer.ip(), out),
        None => out.push(b'-'),
    }
    out.extend_from_slice(b" - ");
    match entry.user() {
        Some(user) => put_user(user, out),
        None => out.push(b'-'),
    }
    out.extend_from_slice(b" [");
    out.extend_from_slice(&entry.common_date());
    out.extend_from_slice(b"] \"");
    match entry.target_bytes() {
        // As Apache has it of a request that has not come.
        [] => out.push(b'-'),
        target => {
            // A token (RFC 9110 §9.1), of which nothing has to be escaped.
            out.extend_from_slice(entry.method().as_str().as_bytes());
            out.push(b' ');
            put_apache(target, out);
            out.push(b' ');
            out.extend_from_slice(entry.protocol().as_bytes());
        }
    }
    out.extend_from_slice(b"\" ");
    let status = entry.status().map_or(CLIENT_CLOSED_REQUEST, |status| status.as_u16());
    put_number(status.into(), out);
    out.push(b' ');
    match entry.content_bytes() {
        0 => out.push(b'-'),
        bytes => put_number(bytes, out),
    }
}

/// Writes a name. A space would end it, and a bracket begin the time.
fn put_user(user: &[u8], out: &mut Vec<u8>) {
    for (index, part) in user.split(|byte| *byte == b' ').enumerate() {
        if index > 0 {
            out.extend_from_slice(b"\\x20");
        }
        put_apache(part, out);
    }
}

/// What is constant between two values is written at once, and what most lines have is not looked up.
fn put_json_line(entry: &LogEntry, out: &mut Vec<u8>) {
    // Most lines have less.
    out.reserve(LINE_BYTES);
    entry.put_json_begin(out);
    put_target(entry, out);
    out.extend_from_slice(match entry.version() {
        Version::HTTP_10 => b",\"version\":\"HTTP/1.0\",\"status\":",
        Version::HTTP_2 => b",\"version\":\"HTTP/2.0\",\"status\":",
        _ => b",\"version\":\"HTTP/1.1\",\"status\":",
    });
    match entry.status() {
        Some(status) => put_number(status.as_u16().into(), out),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"bytes\":");
    put_number(entry.content_bytes(), out);
    put_text(b",\"user\":", entry.user(), out);
    put_text(b",\"referer\":", entry.referer(), out);
    put_text(b",\"user_agent\":", entry.user_agent(), out);
    put_text(b",\"request_id\":", entry.request_id(), out);
    put_text(b",\"traceparent\":", entry.trace_parent(), out);
    if let Some(peer) = entry.peer() {
        out.extend_from_slice(b",\"peer\":\"");
        put_address(peer, out);
        out.push(b'"');
    }
    if let Some(reason) = entry.refused() {
        put_text(b",\"refused\":", Some(reason.as_bytes()), out);
        return out.push(b'}');
    }
    let [response, head] = entry.until_response_and_head();
    put_time(b",\"response_ms\":", response, out);
    put_time(b",\"head_ms\":", head, out);
    put_time(b",\"total_ms\":", Some(entry.until_end()), out);
    put_text(b",\"error\":", entry.error().map(str::as_bytes), out);
    match entry.cut_short() {
        None if entry.is_complete() => out.extend_from_slice(b",\"complete\":true}"),
        why => {
            out.extend_from_slice(b",\"complete\":false");
            put_text(b",\"cut_short\":", why.map(|why| why.as_str().as_bytes()), out);
            out.push(b'}');
        }
    }
}

/// Writes the values of method, target and host.
#[inline]
fn put_target(entry: &LogEntry, out: &mut Vec<u8>) {
    let (method, target) = (entry.method(), entry.target_bytes());
    if target.is_empty() {
        return out.extend_from_slice(b"null,\"target\":null,\"host\":null");
    }
    if *method == Method::GET {
        out.extend_from_slice(b"\"GET\",\"target\":\"");
    } else {
        // A token (RFC 9110 §9.1), of which nothing has to be escaped.
        out.push(b'"');
        out.extend_from_slice(method.as_str().as_bytes());
        out.extend_from_slice(b"\",\"target\":\"");
    }
    put_json_text(target, out);
    out.extend_from_slice(b"\",\"host\":\"");
    put_json_text(entry.host_bytes(), out);
    out.push(b'"');
}

/// Writes a member whose value is text, if it has one. Inlined, so that the length of its name is known.
#[inline(always)]
fn put_text<const N: usize>(name: &[u8; N], value: Option<&[u8]>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        out.extend_from_slice(name);
        put_json(value, out);
    }
}

/// The same with a time.
#[inline(always)]
fn put_time<const N: usize>(name: &[u8; N], value: Option<Duration>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        out.extend_from_slice(name);
        put_millis(value, out);
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use stoop::{HandlerError, Method, Request, Response, StatusCode};

    use super::*;
    use crate::access_log::collect::{RefusedRequest, keep_used};
    use crate::exchange::End;

    fn line(format: &LogFormat, entry: &LogEntry) -> String {
        let mut out = b"before\n".to_vec();
        assert!(format.put(entry, &mut out));
        let text = String::from_utf8(out).unwrap();
        text.strip_prefix("before\n").unwrap().strip_suffix('\n').unwrap().to_owned()
    }

    /// An entry as its public functions tell it, written by the machinery of formatting.
    fn json(entry: &LogEntry) -> String {
        let quoted = |text: &[u8]| format!("\"{}\"", String::from_utf8_lossy(text));
        let millis = |time: Duration| {
            let micros = time.as_micros();
            format!("{}.{:03}", micros / 1_000, micros % 1_000)
        };
        let mut begin = Vec::new();
        entry.put_json_begin(&mut begin);
        let (time, _) = std::str::from_utf8(&begin).unwrap().split_once(",\"method\":").unwrap();
        let mut line = time.to_owned();
        let names = match entry.target() {
            "" => ["null"; 3].map(str::to_owned),
            target => {
                [entry.method().as_str(), target, entry.host()].map(|text| quoted(text.as_bytes()))
            }
        };
        for (name, value) in ["method", "target", "host"].iter().zip(names) {
            line += &format!(",\"{name}\":{value}");
        }
        let status = entry.status().map_or("null".to_owned(), |status| status.as_u16().to_string());
        let (protocol, bytes) = (quoted(entry.protocol().as_bytes()), entry.content_bytes());
        line += &format!(",\"version\":{protocol},\"status\":{status},\"bytes\":{bytes}");
        for (name, value) in [
            ("user", entry.user()),
            ("referer", entry.referer()),
            ("user_agent", entry.user_agent()),
            ("request_id", entry.request_id()),
            ("traceparent", entry.trace_parent()),
            ("peer", entry.peer().map(|peer| peer.to_string()).as_deref().map(str::as_bytes)),
        ] {
            if let Some(value) = value {
                line += &format!(",\"{name}\":{}", quoted(value));
            }
        }
        if let Some(reason) = entry.refused() {
            return format!("{line},\"refused\":{}}}", quoted(reason.as_bytes()));
        }
        for (name, time) in
            [("response_ms", entry.until_response()), ("head_ms", entry.until_head())]
        {
            if let Some(time) = time {
                line += &format!(",\"{name}\":{}", millis(time));
            }
        }
        line += &format!(",\"total_ms\":{}", millis(entry.until_end()));
        if let Some(error) = entry.error() {
            line += &format!(",\"error\":{}", quoted(error.as_bytes()));
        }
        line += &format!(",\"complete\":{}", entry.is_complete());
        if let Some(why) = entry.cut_short() {
            line += &format!(",\"cut_short\":{}", quoted(why.as_str().as_bytes()));
        }
        line + "}"
    }

    #[test]
    fn a_line_of_json_has_what_the_entry_has_byte_for_byte() {
        let fields: [(&str, &[u8]); 6] = [
            ("Host", b"a.test:81"),
            ("REFERER", b"http://b.test/"),
            ("user-agent", b"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101"),
            ("User-Agent", b"another"),
            ("x-request-id", b"seven"),
            ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ];
        for count in 0..=fields.len() {
            let mut request =
                Request::new(Method::DELETE, "http://a.test:81/a/path?with=a%20query");
            let request = request.as_mut().unwrap();
            for (name, value) in &fields[1..count.max(1)] {
                request.fields_mut().push(name, value).unwrap();
            }
            let mut entry = LogEntry::of(request);
            for ended in [false, true] {
                assert_eq!(line(&LogFormat::Json, &entry), json(&entry));
                if !ended {
                    let response = Response::from_status(StatusCode::from_u16(299).unwrap());
                    let mut response = response.with_field("x-request-id", "eight").unwrap();
                    if count > 3 {
                        response.extensions_mut().insert(HandlerError::new("no disk"));
                    }
                    entry.respond(&response, count % 2 == 0);
                    entry.end(End::Dropped(None));
                }
            }
            let has = |name: &str| json(&entry).contains(&format!("\"{name}\":"));
            assert_eq!([has("referer"), has("user_agent")], [count > 1, count > 2]);
            assert_eq!(entry.error(), (count > 3).then_some("no disk"));
            assert_eq!(entry.user_agent(), (count > 2).then_some(fields[2].1));
            keep_used(entry);
        }
    }

    #[test]
    fn a_line_of_what_was_refused_says_why() {
        let peer: SocketAddr = "[2001:db8::7]:65535".parse().unwrap();
        let status = StatusCode::REQUEST_TIMEOUT;
        let refused =
            RefusedRequest { head: None, version: Version::HTTP_10, status, reason: "late" };
        let entry = LogEntry::refused_by_server(Some(peer), &refused);
        let written = line(&LogFormat::Json, &entry);
        assert_eq!(written, json(&entry));
        let end = ",\"method\":null,\"target\":null,\"host\":null,\"version\":\"HTTP/1.0\",\"status\":408,\
                   \"bytes\":0,\"peer\":\"[2001:db8::7]:65535\",\"refused\":\"late\"}";
        assert!(written.ends_with(end), "{written}");
        let common = line(&LogFormat::Common, &entry);
        let date = String::from_utf8(entry.common_date().to_vec()).unwrap();
        assert_eq!(common, format!("2001:db8::7 - - [{date}] \"-\" 408 -"));
        assert_eq!(line(&LogFormat::Combined, &entry), format!("{common} \"-\" \"-\""));
    }
}
