// Evaluated in a world of its own beside the page's: what scripts of this document can read that is not in its tree.
async () => {
  const CHARACTERS_MAX = 8_000_000;
  const RECORDS_MAX = 2_000;
  const found = [location.href, document.referrer, window.name, document.cookie];
  let characters = 0;
  const keep = value => {
    const text = typeof value === 'string' ? value : JSON.stringify(value, plain);
    if (text === undefined) return;
    characters += text.length;
    if (characters > CHARACTERS_MAX) throw new Error('too much to be read');
    found.push(text);
  };
  // JSON knows neither; a value may be in both.
  const plain = (_key, value) => {
    if (value instanceof Map || value instanceof Set) return [...value];
    if (ArrayBuffer.isView(value)) return String.fromCharCode(...new Uint8Array(value.buffer).slice(0, 100_000));
    return typeof value === 'bigint' ? String(value) : value;
  };
  const done = request =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
      request.onblocked = () => reject(new Error('blocked'));
    });
  // A document without an origin of its own has none of these.
  const allowed = read => {
    try {
      return read();
    } catch (error) {
      if (error.name === 'SecurityError' || error.name === 'InvalidStateError') return undefined;
      throw error;
    }
  };

  keep(history.state);
  for (const entry of allowed(() => navigation.entries()) ?? []) {
    keep(entry.url ?? '');
    keep(entry.getState());
  }
  for (const storage of [allowed(() => localStorage), allowed(() => sessionStorage)])
    for (const [key, value] of Object.entries(storage ?? {})) keep(`${key}\n${value}`);
  for (const { name, version } of (await allowed(() => indexedDB?.databases())?.catch(() => [])) ?? []) {
    keep(name);
    const database = await done(indexedDB.open(name, version));
    try {
      for (const store of database.objectStoreNames) {
        const records = database.transaction(store).objectStore(store);
        const values = await done(records.getAll(undefined, RECORDS_MAX + 1));
        if (values.length > RECORDS_MAX) throw new Error('too many records to be read');
        for (const value of values) keep(value);
        for (const key of await done(records.getAllKeys(undefined, RECORDS_MAX))) keep(key);
      }
    } finally {
      database.close();
    }
  }
  for (const name of (await allowed(() => self.caches?.keys())?.catch(() => [])) ?? []) {
    const cache = await caches.open(name);
    for (const { url } of await cache.keys()) keep(url);
  }
  return found.join('\n');
};
