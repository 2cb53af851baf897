//! The shingles of presets, in many scripts.

use super::*;

fn shingles(tokens: u16, text: &str) -> Vec<String> {
    let mut all = Vec::new();
    Analyser::new(tokens).shingles(text, |shingle| all.push(shingle.to_owned()));
    all
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
        assert_eq!(shingles(tokens, text), expected, "{tokens} tokens of {text:?}");
    }
    assert!(shingles(2, "สวัสดีชาวโลก").len() > 5);
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
        assert_eq!(shingles(2, text), [""; 0], "{text:?}");
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
        let mut found = Vec::new();
        Analyser::preset(preset).shingles(text, |shingle| found.push(shingle.to_owned()));
        assert_eq!(found, expected, "{preset:?} {text:?}");
    }
}

#[test]
fn characters_are_letters_digits_and_emoji_with_nothing_between() {
    let shingles = |count, text| {
        let mut all = Vec::new();
        Analyser::characters(count).shingles(text, |shingle| all.push(shingle.to_owned()));
        all
    };
    assert_eq!(shingles(2, "A 1, 漢😀"), ["a1", "1汉", "汉😀"]);
    assert_eq!(shingles(3, "नमस्ते"), ["नमस्ते"], "three clusters");
    assert_eq!(shingles(5, "abc"), ["abc"]);
    assert_eq!(shingles(2, "!?"), [""; 0]);
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
