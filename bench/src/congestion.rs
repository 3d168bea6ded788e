//! Makes a server send with the congestion control cubic, whatever the system's default is.
//!
//! How far a sender runs ahead of a slow reader depends on its congestion control, which is a setting of
//! each socket. A connection inherits it from its listener, and a parent may copy the descriptors of its
//! child (`pidfd_getfd`), so that neither the system nor the contender has to be changed.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result, ensure};

use crate::usage;

const CUBIC: &[u8] = b"cubic";

/// Makes all connections that the process and its descendants accept on `port` from now on send with
/// cubic.
pub(crate) fn set_cubic(pid: i32, port: u16) -> Result<()> {
    let mut changed = 0;
    for pid in usage::tree(pid) {
        for descriptor in listeners(pid, port) {
            set_congestion_control(&copy(pid, descriptor).context("the listener")?)
                .context("TCP_CONGESTION")?;
            changed += 1;
        }
    }
    ensure!(changed > 0, "nothing listens on port {port}");
    Ok(())
}

/// The descriptors of the process that listen on `port`.
fn listeners(pid: i32, port: u16) -> Vec<RawFd> {
    let mut inodes = HashSet::new();
    for table in ["tcp", "tcp6"] {
        let text = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        inodes.extend(text.lines().skip(1).filter_map(|line| listener_inode(line, port)));
    }
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let listening = entries.filter(|entry| {
        usage::socket_inode(&entry.path()).is_some_and(|inode| inodes.contains(&inode))
    });
    listening.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The inode of a line of `/proc/net/tcp`, if the socket listens on `port`.
fn listener_inode(line: &str, port: u16) -> Option<u64> {
    const LISTEN: &str = "0A";
    let fields: Vec<_> = line.split_ascii_whitespace().collect();
    let (_, local_port) = fields.get(1)?.split_once(':')?;
    let is_match = *fields.get(3)? == LISTEN && u16::from_str_radix(local_port, 16).ok()? == port;
    if is_match { fields.get(9)?.parse().ok() } else { None }
}

/// Copies a descriptor of another process into this one.
fn copy(pid: i32, descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers.
    let process = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    let process = process.as_raw_fd();
    // SAFETY: the call takes three numbers.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process, descriptor, 0) })
}

/// The descriptor that a system call returned.
fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    match RawFd::try_from(result) {
        // SAFETY: it is fresh from the kernel, so this is its only owner.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_congestion_control(socket: &OwnedFd) -> io::Result<()> {
    let length = CUBIC.len() as libc::socklen_t;
    let (socket, value) = (socket.as_raw_fd(), CUBIC.as_ptr().cast());
    // SAFETY: `value` points at as many bytes as are stated.
    match unsafe {
        libc::setsockopt(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, value, length)
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_found_by_its_port_and_no_other() {
        let [one, other] = [0, 1].map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
        let pid = std::process::id() as i32;
        let port = one.local_addr().unwrap().port();
        let _connected = std::net::TcpStream::connect(other.local_addr().unwrap()).unwrap();
        assert_eq!(listeners(pid, port), [one.as_raw_fd()]);
    }
}
