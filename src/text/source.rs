//! What of a text is taken, before anything else is done with it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use super::Frequencies;
use crate::hash::feature_hash;

/// What of a text is taken: at first all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Source {
    /// Without the lines that more than so many documents have.
    pub(super) lines: Option<(Arc<Frequencies>, u32)>,
    /// So many of the longest sentences; 0 for all.
    pub(super) sentences: u32,
}

impl Source {
    pub(super) fn of<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        if let Some((table, documents)) = &self.lines {
            text = without_common(text, table, *documents);
        }
        if self.sentences > 0 {
            text = longest(text, self.sentences as usize);
        }
        text
    }
}

/// The hash of a line: of its words, which white space separates, with a space between them. `None` where the line has
/// none.
fn line_hash(line: &str, joined: &mut String) -> Option<u64> {
    joined.clear();
    for word in line.split_whitespace() {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    (!joined.is_empty()).then(|| feature_hash(joined))
}

impl Frequencies {
    /// Returns the hashes of the lines of a text, for a [`FrequencyCounter`](crate::FrequencyCounter). Case and marks count,
    /// white space only as a sign that a word ends.
    #[must_use]
    pub fn lines_of(text: &str) -> Vec<u64> {
        let mut joined = String::new();
        text.lines().filter_map(|line| line_hash(line, &mut joined)).collect()
    }
}

fn without_common<'a>(text: Cow<'a, str>, table: &Frequencies, documents: u32) -> Cow<'a, str> {
    let mut joined = String::new();
    let mut is_common = |line: &str| line_hash(line, &mut joined).is_some_and(|hash| table.exceeds(hash, documents));
    if !text.lines().any(&mut is_common) {
        return text;
    }
    let mut kept = String::with_capacity(text.len());
    for line in text.lines().filter(|line| !is_common(line)) {
        kept.push_str(line);
        kept.push('\n');
    }
    Cow::Owned(kept)
}

/// The longest sentences of a text by their characters, without white space around them; of those that are as long the
/// first.
fn longest(text: Cow<'_, str>, count: usize) -> Cow<'_, str> {
    let sentences = text.split_sentence_bounds().map(str::trim).filter(|sentence| !sentence.is_empty());
    let mut sentences: Vec<(usize, usize, &str)> =
        sentences.enumerate().map(|(place, sentence)| (sentence.chars().count(), place, sentence)).collect();
    if sentences.len() <= count {
        return text;
    }
    sentences.sort_unstable_by_key(|&(length, place, _)| (Reverse(length), place));
    sentences.truncate(count);
    sentences.sort_unstable_by_key(|&(_, place, _)| place);
    let sentences: Vec<&str> = sentences.into_iter().map(|(.., sentence)| sentence).collect();
    Cow::Owned(sentences.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrequencyCounter;

    fn sentences(count: u32, text: &str) -> String {
        Source { lines: None, sentences: count }.of(text).into_owned()
    }

    #[test]
    fn the_longest_sentences_are_taken_in_their_order() {
        let rows = [
            (1, "Home. The river has risen. Log in.", "The river has risen."),
            (2, "Home. The river has risen. Log in.", "The river has risen.\nLog in."),
            (3, "Home. The river has risen. Log in.", "Home. The river has risen. Log in."),
            (1, "One two. Six ten. A.", "One two."),
            (2, "a b c d\nmenu\nx\n\n\ne f g h", "a b c d\ne f g h"),
            (1, "短。这是一个很长的句子。短！", "这是一个很长的句子。"),
            // By characters, not by bytes.
            (1, "Seven letters. 漢字漢字漢。", "Seven letters."),
            (1, "", ""),
            (5, " \n ", " \n "),
            (0, "A. B. C.", "A. B. C."),
        ];
        for (count, text, expected) in rows {
            assert_eq!(sentences(count, text), expected, "{count} of {text:?}");
        }
    }

    fn table(documents: &[&str]) -> Arc<Frequencies> {
        let mut counter = FrequencyCounter::of_lines();
        for text in documents {
            counter.add(Frequencies::lines_of(text)).unwrap();
        }
        Arc::new(counter.finish().unwrap())
    }

    #[test]
    fn lines_that_many_documents_have_are_left_out() {
        let table = table(&["Menu\na", "Menu\n Log  in \r\nb", "\tMenu\nLog in\nmenu", "Menu\nMenu\nc"]);
        let taken = |documents, text| {
            Source { lines: Some((Arc::clone(&table), documents)), sentences: 0 }.of(text).into_owned()
        };
        let text = "Menu\nLog in\nnews\nmenu\n";
        assert_eq!(taken(1, text), "news\nmenu\n");
        assert_eq!(taken(2, text), "Log in\nnews\nmenu\n");
        assert_eq!(taken(3, text), "Log in\nnews\nmenu\n");
        assert_eq!(taken(4, text), text);
        assert_eq!(taken(1, "Menu"), "");
        assert_eq!(taken(1, "x\n\n \n"), "x\n\n \n", "lines without words are no lines");
    }

    #[test]
    fn lines_go_before_sentences_are_chosen() {
        let table = table(&["This line is the longest of all lines\na", "This line is the longest of all lines\nb"]);
        let source = Source { lines: Some((table, 1)), sentences: 1 };
        assert_eq!(source.of("This line is the longest of all lines\nx\nsome news"), "some news");
    }
}
