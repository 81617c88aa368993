// Before the first paint: apply the chosen theme, and hide the welcome if a conversation will be restored.

document.documentElement.dataset.theme = localStorage.getItem("theme") || "";
if (sessionStorage.length || location.search || location.hash) document.documentElement.className = "again";
