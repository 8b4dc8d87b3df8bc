import { click } from './click.ts';
import { close } from './close.ts';
import { consoleMessages } from './console-messages.ts';
import type { ToolDefinition } from './define-tool.ts';
import { drag } from './drag.ts';
import { drop } from './drop.ts';
import { evaluate } from './evaluate.ts';
import { listFiles } from './file-list.ts';
import { readFile } from './file-read.ts';
import { fileUpload } from './file-upload.ts';
import { fillAndSubmit } from './fill-and-submit.ts';
import { fillForm } from './fill-form.ts';
import { find } from './find.ts';
import { getContent } from './get-content.ts';
import { handleDialog } from './handle-dialog.ts';
import { hover } from './hover.ts';
import { listProfiles } from './list-profiles.ts';
import { login } from './login.ts';
import { mouseClickXy } from './mouse-click-xy.ts';
import { mouseDown } from './mouse-down.ts';
import { mouseDragXy } from './mouse-drag-xy.ts';
import { mouseMoveXy } from './mouse-move-xy.ts';
import { mouseUp } from './mouse-up.ts';
import { mouseWheel } from './mouse-wheel.ts';
import { navigate } from './navigate.ts';
import { navigateBack } from './navigate-back.ts';
import { networkRequest } from './network-request.ts';
import { networkRequests } from './network-requests.ts';
import { open } from './open.ts';
import { pressKey } from './press-key.ts';
import { requestUserAction } from './request-user-action.ts';
import { resize } from './resize.ts';
import { restoreProfile } from './restore-profile.ts';
import { screenshot } from './screenshot.ts';
import { scroll } from './scroll.ts';
import { selectOption } from './select-option.ts';
import { setProfile } from './set-profile.ts';
import { show } from './show.ts';
import { snapshot } from './snapshot.ts';
import { snapshotProfile } from './snapshot-profile.ts';
import { tabs } from './tabs.ts';
import { takeScreenshot } from './take-screenshot.ts';
import { type } from './type.ts';
import { wait } from './wait.ts';
import { waitFor } from './wait-for.ts';

/**
 * Every tool that an agent may be given; custom tools are listed in this order, before those of Playwright MCP. Everything else of
 * Playwright MCP is neither listed nor callable: above all `browser_run_code_unsafe`, which runs code in this process, and the tools
 * that write files or rewrite requests here.
 */
export const TOOLS: readonly ToolDefinition[] = [
  ...[open, navigate, screenshot, click, type, getContent, scroll, wait, fillAndSubmit],
  ...[login, requestUserAction, show, listFiles, readFile],
  ...[listProfiles, setProfile, snapshotProfile, restoreProfile],
  ...[close, resize, consoleMessages, handleDialog, evaluate, fileUpload, drop, find, fillForm, pressKey],
  ...[mouseMoveXy, mouseClickXy, mouseDragXy, mouseDown, mouseUp, mouseWheel],
  ...[
    navigateBack,
    networkRequests,
    networkRequest,
    takeScreenshot,
    snapshot,
    drag,
    hover,
    selectOption,
    tabs,
    waitFor,
  ],
];
