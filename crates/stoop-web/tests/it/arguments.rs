//! What the arguments of handlers are made of, and what is answered where they cannot be made.

use serde::{Deserialize, Serialize};
use stoop::{Client, Request, Response};
use stoop_web::{Form, Json, Path, Query, Rejection, Router, get, post};

use crate::kit::{ask, client, field, text};

#[derive(Deserialize, Serialize)]
struct Paging {
    page: u32,
    size: u8,
}

#[derive(Deserialize)]
struct Item {
    name: String,
    count: u8,
}

fn shop() -> Client {
    async fn add(
        Path(id): Path<u64>,
        Query(paging): Query<Paging>,
        Json(item): Json<Item>,
    ) -> String {
        format!("{id} {} {} {} {}", paging.page, paging.size, item.name, item.count)
    }
    client(
        Router::new()
            .route("/shops/{id}/items", post(add))
            .route("/form", get(form).post(form))
            .route("/text", post(|text: String| text))
            .route("/file/{*rest}", get(async |Path(rest): Path<String>| rest))
            .route(
                "/own",
                post(|item: Result<Json<Item>, Rejection>| match item {
                    Ok(Json(item)) => item.name,
                    Err(rejection) => format!("mine: {}", rejection.problems()[0]),
                }),
            ),
    )
}

async fn form(Form(paging): Form<Paging>) -> Json<Paging> {
    Json(paging)
}

async fn send(url: &str, content_type: &str, accept: &str, content: &'static str) -> Response {
    let request = Request::post(url, content).unwrap();
    let request = request.with_field("content-type", content_type).unwrap();
    shop().send(request.with_field("accept", accept).unwrap()).await.unwrap()
}

#[tokio::test]
async fn arguments_are_made_of_path_query_and_content() {
    let url = "http://a.test/shops/7/items?page=2&size=3";
    let response = send(url, "application/json", "*/*", r#"{"name":"pen","count":4}"#).await;
    assert_eq!(text(response).await, (200, "7 2 3 pen 4".to_owned()));
}

/// RFC 9110 §15.5.16: what would be read instead is said. Nothing decodes it here.
#[tokio::test]
async fn content_in_a_coding_is_not_taken_for_what_it_is_a_coding_of() {
    let client = shop();
    let item = r#"{"name":"pen","count":4}"#;
    for (target, content_type, content) in [
        ("/own", "application/json", item),
        ("/shops/7/items?page=2&size=3", "application/json", item),
        ("/form", "application/x-www-form-urlencoded", "page=1&size=2"),
        ("/text", "text/plain", "hello"),
    ] {
        for (coding, is_coded) in [("gzip", true), ("identity, br", true), ("Identity", false)] {
            let request = Request::post(&format!("http://a.test{target}"), content).unwrap();
            let request = request.with_field("content-type", content_type).unwrap();
            let request = request.with_field("content-encoding", coding).unwrap();
            let response = client.send(request).await.unwrap();
            let accepted = field(&response, "accept-encoding").to_owned();
            let (status, told) = text(response).await;
            let why = format!("it is in the content coding \"{coding}\", and none is read here");
            assert_eq!(told.contains(&why), is_coded, "{target} {coding}: {told}");
            // That handler answers by itself.
            if target != "/own" {
                let expected = if is_coded { (415, "identity") } else { (200, "") };
                assert_eq!((status, &*accepted), expected, "{target} {coding}");
            }
        }
    }
}

#[tokio::test]
async fn one_answer_tells_all_that_is_wrong_with_all_arguments() {
    let url = "http://a.test/shops/x/items?size=999";
    let content = "{\"name\": \"pen\",\n \"count\": -1}";
    let response = send(url, "application/json", "*/*", content).await;
    assert_eq!(field(&response, "content-type"), "text/plain; charset=utf-8");
    assert_eq!(
        text(response).await,
        (
            400,
            "400 Bad Request\n\
             path `id`: \"x\" is not a whole number of 0 to 18446744073709551615\n\
             query `size`: \"999\" is not a whole number of 0 to 255\n\
             query `page`: it is missing\n\
             body `count`: invalid value: integer `-1`, expected u8 at line 2 column 12\n"
                .to_owned()
        )
    );
    let response = send(url, "text/plain", "application/json", content).await;
    assert_eq!(field(&response, "content-type"), "application/problem+json");
    let (status, json) = text(response).await;
    assert_eq!(status, 415);
    for part in [
        r#""status":415"#,
        r#"{"in":"path","name":"id","#,
        r#"{"in":"query","name":"page","detail":"it is missing"}"#,
        r#"{"in":"body","detail":"it is \"text/plain\", and application/json is expected"}"#,
    ] {
        assert!(json.contains(part), "{part} in {json}");
    }
}

#[tokio::test]
async fn content_that_is_too_large_is_not_read() {
    let client = shop();
    for (length, status) in [(2 << 20, 200), ((2 << 20) + 1, 413)] {
        let response = client.post("http://a.test/text").body("x".repeat(length)).await.unwrap();
        assert_eq!(response.status(), status);
    }
}

#[tokio::test]
async fn a_form_is_content_or_the_query_of_a_get() {
    let url = "http://a.test/form";
    let form = "application/x-www-form-urlencoded";
    let made = (200, r#"{"page":1,"size":2}"#.to_owned());
    assert_eq!(text(send(url, form, "", "page=1&size=2").await).await, made);
    assert_eq!(ask(&shop(), "GET", "/form?page=1&size=2").await, made);
    assert_eq!(send(url, "text/plain", "", "page=1&size=2").await.status(), 415);
    let told = text(send(url, form, "", "page=1").await).await.1;
    assert_eq!(told, "400 Bad Request\nbody `size`: it is missing\n");
}

#[tokio::test]
async fn parameters_are_decoded_after_they_were_found() {
    let client = shop();
    for (path, rest) in [("/file/a%2Fb/c", "a/b/c"), ("/file/%C3%A4+", "ä+"), ("/file/%zz", "%zz")]
    {
        assert_eq!(ask(&client, "GET", path).await, (200, rest.to_owned()), "{path}");
    }
    let (status, told) = ask(&client, "GET", "/file/%ff").await;
    assert_eq!(
        (status, &*told),
        (400, "400 Bad Request\npath `rest`: \"%ff\" is not UTF-8, percent-encoded\n")
    );
}

#[tokio::test]
async fn a_handler_may_look_at_a_rejection_itself() {
    let url = "http://a.test/own";
    let response = send(url, "application/json", "", r#"{"name":"pen","count":4}"#).await;
    assert_eq!(text(response).await, (200, "pen".to_owned()));
    let response = send(url, "application/json", "", "{}").await;
    assert_eq!(text(response).await.1, "mine: body: missing field `name` at line 1 column 2");
    let response = send(url, "", "", "\u{ff}").await;
    assert_eq!(
        text(response).await.1,
        "mine: body: it has no Content-Type, and application/json is expected"
    );
}

#[tokio::test]
async fn text_that_is_no_utf_8_is_refused() {
    let response = shop().post("http://a.test/text").body(&b"ab\xff"[..]).await.unwrap();
    assert_eq!(
        text(response).await,
        (400, "400 Bad Request\nbody: it is not UTF-8 from byte 2 on\n".to_owned())
    );
}
