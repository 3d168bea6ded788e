//! What a page says to robots: the elements `<meta name="robots">`, and those with the name of an agent.

use html5gum::emitters::callback::{Callback, CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use stoop::Charset;

use super::kind::TextKind;

/// How many bytes of rules are read of a page. An element beyond is passed over.
const RULES_BYTES_MAX: usize = 4096;

/// The rules that a page which begins with `beginning`, in this encoding, has for all agents and for this one, each as
/// X-Robots-Tag would have it; those with the name of the agent are last, because a name is for all that follows.
pub(super) fn meta_robots(
    kind: TextKind,
    charset: Charset,
    beginning: &[u8],
    agent: &str,
) -> Vec<String> {
    if !matches!(kind, TextKind::Html | TextKind::Xhtml) {
        return Vec::new();
    }
    let text = charset.decode(beginning);
    let mut emitter = CallbackEmitter::new(MetaReader::default());
    // What a script has in it is no markup; in the syntax of XML it is, and `<script/>` has nothing in it.
    emitter.naively_switch_states(kind == TextKind::Html);
    let (mut of_all, mut of_agent, mut bytes) = (Vec::new(), Vec::new(), 0);
    for Ok(Meta { name, content }) in Tokenizer::new_with_emitter(&*text, emitter) {
        let is_of_all = name.eq_ignore_ascii_case("robots");
        let is_of_agent = !agent.is_empty() && name.eq_ignore_ascii_case(agent);
        if !(is_of_all || is_of_agent) || bytes + content.len() > RULES_BYTES_MAX {
            continue;
        }
        bytes += content.len();
        match content.trim() {
            "" => {}
            rules if is_of_all => of_all.push(rules.to_owned()),
            rules => of_agent.push(format!("{agent}: {rules}")),
        }
    }
    of_all.extend(of_agent);
    of_all
}

/// An element `<meta>` with a name and a content.
#[derive(Default)]
struct Meta {
    name: String,
    content: String,
}

/// Finds the elements among the tokens of HTML.
#[derive(Default)]
struct MetaReader {
    /// How many templates are open, whose elements are not the page's.
    templates: u32,
    tag: Tag,
    /// The attribute whose value is next.
    attribute: Attribute,
    name: Option<String>,
    content: Option<String>,
}

/// The start tag that is being read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tag {
    Meta,
    Template,
    #[default]
    Other,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Attribute {
    Name,
    Content,
    #[default]
    Other,
}

impl Callback<Meta, ()> for MetaReader {
    fn handle_event(&mut self, event: CallbackEvent<'_>, _: Span<()>) -> Option<Meta> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = match name {
                    b"meta" if self.templates == 0 => Tag::Meta,
                    b"template" => Tag::Template,
                    _ => Tag::Other,
                };
                (self.attribute, self.name, self.content) = (Attribute::Other, None, None);
            }
            CallbackEvent::AttributeName { name } => {
                // Of an attribute that comes twice, the first counts.
                self.attribute = match name {
                    b"name" if self.name.is_none() => Attribute::Name,
                    b"content" if self.content.is_none() => Attribute::Content,
                    _ => Attribute::Other,
                };
            }
            CallbackEvent::AttributeValue { value } if self.tag == Tag::Meta => {
                let text = || Some(String::from_utf8_lossy(value).into_owned());
                match std::mem::take(&mut self.attribute) {
                    Attribute::Name => self.name = text(),
                    Attribute::Content => self.content = text(),
                    Attribute::Other => {}
                }
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                let tag = std::mem::take(&mut self.tag);
                self.templates += u32::from(tag == Tag::Template && !self_closing);
                if tag == Tag::Meta
                    && let (Some(name), Some(content)) = (self.name.take(), self.content.take())
                {
                    return Some(Meta { name: name.trim().to_owned(), content });
                }
            }
            CallbackEvent::EndTag { name: b"template" } => {
                self.templates = self.templates.saturating_sub(1);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn html(page: &str) -> Vec<String> {
        meta_robots(TextKind::Html, Charset::UTF_8, page.as_bytes(), "ExampleBot")
    }

    #[test]
    fn elements_for_all_and_for_the_agent_are_read() {
        for (page, expected) in [
            ("<meta name=robots content=noindex>", &["noindex"][..]),
            ("<META CONTENT=' noindex,\n nofollow ' NAME=\"Robots\"/>", &["noindex,\n nofollow"]),
            (
                "<meta name=examplebot content=noai><meta name='robots' content='noindex &amp; x'>",
                &["noindex & x", "ExampleBot: noai"],
            ),
            ("<p>late<meta name=robots content=none>", &["none"]),
            ("<meta name=robots name=x content=a content=b>", &["a"]),
            ("<meta name=robots content><meta name=robots content=''><meta content=a>", &[]),
            ("<meta name=otherbot content=a><meta property=robots content=b>", &[]),
            ("<!-- <meta name=robots content=a> -->", &[]),
            ("<script>'<meta name=robots content=a>'</script>", &[]),
            ("<template><meta name=robots content=a></template>", &[]),
            ("<template><template></template><meta name=robots content=a>", &[]),
            ("<title><meta name=robots content=a></title>", &[]),
            ("<metas name=robots content=a>", &[]),
            ("<meta name=robots content=a", &[]),
            ("<meta name=robots><p content=a>", &[]),
            ("", &[]),
        ] {
            assert_eq!(html(page), expected, "{page}");
        }
        let page = b"<meta name='' content=a><meta name=robots content=b>";
        assert_eq!(meta_robots(TextKind::Html, Charset::UTF_8, page, ""), ["b"]);
    }

    #[test]
    fn other_text_has_none_and_in_the_syntax_of_xml_a_script_may_be_empty() {
        let page = b"<script/><meta name='robots' content='noindex'/>";
        assert!(meta_robots(TextKind::Html, Charset::UTF_8, page, "").is_empty());
        assert_eq!(meta_robots(TextKind::Xhtml, Charset::UTF_8, page, ""), ["noindex"]);
        for kind in [TextKind::Xml, TextKind::Plain, TextKind::Other] {
            assert!(meta_robots(kind, Charset::UTF_8, page, "").is_empty());
        }
    }

    #[test]
    fn elements_are_bounded() {
        let long = "x".repeat(RULES_BYTES_MAX - 7);
        let page = format!(
            "<meta name=robots content={long}><meta name=robots content=noimageindex>\
             <meta name=robots content=noindex><meta name=robots content=a>"
        );
        assert_eq!(html(&page), [long.as_str(), "noindex"]);
        assert_eq!(html(&"<template>".repeat(50_000)), [""; 0]);
    }
}
