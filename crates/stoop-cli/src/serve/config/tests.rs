//! What a file of options and the command line make together.

use super::*;
use crate::serve::choices::{LinkPolicy, LogFormat, StatusFor};

fn written(text: &str) -> Settings {
    parse(text, Path::new("/etc/site/serve.toml")).unwrap()
}

#[test]
fn a_file_has_the_names_of_the_options() {
    let settings = written(
        "directory = 'public'\nlisten = ['1']\ntls = ['/a.pem', 'b.pem']\nspa = true\n\
         listing = true\ncors = true\ncompress = true\nauth = ['a:b']\naccess-log = 'json'\n\
         access-log-file = 'log'\nstatus = 'all'\nworkers = 2\nconnections-per-address = 3\n\
         quiet = true\nunix-mode = '0660'\nproxy-protocol = '10.0.0.0/8'\n\
         trust-forwarded = ['192.0.2.0/24,unix', '2001:db8::/32']\nlag-max = 3\n\
         handler-timeout = '5s'\nready = true\ndrain-notice = 2.5\nhttps-redirect = true\n\
         hidden = true\nsymlinks = 'refuse'\ncache-control = ['*.js: no-cache', 'max-age=60']\n\
         header = 'x-frame-options: DENY'\n\
         auth-file = 'users'\nnot-found = '404.html'\n",
    );
    assert_eq!(settings.unix_mode, Some(0o660));
    assert_eq!((settings.hidden, settings.symlinks), (Some(true), Some(LinkPolicy::Refuse)));
    assert_eq!(settings.directory(), Path::new("/etc/site/public"));
    assert_eq!(settings.tls, [Path::new("/a.pem"), Path::new("/etc/site/b.pem")]);
    assert_eq!(settings.access_log_file, Some("/etc/site/log".into()));
    assert_eq!(settings.not_found.as_deref(), Some("404.html"), "it is below the directory");
    assert_eq!(settings.auth_file, Some("/etc/site/users".into()));
    assert_eq!(settings.access_log, Some(LogFormat::Json));
    assert_eq!((settings.status, settings.workers), (Some(StatusFor::All), Some(2)));
    let Settings { spa, listing, cors, compress, ready, quiet, https_redirect, .. } = settings;
    let switches = [spa, listing, cors, compress, ready, quiet, https_redirect];
    assert_eq!(switches, [Some(true); 7]);
    assert_eq!(settings.drain_notice(), Duration::from_millis(2_500));
    let limits = settings.limits();
    assert_eq!(limits.connections_per_address_max, 3);
    assert_eq!(limits.shedding.lag_max, Duration::from_secs(3));
    assert_eq!(limits.time.handler, Duration::from_secs(5));
    assert_eq!(settings.proxy_protocol, ["10.0.0.0/8".parse().unwrap()]);
    let trusted = ["192.0.2.0/24", "unix", "2001:db8::/32"].map(|text| text.parse().unwrap());
    assert_eq!((settings.trust_forwarded, settings.trust_x_forwarded), (trusted.to_vec(), vec![]));
    assert_eq!(settings.cache_control, ["*.js: no-cache", "max-age=60"]);
    assert_eq!(settings.header, ["x-frame-options: DENY"]);
    assert!(settings.auth == ["a:b"] && settings.listen == ["1"]);
}

#[test]
fn one_of_what_can_be_given_several_times_needs_no_list() {
    let settings = written("listen = '1'\nauth = 'a:b'");
    assert_eq!((settings.listen, settings.auth), (vec!["1".into()], vec!["a:b".into()]));
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_its_name_and_line() {
    for (text, expected) in [
        ("listn = ['1']", "1:1: unknown name \"listn\": did you mean \"listen\"?"),
        ("workers = 0", "workers must be"),
        ("workers = 'many'", "invalid type"),
        ("tls = ['cert.pem']", "1:7: tls: expected [\"CERT\", \"KEY\"], or a list of such pairs"),
        ("tls = ['a', 'b', 'c', 'd']", "1:7: tls: expected [\"CERT\", \"KEY\"], or a list"),
        ("tls = [['a', 'b'], ['c']]", "1:7: tls: expected [\"CERT\", \"KEY\"], or a list"),
        ("tls = ['a', 'b']\ntls-self-signed = true", "2:1: tls and tls-self-signed exclude"),
        ("spa = ", "1:7: "),
        ("listen = 8080", "expected a string, or a list of strings"),
        ("access-log = 'xml'", "unknown variant `xml`"),
        ("symlinks = 'all'", "unknown variant `all`, expected `within` or `refuse`"),
        ("status = 'everyone'", "unknown variant `everyone`"),
        ("status = 1", "expected true, false, or \"local\""),
        ("unix-mode = 660", "expected a string of octal digits"),
        ("unix-mode = '888'", "permissions are octal digits, from 000 to 777"),
        ("unix-mode = '1777'", "permissions are octal digits"),
        ("unix-mode = ''", "permissions are octal digits"),
        ("proxy-protocol = '10.0.0.1/8'", "1:18: proxy-protocol: 10.0.0.1/8 is no network"),
        ("proxy-protocol = 'unix'", "1:18: proxy-protocol: "),
        ("lag-max = 'soon'", "1:11: lag-max: a time is a number of seconds above 0"),
        ("lag-max = 0", "1:11: lag-max: a time is a number of seconds above 0"),
        ("drain-notice = -1", "1:16: drain-notice: a time is a number of seconds above 0"),
        ("handler-timeout = true", "expected a number of seconds, or a string such as"),
        (
            "trust-forwarded = '10.0.0.0/8'\ntrust-x-forwarded = 'unix'",
            "2:1: trust-forwarded and trust-x-forwarded exclude",
        ),
    ] {
        let failure = parse(text, Path::new("serve.toml")).unwrap_err();
        let CommandFailure::Usage(message) = failure else { panic!("{text}") };
        assert!(message.starts_with("serve.toml:"), "{message}");
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn several_certificates_are_a_list_of_pairs() {
    let settings = written("tls = [['a.pem', 'a.key'], ['/b.pem', 'b.key']]");
    let base = "/etc/site";
    let expected = ["a.pem", "a.key", "/b.pem", "b.key"].map(|name| Path::new(base).join(name));
    assert_eq!(settings.tls, expected);
    assert!(!written("tls = []").wants_tls());
}

#[test]
fn the_command_line_comes_before_the_file() {
    let (listen, tls_self_signed) = (vec!["2".to_owned()], Some(true));
    let typed = Settings { listen, tls_self_signed, ..written("") };
    let file = written("listen = ['1']\ntls = ['a', 'b']\nspa = true");
    let settings = typed.over(file);
    assert_eq!(settings.listen, ["2"]);
    assert!(settings.tls.is_empty() && settings.tls_self_signed == Some(true));
    assert_eq!((settings.spa, settings.directory()), (Some(true), PathBuf::from(".")));
}

#[test]
fn proxies_of_the_command_line_take_the_place_of_those_in_the_file() {
    let typed = Settings { trust_x_forwarded: vec!["unix".parse().unwrap()], ..written("") };
    let settings = typed.over(written("trust-forwarded = '10.0.0.0/8'"));
    assert!(settings.trust_forwarded.is_empty() && settings.trust_x_forwarded.len() == 1);
}

#[test]
fn the_command_line_undoes_what_the_file_switches_on() {
    let no = Some(false);
    let typed = Settings {
        tls_self_signed: no,
        spa: no,
        listing: no,
        cors: no,
        compress: no,
        quiet: no,
        status: Some(StatusFor::None),
        access_log: Some(LogFormat::None),
        ..written("")
    };
    let settings = typed.over(written(
        "tls-self-signed = true\nspa = true\nlisting = true\ncors = true\ncompress = true\n\
         quiet = true\nstatus = 'all'\naccess-log = 'json'\naccess-log-file = 'log'\n",
    ));
    let Settings { spa, listing, cors, compress, .. } = settings;
    assert_eq!([spa, listing, cors, compress], [no; 4]);
    assert!(!settings.wants_tls() && !settings.is_quiet());
    assert_eq!((settings.status_for(), settings.log_format()), (None, None));
}

#[test]
fn the_status_is_switched_on_and_off_as_on_the_command_line() {
    assert_eq!(written("status = true").status_for(), Some(StatusFor::Local));
    assert_eq!(written("status = 'all'").status_for(), Some(StatusFor::All));
    for off in ["status = false", "status = 'none'", ""] {
        assert_eq!(written(off).status_for(), None, "{off}");
    }
}

#[test]
fn a_notice_before_the_end_is_told_unless_that_is_switched_off() {
    let tells = |text: &str| written(text).tells_ready();
    assert!(tells("drain-notice = 5") && tells("ready = true"));
    assert!(!tells("") && !tells("drain-notice = 0"));
    assert!(!tells("drain-notice = '5s'\nready = false"));
}

#[test]
fn a_log_with_a_file_alone_is_in_the_common_format() {
    assert_eq!(written("access-log-file = 'log'").log_format(), Some(LogFormat::Common));
    let json = written("access-log-file = 'log'\naccess-log = 'json'");
    assert_eq!(json.log_format(), Some(LogFormat::Json));
    assert_eq!(written("").log_format(), None);
}

#[test]
fn a_socket_in_the_file_is_beside_the_file() {
    let settings = written("listen = ['unix:run.sock', 'http://unix:/run/a', '80']");
    assert_eq!(settings.listen, ["unix:/etc/site/run.sock", "http://unix:/run/a", "80"]);
}
