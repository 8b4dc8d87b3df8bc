// Runs in the page's own world, whose listeners alone the command line's `getEventListeners` finds: whether a script may hear of a key where
// the focus is. True where that cannot be seen: in a frame, or behind a closed shadow root.
(() => {
  const TYPES =
    /^(?:key|beforeinput|input|change|click|submit|pointer|mouse|select|copy|cut|paste|composition|toggle|beforetoggle|close|cancel|reset|invalid|search)/;
  let focused = document.activeElement;
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  const isFrame = ['iframe', 'frame', 'object', 'embed'].includes(focused?.localName);
  if (isFrame || (focused?.localName.includes('-') && focused.shadowRoot === null)) return true;
  const path = [window, document];
  for (let node = focused; node; node = node.parentNode ?? node.host) path.push(node);
  return path.some(each => Object.keys(getEventListeners(each)).some(type => TYPES.test(type)));
})();
