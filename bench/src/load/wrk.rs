//! wrk, driven by a script that a request costs nothing.

use std::net::SocketAddr;

use super::{Asked, DEPTH, FIELDS, Load};

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

/// Sends what is in `burst`, again and again.
const BURSTS: &str = "request = function() return burst end\n";

pub(super) fn script(asked: &Asked) -> String {
    let mut script = String::new();
    if asked.pipelined {
        script += &burst(asked.path);
        script += BURSTS;
    }
    if let Some(bytes) = asked.post {
        script += &format!("wrk.method = \"POST\"\nwrk.body = string.rep(\"x\", {bytes})\n");
    }
    if asked.fresh {
        script += "wrk.headers[\"Connection\"] = \"close\"\n";
    }
    script + SUMMARY
}

fn burst(path: &str) -> String {
    let fields: String = FIELDS.lines().map(|line| format!("{line}\\r\\n")).collect();
    format!("burst = string.rep(\"GET {path} HTTP/1.1\\r\\n{fields}\\r\\n\", {DEPTH})\n")
}

pub(super) fn arguments(
    load: &Load,
    address: SocketAddr,
    connections: u32,
    seconds: u32,
) -> Vec<String> {
    let words = ["-t", "1", "-c", &connections.to_string(), "-d", &seconds.to_string(), "-s"];
    let file = load.file.display().to_string();
    words.map(str::to_owned).into_iter().chain([file, load.url(address)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_whole_requests() {
        let script = script(&Asked { pipelined: true, ..Asked::HELLO });
        assert!(script.contains("zstd\\r\\n\\r\\n\", 16)"), "{script}");
        let start = "burst = string.rep(\"GET / HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n";
        assert!(script.starts_with(start), "{script}");
    }

    #[test]
    fn what_is_posted_and_closed_is_said() {
        let script = script(&Asked { post: Some(16), fresh: true, ..Asked::HELLO });
        assert!(script.contains("POST") && script.contains("string.rep(\"x\", 16)"));
        assert!(script.contains("[\"Connection\"] = \"close\""));
    }
}
