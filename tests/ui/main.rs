//! What one item alone decides, refused with exact text. `TRYBUILD=overwrite` writes what is found.

mod codes;

use tenfold_ui_tests::TOPICS;

#[test]
fn texts() {
    let cases = trybuild::TestCases::new();
    for topic in TOPICS {
        cases.compile_fail(format!("{topic}/*.rs"));
    }
}
