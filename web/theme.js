// Light or dark: as the system has it, until somebody chooses.

const button = document.getElementById("theme");
const system = matchMedia("(prefers-color-scheme: dark)");

function show() {
  const chosen = localStorage.getItem("theme");
  const dark = chosen ? chosen === "dark" : system.matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  button.setAttribute("aria-pressed", String(dark));
}

button.addEventListener("click", () => {
  localStorage.setItem("theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  show();
});
system.addEventListener("change", show);
show();
