//! The rows of "From reqwest" on requests, responses, errors and the blocking client.

use std::collections::BTreeMap;
use std::io::Read;

use bytes::Bytes;
use stoop::body::{Form, Part};
use stoop::{Body, Request, StatusCode, Switch, Versions, blocking};

use super::super::{Outcome, Rows, seen};

pub(super) async fn requests(rows: &mut Rows) -> Outcome {
    row!(rows, [request] "request.header(\"x-a\", \"1\")" => { request.header("x-a", "1") },
        made => assert!(seen(made).await?.contains("\nx-a: 1\n")));
    row!(rows, [request, headers] "request.headers(headers)" => { request.headers(&headers) },
        made => assert!(seen(made).await?.contains("\nx-a: 1\n")));
    row!(rows, [request] "request.basic_auth(\"me\", Some(\"secret\"))" => { request.basic_auth("me", "secret") },
        made => assert!(seen(made).await?.contains("\nauthorization: Basic bWU6c2VjcmV0\n")));
    row!(rows, [request] "request.bearer_auth(\"token\")" => { request.bearer_auth("token") },
        made => assert!(seen(made).await?.contains("\nauthorization: Bearer token\n")));
    row!(rows, [request] "request.query(&[(\"q\", \"a b\")])" => { request.query(&[("q", "a b")]) },
        made => assert!(seen(made).await?.starts_with("POST /p?q=a+b\n")));
    row!(rows, [request, limit] "request.timeout(limit)" => { request.timeout(limit) },
        made => assert!(made.build().is_ok()));
    row!(rows, [request] "request.version(Version::HTTP_11)" => { request.versions(Versions::Http1) },
        made => assert_eq!(made.await?.version(), stoop::Version::HTTP_11));
    row!(rows, [request] "request.try_clone()" => { request.try_clone() }, made => assert!(made.is_some()));
    row!(rows, [client, request] "client.execute(request.build()?).await?" => { client.send(request.build()?).await? },
        made => assert_eq!(made.status(), 200));
    row!(rows, [url] "reqwest::Request::try_from(http_request)?" => {
        Request::try_from(http::Request::get(url).body(Body::empty())?)?
    }, made => assert_eq!(made.path(), "/p"));
    Ok(())
}

pub(super) async fn content(rows: &mut Rows) -> Outcome {
    row!(rows, [request] "request.body(\"text\")" => { request.body("text") },
        made => assert!(seen(made).await?.ends_with("\n\ntext")));
    row!(rows, [request] "request.form(&[(\"a\", \"1\")])" => { request.form(&[("a", "1")]) },
        made => assert!(seen(made).await?.ends_with("\n\na=1")));
    row!(rows, [request] "request.json(&value)" => { request.json(&BTreeMap::from([("a", 1)])) },
        made => assert!(seen(made).await?.ends_with("\n\n{\"a\":1}")));
    row!(rows, [request, response] "request.body(Body::wrap_stream(stream))" => {
        request.body(Body::from_stream(response.stream()))
    }, made => assert!(seen(made).await?.ends_with("\n\n{\"id\":17}")));
    row!(rows, [request, path] "request.body(File::open(path).await?)" => { request.body(Body::file(path).await?) },
        made => assert!(seen(made).await?.ends_with("\n\nfrom a file")));
    row!(rows, [request] "request.multipart(Form::new().text(\"a\", \"1\"))" => {
        request.multipart(Form::new().text("a", "1"))
    }, made => assert!(seen(made).await?.contains("form-data; name=\"a\"\r\n\r\n1\r\n")));
    row!(rows, [path] "Form::new().file(\"f\", path).await?" => { Form::new().part("f", Part::file(path).await?) },
    made => {
        let text = seen(rows.request().await.multipart(made)).await?;
        assert!(text.contains("filename=\"file.txt\""), "{text}");
    });
    row!(rows, [] "Part::bytes(b\"x\").file_name(\"x.bin\").mime_str(\"image/png\")?" => {
        Part::new(b"x").file_name("x.bin").mime_type("image/png")?
    }, made => assert!(Form::new().part("f", made).into_body().len().is_some()));
    row!(rows, [response] "Part::stream(body)" => { Part::new(response.into_body()) },
    made => {
        let text = seen(rows.request().await.multipart(Form::new().part("f", made))).await?;
        assert!(text.contains("{\"id\":17}"), "{text}");
    });
    Ok(())
}

pub(super) async fn responses(rows: &mut Rows) -> Outcome {
    row!(rows, [response] "response.status()" => { response.status() },
        made => assert_eq!(made, StatusCode::OK));
    row!(rows, [response] "response.headers().get(\"x-a\")" => { response.field("x-a") },
        made => assert_eq!(made, Some(&b"1"[..])));
    row!(rows, [response] "response.headers().iter()" => { response.fields().iter() },
        mut made => assert!(made.any(|field| field.name() == "content-type")));
    row!(rows, [response] "response.version()" => { response.version() },
        made => assert_eq!(made, stoop::Version::HTTP_11));
    row!(rows, [response] "response.url()" => { response.url() },
        made => assert_eq!(made, Some("http://a.test/json")));
    row!(rows, [response] "response.remote_addr()" => { response.remote_address() },
        made => assert_eq!(made, None));
    row!(rows, [response] "response.content_length()" => { response.body_mut().len() },
        made => assert_eq!(made, Some(9)));
    row!(rows, [response] "response.cookies()" => { response.fields().all("set-cookie") },
        mut made => assert_eq!(made.next(), None));
    row!(rows, [response] "response.extensions()" => { response.extensions() },
        made => assert!(made.is_empty()));
    row!(rows, [response] "http::Response::from(response)" => { http::Response::<Body>::from(response) },
        made => assert_eq!(made.headers()["x-a"], "1"));
    row!(rows, [response] "response.error_for_status()?" => { response.error_for_status()? },
        made => assert_eq!(made.status(), 200));
    row!(rows, [response] "response.error_for_status_ref()?" => { response.error_for_status_ref()?; });
    Ok(())
}

pub(super) async fn read(rows: &mut Rows) -> Outcome {
    row!(rows, [response] "response.text().await?" => { response.text().await? },
        made => assert_eq!(made, "{\"id\":17}"));
    row!(rows, [response] "response.bytes().await?" => { response.bytes().await? },
        made => assert_eq!(made, "{\"id\":17}"));
    row!(rows, [response] "response.json::<Value>().await?" => { response.json::<BTreeMap<String, u32>>().await? },
        made => assert_eq!(made["id"], 17));
    row!(rows, [response] "response.chunk().await?" => { response.chunk().await? },
        made => assert_eq!(made, Some(Bytes::from("{\"id\":17}"))));
    row!(rows, [response] "response.bytes_stream()" => { response.stream() },
        made => assert_eq!(made.bytes(100).await?, "{\"id\":17}"));
    row!(rows, [client] "response.upgrade().await?" => {
        let request = Request::get("http://a.test/upgrade")?.with_field("connection", "upgrade")?;
        client.switch(request.with_field("upgrade", "echo")?).await?
    }, made => assert!(matches!(made, Switch::Accepted(_))));
    Ok(())
}

pub(super) async fn errors(rows: &mut Rows) -> Outcome {
    row!(rows, [error] "error.is_timeout()" => { error.is_timeout() }, made => assert!(!made));
    row!(rows, [error] "error.is_connect()" => { error.is_connect() }, made => assert!(!made));
    row!(rows, [error] "error.is_builder()" => { error.is_request() }, made => assert!(!made));
    row!(rows, [error] "error.is_redirect()" => { error.is_redirect() }, made => assert!(!made));
    row!(rows, [error] "error.is_status()" => { error.is_status() }, made => assert!(made));
    row!(rows, [error] "error.is_body()" => { error.is_body() }, made => assert!(!made));
    row!(rows, [error] "error.is_decode()" => { error.is_decode() }, made => assert!(!made));
    row!(rows, [error] "error.status()" => { error.status() },
        made => assert_eq!(made, Some(StatusCode::NOT_FOUND)));
    row!(rows, [error] "error.url()" => { error.url() },
        made => assert_eq!(made, Some("http://a.test/status/404")));
    row!(rows, [server_url] "reqwest::blocking::get(url)?.text()?" => {
        blocking::Client::new().get(server_url).send()?.text()?
    }, made => assert!(made.starts_with("GET /")));
    row!(rows, [builder, limit] "blocking::ClientBuilder::timeout(limit)" => {
        blocking::Client::from(builder.timeout(limit).build()?)
    }, made => assert_eq!(made.stats().total.open, 0));
    row!(rows, [server_url, path] "request.body(std::fs::File::open(path)?)" => {
        blocking::Client::new().put(server_url).body(blocking::from_reader(std::fs::File::open(path)?))
    }, made => assert!(made.send()?.text()?.ends_with("from a file")));
    row!(rows, [server_url] "response.copy_to(&mut out)?" => {
        let mut response = blocking::Client::new().get(server_url).send()?;
        std::io::copy(&mut response, &mut std::io::sink())?
    }, made => assert!(made > 10));
    row!(rows, [server_url] "blocking::Response: std::io::Read" => {
        let mut text = String::new();
        blocking::Client::new().get(server_url).send()?.read_to_string(&mut text)?
    }, made => assert!(made > 10));
    Ok(())
}
