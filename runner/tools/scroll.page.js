// Called in a document with how far to scroll: scrolls what a person would, the page or else the largest part of it that scrolls, and
// returns where that is then.
({ x, y }) => {
  const styleOf = element => getComputedStyle(element);
  const overflows = element =>
    element.scrollHeight > element.clientHeight + 1 || element.scrollWidth > element.clientWidth + 1;
  const shownArea = element => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const width = Math.min(right, innerWidth) - Math.max(left, 0);
    const height = Math.min(bottom, innerHeight) - Math.max(top, 0);
    return Math.max(width, 0) * Math.max(height, 0);
  };
  const scrolls = element => overflows(element) && /auto|scroll/.test(styleOf(element).overflow);
  const page = document.scrollingElement ?? document.documentElement;
  const isFixed = [document.documentElement, document.body].some(e => e && /hidden|clip/.test(styleOf(e).overflow));
  const largest = () =>
    [...document.querySelectorAll('*')]
      .filter(element => element !== page && scrolls(element))
      .sort((a, b) => shownArea(b) - shownArea(a))[0];
  const scrolled = (overflows(page) && !isFixed ? undefined : largest()) ?? page;
  scrolled.scrollBy({ left: x, top: y, behavior: 'instant' });
  const { scrollLeft, scrollTop, clientHeight, scrollHeight } = scrolled;
  return { scrollX: scrollLeft, scrollY: scrollTop, atEnd: scrollTop + clientHeight >= scrollHeight - 1 };
};
