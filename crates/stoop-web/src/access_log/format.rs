//! Formats of lines: Apache's common and combined, JSON, and the caller's own.

use std::io::Write;
use std::sync::Arc;

use super::clock::{put_common, put_rfc3339};
use super::entry::LogEntry;
use super::escape::{put_apache, put_json};

/// The status of a line for an exchange that had none because the client left: nginx's. The formats have no word for
/// none that all their readers understand.
const CLIENT_CLOSED_REQUEST: u16 = 499;

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
    /// Writes the line of an entry, with its end.
    pub(super) fn put(&self, entry: &LogEntry, out: &mut Vec<u8>) {
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
            Self::Custom(put) => put(entry, out),
        }
        out.push(b'\n');
    }
}

/// Apache's `%h %l %u %t "%r" %>s %b`.
fn put_common_line(entry: &LogEntry, out: &mut Vec<u8>) {
    // A write into a vector does not fail.
    let _ = match entry.peer() {
        Some(peer) => write!(out, "{}", peer.ip()),
        None => out.write_all(b"-"),
    };
    out.extend_from_slice(b" - ");
    // A space would end the name, and a bracket begin the time.
    for (index, part) in entry.user().unwrap_or(b"-").split(|byte| *byte == b' ').enumerate() {
        if index > 0 {
            out.extend_from_slice(b"\\x20");
        }
        put_apache(part, out);
    }
    out.extend_from_slice(b" [");
    put_common(entry.time(), out);
    out.extend_from_slice(b"] \"");
    put_apache(entry.method().as_str().as_bytes(), out);
    out.push(b' ');
    put_apache(entry.target().as_bytes(), out);
    out.push(b' ');
    out.extend_from_slice(entry.protocol().as_bytes());
    let status = entry.status().map_or(CLIENT_CLOSED_REQUEST, |status| status.as_u16());
    let _ = match entry.content_bytes() {
        0 => write!(out, "\" {status} -"),
        bytes => write!(out, "\" {status} {bytes}"),
    };
}

fn put_json_line(entry: &LogEntry, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"time\":\"");
    put_rfc3339(entry.time(), out);
    out.extend_from_slice(b"\",\"method\":");
    put_json(entry.method().as_str().as_bytes(), out);
    out.extend_from_slice(b",\"target\":");
    put_json(entry.target().as_bytes(), out);
    out.extend_from_slice(b",\"host\":");
    put_json(entry.host().as_bytes(), out);
    let _ = write!(out, ",\"version\":\"{}\",\"status\":", entry.protocol());
    let _ = match entry.status() {
        Some(status) => out.write_all(status.as_str().as_bytes()),
        None => out.write_all(b"null"),
    };
    let _ = write!(out, ",\"bytes\":{}", entry.content_bytes());
    for (name, value) in [
        ("user", entry.user()),
        ("referer", entry.referer()),
        ("user_agent", entry.user_agent()),
        ("request_id", entry.request_id()),
        ("traceparent", entry.trace_parent()),
    ] {
        if let Some(value) = value {
            let _ = write!(out, ",\"{name}\":");
            put_json(value, out);
        }
    }
    if let Some(peer) = entry.peer() {
        let _ = write!(out, ",\"peer\":\"{peer}\"");
    }
    for (name, millis) in [
        ("response_ms", entry.millis_until_response()),
        ("head_ms", entry.millis_until_head()),
        ("total_ms", Some(entry.millis_until_end())),
    ] {
        if let Some(millis) = millis {
            let _ = write!(out, ",\"{name}\":{millis:.3}");
        }
    }
    let _ = write!(out, ",\"complete\":{}", entry.is_complete());
    if let Some(why) = entry.cut_short() {
        let _ = write!(out, ",\"cut_short\":\"{why}\"");
    }
    out.push(b'}');
}
