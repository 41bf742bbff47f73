//! Pages that are made from the code.

use std::path::Path;

#[test]
fn the_page_of_passes_is_what_the_registry_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/passes.md");
    let page = tenfold_core::pass::document();
    if std::env::var_os("TENFOLD_BLESS").is_some_and(|v| v == "1") {
        std::fs::write(&path, page).expect("the page can be written");
    } else {
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == page, "passes.md is stale: TENFOLD_BLESS=1 cargo test -p tenfold-core --test documents");
    }
}
