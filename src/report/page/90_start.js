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
