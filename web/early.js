// Ahead of the first paint: light or dark as was chosen here, and nothing where a conversation will stand at once.

document.documentElement.dataset.theme = localStorage.getItem("theme") || "";
if (sessionStorage.length || location.search || location.hash) document.documentElement.className = "again";
