// Two of several runs compared.
(() => {
  const script = document.getElementById("compare-data");
  if (!script) return;
  const runs = JSON.parse(script.textContent);
  const root = document.querySelector(".compare");
  const [selectA, selectB] = [root.querySelector(".run-a"), root.querySelector(".run-b")];
  const row = (tag, cells) => {
    const line = page.make("tr", "");
    cells.forEach((cell, i) => {
      const element = page.make(i === 0 || tag === "th" ? "th" : "td", cell.style ?? "", cell.text ?? cell);
      if (element.tagName === "TH") element.scope = tag === "th" ? "col" : "row";
      line.append(element);
    });
    return line;
  };
  const table = (caption, head, rows, className = "") => {
    const box = page.make("div", `wide ${className}`);
    const element = page.make("table", "");
    const headRow = page.make("thead", "");
    headRow.append(row("th", head));
    const body = page.make("tbody", "");
    body.append(...rows.map((cells) => row("td", cells)));
    element.append(page.make("caption", "", caption), headRow, body);
    box.append(element);
    return box;
  };
  const gain = ([estimate, low, high]) =>
    estimate === null ? "–" : `${page.figure(estimate, 4, true)} ± ${page.figure((high - low) / 2)}`;
  const difference = (a, b) => {
    if (a === null || b === null) return "–";
    return { text: page.figure(b - a, 4, true), style: b < a ? "good" : b > a ? "bad" : "" };
  };

  const figures = (a, b) => a.groups.flatMap((left) => {
    const right = b.groups.find((group) => group.name === left.name);
    if (!right) return [];
    return [[left.name, page.figure(left.on), page.figure(right.on), difference(left.on, right.on),
      gain(left.gain), gain(right.gain), left.verdict, right.verdict]];
  });
  const settings = (a, b) => [...new Set([...Object.keys(a.settings), ...Object.keys(b.settings)])]
    .filter((key) => a.settings[key] !== b.settings[key]).sort()
    .map((key) => [key, a.settings[key] ?? "–", b.settings[key] ?? "–"]);
  const settingsTable = (changed) => {
    if (!changed.length) return page.make("p", "meta", "The two configurations are equal.");
    const box = page.make("details", "");
    box.open = changed.length <= 8;
    box.append(page.make("summary", "", `${changed.length} setting${changed.length === 1 ? " differs" : "s differ"}`),
      table("Settings that differ", ["key", "A", "B"], changed, "text-table"));
    return box;
  };
  const sameText = (a, b) => a.groups.every((left) => {
    const right = b.groups.find((group) => group.name === left.name);
    return right && right.chunks === left.chunks && right.bytes === left.bytes;
  });

  const update = () => {
    const [a, b] = [runs[selectA.value], runs[selectB.value]];
    const changed = settings(a, b);
    const result = root.querySelector(".compare-result");
    result.replaceChildren();
    if (!sameText(a, b)) result.append(page.make("p", "warning", "These runs were not scored on the same chunks: their bits per byte say little about one another, their gains more."));
    result.append(table(`A: ${a.name}, B: ${b.name}`,
      ["text", "on, A", "on, B", "B − A", "gain, A", "gain, B", "verdict, A", "verdict, B"], figures(a, b)));
    const lonely = [[a, b], [b, a]].flatMap(([one, other]) => one.groups
      .filter((group) => !other.groups.some((match) => match.name === group.name)).map((group) => `${group.name} (${one.name})`));
    if (lonely.length) result.append(page.make("p", "meta", `Only in one of them: ${lonely.join(", ")}.`));
    result.append(settingsTable(changed));
    const chosen = new Set([Number(selectA.value), Number(selectB.value)].map((place) => "run-" + (place % 8)));
    document.querySelectorAll(".overlay [class*='run-']").forEach((mark) =>
      mark.classList.toggle("faint", ![...chosen].some((style) => mark.classList.contains(style))));
  };
  runs.forEach((run, i) => [selectA, selectB].forEach((select) => {
    const option = page.make("option", "", run.name);
    option.value = i;
    select.append(option);
  }));
  selectB.value = "1";
  [selectA, selectB].forEach((select) => select.addEventListener("change", update));
  update();
})();
