// Light or dark: as the system has it, until somebody chooses. The accent and the mark are the house's own, where it set them.

const page = document.documentElement;
const toggler = document.getElementById("theme");
const system = matchMedia("(prefers-color-scheme: dark)");

function paint() {
  const chosen = localStorage.getItem("theme");
  const dark = chosen ? chosen === "dark" : system.matches;
  page.dataset.theme = dark ? "dark" : "light";
  toggler.setAttribute("aria-pressed", String(dark));
}

toggler.addEventListener("click", () => {
  localStorage.setItem("theme", page.dataset.theme === "dark" ? "light" : "dark");
  paint();
});
system.addEventListener("change", paint);
if (page.dataset.accent) page.style.setProperty("--house", page.dataset.accent);
if (page.dataset.mark) document.getElementById("mark").textContent = page.dataset.mark;
paint();
