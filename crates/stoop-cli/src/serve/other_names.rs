//! Options that other servers have by other names: their values are refused by what to write here.

use clap::Args;

/// What users of other servers type.
#[derive(Args, Debug)]
pub(super) struct OtherNames {
    /// What other servers call --listen
    #[arg(short, long, value_name = "PORT", hide = true, value_parser = port)]
    port: Option<String>,

    /// The same with an address
    #[arg(short, long, value_name = "ADDR", hide = true, value_parser = bind)]
    bind: Option<String>,

    /// What other servers call the directory
    #[arg(short, long = "directory", alias = "root", value_name = "DIR", hide = true, value_parser = directory)]
    directory_named: Option<String>,

    /// What other servers call --compress
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "", value_parser = gzip)]
    gzip: Option<String>,

    /// What other servers take behind the directory
    #[arg(value_name = "PORT", hide = true, value_parser = second_word)]
    second: Option<String>,
}

fn port(port: &str) -> Result<String, String> {
    Err(format!("write '-l {port}', or '-l 0.0.0.0:{port}' for all machines of the network"))
}

fn bind(address: &str) -> Result<String, String> {
    let with_port = match address.contains(':') && !address.ends_with(']') {
        true if address.parse::<std::net::Ipv6Addr>().is_ok() => format!("[{address}]:8080"),
        true => address.to_owned(),
        false => format!("{address}:8080"),
    };
    Err(format!("write '-l {with_port}'"))
}

fn directory(directory: &str) -> Result<String, String> {
    Err(format!("the directory needs no option: 'stoop serve {directory}'"))
}

fn gzip(_: &str) -> Result<String, String> {
    Err("write '--compress', which is gzip, Brotli and zstd".to_owned())
}

/// Tells what the second word is to be.
fn second_word(word: &str) -> Result<String, String> {
    let is_place = word.starts_with("unix:")
        || word.rsplit_once(':').map_or(word, |(_, port)| port).parse::<u16>().is_ok();
    Err(match is_place {
        true => format!("did you mean '-l {word}'?"),
        false => {
            "one directory is served; a name with a space in it goes between quotes".to_owned()
        }
    })
}
