//! Middleware that services have in common.

#[cfg(feature = "auth")]
mod auth;
#[cfg(feature = "compression")]
mod compress;
mod cors;
#[cfg(feature = "compression")]
mod decompress;
mod https;

use stoop::{Client, Method, Request, Response};

async fn send(client: &Client, method: &str, target: &str, fields: &[(&str, &str)]) -> Response {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let mut request = Request::new(method, &format!("http://a.test{target}")).unwrap();
    for (name, value) in fields {
        request = request.with_field(name, value).unwrap();
    }
    client.send(request).await.unwrap()
}
