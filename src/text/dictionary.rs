//! Words of scripts that are written without spaces, by dictionaries.

#[cfg(feature = "icu")]
pub(super) use icu::icu_words;
#[cfg(feature = "jieba")]
pub(super) use jieba::chinese_words;

#[cfg(feature = "icu")]
mod icu {
    use icu_segmenter::WordSegmenter;
    use icu_segmenter::options::WordBreakInvariantOptions;

    /// The segments of a text by the dictionaries of ICU, marks and spaces among them.
    ///
    /// Whether a segment is a word, the caller sees by its characters: ICU's own types of words pass over most of Hindi.
    pub(in crate::text) fn icu_words(text: &str, mut visit: impl FnMut(&str)) {
        let segmenter = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
        let mut start = 0;
        for end in segmenter.segment_str(text) {
            if end > start {
                visit(&text[start..end]);
            }
            start = end;
        }
    }
}

#[cfg(feature = "jieba")]
mod jieba {
    use std::sync::OnceLock;

    use jieba_rs::Jieba;
    use unicode_script::{Script, UnicodeScript};

    /// Hands the words of Han characters on one by one, and what is between them whole, as `false`.
    ///
    /// Words are those of the dictionary: guessing new ones from statistics would make other words of the same characters in
    /// other surroundings.
    pub(in crate::text) fn chinese_words(text: &str, mut visit: impl FnMut(&str, bool)) {
        static DICTIONARY: OnceLock<Jieba> = OnceLock::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_han = first.script() == Script::Han;
            let end = rest.find(|c: char| (c.script() == Script::Han) != is_han).unwrap_or(rest.len());
            let (run, behind) = rest.split_at(end);
            if is_han {
                let jieba = DICTIONARY.get_or_init(Jieba::new);
                for token in jieba.cut(run, false) {
                    visit(token.word, true);
                }
            } else {
                visit(run, false);
            }
            rest = behind;
        }
    }
}

#[cfg(all(test, any(feature = "icu", feature = "jieba")))]
mod tests {
    use crate::Simhash;
    use crate::text::tests::shingles;
    use crate::text::tokens::Tokeniser;

    /// The rows of `tests/data` that need a build with these features.
    #[test]
    fn fingerprints_stay_as_they_are() {
        let table = include_str!("../../tests/data/fingerprints-parts-1.tsv");
        let mut names = Vec::new();
        if cfg!(feature = "icu") {
            names.push("+tokens=icu");
        }
        if cfg!(feature = "jieba") {
            names.push("+tokens=jieba");
        }
        for name in names {
            let rows = table.lines().filter_map(|row| Some((row.split_once(name)?.0, row)));
            let mut count = 0;
            for (before, row) in rows {
                let specification = format!("{before}{name}");
                let columns: Vec<&str> = row.split('\t').collect();
                let [named, expected, text] = columns[..] else { panic!("{row}") };
                assert_eq!(named, specification);
                let text: String = serde_json::from_str(text).unwrap();
                let found = Simhash::new(specification.parse().unwrap()).fingerprint(&text).unwrap();
                assert_eq!(found.to_string(), expected, "{row}");
                count += 1;
            }
            assert_eq!(count, 8, "{name}");
        }
    }

    #[test]
    fn the_versions_are_those_that_are_built() {
        let lock = include_str!("../../Cargo.lock");
        let rows: &[(Tokeniser, &str, &[&str])] = &[
            #[cfg(feature = "icu")]
            (Tokeniser::Icu, "icu-dictionary-", &["icu_segmenter", "icu_segmenter_data"]),
            #[cfg(feature = "jieba")]
            (Tokeniser::Jieba, "jieba-", &["jieba-rs"]),
        ];
        for &(tokeniser, prefix, packages) in rows {
            let version = tokeniser.name().strip_prefix(prefix).unwrap();
            for name in packages {
                assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n")), "{name} {version}");
            }
        }
    }

    #[cfg(feature = "icu")]
    #[test]
    fn icu_finds_the_words_of_many_scripts() {
        let rows: [(&str, &[&str]); 6] = [
            ("The cat's 3.14 hats!", &["the", "cat's", "3.14", "hats"]),
            ("北京大学的自然语言", &["北京", "大学", "的", "自然", "语言"]),
            ("東京タワーへ行く", &["东京", "タワー", "へ", "行く"]),
            ("ภาษาไทยง่าย", &["ภาษา", "ไทย", "ง่าย"]),
            ("नमस्ते दुनिया", &["नमस्ते", "दुनिया"]),
            ("?! 。", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(shingles("short+tokens=icu", text), expected, "{text}");
        }
        assert_eq!(shingles("web+tokens=icu", "北京大学的"), ["北京 大学", "大学 的"], "windows of words");
    }

    #[cfg(feature = "jieba")]
    #[test]
    fn jieba_finds_the_words_of_chinese_and_leaves_the_rest() {
        let rows: [(&str, &[&str]); 4] = [
            ("我们中出了一个叛徒", &["我们", "中", "出", "了", "一个", "叛徒"]),
            ("Linux 系統核心 2.6 für Ärzte", &["linux", "系统核心", "2.6", "für", "ärzte"]),
            ("ภาษา", &["ภ า", "า ษ", "ษ า"]),
            ("。？!", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(shingles("short+tokens=jieba", text), expected, "{text}");
        }
        assert_eq!(shingles("web+tokens=jieba", "我们有一个"), ["我们 有", "有 一个"], "windows of words");
    }
}
