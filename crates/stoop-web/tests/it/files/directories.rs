//! Directories: their index, the slash, pages for what is not there, and listings.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use super::tree::{Tree, client, clients, get, send};
use crate::kit::{field, text};

const HTML: [(&str, &str); 1] = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];

#[tokio::test]
async fn a_directory_has_an_index_and_a_slash() {
    let tree = Tree::new(&[
        ("index.html", b"root"),
        ("dir/index.htm", b"htm"),
        ("dir/index.html", b"html"),
        ("odd/index.html/x", b"a directory"),
    ]);
    for client in clients(&tree.files()) {
        for _ in 0..2 {
            assert_eq!(get(&client, "/", &[]).await, (200, "root".to_owned()));
            assert_eq!(get(&client, "/dir/", &[]).await, (200, "html".to_owned()));
            assert_eq!(get(&client, "/odd/", &[]).await.0, 404, "its index is no file");
            assert_eq!(get(&client, "/dir/index.html/", &[]).await.0, 404, "a file has no slash");
            let response = send(&client, "GET", "/dir?a=b&c=d", &[]).await;
            assert_eq!(field(&response, "location"), "./dir/?a=b&c=d");
            assert_eq!(text(response).await, (308, String::new()));
        }
    }
    let other = client(tree.files().index(["index.htm", "index.html"]));
    assert_eq!(get(&other, "/dir/", &[]).await, (200, "htm".to_owned()));
    let none = client(tree.files().index::<String>([]));
    assert_eq!(get(&none, "/dir/", &[]).await.0, 404);
}

/// A page of an application is for what asks for a page.
#[tokio::test]
async fn a_single_page_is_sent_to_browsers_where_no_file_is() {
    let tree = Tree::new(&[
        ("index.html", b"<app>"),
        ("a.js", b"script"),
        ("404.html", b"<nothing>"),
        (".app/x", b""),
    ]);
    let files = tree.files().single_page("index.html").not_found_page("404.html");
    for client in clients(&files) {
        for _ in 0..2 {
            let response = send(&client, "GET", "/users/7", &HTML).await;
            assert!(response.fields().lists("vary", "accept"));
            assert_eq!(field(&response, "content-type"), "text/html; charset=utf-8");
            let tag = field(&response, "etag").to_owned();
            assert_eq!(text(response).await, (200, "<app>".to_owned()));
            let fields = [HTML[0], ("if-none-match", &tag)];
            assert_eq!(get(&client, "/users/7", &fields).await, (304, String::new()));
            assert_eq!(get(&client, "/a.js", &HTML).await, (200, "script".to_owned()));

            let response = send(&client, "GET", "/api/7", &[("accept", "*/*")]).await;
            assert!(response.fields().lists("vary", "accept"));
            assert_eq!(text(response).await, (404, "<nothing>".to_owned()));
            for (target, fields) in [
                ("/b.js", &HTML[..]),
                ("/api/7", &[("accept", "application/json")]),
                ("/api/7", &[("accept", "text/html;q=0")]),
                ("/api/7", &[]),
            ] {
                let answer = get(&client, target, fields).await;
                assert_eq!(answer, (404, "<nothing>".to_owned()), "{target} {fields:?}");
            }
            assert_eq!(send(&client, "POST", "/users/7", &HTML).await.status(), 405);
        }
    }
}

/// RFC 9110 §13.2.1, §14.2: it is no representation of what was asked for.
#[tokio::test]
async fn a_page_for_what_is_not_there_has_no_validators_and_no_ranges() {
    let tree = Tree::new(&[("404.html", b"<nothing>"), ("404.html.br", b"brotli")]);
    let files = tree.files().not_found_page("404.html").cache_control("max-age=60").unwrap();
    let files = files.precompressed([stoop_web::FileCoding::Brotli]);
    for client in clients(&files) {
        let fields = [("range", "bytes=0-1"), ("if-none-match", "*")];
        let response = send(&client, "GET", "/x", &fields).await;
        for name in ["etag", "last-modified", "accept-ranges", "content-range", "cache-control"] {
            assert_eq!(field(&response, name), "", "{name}");
        }
        assert_eq!(field(&response, "content-type"), "text/html; charset=utf-8");
        assert_eq!(text(response).await, (404, "<nothing>".to_owned()));
        let response = send(&client, "GET", "/x", &[("accept-encoding", "br")]).await;
        assert_eq!(field(&response, "content-encoding"), "br");
        assert_eq!(text(response).await, (404, "brotli".to_owned()));
        assert_eq!(get(&client, "/404.html", &[]).await.0, 200, "by its own name it is a file");
    }
    let gone = client(tree.files().not_found_page("gone.html"));
    assert_eq!(get(&gone, "/x", &[]).await.1, "404 Not Found: nothing is at this path\n");
}

fn listed() -> Tree {
    let tree = Tree::new(&[
        ("dir/<b>&\"'.txt", b"0123456789"),
        ("dir/a:b?c#d%.txt", b""),
        ("dir/zdir/x", b""),
        ("dir/.hidden", b""),
        ("dir/large", &[0; 1536]),
    ]);
    fs::write(tree.path("dir").join(OsStr::from_bytes(b"\xff.bin")), b"").unwrap();
    tree
}

#[tokio::test]
async fn a_listing_is_a_page_that_runs_nothing() {
    let tree = listed();
    assert_eq!(get(&client(tree.files()), "/dir/", &[]).await.0, 404, "it is off by default");
    for client in clients(&tree.files().listing(100)) {
        let response = send(&client, "GET", "/dir/", &HTML).await;
        assert_eq!(field(&response, "content-type"), "text/html; charset=utf-8");
        assert_eq!(field(&response, "vary"), "accept");
        assert!(field(&response, "content-security-policy").starts_with("default-src 'none'; "));
        let (status, page) = text(response).await;
        assert_eq!(status, 200);
        for row in [
            "<h1>/dir/</h1>",
            "<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>",
            "<tr><td><a href=\"./%3Cb%3E%26%22%27.txt\">&lt;b&gt;&amp;&quot;&#39;.txt</a></td><td>10 B</td>\
             <td><time datetime=\"1994-11-06T08:49:37Z\">1994-11-06 08:49</time></td></tr>",
            "<a href=\"./a%3Ab%3Fc%23d%25.txt\">a:b?c#d%.txt</a>",
            "<a href=\"./%FF.bin\">\u{fffd}.bin</a>",
            "<a href=\"./zdir/\">zdir/</a></td><td></td>",
            "<td>1.5 KiB</td>",
        ] {
            assert!(page.contains(row), "{row}\n{page}");
        }
        assert!(page.find("zdir/") < page.find("large"), "directories come first");
        assert!(
            !page.contains("hidden") && !page.contains("<script") && !page.contains("more entries")
        );
        // What the page refers to is there.
        for target in ["/dir/%3Cb%3E%26%22%27.txt", "/dir/a%3Ab%3Fc%23d%25.txt", "/dir/%FF.bin"] {
            assert_eq!(send(&client, "GET", target, &[]).await.status(), 200, "{target}");
        }
        let (_, root) = get(&client, "/", &HTML).await;
        assert!(root.contains("<a href=\"./dir/\">dir/</a>") && !root.contains("../"), "{root}");
    }
}

#[tokio::test]
async fn a_listing_is_json_for_those_who_would_rather_have_it() {
    let tree = Tree::new(&[("a\"\n.txt", b"0123456789"), ("b/x", b"")]);
    for client in clients(&tree.files().listing(100)) {
        let response = send(&client, "GET", "/", &[("accept", "application/json")]).await;
        assert_eq!(field(&response, "content-type"), "application/json");
        let (status, json) = text(response).await;
        assert_eq!(status, 200);
        let file = "{\"name\":\"a\\\"\\n.txt\",\"href\":\"./a%22%0A.txt\",\"type\":\"file\",\"size\":10,\
                    \"modified\":\"1994-11-06T08:49:37Z\"}";
        assert!(json.ends_with(&format!(",{file}],\"is_cut\":false}}\n")), "{json}");
        assert!(json.starts_with(
            "{\"entries\":[{\"name\":\"b\",\"href\":\"./b/\",\"type\":\"directory\",\"size\":null,\"modified\":\""
        ));
    }
}

#[tokio::test]
async fn a_listing_is_bounded_and_says_so() {
    let tree = listed();
    let client = client(tree.files().listing(2).hidden_files());
    let (_, page) = get(&client, "/dir/", &[]).await;
    assert_eq!(page.matches("<tr><td><a href=\"./").count(), 2);
    assert!(page.contains("There are more entries"));
    let (_, json) = get(&client, "/dir/", &[("accept", "application/json")]).await;
    assert!(json.ends_with("],\"is_cut\":true}\n"));
}

/// Names that are not shown take no place of those that are.
#[tokio::test]
async fn hidden_names_do_not_count_among_those_that_are_listed() {
    let tree = Tree::new(&[("dir/b.txt", b""), ("dir/a.txt", b"")]);
    for number in 0..50 {
        tree.write(&format!("dir/.hidden-{number}"), b"");
    }
    let client = client(tree.files().listing(2));
    let (_, page) = get(&client, "/dir/", &[]).await;
    assert_eq!(page.matches("<tr><td><a href=\"./").count(), 2, "{page}");
    assert!(!page.contains("There are more entries"));
}

/// Otherwise a client could have a list made, and held, for each spelling of its path.
#[tokio::test]
async fn all_spellings_of_a_path_have_the_same_list() {
    let tree = Tree::new(&[("a b%/x", b"")]);
    for client in clients(&tree.files().listing(100)) {
        let pages = ["/a%20b%25/", "/%61%20b%25/", "/%61%20%62%25/", "/a%20%62%25/"];
        let mut all = Vec::new();
        for path in pages.iter().chain(&pages) {
            all.push(get(&client, path, &HTML).await);
        }
        assert!(all[0].0 == 200 && all[0].1.contains("<h1>/a b%/</h1>"), "{:?}", all[0]);
        assert!(all.iter().all(|page| *page == all[0]), "{all:?}");
    }
}
