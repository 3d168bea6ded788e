//! How much of a file is kept: hundreds of thousands of them are.

use stoop_fetch::robots::RobotsTxt;

/// What a content management system writes: rules for all, some agents that are denied everything, and sitemaps.
fn common() -> String {
    let mut file = String::from("# robots.txt\n\nUser-agent: *\n");
    for folder in [
        "admin",
        "cart",
        "checkout",
        "login",
        "search",
        "tmp",
        "user/password",
        "wp-admin",
        "node/add",
    ] {
        file += &format!("Disallow: /{folder}/\nDisallow: /index.php/{folder}/\n");
    }
    file += "Disallow: /*?sort=\nDisallow: /*.pdf$\nAllow: /wp-admin/admin-ajax.php\nCrawl-delay: 10\n\n";
    for agent in ["AhrefsBot", "GPTBot", "CCBot", "SemrushBot", "MJ12bot", "Bytespider"] {
        file += &format!("User-agent: {agent}\nDisallow: /\n\n");
    }
    file + "Sitemap: https://www.example.com/sitemap.xml\n"
}

#[test]
fn what_is_kept_is_no_longer_than_its_part_of_the_file() {
    let file = common();
    let kept = |agent| RobotsTxt::parse(file.as_bytes(), agent);
    let [all, own] = ["examplebot", "gptbot"].map(|agent| kept(agent).memory());
    assert!(all < file.len() * 3 / 5, "{all} of {}", file.len());
    assert!(own < 80, "{own}");
    assert!(kept("examplebot").without_sitemaps().memory() < all);
}

#[test]
fn what_allows_everything_takes_no_memory_of_its_own() {
    let empty = size_of::<RobotsTxt>();
    assert!(empty <= 32);
    for file in ["", "User-agent: *\nDisallow:\n", "User-agent: *\nAllow: /\nAllow: /a\n", "<html>"]
    {
        assert_eq!(RobotsTxt::parse(file.as_bytes(), "examplebot").memory(), empty, "{file}");
    }
}

/// The worst that a file can do: each octet of a pattern takes three, and there are 500 KiB of them.
#[test]
fn a_file_of_any_length_takes_bounded_memory() {
    let mut file = b"User-agent: *\n".to_vec();
    while file.len() < 2 * RobotsTxt::BYTES_MAX {
        file.extend_from_slice(b"Disallow:/");
        file.extend((0..5_000).map(|at| 128 + (at % 100) as u8));
        file.extend_from_slice(file.len().to_string().as_bytes());
        file.push(b'\n');
    }
    let robots = RobotsTxt::parse(&file, "examplebot");
    assert!(
        robots.memory() > 2 * RobotsTxt::BYTES_MAX
            && robots.memory() < 3 * RobotsTxt::BYTES_MAX + 100
    );
    let sitemaps = b"Sitemap:\xff\n".repeat(RobotsTxt::BYTES_MAX);
    assert!(RobotsTxt::parse(&sitemaps, "examplebot").memory() < RobotsTxt::BYTES_MAX);
}
