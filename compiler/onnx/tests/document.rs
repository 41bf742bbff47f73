//! `compiler/docs/onnx.md` lists the operators that are imported. `TENFOLD_BLESS=1` writes the list.

#[test]
fn the_page_lists_the_operators() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/onnx.md");
    let page = std::fs::read_to_string(path).expect("the page can be read");
    let head = "the number is the first version that is read.\n\n";
    let (text, found) = page.split_once(head).expect("the head of the list");
    let row = |(domain, name, since): &(&str, &str, i64)| {
        let domain = if domain.is_empty() { String::new() } else { format!("{domain}.") };
        format!("`{domain}{name}` {since}")
    };
    let mut rows: Vec<String> = tenfold_onnx::operators().iter().map(row).collect();
    rows.sort();
    let twice: Vec<_> = rows.windows(2).filter(|pair| pair[0].split(' ').next() == pair[1].split(' ').next()).collect();
    assert!(twice.is_empty(), "an operator has two rows: {twice:?}");
    let list = rows.join(", ") + "\n";
    if std::env::var_os("TENFOLD_BLESS").is_some() {
        std::fs::write(path, format!("{text}{head}{list}")).expect("the page can be written");
    }
    assert!(found == list, "docs/onnx.md does not list the operators; TENFOLD_BLESS=1 writes it anew");
}
