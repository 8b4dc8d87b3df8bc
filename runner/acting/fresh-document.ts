import type { Page } from 'playwright-core';
import type { Documents } from '../secrecy/documents.ts';
import { isRef } from './target.ts';

const RELOAD_MS = 20_000;

/**
 * Whether the page may be filled. One in which code of the agent ran is loaded again first, where that loses nothing: it
 * was not sent by a form, nothing was typed into it, and no target is a ref of the last snapshot.
 */
export async function loadedAnew(page: Page, documents: Documents, targets: readonly string[]): Promise<boolean> {
  const frame = page.mainFrame();
  if (!(await documents.isScripted(frame))) return true;
  if (targets.some(isRef) || !(await isReloadable(page))) return false;
  await page.reload({ timeout: RELOAD_MS, waitUntil: 'load' });
  return !(await documents.isScripted(frame));
}

async function isReloadable(page: Page): Promise<boolean> {
  const session = await page.context().newCDPSession(page);
  try {
    const { entries, currentIndex } = await session.send('Page.getNavigationHistory');
    if (entries[currentIndex]?.transitionType === 'form_submit') return false;
    const edited = await Promise.all(page.frames().map(frame => frame.evaluate(EDITED)));
    return edited.every(each => each === false);
  } finally {
    await session.detach();
  }
}

/** Runs in the page: whether a control differs from what the page was loaded with. */
const EDITED = `[...document.querySelectorAll('input:not([type=hidden]), textarea, select')].some(control => {
  if (control.localName === 'select') {
    const options = [...control.options];
    return !options[control.selectedIndex]?.defaultSelected && options.some(each => each.defaultSelected) ||
      !options.some(each => each.defaultSelected) && control.selectedIndex > 0;
  }
  if (control.type === 'checkbox' || control.type === 'radio') return control.checked !== control.defaultChecked;
  return control.value !== control.defaultValue;
})`;
