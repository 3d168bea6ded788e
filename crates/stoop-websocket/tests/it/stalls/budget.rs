//! Waits that begin when the task has used up what tokio lets it do in one turn.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio::task::coop::{has_budget_remaining, poll_proceed};

use super::*;

/// Uses up what is left of the task's turn, and then polls `wait`, which is to come to its end.
async fn without_budget<T>(wait: impl Future<Output = T>) -> T {
    let mut wait = pin!(wait);
    let mut is_spent = false;
    let wait = poll_fn(|cx| {
        while !is_spent && has_budget_remaining() {
            let Poll::Ready(proceeded) = poll_proceed(cx) else { break };
            proceeded.made_progress();
        }
        is_spent = true;
        wait.as_mut().poll(cx)
    });
    timeout(Duration::from_secs(100_000), wait).await.expect("the timer wakes the task")
}

/// A turn is 128 operations: the pipe is full just when the turn is over, and around that.
#[tokio::test(start_paused = true)]
async fn a_peer_that_stops_reading_small_messages_is_given_up() {
    for messages in 120..=136 {
        let (ours, _theirs) = duplex(4 * messages);
        let mut server = WebSocket::server(ours, limits(), None);
        let begun = Instant::now();
        // Budgets are those of tasks that are spawned.
        let sending = tokio::spawn(async move {
            loop {
                server.send_text("ab").await?;
            }
            #[expect(unreachable_code, reason = "it says what the block returns")]
            Ok(())
        });
        let sent = timeout(Duration::from_secs(100_000), sending).await.expect("it is given up");
        assert!(is_stuck(&sent.unwrap()), "{messages} messages");
        assert_eq!(begun.elapsed().as_secs(), 30, "{messages} messages");
    }
}

#[tokio::test(start_paused = true)]
async fn a_send_is_given_up() {
    let (mut server, _client) = server(limits());
    let begun = Instant::now();
    let sending = tokio::spawn(async move { without_budget(server.send(large())).await });
    assert!(is_stuck(&sending.await.unwrap()));
    // The pipe takes the first bytes when the wait has begun.
    let elapsed = begun.elapsed().as_secs();
    assert!((30..=30 + LATE).contains(&elapsed), "{elapsed} s");
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_is_sent_a_ping_and_given_up() {
    let (ours, mut client) = duplex(PIPE);
    let mut server = WebSocket::server(ours, Limits::default(), None);
    let begun = Instant::now();
    let receiving = tokio::spawn(async move { without_budget(server.recv()).await });
    let mut came = Vec::new();
    client.read_to_end(&mut came).await.unwrap();
    assert_eq!(came, [0x89, 0], "a Ping");
    assert!(matches!(receiving.await.unwrap(), Err(Error::PingTimeout)));
    assert_eq!(begun.elapsed().as_secs(), 30 + 20);
}

#[tokio::test(start_paused = true)]
async fn a_close_that_is_not_answered_is_given_up() {
    let (mut server, _client) = server(limits());
    let begun = Instant::now();
    let closing = async move { without_budget(server.close(CloseCode::NORMAL, "")).await };
    let closed = tokio::spawn(closing).await.unwrap();
    assert!(matches!(closed, Err(Error::CloseTimeout)), "{closed:?}");
    assert_eq!(begun.elapsed().as_secs(), 5);
}
