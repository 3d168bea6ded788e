//! A client with large windows that reads slowly.

use std::time::Duration;

use stoop::{Request, Response, ServerLimits};
use stoop_test::frames::{
    HEADER_BYTES, PREFACE, flag, headers, kind, ping, settings, settings_ack, split, window_update,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep;

use super::super::connect_with;
use super::GET;

/// The client answers a PING when it has read the frames before it.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_not_taken_for_one_that_has_gone() {
    let (peer, _task) =
        connect_with(ServerLimits::default(), |_: Request| Response::new(vec![b'x'; 2 << 20]));
    let mut stream = peer.into_parts().0;
    let begin = [
        PREFACE.to_vec(),
        settings(&[(4, 1 << 30)]),
        window_update(0, 1 << 30),
        settings_ack(),
        headers(1, flag::WHOLE, &GET),
    ];
    stream.write_all(&begin.concat()).await.unwrap();
    let (mut unread, mut content) = (Vec::new(), 0);
    let mut some = vec![0; 8 * 1024];
    loop {
        sleep(Duration::from_secs(1)).await;
        let n = stream.read(&mut some).await.unwrap();
        assert!(n > 0, "closed after {content} bytes");
        unread.extend_from_slice(&some[..n]);
        while let Some((header, payload, _)) = split(&unread) {
            let payload = payload.to_vec();
            unread.drain(..HEADER_BYTES + payload.len());
            match (header[3], header[4]) {
                (kind::DATA, flags) => {
                    content += payload.len();
                    if flags & flag::END_STREAM != 0 {
                        return assert_eq!(content, 2 << 20);
                    }
                }
                (kind::PING, 0) => {
                    let answer = ping(flag::ACK, payload[..].try_into().unwrap());
                    let _ = stream.write_all(&answer).await;
                }
                _ => {}
            }
        }
    }
}
