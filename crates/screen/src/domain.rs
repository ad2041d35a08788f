// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registrable domain of a locator, for origin keys.

use crate::canon::{host, url_host};
use std::net::IpAddr;

/// The registrable domain of a URL or host name by the public suffix list (publicsuffix.org), in
/// punycode and lower case. An IP address stays whole, an IPv6 address without brackets. A public
/// suffix alone, such as `co.uk`, and a single label, such as `localhost`, stay as they are.
/// `None` when the locator names no host.
///
/// ```
/// # use ancile_screen::registrable_domain;
/// let site = registrable_domain("https://Blog.Example.co.uk:8443/a?b#c");
/// assert_eq!(site.as_deref(), Some("example.co.uk"));
/// ```
#[must_use]
pub fn registrable_domain(locator: &str) -> Option<String> {
    let locator = locator.trim();
    let name = match url_host(locator) {
        Some(name) => name,
        None => host(locator)?,
    };
    if name.parse::<IpAddr>().is_ok() {
        return Some(name);
    }
    Some(psl::domain_str(&name).map_or_else(|| name.clone(), str::to_owned))
}
