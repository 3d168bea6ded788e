//! A contender: one TOML file in `contenders/` that says how its programs are obtained and started.
//!
//! Commands and files may contain these placeholders, which are replaced when the program is started:
//!
//! | placeholder | meaning |
//! |---|---|
//! | `{program}` | the program that was built or found |
//! | `{peers}` `{target}` | the folder of this project's peers, and the one they are built in |
//! | `{listen}` `{host}` `{port}` | `IP:PORT` to listen on, and its parts |
//! | `{cert}` `{key}` | PEM files for TLS |
//! | `{dir}` | an empty directory of this start |
//! | `{files}` | the folder with the files to serve, in it |
//! | `{concurrency}` `{timeout_s}` | of a client |
//! | `{url}` `{count}` `{concurrency}` `{body_bytes}` `{connections}` `{http}` `{runtime}` `{failures}` | of a program that sends requests |
//! | `{ca}` `{dns}` | the certificate to trust, the name server to ask |

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::paths::{MORE_PATHS, PATHS};
use crate::program::Program;
use crate::program_source::ProgramSource;

/// The contender that every work is about.
pub(crate) const STOOP: &str = "stoop";

/// The content of a contender's file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contender {
    pub(crate) name: String,
    /// A description, with what a reader of the figures should know.
    pub(crate) about: String,
    pub(crate) server: Option<ServerSection>,
    pub(crate) client: Option<ClientSection>,
    pub(crate) requests: Option<RequestsSection>,
}

/// The section `[server]`: a program that answers as [`crate::paths`] says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerSection {
    /// The command for HTTP/1.1. Without it, the contender has no HTTP/1.1.
    pub(crate) start: Option<Vec<String>>,
    /// The command for pipelined requests, if it differs.
    pub(crate) start_pipelined: Option<Vec<String>>,
    /// The command for one request on each connection, if it differs: a server that parses nothing cannot
    /// know that it has to close them.
    pub(crate) start_closing: Option<Vec<String>>,
    /// The command for HTTP/1.1 over TLS. Without it, the contender has none.
    pub(crate) start_tls: Option<Vec<String>>,
    /// The commands for HTTP/2 from the first byte on, and over TLS by ALPN. Without them, the contender has
    /// none.
    pub(crate) start_http2: Option<Vec<String>>,
    pub(crate) start_http2_tls: Option<Vec<String>>,
    /// The command that serves the files in `{files}`. Without it, the contender serves none.
    pub(crate) start_files: Option<Vec<String>>,
    /// The command that sends WebSocket messages back, at any path. Without it, the contender has no WebSocket.
    pub(crate) start_websocket: Option<Vec<String>>,
    pub(crate) program: ProgramSource,
    /// The requests of [`PATHS`] that it answers. A work with any other leaves it out.
    #[serde(default = "all_paths")]
    pub(crate) paths: Vec<String>,
    /// The same over HTTP/2, if it differs.
    pub(crate) paths_http2: Option<Vec<String>>,
    /// The requests of [`MORE_PATHS`] that it answers too.
    #[serde(default)]
    pub(crate) paths_more: Vec<String>,
    /// Files written to `{dir}` before the start, with their texts.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// Files of the agreed text written to `{dir}`, with their lengths in bytes.
    #[serde(default)]
    pub(crate) bodies: BTreeMap<String, usize>,
    /// How long it is under load before the measurement: a just-in-time compiler needs more.
    #[serde(default = "one_second")]
    pub(crate) warm_up_s: u32,
}

/// The section `[client]`: a program that fetches the URLs on its standard input, under the contract of
/// `stoop fetch`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClientSection {
    pub(crate) start: Vec<String>,
    #[serde(default)]
    pub(crate) with_ca: Vec<String>,
    #[serde(default)]
    pub(crate) with_dns: Vec<String>,
    /// The arguments that make it use HTTP/2 with servers that agree on it by ALPN; without them, it has
    /// none.
    pub(crate) with_http2: Option<Vec<String>>,
    pub(crate) program: ProgramSource,
}

/// The section `[requests]`: a program that sends `{count}` requests to `{url}` over HTTP/1.1 or HTTP/2
/// (`{http}` is 1 or 2) without TLS, `{concurrency}` at once, on one core, and succeeds only if each was answered
/// `200` with `Hello, world!`. GET if `{body_bytes}` is 0, else POST of so many; at most `{connections}`
/// connections, or any number if that is 0. `{runtime}` is that of tokio: `multi` or `current`. `{failures}` is
/// `fatal`; or `counted`, and then each request has its number behind the URL, and the count of those that failed is
/// printed as `{"failed": N}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestsSection {
    /// The description of this program, instead of the contender's.
    pub(crate) about: String,
    pub(crate) start: Vec<String>,
    pub(crate) program: ProgramSource,
}

fn one_second() -> u32 {
    1
}

fn all_paths() -> Vec<String> {
    PATHS.map(str::to_owned).to_vec()
}

impl Contender {
    /// Reads the contender's file.
    pub(crate) fn load(name: &str) -> Result<Self> {
        Self::load_from(Path::new(env!("CARGO_MANIFEST_DIR")), name)
    }

    /// Reads the contender's file in another tree, whose folder `bench/` is given.
    pub(crate) fn load_from(bench: &Path, name: &str) -> Result<Self> {
        let directory = bench.join("contenders");
        let names = names_in(&directory);
        ensure!(
            names.iter().any(|known| known == name),
            "no contender {name}; there are: {}",
            names.join(", ")
        );
        let path = directory.join(name).with_extension("toml");
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let contender: Self =
            toml::from_str(&text).with_context(|| format!("in {}", path.display()))?;
        if contender.name != name {
            bail!("{} must name itself {name}", path.display());
        }
        for more in contender.server.iter().flat_map(|server| &server.paths_more) {
            let is_known = MORE_PATHS.contains(&more.as_str());
            ensure!(is_known, "{} has a path of its own: {more}", path.display());
        }
        Ok(contender)
    }
}

/// The names of all contenders.
pub(crate) fn names() -> Vec<String> {
    names_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("contenders"))
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let stems = entries.filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<_> = stems.collect();
    names.sort();
    names
}

/// Values for the placeholders.
#[derive(Clone, Default)]
pub(crate) struct Placeholders(Vec<(&'static str, String)>);

impl Placeholders {
    /// The placeholders that do not depend on the work.
    pub(crate) fn of(program: &Program) -> Self {
        let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self::default()
            .with("{program}", program.path.display())
            .with("{peers}", bench.join("peers").display())
            .with("{target}", bench.join("target").display())
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.0.push((name, value.to_string()));
        self
    }

    /// Replaces the placeholders in `template`.
    pub(crate) fn fill(&self, template: &str) -> String {
        self.0.iter().fold(template.to_owned(), |text, (name, value)| text.replace(name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_can_be_read_and_has_a_role() {
        for name in names() {
            let contender = Contender::load(&name).unwrap();
            let is_client = contender.client.is_some() || contender.requests.is_some();
            assert!(contender.server.is_some() || is_client, "{name}");
            let Some(server) = contender.server else { continue };
            for path in server.paths.iter().chain(server.paths_http2.iter().flatten()) {
                assert!(PATHS.contains(&path.as_str()), "{name} has a path of its own: {path}");
            }
        }
    }

    #[test]
    fn a_server_answers_every_path_unless_its_file_lists_some() {
        let start = "start = []\nprogram.built.program = 'p'";
        let server: ServerSection = toml::from_str(start).unwrap();
        assert_eq!(server.paths, PATHS);
        let server: ServerSection = toml::from_str(&format!("paths = ['GET /']\n{start}")).unwrap();
        assert_eq!(server.paths, ["GET /"]);
    }

    #[test]
    fn only_known_placeholders_are_replaced() {
        let placeholders = Placeholders::default().with("{listen}", "127.0.0.1:80");
        assert_eq!(
            placeholders.fill("http { listen {listen}; {dir} }"),
            "http { listen 127.0.0.1:80; {dir} }"
        );
    }
}
