//! Reads the hosts file, hosts(5).

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::addresses::Addresses;

/// The system's hosts file.
const HOSTS_FILE: &str = "/etc/hosts";

/// Which hosts file is honoured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hosts {
    Off,
    /// `/etc/hosts`, if there is one.
    System,
    File(PathBuf),
}

/// Names, in lower case, and their addresses in the file's order.
pub(super) type HostsTable = HashMap<Box<str>, Addresses>;

impl Hosts {
    /// Reads the file.
    pub(super) fn read(&self) -> io::Result<HostsTable> {
        match self {
            Self::Off => Ok(HostsTable::new()),
            Self::System => Ok(read(Path::new(HOSTS_FILE)).unwrap_or_default()),
            Self::File(path) => read(path).map_err(|error| {
                let text = format!("cannot read the hosts file {}: {error}", path.display());
                io::Error::new(error.kind(), text)
            }),
        }
    }
}

fn read(path: &Path) -> io::Result<HostsTable> {
    Ok(parse(&String::from_utf8_lossy(&fs::read(path)?)))
}

/// One line: an address, then names. What follows `#` is a comment; a line that makes no sense is
/// skipped, as every resolver does.
fn parse(text: &str) -> HostsTable {
    let mut found: HashMap<Box<str>, Vec<IpAddr>> = HashMap::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_ascii_whitespace();
        let Some(Ok(address)) = words.next().map(str::parse::<IpAddr>) else { continue };
        for name in words {
            let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
            let addresses = found.entry(name.into()).or_default();
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    found.into_iter().map(|(name, addresses)| (name, addresses.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_line_gets_its_address() {
        let table = parse(
            "# a comment\n\
             127.0.0.1 localhost\n\
             10.0.0.1\tOne.example one # the first\n\
             ::1 one.example\n\
             10.0.0.1 one.example\n\
             not-an-address two\n\
             10.0.0.2",
        );
        let addresses = |name: &str| table.get(name).map(|found| found.to_vec());
        let one: IpAddr = "10.0.0.1".parse().unwrap();
        assert_eq!(addresses("one.example"), Some(vec![one, "::1".parse().unwrap()]));
        assert_eq!(addresses("one"), Some(vec![one]));
        assert_eq!(addresses("two"), None);
    }
}
