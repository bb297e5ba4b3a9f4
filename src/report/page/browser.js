"use strict";
(() => {
  const read = (id) => {
    const element = document.getElementById(id);
    return element ? JSON.parse(element.textContent) : null;
  };
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const shortestRun = 3;

  // Marks every piece of a common run, not only its last one.
  const inRun = (pieces) => {
    const marks = pieces.map(() => false);
    pieces.forEach((piece, i) => {
      if (piece.run < shortestRun) return;
      for (let back = 0; back < piece.run && back <= i; ++back) marks[i - back] = true;
    });
    return marks;
  };
  const tint = (gain) => {
    const strength = Math.min(1, Math.abs(gain) / 3) * 0.55;
    return gain >= 0 ? `rgba(16,160,96,${strength})` : `rgba(220,60,60,${strength})`;
  };
  const addPieces = (parent, pieces, className, isScored) => {
    const marks = inRun(pieces);
    pieces.forEach((piece, i) => {
      const span = make("span", (marks[i] ? "run " : "") + (className || ""), piece.text);
      if (isScored && piece.nats_off !== null && piece.nats_on !== null) {
        const gain = piece.nats_off - piece.nats_on;
        span.style.background = tint(gain);
        span.title = `off ${piece.nats_off.toFixed(2)} nats, on ${piece.nats_on.toFixed(2)}, difference ${gain.toFixed(2)}`;
      }
      parent.append(span);
    });
  };

  const showExample = (example) => {
    const target = document.getElementById("example");
    target.replaceChildren();
    const chunk = make("div", "chunk");
    chunk.append(make("div", "meta",
      `${example.source}${example.part ? " / " + example.part : ""}: ${example.title}, chunk ${example.chunk}, overlap ${(100 * example.overlap).toFixed(0)} %`));
    addPieces(chunk, example.pieces, "", true);
    target.append(chunk);
    if (!example.neighbours.length) target.append(make("p", "meta", "This chunk had no neighbour to read."));
    example.neighbours.forEach((neighbour, rank) => {
      const box = make("div", "neighbour");
      box.append(make("div", "meta",
        `neighbour ${rank + 1}: ${neighbour.source} / ${neighbour.title}, squared distance ${neighbour.distance.toFixed(3)}`));
      addPieces(box, neighbour.chunk, "", false);
      addPieces(box, neighbour.continuation, "next", false);
      target.append(box);
    });
  };

  const startBrowser = (data) => {
    const sources = [...new Set(data.examples.map((example) => example.source + (example.part ? ": " + example.part : "")))];
    const select = document.getElementById("example-source");
    sources.forEach((source) => select.append(make("option", "", source)));
    let place = 0;
    const shown = () => data.examples.filter((example) => example.source + (example.part ? ": " + example.part : "") === select.value);
    const update = () => {
      const list = shown();
      if (!list.length) return;
      place = (place + list.length) % list.length;
      document.getElementById("example-place").textContent = `${place + 1} of ${list.length}`;
      showExample(list[place]);
    };
    select.addEventListener("change", () => { place = 0; update(); });
    document.getElementById("example-next").addEventListener("click", () => { ++place; update(); });
    document.getElementById("example-previous").addEventListener("click", () => { --place; update(); });
    update();
  };

  const addStretches = (parent, stretches, className) => {
    stretches.forEach((stretch) => parent.append(make("span", (stretch.common ? "common " : "") + (className || ""), stretch.text)));
  };
  const showSample = (sample) => {
    const target = document.getElementById("sample");
    target.append(make("p", "meta",
      `${sample.num_tokens} tokens, temperature ${sample.temperature}, top-p ${sample.top_p}, seed ${sample.seed}, ` +
      `${sample.retrieval ? sample.neighbours + " neighbours a chunk" : "retrieval off"}`));
    const whole = make("div", "chunk");
    whole.append(make("span", "given", sample.prompt), make("span", "", sample.text));
    target.append(whole);
    sample.chunks.forEach((chunk) => {
      const box = make("details", "");
      box.append(make("summary", "", `chunk ${chunk.chunk} and the ${chunk.neighbours.length} neighbours it could read`));
      const text = make("div", "chunk");
      addStretches(text, chunk.text);
      box.append(text);
      chunk.neighbours.forEach((neighbour) => {
        const read = make("div", "neighbour");
        read.append(make("div", "meta", `${neighbour.source} / ${neighbour.title}, squared distance ${neighbour.distance.toFixed(3)}`));
        addStretches(read, neighbour.text);
        addStretches(read, neighbour.continuation, "next");
        box.append(read);
      });
      target.append(box);
    });
  };

  const examples = read("example-data");
  if (examples && examples.examples.length) startBrowser(examples);
  const sample = read("sample-data");
  if (sample) showSample(sample);
})();
