//! Creating and opening: what the store record says against what the caller and this build say.

use std::path::Path;
use std::sync::Arc;

use super::options::{Options, Text};
use super::sketch::Sketch;
use crate::clock::Clock;
use crate::engine::{self, Engine, Expiry, Found, Resources, malformed};
use crate::format::families::Family;
use crate::format::keys::DocumentValue;
use crate::format::record::{Generations, RecordError, StoreRecord};
use crate::format::settings::{Settings, SettingsError};
use crate::format::{IDENTITY_BYTES, VERSION};
use crate::text::AnalyserDescription;
use crate::{Analyser, Error, Frequencies, Result};

/// A store's engine, and what its record says.
pub(super) struct Opened<S: Sketch> {
    pub(super) engine: Engine,
    pub(super) record: StoreRecord<S::Design>,
    pub(super) settings: Settings,
    pub(super) clock: Arc<Clock>,
    pub(super) sketcher: Option<S::Sketcher>,
    /// Whether what an unfinished load has left is kept.
    pub(super) keeps_load: bool,
}

pub(super) fn create<S: Sketch>(path: &Path, design: &S::Design, options: &Options) -> Result<()> {
    let analyser = match &options.text {
        Text::Stored => Some(Analyser::default()),
        Text::Analyser(analyser) => Some(analyser.clone()),
        Text::None => None,
    };
    let settings = Settings { retention_millis: options.retention_millis() };
    let record = StoreRecord {
        sketch: S::KIND.to_owned(),
        design: design.clone(),
        admission_distance: S::admission_distance(design),
        analyser: analyser.as_ref().map(Analyser::describe),
        generations: Generations::default(),
        created_at_millis: Clock::default().now_millis(),
        settings: settings.encode(),
    };
    let families = Family::live(design, IDENTITY_BYTES, settings.retention_millis, record.generations.live);
    let tables: Vec<_> =
        analyser.iter().flat_map(Analyser::frequencies).map(|table| (table.identity(), table.to_bytes())).collect();
    Engine::create(path, &families, &tables, &record.encode(), &options.resources())
}

/// Whether [`create`] is what a path needs.
pub(super) fn is_missing(path: &Path) -> Result<bool> {
    Ok(matches!(engine::inspect(path)?, Found::Nothing | Found::Begun))
}

/// What the engine must know of a store's documents.
pub(super) fn expiry(clock: &Arc<Clock>) -> Expiry {
    Expiry { clock: Arc::clone(clock), limit: Arc::default(), sketch_bytes: IDENTITY_BYTES }
}

/// The number of the sketch of a document.
pub(super) fn number(value: &DocumentValue<'_>) -> u64 {
    u64::from_be_bytes(value.sketch.try_into().expect("it was taken apart as eight bytes"))
}

pub(super) fn open<S: Sketch>(path: &Path, options: &Options, read_only: bool) -> Result<Opened<S>> {
    let opened = open_even_in_repair::<S>(path, options, read_only)?;
    if opened.engine.is_in_repair()? {
        return Err(Error::Corrupt { path: path.to_owned(), what: "a repair of it was interrupted".to_owned() });
    }
    Ok(opened)
}

/// Reads what a store says that it is.
pub(super) fn read_record<S: Sketch>(engine: &Engine, path: &Path) -> Result<(StoreRecord<S::Design>, Settings)> {
    // Families without a record: the creation was interrupted just before it ended.
    let bytes = engine.record()?.ok_or_else(|| Error::NotFound { path: path.to_owned() })?;
    let record = StoreRecord::decode(&bytes, S::KIND).map_err(|e| match e {
        RecordError::NoRecord => Error::Corrupt { path: path.to_owned(), what: "the store record is no record".into() },
        RecordError::Sketch(found) => mismatch(path, "sketches of the kind", found, S::KIND.to_owned()),
        RecordError::Version(found) => Error::Format { path: path.to_owned(), found, supported: VERSION },
        RecordError::Malformed(e) => malformed(path, e),
    })?;
    let settings = Settings::decode(&record.settings).map_err(|e| match e {
        SettingsError::Unknown(name, value) => {
            mismatch(path, "the setting", format!("{name}={value}"), "one that this build knows".to_owned())
        }
        SettingsError::Malformed(e) => malformed(path, e),
    })?;
    Ok((record, settings))
}

/// Opens a store, one whose repair is under way too.
pub(super) fn open_even_in_repair<S: Sketch>(path: &Path, options: &Options, read_only: bool) -> Result<Opened<S>> {
    open_with::<S>(path, options, &options.resources(), read_only)
}

/// Opens a store to repair it, although files of it may be missing.
pub(super) fn open_leniently<S: Sketch>(path: &Path, options: &Options) -> Result<Opened<S>> {
    open_with::<S>(path, options, &options.resources().for_repair(), false)
}

fn open_with<S: Sketch>(path: &Path, options: &Options, resources: &Resources, read_only: bool) -> Result<Opened<S>> {
    let clock = Arc::new(Clock::default());
    let engine = Engine::open(path, resources, &expiry(&clock), read_only)?;
    let (record, settings) = read_record::<S>(&engine, path)?;
    let mismatch = |what, found, expected| mismatch(path, what, found, expected);
    if let Some(asked) = options.retention_millis().filter(|&asked| settings.retention_millis != Some(asked)) {
        return Err(mismatch("the retention", shown(settings.retention_millis), shown(Some(asked))));
    }
    let analyser = match (&options.text, &record.analyser) {
        (Text::None, _) | (Text::Stored, None) => None,
        (Text::Stored, Some(stored)) => Some(stored_analyser(&engine, path, stored)?),
        (Text::Analyser(expected), Some(stored)) if expected.describe() == *stored => Some(expected.clone()),
        (Text::Analyser(expected), stored) => {
            let stored = stored.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
            return Err(mismatch("the analyser", stored, expected.to_string()));
        }
    };
    let sketcher = analyser.map(|analyser| S::sketcher(&record.design, analyser));
    Ok(Opened { engine, record, settings, clock, sketcher, keeps_load: options.keeps_load })
}

/// The analyser that a store record describes, with the tables that the store keeps for it.
fn stored_analyser(engine: &Engine, path: &Path, stored: &AnalyserDescription) -> Result<Analyser> {
    let mut tables = Vec::new();
    for identity in stored.tables() {
        tables.push(Arc::new(stored_table(engine, path, identity)?));
    }
    Analyser::from_description(stored, &tables).ok_or_else(|| {
        let lacking = stored
            .lacks()
            .map(|feature| format!("a build with the feature {feature}, or none (Options::sketches_only)"));
        let nearest = Analyser::nearest(stored, &tables).map_or_else(
            || "one of this build, or none (Options::sketches_only)".to_owned(),
            |nearest| format!("the one of this build, {nearest}, or none (Options::sketches_only)"),
        );
        mismatch(path, "the analyser", stored.to_string(), lacking.unwrap_or(nearest))
    })
}

/// The table that a store keeps under a name.
pub(super) fn stored_table(engine: &Engine, path: &Path, identity: u64) -> Result<Frequencies> {
    let unusable = |what| Error::StoredFrequencies { path: path.to_owned(), identity, what };
    let bytes = match engine.frequencies(identity) {
        Err(Error::Corrupt { what, .. }) => return Err(unusable(what)),
        read => read?,
    };
    if bytes.is_empty() {
        return Err(unusable("it is missing".to_owned()));
    }
    let table = Frequencies::from_bytes(&bytes).map_err(|e| match e.foreign {
        Some((found, expected)) => mismatch(
            path,
            "a table of frequencies of the version",
            found.to_string(),
            format!("{expected}, that of this build, or none (Options::sketches_only)"),
        ),
        None => unusable(e.to_string()),
    })?;
    if table.identity() != identity {
        return Err(unusable(format!("it is another one, {:016x}", table.identity())));
    }
    Ok(table)
}

/// Opens a store that must have this design and retention, and the analyser that the options name; where they name none,
/// an analyser, unless sketches are all that is asked.
pub(super) fn open_same<S: Sketch>(path: &Path, design: &S::Design, options: &Options) -> Result<Opened<S>> {
    let opened = open::<S>(path, options, false)?;
    if options.text == Text::Stored && opened.sketcher.is_none() {
        return Err(mismatch(path, "the analyser", "none".to_owned(), Analyser::default().to_string()));
    }
    let (stored, asked) = (opened.settings.retention_millis, options.retention_millis());
    if stored != asked {
        return Err(mismatch(path, "the retention", shown(stored), shown(asked)));
    }
    if opened.record.design != *design {
        return Err(mismatch(path, "the design", opened.record.design.to_string(), design.to_string()));
    }
    Ok(opened)
}

fn mismatch(path: &Path, what: &'static str, found: String, expected: String) -> Error {
    Error::Mismatch { path: path.to_owned(), what, found, expected }
}

/// A retention for people.
fn shown(retention_millis: Option<u64>) -> String {
    retention_millis.map_or_else(|| "none".to_owned(), |millis| format!("{millis} ms"))
}
