#![allow(missing_docs, unreachable_pub)]
/// stub
#[derive(Clone)]
pub struct Resolver;
#[derive(Debug)]
pub struct DnsError;
impl std::fmt::Display for DnsError {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
/// stub
pub enum DnsErrorKind {
    NxDomain,
    ServFail,
    Timeout,
    InvalidName,
    NoRecords,
    Other,
}
impl DnsError {
    pub fn kind(&self) -> DnsErrorKind {
        DnsErrorKind::Other
    }
}
impl Resolver {
    pub fn system() -> Self {
        Self
    }
    pub fn with_servers(_: &[std::net::SocketAddr]) -> Self {
        Self
    }
    pub async fn lookup(&self, _: &str) -> Result<Vec<std::net::IpAddr>, DnsError> {
        Err(DnsError)
    }
}
pub fn is_public(_: std::net::IpAddr) -> bool {
    false
}
