// Runs in the page with what the agent's script is there: a function is called, of anything else the value is taken. Resolves with its
// JSON; nodes are named as Playwright names them.
async value => {
  const result = await (typeof value === 'function' ? value() : value);
  const named = (_key, each) => {
    if (each === window) return 'ref: <Window>';
    if (each === document) return 'ref: <Document>';
    return each instanceof Node ? 'ref: <Node>' : each;
  };
  return JSON.stringify(result, named, 2);
};
