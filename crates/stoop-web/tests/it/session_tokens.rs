//! Tokens of sessions, by which a form proves that it is one of the service's.

use stoop::{Client, Request, StatusCode};
use stoop_web::{Form, MemoryStore, Router, Session, SessionError, Sessions, get, post};

use crate::kit::{client, field};

fn service() -> Client {
    let show = |session: Session| session.token();
    let order = async |session: Session, Form(form): Form<Vec<(String, String)>>| match form
        .iter()
        .any(|(name, value)| name == "token" && session.is_token(value))
    {
        true => StatusCode::NO_CONTENT,
        false => StatusCode::FORBIDDEN,
    };
    let log_in = |session: Session| -> Result<String, SessionError> {
        session.renew();
        session.insert("user", "ada")?;
        session.token()
    };
    let router = Router::new()
        .route("/order", get(show).post(order))
        .route("/in", post(log_in))
        .route("/again", post(async |session: Session| session.renew()))
        .route("/out", post(async |session: Session| session.end()));
    client(router.layer(Sessions::new(MemoryStore::new(10))))
}

/// The status, the cookie that is set, or else that which was sent, and the content.
async fn ask(client: &Client, method: &str, target: &str, cookie: &str, form: &str) -> Answer {
    let method = stoop::Method::from_bytes(method.as_bytes()).unwrap();
    let request = Request::new(method, &format!("http://a.test{target}")).unwrap();
    let request = request.with_field("cookie", cookie).unwrap();
    let request = request.with_field("content-type", "application/x-www-form-urlencoded").unwrap();
    let response = client.send(request.with_body(form.to_owned())).await.unwrap();
    let set = field(&response, "set-cookie").split(';').next().unwrap().to_owned();
    let cookie = if set.is_empty() { cookie.to_owned() } else { set };
    let status = response.status().as_u16();
    Answer { status, cookie, content: response.text().await.unwrap() }
}

struct Answer {
    status: u16,
    cookie: String,
    content: String,
}

#[tokio::test]
async fn a_form_with_the_token_of_its_session_is_taken_and_no_other() {
    let client = service();
    let order = async |cookie: &str, form: &str| ask(&client, "POST", "/order", cookie, form).await;
    let shown = ask(&client, "GET", "/order", "", "").await;
    let (cookie, token) = (&*shown.cookie, &*shown.content);
    assert!(token.len() == 40 && cookie.starts_with("session="), "{cookie} {token}");
    assert_eq!(ask(&client, "GET", "/order", cookie, "").await.content, token);
    let other = ask(&client, "GET", "/order", "", "").await;
    assert_ne!(other.content, token);
    for (cookie, form, status) in [
        (cookie, format!("token={token}"), 204),
        (cookie, format!("token={}", other.content), 403),
        (cookie, format!("token={}", &token[..39]), 403),
        (cookie, format!("token={token}0"), 403),
        (cookie, "token=".to_owned(), 403),
        (cookie, String::new(), 403),
        ("", format!("token={token}"), 403),
        ("", "token=".to_owned(), 403),
    ] {
        assert_eq!(order(cookie, &form).await.status, status, "{cookie} {form}");
    }
}

/// A page that knew the visitor's token before the login does not know it after.
#[tokio::test]
async fn a_session_that_is_renewed_or_ended_has_another_token() {
    let client = service();
    let first = ask(&client, "GET", "/order", "", "").await;
    let user = ask(&client, "POST", "/in", &first.cookie, "").await;
    assert!(user.content != first.content && user.cookie != first.cookie);
    let old = format!("token={}", first.content);
    assert_eq!(ask(&client, "POST", "/order", &user.cookie, &old).await.status, 403);
    let new = format!("token={}", user.content);
    assert_eq!(ask(&client, "POST", "/order", &user.cookie, &new).await.status, 204);
    let again = ask(&client, "POST", "/again", &user.cookie, "").await;
    assert_eq!(ask(&client, "POST", "/order", &again.cookie, &new).await.status, 403);
    ask(&client, "POST", "/out", &again.cookie, "").await;
    let next = ask(&client, "GET", "/order", &again.cookie, "").await;
    assert!(next.content != user.content && next.cookie != again.cookie);
}
