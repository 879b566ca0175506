// MathJax 3.2.2 (Apache-2.0) lies beside this file, so that the site needs no network. It sets a page when it is loaded.
window.MathJax = {
  tex: { inlineMath: [["\\(", "\\)"]], displayMath: [["\\[", "\\]"]], processEscapes: true, processEnvironments: true },
  options: { ignoreHtmlClass: ".*|", processHtmlClass: "arithmatex" },
};
