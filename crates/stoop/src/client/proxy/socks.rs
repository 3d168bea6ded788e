//! SOCKS: version 5 (RFC 1928, with the credentials of RFC 1929), and version 4 with its extension 4a.

use std::future::poll_fn;
use std::io;
use std::net::IpAddr;

use stoop_io::{AnyTransport, FillResult, Output, Transport};

use super::server::{Proxy, ProxyKind};
use crate::error::{Error, ErrorKind, Phase};

/// Where a SOCKS proxy is asked to connect to.
#[derive(Clone, Copy)]
pub(crate) enum SocksTarget<'a> {
    Name(&'a str),
    Address(IpAddr),
}

/// Asks the proxy at the other end to connect to a target; what follows on the connection is the target's.
pub(crate) async fn open(
    proxy: &Proxy,
    io: &mut AnyTransport,
    target: SocksTarget<'_>,
    port: u16,
) -> Result<(), Error> {
    let server = &*proxy.0;
    match server.kind {
        ProxyKind::Socks4 { .. } => open_4(io, &server.user, target, port).await,
        _ => open_5(io, &server.user, server.password.as_deref(), target, port).await,
    }
}

/// RFC 1928 §3: the methods.
const NO_CREDENTIALS: u8 = 0;
const CREDENTIALS: u8 = 2;
const NO_METHOD: u8 = 0xff;

async fn open_5(
    io: &mut AnyTransport,
    user: &[u8],
    password: Option<&[u8]>,
    target: SocksTarget<'_>,
    port: u16,
) -> Result<(), Error> {
    let has_credentials = !user.is_empty() || password.is_some();
    let hello: &[u8] = match has_credentials {
        true => &[5, 2, NO_CREDENTIALS, CREDENTIALS],
        false => &[5, 1, NO_CREDENTIALS],
    };
    send(io, hello).await?;
    let [5, method] = receive(io).await? else { return Err(no_socks("5")) };
    match method {
        NO_CREDENTIALS => {}
        CREDENTIALS if has_credentials => {
            // RFC 1929 §2.
            let mut message = vec![1];
            for text in [user, password.unwrap_or_default()] {
                message.push(length(text, "a username or a password")?);
                message.extend(text);
            }
            send(io, &message).await?;
            let [_, status] = receive(io).await?;
            if status != 0 {
                return Err(auth("it refused the username and password"));
            }
        }
        NO_METHOD if has_credentials => return Err(auth("it takes no username and password")),
        NO_METHOD => return Err(auth("it wants credentials")),
        _ => return Err(no_socks("5")),
    }
    // §4: CONNECT.
    let mut request = vec![5, 1, 0];
    match target {
        SocksTarget::Address(IpAddr::V4(address)) => {
            request.push(1);
            request.extend(address.octets());
        }
        SocksTarget::Name(name) => {
            request.extend([3, length(name.as_bytes(), "a host")?]);
            request.extend(name.as_bytes());
        }
        SocksTarget::Address(IpAddr::V6(address)) => {
            request.push(4);
            request.extend(address.octets());
        }
    }
    request.extend(port.to_be_bytes());
    send(io, &request).await?;
    // §6: the reply, and the address that the proxy connects from, which is of no interest.
    let [version, reply, _, form] = receive(io).await?;
    if version != 5 {
        return Err(no_socks("5"));
    }
    if reply != 0 {
        return Err(refused(match reply {
            1 => "a general failure",
            2 => "its rules do not allow it",
            3 => "the network cannot be reached",
            4 => "the host cannot be reached",
            5 => "the connection was refused",
            6 => "the time to live has expired",
            7 => "it does not know the command",
            8 => "it does not know this form of address",
            _ => "an unknown failure",
        }));
    }
    match form {
        1 => receive::<4>(io).await.map(drop)?,
        4 => receive::<16>(io).await.map(drop)?,
        3 => {
            let [count] = receive(io).await?;
            for _ in 0..count {
                receive::<1>(io).await?;
            }
        }
        _ => return Err(no_socks("5")),
    }
    receive::<2>(io).await.map(drop)
}

async fn open_4(
    io: &mut AnyTransport,
    user: &[u8],
    target: SocksTarget<'_>,
    port: u16,
) -> Result<(), Error> {
    if user.contains(&0) {
        return Err(invalid("the user of a SOCKS 4 proxy cannot have a NUL"));
    }
    let mut request = vec![4, 1];
    request.extend(port.to_be_bytes());
    match target {
        SocksTarget::Address(IpAddr::V4(address)) => {
            request.extend(address.octets());
            request.extend(user);
            request.push(0);
        }
        // 4a: an address that cannot be one says that a name follows.
        SocksTarget::Name(name) => {
            request.extend([0, 0, 0, 1]);
            request.extend(user);
            request.push(0);
            request.extend(name.as_bytes());
            request.push(0);
        }
        SocksTarget::Address(IpAddr::V6(address)) => {
            return Err(invalid(&format!("SOCKS 4 has no IPv6, and the host is at {address}")));
        }
    }
    send(io, &request).await?;
    let [0, reply, ..] = receive::<8>(io).await? else { return Err(no_socks("4")) };
    match reply {
        90 => Ok(()),
        91 => Err(refused("it did not say why")),
        92 => Err(auth("it cannot find out who asks, by ident")),
        93 => Err(auth("it knows the one who asks by another name")),
        _ => Err(no_socks("4")),
    }
}

async fn send(io: &mut AnyTransport, bytes: &[u8]) -> Result<(), Error> {
    let mut output = Output::default();
    output.put(bytes);
    let sent = poll_fn(|cx| io.poll_flush(cx, &mut output)).await;
    sent.map_err(|error| Error::io(error, Phase::Connect))
}

/// Takes the next bytes, and none behind them.
async fn receive<const N: usize>(io: &mut AnyTransport) -> Result<[u8; N], Error> {
    loop {
        if let Some(bytes) = io.received().first_chunk::<N>() {
            let bytes = *bytes;
            io.consume(N);
            return Ok(bytes);
        }
        match poll_fn(|cx| io.poll_fill(cx, N)).await {
            Ok(FillResult::Bytes(_)) => {}
            // There is room: fewer than N were received.
            Ok(FillResult::Full) => return Err(Error::new(ErrorKind::Internal, Phase::Connect)),
            Ok(FillResult::End) => {
                let end = io::Error::from(io::ErrorKind::UnexpectedEof);
                return Err(Error::io(end, Phase::Connect));
            }
            Err(error) => return Err(Error::io(error, Phase::Connect)),
        }
    }
}

fn length(text: &[u8], what: &str) -> Result<u8, Error> {
    let length = u8::try_from(text.len());
    length.map_err(|_| invalid(&format!("{what} of more than 255 bytes cannot be sent by SOCKS 5")))
}

fn invalid(why: &str) -> Error {
    Error::new(ErrorKind::InvalidMessage, Phase::Connect).with_detail(why)
}

fn refused(why: &str) -> Error {
    Error::new(ErrorKind::ProxyRefused, Phase::Connect).with_detail(why)
}

fn auth(why: &str) -> Error {
    Error::new(ErrorKind::ProxyAuth, Phase::Connect).with_detail(why)
}

fn no_socks(version: &str) -> Error {
    refused(&format!("it does not speak SOCKS {version}"))
}
