//! The ends of a divided connection.

use super::*;

#[tokio::test(start_paused = true)]
async fn one_half_learns_why_and_the_other_of_the_end() {
    let (server, _client) = server(limits());
    let (mut sender, mut receiver) = server.split();
    let begun = Instant::now();
    let receiving = tokio::spawn(async move { receiver.recv().await });
    tokio::task::yield_now().await;
    let sent = sender.send(large()).await;
    let received = receiving.await.unwrap();
    assert_eq!(begun.elapsed().as_secs(), 30);
    match is_stuck(&sent) {
        true => assert!(matches!(received, Ok(None)), "{received:?}"),
        false => assert!(is_stuck(&received), "{sent:?}, {received:?}"),
    }
    assert!(matches!(sender.send_text("more").await, Err(Error::Io(_))));
}

#[tokio::test(start_paused = true)]
async fn a_sender_whose_receiver_is_elsewhere_gives_up() {
    let (server, _client) = server(limits());
    let (mut sender, mut receiver) = server.split();
    let begun = Instant::now();
    assert!(is_stuck(&sender.send(large()).await));
    assert_eq!(begun.elapsed().as_secs(), 30);
    assert_eq!(receiver.recv().await.unwrap(), None);
}

/// The sender does not wait for it: nothing but the write itself can begin the wait.
#[tokio::test(start_paused = true)]
async fn a_receiver_gives_up_what_the_sender_fed() {
    let (server, _client) = server(limits());
    let (mut sender, mut receiver) = server.split();
    let receiving = tokio::spawn(async move { receiver.recv().await });
    sleep(Duration::from_secs(100)).await;
    let begun = Instant::now();
    sender.feed(large()).await.unwrap();
    assert!(is_stuck(&receiving.await.unwrap()));
    assert_eq!(begun.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_receiver_gives_up_a_peer_that_takes_no_pongs() {
    let (server, mut client) = server(limits());
    let (mut sender, mut receiver) = server.split();
    let begun = Instant::now();
    let pinging = tokio::spawn(async move {
        for _ in 0..3 {
            client.write_all(&masked(0x89, &[7; 60])).await.unwrap();
        }
        let mut came = Vec::new();
        sleep(Duration::from_secs(60)).await;
        client.read_to_end(&mut came).await.unwrap();
        came.len()
    });
    assert!(is_stuck(&receiver.recv().await));
    assert_eq!(begun.elapsed().as_secs(), 30);
    assert!(matches!(sender.send_text("x").await, Err(Error::Io(_))));
    drop((sender, receiver));
    assert_eq!(pinging.await.unwrap(), PIPE);
}

#[tokio::test(start_paused = true)]
async fn a_close_of_the_sender_has_the_time_of_a_closing_handshake() {
    let (server, _client) = server(limits());
    let (mut sender, mut receiver) = server.split();
    sender.feed(large()).await.unwrap();
    let begun = Instant::now();
    let closed = sender.close(CloseCode::NORMAL, "").await;
    assert!(matches!(closed, Err(Error::CloseTimeout)), "{closed:?}");
    assert_eq!(begun.elapsed().as_secs(), 5);
    assert_eq!(receiver.recv().await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_close_of_the_sender_without_that_time_is_given_up_too() {
    let mut limits = limits();
    limits.close_timeout = Duration::MAX;
    let (server, _client) = server(limits);
    let (mut sender, _receiver) = server.split();
    sender.feed(large()).await.unwrap();
    let begun = Instant::now();
    assert!(is_stuck(&sender.close(CloseCode::NORMAL, "").await));
    assert_eq!(begun.elapsed().as_secs(), 30);
}
