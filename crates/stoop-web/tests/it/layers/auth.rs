//! Credentials by the schemes Basic and Bearer.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use stoop_web::{BasicAuth, BearerAuth, BlockingPool, Router, User, get};

use super::send;
use crate::kit::{client, field, text};

/// RFC 7617 §2.
#[tokio::test]
async fn basic_credentials_are_a_name_and_a_password() {
    let auth = BasicAuth::new("a \"b\"").user("Aladdin", "open sesame").user("test", "123\u{a3}");
    let auth = auth.check(|name, password| name == "by" && password == "a:b");
    let client = client(Router::new().route("/", get(|User(name): User| name)).layer(auth));
    for (credentials, name) in [
        ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", Some("Aladdin")),
        ("bAsIc  QWxhZGRpbjpvcGVuIHNlc2FtZQ==", Some("Aladdin")),
        ("Basic dGVzdDoxMjPCow==", Some("test")),
        ("Basic Ynk6YTpi", Some("by")),
        // Another user's password, no colon, no Base64, no UTF-8, another scheme.
        ("Basic dGVzdDpvcGVuIHNlc2FtZQ==", None),
        ("Basic QWxhZGRpbg==", None),
        ("Basic ???", None),
        ("Basic dGVzdDoxMjOj", None),
        ("Basic", None),
        ("Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ==", None),
    ] {
        let response = send(&client, "GET", "/", &[("authorization", credentials)]).await;
        let challenge = field(&response, "www-authenticate").to_owned();
        match name {
            Some(name) => assert_eq!(text(response).await, (200, name.to_owned())),
            None => {
                assert_eq!(response.status(), 401, "{credentials}");
                assert_eq!(challenge, r#"Basic realm="a \"b\"", charset="UTF-8""#);
            }
        }
    }
    let good = ("authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    assert_eq!(send(&client, "GET", "/", &[good, good]).await.status(), 401);
    assert_eq!(
        send(&client, "GET", "/none", &[]).await.status(),
        401,
        "nor is it told what there is"
    );
}

#[tokio::test]
async fn a_slow_check_runs_in_its_pool_once_for_a_user_it_lets_in() {
    let asked = Arc::new(AtomicUsize::new(0));
    let checked = asked.clone();
    let check = move |name: &str, password: &str| {
        checked.fetch_add(1, Relaxed);
        let thread = std::thread::current();
        thread.name() == Some("stoop-blocking") && (name, password) == ("test", "123\u{a3}")
    };
    let auth = BasicAuth::new("r").user("Aladdin", "open sesame");
    let auth = auth.check_blocking(BlockingPool::new(1, 0), check);
    let client = client(Router::new().route("/", get(|User(name): User| name)).layer(auth));
    let answer = async |credentials: &str| {
        let response = send(&client, "GET", "/", &[("authorization", credentials)]).await;
        text(response).await
    };
    let aladdin = answer("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==").await;
    assert_eq!((aladdin, asked.load(Relaxed)), ((200, "Aladdin".to_owned()), 0));
    for _ in 0..3 {
        assert_eq!(answer("Basic dGVzdDoxMjPCow==").await, (200, "test".to_owned()));
    }
    assert_eq!(asked.load(Relaxed), 1);
    for n in 2..4 {
        assert_eq!(answer("Basic dGVzdDpvcGVuIHNlc2FtZQ==").await.0, 401);
        assert_eq!(asked.load(Relaxed), n, "one that is not let in is checked each time");
    }
    assert_eq!(answer("Basic ???").await.0, 401);
    assert_eq!(asked.load(Relaxed), 3);
}

#[tokio::test]
async fn credentials_that_find_the_pool_full_are_answered_503() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let released = std::sync::Mutex::new(released);
    let check = move |_: &str, _: &str| {
        begin.send(()).unwrap();
        released.lock().unwrap().recv().is_err()
    };
    let auth = BasicAuth::new("r").check_blocking(BlockingPool::new(1, 0), check);
    let client = client(Router::new().route("/", get(|| "in")).layer(auth));
    let credentials = ("authorization", "Basic dGVzdDoxMjPCow==");
    let fields = [credentials];
    let (first, full) = tokio::join!(send(&client, "GET", "/", &fields), async {
        begun.recv().await.unwrap();
        let full = send(&client, "GET", "/", &[credentials]).await;
        drop(release);
        full
    });
    assert_eq!((first.status().as_u16(), full.status().as_u16()), (200, 503));
    assert_eq!(field(&full, "retry-after"), "1");
}

/// One client that guesses takes eight places, and keeps out neither others nor a user who was let in before.
#[tokio::test]
async fn guesses_of_one_address_lock_no_user_out() {
    use std::sync::{Arc, Condvar, Mutex};
    use stoop::{Client, LocalServer};

    let gate = Arc::new((Mutex::new(true), Condvar::new()));
    let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let (is_open, checks) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = checks.clone();
    let check = move |_: &str, password: &str| {
        counted.fetch_add(1, Relaxed);
        begin.send(()).unwrap();
        let _open = is_open.1.wait_while(is_open.0.lock().unwrap(), |is_open| !*is_open);
        password == "123\u{a3}"
    };
    let auth = BasicAuth::new("r").check_blocking(BlockingPool::new(1, 16), check);
    let app = Router::new().route("/", get(|| "in")).layer(auth).build().unwrap();
    let from = |address: &str| {
        let server = LocalServer::new(app.clone()).peer(address.parse().unwrap());
        Client::builder().local_server(server).build().unwrap()
    };
    let (guesser, user) = (from("192.0.2.1:1"), from("192.0.2.2:1"));
    let good = [("authorization", "Basic dGVzdDoxMjPCow==")];
    assert_eq!(send(&user, "GET", "/", &good).await.status(), 200);
    begun.recv().await.unwrap();
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    tokio::time::resume();

    *gate.0.lock().unwrap() = false;
    let guess = || {
        let guesser = guesser.clone();
        tokio::spawn(async move {
            let wrong = [("authorization", "Basic dGVzdDpvcGVuIHNlc2FtZQ==")];
            send(&guesser, "GET", "/", &wrong).await.status().as_u16()
        })
    };
    let mut guesses: Vec<_> = (0..8).map(|_| guess()).collect();
    begun.recv().await.unwrap();
    // The ninth is answered at once; which one that is, is not known.
    guesses.push(guess());
    let mut statuses = Vec::new();
    while statuses.is_empty() {
        tokio::task::yield_now().await;
        if let Some(done) = guesses.iter().position(tokio::task::JoinHandle::is_finished) {
            statuses.push(guesses.swap_remove(done).await.unwrap());
        }
    }
    assert_eq!(statuses, [503]);
    // The user has to be checked again, waits behind eight guesses, and is let in.
    let waits = tokio::spawn(async move { send(&user, "GET", "/", &good).await.status() });
    // From the guesser's address, one who was let in before is let in without another check.
    let before = send(&guesser, "GET", "/", &good).await.status();
    assert_eq!((before.as_u16(), checks.load(Relaxed)), (200, 2));
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    for guess in guesses {
        assert_eq!(guess.await.unwrap(), 401);
    }
    assert_eq!(waits.await.unwrap(), 200);
}

/// However many of them there are.
#[tokio::test]
async fn addresses_that_guess_keep_no_other_out() {
    use std::sync::{Arc, Condvar, Mutex};
    use stoop::{Client, LocalServer};

    let gate = Arc::new((Mutex::new(true), Condvar::new()));
    let is_open = gate.clone();
    let order = Arc::new(Mutex::new(Vec::new()));
    let noted = order.clone();
    let check = move |name: &str, _: &str| {
        noted.lock().unwrap().push(name.to_owned());
        let _open = is_open.1.wait_while(is_open.0.lock().unwrap(), |is_open| !*is_open);
        name == "test"
    };
    let auth = BasicAuth::new("r").check_blocking(BlockingPool::new(1, 4), check);
    let app = Router::new().route("/", get(|| "in")).layer(auth).build().unwrap();
    let from = |host: usize| {
        let server =
            LocalServer::new(app.clone()).peer(format!("192.0.2.{host}:1").parse().unwrap());
        Client::builder().local_server(server).build().unwrap()
    };
    let guessers: Vec<Client> = (1..=7).map(from).collect();
    // `guess:x`
    let wrong = [("authorization", "Basic Z3Vlc3M6eA==")];
    for guesser in &guessers {
        assert_eq!(send(guesser, "GET", "/", &wrong).await.status(), 401);
    }
    *gate.0.lock().unwrap() = false;
    let mut guesses = tokio::task::JoinSet::new();
    for guesser in &guessers {
        let guesser = guesser.clone();
        guesses.spawn(async move { send(&guesser, "GET", "/", &wrong).await.status().as_u16() });
    }
    // One runs, four wait, and two are too many.
    for _ in 0..2 {
        assert_eq!(guesses.join_next().await.unwrap().unwrap(), 503);
    }
    while order.lock().unwrap().len() < 8 {
        tokio::task::yield_now().await;
    }
    let user = from(99);
    let good = [("authorization", "Basic dGVzdDoxMjPCow==")];
    let waits = tokio::spawn(async move { send(&user, "GET", "/", &good).await.status().as_u16() });
    assert_eq!(guesses.join_next().await.unwrap().unwrap(), 503, "it makes room");
    order.lock().unwrap().clear();
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    assert_eq!(waits.await.unwrap(), 200);
    assert_eq!(order.lock().unwrap()[0], "test", "it comes first");
    assert!(guesses.join_all().await.iter().all(|status| *status == 401));
}

/// RFC 6750 §2.1, §3.
#[tokio::test]
async fn bearer_credentials_are_a_token() {
    let auth = BearerAuth::new("api").token("ada", "abc").token("bob", "def");
    let auth = auth.check(|token| token.strip_prefix("by-").map(str::to_owned));
    let client = client(Router::new().route("/", get(|User(name): User| name)).layer(auth));
    for (fields, status, told) in [
        (&[("authorization", "Bearer abc")][..], 200, "ada"),
        (&[("authorization", "bearer def")], 200, "bob"),
        (&[("authorization", "Bearer by-me")], 200, "me"),
        (&[("authorization", "Bearer abcd")], 401, r#"Bearer realm="api", error="invalid_token""#),
        (&[], 401, r#"Bearer realm="api""#),
    ] {
        let response = send(&client, "GET", "/", fields).await;
        let challenge = field(&response, "www-authenticate").to_owned();
        let (answered, content) = text(response).await;
        assert_eq!(
            (answered, if status == 200 { content } else { challenge }),
            (status, told.to_owned())
        );
    }
}
