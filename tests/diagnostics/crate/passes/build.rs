fn main() {
    tenfold_build::Build::new().config("UnrollLoop.max_stepp", 16).compile();
}
