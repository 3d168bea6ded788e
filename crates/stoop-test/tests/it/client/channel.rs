//! Content that is sent into a channel is complete when its producer says so, and not when the producer is
//! gone: in both roles and both versions.

use stoop::{Body, BodySender, Client, Error, ErrorKind, Request, Response};

use super::kit::{EACH_VERSION, URL, client_of, settle};

/// Producers that stop in the middle: one returns, one panics, one is aborted.
fn producers() -> [fn(BodySender); 3] {
    fn returns(sender: BodySender) {
        tokio::spawn(async move { sender.send("half").await.unwrap() });
    }
    fn panics(sender: BodySender) {
        tokio::spawn(async move {
            sender.send("half").await.unwrap();
            // A panic without a message on the terminal.
            std::panic::resume_unwind(Box::new("as planned"));
        });
    }
    fn is_aborted(sender: BodySender) {
        let task = tokio::spawn(async move {
            sender.send("half").await.unwrap();
            std::future::pending::<()>().await
        });
        tokio::spawn(async move {
            settle().await;
            task.abort();
        });
    }
    [returns, panics, is_aborted]
}

async fn content(client: &Client) -> Result<bytes::Bytes, Error> {
    client.get(URL).await?.into_body().bytes(100).await
}

#[tokio::test]
async fn a_response_whose_producer_stopped_looked_complete() {
    for versions in EACH_VERSION {
        for producer in producers() {
            let client = client_of(versions, move |_: Request| {
                let (sender, body) = Body::channel(1);
                producer(sender);
                Response::new(body)
            });
            let error = content(&client).await.unwrap_err();
            let broken = matches!(error.kind(), ErrorKind::ClosedEarly | ErrorKind::Reset);
            assert!(broken, "{versions:?} {error}");
        }
    }
}

#[tokio::test]
async fn a_request_whose_producer_stopped_looked_complete() {
    for versions in EACH_VERSION {
        for producer in producers() {
            let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
            let client = client_of(versions, move |request: Request| {
                let told = told.clone();
                tokio::spawn(async move {
                    let read = request.into_body().bytes(100).await;
                    told.send(read.map_err(|error| error.kind())).unwrap();
                });
                std::future::pending::<&'static str>()
            });
            let (sender, body) = Body::channel(1);
            producer(sender);
            let error = client.send(Request::post(URL, body).unwrap()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::RequestBody);
            assert!(error.to_string().contains("finish"), "{error}");
            let read = tell.recv().await.unwrap();
            assert_eq!(read, Err(ErrorKind::ClosedEarly), "{versions:?}");
        }
    }
}
