//! wrk, driven by a script that a request costs nothing.

use super::request::{DEPTH, FIELDS, LoadRequest, LoadRun};

/// Prints the summary on one line, because wrk's own text rounds and is for people. A script with
/// only this function costs nothing per request.
const SUMMARY: &str = r#"
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("\nsummary requests=%d duration_us=%d errors=%d p50_us=%d p99_us=%d p999_us=%d\n",
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
end
"#;

/// Sends what is in `wire`, again and again.
const AS_IT_IS: &str = "request = function() return wire end\n";

/// The pieces of content whose length is not told.
const PIECE_BYTES: usize = 64 * 1024;

pub(super) fn script(request: &LoadRequest) -> String {
    let mut script = String::new();
    if request.is_pipelined {
        script += &burst(request.path);
        script += AS_IT_IS;
    }
    if let (Some(bytes), true) = (request.post, request.is_chunked) {
        script += &chunked(request.path, bytes);
        script += AS_IT_IS;
    } else if let Some(bytes) = request.post {
        script += &format!("wrk.method = \"POST\"\nwrk.body = string.rep(\"x\", {bytes})\n");
    }
    if request.is_fresh {
        script += "wrk.headers[\"Connection\"] = \"close\"\n";
    }
    script + SUMMARY
}

fn burst(path: &str) -> String {
    let fields: String = FIELDS.lines().map(|line| format!("{line}\\r\\n")).collect();
    format!("wire = string.rep(\"GET {path} HTTP/1.1\\r\\n{fields}\\r\\n\", {DEPTH})\n")
}

fn chunked(path: &str, bytes: usize) -> String {
    let head = format!("POST {path} HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n");
    let pieces = bytes / PIECE_BYTES;
    format!(
        "piece = \"{PIECE_BYTES:x}\\r\\n\" .. string.rep(\"x\", {PIECE_BYTES}) .. \"\\r\\n\"\n\
         wire = \"{head}Transfer-Encoding: chunked\\r\\n\\r\\n\" .. \
         string.rep(piece, {pieces}) .. \"0\\r\\n\\r\\n\"\n"
    )
}

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
    fn a_burst_is_whole_requests() {
        let script = script(&LoadRequest { is_pipelined: true, ..LoadRequest::HELLO });
        assert!(script.contains("zstd\\r\\n\\r\\n\", 16)"), "{script}");
        let start = "wire = string.rep(\"GET / HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n";
        assert!(script.starts_with(start), "{script}");
    }

    #[test]
    fn what_is_posted_and_closed_is_said() {
        let script = script(&LoadRequest { post: Some(16), is_fresh: true, ..LoadRequest::HELLO });
        assert!(script.contains("POST") && script.contains("string.rep(\"x\", 16)"));
        assert!(script.contains("[\"Connection\"] = \"close\""));
    }

    #[test]
    fn chunks_are_whole_and_end() {
        let post = Some(1 << 20);
        let script =
            script(&LoadRequest { post, is_chunked: true, path: "/sink", ..LoadRequest::HELLO });
        let piece = "piece = \"10000\\r\\n\" .. string.rep(\"x\", 65536) .. \"\\r\\n\"\n";
        let end = "string.rep(piece, 16) .. \"0\\r\\n\\r\\n\"\nrequest = ";
        assert!(script.starts_with(piece) && script.contains(end), "{script}");
    }
}
