//! Cookies between exchanges, and across redirects.

use stoop::{Client, CookieJar, Request, Response, StatusCode};

/// Answers with the Cookie of the request. `/set?COOKIE` sets one, `/go?URL` sets `hop=1` and redirects.
fn answer(request: Request) -> Response {
    let query = request.query().unwrap_or_default().to_owned();
    let cookie = request.field("cookie").map(|c| String::from_utf8_lossy(c).into_owned());
    let response = Response::from_text(cookie.unwrap_or_else(|| "none".to_owned()));
    match request.path() {
        "/set" => response.with_field("set-cookie", query).unwrap(),
        "/go" => response
            .with_status(StatusCode::FOUND)
            .with_field("set-cookie", "hop=1; Path=/")
            .unwrap()
            .with_field("location", query)
            .unwrap(),
        _ => response,
    }
}

fn client(jar: &CookieJar) -> Client {
    Client::builder().cookies(jar.clone()).handler(answer).build().unwrap()
}

async fn get(client: &Client, url: &str) -> String {
    client.get(url).await.unwrap().text().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_a_response_sets_goes_with_the_next_request() {
    let jar = CookieJar::new();
    let client = client(&jar);
    assert_eq!(get(&client, "http://a.test/set?s=1").await, "none");
    assert_eq!(get(&client, "http://a.test/").await, "s=1");
    assert_eq!(get(&client, "http://b.test/").await, "none");
    assert_eq!(jar.get("http://a.test/").unwrap().as_deref(), Some("s=1"));
    // A Cookie of the caller's is not added to.
    let own = client.get("http://a.test/").header("cookie", "own=1").await.unwrap();
    assert_eq!(own.text().await.unwrap(), "own=1");
    assert_eq!(get(&client, "http://a.test/set?s=;%20Max-Age=0").await, "s=1");
}

#[tokio::test(start_paused = true)]
async fn a_redirect_sets_cookies_and_gets_those_of_where_it_leads() {
    let jar = CookieJar::new();
    jar.add("b=2", "http://b.test/").unwrap();
    let client = client(&jar);
    // On the same origin the cookie of the redirect goes along, on another that one's.
    assert_eq!(get(&client, "http://a.test/go?/").await, "hop=1");
    assert_eq!(get(&client, "http://a.test/go?http://b.test/").await, "b=2");
    assert_eq!(get(&client, "http://a.test/go?http://c.test/").await, "none");
    // What the caller has set stays behind, and the jar's goes there.
    let request = client.get("http://a.test/go?http://b.test/").header("cookie", "own=1");
    assert_eq!(request.await.unwrap().text().await.unwrap(), "b=2");
}

#[test]
fn cookies_with_longer_paths_come_first() {
    let jar = CookieJar::new();
    for cookie in ["b=2; Path=/", "id=root; Path=/", "id=app; Path=/app", "a=1; Path=/"] {
        jar.add(cookie, "http://a.test/app/x").expect("a cookie");
    }
    let field = jar.get("http://a.test/app/y").expect("a URL");
    assert_eq!(field.as_deref(), Some("id=app; a=1; b=2; id=root"));
}
