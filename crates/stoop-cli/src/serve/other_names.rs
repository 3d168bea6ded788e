//! Options that other servers have by other names: they are refused by what to write here.

use clap::Args;

/// What users of other servers type.
#[derive(Args, Debug)]
pub(super) struct OtherNames {
    /// What other servers call --listen
    #[arg(short, long, value_name = "PORT", hide = true, value_parser = port)]
    port: Option<String>,

    /// The same with an address
    #[arg(short, long, aliases = ["host", "address"], value_name = "ADDR", hide = true, value_parser = bind)]
    bind: Option<String>,

    /// What other servers call the directory
    #[arg(short, long = "directory", alias = "root", value_name = "DIR", hide = true, value_parser = directory)]
    directory_named: Option<String>,

    /// What other servers take behind the directory
    #[arg(value_name = "PORT", hide = true, value_parser = second_word)]
    second: Option<String>,
}

/// What to write in place of an option that other servers have and this one does not know, whatever its value is.
pub(crate) fn instead_of(option: &str) -> Option<&'static str> {
    Some(match option {
        "--gzip" | "--brotli" | "--zstd" => "write '--compress', which is gzip, Brotli and zstd",
        "--browse" | "--autoindex" => "write '--listing'",
        "--single" => "write '--spa'",
        "--precompressed" => "name.br, name.zst and name.gz beside a file need no option",
        "--tls-cert" | "--tls-key" | "--cert" | "--key" | "--ssl" => "write '--tls CERT KEY'",
        "-c" => "write '--config FILE'; the file is TOML",
        "-t" => "write '--check'",
        _ => return None,
    })
}

fn port(port: &str) -> Result<String, String> {
    // Python calls the version of HTTP -p.
    let port = if port.parse::<u16>().is_ok() { port } else { "PORT" };
    Err(format!("write '-l {port}', or '-l 0.0.0.0:{port}' for all machines of the network"))
}

fn bind(address: &str) -> Result<String, String> {
    let is_place =
        address.parse::<u16>().is_ok() || address.contains(':') && !address.ends_with(']');
    let with_port = match is_place {
        true if address.parse::<std::net::Ipv6Addr>().is_ok() => format!("[{address}]:8080"),
        true => address.to_owned(),
        false => format!("{address}:8080"),
    };
    Err(format!("write '-l {with_port}'"))
}

fn directory(directory: &str) -> Result<String, String> {
    Err(format!("the directory needs no option: 'stoop serve {directory}'"))
}

/// Whether text that was typed elsewhere was perhaps meant to be a place: a port, what ends with one, or a Unix socket.
pub(super) fn looks_like_place(text: &str) -> bool {
    let port = text.rsplit_once(':').map_or(text, |(_, port)| port);
    text.starts_with("unix:") || port.parse::<u16>().is_ok()
}

/// Tells what the second word is to be.
fn second_word(word: &str) -> Result<String, String> {
    Err(match looks_like_place(word) {
        true => format!("did you mean '-l {word}'?"),
        false => {
            "one directory is served; a name with a space in it goes between quotes".to_owned()
        }
    })
}
