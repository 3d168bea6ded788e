//! Users in a file.

use super::{Folder, Served, command};
use crate::stoop::{run, stoop};

const ADA: &str = "authorization: Basic YWRhOm9wZW4gc2VzYW1l\r\n";

/// The line of a user with the password `open sesame`.
fn line(name: &str) -> String {
    let made = run(stoop(&format!("serve --auth-new {name}")), "open sesame\n");
    String::from_utf8(made.stdout).unwrap()
}

/// A folder to be served, and beside it one with the file of users.
fn site(users: &str) -> (Folder, Folder, String) {
    let (site, etc) = (Folder::new(&[("f", "content")]), Folder::new(&[("users", users)]));
    let options = format!("--auth-file {}", etc.path().join("users").display());
    (site, etc, options)
}

#[test]
fn users_of_a_file_are_let_in_and_read_again_on_sighup() {
    let bob = "authorization: Basic Ym9iOm9wZW4gc2VzYW1l\r\n";
    let (site, etc, options) = site(&format!("# the users\n\n{}", line("ada")));
    let mut served = Served::start(&site, &options);
    let mut messages = served.messages();
    let status = |served: &Served, fields: &str| served.get("/f", fields).0[9..12].to_owned();
    assert_eq!(
        [status(&served, ""), status(&served, ADA), status(&served, bob)],
        ["401", "200", "401"]
    );
    etc.write("users", &line("bob"));
    served.signal("HUP");
    assert_eq!(messages.next(), "read again what is served, and how");
    assert_eq!([status(&served, ADA), status(&served, bob)], ["401", "200"]);
    // What is wrong then changes nothing: the password is asked for still.
    let place = etc.path().join("users");
    for (users, why) in [
        ("", format!("--auth-file {}: there is no user in it", place.display())),
        ("bob:plain", format!("{}:1: bob: the hash is none of bcrypt", place.display())),
    ] {
        etc.write("users", users);
        served.signal("HUP");
        let said = messages.next();
        assert!(said.starts_with(&why) && said.ends_with("; everything stays as it was"), "{said}");
        assert_eq!([status(&served, ""), status(&served, bob)], ["401", "200"]);
    }
}

#[test]
fn users_of_the_option_and_of_the_file_are_let_in() {
    let (site, _etc, options) = site(&line("bob"));
    let served = Served::start(&site, &format!("{options} --auth {}", line("ada").trim()));
    assert_eq!(served.get("/f", ADA).1, "content");
    assert!(served.get("/f", "").0.starts_with("HTTP/1.1 401"));
}

#[test]
fn what_is_wrong_with_a_file_of_users_is_told() {
    let ada = line("ada");
    let (site, etc, options) = site(&format!("{ada}\nbob\n{ada}:plain\n# end\neve:$apr1$x$y\n"));
    let users = etc.path().join("users");
    let users = users.display();
    for check in ["--check", ""] {
        let result = run(command(&site, &format!("{check} {options}")), "");
        assert_eq!(result.code, Some(2), "{result:?}");
        assert!(result.stderr.contains(&format!("{users}:3: a user is written USER:HASH")));
        // A check tells all of it.
        let last = format!("{users}:7: eve: the hash is none of bcrypt");
        assert_eq!(result.stderr.contains(&last), !check.is_empty(), "{}", result.stderr);
        assert!(!result.stderr.contains("apr1$x"), "{}", result.stderr);
    }
    etc.write("users", &format!("{ada}{ada}"));
    let twice = run(command(&site, &options), "");
    assert!(twice.stderr.contains(&format!("{users}:2: ada: is given twice")), "{twice:?}");
    let missing = run(command(&site, "--auth-file /nowhere/users"), "");
    assert_eq!(missing.code, Some(3), "{missing:?}");
}

/// Hashes can be tried at leisure by those who have them.
#[test]
fn a_file_of_users_is_not_served() {
    let site = Folder::new(&[("f", "content"), ("users", &line("ada")), (".users", &line("ada"))]);
    site.write(".well-known/users", &line("ada"));
    site.write(".well-known/.users", &line("ada"));
    for (name, more, code) in [
        ("users", "", 2),
        (".users", "--hidden", 2),
        (".users", "", 0),
        (".well-known/users", "", 2),
        (".well-known/.users", "", 0),
    ] {
        let file = site.path().join(name);
        let options = format!("--check {more} --auth-file {}", file.display());
        let result = run(command(&site, &options), "");
        assert_eq!(result.code, Some(code), "{name} {more}: {result:?}");
        let why = "it is in the directory that is served";
        assert_eq!(result.stderr.contains(why), code == 2, "{}", result.stderr);
    }
    // So it is with a file of options that has users.
    let auth = format!("auth = '{}'", line("ada").trim());
    for (folder, text, code) in [("public", &*auth, 0), (".", &*auth, 2), (".", "", 0)] {
        site.write("public/f", "");
        site.write("serve.toml", &format!("directory = '{folder}'\n{text}\n"));
        let mut check = stoop("serve --check --config");
        check.arg(site.path().join("serve.toml"));
        let result = run(check, "");
        assert_eq!(result.code, Some(code), "{folder} {text}: {result:?}");
        let why = "serve.toml: it is in the directory that is served";
        assert_eq!(result.stderr.contains(why), code == 2, "{}", result.stderr);
    }
}
