"use strict";
// What the parts of the page share.
const page = {
  /** An element with a class and text. */
  make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  },
  /** The JSON of the first script of a class below `root`, or null. */
  read(root, className) {
    const script = root.querySelector("script." + className);
    return script ? JSON.parse(script.textContent) : null;
  },
  figure(value, digits = 4, sign = false) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    return (sign && value > 0 ? "+" : "") + value.toFixed(digits).replace("-", "−");
  },
};

// Light, dark, or as the system says; remembered where the browser allows it.
(() => {
  const button = document.querySelector("button.theme");
  const themes = ["automatic", "light", "dark"];
  const store = (value) => { try { localStorage.setItem("retro-theme", value); } catch { /* a file: page may not */ } };
  const stored = () => { try { return localStorage.getItem("retro-theme"); } catch { return null; } };
  let theme = themes.includes(stored()) ? stored() : "automatic";
  const apply = () => {
    document.documentElement.style.colorScheme = theme === "automatic" ? "" : theme;
    button.textContent = "Theme: " + theme;
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    store(theme);
    apply();
  });
  apply();
})();
