//! Where in a document the reader is, and which elements there have a URL.

use quick_xml::events::BytesStart;
use quick_xml::events::attributes::Attribute;
use quick_xml::name::{Prefix, QName};

/// Elements within elements, at most.
const DEPTH_MAX: usize = 64;
/// A URL of more bytes is none, as one of a list.
const URL_BYTES_MAX: usize = 64 << 10;
/// A tag of more bytes is an error.
const TAG_BYTES_MAX: usize = 64 << 10;

/// The element that is the whole document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    UrlSet,
    Index,
    Rss,
    Feed,
}

/// What an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Root(Root),
    /// Of RSS, around its items.
    Channel,
    /// What has one URL: of a page, or of a sitemap.
    Item(Root),
    /// Whose text is the URL.
    Url(Root),
    Other,
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The URL of a page.
    Page,
    /// The URL of a sitemap.
    Sitemap,
    /// One that is not right, and why.
    Invalid(String),
    Nothing,
    End,
}

/// The place in a document.
#[derive(Debug, Default)]
pub(super) struct Places {
    open: Vec<Element>,
    /// The prefix of the root element's name. What has another one is of another namespace.
    prefix: Option<String>,
    has_root: bool,
    /// The item has a URL.
    has_url: bool,
    url: String,
    is_overlong: bool,
    fault: Option<String>,
}

impl Places {
    /// The URL that was found last, or what there is of it.
    pub(super) fn url(&self) -> &str {
        self.url.trim()
    }

    /// That was its beginning alone.
    pub(super) fn is_overlong(&self) -> bool {
        self.is_overlong
    }

    /// Whether an element is open.
    pub(super) fn is_within(&self) -> bool {
        !self.open.is_empty()
    }

    pub(super) fn has_root(&self) -> bool {
        self.has_root
    }

    /// Whether the text is that of a URL.
    pub(super) fn is_within_url(&self) -> bool {
        matches!(self.open.last(), Some(Element::Url(_)))
    }

    /// An element begins.
    pub(super) fn begin(&mut self, tag: &BytesStart<'_>) -> Result<Found, String> {
        if self.open.len() >= DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} elements within each other"));
        }
        if tag.len() > TAG_BYTES_MAX {
            return Err("a tag of more than 64 KiB".to_owned());
        }
        let name = tag.name();
        let element = match self.open.last() {
            None => self.root(name)?,
            Some(parent) if self.is_of_root(name) => child(*parent, name.local_name().into_inner()),
            Some(_) => Element::Other,
        };
        let mut found = Found::Nothing;
        match element {
            Element::Item(_) => self.has_url = false,
            Element::Url(Root::Feed) => found = self.link(tag),
            Element::Url(_) => self.clear(),
            _ => {}
        }
        self.open.push(element);
        Ok(found)
    }

    /// An element ends.
    pub(super) fn end(&mut self) -> Found {
        match self.open.pop() {
            Some(Element::Url(Root::Feed)) => Found::Nothing,
            Some(Element::Url(root)) => {
                self.has_url = true;
                match self.fault.take() {
                    Some(fault) => Found::Invalid(fault),
                    None if root == Root::Index => Found::Sitemap,
                    None => Found::Page,
                }
            }
            Some(Element::Item(root)) if !self.has_url => {
                self.clear();
                Found::Invalid(format!("<{}> without <{}>", root.item(), root.url()))
            }
            _ => Found::Nothing,
        }
    }

    /// A text within the URL.
    pub(super) fn text(&mut self, text: &str) {
        let room = URL_BYTES_MAX - self.url.len();
        self.is_overlong |= text.len() > room;
        self.url.push_str(&text[..text.floor_char_boundary(room)]);
    }

    /// The URL is none.
    pub(super) fn fail(&mut self, why: String) {
        self.fault.get_or_insert(why);
    }

    fn clear(&mut self) {
        self.url.clear();
        self.is_overlong = false;
        self.fault = None;
    }

    fn root(&mut self, name: QName<'_>) -> Result<Element, String> {
        let local = name.local_name().into_inner();
        let root = [Root::UrlSet, Root::Index, Root::Rss, Root::Feed];
        let Some(root) = root.into_iter().find(|root| root.name() == local) else {
            let shown: String = local.chars().take(40).collect();
            return Err(format!(
                "the document is a <{shown}>, and no <urlset>, <sitemapindex>, <rss> or <feed>"
            ));
        };
        self.has_root = true;
        self.prefix = name.prefix().map(|prefix| prefix.into_inner().to_owned());
        Ok(Element::Root(root))
    }

    fn is_of_root(&self, name: QName<'_>) -> bool {
        name.prefix().map(Prefix::into_inner) == self.prefix.as_deref()
    }

    /// A link of Atom (RFC 4287 §4.2.7): that of an entry is the first one to the page itself.
    fn link(&mut self, tag: &BytesStart<'_>) -> Found {
        let value = |name: &str| {
            let mut attributes = tag.attributes().flatten();
            attributes.find(|attribute| attribute.key == QName(name))
        };
        let rel = value("rel");
        let is_other = rel.is_some_and(|rel| !matches!(&*rel.value, "" | "alternate"));
        if self.has_url || is_other {
            return Found::Nothing;
        }
        let Some(href) = value("href") else { return Found::Nothing };
        self.clear();
        self.has_url = true;
        match unescaped(&href) {
            Some(url) => {
                self.text(&url);
                Found::Page
            }
            None => Found::Invalid("a reference in `href` that is none of XML".to_owned()),
        }
    }
}

impl Root {
    fn name(self) -> &'static str {
        match self {
            Self::UrlSet => "urlset",
            Self::Index => "sitemapindex",
            Self::Rss => "rss",
            Self::Feed => "feed",
        }
    }

    fn item(self) -> &'static str {
        match self {
            Self::UrlSet => "url",
            Self::Index => "sitemap",
            Self::Rss => "item",
            Self::Feed => "entry",
        }
    }

    /// The element of the URL.
    fn url(self) -> &'static str {
        match self {
            Self::UrlSet | Self::Index => "loc",
            Self::Rss | Self::Feed => "link",
        }
    }
}

/// What an element is within another.
fn child(parent: Element, name: &str) -> Element {
    match parent {
        Element::Root(Root::Rss) if name == "channel" => Element::Channel,
        Element::Channel if name == Root::Rss.item() => Element::Item(Root::Rss),
        Element::Root(root) if root != Root::Rss && name == root.item() => Element::Item(root),
        Element::Item(root) if name == root.url() => Element::Url(root),
        _ => Element::Other,
    }
}

fn unescaped(attribute: &Attribute<'_>) -> Option<String> {
    let value = quick_xml::escape::unescape(&attribute.value);
    value.ok().map(std::borrow::Cow::into_owned)
}
