//! A sealed generation outside a store: folders of page files, and a manifest that says what they are.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::files::{PageFile, Part, failed, sync_folder};
use super::folder::Folder;
use crate::{Error, Result, Table, TableDesign};

/// The name of the manifest in its folder.
pub(super) const NAME: &str = "manifest.json";
const FORMAT: &str = "nearstone-pages/1";
const SKETCH: &str = "simhash64";

/// What a folder of page files holds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    format: String,
    sketch: String,
    design: Design,
    /// Whether holders have times, as those of a store with a retention have.
    pub(super) holder_times: bool,
    pub(super) documents: u64,
    pub(super) sketches: u64,
    /// The files of each part, in the order of their keys.
    parts: BTreeMap<String, Vec<PageFile>>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Design {
    max_distance: u32,
    tables: Vec<Parts>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    prefix_bits: u32,
    /// Start and end of each range of bits in the new order.
    parts: Vec<(u32, u32)>,
}

impl Design {
    fn of(design: &TableDesign) -> Self {
        let parts = |table: &Table| Parts {
            prefix_bits: table.prefix_bits(),
            parts: table.permutation().parts().iter().map(|part| (part.start, part.end)).collect(),
        };
        Self { max_distance: design.max_distance(), tables: design.tables().iter().map(parts).collect() }
    }
}

/// Writes the manifest of finished files, which makes the folder one.
pub(super) fn write(path: &Path, design: &TableDesign, holder_times: bool, folder: &Folder) -> Result<()> {
    let state = &folder.state;
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        sketch: SKETCH.to_owned(),
        design: Design::of(design),
        holder_times,
        documents: state.files(Part::Documents).iter().map(|file| file.entries).sum(),
        sketches: state.holders.as_ref().map_or(0, |step| step.sketches),
        parts: Part::all(design.tables().len()).map(|part| (part.name(), state.files(part).to_vec())).collect(),
    };
    let (to, beside) = (path.join(NAME), path.join("manifest.json.new"));
    let write = || -> io::Result<()> {
        let mut file = File::create(&beside)?;
        file.write_all(&serde_json::to_vec_pretty(&manifest)?)?;
        file.sync_all()?;
        fs::rename(&beside, &to)
    };
    for part in Part::all(design.tables().len()) {
        sync_folder(&path.join(part.name()))?;
    }
    write().map_err(|e| failed("write", &to, e))?;
    sync_folder(path)
}

impl Manifest {
    /// Reads the manifest of a folder for a store of this design.
    pub(super) fn read(folder: &Path, design: &TableDesign, holder_times: bool) -> Result<Self> {
        let path = folder.join(NAME);
        let bytes = fs::read(&path).map_err(|e| failed("read", &path, e))?;
        let bad = |what: String| Error::Pages { path: path.clone(), what };
        // Another format may lay out the rest differently.
        let any: serde_json::Value = serde_json::from_slice(&bytes).map_err(|e| bad(format!("it is no JSON ({e})")))?;
        match any.get("format").and_then(serde_json::Value::as_str) {
            Some(FORMAT) => {}
            found => return Err(bad(format!("it has the format {found:?}, this build reads {FORMAT:?}"))),
        }
        let manifest: Self = serde_json::from_value(any).map_err(|e| bad(format!("it is no manifest ({e})")))?;
        if manifest.sketch != SKETCH {
            return Err(bad(format!("its sketches are {:?}, those of the store {SKETCH:?}", manifest.sketch)));
        }
        if manifest.design != Design::of(design) {
            return Err(bad(format!("it is of another design than the store, which has {design}")));
        }
        if manifest.holder_times != holder_times {
            let has = |has| if has { "with" } else { "without" };
            let (its, stores) = (has(manifest.holder_times), has(holder_times));
            return Err(bad(format!("its holders are {its} times, those of the store {stores}")));
        }
        let parts: Vec<String> = Part::all(design.tables().len()).map(Part::name).collect();
        if !manifest.parts.keys().all(|name| parts.contains(name)) || manifest.parts.len() != parts.len() {
            return Err(bad(format!("it must have the parts {}", parts.join(", "))));
        }
        let names = manifest.parts.values().flatten().map(|file| &file.name);
        if let Some(name) = names.into_iter().find(|name| Path::new(name).file_name() != Some(name.as_ref())) {
            return Err(bad(format!("{name:?} is not the name of a file")));
        }
        let entries =
            |part: Part| manifest.files(part).iter().try_fold(0u64, |sum, file| sum.checked_add(file.entries));
        let wrong = Part::all(design.tables().len()).find(|&part| {
            let of = if matches!(part, Part::Table(_)) { manifest.sketches } else { manifest.documents };
            entries(part) != Some(of)
        });
        match wrong {
            Some(part) => Err(bad(format!("the counts of the files of {} do not add up", part.name()))),
            None => Ok(manifest),
        }
    }

    /// About how many entries all parts have together.
    pub(super) fn entries(&self, tables: usize) -> u64 {
        self.documents.saturating_mul(2).saturating_add(self.sketches.saturating_mul(tables as u64))
    }

    pub(super) fn files(&self, part: Part) -> &[PageFile] {
        self.parts.get(&part.name()).map_or(&[], Vec::as_slice)
    }
}
