/** Set on fields into which a secret was put, so that pictures can be drawn over there. */
const MARK = 'data-omicron-secret';

/** What is drawn over in pictures: the fields above, and whatever else holds a password. */
export const SECRET_FIELDS = `input[type=password], [${MARK}]`;

/** As much of a page's element as is used here; this code runs in the page. */
export interface PageField {
  readonly localName: string;
  readonly type: string;
  value: string;
  readonly isConnected: boolean;
  readonly style: { setProperty(name: string, value: string, priority: string): void };
  readonly ownerDocument: {
    readonly activeElement: unknown;
    execCommand(command: string, ui: boolean, value: string): boolean;
    readonly defaultView: { readonly Event: new (type: string, init: object) => object } | null;
  };
  setAttribute(name: string, value: string): void;
  dispatchEvent(event: object): void;
  focus(): void;
  select(): void;
}

/**
 * Puts a value into the field, in one step of the field's own document: keystrokes would go to whatever has the focus
 * by then, and a page can move that into a frame of another origin. Its text is hidden first, from pictures and
 * video.
 */
export function putSecret(element: PageField, value: string): boolean {
  element.setAttribute('data-omicron-secret', '');
  element.style.setProperty('-webkit-text-security', 'disc', 'important');
  element.focus();
  element.select();
  const { ownerDocument } = element;
  if (ownerDocument.activeElement === element) ownerDocument.execCommand('insertText', false, value);
  const view = ownerDocument.defaultView;
  if (element.value !== value && view !== null) {
    element.value = value;
    element.dispatchEvent(new view.Event('input', { bubbles: true, composed: true }));
  }
  if (view !== null) element.dispatchEvent(new view.Event('change', { bubbles: true }));
  return element.value === value;
}

/** What decides whether a value may go there at all. */
export const fieldKind = (element: PageField): { tag: string; type: string } => ({
  tag: element.localName,
  type: element.type,
});

export const holdsText = (element: PageField): boolean => element.isConnected && element.value !== '';
