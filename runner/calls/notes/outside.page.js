// Runs in each document, before its own scripts: does in the page what its person would do in windows of the browser or the desktop (a
// printer, pickers of files and of values), or lets the page know that it was given up. `signs` go to the console, where the notes of calls read them.
signs => {
  const { debug } = console;
  const AbortError = () => new DOMException('The user aborted a request.', 'AbortError');

  // Headless browsers do nothing at `window.print()`, and say so nowhere.
  window.print = function print() {
    dispatchEvent(new Event('beforeprint'));
    debug(signs.print);
    dispatchEvent(new Event('afterprint'));
  };

  for (const { prototype } of [HTMLInputElement, HTMLSelectElement]) {
    const { showPicker } = prototype;
    prototype.showPicker = {
      showPicker() {
        showPicker.call(this);
        if (this.type !== 'file') debug(signs.value);
      },
    }.showPicker;
  }

  // Chromium has these in secure contexts alone.
  if (typeof window.showOpenFilePicker !== 'function') return;

  /** The promise that the file chooser is to keep; a page never hears that a chooser was closed. */
  let giveUp = () => {};

  function expectUser(name) {
    if (navigator.userActivation.isActive) return;
    const why = `Failed to execute '${name}' on 'Window': Must be handling a user gesture to show a file picker.`;
    throw new DOMException(why, 'SecurityError');
  }

  function download(name, blob) {
    const url = URL.createObjectURL(blob);
    Object.assign(document.createElement('a'), { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }

  /** A stream that is downloaded once it is closed. */
  function writableOf(name, before, done) {
    let blob = before;
    let position = 0;
    const put = data => {
      const part = new Blob([data]);
      const gap = new Uint8Array(Math.max(0, position - blob.size));
      blob = new Blob([blob.slice(0, position), gap, part, blob.slice(position + part.size)]);
      position += part.size;
    };
    const cut = size => {
      blob = new Blob([blob.slice(0, size), new Uint8Array(Math.max(0, size - blob.size))]);
      position = Math.min(position, size);
    };
    const take = chunk => {
      const isCommand =
        typeof chunk === 'object' && ['write', 'seek', 'truncate'].includes(chunk?.type) && !(chunk instanceof Blob);
      if (!isCommand) return put(chunk);
      if (chunk.type === 'truncate') return cut(chunk.size);
      if (typeof chunk.position === 'number') position = chunk.position;
      if (chunk.type === 'write') put(chunk.data);
    };
    const stream = new WritableStream({
      write: take,
      close() {
        done(blob);
        download(name, blob);
      },
    });
    const send = async chunk => {
      const writer = stream.getWriter();
      try {
        await writer.write(chunk);
      } finally {
        writer.releaseLock();
      }
    };
    return Object.assign(stream, {
      write: send,
      seek: to => send({ type: 'seek', position: to }),
      truncate: size => send({ type: 'truncate', size }),
    });
  }

  function handleOf(given) {
    let file = given;
    const own = {
      kind: 'file',
      name: given.name,
      getFile: async () => file,
      createWritable: async ({ keepExistingData = false } = {}) =>
        writableOf(given.name, keepExistingData ? file : new Blob([]), blob => {
          file = new File([blob], given.name, { type: given.type });
        }),
      isSameEntry: async other => other === handle,
      queryPermission: async () => 'granted',
      requestPermission: async () => 'granted',
    };
    const handle = Object.create(
      FileSystemFileHandle.prototype,
      Object.fromEntries(Object.entries(own).map(([key, value]) => [key, { value, enumerable: true }])),
    );
    return handle;
  }

  const acceptOf = types =>
    types.flatMap(({ accept = {} }) => Object.entries(accept).flatMap(([type, ends]) => [type, ...[ends].flat()]));

  Object.assign(window, {
    async showOpenFilePicker({ multiple = false, types = [] } = {}) {
      expectUser('showOpenFilePicker');
      giveUp();
      const input = document.createElement('input');
      Object.assign(input, { type: 'file', multiple, accept: acceptOf(types).join() });
      return new Promise((resolve, reject) => {
        giveUp = () => reject(AbortError());
        input.addEventListener('change', () => resolve([...input.files].map(handleOf)));
        input.addEventListener('cancel', giveUp);
        input.click();
      });
    },
    async showSaveFilePicker({ suggestedName, types = [] } = {}) {
      expectUser('showSaveFilePicker');
      debug(signs.save);
      const [end = ''] = acceptOf(types).filter(each => each.startsWith('.'));
      return handleOf(new File([], suggestedName ?? `untitled${end}`));
    },
    async showDirectoryPicker() {
      expectUser('showDirectoryPicker');
      debug(signs.folder);
      throw AbortError();
    },
  });
};
