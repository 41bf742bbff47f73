fn main() {
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").unwrap()).join("tenfold");
    std::fs::create_dir_all(&out).unwrap();
    // a file where a directory is to be
    std::fs::write(out.join("cache"), "").unwrap();
    tenfold_build::compile();
}
