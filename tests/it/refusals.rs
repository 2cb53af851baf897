//! What callers ask for and cannot have.

use nearstone::{Error, Fingerprint, TableDesign};

use crate::common::Scratch;

#[test]
fn distances_above_the_limits_are_refused_with_both_values() {
    let scratch = Scratch::new();
    let store = scratch.create(&TableDesign::default());
    let value = Fingerprint::new(1);
    assert_eq!(store.admission_distance(), 12);
    store.check_and_insert("id", &value, 12).unwrap();
    let error = store.check_and_insert("other", &value, 13).unwrap_err();
    assert!(matches!(error, Error::Distance { asked: 13, maximum: 12, .. }), "{error}");
    assert_eq!(store.get("other").unwrap(), None);
    store.query(&value, 16).unwrap();
    let error = store.query(&value, 17).unwrap_err();
    assert!(matches!(error, Error::Distance { asked: 17, maximum: 16, .. }), "{error}");
    assert!(store.query(&value, u32::MAX).is_err());
}

#[test]
fn a_design_for_a_larger_distance_admits_by_it() {
    let scratch = Scratch::new();
    let design = TableDesign::choose(15, 14).unwrap();
    let store = scratch.create(&design);
    assert_eq!(store.admission_distance(), 14);
    assert!(store.check_and_insert("a", &Fingerprint::new(0), 14).unwrap().is_admitted());
    assert!(!store.check_and_insert("b", &Fingerprint::new((1 << 14) - 1), 14).unwrap().is_admitted());
    assert!(store.check_and_insert("c", &Fingerprint::new((1 << 15) - 1), 14).unwrap().is_admitted());
}
