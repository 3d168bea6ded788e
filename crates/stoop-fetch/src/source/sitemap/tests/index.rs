//! Sitemaps of an index.

use super::*;

const INDEX: &[u8] = b"<sitemapindex><sitemap><loc>http://s/1</loc></sitemap><sitemap><loc>http://s/2</loc></sitemap>\
    <sitemap/><sitemap><loc>http://s/3</loc></sitemap><sitemap><loc>http://s/4</loc></sitemap></sitemapindex>";

#[test]
fn the_sitemaps_of_an_index_are_read_where_it_names_them() {
    let nested: &[(&str, &[u8])] = &[
        ("http://s/1", b"<urlset><url><loc>a</loc></url><url/><url><loc>b</loc></url></urlset>"),
        ("http://s/3", b"<urlset><url><loc>c</loc></url><oh"),
        ("http://s/4", INDEX),
    ];
    let whole = read_in_steps(INDEX, usize::MAX, Extent::Whole, nested);
    assert_eq!(read_in_steps(INDEX, 1, Extent::Whole, nested), whole);
    let (jobs, ended) = whole;
    assert_eq!(ended, Ok(()));
    let jobs: Vec<_> =
        jobs.iter().map(|(url, fault)| (url.as_str(), fault.as_deref().unwrap_or(""))).collect();
    let inner = "the sitemap http://s/4 of an index is an index itself";
    assert_eq!(
        jobs,
        [
            ("a", ""),
            ("", "an entry of the sitemap http://s/1: byte 37: <url> without <loc>"),
            ("b", ""),
            ("http://s/2", "the sitemap cannot be read: 404 Not Found"),
            ("", "byte 104: <sitemap> without <loc>"),
            ("c", ""),
            (
                "http://s/3",
                "the sitemap cannot be read: byte 31: syntax error: tag not closed: `>` not found before end of input"
            ),
            ("http://s/1", inner),
            ("http://s/2", inner),
            ("", "an entry of the sitemap http://s/4: byte 104: <sitemap> without <loc>"),
            ("http://s/3", inner),
            ("http://s/4", inner),
        ]
    );
}

#[test]
fn without_a_way_to_open_them_the_sitemaps_of_an_index_are_no_jobs() {
    let (jobs, ended) = read(INDEX);
    assert_eq!((jobs.len(), ended), (5, Ok(())));
    let why = Some("the sitemap is one of an index, and is not read".to_owned());
    assert_eq!(jobs[0], ("http://s/1".to_owned(), why));
}
