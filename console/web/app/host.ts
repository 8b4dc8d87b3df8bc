import type { CallToolResult } from './tool-result.ts';

/** The host of this page: a chat, which runs it in a frame and passes its calls on (MCP Apps, revision 2026-01-26). */
export interface Host {
  /** Calls a tool of the server of this page. */
  call(name: string, args: Record<string, unknown>): Promise<CallToolResult>;
  /** Whether the host can show the page larger. */
  readonly canExpand: boolean;
  /** To the whole screen, or back into the chat. */
  show(mode: 'inline' | 'fullscreen'): void;
}

interface HostContext {
  readonly theme?: 'light' | 'dark';
  readonly displayMode?: 'inline' | 'fullscreen' | 'pip';
  readonly availableDisplayModes?: readonly string[];
}

export interface HostEvents {
  /** The arguments of the agent's call that opened the page. */
  readonly onInput: (args: Readonly<Record<string, unknown>>) => void;
  readonly onMode: (mode: 'inline' | 'fullscreen') => void;
  /** The host is about to take the page away. */
  readonly onEnd: () => void;
}

interface Message {
  readonly jsonrpc: '2.0';
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

const REVISION = '2026-01-26';

/** Says hello to the host. Only what the frame around this page sends is listened to. */
export async function openHost({ onInput, onMode, onEnd }: HostEvents): Promise<Host> {
  const waiting = new Map<number | string, PromiseWithResolvers<unknown>>();
  let count = 0;
  // The host's origin is not known: every host may show the page, and what is sent is for the host alone.
  const send = (message: Omit<Message, 'jsonrpc'>) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*');

  function ask<Answer>(method: string, params: Record<string, unknown>): Promise<Answer> {
    count += 1;
    const answer = Promise.withResolvers<unknown>();
    waiting.set(count, answer);
    send({ id: count, method, params });
    return answer.promise as Promise<Answer>; // the protocol's answer to this method
  }

  function heed(context: HostContext): void {
    if (context.theme) document.documentElement.style.colorScheme = context.theme;
    if (context.displayMode) onMode(context.displayMode === 'fullscreen' ? 'fullscreen' : 'inline');
  }

  function asked({ method, params = {}, id }: Message): void {
    if (method === 'ui/notifications/tool-input') onInput((params.arguments ?? {}) as Record<string, unknown>);
    if (method === 'ui/notifications/host-context-changed') heed(params as HostContext);
    if (method === 'ui/resource-teardown') onEnd();
    if (id !== undefined) send({ id, result: {} });
  }

  addEventListener('message', ({ source, data }) => {
    if (source !== parent || data?.jsonrpc !== '2.0') return;
    const message = data as Message;
    if (message.method !== undefined) asked(message);
    else if (message.id !== undefined) {
      const { resolve, reject } = waiting.get(message.id) ?? {};
      waiting.delete(message.id);
      if (message.error) reject?.(new Error(message.error.message));
      else resolve?.(message.result);
    }
  });

  const { hostContext = {} } = await ask<{ hostContext?: HostContext }>('ui/initialize', {
    appInfo: { name: 'omicron-browser', version: '1' },
    appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
    protocolVersion: REVISION,
  });
  heed(hostContext);
  send({ method: 'ui/notifications/initialized' });
  new ResizeObserver(() => {
    const { scrollWidth: width, scrollHeight: height } = document.documentElement;
    send({ method: 'ui/notifications/size-changed', params: { width, height } });
  }).observe(document.body);
  return {
    call: (name, args) => ask('tools/call', { name, arguments: args }),
    canExpand: hostContext.availableDisplayModes?.includes('fullscreen') === true,
    show: mode => void ask('ui/request-display-mode', { mode }).catch(() => undefined),
  };
}
