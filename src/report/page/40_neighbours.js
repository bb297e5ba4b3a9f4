// Text with common runs, and the passages of a chunk.
(() => {
  const runLevels = [3, 6, 12, 24];
  page.runClass = (run) => {
    const level = runLevels.filter((least) => run >= least).length;
    return level ? "shared r" + level : "";
  };

  const addStretches = (parent, stretches) => {
    stretches.forEach(([text, run]) => {
      if (!run) { parent.append(text); return; }
      const mark = page.make("mark", page.runClass(run), text);
      mark.title = `run of ${run} tokens`;
      parent.append(mark);
    });
  };

  /** Marks the passages' runs that hold the run of piece `i` of a chunk (-1: none). */
  page.markSameRun = (panel, chunk, i) => {
    let [from, to] = [i, i];
    while (chunk.run[i] && chunk.run[from - 1] === chunk.run[i]) --from;
    while (chunk.run[i] && chunk.run[to + 1] === chunk.run[i]) ++to;
    const text = chunk.run[i] ? chunk.text.slice(from, to + 1).join("").trim() : "";
    panel.querySelectorAll("mark").forEach((mark) => mark.classList.toggle("same", text !== "" && mark.textContent.includes(text)));
  };

  /** A card with title, distance, passage and continuation. */
  page.neighbourCard = (neighbour, rank) => {
    const card = page.make("section", "passage");
    card.append(page.make("h4", "", `${rank + 1}. ${neighbour.title || neighbour.source}`));
    card.append(page.make("p", "meta", `${neighbour.source}, squared distance ${page.figure(neighbour.distance, 3)}`));
    const text = page.make("p", "text");
    addStretches(text, neighbour.text);
    card.append(text);
    if (neighbour.next.length) {
      card.append(page.make("p", "meta", "its continuation"));
      const next = page.make("p", "text next");
      addStretches(next, neighbour.next);
      card.append(next);
    } else {
      card.append(page.make("p", "meta", "its document ends here"));
    }
    return card;
  };

  /** Fills the panel with the passages that chunk `chunk` could read. */
  page.showNeighbours = (panel, chunk) => {
    panel.replaceChildren(page.make("h3", "", `Passages for chunk ${chunk.n + 1}`));
    if (!chunk.neighbours.length) {
      panel.append(page.make("p", "meta", chunk.n === 0
        ? "Passages are looked up with the chunk before, and this is the document's first: what was found for it serves the next chunk."
        : "The model read nothing here: nothing was found, or the chunk begins one of its windows."));
    }
    chunk.neighbours.forEach((neighbour, rank) => panel.append(page.neighbourCard(neighbour, rank)));
  };
})();
