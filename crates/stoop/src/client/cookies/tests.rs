//! Which cookies are kept, sent and written to a file.

use super::*;

#[test]
fn cookies_go_where_their_attributes_say() {
    let jar = CookieJar::new();
    for (cookie, url) in [
        ("a=1", "http://x.example.com/"),
        ("b=2; Domain=example.com", "http://x.example.com/"),
        ("c=3; Path=/p", "http://x.example.com/p/q"),
        ("d=4; Secure", "https://x.example.com/"),
    ] {
        jar.add(cookie, url).unwrap();
    }
    let sorted = |url: &str| {
        let field = jar.get(url).unwrap().unwrap_or_default();
        let mut all: Vec<_> = field.split("; ").map(str::to_owned).collect();
        all.sort();
        all.join("; ")
    };
    assert_eq!(sorted("http://x.example.com/"), "a=1; b=2");
    assert_eq!(sorted("http://y.example.com/"), "b=2");
    assert_eq!(sorted("http://x.example.com/p/"), "a=1; b=2; c=3");
    assert_eq!(sorted("https://x.example.com/"), "a=1; b=2; d=4");
    assert_eq!(sorted("http://example.org/"), "");
}

#[test]
fn a_cookie_for_a_public_suffix_or_another_host_is_not_kept() {
    let jar = CookieJar::new();
    for (cookie, url) in [
        ("a=1; Domain=co.uk", "http://shop.co.uk/"),
        ("a=1; Domain=.com", "http://shop.com/"),
        ("a=1; Domain=github.io", "http://me.github.io/"),
        ("a=1; Domain=other.com", "http://shop.com/"),
        ("a=1; Domain=x.shop.com", "http://shop.com/"),
        ("no equals sign", "http://shop.com/"),
    ] {
        assert_eq!(jar.add(cookie, url).unwrap_err().kind(), ErrorKind::InvalidMessage, "{cookie}");
    }
    assert!(jar.is_empty());
    jar.add("a=1; Domain=github.io", "http://github.io/").unwrap();
    assert_eq!(jar.get("http://github.io/").unwrap().as_deref(), Some("a=1"));
}

#[test]
fn cookies_are_replaced_and_expire() {
    let jar = CookieJar::new();
    jar.add("a=1", "http://shop.com/").unwrap();
    jar.add("a=2", "http://shop.com/").unwrap();
    assert_eq!(jar.get("http://shop.com/").unwrap().as_deref(), Some("a=2"));
    let url = Url::parse("http://shop.com/").unwrap();
    jar.keep_all([&b"a=; Max-Age=0"[..], b"\xff=1"].into_iter(), &url);
    assert_eq!(jar.get("http://shop.com/").unwrap(), None);
    for (jar, kept) in [(CookieJar::new(), Some("b=1")), (CookieJar::read_only(), None)] {
        jar.keep_all([&b"b=1"[..]].into_iter(), &url);
        assert_eq!(jar.get("http://shop.com/").unwrap().as_deref(), kept);
    }
}

#[test]
fn the_memory_for_cookies_is_bounded() {
    let jar = CookieJar::new();
    for n in 0..400 {
        let _ = jar.add(&format!("c{n}=1"), "http://shop.com/");
    }
    assert_eq!(jar.len(), DOMAIN_COOKIES_MAX);
    assert!(jar.add("c0=other", "http://shop.com/").is_ok(), "what is there may change");
    for host in 0..60 {
        for n in 0..100 {
            let _ = jar.add(&format!("c{n}=1"), &format!("http://h{host}.com/"));
        }
    }
    assert_eq!(jar.len(), COOKIES_MAX);
    assert!(CookieJar::new().add(&format!("a={}", "x".repeat(5_000)), "http://a.com/").is_err());
}

#[test]
fn what_is_saved_is_loaded_again() {
    let jar = CookieJar::new();
    jar.add("a=1; Path=/p", "http://shop.com/p").unwrap();
    jar.add("b=2; Max-Age=3600; Secure", "https://shop.com/").unwrap();
    let mut file = Vec::new();
    jar.save(&mut file).unwrap();
    let loaded = CookieJar::load(&file[..]).unwrap();
    assert_eq!(loaded.len(), 2);
    assert_eq!(loaded.get("http://shop.com/p").unwrap().as_deref(), Some("a=1"));
    assert!(CookieJar::load(&b"no json\n"[..]).is_err());
}

#[test]
fn a_cookie_of_another_path_is_another_cookie() {
    let jar = CookieJar::new();
    let mut kept = 0;
    for number in 0..DOMAIN_COOKIES_MAX + 20 {
        kept += usize::from(jar.add(&format!("a=1; Path=/p{number}"), "http://a.test/").is_ok());
    }
    assert_eq!((kept, jar.len()), (DOMAIN_COOKIES_MAX, DOMAIN_COOKIES_MAX));
    // It takes the place of the one that is there.
    assert!(jar.add("a=2; Path=/p7", "http://a.test/").is_ok());
    assert_eq!(jar.get("http://a.test/p7").unwrap().as_deref(), Some("a=2"));
}

#[test]
fn expired_cookies_make_room() {
    let jar = CookieJar::new();
    for number in 0..DOMAIN_COOKIES_MAX {
        jar.add(&format!("c{number}=1; Max-Age=1"), "http://a.test/").unwrap();
    }
    assert!(jar.add("login=1", "http://a.test/").is_err());
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert!(jar.add("login=1", "http://a.test/").is_ok());
    assert_eq!(jar.len(), 1);
}

#[test]
fn what_came_in_the_clear_does_not_take_the_place_of_what_is_for_https() {
    let jar = CookieJar::new();
    jar.add("a=1; Secure", "https://a.test/").unwrap();
    assert!(jar.add("a=2", "http://a.test/").is_err());
    assert!(jar.add("a=3", "https://a.test/").is_ok());
    for planted in ["b=1; Secure", "__Secure-b=1; Secure", "__Host-b=1; Secure; Path=/"] {
        assert!(jar.add(planted, "http://a.test/").is_err(), "{planted}");
        assert!(jar.add(planted, "http://127.0.0.1:8080/").is_ok(), "{planted}");
    }
    for refused in
        ["__Host-a=1; Secure; Path=/; Domain=a.test", "__Host-a=1; Path=/", "__secure-a=1"]
    {
        assert!(jar.add(refused, "https://a.test/").is_err(), "{refused}");
    }
    assert!(jar.add("__Host-a=1; Secure; Path=/", "https://a.test/").is_ok());
}

#[test]
fn a_cookie_field_is_bounded() {
    let jar = CookieJar::new();
    let value = "v".repeat(3_000);
    (0..9).for_each(|n| jar.add(&format!("c{n}={value}"), "http://a.test/").unwrap());
    let field = jar.get("http://a.test/").unwrap().unwrap();
    assert!((6_000..=FIELD_BYTES_MAX + 2).contains(&field.len()), "{}", field.len());
}

#[test]
fn fixed_cookies_go_to_their_host_and_nowhere_else() {
    let jar = CookieJar::new();
    jar.add_fixed(" a=1; odd ", "http://a.test/").unwrap();
    jar.add_fixed("a=2", "http://a.test/x").unwrap();
    jar.add("a=0", "http://a.test/").unwrap();
    for url in ["http://a.test/", "https://a.test/x", "http://a.test:81/"] {
        assert_eq!(jar.get(url).unwrap().as_deref(), Some("a=0; a=1; odd; a=2"), "{url}");
    }
    for url in ["http://b.test/", "http://sub.a.test/"] {
        assert_eq!(jar.get(url).unwrap(), None, "{url}");
    }
    jar.add_fixed("s=1", "https://s.test/").unwrap();
    assert_eq!(jar.get("https://s.test:81/").unwrap().as_deref(), Some("s=1"));
    assert_eq!(jar.get("http://s.test/").unwrap(), None, "in the clear");
    let (mut saved, mut lines) = (Vec::new(), Vec::new());
    jar.save(&mut saved).unwrap();
    jar.save_netscape(&mut lines).unwrap();
    for text in [saved, lines] {
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("a.test") && !text.contains("odd"), "{text}");
    }
    assert!(jar.add_fixed("a=1\r\nb: 2", "http://a.test/").is_err());
    jar.clear();
    assert_eq!(jar.get("http://a.test/").unwrap(), None);
}
