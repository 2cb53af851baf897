//! The calls that take texts, and those that are for one kind of sketch.

use super::{Admission, ByFingerprint, Diagnosis, Matches, Sketch, Store, doctor};
use crate::{Error, Fingerprint, Result, Signature};

impl Store<Fingerprint> {
    /// Visits all documents by their fingerprints, and those of one by their ids, as they are now, in bounded
    /// memory.
    ///
    /// # Errors
    /// What the system reports; the iterator itself ends with the first error that it yields.
    pub fn iter_by_fingerprint(&self) -> Result<ByFingerprint> {
        Ok(ByFingerprint::new(&self.shared))
    }

    /// [`Store::sketch`] of a store of fingerprints.
    ///
    /// # Errors
    /// Those of [`Store::sketch`].
    pub fn fingerprint(&self, text: &str) -> Result<Option<Fingerprint>> {
        self.sketch(text)
    }

    /// Looks at the store's own data: dead bits and bits that move together, the most repeated
    /// fingerprints, the most crowded prefixes of each table, predicted against measured candidates; and
    /// tests the answers of the store against a full scan, for `samples` stored fingerprints with as many
    /// bits flipped as each distance from 0 to that of the design.
    ///
    /// It reads every table once, and the documents once with `samples` times the distances comparisons each.
    /// Documents that are stored or deleted meanwhile may count as missed or wrong.
    ///
    /// # Errors
    /// [`Error::Corrupt`], and what the system reports.
    pub fn doctor(&self, samples: usize) -> Result<Diagnosis> {
        doctor::diagnose(&self.shared, samples)
    }
}

impl Store<Signature> {
    /// [`Store::sketch`] of a store of signatures.
    ///
    /// # Errors
    /// Those of [`Store::sketch`].
    pub fn signature(&self, text: &str) -> Result<Option<Signature>> {
        self.sketch(text)
    }
}

impl<S: Sketch> Store<S> {
    /// Returns the fingerprint or signature of a text by the analyser of the store, or `None` where the text has no
    /// features, or fewer than the analyser asks for.
    ///
    /// # Errors
    /// [`Error::NoAnalyser`] where the store has none, or was opened with [`Options::sketches_only`](crate::Options::sketches_only).
    pub fn sketch(&self, text: &str) -> Result<Option<S>> {
        let sketcher = self.shared.sketcher.as_ref();
        let sketcher = sketcher.ok_or_else(|| Error::NoAnalyser { path: self.path().to_owned() })?;
        Ok(S::of_text(sketcher, text))
    }

    /// [`Store::check_and_insert`] for a text. `None` means that the text has no sketch, since it has
    /// no or too few features: it is near nothing, and was not stored.
    ///
    /// # Errors
    /// Those of [`Store::check_and_insert`] and [`Store::sketch`].
    pub fn check_and_insert_text(
        &self,
        id: impl AsRef<[u8]>,
        text: &str,
        max_distance: u32,
    ) -> Result<Option<Admission>> {
        let sketch = self.sketch(text)?;
        sketch.map(|sketch| self.check_and_insert(id, &sketch, max_distance)).transpose()
    }

    /// [`Store::query`] for a text. `None` means that the text has no or too few features, and is near
    /// nothing.
    ///
    /// # Errors
    /// Those of [`Store::query`] and [`Store::sketch`].
    pub fn query_text(&self, text: &str, max_distance: u32) -> Result<Option<Matches>> {
        let sketch = self.sketch(text)?;
        sketch.map(|sketch| self.query(&sketch, max_distance)).transpose()
    }
}
