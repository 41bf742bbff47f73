fn main() {
    std::env::set_var("TARGET", "x86_64-pc-windows-msvc");
    tenfold_build::compile();
}
