//! Checks of the origins themselves: each starts, and speaks HTTP/2 with curl.

use super::{OriginKind, OriginServer, big};
use crate::programs::{self, ProgramOutput, are_missing};

async fn curl(origin: &OriginServer, tls: bool, path: &str, arguments: &[&str]) -> ProgramOutput {
    let (url, ca) = (origin.url(path), origin.certificate_file());
    let version = if tls { "--http2" } else { "--http2-prior-knowledge" };
    let common = ["-sS", "--max-time", "60", "--noproxy", "*", "--cacert", &ca];
    let report = ["-w", "%{stderr}%{http_version} %{http_code}", version, &url];
    let arguments = [&common[..], &report, arguments].concat();
    let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
    programs::run("curl", &arguments, &big()).await
}

#[tokio::test]
async fn each_origin_speaks_http2() {
    const NAME: &str = "origins::checks";
    if are_missing(NAME, &["curl"]) {
        return;
    }
    for (kind, tls) in OriginKind::ALL.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let Some(origin) = OriginServer::start(NAME, kind, tls).await else { continue };
        let hello = curl(&origin, tls, "/", &[]).await;
        assert_eq!((hello.text().as_str(), &*hello.stderr), ("hello", "2 200"), "{kind:?}");
        let whole = curl(&origin, tls, "/big", &[]).await;
        assert!(whole.stdout == big() && whole.stderr == "2 200", "{kind:?}");
        if kind.echoes() {
            let echoed = curl(&origin, tls, "/echo", &["--data-binary", "@-"]).await;
            assert!(echoed.stdout == big() && echoed.stderr == "2 200", "{kind:?}");
        }
        // Where the length is announced, curl 7.88 does not wait for trailers.
        if matches!(kind, OriginKind::Go | OriginKind::Hyper) {
            let said = curl(&origin, tls, "/trailers", &["--include"]).await.text();
            assert!(said.contains("hello") && said.contains("x-sum: 5\r\n"), "{kind:?}: {said}");
        }
        if tls {
            let _ = origin.trusted();
        }
    }
}
