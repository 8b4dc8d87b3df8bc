import type { Dialog, FileChooser, Page } from 'playwright-core';
import type { ServerMessage } from '../../contract/live.ts';

/** Questions of pages to the person: dialogs, and files. */
export interface Asking {
  watch(page: Page): void;
  /** Open questions, for a viewer that has come. */
  open(): Promise<ServerMessage[]>;
  /** Resolves when a dialog opens in the tab: what was sent before may not be answered until that is. */
  dialogOpens(page: Page, signal: AbortSignal): Promise<void>;
  /** Does nothing where no dialog is open. */
  answer(page: Page, accept: boolean, text: string | undefined): Promise<void>;
  /** Does nothing where no file chooser is open. */
  choose(page: Page, files: readonly { name: string; base64: string }[]): Promise<void>;
}

const TEXT_MAX = 1_000;

export interface AskingOptions {
  /** Names tabs. */
  readonly idOf: (page: Page) => number;
  /** Notifies every viewer. */
  readonly say: (message: ServerMessage) => void;
  /** Takes secrets out of a text. */
  readonly conceal: (text: string) => Promise<string>;
}

export function liveAsking({ idOf, say, conceal }: AskingOptions): Asking {
  const dialogs = new Map<Page, Dialog>();
  const choosers = new Map<Page, FileChooser>();

  const short = async (text: string): Promise<string> => (await conceal(text)).slice(0, TEXT_MAX);
  const ofDialog = async (page: Page, dialog: Dialog): Promise<ServerMessage> => ({
    t: 'dialog',
    tab: idOf(page),
    // Playwright's four types are those of the contract.
    type: dialog.type() as 'alert' | 'confirm' | 'prompt' | 'beforeunload',
    text: await short(dialog.message()),
    value: await short(dialog.defaultValue()),
  });
  async function tellDialog(page: Page, dialog: Dialog): Promise<void> {
    const message = await ofDialog(page, dialog);
    if (dialogs.get(page) === dialog) say(message);
  }
  const ofChooser = (page: Page, chooser: FileChooser): ServerMessage => ({
    t: 'files',
    tab: idOf(page),
    multiple: chooser.isMultiple(),
  });

  function closed(page: Page): void {
    if (dialogs.delete(page)) say({ t: 'dialog_closed', tab: idOf(page) });
  }

  return {
    watch(page) {
      page.on('dialog', dialog => {
        dialogs.set(page, dialog);
        void tellDialog(page, dialog);
      });
      page.on('dialogclosed', () => closed(page));
      page.on('filechooser', chooser => {
        choosers.set(page, chooser);
        say(ofChooser(page, chooser));
      });
      page.once('close', () => {
        closed(page);
        choosers.delete(page);
      });
    },
    async open() {
      const told = [...dialogs].map(async ([page, dialog]) => ({
        page,
        dialog,
        message: await ofDialog(page, dialog),
      }));
      const still = (await Promise.all(told)).filter(({ page, dialog }) => dialogs.get(page) === dialog);
      return [
        ...still.map(({ message }) => message),
        ...[...choosers].map(([page, chooser]) => ofChooser(page, chooser)),
      ];
    },
    dialogOpens(page, signal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const opened = () => resolve();
      page.once('dialog', opened);
      signal.addEventListener('abort', () => page.off('dialog', opened), { once: true });
      if (dialogs.has(page)) resolve();
      return promise;
    },
    async answer(page, accept, text) {
      const dialog = dialogs.get(page);
      await (accept ? dialog?.accept(text) : dialog?.dismiss());
    },
    async choose(page, files) {
      const chooser = choosers.get(page);
      choosers.delete(page);
      const buffers = files.map(({ name, base64 }) => ({
        name,
        mimeType: 'application/octet-stream',
        buffer: Buffer.from(base64, 'base64'),
      }));
      await chooser?.setFiles(buffers);
    },
  };
}
