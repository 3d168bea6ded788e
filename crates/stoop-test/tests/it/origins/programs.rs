//! How each program is started.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tokio::sync::OnceCell;

use super::{OriginKind, OriginServer};
use crate::programs::{self, RunningProgram, source};

pub(super) fn nghttpd(origin: &OriginServer) -> RunningProgram {
    let (ip, folder) = (origin.address.ip().to_string(), origin.folder.path());
    let common = ["--address", &ip, "--htdocs", folder, "--echo-upload", "--trailer", "x-sum: 5"];
    let mut arguments: Vec<String> = common.map(str::to_owned).to_vec();
    arguments.extend(origin.more.split_whitespace().map(str::to_owned));
    arguments.extend((!origin.tls).then(|| "--no-tls".to_owned()));
    arguments.push(origin.address.port().to_string());
    let files = ["key.pem", "ca.pem"].map(|file| format!("{folder}/{file}"));
    arguments.extend(files.into_iter().filter(|_| origin.tls));
    RunningProgram::new("nghttpd", &arguments)
}

pub(super) fn nginx(origin: &OriginServer) -> RunningProgram {
    let OriginServer { address, more, .. } = origin;
    let path = origin.folder.path();
    let secure = if origin.tls { " ssl" } else { "" };
    // `http2 on` needs more than nginx 1.22. One process, so that none is left when it is killed; reloading
    // needs two.
    let (version, master) = match origin.kind {
        OriginKind::NginxHttp1 => ("", "on"),
        _ => (" http2", "off"),
    };
    // The second one would change its user, and could not write into the folder then.
    let is_root = std::fs::metadata(path).is_ok_and(|folder| folder.uid() == 0);
    let user = if is_root { "user root;" } else { "" };
    let configuration = format!(
        "daemon off; master_process {master}; {user} pid nginx.pid; error_log stderr crit;
events {{ }}
http {{
    access_log off;
    ssl_certificate ca.pem;
    ssl_certificate_key key.pem;
    client_body_temp_path {path}/body;
    proxy_temp_path {path}/proxy;
    fastcgi_temp_path {path}/fastcgi;
    uwsgi_temp_path {path}/uwsgi;
    scgi_temp_path {path}/scgi;
    server {{
        listen {address}{secure}{version};
        root {path};
        location = / {{ return 200 'hello'; }}
        location = /trailers {{ add_trailer x-sum 5; }}
        {more}
    }}
}}
"
    );
    origin.folder.write("nginx.conf", configuration);
    RunningProgram::new("nginx", &nginx_arguments(origin))
}

fn nginx_arguments(origin: &OriginServer) -> Vec<String> {
    let path = origin.folder.path();
    let file = format!("{path}/nginx.conf");
    ["-p", path, "-e", "stderr", "-c", &file].map(str::to_owned).into()
}

/// Sends a signal to the process of [`nginx`]. Returns whether it could be sent.
pub(super) fn nginx_signal(origin: &OriginServer, signal: &str) -> bool {
    let mut arguments = nginx_arguments(origin);
    arguments.extend(["-s", signal].map(str::to_owned));
    programs::succeeds("nginx", &arguments)
}

/// The program that [`build_go`] builds.
const GO_SERVER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/origin-go");

/// Builds the server in Go once for all tests, since a program of `go run` outlives being killed. Returns
/// false if it cannot speak HTTP/2 without TLS.
pub(super) async fn build_go(tls: bool) -> bool {
    static BUILT: OnceCell<()> = OnceCell::const_new();
    if !tls && !go_speaks_without_tls().await {
        return false;
    }
    let build = async {
        // An older build may be running, and can then not be overwritten.
        let new = format!("{GO_SERVER}-{}", std::process::id());
        let mut build: Vec<String> = ["build", "-o", &new].map(str::to_owned).to_vec();
        build.extend(["server.go", "prior.go"].map(|file| source(&format!("origins/{file}"))));
        programs::run("go", &build, b"").await;
        std::fs::rename(new, Path::new(GO_SERVER)).unwrap();
    };
    BUILT.get_or_init(|| build).await;
    true
}

pub(super) fn go(origin: &OriginServer) -> RunningProgram {
    let mut arguments = vec![origin.address.to_string(), origin.folder.path().to_owned()];
    arguments.extend(origin.tls.then(|| "tls".to_owned()));
    RunningProgram::new(GO_SERVER, &arguments)
}

/// Whether this version of Go speaks HTTP/2 without TLS, as Go does since 1.24.
async fn go_speaks_without_tls() -> bool {
    let version = programs::run("go", &["env".to_owned(), "GOVERSION".to_owned()], b"").await;
    let version = version.text();
    let minor = version.trim().strip_prefix("go1.").and_then(|rest| rest.split('.').next());
    minor.and_then(|minor| minor.parse::<u32>().ok()).is_none_or(|minor| minor >= 24)
}
