"use strict";
(() => {
  // only a table wider than its place says that it scrolls, and takes the focus to do so
  const look = () => {
    for (const region of document.querySelectorAll(".scroll")) {
      const wide = region.scrollWidth > region.clientWidth + 1;
      region.previousElementSibling.hidden = !wide;
      region.tabIndex = wide ? 0 : -1;
    }
  };
  addEventListener("resize", look);
  look();
})();
