//! Forms with files, from this project's client and byte by byte.

use stoop::body::{Form, Part};
use stoop::{Body, Client, Response};
use stoop_web::{Multipart, MultipartError, Router, post};

use crate::kit::{client, field, text};

fn service() -> Client {
    async fn list(mut form: Multipart) -> Result<String, MultipartError> {
        let mut told = String::new();
        while let Some(part) = form.next().await? {
            let of = format!("{} {:?} {:?}", part.name(), part.file_name(), part.content_type());
            told += &format!("{of}: {}\n", part.bytes(100).await?.len());
        }
        Ok(told)
    }
    async fn names(mut form: Multipart) -> Result<String, MultipartError> {
        let mut names = Vec::new();
        while let Some(part) = form.next().await? {
            names.push(part.name().to_owned());
        }
        Ok(names.join(","))
    }
    let limited = post(names).body_bytes_max(300);
    client(
        Router::new()
            .route("/", post(list))
            .route("/names", post(names))
            .route("/limited", limited),
    )
}

async fn send(target: &str, body: impl Into<Body>) -> Response {
    let request = stoop::Request::post(&format!("http://a.test{target}"), body.into()).unwrap();
    let request = request.with_field("content-type", "multipart/form-data; boundary=b").unwrap();
    service().send(request).await.unwrap()
}

fn part(name: &str, content: &str) -> String {
    format!("--b\r\nContent-Disposition: form-data; name={name}\r\n\r\n{content}\r\n")
}

#[tokio::test]
async fn a_form_of_the_client_is_read_part_by_part() {
    let file = Part::new("x".repeat(99)).file_name("a \"b\".txt").mime_type("text/plain").unwrap();
    let form = Form::new().text("title", "a falcon").part("file", file);
    let response = service().post("http://a.test/").multipart(form).await.unwrap();
    let told = "title None None: 8\nfile Some(\"a \\\"b\\\".txt\") Some(\"text/plain\"): 99\n";
    assert_eq!(text(response).await, (200, told.to_owned()));
}

#[tokio::test]
async fn parts_that_are_not_read_are_read_past() {
    let form = part("a", &"x".repeat(100_000)) + &part("b", "") + "--b--\r\n";
    assert_eq!(text(send("/names", form).await).await, (200, "a,b".to_owned()));
}

#[tokio::test]
async fn what_is_malformed_incomplete_or_too_large_says_so() {
    let large = part("a", &"x".repeat(101)) + "--b--";
    let many = part("a", "").repeat(1001) + "--b--";
    for (target, form, status, told) in [
        ("/", part("a", "x"), 400, "body: it ends before its last boundary"),
        ("/", "--b\r\nx".to_owned(), 400, "body: it ends before its last boundary"),
        ("/", String::new(), 400, "body: it ends before its last boundary"),
        ("/", "--b\r\nx\r\n\r\n".to_owned(), 400, "body: a field of a part has no colon"),
        ("/", large, 413, "body `a`: it has more than 100 bytes"),
        ("/names", many, 413, "body: it has more than 1000 parts"),
    ] {
        let (answered, content) = text(send(target, form).await).await;
        assert_eq!((answered, content.lines().nth(1).unwrap()), (status, told));
    }
    // The length is not announced.
    let (sender, body) = Body::channel(1);
    let sent = tokio::spawn(async move {
        sender.send(part("a", &"x".repeat(400))).await?;
        sender.finish().await
    });
    assert_eq!(send("/limited", body).await.status(), 413);
    let _ = sent.await.unwrap();
    assert_eq!(service().post("http://a.test/").body("a=b").await.unwrap().status(), 415);
    let coded = stoop::Request::post("http://a.test/", part("a", "x") + "--b--\r\n").unwrap();
    let coded = coded.with_field("content-type", "multipart/form-data; boundary=b").unwrap();
    let coded = coded.with_field("content-encoding", "gzip").unwrap();
    let response = service().send(coded).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), field(&response, "accept-encoding")),
        (415, "identity")
    );
}
