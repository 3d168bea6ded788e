//! The table "From hyper and hyper-util".

use bytes::Bytes;
use stoop::{Body, Client, ErrorKind, Request, Switch, Versions, rt};
use tokio::io::AsyncReadExt;
use tower::{Service, ServiceBuilder, ServiceExt};

use super::{Outcome, Rows, echo, fetched, seen};
use crate::client::kit::counts;

#[tokio::test]
async fn each_row_of_hyper_is_run() {
    let mut rows = Rows::new("hyper").await;
    Box::pin(clients(&mut rows)).await.unwrap();
    Box::pin(limits(&mut rows)).await.unwrap();
    Box::pin(content(&mut rows)).await.unwrap();
    Box::pin(connections(&mut rows)).await.unwrap();
    rows.compare("## From hyper and hyper-util", [0, 1]);
}

async fn clients(rows: &mut Rows) -> Outcome {
    row!(rows, [] "Client::builder(TokioExecutor::new()).build_http()" => { Client::new() },
        made => assert_eq!(counts(&made), (0, 0)));
    row!(rows, [client, url] "client.get(uri).await?" => { client.get(url).await? },
        made => assert_eq!(made.status(), 200));
    row!(rows, [client, url] "client.request(request).await?" => {
        let request = http::Request::put(url).body(Body::from("text"))?;
        client.send(Request::try_from(request)?).await?
    }, made => assert!(made.text().await?.ends_with("\n\ntext")));
    row!(rows, [client, http_request] "Service::call(&mut client, request).await?" => {
        client.call(http_request).await?
    }, made => assert_eq!(made.status(), 200));
    row!(rows, [client] "ServiceBuilder::new().concurrency_limit(10).service(client)" => {
        ServiceBuilder::new().concurrency_limit(10).service(client)
    }, made => assert_eq!(made.oneshot(rows.http_request().await).await?.status(), 200));
    row!(rows, [builder, connector] "Client::builder(executor).build(connector)" => {
        rt::connector(builder, connector).build()?
    }, made => assert!(seen(made.get("http://a.test/")).await.is_ok()));
    row!(rows, [client, url] "on_informational(&mut request, |head| …)" => {
        client.send_with_interim(Request::get(url)?, |head| println!("{}", head.status())).await?
    }, made => assert_eq!(made.status(), 200));
    row!(rows, [response] "capture_connection(&mut request)" => { response.connection() },
        made => assert!(made.is_some_and(|connection| !connection.is_reused())));
    Ok(())
}

async fn limits(rows: &mut Rows) -> Outcome {
    row!(rows, [builder, limit] "HttpConnector::set_connect_timeout(Some(limit))" => { builder.connect_timeout(limit) },
        made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder, ip] "HttpConnector::set_local_address(Some(ip))" => { builder.local_address(ip) },
        made => assert!(seen(made.build()?.get(rows.server_url().await)).await.is_ok()));
    row!(rows, [builder] "HttpConnector::set_interface(\"eth0\")" => { builder.interface("eth0") },
        made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder, limit] "HttpConnector::set_keepalive(Some(limit))" => { builder.tcp_keepalive(limit) },
        made => assert!(seen(made.build()?.get(rows.server_url().await)).await.is_ok()));
    row!(rows, [builder, ip] "HttpConnector::new_with_resolver(resolver)" => {
        builder.custom_resolver(move |_host: String| async move { Ok::<_, stoop::BoxError>(ip.into()) })
    }, made => {
        let url = format!("http://b.test:{}/", rows.address().await.port());
        assert!(seen(made.build()?.get(url)).await.is_ok());
    });
    row!(rows, [builder, limits, limit] "Builder::pool_idle_timeout(limit)" => {
        limits.pool.idle = limit; builder.limits(limits)
    }, made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder, limits] "Builder::pool_max_idle_per_host(0)" => {
        limits.pool.idle_per_origin_max = 0; builder.limits(limits)
    }, made => {
        let client = made.handler(echo).build()?;
        seen(client.get("http://a.test/")).await?;
        assert_eq!(counts(&client), (0, 0));
    });
    row!(rows, [builder] "Builder::http2_only(true)" => { builder.versions(Versions::Http2) },
    made => {
        let client = made.handler(echo).build()?;
        assert_eq!(client.get("http://a.test/").await?.version(), stoop::Version::HTTP_2);
    });
    row!(rows, [builder, limits] "Builder::http2_initial_stream_window_size(1 << 20)" => {
        limits.wire.http2.stream_window_bytes = 1 << 20; builder.limits(limits)
    }, made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder, limits, limit] "Builder::http2_keep_alive_timeout(limit)" => {
        limits.wire.http2.ping_timeout = limit; builder.limits(limits)
    }, made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder, limits] "Builder::http1_max_headers(50)" => {
        limits.wire.fields_max = 50; builder.limits(limits)
    }, made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder, limits] "Builder::http1_max_buf_size(16 * 1024)" => {
        limits.wire.head_bytes_max = 16 * 1024; builder.limits(limits)
    }, made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder, limits] "Builder::retry_canceled_requests(false)" => {
        limits.retries_max = 0; builder.limits(limits)
    }, made => assert!(fetched(made, "/").await.is_ok()));
    Ok(())
}

async fn content(rows: &mut Rows) -> Outcome {
    row!(rows, [] "Empty::<Bytes>::new()" => { Body::empty() }, made => assert_eq!(made.len(), Some(0)));
    row!(rows, [] "Full::new(Bytes::from(\"text\"))" => { Body::from("text") },
        made => assert_eq!(made.len(), Some(4)));
    row!(rows, [response] "StreamBody::new(stream)" => { Body::from_stream(response.stream()) },
        made => assert_eq!(made.bytes(100).await?, "{\"id\":17}"));
    row!(rows, [http_body] "body.boxed()" => { Body::stream(http_body) },
        made => assert_eq!(made.bytes(100).await?, "text"));
    row!(rows, [] "Channel::<Bytes>::new(8)" => { Body::channel(8) },
    (sender, body) => {
        sender.send("text").await?;
        sender.finish().await?;
        assert_eq!(body.bytes(100).await?, "text");
    });
    row!(rows, [body] "body.collect().await?.to_bytes()" => { body.bytes(1 << 20).await? },
        made => assert_eq!(made, "{\"id\":17}"));
    row!(rows, [body] "body.frame().await" => { body.chunk().await? },
        made => assert_eq!(made, Some(Bytes::from("{\"id\":17}"))));
    row!(rows, [body] "collected.trailers()" => {
        body.discard().await?; body.take_trailers()
    }, made => assert!(made.is_none()));
    row!(rows, [response] "Limited::new(body, 100)" => { response.limit(100) },
        made => assert_eq!(made.bytes().await?.len(), 9));
    row!(rows, [body] "body.size_hint().exact()" => { body.len() }, made => assert_eq!(made, Some(9)));
    Ok(())
}

async fn connections(rows: &mut Rows) -> Outcome {
    row!(rows, [builder, connect] "client::conn::http1::handshake(io).await?" => {
        rt::connections_from(builder.versions(Versions::Http1), connect).build()?
    }, made => assert!(seen(made.get("http://a.test/")).await.is_ok()));
    row!(rows, [builder, connect] "client::conn::http2::handshake(executor, io).await?" => {
        rt::connections_from(builder.versions(Versions::Http2), connect).build()?
    }, made => assert_eq!(made.get("http://a.test/").await?.version(), stoop::Version::HTTP_2));
    row!(rows, [io, server_limits] "server::conn::auto::Builder::new(executor).serve_connection(io, service)" => {
        rt::serve(io, echo, server_limits)
    }, made => drop(made));
    row!(rows, [client, upgrade] "hyper::upgrade::on(response).await?" => { client.switch(upgrade).await? },
        made => assert!(matches!(made, Switch::Accepted(_))));
    row!(rows, [upgraded] "TokioIo::new(upgraded)" => { rt::stream(upgraded) },
    mut made => {
        let mut text = [0; 8];
        made.read_exact(&mut text).await?;
        assert_eq!(&text, b"switched");
    });
    row!(rows, [error] "error.is_incomplete_message()" => { error.kind() == ErrorKind::ClosedEarly },
        made => assert!(!made));
    row!(rows, [error] "error.is_connect()" => { error.is_connect() }, made => assert!(!made));
    Ok(())
}

impl Rows {
    async fn http_request(&self) -> http::Request<Body> {
        http::Request::get("http://a.test/p").body(Body::empty()).unwrap()
    }

    async fn http_body(&self) -> http_body_util::Full<Bytes> {
        http_body_util::Full::new(Bytes::from("text"))
    }

    async fn body(&self) -> Body {
        self.response().await.into_body()
    }

    async fn io(&self) -> tokio::io::DuplexStream {
        tokio::io::duplex(1024).0
    }

    async fn server_limits(&self) -> stoop::ServerLimits {
        stoop::ServerLimits::default()
    }

    async fn connect(&self) -> impl Fn() -> tokio::io::DuplexStream + Send + Sync + use<> {
        || {
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            tokio::spawn(rt::serve(theirs, echo, stoop::ServerLimits::default()));
            ours
        }
    }

    async fn connector(
        &self,
    ) -> impl Fn(
        stoop::ConnectTarget,
    ) -> std::future::Ready<std::io::Result<tokio::io::DuplexStream>>
    + Send
    + Sync
    + use<> {
        let connect = self.connect().await;
        move |_| std::future::ready(Ok(connect()))
    }

    async fn upgrade(&self) -> Request {
        let request = Request::get("http://a.test/upgrade").unwrap();
        let request = request.with_field("connection", "upgrade").unwrap();
        request.with_field("upgrade", "echo").unwrap()
    }

    async fn upgraded(&self) -> stoop::Upgraded {
        crate::client::kit::accepted(self.client().await.switch(self.upgrade().await).await)
    }
}
