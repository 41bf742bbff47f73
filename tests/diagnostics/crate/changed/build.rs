fn main() {
    tenfold_build::compile();
    let index = std::path::Path::new(&std::env::var_os("OUT_DIR").unwrap()).join("tenfold/index");
    let text = std::fs::read_to_string(&index).unwrap();
    // as if the function had been edited since
    std::fs::write(index, text.replace("fingerprint ", "fingerprint 0")).unwrap();
}
