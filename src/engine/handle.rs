//! Families of an open database.

use std::fmt;
use std::sync::Arc;

use super::Database;
use super::cursor::Pool;
use super::iterator::OwnedColumn;
use crate::format::families::Family;

/// A family, with its idle cursors. What is read through it stays readable until the last of its clones is
/// dropped, even if the family is dropped meanwhile.
#[derive(Clone)]
pub(crate) struct Handle(Arc<Slot>);

struct Slot {
    family: Family,
    // In this order: cursors read the column.
    cursors: Pool,
    column: OwnedColumn,
}

impl Handle {
    /// Returns `None` where the database has no such family.
    pub(super) fn new(database: &Arc<Database>, family: Family) -> Option<Self> {
        let column = OwnedColumn::new(database, &family.to_string())?;
        Some(Self(Arc::new(Slot { family, cursors: Pool::new(), column })))
    }

    pub(crate) fn family(&self) -> Family {
        self.0.family
    }

    pub(super) fn column(&self) -> &super::iterator::Column {
        self.0.column.get()
    }

    pub(super) fn cursors(&self) -> &Pool {
        &self.0.cursors
    }

    pub(super) fn drop_idle_cursors(&self) {
        self.0.cursors.clear();
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.family.fmt(f)
    }
}
