//! Which endpoint answers which request.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use stoop::{Client, IntoHandler, Method, Request, StatusCode};
use stoop_web::{
    Next, Path, Pattern, Router, RouterProblem, State, TrailingSlash, any, delete, get, on,
    options, post,
};

use crate::kit::{ask, client, field, is_send, text};

fn patterns() -> Router {
    let pattern = async |Pattern(pattern): Pattern| pattern;
    [
        "/",
        "/users",
        "/users/me",
        "/users/{id}",
        "/users/{id}/posts",
        "/users/{id}/posts/{post}",
        "/files/{*rest}",
        "/img/{name}.png",
    ]
    .into_iter()
    .fold(Router::new(), |router, path| router.route(path, get(pattern)))
}

#[tokio::test]
async fn what_is_fixed_comes_before_what_is_not() {
    let client = client(patterns());
    for (path, pattern) in [
        ("/", "/"),
        ("/users", "/users"),
        ("/users?x=/files/a", "/users"),
        ("/users/me", "/users/me"),
        ("/users/mee", "/users/{id}"),
        ("/users/me/posts", "/users/{id}/posts"),
        ("/users/7/posts/8", "/users/{id}/posts/{post}"),
        ("/files/a/b", "/files/{*rest}"),
        ("/img/a.png", "/img/{name}.png"),
    ] {
        assert_eq!(ask(&client, "GET", path).await, (200, pattern.to_owned()), "{path}");
    }
    for path in
        ["/nothing", "/users/", "/files", "/files/", "/users//posts", "//users", "/img/a.jpg"]
    {
        assert_eq!(ask(&client, "GET", path).await.0, 404, "{path}");
    }
}

/// RFC 9110 §9.3.2, §9.3.7, §10.2.1, §15.5.6.
#[tokio::test]
async fn head_is_get_and_other_methods_are_told_what_there_is() {
    let route =
        get(async || "content").delete(|| ()).on(Method::from_bytes(b"REPORT").unwrap(), || "r");
    let client = client(Router::new().route("/a", route).route("/b", post(|| "b")));
    let head = client.send(Request::new(Method::HEAD, "http://a.test/a").unwrap()).await.unwrap();
    assert_eq!((head.status().as_u16(), field(&head, "content-length")), (200, "7"));
    assert_eq!(text(head).await.1, "");
    assert_eq!(ask(&client, "REPORT", "/a").await, (200, "r".to_owned()));
    for (method, path, status, allow) in [
        ("OPTIONS", "/a", 204, "GET, DELETE, REPORT, HEAD, OPTIONS"),
        ("PUT", "/a", 405, "GET, DELETE, REPORT, HEAD, OPTIONS"),
        ("HEAD", "/b", 405, "POST, OPTIONS"),
        ("OPTIONS", "/none", 404, ""),
    ] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = Request::new(method.clone(), &format!("http://a.test{path}")).unwrap();
        let response = client.send(request).await.unwrap();
        assert_eq!(
            (response.status().as_u16(), field(&response, "allow")),
            (status, allow),
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn an_endpoint_for_any_method_is_asked_last() {
    let route = any(async |method: Method| format!("any {method}")).post(|| "post");
    let own = get(|| "get").head(|| (StatusCode::IM_A_TEAPOT, "")).options(|| "mine");
    let client =
        client(Router::new().route("/a", route).route("/b", own).route("/c", options(|| "c")));
    assert_eq!(ask(&client, "POST", "/a").await.1, "post");
    assert_eq!(ask(&client, "OPTIONS", "/a").await.1, "any OPTIONS");
    assert_eq!(ask(&client, "PATCH", "/a").await.1, "any PATCH");
    assert_eq!(ask(&client, "HEAD", "/b").await.0, 418);
    assert_eq!(ask(&client, "OPTIONS", "/b").await.1, "mine");
    assert_eq!(ask(&client, "OPTIONS", "/c").await.1, "c");
}

#[tokio::test]
async fn routers_nest_with_their_fallbacks_and_layers() {
    async fn mark(request: Request, next: Next) -> Result<stoop::Response, stoop::Error> {
        Ok(next.run(request).await.with_field("x-inner", "yes")?)
    }
    let posts = Router::new()
        .route("/", get(|Path(id): Path<u8>| format!("posts of {id}")))
        .route("/{post}", get(|Path((id, post)): Path<(u8, u8)>| format!("{post} of {id}")))
        .fallback(|| (StatusCode::NOT_FOUND, "no such post"))
        .layer(mark);
    let router = Router::new()
        .nest("/users/{id}/posts", posts)
        .merge(Router::new().route("/", get(|| "root")))
        .fallback(|| (StatusCode::NOT_FOUND, "nothing"));
    let client = client(router);
    for (path, status, expected, inner) in [
        ("/", 200, "root", ""),
        ("/users/7/posts", 200, "posts of 7", "yes"),
        ("/users/7/posts/8", 200, "8 of 7", "yes"),
        ("/users/7/posts/8/9", 404, "no such post", "yes"),
        ("/users/7/posts/", 404, "no such post", "yes"),
        ("/users/7/postsx", 404, "nothing", ""),
        ("/x", 404, "nothing", ""),
    ] {
        let response = client.get(format!("http://a.test{path}")).await.unwrap();
        assert_eq!(field(&response, "x-inner"), inner, "{path}");
        assert_eq!(text(response).await, (status, expected.to_owned()), "{path}");
    }
}

#[tokio::test]
async fn methods_of_one_pattern_may_come_from_several_routers() {
    async fn deny(_: Request, _: Next) -> StatusCode {
        StatusCode::FORBIDDEN
    }
    let open = Router::new().route("/a", get(|| "read"));
    let closed = Router::new().route("/a", delete(|| "gone")).layer(deny);
    let client = client(Router::new().merge(open).merge(closed));
    assert_eq!(ask(&client, "GET", "/a").await, (200, "read".to_owned()));
    assert_eq!(ask(&client, "DELETE", "/a").await.0, 403);
    assert_eq!(ask(&client, "PUT", "/a").await.0, 405);
}

#[tokio::test]
async fn hosts_have_routers_of_their_own() {
    let api = Router::new().route("/", get(|| "api"));
    let tenants = Router::new().route("/", get(|| "tenant"));
    let router = Router::new()
        .host("*.example.com", tenants)
        .host("api.example.com", api)
        .route("/", get(|| "site"))
        .route("/only-here", get(|| "site"));
    let client = client(router);
    for (url, status) in [
        ("http://api.example.com/", "api"),
        ("http://API.example.com:8080/", "api"),
        ("http://a.b.example.com/", "tenant"),
        ("http://example.com/", "site"),
        ("http://example.com/only-here", "site"),
    ] {
        assert_eq!(client.get(url).await.unwrap().text().await.unwrap(), status, "{url}");
    }
    assert_eq!(client.get("http://api.example.com/only-here").await.unwrap().status(), 404);
}

#[tokio::test]
async fn a_slash_at_the_end_is_what_the_policy_says() {
    let router = |policy| {
        let router = Router::new().route("/a", get(|| "a")).route("/b/", get(|| "b"));
        let router = router.route("/p/{x}", get(|Path(x): Path<String>| x));
        client(router.trailing_slash(policy))
    };
    let exact = router(TrailingSlash::Exact);
    let redirect = router(TrailingSlash::Redirect);
    let ignore = router(TrailingSlash::Ignore);
    for (path, there, content) in
        [("/a/?q=1", "/a?q=1", "a"), ("/b", "/b/", "b"), ("/p/7/", "/p/7", "7")]
    {
        assert_eq!(ask(&exact, "GET", path).await.0, 404, "{path}");
        let sent = redirect.get(format!("http://a.test{path}")).await.unwrap();
        assert_eq!((sent.status().as_u16(), field(&sent, "location")), (308, there));
        assert_eq!(ask(&ignore, "GET", path).await, (200, content.to_owned()));
    }
    assert_eq!(ask(&redirect, "GET", "/c/").await.0, 404);
    assert_eq!(ask(&redirect, "GET", "//a/").await.0, 404);
}

#[tokio::test]
async fn layers_are_around_everything_and_the_first_is_outermost() {
    fn stamp(name: &'static str) -> impl stoop_web::IntoLayer<stoop_web::Shared> {
        move |request: Request, next: Next| async move {
            let response = next.run(request).await;
            let before = field(&response, "x-seen").to_owned();
            stoop::IntoResponse::into_response(([("x-seen", format!("{before}{name}"))], response))
        }
    }
    let router = Router::new()
        .layer(stamp("1"))
        .route("/a", get(|| "a").layer(stamp("3")).layer(stamp("4")))
        .layer(stamp("2"));
    let client = client(router);
    for (method, path, status, seen) in
        [("GET", "/a", 200, "4321"), ("PUT", "/a", 405, "4321"), ("GET", "/none", 404, "21")]
    {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = Request::new(method, &format!("http://a.test{path}")).unwrap();
        let response = client.send(request).await.unwrap();
        assert_eq!((response.status().as_u16(), field(&response, "x-seen")), (status, seen));
    }
}

#[tokio::test(start_paused = true)]
async fn limits_hold_for_their_routes() {
    let slow = async || {
        tokio::time::sleep(Duration::from_secs(10)).await;
        "slept"
    };
    let router = Router::new()
        .route("/fast", get(slow).time_limit(Duration::from_secs(20)))
        .route("/slow", get(slow))
        .route("/small", post(async |text: String| text))
        .route("/large", post(async |text: String| text).body_bytes_max(20))
        .time_limit(Duration::from_secs(5))
        .body_bytes_max(5);
    let client = client(router);
    assert_eq!(ask(&client, "GET", "/fast").await, (200, "slept".to_owned()));
    assert_eq!(ask(&client, "GET", "/slow").await.0, 503);
    for (path, content, status) in
        [("/small", "12345", 200), ("/small", "123456", 413), ("/large", "123456", 200)]
    {
        let response = client.post(format!("http://a.test{path}")).body(content).await.unwrap();
        assert_eq!(response.status(), status, "{path} {content}");
        // The same in pieces, whose length is not announced.
        let (sender, body) = stoop::Body::channel(10);
        for byte in content.bytes() {
            sender.send(vec![byte]).await.unwrap();
        }
        sender.finish().await.unwrap();
        let response = client.post(format!("http://a.test{path}")).body(body).await.unwrap();
        assert_eq!(response.status(), status, "{path} {content} in pieces");
    }
}

#[tokio::test]
async fn all_that_is_wrong_with_a_router_is_told_when_it_is_built() {
    let inner = Router::new().route("/x", get(|| "")).fallback(|| "").state(1u8);
    let router = Router::new()
        .route("/users/{id}", get(|State(_): State<u64>| ""))
        .route("/users/{name}", get(|| ""))
        .route("/a", get(|| "").get(|| ""))
        .route("/a", get(|| ""))
        .route("no-slash", get(|| ""))
        .route("/{a}/{a}", get(|| ""))
        .route("/{a}{b}", get(|| ""))
        .nest("/n/", inner)
        .state(2u8)
        .host("http://x", Router::new());
    let error = router.build().err().unwrap();
    let expected = [
        "state of the type `u8` is given twice",
        "`/n/`: a prefix does not end in a slash; to add routes at the root, merge them",
        "`/users/{id}` asks for state of the type `u64`, which the router has not",
        "`/users/{name}` and `/users/{id}` match the same paths",
        "`/a` has two endpoints for GET",
        "`/a` has two endpoints for GET",
        "`no-slash`: a pattern begins with a slash",
        "`/{a}/{a}`: two parameters have the same name",
        "`/{a}{b}`: a segment has at most one parameter",
        "`http://x`: a host is written `example.com`, or `*.example.com` for those below it",
    ];
    assert_eq!(error.to_string().lines().collect::<Vec<_>>(), expected);
    let twice = Router::new().route("/a", on(Method::PUT, || "").put(|| "")).build().err().unwrap();
    assert_eq!(
        twice.problems(),
        [RouterProblem::Method { pattern: "/a".to_owned(), method: Some(Method::PUT) }]
    );
}

/// RFC 9110 §9.3.6, §9.3.7: a CONNECT has no path, and `OPTIONS *` asks for the server.
#[tokio::test]
async fn requests_without_a_path_find_no_route() {
    let handler =
        Router::new().route("/{*rest}", any(|| "all")).fallback(|| "rest").build().unwrap();
    let handler = handler.into_handler();
    for (method, target, status) in [("OPTIONS", "*", 204), ("CONNECT", "a.test:443", 501)] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = Request::new(method, target).unwrap();
        match stoop::Handler::call(&handler, request) {
            stoop::Answer::Now(response) => assert_eq!(response.status(), status, "{target}"),
            stoop::Answer::Later(_) => panic!("it is answered at once"),
        }
    }
}

#[tokio::test]
async fn each_worker_has_a_state_of_its_own() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let made = Arc::new(AtomicUsize::new(0));
    let count = made.clone();
    let app = Router::new()
        .route("/", get(|State(number): State<Arc<usize>>| number.to_string()))
        .state_per_worker(move || Arc::new(count.fetch_add(1, Ordering::Relaxed)))
        .build()
        .unwrap();
    is_send(app.clone());
    for worker in ["1", "2"] {
        let client = Client::builder().handler(app.clone()).build().unwrap();
        assert_eq!(ask(&client, "GET", "/").await.1, worker);
    }
    assert_eq!(made.load(Ordering::Relaxed), 3);
}

#[test]
fn a_local_router_has_handlers_that_cannot_be_sent() {
    let count = Rc::new(Cell::new(0));
    let counted = count.clone();
    let plain = move || {
        counted.set(counted.get() + 1);
        counted.get().to_string()
    };
    let waits = async |State(count): State<Rc<Cell<i32>>>| {
        tokio::task::yield_now().await;
        count.get().to_string()
    };
    let layer = |request: Request, next: Next<stoop_web::Local>| async move {
        let kept = Rc::new(());
        let response = next.run(request).await;
        drop(kept);
        response
    };
    let app = Router::local().route("/", get(plain)).route("/later", get(waits)).layer(layer);
    let app = app.state(count.clone()).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let set = tokio::task::LocalSet::new();
    set.block_on(&runtime, async {
        let server = stoop::Server::listen("http://127.0.0.1:0").unwrap().run_local(app).unwrap();
        let client = Client::new();
        let url = server.endpoint().to_string();
        assert_eq!(client.get(format!("{url}/")).await.unwrap().text().await.unwrap(), "1");
        assert_eq!(client.get(format!("{url}/later")).await.unwrap().text().await.unwrap(), "1");
        assert_eq!(client.get(format!("{url}/no")).await.unwrap().status(), 404);
    });
    assert_eq!(count.get(), 1);
}

#[tokio::test]
async fn an_app_runs_in_each_way_that_a_server_has() {
    let app =
        Router::new().route("/{name}", get(async |Path(name): Path<String>| name)).build().unwrap();
    let listen = || stoop::Server::listen("127.0.0.1:0").unwrap().workers(1);
    let made = app.clone();
    let servers = [
        listen().run(app.clone()).unwrap(),
        listen().run_with(move || made.clone().into_handler()).unwrap(),
        listen().run_here(app).unwrap(),
    ];
    let client = Client::new();
    for server in servers {
        let url = format!("http://127.0.0.1:{}/ada", server.port());
        assert_eq!(client.get(url).await.unwrap().text().await.unwrap(), "ada");
        server.close().await;
    }
}
