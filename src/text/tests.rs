//! The shingles of presets, in many scripts.

use proptest::prelude::*;

use super::runs::Runs;
use super::scratch::Normal;
use super::tokens::Tokens;
use super::*;

/// The shingles of a text by the analyser of a specification.
pub(super) fn shingles(specification: &str, text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let analyser: Analyser = specification.parse().unwrap();
    analyser.shingles(text, |shingle| all.push(shingle.to_owned()));
    all
}

/// The tokens that a text is cut into, as it is.
pub(super) fn tokens(text: &str, cut: impl FnOnce(&Normal, &mut Runs, &mut Tokens)) -> Vec<(String, bool)> {
    let (mut normal, mut runs, mut tokens) = (Normal::default(), Runs::default(), Tokens::default());
    normal.write(|normal| normal.push_str(text));
    cut(&normal, &mut runs, &mut tokens);
    tokens.list()
}

/// Texts of what the rules tell apart, mostly of what the short ways take, and of any characters.
pub(super) fn mixed() -> impl Strategy<Value = String> {
    let ascii = "[a-cA-C01_.:,;' \"\r\n-]{1,20}";
    let plain = "[éÉßžлЖكαΣ中漢語かな“”—。，！Ａｂ　한글…’´]{1,4}";
    let tables = "[\u{ad}\u{301}\u{323}\u{345}\u{3099}\u{200d}\u{200b}\u{fe0f}カタ゛ーｶﾞไทยกำहिन्दीאב\u{5b4}\u{600}🇩🇪😀👍🏽®㊗ﬁ½İǰ\u{1100}\u{1161}\u{11a8}ᾳ\u{202f}‿·٠١]{1,3}";
    let part = prop_oneof![4 => ascii, 3 => plain, 2 => tables, 1 => "\\PC{1,2}"];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

/// A text by the tables alone, feature by feature.
fn by_tables(analyser: &Analyser, text: &str) -> Vec<u64> {
    let folded: String = normalise::folded(text).collect();
    let normal = if analyser.simplifies_han { han::fold(folded.into()).into_owned() } else { folded };
    let mut tokens = Tokens::default();
    tokens.clear(true);
    words::by_tables(&normal, &mut tokens);
    tokens.end();
    let mut features = Vec::new();
    tokens.windows(usize::from(analyser.shingle_tokens), |window| features.push(crate::feature_hash(window)));
    features
}

proptest! {
    #[test]
    fn short_ways_give_the_features_of_the_tables(text in mixed(), shingle in 1u16..5) {
        for analyser in [Analyser::new(shingle), Analyser::default().shingle(shingle)] {
            let expected = by_tables(&analyser, &text);
            let mut features = Vec::new();
            analyser.features(&text, |feature| features.push(feature));
            prop_assert_eq!(&features, &expected);
            let weighted = analyser.weighted_features(&text);
            let sketch = crate::Simhash::new(analyser.clone()).sketch(&text);
            prop_assert_eq!(sketch.features(), weighted.len());
            prop_assert_eq!(sketch.fingerprint(), crate::simhash(weighted));
            prop_assert_eq!(crate::Simhash::new(analyser).fingerprint(&text), sketch.fingerprint());
        }
    }
}

/// One thread's room is taken for one text at a time.
#[test]
fn features_of_one_text_within_those_of_another() {
    let analyser = Analyser::new(1);
    let mut count = 0;
    analyser.features("one two three", |_| analyser.features("four five", |_| count += 1));
    analyser.shingles("one two", |_| analyser.features("four five", |_| count += 1));
    assert_eq!(count, 10);
}

#[test]
fn shingles_of_many_scripts() {
    let rows: &[(u16, &str, &[&str])] = &[
        (1, "The cat's 3.14 hats", &["the", "cat's", "3.14", "hats"]),
        (2, "one two three", &["one two", "two three"]),
        (3, "one two", &["one two"]),
        (2, "one", &["one"]),
        (2, "ab c", &["ab c"]),
        (2, "a bc", &["a bc"]),
        (2, "北京大学", &["北 京", "京 大", "大 学"]),
        (4, "北京大学", &["北 京", "京 大", "大 学"]),
        (2, "北京，大学。", &["北 京", "京 大", "大 学"]),
        (2, "東京タワー", &["東 京", "京 タ", "タ ワ", "ワ ー"]),
        (2, "ひらがな", &["ひ ら", "ら が", "が な"]),
        (2, "ｶﾞｷﾞ", &["ガ ギ"]),
        (2, "한국어 문장", &["한국어 문장"]),
        (1, "سلام دنیا", &["سلام", "دنیا"]),
        (1, "שלום עולם", &["שלום", "עולם"]),
        (1, "नमस्ते दुनिया", &["नमस्ते", "दुनिया"]),
        (1, "Ελλάς ΕΛΛΑΣ", &["ελλάσ", "ελλασ"]),
        (1, "Straße STRASSE", &["strasse", "strasse"]),
        (1, "ﬁne ＡＢＣ", &["fine", "abc"]),
        (1, "Привет, МИР", &["привет", "мир"]),
        (1, "e\u{301}t\u{e9}", &["\u{e9}t\u{e9}"]),
        (1, "infor\u{ad}mation", &["information"]),
        (1, "😀 ok 🎉", &["😀", "ok", "🎉"]),
        (1, "☕\u{fe0f} ☕", &["☕", "☕"]),
        (1, "🇩🇪", &["🇩🇪"]),
        (1, "word _ - * 1", &["word", "1"]),
        (2, "Linux 系统", &["linux 系", "系 统"]),
    ];
    for &(tokens, text, expected) in rows {
        assert_eq!(shingles(&format!("words+shingle={tokens}"), text), expected, "{tokens} tokens of {text:?}");
    }
    assert!(shingles("words", "สวัสดีชาวโลก").len() > 5);
}

#[test]
fn texts_without_features_have_none() {
    for text in [
        "",
        " ",
        "\n\t",
        "!?",
        "...",
        "— «»",
        "\u{feff}",
        "\u{200b}",
        "\u{ad}",
        "\u{301}",
        "_",
        "+-*/",
        "😶\u{fe0f}".strip_prefix('😶').unwrap(),
    ] {
        assert_eq!(shingles("words", text), [""; 0], "{text:?}");
    }
}

#[test]
fn shingles_of_presets() {
    let rows: &[(Preset, &str, &[&str])] = &[
        (Preset::Web, "Ein Maß, 漢語!", &["ein mass", "mass 汉", "汉 语"]),
        (Preset::Short, "One two 三四", &["one", "two", "三 四"]),
        (Preset::Code, "fn f_1(a: Vec<u8>) {", &["fn f_1 a", "f_1 a Vec", "a Vec u8"]),
        (Preset::Code, "{ } ( ) ;", &[]),
        (Preset::Code, "__ _x", &["_x"]),
        (Preset::OneE0ng, "Ab, c_D!", &["abc_", "bc_d"]),
        (Preset::OneE0ng, "Ab", &["ab"]),
        (Preset::Classic, " Ab,\tc\u{3000}d ", &["Ab,", "c", "d"]),
    ];
    for &(preset, text, expected) in rows {
        assert_eq!(shingles(preset.name(), text), expected, "{preset:?} {text:?}");
    }
}

#[test]
fn characters_are_letters_digits_and_emoji_with_nothing_between() {
    assert_eq!(shingles("chars:2", "A 1, 漢😀"), ["a1", "1汉", "汉😀"]);
    assert_eq!(shingles("chars:3", "नमस्ते"), ["नमस्ते"], "three clusters");
    assert_eq!(shingles("chars:5", "abc"), ["abc"]);
    assert_eq!(shingles("chars:2", "!?"), [""; 0]);
}

#[test]
fn weights_follow_the_number_of_occurrences() {
    let weights = |weights| {
        let mut all: Vec<u32> = Analyser::new(1)
            .weights(weights)
            .weighted_features("a b b b b c c")
            .into_iter()
            .map(|(_, weight)| weight)
            .collect();
        all.sort_unstable();
        all
    };
    assert_eq!(weights(Weights::Binary), [1, 1, 1]);
    assert_eq!(weights(Weights::Count), [1, 2, 4]);
    assert_eq!(weights(Weights::Log), [1, 2, 3]);
}
