//! The options of `stoop fetch` on what is told of answers beyond status, length and time.

use clap::{Args, ValueEnum};
use stoop_fetch::{Extract, Fetch};

use super::output_args::LineFormat;
use crate::failure::CommandFailure;

/// What is told of answers.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Content")]
pub(crate) struct ExtractArgs {
    /// Tell these of each answer in jsonl
    ///
    /// May be several, separated by commas. No further request is made for any of them: the hash of an icon is that of a URL
    /// such as https://HOST/favicon.ico
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    extract: Vec<Fact>,

    /// Have text as UTF-8, in files of --save and in -f parquet and -f tar
    ///
    /// That is where the server or the text itself says that it is in another encoding. Digests and lengths stay those of
    /// the content as received, and so does the charset of its headers. Not for -f warc, which keeps what was received
    #[arg(long)]
    text_as_utf8: bool,
}

/// What can be told of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Fact {
    /// the title of a page in HTML
    Title,
    /// the header Server
    Server,
    /// the header Content-Length, also with --head
    Length,
    /// the redirects: status and URL of each answer on the way
    Chain,
    /// version, cipher and ALPN of TLS, and the server's certificate with its whole names
    #[cfg(feature = "tls")]
    Tls,
    /// the hash by which Shodan tells icons apart, of images
    Favicon,
    /// the media type that the content looks like
    Type,
    /// the encoding of text
    Charset,
    /// noindex, nofollow and the like, of X-Robots-Tag and <meta name="robots">
    Robots,
    /// all of these
    All,
}

impl Fact {
    const EACH: &[Extract] = &[
        Extract::Title,
        Extract::Server,
        Extract::Length,
        Extract::Chain,
        #[cfg(feature = "tls")]
        Extract::Tls,
        Extract::Favicon,
        Extract::Type,
        Extract::Charset,
        Extract::Robots,
    ];

    /// What the library tells for it.
    fn told(self) -> &'static [Extract] {
        match self {
            Self::Title => &[Extract::Title],
            Self::Server => &[Extract::Server],
            Self::Length => &[Extract::Length],
            Self::Chain => &[Extract::Chain],
            #[cfg(feature = "tls")]
            Self::Tls => &[Extract::Tls],
            Self::Favicon => &[Extract::Favicon],
            Self::Type => &[Extract::Type],
            Self::Charset => &[Extract::Charset],
            Self::Robots => &[Extract::Robots],
            Self::All => Self::EACH,
        }
    }

    /// Its name as an option, where it is read from content.
    fn name_of_content(self) -> Option<&'static str> {
        match self {
            Self::Title => Some("title"),
            Self::Favicon => Some("favicon"),
            Self::Type => Some("type"),
            Self::Charset => Some("charset"),
            Self::Server | Self::Length | Self::Chain | Self::Robots | Self::All => None,
            #[cfg(feature = "tls")]
            Self::Tls => None,
        }
    }
}

impl ExtractArgs {
    /// Whether anything asked for could be told.
    ///
    /// # Errors
    /// [`CommandFailure::Usage`] for a format without these fields, and for content that is not received.
    pub(super) fn check(
        &self,
        format: LineFormat,
        has_content: bool,
    ) -> Result<(), CommandFailure> {
        if !self.extract.is_empty() && matches!(format, LineFormat::Csv | LineFormat::Pretty) {
            let text =
                "--extract needs --format jsonl: lines of csv and pretty have no place for it";
            return Err(CommandFailure::Usage(text.to_owned()));
        }
        let of_content = self.extract.iter().find_map(|fact| fact.name_of_content());
        match of_content.filter(|_| !has_content) {
            Some(name) => Err(CommandFailure::Usage(format!(
                "--extract {name} is read from the content, which --head and --no-content leave out; \
                 server, length, chain and tls are not"
            ))),
            None => Ok(()),
        }
    }

    /// Whether there is text that could become UTF-8: it is saved, or written in this format.
    ///
    /// # Errors
    /// [`CommandFailure::Usage`] if not, with what to do instead.
    pub(super) fn check_text(
        &self,
        format: LineFormat,
        has_place: bool,
    ) -> Result<(), CommandFailure> {
        let fault = match (self.text_as_utf8, format) {
            (true, LineFormat::Warc) => {
                "--text-as-utf8 is not for -f warc, which keeps content as it was received: use -f parquet, -f tar or \
                 --save DIR with another format"
            }
            (true, _) if !has_place => {
                "--text-as-utf8 needs content that is kept: add --save DIR, -f parquet or -f tar, without --no-body, \
                 --no-content and --head"
            }
            _ => return Ok(()),
        };
        Err(CommandFailure::Usage(fault.to_owned()))
    }

    /// What of it shapes the lines, by the names of the options.
    pub(super) fn shape(&self) -> [(&'static str, String); 2] {
        let names = self.extract.iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<_> = names.map(|value| value.get_name().to_owned()).collect();
        let text_as_utf8 = if self.text_as_utf8 { "on" } else { "" };
        [("--extract", names.join(",")), ("--text-as-utf8", text_as_utf8.to_owned())]
    }

    /// Tells the library.
    pub(super) fn apply(&self, fetch: Fetch) -> Fetch {
        fetch
            .extract(self.extract.iter().flat_map(|fact| fact.told()).copied())
            .text_as_utf8(self.text_as_utf8)
    }
}
