import { useEffect, useState } from 'preact/hooks';

const MOVED = 'omicron-moved';

/** Shows another page without loading the document. */
export function go(to: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  dispatchEvent(new Event(MOVED));
}

/** The address that is shown: path and query. */
export function useLocation(): URL {
  const [href, setHref] = useState(location.href);
  useEffect(() => {
    const read = () => setHref(location.href);
    addEventListener('popstate', read);
    addEventListener(MOVED, read);
    return () => {
      removeEventListener('popstate', read);
      removeEventListener(MOVED, read);
    };
  }, []);
  return new URL(href);
}

/** Follows a plain click on a link of the console without loading the document. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!link || link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return;
  if (link.pathname.startsWith('/api/')) return;
  if (link.hash !== '' && link.pathname === location.pathname) return;
  event.preventDefault();
  go(link.pathname + link.search);
  scrollTo(0, 0);
}
