
// On paper: what is made when it is opened is made before it is printed, where the appendix is asked for.
find("print").addEventListener("click", () => window.print());
window.addEventListener("beforeprint", () => {
  if (find("print-cases").checked) for (const details of document.querySelectorAll("[data-submission]")) fill(details);
});
document.querySelector(".printing").addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.currentTarget.open = false;
  event.currentTarget.querySelector("summary").focus();
});
