// One panel of several at a time, chosen by radio buttons (without a script all panels are shown).
(() => {
  let count = 0;
  const start = (chooser) => {
    const panels = [...chooser.querySelectorAll(":scope > .panel")];
    if (panels.length < 2) return;
    const name = `chooser-${++count}`;
    const set = page.make("fieldset", "chips");
    set.append(page.make("legend", "", chooser.dataset.label));
    const show = (chosen) => panels.forEach((panel) => { panel.hidden = panel !== chosen; });
    panels.forEach((panel, i) => {
      const label = page.make("label", "");
      const radio = page.make("input", "");
      Object.assign(radio, { type: "radio", name, checked: i === 0 });
      radio.addEventListener("change", () => show(panel));
      label.append(radio, page.make("span", "", panel.dataset.choice));
      set.append(label);
    });
    chooser.prepend(set);
    show(panels[0]);
  };
  document.querySelectorAll(".chooser").forEach(start);
})();
