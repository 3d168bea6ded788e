//! The explanation of each error kind for users, in one line.

/// The meaning of an error kind, and what to try. Kinds of other programs have none.
pub(crate) fn hint(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "invalid_url" => "the line is not an http or https URL",
        "host_suspended" => {
            "the host did not answer any more, or nothing but 429 and 503; --host-outage-max and --host-overload-max wait longer"
        }
        "robots_denied" => {
            "robots.txt does not allow it; --format jsonl says why, and without --robots it is not asked"
        }
        "invalid_job" => {
            "the line is no job, as an option of aria2 is none, or its headers may not be sent; --format jsonl says where and why"
        }
        "save_failed" => "the content could not be saved, and the run ended: see the message",
        "address_denied" => "the address is not public, and --public-only connects to no other",
        "dns_nxdomain" => "the name does not exist",
        "dns_servfail" => "the name servers of the domain failed",
        "dns_timeout" => "no name server answered; many at once: try another with --dns",
        "dns_other" => "the name could not be resolved; many at once: try another with --dns",
        "connect_refused" => "the host is there, and nothing listens on the port",
        "connect_timeout" => "not connected in time: down, dropped by a firewall, or slow at TLS",
        "connect_unreachable" => "no route to the host (an IPv6-only host without IPv6 here?)",
        "connect_reset" => "the connection was reset while it was being opened",
        "proxy_auth" => "the proxy wants credentials: --proxy http://USER:PASSWORD@HOST:PORT",
        "proxy_refused" => "the proxy did not connect to the host: it may be down, or not allowed",
        "no_local_ports" => "this machine ran out of ports: lower --concurrency",
        "too_many_files" => "this process ran out of descriptors: raise ulimit -n, or lower -c",
        "tls_handshake" => "the two ends could not agree on TLS, or the server does not speak it",
        "tls_cert_expired" => "the certificate is not valid now (--insecure to fetch anyway)",
        "tls_cert_name" => "the certificate is for another name (--insecure to fetch anyway)",
        "tls_cert_untrusted" => {
            "no trusted issuer: --cacert FILE, with its certificate or the server's own, if you \
             trust it"
        }
        "h1_parse" => "the answer is not HTTP",
        "h2_protocol" => "the answer breaks the rules of HTTP/2: try --http1.1",
        "h2_goaway" => "the server was ending the connection; a second run may succeed",
        "h2_refused" => "the server refused the request: lower --concurrency, or see the error",
        "closed_early" => "the server closed the connection before the answer was complete",
        "reset" => "the connection was reset before the answer was complete",
        "read_timeout" => {
            "the server sent nothing for --read-timeout, or the system gave the connection up"
        }
        "slow_body" => "the content came more slowly than --speed-limit",
        "total_timeout" => "not done within --timeout",
        "body_too_large" => {
            "the body is longer than --max-body, or its coding makes it 1,000 times as large"
        }
        "decode" => "the body is not what its Content-Encoding says: try without --compressed",
        "redirect_limit" => "more than --max-redirects, or a loop",
        "redirect_denied" => {
            "redirected to a URL that is not allowed; to private hosts only with --allow-private, and without --public-only"
        }
        "cancelled" => "the run ended first, by a signal or --duration",
        "internal" => "a defect of this program: please report it",
        _ => return None,
    })
}
