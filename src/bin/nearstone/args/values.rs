//! Values of arguments that are more than numbers.

use std::num::NonZeroUsize;
use std::time::Duration;

use nearstone::TableDesign;

/// The distances that have names: 64 bits cannot tell more closely how much two texts share.
const NAMED: [(&str, u32); 3] = [("strict", 3), ("balanced", 7), ("candidates", 12)];

/// Reads a number of bits, or its name.
pub(super) fn distance(text: &str) -> Result<u32, String> {
    let named = NAMED.iter().find(|(name, _)| *name == text).map(|&(_, bits)| bits);
    let distance = named.or_else(|| text.parse().ok());
    distance.ok_or_else(|| "a number of bits, or strict (3), balanced (7) or candidates (12)".to_owned())
}

/// Reads a distance that tables can be meant for.
pub(super) fn table_distance(text: &str) -> Result<u32, String> {
    let most = TableDesign::MAX_DISTANCE;
    let distance = distance(text)?;
    if distance > most { Err(format!("{distance} is not in 0..={most}")) } else { Ok(distance) }
}

/// Reads a number with K, M or G behind it.
pub(super) fn count(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        Some((at, 'g' | 'G' | 'b' | 'B')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    number.ok_or_else(|| "a whole number, with K, M or G behind it, as in 100M".to_owned())
}

/// Reads a number of bytes with K, M or G behind it, powers of 1024.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let bare = text.strip_suffix("iB").or_else(|| text.strip_suffix('B')).unwrap_or(text);
    let (digits, unit) = match bare.char_indices().last() {
        Some((at, 'k' | 'K')) => (&bare[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&bare[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&bare[..at], 1 << 30),
        _ => (bare, 1),
    };
    let number = digits.parse::<usize>().ok().and_then(|number| number.checked_mul(unit)).filter(|&bytes| bytes > 0);
    number.ok_or_else(|| "a whole number of bytes, with K, M or G behind it, as in 512M".to_owned())
}

/// Reads a number of threads.
pub(super) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let threads = text.parse().ok().and_then(NonZeroUsize::new).filter(|threads| threads.get() <= 1024);
    threads.ok_or_else(|| "a number of 1 to 1024".to_owned())
}

/// Reads how much a benchmark keeps in memory.
pub(super) fn count_in_memory(text: &str) -> Result<u64, String> {
    count(text).and_then(|count| if count <= 1 << 30 { Ok(count) } else { Err("at most 1G".to_owned()) })
}

/// Reads a factor.
pub(super) fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor >= 0.0);
    factor.ok_or_else(|| "a number of 0 or more, such as 2.5".to_owned())
}

/// Reads a distance and a share.
pub(super) fn share(text: &str) -> Result<(u32, f64), String> {
    let parts = text.split_once(':').and_then(|(distance, share)| Some((distance.parse().ok()?, share.parse().ok()?)));
    let parts = parts.filter(|&(distance, share): &(u32, f64)| {
        distance <= TableDesign::MAX_DISTANCE && (0.0..=1.0).contains(&share)
    });
    parts.ok_or_else(|| "a distance of 0 to 16, a colon and a share of 0 to 1, as in 12:0.01".to_owned())
}

/// Reads a share.
pub(super) fn share_alone(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share: &f64| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a number of 0 to 1, such as 0.1".to_owned())
}

/// A time of at least a millisecond.
pub(super) fn retention(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|e| e.to_string())?;
    if time < Duration::from_millis(1) { Err("it is less than 1ms".to_owned()) } else { Ok(time) }
}
