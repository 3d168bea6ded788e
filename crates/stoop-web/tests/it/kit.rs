//! A client in front of a router.

use stoop::{Client, IntoHandler, Method, Request, Response, Versions};
use stoop_web::{App, Router};

/// A client whose requests the router answers, and which shows the answers as they came.
pub(crate) fn client(router: Router) -> Client {
    client_over(Versions::default(), router)
}

/// The same in these versions of HTTP.
pub(crate) fn client_over(versions: Versions, router: Router) -> Client {
    let builder = Client::builder().versions(versions).handler(router.build().unwrap());
    let builder = builder.redirects(stoop::Redirects::none());
    #[cfg(feature = "compression")]
    let builder = builder.decode_content(false);
    builder.build().unwrap()
}

/// The status and the content as text.
pub(crate) async fn ask(client: &Client, method: &str, target: &str) -> (u16, String) {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let request = Request::new(method, &format!("http://a.test{target}")).unwrap();
    text(client.send(request).await.unwrap()).await
}

/// The status and the content as text.
pub(crate) async fn text(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    (status, response.text().await.unwrap())
}

/// The value of a field, or nothing.
pub(crate) fn field<'a>(response: &'a Response, name: &str) -> &'a str {
    response.field(name).map_or("", |value| std::str::from_utf8(value).unwrap())
}

/// What a handler of this type needs to be for a server on the caller's runtime.
pub(crate) fn is_send<M: stoop_web::Mode>(app: App<M>)
where
    App<M>: Send + Sync,
    stoop_web::AppHandler<M>: Send + Sync,
{
    drop(app.into_handler());
}

/// Reports, for the summary of `cargo xtask test`, that a test did not run: to libtest it passed.
pub(crate) fn skip(name: &str, reason: &str) {
    use std::io::Write;
    eprintln!("skipped: {name}: {reason}");
    if let Some(file) = std::env::var_os("STOOP_SKIPS") {
        let mut file = std::fs::OpenOptions::new().append(true).open(file).expect("the report's");
        writeln!(file, "{name}: {reason}").expect("the report's");
    }
}
