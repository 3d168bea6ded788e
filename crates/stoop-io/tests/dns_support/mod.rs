//! A DNS server that answers as a test wants, by UDP and TCP.
#![allow(dead_code, missing_docs, unreachable_pub)]

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub const A: u16 = 1;
pub const AAAA: u16 = 28;
pub const HTTPS: u16 = 65;

/// A question that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub name: String,
    /// [`A`], [`AAAA`] or [`HTTPS`].
    pub record: u16,
    pub tcp: bool,
    /// Whether it came with EDNS.
    pub extended: bool,
}

/// How to answer a question.
#[derive(Clone, Debug)]
pub enum ScriptedReply {
    /// These addresses, as far as they are of the family asked for, with a TTL in seconds.
    Addresses(Vec<IpAddr>, u32),
    /// The same for another name, behind an alias.
    Alias(&'static str, Vec<IpAddr>, u32),
    /// The data of HTTPS records, with a TTL in seconds.
    Https(Vec<Vec<u8>>, u32),
    NxDomain,
    /// The name exists, without such records.
    NoData,
    /// Any other code.
    Code(u8),
    Silence,
    /// Truncated: the response comes by TCP.
    Truncated,
    /// The response to another question.
    Forged,
    /// Another reply, later.
    After(Duration, Box<ScriptedReply>),
}

/// A server on a port of 127.0.0.1 of its own.
pub struct TestServer {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Question>>>,
    open: Arc<OpenQuestions>,
}

/// Questions that are not answered yet, except those that never are.
#[derive(Default)]
struct OpenQuestions {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl TestServer {
    pub fn start(say: impl Fn(&Question) -> ScriptedReply + Send + Sync + 'static) -> Self {
        let (udp, tcp) = ports();
        let address = udp.local_addr().unwrap();
        let (asked, say) = (Arc::new(Mutex::new(Vec::new())), Arc::new(say));
        let open = Arc::<OpenQuestions>::default();
        let note = {
            let (asked, open) = (asked.clone(), open.clone());
            move |message: &[u8], tcp: bool| {
                let question = read(message, tcp)?;
                asked.lock().unwrap().push(question.clone());
                let reply = say(&question);
                if !matches!(reply, ScriptedReply::Silence) {
                    let now = open.now.fetch_add(1, Ordering::SeqCst) + 1;
                    open.most.fetch_max(now, Ordering::SeqCst);
                }
                Some((question, reply, open.clone()))
            }
        };
        let over_tcp = note.clone();
        thread::spawn(move || {
            let mut buffer = [0; 1500];
            while let Ok((n, from)) = udp.recv_from(&mut buffer) {
                let message = buffer[..n].to_vec();
                let Some((question, reply, open)) = note(&message, false) else { continue };
                let socket = udp.try_clone().unwrap();
                send(message, question, reply, move |bytes| {
                    open.now.fetch_sub(1, Ordering::SeqCst);
                    let _ = socket.send_to(&bytes, from);
                });
            }
        });
        thread::spawn(move || {
            for stream in tcp.incoming().flatten() {
                let note = over_tcp.clone();
                thread::spawn(move || {
                    let mut stream = stream;
                    let mut length = [0; 2];
                    while stream.read_exact(&mut length).is_ok() {
                        let mut message = vec![0; u16::from_be_bytes(length).into()];
                        stream.read_exact(&mut message).unwrap();
                        let Some((question, reply, open)) = note(&message, true) else { continue };
                        let mut to = stream.try_clone().unwrap();
                        send(message, question, reply, move |bytes| {
                            open.now.fetch_sub(1, Ordering::SeqCst);
                            let length = (bytes.len() as u16).to_be_bytes();
                            let _ = to.write_all(&[&length, &bytes[..]].concat());
                        });
                    }
                });
            }
        });
        Self { address, asked, open }
    }

    /// How often `name` was asked for.
    pub fn asked(&self, name: &str, record: u16) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|q| q.name == name && q.record == record).count()
    }

    /// The most questions that were waiting for an answer at once.
    pub fn open_max(&self) -> usize {
        self.open.most.load(Ordering::SeqCst)
    }

    /// Everything that was asked.
    pub fn questions(&self) -> Vec<Question> {
        self.asked.lock().unwrap().clone()
    }
}

/// The same port for both protocols.
fn ports() -> (UdpSocket, TcpListener) {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()) {
            return (udp, tcp);
        }
    }
}

fn read(message: &[u8], tcp: bool) -> Option<Question> {
    let mut at = 12;
    let mut labels = Vec::new();
    loop {
        let len = usize::from(*message.get(at)?);
        at += 1;
        if len == 0 {
            break;
        }
        labels.push(String::from_utf8(message.get(at..at + len)?.to_vec()).ok()?);
        at += len;
    }
    let record = u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]);
    let extended = message[11] > 0;
    Some(Question { name: labels.join(".").to_ascii_lowercase(), record, tcp, extended })
}

fn send(
    message: Vec<u8>,
    question: Question,
    reply: ScriptedReply,
    to: impl FnOnce(Vec<u8>) + Send + 'static,
) {
    match reply {
        ScriptedReply::Silence => {}
        ScriptedReply::After(delay, reply) => {
            thread::spawn(move || {
                thread::sleep(delay);
                send(message, question, *reply, to);
            });
        }
        reply => to(write(&message, &question, &reply)),
    }
}

/// RFC 1035 §4.1.
fn write(message: &[u8], question: &Question, reply: &ScriptedReply) -> Vec<u8> {
    let end = 12 + question.name.len() + 2 + 4;
    let mut answer = message[..end].to_vec();
    let mut records = Vec::new();
    let (mut code, mut flags, mut count, mut denials) = (0, 0x81, 0u16, 0);
    let mut put = |name: &[u8], record: u16, ttl: u32, data: &[u8]| {
        records.extend_from_slice(name);
        records.extend_from_slice(&record.to_be_bytes());
        records.extend_from_slice(&[0, 1]);
        records.extend_from_slice(&ttl.to_be_bytes());
        records.extend_from_slice(&(data.len() as u16).to_be_bytes());
        records.extend_from_slice(data);
    };
    // A pointer to the question's name.
    const SAME: &[u8] = &[0xc0, 12];
    let mut addresses = |name: &[u8], all: &[IpAddr], ttl| {
        for address in all {
            match address {
                IpAddr::V4(v4) if question.record == A => put(name, A, ttl, &v4.octets()),
                IpAddr::V6(v6) if question.record == AAAA => put(name, AAAA, ttl, &v6.octets()),
                _ => continue,
            }
            count += 1;
        }
    };
    match reply {
        ScriptedReply::Addresses(all, ttl) => addresses(SAME, all, *ttl),
        ScriptedReply::Alias(alias, all, ttl) => {
            let target = labels(alias);
            addresses(&target, all, *ttl);
            put(SAME, 5, *ttl, &target);
            count += 1;
        }
        ScriptedReply::Https(all, ttl) => {
            for data in all {
                put(SAME, HTTPS, *ttl, data);
                count += 1;
            }
        }
        ScriptedReply::NxDomain | ScriptedReply::NoData => {
            code = if matches!(reply, ScriptedReply::NxDomain) { 3 } else { 0 };
            // A start of authority that lets denials be remembered for a minute.
            let numbers = [1u32, 60, 60, 60, 60].map(u32::to_be_bytes).concat();
            put(SAME, 6, 60, &[&[0, 0], &numbers[..]].concat());
            denials = 1;
        }
        ScriptedReply::Code(other) => code = *other,
        ScriptedReply::Truncated => flags |= 2,
        ScriptedReply::Forged => {
            answer[13] ^= 1;
            addresses(SAME, &["10.6.6.6".parse().unwrap()], 60);
        }
        ScriptedReply::Silence | ScriptedReply::After(..) => unreachable!("handled before"),
    }
    answer[2] = flags;
    answer[3] = 0x80 | code;
    answer[6..8].copy_from_slice(&count.to_be_bytes());
    answer[8..12].copy_from_slice(&[0, denials, 0, 0]);
    answer.extend(records);
    answer
}

/// The data of an HTTPS record: RFC 9460 §2.2.
pub fn https(priority: u16, target: &str, parameters: &[(u16, &[u8])]) -> Vec<u8> {
    let mut data = [&priority.to_be_bytes()[..], &labels(target)].concat();
    for (key, value) in parameters {
        let length = value.len() as u16;
        data.extend([key.to_be_bytes(), length.to_be_bytes()].concat());
        data.extend_from_slice(value);
    }
    data
}

fn labels(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.split('.').filter(|label| !label.is_empty()) {
        bytes.push(label.len() as u8);
        bytes.extend_from_slice(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

/// Addresses from their texts.
pub fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}
