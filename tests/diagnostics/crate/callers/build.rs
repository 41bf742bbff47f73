fn main() {
    tenfold_build::compile();
}
