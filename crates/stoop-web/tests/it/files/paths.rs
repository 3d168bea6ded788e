//! Which paths lead to a file, and that none leads out of the directory.

use std::fs;
use std::os::unix::fs::symlink;

use stoop::files::Symlinks;

use super::tree::{Tree, client, get, send};

/// What is outside, whose content no path may give.
const SECRET: &[u8] = b"secret";

fn tree() -> Tree {
    Tree::new(&[
        ("secret.txt", SECRET),
        ("public/a b.txt", b"spaced"),
        ("public/\u{e4}.txt", b"umlaut"),
        ("public/100%.txt", b"percent"),
        ("public/dir/inner.txt", b"inner"),
        ("public/.env", b"hidden"),
        ("public/.git/config", b"hidden"),
        ("public/.well-known/security.txt", b"contact"),
    ])
}

fn public(tree: &Tree) -> stoop_web::Files {
    stoop_web::Files::new(tree.path("public")).unwrap()
}

#[tokio::test]
async fn a_path_is_decoded_once() {
    let tree = tree();
    let client = client(public(&tree));
    for (target, content) in [
        ("/a%20b.txt", "spaced"),
        ("/%C3%A4.txt", "umlaut"),
        ("/%c3%a4%2Etxt", "umlaut"),
        ("/100%25.txt", "percent"),
        ("/dir/inner.txt", "inner"),
        ("/dir/%69nner.txt?a=/../b", "inner"),
    ] {
        // The second time it is remembered.
        for _ in 0..2 {
            assert_eq!(get(&client, target, &[]).await, (200, content.to_owned()), "{target}");
        }
    }
    assert_eq!(get(&client, "/a%2520b.txt", &[]).await.0, 404);
}

#[tokio::test]
async fn no_path_leads_out_of_the_directory() {
    let tree = tree();
    symlink("../secret.txt", tree.path("public/link.txt")).unwrap();
    symlink("/etc/passwd", tree.path("public/absolute.txt")).unwrap();
    symlink("..", tree.path("public/up")).unwrap();
    symlink("loop", tree.path("public/loop")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(tree.path("public/fifo")).status();
    assert!(made.unwrap().success());
    for files in [public(&tree), public(&tree).without_cache(), public(&tree).listing(10)] {
        let client = client(files);
        for target in [
            // As they are, and encoded once, twice and in part.
            "/%2e%2e/secret.txt",
            "/..%2fsecret.txt",
            "/%2e%2e%2fsecret.txt",
            "/%252e%252e/secret.txt",
            "/.%2e/secret.txt",
            "/dir/%2E%2E/%2E%2E/secret.txt",
            "/dir/..%2f..%2fsecret.txt",
            "/..%5csecret.txt",
            "/..%c0%afsecret.txt",
            "/%c0%ae%c0%ae/secret.txt",
            "/..%ef%bc%8fsecret.txt",
            "/....//secret.txt",
            "/..;/secret.txt",
            "/%00",
            "/dir/inner.txt%00.html",
            "/dir%00/../secret.txt",
            "//secret.txt",
            "//dir/inner.txt",
            "/dir//inner.txt",
            "/dir/./inner.txt%2f",
            "/dir%2finner.txt",
            "/dir/inner.txt/",
            "/%",
            "/%2",
            "/%zz",
            "/%u002e%u002e/secret.txt",
            "/file:///etc/passwd",
            "/%2fetc%2fpasswd",
            "//etc/passwd",
            "/proc/self/environ",
            "/link.txt",
            "/absolute.txt",
            "/up/secret.txt",
            "/loop",
            "/fifo",
            "/.env",
            "/.git/config",
            "/%2egit/config",
            "/.git/",
            "/dir/.well-known/x",
        ] {
            for _ in 0..2 {
                let (status, content) = get(&client, target, &[]).await;
                assert_eq!(status, 404, "{target}");
                assert!(!content.contains("secret") && !content.contains("hidden"), "{target}");
            }
        }
        let long = format!("/{}", "a".repeat(5_000));
        assert_eq!(get(&client, &long, &[]).await.0, 404, "longer than a name can be");
    }
}

/// What clients of URLs take out of a path themselves comes as bytes here.
#[test]
fn dots_and_slashes_on_the_wire_lead_nowhere() {
    let tree = tree();
    let server = super::wire::Server::start(public(&tree));
    for target in [
        "/../secret.txt",
        "/dir/../../secret.txt",
        "/dir/../dir/inner.txt",
        "/./dir/inner.txt",
        "/..",
        "/dir/..",
        "/../../../../../../etc/passwd",
        "//../secret.txt",
        "/..\\secret.txt",
        "http://a.test/../secret.txt",
    ] {
        let answer = server.ask(&format!("GET {target} HTTP/1.1\r\nhost: a.test\r\n\r\n"));
        let status = answer.get(9..12).unwrap_or_default();
        assert!(matches!(status, "404" | "400"), "{target}: {answer}");
        assert!(!answer.ends_with("secret"), "{target}");
    }
}

#[tokio::test]
async fn hidden_files_and_links_are_served_as_the_options_say() {
    let tree = tree();
    symlink("dir/inner.txt", tree.path("public/link.txt")).unwrap();
    let default = client(public(&tree));
    assert_eq!(get(&default, "/link.txt", &[]).await, (200, "inner".to_owned()));
    assert_eq!(get(&default, "/.well-known/security.txt", &[]).await, (200, "contact".to_owned()));
    let hidden = client(public(&tree).hidden_files());
    assert_eq!(get(&hidden, "/.git/config", &[]).await, (200, "hidden".to_owned()));
    let strict = client(public(&tree).symlinks(Symlinks::Refuse));
    assert_eq!(get(&strict, "/link.txt", &[]).await.0, 404);
    assert_eq!(get(&strict, "/dir/inner.txt", &[]).await.0, 200);
}

/// What is not served by its own name is not served by another one.
#[tokio::test]
async fn a_link_leads_to_no_hidden_file() {
    let tree = tree();
    for (target, name) in [
        (".git/config", "pub"),
        (".git", "folder"),
        ("../.env", "dir/env"),
        (".git/config", "page.html.gz"),
        ("folder", "twice"),
        (".well-known/security.txt", "security.txt"),
        ("../dir/inner.txt", ".well-known/inner.txt"),
        ("..2024", "..data"),
        ("..data/mounted.txt", "mounted.txt"),
    ] {
        symlink(target, tree.path("public").join(name)).unwrap();
    }
    tree.write("public/..2024/mounted.txt", b"mounted");
    tree.write("public/page.html", b"page");
    let hidden = ["/pub", "/folder/config", "/dir/env", "/twice/config"];
    let shown = [
        ("/security.txt", "contact"),
        ("/.well-known/inner.txt", "inner"),
        ("/mounted.txt", "mounted"),
    ];
    let coded = || public(&tree).precompressed([stoop_web::FileCoding::Gzip]);
    let within = || public(&tree).symlinks(Symlinks::Within);
    for files in [coded(), coded().without_cache(), within().listing(100)] {
        let client = client(files);
        // The second time it is remembered.
        for target in hidden.iter().chain(&hidden) {
            assert_eq!(get(&client, target, &[]).await.0, 404, "{target}");
        }
        for (target, content) in shown {
            assert_eq!(get(&client, target, &[]).await, (200, content.to_owned()), "{target}");
        }
        let page = get(&client, "/page.html", &[("accept-encoding", "gzip")]).await;
        assert_eq!(page, (200, "page".to_owned()));
        let (_, list) = get(&client, "/", &[("accept", "text/html")]).await;
        assert!(!list.contains("./pub\"") && !list.contains("./folder"), "{list}");
    }
    for files in [within().hidden_files(), public(&tree).hidden_files()] {
        let client = client(files);
        for target in hidden {
            assert_eq!(get(&client, target, &[]).await, (200, "hidden".to_owned()), "{target}");
        }
    }
    let strict = client(public(&tree).hidden_files().symlinks(Symlinks::WithinVisible));
    assert_eq!(get(&strict, "/.git/config", &[]).await.0, 200);
    assert_eq!(get(&strict, "/pub", &[]).await.0, 404);
}

/// RFC 3986 §4.2: a reference that begins with two slashes names a host.
#[tokio::test]
async fn a_redirect_names_no_host() {
    let tree = tree();
    fs::create_dir(tree.path("public/evil.test")).unwrap();
    fs::create_dir(tree.path("public/javascript:x")).unwrap();
    let client = client(public(&tree));
    for (target, location) in [
        ("/evil.test", "./evil.test/"),
        ("/evil.test?a=//b", "./evil.test/?a=//b"),
        ("/javascript:x", "./javascript:x/"),
        ("/%65vil.test", "./%65vil.test/"),
    ] {
        let response = send(&client, "GET", target, &[]).await;
        assert_eq!(response.status(), 308, "{target}");
        assert_eq!(crate::kit::field(&response, "location"), location);
    }
    for target in ["//evil.test", "//evil.test/", "/dir//..", "/%5cevil.test"] {
        assert_eq!(send(&client, "GET", target, &[]).await.status(), 404, "{target}");
    }
}
