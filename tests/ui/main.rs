//! What one item alone decides, refused with exact text. `TRYBUILD=overwrite` writes what is found.

#[test]
fn texts() {
    let cases = trybuild::TestCases::new();
    for topic in ["syntax", "types", "shapes", "proofs", "off_by_one"] {
        cases.compile_fail(format!("ui/{topic}/*.rs"));
    }
}
