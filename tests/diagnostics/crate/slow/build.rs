fn main() {
    std::env::set_var("TENFOLD_FAULT", "hang:twice");
    std::env::set_var("TENFOLD_TIME_LIMIT", "1");
    tenfold_build::compile();
}
