"use strict";
(() => {
  const stage = document.querySelector(".stage"), drawing = stage.querySelector("svg"), detail = document.querySelector("#detail");
  const whole = drawing.viewBox.baseVal, full = { x: 0, y: 0, w: whole.width, h: whole.height };
  let view = full;
  const show = (next) => {
    view = next;
    drawing.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
  };
  const pane = () => stage.getBoundingClientRect();
  // a pixel is a unit of the drawing, and the first box is in the middle
  const actual = () => {
    const { width, height } = pane();
    show({ x: Number(drawing.dataset.start) - width / 2, y: 0, w: width, h: height });
  };
  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse());
    return [point.x, point.y];
  };
  const zoom = (factor, [x, y]) => {
    const w = Math.min(Math.max(view.w * factor, 80), 4 * Math.max(full.w, full.h, 2000)), by = w / view.w;
    show({ x: x - (x - view.x) * by, y: y - (y - view.y) * by, w, h: view.h * by });
  };
  const center = () => [view.x + view.w / 2, view.y + view.h / 2];
  const buttons = { closer: () => zoom(0.8, center()), farther: () => zoom(1.25, center()), whole: () => show(full), actual };
  for (const button of stage.querySelectorAll("button")) button.addEventListener("click", buttons[button.dataset.act]);
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(event.deltaY * 0.0015), at(event));
  }, { passive: false });
  let drag = null;
  stage.addEventListener("pointerdown", (event) => {
    if (event.target.closest("button")) return;
    drag = { from: at(event), moved: 0 };
  });
  stage.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const [x, y] = at(event);
    drag.moved += Math.abs(event.movementX) + Math.abs(event.movementY);
    if (drag.moved > 4) show({ ...view, x: view.x + drag.from[0] - x, y: view.y + drag.from[1] - y });
  });
  addEventListener("pointerup", (event) => {
    const node = drag && drag.moved <= 4 && event.target.closest && event.target.closest(".node");
    drag = null;
    if (node) choose(node);
  });
  const choose = (node) => {
    for (const other of drawing.querySelectorAll(".chosen")) other.classList.remove("chosen");
    node.classList.add("chosen");
    const [title, ...rest] = node.querySelector("title").textContent.split("\n");
    detail.replaceChildren();
    const add = (name, text) => detail.appendChild(Object.assign(document.createElement(name), { textContent: text }));
    add("h3", title);
    const list = add("ul", "");
    for (const line of rest) list.appendChild(Object.assign(document.createElement("li"), { textContent: line }));
    const kernel = [...document.querySelectorAll("details")].find((one) => one.dataset.kernel === node.dataset.kernel);
    if (!node.dataset.kernel || !kernel) return;
    for (const about of kernel.querySelectorAll(":scope > p, .about")) detail.appendChild(about.cloneNode(true));
    add("pre", kernel.querySelector("pre").textContent);
  };
  drawing.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.closest(".node")) choose(event.target.closest(".node"));
  });
  for (const piece of document.querySelectorAll("[data-node]")) {
    piece.addEventListener("click", () => {
      const node = document.getElementById(piece.dataset.node), box = node.querySelector("rect");
      const { width, height } = pane();
      show({ x: Number(box.getAttribute("x")) - width / 2 + 130, y: Number(box.getAttribute("y")) - height / 3, w: width, h: height });
      choose(node);
      stage.scrollIntoView({ block: "nearest" });
    });
  }
  if (full.w > 0) actual();
})();
