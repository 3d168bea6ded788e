//! Where connections of a client leave this machine, and how their sockets are set.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpSocket, TcpStream};

/// The local address, and the network interface, that connections leave from. By default the kernel chooses
/// both, by the address that is connected to, and no idle connection is probed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalEnd {
    /// For connections to IPv4 addresses.
    pub ipv4: Option<Ipv4Addr>,
    /// For connections to IPv6 addresses.
    pub ipv6: Option<Ipv6Addr>,
    /// The name of the interface, such as `eth0`: on Linux and Android alone. Elsewhere to name one is an
    /// error of each connection.
    pub interface: Option<Box<str>>,
    /// Has the kernel probe a connection on which nothing came for so long, and then as often again: `SO_KEEPALIVE`,
    /// in whole seconds (RFC 9293 §3.8.4).
    pub keepalive: Option<Duration>,
}

impl LocalEnd {
    /// Whether an address can be connected to: where there is a local address of one family alone, no
    /// connection leaves from an address that was not named.
    pub fn allows(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(_) => self.ipv4.is_some() || self.ipv6.is_none(),
            IpAddr::V6(_) => self.ipv6.is_some() || self.ipv4.is_none(),
        }
    }

    pub(crate) async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        if let Some(interface) = &self.interface {
            bind_interface(&socket, interface)?;
        }
        if let Some(time) = self.keepalive {
            SockRef::from(&socket).set_tcp_keepalive(&probes(time))?;
        }
        let local = match address {
            SocketAddr::V4(_) => self.ipv4.map(IpAddr::V4),
            SocketAddr::V6(_) => self.ipv6.map(IpAddr::V6),
        };
        if let Some(local) = local {
            leave_port_open(&socket)?;
            socket.bind(SocketAddr::new(local, 0))?;
        }
        socket.connect(address).await
    }
}

/// The times of probes: systems take no less than a second, and Linux no more than this (`MAX_TCP_KEEPIDLE`).
fn probes(time: Duration) -> TcpKeepalive {
    const MAX: Duration = Duration::from_secs(32_767);
    let time = time.clamp(Duration::from_secs(1), MAX);
    let probes = TcpKeepalive::new().with_time(time);
    // OpenBSD has one interval for all sockets.
    #[cfg(not(target_os = "openbsd"))]
    let probes = probes.with_interval(time);
    probes
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn bind_interface(socket: &TcpSocket, name: &str) -> io::Result<()> {
    socket.bind_device(Some(name.as_bytes()))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn bind_interface(_: &TcpSocket, _: &str) -> io::Result<()> {
    let text = "a network interface cannot be chosen on this system";
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

/// Has the kernel choose the port when it connects: by the remote address as well, so that there are as many for
/// each. Chosen by `bind` there are as many in all.
#[cfg(target_os = "linux")]
fn leave_port_open(socket: &TcpSocket) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open as long as the socket is, and the option is one int, which outlives
    // the call.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn leave_port_open(_: &TcpSocket) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_connection_leaves_from_an_address_that_was_not_named() {
        let (four, six) = (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST));
        let any = LocalEnd::default();
        assert!(any.allows(four) && any.allows(six));
        let only_four = LocalEnd { ipv4: Some(Ipv4Addr::LOCALHOST), ..LocalEnd::default() };
        assert!(only_four.allows(four) && !only_four.allows(six));
        let both = LocalEnd { ipv6: Some(Ipv6Addr::LOCALHOST), ..only_four };
        assert!(both.allows(four) && both.allows(six));
    }

    #[tokio::test]
    async fn a_connection_leaves_from_the_address_and_the_interface_that_were_named() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let local = LocalEnd {
            ipv4: Some(Ipv4Addr::new(127, 0, 7, 9)),
            interface: cfg!(target_os = "linux").then(|| "lo".into()),
            ..LocalEnd::default()
        };
        let stream = local.connect(listener.local_addr().unwrap()).await.unwrap();
        let (_, peer) = listener.accept().await.unwrap();
        assert_eq!(
            (peer.ip(), peer),
            (Ipv4Addr::new(127, 0, 7, 9).into(), stream.local_addr().unwrap())
        );
    }

    #[tokio::test]
    async fn an_idle_connection_is_probed_if_that_is_asked_for() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        for (typed, seconds) in [
            (None, None),
            (Some(30_000), Some(30)),
            (Some(1), Some(1)),
            (Some(u64::MAX), Some(32_767)),
        ] {
            let keepalive = typed.map(Duration::from_millis);
            let local = LocalEnd { keepalive, ..LocalEnd::default() };
            let stream = local.connect(address).await.unwrap();
            let socket = SockRef::from(&stream);
            assert_eq!(socket.keepalive().unwrap(), seconds.is_some());
            let Some(seconds) = seconds.map(Duration::from_secs) else { continue };
            assert_eq!(socket.tcp_keepalive_time().unwrap(), seconds);
            assert_eq!(socket.tcp_keepalive_interval().unwrap(), seconds);
        }
    }

    /// One process may connect from one address to as many others as there are ports for each.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn ports_are_chosen_for_each_remote_address() {
        let local = LocalEnd { ipv4: Some(Ipv4Addr::LOCALHOST), ..LocalEnd::default() };
        let socket = TcpSocket::new_v4().unwrap();
        leave_port_open(&socket).unwrap();
        socket.bind(SocketAddr::new(local.ipv4.unwrap().into(), 0)).unwrap();
        assert_eq!(socket.local_addr().unwrap().port(), 0, "not chosen yet");
    }

    #[tokio::test]
    async fn an_interface_or_address_that_is_not_there_is_an_error() {
        let address = "127.0.0.1:9".parse().unwrap();
        let no_interface = LocalEnd { interface: Some("none0".into()), ..LocalEnd::default() };
        assert!(no_interface.connect(address).await.is_err());
        let elsewhere = LocalEnd { ipv4: Some([192, 0, 2, 1].into()), ..LocalEnd::default() };
        let error = elsewhere.connect(address).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
    }
}
