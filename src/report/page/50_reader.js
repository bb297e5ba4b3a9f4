// The document reader: list of documents, coloured text, passages beside it, search.
(() => {
  const thousandth = 1e-3;
  const sum = (list) => list.reduce((total, value) => total + (value ?? 0), 0);
  const mean = (list) => list.reduce((total, value) => total + value, 0) / Math.max(1, list.length);
  const orders = {
    whole: (a, b) => b.chunks.length - a.chunks.length,
    helped: (a, b) => b.saved - a.saved,
    hurt: (a, b) => a.saved - b.saved,
    overlap: (a, b) => b.overlap - a.overlap,
  };
  const savedLevels = [0.1, 0.5, 1.5, 3];  // nats
  const savedClass = (saved) => {
    if (saved === null) return "";
    const level = savedLevels.filter((least) => Math.abs(saved) * thousandth >= least).length;
    return level ? (saved > 0 ? "g" : "b") + level : "";
  };
  const savedText = (saved) => `${page.figure(Math.abs(saved) * thousandth, 1)} nats ${saved >= 0 ? "saved" : "lost"}`;

  // Pieces, runs and losses are prepared once; search looks in lower case.
  const prepare = (documents) => {
    documents.forEach((item, place) => {
      item.place = place;
      item.chunks.forEach((chunk) => {
        chunk.document = item;
        chunk.total = sum(chunk.saved);
        chunk.plain = chunk.text.join("");
        chunk.isScored = chunk.saved.some((value) => value !== null);
        const passages = chunk.neighbours.map((found) =>
          [found.title, ...found.text.map(([text]) => text), ...found.next.map(([text]) => text)].join(""));
        chunk.haystack = [item.title, item.source, item.part, chunk.plain, ...passages].join("\n").toLowerCase();
      });
      item.saved = sum(item.chunks.map((chunk) => chunk.total));
      item.overlap = mean(item.chunks.map((chunk) => chunk.overlap ?? 0));
    });
  };

  const looksLikeCode = (item) =>
    item.chunks.filter((chunk) => /\S {3,}\S|[=~*+-]{6,}|^( {4}|\t)/m.test(chunk.plain)).length * 3 > item.chunks.length;

  const start = (root, data) => {
    const at = (selector) => root.querySelector(selector);
    const [list, text, panel, status, tokenLine] =
      [".documents", ".document", ".neighbours", ".status", ".token-line"].map(at);
    const state = { document: null, query: "" };
    prepare(data.documents);

    const matches = (chunk) => !state.query || chunk.haystack.includes(state.query);

    const showToken = (span, chunk) => {
      const i = Number(span.dataset.i);
      if (span.closest(".chosen")) page.markSameRun(panel, chunk, i);
      const [saved, off, run] = [chunk.saved[i], chunk.off[i], chunk.run[i]];
      const losses = saved === null ? "not scored"
        : `${page.figure(off * thousandth, 2)} nats with retrieval off, ${page.figure((off - saved) * thousandth, 2)} on: ${page.figure(Math.abs(saved) * thousandth, 2)} ${saved >= 0 ? "saved" : "lost"}`;
      tokenLine.textContent = `“${chunk.text[i]}”  ${losses}${run ? `; in a run of ${run} tokens` : ""}`;
    };

    const choose = (chunk, hasFocus) => {
      text.querySelectorAll(".chunk").forEach((box) => {
        const isChosen = Number(box.dataset.n) === chunk.n;
        box.classList.toggle("chosen", isChosen);
        box.querySelector("button").setAttribute("aria-expanded", String(isChosen));
        if (isChosen && hasFocus) box.querySelector("button").focus();
        // On a narrow page the passages stand below their chunk, on a wide one beside the text.
        if (isChosen && matchMedia("(max-width: 60rem)").matches) box.after(panel);
        else if (isChosen && panel.parentElement !== at(".panes")) at(".panes").append(panel);
      });
      page.showNeighbours(panel, chunk);
      if (hasFocus) at(".announce").textContent = `${chunk.neighbours.length} passages for chunk ${chunk.n + 1}`;
    };

    const chunkHead = (chunk) => {
      const head = page.make("button", "chunk-head");
      head.type = "button";
      head.append(page.make("b", "", `chunk ${chunk.n + 1}`));
      if (chunk.isScored) {
        const saved = page.make("span", "saved " + (chunk.total >= 0 ? "good" : "bad"), savedText(chunk.total));
        head.append(saved);
      }
      if (chunk.overlap !== null) head.append(page.make("span", "", `overlap ${page.figure(100 * chunk.overlap, 0)} %`));
      head.append(page.make("span", "", `${chunk.neighbours.length} passage${chunk.neighbours.length === 1 ? "" : "s"}`));
      return head;
    };

    const chunkBox = (chunk) => {
      const box = page.make("section", "chunk");
      box.dataset.n = chunk.n;
      const pieces = page.make("p", "text");
      chunk.text.forEach((piece, i) => {
        const span = page.make("span", `${savedClass(chunk.saved[i])} ${page.runClass(chunk.run[i])}`.trim(), piece);
        span.dataset.i = i;
        pieces.append(span);
      });
      pieces.addEventListener("pointerover", (event) => { if (event.target.dataset.i) showToken(event.target, chunk); });
      box.append(chunkHead(chunk), pieces);
      box.addEventListener("click", (event) => {
        if (!getSelection().toString()) choose(chunk, event.target.closest(".chunk-head") !== null);
        if (event.target.dataset.i) showToken(event.target, chunk);
      });
      if (state.query && matches(chunk)) box.classList.add("hit");
      return box;
    };

    const showDocument = (item) => {
      state.document = item;
      text.classList.toggle("code", looksLikeCode(item));
      panel.remove();
      text.replaceChildren(page.make("h3", "", item.title), page.make("p", "meta", item.part ? `${item.source}, ${item.part}` : item.source));
      item.chunks.forEach((chunk, i) => {
        const skipped = chunk.n - (i ? item.chunks[i - 1].n + 1 : 0);
        if (skipped > 0) text.append(page.make("p", "gap", `… ${skipped} chunk${skipped === 1 ? "" : "s"} not shown …`));
        text.append(chunkBox(chunk));
      });
      at(".panes").append(panel);
      list.querySelectorAll("button").forEach((button) =>
        Number(button.dataset.place) === item.place ? button.setAttribute("aria-current", "true") : button.removeAttribute("aria-current"));
      const hit = item.chunks.find((chunk) => state.query && matches(chunk));
      choose(hit ?? item.chunks.find((chunk) => chunk.neighbours.length) ?? item.chunks[0], false);
      text.scrollTop = 0;
      if (hit) text.querySelector(".chunk.hit").scrollIntoView({ block: "nearest" });
    };

    const listEntry = (item) => {
      const button = page.make("button", "");
      button.type = "button";
      button.dataset.place = item.place;
      button.append(page.make("span", "title", item.title));
      const hits = item.chunks.filter(matches).length;
      const what = state.query ? `${hits} of ${item.chunks.length} chunks match` : `${item.chunks.length} chunk${item.chunks.length === 1 ? "" : "s"}`;
      button.append(page.make("span", "meta", `${item.source}${item.part ? ", " + item.part : ""} · ${what}`));
      button.append(page.make("span", "meta " + (item.saved >= 0 ? "good" : "bad"), savedText(item.saved)));
      button.addEventListener("click", () => showDocument(item));
      return button;
    };

    const showList = () => {
      const found = data.documents.filter((item) => item.chunks.some(matches)).sort(orders[at(".order").value]);
      list.replaceChildren(...found.map(listEntry));
      const chunks = sum(found.map((item) => item.chunks.filter(matches).length));
      status.textContent = state.query
        ? `${chunks} chunk${chunks === 1 ? "" : "s"} in ${found.length} document${found.length === 1 ? "" : "s"} match “${state.query}”.`
        : `${found.length} documents, ${chunks} chunks.`;
      if (!found.length) {
        panel.replaceChildren();
        text.replaceChildren(page.make("p", "meta", "No document, title or passage holds these words."));
      } else {
        showDocument(found[0]);
      }
    };

    at(".search").addEventListener("input", (event) => {
      state.query = event.target.value.trim().toLowerCase();
      showList();
    });
    at(".order").addEventListener("change", showList);
    const name = `colour-${document.querySelectorAll(".reader.started").length}`;
    root.querySelectorAll(".colour").forEach((radio) => {
      radio.name = name;
      radio.addEventListener("change", () => root.classList.toggle("colour-run", radio.value === "run" && radio.checked));
    });
    // Up and down move between chunks.
    text.addEventListener("keydown", (event) => {
      const heads = [...text.querySelectorAll(".chunk-head")];
      const next = heads.indexOf(document.activeElement) + { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (Number.isNaN(next) || !heads[next] || !heads.includes(document.activeElement)) return;
      event.preventDefault();
      choose(state.document.chunks[next], true);
    });
    root.classList.add("started");
    root.classList.toggle("single", data.documents.length === 1);
    showList();
  };

  /** Starts the readers below `run` that are not started yet. */
  page.startReaders = (run) => {
    const root = run.querySelector(".reader:not(.started)");
    const data = root && page.read(run, "reader-data");
    if (data) start(root, data);
  };
})();
