//! The parts of the page: text that is no markup, and tables.

use std::fmt::{self, Display, Formatter, Write as _};

use stoop_fetch::format::Printable;

/// Text, whatever is in it: no markup, and nothing that turns or hides other text.
#[derive(Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in Printable(self.0).to_string().chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// What is longer is a text, and no figure.
const FIGURE_BYTES_MAX: usize = 16;

/// A table with a caption, whose first column names its rows. Its texts are anything.
pub(super) struct Table(String);

impl Table {
    pub(super) fn new(caption: &str, columns: &[&str]) -> Self {
        let caption = Text(caption);
        let mut html = format!(
            "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\n\
             <table>\n<caption>{caption}</caption>\n<thead><tr>"
        );
        for column in columns {
            write!(html, "<th scope=\"col\">{}</th>", Text(column)).expect("memory takes all");
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        Self(html)
    }

    pub(super) fn row(&mut self, cells: &[String]) {
        let Some((name, values)) = cells.split_first() else { return };
        write!(self.0, "<tr><th scope=\"row\">{}</th>", Text(name)).expect("memory takes all");
        for value in values {
            let class = if value.len() > FIGURE_BYTES_MAX { " class=\"long\"" } else { "" };
            write!(self.0, "<td{class}>{}</td>", Text(value)).expect("memory takes all");
        }
        self.0.push_str("</tr>\n");
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}</tbody>\n</table>\n</div>\n", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        let hostile = "<script>alert('1')</script>&\"\u{202e}\u{7}";
        let expected = "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;\\u{202e}\\u{7}";
        assert_eq!(Text(hostile).to_string(), expected);
        let mut table = Table::new("<c>", &["<d>"]);
        table.row(&["<e>".to_owned(), "<f>".to_owned()]);
        let html = table.to_string();
        for text in ["<c>", "<d>", "<e>", "<f>"] {
            assert!(!html.contains(text), "{html}");
        }
        assert!(html.contains("<th scope=\"row\">&lt;e&gt;</th><td>&lt;f&gt;</td>"), "{html}");
    }
}
