//! `compiler/docs/tflite.md` lists the operators that are imported. `TENFOLD_BLESS=1` writes the list.

#[test]
fn the_page_lists_the_operators() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tflite.md");
    let page = std::fs::read_to_string(path).expect("the page can be read");
    let head = "In the schema's order:\n\n";
    let (text, found) = page.split_once(head).expect("the head of the list");
    let rows: Vec<String> = tenfold_tflite::operators().iter().map(|name| format!("`{name}`")).collect();
    let list = rows.join(", ") + "\n";
    if std::env::var_os("TENFOLD_BLESS").is_some() {
        std::fs::write(path, format!("{text}{head}{list}")).expect("the page can be written");
        return;
    }
    assert!(found == list, "docs/tflite.md does not list the operators; TENFOLD_BLESS=1 writes it anew");
}
