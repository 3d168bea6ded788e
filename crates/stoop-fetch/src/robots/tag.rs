//! X-Robots-Tag: what a response says about its own use.
//!
//! No RFC defines it. What is read is what Google, Bing and MDN describe: rules with commas between them, in any
//! number of fields; `name:` in front of one makes it and those behind it in its field rules for that agent.

mod date;

use std::fmt::{self, Display, Formatter};
use std::time::SystemTime;

/// What a response's X-Robots-Tag fields say to one agent: the rules for all, and those for the agent by its name.
/// A rule that was given once holds; there is none that takes it back.
///
/// ```
/// use stoop_fetch::robots::RobotsTag;
///
/// let fields = ["noarchive, max-snippet: 50", "examplebot: noindex, nofollow, otherbot: noai"];
/// let tag = RobotsTag::parse(fields.iter().map(|field| field.as_bytes()), "ExampleBot");
/// assert!(tag.noindex && tag.nofollow && tag.noarchive && !tag.noai);
/// assert_eq!(tag.max_snippet, Some(50));
/// assert_eq!(tag.to_string(), "noindex, nofollow, noarchive, max-snippet: 50");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RobotsTag {
    /// The page is not to be found by a search: `noindex`, or `none`.
    pub noindex: bool,
    /// The links of the page are not to be followed: `nofollow`, or `none`.
    pub nofollow: bool,
    /// No copy of it is to be offered: `noarchive`, or `nocache`.
    pub noarchive: bool,
    /// No part of its text or of its videos is to be shown: `nosnippet`.
    pub nosnippet: bool,
    /// Its images are not to be found by a search: `noimageindex`.
    pub noimageindex: bool,
    /// No translation of it is to be offered: `notranslate`.
    pub notranslate: bool,
    /// It is not to be used to train models: `noai`.
    pub noai: bool,
    /// Its images are not to be used to train models: `noimageai`.
    pub noimageai: bool,
    /// Where it is embedded into another page, it may be found in spite of `noindex`: `indexifembedded`.
    pub indexifembedded: bool,
    /// How many characters of its text may be shown, the least that was given. -1 is any number.
    pub max_snippet: Option<i64>,
    /// How many seconds of its videos may be shown, the least that was given. -1 is any number.
    pub max_video_preview: Option<i64>,
    /// How large an image of it may be shown, the smallest that was given.
    pub max_image_preview: Option<ImagePreview>,
    /// When it is no longer to be found by a search, the earliest that was given. A date that cannot be read is
    /// no rule.
    pub unavailable_after: Option<SystemTime>,
}

/// A value of `max-image-preview`, smaller ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImagePreview {
    /// None at all.
    None,
    /// One of the usual size.
    Standard,
    /// One as wide as the window.
    Large,
}

impl RobotsTag {
    /// Reads the values of all X-Robots-Tag fields of a response, and those of its `<meta name="robots">` elements, which
    /// have the same rules; that of an element with the name of an agent needs `name:` in front. `agent` is a product token,
    /// in any case. A rule that is not known is passed over.
    pub fn parse<'a>(fields: impl IntoIterator<Item = &'a [u8]>, agent: &str) -> Self {
        let mut tag = Self::default();
        for field in fields {
            tag.read_field(&String::from_utf8_lossy(field), agent);
        }
        tag
    }

    fn read_field(&mut self, field: &str, agent: &str) {
        let mut is_about_agent = true;
        let mut rest = field;
        while !rest.is_empty() {
            let mut rule;
            (rule, rest) = rest.split_once(',').unwrap_or((rest, ""));
            while let Some((name, value)) = rule.split_once(':') {
                let name = name.trim();
                if !is_rule_with_value(name) {
                    is_about_agent = name == "*"
                        || name.eq_ignore_ascii_case("robots")
                        || name.eq_ignore_ascii_case(agent);
                    rule = value;
                    continue;
                }
                let mut value = value.trim();
                // The comma behind a weekday is a part of the date.
                if name.eq_ignore_ascii_case("unavailable_after") && date::is_weekday(value) {
                    (value, rest) = rest.split_once(',').unwrap_or((rest, ""));
                }
                if is_about_agent {
                    self.set_value(name, value.trim());
                }
                rule = "";
            }
            if is_about_agent {
                self.set(rule.trim());
            }
        }
    }

    fn set(&mut self, rule: &str) {
        match rule.to_ascii_lowercase().as_str() {
            "noindex" => self.noindex = true,
            "nofollow" => self.nofollow = true,
            "none" => (self.noindex, self.nofollow) = (true, true),
            "noarchive" | "nocache" => self.noarchive = true,
            "nosnippet" => self.nosnippet = true,
            "noimageindex" => self.noimageindex = true,
            "notranslate" => self.notranslate = true,
            "noai" => self.noai = true,
            "noimageai" => self.noimageai = true,
            "indexifembedded" => self.indexifembedded = true,
            _ => {}
        }
    }

    fn set_value(&mut self, name: &str, value: &str) {
        match name.to_ascii_lowercase().as_str() {
            "max-snippet" => self.max_snippet = least(self.max_snippet, value),
            "max-video-preview" => self.max_video_preview = least(self.max_video_preview, value),
            "max-image-preview" => {
                let preview = match value.to_ascii_lowercase().as_str() {
                    "none" => ImagePreview::None,
                    "standard" => ImagePreview::Standard,
                    "large" => ImagePreview::Large,
                    _ => return,
                };
                self.max_image_preview =
                    Some(self.max_image_preview.map_or(preview, |known| known.min(preview)));
            }
            _ => {
                let Some(at) = date::parse(value) else { return };
                self.unavailable_after =
                    Some(self.unavailable_after.map_or(at, |known| known.min(at)));
            }
        }
    }
}

/// The rules, as one X-Robots-Tag field of them for all agents.
impl Display for RobotsTag {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { max_snippet, max_video_preview, max_image_preview, unavailable_after, .. } =
            self;
        let plain = [
            ("noindex", self.noindex),
            ("nofollow", self.nofollow),
            ("noarchive", self.noarchive),
            ("nosnippet", self.nosnippet),
            ("noimageindex", self.noimageindex),
            ("notranslate", self.notranslate),
            ("noai", self.noai),
            ("noimageai", self.noimageai),
            ("indexifembedded", self.indexifembedded),
        ];
        let preview = max_image_preview.map(|preview| match preview {
            ImagePreview::None => "none".to_owned(),
            ImagePreview::Standard => "standard".to_owned(),
            ImagePreview::Large => "large".to_owned(),
        });
        let with_values = [
            ("max-snippet", max_snippet.map(|number| number.to_string())),
            ("max-video-preview", max_video_preview.map(|number| number.to_string())),
            ("max-image-preview", preview),
            ("unavailable_after", unavailable_after.and_then(date::text)),
        ];
        let plain = plain.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| (name, None));
        let with_values = with_values.into_iter().filter(|(_, value)| value.is_some());
        for (at, (name, value)) in plain.chain(with_values).enumerate() {
            f.write_str(if at > 0 { ", " } else { "" })?;
            f.write_str(name)?;
            if let Some(value) = value {
                write!(f, ": {value}")?;
            }
        }
        Ok(())
    }
}

fn is_rule_with_value(name: &str) -> bool {
    ["max-snippet", "max-video-preview", "max-image-preview", "unavailable_after"]
        .iter()
        .any(|rule| name.eq_ignore_ascii_case(rule))
}

/// The lesser of two numbers, of which -1 is more than any.
fn least(known: Option<i64>, value: &str) -> Option<i64> {
    let Some(number) = value.parse::<i64>().ok().filter(|number| *number >= -1) else {
        return known;
    };
    let size = |number: i64| if number == -1 { i64::MAX } else { number };
    Some(known.map_or(number, |known| if size(number) < size(known) { number } else { known }))
}
