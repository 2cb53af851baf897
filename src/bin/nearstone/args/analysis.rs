//! How texts become features.

use std::path::PathBuf;
use std::sync::Arc;

use nearstone::{Analyser, Frequencies, Options};

use crate::failure::Usage;

/// How texts become features; fixed when a store is created.
#[derive(Debug, clap::Args)]
pub(crate) struct Analysis {
    /// How texts become features; a store keeps it [default: web]
    ///
    /// web: pairs of words, or of characters where a script has no spaces, each distinct one once. short: single words,
    /// for texts of under 30. code: three identifiers at a time, whose case counts. chars:N: N characters at a time.
    /// words: as web with weights by count, as older stores have it. 1e0ng, classic: as other programs compute it. Parts
    /// are changed by +shingle=N, +weights=binary|count|log, +min-features=N, +diacritics=remove, +han=simplify.
    ///
    /// +sentences=N takes the N longest sentences of a text instead of all of it. +weights=idf (or count-idf, log-idf)
    /// weighs by how rare features are, as the table of --idf says. +common-lines=N leaves out the lines that more than
    /// N documents have, as the table of --common-lines says. +stop=en leaves out words that say little, +stem=en takes
    /// endings off, by the language of each text with auto. +tokens=icu and +tokens=jieba cut scripts without spaces into
    /// words, in builds with these features.
    #[arg(long, value_name = "ANALYSER")]
    pub(crate) analyser: Option<String>,
    #[command(flatten)]
    pub(crate) tables: Tables,
}

/// Tables that analysers look into.
#[derive(Debug, clap::Args)]
pub(crate) struct Tables {
    /// A table of how rare features are, which `nearstone idf` makes; a store keeps it. Alone it means web+weights=idf
    #[arg(long, value_name = "TABLE")]
    pub(crate) idf: Vec<PathBuf>,
    /// A table of lines, which `nearstone idf --lines` makes, for +common-lines=N; a store keeps it
    #[arg(long, value_name = "TABLE")]
    pub(crate) common_lines: Option<PathBuf>,
}

impl Tables {
    /// The files that are read.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.idf.iter().chain(&self.common_lines)
    }

    fn read(&self) -> anyhow::Result<Vec<Arc<Frequencies>>> {
        let mut tables = Vec::new();
        for path in &self.idf {
            tables.push(read(path, false)?);
        }
        if let Some(path) = &self.common_lines {
            tables.push(read(path, true)?);
        }
        Ok(tables)
    }
}

fn read(path: &PathBuf, is_of_lines: bool) -> anyhow::Result<Arc<Frequencies>> {
    let table = Frequencies::read(path)?;
    if table.is_of_lines() != is_of_lines {
        let (has, option) = if is_of_lines { ("features", "--idf") } else { ("lines", "--common-lines") };
        return Err(Usage(format!("{} is a table of {has}: give it with {option}", path.display())).into());
    }
    Ok(Arc::new(table))
}

impl Analysis {
    /// The analyser, where no store says which.
    pub(crate) fn analyser(&self) -> anyhow::Result<Analyser> {
        Ok(self.named()?.unwrap_or_default())
    }

    /// The analysers that are named, or that of the options.
    pub(crate) fn analysers(&self, names: &[String]) -> anyhow::Result<Vec<Analyser>> {
        if names.is_empty() {
            return Ok(vec![self.analyser()?]);
        }
        self.parse(names.iter().map(|name| &name[..]))
    }

    fn named(&self) -> anyhow::Result<Option<Analyser>> {
        let name = match &self.analyser {
            Some(name) => name,
            None if !self.tables.idf.is_empty() => "web+weights=idf",
            None if self.tables.common_lines.is_some() => {
                let why = "--common-lines needs to know which lines are common: say --analyser web+common-lines=N for \
                           those of more than N documents";
                return Err(Usage(why.to_owned()).into());
            }
            None => return Ok(None),
        };
        Ok(self.parse([name])?.pop())
    }

    fn parse<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> anyhow::Result<Vec<Analyser>> {
        let tables = self.tables.read()?;
        let parse = |name| Analyser::with_tables(name, &tables).map_err(|e| Usage(e.to_string()));
        let analysers = names.into_iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let paths = self.tables.idf.iter().chain(&self.tables.common_lines);
        for (table, path) in tables.iter().zip(paths) {
            if !analysers.iter().any(|analyser| analyser.frequencies().any(|used| used == table)) {
                let part = if table.is_of_lines() { "+common-lines=N" } else { "+weights=idf" };
                let why = format!("no analyser looks into {}: leave it out, or give one with {part}", path.display());
                return Err(Usage(why).into());
            }
        }
        Ok(analysers)
    }

    /// The options for a store that is created or continued.
    pub(crate) fn options(&self) -> anyhow::Result<Options> {
        // The program seals at its end, if at all.
        let options = Options::new().auto_seal(None);
        Ok(match self.named()? {
            Some(analyser) => options.analyser(analyser),
            None => options,
        })
    }
}
