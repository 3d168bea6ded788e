//! Programs that some steps need beside cargo, and how they are installed.

use std::path::Path;
use std::thread;

use super::step::{Context, StepOutcome, failures};
use crate::command::Command;

/// The name of the step that installs them; it runs with `CI=true`, or when it is named.
pub(crate) const INSTALL: &str = "install";

/// The toolchain that libFuzzer needs.
pub(crate) const NIGHTLY: &str = "nightly";

/// A program, a command that succeeds if it is installed, and the command that installs it.
pub(crate) struct Tool {
    name: &'static str,
    probe: &'static [&'static str],
    install: &'static [&'static str],
}

pub(crate) const RUSTFMT: Tool = Tool {
    name: "rustfmt",
    probe: &["cargo", "fmt", "--version"],
    install: &["rustup", "component", "add", "rustfmt"],
};
pub(crate) const CLIPPY: Tool = Tool {
    name: "clippy",
    probe: &["cargo", "clippy", "--version"],
    install: &["rustup", "component", "add", "clippy"],
};
pub(crate) const NIGHTLY_TOOLCHAIN: Tool = Tool {
    name: "a nightly toolchain",
    probe: &["rustup", "run", NIGHTLY, "rustc", "--version"],
    install: &["rustup", "toolchain", "install", NIGHTLY, "--profile=minimal"],
};
pub(crate) const CARGO_FUZZ: Tool = Tool {
    name: "cargo-fuzz",
    probe: &["cargo", "fuzz", "--version"],
    install: &["cargo", "install", "--locked", "cargo-fuzz"],
};
pub(crate) const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    probe: &["cargo", "deny", "--version"],
    install: &["cargo", "install", "--locked", "cargo-deny"],
};

/// Autobahn's suite for WebSockets.
pub(crate) const AUTOBAHN: Tool = Tool {
    name: "Autobahn's test suite",
    probe: &["test", "-f", "target/tools/autobahn/installed-2"],
    install: &["sh", "xtask/autobahn/install.sh"],
};

/// A server that answers with what it was asked, for the tests of the client. The version is the last that
/// Debian 12's Go (1.19) builds.
const GO_HTTPBIN: Tool = Tool {
    name: "go-httpbin",
    probe: &[
        "sh",
        "-c",
        "go version -m target/tools/go-httpbin | grep -q 'go-httpbin/v2.*v2.13.4'",
    ],
    install: &[
        "sh",
        "-c",
        "GOBIN=\"$PWD/target/tools\" go install \
         github.com/mccutchen/go-httpbin/v2/cmd/go-httpbin@v2.13.4",
    ],
};

/// A reader of robots.txt files in Python, whose decisions are compared with ours.
const PROTEGO: Tool = Tool {
    name: "protego",
    probe: &["test", "-d", "target/tools/protego/protego-0.7.0.dist-info"],
    install: &[
        "pip3",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--upgrade",
        "--target=target/tools/protego",
        "protego==0.7.0",
    ],
};

/// Readers of web archives in Python and C++, which read ours.
const WARC_READERS: Tool = Tool {
    name: "warcio and fastwarc",
    probe: &[
        "test",
        "-d",
        "target/tools/warc/warcio-1.8.1.dist-info",
        "-a",
        "-d",
        "target/tools/warc/fastwarc-2.0.1.dist-info",
    ],
    install: &[
        "pip3",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--upgrade",
        "--target=target/tools/warc",
        "warcio==1.8.1",
        "fastwarc==2.0.1",
    ],
};

/// A validator of web archives in Java, which judges ours.
const JWARC: Tool = Tool {
    name: "jwarc",
    probe: &["test", "-f", "target/tools/jwarc/jwarc-0.31.1.jar"],
    install: &[
        "mvn",
        "--batch-mode",
        "--quiet",
        "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy",
        "-Dartifact=org.netpreserve:jwarc:0.31.1",
        "-DoutputDirectory=target/tools/jwarc",
    ],
};

/// Readers and writers of Apache Parquet in C++, which read our tables, and write lists for us.
const PARQUET_READERS: Tool = Tool {
    name: "pyarrow and duckdb",
    probe: &[
        "test",
        "-d",
        "target/tools/parquet/pyarrow-26.0.1.dist-info",
        "-a",
        "-d",
        "target/tools/parquet/duckdb-2.0.1.dist-info",
    ],
    install: &[
        "pip3",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--upgrade",
        "--target=target/tools/parquet",
        "pyarrow==26.0.1",
        "duckdb==2.0.1",
    ],
};

const TOOLS: &[Tool] = &[RUSTFMT, CLIPPY, NIGHTLY_TOOLCHAIN, CARGO_FUZZ, CARGO_DENY, AUTOBAHN];

/// Programs that the tests talk to or that download what they read, and their Debian packages. A
/// test that does not find its program reports that it skipped. What is no program has its whole path.
const PEERS: &[(&str, &str)] = &[
    ("nginx", "nginx"),
    ("/usr/lib/nginx/modules/ngx_stream_module.so", "libnginx-mod-stream"),
    ("haproxy", "haproxy"),
    ("curl", "curl"),
    (OPENSSL, "openssl"),
    ("h2load", "nghttp2-client"),
    ("nghttpd", "nghttp2-server"),
    ("ab", "apache2-utils"),
    ("wrk", "wrk"),
    ("fish", "fish"),
    ("zsh", "zsh"),
    ("tinyproxy", "tinyproxy-bin"),
    ("squid", "squid"),
    ("microsocks", "microsocks"),
    ("slowhttptest", "slowhttptest"),
    ("chromium", "chromium"),
    ("python3", "python3"),
    ("pip3", "python3-pip"),
    ("java", "default-jre-headless"),
    ("mvn", "maven"),
    (GO, "golang-go"),
    (VALGRIND, "valgrind"),
];

/// Makes certificates.
pub(crate) const OPENSSL: &str = "openssl";

/// Builds other projects' programs that are written in Go.
pub(crate) const GO: &str = "go";

/// Counts instructions.
pub(crate) const VALGRIND: &str = "valgrind";

impl Tool {
    fn is_installed(&self) -> bool {
        command(self.probe).succeeds()
    }
}

fn command(words: &[&str]) -> Command {
    Command::new(words[0]).args(&words[1..])
}

/// Why a step that needs these tools is skipped, if it is.
pub(crate) fn missing(tools: &[&Tool]) -> Option<String> {
    let absent: Vec<_> = tools.iter().filter(|tool| !tool.is_installed()).collect();
    if absent.is_empty() {
        return None;
    }
    let names: Vec<_> = absent.iter().map(|tool| tool.name).collect();
    let installs: Vec<_> = absent.iter().map(|tool| command(tool.install).to_string()).collect();
    Some(format!("needs {} ({})", names.join(" and "), installs.join(" && ")))
}

/// Why a step that needs these of the `PEERS` is skipped, if it is.
pub(crate) fn absent(programs: &[&str]) -> Option<String> {
    let absent = PEERS.iter().filter(|(program, _)| programs.contains(program));
    let absent = absent.filter(|(program, _)| !is_on_path(program));
    let (names, packages): (Vec<&str>, Vec<&str>) = absent.copied().unzip();
    if names.is_empty() {
        return None;
    }
    let install = as_root("apt-get install").args(packages);
    Some(format!("needs {} ({install})", names.join(" and ")))
}

/// Installs the tools that are missing. It tries all, and its report names each that failed. Packages are downloaded and
/// unpacked while cargo compiles.
pub(crate) fn install(_: &Context) -> StepOutcome {
    let independent = installs_of(TOOLS);
    let absent = PEERS.iter().filter(|(program, _)| !is_on_path(program));
    let packages: Vec<&str> = absent.map(|(_, package)| *package).collect();
    let mut by_packages = Vec::new();
    if !packages.is_empty() {
        by_packages.push(as_root("apt-get update").arg("--quiet"));
        let install = as_root("apt-get install").args(["--yes", "--quiet"]);
        by_packages.push(install.arg("--no-install-recommends").args(packages));
    }
    // They need Go, pip and Maven, which are among the packages.
    by_packages.extend(installs_of(&[GO_HTTPBIN, PROTEGO, WARC_READERS, JWARC, PARQUET_READERS]));
    let note = format!("{} commands", independent.len() + by_packages.len());
    let failed: Vec<(String, String)> = thread::scope(|scope| {
        let beside = scope.spawn(|| failures(&by_packages));
        let mut failed = failures(&independent);
        failed.extend(beside.join().expect("installing packages panicked"));
        failed
    });
    StepOutcome::of_failures(&failed, note)
}

/// The commands that install those of `tools` that are missing. What cargo compiles is not optimized: it runs for seconds,
/// and optimizing takes minutes.
fn installs_of(tools: &[Tool]) -> Vec<Command> {
    let absent = tools.iter().filter(|tool| !tool.is_installed());
    let install = |tool: &Tool| match tool.install {
        ["cargo", "install", ..] => command(tool.install).arg("--debug"),
        _ => command(tool.install),
    };
    absent.map(install).collect()
}

/// Whether a shell finds it, or a file with its whole path is there. Servers are in /usr/sbin, which is not on every
/// user's path.
pub(crate) fn is_on_path(program: &str) -> bool {
    if program.starts_with('/') {
        return Path::new(program).exists();
    }
    let look = format!("PATH=\"$PATH:/usr/sbin\"; command -v {program}");
    Command::new("sh").args(["-c", &look]).succeeds()
}

pub(crate) fn as_root(words: &str) -> Command {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.trim() == "0");
    let words = words.split(' ');
    // `env`, because sudo drops the variable that keeps packages from asking questions.
    let apt = Command::new(if is_root { "env" } else { "sudo" });
    let apt = if is_root { apt } else { apt.arg("env") };
    apt.arg("DEBIAN_FRONTEND=noninteractive").args(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named_with_the_command_that_installs_it() {
        let absent = Tool {
            name: "teapot",
            probe: &["no-such-program-at-all"],
            install: &["cargo", "install", "teapot"],
        };
        let present = Tool { name: "sh", probe: &["sh", "-c", "true"], install: &["true"] };
        assert_eq!(missing(&[&present]), None);
        let why = missing(&[&present, &absent]).unwrap();
        assert_eq!(why, "needs teapot (cargo install teapot)");
    }

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        assert!(is_on_path("sh"));
        assert!(!is_on_path("no-such-program-at-all"));
        assert!(is_on_path("/etc/passwd") && !is_on_path("/etc/no-such-file-at-all"));
    }
}
