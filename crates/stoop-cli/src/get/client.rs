//! The client that the options describe.

use std::fs;
use std::io::{ErrorKind as IoErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use stoop::{Client, ClientBuilder, ClientLimits, CookieJar, Netrc, Versions};

use super::args::GetArgs;
use super::cookies;
use super::exit;
use super::failure::GetFailure;
use super::record::Record;
use super::request::user_agent;
use super::retry;
use super::send_progress::SendProgress;
use super::story;
#[cfg(feature = "tls")]
use super::tls::GetTls;
use crate::request_options::{Family, Header, ResolveRule, split_host};

/// How long connecting may take, as curl has it.
const CONNECT: Duration = Duration::from_secs(300);

/// How long nothing may come on a connection before the system probes it, as curl has it.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// How often a request is sent again that a server of HTTP/2 has refused unprocessed (RFC 9113 §8.7).
const REFUSALS_MAX: u32 = 4;

/// Why options of TLS cannot be used.
#[cfg(not(feature = "tls"))]
const NO_TLS: &str = "this stoop was built without TLS";

/// Field lines of a head; over HTTP/1 the parser's own limit comes first.
const FIELDS_MAX: usize = 5_000;

/// The client for these options and this URL, whose requests are noted; and what is wrong with options that this URL needs
/// none of, but one that a redirect leads to may.
///
/// # Errors
/// Options that cannot be used.
pub(super) fn client(
    args: &GetArgs,
    headers: &[Header],
    (jar, netrc): (Option<&CookieJar>, &Netrc),
    (record, progress): (&Record, &SendProgress),
    url: &str,
) -> Result<(Client, Option<GetFailure>), GetFailure> {
    let (protocols, cookies) = (args.protocols.clone(), cookies::trusted(args, headers, jar));
    let (sent, record, is_told) = (record.sent(), record.clone(), args.verbose);
    let progress = progress.clone();
    // The story has them, too.
    let told_retries = args.retry.filter(|_| !args.silent || args.show_error);
    let mut builder = Client::builder()
        .limits(limits())
        .setup_timeout(args.connect_timeout.filter(|limit| !limit.is_zero()).unwrap_or(CONNECT))
        .decode_content(args.compressed)
        .accept_any(!Header::removes(headers, "accept"))
        .allow_private(true)
        .redirects(args.redirects.policy(move |attempt| {
            if let Some(cookies) = &cookies {
                cookies.follow(attempt);
            }
            protocols.redirect(attempt.to())
        }))
        .observe(move |_, event| {
            record.note(event);
            progress.note(event);
            if is_told {
                story::tell(record.elapsed(), event, record.content());
            } else if let Some(max) = told_retries {
                retry::tell(event, max);
            }
        });
    // Requests have theirs: this is what proxies are asked for tunnels with.
    if let Some(agent) = user_agent(args).filter(|_| !Header::removes(headers, "user-agent")) {
        builder = builder.user_agent(agent);
    }
    builder = builder.versions(match (args.http1, args.http2_prior_knowledge) {
        (true, _) => Versions::Http1,
        (false, true) => Versions::Http2,
        (false, false) => Versions::All,
    });
    builder = match (retry::retries(args, sent), args.total()) {
        (Some(retries), _) => builder.retries(retries),
        (None, Some(total)) => builder.timeout(total),
        (None, None) => builder,
    };
    builder = Family::new(args.ipv4, args.ipv6).apply(builder);
    if let Some(address) = args.interface {
        builder = builder.local_address(address);
    }
    if !args.no_keepalive {
        let time = args.keepalive_time.filter(|seconds| *seconds > 0);
        let time = time.map_or(KEEPALIVE, |seconds| Duration::from_secs(seconds.into()));
        builder = builder.tcp_keepalive(time);
    }
    if let Some(path) = &args.unix_socket {
        builder = builder.unix_socket(path);
    }
    // By the Digest scheme the request has its own.
    if !args.digest {
        builder = builder.netrc(netrc.clone());
    }
    if let Some(jar) = jar {
        builder = builder.cookies(jar.clone());
    }
    let usage = |why: String| GetFailure::new(exit::BAD_USE, why);
    builder = builder.proxies(args.proxy.proxies()?);
    builder = ResolveRule::apply_all(&args.resolve, builder);
    for rule in &args.connect_to {
        builder = connect_to(builder, rule).map_err(|why| {
            usage(format!("--connect-to {rule:?} is not HOST1:PORT1:HOST2:PORT2{why}"))
        })?;
    }
    #[cfg(feature = "tls")]
    let deferred = {
        let tls = GetTls::new(args, url)?;
        builder = builder.tls(tls.client);
        tls.deferred
    };
    #[cfg(not(feature = "tls"))]
    let deferred = match (args.tls.is_given(), url.starts_with("https:")) {
        (false, _) => None,
        (true, false) => Some(usage(NO_TLS.to_owned())),
        (true, true) => return Err(usage(NO_TLS.to_owned())),
    };
    let client = builder.build().map_err(|error| usage(error.to_string()))?;
    Ok((client, deferred))
}

/// curl has no limits of time but those that are named, and neither has this. What a server may send without end is
/// bounded by far more than servers send.
fn limits() -> ClientLimits {
    let mut limits = ClientLimits::default();
    limits.wire.interim_max = 10_000;
    limits.wire.fields_max = FIELDS_MAX;
    limits.time.dns = None;
    limits.time.connect = None;
    limits.time.tls = None;
    limits.time.head = None;
    limits.time.send_idle = None;
    limits.time.read_idle = None;
    limits.wire.http2.settings_timeout = Duration::MAX;
    limits.wire.http2.ping_timeout = Duration::MAX;
    limits.decoded_ratio_max = u32::MAX;
    limits.refusals_max = REFUSALS_MAX;
    limits
}

/// Bytes of a netrc file that are read.
const NETRC_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// The netrc file that the options name, or none.
///
/// # Errors
/// Those of reading it: one that is not there is empty.
pub(super) fn netrc(args: &GetArgs) -> Result<Netrc, GetFailure> {
    let path = args.netrc_file.as_deref();
    if path.is_none() && !args.netrc {
        return Ok(Netrc::default());
    }
    let home = || Path::new(&std::env::var_os("HOME").unwrap_or_default()).join(".netrc");
    let path = path.map_or_else(home, Path::to_owned);
    let read = fs::File::open(&path).and_then(|file| {
        let mut text = String::new();
        // Netrc refuses a longer one.
        file.take(NETRC_BYTES_MAX).read_to_string(&mut text).map(|_| text)
    });
    let text = match read {
        Ok(text) => text,
        Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(Netrc::default()),
        Err(error) => return Err(GetFailure::read(&path.display().to_string(), &error)),
    };
    let read = text.parse();
    read.map_err(|error| GetFailure::new(exit::READ_ERROR, format!("{}: {error}", path.display())))
}

/// `HOST1:PORT1:HOST2:PORT2`.
///
/// # Errors
/// What is wrong beyond the form, if that is known.
fn connect_to(builder: ClientBuilder, rule: &str) -> Result<ClientBuilder, String> {
    let (host, rest) = split_host(rule).ok_or("")?;
    let (port, to) = rest.split_once(':').ok_or("")?;
    builder.connect_to(&format!("{host}:{port}"), to).map_err(|error| format!(": {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_server_is_waited_for() {
        let limits = limits();
        assert_eq!((limits.time.head, limits.time.read_idle), (None, None));
        let http2 = limits.wire.http2;
        assert_eq!((http2.settings_timeout, http2.ping_timeout), (Duration::MAX, Duration::MAX));
    }

    #[test]
    fn a_rule_has_two_hosts_and_ports_of_which_any_may_be_left_out() {
        for good in ["a:80:b:81", "::b:81", "[::1]:80:[::2]:", "a::b:"] {
            assert!(connect_to(Client::builder(), good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("", ""),
            ("a:80", ""),
            ("a:80:b", "it has no colon"),
            ("a:80:b:x", "the port \"x\" is not a number from 0 to 65535"),
            ("a:80:b c:81", "no URL can have the host \"b c\""),
        ] {
            let error = connect_to(Client::builder(), bad).err().expect(bad);
            assert!(error.contains(why) && why.is_empty() == error.is_empty(), "{bad}: {error}");
        }
    }
}
