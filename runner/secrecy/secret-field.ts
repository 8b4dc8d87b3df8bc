/** As much of a page's element as is used here; this code runs in the page. */
export interface PageField {
  readonly localName: string;
  readonly type: string;
  readonly value: string;
  readonly style: { setProperty(name: string, value: string, priority: string): void };
  readonly ownerDocument: { readonly defaultView: PageWindow | null };
  dispatchEvent(event: object): void;
  focus(): void;
}

type EventClass = new (type: string, init: object) => object;
interface PageWindow {
  readonly Event: EventClass;
  readonly InputEvent: EventClass;
  readonly KeyboardEvent: EventClass;
  readonly HTMLInputElement: { readonly prototype: object };
}

/** Text for a field; `secret`: it is hidden there, from pictures and video, before it goes in. */
export interface FieldText {
  readonly text: string;
  readonly secret: boolean;
}

/**
 * Puts a text into an input in place of what it holds, in one step of the field's own document: keystrokes would go to
 * whatever has the focus by then, and a page can move that into a frame of another origin. Nothing of it is left to be
 * undone, as it would be after an edit. The page hears what it hears when a password manager fills a form.
 */
export function putFieldText(element: PageField, { text, secret }: FieldText): boolean {
  if (secret) element.style.setProperty('-webkit-text-security', 'disc', 'important');
  element.focus();
  const view = element.ownerDocument.defaultView;
  if (view === null) return false;
  const all = { bubbles: true, composed: true };
  element.dispatchEvent(new view.KeyboardEvent('keydown', { ...all, cancelable: true }));
  // Frameworks watch the element's own property, and take a value that was set there for their own.
  const native = Object.getOwnPropertyDescriptor(view.HTMLInputElement.prototype, 'value');
  native?.set?.call(element, text);
  element.dispatchEvent(new view.InputEvent('input', { ...all, inputType: 'insertReplacementText' }));
  element.dispatchEvent(new view.KeyboardEvent('keyup', { ...all, cancelable: true }));
  element.dispatchEvent(new view.Event('change', { bubbles: true }));
  return element.value === text;
}

/** Properties that decide whether a value may go there at all. */
export const fieldKind = (element: PageField): { tag: string; type: string } => ({
  tag: element.localName,
  type: element.type,
});
