// Runs in Playwright's world of a document that cannot be walked: a form whose fields have the names of DOM methods hides them. Its tree
// alone, in the form of sight.page.js.
({ injected, elements }) => {
  const { json, iframeRefs } = injected.ariaSnapshotJSON(elements[0], { mode: 'ai' });
  const plain = ({ cursor, children, ...node }) => ({
    ...node,
    ...(cursor === 'pointer' ? { acts: true } : {}),
    ...(children ? { children: children.map(child => (typeof child === 'string' ? child : plain(child))) } : {}),
  });
  return JSON.stringify({ json: json.map(plain), iframeRefs, closed: 0 });
};
