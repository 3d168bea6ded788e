//! wrk, with a script that costs nothing per request.

use super::request::{DEPTH, FIELDS, LoadRequest, LoadRun};

/// Prints the summary on one line, because wrk's own report is rounded. A script with only this function
/// costs nothing per request.
const SUMMARY: &str = r#"
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("\nsummary requests=%d duration_us=%d errors=%d p50_us=%d p99_us=%d p999_us=%d\n",
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
end
"#;

/// Sends the text in `wire` again and again.
const SEND_WIRE: &str = "request = function() return wire end\n";

/// The length of a chunk.
const CHUNK_BYTES: usize = 64 * 1024;

/// The script for a request.
pub(super) fn script(request: &LoadRequest) -> String {
    let mut script = String::new();
    if request.is_pipelined {
        script += &burst(request.path);
        script += SEND_WIRE;
    }
    if let (Some(bytes), true) = (request.post, request.is_chunked) {
        script += &chunked(request.path, bytes);
        script += SEND_WIRE;
    } else if let Some(bytes) = request.post {
        script += &format!("wrk.method = \"POST\"\nwrk.body = string.rep(\"x\", {bytes})\n");
    }
    if request.is_fresh {
        script += "wrk.headers[\"Connection\"] = \"close\"\n";
    }
    script + SUMMARY
}

/// Sets `wire` to the pipelined requests.
fn burst(path: &str) -> String {
    let fields: String = FIELDS.lines().map(|line| format!("{line}\\r\\n")).collect();
    format!("wire = string.rep(\"GET {path} HTTP/1.1\\r\\n{fields}\\r\\n\", {DEPTH})\n")
}

/// Sets `wire` to a request in chunks.
fn chunked(path: &str, bytes: usize) -> String {
    let head = format!("POST {path} HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n");
    let pieces = bytes / CHUNK_BYTES;
    format!(
        "piece = \"{CHUNK_BYTES:x}\\r\\n\" .. string.rep(\"x\", {CHUNK_BYTES}) .. \"\\r\\n\"\n\
         wire = \"{head}Transfer-Encoding: chunked\\r\\n\\r\\n\" .. \
         string.rep(piece, {pieces}) .. \"0\\r\\n\\r\\n\"\n"
    )
}

/// The arguments for a run.
pub(super) fn arguments(run: &LoadRun<'_>) -> Vec<String> {
    let words =
        ["-t", "1", "-c", &run.connections.to_string(), "-d", &run.seconds.to_string(), "-s"];
    let file = run.file.display().to_string();
    words.map(str::to_owned).into_iter().chain([file, run.url()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_consists_of_whole_requests() {
        let script = script(&LoadRequest { is_pipelined: true, ..LoadRequest::HELLO });
        assert!(script.contains("zstd\\r\\n\\r\\n\", 16)"), "{script}");
        let start = "wire = string.rep(\"GET / HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n";
        assert!(script.starts_with(start), "{script}");
    }

    #[test]
    fn a_script_sets_content_and_closing_of_connections() {
        let script = script(&LoadRequest { post: Some(16), is_fresh: true, ..LoadRequest::HELLO });
        assert!(script.contains("POST") && script.contains("string.rep(\"x\", 16)"));
        assert!(script.contains("[\"Connection\"] = \"close\""));
    }

    #[test]
    fn a_chunked_request_has_whole_chunks_and_the_last_one() {
        let post = Some(1 << 20);
        let script =
            script(&LoadRequest { post, is_chunked: true, path: "/sink", ..LoadRequest::HELLO });
        let piece = "piece = \"10000\\r\\n\" .. string.rep(\"x\", 65536) .. \"\\r\\n\"\n";
        let end = "string.rep(piece, 16) .. \"0\\r\\n\\r\\n\"\nrequest = ";
        assert!(script.starts_with(piece) && script.contains(end), "{script}");
    }
}
