//! From http to https: what is redirected, what is not, and what changes when the options are read again.

use super::{Folder, Served, exchange};
use crate::stoop::{run, stoop};

const PLACES: &str = "-l http://127.0.0.1:0 -l 127.0.0.1:0 --tls-self-signed";
const CHALLENGE: &str = "/.well-known/acme-challenge/token";

fn site() -> Folder {
    Folder::new(&[("f", "content"), (&CHALLENGE[1..], "token.key"), ("secret", "open sesame")])
}

/// A user, as --auth takes it.
fn user() -> String {
    let made = run(stoop("serve --auth-new ada"), "x\n");
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

/// The status of a path over HTTP without TLS.
fn status(served: &Served, path: &str) -> String {
    served.get(path, "").0.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn what_is_redirected_is_a_choice_and_with_users_the_default() {
    let (site, auth) = (site(), format!("--auth {}", user()));
    for (options, expected) in [
        ("", "200"),
        ("--https-redirect", "308"),
        ("--https-redirect=false", "200"),
        (&*auth, "308"),
        (&*format!("{auth} --https-redirect"), "308"),
        (&*format!("{auth} --https-redirect=false"), "401"),
    ] {
        let served = Served::start(&site, &format!("{PLACES} {options}"));
        assert_eq!(status(&served, "/f"), expected, "{options}");
    }
}

#[test]
fn the_redirect_leads_to_the_same_path_over_tls() {
    let site = site();
    let mut served = Served::start(&site, &format!("{PLACES} --https-redirect"));
    let url = served.line("https://127.0.0.1:").trim().to_owned();
    let (head, _) = served.get("/f?q=1", "");
    assert!(head.contains(&format!("\r\nlocation: {url}f?q=1")), "{url}: {head}");
    let get = run(stoop(&format!("get -s -k -L http://{}/f", served.authority)), "");
    assert_eq!(get.stdout, b"content", "{}", get.stderr);
}

/// RFC 8555 §8.3: the CA comes over HTTP, on port 80, and has no password.
#[test]
fn a_ca_finds_its_challenge_without_tls_and_without_a_password() {
    let (site, auth) = (site(), format!("--auth {}", user()));
    for more in ["--https-redirect", &*auth] {
        let served = Served::start(&site, &format!("{PLACES} {more}"));
        let (head, content) = served.get(CHALLENGE, "");
        assert!(head.starts_with("HTTP/1.1 200") && content == "token.key", "{more}: {head}");
        for path in ["none", "", "../../secret", "%2e%2e/%2e%2e/secret", "..%2f..%2fsecret"] {
            let path = format!("/.well-known/acme-challenge/{path}");
            let (head, content) = served.get(&path, "");
            assert!(head.starts_with("HTTP/1.1 404"), "{path}: {head}");
            assert!(!content.contains("sesame"), "{path}");
        }
        for path in ["/.well-known/acme-challenge", "/.well-known/other", "/secret"] {
            assert_eq!(status(&served, path), "308", "{path}");
        }
        let post = format!("POST {CHALLENGE} HTTP/1.1\r\nhost: a\r\n");
        assert!(exchange(&served.authority, &post).0.starts_with("HTTP/1.1 405"));
    }
    // Where nothing is redirected, the path is as any other.
    let served = Served::start(&site, &auth);
    assert_eq!(status(&served, CHALLENGE), "401");
}

/// Pages in place of what is not there are behind the password as all else is, and so are names.
#[test]
fn where_a_ca_looks_there_is_nothing_but_challenges() {
    let site = site();
    site.write("index.html", "<p>open sesame");
    let options = "--spa --not-found secret --listing";
    let served = Served::start(&site, &format!("{PLACES} {options} --auth {}", user()));
    assert_eq!(served.get(CHALLENGE, "").1, "token.key");
    for path in ["/.well-known/acme-challenge/none", "/.well-known/acme-challenge/"] {
        let (head, content) = served.get(path, "accept: text/html\r\n");
        assert!(head.starts_with("HTTP/1.1 404"), "{path}: {head}");
        assert!(!content.contains("sesame") && !content.contains("token"), "{path}: {content}");
    }
}

#[test]
fn sighup_reads_again_whether_it_redirects() {
    let (site, user) = (Folder::new(&[("public/f", "content")]), user());
    let write = |more: &str| {
        let places = "listen = ['http://127.0.0.1:0', '127.0.0.1:0']\ntls-self-signed = true";
        site.write("serve.toml", &format!("directory = 'public'\n{places}\n{more}"));
    };
    let auth = format!("auth = '{user}'\n");
    write(&auth);
    let mut command = stoop("serve");
    command.arg("--config").arg(site.path().join("serve.toml"));
    let mut served = Served::run(command);
    let mut messages = served.messages();
    assert_eq!(status(&served, "/f"), "308");
    for (more, expected) in [
        ("", "200"),
        ("https-redirect = true\n", "308"),
        (&*format!("{auth}https-redirect = false\n"), "401"),
        (&*auth, "308"),
        ("https-redirect = false\n", "200"),
    ] {
        write(more);
        served.signal("HUP");
        assert_eq!(messages.next(), "read again what is served, and how", "{more}");
        assert_eq!(status(&served, "/f"), expected, "{more}");
    }
}

#[test]
fn a_redirect_needs_a_certificate() {
    for check in ["", "--check"] {
        let result = run(super::command(&site(), &format!("{check} --https-redirect")), "");
        assert_eq!(result.code, Some(2), "{check}: {result:?}");
        let expected = "--https-redirect needs a certificate: --tls CERT KEY, or --tls-self-signed";
        assert!(result.stderr.contains(expected), "{}", result.stderr);
    }
}
