/work/wt/digits/tests/firmware/target/thumbv7em-none-eabihf/release/deps/firmware-6031fdd5b7d93a60.d: src/main.rs src/board.rs src/../../../examples/digits/data/test_images.npy src/../../../examples/digits/data/test_labels.npy

/work/wt/digits/tests/firmware/target/thumbv7em-none-eabihf/release/deps/firmware-6031fdd5b7d93a60: src/main.rs src/board.rs src/../../../examples/digits/data/test_images.npy src/../../../examples/digits/data/test_labels.npy

src/main.rs:
src/board.rs:
src/../../../examples/digits/data/test_images.npy:
src/../../../examples/digits/data/test_labels.npy:
