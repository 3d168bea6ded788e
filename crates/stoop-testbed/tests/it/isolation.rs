//! Nothing listens beyond loopback.

use std::net::{Ipv4Addr, SocketAddr};

use stoop_testbed::{Behaviour, Internet, Options, Origin};
use tokio::net::{TcpStream, UdpSocket};

/// This machine's own address, if it has another one than loopback. Nothing is sent: connecting a
/// UDP socket only asks for the route.
async fn own_address() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await.ok()?;
    socket.connect(("192.0.2.255", 9)).await.ok()?;
    match socket.local_addr().ok()? {
        SocketAddr::V4(address) if !address.ip().is_loopback() => Some(*address.ip()),
        _ => None,
    }
}

/// Whether a server answers there: one that accepts a connection and drops it does not.
async fn answers(address: SocketAddr) -> bool {
    let Ok(stream) = TcpStream::connect(address).await else { return false };
    if stream.writable().await.is_err() || stream.try_write(crate::raw::GET).is_err() {
        return false;
    }
    let mut byte = [0];
    let read = async {
        loop {
            stream.readable().await?;
            match stream.try_read(&mut byte) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    };
    matches!(tokio::time::timeout(std::time::Duration::from_millis(300), read).await, Ok(Ok(1)))
}

#[tokio::test]
async fn no_client_beyond_loopback_is_answered() {
    let internet = Internet::start(Internet::plan(1, 100), Options::default()).await.unwrap();
    let ports = internet.planned().ports();
    assert!(answers(([127, 1, 0, 5], ports.http).into()).await, "the test itself is wrong");
    let Some(own) = own_address().await else { return };
    for port in [ports.http, ports.https, internet.dns_addr().port()] {
        assert!(!answers((own, port).into()).await, "{own}:{port} answers");
    }
    if !internet.is_shared() {
        // Bound to the loopback device, the ports are not even open elsewhere.
        let error = TcpStream::connect((own, ports.http)).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    }
    let origin = Origin::start(Behaviour::Fast { body: 1 }).await.unwrap();
    assert!(!answers((own, origin.address().port()).into()).await);
}
