//! Settings, from flags or else from the environment variables of the contract.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

pub(crate) const USAGE: &str = "\
usage: stoop-bench-reqwest [options] < urls
  --concurrency N       CONCURRENCY       requests in flight at once (100)
  --timeout SECONDS     REQUEST_TIMEOUT   for one URL, redirects and body included (5)
  --user-agent TEXT     USER_AGENT        (reqwest-bench)
  --cacert FILE         CA_FILE           trust these PEM certificates and no others
  --dns IP:PORT         DNS_SERVER        ask this name server and no other
  --runtime KIND        RUNTIME           multi or current (multi)
  --pool-idle N         POOL_IDLE         idle connections kept per host (reqwest's default)
  --http2 BOOLEAN       HTTP2             HTTP/2 with servers that agree on it by ALPN (false)";

#[derive(Clone, Copy)]
pub(crate) enum RuntimeKind {
    Multi,
    Current,
}

impl FromStr for RuntimeKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "multi" => Ok(Self::Multi),
            "current" => Ok(Self::Current),
            other => Err(format!("runtime {other} is neither multi nor current")),
        }
    }
}

/// A duration written as seconds, whole or not.
struct Seconds(Duration);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds: f64 = text.parse().map_err(|_| String::from("not a number"))?;
        Duration::try_from_secs_f64(seconds).map(Self).map_err(|error| error.to_string())
    }
}

pub(crate) struct FetchSettings {
    pub(crate) concurrency: usize,
    pub(crate) timeout: Duration,
    pub(crate) user_agent: String,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) dns_server: Option<SocketAddr>,
    pub(crate) runtime: RuntimeKind,
    pub(crate) pool_idle_max: Option<usize>,
    pub(crate) http2: bool,
}

impl FetchSettings {
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let flags = Flags::collect(words)?;
        let settings = Self {
            concurrency: flags.value("--concurrency", "CONCURRENCY")?.unwrap_or(100),
            timeout: flags
                .value("--timeout", "REQUEST_TIMEOUT")?
                .unwrap_or(Seconds(Duration::from_secs(5)))
                .0,
            user_agent: flags
                .value("--user-agent", "USER_AGENT")?
                .unwrap_or_else(|| String::from("reqwest-bench")),
            ca_file: flags.value("--cacert", "CA_FILE")?,
            dns_server: flags.value("--dns", "DNS_SERVER")?,
            runtime: flags.value("--runtime", "RUNTIME")?.unwrap_or(RuntimeKind::Multi),
            pool_idle_max: flags.value("--pool-idle", "POOL_IDLE")?,
            http2: flags.value("--http2", "HTTP2")?.unwrap_or(false),
        };
        match settings.concurrency {
            0 => Err("concurrency must be at least 1".into()),
            _ => Ok(settings),
        }
    }
}

const KNOWN: [&str; 8] = [
    "--concurrency",
    "--timeout",
    "--user-agent",
    "--cacert",
    "--dns",
    "--runtime",
    "--pool-idle",
    "--http2",
];

struct Flags(Vec<(String, String)>);

impl Flags {
    fn collect(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut flags = Vec::new();
        while let Some(word) = words.next() {
            if !KNOWN.contains(&word.as_str()) {
                return Err(format!("{word} is not an option"));
            }
            let value = words.next().ok_or_else(|| format!("{word} wants a value"))?;
            flags.push((word, value));
        }
        Ok(Self(flags))
    }

    fn value<T: FromStr>(&self, flag: &str, variable: &str) -> Result<Option<T>, String> {
        let given = self.0.iter().rev().find(|(name, _)| name == flag);
        let text = match given {
            Some((_, text)) => text.clone(),
            None => match std::env::var(variable) {
                Ok(text) => text,
                Err(_) => return Ok(None),
            },
        };
        text.parse().map(Some).map_err(|_| format!("{text} does not fit {flag} ({variable})"))
    }
}
