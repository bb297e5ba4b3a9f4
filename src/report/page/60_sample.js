// The sampled text, chunk by chunk.
(() => {
  const stretches = (list) => list.map(({ text, common }) => [text, common ? 3 : 0]);
  const addText = (parent, list) => list.forEach(({ text, common }) => parent.append(page.make(common ? "mark" : "span", common ? "shared r2" : "", text)));

  page.startSample = (run) => {
    const target = run.querySelector(".sample:empty");
    const sample = target && page.read(run, "sample-data");
    if (!sample) return;
    target.append(page.make("p", "meta",
      `${sample.num_tokens} tokens, temperature ${sample.temperature}, top-p ${sample.top_p}, seed ${sample.seed}, ` +
      (sample.retrieval ? `${sample.neighbours} passage${sample.neighbours === 1 ? "" : "s"} a chunk` : "retrieval off")));
    const whole = page.make("p", "text whole-sample");
    whole.append(page.make("span", "given", sample.prompt), page.make("span", "", sample.text));
    target.append(whole);
    (sample.chunks ?? []).forEach((chunk) => {
      const box = page.make("details", "");
      box.append(page.make("summary", "", `Chunk ${chunk.chunk + 1}: ${chunk.neighbours.length} passage${chunk.neighbours.length === 1 ? "" : "s"} to read`));
      const text = page.make("p", "text");
      addText(text, chunk.text);
      box.append(text);
      chunk.neighbours.forEach((found, rank) => box.append(page.neighbourCard(
        { ...found, text: stretches(found.text), next: stretches(found.continuation) }, rank)));
      target.append(box);
    });
  };
})();
