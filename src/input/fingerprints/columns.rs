//! Where the header of a table has the columns.

use super::Wanted;
use super::value::Refusal;
use crate::input::rows::column;

/// The places of the columns, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    /// How many columns there are.
    pub(super) count: usize,
    pub(super) id: Option<usize>,
    pub(super) fingerprint: usize,
}

impl Columns {
    /// Finds the wanted ones. Others may be there in any number, and twice.
    pub(super) fn find(names: &[&[u8]], wanted: &Wanted) -> Result<Self, Refusal> {
        let find = |wanted: &str, remedy| column(names, wanted).map_err(|reason| Refusal::new(reason, remedy));
        let id = wanted.id_field.as_deref().map(|id| find(id, "name the column with --id-field")).transpose()?;
        let fingerprint = find(&wanted.fingerprint_field, "name the column with --fingerprint-field")?;
        Ok(Self { count: names.len(), id, fingerprint })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::fingerprints::tests::wanted;

    #[test]
    fn columns_are_found_by_their_names() {
        let names: [&[u8]; 4] = [b"x", b"fingerprint", b"x", b"id"];
        let columns = |id, fingerprint| Columns { count: 4, id, fingerprint };
        assert_eq!(Columns::find(&names, &wanted(Some("id"))).unwrap(), columns(Some(3), 1));
        assert_eq!(Columns::find(&names, &wanted(None)).unwrap(), columns(None, 1));
        let both = Wanted { fingerprint_field: "id".into(), ..wanted(Some("id")) };
        assert_eq!(Columns::find(&names, &both).unwrap(), columns(Some(3), 3));
    }

    #[test]
    fn errors_name_the_columns_that_are_there() {
        let rows: [(&[&[u8]], &str); 4] = [
            (&[b"id", b"hash"], "there is no column \"fingerprint\" among \"id\", \"hash\""),
            (&[b"Fingerprint", b"fingerprint"], "there is no column \"id\" among \"Fingerprint\", \"fingerprint\""),
            (&[b"id", b"id"], "there is more than one column \"id\" among \"id\", \"id\""),
            (&[b"id", b"fingerprint", b"fingerprint"], "there is more than one column \"fingerprint\" among"),
        ];
        for (names, reason) in rows {
            let refusal = Columns::find(names, &wanted(Some("id"))).unwrap_err();
            assert!(refusal.reason.starts_with(reason), "{refusal:?}");
        }
        let many = Columns::find(&[&b"x"[..]; 1000], &wanted(None)).unwrap_err().reason;
        assert!(many.contains("and 980 more") && many.len() < 300, "{many}");
    }
}
