//! Sessions over cookies.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stoop::{Client, Request, Response};
use stoop_web::{
    MemoryStore, Path, Query, Router, Session, SessionError, SessionId, SessionRecord,
    SessionStore, Sessions, StoreFuture, get, post,
};

use crate::kit::{client, field};

fn service(sessions: Sessions) -> Client {
    async fn log_in(session: Session) -> Result<(), SessionError> {
        session.renew();
        session.insert("user", "ada")
    }
    let router = Router::new()
        .route("/in", post(log_in))
        .route("/visit", post(|session: Session| session.insert("user", "guest")))
        .route("/out", post(async |session: Session| session.end()))
        .route("/large", post(|session: Session| session.insert("large", "x".repeat(100))))
        .route(
            "/",
            get(|session: Session| {
                session.get::<String>("user").map(|user| user.unwrap_or_default())
            }),
        );
    client(router.layer(sessions))
}

async fn send(client: &Client, method: &str, target: &str, cookie: &str) -> Response {
    let method = stoop::Method::from_bytes(method.as_bytes()).unwrap();
    let request = Request::new(method, &format!("http://a.test{target}")).unwrap();
    client.send(request.with_field("cookie", cookie).unwrap()).await.unwrap()
}

/// The name and value of the cookie that a response sets.
fn cookie(response: &Response) -> String {
    field(response, "set-cookie").split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_session_begins_with_a_value_and_gets_another_id_at_login() {
    let client = service(Sessions::new(MemoryStore::new(10)));
    let stranger = send(&client, "GET", "/", "").await;
    assert_eq!((stranger.status().as_u16(), field(&stranger, "set-cookie")), (200, ""));
    let visited = send(&client, "POST", "/visit", "").await;
    let attributes = field(&visited, "set-cookie").split_once("; ").unwrap().1;
    assert_eq!(attributes, "Path=/; HttpOnly; Secure; SameSite=Lax");
    let visitor = cookie(&visited);
    assert_eq!(send(&client, "GET", "/", &visitor).await.text().await.unwrap(), "guest");
    let user = cookie(&send(&client, "POST", "/in", &visitor).await);
    assert!(user.starts_with("session=") && user != visitor);
    assert_eq!(send(&client, "GET", "/", &user).await.text().await.unwrap(), "ada");
    assert_eq!(send(&client, "GET", "/", &visitor).await.text().await.unwrap(), "", "it is gone");
    let out = send(&client, "POST", "/out", &user).await;
    assert!(field(&out, "set-cookie").contains("Max-Age=0"));
    assert_eq!(send(&client, "GET", "/", &user).await.text().await.unwrap(), "");
}

#[tokio::test]
async fn an_id_that_is_not_known_is_never_taken_over() {
    let client = service(Sessions::new(MemoryStore::new(10)).name("sid"));
    let forged = format!("sid={}", "a".repeat(40));
    for sent in [&*forged, "sid=x", "sid=", "session=a", &format!("sid=x; {forged}")] {
        let given = cookie(&send(&client, "POST", "/visit", sent).await);
        assert!(given.starts_with("sid=") && given != forged, "{sent}");
    }
    assert_eq!(send(&client, "GET", "/", &forged).await.text().await.unwrap(), "");
}

/// A cookie that was set for another path, or by another host below the same domain, comes beside the session's own, and may come
/// before it.
#[tokio::test]
async fn a_session_is_found_beside_ids_that_are_not_known() {
    let client = service(Sessions::new(MemoryStore::new(10)));
    let user = cookie(&send(&client, "POST", "/in", "").await);
    let unknown =
        |count: usize| (0..count).map(|n| format!("session={n:040x}; ")).collect::<String>();
    for (sent, found) in [
        (format!("{}{user}", unknown(1)), "ada"),
        (format!("session=x; {}{user}", unknown(3)), "ada"),
        (format!("{user}; {}", unknown(3)), "ada"),
        (format!("{}{user}", unknown(4)), ""),
    ] {
        assert_eq!(send(&client, "GET", "/", &sent).await.text().await.unwrap(), found, "{sent}");
    }
}

/// An id that another has given the visitor is not that of the session which begins in place of theirs.
#[tokio::test]
async fn what_begins_after_an_end_has_another_id() {
    let log_in = post(|session: Session| {
        session.end();
        session.insert("user", "ada")
    });
    let router = Router::new()
        .route("/in", log_in)
        .route("/visit", post(|session: Session| session.insert("cart", "full")))
        .route("/", get(|session: Session| format!("{:?}", session.get::<String>("user"))))
        .route("/cart", get(|session: Session| format!("{:?}", session.get::<String>("cart"))));
    let client = client(router.layer(Sessions::new(MemoryStore::new(10))));
    let read = async |target: &str, cookie: &str| {
        send(&client, "GET", target, cookie).await.text().await.unwrap()
    };
    let planted = cookie(&send(&client, "POST", "/visit", "").await);
    let logged_in = send(&client, "POST", "/in", &planted).await;
    let user = cookie(&logged_in);
    assert!(user.starts_with("session=") && user != planted);
    assert!(!field(&logged_in, "set-cookie").contains("Max-Age"));
    assert_eq!(read("/", &user).await, "Ok(Some(\"ada\"))");
    assert_eq!(read("/cart", &user).await, "Ok(None)", "what was there before is forgotten");
    assert_eq!(read("/", &planted).await, "Ok(None)");
    assert_eq!(read("/cart", &planted).await, "Ok(None)");
}

/// RFC 9111 §4.1, §7.3: what is one visitor's is not for others, and what is for all is as it was.
#[tokio::test]
async fn what_a_session_was_used_for_stays_out_of_shared_caches() {
    let own = |Path(control): Path<String>, session: Session| {
        let own = [("cache-control", control), ("vary", "accept, Cookie".to_owned())];
        (own, session.is_empty().to_string())
    };
    let router = Router::new()
        .route("/unused", get(async |_: Session| "for all"))
        .route("/none", get(|| "for all"))
        .route("/get", get(|session: Session| format!("{:?}", session.get::<String>("user"))))
        .route("/empty", get(|session: Session| session.is_empty().to_string()))
        .route("/set", get(|session: Session| session.insert("user", "ada")))
        .route("/remove", get(async |session: Session| session.remove("none")))
        .route("/renew", get(async |session: Session| session.renew()))
        .route("/own/{control}", get(own))
        .route("/end", get(async |session: Session| session.end()));
    let client = client(router.layer(Sessions::new(MemoryStore::new(10))));
    let visitor = cookie(&send(&client, "GET", "/set", "").await);
    let unknown = format!("session={}", "a".repeat(40));
    for (target, vary, control) in [
        ("/unused", "", ""),
        ("/none", "", ""),
        ("/get", "cookie", "private"),
        ("/empty", "cookie", "private"),
        ("/remove", "cookie", "private"),
        ("/own/public,%20max-age=60", "accept, Cookie", "public, max-age=60"),
        ("/own/max-age=9,S-MaxAge=60", "accept, Cookie", "max-age=9,S-MaxAge=60"),
        ("/own/no-store", "accept, Cookie", "no-store"),
        ("/own/private", "accept, Cookie", "private"),
        ("/own/max-age=60", "accept, Cookie", "max-age=60, private"),
        ("/own/no-cache", "accept, Cookie", "no-cache, private"),
        ("/set", "cookie", "private"),
        ("/end", "cookie", "private"),
    ] {
        for sent in ["", &*unknown, &*visitor] {
            let response = send(&client, "GET", target, sent).await;
            let lines = response.fields().all("cache-control");
            let lines: Vec<_> = lines.map(|line| std::str::from_utf8(line).unwrap()).collect();
            let fields = (field(&response, "vary"), &*lines.join(", "));
            assert_eq!(fields, (vary, control), "{target} {sent}");
        }
    }
    let visitor = cookie(&send(&client, "GET", "/set", "").await);
    let renewed = send(&client, "GET", "/renew", &visitor).await;
    assert!(cookie(&renewed) != visitor);
    assert_eq!((field(&renewed, "vary"), field(&renewed, "cache-control")), ("cookie", "private"));
}

#[tokio::test(start_paused = true)]
async fn a_request_begins_the_lifetime_anew() {
    let sessions = Sessions::new(MemoryStore::new(10)).lifetime(Duration::from_secs(60));
    let client = service(sessions);
    let visitor = cookie(&send(&client, "POST", "/visit", "").await);
    for (seconds, user) in [(59, "guest"), (59, "guest"), (61, "")] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        assert_eq!(send(&client, "GET", "/", &visitor).await.text().await.unwrap(), user);
    }
}

#[tokio::test]
async fn a_session_that_would_be_too_large_stays_as_it_was() {
    let client = service(Sessions::new(MemoryStore::new(10)).bytes_max(50));
    let visitor = cookie(&send(&client, "POST", "/visit", "").await);
    assert_eq!(send(&client, "POST", "/large", &visitor).await.status(), 500);
    assert_eq!(send(&client, "GET", "/", &visitor).await.text().await.unwrap(), "guest");
}

#[tokio::test]
async fn what_one_request_ends_or_changes_another_does_not_bring_back() {
    for sessions in [
        Sessions::new(MemoryStore::new(10)),
        // It loads and saves where the other does both at once.
        Sessions::new(Failing(Arc::default(), MemoryStore::new(10))),
    ] {
        ends_and_changes(sessions).await;
    }
}

async fn ends_and_changes(sessions: Sessions) {
    let begun = Arc::new(tokio::sync::Semaphore::new(0));
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let (begins, held) = (begun.clone(), gate.clone());
    let slow = move |session: Session, Query(change): Query<Vec<(String, String)>>| {
        let (begins, held) = (begins.clone(), held.clone());
        async move {
            for (name, value) in change {
                session.insert(name, value).unwrap();
            }
            begins.add_permits(1);
            held.acquire().await.unwrap().forget();
        }
    };
    let read = |session: Session| session.get::<String>("user").map(Option::unwrap_or_default);
    let router = Router::new()
        .route("/", get(read))
        .route("/begin", post(|session: Session| session.insert("user", "guest")))
        .route("/set", post(|session: Session| session.insert("user", "ada")))
        .route("/keep", post(async |session: Session| session.remove("none")))
        .route("/out", post(async |session: Session| session.end()))
        .route("/slow", get(slow));
    let client = client(router.layer(sessions));
    let visitor = cookie(&send(&client, "POST", "/begin", "").await);
    for (slow, meanwhile, user) in [
        ("/slow", "/set", "ada"),
        ("/slow?user=eve", "/keep", "eve"),
        ("/slow?user=eve", "/out", ""),
    ] {
        let (other, sent) = (client.clone(), visitor.clone());
        let request = tokio::spawn(async move { send(&other, "GET", slow, &sent).await });
        begun.acquire().await.unwrap().forget();
        send(&client, "POST", meanwhile, &visitor).await;
        gate.add_permits(1);
        assert_eq!(request.await.unwrap().status(), 204);
        assert_eq!(send(&client, "GET", "/", &visitor).await.text().await.unwrap(), user);
    }
}

/// A store that fails when it is told to.
struct Failing(Arc<AtomicBool>, MemoryStore);

impl Failing {
    fn check(&self) -> Result<(), stoop::BoxError> {
        if self.0.load(Ordering::Relaxed) { Err("the database is down".into()) } else { Ok(()) }
    }
}

impl SessionStore for Failing {
    fn load<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<SessionRecord>> {
        Box::pin(async move {
            self.check()?;
            self.1.load(id).await
        })
    }

    fn save<'a>(
        &'a self,
        id: &'a SessionId,
        record: SessionRecord,
        lifetime: Duration,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.check()?;
            self.1.save(id, record, lifetime).await
        })
    }

    fn touch<'a>(&'a self, id: &'a SessionId, lifetime: Duration) -> StoreFuture<'a, ()> {
        self.1.touch(id, lifetime)
    }

    fn delete<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, ()> {
        self.1.delete(id)
    }
}

#[tokio::test]
async fn a_store_that_fails_is_answered_500_and_its_text_stays_here() {
    let fails = Arc::new(AtomicBool::new(false));
    let client = service(Sessions::new(Failing(fails.clone(), MemoryStore::new(10))));
    let visitor = cookie(&send(&client, "POST", "/visit", "").await);
    fails.store(true, Ordering::Relaxed);
    for (method, target, cookie) in [("GET", "/", &*visitor), ("POST", "/visit", "")] {
        let response = send(&client, method, target, cookie).await;
        assert_eq!((response.status().as_u16(), field(&response, "set-cookie")), (500, ""));
        let text = response.text().await.unwrap();
        assert_eq!(text, "500 Internal Server Error: the session cannot be read or written\n");
    }
    assert_eq!(send(&client, "GET", "/", "").await.status(), 200, "it is not asked for a stranger");
}
