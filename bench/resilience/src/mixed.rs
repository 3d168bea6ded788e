//! Hosts of which some fail: a server on every address of 127.0.0.0/8, whose second byte says how.
//!
//! ```text
//! 127.1.X.X  a path asks for its answer
//! 127.2.X.X  the connection is reset as soon as it is accepted
//! 127.3.X.X  it ends where a response would begin
//! ```
//!
//! Connections to a second port are refused at each address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use stoop::{Request, ServerLimits};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::many::listener;
use crate::wanted;

/// Serves, and prints its port and the one that refuses.
pub(crate) async fn serve() -> io::Result<()> {
    let listener = listener()?;
    let refusing = refusing_socket()?;
    let refused = refusing.local_addr()?.as_socket().map_or(0, |address| address.port());
    println!("{} {refused}", listener.local_addr()?.port());
    let limits = ServerLimits::default();
    loop {
        let (stream, _) = listener.accept().await?;
        match stream.local_addr()?.ip() {
            IpAddr::V4(host) if host.octets()[1] == 2 => {
                SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
            }
            IpAddr::V4(host) if host.octets()[1] == 3 => {
                tokio::spawn(end_early(stream));
            }
            _ => {
                let answer = |request: Request| async move { wanted::answer(&request).await };
                tokio::spawn(stoop::rt::serve(stream, answer, limits.clone()));
            }
        }
    }
}

/// A port that no other program gets, where nothing listens.
fn refusing_socket() -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)).into())?;
    Ok(socket)
}

/// Reads a head, and ends the connection.
async fn end_early(mut stream: TcpStream) -> io::Result<()> {
    let mut input = Vec::new();
    while !input.ends_with(b"\r\n\r\n") && stream.read_buf(&mut input).await? > 0 {}
    Ok(())
}
