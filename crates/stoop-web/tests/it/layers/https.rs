//! From http to https.

use stoop_web::{HttpsRedirect, Router, get};

use super::send;
use crate::kit::{client, field};

#[tokio::test]
async fn what_came_without_tls_goes_on_over_https() {
    let router =
        |redirect: HttpsRedirect| client(Router::new().route("/ok/x", get(|| "x")).layer(redirect));
    let plain = router(HttpsRedirect::new().except("/ok/"));
    let response = send(&plain, "POST", "/a%20b?c=d", &[]).await;
    assert_eq!(
        (response.status().as_u16(), field(&response, "location")),
        (308, "https://a.test/a%20b?c=d")
    );
    assert_eq!(send(&plain, "GET", "/ok/x", &[]).await.status(), 200);
    let other = router(HttpsRedirect::new().port(8443));
    let response = send(&other, "GET", "/", &[("host", "b.test:8080")]).await;
    assert_eq!(field(&response, "location"), "https://b.test:8443/");
    let response = send(&other, "GET", "/", &[("host", "[::1]:8080")]).await;
    assert_eq!(field(&response, "location"), "https://[::1]:8443/");
}
