//! Named fields, a line each, as WARC and HTTP have them.

/// The fields of a head.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads lines up to an empty one. Lines that begin with a blank go on with the field before; others without a
    /// colon are passed over.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let mut fields: Vec<(String, String)> = Vec::new();
        for line in bytes.split(|&byte| byte == b'\n') {
            let line = &line[..line.len() - line.iter().rev().take_while(|&&byte| byte == b'\r').count()];
            if line.is_empty() {
                break;
            }
            let is_more = line[0] == b' ' || line[0] == b'\t';
            let line = String::from_utf8_lossy(line);
            if is_more {
                if let Some((_, value)) = fields.last_mut() {
                    if !value.is_empty() {
                        value.push(' ');
                    }
                    value.push_str(line.trim());
                }
            } else if let Some((name, value)) = line.split_once(':') {
                fields.push((name.trim().to_owned(), value.trim().to_owned()));
            }
        }
        Self(fields)
    }

    /// Returns the first value of a field, whatever the case of its name.
    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &value[..])
    }
}

/// Returns where the content begins behind a head: after its first empty line, with any carriage returns.
pub(super) fn end_of_head(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', bytes).find_map(|end| {
        let next = &bytes[end + 1..];
        let returns = next.iter().take_while(|&&byte| byte == b'\r').count();
        (next.get(returns) == Some(&b'\n')).then_some(end + returns + 2)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_fold_repeat_and_end() {
        let fields = Fields::parse(b"A: 1\r\n b\nc : d:e\nA:2\n\tx\nnothing\n\xff: \xfe\n\nZ: 9");
        assert_eq!(fields.all("a").collect::<Vec<_>>(), ["1 b", "2 x"]);
        assert_eq!(
            (fields.first("C"), fields.first("z"), fields.first("\u{fffd}")),
            (Some("d:e"), None, Some("\u{fffd}"))
        );
        assert_eq!(Fields::parse(b" lonely").first(""), None);
    }

    #[test]
    fn heads_end_at_an_empty_line() {
        for (bytes, end) in
            [(&b"a\r\n\r\nb"[..], 5), (b"a\n\nb", 3), (b"a\n\r\nb", 4), (b"a\r\n\nb", 4), (b"a\r\r\n\r\r\nb", 7)]
        {
            assert_eq!(end_of_head(bytes), Some(end), "{bytes:?}");
        }
        assert_eq!(end_of_head(b"a\r\nb\r\n"), None);
    }
}
