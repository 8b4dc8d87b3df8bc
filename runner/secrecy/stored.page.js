// Evaluated in a world of its own beside the page's: what scripts of this document can read that is not in its tree.
async () => {
  const CHARACTERS_MAX = 8_000_000;
  const RECORDS_MAX = 2_000;
  // Bytes of a file, and of all of them: to search more would take seconds.
  const FILE_BYTES_MAX = 100_000;
  const FILES_BYTES_MAX = 1_000_000;
  const PICTURES_AND_CODE = /^(?:image|font|audio|video)\/|css|javascript|wasm/;
  const found = [location.href, document.referrer, window.name, document.cookie];
  let characters = 0;
  const keep = value => {
    const text = typeof value === 'string' ? value : JSON.stringify(value, plain);
    if (text === undefined) return;
    characters += text.length;
    if (characters > CHARACTERS_MAX) throw new Error('too much to be read');
    found.push(text);
  };
  const files = [];
  // JSON knows none of these; a value may be in each.
  const plain = (_key, value) => {
    if (value instanceof Map || value instanceof Set) return [...value];
    if (ArrayBuffer.isView(value)) return plain('', value.buffer);
    if (value instanceof ArrayBuffer) return new TextDecoder().decode(value.slice(0, FILE_BYTES_MAX));
    if (value instanceof Blob) files.push(value);
    if (value instanceof Error || value instanceof RegExp || typeof value === 'bigint') return String(value);
    return value;
  };
  const filesIn = async folder => {
    for await (const entry of folder.values()) {
      keep(entry.name);
      if (entry.kind === 'directory') await filesIn(entry);
      else files.push(await entry.getFile());
    }
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
    for (const response of await cache.matchAll())
      if (!PICTURES_AND_CODE.test(response.headers.get('content-type') ?? '')) files.push(await response.blob());
  }
  const folder = await allowed(() => navigator.storage?.getDirectory())?.catch(() => undefined);
  if (folder !== undefined) await filesIn(folder);
  let left = FILES_BYTES_MAX;
  for (const file of files) {
    const part = file.slice(0, Math.min(FILE_BYTES_MAX, left));
    left -= part.size;
    keep(await part.text());
  }
  return found.join('\n');
};
