// One run's sections at a time; its reader starts when it is shown.
(() => {
  const runs = [...document.querySelectorAll(".run")];
  const show = (place, hasFocus) => {
    runs.forEach((run) => { run.hidden = Number(run.dataset.run) !== place; });
    const run = runs[place];
    page.startReaders(run);
    page.startSample(run);
    document.querySelectorAll(".show-run").forEach((button) =>
      button.setAttribute("aria-pressed", String(Number(button.dataset.run) === place)));
    if (hasFocus) run.scrollIntoView();
  };
  document.querySelectorAll(".show-run").forEach((button) =>
    button.addEventListener("click", () => show(Number(button.dataset.run), true)));
  show(0, false);
})();
// The section that is being read, marked in the list of sections.
(() => {
  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const mark = (section) => {
    const link = links.get(section.id);
    const list = link.closest("ul");
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    list.scrollLeft = link.offsetLeft - list.offsetLeft - 24;
  };
  // A narrow stripe below the list: one section is in it at a time.
  const observer = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => mark(entry.target)),
    { rootMargin: "-20% 0px -75% 0px" });
  document.querySelectorAll("section[id]").forEach((section) => { if (links.has(section.id)) observer.observe(section); });
})();
