//! Creating and opening: what the store record says against what the caller and this build say.

use std::path::Path;

use super::Store;
use super::options::{Options, Text};
use super::sketch::Sketch;
use crate::engine::{self, Engine, Found, malformed};
use crate::format::VERSION;
use crate::format::families::Family;
use crate::format::record::{RecordError, StoreRecord};
use crate::{Analyser, Error, Result, Simhash, TableDesign};

/// A store's engine, and what its record says.
pub(super) struct Opened {
    pub(super) engine: Engine,
    pub(super) record: StoreRecord,
    pub(super) simhash: Option<Simhash>,
}

pub(super) fn create<S: Sketch>(path: &Path, design: &TableDesign, options: &Options, now_millis: u64) -> Result<()> {
    let analyser = match &options.text {
        Text::Stored => Some(Analyser::default()),
        Text::Analyser(analyser) => Some(analyser.clone()),
        Text::None => None,
    };
    let record = StoreRecord {
        sketch: S::KIND.to_owned(),
        design: design.clone(),
        admission_distance: Store::<S>::ADMISSION_DISTANCE.max(design.max_distance()),
        analyser: analyser.as_ref().map(Analyser::describe),
        generation: 0,
        created_at_millis: now_millis,
        settings: vec![],
    };
    let families = Family::all(design, S::IDENTITY_BYTES, record.generation);
    Engine::create(path, &families, &record.encode(), &options.resources())
}

/// Whether [`create`] is what a path needs.
pub(super) fn is_missing(path: &Path) -> Result<bool> {
    Ok(matches!(engine::inspect(path)?, Found::Nothing | Found::Begun))
}

pub(super) fn open<S: Sketch>(path: &Path, options: &Options, read_only: bool) -> Result<Opened> {
    let engine = Engine::open(path, &options.resources(), read_only)?;
    // Families without a record: the creation was interrupted just before it ended.
    let bytes = engine.record()?.ok_or_else(|| Error::NotFound { path: path.to_owned() })?;
    let mismatch =
        |what, found: String, expected: String| Error::Mismatch { path: path.to_owned(), what, found, expected };
    let record = StoreRecord::decode(&bytes, S::KIND).map_err(|e| match e {
        RecordError::NoRecord => Error::Corrupt { path: path.to_owned(), what: "the store record is no record".into() },
        RecordError::Sketch(found) => mismatch("sketches of the kind", found, S::KIND.to_owned()),
        RecordError::Version(found) => Error::Format { path: path.to_owned(), found, supported: VERSION },
        RecordError::Malformed(e) => malformed(path, e),
    })?;
    if let Some((name, value)) = record.settings.first() {
        return Err(mismatch("the setting", format!("{name}={value}"), "one that this build knows".to_owned()));
    }
    let analyser = match (&options.text, &record.analyser) {
        (Text::None, _) | (Text::Stored, None) => None,
        (Text::Stored, Some(stored)) => Some(Analyser::from_description(stored).ok_or_else(|| {
            mismatch(
                "the analyser",
                stored.to_string(),
                format!("the one of this build, {}, or none (Options::sketches_only)", Analyser::default()),
            )
        })?),
        (Text::Analyser(expected), Some(stored)) if expected.describe() == *stored => Some(expected.clone()),
        (Text::Analyser(expected), stored) => {
            let stored = stored.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
            return Err(mismatch("the analyser", stored, expected.to_string()));
        }
    };
    Ok(Opened { engine, record, simhash: analyser.map(Simhash::new) })
}

/// Opens a store that must have this design and, unless sketches are all that is asked, this analyser.
pub(super) fn open_same<S: Sketch>(path: &Path, design: &TableDesign, options: &Options) -> Result<Opened> {
    let mut options = options.clone();
    if options.text == Text::Stored {
        options.text = Text::Analyser(Analyser::default());
    }
    let opened = open::<S>(path, &options, false)?;
    if opened.record.design != *design {
        return Err(Error::Mismatch {
            path: path.to_owned(),
            what: "the design",
            found: opened.record.design.to_string(),
            expected: design.to_string(),
        });
    }
    Ok(opened)
}
