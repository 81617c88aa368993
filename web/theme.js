// Light or dark: the system's setting until the reader chooses.

const page = document.documentElement;
const toggler = document.getElementById("theme");
const system = matchMedia("(prefers-color-scheme: dark)");
const dark = () => (page.dataset.theme ? page.dataset.theme === "dark" : system.matches);
const showPressed = () => toggler.setAttribute("aria-pressed", String(dark()));

toggler.addEventListener("click", () => {
  page.dataset.theme = dark() ? "light" : "dark";
  localStorage.setItem("theme", page.dataset.theme);
  showPressed();
});
system.addEventListener("change", showPressed);
showPressed();
page.className = ""; // what early.js hid comes with what this script makes
