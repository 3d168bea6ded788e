//! The title of a page.

use html5gum::emitters::callback::{Callback, CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use stoop::Charset;

use super::kind::TextKind;

/// The longest title, in bytes.
const TITLE_BYTES_MAX: usize = 1024;

/// The text of the first title of a page that begins with `beginning`, in this encoding; none if it has none, or an
/// empty one.
pub(super) fn title(kind: TextKind, charset: Charset, beginning: &[u8]) -> Option<String> {
    if !matches!(kind, TextKind::Html | TextKind::Xhtml) {
        return None;
    }
    let text = charset.decode(beginning);
    let mut emitter = CallbackEmitter::new(TitleReader::default());
    // What a title or a script has in it is no markup; in the syntax of XML it is, and `<script/>` has nothing in it.
    emitter.naively_switch_states(kind == TextKind::Html);
    let mut titles = Tokenizer::new_with_emitter(&*text, emitter);
    let Ok(title) = titles.next()?;
    Some(title).filter(|title| !title.is_empty())
}

/// Finds the title among the tokens of HTML.
#[derive(Default)]
struct TitleReader {
    /// How many elements are open whose titles are not the page's.
    inner: u32,
    /// The start tag of such an element is being read.
    opens_inner: bool,
    is_in_title: bool,
}

impl Callback<String, ()> for TitleReader {
    fn handle_event(&mut self, event: CallbackEvent<'_>, _: Span<()>) -> Option<String> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.opens_inner = is_inner(name);
                self.is_in_title |= name == b"title" && self.inner == 0;
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                self.inner += u32::from(self.opens_inner && !self_closing);
            }
            CallbackEvent::EndTag { name } if is_inner(name) => {
                self.inner = self.inner.saturating_sub(1);
            }
            CallbackEvent::String { value } if self.is_in_title => return Some(collapsed(value)),
            CallbackEvent::EndTag { name: b"title" } if self.is_in_title => {
                return Some(String::new());
            }
            _ => {}
        }
        None
    }
}

/// Whether titles within an element are of something else than the page.
fn is_inner(name: &[u8]) -> bool {
    matches!(name, b"svg" | b"math" | b"template")
}

/// A text with one space for each run of white space, and no more of it than a title may have.
fn collapsed(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut title = String::new();
    for word in text.split_whitespace() {
        if title.len() >= TITLE_BYTES_MAX {
            break;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(&word[..word.floor_char_boundary(TITLE_BYTES_MAX - title.len())]);
    }
    title.truncate(title.trim_end().len());
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn html(page: &str) -> Option<String> {
        title(TextKind::Html, Charset::UTF_8, page.as_bytes())
    }

    #[test]
    fn the_first_title_is_the_pages() {
        for (page, expected) in [
            ("<!doctype html><html><head><title>A page</title>", "A page"),
            ("<TITLE\n lang='>'>\n One\ttwo  \u{a0} three\n</TITLE\n>", "One two three"),
            (
                "<title>a &amp; b &lt;i&gt; &eacute;&#x2014;&#8364; &copy &nosuch;</title>",
                "a & b <i> é—€ © &nosuch;",
            ),
            ("<title><b>no markup</b></title>", "<b>no markup</b>"),
            ("<title>first</title><title>second</title>", "first"),
            ("<title>not closed", "not closed"),
            ("no head at all<p><title>late</title>", "late"),
            ("<!-- <title>no</title> --><title>yes</title>", "yes"),
            ("<!--><title>yes</title>", "yes"),
            ("<script>'<title>no</title>'</script><title>yes</title>", "yes"),
            (
                "<script><!--<script>'</script><title>no</title>'--></script><title>yes</title>",
                "yes",
            ),
            ("<style>a{content:'<title>no</title>'}</style><title>yes</title>", "yes"),
            ("<noscript><title>no</title></noscript><title>yes</title>", "yes"),
            ("<textarea><title>no</title></textarea><title>yes</title>", "yes"),
            ("<svg><title>no</title></svg><svg/><title>yes</title>", "yes"),
            ("<template><title>no</title></template><title>yes</title>", "yes"),
            ("<meta content='<title>no</title>'><title>yes</title>", "yes"),
            ("<titles>no</titles><title>yes</title>", "yes"),
            ("<title>a</titles>b</title>", "a</titles>b"),
        ] {
            assert_eq!(html(page).as_deref(), Some(expected), "{page}");
        }
        for page in [
            "",
            "<title></title><title>second</title>",
            "<title> \n</title>",
            "<p>none",
            "<svg><title>no</title>",
            "<title",
            "<title>",
        ] {
            assert_eq!(html(page), None, "{page}");
        }
    }

    #[test]
    fn in_the_syntax_of_xml_a_script_may_have_no_end_tag() {
        let page = "<head><script src='a'/><title>yes</title></head>";
        assert_eq!(title(TextKind::Xhtml, Charset::UTF_8, page.as_bytes()).as_deref(), Some("yes"));
        assert_eq!(html(page), None);
        assert_eq!(title(TextKind::Xml, Charset::UTF_8, page.as_bytes()), None);
    }

    #[test]
    fn a_title_is_cut_between_characters() {
        let page = format!("<title>{}</title>", "é".repeat(1000));
        assert_eq!(html(&page).map(|title| title.len()), Some(1024));
        let page = format!("<title>{} b</title>", "a".repeat(1022));
        assert_eq!(html(&page).map(|title| title.len()), Some(1024));
        let page = format!("<title>{} é</title>", "a".repeat(1022));
        assert_eq!(html(&page), Some("a".repeat(1022)));
        let page = format!("<title>{} b</title>", "a".repeat(1024));
        assert_eq!(html(&page), Some("a".repeat(1024)));
    }

    #[test]
    fn a_title_is_decoded() {
        let charset = Charset::from_label(b"shift_jis").expect("known");
        let page = b"<title>\x93\xfa\x96{</title>";
        assert_eq!(title(TextKind::Html, charset, page).as_deref(), Some("日本"));
    }
}
