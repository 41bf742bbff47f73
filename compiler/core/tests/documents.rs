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

/// Estimates rest on the figures of `cli.md`.
#[test]
fn the_page_has_the_figures_of_every_gpu() {
    use tenfold_core::target::{Device, GPUS};
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/cli.md");
    let page = std::fs::read_to_string(path).expect("the page can be read");
    let (_, table) = page.split_once("| `--gpu` | GPU |").expect("the table");
    let rows: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    let expected: Vec<String> = GPUS
        .iter()
        .map(|gpu| {
            let tera = |flops: f64| (flops / 1e9).round() / 1e3;
            let devices = Device::ALL.into_iter().filter(|device| device.gpus().any(|own| own == gpu));
            let devices: Vec<String> = devices.map(|device| format!("`{}`", device.key())).collect();
            let matrices = gpu.matrices.map_or(String::new(), |matrices| format!("{} ", tera(matrices)));
            let (flops, memory) = (tera(gpu.flops), tera(gpu.bandwidth * 1e3));
            format!("| `{}` | {} | {flops} | {matrices}| {memory} | {} |", gpu.name, gpu.title, devices.join(", "))
        })
        .collect();
    assert_eq!(rows, expected, "docs/cli.md");
}
