//! What one item alone decides, refused with exact text. `TRYBUILD=overwrite` writes what is found.

mod codes;

/// The folders of cases.
const TOPICS: [&str; 5] = ["syntax", "types", "shapes", "proofs", "off_by_one"];

#[test]
fn texts() {
    let cases = trybuild::TestCases::new();
    for topic in TOPICS {
        cases.compile_fail(format!("ui/{topic}/*.rs"));
    }
}
