//! One name, asked for over UDP or TCP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use hickory_proto::op::{Edns, Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

pub(crate) fn query(name: &str, kind: RecordType) -> Message {
    let mut message = Message::query();
    message.metadata.recursion_desired = true;
    let mut name = Name::from_ascii(name).unwrap();
    name.set_fqdn(true);
    message.queries.push(Query::query(name, kind));
    message
}

pub(crate) fn with_edns(mut message: Message, udp_bytes: u16) -> Message {
    let mut edns = Edns::new();
    edns.set_max_payload(udp_bytes);
    message.edns = Some(edns);
    message
}

pub(crate) async fn over_udp(server: SocketAddr, query: &Message) -> io::Result<Message> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    socket.connect(server).await?;
    socket.send(&query.to_vec().unwrap()).await?;
    let mut bytes = [0; 4096];
    let length = socket.recv(&mut bytes).await?;
    answer(query, &bytes[..length])
}

pub(crate) async fn over_tcp(server: SocketAddr, query: &Message) -> io::Result<Message> {
    let mut stream = TcpStream::connect(server).await?;
    let bytes = query.to_vec().unwrap();
    stream.write_u16(bytes.len() as u16).await?;
    stream.write_all(&bytes).await?;
    let mut bytes = vec![0; stream.read_u16().await?.into()];
    stream.read_exact(&mut bytes).await?;
    answer(query, &bytes)
}

fn answer(query: &Message, bytes: &[u8]) -> io::Result<Message> {
    let answer = Message::from_vec(bytes).map_err(io::Error::other)?;
    assert_eq!(answer.metadata.id, query.metadata.id);
    assert_eq!(answer.queries, query.queries);
    Ok(answer)
}

pub(crate) fn addresses(message: &Message) -> Vec<IpAddr> {
    let records = message.answers.iter();
    records
        .filter_map(|record| match &record.data {
            RData::A(a) => Some(IpAddr::V4(a.0)),
            RData::AAAA(aaaa) => Some(IpAddr::V6(aaaa.0)),
            _ => None,
        })
        .collect()
}

/// The address of a name, or the error kind.
pub(crate) async fn resolve(server: SocketAddr, name: &str) -> Result<IpAddr, &'static str> {
    let query = query(name, RecordType::A);
    let answer = over_udp(server, &query).await.map_err(|_| "dns_other")?;
    match answer.metadata.response_code {
        ResponseCode::NoError => addresses(&answer).first().copied().ok_or("dns_other"),
        ResponseCode::NXDomain => Err("dns_nxdomain"),
        ResponseCode::ServFail => Err("dns_servfail"),
        _ => Err("dns_other"),
    }
}
