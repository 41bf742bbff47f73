// What a person does: draws digits with the pen, and clears the page between them. The title is what the network saw.
const box = canvas.getBoundingClientRect();
const touch = (kind, [x, y]) =>
  canvas.dispatchEvent(new PointerEvent(kind, { clientX: box.left + x, clientY: box.top + y, bubbles: true }));
const turn = (n) => [128 + 55 * Math.sin((n / 20) * 2 * Math.PI), 128 - 85 * Math.cos((n / 20) * 2 * Math.PI)];
const strokes = [
  Array.from({ length: 21 }, (_, n) => turn(n)),
  [[105, 75], [135, 45], [135, 210]],
  [[75, 50], [180, 50], [115, 210]],
];
const read = strokes.map(([first, ...rest]) => {
  document.querySelector("button").click();
  touch("pointerdown", first);
  rest.forEach((point) => touch("pointermove", point));
  touch("pointerup", rest.at(-1));
  return document.querySelector("#rows .best").firstChild.textContent;
});
document.title = read.join(" ");
